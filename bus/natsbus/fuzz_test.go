package natsbus

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/conf"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
)

// FuzzURL: a URL of a server is refused without being shown, or it is read as it
// says: all its hosts and no other, who logs in, how many replicas.
func FuzzURL(f *testing.F) {
	key := strings.Repeat("ab", 32)
	for _, s := range []string{"", "nats:", "nats://a", "tls://u:hunter2@a:4222,u:hunter2@b:4222/?replicas=3", "nats://hunter2@a",
		"nats://a?login=none", "nats://a?key=" + key, "nats://a,@b", "nats://a:,b",
		"nats://u:12?hunter2@a", "nats://a/,b", "nats://[::1]:4222", "nats://a?replicas=3&replicas=1", "nats://a?replicas=+3",
		"nats://a?creds=/none/such", "nats://a%2Cb", "nats://a\\b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseURL(text)
		if err != nil {
			if !errors.Is(err, domain.ErrInvalid) && !errors.Is(err, domain.ErrNotFound) && !errors.Is(err, domain.ErrForbidden) {
				t.Errorf("%q: got %v", text, err)
			}
			for _, secret := range logins(text) {
				if strings.Contains(err.Error(), secret) && !strings.Contains(strings.Replace(text, secret, "", 1), secret) {
					t.Errorf("%q: the error shows %q: %v", text, secret, err)
				}
			}
			return
		}
		if r == nil {
			if text != "" && text != "nats:" {
				t.Errorf("%q is taken for the embedded server", text)
			}
			return
		}
		head, query, _ := strings.Cut(text, "?")
		kind, rest, _ := strings.Cut(head, "://")
		var plain []string
		login := false
		for host := range strings.SplitSeq(strings.TrimSuffix(rest, "/"), ",") {
			at := strings.LastIndexByte(host, '@')
			plain, login = append(plain, host[at+1:]), login || at >= 0
		}
		if names := strings.Split(r.hosts, ","); len(names) != len(plain) || strings.Contains(r.hosts, "@") {
			t.Errorf("%q has the hosts %q, read as %q", text, plain, r.hosts)
		}
		for i, server := range strings.Split(r.servers, ",") {
			u, err := url.Parse(server)
			if err != nil || u.Scheme != kind || u.Hostname() == "" {
				t.Fatalf("%q: %q is no URL of a server", text, server)
			}
			if i < len(plain) && !strings.Contains(plain[i], "%") && u.Host != plain[i] {
				t.Errorf("%q: host %q is read as %q", text, plain[i], u.Host)
			}
		}
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatalf("%q is taken with parameters that are none", text)
		}
		for name, values := range q {
			if len(values) != 1 {
				t.Errorf("%q is taken with %d times %s", text, len(values), name)
			}
		}
		replicas, err := strconv.Atoi(q.Get("replicas"))
		if q.Has("replicas") && (err != nil || replicas != r.replicas) || !q.Has("replicas") && r.replicas != 1 || r.replicas < 1 || r.replicas > 5 {
			t.Errorf("%q: %d replicas", text, r.replicas)
		}
		if r.open != (login || q.Get("login") == "none") || r.node != q.Get("key") || r.node != "" && !validKey(r.node) {
			t.Errorf("%q is read as %+v", text, r)
		}
	})
}

// logins are what stands before an @ of a text.
func logins(text string) (list []string) {
	for part := range strings.FieldsFuncSeq(text[:max(strings.LastIndexByte(text, '@'), 0)], func(c rune) bool { return strings.ContainsRune(":/@,", c) }) {
		if len(part) > 4 && !strings.Contains("nats: // tls: host login without password parameter known replicas", part) {
			list = append(list, part)
		}
	}
	return list
}

