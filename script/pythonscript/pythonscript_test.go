package pythonscript_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/pythonscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

// python is the suite's scripts.
var python = scripttest.Snippets{
	Succeed: "pass\n",
	Exit:    func(code int) string { return fmt.Sprintf("import sys\nsys.exit(%d)\n", code) },
	Crash:   "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
	Log:     "import sys\nprint('out 1')\nprint('out 2')\nsys.stderr.write('err 1')\n",
	Env:     "import os\nfor k, v in os.environ.items(): print(k + '=' + v)\n",
	Cwd:     "import os\nprint(os.getcwd())\n",
	Stdin:   "import sys\nprint(len(sys.stdin.read()))\n",
	Files: `import os
with os.scandir('/proc/self/fd') as entries:
    fds = sorted(int(e.name) for e in entries)
for fd in fds[:-1]: print(fd)
`,
	Put: func(variable, content string) string {
		return fmt.Sprintf("import os\nopen(os.environ[%q], 'w').write(%s)\n", variable, strconv.QuoteToASCII(content))
	},
	Show: func(variable string) string {
		return fmt.Sprintf("import os\nprint(open(os.environ[%q]).read())\n", variable)
	},
	Create: func(path string) string {
		return fmt.Sprintf("import sys\ntry: open(%q, 'w')\nexcept OSError: sys.exit(9)\n", path)
	},
	Wait: "import time\nprint('ready', flush=True)\nwhile True: time.sleep(60)\n",
	// os.write, not print: the signal may come within the first print. Short
	// sleeps: one that begins just after a signal has come does not notice it.
	Trap: `import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'told\n'))
print('ready', flush=True)
while True: time.sleep(0.02)
`,
	Tidy: `import os, signal, sys, time
def stop(*_):
    open(os.environ['RAMET_CHECKPOINT'], 'w').write('kept')
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print('ready', flush=True)
while True: time.sleep(0.02)
`,
	Daemon: func(then string) string {
		return `import os, signal, time
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with open('pid.new', 'w') as f: f.write(str(os.getpid()))
    os.rename('pid.new', 'pid')
    while True: time.sleep(60)
while not os.path.exists('pid'): time.sleep(0.01)
print('ready', flush=True)
` + then
	},
	Flood: func(mib int) string {
		return fmt.Sprintf("import sys\nfor _ in range(%d): sys.stdout.write('x' * (1 << 20))\n", mib)
	},
	Memory: func(mib int) string { return fmt.Sprintf("x = bytearray(%d)\n", mib<<20) },
	Spin:   "while True: pass\n",
	Grow:   func(mib int) string { return fmt.Sprintf("with open('big', 'wb') as f: f.write(bytes(%d))\n", mib<<20) },
}

func open(t testing.TB, cfg pythonscript.Config) *pythonscript.Runtime {
	runtime, err := pythonscript.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return runtime
}

func TestPool(t *testing.T) {
	scripttest.Run(t, scripttest.Config{
		Open:     func(t *testing.T) script.Runtime { return open(t, pythonscript.Config{Level: script.Open}) },
		Snippets: python,
	})
}

func TestWalledPool(t *testing.T) {
	scripttest.Run(t, scripttest.Config{
		Open:     func(t *testing.T) script.Runtime { return open(t, pythonscript.Config{}) },
		Snippets: python,
	})
}

func TestPlain(t *testing.T) {
	scripttest.Run(t, scripttest.Config{
		Open:     func(t *testing.T) script.Runtime { return open(t, pythonscript.Config{Plain: true}) },
		Snippets: python,
	})
}

// address is how an object's address is printed.
var address = regexp.MustCompile("0x[0-9a-f]+")

// TestPoolIsLikePlain runs scripts both ways and wants the same of both.
func TestPoolIsLikePlain(t *testing.T) {
	for _, level := range []script.Level{script.Walled, script.Open} {
		t.Run(string(level), func(t *testing.T) { testPoolIsLikePlain(t, level) })
	}
}

