package scripttest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/script"
)

func (s *suite) testStop(t *testing.T) {
	t.Run("a context that has ended starts nothing", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(script.ErrDraining)
		j := s.start(t, ctx, s.cfg.Snippets.Succeed)
		j.wait(t)
		j.wantStopped(t, script.ErrDraining)
	})
	t.Run("a context that ends while a script is made ready starts nothing", func(t *testing.T) {
		s.needProcess(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		looks := 0
		ctx = script.WithLook(ctx, func() { // as that of a lease which runs out after the first look
			if looks++; looks == 2 {
				cancel(script.ErrLost)
			}
		})
		j := s.start(t, ctx, s.cfg.Snippets.Cwd)
		j.wait(t)
		j.wantStopped(t, script.ErrLost)
		if lines := j.Lines("stdout"); len(lines) > 0 {
			t.Errorf("it has run: %q", lines)
		}
	})
	t.Run("a script that is told to stop is stopped", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		j := s.start(t, ctx, s.cfg.Snippets.Wait)
		s.awaitReady(t, j)
		cancel(script.ErrCancelled)
		j.wait(t) // well before its grace is over
		j.wantStopped(t, script.ErrCancelled)
	})
	t.Run("a script has its grace to leave a checkpoint", func(t *testing.T) {
		s.needProcess(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		j := s.start(t, ctx, s.cfg.Snippets.Tidy)
		j.Await(t, "ready")
		cancel(script.ErrDraining)
		j.wait(t)
		j.wantStopped(t, script.ErrDraining)
		if got, _ := os.ReadFile(j.task.CheckpointFile); strings.TrimSpace(string(got)) != "kept" {
			t.Errorf("got checkpoint %q", got)
		}
	})
	t.Run("a script that does not stop is killed when its grace is over", func(t *testing.T) {
		s.needProcess(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		const grace = 2 * time.Second // in which a busy machine lets it say that it was told
		j := s.start(t, ctx, s.cfg.Snippets.Trap, func(task *script.Task) { task.Grace = grace })
		j.Await(t, "ready")
		told := time.Now()
		cancel(script.ErrTimeout)
		j.wait(t)
		j.wantStopped(t, script.ErrTimeout)
		if took := time.Since(told); took < grace {
			t.Errorf("killed after %v, want no sooner than after its grace", took)
		}
		if got := strings.Join(j.Lines("stdout"), ","); got != "ready,told" {
			t.Errorf("got output %q, want ready,told", got)
		}
	})
}

// awaitReady waits for a script's first line; those without processes have
// no stdout, and are stopped whenever that is.
func (s *suite) awaitReady(t *testing.T, j *job) {
	t.Helper()
	if s.cfg.Features.NoProcess == "" {
		j.Await(t, "ready")
	}
}

func (j *job) wantStopped(t *testing.T, cause error) {
	t.Helper()
	if j.outcome.Verdict != script.Stopped || !strings.Contains(j.outcome.Error, cause.Error()) {
		t.Errorf("got %s %q, want stopped for %q", j.outcome.Verdict, j.outcome.Error, cause)
	}
}

func (s *suite) testLeftovers(t *testing.T) {
	s.needProcess(t)
	if reason := s.cfg.Features.NoDaemons; reason != "" {
		t.Skip(reason)
	}
	t.Run("a daemon does not outlive its script", func(t *testing.T) {
		j := s.run(t, s.cfg.Snippets.Daemon(s.cfg.Snippets.Succeed))
		j.want(t, script.Succeeded, 0)
		j.wantGone(t)
	})
	t.Run("a daemon does not outlive a script that is stopped", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		j := s.start(t, ctx, s.cfg.Snippets.Daemon(s.cfg.Snippets.Wait), func(task *script.Task) { task.Grace = 100 * time.Millisecond })
		j.Await(t, "ready")
		cancel(script.ErrTimeout)
		j.wait(t)
		j.wantStopped(t, script.ErrTimeout)
		j.wantGone(t)
	})
	t.Run("a daemon does not outlive a script that crashes", func(t *testing.T) {
		j := s.run(t, s.cfg.Snippets.Daemon(s.cfg.Snippets.Crash))
		j.want(t, script.Errored, 137)
		j.wantGone(t)
	})
}

// wantGone checks that the process that Daemon started is no more.
func (j *job) wantGone(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(j.task.Dir, "pid")); err != nil {
		t.Fatalf("the daemon did not start: %v", err)
	}
	for _, pid := range processesOf(j.task) {
		t.Errorf("process %d is still there", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// processesOf lists the processes that have a task's environment. Their own ids
// say nothing here: walled ones count from 1.
func processesOf(task script.Task) (list []int) {
	files, _ := filepath.Glob("/proc/[1-9]*/environ")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && bytes.Contains(text, []byte(task.ResultFile+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			list = append(list, pid)
		}
	}
	return list
}
