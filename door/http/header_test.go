package http_test

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/door/http"
)

// FuzzHeaders sends requests whose headers strangers wrote: each is answered, with a
// status that is for it, in a form that can be read, and under a plain name.
func FuzzHeaders(f *testing.F) {
	r := newRig(f, func(c *http.Config) { c.Origins = []string{"https://console.example.com"} })
	r.submit(1, "say hello")
	r.wait(1)
	for _, s := range []string{"", "*/*", "gzip", "gzip;q=0,*;q=NaN", "application/json;q=1e400", ";;,;q", `"x"`, `W/"x", *`, "text/event-stream;q=-1",
		"application/json; charset=\xff", "https://console.example.com", parent, "a b", "x\x1b[2Jy", strings.Repeat(",", 1000)} {
		for i := range headers {
			f.Add(byte(i), s, "/v1/contexts/7/jobs/10/1", "")
			f.Add(byte(i), s, "/v1/contexts/7/jobs", `{"id":1,"script":"say hello","script_type":"lines"}`)
		}
	}
	f.Add(byte(0), "*/*", "/v1/contexts/7/{job}/\x00/\x1b", "")
	token := "Bearer " + r.token(admin)
	good := []int{200, 204, 304, 307, 400, 403, 404, 405, 406, 409, 412, 413, 415}
	f.Fuzz(func(t *testing.T, which byte, value, path, body string) {
		method := "GET"
		if body != "" {
			method = "POST"
		}
		req := httptest.NewRequest(method, "/", strings.NewReader(body))
		req.URL.Path, req.RequestURI = "/"+strings.TrimLeft(path, "/"), ""
		if strings.HasPrefix(req.URL.Path, "/admin/") || strings.HasSuffix(req.URL.Path, "/wait") {
			return
		}
		req.Header.Set("Authorization", token)
		req.Header.Set(headers[int(which)%len(headers)], value)
		w := httptest.NewRecorder()
		r.door.ServeHTTP(w, req)
		if !slices.Contains(good, w.Code) {
			t.Errorf("%s %q with %q: got %d %s", method, path, value, w.Code, w.Body)
		}
		if w.Code >= 400 && w.Header().Get("Content-Encoding") == "" {
			var p api.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code || p.RequestID != w.Header().Get(http.IDHeader) {
				t.Errorf("got no problem: %s, %v", w.Body, err)
			}
		}
		for name, values := range w.Header() {
			for _, v := range values {
				if strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c > '~' }) {
					t.Errorf("%s is %q", name, v)
				}
			}
		}
	})
}

// headers are those that the door reads beside the proof of who asks.
var headers = []string{"Accept", "Accept-Encoding", "Content-Type", "Content-Encoding", "If-Match", "If-None-Match", "Origin", http.IDHeader,
	"Traceparent", http.KeyHeader, http.TenantHeader, "Last-Event-Id", "Access-Control-Request-Method"}