// FuzzLeafs: links to other sites have neither passwords nor anything that is not
// read.
func FuzzLeafs(f *testing.F) {
	for _, s := range []string{"nats://a", "tls://a:7422?key=" + strings.Repeat("ab", 32), "nats://u:hunter2@a", "nats://a#hunter2", "nats://a?key=",
		"nats://a?key=x&key=y", "nats://a?peer=acme", "nats://a?peer=", "nats://a/", "nats://[::1]", "nats://a?"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		leafs, err := parseLeafs([]string{text})
		if err != nil {
			if !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%q: got %v", text, err)
			}
			return
		}
		l := leafs[0]
		host, _, _ := strings.Cut(strings.SplitN(text, "://", 2)[1], "?")
		if l.url.User != nil || l.url.Path != "" || l.url.Fragment != "" || l.url.Port() == "" || l.end.key != "" && (!validKey(l.end.key) || l.end.site != "") {
			t.Errorf("%q is read as %+v", text, l)
		}
		if !strings.Contains(host, "%") && l.url.Host != host && l.url.Host != host+":7422" {
			t.Errorf("%q leads to %q", text, l.url.Host)
		}
		if again, err := parseLeafs([]string{l.url.String()}); err != nil || again[0].url.String() != l.url.String() {
			t.Errorf("%q is %q, and again %v, %v", text, l.url, again, err)
		}
	})
}

// FuzzParties: a parcel's subject names two nodes in one way, or none.
func FuzzParties(f *testing.F) {
	a, b := strings.Repeat("ab", 32), strings.Repeat("01", 32)
	for _, s := range []string{sendSubject(a, b), parcelSubject(a, b), sendSubject("*", a), sendSubject(a, b) + ".x",
		"ramet.parcel.ramet.send." + a + "." + b, sendSubject(strings.ToUpper(a), b), ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, subject string) {
		to, from, ok := parties(subject)
		if ok && subject != sendSubject(to, from) && subject != parcelSubject(to, from) {
			t.Errorf("%q is taken as from %q to %q", subject, from, to)
		}
	})
}

// FuzzAccounts wants of the configuration for an external server, as the server
// itself reads it, that each node logs in to its own account, sends under its own
// name only, and hears what is for it; whatever sites are called.
func FuzzAccounts(f *testing.F) {
	keys := []string{strings.Repeat("ab", 32), strings.Repeat("01", 32), strings.Repeat("23", 32), ""}
	for _, site := range []string{"acme", "a\"b", "}\n", "#", "a\u2028b", "\x00"} {
		for i := range 8 {
			f.Add(site, byte(i), byte(i/2), byte(1), byte(i/4))
		}
	}
	f.Fuzz(func(t *testing.T, site string, keyA, linkA, keyB, linkB byte) {
		key := func(i byte) string { return keys[int(i)%len(keys)] }
		p := Permit{Nodes: []Peer{{Key: key(keyA), Link: key(linkA), Site: site}, {Key: key(keyB), Link: key(linkB), Site: site}}}
		text, err := ServerConfig(p)
		if err != nil {
			if !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%+v: got %v", p, err)
			}
			return
		}
		read, err := conf.Parse(text)
		if err != nil {
			t.Fatalf("%+v: the server does not understand it: %v\n%s", p, err, text)
		}
		accounts := read["accounts"].(map[string]any)
		for _, n := range p.Nodes {
			if n.Link == "" {
				if accounts[nodeAccount(n.Key)] != nil {
					t.Errorf("%+v: node %s has an account, and no link key", p, n.Key)
				}
				continue
			}
			user, err := natslink.User(n.Link)
			if err != nil {
				t.Fatal(err)
			}
			var in []string
			for name, a := range accounts {
				users, _ := a.(map[string]any)["users"].([]any)
				if slices.ContainsFunc(users, func(u any) bool { return u.(map[string]any)["nkey"] == user }) {
					in = append(in, name)
				}
			}
			if !slices.Equal(in, []string{nodeAccount(n.Key)}) {
				t.Errorf("%+v: node %s logs in to %q", p, n.Key, in)
			}
			account := accounts[nodeAccount(n.Key)].(map[string]any)
			if got := account["imports"].([]any)[0].(map[string]any)["service"].(map[string]any)["subject"]; got != sendSubject("*", n.Key) {
				t.Errorf("%+v: node %s sends to %v", p, n.Key, got)
			}
			if got := account["exports"].([]any)[0].(map[string]any)["service"]; got != parcelSubject(n.Key, "*") {
				t.Errorf("%+v: node %s hears %v", p, n.Key, got)
			}
		}
	})
}
