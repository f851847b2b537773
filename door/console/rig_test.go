package console_test

import (
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/bulk"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/console"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
	"github.com/ramet-run/ramet/work"
)

const (
	admin    = servicetest.Admin
	executor = servicetest.Executor
	reader   = servicetest.Reader
	stranger = servicetest.Stranger
)

// rig is a console behind its door, on real engines with a memory board, a keeper of flows
// and a runner whose scripts are lines of words: see words.
type rig struct {
	testing.TB
	board   *memboard.Board
	names   *identity.Registry
	server  *httptest.Server
	pages   *console.Console
	api     *service.Service
	bulks   *bulk.Engine
	engine  *work.Engine
	faults  console.Faults // nil: none
	tokens  *identity.Tokens
	keys    map[domain.ActorID]identity.Key
	gate    chan struct{} // lets scripts go on that wait
	now     func() time.Time
	archive archive.Archive // of newArchiveRig
	doors   http.Config     // of the door, beside what the rig sets
	beat    time.Duration   // of who follows a page

	unserved bool // it has no worker of sagas
}

// words is a runtime inside the process: "say X" logs, "err X" logs to the standard error,
// "fail" fails, "key=value" is a result, "gate" waits until the test opens it.
type words struct{ gate chan struct{} }

func (w words) Type() domain.ScriptType     { return "words" }
func (w words) Info() script.Info           { return script.Info{Summary: "words", Slots: 8, InProcess: true} }
func (w words) Check(context.Context) error { return nil }
func (w words) Close() error                { return nil }

func (w words) Run(ctx context.Context, t script.Task, h script.Host) (script.Outcome, error) {
	out := script.Outcome{Verdict: script.Succeeded, Result: map[string]string{}}
	for line := range strings.SplitSeq(t.Script, "\n") {
		if name, value, ok := strings.Cut(line, "="); ok && !strings.Contains(name, " ") {
			out.Result[name] = value
		}
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "say":
			h.Log("stdout", []byte(rest))
		case "err":
			h.Log("stderr", []byte(rest))
		case "fail":
			return script.Outcome{Verdict: script.Failed, ExitCode: 3, Error: "exit code 3"}, nil
		case "gate":
			select {
			case <-w.gate:
			case <-ctx.Done():
				return script.Outcome{Verdict: script.Stopped, ExitCode: 143, Error: "stopped"}, nil
			}
		}
	}
	return out, nil
}

// newRig starts one; with change its parts before it begins.
func newRig(t testing.TB, with ...func(r *rig, p *service.Parts)) *rig {
	t.Helper()
	b := memboard.Open()
	registry := identity.NewRegistry(b)
	r := &rig{TB: t, board: b, names: registry, gate: make(chan struct{}), now: time.Now}
	var err error
	if r.keys, err = servicetest.People(t.Context(), registry); err != nil {
		t.Fatal(err)
	}
	engine := work.New(b, work.Config{})
	r.engine = engine
	parts := servicetest.Parts(b, registry, engine)
	flows := flow.New(b, engine, flow.Config{Blueprints: flow.Stored(blueprint.NewStore(b))})
	parts.Flows, parts.Schedules = flows, clockwork.NewSchedules(precondition.Over(b), flows, nil)
	audit := identity.NewAuditLog(registry, nil)
	access := identity.NewAccess(registry, audit)
	r.tokens = identity.NewTokens(registry, access, "n1")
	r.bulks = parts.Bulks.(*bulk.Engine)
	parts.Audit, parts.Access, parts.Tokens = audit, access, r.tokens
	for _, change := range with {
		change(r, &parts)
	}
	r.api = service.New(parts)
	r.pages = console.New(console.Config{Node: "n1", Tokens: r.tokens, Address: func() string { return r.server.URL }, Changes: r.api.Changes, Audit: audit,
		Faults: r.faults, Beat: r.beat, Now: func() time.Time { return r.now() }})
	r.doors.Node, r.doors.Tokens, r.doors.Audit, r.doors.Console = "n1", r.tokens, audit, r.pages
	r.server = httptest.NewServer(http.New(r.api, r.doors))
	runner := work.NewRunner(engine, work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{words{r.gate}}, Grace: time.Millisecond})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = runner.Run(ctx) })
	running.Go(func() { flows.Keep(ctx, "n1/k") })
	running.Go(func() { _ = audit.Run(ctx) })
	if !r.unserved {
		running.Go(func() { _ = saga.NewWorker(parts.Sagas.(*saga.Engine), saga.WorkerConfig{Owner: "n1/s"}).Run(ctx) })
	}
	t.Cleanup(func() {
		r.server.CloseClientConnections() // streams would hold Close up
		r.server.Close()
		cancel()
		running.Wait()
		b.Close()
	})
	return r
}

