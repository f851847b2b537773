package work_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

func TestPrerequisitesOfTheOutsideWorld(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	dir := t.TempDir()
	e := work.New(b, work.Config{DataDir: dir})
	status := http.StatusServiceUnavailable
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := closed.Addr().String()
	closed.Close()
	folder := work.ContextDir(dir, tenant)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, board: b, engine: e, ctx: t.Context()}
	r.submit(job(1, "x", func(j *domain.Job) {
		j.Prerequisites = []string{"file:in.csv", "file:link", server.URL + "/ready", "tcp:" + server.Listener.Addr().String(), "tcp:" + gone}
	}))
	// look hands the job's alarm to the engine, as if its instant had come.
	look := func() string {
		at, set, err := b.AlarmOf(t.Context(), 1, "prereq:job:1:1")
		if err != nil || !set {
			return ""
		}
		if known, err := e.HandleAlarm(t.Context(), board.Alarm{Space: 1, Name: "prereq:job:1:1", At: at}); !known || err != nil {
			t.Fatal(known, err)
		}
		recs, err := b.Get(t.Context(), 1, "job:1:1")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(layout.Unmet(recs[0]), " ")
	}
	if got, want := look(), "file:in.csv file:link "+server.URL+"/ready tcp:"+gone; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	status = http.StatusNoContent
	if err := os.WriteFile(filepath.Join(folder, "in.csv"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := look(), "file:link tcp:"+gone; got != want {
		t.Errorf("got %q, want %q: a link out of the folder is no file in it", got, want)
	}
}

func TestPrerequisitesThatCannotBe(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	e := work.New(b, work.Config{})
	for _, p := range []string{"file:/etc/passwd", "file:../x", "tcp:host", "https://", "job:1", "flow:0", "flow:x", "", strings.Repeat("x", 201)} {
		receipts, err := e.Submit(t.Context(), tenant, []*domain.Job{job(1, "x", func(j *domain.Job) { j.Prerequisites = []string{p} })})
		if err != nil || !errors.Is(receipts[0].Err, domain.ErrInvalid) {
			t.Errorf("%q: got %v, %v, want it refused", p, receipts, err)
		}
	}
	for _, name := range []string{"", "file:x", "job:1:2"} {
		if err := e.MarkMet(t.Context(), tenant, name); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("mark %q: got %v", name, err)
		}
	}
	receipts, err := e.Submit(t.Context(), tenant, []*domain.Job{job(1, "x", func(j *domain.Job) { j.NotBefore = time.Now().UnixNano() })})
	if err != nil || !errors.Is(receipts[0].Err, domain.ErrInvalid) {
		t.Errorf("not_before in nanoseconds: got %v, %v", receipts, err)
	}
}
