package work_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// heap is a runtime whose scripts fail and leave a folder that holds something.
func heap(n int) dirScript {
	g := newGoScript("go", 4)
	g.on("heap", func(_ context.Context, task script.Task, _ script.Host) script.Outcome {
		for i := range n {
			if err := os.WriteFile(filepath.Join(task.Dir, fmt.Sprint(i)), make([]byte, 64<<10), 0o600); err != nil {
				return failed(err.Error())
			}
		}
		return failed("no luck")
	})
	return dirScript{g}
}

// leftIn names what failed attempts left.
func leftIn(dir string) (names []string) {
	dirs, _ := filepath.Glob(filepath.Join(dir, "contexts/*/jobs/*"))
	for _, dir := range dirs {
		names = append(names, filepath.Base(dir))
	}
	return names
}

// TestFailedJobsOfAContextDoNotFillTheDisk has jobs fail of which each is within its
// quota.
func TestFailedJobsOfAContextDoNotFillTheDisk(t *testing.T) {
	for name, limits := range map[string]script.Limits{
		"bytes": {FolderBytes: 500 << 10, FolderFiles: -1},
		"files": {FolderFiles: 11, FolderBytes: -1}, // a job has two files, its input and the folder
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memboard.Open()
				defer b.Close()
				dir := t.TempDir()
				r := startRunner(t, b, work.New(b, work.Config{DataDir: dir, Limits: limits}),
					work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{heap(2)}})
				for i := range domain.JobID(6) {
					r.submit(job(i+1, "heap"))
					r.want(i+1, domain.JobError, domain.ReasonScriptFailed)
					synctest.Wait()
				}
				got, want := leftIn(dir), []string{"1-5-1", "1-6-1"}
				if name == "bytes" {
					want = slices.Insert(want, 0, "1-4-1")
				}
				if !slices.Equal(got, want) {
					t.Errorf("left: %v, want %v", got, want)
				}
				r.stop()
				// Another start, with a tighter quota, counts what it finds.
				e := work.New(b, work.Config{DataDir: dir, Limits: script.Limits{FolderBytes: 160 << 10}})
				for range 2 {
					if _, err := e.ClearFolders(time.Hour, time.Now()); err != nil {
						t.Error(err)
					}
					if got := leftIn(dir); !slices.Equal(got, []string{"1-6-1"}) {
						t.Errorf("left after another start: %v", got)
					}
				}
			})
		})
	}
}

// TestAFolderFromTheFutureIsCleared: a script sets the times of its folder as it likes.
func TestAFolderFromTheFutureIsCleared(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	dir := filepath.Join(t.TempDir(), "data[1]")
	left := work.JobDir(dir, tenant, key(1), 1)
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := os.Chtimes(left, now, now.AddDate(70, 0, 0)); err != nil {
		t.Fatal(err)
	}
	e := work.New(b, work.Config{DataDir: dir})
	for i, want := range []int{0, 0, 1} {
		got, err := e.ClearFolders(time.Hour, now.Add(time.Duration(i)*45*time.Minute))
		if err != nil || got != want {
			t.Errorf("look %d removed %d, %v, want %d", i, got, err, want)
		}
	}
}
