package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func TestAWatchWritesWhatHasChanged(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch status := domain.JobDispatched; asked {
		case 3: // a node that goes down and comes back
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_ = json.NewEncoder(w).Encode(api.Problem{Status: 503, Code: "unavailable", Detail: "it restarts"})
		case 6:
			stop()
		default:
			if asked > 3 {
				status = domain.JobFinished
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(domain.Job{ID: 1, CallerID: 1, Status: status})
		}
	}))
	defer s.Close()
	t.Setenv("RAMET_DATA", filepath.Join(t.TempDir(), "none"))
	var out, errs bytes.Buffer
	code := Main(ctx, []string{"job", "show", "1", "--fields", "status", "--watch=100ms", "--node", s.URL},
		Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, Hooks{})
	got := out.String()
	if code != 0 || strings.Count(got, "status  dispatched\n") != 2 || strings.Count(got, "status  finished\n") != 1 ||
		!strings.Contains(got, "it restarts; it is tried again") {
		t.Errorf("got exit code %d, %q, %q; want dispatched, that it restarts below it, and finished", code, got, errs.String())
	}
}

func TestAWatchEndsWithAnErrorOfTheFirstTime(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	t.Setenv("RAMET_DATA", filepath.Join(t.TempDir(), "none"))
	for _, args := range [][]string{{"job", "show", "1", "--watch"}, {"job", "list", "--watch=1ms"}} {
		var out, errs bytes.Buffer
		if code := Main(t.Context(), append(args, "--node", s.URL), Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, Hooks{}); code == 0 ||
			errs.Len() == 0 {
			t.Errorf("ramet %v: got exit code %d, %q", args, code, errs.String())
		}
	}
}

// What is watched may not change for days: a reader that is gone is noticed all the same.
func TestAWatchEndsWithItsReader(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(domain.Job{ID: 1, CallerID: 1, Status: domain.JobDispatched})
	}))
	defer s.Close()
	t.Setenv("RAMET_DATA", filepath.Join(t.TempDir(), "none"))
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	ended := make(chan int, 1)
	go func() {
		args := []string{"job", "show", "1", "--fields", "status", "--watch=100ms", "--node", s.URL}
		ended <- Main(t.Context(), args, Streams{In: strings.NewReader(""), Out: write, Err: io.Discard}, Hooks{})
	}()
	if line, err := bufio.NewReader(read).ReadString('\n'); err != nil || line != "status  dispatched\n" {
		t.Errorf("got %q, %v", line, err)
	}
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("got exit code %d, want 0: there is nobody to be told", code)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on, and nobody reads it")
	}
}

func TestAFrameOfATerminalWithoutUnicodeIsASCII(t *testing.T) {
	var w bytes.Buffer
	f := newFrame(page{&w, true})
	f.fd, f.w = 1<<20, &w // no terminal: its size is the default
	f.draw([]string{strings.Repeat("wide ", 40)})
	f.last = "a…\n"
	f.close()
	if i := strings.IndexFunc(w.String(), func(r rune) bool { return r > 0x7e }); i >= 0 {
		t.Errorf("got %q, which is not ASCII from %d on", w.String(), i)
	}
}

func TestAFrameDrawsOverWhatWasThere(t *testing.T) {
	var w bytes.Buffer
	f := &frame{w: &w, fd: 1 << 20} // no terminal: its size is the default
	f.show("every 2s", "one\n", "")
	f.show("every 2s", "two\x1b[2J\n", "said\n")
	f.close()
	block := func(lines ...string) string {
		return strings.ReplaceAll(statusBlock(lines, 80, 24), "\n", "\r\n") + "\x1b[J"
	}
	want := ownScreen + fromTop + block("every 2s", "", "one") + fromTop + block("every 2s", "", "two [2J", "said") + backScreen + "two [2J\n"
	if w.String() != want {
		t.Errorf("got %q, want %q", w.String(), want)
	}
}
