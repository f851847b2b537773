// Package scripttest is the suite that every script runtime passes: the same
// job gives the same outcome in every language, and the limits hold.
package scripttest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/script"
)

// Config says what is tested.
type Config struct {
	// Open returns a runtime; the suite closes it. Required.
	Open func(t *testing.T) script.Runtime
	// Snippets are the scripts of the suite in the runtime's language.
	Snippets Snippets
	// Features says what the runtime cannot do.
	Features Features
}

// Features names what a runtime cannot do, each with the reason. An empty
// reason means that it can.
type Features struct {
	NoProcess string // a script is no process: no signals, descriptors, outputs
	NoFence   string // writing outside the work folder is not prevented
	NoDaemons string // what leaves the script's session is not found again
}

// Snippets are scripts in one language. Each does exactly what its comment
// says and ends with exit code 0 unless that says otherwise.
type Snippets struct {
	Succeed string                // does nothing
	Exit    func(code int) string // ends with this exit code
	Crash   string                // ends itself with SIGKILL
	Log     string                // prints the lines "out 1", "out 2" to stdout, and "err 1" without a line end to stderr
	Env     string                // prints its environment, a line KEY=value each
	Cwd     string                // prints its work folder
	Stdin   string                // prints the number of bytes that stdin has
	Files   string                // prints the numbers of its open descriptors, a line each, one that it opens for that itself excepted
	// Put writes content to the file that the environment variable names.
	Put func(variable, content string) string
	// Show prints the content of the file that the environment variable names.
	Show func(variable string) string
	// Create makes the file and ends with 0, or with 9 if that is denied.
	Create func(path string) string
	// Wait prints "ready" and waits for ever, without heed to signals.
	Wait string
	// Trap prints "ready"; when it gets SIGTERM it prints "told" and goes on
	// for ever.
	Trap string
	// Tidy prints "ready"; when it gets SIGTERM it writes "kept" to the file
	// that RAMET_CHECKPOINT names and ends.
	Tidy string
	// Daemon starts a process in a session of its own that ignores SIGTERM and
	// SIGHUP, writes its process id to the file "pid" and sleeps for ever;
	// then prints "ready" and does what then says.
	Daemon func(then string) string
	Flood  func(mib int) string // writes so much to stdout, without line ends
	Memory func(mib int) string // takes so much memory and touches it
	Spin   string               // uses the processor for ever
	Grow   func(mib int) string // writes a file of that size in its folder
}

// patience is how long the suite waits for a job that hangs. What it does takes
// milliseconds, or a second where it is much, but the machine may be busy.
const patience = 3 * time.Minute

