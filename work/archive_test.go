package work_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
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
	if err := e.engine.SetArchive(t.Context(), "", "disk"); err != nil {
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
		if x.Job != nil { // flows are looked at by those who know them
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

// message writes a message with what belongs to it, and, where it has ended,
// its entry, as package post does.
func (e endings) message(id domain.MessageID, status domain.MessageStatus, endedMs int64) domain.MessageKey {
	e.Helper()
	m := &domain.Message{ID: id, CallerID: 1, ContextID: 1, MessageType: domain.MessageChat, Message: "hello", Status: status, EndedMs: endedMs}
	key := m.Key()
	b := board.Batch{Space: 1}
	b.Set(key.String(), layout.EncodeMessage(m)...)
	b.Set(layout.Notes(key), board.Field{Name: layout.NotesDone, Value: "1"})
	b.PushRight(layout.MessageLog(key), "{}")
	b.PushLeft(layout.Finished, key.String())
	if err := e.board.Commit(e.Context(), b); err != nil {
		e.Fatal(err)
	}
	return key
}

// left is which of a message's keys are still there.
func (e endings) left(key domain.MessageKey) (keys []string) {
	e.Helper()
	recs, err := e.board.Get(e.Context(), 1, key.String(), layout.Notes(key))
	if err != nil {
		e.Fatal(err)
	}
	for i, name := range []string{"message", "notes"} {
		if recs[i] != nil {
			keys = append(keys, name)
		}
	}
	n, err := e.board.Len(e.Context(), 1, layout.MessageLog(key))
	if err != nil {
		e.Fatal(err)
	}
	if n[0] > 0 {
		keys = append(keys, "log")
	}
	return keys
}

func TestMessagesAreArchivedAndPrunedLikeJobs(t *testing.T) {
	e := newEndings(t)
	now := time.Now().UnixMilli()
	old := e.message(1, domain.MessageProcessed, now-time.Hour.Milliseconds())
	e.end(2)
	lives := e.message(3, domain.MessageAcknowledged, 0)
	young := e.message(4, domain.MessageError, now+time.Hour.Milliseconds())
	if l := e.backlog(); l.Waiting != 4 || l.OldestMs != now-time.Hour.Milliseconds() {
		t.Errorf("got %+v, want 4 that wait, the oldest the message of an hour ago", l)
	}
	e.prunes(0) // the archive has none of them
	l := e.backlog()
	ended, covered, err := e.engine.Ended(t.Context(), l, 99)
	if err != nil || covered != 4 {
		t.Fatalf("got %d covered, %v, want 4", covered, err)
	}
	var keys []string
	for _, x := range ended {
		keys = append(keys, x.Key())
		if x.Message != nil && (x.Message.Message != "hello" || x.Message.ContextID != 1) {
			t.Errorf("got %+v", x.Message)
		}
	}
	slices.Sort(keys)
	if diff := cmp.Diff([]string{"job:1:2", "message:1:1", "message:1:4"}, keys); diff != "" {
		t.Errorf("what has ended (-want +got):\n%s", diff)
	}
	if err := e.engine.MarkArchived(t.Context(), l, covered); err != nil {
		t.Fatal(err)
	}
	e.prunes(3) // also the entry of the one that has not ended
	for key, want := range map[domain.MessageKey][]string{old: nil, lives: {"message", "notes", "log"}, young: {"message", "notes", "log"}} {
		if diff := cmp.Diff(want, e.left(key)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", key, diff)
		}
	}
}

// TestAMessageThatChangedIsNotPruned: between what Prune reads and what it
// commits somebody else may end the message anew.
func TestAMessageThatChangedIsNotPruned(t *testing.T) {
	e := newEndings(t)
	key := e.message(1, domain.MessageProcessed, 1000)
	e.archives(1)
	f := faultboard.New(e.board, faultboard.Config{Before: func(ctx context.Context, c faultboard.Call) error {
		if c.Batch == nil {
			return nil
		}
		b := board.Batch{Space: 1}
		b.Set(key.String(), board.Field{Name: layout.MessageEndedMs, Value: "9"})
		return e.board.Commit(ctx, b)
	}})
	if n, err := work.New(f, work.Config{}).Prune(t.Context(), 1, time.Now()); n != 0 || err != nil {
		t.Errorf("got %d pruned, %v, want none", n, err)
	}
	if len(e.left(key)) != 3 {
		t.Errorf("got only %v left", e.left(key))
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

// TestWhatIsArchivedAgainIsNotPrunedBefore: the pruner has seen that the archive has it, and then the archive
// is found to have lost what it had.
func TestWhatIsArchivedAgainIsNotPrunedBefore(t *testing.T) {
	e := newEndings(t)
	e.end(1, 2)
	e.archives(2)
	lost := false
	f := faultboard.New(e.board, faultboard.Config{Before: func(ctx context.Context, c faultboard.Call) error {
		if c.Batch == nil || lost {
			return nil
		}
		lost = true
		_, err := work.ArchiveAgain(ctx, e.board, 1)
		return err
	}})
	if n, err := work.New(f, work.Config{}).Prune(t.Context(), 1, time.Now().Add(time.Second)); err != nil || n != 0 || !lost {
		t.Errorf("got %d removed, %v, want none", n, err)
	}
	if l := e.backlog(); l.Waiting != 2 {
		t.Errorf("%d wait for the archive, want both", l.Waiting)
	}
	e.archives(2)
	e.prunes(2)
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
	watched.Large(t)
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

// TestAKeyOfTheWrongKindHoldsUpNoOther has lists and hashes where an ended job, its
// followers and its log would be, and where one lives: the context is archived,
// pruned and audited all the same.
func TestAKeyOfTheWrongKindHoldsUpNoOther(t *testing.T) {
	e := newEndings(t)
	e.end(1, 2, 3)
	b := board.Batch{Space: 1}
	b.Delete("job:1:1").PushLeft("job:1:1", "x") // the oldest
	b.Set(layout.Logs(key(2)), board.Field{Name: "a", Value: "b"})
	b.Set("job:1:3", board.Field{Name: layout.JobFollowers, Value: "1"}).Set(layout.Followers(key(3)), board.Field{Name: "a", Value: "b"})
	b.Live("job:1:8", time.Now()).PushLeft("job:1:8", "x")
	if err := e.board.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]domain.JobID{2, 3}, e.archives(99)); diff != "" {
		t.Errorf("archived (-want +got):\n%s", diff)
	}
	e.prunes(3)
	found, err := e.engine.Audit(t.Context(), 1)
	if err != nil || len(found.Stuck) != 1 || found.Stuck[0].Key != "job:1:8" || !strings.Contains(found.Stuck[0].Text, `"job:1:8" is a list`) {
		t.Errorf("got %+v, %v, want the live one named", found, err)
	}
}

func TestWhatIsNoEndedJobIsPassedOver(t *testing.T) {
	e := newEndings(t)
	e.end(1)
	b := board.Batch{Space: 1}
	b.PushLeft(layout.Finished, "rubbish", "job:1:99", "job:1:1", "job:01:1", "flow:7", "message:1:99", "message:01:1")
	if err := e.board.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]domain.JobID{1}, e.archives(99)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l := e.backlog(); l.Waiting != 0 {
		t.Errorf("got %d that wait still", l.Waiting)
	}
	e.prunes(8)
}

// TestAContextWhoseEndsWaitForTheArchiveTakesNothingNew: what nobody archives cannot
// leave the board.
func TestAContextWhoseEndsWaitForTheArchiveTakesNothingNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEndings(t)
		e.engine = work.New(e.board, work.Config{ArchiveBacklog: 3})
		room := func(tenant domain.TenantID, want error) {
			t.Helper()
			time.Sleep(2 * time.Second) // what was known is asked again
			if err := e.engine.Room(t.Context(), tenant); !errors.Is(err, want) {
				t.Errorf("context %d: got %v, want %v", tenant, err, want)
			}
		}
		e.end(1, 2)
		room(1, nil)
		e.end(3)
		room(1, domain.ErrExhausted)
		room(2, nil)
		if err := e.engine.MarkArchived(t.Context(), e.backlog(), 1); err != nil {
			t.Fatal(err)
		}
		room(1, nil)
		e.end(4)
		room(1, domain.ErrExhausted)
		if err := work.New(e.board, work.Config{ArchiveBacklog: -1}).Room(t.Context(), 1); err != nil {
			t.Errorf("without a bound: %v", err)
		}
		if err := e.engine.SetArchive(t.Context(), "disk", ""); err != nil {
			t.Fatal(err)
		}
		room(1, nil) // they expire by their age alone
	})
}
