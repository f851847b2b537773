package http_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/identity/cookie"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
	"github.com/ramet-run/ramet/work"
)

const (
	admin    = servicetest.Admin
	reader   = servicetest.Reader
	stranger = servicetest.Stranger
)

// quiet is for those whose log nobody reads.
var quiet = slog.New(slog.DiscardHandler)

// rig is the door on a real engine with a memory board and a runner whose
// scripts are lines of words: see lineScript.
type rig struct {
	testing.TB
	door     *http.Door
	server   *httptest.Server
	engine   *work.Engine
	registry *identity.Registry
	tokens   *identity.Tokens
	keys     map[domain.ActorID]identity.Key
	cookie   cookie.Cookie
	log      *testwait.Log
	script   *lineScript
	board    *memboard.Board
	sagas    *saga.Engine // moved by a worker once moveSagas was called
}

// lineScript is a runtime inside the process: "say X" logs, "fail" fails,
// "key=value" is a result, "gate" waits until the test opens it, "hang" until
// it is stopped.
type lineScript struct {
	gate chan struct{}
}

func (s *lineScript) Type() domain.ScriptType { return "lines" }
func (s *lineScript) Info() script.Info {
	return script.Info{Summary: "lines of words", Slots: 8, InProcess: true}
}
func (s *lineScript) Check(context.Context) error { return nil }
func (s *lineScript) Close() error                { return nil }

func (s *lineScript) Run(ctx context.Context, t script.Task, h script.Host) (script.Outcome, error) {
	out := script.Outcome{Verdict: script.Succeeded, Result: map[string]string{"exit_code": "0"}}
	for line := range strings.Lines(t.Script) {
		line = strings.TrimSpace(line)
		if name, value, ok := strings.Cut(line, "="); ok {
			out.Result[name] = value
		}
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "say":
			h.Log("stdout", []byte(rest))
		case "fail":
			return script.Outcome{Verdict: script.Failed, ExitCode: 3, Error: "exit code 3"}, nil
		case "gate":
			select {
			case <-s.gate:
			case <-ctx.Done():
				return script.Outcome{Verdict: script.Stopped, ExitCode: 143, Error: "stopped"}, nil
			}
		case "hang":
			<-ctx.Done()
			return script.Outcome{Verdict: script.Stopped, ExitCode: 143, Error: "stopped"}, nil
		}
	}
	return out, nil
}

func newRig(t testing.TB, change ...func(*http.Config)) *rig {
	t.Helper()
	return newRigOf(t, func(*service.Parts) {}, change...)
}

// newRigOf is newRig of other parts.
func newRigOf(t testing.TB, other func(*service.Parts), change ...func(*http.Config)) *rig {
	t.Helper()
	r := newRigWithout(t, other, change...)
	r.server = httptest.NewServer(described(t, r.door))
	t.Cleanup(r.server.Close)
	return r
}

// newRigWithout is newRigOf with nobody who listens.
func newRigWithout(t testing.TB, other func(*service.Parts), change ...func(*http.Config)) *rig {
	t.Helper()
	b := memboard.Open()
	r := &rig{TB: t, registry: identity.NewRegistry(precondition.Over(b)), log: &testwait.Log{}, cookie: cookie.New(),
		script: &lineScript{gate: make(chan struct{})}, engine: work.New(b, work.Config{})}
	var err error
	if r.keys, err = servicetest.People(t.Context(), r.registry); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.registry.CreateTenant(t.Context(), domain.Tenant{ID: 1, Admins: []domain.ActorID{domain.Operator}}); err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	parts := servicetest.Parts(b, r.registry, r.engine)
	audit := identity.NewAuditLog(r.registry, logger)
	r.board, r.sagas = b, parts.Sagas.(*saga.Engine)
	access := identity.NewAccess(r.registry, audit)
	r.tokens = identity.NewTokens(r.registry, access, "n1")
	parts.Audit, parts.Access, parts.Tokens, parts.Logger = audit, access, r.tokens, logger
	other(&parts)
	a := service.New(parts)
	cfg := http.Config{Node: "n1", Tokens: r.tokens, Logger: logger, Audit: audit, Cookie: r.cookie}
	for _, c := range change {
		c(&cfg)
	}
	r.door = http.New(a, cfg)
	t.Cleanup(func() { b.Close() })
	r.startRunner()
	return r
}

