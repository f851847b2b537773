package clocks

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/worker"
)

// jumps are how far the clock is set, and set back after a while. What a node counts
// from a clock that is ahead comes by so much later: what is given time for it here is
// a last jump, an hour on for good.
var jumps = []time.Duration{30 * time.Second, -30 * time.Second, time.Hour, -time.Hour}

const (
	lease = 3 * time.Second
	// wrong is for how long a clock is: several leases, and longer than every delay that is waited for.
	wrong = 9 * time.Second
)

// TestAJumpOfTheClock has the clock of a node jump while all kinds of work go on. A
// witness outside counts starts by attempt: with no node killed none is lost, so each
// thing begins once for each attempt that it is to have, and ends once.
func TestAJumpOfTheClock(t *testing.T) {
	if os.Getenv("RAMET_CLOCKS") == "" {
		t.Skip("run by `make clocks`: it compiles every package anew")
	}
	path := build(t)
	t.Run("embedded", func(t *testing.T) {
		w := newWorld(t)
		n := start(t, path, w.dir, "a", "--config", w.config, "--lease", lease.String())
		w.nodes, w.streams = []*node{n}, true
		w.run(n)
	})
	t.Run("redis", func(t *testing.T) {
		s := redistest.Start(t)
		w := newWorld(t)
		for _, name := range []string{"a", "b"} {
			w.nodes = append(w.nodes, start(t, path, w.dir, name, "--config", w.config, "--lease", lease.String(), "--board", s.URL()))
		}
		w.run(w.nodes[0]) // which has the duties: it was there first
	})
}

// world is a board with nodes, and the witness.
type world struct {
	*testing.T
	dir, config, witness string
	nodes                []*node
	streams              bool           // the node has some of its own, in files: there are sagas
	timers               []string       // what their timers have told, by its name
	want                 map[string]int // how often a thing is to begin, by its name
	jobs                 []domain.JobKey
	flows                []domain.FlowID
	mu                   sync.Mutex // for the witness, where this process writes it
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "rc") // a short path: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	seen := filepath.Join(dir, "seen")
	w := &world{T: t, dir: dir, config: filepath.Join(dir, "ramet.yaml"), witness: filepath.Join(seen, "witness"), want: map[string]int{}}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(seen, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(seen, 0o777); err != nil { // walled scripts of root's node are nobody's
		t.Fatal(err)
	}
	text := fmt.Sprintf("walls:\n  write: [%s]\neffects:\n  - name: tell\n    kind: job\n    caller: 1\n    script_type: shell\n    script: |\n"+
		"      echo \"begin $RAMET_PARAM_NAME $RAMET_ATTEMPT\" >> %[2]s\n      echo \"end $RAMET_PARAM_NAME $RAMET_ATTEMPT\" >> %[2]s\n", seen, w.witness)
	if err := os.WriteFile(w.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.witness, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.witness, 0o666); err != nil {
		t.Fatal(err)
	}
	return w
}

// run does it: work, a jump in the middle of it, work while the clock is wrong, the clock set right.
func (w *world) run(jumping *node) {
	w.schedules()
	w.workers()
	w.sagas()
	for i, d := range jumps {
		w.Logf("the clock jumps by %v", d)
		w.submit(fmt.Sprintf("%d-before", i))
		time.Sleep(lease) // in the middle of work is what is tried
		jumping.set(d)
		time.Sleep(lease)
		w.submit(fmt.Sprintf("%d-within", i))
		time.Sleep(wrong)
		jumping.set(0)
		w.submit(fmt.Sprintf("%d-after", i))
		time.Sleep(lease)
	}
	for _, name := range []string{"cron", "every"} {
		if _, err := w.nodes[0].PauseSchedule(w.Context(), 1, name); err != nil {
			w.Fatal(err)
		}
	}
	jumping.set(2 * time.Hour) // what was counted from the clock that was ahead has come by now
	w.settle()
	w.told()
	w.quiet()
	jumping.set(0)
	w.judge()
}

// says is a line of a script: what begins or ends, and its attempt.
func (w *world) says(what, name string) string {
	return fmt.Sprintf("echo \"%s %s $RAMET_ATTEMPT\" >> %s\n", what, name, w.witness)
}

// submit makes some of each kind, on every node.
func (w *world) submit(round string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	for i, n := range w.nodes {
		name := func(kind string) string { return fmt.Sprintf("%s-%s-%d", kind, round, i) }
		job := func(kind, script string, times int, change func(*domain.Job)) {
			w.Helper()
			j := domain.Job{ScriptType: domain.ScriptShell, Script: "set -e\n" + w.says("begin", name(kind)) + script + w.says("end", name(kind))}
			if change != nil {
				change(&j)
			}
			key, err := n.SubmitJob(ctx, 1, j)
			if err != nil {
				w.Fatalf("submit %s: %v", name(kind), err)
			}
			w.jobs = append(w.jobs, key)
			w.want[name(kind)] = times
		}
		job("long", "sleep 7\n", 1, nil)
		job("short", "sleep 0.2\n", 1, nil)
		job("later", "", 1, func(j *domain.Job) { j.NotBefore = time.Now().Add(4 * time.Second).UnixMilli() })
		job("retried", "[ $RAMET_ATTEMPT -gt 1 ] || exit 1\n", 2, func(j *domain.Job) { j.Retries, j.Retry = 1, &domain.Retry{Delay: 2} })
		job("durable", "ramet sleep nap 8s\n", 2, nil) // it begins anew, and finds that it has slept
		job("napping", "ramet sleep nap 1s\n", 1, nil)
		job("called", "", 1, func(j *domain.Job) { j.ScriptType, j.Script = "told", fmt.Sprintf("%q", name("called")) })
		w.flow(ctx, n, name)
		w.instance(ctx, n, name("saga"))
	}
}