func testPoolIsLikePlain(t *testing.T, level script.Level) {
	pool, plain := open(t, pythonscript.Config{Level: level}), open(t, pythonscript.Config{Level: level, Plain: true})
	t.Cleanup(func() { pool.Close(); plain.Close() })
	if !slices.Contains(pool.Info().Levels, level) {
		t.Skip("this machine has no walls")
	}
	for _, tt := range []struct{ name, source string }{
		{"an exception has a traceback", "def f():\n    raise ValueError('no')\nf()\n"},
		{"exceptions may be chained", "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e\n"},
		{"a syntax error", "x = = 1\n"},
		{"exit with text", "import sys\nsys.exit('gone')\n"},
		{"exit with nothing", "import sys\nsys.exit()\n"},
		{"exit with a large number", "import sys\nsys.exit(256 + 7)\n"},
		{"exit by name", "exit(4)\n"},
		{"an interrupt", "raise KeyboardInterrupt\n"},
		{"recursion without end", "def f(): f()\ntry: f()\nexcept RecursionError: print('deep')\n"},
		{"functions at the end, last first", "import atexit\natexit.register(print, 'one')\natexit.register(print, 'two')\n"},
		{"a function at the end that fails", "import atexit\natexit.register(lambda: 1 / 0)\nprint('x')\n"},
		{"the script is main", "import sys, __main__\nprint(__name__, __file__, sys.argv, sys.path[0], __main__.__file__, __doc__)\n"},
		{"files left open are written", "f = open('out', 'w')\nf.write('text')\nclass C: pass\nc = C(); c.me = c; c.f = open('out2', 'w'); c.f.write('more')\n" +
			"import atexit, os\nos.register_at_fork\n"},
		{"threads are waited for",
			"import threading, time\ndef f():\n    time.sleep(0.05)\n    print('thread')\nthreading.Thread(target=f).start()\nprint('main')\n"},
		{"daemon threads are not", "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint('main')\n"},
		{"executors", "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as e: print(sum(e.map(lambda x: x * x, range(100))))\n"},
		{"an executor left open", "from concurrent.futures import ThreadPoolExecutor\ne = ThreadPoolExecutor(2)\nf = e.submit(pow, 2, 10)\nprint(f.result())\n"},
		{"logging", "import logging\nlogging.basicConfig(level='INFO')\nlogging.info('hello')\n"},
		{"other programs", "import subprocess\nprint(subprocess.run(['sh', '-c', 'echo $GREETING; exit 3'], capture_output=True, text=True))\n"},
		{"other processes", "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n    with m.get_context('fork').Pool(2) as " +
			"p: print(p.map(f, range(10)))\n"},
		{"fork", "import os\nif os.fork() == 0:\n    print('child')\n    os._exit(3) if False else exit(3)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))\n"},
		{"modules beside the script", "open('beside.py', 'w').write('x = 5')\nimport beside\nprint(beside.x)\n"},
		{"temporary files", "import tempfile, os\nwith tempfile.NamedTemporaryFile() as f: print(os.path.dirname(f.name))\n"},
		{"signals", "import signal, os\nfor s in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGPIPE): print(s, " +
			"signal.getsignal(s))\nos.kill(os.getpid(), signal.SIGTERM)\n"},
		{"an encoding of its own", "# -*- coding: latin-1 -*-\nprint(len('\xe9'), '\xe9')\n"},
		{"encodings", "import sys, locale\nprint(sys.stdout.encoding, sys.getfilesystemencoding(), 'Ω')\n"},
		{"garbage collection", "import gc\nprint(gc.isenabled())\n"},
		{"native identity", "import threading, os\nprint(threading.main_thread().native_id == os.getpid(), threading.get_native_id() == os.getpid(), " +
			"threading.active_count())\n"},
		{"stdout taken away", "import sys\nsys.stdout = None\n"},
		{"stdout replaced", "import sys, io\nprint('a')\nsys.stdout = io.StringIO()\nprint('b')\n"},
		{"time zones", "import os, time\nos.environ['TZ'] = 'America/New_York'\ntime.tzset()\nprint(time.tzname)\n"},
		{"cleared environment", "import os\nos.environ.clear()\nprint(os.popen('env | grep -v ^PWD= | grep -v ^_=').read())\n"},
		{"annotations", "x: int = 1\nprint(__annotations__)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen [2]string
			for i, runtime := range []*pythonscript.Runtime{pool, plain} {
				task := scripttest.NewTask(t, tt.source)
				outcome, err := runtime.Run(t.Context(), task, scripttest.NewHost())
				if err != nil {
					t.Fatal(err)
				}
				seen[i] = fmt.Sprintf("%s %d %s\nstdout: %s\nstderr: %s\n", outcome.Verdict, outcome.ExitCode, outcome.Error,
					outcome.Result["stdout"], outcome.Result["stderr"])
				for _, name := range []string{"out", "out2"} {
					text, _ := os.ReadFile(filepath.Join(task.Dir, name))
					seen[i] += name + ": " + string(text) + "\n"
				}
				seen[i] = address.ReplaceAllString(strings.ReplaceAll(seen[i], task.Dir, "DIR"), "ADDRESS")
			}
			if diff := cmp.Diff(seen[1], seen[0]); diff != "" {
				t.Errorf("plain -, pool +:\n%s", diff)
			}
		})
	}
}

