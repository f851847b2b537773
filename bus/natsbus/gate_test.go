package natsbus_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/bus/natsbus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
	"github.com/ramet-run/ramet/internal/testwait"
)

// raw connects as node i with nothing of ours in between: to the server inside a
// node where the URL names one, to a plain one else.
func raw(t *testing.T, url string, i int) *nats.Conn {
	t.Helper()
	url, node, inside := strings.Cut(url, "?key=")
	login, err := natslink.ToNode(link(i), node)
	if !inside {
		login, err = natslink.ToServer(link(i))
	}
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(url, login, nats.NoReconnect(), nats.Timeout(patience),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatalf("connect as node %d: %v", i, err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func TestLogin(t *testing.T) {
	t.Parallel()
	host := open(t, natsbus.Config{Node: public(0), Link: link(0), DataDir: t.TempDir(), Listen: "127.0.0.1:0", Peers: peers(1)})
	nodes, _ := host.Listening()
	// as logs in under the nkey of one with what is said to be its signature.
	as := func(link natslink.Key, sign func(nonce []byte) ([]byte, error)) nats.Option {
		user, err := natslink.User(link.Pubkey())
		if err != nil {
			t.Fatal(err)
		}
		return nats.Nkey(user, sign)
	}
	prove := func(link natslink.Key, nodes ...string) func([]byte) ([]byte, error) {
		return func(nonce []byte) ([]byte, error) { return natslink.Prove(link, nodes, nonce) }
	}
	// claim puts another claim before a signature.
	claim := func(link natslink.Key, nodes string, sign func([]byte) ([]byte, error)) func([]byte) ([]byte, error) {
		return func(nonce []byte) ([]byte, error) {
			proof, err := sign(nonce)
			return append([]byte("ramet-link/1 "+link.Pubkey()+" "+nodes+"\n"), proof[max(0, len(proof)-64):]...), err
		}
	}
	for _, c := range []struct {
		name string
		opt  nats.Option
		ok   bool
	}{
		{"a peer", as(link(1), prove(link(1), public(0))), true},
		{"a peer, for this node or another of its site", as(link(1), prove(link(1), public(4), public(0))), true},
		{"a stranger", as(link(9), prove(link(9), public(0))), false},
		{"a stranger with a peer's name", as(link(1), claim(link(1), public(0), prove(link(9), public(0)))), false},
		{"a stranger with the server's own name", as(link(0), claim(link(0), public(0), prove(link(9), public(0)))), false},
		{"a peer that means another node", as(link(1), prove(link(1), public(4))), false},
		{"what a peer signed for another node, said to be for this one", as(link(1), claim(link(1), public(0), prove(link(1), public(4)))), false},
		{"a peer, as to a plain NATS server", as(link(1), link(1).SignNonce), false},
		{"a peer's signature of a nonce alone", as(link(1), claim(link(1), public(0), link(1).SignNonce)), false},
		{"a signature of another nonce", as(link(1), func([]byte) ([]byte, error) {
			return natslink.Prove(link(1), []string{public(0)}, []byte("AAAAAAAAAAAAAAA"))
		}), false},
		{"no signature", as(link(1), claim(link(1), public(0), func([]byte) ([]byte, error) { return nil, nil })), false},
		{"a claim that is cut", as(link(1), func([]byte) ([]byte, error) { return []byte("ramet-link/1 "), nil }), false},
		{"nobody", nil, false},
		{"a password", nats.UserInfo("ramet", "secret"), false},
		{"an empty password", nats.UserInfo("ramet", ""), false},
		{"a token", nats.Token("secret"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			nc, err := nats.Connect("nats://"+nodes, c.opt, nats.NoReconnect())
			if err == nil {
				nc.Close()
			}
			if ok := err == nil; ok != c.ok {
				t.Errorf("got %v, want admitted: %t", err, c.ok)
			}
		})
	}
}

// A node that speaks NATS itself tries what it must not.
func TestNodesAreApart(t *testing.T) {
	t.Parallel()
	host := open(t, natsbus.Config{Node: public(0), Link: link(0), DataDir: t.TempDir(), Listen: "127.0.0.1:0", Peers: peers(1, 2, 3)})
	nodes, _ := host.Listening()
	url := at(nodes, 0)
	victim := open(t, natsbus.Config{Node: public(1), Link: link(1), URL: url})
	open(t, natsbus.Config{Node: public(3), Link: link(3), URL: url}) // in whose name it would like to speak
	evil := raw(t, url, 2)

	apart(t, evil, host, victim, nil)
}

// apart has node 2, whose connection evil is, try to get at the parcels of the
// victim (node 1), which the sender sends to it.
func apart(t *testing.T, evil *nats.Conn, sender, victim *natsbus.Bus, wake func()) {
	t.Helper()
	var (
		mu       sync.Mutex
		seen     []string
		answered = make(chan struct{})
		first    sync.Once
	)
	spy, err := evil.Subscribe(">", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, m.Subject+" "+string(m.Data))
		if strings.HasPrefix(m.Subject, "answer.") {
			first.Do(func() { close(answered) })
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = evil.Flush()
	if wake != nil {
		wake()
	}
	const secret = "for the victim only"
	var want []string
	for i := range 5 {
		want = append(want, fmt.Sprint(secret, " ", i))
		sendOn(t, sender, victim.Self(), want[i])
	}
	// The victim holds one, so that there is something to acknowledge.
	held, err := victim.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	own, other := public(2), public(1)
	box, ownBox := "parcel-"+other, "parcel-"+own
	ack := "$JS.ACK." + box + ".node.1.1.1." + fmt.Sprint(time.Now().UnixNano()) + ".0"

	// Its own mailbox is its own: it may be used for mischief.
	_ = evil.PublishRequest("$JS.API.STREAM.CREATE."+ownBox, "answer.make",
		[]byte(`{"name":"`+ownBox+`","storage":"file","max_bytes":1000000,"subjects":["ramet.parcel.`+own+`.*"]}`))
	_ = evil.PublishRequest("$JS.API.CONSUMER.CREATE."+ownBox+".node", "answer.make",
		[]byte(`{"stream_name":"`+ownBox+`","config":{"durable_name":"node","name":"node","ack_policy":"explicit"}}`))
	// Asking outright. The spy sees the answers.
	var asks [][2]string
	for subject, body := range map[string]string{
		"$JS.API.INFO":                               "",
		"$JS.API.STREAM.NAMES":                       "",
		"$JS.API.STREAM.LIST":                        "",
		"$JS.API.STREAM.INFO." + box:                 "",
		"$JS.API.STREAM.DELETE." + box:               "",
		"$JS.API.STREAM.PURGE." + box:                "",
		"$JS.API.STREAM.MSG.GET." + box:              `{"seq":1}`,
		"$JS.API.DIRECT.GET." + box:                  `{"seq":1}`,
		"$JS.API.STREAM.MSG.DELETE." + box:           `{"seq":1}`,
		"$JS.API.STREAM.SNAPSHOT." + box:             `{"deliver_subject":"here"}`,
		"$JS.API.STREAM.CREATE.mine":                 `{"name":"mine","subjects":["ramet.parcel.*.x"]}`,
		"$JS.API.STREAM.CREATE.copy":                 `{"name":"copy","mirror":{"name":"` + box + `"}}`,
		"$JS.API.STREAM.UPDATE." + ownBox:            `{"name":"` + ownBox + `","subjects":["ramet.parcel.>"]}`,
		"$JS.API.CONSUMER.INFO." + box + ".node":     "",
		"$JS.API.CONSUMER.NAMES." + box:              "",
		"$JS.API.CONSUMER.DELETE." + box + ".node":   "",
		"$JS.API.CONSUMER.CREATE." + box:             `{"stream_name":"` + box + `","config":{"deliver_subject":"here","ack_policy":"explicit"}}`,
		"$JS.API.CONSUMER.CREATE." + ownBox + ".x":   `{"stream_name":"` + ownBox + `","config":{"name":"x","deliver_subject":"ramet.parcel.` + other + `.x"}}`,
		"$JS.API.CONSUMER.MSG.NEXT." + box + ".node": "1",
		ack:                           "+TERM",
		"$SYS.REQ.SERVER.PING":        "",
		"$SYS.REQ.ACCOUNT.PING.CONNZ": "",
	} {
		asks = append(asks, [2]string{subject, body})
	}
	for _, prefix := range []string{"ramet.send.", "ramet.parcel."} {
		for rest, body := range map[string]string{
			other + "." + public(3): "in another's name", other + "." + other: "in its own name",
			other + "." + public(0): "in the server's name", other: "in no name", other + "." + own + ".more": "with more",
		} {
			asks = append(asks, [2]string{prefix + rest, body})
		}
	}
	for _, ask := range asks {
		_ = evil.PublishRequest(ask[0], "answer."+ask[0], []byte(ask[1]))
	}
	// Having the server answer where it does harm: the answers to a send and to
	// a fetch go to subjects that the asker names.
	self := "ramet.parcel." + own + "." + own
	send := "ramet.send." + other + "." + own
	for _, target := range []string{
		"$JS.API.STREAM.DELETE." + box, "$JS.API.STREAM.PURGE." + box, "$JS.API.CONSUMER.DELETE." + box + ".node",
		"ramet.send." + other + "." + public(3), "ramet.parcel." + other + "." + public(0), ack,
	} {
		for _, body := range []string{"", "{}", "+TERM", "forged"} {
			_ = evil.PublishRequest(send, target, nil)
			_ = evil.PublishRequest(send, target, []byte(body))
			_ = evil.Publish(self, []byte(body))
			_ = evil.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+ownBox+".node", target, []byte("1"))
			_ = evil.PublishRequest(self, target, []byte(body))
		}
	}
	// What it may do comes last: when that is there, so is the rest.
	for _, may := range []string{send, "ramet.parcel." + other + "." + own} {
		_ = evil.Publish(may, []byte("done"))
	}
	_ = evil.Flush()
	if err := held.Done(t.Context()); err != nil {
		t.Error(err)
	}

	// All is there, and whose name it bears it is from.
	got, done := []string{string(held.Body)}, false
	for !done || len(got) < len(want) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		p, err := victim.Receive(ctx)
		cancel()
		if err != nil {
			t.Fatalf("got %q, then %v; want %q", got, err, want)
		}
		_ = p.Done(t.Context())
		switch p.From {
		case sender.Self():
			got = append(got, string(p.Body))
		case domain.Address("nats:" + own):
			if string(p.Body) == "done" && !done {
				done = true
				sendOn(t, sender, victim.Self(), "the last")
				want = append(want, "the last")
			}
		default:
			t.Errorf("got %q in the name of %s", p.Body, p.From)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the victim got %q, want %q", got, want)
	}
	// The answers may take their time.
	select {
	case <-answered:
	case <-time.After(patience):
		t.Error("nothing was answered: the test cannot tell")
	}
	_ = spy.Unsubscribe()
	mu.Lock()
	defer mu.Unlock()
	for _, s := range seen {
		if strings.Contains(s, secret) {
			t.Errorf("node 2 saw %q", s)
		}
		if !strings.HasPrefix(s, "answer.") {
			continue
		}
		// In its own account it may do as it likes; the victim's mailbox is not
		// even there for it.
		subject, answer, _ := strings.Cut(s, " ")
		if strings.Contains(subject, box) && answer != "" && !strings.Contains(answer, `"error"`) {
			t.Errorf("%s: %s", subject, answer)
		}
	}
}

// sendOn sends until the bus takes it.
func sendOn(t *testing.T, from bus.Bus, to domain.Address, body string) {
	t.Helper()
	testwait.Nil(t, func() error {
		err := from.Send(t.Context(), to, []byte(body))
		if err != nil && !errors.Is(err, domain.ErrUnavailable) {
			t.Fatalf("send: %v", err)
		}
		return err
	})
}

// A site that runs a NATS server of its own making tries the same over a link.
func TestSitesAreApart(t *testing.T) {
	t.Parallel()
	list := []natsbus.Peer{{Key: public(1), Link: link(1).Pubkey()}, {Key: public(2), Link: link(2).Pubkey()}, {Key: public(3), Link: link(3).Pubkey()}}
	host := open(t, natsbus.Config{
		Node: public(0), Link: link(0), DataDir: t.TempDir(), Listen: "127.0.0.1:0", LeafListen: "127.0.0.1:0",
		Peers: func() []natsbus.Peer { return list },
	})
	nodes, leafs := host.Listening()
	victim := open(t, natsbus.Config{Node: public(1), Link: link(1), URL: at(nodes, 0)})

	evil := site(t, leafs, 2)
	apart(t, evil, host, victim, func() {
		// The link stands when a parcel passes.
		testwait.Nil(t, func() error {
			_, err := evil.Request("ramet.parcel."+public(0)+"."+public(2), []byte("hello"), time.Second)
			return err
		})
	})
}

// A site with two links: what is for the nodes of one does not go to the other,
// and neither can speak for the other's.
func TestLinksAreApart(t *testing.T) {
	t.Parallel()
	good := open(t, natsbus.Config{
		Node: public(1), Link: link(1), DataDir: t.TempDir(), Listen: "127.0.0.1:0", LeafListen: "127.0.0.1:0", Peers: peers(0, 3),
	})
	nodes, leafs := good.Listening()
	behind := open(t, natsbus.Config{Node: public(3), Link: link(3), URL: at(nodes, 1)})
	evil, evilLeafs := hub(t)
	us := open(t, natsbus.Config{
		Node: public(0), Link: link(0), DataDir: t.TempDir(),
		Leafs: []string{"nats://" + leafs + "?key=" + public(1), "nats://" + evilLeafs + "?key=" + public(2)},
		Peers: func() []natsbus.Peer {
			return []natsbus.Peer{{Key: public(1), Link: link(1).Pubkey()}, {Key: public(2), Link: link(2).Pubkey()},
				{Key: public(3), Link: link(3).Pubkey(), Via: public(1)}}
		},
	})
	seen := make(chan string, 1000)
	if _, err := evil.Subscribe(">", func(m *nats.Msg) { seen <- m.Subject + " " + string(m.Data) }); err != nil {
		t.Fatal(err)
	}
	// Both links stand.
	sendOn(t, us, behind.Self(), "to behind")
	receives(t, behind, "to behind")
	sendOn(t, behind, us.Self(), "from behind")
	receives(t, us, "from behind")
	testwait.Nil(t, func() error {
		_, err := evil.Request("ramet.parcel."+public(0)+"."+public(2), []byte("in its own name"), time.Second)
		return err
	})
	receives(t, us, "in its own name")

	for _, name := range []int{0, 1, 3} {
		_ = evil.Publish("ramet.parcel."+public(0)+"."+public(name), []byte("in another's name"))
	}
	_ = evil.Publish("ramet.parcel."+public(0)+"."+public(2), []byte("done"))
	sendOn(t, us, behind.Self(), "a secret")
	receives(t, behind, "a secret")
	for done := false; !done; {
		p, err := us.Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = p.Done(t.Context())
		if done = string(p.Body) == "done"; !done {
			t.Errorf("got %q from %s", p.Body, p.From)
		}
	}
	_ = evil.Flush()
	for len(seen) > 0 {
		if s := <-seen; strings.Contains(s, "behind") || strings.Contains(s, "secret") {
			t.Errorf("the other site saw %q", s)
		}
	}
}

// hub is a plain NATS server without any rules, that sites link to.
func hub(t *testing.T) (nc *nats.Conn, leafs string) {
	t.Helper()
	o := &server.Options{
		ServerName: "evil", DontListen: true, NoSigs: true, NoLog: true,
		LeafNode: server.LeafNodeOpts{Host: "127.0.0.1", Port: server.RANDOM_PORT},
	}
	nc = within(t, o)
	return nc, fmt.Sprintf("127.0.0.1:%d", o.LeafNode.Port)
}

// site is a plain NATS server without any rules, that links to another as node
// i.
func site(t *testing.T, leafs string, i int) *nats.Conn {
	t.Helper()
	return within(t, &server.Options{
		ServerName: "evil", DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		LeafNode: server.LeafNodeOpts{Remotes: []*server.RemoteLeafOpts{{
			URLs: []*url.URL{{Scheme: "nats", Host: leafs}}, SignatureCB: natslink.ToSite(link(i), func() ([]string, error) { return []string{public(0)}, nil }),
		}}},
	})
}

// within starts a server and connects to it.
func within(t *testing.T, o *server.Options) *nats.Conn {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	nc, err := nats.Connect("", nats.InProcessServer(ready(t, s)), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	var (
		mu    sync.Mutex
		list  = peers(1)()
		asked int
		often = make(chan struct{}) // closed once it was asked eight times
	)
	set := func(l []natsbus.Peer) {
		mu.Lock()
		defer mu.Unlock()
		list = l
	}
	host := open(t, natsbus.Config{
		Node: public(0), Link: link(0), DataDir: t.TempDir(), Listen: "127.0.0.1:0", LeafListen: "127.0.0.1:0",
		Peers: func() []natsbus.Peer {
			mu.Lock()
			defer mu.Unlock()
			if asked++; asked == 8 {
				close(often)
			}
			return list
		},
	})
	nodes, leafs := host.Listening()
	one := open(t, natsbus.Config{Node: public(1), Link: link(1), URL: at(nodes, 0)})
	two := open(t, natsbus.Config{Node: public(2), Link: link(2), URL: at(nodes, 0)})
	// A client that was refused more than once would give up by itself.
	select {
	case <-often:
	case <-time.After(patience):
		t.Fatal("it does not try again")
	}
	three := open(t, natsbus.Config{
		Node: public(3), Link: link(3), DataDir: t.TempDir(), Leafs: []string{"nats://" + leafs}, Peers: peers(0),
	})
	works := func(b *natsbus.Bus) bool { return b.Send(t.Context(), host.Self(), []byte("x")) == nil }
	becomes := func(b *natsbus.Bus, want bool) {
		t.Helper()
		testwait.Until(t, fmt.Sprintf("%s can send: %t", b.Self(), want), func() bool { return works(b) == want })
	}
	becomes(one, true)
	for _, b := range []*natsbus.Bus{two, three} {
		if works(b) {
			t.Fatalf("%s can send though it is no peer", b.Self())
		}
	}
	set(peers(2, 3)())
	host.Refresh()
	becomes(one, false)
	becomes(two, true)
	becomes(three, true)
	set(nil)
	host.Refresh()
	becomes(two, false)
	becomes(three, false)
}
