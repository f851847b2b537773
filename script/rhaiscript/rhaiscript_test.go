package rhaiscript_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/rhaiscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

func TestSuite(t *testing.T) {
	scripttest.Run(t, scripttest.Config{
		Open:     func(*testing.T) script.Runtime { return rhaiscript.New(rhaiscript.Config{}) },
		Snippets: scripttest.Snippets{Succeed: "let x = 1;", Wait: "loop {}", Spin: "loop {}"},
		Features: scripttest.Features{
			NoProcess: "a Rhai script runs inside the process: it has no exit code, signals, descriptors or files",
			NoFence:   "it cannot open files at all",
			NoDaemons: "it cannot start processes",
		},
	})
}

// run runs a script as job 12:7 of context 3.
func run(t *testing.T, r *rhaiscript.Runtime, source string, change ...func(*script.Task)) (script.Outcome, *scripttest.Host) {
	t.Helper()
	task := script.Task{Name: "job:12:7", Caller: 12, Context: 3, Attempt: 1, Script: source, Checkpoint: script.NewCheckpoint("")}
	for _, f := range change {
		f(&task)
	}
	host := scripttest.NewHost()
	out, err := r.Run(t.Context(), task, host)
	if err != nil {
		t.Fatal(err)
	}
	return out, host
}

