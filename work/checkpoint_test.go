package work_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

func TestCheckpoints(t *testing.T) {
	t.Run("in a file", func(t *testing.T) {
		g := newGoScript("go", 4)
		testCheckpoints(t, g, dirScript{g}, func(task script.Task) string {
			was, _ := os.ReadFile(task.CheckpointFile)
			return string(was)
		}, func(task script.Task, data string) error {
			return os.WriteFile(task.CheckpointFile, []byte(data), 0o600)
		})
	})
	t.Run("inside the process", func(t *testing.T) {
		g := newGoScript("go", 4)
		testCheckpoints(t, g, g, func(task script.Task) string { return task.Checkpoint.Load() },
			func(task script.Task, data string) error { return task.Checkpoint.Save(data) })
	})
}

func TestACheckpointSurvivesItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memboard.Open()
		defer m.Close()
		lose := 1
		b := faultboard.New(m, faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
			if c.Batch != nil && len(c.Batch.Ops) == 1 && strings.HasPrefix(c.Batch.Ops[0].Key, "ramet:checkpoint:") && lose > 0 {
				lose--
				return domain.Unavailablef("away")
			}
			return nil
		}})
		g := newGoScript("go", 4)
		g.on("long", func(ctx context.Context, task script.Task, _ script.Host) script.Outcome {
			if was, _ := os.ReadFile(task.CheckpointFile); string(was) == "half" {
				return ok(nil)
			}
			_ = os.WriteFile(task.CheckpointFile, []byte("half"), 0o600)
			<-ctx.Done()
			return script.Outcome{Verdict: script.Stopped}
		})
		r := startRunner(t, b, work.New(b, work.Config{DataDir: t.TempDir()}), work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{dirScript{g}}})
		r.submit(job(1, "long"))
		time.Sleep(time.Minute)
		b.Cut() // kill -9
		r.stop()
		r2 := startRunner(t, m, work.New(m, work.Config{DataDir: t.TempDir()}), work.RunnerConfig{ID: 2, Owner: "n2/a", Runtimes: []script.Runtime{dirScript{g}}})
		defer r2.stop()
		r2.want(1, domain.JobFinished, "")
	})
}
