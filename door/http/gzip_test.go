package http_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/door/http"
)

// zipped is a text, compressed.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// text reads a body.
func text(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAnswersAreCompressedForThoseWhoTakeThem(t *testing.T) {
	r := newRig(t)
	r.submit(1, "say "+strings.Repeat("hello ", 1000))
	r.submit(2, "say hello")
	r.wait(1)
	r.wait(2)
	const jobs = "/v1/contexts/7/jobs/10/"
	for _, c := range []struct {
		name, path, accept string
		want               bool
	}{
		{"a long answer", "1", "gzip", true},
		{"one of several codings", "1", "br;q=1.0, gzip;q=0.8, *;q=0.1", true},
		{"any coding", "1", "*", true},
		{"an old name", "1", "X-GZIP", true},
		{"a short answer", "2", "gzip", false},
		{"a caller who does not want it", "1", "gzip;q=0, *", false},
		{"a caller who wants nothing", "1", "*;q=0", false},
		{"a coding that we have not", "1", "br", false},
		{"a caller who says nothing", "1", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain := r.want(200, reader, "GET", jobs+c.path, "", "Accept-Encoding", "identity")
			resp := r.request(reader, "GET", jobs+c.path, "", "Accept-Encoding", c.accept)
			got := io.Reader(resp.Body)
			if coding := resp.Header.Get("Content-Encoding"); (coding == "gzip") != c.want {
				t.Fatalf("got the coding %q, want gzip: %v", coding, c.want)
			}
			if c.want {
				z, err := gzip.NewReader(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				got = z
			}
			if got := text(t, got); got != plain {
				t.Errorf("got %.200s, want %.200s", got, plain)
			}
			if vary := resp.Header.Values("Vary"); !strings.Contains(fmt.Sprint(vary), "Accept-Encoding") {
				t.Errorf("got Vary %q", vary)
			}
		})
	}
	resp := r.request(reader, "GET", jobs+"1/logs", "", "Accept-Encoding", "gzip", "Accept", "text/event-stream")
	if got := text(t, resp.Body); resp.Header.Get("Content-Encoding") != "" || !strings.Contains(got, "event: end") {
		t.Errorf("a stream: got %v %.200s", resp.Header, got)
	}
	if got := text(t, r.request(reader, "HEAD", jobs+"1", "", "Accept-Encoding", "gzip").Body); got != "" {
		t.Errorf("HEAD: got %d bytes", len(got))
	}
}

func TestBodiesMayBeCompressed(t *testing.T) {
	r := newRig(t)
	const jobs = "/v1/contexts/7/jobs"
	job := `{"id":1,"script":"say hello","script_type":"lines"}`
	for _, c := range []struct {
		name, coding, body, want string
		status                   int
	}{
		{"gzip", "gzip", zipped(t, job), `"key":"job:10:1"`, 200},
		{"an old name", "x-gzip", zipped(t, job), `"existing":true`, 200},
		{"none, in so many words", "identity", job, `"existing":true`, 200},
		{"what is not known", "br", job, `Content-Encoding \"br\": want gzip`, 415},
		{"twice", "gzip, gzip", zipped(t, zipped(t, job)), "want gzip", 415},
		{"what is not compressed", "gzip", job, "invalid header", 400},
		{"what is cut off", "gzip", zipped(t, job)[:20], "unexpected EOF", 400},
		{"nothing", "gzip", "", "body is empty", 400},
		{"what is too long when it is there", "gzip", zipped(t, `{"script":"`+strings.Repeat("x", http.MaxBody)+`"}`), "more than 8388608 bytes", 413},
		{"what is wrong in itself", "gzip", zipped(t, `{"script":7}`), "want a string", 400},
		{"no end, and no content", "gzip", strings.Repeat(zipped(t, ""), http.MaxBody/20), "more than 8388608 bytes", 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := r.want(c.status, admin, "POST", jobs, c.body, "Content-Encoding", c.coding); !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if got := r.request(admin, "POST", jobs, job, "Content-Encoding", "br").Header.Get("Accept-Encoding"); got != "gzip" {
		t.Errorf("got Accept-Encoding %q", got)
	}
	// Compressed or not, it is the same request.
	const other = `{"script":"say hello","script_type":"lines"}`
	first := r.want(200, admin, "POST", jobs, other, http.KeyHeader, "k")
	again := r.request(admin, "POST", jobs, zipped(t, other), http.KeyHeader, "k", "Content-Encoding", "gzip")
	if got := text(t, again.Body); again.StatusCode != nethttp.StatusOK || got != first {
		t.Errorf("got %s %s, want %s", again.Status, got, first)
	}
}
