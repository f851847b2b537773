package clockwork_test

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// costly is a board on which the reads of a walk take time, and are counted.
type costly struct {
	*memboard.Board
	cost  time.Duration
	reads atomic.Int64
	deaf  atomic.Bool // it tells of no changes, as of those by other programs
	blind atomic.Bool // it has lost sight of them: once
}

func (b *costly) read() { b.reads.Add(1); time.Sleep(b.cost) }

func (b *costly) Live(ctx context.Context, s board.Space, after board.LiveItem, limit int) ([]board.LiveItem, error) {
	b.read()
	return b.Board.Live(ctx, s, after, limit)
}

func (b *costly) Len(ctx context.Context, s board.Space, lists ...string) ([]int, error) {
	if slices.Contains(lists, layout.Finished) {
		b.read()
	}
	return b.Board.Len(ctx, s, lists...)
}

func (b *costly) Changed(ctx context.Context, since string) (board.Changes, error) {
	c, err := b.Board.Changed(ctx, since)
	if b.deaf.Load() {
		c.Spaces = nil
	}
	c.All = c.All || b.blind.Swap(false)
	return c, err
}

// readsIn is how many reads there are in a time.
func (b *costly) readsIn(d time.Duration) int64 {
	before := b.reads.Load()
	time.Sleep(d)
	return b.reads.Load() - before
}

// many makes n contexts.
func many(t *testing.T, b board.Board, n int) {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strconv.Itoa(i + 1)
	}
	for part := range slices.Chunk(ids, 500) {
		addTenants(t, b, part...)
	}
}

// loseAlarm leaves a job in a context that nothing will ever start.
func loseAlarm(t *testing.T, b board.Board, e *work.Engine, in domain.TenantID) {
	t.Helper()
	receipts, err := e.Submit(t.Context(), in, []*domain.Job{{ID: 1, CallerID: 1, Script: "x", ScriptType: "go", NotBefore: domain.MaxNotBefore}})
	if err != nil || receipts[0].Err != nil {
		t.Fatal(err, receipts)
	}
	batch := board.Batch{Space: layout.SpaceOf(in)}
	if err := b.Commit(t.Context(), *batch.ClearAlarm("start:job:1:1")); err != nil {
		t.Fatal(err)
	}
}

// inField runs a test with n contexts, and the auditor there. stuck has the contexts in
// which it found something stuck.
func inField(t *testing.T, n int, cost time.Duration, test func(b *costly, e *work.Engine, stuck func(domain.TenantID) bool)) {
	bubble(t, func(t *testing.T, m *memboard.Board) {
		b := &costly{Board: m, cost: cost}
		many(t, m, n)
		e := work.New(b, work.Config{})
		var stuck [10]atomic.Bool // those of the first contexts
		defer run(t, b, "n/a", clockwork.Audits(b, e, nil, discard(), func(in domain.TenantID, a domain.Audit) {
			if int(in) < len(stuck) {
				stuck[in].Store(len(a.Stuck) > 0)
			}
		}))()
		test(b, e, func(in domain.TenantID) bool { return stuck[in].Load() })
	})
}

func TestContextsInWhichNothingHappensCostLittle(t *testing.T) {
	const n = 2_000
	inField(t, n, time.Millisecond, func(b *costly, _ *work.Engine, _ func(domain.TenantID) bool) {
		time.Sleep(2 * time.Minute)
		if first := b.reads.Load(); first < n {
			t.Fatalf("in the first two minutes %d contexts were looked at, want all %d", first, n)
		}
		// A thousandth of the time is 600 looks of a millisecond in ten minutes.
		if got := b.readsIn(10 * time.Minute); got < 300 || got > 1_000 {
			t.Errorf("%d looks in ten quiet minutes, want about 600", got)
		}
	})
}

func TestFewContextsAreLookedAtInEachRound(t *testing.T) {
	inField(t, 20, 10*time.Microsecond, func(b *costly, e *work.Engine, stuck func(domain.TenantID) bool) {
		time.Sleep(time.Minute)
		b.deaf.Store(true)
		loseAlarm(t, b, e, 7)
		time.Sleep(20 * time.Second)
		if !stuck(7) {
			t.Error("what the board did not tell of was not found within 20 s")
		}
	})
}

func TestWhatHappensIsLookedAtInTheNextRound(t *testing.T) {
	inField(t, 2_000, time.Millisecond, func(b *costly, e *work.Engine, stuck func(domain.TenantID) bool) {
		time.Sleep(2 * time.Minute)
		loseAlarm(t, b, e, 7)
		time.Sleep(20 * time.Second) // it is doubted after ten
		if !stuck(7) {
			t.Error("not found within 20 s")
		}
		if _, err := e.Cancel(t.Context(), 7, domain.JobKey{Caller: 1, ID: 1}, 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if stuck(7) {
			t.Error("told as stuck after its end")
		}
	})
}

func TestWhatNobodyTellsOfIsLookedAtWithinAnHour(t *testing.T) {
	// A thousandth of the time would be enough for these within two days.
	inField(t, 2_000, 100*time.Millisecond, func(b *costly, e *work.Engine, stuck func(domain.TenantID) bool) {
		time.Sleep(2 * time.Hour)
		b.deaf.Store(true)
		loseAlarm(t, b, e, 7)
		time.Sleep(time.Hour + time.Minute)
		if !stuck(7) {
			t.Error("not found within an hour")
		}
	})
}

func TestABoardThatLostSightIsLookedThrough(t *testing.T) {
	inField(t, 2_000, time.Millisecond, func(b *costly, e *work.Engine, stuck func(domain.TenantID) bool) {
		time.Sleep(2 * time.Minute)
		b.deaf.Store(true)
		loseAlarm(t, b, e, 7)
		time.Sleep(15 * time.Second)
		b.blind.Store(true)
		time.Sleep(time.Minute) // a twentieth of it is three seconds, 2,000 looks take two
		if !stuck(7) {
			t.Error("not found in a walk through all")
		}
	})
}

func TestThePrunerComesWhenSomethingIsOld(t *testing.T) {
	bubble(t, func(t *testing.T, m *memboard.Board) {
		b := &costly{Board: m, cost: time.Millisecond}
		const n = 200
		many(t, m, n)
		e := work.New(b, work.Config{})
		defer run(t, b, "n/a", clockwork.Prunes(b, e, 10*time.Hour))()
		key := domain.JobKey{Caller: 1, ID: 1}
		for in := domain.TenantID(1); in <= n; in++ {
			loseAlarm(t, b, e, in)
			if _, err := e.Cancel(t.Context(), in, key, 1); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		// Each is looked at once an hour, and what is not there in between costs nothing.
		if got := b.readsIn(9 * time.Hour); got > 10*n {
			t.Errorf("%d looks at %d contexts in nine hours before anything is old", got, n)
		}
		time.Sleep(time.Hour)
		for in := domain.TenantID(1); in <= n; in++ {
			if keys, _, err := m.Keys(t.Context(), layout.SpaceOf(in), layout.JobPrefix, "", 1); err != nil || len(keys) > 0 {
				t.Fatalf("context %d still has %v, %v", in, keys, err)
			}
		}
	})
}
