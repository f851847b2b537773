// Package traces holds a real node to what it tells a collector of OpenTelemetry.
package traces

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ramet-run/ramet/internal/leash"
	"github.com/ramet-run/ramet/internal/testbinary"
	"github.com/ramet-run/ramet/internal/testport"
)

// patience bounds everything that is waited for. It only keeps what never comes from
// holding up the rest: a machine may be as busy as it likes.
const patience = 2 * time.Minute

// ramet is the binary under test.
var ramet string

func TestMain(m *testing.M) {
	os.Exit(testbinary.Run(m, func(folder string) { ramet = filepath.Join(folder, "ramet") }))
}

// receiver is a collector that takes OTLP over HTTP.
type receiver struct {
	*testing.T
	mu    sync.Mutex
	spans []*otlp.Span
	came  chan struct{}
}

// ServeHTTP takes spans.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	var got collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &got)
	}
	if err != nil || q.URL.Path != "/v1/traces" {
		r.Errorf("%s: %v", q.URL.Path, err)
		http.Error(w, "no spans", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range got.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	select {
	case r.came <- struct{}{}:
	default:
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// span waits for the span of a trace that has a name, after what is left out.
func (r *receiver) span(trace, name string, but ...*otlp.Span) *otlp.Span {
	r.Helper()
	end := time.After(patience)
	for {
		r.mu.Lock()
		for _, s := range r.spans {
			if text(s.TraceId) == trace && s.Name == name && !slices.Contains(but, s) {
				r.mu.Unlock()
				return s
			}
		}
		r.mu.Unlock()
		select {
		case <-r.came:
		case <-end:
			r.Fatalf("no span %q of trace %s", name, trace)
		}
	}
}

func text(id []byte) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for _, c := range id {
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

// of is an attribute of a span.
func of(s *otlp.Span, name string) string {
	for _, a := range s.Attributes {
		if a.Key == name {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// under wants one span to hang from another.
func (r *receiver) under(parent string, s *otlp.Span) {
	r.Helper()
	if got := text(s.ParentSpanId); got != parent {
		r.Errorf("span %q hangs from %s, want %s", s.Name, got, parent)
	}
	if s.EndTimeUnixNano < s.StartTimeUnixNano {
		r.Errorf("span %q ends before it begins", s.Name)
	}
}

// node is a node of its own with a config file.
type node struct {
	*testing.T
	data string
}

func start(t *testing.T, config string, flags ...string) *node {
	data, err := os.MkdirTemp("", "ramet-traces") // not t.TempDir: its long names do not fit into a socket's 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t, data}
	n.write("ramet.yaml", config)
	p := exec.Command(ramet, append([]string{"serve", "--data", data, "--config", filepath.Join(data, "ramet.yaml"), "--listen", "none", "--isolation", "open",
		"--log-level", "error"}, flags...)...)
	p.Stderr = t.Output()
	if err := leash.Start(p, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Signal(syscall.SIGTERM)
		_ = p.Wait()
		os.RemoveAll(data)
	})
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := n.try("", "info"); err == nil {
			return n
		} else if time.Since(begun) > patience {
			t.Fatal(err)
		}
	}
}

func (n *node) write(name, content string) string {
	n.Helper()
	path := filepath.Join(n.data, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		n.Fatal(err)
	}
	return path
}

func (n *node) try(parent string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(n.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, ramet, append([]string{"--data", n.data}, args...)...)
	cmd.Env = append(os.Environ(), "TRACEPARENT="+parent)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// ramet runs a command as part of a trace.
func (n *node) ramet(parent string, args ...string) string {
	n.Helper()
	out, err := n.try(parent, args...)
	if err != nil {
		n.Fatalf("ramet %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

const (
	trace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	caller = "00f067aa0ba902b7"
	parent = "00-" + trace + "-" + caller + "-01"
)

// TestAJobHangsTogether follows a job from a caller's span through the request and its
// wait to its attempt, whose span the script is told.
func TestAJobHangsTogether(t *testing.T) {
	r := &receiver{T: t, came: make(chan struct{}, 1)}
	collects := httptest.NewServer(r)
	defer collects.Close()
	n := start(t, "tracing: {endpoint: \""+collects.URL+"\"}\n")
	n.ramet(parent, "job", "submit", n.write("hello.sh", `echo "traceparent=$TRACEPARENT" >"$RAMET_RESULT"`))
	if out := n.ramet("", "job", "wait", "1", "-o", "json"); !strings.Contains(out, `"finished"`) {
		t.Fatal(out)
	}
	request := r.span(trace, "POST /v1/contexts/{context}/jobs")
	r.under(caller, request)
	asked := r.span(trace, "submit job")
	r.under(text(request.SpanId), asked)
	wait, attempt := r.span(trace, "wait"), r.span(trace, "job shell")
	r.under(text(asked.SpanId), wait)
	r.under(text(asked.SpanId), attempt)
	if of(attempt, "ramet.job") != "job:1:1" || of(attempt, "ramet.status") != "finished" || of(attempt, "ramet.attempt") != "1" {
		t.Errorf("the attempt says %v", attempt.Attributes)
	}
	if out, want := n.ramet("", "job", "show", "1", "-o", "json"), "00-"+trace+"-"+text(attempt.SpanId)+"-01"; !strings.Contains(out, want) {
		t.Errorf("the script was not told %s:\n%s", want, out)
	}

	n.ramet(parent, "job", "submit", n.write("bad.sh", "exit 3"))
	failed := r.span(trace, "job shell", attempt)
	if failed.Status.GetCode() != otlp.Status_STATUS_CODE_ERROR || of(failed, "ramet.status") != "error" {
		t.Errorf("a job that failed says %v", failed)
	}
}

// TestWhatBelongsToNoTraceBeginsOne has a job without a caller's trace, and the flow of
// a schedule.
func TestWhatBelongsToNoTraceBeginsOne(t *testing.T) {
	r := &receiver{T: t, came: make(chan struct{}, 1)}
	collects := httptest.NewServer(r)
	defer collects.Close()
	n := start(t, "tracing: {endpoint: \""+collects.URL+"\"}\n")
	n.ramet("", "blueprint", "apply", n.write("two.yaml", "name: two\nsteps:\n  - {name: a, script_type: shell, script: echo a}\n"+
		"  - {name: b, needs: [a], script_type: shell, script: echo b}\n"))
	n.ramet("", "flow", "submit", "two")
	n.ramet("", "flow", "wait", "1")
	show := n.ramet("", "flow", "show", "1", "-o", "json")
	_, after, found := strings.Cut(show, `"trace_id"`)
	if !found || len(after) < 40 {
		t.Fatalf("the flow belongs to no trace:\n%s", show)
	}
	own := strings.Trim(after[:40], `": ,`)[:32]
	asked, flow := r.span(own, "submit flow"), r.span(own, "flow two")
	r.under(text(asked.SpanId), flow)
	first := r.span(own, "job shell")
	second := r.span(own, "job shell", first)
	r.under(text(flow.SpanId), first)
	r.under(text(flow.SpanId), second)
	if got := of(first, "ramet.step") + of(second, "ramet.step"); got != "ab" && got != "ba" {
		t.Errorf("the steps are %s", got)
	}
}

// TestASagaAndItsEffectHangTogether publishes an event of a trace: the transition hangs
// from the event, the call from the transition, and the target is told.
func TestASagaAndItsEffectHangTogether(t *testing.T) {
	r := &receiver{T: t, came: make(chan struct{}, 1)}
	collects := httptest.NewServer(r)
	defer collects.Close()
	told := make(chan string, 10)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		told <- q.Header.Get("Traceparent")
		io.WriteString(w, "{}")
	}))
	defer target.Close()
	n := start(t, "tracing: {endpoint: \""+collects.URL+"\"}\negress: [127.0.0.1]\neffects: [{name: greet, kind: http, url: \""+target.URL+"\"}]\n")
	n.ramet("", "saga", "apply", n.write("saga.yaml", `name: hello
triggers: [{of: Guest, types: [Came]}]
correlation: event.aggregate_id
initial: new
effects: [greet]
states:
  new: {on: {Came: handle, "*": ignore}}
  greeting: {on: {greet.Succeeded: handle, "*": ignore}}
  greeted: {final: true}
script: |
  fn on_event(state, event) {
    switch event.type {
      "Came" => #{state: state, work: [#{effect: "greet", payload: #{}}], next: "greeting"},
      _ => #{state: state, next: "greeted"},
    }
  }
`))
	n.ramet(parent, "event", "publish", "Came", "--aggregate", "Guest/ann", "--payload", "{}")
	asked := r.span(trace, "submit event")
	moved := r.span(trace, "saga hello")
	r.under(text(asked.SpanId), moved)
	if of(moved, "ramet.from") != "new" || of(moved, "ramet.to") != "greeting" {
		t.Errorf("the transition says %v", moved.Attributes)
	}
	call := r.span(trace, "effect greet")
	r.under(text(moved.SpanId), call)
	if got, want := <-told, "00-"+trace+"-"+text(call.SpanId)+"-01"; got != want {
		t.Errorf("the target was told %s, want %s", got, want)
	}
}

// TestAJobThatIsSentHangsTogether has a job done in another context, where it comes in a
// message: its attempt there hangs from what its sender tells of it.
func TestAJobThatIsSentHangsTogether(t *testing.T) {
	r := &receiver{T: t, came: make(chan struct{}, 1)}
	collects := httptest.NewServer(r)
	defer collects.Close()
	n := start(t, "tracing: {endpoint: \""+collects.URL+"\"}\n")
	n.ramet("", "context", "create", "--id", "7")
	n.ramet("", "blueprint", "apply", n.write("far.yaml", "name: far\nsteps:\n  - {name: a, at: \"7\", script_type: shell, script: echo hello}\n"))
	n.ramet(parent, "flow", "submit", "far")
	n.ramet("", "flow", "wait", "1")
	flow, sent := r.span(trace, "flow far"), r.span(trace, "job elsewhere")
	r.under(text(flow.SpanId), sent)
	message := r.span(trace, "message")
	r.under(text(sent.SpanId), message)
	attempt := r.span(trace, "job shell")
	r.under(text(message.SpanId), attempt)
	if of(attempt, "ramet.context") != "context:7" {
		t.Errorf("the attempt says %v", attempt.Attributes)
	}
}

// TestAFlowOverTwoSitesHangsTogether has a step done by another organisation, whose node tells a collector of its own:
// the parts of both make one trace.
func TestAFlowOverTwoSitesHangsTogether(t *testing.T) {
	here, there := &receiver{T: t, came: make(chan struct{}, 1)}, &receiver{T: t, came: make(chan struct{}, 1)}
	collects, collectsToo := httptest.NewServer(here), httptest.NewServer(there)
	defer collects.Close()
	defer collectsToo.Close()
	link := testport.Free(t)
	alpha := start(t, "tracing: {endpoint: \""+collects.URL+"\"}\n", "--name", "alpha", "--bus", "nats:?leaf_listen="+link)
	beta := start(t, "tracing: {endpoint: \""+collectsToo.URL+"\"}\n", "--name", "beta", "--bus", "nats:?leaf=nats://"+link)
	alpha.ramet("", "peer", "add", alpha.write("beta.json", beta.ramet("", "peer", "card", "--name", "beta")))
	beta.ramet("", "peer", "add", beta.write("alpha.json", alpha.ramet("", "peer", "card", "--name", "alpha")))
	beta.ramet("", "context", "create", "--id", "7")
	beta.ramet("", "context", "grant", "7", "2", "--role", "admin")
	alpha.ramet(parent, "flow", "submit", alpha.write("far.yaml", "name: far\nsteps:\n"+
		"  - {name: a, at: 7@beta, script_type: shell, script: echo a}\n  - {name: b, needs: [a], script_type: shell, script: echo b}\n"))
	alpha.ramet("", "flow", "wait", "1")

	flow, sent := here.span(trace, "flow far"), here.span(trace, "job elsewhere")
	here.under(text(flow.SpanId), sent)
	message := there.span(trace, "message")
	there.under(text(sent.SpanId), message)
	attempt := there.span(trace, "job shell")
	there.under(text(message.SpanId), attempt)
	if of(attempt, "ramet.context") != "context:7" {
		t.Errorf("the attempt at beta says %v", attempt.Attributes)
	}
	next := here.span(trace, "job shell")
	here.under(text(flow.SpanId), next)
	if of(next, "ramet.step") != "b" {
		t.Errorf("the step at alpha says %v", next.Attributes)
	}
}

// TestACollectorThatIsAwayCostsNothing has a node whose collector takes nothing.
func TestACollectorThatIsAwayCostsNothing(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }))
	defer refuses.Close()
	n := start(t, "tracing: {endpoint: \""+refuses.URL+"\"}\n")
	n.ramet(parent, "job", "submit", n.write("hello.sh", "echo hello"))
	if out := n.ramet("", "job", "wait", "1", "-o", "json"); !strings.Contains(out, `"finished"`) {
		t.Error(out)
	}
}