// do is an operation as an actor, without the console.
func do[P, R any](r *rig, as domain.ActorID, op api.Op[P, R], params P) R {
	r.Helper()
	got, err := service.Named(op.Name).Call(r.Context(), r.api.As(as), &params)
	if err != nil {
		r.Fatal(err)
	}
	return got.(R)
}

// flow submits a blueprint in context 7, and returns its number.
func (r *rig) flow(text string) domain.FlowID {
	r.Helper()
	done := do(r, admin, api.FlowSubmit, api.SubmitFlowParams{Context: 7, FlowInput: api.FlowInput{Text: text, File: "b.yaml", Trigger: "t"}})
	return done.Flows[0].ID
}

// ended waits for a flow's end.
func (r *rig) ended(id domain.FlowID) domain.FlowView {
	r.Helper()
	v := do(r, admin, api.FlowWait, api.WaitFlowParams{FlowParams: api.FlowParams{Context: 7, Flow: id}})
	if !v.Final() {
		r.Fatalf("flow %d has not ended: %+v", id, v)
	}
	return v
}

// job submits a script in context 7, and returns its key.
func (r *rig) job(script string) api.JobParams {
	r.Helper()
	done := do(r, admin, api.JobSubmit, api.SubmitParams{Context: 7, JobInput: api.JobInput{Job: domain.Job{Script: script, ScriptType: "words"}}})
	key, err := domain.ParseJobKey(done.Jobs[0].Key)
	if err != nil {
		r.Fatal(err)
	}
	return api.JobParams{Context: 7, Caller: key.Caller, ID: key.ID}
}

func (r *rig) token(as domain.ActorID) string {
	r.Helper()
	t, err := r.keys[as].Token("n1", time.Hour)
	if err != nil {
		r.Fatal(err)
	}
	return t
}

// browser is a client that keeps cookies and follows redirects, as browsers do.
type browser struct {
	*rig
	client *nethttp.Client
}

// stranger is a browser in which nobody is signed in.
func (r *rig) stranger() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		r.Fatal(err)
	}
	return &browser{r, &nethttp.Client{Jar: jar, Transport: r.server.Client().Transport}}
}

// as is a browser in which an actor is signed in, by a token.
func (r *rig) as(actor domain.ActorID) *browser {
	r.Helper()
	b := r.stranger()
	b.post(200, "sign-in", "proof", r.token(actor))
	return b
}

// statusAny takes whatever status comes.
const statusAny = 0

// answer is a page that came.
type answer struct {
	*nethttp.Response
	text string
}

// send sends a request and wants a status.
func (b *browser) send(status int, method, path, body string, header ...string) answer {
	b.Helper()
	if !strings.HasPrefix(path, "/") {
		path = console.Path + path
	}
	req, err := nethttp.NewRequestWithContext(b.Context(), method, b.server.URL+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	if method == "POST" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	if status != statusAny && resp.StatusCode != status {
		b.Errorf("%s %s: got %d, want %d: %.600s", method, path, resp.StatusCode, status, text)
	}
	return answer{resp, string(text)}
}

func (b *browser) get(status int, path string) answer {
	b.Helper()
	return b.send(status, "GET", path, "")
}

// post sends a form of names and values.
func (b *browser) post(status int, path string, form ...string) answer {
	b.Helper()
	values := url.Values{}
	for i := 0; i+1 < len(form); i += 2 {
		values.Set(form[i], form[i+1])
	}
	return b.send(status, "POST", path, values.Encode())
}

// has wants texts on a page.
func (b *browser) has(a answer, texts ...string) {
	b.Helper()
	for _, text := range texts {
		if !strings.Contains(a.text, text) {
			b.Errorf("%s has no %q: %s", a.Request.URL.Path, text, mainOf(a.text))
		}
	}
}

// hasNot wants texts not to be there.
func (b *browser) hasNot(a answer, texts ...string) {
	b.Helper()
	for _, text := range texts {
		if strings.Contains(a.text, text) {
			b.Errorf("%s has %q: %s", a.Request.URL.Path, text, mainOf(a.text))
		}
	}
}

// mainOf is a page's own part.
func mainOf(text string) string {
	_, main, _ := strings.Cut(text, "<main")
	return main
}

func path(format string, args ...any) string { return "c/7/" + fmt.Sprintf(format, args...) }
