package pythonscript_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/pythonscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

// reused are the suite's scripts; an interpreter that is kept has one descriptor more,
// on which it is given its jobs: the highest that there can be.
var reused = func() scripttest.Snippets {
	snippets := python
	snippets.Files = strings.Replace(python.Files, "fds[:-1]", "fds[:-2]", 1)
	return snippets
}()

func TestReusedPool(t *testing.T) {
	scripttest.Run(t, scripttest.Config{
		Open:     func(t *testing.T) script.Runtime { return openWalled(t, pythonscript.Config{Reuse: 100}) },
		Snippets: reused,
	})
}

// count tells which job of its interpreter it is.
const count = "import json\njson.seen = getattr(json, 'seen', 0) + 1\nprint(json.seen)\n"

// runs runs jobs one after the other, of one caller in one context unless change says
// otherwise, and gives what they print.
func runs(t *testing.T, pool *pythonscript.Runtime, source string, change func(*script.Task)) string {
	t.Helper()
	task := scripttest.NewTask(t, source)
	task.Context, task.Caller = 1, 1
	if change != nil {
		change(&task)
	}
	outcome, err := pool.Run(t.Context(), task, scripttest.NewHost())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(outcome.Result[script.KeyStdout]) + outcome.Error
}

// keep opens a pool whose interpreters are kept.
func keep(t *testing.T, most int) *pythonscript.Runtime {
	return openWalled(t, pythonscript.Config{Reuse: most, Parents: 1})
}

func TestAnInterpreterRunsSoManyJobs(t *testing.T) {
	pool := keep(t, 3)
	var got []string
	for range 7 {
		got = append(got, runs(t, pool, count, nil))
	}
	if want := "1 2 3 1 2 3 1"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if info := pool.Info(); !strings.Contains(info.Summary, "used for 3 jobs of a caller") {
		t.Errorf("got %q", info.Summary)
	}
}

func TestAnInterpreterIsOfOneCaller(t *testing.T) {
	pool := keep(t, 100)
	for name, change := range map[string]func(*script.Task){
		"another context": func(task *script.Task) { task.Context = 2 },
		"another caller":  func(task *script.Task) { task.Caller = 2 },
		"another level":   func(task *script.Task) { task.Level = script.Sealed },
		"other limits":    func(task *script.Task) { task.Limits.Files = 99 },
		"fewer processes": func(task *script.Task) { task.Limits.Processes = 77 },
	} {
		if got := runs(t, pool, count, change); got != "1" {
			t.Errorf("%s: got %s, want an interpreter of its own", name, got)
		}
	}
	if got := runs(t, pool, count, nil) + runs(t, pool, count, nil); got != "12" {
		t.Errorf("got %s, want 12", got)
	}
}