// sagas are those of one program: each instance sets two timers, and asks for an effect whenever one comes, however often.
func (w *world) sagas() {
	w.Helper()
	if !w.streams {
		return
	}
	if _, err := w.nodes[0].ApplySagaText(w.Context(), 1, "timed.yaml", `name: timed
triggers:
  - {of: Round, types: [RoundBegan]}
correlation: event.aggregate_id
initial: new
effects: [tell]
timers: [First, Second]
states:
  new:
    on: {RoundBegan: handle, "*": ignore}
  waiting:
    on: {First: handle, Second: handle, tell.Succeeded: ignore, "*": ignore}
script: |
  fn on_event(state, event) {
    if event.type == "RoundBegan" {
      return #{state: #{name: event.payload.name}, timers: [#{event: "First", after: 2}, #{event: "Second", after: 8}], next: "waiting"};
    }
    #{work: [#{effect: "tell", payload: #{name: state.name + "-" + event.type}}]}
  }
`, domain.SagaFromStart); err != nil {
		w.Fatal(err)
	}
}

// instance begins one: a timer comes before the next jump, and one after it.
func (w *world) instance(ctx context.Context, n *node, name string) {
	w.Helper()
	if !w.streams {
		return
	}
	_, err := n.PublishEvent(ctx, 1, api.EventInput{ID: name, Type: "RoundBegan", AggregateType: "Round", AggregateID: name,
		Payload: json.RawMessage(fmt.Sprintf(`{"name": %q}`, name))})
	if err != nil {
		w.Fatalf("begin %s: %v", name, err)
	}
	for _, timer := range []string{"First", "Second"} {
		w.want[name+"-"+timer] = 1
		w.timers = append(w.timers, name+"-"+timer)
	}
}

// flow makes one whose approval nobody decides until its deadline.
func (w *world) flow(ctx context.Context, n *node, name func(string) string) {
	w.Helper()
	text := fmt.Sprintf(`name: %s
steps:
  - name: first
    script_type: shell
    script: |
      %s  - name: ask
    needs: first
    approval: {deadline: 5s, on_deadline: approve}
  - name: last
    needs: ask
    script_type: shell
    script: |
      %s`, name("flow"), w.indented(name("first")), w.indented(name("last")))
	f, err := n.SubmitFlow(ctx, 1, api.FlowInput{Text: text, File: "flow.yaml"})
	if err != nil {
		w.Fatalf("submit %s: %v\n%s", name("flow"), err, text)
	}
	w.flows = append(w.flows, f.ID)
	w.want[name("first")], w.want[name("last")] = 1, 1
}

func (w *world) indented(name string) string {
	return strings.ReplaceAll(w.says("begin", name), "\n", "\n      ") + w.says("end", name)
}

// schedules make flows that tell their time.
func (w *world) schedules() {
	w.Helper()
	ctx, n := w.Context(), w.nodes[0]
	_, err := n.ApplyBlueprintText(ctx, 1, "tick.yaml", fmt.Sprintf("name: tick\nparams: {at: \"\"}\nsteps:\n  - name: tell\n    script_type: shell\n"+
		"    script: 'echo \"begin $RAMET_PARAM_AT 1\" >> %[1]s; echo \"end $RAMET_PARAM_AT 1\" >> %[1]s'\n", w.witness))
	if err != nil {
		w.Fatal(err)
	}
	at := map[string]domain.Variable{"at": {Time: &domain.TimeStamp{Pattern: "yyyy-MM-dd'T'HH:mm:ss"}}}
	catchUp := domain.Span(300)
	for _, s := range []domain.Schedule{
		{Name: "cron", Cron: "* * * * *", Params: map[string]string{"at": "cron-${at}"}},
		{Name: "every", Every: 10, CatchUp: &catchUp, Params: map[string]string{"at": "every-${at}"}},
	} {
		s.Blueprint, s.Overlap, s.Variables = "tick", domain.OverlapAllow, at
		if _, err := n.ApplySchedule(ctx, 1, s); err != nil {
			w.Fatal(err)
		}
	}
}

