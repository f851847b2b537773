package work_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// endings is a board on which jobs end without a runner, and that is archived.
type endings struct {
	*testing.T
	board  *memboard.Board
	engine *work.Engine
}

func newEndings(t *testing.T) endings {
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	e := endings{t, b, work.New(b, work.Config{})}
	if err := e.engine.SetArchive(t.Context(), "shelf"); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e endings) end(ids ...domain.JobID) {
	e.Helper()
	for _, id := range ids {
		job := &domain.Job{ID: id, CallerID: 1, ContextID: 1, Script: "x", ScriptType: "shell"}
		if got, err := e.engine.Submit(e.Context(), 1, []*domain.Job{job}); err != nil || got[0].Err != nil {
			e.Fatal(err, got)
		}
		if _, err := e.engine.Cancel(e.Context(), 1, job.Key(), 1); err != nil {
			e.Fatal(err)
		}
	}
}

func (e endings) backlog() work.Backlog {
	e.Helper()
	l, err := e.engine.Backlog(e.Context(), 1)
	if err != nil {
		e.Fatal(err)
	}
	return l
}

// archives marks a stretch of the backlog and returns whose it is.
func (e endings) archives(most int) (ids []domain.JobID) {
	e.Helper()
	l := e.backlog()
	ended, covered, err := e.engine.Ended(e.Context(), l, most)
	if err != nil {
		e.Fatal(err)
	}
	for _, x := range ended {
		if x.Flow == 0 { // flows are looked at by those who know them
			ids = append(ids, x.Job.ID)
		}
	}
	if err := e.engine.MarkArchived(e.Context(), l, covered); err != nil {
		e.Fatal(err)
	}
	return ids
}

func (e endings) prunes(want int) {
	e.Helper()
	if n, err := e.engine.Prune(e.Context(), 1, time.Now().Add(time.Second)); err != nil || n != want {
		e.Errorf("prune: got %d, %v, want %d", n, err, want)
	}
}

func TestTheBacklogIsTakenOldestFirst(t *testing.T) {
	e := newEndings(t)
	if l := e.backlog(); l.Waiting != 0 || l.OldestMs != 0 {
		t.Errorf("got %+v of an empty board", l)
	}
	e.end(1, 2, 3, 4, 5)
	if l := e.backlog(); l.Waiting != 5 || time.Since(time.UnixMilli(l.OldestMs)) > time.Minute {
		t.Errorf("got %+v, want 5 that wait, the oldest just ended", l)
	}
	for _, want := range [][]domain.JobID{{1, 2}, {3, 4}, {5}, nil} {
		if diff := cmp.Diff(want, e.archives(2)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	e.end(6)
	if diff := cmp.Diff([]domain.JobID{6}, e.archives(2)); diff != "" {
		t.Errorf("one that came later (-want +got):\n%s", diff)
	}
}

func TestOnlyWhatIsArchivedIsPruned(t *testing.T) {
	e := newEndings(t)
	e.end(1, 2, 3)
	e.prunes(0)
	e.archives(2)
	e.prunes(2)
	e.prunes(0)
	if diff := cmp.Diff([]domain.JobID{3}, e.archives(9)); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	e.prunes(1)
}

// TestALateMarkIsRefused: a node that was paused between copy and mark must
// not mark what it has not copied.
func TestALateMarkIsRefused(t *testing.T) {
	e := newEndings(t)
	e.end(1, 2, 3)
	paused := e.backlog()
	e.archives(2)
	if err := e.engine.MarkArchived(t.Context(), paused, 3); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("after another's mark: got %v, want a conflict", err)
	}
	paused = e.backlog()
	e.prunes(2)
	if err := e.engine.MarkArchived(t.Context(), paused, 1); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("after a trim: got %v, want a conflict", err)
	}
	if diff := cmp.Diff([]domain.JobID{3}, e.archives(9)); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

func TestAStretchOfLargeJobsEndsEarly(t *testing.T) {
	e := newEndings(t)
	e.end(slices.Collect(func(yield func(domain.JobID) bool) {
		for id := domain.JobID(1); id <= 70 && yield(id); id++ {
		}
	})...)
	for id := domain.JobID(1); id <= 70; id++ {
		b := board.Batch{Space: 1}
		key := domain.JobKey{Caller: 1, ID: id}
		b.PushRight(layout.Logs(key), string(make([]byte, 1<<19)))
		if err := e.board.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	ended, covered, err := e.engine.Ended(t.Context(), e.backlog(), 256)
	if err != nil || covered != 32 || len(ended) != 32 || len(ended[0].Logs) != 1 {
		t.Errorf("got %d jobs of %d entries, %v, want the first 32 of 70", len(ended), covered, err)
	}
}

func TestWhatIsNoEndedJobIsPassedOver(t *testing.T) {
	e := newEndings(t)
	e.end(1)
	b := board.Batch{Space: 1}
	b.PushLeft(layout.Finished, "rubbish", "job:1:99", "job:1:1", "job:01:1", "flow:7")
	if err := e.board.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]domain.JobID{1}, e.archives(99)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l := e.backlog(); l.Waiting != 0 {
		t.Errorf("got %d that wait still", l.Waiting)
	}
	e.prunes(6)
}
