package work

import (
	"context"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// TestACancelBetweenClaimAndRun is inside the package: only there can a run be
// put into the book by hand, after the cancel came.
func TestACancelBetweenClaimAndRun(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	e := New(b, Config{})
	r := NewRunner(e, RunnerConfig{ID: 1, Owner: "n/1"})
	defer r.join()()
	key := domain.JobKey{Caller: 1, ID: 7}
	newRun := func(token int64) *run {
		x := &run{r: r, key: key, claimed: board.Claimed{Space: 1, Item: key.String(), Token: token}}
		x.ctx, x.cancel = context.WithCancelCause(t.Context())
		return x
	}
	e.stopHere(1, key, 2)
	early, late := newRun(1), newRun(2)
	e.stopLate([]*run{early})
	e.stopLate([]*run{late})
	if early.ctx.Err() != nil {
		t.Error("another attempt was stopped")
	}
	if context.Cause(late.ctx) != script.ErrCancelled {
		t.Errorf("the cancelled attempt: got %v", context.Cause(late.ctx))
	}
}
