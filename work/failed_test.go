package work_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// failedIDs are the jobs that a list of those that ended in error has, in its order,
// and how many records were looked at.
func (r *rig) failedIDs() (ids []domain.JobID, looked int) {
	r.Helper()
	for cursor := ""; ; {
		jobs, at, err := r.engine.List(r.ctx, tenant, work.Filter{Status: domain.JobError, Look: 2}, cursor)
		if err != nil {
			r.Fatal(err)
		}
		for _, j := range jobs {
			ids = append(ids, j.ID)
		}
		looked += at.Looked
		if cursor = at.Next; cursor == "" {
			return ids, looked
		}
	}
}

func (r *rig) wantFailed(when string, most int, want ...domain.JobID) {
	r.Helper()
	ids, looked := r.failedIDs()
	if most == 0 { // in any order
		slices.Sort(ids)
		slices.Sort(want)
	}
	if !slices.Equal(ids, want) || most > 0 && looked > most {
		r.Errorf("%s: got %v, looked at %d; want %v, at most %d", when, ids, looked, want, most)
	}
}

func (r *rig) keepFailed(mixed bool) {
	r.Helper()
	if err := r.engine.KeepFailed(r.ctx, tenant, mixed); err != nil {
		r.Fatal(err)
	}
}

// failing submits jobs, of which each fourth fails.
func (r *rig) failing(from, to domain.JobID) {
	r.script.on("boom", func(context.Context, script.Task, script.Host) script.Outcome { return failed("boom") })
	for id := from; id <= to; id++ {
		text := "ok"
		if id%4 == 0 {
			text = "boom"
		}
		r.submit(job(id, text))
		time.Sleep(time.Second)
	}
	time.Sleep(time.Minute)
}

func TestWhatEndedInErrorIsFoundWithoutTheRest(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.keepFailed(false)
		r.failing(1, 20)
		r.wantFailed("as they ended", 5, 20, 16, 12, 8, 4)

		// One that is started again is no more among them, and comes once when it fails anew.
		if _, err := r.engine.Retry(r.ctx, tenant, domain.JobKey{Caller: 1, ID: 8}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		r.wantFailed("one failed twice", 6, 8, 20, 16, 12, 4)

		// What has left the board leaves the list.
		if _, err := r.engine.Prune(r.ctx, tenant, time.Now().Add(-65*time.Second)); err != nil {
			t.Fatal(err)
		}
		r.wantFailed("the old ones pruned", 2, 8)
		if _, err := r.engine.Prune(r.ctx, tenant, time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := r.board.Len(r.ctx, 1, layout.FailedJobs); err != nil || n[0] != 0 {
			t.Errorf("all pruned: %d entries are left, %v", n[0], err)
		}
	})
}

func TestABoardWithoutListsOfFailuresGetsThem(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.failing(1, 20)
		// A node of an earlier version wrote none of the entries.
		if err := r.board.Commit(r.ctx, *(&board.Batch{Space: 1}).Delete(layout.FailedJobs)); err != nil {
			t.Fatal(err)
		}
		r.wantFailed("while there is no list", 0, 4, 8, 12, 16, 20)
		r.failing(21, 24)
		r.wantFailed("while there is one of the newest", 0, 4, 8, 12, 16, 20, 24)
		r.keepFailed(true)
		if whole, err := r.engine.FailedWhole(r.ctx, 1); whole || err != nil {
			t.Errorf("while there are nodes of an earlier version: whole %t, %v", whole, err)
		}
		r.keepFailed(false)
		r.wantFailed("once it was made whole", 6, 24, 20, 16, 12, 8, 4)

		// A node of an earlier version comes for a while.
		r.keepFailed(true)
		r.failing(25, 28)
		entry := layout.FailedEntry("job:1:28", r.show(28).FinishedMs)
		if err := r.board.Commit(r.ctx, *(&board.Batch{Space: 1}).Drop(layout.FailedJobs, entry)); err != nil {
			t.Fatal(err)
		}
		r.wantFailed("with an old node", 0, 4, 8, 12, 16, 20, 24, 28)
		r.keepFailed(false)
		r.wantFailed("after the old node", 0, 4, 8, 12, 16, 20, 24, 28)
		if _, looked := r.failedIDs(); looked != 7 {
			t.Errorf("after the old node: looked at %d, want 7", looked)
		}
	})
}
