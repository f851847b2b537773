package scripttest

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/script"
)

// This file is the part of the suite for durable scripts: the same steps, sleeps and waits
// come to the same in every language that has a module for them.

// DurableSnippets are scripts in one language. What they print they print to stdout.
type DurableSnippets struct {
	// Steps does step "a", which prints "doing a" and gives {"s": "x", "list": [1, null]};
	// prints "a is x 2", of s and the length of list; in attempt 1 fails; then does another
	// step "a", which prints "doing a again" and gives nothing, and prints "end".
	Steps string
	// Retry does step "r" with two retries 1 ms later, which prints "try <attempt> <key>", fails
	// with "busy" in the first two, and gives 7; then prints "got 7".
	Retry string
	// Failure does step "f", which prints "doing f" and fails with "no money"; catches that and
	// prints "failed: no money"; then fails in attempt 1.
	Failure string
	// Sleep prints "before", sleeps "nap" for an hour, printing "caught" should that fail with
	// anything that scripts catch, and prints "after".
	Sleep string
	// Wait waits for the signal "click", without end, and prints its field "by".
	Wait string
	// Late waits "w" for a signal "click" for 1 ms, catches that it did not come, and prints "late".
	Late string
	// Drawn prints now, random and uuid, a line each; then fails in attempt 1.
	Drawn string
	// Version prints version 2 of "v".
	Version string
	// Inside does step "outer", which does step "inner"; it prints the error.
	Inside string
	// Large does step "l" without a retry, which prints "doing l" and gives a text of 2 MiB, and
	// prints "refused" when that fails; then fails in attempt 1.
	Large string
	// Call calls "bill", of blueprint "billing" with the params n, a number 17, and t, the text "x",
	// and prints n and t of its result; then calls "bad", of blueprint "bad", catches that it fails, and prints
	// "failed: " and how.
	Call string
	// Gather has two things done side by side: "a", of blueprint "a" with the param n of 1, and "b", of script
	// "exit" with the param n of 2; it prints n of each.
	Gather string
	// Approval asks "pay", with the text "pay?", and prints "yes", the answer amount and the comment.
	Approval string
	// Prerequisite waits "data" for the prerequisite "file:in.csv" and prints "met".
	Prerequisite string
}

// DurableRhai are these scripts in Rhai, for the runtimes that have it.
var DurableRhai = DurableSnippets{
	Steps: `
		let a = step("a", || { print("doing a"); #{s: "x", list: [1, ()]} });
		print("a is " + a.s + " " + a.list.len());
		if ATTEMPT == 1 { throw 1 }
		step("a", || { print("doing a again"); });
		print("end");`,
	Retry: `
		let got = step("r", |step| {
			print("try " + step.attempt + " " + step.key);
			if step.attempt < 3 { throw "busy" }
			7
		}, #{retries: 2, after: 0.001});
		print("got " + got);`,
	Failure: `
		try { step("f", || { print("doing f"); throw "no money" }) } catch (e) { print("failed: " + e) }
		if ATTEMPT == 1 { throw 1 }`,
	Sleep: `
		print("before");
		try { sleep("nap", 3600) } catch { print("caught") }
		print("after");`,
	Wait:    `print(wait("click").by)`,
	Late:    `try { wait("w", #{signal: "click", timeout: 0.001}) } catch { print("late") }`,
	Drawn:   `print(now()); print(random()); print(uuid()); if ATTEMPT == 1 { throw 1 }`,
	Version: `print(version("v", 2))`,
	Inside:  `try { step("outer", || step("inner", || 1)) } catch (e) { print(e) }`,
	Large: `
		try { step("l", || { print("doing l"); let x = "x"; x.pad(2 * 1024 * 1024, "x"); x }) } catch { print("refused") }
		if ATTEMPT == 1 { throw 1 }`,
	Call: `
		let r = child("bill", "billing", #{n: 17, t: "x"});
		print(r.n + " " + r.t);
		try { child("bad", #{blueprint: "bad"}) } catch (e) { print("failed: " + e) }`,
	Gather: `
		let all = gather([#{name: "a", blueprint: "a", params: #{n: 1}}, #{name: "b", script: "exit", params: #{n: 2}}]);
		print(all[0].n + " " + all[1].n);`,
	Approval:     `let d = approval("pay", #{text: "pay?"}); if d.approved { print("yes " + d.answers.amount + " " + d.comment) }`,
	Prerequisite: `wait("data", #{prerequisite: "file:in.csv"}); print("met");`,
}

