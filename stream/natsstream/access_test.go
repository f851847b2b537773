package natsstream_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testcert"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

const token = "a token of more than 16 characters"

func TestOtherProgramsLogInWithTheToken(t *testing.T) {
	t.Parallel()
	l := open(t, natsstream.Config{DataDir: t.TempDir(), MayLose: true, Listen: "127.0.0.1:0", TokenFile: file(t, token+"\n")})
	url := "nats://" + l.Listening()
	for name, opts := range map[string][]nats.Option{
		"nothing":             nil,
		"another token":       {nats.Token("another token of more than 16")},
		"an empty token":      {nats.Token("")},
		"our name":            {nats.UserInfo("ramet", "")},
		"the token as secret": {nats.UserInfo("ramet", token)},
	} {
		if nc, err := nats.Connect(url, opts...); err == nil {
			nc.Close()
			t.Errorf("with %s: it was let in", name)
		}
	}
	_, js := client(t, url, nats.Token(token))
	if _, err := js.Publish(t.Context(), "aggregate.a.b", []byte("hello")); err != nil {
		t.Errorf("publish: %v", err)
	}
	r := reader(t, l, stream.Consumer{Durable: "r", Stream: domain.AggregateEvents})
	if got := next(t, r, 1); string(got[0].Data) != "hello" {
		t.Errorf("got %q, want hello", got[0].Data)
	}
	if err := js.DeleteStream(t.Context(), "AGGREGATE_EVENTS"); err == nil {
		t.Errorf("another program deleted a stream")
	}
	if st, err := l.Stats(t.Context(), domain.AggregateEvents); err != nil || st.Messages != 1 {
		t.Errorf("got %d messages and %v, want 1", st.Messages, err)
	}
}

