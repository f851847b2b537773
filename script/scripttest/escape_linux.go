package scripttest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/script"
)

// Escape says how the jobs of a runtime try to get out of where they are held.
type Escape struct {
	// Open returns a runtime whose scripts may not reach what hide lists; the
	// suite closes it. Required.
	Open func(t *testing.T, hide []string) script.Runtime
	// Exec is a script that runs a program of its work folder, with nothing
	// taken from what it inherits, and ends with its exit code. Required.
	Exec func(program string, args ...string) string
	// Lacks names attempts that the runtime does not hold, with the reason.
	Lacks map[string]string
}

// Escapes tries at every level that the runtime has what a hostile script would
// try, as root (where the test is root) and as an ordinary user. Each attempt is
// stated once, in the tables of this package's escape files, and made by the test
// program itself, which the scripts run: the stranger.
func Escapes(t *testing.T, cfg Escape) {
	if testing.Short() {
		t.Skip("minutes of processes that are no Go: nothing there can race; without -short they are tried")
	}
	if syscall.Getuid() == 0 {
		t.Run("root", cfg.test)
		t.Run("ordinary user", asOrdinary)
		return
	}
	t.Run("root", func(t *testing.T) { t.Skip("only root can try as root") })
	t.Run("ordinary user", cfg.test)
}

// firstUser is where the user ids begin that belong to nobody; the tests that run
// at once have one each, for processes are counted by user.
const firstUser = 300_000

// asOrdinary runs the same test again in a process of another user.
func asOrdinary(t *testing.T) {
	home, err := os.MkdirTemp("", "ramet-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	user := firstUser + os.Getpid()
	if err := os.Chown(home, user, user); err != nil {
		t.Fatal(err)
	}
	// A copy, for the folder of the test program is closed to others.
	program := filepath.Join(home, filepath.Base(os.Args[0]))
	if err := errors.Join(copySelf(program), os.Chown(program, user, user)); err != nil {
		t.Fatal(err)
	}
	test, _, _ := strings.Cut(t.Name(), "/")
	self := exec.Command(program, "-test.run=^"+test+"$", "-test.v", "-test.timeout=5m")
	self.Dir = "/"
	self.Env = append(os.Environ(), "TMPDIR="+home, "HOME="+home, "PATH="+script.DefaultPath, "USER=", "LOGNAME=")
	self.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	out, err := self.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
		return
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "--- SKIP") || testing.Verbose() {
			t.Log(strings.TrimRight(line, "\n"))
		}
	}
}

// levels are those that a runtime has here, the default last where it names none.
func levels(info script.Info) []script.Level {
	if len(info.Levels) == 0 {
		return []script.Level{script.Open}
	}
	return info.Levels
}

