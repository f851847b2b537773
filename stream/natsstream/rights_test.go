package natsstream_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/natslink"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

func newLink(t *testing.T) natslink.Key {
	t.Helper()
	k, err := identity.NewLinkKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// newUser is another program's nkey.
func newUser(t *testing.T) (user string, login nats.Option) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	if user, err = pair.PublicKey(); err != nil {
		t.Fatal(err)
	}
	return user, nats.Nkey(user, pair.Sign)
}

// hosted are streams inside a node, where others come in.
type hosted struct {
	*natsstream.Log
	node natslink.Key // another node of the board
	url  string
	self string
	// logins of producers
	seven, eight, any nats.Option
}

func host(t *testing.T) *hosted {
	t.Helper()
	h := &hosted{node: newLink(t), self: strings.Repeat("cd", 32)}
	u7, l7 := newUser(t)
	u8, l8 := newUser(t)
	h.seven, h.eight, h.any = l7, l8, nats.Token(token)
	h.Log = open(t, natsstream.Config{DataDir: t.TempDir(), MayLose: true, Listen: "127.0.0.1:0", TokenFile: file(t, token), Node: h.self,
		Nodes: func(link string) bool { return link == h.node.Pubkey() }, Producers: []natsstream.Producer{{Tenant: "7", User: u7}, {Tenant: "8", User: u8}}})
	h.url = "nats://" + h.Listening()
	return h
}

// external is a nats-server with the configuration that is written for it.
func external(t *testing.T) *hosted {
	t.Helper()
	h := &hosted{node: newLink(t)}
	u7, l7 := newUser(t)
	u8, l8 := newUser(t)
	uAny, lAny := newUser(t)
	h.seven, h.eight, h.any = l7, l8, lAny
	h.url = configured(t, natsstream.Permit{Nodes: []string{h.node.Pubkey()},
		Producers: []natsstream.Producer{{Tenant: "7", User: u7}, {Tenant: "8", User: u8}, {Tenant: natsstream.Anybody, User: uAny}}}, nil)
	h.Log = open(t, natsstream.Config{URL: h.url, Link: h.node, Login: true, Replicas: 1, MayLose: true})
	return h
}

// configured starts a nats-server with the accounts of p; edit changes the text.
func configured(t *testing.T, p natsstream.Permit, edit func(string) string) (url string) {
	t.Helper()
	accounts, err := natsstream.Accounts(p)
	if err != nil {
		t.Fatal(err)
	}
	text := natslink.ServerConfig(2<<20, accounts)
	if edit != nil {
		text = edit(text)
	}
	name := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(name)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	o.Host, o.Port, o.NoLog, o.NoSigs, o.JetStream, o.StoreDir = "127.0.0.1", server.RANDOM_PORT, true, true, true, t.TempDir()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	return s.ClientURL()
}

// A producer publishes events of its context. It does nothing else, whatever it
// asks for and wherever it has the server answer.
func TestProducersPublishEventsOfTheirContextOnly(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *hosted{"embedded": host, "external": external} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			r := reader(t, h, stream.Consumer{Durable: "node", Stream: domain.AggregateEvents})
			q, err := h.Work(t.Context(), stream.Shared{Durable: "workers", Stream: domain.WorkflowCommands})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { q.Close() })
			publish(t, h, stream.Message{Stream: domain.WorkflowCommands, Subject: "tenant.7.effect.mail.c1", Data: []byte("a command")})
			for who, login := range map[string]nats.Option{"the producer of context 7": h.seven, "the producer of all": h.any} {
				mischief(t, who, h.url, login)
			}
			_, seven := client(t, h.url, h.seven)
			for _, subject := range []string{"tenant.8.aggregate.a.x", "aggregate.a.x", "tenant.7.effect.mail.x", "tenant.7.workflow.order.x",
				"tenant.7.effect_result.mail.c1"} {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				if _, err := seven.Publish(ctx, subject, []byte("forged"), jetstream.WithRetryAttempts(0)); err == nil {
					t.Errorf("the producer of context 7 published to %s", subject)
				}
				cancel()
			}
			for login, subject := range map[string]string{"seven": "tenant.7.aggregate.a.b", "eight": "tenant.8.aggregate.a.b", "any": "tenant.9.aggregate.a.b"} {
				_, js := client(t, h.url, map[string]nats.Option{"seven": h.seven, "eight": h.eight, "any": h.any}[login])
				if _, err := js.Publish(t.Context(), subject, []byte("event")); err != nil {
					t.Fatalf("%s: %v", login, err)
				}
			}
			// All that is there is what was let through, and the consumers stand.
			for _, name := range domain.StreamNames {
				list, err := h.Scan(t.Context(), name, nil, 1, 100)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, m := range list {
					got = append(got, m.Subject+" "+string(m.Data))
				}
				slices.Sort(got)
				want := map[domain.StreamName][]string{
					domain.AggregateEvents:  {"tenant.7.aggregate.a.b event", "tenant.8.aggregate.a.b event", "tenant.9.aggregate.a.b event"},
					domain.WorkflowCommands: {"tenant.7.effect.mail.c1 a command"},
				}[name]
				// What a producer published lawfully while it tried the rest.
				got = slices.DeleteFunc(got, func(s string) bool { return strings.HasSuffix(s, " lawful") })
				if !slices.Equal(got, want) {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
			if got := next(t, r, 1); len(got) != 1 {
				t.Errorf("the reader is gone")
			}
			list, err := q.Next(t.Context(), 1)
			if err != nil || len(list) != 1 || string(list[0].Message().Data) != "a command" {
				t.Errorf("the queue: got %v, %v", list, err)
			}
		})
	}
}