func TestJobsOfOneParentShareNoChance(t *testing.T) {
	pool := open(t, pythonscript.Config{Level: script.Open, Parents: 1})
	defer pool.Close()
	seen := map[string]bool{}
	for range 3 {
		outcome, err := pool.Run(t.Context(), scripttest.NewTask(t,
			"import random, uuid, tempfile\nprint(random.random(), uuid.uuid4(), next(tempfile._get_candidate_names()))\n"), scripttest.NewHost())
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.Fields(outcome.Result["stdout"]) {
			if seen[word] {
				t.Errorf("got %s twice", word)
			}
			seen[word] = true
		}
	}
}

// waiting prints its parent's process id, waits for the file "go", and ends
// with 7.
const waiting = `import os, sys, time
print(os.getppid(), flush=True)
while not os.path.exists('go'): time.sleep(0.005)
print('went on')
sys.exit(7)
`

// begin starts a job and waits for its first line.
func begin(t *testing.T, pool *pythonscript.Runtime, ctx context.Context, source string) (task script.Task, first string, ended chan script.Outcome) {
	t.Helper()
	task = scripttest.NewTask(t, source)
	lines := make(chan string, 100)
	ended = make(chan script.Outcome, 1)
	go func() {
		outcome, err := pool.Run(ctx, task, lineHost(lines))
		if err != nil {
			t.Error(err)
		}
		close(lines)
		ended <- outcome
	}()
	return task, <-lines, ended
}

// lineHost passes lines on.
type lineHost chan string

func (h lineHost) Log(_ string, line []byte) { h <- string(line) }

