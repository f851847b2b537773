package work_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

func TestPruneLooksBehindARetriedJob(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.submit(job(1, "fail"))
		r.want(1, domain.JobError, domain.ReasonScriptFailed)
		r.submit(job(2, "ok"))
		r.want(2, domain.JobFinished, "")
		time.Sleep(time.Hour)
		for range 2 {
			if _, err := r.engine.Retry(t.Context(), tenant, key(1)); err != nil {
				t.Fatal(err)
			}
			r.want(1, domain.JobError, domain.ReasonScriptFailed)
		}
		if _, err := r.engine.Prune(t.Context(), tenant, time.Now().Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.engine.Show(t.Context(), tenant, key(2)); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("job 2 is old, but was kept: %v", err)
		}
		r.show(1)
		if _, err := r.engine.Prune(t.Context(), tenant, time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if n, err := r.board.Len(t.Context(), 1, layout.Finished); err != nil || n[0] != 0 {
			t.Errorf("%v entries left, %v", n, err)
		}
	})
}

func TestPruneWaitsForTheFollowers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := &rig{T: t, board: b, engine: work.New(b, work.Config{}), ctx: t.Context()}
		r.submit(job(1, "ok"), job(2, "ok", after(1)))
		if _, err := r.engine.Cancel(t.Context(), tenant, key(1), 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // nobody handles the alarm
		if n, err := r.engine.Prune(t.Context(), tenant, time.Now()); n != 0 || err != nil {
			t.Errorf("pruned %d, %v, but job 2 has not been told", n, err)
		}
	})
}
