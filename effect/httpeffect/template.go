package httpeffect

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// maxFilled bounds what one place of a URL is filled with.
const maxFilled = 1_000

// template is the address of requests, with places to be filled in.
type template struct {
	origin string // scheme://host[:port]
	host   string
	parts  []part
}

// part is a text, or a place.
type part struct {
	text  string
	place string // payload.a.b, command_id or tenant
	query bool
}

var (
	placePattern = regexp.MustCompile(`\{([^{}]*)\}`)
	pathPattern  = regexp.MustCompile(`^payload(\.[A-Za-z_][A-Za-z0-9_-]*)+$`)
)

func isPath(s string) bool { return len(s) < 200 && pathPattern.MatchString(s) }

// parseTemplate reads a URL with places.
//
// Errors: [domain.ErrInvalid].
func parseTemplate(text string) (*template, error) {
	// Without its places it must be a URL as it stands.
	plain := placePattern.ReplaceAllString(text, "x")
	u, err := url.Parse(plain)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" {
		return nil, domain.Invalidf("want http:// or https:// with a host, and neither password nor #fragment")
	}
	t := &template{origin: u.Scheme + "://" + u.Host, host: u.Hostname()}
	if !strings.HasPrefix(text, t.origin) {
		return nil, domain.Invalidf("scheme, host and port have no places to be filled in: the payload does not choose who is called")
	}
	// A path that is not escaped as it should be is escaped anew when it is sent,
	// with what the payload has in it undone: a..%2F would lead up.
	if path, _, _ := strings.Cut(strings.TrimPrefix(plain, t.origin), "?"); path != u.EscapedPath() {
		return nil, domain.Invalidf("its path has characters that are written as %%XX in a URL, such as a space as %%20")
	}
	rest, at, query := text[len(t.origin):], 0, false
	for _, m := range placePattern.FindAllStringSubmatchIndex(rest, -1) {
		plain, place := rest[at:m[0]], rest[m[2]:m[3]]
		query = query || strings.Contains(plain, "?")
		if place != "command_id" && place != "tenant" && !isPath(place) {
			return nil, domain.Invalidf("has {%s}: want {payload.name}, {command_id} or {tenant}", place)
		}
		t.parts = append(t.parts, part{text: plain}, part{place: place, query: query})
		at = m[1]
	}
	t.parts = append(t.parts, part{text: rest[at:]})
	return t, nil
}

// fill is the address for a call.
//
// Errors: *[effect.Refused] where the payload lacks something.
func (t *template) fill(call effect.Call, payload any) (string, error) {
	var b strings.Builder
	b.WriteString(t.origin)
	for _, p := range t.parts {
		b.WriteString(p.text)
		if p.place == "" {
			continue
		}
		v, err := value(p.place, call, payload)
		if err != nil {
			return "", err
		}
		if p.query {
			b.WriteString(url.QueryEscape(v))
			continue
		}
		if v == "" {
			return "", effect.Refusedf("http: %s is empty, which cannot be a part of a path", p.place)
		}
		b.WriteString(url.PathEscape(v))
	}
	path, _, _ := strings.Cut(b.String(), "?")
	for segment := range strings.SplitSeq(path[len(t.origin):], "/") {
		plain, _ := url.PathUnescape(segment) // as others may read it
		if plain == "." || plain == ".." {    // whether of one place or of several
			return "", effect.Refusedf("http: the payload makes %q a part of a path, which would lead elsewhere", segment)
		}
	}
	return b.String(), nil
}

// value is what fills a place.
func value(place string, call effect.Call, payload any) (string, error) {
	switch place {
	case "command_id":
		return call.CommandID, nil
	case "tenant":
		return call.TenantName, nil
	}
	v, ok := pick(payload, place)
	if !ok {
		return "", effect.Refusedf("http: the payload has no %s", strings.TrimPrefix(place, "payload."))
	}
	text, ok := scalar(v)
	if !ok || len(text) > maxFilled {
		return "", effect.Refusedf("http: %s of the payload: want a text of up to %d bytes, a number or a boolean", strings.TrimPrefix(place, "payload."), maxFilled)
	}
	return text, nil
}

// pick is a part of the payload: payload.a.b.
func pick(payload any, path string) (any, bool) {
	v := payload
	for _, name := range strings.Split(path, ".")[1:] {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

// scalar is a value as text.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		if v {
			return "true", true
		}
		return "false", true
	}
	return "", false
}

// decode reads a payload and keeps its numbers as they are.
//
// Errors: *[effect.Refused].
func decode(payload json.RawMessage) (v any, err error) {
	if len(payload) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	if err := d.Decode(&v); err != nil || d.More() {
		return nil, effect.Refusedf("http: the payload is no JSON")
	}
	return v, nil
}
