package work

import (
	"context"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// TestACancelBetweenClaimAndRun is inside the package: only there can a run be
// added by hand, after the cancel came.
func TestACancelBetweenClaimAndRun(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	e := New(b, Config{})
	r := NewRunner(e, RunnerConfig{ID: 1, Owner: "n/1"})
	defer r.join()()
	key := domain.JobKey{Caller: 1, ID: 7}
	newRun := func(token int64) *run {
		x := &run{r: r, key: key}
		r.items.Begin(t.Context(), x, board.Claimed{Space: 1, Item: key.String(), Token: token}, time.Now())
		return x
	}
	e.stopHere(1, key, 2)
	early, late := newRun(1), newRun(2)
	e.stopLate([]*run{early})
	e.stopLate([]*run{late})
	if early.Ctx.Err() != nil {
		t.Error("another attempt was stopped")
	}
	if context.Cause(late.Ctx) != script.ErrCancelled {
		t.Errorf("the cancelled attempt: got %v", context.Cause(late.Ctx))
	}
}
