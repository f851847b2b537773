package httpeffect

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// FuzzTemplate: whatever a payload has, the address that is called has the
// operator's scheme, host and port, as many parts as he wrote, none of which leads
// up, and in each place what the payload has, byte for byte.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"https://h/a/{payload.a}/b?x={payload.b}&y=1", "http://h:80/{payload.a}{payload.b}", "http://h?{payload.a}",
		"http://h/{command_id}/{tenant}", "http://{payload.a}/", "http://h{payload.a}/",
		"http://h:{payload.a}/", "http://h/..%2f{payload.a}", "http://h/{payload.a}?{payload.b}#", "http://h/%2e{payload.a}", "http://h/.{payload.a}./",
		"http://h/a b/{payload.a}", "http://h/é/{payload.a}"} {
		for _, v := range []string{"x", "..", ".", "", "a/b", "?", "#", "%2e%2e", "@evil", "../../admin", "\\", "\u2028é", "&x=2", "+ "} {
			f.Add(s, v, "y")
		}
	}
	f.Fuzz(func(t *testing.T, text, a, b string) {
		tmpl, err := parseTemplate(text)
		if err != nil {
			if !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%q: got %v, want one of kind invalid", text, err)
			}
			return
		}
		payload := map[string]any{"a": a, "b": b}
		call := effect.Call{CommandID: "c-1", TenantName: "acme"}
		filled, err := tmpl.fill(call, payload)
		if err != nil {
			var refused *effect.Refused
			if !errors.As(err, &refused) {
				t.Errorf("%q: got %v, want a refusal", text, err)
			}
			return
		}
		// The same with texts that are harmless, to compare it with.
		plain, err := tmpl.fill(call, map[string]any{"a": "x", "b": "x"})
		if err != nil {
			t.Skip("it is refused whatever the payload has")
		}
		got, err := url.Parse(filled)
		if err != nil {
			t.Fatalf("%q filled with %q and %q is %q: %v", text, a, b, filled, err)
		}
		want, err := url.Parse(plain)
		if err != nil {
			t.Fatalf("%q filled with x is %q: %v", text, plain, err)
		}
		if got.Scheme != want.Scheme || got.Host != want.Host || got.User != nil || got.Fragment != want.Fragment ||
			strings.Count(got.EscapedPath(), "/") != strings.Count(want.EscapedPath(), "/") ||
			strings.Count(got.RawQuery, "&") != strings.Count(want.RawQuery, "&") || strings.Count(got.RawQuery, "=") != strings.Count(want.RawQuery, "=") {
			t.Errorf("%q filled with %q and %q is %q, another than %q", text, a, b, filled, plain)
		}
		for segment := range strings.SplitSeq(got.EscapedPath(), "/") {
			if segment = strings.NewReplacer("%2e", ".", "%2E", ".").Replace(segment); segment == ".." || segment == "." {
				t.Errorf("%q filled with %q and %q is %q, which leads elsewhere", text, a, b, filled)
			}
		}
		if text == "http://h/{payload.a}?x={payload.b}" && (got.Path != "/"+a || got.Query().Get("x") != b) {
			t.Errorf("filled with %q and %q it is %q", a, b, filled)
		}
	})
}

// FuzzPick: a part of a payload is the part that Go's reader of JSON finds.
func FuzzPick(f *testing.F) {
	for _, s := range []string{`{"a":{"b":"x"}}`, `{"a":1e400}`, `{"a":[1]}`, `{"a":true,"a":false}`, `{"a":null}`, `[]`, ``,
		`{"a":12345678901234567890}`, `{"a":"x"} {}`} {
		f.Add(s, "payload.a.b")
		f.Add(s, "payload.a")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		v, err := decode(json.RawMessage(text))
		if err != nil || !isPath(path) {
			return
		}
		got, ok := pick(v, path)
		var raw json.RawMessage = []byte(text)
		for _, name := range strings.Split(path, ".")[1:] {
			var m map[string]json.RawMessage
			if json.Unmarshal(raw, &m) != nil || m[name] == nil {
				if ok {
					t.Errorf("%s: %s is %v, and it has none", text, path, got)
				}
				return
			}
			raw = m[name]
		}
		said, scalarly := scalar(got)
		if !ok {
			t.Errorf("%s: %s is not found, and is %s", text, path, raw)
		}
		var s string
		if scalarly && json.Unmarshal(raw, &s) == nil && s != said || scalarly && raw[0] != '"' && said != string(raw) {
			t.Errorf("%s: %s is %q, want %s", text, path, said, raw)
		}
	})
}
