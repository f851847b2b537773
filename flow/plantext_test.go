package flow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

// largePlan is a blueprint whose text, deflated too, is longer than a field may be.
func largePlan(change ...func(*domain.Step)) *domain.Blueprint {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-"
	random := rand.New(rand.NewPCG(1, 2))
	var steps []domain.Step
	for i := range 4 {
		var text strings.Builder
		for range 500 << 10 {
			text.WriteByte(letters[random.IntN(len(letters))])
		}
		s := step(fmt.Sprint("s", i), "", change...)
		s.Params = nil
		s.Script = "ok " + text.String()
		if i > 0 {
			s.Needs = []string{fmt.Sprint("s", i-1)}
		}
		steps = append(steps, s)
	}
	return blueprint(steps...)
}

// remaining are the keys of flows and of jobs that a board has.
func remaining(t *testing.T, b board.Board) (keys []string) {
	for _, prefix := range []string{layout.FlowPrefix, "ramet:flow:", layout.JobPrefix} {
		found, _, err := b.Keys(context.Background(), 1, prefix, "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, found...)
	}
	return keys
}

func TestAFlowWhoseBlueprintIsLargeLiesInParts(t *testing.T) {
	for name, change := range map[string][]func(*domain.Step){"plain": nil, "of steps": {mayFail}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memboard.Open()
				r := newRigOn(t, b, flow.Config{})
				id := r.submit(flow.Request{Plan: largePlan(change...)})
				r.want(id, domain.FlowSucceeded)
				other := flow.New(b, r.work, flow.Config{}) // it has to read the parts
				plan, err := other.Plan(t.Context(), 1, id)
				if err != nil || len(plan.Steps) != 4 || plan.Steps[3].Script != largePlan().Steps[3].Script {
					t.Fatalf("the blueprint is not what was submitted: %v", err)
				}
				r.mustAct(id, flow.Order{Verb: flow.OrderDelete, By: 1})
				time.Sleep(time.Minute)
				synctest.Wait()
				if keys := remaining(t, b); len(keys) > 0 {
					t.Errorf("of the flow that was deleted is left %v", keys)
				}
				r.stop()
			})
		})
	}
}

// failing is a board whose nth commit that writes a part of a blueprint, or of the steps,
// and all after that, are lost: the writer has died.
type failing struct {
	board.Board
	after int
}

func (f *failing) Commit(ctx context.Context, b board.Batch) error {
	for _, op := range b.Ops {
		if strings.HasSuffix(op.Key, ":plan") || strings.HasSuffix(op.Key, ":steps") {
			f.after--
		}
	}
	if f.after < 0 {
		return errors.New("the writer is dead")
	}
	return f.Board.Commit(ctx, b)
}

func TestALargeFlowThatIsNotWrittenToItsEndIsSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		r := newRigOn(t, b, flow.Config{})
		dying := flow.New(&failing{b, 2}, r.work, flow.Config{})
		receipts, err := dying.Submit(t.Context(), 1, []flow.Request{{Caller: 1, Plan: largePlan(mayFail), Trigger: "once"}})
		if err != nil || receipts[0].Err == nil {
			t.Fatalf("got %v, %v, want an error", receipts, err)
		}
		if len(remaining(t, b)) == 0 {
			t.Fatal("nothing was written: this tests nothing")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if keys := remaining(t, b); len(keys) > 0 {
			t.Errorf("of the flow that was not written to its end is left %v", keys)
		}
		if len(r.words.seen) > 0 {
			t.Error("it has begun")
		}
		r.want(r.submit(flow.Request{Plan: largePlan(mayFail), Trigger: "once"}), domain.FlowSucceeded)
		r.stop()
	})
}