func TestLogInToAnExternalServer(t *testing.T) {
	t.Parallel()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := user.PublicKey()
	seed, _ := user.Seed()
	cfg := natsstream.Config{Replicas: 1, MayLose: true}
	for _, c := range []struct {
		name string
		opts server.Options
		user string // in the URL
		cfg  func(*natsstream.Config)
	}{
		{name: "a user with a password", opts: server.Options{Username: "u", Password: "p"}, user: "u:p@"},
		{name: "a token in the URL", opts: server.Options{Authorization: "s3cret"}, user: "s3cret@"},
		{name: "a token in a file", opts: server.Options{Authorization: "s3cret"}, cfg: func(c *natsstream.Config) { c.TokenFile = file(t, "s3cret\n") }},
		{name: "an nkey", opts: server.Options{Nkeys: []*server.NkeyUser{{Nkey: public}}}, cfg: func(c *natsstream.Config) { c.NkeyFile = file(t, string(seed)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := run(t, c.opts)
			cfg := cfg
			cfg.URL = strings.Replace(b.url, "://", "://"+c.user, 1)
			if c.cfg != nil {
				c.cfg(&cfg)
			}
			publish(t, open(t, cfg), event(1))
		})
	}
}

func TestAServerThatDoesNotLetUsInSaysSo(t *testing.T) {
	t.Parallel()
	b := run(t, server.Options{Username: "u", Password: "p"})
	for _, who := range []string{"", "u:wrong@"} {
		_, err := natsstream.Open(t.Context(), natsstream.Config{URL: strings.Replace(b.url, "://", "://"+who, 1), Replicas: 1, MayLose: true})
		if !errors.Is(err, domain.ErrForbidden) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("as %q: got error %v, want forbidden, without the password", who, err)
		}
	}
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	t.Parallel()
	dir, good := t.TempDir(), file(t, token)
	for _, c := range []struct {
		name string
		cfg  natsstream.Config
		kind error
		want string
	}{
		{"nowhere to lie", natsstream.Config{}, domain.ErrInvalid, "data folder"},
		{"a token in the clear", natsstream.Config{DataDir: dir, Listen: "0.0.0.0:0", TokenFile: good}, domain.ErrInvalid, "without TLS"},
		{"on all interfaces in the clear", natsstream.Config{DataDir: dir, Listen: ":4222", TokenFile: good}, domain.ErrInvalid, "without TLS"},
		{"a short token", natsstream.Config{DataDir: dir, Listen: "127.0.0.1:0", TokenFile: file(t, "short")}, domain.ErrInvalid, "at least 16"},
		{"no token in its file", natsstream.Config{DataDir: dir, Listen: "127.0.0.1:0", TokenFile: file(t, " \n")}, domain.ErrInvalid, "want one token"},
		{"a token file that is not there", natsstream.Config{DataDir: dir, Listen: "127.0.0.1:0", TokenFile: dir + "/none"}, domain.ErrNotFound, "none"},
		{"a token for nobody", natsstream.Config{DataDir: dir, TokenFile: good}, domain.ErrInvalid, "listens nowhere"},
		{"a certificate without a key", natsstream.Config{DataDir: dir, Listen: "127.0.0.1:0", TokenFile: good, TLSCert: good}, domain.ErrInvalid,
			"give both or none"},
		{"no port", natsstream.Config{DataDir: dir, Listen: "127.0.0.1", TokenFile: good}, domain.ErrInvalid, "host:port"},
		{"credentials for ourselves", natsstream.Config{DataDir: dir, CredsFile: good}, domain.ErrInvalid, "needs no log-in"},
		{"another kind of URL", natsstream.Config{URL: "http://u:secret@host"}, domain.ErrInvalid, "nats://"},
		{"a URL without a host", natsstream.Config{URL: "nats://u:secret@"}, domain.ErrInvalid, "host"},
		{"listen elsewhere", natsstream.Config{URL: "nats://u:secret@host", Listen: ":1"}, domain.ErrInvalid, "none of our own"},
		{"credentials that are not there", natsstream.Config{URL: "nats://u:secret@host", CredsFile: dir + "/none"}, domain.ErrNotFound, "none"},
		{"an nkey that is none", natsstream.Config{URL: "nats://u:secret@host", NkeyFile: good}, domain.ErrInvalid, "no seed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := natsstream.Open(t.Context(), c.cfg)
			if err == nil {
				l.Close()
			}
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), token)) {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestAFolderIsOneProcesss(t *testing.T) {
	t.Parallel()
	cfg := natsstream.Config{DataDir: t.TempDir()}
	l := open(t, cfg)
	if _, err := natsstream.Open(t.Context(), cfg); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("got error %v, want conflict", err)
	}
	publish(t, l, event(1))
	l.Close()
	l = open(t, cfg)
	if st, err := l.Stats(t.Context(), domain.AggregateEvents); err != nil || st.Messages != 1 {
		t.Errorf("got %d messages and %v after a restart, want 1", st.Messages, err)
	}
}

// TestTLS joins two logs over TLS: one has the server inside itself, the other
// connects to it as to any.
func TestTLS(t *testing.T) {
	t.Parallel()
	pair := testcert.New(t)
	cert, key := pair.Cert, pair.Key
	secret := file(t, token)
	link, other := newLink(t), strings.Repeat("ab", 32)
	inside := open(t, natsstream.Config{DataDir: t.TempDir(), MayLose: true, Listen: "127.0.0.1:0", TokenFile: secret, TLSCert: cert, TLSKey: key,
		Node: other, Nodes: func(k string) bool { return k == link.Pubkey() }})
	cfg := natsstream.Config{URL: "tls://" + inside.Listening(), Link: link, KeyOf: other, CA: cert, Replicas: 1, MayLose: true, NoCreate: true}
	outside := open(t, cfg)
	publish(t, outside, event(1))
	if got := next(t, reader(t, inside, stream.Consumer{Durable: "r", Stream: domain.AggregateEvents}), 1); got[0].ID != "event-1" {
		t.Errorf("got %s, want event-1", got[0].ID)
	}
	publish(t, inside, event(2))
	if got := next(t, reader(t, outside, stream.Consumer{Durable: "s", Stream: domain.AggregateEvents, After: 1}), 1); got[0].ID != "event-2" {
		t.Errorf("got %s, want event-2", got[0].ID)
	}
	if nc, err := nats.Connect("nats://"+inside.Listening(), nats.Token(token)); err == nil && !nc.TLSRequired() {
		nc.Close()
		t.Errorf("it was let in without TLS")
	}
}