// TestAnythingUnusualEndsAnInterpreter has each script run in an interpreter that has
// run another, and looks which one the next job has.
func TestAnythingUnusualEndsAnInterpreter(t *testing.T) {
	for _, tt := range []struct{ name, source string }{
		{"an exception", "1 / 0"},
		{"an exit code", "import sys; sys.exit(3)"},
		{"an end without one", "import os; os._exit(0)"},
		{"a thread", "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()"},
		{"a thread that nobody counts", "import _thread, time; _thread.start_new_thread(time.sleep, (600,))"},
		{"a child", "import subprocess; subprocess.Popen(['sleep', '600'])"},
		{"a child that nobody collected", "import os\nif os.fork() == 0: os._exit(0)"},
		{"a child that lost its parent", "import os, time\nif os.fork() == 0:\n if os.fork() == 0: time.sleep(600)\n os._exit(0)\nos.wait()"},
		{"an open file", "import os; os.open('/dev/null', 0)"},
		{"no stdin", "import os; os.close(0)"},
		{"another stdin", "import os; os.dup2(os.open('/dev/zero', 0), 0)"},
		{"a closed stdout", "import sys; sys.stdout.close()"},
		{"another stdout", "import io, sys; sys.stdout = io.StringIO()"},
		{"all descriptors closed", "import os; os.closerange(3, 2000)"},
		{"a umask", "import os; os.umask(0)"},
		{"a signal handler", "import signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN)"},
		{"a held signal", "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])"},
		{"an alarm", "import signal; signal.alarm(600)"},
		{"a limit", "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (50, 60))"},
		{"a priority", "import os; os.nice(5)"},
		{"memory", "import json; json.much = bytearray(80 << 20)"},
		{"a file in /tmp", "open('/tmp/x', 'w')"},
		{"a file in /dev/shm", "open('/dev/shm/x', 'w')"},
		{"a file beside the folder", "open('../x', 'w')"},
		{"something to do at the end", "import atexit; atexit.register(print, 'end')"},
		{"a finalizer", "import weakref, json; json.f = weakref.finalize(json, print); import atexit; atexit.register(print)"},
		{"a changed built-in", "import builtins; builtins.open = None"},
		{"a replaced module", "import sys; sys.modules['json'] = sys"},
		{"a lost module", "import sys; del sys.modules['csv']"},
		{"a hook", "import sys; sys.excepthook = print"},
		{"a trace", "import sys; sys.settrace(lambda *_: None)"},
		{"a log", "import logging; logging.basicConfig()"},
		{"a filter of warnings", "import warnings; warnings.simplefilter('error')"},
		{"an environment of another kind", "import os; os.environ = {}"},
		{"an answer that nobody asked for", "import os, struct; os.write(max(int(f) for f in os.listdir('/proc/self/fd')), struct.pack('<IiQ', 1, 0, 0))"},
		{"rubbish for an answer", "import os; os.write(max(int(f) for f in os.listdir('/proc/self/fd')), b'x' * 100)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool := keep(t, 100)
			if got := runs(t, pool, count, nil); got != "1" {
				t.Fatalf("the first job: got %s", got)
			}
			runs(t, pool, tt.source+"\n", nil)
			if got := runs(t, pool, count, nil); got != "1" {
				t.Errorf("got job %s of its interpreter, want a new one", got)
			}
		})
	}
}

// TestAJobAnswersForItself has a script say twice that it has ended. Whenever the second
// answer is read, the next job of the interpreter is run once, and to its end.
func TestAJobAnswersForItself(t *testing.T) {
	for range 10 {
		pool := keep(t, 100)
		runs(t, pool, count, nil)
		runs(t, pool, "import os, struct\nos.dup2(0, 1)\nos.dup2(0, 2)\n"+
			"os.write(max(int(f) for f in os.listdir('/proc/self/fd')), struct.pack('<IiQ', 1, 0, 2))\n", nil)
		var dir string
		next := "open('ran', 'a').write('x')\nfor i in range(200000): pass\nprint('the end')\n"
		if got := runs(t, pool, next, func(task *script.Task) { dir = task.Dir }); got != "the end" {
			t.Errorf("got %q", got)
		}
		if ran, err := os.ReadFile(filepath.Join(dir, "ran")); err != nil || string(ran) != "x" {
			t.Errorf("it ran %q, %v, want once", ran, err)
		}
	}
}

// TestAChildThatGoesOnBehindTheScriptIsNoJob: it is a copy of the interpreter, and ends
// where that goes on.
func TestAChildThatGoesOnBehindTheScriptIsNoJob(t *testing.T) {
	pool := keep(t, 100)
	if got := runs(t, pool, "import os\nif os.fork(): print(os.wait()[1])\n", nil); got != "0" {
		t.Errorf("got %q", got)
	}
	if got := runs(t, pool, count, nil) + runs(t, pool, count, nil); got != "12" {
		t.Errorf("got %s, want 12", got)
	}
}

func TestWhatIsEachJobsOwn(t *testing.T) {
	pool := keep(t, 100)
	first := "import os, sys, tempfile, decimal, random\nopen('own.py', 'w').write('x = 1')\nimport own\nos.environ['LEFT'] = '1'\n" +
		"sys.path.append('/left')\nsys.argv.append('left')\ntempfile.gettempdir()\ndecimal.getcontext().prec = 3\nos.chdir('/')\nleft = 1\n" + count
	if got := runs(t, pool, first, func(task *script.Task) { task.Env["MINE"] = "1" }); got != "1" {
		t.Fatalf("got %s", got)
	}
	second := "import os, sys, tempfile, decimal\nproblems = []\nfor name, left in dict(env='LEFT' in os.environ or 'MINE' in os.environ,\n" +
		" process=b'LEFT' in b''.join(os.environb) or os.system('test -n \"$LEFT$MINE\"') == 0, path='/left' in sys.path, argv=len(sys.argv) > 1,\n" +
		" module='own' in sys.modules, temporary=not tempfile.gettempdir().startswith(os.getcwd()), decimal=decimal.getcontext().prec == 3,\n" +
		" folder=os.getcwd() != os.environ['PWD'], main='left' in globals()).items():\n if left: print(name)\n" + count
	if got := runs(t, pool, second, nil); got != "2" {
		t.Errorf("got %q, want the second job, and nothing that the first has left", got)
	}
}