// mischief is what a program on a NATS server can try.
func mischief(t *testing.T, who, url string, login nats.Option) {
	t.Helper()
	nc, js := client(t, url, login, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	heard := make(chan *nats.Msg, 1000)
	if _, err := nc.ChanSubscribe(">", heard); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, name := range domain.StreamNames {
		s := string(name)
		for _, ask := range [][2]string{
			{"$JS.API.STREAM.DELETE." + s, ""}, {"$JS.API.STREAM.PURGE." + s, ""}, {"$JS.API.STREAM.INFO." + s, ""},
			{"$JS.API.STREAM.UPDATE." + s, `{"name":"` + s + `","subjects":["x"]}`}, {"$JS.API.STREAM.MSG.DELETE." + s, `{"seq":1}`},
			{"$JS.API.STREAM.MSG.GET." + s, `{"seq":1}`}, {"$JS.API.DIRECT.GET." + s, `{"seq":1}`},
			{"$JS.API.CONSUMER.DELETE." + s + ".node", ""}, {"$JS.API.CONSUMER.DELETE." + s + ".workers", ""},
			{"$JS.API.CONSUMER.PAUSE." + s + ".workers", `{"pause_until":"2100-01-01T00:00:00Z"}`},
			{"$JS.API.CONSUMER.CREATE." + s + ".spy", `{"stream_name":"` + s + `","config":{"name":"spy","deliver_subject":"here"}}`},
			{"$JS.API.CONSUMER.CREATE." + s + ".workers", `{"stream_name":"` + s + `","config":{"durable_name":"workers","name":"workers","ack_policy":"explicit"}}`},
			{"$JS.API.CONSUMER.MSG.NEXT." + s + ".workers", "1"},
			{"$JS.ACK." + s + ".workers.1.1.1.1.0", "+TERM"},
			{"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + s + ".workers", `{"stream":"` + s + `","consumer":"workers","stream_seq":1}`},
			{"$JS.API.STREAM.CREATE.mine", `{"name":"mine","subjects":["mine"]}`}, {"$JS.API.STREAM.CREATE.copy", `{"name":"copy","mirror":{"name":"` + s + `"}}`},
		} {
			_ = nc.PublishRequest(ask[0], "answer", []byte(ask[1]))
		}
	}
	// The server answers a publisher where he says.
	for _, target := range []string{"$JS.API.STREAM.PURGE.AGGREGATE_EVENTS", "$JS.API.STREAM.DELETE.WORKFLOW_COMMANDS", "tenant.8.aggregate.a.forged",
		"tenant.7.effect.mail.forged", "$JS.ACK.WORKFLOW_COMMANDS.workers.1.1.1.1.0"} {
		_ = nc.PublishRequest("tenant.7.aggregate.a.own", target, []byte("lawful"))
	}
	// What comes last is answered last.
	if _, err := js.Publish(ctx, "tenant.7.aggregate.a.own", []byte("lawful")); err != nil {
		t.Errorf("%s: publish an event: %v", who, err)
	}
	_ = nc.Flush()
	for len(heard) > 0 {
		if m := <-heard; bytes.Contains(m.Data, []byte("a command")) || m.Subject == "answer" && !bytes.Contains(m.Data, []byte(`"error"`)) {
			t.Errorf("%s heard %s %.100q", who, m.Subject, m.Data)
		}
	}
}

// Another node of the board has what it needs, and no more.
func TestANodeHasWhatItNeeds(t *testing.T) {
	t.Parallel()
	h := host(t)
	for name, cfg := range map[string]natsstream.Config{
		"a node that the board does not know": {Link: newLink(t), KeyOf: h.self},
		"a node that means another server":    {Link: h.node, KeyOf: strings.Repeat("ef", 32)},
		"a node as to a plain server":         {Link: h.node, Login: true},
		"nobody":                              {},
	} {
		cfg.URL, cfg.Replicas, cfg.MayLose = h.url, 1, true
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		l, err := natsstream.Open(ctx, cfg)
		cancel()
		if err == nil {
			l.Close()
			t.Errorf("%s was let in", name)
		}
	}
	b := open(t, natsstream.Config{URL: h.url, Link: h.node, KeyOf: h.self, Replicas: 1, MayLose: true})
	publish(t, b, event(1), event(2))
	r := reader(t, b, stream.Consumer{Durable: "b", Stream: domain.AggregateEvents})
	if got := next(t, r, 2); string(got[0].Data) != "1" {
		t.Errorf("got %q, want 1", got[0].Data)
	}
	if err := r.Done(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if err := b.Trim(t.Context(), domain.AggregateEvents, "", 1); err != nil {
		t.Error(err)
	}
	if err := b.Drop(t.Context(), domain.AggregateEvents, "b"); err != nil {
		t.Error(err)
	}
	login, err := natslink.ToNode(h.node, h.self)
	if err != nil {
		t.Fatal(err)
	}
	user, err := natslink.User(h.node.Pubkey())
	if err != nil {
		t.Fatal(err)
	}
	nc, js := client(t, h.url, login, nats.CustomInboxPrefix("_INBOX_"+user), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	for _, subject := range []string{"$JS.API.STREAM.DELETE.AGGREGATE_EVENTS", "$JS.API.STREAM.CREATE.mine"} {
		if _, err := nc.Request(subject, nil, 300*time.Millisecond); err == nil {
			t.Errorf("a node may use %s", subject)
		}
	}
	if _, err := js.Stream(t.Context(), "AGGREGATE_EVENTS"); err != nil {
		t.Errorf("the stream: %v", err)
	}
}

// A node whose user on an external server lacks a right says which; one that may
// do far more than it needs warns.
func TestRightsAreLookedAtAtTheStart(t *testing.T) {
	t.Parallel()
	link := newLink(t)
	for _, c := range []struct {
		name, cut, put string
		missing        string
		warns          bool
	}{
		{name: "as it is written"},
		{name: "no right to make a reader", cut: `"$JS.API.CONSUMER.CREATE.WORKFLOW_EVENTS.>", `, missing: "$JS.API.CONSUMER.CREATE.WORKFLOW_EVENTS.> (publish)"},
		{name: "no right to publish commands", cut: `"tenant.*.effect.*.*", `, missing: "tenant.*.effect.*.* (publish)"},
		{name: "no inbox", cut: `subscribe: {allow: ["_INBOX_`, put: `subscribe: {allow: ["_INBOX_X`, missing: `for Subscription to "_INBOX_`},
		{name: "all rights", cut: `publish: {allow: [`, put: `publish: {allow: [">", `, warns: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := configured(t, natsstream.Permit{Nodes: []string{link.Pubkey()}}, func(text string) string {
				if c.cut != "" && !strings.Contains(text, c.cut) {
					t.Fatalf("%q is not in\n%s", c.cut, text)
				}
				return strings.Replace(text, c.cut, c.put, 1)
			})
			var log bytes.Buffer
			l, err := natsstream.Open(t.Context(),
				natsstream.Config{URL: url, Link: link, Login: true, Replicas: 1, MayLose: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err == nil {
				l.Close()
			}
			switch {
			case c.missing != "":
				if !errors.Is(err, domain.ErrForbidden) || !strings.Contains(err.Error(), c.missing) {
					t.Errorf("got %v, want forbidden, naming %s", err, c.missing)
				}
			case err != nil:
				t.Error(err)
			}
			if got := strings.Contains(log.String(), "may do more"); got != c.warns {
				t.Errorf("it warns: got %t, want %t\n%s", got, c.warns, log.String())
			}
		})
	}
}

// What a hostile server sends as nonce is not signed, by whichever key.
func TestOddNoncesAreNotSigned(t *testing.T) {
	t.Parallel()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	link := newLink(t)
	for name, cfg := range map[string]natsstream.Config{
		"link key, plain server":  {Link: link, Login: true},
		"link key, node's server": {Link: link, KeyOf: strings.Repeat("ab", 32)},
		"seed of an operator":     {NkeyFile: file(t, string(seed))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, nonce := range []string{"eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9.eyJpc3MiOiI1In0", "ramet/parcel/v1", strings.Repeat("A", 16)} {
				fake := fakeServer(t, nonce)
				cfg.URL, cfg.Replicas, cfg.MayLose = fake.url, 1, true
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if l, err := natsstream.Open(ctx, cfg); err == nil {
					l.Close()
					t.Error("it is open")
				}
				cancel()
				if said := fake.said(); strings.Contains(said, `"sig":"`) && !strings.Contains(said, `"sig":""`) {
					t.Errorf("nonce %q: it sent %s", nonce, said)
				}
			}
		})
	}
}