func TestJobsGoOnWhenTheirParentDies(t *testing.T) {
	pool := open(t, pythonscript.Config{Level: script.Open, Parents: 1})
	defer pool.Close()
	first, parent, ended := begin(t, pool, t.Context(), waiting)
	ctx, cancel := context.WithCancelCause(t.Context())
	_, _, stopped := begin(t, pool, ctx, waiting)
	pid, err := strconv.Atoi(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// The next job has another parent.
	next, other, endedToo := begin(t, pool, t.Context(), waiting)
	if other == parent {
		t.Errorf("got parent %s again", other)
	}
	for _, j := range []struct {
		task  script.Task
		ended chan script.Outcome
	}{{first, ended}, {next, endedToo}} {
		if err := os.WriteFile(filepath.Join(j.task.Dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if outcome := <-j.ended; outcome.Verdict != script.Failed || outcome.ExitCode != 7 || !strings.HasSuffix(outcome.Result["stdout"], "went on\n") {
			t.Errorf("got %+v", outcome)
		}
	}
	cancel(script.ErrCancelled)
	if outcome := <-stopped; outcome.Verdict != script.Stopped || outcome.ExitCode != 143 {
		t.Errorf("got %+v, want stopped by SIGTERM", outcome)
	}
}

func TestJobsCannotReachTheirParent(t *testing.T) {
	pool := open(t, pythonscript.Config{Level: script.Open, Parents: 1})
	defer pool.Close()
	scoped := false
	for _, m := range pool.Info().Isolation {
		scoped = scoped || m.Name == "landlock" && m.InForce && strings.Contains(m.Detail, "no signals")
	}
	if !scoped {
		t.Skip("this kernel cannot keep signals in")
	}
	task, _, ended := begin(t, pool, t.Context(), waiting)
	outcome, err := pool.Run(t.Context(), scripttest.NewTask(t, "import os\nos.kill(os.getppid(), 9)\n"), scripttest.NewHost())
	if err != nil || outcome.Verdict != script.Failed || !strings.Contains(outcome.Result["stderr"], "PermissionError") {
		t.Errorf("got %+v, %v", outcome, err)
	}
	if err := os.WriteFile(filepath.Join(task.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if outcome := <-ended; outcome.ExitCode != 7 {
		t.Errorf("the other job: got %+v", outcome)
	}
}

func TestWhatIsMadeBesideAHiddenFolderCanBeRead(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	runtime, err := pythonscript.New(pythonscript.Config{Level: script.Open, Hide: []string{data}})
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	for _, m := range runtime.Info().Isolation { // the pool runs from here on
		if m.Name == "landlock" && !m.InForce {
			t.Skip("landlock is not in force on this machine")
		}
	}
	file := filepath.Join(dir, "project/file")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	task := scripttest.NewTask(t, fmt.Sprintf(`import os
print(open(%q).read())
try: os.listdir(%q)
except PermissionError: print("hidden")
`, file, data))
	outcome, err := runtime.Run(t.Context(), task, scripttest.NewHost())
	if got, want := outcome.Result["stdout"], "hello\nhidden\n"; err != nil || got != want {
		t.Errorf("got %q, want %q (%+v, %v)", got, want, outcome, err)
	}
}

func TestManyJobsWhileParentsDie(t *testing.T) {
	pool := open(t, pythonscript.Config{Level: script.Open, Parents: 2})
	defer pool.Close()
	stop := make(chan struct{})
	var killer sync.WaitGroup
	killer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			task := scripttest.NewTask(t, "import os\nprint(os.getppid())\n")
			outcome, err := pool.Run(t.Context(), task, scripttest.NewHost())
			if pid, bad := strconv.Atoi(strings.TrimSpace(outcome.Result["stdout"])); err == nil && bad == nil && pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	var jobs sync.WaitGroup
	var unknown atomic.Int32
	for range 4 {
		jobs.Go(func() {
			for range 25 {
				outcome, err := pool.Run(t.Context(), scripttest.NewTask(t, "import sys\nprint('x')\nsys.exit(3)\n"), scripttest.NewHost())
				switch {
				case errors.Is(err, domain.ErrUnavailable) || err == nil && outcome.Verdict == script.Errored:
					unknown.Add(1) // said so, and may be tried again
				case err != nil || outcome.ExitCode != 3 || outcome.Result["stdout"] != "x\n":
					t.Errorf("got %+v, %v", outcome, err)
				}
			}
		})
	}
	jobs.Wait()
	close(stop)
	killer.Wait()
	t.Logf("%d of 100 jobs ended in a way that nobody could tell", unknown.Load())
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	old := filepath.Join(t.TempDir(), "python-old")
	if err := os.WriteFile(old, []byte("#!/bin/sh\necho /usr/bin/python\necho 3.6.8\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ interpreter, want string }{
		{"ramet-no-python", `runtime "python": the command "ramet-no-python" was not found in PATH; install it or set runtimes.python.interpreter in ` +
			`the config file`},
		{old, `runtime "python": "` + old + `" is Python 3.6.8; 3.8 or newer is needed: install it or set runtimes.python.interpreter in the config file`},
	} {
		for _, plain := range []bool{false, true} {
			runtime := open(t, pythonscript.Config{Interpreter: tt.interpreter, Plain: plain})
			if err := runtime.Check(t.Context()); !errors.Is(err, domain.ErrUnavailable) || err.Error() != tt.want {
				t.Errorf("plain %v: got %v, want %s", plain, err, tt.want)
			}
			if err := runtime.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A command that is only slow, as on a machine where everything starts at once, is not
// called broken by the signal that ended it.
func TestCheckTellsSlowFromBroken(t *testing.T) {
	slow := filepath.Join(t.TempDir(), "slow")
	if err := os.WriteFile(slow, []byte("#!/bin/sh\nexec sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	runtime := open(t, pythonscript.Config{Interpreter: slow})
	defer runtime.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := runtime.Check(ctx); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "it gave no answer in time") {
		t.Errorf("got %v, want that it gave no answer in time", err)
	}
}

// What was found of an interpreter meanwhile is taken as if it had been looked for
// here: an error is told, and only then it is looked for again.
func TestWhatWasFoundMeanwhile(t *testing.T) {
	asked := 0
	runtime := open(t, pythonscript.Config{Interpreter: "ramet-no-python", Found: func() (pythonscript.Interpreter, error) {
		asked++
		return pythonscript.Interpreter{}, domain.Unavailablef("it was slow")
	}})
	defer runtime.Close()
	for _, want := range []string{"it was slow", "was not found in PATH"} {
		if err := runtime.Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	found := open(t, pythonscript.Config{Interpreter: "ramet-no-python", Plain: true, Found: func() (pythonscript.Interpreter, error) {
		return pythonscript.Find(t.Context(), "")
	}})
	defer found.Close()
	if err := found.Check(t.Context()); err != nil {
		t.Errorf("got %v, want the interpreter that was found", err)
	}
	if asked != 1 {
		t.Errorf("it was asked %d times for what was found, want once", asked)
	}
}