// Durable runs the suite of durable scripts.
func Durable(t *testing.T, rt script.Runtime, s DurableSnippets) {
	if err := rt.Check(t.Context()); err != nil {
		t.Fatalf("check: %v", err)
	}
	for _, tt := range []struct {
		name, source string
		test         func(t *testing.T, j *durableJob)
	}{
		{"a step runs once, and its answer is as JSON has it", s.Steps, func(t *testing.T, j *durableJob) {
			j.attempt(t, script.Failed, "doing a", "a is x 2")
			j.attempt(t, script.Succeeded, "a is x 2", "doing a again", "end")
			j.attempt(t, script.Succeeded, "a is x 2", "end")
		}},
		{"a step that fails is tried again under its key", s.Retry, func(t *testing.T, j *durableJob) {
			j.attempt(t, script.Succeeded, "try 1 KEY", "try 2 KEY", "try 3 KEY", "got 7")
			j.attempt(t, script.Succeeded, "got 7")
		}},
		{"a failure is remembered", s.Failure, func(t *testing.T, j *durableJob) {
			j.attempt(t, script.Failed, "doing f", "failed: no money")
			j.attempt(t, script.Succeeded, "failed: no money")
		}},
		{"a long sleep ends the process, and nothing of the script holds it", s.Sleep, func(t *testing.T, j *durableJob) {
			j.attempt(t, suspended, "before")
			j.attempt(t, suspended, "before")
			j.history.pass()
			j.attempt(t, script.Succeeded, "before", "after")
		}},
		{"a wait ends the process until its signal comes", s.Wait, func(t *testing.T, j *durableJob) {
			j.attempt(t, suspended)
			j.history.Signal("click", `{"by":"ann"}`)
			j.attempt(t, script.Succeeded, "ann")
			j.attempt(t, script.Succeeded, "ann")
		}},
		{"a wait has its time", s.Late, func(t *testing.T, j *durableJob) {
			j.attempt(t, script.Succeeded, "late")
			j.history.Signal("click", `{}`)
			j.attempt(t, script.Succeeded, "late")
		}},
		{"what is drawn stays", s.Drawn, func(t *testing.T, j *durableJob) {
			first := j.attempt(t, script.Failed, "NOW", "RANDOM", "UUID")
			if second := j.attempt(t, script.Succeeded, "NOW", "RANDOM", "UUID"); !slices.Equal(first, second) {
				t.Errorf("got %q, then %q", first, second)
			}
		}},
		{"a script says its version", s.Version, func(t *testing.T, j *durableJob) {
			j.attempt(t, script.Succeeded, "2")
		}},
		{"a step does not wait for itself", s.Inside, func(t *testing.T, j *durableJob) {
			if out := j.attempt(t, script.Succeeded, "ANY"); !strings.Contains(out[0], `inside of step`) {
				t.Errorf("got %q, want it to say where", out[0])
			}
		}},
		{"an answer that is too large is a failure that is remembered", s.Large, func(t *testing.T, j *durableJob) {
			j.attempt(t, script.Failed, "doing l", "refused")
			j.attempt(t, script.Succeeded, "refused")
		}},
		{"a call is made once, and its end waited for", s.Call, func(t *testing.T, j *durableJob) {
			j.attempt(t, suspended)
			j.attempt(t, suspended)
			j.history.pass()
			j.attempt(t, script.Succeeded, "17 x", "failed: no money")
			j.attempt(t, script.Succeeded, "17 x", "failed: no money")
			if c := j.history.calls; len(c) != 2 || c[0].Blueprint != "billing" || c[0].Name != "bill" || c[0].Params["n"] != "17" {
				t.Errorf("got the calls %+v, want bill and bad", c)
			}
		}},
		{"calls are made side by side", s.Gather, func(t *testing.T, j *durableJob) {
			j.attempt(t, suspended)
			if c := j.history.calls; len(c) != 2 || c[1].Script != "exit" {
				t.Errorf("got the calls %+v, want both", c)
			}
			j.history.pass()
			j.attempt(t, script.Succeeded, "1 2")
		}},
		{"a person is asked", s.Approval, func(t *testing.T, j *durableJob) {
			j.attempt(t, suspended)
			j.history.pass()
			j.attempt(t, script.Succeeded, "yes 5 fine")
			if c := j.history.calls; len(c) != 1 || c[0].Approval == nil || c[0].Approval.Text != "pay?" {
				t.Errorf("got the calls %+v, want one with a text", c)
			}
		}},
		{"a prerequisite is waited for", s.Prerequisite, func(t *testing.T, j *durableJob) {
			j.attempt(t, suspended)
			j.history.pass()
			j.attempt(t, script.Succeeded, "met")
			j.attempt(t, script.Succeeded, "met")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.source == "" {
				t.Fatal("the language has no such script")
			}
			tt.test(t, &durableJob{rt: rt, source: tt.source})
		})
	}
}

