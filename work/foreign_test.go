package work_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

func TestARunnerThatDiesWhileTakingOverAForeignJob(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		b := memboard.Open()
		defer b.Close()
		alone := &rig{T: t, board: b, engine: work.New(b, work.Config{}), ctx: t.Context()}
		alone.submit(job(1, "hang"))
		k := key(2).String()
		alone.commit(new(board.Batch).Drop("queue:go", "job:1:1").
			Set(k, f("script", "ok"), f("script_type", "go"), f("status", "dispatched"), f("dependends", "[1]")).PushLeft("queue:go", k))
		deadClaim(t, b)
		alone.commit(new(board.Batch).PushLeft("queue:go", "job:1:1"))
		r := by.startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 4))
		defer r.stop()
		time.Sleep(2 * time.Minute)
		if j := r.show(2); j.Status != domain.JobWaiting || r.script.count(key(2)) != 0 {
			t.Errorf("job 2 is %s and ran %d times, but job 1 has not ended", j.Status, r.script.count(key(2)))
		}
	})
}

func TestAKeyPushedAgainWhileItWaits(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.script.on("nap", func(context.Context, script.Task, script.Host) script.Outcome {
			time.Sleep(time.Minute)
			return ok(nil)
		})
		r.submit(job(1, "nap"), job(2, "nap"), job(3, "ok", after(1, 2)), job(4, "ok", func(j *domain.Job) {
			j.NotBefore = time.Now().Add(time.Hour).UnixMilli()
		}))
		for range 3 {
			r.commit(new(board.Batch).PushLeft("queue:go", "job:1:3", "job:1:4", "1:3"))
			synctest.Wait()
		}
		if j := r.show(3); j.Status != domain.JobWaiting || j.Waits != 2 || j.StartedMs != 0 {
			t.Errorf("job 3: got %+v", j)
		}
		if j := r.show(4); j.Status != domain.JobDispatched {
			t.Errorf("job 4: got %+v", j)
		}
		r.want(3, domain.JobFinished, "")
		r.want(4, domain.JobFinished, "")
	})
}

func TestAJobThatAForeignProgramEndsBetweenAttemptsIsSettled(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{RetryMin: time.Hour, RetryMax: time.Hour})
		r.submit(job(1, "fail", retries(3)), job(2, "ok", after(1)))
		time.Sleep(time.Second)
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		b.Set(key(1).String(), board.Field{Name: layout.JobStatus, Value: string(domain.JobFinished)})
		if err := r.board.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		r.want(2, domain.JobFinished, "")
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("its follower began after %v", took)
		}
		if j := r.want(1, domain.JobFinished, ""); j.FinishedMs == 0 || j.NextRetryMs != 0 {
			t.Errorf("got finished at %d, next try at %d", j.FinishedMs, j.NextRetryMs)
		}
		time.Sleep(2 * time.Hour)
		if got := r.script.count(key(1)); got != 1 {
			t.Errorf("got %d runs, want the one before", got)
		}
	})
}

// TestNumbersOfOthersHoldNothingUp: who writes a job past the doors may write what
// only the engine does. The guards name what stands there, so that the job ends,
// its slot is free, and its entry goes with those of others.
func TestNumbersOfOthersHoldNothingUp(t *testing.T) {
	for _, name := range []string{layout.JobFollowers, layout.JobQueuedMs, layout.JobAttempt, layout.JobFinishedMs, layout.JobNextRetryMs,
		layout.JobRetried} {
		for _, text := range []string{"true", "+1", "010", "0", " ", "-1", "9223372036854775807", "99999999999999999999"} {
			t.Run(name+" is "+text, func(t *testing.T) {
				eachTaking(t, func(t *testing.T, by taking) {
					r := by.newRig(t, work.Config{})
					item := key(1).String()
					if name == layout.JobFollowers || name == layout.JobQueuedMs {
						r.commit(new(board.Batch).Set(item, f(name, text), f(layout.JobScript, "ok"), f(layout.JobScriptType, "go")).PushLeft("queue:go", item))
					} else {
						r.submit(job(1, "ok"))
						r.wait(1)
						r.commit(new(board.Batch).Set(item, f(name, text)))
					}
					r.wait(1)
					r.submit(job(2, "ok"))
					r.want(2, domain.JobFinished, "")
					if n, err := r.engine.Prune(r.ctx, tenant, time.Now().Add(time.Hour)); err != nil {
						t.Errorf("prune: got %d, %v", n, err)
					}
					if _, err := r.engine.Show(r.ctx, tenant, key(2)); !errors.Is(err, domain.ErrNotFound) {
						t.Errorf("the job that ended after it is still there: %v", err)
					}
				})
			})
		}
	}
}
