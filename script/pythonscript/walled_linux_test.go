package pythonscript_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
	"github.com/ramet-run/ramet/script/pythonscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

// openWalled opens a pool whose jobs are walled.
func openWalled(t testing.TB, cfg pythonscript.Config) *pythonscript.Runtime {
	t.Helper()
	pool := open(t, cfg)
	t.Cleanup(func() { pool.Close() })
	if !slices.Contains(pool.Info().Levels, script.Walled) {
		t.Skip("this machine has no walls")
	}
	return pool
}

// walledParents finds the parents that this test's pools have at walls.
func walledParents(t *testing.T) (found []int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		line, _ := os.ReadFile(path)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		// A job is a copy of its parent, which is the third below this process.
		if strings.Contains(string(line), "\x00walled\x00") && above(above(above(pid))) == os.Getpid() {
			found = append(found, pid)
		}
	}
	return found
}

// above is a process's parent.
func above(pid int) (parent int) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	if fields := strings.Fields(rest); len(fields) > 1 {
		parent, _ = strconv.Atoi(fields[1])
	}
	return parent
}

// TestPlansLieBelowEverything: an interpreter that lies at a fixed place has its
// heap somewhere within a GiB behind it, by chance, and grows it later.
func TestPlansLieBelowEverything(t *testing.T) {
	pool := openWalled(t, pythonscript.Config{Parents: 1})
	_, _, ended := begin(t, pool, t.Context(), "import sys; sys.exit(7)\n")
	if outcome := <-ended; outcome.ExitCode != 7 {
		t.Fatalf("got %+v", outcome)
	}
	parents := walledParents(t)
	if len(parents) != 1 {
		t.Fatalf("got parents %v, want one", parents)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", parents[0]))
	if err != nil {
		t.Skip(err) // not one's own process's, as an ordinary user
	}
	want := fmt.Sprintf("%08x-%08x rw-p", jail.ForkBase, jail.ForkBase+jail.ForkRoom)
	if !strings.HasPrefix(string(maps), want) {
		t.Errorf("got memory\n%s\nwant %s first", maps, want)
	}
}

// TestADeadInterpreterIsNotWaitedFor: its end is heard, and not only after a minute.
func TestADeadInterpreterIsNotWaitedFor(t *testing.T) {
	dead := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(dead, []byte("#!/bin/sh\n[ $# -gt 4 ] && exit 9\necho $0; echo 3.11.2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, level := range []script.Level{script.Walled, script.Open} {
		began := time.Now()
		pool := open(t, pythonscript.Config{Interpreter: dead, Level: level, Parents: 1})
		if err := pool.Check(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "exit code 9") {
			t.Errorf("%s: got %v, want its exit code", level, err)
		}
		if took := time.Since(began); took >= time.Minute {
			t.Errorf("%s: that took %s", level, took)
		}
	}
}

func TestWalledJobsEndWithTheirParent(t *testing.T) {
	pool := openWalled(t, pythonscript.Config{Parents: 1})
	_, _, ended := begin(t, pool, t.Context(), "open('ran', 'a').write('x')\n"+waiting)
	parents := walledParents(t)
	if len(parents) != 1 {
		t.Fatalf("got parents %v, want one", parents)
	}
	if err := syscall.Kill(parents[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if outcome := <-ended; outcome.Verdict != script.Errored || !strings.Contains(outcome.Error, "parent process died") {
		t.Errorf("got %+v, want errored, and why", outcome)
	}
	next, _, ended := begin(t, pool, t.Context(), waiting)
	if err := os.WriteFile(filepath.Join(next.Dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if outcome := <-ended; outcome.ExitCode != 7 {
		t.Errorf("the next job: got %+v", outcome)
	}
}

// TestNoJobWaitsForItsMountsToBeTakenDown: who leaves a namespace of mounts last waits
// for all processors. While a job runs that is the node, which is done with it
// when the pool is closed.
func TestNoJobWaitsForItsMountsToBeTakenDown(t *testing.T) {
	before := heldMounts(t)
	pool := openWalled(t, pythonscript.Config{Parents: 1})
	for range 3 {
		task, _, ended := begin(t, pool, t.Context(), waiting)
		// The parent tells the node of it beside the job, which may be quicker.
		testwait.Until(t, "the node holds its namespace of mounts while a job runs", func() bool { return heldMounts(t) > before })
		if err := os.WriteFile(filepath.Join(task.Dir, "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if outcome := <-ended; outcome.ExitCode != 7 {
			t.Errorf("got %+v", outcome)
		}
	}
	pool.Close()
	if held := heldMounts(t) - before; held != 0 {
		t.Errorf("the node still holds %d namespaces of mounts", held)
	}
}

// heldMounts counts the namespaces of mounts that this process has descriptors of.
func heldMounts(t *testing.T) (held int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if to, _ := os.Readlink(link); strings.HasPrefix(to, "mnt:[") {
			held++
		}
	}
	return held
}

// TestNoJobRunsTwiceWhileParentsDie counts what ran by files that jobs make anew.
func TestNoJobRunsTwiceWhileParentsDie(t *testing.T) {
	pool := openWalled(t, pythonscript.Config{Parents: 1})
	var unknown atomic.Int32
	var jobs sync.WaitGroup
	for range 4 {
		jobs.Go(func() {
			for i := range 25 {
				task := scripttest.NewTask(t, "import os, sys\nos.close(os.open('ran', os.O_CREAT | os.O_EXCL))\nprint('x')\nsys.exit(3)\n")
				outcome, err := pool.Run(t.Context(), task, scripttest.NewHost())
				switch {
				case errors.Is(err, domain.ErrUnavailable) || err == nil && outcome.Verdict == script.Errored:
					unknown.Add(1)
				case err != nil || outcome.ExitCode != 3 || outcome.Result["stdout"] != "x\n":
					t.Errorf("got %+v, %v", outcome, err)
				}
				if i == 10 {
					for _, pid := range walledParents(t) {
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			}
		})
	}
	jobs.Wait()
	t.Logf("%d of 100 jobs ended in a way that nobody could tell", unknown.Load())
}

// search looks for a text, given in two halves, in all memory that the script can
// write to, and prints how often it is there.
const search = `import re
needle = ("%s" + "%s").encode()
found = 0
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps.readlines():
        first, last, rights = re.match("([0-9a-f]+)-([0-9a-f]+) (....)", line).groups()
        if rights[:2] == "rw":
            memory.seek(int(first, 16))
            try: piece = memory.read(int(last, 16) - int(first, 16))
            except OSError: continue
            at = piece.find(needle)
            while at >= 0:
                found += 1
                at = piece.find(needle, at + 1)
            del piece
print(found)
`

// TestNothingOfOneJobIsInTheMemoryOfTheNext: all jobs have copies of their
// parent's memory.
func TestNothingOfOneJobIsInTheMemoryOfTheNext(t *testing.T) {
	for _, level := range []script.Level{script.Open, script.Walled} {
		t.Run(string(level), func(t *testing.T) {
			pool := open(t, pythonscript.Config{Level: level, Parents: 1})
			defer pool.Close()
			if !slices.Contains(pool.Info().Levels, level) {
				t.Skip("this machine has no walls")
			}
			for i := range 3 {
				task := scripttest.NewTask(t, strings.Repeat("secret = 'swordfish-of-the-first'\n", 1000))
				task.Env["SECRET"] = "swordfish-of-the-first"
				if outcome, err := pool.Run(t.Context(), task, scripttest.NewHost()); err != nil || outcome.Verdict != script.Succeeded {
					t.Fatalf("got %+v, %v", outcome, err)
				}
				task = scripttest.NewTask(t, fmt.Sprintf(search, "swordfish-of-", "the-first"))
				outcome, err := pool.Run(t.Context(), task, scripttest.NewHost())
				// Its own copy of what it looks for is one.
				if found, bad := strconv.Atoi(strings.TrimSpace(outcome.Result["stdout"])); err != nil || bad != nil || found > 2 {
					t.Errorf("search %d: got %+v, %v", i, outcome, err)
				}
			}
		})
	}
}
