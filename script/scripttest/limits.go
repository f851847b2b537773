package scripttest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/script"
)

func (s *suite) testOutput(t *testing.T) {
	s.needProcess(t)
	t.Run("lines come with their stream, tails stay in the result", func(t *testing.T) {
		j := s.run(t, s.cfg.Snippets.Log)
		j.want(t, script.Succeeded, 0)
		if got := strings.Join(j.Lines("stdout"), "|"); got != "out 1|out 2" {
			t.Errorf("got stdout lines %q", got)
		}
		if got := strings.Join(j.Lines("stderr"), "|"); got != "err 1" {
			t.Errorf("got stderr lines %q", got)
		}
		if r := j.outcome.Result; r["stdout"] != "out 1\nout 2\n" || r["stderr"] != "err 1" {
			t.Errorf("got tails %q and %q", r["stdout"], r["stderr"])
		}
	})
	t.Run("a flood is read to its end in little memory", func(t *testing.T) {
		const mib = 64 // far more than the heap may grow by
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		j := s.run(t, s.cfg.Snippets.Flood(mib))
		runtime.GC()
		runtime.ReadMemStats(&after)
		j.want(t, script.Succeeded, 0)
		if j.bytes != mib<<20 {
			t.Errorf("got %d bytes of lines, want %d", j.bytes, mib<<20)
		}
		if tail := j.outcome.Result[script.KeyStdout]; len(tail) != script.TailBytes {
			t.Errorf("got a tail of %d bytes, want %d", len(tail), script.TailBytes)
		}
		// The test's own record is at most mostLines of MaxLineBytes.
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > mostLines*script.MaxLineBytes+(8<<20) {
			t.Errorf("the heap grew by %d MiB", grown>>20)
		}
	})
}

func (s *suite) testLimits(t *testing.T) {
	s.needProcess(t)
	limit := func(l script.Limits) func(*script.Task) {
		return func(task *script.Task) { task.Limits = l }
	}
	t.Run("memory", func(t *testing.T) {
		s.run(t, s.cfg.Snippets.Memory(64)).want(t, script.Succeeded, 0)
		j := s.run(t, s.cfg.Snippets.Memory(512), limit(script.Limits{MemoryBytes: 200 << 20}))
		if v := j.outcome.Verdict; v != script.Failed && v != script.Errored {
			t.Errorf("got %s for 512 MiB within 200", v)
		}
	})
	t.Run("processor time", func(t *testing.T) {
		j := s.run(t, s.cfg.Snippets.Spin, limit(script.Limits{CPU: time.Second}))
		if j.outcome.Verdict != script.Errored || !strings.Contains(j.outcome.Error, "processor time") {
			t.Errorf("got %s %q, want errored for processor time", j.outcome.Verdict, j.outcome.Error)
		}
	})
	t.Run("file size", func(t *testing.T) {
		j := s.run(t, s.cfg.Snippets.Grow(4), limit(script.Limits{FileBytes: 1 << 20}))
		if v := j.outcome.Verdict; v != script.Failed && v != script.Errored {
			t.Errorf("got %s for a file of 4 MiB within 1", v)
		}
		s.run(t, s.cfg.Snippets.Grow(4)).want(t, script.Succeeded, 0)
	})
	t.Run("the whole work folder", func(t *testing.T) {
		s.run(t, s.cfg.Snippets.Grow(4), limit(script.Limits{FolderBytes: 64 << 20})).want(t, script.Succeeded, 0)
		for _, tt := range []struct {
			name, source string
			limits       script.Limits
			want         string
		}{
			{"bytes at the end", s.cfg.Snippets.Grow(8), script.Limits{FolderBytes: 1 << 20}, "its work folder holds more than 1048576 bytes"},
			{"files at the end", s.cfg.Snippets.Grow(1), script.Limits{FolderFiles: 1}, "its work folder holds more than 1 files"},
			{"a job that goes on for ever", s.cfg.Snippets.Wait, script.Limits{FolderFiles: 1}, "its work folder holds more than 1 files"},
		} {
			j := s.run(t, tt.source, limit(tt.limits))
			if j.outcome.Verdict != script.Errored || j.outcome.Error != tt.want {
				t.Errorf("%s: got %s %q, want errored, %q", tt.name, j.outcome.Verdict, j.outcome.Error, tt.want)
			}
		}
	})
}

func (s *suite) testIsolation(t *testing.T) {
	s.needProcess(t)
	t.Run("the runtime says what is in force", func(t *testing.T) {
		info := s.runtime.Info()
		if info.Slots < 1 || info.Summary == "" {
			t.Errorf("got %d slots, summary %q", info.Slots, info.Summary)
		}
		for _, name := range []string{"process_group", "rlimits", "private_folder", "clean_environment", "closed_stdin",
			"no_new_privileges", "landlock", "seccomp"} {
			if m := measure(info, name); m.Name == "" || !m.InForce && m.Detail == "" {
				t.Errorf("measure %q: got %+v", name, m)
			}
		}
		for _, name := range []string{"process_group", "rlimits", "private_folder", "clean_environment", "closed_stdin"} {
			if !measure(info, name).InForce {
				t.Errorf("measure %q is not in force: %+v", name, measure(info, name))
			}
		}
	})
	t.Run("only the work folder can be written", func(t *testing.T) {
		outside := filepath.Join(t.TempDir(), "outside")
		if reason := s.cfg.Features.NoFence; reason != "" {
			t.Skip(reason)
		}
		if !measure(s.runtime.Info(), "landlock").InForce {
			t.Skip("landlock is not in force on this machine")
		}
		s.run(t, s.cfg.Snippets.Create("inside")).want(t, script.Succeeded, 0)
		s.run(t, s.cfg.Snippets.Create(outside)).want(t, script.Failed, 9)
		if _, err := os.Stat(outside); err == nil {
			t.Error("the file outside was made")
		}
	})
}

func measure(info script.Info, name string) script.Measure {
	for _, m := range info.Isolation {
		if m.Name == name {
			return m
		}
	}
	return script.Measure{}
}

func (s *suite) testConcurrency(t *testing.T) {
	s.needProcess(t)
	const runs = 32
	var group sync.WaitGroup
	for i := range runs {
		source := s.cfg.Snippets.Put("RAMET_RESULT", fmt.Sprintf("number=%d\n", i))
		show := s.cfg.Snippets.Show("RAMET_INPUT")
		task, shown := NewTask(t, source), NewTask(t, show)
		input := fmt.Sprintf("input %d", i)
		if err := os.WriteFile(shown.InputFile, []byte(input), 0o600); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			outcome, err := s.runtime.Run(t.Context(), task, NewHost())
			if got := outcome.Result["number"]; err != nil || got != fmt.Sprint(i) {
				t.Errorf("run %d: got number %q, %+v, %v", i, got, outcome, err)
			}
		})
		group.Go(func() {
			outcome, err := s.runtime.Run(t.Context(), shown, NewHost())
			if got := strings.TrimSpace(outcome.Result[script.KeyStdout]); err != nil || got != input {
				t.Errorf("run %d: got stdout %q, %+v, %v", i, got, outcome, err)
			}
		})
	}
	group.Wait()
}
