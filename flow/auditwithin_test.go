package flow_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/work"
)

// tardy is a board on which a read of records takes time.
type tardy struct {
	*memboard.Board
	get time.Duration
}

func (b *tardy) Get(ctx context.Context, s board.Space, keys ...string) ([]board.Record, error) {
	time.Sleep(b.get)
	return b.Board.Get(ctx, s, keys...)
}

func TestAnAuditWithinATimeLooksAtTheOldestFlows(t *testing.T) {
	const n = 50
	for _, c := range []struct {
		name     string
		get      time.Duration
		within   time.Duration
		all      bool
		repaired string
	}{
		{name: "all, where there is no time", get: time.Second, all: true, repaired: "[flow:1 flow:50]"},
		{name: "all, where the time is enough", get: time.Millisecond, within: time.Minute, all: true, repaired: "[flow:1 flow:50]"},
		{name: "the oldest, where it is not", get: 400 * time.Millisecond, within: time.Second, repaired: "[flow:1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &tardy{Board: memboard.Open()}
				defer b.Close()
				jobs := work.New(b, work.Config{})
				e := flow.New(b, jobs, flow.Config{})
				for range n {
					q := flow.Request{Caller: 1, Plan: blueprint(step("a", ""), step("b", "", needs("a"), mayFail))}
					if got, err := e.Submit(t.Context(), 1, []flow.Request{q}); err != nil || got[0].Err != nil {
						t.Fatal(err, got)
					}
					time.Sleep(time.Millisecond)
				}
				lose := board.Batch{Space: 1}
				if err := b.Commit(t.Context(), *lose.Drop(queue.Keeper, layout.FlowState(1), layout.FlowState(n))); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				b.get = c.get
				got, err := e.AuditWithin(t.Context(), 1, c.within)
				if err != nil {
					t.Fatal(err)
				}
				var repaired []string
				for _, f := range got.Repaired {
					repaired = append(repaired, f.Key)
				}
				if got.Partial == c.all || (got.Looked == n) != c.all || fmt.Sprint(repaired) != c.repaired || len(got.Stuck) > 0 {
					t.Errorf("looked at %d, repaired %v, stuck %v, partial %v; want all %v, repaired %s", got.Looked, repaired, got.Stuck, got.Partial,
						c.all, c.repaired)
				}
			})
		})
	}
}
