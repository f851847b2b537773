package natsbus_test

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus/natsbus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
	"github.com/ramet-run/ramet/internal/testcert"
	"github.com/ramet-run/ramet/internal/testwait"
)

const password = "Passw0rt"

func TestConfigRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	junk := filepath.Join(data, "junk")
	if err := os.WriteFile(junk, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		cfg  natsbus.Config
		kind error
		says string
	}{
		{"no key", natsbus.Config{DataDir: data}, domain.ErrInvalid, "want its public key"},
		{"no data folder", natsbus.Config{Node: public(0), Link: link(0)}, domain.ErrInvalid, "data folder"},
		{"another scheme", natsbus.Config{Node: public(0), Link: link(0), URL: "http://u:" + password + "@host"}, domain.ErrInvalid, "nats://"},
		{"no host", natsbus.Config{Node: public(0), Link: link(0), URL: "nats://"}, domain.ErrInvalid, "host"},
		{"no second host", natsbus.Config{Node: public(0), Link: link(0), URL: "nats://u:" + password + "@a,"}, domain.ErrInvalid, "host"},
		{"a bad port", natsbus.Config{Node: public(0), Link: link(0), URL: "nats://u:" + password + "@a:x"}, domain.ErrInvalid, "host"},
		{"an unknown parameter", natsbus.Config{Node: public(0), Link: link(0), URL: "nats://a?credentials=x"}, domain.ErrInvalid, `"credentials"`},
		{"no such credentials", natsbus.Config{Node: public(0), Link: link(0), URL: "nats://a?creds=/none/such"}, domain.ErrNotFound, "/none/such"},
		{"too many replicas", natsbus.Config{Node: public(0), Link: link(0), URL: "nats://a?replicas=9"}, domain.ErrInvalid, "1 to 5"},
		{"a parameter twice", natsbus.Config{Node: public(0), Link: link(0), URL: "nats://a?replicas=1&replicas=3"}, domain.ErrInvalid, "twice"},
		{"a password with a ?", natsbus.Config{Node: public(0), Link: link(0), URL: "nats://u:12?" + password + "@a"}, domain.ErrInvalid, "%3F"},
		{"another way to log in", natsbus.Config{Node: public(0), Link: link(0), URL: "nats://a?login=fax"}, domain.ErrInvalid, "none"},
		{"an external server that listens", natsbus.Config{Node: public(0), Link: link(0), URL: "nats://a", Listen: ":0"}, domain.ErrInvalid, "external"},
		{"listening nowhere", natsbus.Config{Node: public(0), Link: link(0), DataDir: data, Listen: "host"}, domain.ErrInvalid, "host:port"},
		{"listening at no port", natsbus.Config{Node: public(0), Link: link(0), DataDir: data, LeafListen: "host:x"}, domain.ErrInvalid, "port"},
		{"a certificate without its key", natsbus.Config{Node: public(0), Link: link(0), DataDir: data, TLSCert: junk}, domain.ErrInvalid, "both or none"},
		{"a certificate that is none", natsbus.Config{Node: public(0), Link: link(0), DataDir: data, TLSCert: junk, TLSKey: junk}, domain.ErrInvalid, "junk"},
		{"an authority that is none", natsbus.Config{Node: public(0), Link: link(0), DataDir: data, TLSCA: junk}, domain.ErrInvalid, "no certificate"},
		{"a link to nowhere", natsbus.Config{Node: public(0), Link: link(0), DataDir: data, Leafs: []string{"host"}}, domain.ErrInvalid, "nats://host"},
		{"a link with a password", natsbus.Config{Node: public(0), Link: link(0), DataDir: data, Leafs: []string{"nats://u:" + password + "@host"}},
			domain.ErrInvalid, "without a password"},
		{"a link with a bad key", natsbus.Config{Node: public(0), Link: link(0), DataDir: data, Leafs: []string{"nats://host?key=X"}}, domain.ErrInvalid, "64"},
		{"two links without a key", natsbus.Config{Node: public(0), Link: link(0), DataDir: data, Leafs: []string{"nats://a", "nats://b"}},
			domain.ErrInvalid, "only one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := natsbus.Open(t.Context(), c.cfg)
			if err == nil {
				b.Close()
			}
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v that says %q", err, c.kind, c.says)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("the password is in %q", err)
			}
		})
	}
}

func TestFolderIsTaken(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first := open(t, natsbus.Config{Node: public(0), Link: link(0), DataDir: data})
	if _, err := natsbus.Open(t.Context(), natsbus.Config{Node: public(1), Link: link(1), DataDir: data}); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("a second server on a folder: got %v, want conflict", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, natsbus.Config{Node: public(0), Link: link(0), DataDir: data})
}

func TestPortIsTaken(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, cfg := range []natsbus.Config{{Listen: ln.Addr().String()}, {LeafListen: ln.Addr().String()}} {
		cfg.Node, cfg.Link, cfg.DataDir = public(0), link(0), t.TempDir()
		began := time.Now()
		_, err := natsbus.Open(t.Context(), cfg)
		if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "address already in use") {
			t.Errorf("got %v, want unavailable: address already in use", err)
		}
		if took := time.Since(began); took >= natslink.AnswerTime {
			t.Errorf("that took %v, as for a server that says nothing", took)
		}
	}
}