// suspended stands for the end of an attempt that waits.
const suspended script.Verdict = "suspended"

// durableJob is one job of the suite.
type durableJob struct {
	rt       script.Runtime
	source   string
	history  History
	attempts int64
}

// attempt runs the job's script once, and wants it to end so and to have printed that:
// KEY, NOW, RANDOM, UUID and ANY stand for what is different each time.
func (j *durableJob) attempt(t *testing.T, want script.Verdict, lines ...string) []string {
	t.Helper()
	j.attempts++
	got, s, out, host := RunDurable(t, j.rt, j.source, j.attempts, &j.history)
	if got != want {
		t.Fatalf("attempt %d: got %s (%s), want %s; stderr: %v; channel: %v", j.attempts, got, out.Error, want, host.Lines("stderr"), s.Failed())
	}
	printed := host.Lines("stdout")
	if len(printed) != len(lines) {
		t.Fatalf("attempt %d: got lines %q, want %q", j.attempts, printed, lines)
	}
	key := ""
	for i, line := range printed {
		switch want := lines[i]; {
		case strings.HasSuffix(want, "KEY"):
			rest, own, _ := cutLast(line)
			if key == "" {
				key = own
			}
			if len(own) != 36 || own != key || rest+" KEY" != want {
				t.Errorf("attempt %d: got line %q, want %q with one key", j.attempts, line, want)
			}
		case want == "NOW":
			if ms, err := strconv.ParseFloat(line, 64); err != nil || time.Since(time.UnixMilli(int64(ms))).Abs() > time.Hour {
				t.Errorf("attempt %d: got the time %q, %v", j.attempts, line, err)
			}
		case want == "RANDOM":
			if n, err := strconv.ParseFloat(line, 64); err != nil || n < 0 || n >= 1 {
				t.Errorf("attempt %d: got the number %q, %v", j.attempts, line, err)
			}
		case want == "UUID":
			if len(line) != 36 {
				t.Errorf("attempt %d: got the UUID %q", j.attempts, line)
			}
		case want != "ANY" && line != want:
			t.Errorf("attempt %d: got line %q, want %q", j.attempts, line, want)
		}
	}
	return printed
}

func cutLast(line string) (before, last string, found bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return "", line, false
	}
	return line[:i], line[i+1:], true
}