// test makes all attempts at all levels of a runtime.
func (cfg Escape) test(t *testing.T) {
	w := newWorld(t)
	runtime := cfg.Open(t, w.hidden())
	t.Cleanup(func() {
		if err := runtime.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := runtime.Check(t.Context()); err != nil {
		t.Skipf("check: %v", err)
	}
	info := runtime.Info()
	for _, level := range levels(info) {
		s := &escape{cfg: cfg, runtime: runtime, world: w, named: len(info.Levels) > 0, level: level}
		t.Run(string(level), func(t *testing.T) {
			t.Run("attempts", s.testAttempts)
			t.Run("result", s.testResult)
			t.Run("left", s.testLeft)
			t.Run("processes", s.testProcesses)
			t.Run("memory", s.testMemory)
			t.Run("folder", s.testFolder)
		})
	}
}

// escape is the suite at one level.
type escape struct {
	cfg     Escape
	runtime script.Runtime
	world   *world
	level   script.Level
	named   bool // the runtime knows of levels
}

// start runs the stranger as a job.
func (s *escape) start(t *testing.T, args ...string) *job {
	t.Helper()
	return s.startStoppable(t, t.Context(), patience, args...)
}

// startStoppable runs the stranger as a job that is told to stop when ctx ends,
// and killed when its grace is over.
func (s *escape) startStoppable(t *testing.T, ctx context.Context, grace time.Duration, args ...string) *job {
	t.Helper()
	// A Go program with the race detector takes address space for ten.
	return s.startProgram(t, ctx, grace, script.Limits{MemoryBytes: -1, Processes: mostProcesses}, "./"+stranger, args...)
}

// startProgram runs any program as a job, with the stranger and the hoarder in its work folder.
func (s *escape) startProgram(t *testing.T, ctx context.Context, grace time.Duration, limits script.Limits, program string, args ...string) *job {
	t.Helper()
	dir, err := os.MkdirTemp(s.world.Work, "job-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	task := NewTask(t, s.cfg.Exec(program, args...))
	task.Grace = grace
	task.Dir = dir
	task.ResultFile, task.CheckpointFile, task.InputFile = filepath.Join(dir, "result"), filepath.Join(dir, "checkpoint"), filepath.Join(dir, "input.json")
	task.Env = map[string]string{"RAMET_RESULT": task.ResultFile, "RAMET_CHECKPOINT": task.CheckpointFile, "RAMET_INPUT": task.InputFile}
	task.Limits = limits
	if s.named {
		task.Level = s.level
	}
	input, err := json.Marshal(s.world)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(task.InputFile, input, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(copySelf(filepath.Join(dir, stranger)), os.WriteFile(filepath.Join(dir, hoarder), []byte(hoard), 0o600)); err != nil {
		t.Fatal(err)
	}
	j := &job{Host: NewHost(), task: task, ended: make(chan struct{})}
	go func() {
		defer close(j.ended)
		j.outcome, j.err = s.runtime.Run(ctx, task, j.Host)
	}()
	return j
}

// copySelf puts the test program into a work folder, where a script sees it.
func copySelf(path string) error {
	// A child forked meanwhile would hold the file open for writing, and it
	// could not be executed.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, self)
	return errors.Join(err, file.Close())
}

// excuse is why the level need not hold an attempt, "" where it must.
func (s *escape) excuse(a attempt) string {
	reason := s.cfg.Lacks[a.name]
	if s.level != script.Sealed && reason == "" {
		reason = a.walled
	}
	if s.level == script.Open && reason == "" {
		reason = a.open
		if syscall.Getuid() == 0 && reason == "" {
			reason = a.openRoot
		}
	}
	return reason
}

// testAttempts makes all attempts in one job, with another beside it that is
// their target, as the node is.
func (s *escape) testAttempts(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	victim := s.startStoppable(t, ctx, patience, "victim", s.world.Token)
	victim.Await(t, "ready")
	s.world.Victim = findVictim(t, s.world.Token)
	s.world.VictimDir = victim.task.Dir
	s.world.reached.Store(0)

	j := s.start(t, "try")
	j.wait(t)
	if j.outcome.Verdict != script.Succeeded {
		t.Errorf("the stranger ended with %s, %s; stderr: %s", j.outcome.Verdict, j.outcome.Error, j.outcome.Result[script.KeyStderr])
	}
	names := make([]string, 0, len(attempts))
	for _, a := range attempts {
		names = append(names, a.name)
		t.Run(a.name, func(t *testing.T) { s.judge(t, a, j.outcome.Result[a.name]) })
	}
	for key := range j.outcome.Result {
		if !slices.Contains(names, key) && key != script.KeyExitCode && key != script.KeyStdout && key != script.KeyStderr {
			t.Errorf("the stranger tells of an attempt that there is not: %q", key)
		}
	}
	t.Run("nothing is left on the machine", func(t *testing.T) { s.world.checkLeft(t, s) })
	t.Run("the other job did not notice", func(t *testing.T) {
		cancel(script.ErrCancelled)
		victim.wait(t)
		want := "untouched"
		if got := victim.Lines("stdout"); got[len(got)-1] != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	if got := s.world.reached.Load(); got > 0 && s.level == script.Sealed {
		t.Errorf("%d connections reached the machine", got)
	}
}

// judge compares what came of an attempt with what the level promises.
func (s *escape) judge(t *testing.T, a attempt, got string) {
	excuse := s.excuse(a)
	how, detail, _ := strings.Cut(got, ": ")
	switch {
	case how == "skip":
		t.Skip(detail)
	case how == "held" && excuse == "":
	case how == "held":
		t.Skipf("%s did not hold it by promise: %s; here it did: %s", s.level, excuse, detail)
	case how == "done" && excuse != "":
		t.Skipf("%s does not hold it: %s (%s)", s.level, excuse, detail)
	case how == "done":
		t.Errorf("%s: the script got through: %s", s.level, detail)
	default:
		t.Errorf("%s: the stranger did not tell what came of it: %q", s.level, got)
	}
}

// findVictim finds the id by which the machine knows the victim's process.
func findVictim(t *testing.T, token string) int {
	t.Helper()
	for _, pid := range processesWith(token) {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if strings.HasPrefix(string(line), "./"+stranger+"\x00") {
			return pid
		}
	}
	t.Fatalf("the victim's process is not there")
	return 0
}

// processesWith lists the processes of the machine in whose arguments the text
// stands.
func processesWith(text string) (found []int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if line, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline"); err == nil && strings.Contains(string(line), text) {
			found = append(found, pid)
		}
	}
	return found
}

// stopAfter stops a job when it has said a line.
func stopAfter(t *testing.T, j *job, line string, cancel context.CancelCauseFunc) {
	t.Helper()
	j.Await(t, line)
	cancel(script.ErrCancelled)
	select {
	case <-j.ended:
	case <-time.After(patience):
		t.Fatalf("the job did not end within %v", patience)
	}
}