func TestDurabilityOfOurOwn(t *testing.T) {
	t.Parallel()
	for always, want := range map[bool]board.Durability{false: board.DurableProcess, true: board.DurableDisk} {
		b := open(t, natsbus.Config{Node: public(0), Link: link(0), DataDir: t.TempDir(), SyncAlways: always})
		if got := b.Durability(); got != want {
			t.Errorf("synced always %t: got %q, want %q", always, got, want)
		}
	}
}

// No log line shows a password. Private keys are not handed to the library.
func TestSecretsStayAway(t *testing.T) {
	t.Parallel()
	var log testwait.Log
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	host, err := natsbus.Open(t.Context(), natsbus.Config{
		Node: public(0), Link: link(0), DataDir: t.TempDir(), Listen: "127.0.0.1:0", LeafListen: "127.0.0.1:0", Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	nodes, leafs := host.Listening()
	external, err := natsbus.Open(t.Context(), natsbus.Config{Node: public(1), Link: link(1), URL: "nats://user:" + password + "@" + nodes, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	defer external.Close()
	linked, err := natsbus.Open(t.Context(), natsbus.Config{
		Node: public(2), Link: link(2), DataDir: t.TempDir(), Leafs: []string{"nats://" + leafs}, Peers: peers(0), Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer linked.Close()
	err = external.Send(t.Context(), host.Self(), []byte("x"))
	if !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	log.Await(t, "refused", 2)
	text := log.String() + err.Error()
	if strings.Contains(text, password) {
		t.Errorf("%q is in\n%s", password, text)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	pair := testcert.New(t)
	cert, key0 := pair.Cert, pair.Key
	host := open(t, natsbus.Config{
		Node: public(0), Link: link(0), DataDir: t.TempDir(), Listen: "127.0.0.1:0", LeafListen: "127.0.0.1:0",
		TLSCert: cert, TLSKey: key0, Peers: peers(1, 2, 3),
	})
	nodes, leafs := host.Listening()
	node := open(t, natsbus.Config{Node: public(1), Link: link(1), URL: "tls://" + nodes + "?ca=" + cert + "&key=" + public(0)})
	linked := open(t, natsbus.Config{
		Node: public(2), Link: link(2), DataDir: t.TempDir(), Leafs: []string{"tls://" + leafs}, TLSCA: cert, Peers: peers(0, 1),
	})
	sendOn(t, node, host.Self(), "from the node")
	sendOn(t, linked, host.Self(), "from the site")
	receives(t, host, "from the node", "from the site")
	sendOn(t, node, linked.Self(), "to the site")
	receives(t, linked, "to the site")

	for _, bad := range []natsbus.Config{
		{Node: public(3), Link: link(3), URL: "tls://" + nodes + "?key=" + public(0)},
		{Node: public(3), Link: link(3), DataDir: t.TempDir(), Leafs: []string{"tls://" + leafs}, Peers: peers(0)},
	} {
		b := open(t, bad)
		if err := b.Send(t.Context(), host.Self(), []byte("x")); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("send where the certificate is not trusted: got %v, want unavailable", err)
		}
	}
}

// A server in operator mode: credentials files, and one account for all nodes.
func TestCredentials(t *testing.T) {
	t.Parallel()
	operator, account, user := newKey(t, nkeys.CreateOperator), newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateUser)
	claims := jwt.NewAccountClaims(public0(t, account))
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1, Streams: -1, Consumer: -1}
	accountJWT := encode(t, claims, operator)
	userJWT := encode(t, jwt.NewUserClaims(public0(t, user)), account)
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.FormatUserConfig(userJWT, seed)
	if err != nil {
		t.Fatal(err)
	}
	creds := filepath.Join(t.TempDir(), "node.creds")
	if err := os.WriteFile(creds, text, 0o600); err != nil {
		t.Fatal(err)
	}
	resolver := &server.MemAccResolver{}
	if err := resolver.Store(public0(t, account), accountJWT); err != nil {
		t.Fatal(err)
	}
	system := newKey(t, nkeys.CreateAccount)
	if err := resolver.Store(public0(t, system), encode(t, jwt.NewAccountClaims(public0(t, system)), operator)); err != nil {
		t.Fatal(err)
	}
	s := ready(t, external(t, "one", "", func(o *server.Options) {
		o.TrustedKeys, o.AccountResolver, o.SystemAccount = []string{public0(t, operator)}, resolver, public0(t, system)
	}))
	a := open(t, natsbus.Config{Node: public(0), Link: link(0), URL: s.ClientURL() + "?creds=" + creds})
	b := open(t, natsbus.Config{Node: public(1), Link: link(1), URL: s.ClientURL() + "?creds=" + creds})
	sendOn(t, a, b.Self(), "hello")
	receives(t, b, "hello")
}

func newKey(t *testing.T, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	k, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func public0(t *testing.T, k nkeys.KeyPair) string {
	t.Helper()
	p, err := k.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func encode(t *testing.T, c jwt.Claims, by nkeys.KeyPair) string {
	t.Helper()
	text, err := c.Encode(by)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