// RunDurable runs one attempt at a script with a history, as a node does, and says how it
// ended: suspended is a verdict of its own here.
func RunDurable(t testing.TB, rt script.Runtime, source string, attempt int64, h *History) (script.Verdict, *durable.Script, script.Outcome, *Host) {
	t.Helper()
	task := NewTask(t, source)
	dir, err := os.MkdirTemp("", "job") // short: it is part of the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	task.Dir, task.ResultFile, task.Attempt = dir, filepath.Join(dir, "result"), attempt
	task.Env["RAMET_RESULT"] = task.ResultFile
	task.Env["RAMET_ATTEMPT"] = strconv.FormatInt(attempt, 10)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s := durable.NewScript(h, task.Name, func(now bool) {
		if now {
			cancel(script.ErrCancelled)
		}
	})
	task.Channel = s
	if !rt.Info().InProcess {
		path := filepath.Join(task.Dir, "channel")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		server := durable.Serve(ctx, l, s)
		defer server.Close()
		task.Env["RAMET_CHANNEL"] = path
	}
	host := NewHost()
	out, err := rt.Run(ctx, task, host)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	if s.Suspended() != nil {
		return suspended, s, out, host
	}
	return out.Verdict, s, out, host
}

// History is a history in memory. The zero History is empty.
type History struct {
	mu      sync.Mutex
	items   []string
	signals map[string][]string
	calls   []domain.Call // their children are child:1, child:2 …
	ended   bool          // all of them, with their params as results; those of blueprint "bad" badly
}

var _ durable.Store = (*History)(nil)

// Load gives its items.
func (h *History) Load(context.Context) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.items), nil
}

// Append adds an item.
func (h *History) Append(_ context.Context, length int, item string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if length != len(h.items) {
		return domain.Conflictf("the history has %d items, not %d", len(h.items), length)
	}
	h.items = append(h.items, item)
	return nil
}

// Take takes the oldest signal of a name.
func (h *History) Take(ctx context.Context, length int, signal string, item func(json.RawMessage) (string, error)) (bool, error) {
	h.mu.Lock()
	waiting := h.signals[signal]
	h.mu.Unlock()
	if len(waiting) == 0 {
		return false, nil
	}
	text, err := item(json.RawMessage(waiting[0]))
	if err != nil {
		return false, err
	}
	h.mu.Lock()
	h.signals[signal] = waiting[1:]
	h.mu.Unlock()
	return true, h.Append(ctx, length, text)
}

// Call notes a call.
func (h *History) Call(ctx context.Context, length int, c domain.Call, _ domain.CalledBy, item func(child string) (string, error)) error {
	h.mu.Lock()
	h.calls = append(h.calls, c)
	n := len(h.calls)
	h.mu.Unlock()
	text, err := item("child:" + strconv.Itoa(n))
	if err != nil {
		return err
	}
	return h.Append(ctx, length, text)
}

// Ended gives the ends of children after pass.
func (h *History) Ended(_ context.Context, children []string) ([]*domain.ChildEnd, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ends := make([]*domain.ChildEnd, len(children))
	for i, child := range children {
		n, _ := strconv.Atoi(strings.TrimPrefix(child, "child:"))
		switch c := h.calls[n-1]; {
		case !h.ended:
		case c.Approval != nil:
			ends[i] = &domain.ChildEnd{Decided: true, Result: map[string]string{"by": "9", "comment": "fine", "amount": "5"}}
		case c.Blueprint == "bad":
			ends[i] = &domain.ChildEnd{Failure: &domain.StepFailure{Kind: "failed", Text: "no money", Code: 3}}
		default:
			ends[i] = &domain.ChildEnd{Result: c.Params}
		}
	}
	return ends, nil
}

// Now is this machine's clock.
func (*History) Now() time.Time { return time.Now() }

// Met says that prerequisites are met after pass.
func (h *History) Met(context.Context, string, bool) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended, nil
}

// Signal sends a signal.
func (h *History) Signal(name, payload string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.signals == nil {
		h.signals = map[string][]string{}
	}
	h.signals[name] = append(h.signals[name], payload)
}

// pass lets all that is waited for be over.
func (h *History) pass() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for i, item := range h.items {
		e, err := durable.DecodeEvent(item)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		if e.UntilMs > 0 {
			e.UntilMs = 1
		}
		if h.items[i], err = durable.Encode(e); err != nil {
			panic("BUG: " + err.Error())
		}
	}
}