// Run runs the suite.
func Run(t *testing.T, cfg Config) {
	suite := &suite{cfg: cfg}
	t.Setenv("RAMET_TEST_SECRET", "of the node") // before Open: a pool starts with it
	suite.runtime = cfg.Open(t)
	t.Cleanup(func() {
		if err := suite.runtime.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := suite.runtime.Check(t.Context()); err != nil {
		t.Fatalf("check: %v", err)
	}
	for _, group := range []struct {
		name string
		test func(*testing.T)
	}{
		{"outcome", suite.testOutcome},
		{"result", suite.testResult},
		{"surroundings", suite.testSurroundings},
		{"output", suite.testOutput},
		{"stop", suite.testStop},
		{"leftovers", suite.testLeftovers},
		{"limits", suite.testLimits},
		{"isolation", suite.testIsolation},
		{"concurrency", suite.testConcurrency},
	} {
		t.Run(group.name, group.test)
	}
}

type suite struct {
	cfg     Config
	runtime script.Runtime
}

// job is one run of the suite.
type job struct {
	*Host
	task    script.Task
	outcome script.Outcome
	err     error
	ended   chan struct{}
}

// start runs a script in a folder of its own.
func (s *suite) start(t *testing.T, ctx context.Context, source string, change ...func(*script.Task)) *job {
	t.Helper()
	if source == "" {
		t.Skip("this language has no such script")
	}
	task := NewTask(t, source)
	for _, f := range change {
		f(&task)
	}
	j := &job{Host: NewHost(), task: task, ended: make(chan struct{})}
	go func() {
		defer close(j.ended)
		j.outcome, j.err = s.runtime.Run(ctx, task, j.Host)
	}()
	return j
}

// run runs a script to its end.
func (s *suite) run(t *testing.T, source string, change ...func(*script.Task)) *job {
	t.Helper()
	j := s.start(t, t.Context(), source, change...)
	j.wait(t)
	return j
}

func (j *job) wait(t *testing.T) {
	t.Helper()
	select {
	case <-j.ended:
	case <-time.After(patience):
		t.Fatalf("the job did not end within %v", patience)
	}
	if j.err != nil {
		t.Fatalf("run: %v", j.err)
	}
}

// want checks how a run ended.
func (j *job) want(t *testing.T, verdict script.Verdict, code int) {
	t.Helper()
	if j.outcome.Verdict != verdict || j.outcome.ExitCode != code {
		t.Errorf("got %s with exit code %d (%s), want %s with %d; stderr: %s",
			j.outcome.Verdict, j.outcome.ExitCode, j.outcome.Error, verdict, code, j.outcome.Result[script.KeyStderr])
	}
	if (j.outcome.Error == "") != (verdict == script.Succeeded) {
		t.Errorf("got error text %q for verdict %s", j.outcome.Error, verdict)
	}
}

// NewTask returns a task in a new folder, with paths set as a runner sets them.
func NewTask(t testing.TB, source string) script.Task {
	dir := t.TempDir()
	task := script.Task{
		Name: "job:1:1", Script: source, Dir: dir,
		ResultFile:     filepath.Join(dir, "result"),
		CheckpointFile: filepath.Join(dir, "checkpoint"),
		InputFile:      filepath.Join(dir, "input.json"),
		Grace:          patience,
	}
	task.Env = map[string]string{
		"RAMET_RESULT": task.ResultFile, "RAMET_CHECKPOINT": task.CheckpointFile, "RAMET_INPUT": task.InputFile,
		"GREETING": "good day, Ωmega = \"x\"",
	}
	if err := os.WriteFile(task.InputFile, []byte(`{"params":{"n":1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return task
}

// Host records what a script logs.
type Host struct {
	mu    sync.Mutex
	lines []string // "stream: text"
	bytes int
	event chan struct{} // replaced and closed at each line
}

// NewHost returns an empty Host.
func NewHost() *Host { return &Host{event: make(chan struct{})} }

// mostLines keeps a flood from filling the memory of the test itself.
const mostLines = 1000

// Log records a line.
func (h *Host) Log(stream string, line []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes += len(line)
	if len(h.lines) < mostLines {
		h.lines = append(h.lines, stream+": "+string(line))
	}
	close(h.event)
	h.event = make(chan struct{})
}

// Lines returns what one stream has brought.
func (h *Host) Lines(stream string) (lines []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.lines {
		if text, found := strings.CutPrefix(line, stream+": "); found {
			lines = append(lines, text)
		}
	}
	return lines
}

// Await waits until stdout has brought the line.
func (j *job) Await(t *testing.T, line string) {
	t.Helper()
	timeout := time.After(patience)
	for {
		j.mu.Lock()
		event := j.event
		j.mu.Unlock()
		for _, got := range j.Lines("stdout") {
			if got == line {
				return
			}
		}
		select {
		case <-event:
		case <-j.ended:
			if got := j.Lines("stdout"); len(got) == 0 || got[len(got)-1] != line {
				t.Fatalf("the job ended without saying %q: %+v %v", line, j.outcome, j.err)
			}
		case <-timeout:
			t.Fatalf("the job did not say %q within %v", line, patience)
		}
	}
}
