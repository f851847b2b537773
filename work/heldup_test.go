package work_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// stingy is a board that renews no leases for a while.
type stingy struct {
	board.Board
	away atomic.Bool
}

func (b *stingy) Extend(ctx context.Context, owner string, lease time.Duration, held []board.Held) ([]board.Answer, error) {
	if b.away.Load() {
		return nil, domain.Unavailablef("the board is away")
	}
	return b.Board.Extend(ctx, owner, lease, held)
}

// A machine that slept, or a board that was away, for most of a lease: what can still be
// renewed goes on, and what was stopped begins again at once, with a loss counted. The
// lease of what was stopped was renewed once more, and nobody ran the job for all of it.
func TestWhatWasHeldUpGoesOnOrBeginsAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		back   time.Duration // when leases are renewed again; the last time was after 10 s
		losses int
	}{
		"long":     {34500 * time.Millisecond, 0}, // the look at 35 s finds 5 s left
		"too long": {37 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &stingy{Board: memboard.Open()}
				g := newGoScript("go", 8)
				stopped := make(chan time.Time, 9)
				g.on("long", func(ctx context.Context, task script.Task, _ script.Host) script.Outcome {
					select {
					case <-ctx.Done():
						stopped <- time.Now()
						return script.Outcome{Verdict: script.Stopped}
					case <-time.After(time.Minute):
						return ok(nil)
					}
				})
				r := startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, g)
				t.Cleanup(func() { r.stop(); b.Close() })
				r.submit(job(1, "long"))
				time.Sleep(11 * time.Second)
				b.away.Store(true)
				time.Sleep(tt.back - 11*time.Second)
				b.away.Store(false)
				j := r.wait(1)
				if j.Status != domain.JobFinished || j.Losses != tt.losses || j.Attempt != int64(tt.losses+1) {
					t.Errorf("got %+v", j)
				}
				if tt.losses > 0 {
					if idle := time.UnixMilli(j.StartedMs).Sub(<-stopped); idle > time.Second {
						t.Errorf("nobody ran it for %v", idle)
					}
				}
			})
		})
	}
}
