package address_test

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/address"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{ // want: part of the error
		{"a plain one", "redis://host:6379", ""},
		{"a login, and parameters", "postgres://u:p%23%2F%3F%40@host:1/db?sslmode=require&application_name=a%40b", ""},
		{"hosts after commas", "etcd://u:p@a:1,b:2/prefix", ""},
		{"a repeated one that may be", "redis://a?addr=b&addr=c", ""},
		{"an @ in a value", "postgres://host/db?user=me@x", ""},
		{"a password with a #", "redis://u:12#hunter2@host", "%23"},
		{"a password with a /", "etcd://u:12/hunter2@host", "%2F"},
		{"a password with a ?", "redis://u:12?hunter2@host", "%3F"},
		{"a fragment", "redis://host#x", "#"},
		{"an empty one", "redis://host#", "#"},
		{"parameters as they were long ago", "redis://host?tenancy=prefix;master=x", "malformed"},
		{"a damaged escape", "redis://host?tenancy=%zz", "malformed"},
		{"a parameter twice", "nats://host?replicas=1&replicas=3", `"replicas" stands twice`},
		{"a parameter twice, once escaped", "nats://host?replicas=1&r%65plicas=3", `"replicas" stands twice`},
		{"what is no URL", "redis://u:hunter2#@host", "malformed"},
	} {
		u, q, err := address.Parse(tc.text, "addr")
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: got %v", tc.name, err)
		case tc.want == "" && (u == nil || q == nil):
			t.Errorf("%s: got %v, %v", tc.name, u, q)
		case tc.want != "" && (!errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter")):
			t.Errorf("%s: got %v, want one with %q", tc.name, err, tc.want)
		}
	}
}

// A URL that is taken means one thing: written anew it is read the same, its
// parameters are those that stand in it, and what is before an @ logs in. No error
// shows it.
func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"redis://u:hunter2@host:6379/?tenancy=prefix", "etcd://a:1,b:2/p?ca=f", "redis://u:12#hunter2@host",
		"redis://u:12/hunter2@host", "redis://u:12?hunter2@host",
		"postgres://host/db?user=me@x&a=1", "unix:///run/r.sock?x=1;y=2", "nats://h?a=1&a=2", "x:y@z", "//@", "a@b", "redis://h?%61=1&a=2",
		"http://[::1%25en0]:1", "redis://h#"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, q, err := address.Parse(text)
		if err != nil {
			if _, after, ok := strings.Cut(text, "://"); ok {
				for part := range strings.SplitSeq(after[:strings.LastIndexByte(after, '@')+1], ":") {
					if part = strings.TrimSuffix(part, "@"); len(part) > 3 && strings.Contains(err.Error(), part) && !strings.Contains(plainWords, part) {
						t.Errorf("%q: the error shows %q: %v", text, part, err)
					}
				}
			}
			return
		}
		// Go's writer of URLs does not keep an @ of a path escaped beside what must be.
		again, q2, err := address.Parse(u.String())
		if !strings.Contains(text, "%40") && (err != nil || again.String() != u.String() || q2.Encode() != q.Encode()) {
			t.Errorf("%q is %q, and again %q, %v", text, u, again, err)
		}
		n := 0
		for part := range strings.SplitSeq(u.RawQuery, "&") {
			if name, _, _ := strings.Cut(part, "="); part != "" {
				plain, err := url.QueryUnescape(name)
				if n++; err != nil || !q.Has(plain) {
					t.Errorf("%q: parameter %q is not read", text, part)
				}
			}
		}
		if n != len(q) {
			t.Errorf("%q has %d parameters, and %d are read", text, n, len(q))
		}
		if query := strings.IndexByte(text, '?'); u.User == nil && u.Host != "" {
			if at := strings.IndexByte(text, '@'); at >= 0 && (query < 0 || at < query) {
				t.Errorf("%q has an @, and nobody logs in", text)
			}
		}
	})
}

// plainWords are those of the errors.
const plainWords = "an @ stands behind its host; if it belongs to the login, write the password's '/' as %2F, '?' as %3F, '#' as %23 and '@' as %40" +
	"its parameters are malformed: want ?name=value&name=value, with what is special as %XX it is malformed its parameter stands twice it has a '#'; " +
	"if it belongs to a password"

func TestParseHosts(t *testing.T) {
	for text, want := range map[string][]string{
		"etcd://a:1,b:2,c:3/ramet?x=y":       {"a:1", "b:2", "c:3"},
		"redis://u:p%2Fw,x@a,b:2/?master=m":  {"a", "b:2"},
		"redis://[::1]:1,[::2]:2":            {"[::1]:1", "[::2]:2"},
		"redis://a":                          {"a"},
		"unix:///run/redis,1.sock?tenancy=x": {""},
	} {
		u, hosts, _, err := address.ParseHosts(text)
		if err != nil || !slices.Equal(hosts, want) || u.Host != want[0] {
			t.Errorf("%s: got %v, %q, %v, want %q", text, u, hosts, err, want)
		}
	}
	for _, text := range []string{"redis://a,/", "redis://a,,b", "redis://a,b:x/", "redis://a,b c", "redis://u:1,2/secret@h", "redis://u:1,2#secret@h",
		"%"} {
		_, hosts, _, err := address.ParseHosts(text)
		if !errors.Is(err, domain.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %q, %v, want invalid", text, hosts, err)
		}
	}
}
