package work_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// tardy is a board on which a page of what is unfinished, and one of a queue, take time.
type tardy struct {
	*memboard.Board
	live, list time.Duration
}

func (b *tardy) Live(ctx context.Context, s board.Space, after board.LiveItem, limit int) ([]board.LiveItem, error) {
	time.Sleep(b.live)
	return b.Board.Live(ctx, s, after, limit)
}

func (b *tardy) List(ctx context.Context, s board.Space, list string, from, n int) ([]string, error) {
	time.Sleep(b.list)
	return b.Board.List(ctx, s, list, from, n)
}

func TestAnAuditWithinATimeLooksAtTheOldest(t *testing.T) {
	const n, page = 2_500, 500
	for _, c := range []struct {
		name       string
		live, list time.Duration
		within     time.Duration
		looked     int
		repaired   int // of two that are in no queue, the oldest and the newest
		partial    bool
	}{
		{name: "all, where there is no time", live: time.Second, list: time.Second, looked: n, repaired: 2},
		{name: "all, where the time is enough", within: time.Second, looked: n, repaired: 2},
		{name: "the oldest, where it is not", live: 400 * time.Millisecond, within: time.Second, looked: 2 * page, repaired: 1, partial: true},
		{name: "nothing is taken for lost that was not looked for to the end", list: 900 * time.Millisecond, within: time.Second, looked: n, partial: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &tardy{Board: memboard.Open()}
				defer b.Close()
				e := work.New(b, work.Config{})
				for id := domain.JobID(1); id <= n; id++ {
					job := &domain.Job{ID: id, CallerID: 1, Script: "x", ScriptType: "go"}
					if got, err := e.Submit(t.Context(), 1, []*domain.Job{job}); err != nil || got[0].Err != nil {
						t.Fatal(err, got)
					}
					time.Sleep(time.Millisecond)
				}
				lose := board.Batch{Space: 1}
				if err := b.Commit(t.Context(), *lose.Drop("queue:go", "job:1:1", "job:1:2500")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				b.live, b.list = c.live, c.list
				got, err := e.AuditWithin(t.Context(), 1, c.within)
				if err != nil {
					t.Fatal(err)
				}
				if got.Looked != c.looked || len(got.Repaired) != c.repaired || got.Partial != c.partial || len(got.Stuck) > 0 {
					t.Errorf("looked at %d, repaired %v, stuck %v, partial %v; want %d, %d repaired, partial %v",
						got.Looked, got.Repaired, got.Stuck, got.Partial, c.looked, c.repaired, c.partial)
				}
			})
		})
	}
}
