package http_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
)

// What strangers left is saved by a browser, and never shown as a page of the node.
func TestWriteFile(t *testing.T) {
	const text = "<script>alert(1)</script>"
	opened := 0
	file := &api.File{Name: "report \"x\" ä.html", Size: int64(len(text)), Tag: "abc", Open: func(_ context.Context, at int64) (io.ReadCloser, error) {
		opened++
		return io.NopCloser(strings.NewReader(text[at:])), nil
	}}
	for _, c := range []struct {
		name, header, value string
		status              int
		body, length        string
		opened              int
	}{
		{"all of it", "", "", 200, text, "25", 1},
		{"a part", "Range", "bytes=8-12", 206, "alert", "5", 1},
		{"its end", "Range", "bytes=-9", 206, "</script>", "9", 1},
		{"what is known already", "If-None-Match", `"abc"`, 304, "", "", 0},
		{"a part of what is another file by now", "If-Range", `"old"`, 200, text, "25", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			opened = 0
			r := httptest.NewRequest("GET", "/", nil)
			if c.header != "" {
				r.Header.Set(c.header, c.value)
			}
			if c.header == "If-Range" {
				r.Header.Set("Range", "bytes=1-2")
			}
			w := httptest.NewRecorder()
			if err := http.WriteFile(w, r, "application/octet-stream", file); err != nil {
				t.Fatal(err)
			}
			h := w.Result().Header
			if w.Code != c.status || w.Body.String() != c.body || c.length != "" && h.Get("Content-Length") != c.length || opened != c.opened {
				t.Errorf("got %d %q of %s bytes, opened %d times", w.Code, w.Body, h.Get("Content-Length"), opened)
			}
			if h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") ||
				!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || h.Get("ETag") != `"abc"` {
				t.Errorf("got %v", h)
			}
		})
	}
}

// A part that there is not is refused as all else is: as a problem, by whoever answers.
func TestPartThatThereIsNot(t *testing.T) {
	file := &api.File{Name: "a", Size: 25, Tag: "abc"}
	for _, part := range []string{"bytes=99-", "lines=1-2", "bytes=9-1"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Range", part)
		w := httptest.NewRecorder()
		err := http.WriteFile(w, r, "application/octet-stream", file)
		if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), `Range "`+part+`": the file has 25 bytes`) || w.Body.Len() != 0 {
			t.Errorf("%s: got %v, %q", part, err, w.Body)
		}
		if h := w.Header(); h.Get("Content-Disposition") != "" || h.Get("ETag") != "" {
			t.Errorf("%s: got %v", part, h)
		}
	}
}

// A file that is gone is told of as all else is: nothing of it was said yet.
func TestFileThatIsGone(t *testing.T) {
	file := &api.File{Name: "a", Size: 25, Tag: "abc", Open: func(context.Context, int64) (io.ReadCloser, error) {
		return nil, domain.NotFoundf("artifact a is gone")
	}}
	for _, part := range []string{"", "bytes=1-2", "bytes=1-2,4-5"} {
		r := httptest.NewRequest("GET", "/", nil)
		if part != "" {
			r.Header.Set("Range", part)
		}
		w := httptest.NewRecorder()
		w.Code = 0
		err := http.WriteFile(w, r, "application/octet-stream", file)
		if !errors.Is(err, domain.ErrNotFound) || w.Body.Len() != 0 || w.Code != 0 {
			t.Errorf("%q: got %v, %d, %q", part, err, w.Code, w.Body)
		}
		for _, name := range []string{"Content-Disposition", "Content-Length", "Content-Range", "Accept-Ranges", "ETag"} {
			if got := w.Header().Get(name); got != "" {
				t.Errorf("%q: %s is %q", part, name, got)
			}
		}
	}
}

// A file that cannot be read to its end does not look like one that was.
func TestFileBreaksOff(t *testing.T) {
	broken := errors.New("the store is away")
	file := &api.File{Name: "a", Size: 1 << 20, Tag: "x", Open: func(context.Context, int64) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(make([]byte, 1000)), failing{broken})), nil
	}}
	s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) { _ = http.WriteFile(w, r, "x/y", file) }))
	defer s.Close()
	resp, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Errorf("got %d bytes without an error", n)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
