package simtest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/simtest"
)

func TestANodeIsFrozenCutOffAndKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		dies := false
		n := simtest.Boot(b, faultboard.Config{}, func() bool { return dies })
		var closed atomic.Bool
		n.Link(func() { closed.Store(true) })
		n.Run(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		write := func() (time.Duration, error) {
			batch, began := board.Batch{Space: 1}, time.Now()
			err := n.Board.Commit(t.Context(), *batch.Include("set", "x"))
			return time.Since(began), err
		}
		n.Freeze(time.Minute)
		if took, err := write(); took != time.Minute || err != nil {
			t.Errorf("frozen: a commit took %v, %v; want a minute", took, err)
		}
		n.CutOff(time.Minute)
		if _, err := write(); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("cut off: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if _, err := write(); err != nil {
			t.Errorf("a minute later: %v", err)
		}
		dies = true
		if _, err := write(); !errors.Is(err, domain.ErrUnavailable) || !n.Dead() || !closed.Load() {
			t.Errorf("crashed: %v, dead %v, its links closed %v", err, n.Dead(), closed.Load())
		}
		n.Stop()
	})
}

func TestLuckEnds(t *testing.T) {
	l := simtest.NewLuck(1, 2)
	l.End()
	for range 100 {
		if l.Yes(99) || l.N(7) != 6 {
			t.Fatal("it goes on")
		}
	}
}
