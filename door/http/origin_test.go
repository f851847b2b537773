package http_test

import (
	"errors"
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
)

func TestPagesOfOriginsThatAreNamedMayRead(t *testing.T) {
	const console, other = "https://console.example.com", "https://other.example.com"
	r := newRig(t, func(c *http.Config) { c.Origins = []string{console, "http://localhost:5173"} })
	const jobs = "/v1/contexts/7/jobs"
	ask := func(origin string) *nethttp.Response {
		return r.request(0, "OPTIONS", jobs, "", "Origin", origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,content-type,idempotency-key")
	}
	for _, origin := range []string{console, "http://localhost:5173"} {
		resp := ask(origin)
		h := resp.Header
		if resp.StatusCode != nethttp.StatusNoContent || h.Get("Access-Control-Allow-Origin") != origin ||
			!strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST") ||
			!strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization") || !strings.Contains(h.Get("Access-Control-Allow-Headers"), http.KeyHeader) ||
			h.Get("Access-Control-Allow-Credentials") != "" || h.Get("Access-Control-Max-Age") == "" {
			t.Errorf("%s asks: got %s %v", origin, resp.Status, h)
		}
		for _, path := range []string{jobs, "/v2", "/health", jobs + "/10/99"} { // problems can be read, too
			h := r.request(reader, "GET", path, "", "Origin", origin).Header
			if h.Get("Access-Control-Allow-Origin") != origin || !strings.Contains(h.Get("Access-Control-Expose-Headers"), http.IDHeader) {
				t.Errorf("%s reads %s: got %v", origin, path, h)
			}
		}
	}
	for _, origin := range []string{other, "null", "*", console + ".evil.example", "http://console.example.com", strings.ToUpper(console), ""} {
		asked, read := ask(origin), r.request(reader, "GET", jobs, "", "Origin", origin)
		if asked.StatusCode != nethttp.StatusMethodNotAllowed || asked.Header.Get("Access-Control-Allow-Origin") != "" ||
			read.StatusCode != nethttp.StatusOK || read.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: got %v %v", origin, asked.Header, read.Header)
		}
		if !strings.Contains(strings.Join(read.Header.Values("Vary"), ","), "Origin") {
			t.Errorf("%s: got Vary %q; a cache would give one's answer to another", origin, read.Header.Values("Vary"))
		}
	}
	closed := newRig(t)
	if h := closed.request(reader, "GET", jobs, "", "Origin", console).Header; h.Get("Access-Control-Allow-Origin") != "" ||
		strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") {
		t.Errorf("by default: got %v", h)
	}
}

func TestOriginsAreExact(t *testing.T) {
	for origin, good := range map[string]bool{
		"https://console.example.com": true, "http://localhost:5173": true, "https://[::1]:8443": true,
		"*": false, "null": false, "": false, "https://*.example.com": false, "console.example.com": false, "https://console.example.com/": false,
		"https://Console.example.com": false, "https://console.example.com:443": false, "http://a.example:80": false, "file:///x": false,
		"https://me@a.example": false, "https://a.example?x": false, "https://a.example#x": false,
	} {
		if err := http.CheckOrigins([]string{origin}); (err == nil) != good || err != nil && !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%q: got %v", origin, err)
		}
	}
}
