package natsstream_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/conf"
	"github.com/nats-io/nkeys"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// FuzzProducers wants of the configuration for an external server, as the server
// itself reads it, that each producer may publish the events of its context, and
// nothing else: whatever the contexts are called, and whoever else there is.
func FuzzProducers(f *testing.F) {
	users := make([]string, 2)
	for i := range users {
		raw := [32]byte{byte(i)}
		text, err := nkeys.Encode(nkeys.PrefixByteUser, raw[:])
		if err != nil {
			f.Fatal(err)
		}
		users[i] = string(text)
	}
	for _, s := range []string{"", "*", "7", "none", "acme", `a"b`, `a\`, "$SYS", "#", "{", "a:b", ">", "producers", "<<", "%s"} {
		f.Add(s, "", false)
		f.Add(s, "7", false)
		f.Add(s, "7", true)
	}
	node := strings.Repeat("ab", 32)
	f.Fuzz(func(t *testing.T, one, other string, same bool) {
		var list []natsstream.Producer
		for i, tenant := range []string{one, other} {
			if same {
				i = 0
			}
			p, err := natsstream.ParseProducer(tenant + ":" + users[i])
			if err != nil {
				if !errors.Is(err, domain.ErrInvalid) {
					t.Errorf("%q: got %v, want one of kind invalid", tenant, err)
				}
				return
			}
			if p.Tenant != tenant || p.User != users[i] {
				t.Errorf("%q is read as %+v", tenant, p)
			}
			list = append(list, p)
		}
		text, err := natsstream.Accounts(natsstream.Permit{Nodes: []string{node}, Producers: list})
		if same && one != other {
			if !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("one nkey for the contexts %q and %q: got %v, want one of kind invalid", one, other, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		read, err := conf.Parse(natslink.ServerConfig(natsstream.MaxPayload, text))
		if err != nil {
			t.Fatalf("producers %q and %q: the server does not understand it: %v\n%s", one, other, err, text)
		}
		accounts := read["accounts"].(map[string]any)
		for _, p := range list {
			want := []string{"tenant." + p.Tenant + ".aggregate.*.*"}
			switch p.Tenant {
			case natsstream.Anybody:
				want = domain.AggregateEvents.Subjects()
			case natsstream.NoContext:
				want = []string{"aggregate.*.*"}
			}
			slices.Sort(want)
			if got := imported(accounts, p.User); !slices.Equal(got, want) {
				t.Errorf("producers %q and %q: that of %q publishes to %q, want %q\n%s", one, other, p.Tenant, got, want, text)
			}
		}
	})
}

// imported are the subjects of other accounts to which a user publishes.
func imported(accounts map[string]any, user string) (subjects []string) {
	for _, a := range accounts {
		account := a.(map[string]any)
		users, _ := account["users"].([]any)
		if !slices.ContainsFunc(users, func(u any) bool { return u.(map[string]any)["nkey"] == user }) {
			continue
		}
		imports, _ := account["imports"].([]any)
		for _, i := range imports {
			subjects = append(subjects, i.(map[string]any)["service"].(map[string]any)["subject"].(string))
		}
	}
	slices.Sort(subjects)
	return subjects
}
