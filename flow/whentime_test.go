package flow_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/layout"
)

// slowly has conditions that name it take a second each, and counts them all.
func (r *rig) slowly() (evaluated, atOnce *atomic.Int64) {
	evaluated, atOnce = new(atomic.Int64), new(atomic.Int64)
	var now atomic.Int64
	r.flows.EvalBy(func(text string) {
		evaluated.Add(1)
		atOnce.Store(max(now.Add(1), atOnce.Load()))
		defer now.Add(-1)
		if strings.Contains(text, "slow") {
			time.Sleep(time.Second)
		}
	})
	return evaluated, atOnce
}

// asking are steps of which each has a condition.
func asking(n int, text string) (steps []domain.Step) {
	for i := range n {
		steps = append(steps, step(fmt.Sprint("s", i), "", func(s *domain.Step) { s.When = text }))
	}
	return steps
}

// TestConditionsThatTakeLongAreEvaluatedOnce has more of them than fit into a
// lease: what is known must be written down before that is over.
func TestConditionsThatTakeLongAreEvaluatedOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		evaluated, _ := r.slowly()
		id := r.steps(asking(100, `params.slow == ()`)...)
		time.Sleep(10 * time.Minute)
		if n := evaluated.Load(); n != 100 {
			r.Errorf("%d conditions were evaluated, want 100", n)
		}
		r.want(id, domain.FlowSucceeded, "s0 succeeded", "s99 succeeded")
	})
}

// TestConditionsOfOneContextHoldUpNoOther has more flows of them than a keeper
// looks after at once.
func TestConditionsOfOneContextHoldUpNoOther(t *testing.T) {
	watched.Large(t)
	bubble(t, func(r *rig) {
		contexts := board.Batch{}
		if err := r.board.Commit(r.ctx, *contexts.Include(layout.Contexts, "2")); err != nil {
			r.Fatal(err)
		}
		_, atOnce := r.slowly()
		for range 200 {
			r.steps(asking(50, `params.slow == ()`)...)
		}
		time.Sleep(time.Minute)
		begun := time.Now()
		receipts, err := r.flows.Submit(r.ctx, 2, []flow.Request{{Caller: 1, Plan: blueprint(asking(3, `true`)...)}})
		if err != nil || receipts[0].Err != nil {
			r.Fatal(err, receipts)
		}
		if _, err := r.flows.Wait(r.ctx, 2, receipts[0].ID, nil); err != nil {
			r.Fatal(err)
		}
		if took := time.Since(begun); took > 20*time.Second {
			r.Errorf("the other context's flow took %v", took)
		}
		if n := atOnce.Load(); n > 2 {
			r.Errorf("%d conditions were evaluated at once, want one of each context", n)
		}
	})
}