// workers has a worker of this process run jobs of its own type.
func (w *world) workers() {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, n := range w.nodes {
		is := worker.New(n.Client, worker.Config{Context: 1, Slots: 20, Lease: 2 * lease})
		worker.Handle(is, "told", func(_ context.Context, job *worker.Job, name string) (struct{}, error) {
			w.tell("begin", name, int(job.Attempt))
			time.Sleep(7 * time.Second)
			w.tell("end", name, int(job.Attempt))
			return struct{}{}, nil
		})
		running.Go(func() { _ = is.Run(ctx) })
	}
	w.Cleanup(func() { stop(); running.Wait() })
}

func (w *world) tell(what, name string, attempt int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, err := os.OpenFile(w.witness, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		w.Error(err)
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s %d\n", what, name, attempt)
}

// settle waits until all has ended.
func (w *world) settle() {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	n := w.nodes[0]
	for _, key := range w.jobs {
		if j, err := n.Wait(ctx, 1, key); err != nil || j.Status != domain.JobFinished {
			ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			x, why := n.Explain(ask, 1, key)
			cancel()
			w.Errorf("job %s: %v; %s %v", key, err, x.Text, why)
		}
	}
	for _, id := range w.flows {
		if f, err := n.WatchFlow(ctx, 1, id, func(domain.FlowView) error { return nil }); err != nil || f.Status != domain.FlowFinished {
			ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			x, why := n.ExplainFlow(ask, 1, id)
			cancel()
			w.Errorf("flow %d: %s %v; %+v %v", id, f.Status, err, x, why)
		}
	}
}

// told waits until each timer of a saga has had its effect: one that is lost is named.
func (w *world) told() {
	w.Helper()
	var missing []string
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		text, err := os.ReadFile(w.witness)
		if err != nil {
			w.Fatal(err)
		}
		missing = slices.DeleteFunc(slices.Clone(w.timers), func(name string) bool { return strings.Contains(string(text), "end "+name+" ") })
		if len(missing) == 0 {
			return
		}
		if time.Now().After(end) {
			w.Errorf("timers that did not come, or whose effect did not: %q", missing)
			return
		}
	}
}

// quiet waits until no flow lives: those of schedules, which make none any more.
func (w *world) quiet() {
	w.Helper()
	n := w.nodes[0]
	for _, status := range []domain.FlowStatus{domain.FlowDispatched, domain.FlowStarted} {
		n.until("no flow is "+string(status), func(ctx context.Context) bool {
			page, err := n.Flows(ctx, api.ListFlowsParams{Context: 1, FlowFilter: api.FlowFilter{Status: status}, Limit: 1})
			return err == nil && len(page.Flows) == 0 && page.Next == ""
		})
	}
}

// judge holds what the witness saw against what was to be.
func (w *world) judge() {
	w.Helper()
	text, err := os.ReadFile(w.witness)
	if err != nil {
		w.Fatal(err)
	}
	begun, ended, ticks := map[string][]string{}, map[string]int{}, map[string][]time.Time{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			w.Errorf("the witness reads %q", line)
			continue
		}
		if f[0] == "end" {
			ended[f[1]]++
			continue
		}
		begun[f[1]] = append(begun[f[1]], f[2])
		for _, of := range []string{"cron", "every"} {
			if rest, ok := strings.CutPrefix(f[1], of+"-2"); ok {
				at, err := time.Parse("2006-01-02T15:04:05", "2"+rest)
				if err != nil {
					w.Error(err)
				}
				ticks[of] = append(ticks[of], at)
				w.want[f[1]] = 1
			}
		}
	}
	for name, times := range w.want {
		got := begun[name]
		if strings.HasPrefix(name, "durable-") && len(w.nodes) == 1 && len(got) > times {
			times = len(got) // it was woken by a clock that was set back before it looked: it sleeps on
		}
		if len(got) != times || len(slices.Compact(slices.Sorted(slices.Values(got)))) != times {
			w.Errorf("%s began as attempts %q, want %d", name, got, times)
		}
		if ended[name] != 1 {
			w.Errorf("%s ended %d times", name, ended[name])
		}
	}
	for of, every := range map[string]time.Duration{"cron": time.Minute, "every": 10 * time.Second} {
		w.gaps(of, every, ticks[of])
	}
	w.Logf("%d things begun", len(begun))
}

// gaps wants all times of a schedule: made, or counted as missed where the clock of the only node passed over them.
func (w *world) gaps(of string, every time.Duration, ticks []time.Time) {
	w.Helper()
	s, err := w.nodes[0].Schedule(w.Context(), 1, of, 1)
	if err != nil {
		w.Fatal(err)
	}
	slices.SortFunc(ticks, time.Time.Compare)
	missing := 0
	for i := 1; i < len(ticks); i++ {
		missing += int(ticks[i].Sub(ticks[i-1])/every) - 1
	}
	w.Logf("schedule %s: %d flows from %v to %v, %d missed, %d refused", of, len(ticks), ticks[0], ticks[len(ticks)-1], s.State.Missed, s.State.Refused)
	if len(w.nodes) > 1 && s.State.Missed > 0 || int64(missing) > s.State.Missed || s.State.Refused > 0 {
		w.Errorf("schedule %s: %d of its times have no flow: %+v", of, missing, s.State)
	}
}
