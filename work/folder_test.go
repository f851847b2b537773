package work_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

func TestClearFoldersLeavesWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		dir := t.TempDir()
		g := newGoScript("go", 4)
		var dirs []string
		g.on("hang", func(ctx context.Context, task script.Task, _ script.Host) script.Outcome {
			dirs = append(dirs, task.Dir)
			<-ctx.Done()
			return script.Outcome{Verdict: script.Stopped}
		})
		e := work.New(b, work.Config{DataDir: dir})
		r := startRunner(t, b, e, work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{dirScript{g}}})
		defer r.stop()
		r.submit(job(1, "hang"), job(2, "fail"))
		r.want(2, domain.JobError, domain.ReasonScriptFailed)
		synctest.Wait()
		old := work.JobDir(dir, tenant, key(2), 1)
		if _, err := os.Stat(old); err != nil {
			t.Error("the folder of a failed job is not kept:", err)
		}
		n, err := e.ClearFolders(time.Hour, time.Now().Add(100*365*24*time.Hour)) // the files' times are real
		if err != nil || n != 1 {
			t.Errorf("removed %d, %v, want 1", n, err)
		}
		if _, err := os.Stat(dirs[0]); err != nil {
			t.Error("the folder of a running job is gone:", err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "contexts/*/jobs/*")); len(left) != 1 {
			t.Errorf("left: %v", left)
		}
	})
}