// TestNothingRunsBetweenTwoJobs has a script say that it has ended, as the first job of its
// interpreter, and go on.
func TestNothingRunsBetweenTwoJobs(t *testing.T) {
	pool := keep(t, 100)
	goesOn := "import os, struct\nos.write(max(int(f) for f in os.listdir('/proc/self/fd') if int(f) < 1024 and os.path.exists('/proc/self/fd/' + f)), " +
		"struct.pack('<IiQ', 1, 0, 1))\nos.close(1)\nos.close(2)\nwhile True: pass\n"
	if got := runs(t, pool, goesOn, nil); got != "" {
		t.Fatalf("got %q", got)
	}
	parents := walledParents(t)
	if len(parents) != 1 {
		t.Fatalf("got parents %v", parents)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parents[0], parents[0]))
	if err != nil {
		t.Skip(err)
	}
	for _, child := range strings.Fields(string(children)) {
		// The signal has been sent, and is heard when its processor gets to it.
		testwait.Until(t, "process "+child+" is stopped, or a wall", func() bool {
			stat, _ := os.ReadFile("/proc/" + child + "/stat")
			_, state, _ := strings.Cut(string(stat), ") ")
			return strings.HasPrefix(state, "T") || strings.Contains(string(stat), "(ramet-wall)")
		})
	}
}

// TestAnInterpreterMayDieWhileItWaits: the next job has another, whatever has died.
func TestAnInterpreterMayDieWhileItWaits(t *testing.T) {
	pool := keep(t, 100)
	runs(t, pool, count, nil)
	for _, what := range []string{"it", "its parent"} {
		parents := walledParents(t)
		if len(parents) != 1 {
			t.Fatalf("got parents %v", parents)
		}
		victim := parents[0]
		if what == "it" {
			children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", victim, victim))
			list := strings.Fields(string(children))
			if err != nil || len(list) == 0 {
				t.Skip("no list of children", err)
			}
			victim, _ = strconv.Atoi(list[len(list)-1])
		}
		if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "it is gone", func() bool { return syscall.Kill(victim, 0) != nil })
		if got := runs(t, pool, count, nil); got != "1" {
			t.Errorf("%s died: got %s, want a new interpreter", what, got)
		}
	}
}

// TestRoomsAreRemoved: nothing of the interpreters stays in the folder for work folders.
func TestRoomsAreRemoved(t *testing.T) {
	work := t.TempDir()
	t.Setenv("TMPDIR", work)
	dir := filepath.Join(work, "jobs", "1")
	for _, made := range []string{dir, filepath.Join(work, ".ramet-python-left", "x"), filepath.Join(work, "ramet-probe-left", "x")} { // those of a killed node
		if err := os.MkdirAll(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	pool := keep(t, 100)
	runs(t, pool, count, func(task *script.Task) { task.Dir, task.ResultFile = dir, filepath.Join(dir, "result") })
	if rooms, _ := filepath.Glob(filepath.Join(work, ".ramet-python-*")); len(rooms) != 1 {
		t.Errorf("got rooms %v, want that of one interpreter", rooms)
	}
	if left, _ := filepath.Glob(filepath.Join(work, "ramet-probe-*")); len(left) != 0 {
		t.Errorf("got %v, which a killed node has left", left)
	}
	pool.Close()
	if rooms, _ := filepath.Glob(filepath.Join(work, ".ramet-python-*")); len(rooms) != 0 {
		t.Errorf("got rooms %v when the pool was closed", rooms)
	}
}

func TestReuseIsChecked(t *testing.T) {
	for _, cfg := range []pythonscript.Config{{Reuse: -1}, {Reuse: pythonscript.MostReuse + 1}, {Reuse: 2, Plain: true}} {
		if _, err := pythonscript.New(cfg); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("reuse %d, plain %v: got %v, want it refused", cfg.Reuse, cfg.Plain, err)
		}
	}
}
