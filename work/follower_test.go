package work_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

func TestAResultIsNotThrownAwayWithTheFollowers(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		b := &unreadable{Board: memboard.Open()}
		defer b.Close()
		r := by.startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 4))
		defer r.stop()
		r.submit(job(1, "ok"), job(2, "ok", after(1)))
		r.want(2, domain.JobFinished, "")
		if n := r.script.count(key(1)); n != 1 {
			t.Errorf("job 1 ran %d times", n)
		}
	})
}

func TestAFollowerOfWhatWasNotAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memboard.Open()
		defer m.Close()
		away := true
		b := faultboard.New(m, faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
			if away && c.Batch != nil && len(c.Batch.Guards) > 0 && c.Batch.Guards[0] == (board.Guard{Kind: board.GuardAbsent, Key: "job:1:1"}) {
				return domain.Unavailablef("away")
			}
			return nil
		}})
		e := work.New(&oneByOne{b}, work.Config{})
		jobs := []*domain.Job{job(1, "ok"), job(2, "ok", after(1))}
		receipts, err := e.Submit(t.Context(), tenant, jobs)
		if err != nil || !errors.Is(receipts[0].Err, domain.ErrUnavailable) || !errors.Is(receipts[1].Err, domain.ErrUnavailable) {
			t.Fatalf("got %+v, %v, want both unavailable", receipts, err)
		}
		away = false
		receipts, err = e.Submit(t.Context(), tenant, jobs)
		if err != nil || receipts[0].Err != nil || receipts[1].Err != nil {
			t.Errorf("again: got %+v, %v", receipts, err)
		}
	})
}

func TestRetryOfAFollower(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.submit(job(1, "fail"), job(2, "ok"), job(3, "ok", after(1, 2)), job(4, "hang"), job(5, "ok", after(4)))
		r.want(3, domain.JobError, domain.ReasonDependencyFailed)
		if _, err := r.engine.Retry(t.Context(), tenant, key(3)); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("retry before what it needs: got %v", err)
		}
		r.script.on("fail", func(context.Context, script.Task, script.Host) script.Outcome {
			time.Sleep(time.Second)
			return ok(nil)
		})
		for _, id := range []domain.JobID{1, 3} {
			if _, err := r.engine.Retry(t.Context(), tenant, key(id)); err != nil {
				t.Fatal(err)
			}
		}
		j := r.want(3, domain.JobFinished, "")
		if d := r.show(1); d.FinishedMs > j.StartedMs {
			t.Error("job 3 began before job 1 had ended")
		}
		// Cancelled and retried while it waits: counted down once all the same.
		for range 3 {
			if _, err := r.engine.Cancel(t.Context(), tenant, key(5), 1); err != nil {
				t.Fatal(err)
			}
			if j, err := r.engine.Retry(t.Context(), tenant, key(5)); err != nil || j.Waits != 1 || j.Cancel != "" {
				t.Fatalf("got %+v, %v", j, err)
			}
		}
		r.submit(job(6, "hang"), job(7, "ok", after(4, 6)))
		if _, err := r.engine.Cancel(t.Context(), tenant, key(4), 1); err != nil {
			t.Fatal(err)
		}
		r.want(5, domain.JobError, domain.ReasonDependencyFailed)
		r.want(7, domain.JobError, domain.ReasonDependencyFailed)
	})
}
