package salscript_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
	"github.com/ramet-run/ramet/script/salscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

// TestMain makes the test binary a child where it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == salscript.ChildCommand {
		os.Exit(salscript.Main(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// run wraps shell text into a script.
func run(text string) string { return "run(" + strconv.Quote(text) + ").execute();\n" }

// sal is the suite's scripts.
var sal = scripttest.Snippets{
	Succeed: "let done = true;\n",
	Exit:    func(code int) string { return fmt.Sprintf("throw %d;\n", code) },
	Crash:   run("kill -9 $PPID"),
	Log:     `print("out 1"); print("out 2"); run("printf 'err 1' >&2").execute(); ()`,
	Env:     run("env") + "()",
	Cwd:     run("pwd") + "()",
	Stdin:   run("wc -c | tr -d ' '") + "()",
	Files:   run(`for f in /proc/$$/fd/?; do [ -e "$f" ] && echo "${f##*/}"; done; true`) + "()",
	Put: func(variable, content string) string {
		return fmt.Sprintf("file_write(env.%s, %s); ()\n", variable, strconv.Quote(content))
	},
	Show: func(variable string) string { return fmt.Sprintf("print(file_read(env.%s))\n", variable) },
	Create: func(path string) string {
		return fmt.Sprintf("try { file_write(%q, \"\"); } catch { throw 9; } ()", path)
	},
	Wait: `print("ready"); loop { sleep(1); }`,
	Trap: run("trap 'echo told' TERM; echo ready; while :; do sleep 60 & wait; done"),
	Tidy: run("trap 'echo kept >\"$RAMET_CHECKPOINT\"; kill -9 $!; exit 0' TERM; echo ready; sleep 60 & wait"),
	Daemon: func(then string) string {
		return run("setsid sh -c 'trap \"\" TERM HUP; echo $$ >pid.new; mv pid.new pid; while :; do sleep 60; done' >/dev/null 2>&1 &\n"+
			"while ! [ -e pid ]; do sleep 0.01; done; echo ready") + strings.Replace(then, `print("ready");`, "", 1)
	},
	Flood: func(mib int) string {
		return fmt.Sprintf(`let s = ""; s.pad(1048576, 'x'); for i in 0..%d { print(s); }`, mib)
	},
	Memory: func(mib int) string {
		return fmt.Sprintf(`let all = []; for i in 0..%d { let s = ""; s.pad(1048576, 'x'); s += i; all.push(s); } ()`, mib)
	},
	Spin: "loop {}",
	Grow: func(mib int) string {
		return fmt.Sprintf(`let s = ""; s.pad(%d, 'x'); file_write("big", s); ()`, mib<<20)
	},
}

// needChild skips a test where no child can start.
func needChild(t *testing.T) {
	t.Helper()
	if raced {
		t.Skip("the race detector needs more address space than jobs have")
	}
}

func TestRuntime(t *testing.T) {
	needChild(t)
	scripttest.Run(t, scripttest.Config{
		Open:     func(t *testing.T) script.Runtime { return salscript.New(salscript.Config{On: true}) },
		Snippets: sal,
	})
}

func TestItIsOffUnlessAllowed(t *testing.T) {
	runtime := salscript.New(salscript.Config{})
	defer runtime.Close()
	want := `runtime "sal": off, because its scripts may do what the node's user may; to allow them set runtimes.sal.on: true in the config file`
	if err := runtime.Check(t.Context()); !errors.Is(err, domain.ErrUnavailable) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := runtime.Run(t.Context(), scripttest.NewTask(t, `file_write("here", "")`), scripttest.NewHost()); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("run: got %v, want unavailable", err)
	}
}

// cell is one jail for all tests of functions: opening one takes a while.
func cell(t *testing.T) *jail.Jail {
	t.Helper()
	needChild(t)
	j, err := jail.Open(jail.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// job runs a script and gives its outcome and log.
func job(t *testing.T, runtime *salscript.Runtime, source string, env map[string]string) (script.Outcome, *scripttest.Host) {
	t.Helper()
	task, host := scripttest.NewTask(t, source), scripttest.NewHost()
	for key, val := range env {
		task.Env[key] = val
	}
	outcome, err := runtime.Run(t.Context(), task, host)
	if err != nil {
		t.Fatal(err)
	}
	return outcome, host
}

func TestOutcomes(t *testing.T) {
	runtime := salscript.New(salscript.Config{On: true, Jail: cell(t), Env: map[string]string{"PLACE": "here"}})
	defer runtime.Close()
	for _, tt := range []struct {
		name, source string
		verdict      script.Verdict
		result       map[string]string
		text         string // part of the error
	}{
		{name: "a map gives the keys", source: `#{a: 1, b: "two", c: [1, 2]}`, verdict: script.Succeeded,
			result: map[string]string{"a": "1", "b": "two", "c": "[1,2]"}},
		{name: "anything else is value", source: `40 + 2`, verdict: script.Succeeded, result: map[string]string{"value": "42"}},
		{name: "the job's facts are in scope",
			source: `#{job: JOB_ID, caller: CALLER_ID, context: CONTEXT_ID, attempt: ATTEMPT, n: params.n, place: env.PLACE}`, verdict: script.Succeeded,
			result: map[string]string{"job": "2001", "caller": "12", "context": "7", "attempt": "3", "n": "1", "place": "here"}},
		{name: "a thrown text is a failure", source: `throw "no such day"`, verdict: script.Failed, text: "no such day"},
		{name: "a function that fails says why and where", source: "let x = 1;\nfile_read(\"nowhere\")", verdict: script.Failed, text: "nowhere"},
		{name: "its error can be caught", source: `let said = ""; try { file_read("nowhere") } catch (e) { said = e } said.contains("nowhere")`,
			verdict: script.Succeeded, result: map[string]string{"value": "true"}},
		{name: "what cannot be parsed has errored", source: `let = 1`, verdict: script.Errored, text: "Syntax error"},
		{name: "an unknown function has errored", source: `format_disk()`, verdict: script.Errored, text: "format_disk"},
		{name: "a key of the runner's is refused", source: `#{stdout: "x"}`, verdict: script.Errored, text: "stdout"},
		{name: "a checkpoint is kept at once", source: `set_checkpoint(#{page: 7}); checkpoint().page + file_read(env.RAMET_CHECKPOINT)`,
			verdict: script.Succeeded, result: map[string]string{"value": `7{"page":7}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			outcome, host := job(t, runtime, tt.source, map[string]string{"RAMET_JOB": "job:12:2001", "RAMET_CALLER": "12", "RAMET_CONTEXT": "7", "RAMET_ATTEMPT": "3"})
			if outcome.Verdict != tt.verdict || !strings.Contains(outcome.Error, tt.text) {
				t.Errorf("got %s %q, want %s %q; log: %q", outcome.Verdict, outcome.Error, tt.verdict, tt.text, host.Lines("stderr"))
			}
			if strings.Contains(outcome.Error, "\n") {
				t.Errorf("got an error of several lines: %q", outcome.Error)
			}
			for key, want := range tt.result {
				if got := outcome.Result[key]; got != want {
					t.Errorf("result %q: got %q, want %q", key, got, want)
				}
			}
		})
	}
}

func TestWhatCommandsShow(t *testing.T) {
	runtime := salscript.New(salscript.Config{On: true, Jail: cell(t)})
	defer runtime.Close()
	for _, tt := range []struct{ name, source, stdout, stderr string }{
		{"a command's output is in the log", `run_command("echo a; echo b >&2"); ()`, "a", "b"},
		{"the builder's too", `run("echo a").execute(); ()`, "a", ""},
		{"that of a silent one is not", `run_silent("echo a; echo b >&2"); run("echo a").silent().execute(); ()`, "", ""},
		{"the command itself is, where that is asked for", `run("true").log().execute(); ()`, "", "run: true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, host := job(t, runtime, tt.source, nil)
			if got := strings.Join(host.Lines("stdout"), "|"); got != tt.stdout {
				t.Errorf("got stdout %q, want %q", got, tt.stdout)
			}
			if got := strings.Join(host.Lines("stderr"), "|"); got != tt.stderr {
				t.Errorf("got stderr %q, want %q", got, tt.stderr)
			}
		})
	}
}

func TestGrantedFoldersCanBeWritten(t *testing.T) {
	needChild(t)
	granted, other := t.TempDir(), t.TempDir()
	if os.Getuid() == 0 { // whose scripts run as nobody
		if err := os.Chown(granted, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	runtime := salscript.New(salscript.Config{On: true, Write: []string{granted}})
	defer runtime.Close()
	for _, m := range runtime.Info().Isolation {
		if m.Name == "landlock" && !m.InForce {
			t.Skip("landlock is not in force on this machine")
		}
	}
	source := fmt.Sprintf(`file_write("mine", "x"); mv("mine", %q); let no = false; try { file_write(%q, "x") } catch { no = true } no`,
		filepath.Join(granted, "there"), filepath.Join(other, "file"))
	outcome, _ := job(t, runtime, source, nil)
	if outcome.Result["value"] != "true" {
		t.Errorf("got %+v", outcome)
	}
	if got, err := os.ReadFile(filepath.Join(granted, "there")); string(got) != "x" {
		t.Errorf("got %q, %v in the granted folder", got, err)
	}
}

func TestCommandsHaveTheJobsMemory(t *testing.T) {
	runtime := salscript.New(salscript.Config{On: true, Jail: cell(t), Limits: script.Limits{MemoryBytes: 1 << 30}})
	defer runtime.Close()
	outcome, _ := job(t, runtime, `run_silent("ulimit -v").stdout`, nil)
	if got := outcome.Result["value"]; got != "1048576\n" {
		t.Errorf("got %q KiB, want 1 GiB (%s)", got, outcome.Error)
	}
}

func TestAScriptThatTakesTooMuchMemoryIsTold(t *testing.T) {
	runtime := salscript.New(salscript.Config{On: true, Jail: cell(t), Limits: script.Limits{MemoryBytes: 64 << 20}})
	defer runtime.Close()
	outcome, _ := job(t, runtime, sal.Memory(256), nil)
	if outcome.Verdict != script.Errored || !strings.Contains(outcome.Error, "Memory of the script too large") {
		t.Errorf("got %s %q", outcome.Verdict, outcome.Error)
	}
}

func TestAChildIsForNodesOnly(t *testing.T) {
	for _, args := range [][]string{nil, {"script.rhai"}, {"{}", "{}"}} {
		if code := salscript.Main(args); code != 125 {
			t.Errorf("%q: got exit code %d, want 125", args, code)
		}
	}
}
