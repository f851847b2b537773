package http_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/internal/testwait"
)

func TestTheSocketActsAsTheOperator(t *testing.T) {
	r := newRig(t)
	path := r.listenSocket()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want mode 0600", info.Mode(), err)
	}
	c, err := client.New(client.Config{Socket: path})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	made, err := c.CreateContext(t.Context(), domain.Tenant{Admins: []domain.ActorID{domain.Operator}})
	if err != nil || made.ID == 0 {
		t.Fatalf("got %+v, %v", made, err)
	}
	// It has no right in a context that names somebody else.
	if _, err := c.Jobs(t.Context(), api.ListJobsParams{Context: 7}); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("got %v", err)
	}
}

func TestASecondNodeOnTheSameSocket(t *testing.T) {
	r := newRig(t)
	path := r.listenSocket()
	if _, err := http.ListenSocket(path, quiet, nil); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "answers") {
		t.Errorf("got %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := http.ListenSocket(file, quiet, nil); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("a file in the way: got %v", err)
	}
	// What a dead node left is no hindrance.
	dead := filepath.Join(t.TempDir(), "dead")
	ln, err := net.Listen("unix", dead)
	if err != nil {
		t.Fatal(err)
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	ln.Close()
	ln, err = http.ListenSocket(dead, quiet, nil)
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
}

// A node whose data folder was moved away ends after another was started in its place.
func TestANodeRemovesOnlyItsOwnSocket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(dir, "socket")
	listen := func() net.Listener {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		ln, err := http.ListenSocket(path, quiet, nil)
		if err != nil {
			t.Fatal(err)
		}
		return ln
	}
	for name, away := range map[string]func() error{
		"moved":   func() error { return os.Rename(dir, dir+".moved") },
		"deleted": func() error { return os.RemoveAll(dir) },
	} {
		old := listen()
		if err := away(); err != nil {
			t.Fatal(err)
		}
		now := listen()
		old.Close()
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatalf("%s: nobody reaches the node that was started in the place of another: %v", name, err)
		}
		c.Close()
		now.Close()
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the node left its own: %v", name, err)
		}
		// Closed once more, it takes nothing from who came after it.
		third := listen()
		now.Close()
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		third.Close()
	}
}

// TestASocketThatIsDeletedIsMadeAnew where it was; one whose folder was moved is nobody's any more, also where
// another folder lies there.
func TestASocketThatIsDeletedIsMadeAnew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(dir, "socket")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var told testwait.Log
	ln, err := http.ListenSocket(path, slog.New(slog.NewTextHandler(&told, nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	http.LookEvery(ln, time.Millisecond)
	ended := make(chan error, 1)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				ended <- err
				return
			}
			c.Close()
		}
	}()
	for range 2 {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "the socket is there again", func() bool {
			c, err := net.Dial("unix", path)
			if err == nil {
				c.Close()
			}
			return err == nil
		})
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("got %v, %v", st, err)
		}
	}
	told.Await(t, "it was made anew", 2)
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	http.KeepSocket(ln)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in another folder: %v", err)
	}
	ln.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("it ended with %v", err)
	}
}

// Who can connect finds what is made first; a node that is there already keeps its own.
func TestWhatIsMadeBeforeASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	made := 0
	first := func() error {
		made++
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			t.Error("somebody can connect already")
		}
		return nil
	}
	broken := errors.New("the disk is full")
	if _, err := http.ListenSocket(path, quiet, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	ln, err := http.ListenSocket(path, quiet, first)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if _, err := http.ListenSocket(path, quiet, first); !errors.Is(err, domain.ErrConflict) || made != 1 {
		t.Errorf("got %v, made %d times, want a conflict and once", err, made)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	r := newRig(t)
	ln, err := http.ListenTCP("127.0.0.1:0", "", "")
	if err != nil {
		t.Fatal(err)
	}
	r.serve(ln)
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /info HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("a", 64<<10)+"\r\n\r\n")
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, "431") {
		t.Errorf("got %q, %v", line, err)
	}
}

// Who waits when the door closes is answered, and not cut off some seconds later: a worker
// gets no job, and asks the next node; who waits for a job asks again.
func TestWaitsEndWithTheDoor(t *testing.T) {
	room := budget.New(budget.Config{}, nil)
	r := newRig(t, func(c *http.Config) { c.Budget = room })
	ln, err := http.ListenTCP("127.0.0.1:0", "", "")
	if err != nil {
		t.Fatal(err)
	}
	stop := r.serve(ln)
	c, err := client.New(client.Config{URL: "http://" + ln.Addr().String(), Token: func(context.Context) (string, error) { return r.token(10), nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.RegisterWork(t.Context(), 7, "mail", "post"); err != nil {
		t.Fatal(err)
	}
	key, err := c.SubmitJob(t.Context(), 7, domain.Job{ScriptType: "post", Script: "{}"})
	if err != nil {
		t.Fatal(err)
	}
	claimed, waited := make(chan error, 1), make(chan error, 1)
	go func() {
		jobs, err := c.ClaimWork(t.Context(), domain.Worker{Context: 7, Name: "w"},
			domain.WorkerAsk{Types: []domain.ScriptType{"mail"}, Max: 1, WaitMs: domain.MaxWorkerWait.Milliseconds()})
		if len(jobs) > 0 {
			err = fmt.Errorf("got %v", jobs)
		}
		claimed <- err
	}()
	go func() {
		_, err := client.Call(t.Context(), c, api.JobWait, api.WaitParams{TimeoutMs: 60_000, JobParams: api.JobParams{Context: 7, Caller: key.Caller, ID: key.ID}})
		waited <- err
	}()
	testwait.Until(t, "both wait", func() bool { return len(claimed)+len(waited) > 0 || room.Remote.Requests.Used() == 2 })
	stop()
	if err := <-claimed; err != nil {
		t.Errorf("the claim: %v", err)
	}
	if err := <-waited; !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "the node is stopping") {
		t.Errorf("the wait: %v", err)
	}
}

func TestTLSFilesMustBeAPair(t *testing.T) {
	for _, c := range []struct {
		cert, key string
		kind      error
	}{{"cert.pem", "", domain.ErrInvalid}, {"", "key.pem", domain.ErrInvalid}, {"none.pem", "none.key", domain.ErrNotFound},
		{"serve.go", "serve.go", domain.ErrInvalid}} {
		if _, err := http.ListenTCP("127.0.0.1:0", c.cert, c.key); !errors.Is(err, c.kind) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}
