package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/artifact/artifacttest"
	"github.com/ramet-run/ramet/artifact/s3store"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/s3test"
)

func open(t *testing.T, text string) *s3store.Store {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := s3store.Open(u)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func login(t *testing.T, secret string) {
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.Access)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
}

func TestStore(t *testing.T) {
	login(t, s3test.Secret)
	server, n := s3test.Start(t), 0
	artifacttest.Run(t, func(t *testing.T) artifact.Store {
		n++
		return open(t, server.URL(fmt.Sprintf("run/%d", n)))
	})
}

// What is larger than one part is put in several, and what changes meanwhile never gets
// there.
func TestLargeFiles(t *testing.T) {
	login(t, s3test.Secret)
	s := open(t, s3test.Start(t).URL("large"))
	path := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(path, bytes.Repeat([]byte("0123456789abcdef"), 40<<20/16), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := s.Put(t.Context(), 7, f)
	if err != nil || b.Size != 40<<20 {
		t.Fatal(b, err)
	}
	r, err := artifact.Read(t.Context(), s, 7, b.Sum)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, err := io.Copy(io.Discard, r); n != 40<<20 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	for _, size := range []int{1000, 40 << 20} {
		_, err := s.Put(t.Context(), 7, &changing{Reader: bytes.NewReader(make([]byte, size))})
		if !errors.Is(err, domain.ErrConflict) {
			t.Errorf("%d bytes: got %v, want that it has changed", size, err)
		}
	}
	n := 0
	for range s.Blobs(t.Context(), 7) {
		n++
	}
	if n != 1 {
		t.Errorf("%d blobs, want the one that did not change", n)
	}
}

// changing has other bytes when it is read again.
type changing struct {
	*bytes.Reader
	seeks int
}

func (c *changing) Seek(at int64, whence int) (int64, error) {
	c.seeks++
	return c.Reader.Seek(at, whence)
}

func (c *changing) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if c.seeks > 1 && n > 0 {
		p[0]++
	}
	return n, err
}

func TestServerAway(t *testing.T) {
	login(t, s3test.Secret)
	server := s3test.Start(t)
	s := open(t, server.URL("away"))
	b, err := s.Put(t.Context(), 7, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if _, _, err := s.Open(t.Context(), 7, b.Sum, 0); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("open: got %v", err)
	}
	if _, err := s.Put(t.Context(), 7, strings.NewReader("y")); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("put: got %v", err)
	}
	server.Restart()
	if r, _, err := s.Open(t.Context(), 7, b.Sum, 0); err != nil {
		t.Errorf("open: got %v", err)
	} else {
		r.Close()
	}
}

func TestRefusals(t *testing.T) {
	login(t, "wrong-secret")
	s := open(t, s3test.Start(t).URL("x"))
	err := s.Check(t.Context())
	if !errors.Is(err, domain.ErrUnavailable) || strings.Contains(err.Error(), "wrong-secret") {
		t.Errorf("with a wrong secret: got %v", err)
	}
	full := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInsufficientStorage)
		fmt.Fprint(w, `<Error><Code>XMinioStorageFull</Code><Message>Storage backend has reached its minimum free drive threshold.</Message></Error>`)
	}))
	defer full.Close()
	s = open(t, "s3://bucket?region=x&endpoint="+full.URL)
	if _, err := s.Put(t.Context(), 7, strings.NewReader("y")); !errors.Is(err, domain.ErrExhausted) {
		t.Errorf("where there is no room: got %v", err)
	}
}

