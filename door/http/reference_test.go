package http_test

import (
	"compress/gzip"
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/docs"
	"github.com/ramet-run/ramet/door/http"
)

// TestEverybodyMayReadWhatThereIs: whoever has no token yet, too, and once only.
func TestEverybodyMayReadWhatThereIs(t *testing.T) {
	r := newRig(t)
	for path, want := range map[string]struct{ media, text string }{
		http.Description: {"application/json", string(docs.OpenAPI)},
		http.Reference:   {"text/html; charset=utf-8", string(docs.Reference)},
	} {
		resp := r.request(0, "GET", path, "")
		if got := text(t, resp.Body); got != want.text || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != want.media {
			t.Errorf("%s: got %s, %s, %d bytes", path, resp.Status, resp.Header.Get("Content-Type"), len(got))
		}
		for header, want := range map[string]int{"If-None-Match": 304, "If-Match": 200} {
			again, err := nethttp.NewRequest("GET", r.server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			again.Header.Set(header, resp.Header.Get("ETag"))
			again.Header.Set("Accept-Encoding", "gzip")
			got, err := nethttp.DefaultClient.Do(again)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			if got.StatusCode != want {
				t.Errorf("%s with %s: got %s, want %d", path, header, got.Status, want)
			}
			if want != 200 {
				continue
			}
			if z, err := gzip.NewReader(got.Body); err != nil || text(t, z) != string(docs.OpenAPI) && path == http.Description {
				t.Errorf("%s: compressed it is another: %v", path, err)
			}
		}
	}
}

// TestThePageReachesNothing: it is to work where there is no network but the node.
func TestThePageReachesNothing(t *testing.T) {
	page := string(docs.Reference)
	for _, outside := range []string{"<script", "<link", "<img", "src=", "@import", "url("} {
		if strings.Contains(page, outside) {
			t.Errorf("the page has %s", outside)
		}
	}
	for part := range strings.SplitSeq(page, `href="`) {
		if address, _, _ := strings.Cut(part, `"`); strings.Contains(address, "://") {
			t.Errorf("the page leads to %s", address)
		}
	}
}

// TestHeadersAreDescribedByTheirNames: package openapi cannot ask this one for them.
func TestHeadersAreDescribedByTheirNames(t *testing.T) {
	for _, name := range []string{http.TenantHeader, http.KeyHeader, http.ReplayedHeader, http.IDHeader} {
		if !strings.Contains(string(docs.OpenAPI), `"`+name+`": {`) {
			t.Errorf("the description has no header %s", name)
		}
	}
}
