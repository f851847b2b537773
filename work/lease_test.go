package work_test

import (
	"context"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
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
func TestAJobWhoseLeaseHasRunOutIsNotBegun(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		inner := memboard.Open()
		defer inner.Close()
		late, other := newGoScript("go", 1), newGoScript("go", 1)
		slow := slowBoard{inner, 40 * time.Second}
		r := by.startRig(t, slow, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a", Lease: 12 * time.Second}, late)
		defer r.stop()
		r.submit(job(1, "ok"))
		time.Sleep(time.Second)
		second := by.startRig(t, inner, work.Config{}, work.RunnerConfig{ID: 2, Owner: "n2/a", Lease: 12 * time.Second}, other)
		defer second.stop()
		j := second.want(1, domain.JobFinished, "")
		time.Sleep(time.Minute)
		if late.count(key(1)) != 0 || other.count(key(1)) != 1 || j.Attempt != 2 {
			t.Errorf("begun %d times by the late one and %d times by the other, at attempt %d; want 0, 1, 2", late.count(key(1)), other.count(key(1)), j.Attempt)
		}
	})
}