// fullAfter is a server in front of another that has no room for a part with a number, or a later one, and
// whose clock may be ahead.
func fullAfter(t *testing.T, server string, part int, full *atomic.Bool, ahead *atomic.Int64, met func()) *httptest.Server {
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	through := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }}
	through.ModifyResponse = func(r *http.Response) error {
		r.Header.Set("Date", time.Now().Add(time.Duration(ahead.Load())).UTC().Format(http.TimeFormat))
		return nil
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, _ := strconv.Atoi(r.URL.Query().Get("partNumber")); n >= part && full.Load() {
			_, _ = io.Copy(io.Discard, r.Body)
			met()
			w.WriteHeader(http.StatusInsufficientStorage)
			fmt.Fprint(w, `<Error><Code>XMinioStorageFull</Code><Message>full</Message></Error>`)
			return
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front
}

// A bucket that has no room in the midst of a file keeps nothing of it, and what was left behind by who could not
// tell it to forget the beginning is removed once it is old. There is room again, and the file is put.
func TestFullInTheMidst(t *testing.T) {
	login(t, s3test.Secret)
	server := s3test.Start(t)
	u, err := url.Parse(server.URL("full"))
	if err != nil {
		t.Fatal(err)
	}
	var full atomic.Bool
	full.Store(true)
	var ahead atomic.Int64
	met := func() {}
	q := u.Query()
	q.Set("endpoint", fullAfter(t, q.Get("endpoint"), 2, &full, &ahead, func() { met() }).URL)
	u.RawQuery = q.Encode()
	s, data := open(t, u.String()), make([]byte, 40<<20)
	if _, err := s.Put(t.Context(), 7, bytes.NewReader(data)); !errors.Is(err, domain.ErrExhausted) {
		t.Fatalf("got %v, want that there is no room", err)
	}
	nothing := func() {
		t.Helper()
		for b, err := range s.Blobs(t.Context(), 7) {
			t.Errorf("%+v is there, %v", b, err)
		}
	}
	nothing()
	if begun, err := s.Begun(t.Context(), 7); err != nil || len(begun) > 0 {
		t.Errorf("%q is left of it, %v", begun, err)
	}

	// Somebody who is gone in the midst tells nobody.
	ctx, gone := context.WithCancel(t.Context())
	met = gone
	if _, err := s.Put(ctx, 7, bytes.NewReader(data)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	// It is the server's clock that says how long ago that was.
	for _, c := range []struct {
		ahead time.Duration
		left  int
	}{{-2 * artifact.Grace, 1}, {0, 1}, {artifact.Grace + time.Hour, 0}} {
		ahead.Store(int64(c.ahead))
		nothing()
		if begun, err := s.Begun(t.Context(), 7); err != nil || len(begun) != c.left {
			t.Errorf("%q is left, %v; want %d", begun, err, c.left)
		}
	}
	ahead.Store(0)
	met = func() {}
	full.Store(false)
	if b, err := s.Put(t.Context(), 7, bytes.NewReader(data)); err != nil || b.Size != int64(len(data)) {
		t.Errorf("once there is room: got %+v, %v", b, err)
	}
}

func TestURLs(t *testing.T) {
	for _, text := range []string{"s3:///prefix", "s3://user:secret@bucket", "s3://bucket?endpoint=ftp://x", "s3://bucket?endpiont=x", "s3://bucket:90",
		"s3://bucket?endpoint=http://a:secret@x",
		"s3://bucket?endpoint=http://x/path"} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s3store.Open(u); !errors.Is(err, domain.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// TestWhatWasBegunIsOldByTheServersClock has a server whose clock is another than this machine's, and one that
// says no time: of what was begun there it is not known how old it is.
func TestWhatWasBegunIsOldByTheServersClock(t *testing.T) {
	login(t, s3test.Secret)
	begun := time.Now()
	for _, c := range []struct {
		name string
		date string
		gone bool
	}{
		{"young there", begun.Add(artifact.Grace - time.Hour).UTC().Format(http.TimeFormat), false},
		{"old there", begun.Add(artifact.Grace + time.Hour).UTC().Format(http.TimeFormat), true},
		{"a clock that is behind", begun.Add(-30 * artifact.Grace).UTC().Format(http.TimeFormat), false},
		{"no time", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			gone := false
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if w.Header()["Date"] = nil; c.date != "" {
					w.Header().Set("Date", c.date)
				}
				q := r.URL.Query()
				switch {
				case r.Method == http.MethodDelete && q.Get("uploadId") == "u1":
					gone = true
					w.WriteHeader(http.StatusNoContent)
				case q.Has("uploads"):
					fmt.Fprintf(w, `<ListMultipartUploadsResult><Bucket>bucket</Bucket><Upload><Key>7/%064d</Key><UploadId>u1</UploadId><Initiated>%s</Initiated></Upload>`+
						`</ListMultipartUploadsResult>`, 1, begun.UTC().Format(time.RFC3339))
				default:
					fmt.Fprint(w, `<ListBucketResult><Name>bucket</Name></ListBucketResult>`)
				}
			}))
			defer server.Close()
			for b, err := range open(t, "s3://bucket?region=x&endpoint="+server.URL).Blobs(t.Context(), 7) {
				t.Errorf("%+v is there, %v", b, err)
			}
			if gone != c.gone {
				t.Errorf("what was begun is removed: %v, want %v", gone, c.gone)
			}
		})
	}
}