func TestResults(t *testing.T) {
	r := rhaiscript.New(rhaiscript.Config{})
	for _, tt := range []struct {
		name, source string
		want         map[string]string
	}{
		{"() gives nothing", "let x = 1;", map[string]string{}},
		{"a value is the key value", "6 * 7", map[string]string{"value": "42"}},
		{"a string stands as it is", `"a \"b\""`, map[string]string{"value": `a "b"`}},
		{"a float keeps its point", "1.0", map[string]string{"value": "1.0"}},
		{"an array is JSON", `[1, "x", ()]`, map[string]string{"value": `[1,"x",null]`}},
		{"a map gives the keys", `#{a: 1, b: "x", c: #{d: [true]}, e: ()}`, map[string]string{"a": "1", "b": "x", "c": `{"d":[true]}`, "e": "null"}},
		{"set_result adds keys, and the value goes before", `set_result("a", 1); set_result("b", [2]); #{a: 3}`, map[string]string{"a": "3", "b": "[2]"}},
		{"return and exit give the value", `exit("done"); 1`, map[string]string{"value": "done"}},
		{"who it runs for", "[CALLER_ID, CONTEXT_ID, JOB_ID, ATTEMPT]", map[string]string{"value": "[12,3,7,1]"}},
		{"no input", "[params, input]", map[string]string{"value": `[{},{"needs":{},"params":{}}]`}},
		{"a first line for the operating system", "#!/usr/bin/env rhai\n5", map[string]string{"value": "5"}},
		{"text that is not ASCII", "`Ω ${\"ü\".len()}`", map[string]string{"value": "Ω 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want["exit_code"] = "0"
			for range 2 { // compiled, and from the cache
				out, _ := run(t, r, tt.source)
				if diff := cmp.Diff(script.Outcome{Verdict: script.Succeeded, Result: tt.want}, out); diff != "" {
					t.Errorf("outcome (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestTheWholeValue is what circles ask for.
func TestTheWholeValue(t *testing.T) {
	r := rhaiscript.New(rhaiscript.Config{})
	for _, tt := range []struct {
		name, source string
		want         script.Outcome
	}{
		{"a text", `"5"`, script.Outcome{Verdict: script.Succeeded, Value: "5"}},
		{"a number", "2.5", script.Outcome{Verdict: script.Succeeded, Value: "2.5"}},
		{"a map", `#{value: 1, exit_code: "x"}`, script.Outcome{Verdict: script.Succeeded, Value: `{"exit_code":"x","value":1}`}},
		{"nothing", "let x = 5;", script.Outcome{Verdict: script.Succeeded}},
		{"a result of another kind", `set_result("a", 1); 7`, script.Outcome{Verdict: script.Succeeded, Value: "7"}},
		{"too much", `let s = "x"; s.pad(524289, "x"); s`, script.Outcome{Verdict: script.Errored, Invalid: true,
			Error: "the value of the script: it has 524289 bytes, the limit is 524288"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, _ := run(t, r, tt.source, func(task *script.Task) { task.Whole = true })
			if diff := cmp.Diff(tt.want, out); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsGiven(t *testing.T) {
	out, _ := run(t, rhaiscript.New(rhaiscript.Config{}), `env.WHO + " " + env.NONE + " " + input.needs["4"].result.sum + " " + params.day`,
		func(task *script.Task) {
			task.Env = map[string]string{"WHO": "me"}
			task.Input = func() ([]byte, error) {
				return []byte(`{"params":{"day":"monday"},"needs":{"4":{"status":"finished","result":{"sum":"10"}}}}`), nil
			}
		})
	if got := out.Result["value"]; got != "me  10 monday" {
		t.Errorf("got %q: %s", got, out.Error)
	}
}

func TestLog(t *testing.T) {
	_, host := run(t, rhaiscript.New(rhaiscript.Config{}), `
print("one\ntwo"); debug("x"); log("info", 5); log("error", "bad"); print("");
log("loud", "x")`)
	got := map[string][]string{"stdout": host.Lines("stdout"), "stderr": host.Lines("stderr"), "ramet": host.Lines("ramet")}
	want := map[string][]string{
		"stdout": {"one", "two", "5", ""},
		"stderr": {`2:20 | "x"`, "error: bad"},
		"ramet":  {`Runtime error: log: level "loud": want debug, info, warn or error`, `3 | log("loud", "x")`, `  | ^`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestFailures(t *testing.T) {
	r := rhaiscript.New(rhaiscript.Config{MaxOperations: 1_000_000, MaxMemory: 4 << 20})
	for _, tt := range []struct {
		name, source string
		verdict      script.Verdict
		want         string
	}{
		{"what it throws is its failure", "\nthrow \"no\"", script.Failed, `Runtime error: no (line 2, position 1)`},
		{"the calls that led there are named", "fn f() { throw 1 }\nf()", script.Failed,
			`Runtime error: 1 (line 1, position 10); in call to function 'f' (line 2, position 1)`},
		{"outside an array", "let a = [1];\na[7]", script.Errored, "Array index 7 out of bounds: only 1 element in array (line 2, position 3)"},
		{"division by zero", "1 / 0", script.Errored, "Division by zero: 1 / 0 (line 1, position 3)"},
		{"no such function", "nope(1)", script.Errored, "Function not found: nope (i64) (line 1, position 1)"},
		{"no such variable", "x", script.Errored, "Variable not found: x (line 1, position 1)"},
		{"no script", "let = 5", script.Errored, "Syntax error: Expecting name of a variable (line 1, position 5)"},
		{"not UTF-8", "\"\xff\"", script.Errored, "Syntax error: Text is not UTF-8 (line 1, position 2)"},
		{"100,000 brackets", strings.Repeat("[", 100_000), script.Errored, "Syntax error: Expression exceeds maximum complexity (line 1, position 22)"},
		{"endless loop", "loop {}", script.Errored, "Too many operations (line 1, position 6)"},
		{"endless recursion", "fn f(n) { f(n + 1) }\nf(0)", script.Errored, "Stack overflow (line 2, position 1)"},
		{"endless list", `let a = []; loop { a.push("x") }`, script.Errored, "Memory of the script too large (line 1, position 22)"},
		{"endless text", `let s = "x"; loop { s += s }`, script.Errored, "Memory of the script too large (line 1, position 23)"},
		{"a thrown map", `throw #{code: 5}`, script.Failed, `Runtime error: #{"code": 5} (line 1, position 1)`},
		{"no modules", `import "x" as y;`, script.Errored, "Too many modules imported (line 1, position 1)"},
		{"a constant of ours", "CALLER_ID = 1", script.Errored, "Cannot modify constant CALLER_ID (line 1, position 1)"},
		{"a checkpoint nested too deep", "let a = []; for i in 0..20000 { a = [a]; } set_checkpoint(a)", script.Failed, "Runtime error: set_checkpoint: "},
		{"a checkpoint that is too large", `let s = "x"; s.pad(600000, "x"); set_checkpoint(s)`, script.Failed,
			"Runtime error: set_checkpoint: checkpoint has 600002 bytes"},
		{"a result that is too large", `let s = "x"; s.pad(300000, "x"); set_result("a", s); set_result("b", s)`, script.Failed,
			"Runtime error: set_result: more than 524288 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, _ := run(t, r, tt.source)
			if out.Verdict != tt.verdict || out.ExitCode != 1 || out.Result["exit_code"] != "1" || !strings.HasPrefix(out.Error, tt.want) {
				t.Errorf("got %+v, want %s %q", out, tt.verdict, tt.want)
			}
		})
	}
}

func TestTheJobsOwnMemory(t *testing.T) {
	r := rhaiscript.New(rhaiscript.Config{})
	const source = "let a = []; for i in 0..200000 { a.push(i) } a.len()"
	for _, tt := range []struct {
		limit int64
		want  script.Verdict
	}{{0, script.Succeeded}, {1 << 20, script.Errored}, {4 << 30, script.Succeeded}} {
		out, _ := run(t, r, source, func(task *script.Task) { task.Limits.MemoryBytes = tt.limit })
		if out.Verdict != tt.want {
			t.Errorf("limit %d: got %+v, want %s", tt.limit, out, tt.want)
		}
	}
}

func TestUnusableResults(t *testing.T) {
	r := rhaiscript.New(rhaiscript.Config{})
	for source, want := range map[string]string{
		`#{"": 1}`:        "key is empty",
		`#{exit_code: 1}`: "is set by the runner",
		`let a = []; for i in 0..20000 { a = [a]; } #{f: a}`:                                         `key "f"`,
		`let s = "x"; s.pad(600000, "x"); s`:                                                         "at most 524288",
		`let s = "x"; s.pad(500000, "x"); let m = #{}; for i in 0..1000 { m[i.to_string()] = s; } m`: "at most 524288",
		`let a = []; a.pad(200000, 1); let m = #{}; for i in 0..1000 { m[i.to_string()] = a; } m`:    "at most 524288",
		"let m = #{}; for i in 0..2000 { m[`k${i}`] = i; } m":                                        "more than 1024 keys",
	} {
		out, _ := run(t, r, source)
		if out.Verdict != script.Errored || !out.Invalid || !strings.Contains(out.Error, want) {
			t.Errorf("%s: got %+v, want %q", source, out, want)
		}
	}
}

func TestCheckpoint(t *testing.T) {
	r := rhaiscript.New(rhaiscript.Config{})
	const source = `let seen = checkpoint() ?? #{page: 0}; seen.page += 1; set_checkpoint(seen); throw seen.page`
	cell := script.NewCheckpoint("")
	for attempt := 1; attempt <= 3; attempt++ {
		out, _ := run(t, r, source, func(task *script.Task) { task.Checkpoint = cell })
		if want := fmt.Sprintf("Runtime error: %d (", attempt); !strings.HasPrefix(out.Error, want) {
			t.Errorf("attempt %d: got %q", attempt, out.Error)
		}
		data, saves := cell.Saved()
		if want := fmt.Sprintf(`{"page":%d}`, attempt); data != want || saves != int64(attempt) {
			t.Errorf("attempt %d: got checkpoint %q, saved %d times", attempt, data, saves)
		}
		cell = script.NewCheckpoint(data)
		for range attempt {
			if err := cell.Save(data); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, _ := run(t, r, "checkpoint()", func(task *script.Task) { task.Checkpoint = script.NewCheckpoint("page 7") })
	if got := out.Result["value"]; got != "page 7" {
		t.Errorf("what somebody else wrote: got %q", got)
	}
}

// TestOneScriptForManyJobs runs the same text for many jobs at once: nothing
// of one may come to another.
func TestOneScriptForManyJobs(t *testing.T) {
	r := rhaiscript.New(rhaiscript.Config{})
	const source = `for i in 0..50 { set_result("n", JOB_ID); log("info", env.N); set_checkpoint(JOB_ID); } print(checkpoint()); #{me: env.N}`
	var all sync.WaitGroup
	for n := range 64 {
		all.Go(func() {
			me := fmt.Sprint(n + 1)
			cell := script.NewCheckpoint("")
			task := script.Task{Name: "job:1:" + me, Script: source, Env: map[string]string{"N": me}, Checkpoint: cell}
			host := scripttest.NewHost()
			out, err := r.Run(t.Context(), task, host)
			want := map[string]string{"n": me, "me": me, "exit_code": "0"}
			if diff := cmp.Diff(want, out.Result); err != nil || diff != "" {
				t.Errorf("job %s: %v %s %s", me, err, out.Error, diff)
			}
			for _, line := range host.Lines("stdout") {
				if line != me {
					t.Errorf("job %s has the line %q of another", me, line)
				}
			}
			if cell.Load() != me {
				t.Errorf("job %s has the checkpoint %q", me, cell.Load())
			}
		})
	}
	all.Wait()
}

func TestStopsWhileItSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, script.ErrTimeout)
		defer cancel()
		begun := time.Now()
		out, err := rhaiscript.New(rhaiscript.Config{}).Run(ctx, script.Task{Script: `set_result("a", 1); sleep(3600); set_result("a", 2)`}, scripttest.NewHost())
		if err != nil || out.Verdict != script.Stopped || out.Error != "stopped: timeout" || out.Result["a"] != "1" {
			t.Errorf("got %+v, %v", out, err)
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("stopped after %v", took)
		}
	})
}

// TestManyScripts fills what is kept of compiled scripts.
func TestManyScripts(t *testing.T) {
	r := rhaiscript.New(rhaiscript.Config{CacheBytes: 1 << 10})
	for n := range 600 {
		source := fmt.Sprintf("%d + %d", n%300, n)
		if out, _ := run(t, r, source); out.Result["value"] != fmt.Sprint(n%300+n) {
			t.Fatalf("%s: got %+v", source, out)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestInfo(t *testing.T) {
	info := rhaiscript.New(rhaiscript.Config{}).Info()
	if !info.InProcess || info.Slots < 16 || info.Slots > script.InProcessSlots {
		t.Errorf("got %+v", info)
	}
	for _, m := range info.Isolation {
		if m.Detail == "" {
			t.Errorf("measure %s says nothing", m.Name)
		}
	}
}

// A script may wait for its turn for longer than its lease lasts, and a node that
// was stopped meanwhile does not hear of that by itself.
func TestTheLeaseIsLookedAtWhenAllIsReady(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	looks := 0
	ctx = script.WithLook(ctx, func() {
		if looks++; looks == 2 {
			cancel(script.ErrLost)
		}
	})
	host := scripttest.NewHost()
	out, err := rhaiscript.New(rhaiscript.Config{}).Run(ctx, script.Task{Script: `print("begun")`}, host)
	if err != nil || out.Verdict != script.Stopped || len(host.Lines("stdout")) > 0 {
		t.Errorf("got %+v (%v) and %q, want it stopped before it began", out, err, host.Lines("stdout"))
	}
}