func (r *rig) startRunner() {
	runner := work.NewRunner(r.engine, work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{r.script}, Grace: time.Millisecond})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = runner.Run(ctx) })
	r.Cleanup(func() { cancel(); wg.Wait() })
}

// moveSagas starts a worker of sagas.
func (r *rig) moveSagas() {
	worker := saga.NewWorker(r.sagas, saga.WorkerConfig{Owner: "n1/s"})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = worker.Run(ctx) })
	r.Cleanup(func() { cancel(); wg.Wait() })
}

// comes waits until the board's context 7 is as it should be.
func (r *rig) comes(what string, is func() bool) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	changes, err := r.board.Watch(ctx, 7, "")
	if err != nil {
		r.Fatal(err)
	}
	for !is() {
		if _, open := <-changes; !open {
			r.Fatalf("%s: it does not come", what)
		}
	}
}

// token is one of an actor for the node.
func (r *rig) token(id domain.ActorID) string {
	r.Helper()
	t, err := r.keys[id].Token("n1", time.Hour)
	if err != nil {
		r.Fatal(err)
	}
	return t
}

// request sends one as an actor (0: without a token).
func (r *rig) request(as domain.ActorID, method, path, body string, header ...string) *nethttp.Response {
	r.Helper()
	req, err := nethttp.NewRequestWithContext(r.Context(), method, r.server.URL+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	if as != 0 {
		req.Header.Set("Authorization", "Bearer "+r.token(as))
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.server.Client().Do(req)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { resp.Body.Close() })
	return resp
}

// want sends a request, checks the status and returns the body.
func (r *rig) want(status int, as domain.ActorID, method, path, body string, header ...string) string {
	r.Helper()
	resp := r.request(as, method, path, body, header...)
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	if resp.StatusCode != status {
		r.Errorf("%s %s %.80s: got %d %.300s, want %d", method, path, body, resp.StatusCode, text, status)
	}
	if resp.StatusCode >= 400 {
		var p api.Problem
		if err := json.Unmarshal(text, &p); err != nil || p.Code == "" || p.Detail == "" || p.Title == "" || p.Status != resp.StatusCode ||
			p.RequestID == "" || p.RequestID != resp.Header.Get("X-Request-Id") || resp.Header.Get("Content-Type") != "application/problem+json" {
			r.Errorf("%s %s: got no whole problem: %s %v", method, path, text, resp.Header)
		}
	}
	return string(text)
}

func (r *rig) submit(id int, script string) {
	r.Helper()
	r.want(200, admin, "POST", "/v1/contexts/7/jobs", fmt.Sprintf(`{"id":%d,"script":%q,"script_type":"lines"}`, id, script))
}

func (r *rig) wait(id domain.JobID) *domain.Job {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second)
	defer cancel()
	j, err := r.engine.Wait(ctx, 7, domain.JobKey{Caller: admin, ID: id})
	if err != nil {
		r.Fatal(err)
	}
	return j
}

// listenSocket serves the door on a local socket, with the cookie beside it, and
// returns its path.
func (r *rig) listenSocket() string {
	r.Helper()
	dir := r.TempDir()
	if err := r.cookie.Save(dir); err != nil {
		r.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	ln, err := http.ListenSocket(path, quiet, nil)
	if err != nil {
		r.Fatal(err)
	}
	r.serve(ln)
	return path
}

// serve serves the door until stop is called or the test ends.
func (r *rig) serve(ln net.Listener) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.door.Serve(ctx, ln); err != nil {
			r.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	r.Cleanup(stop)
	return stop
}
