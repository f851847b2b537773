package circle_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/circle"
)

// slowBoard gives the answers to claims late.
type slowBoard struct {
	board.Board
	by time.Duration
}

func (b slowBoard) Claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	claimed, err := b.Board.Claim(ctx, ask)
	if len(claimed) > 0 {
		time.Sleep(b.by)
	}
	return claimed, err
}

// A node that was stopped, or whose answer was, has a claim in hand whose lease ran
// out. Nothing has told it so: no timer of its own, and no heartbeat.
func TestATaskWhoseLeaseHasRunOutIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, circle.Config{})
		late := &rig{T: t, board: r.board, engine: circle.New(slowBoard{r.board, 40 * time.Second}, circle.Config{})}
		short := func(c *circle.WorkerConfig) { c.Lease = 12 * time.Second }
		stop := late.worker(short)
		r.recoverer()
		r.write("t1", "script", `say("once"); ATTEMPT`)
		r.push("t1")
		time.Sleep(time.Second)
		r.worker(short, func(c *circle.WorkerConfig) { c.Owner = "n2/a" })
		got := r.wait("t1")
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if said := append(r.heard(), late.heard()...); got.Output != "2" || len(said) != 1 {
			t.Errorf("got output %q and %d runs, want 2 and one", got.Output, len(said))
		}
	})
}
