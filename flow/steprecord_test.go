package flow_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/layout"
)

// longChain is a chain of n steps that a keeper moves on.
func longChain(n int, text func(i int) string) *domain.Blueprint {
	var steps []domain.Step
	for i := range n {
		s := step("s"+strconv.Itoa(i), text(i), mayFail)
		if i > 0 {
			s.Needs = []string{"s" + strconv.Itoa(i-1)}
		}
		steps = append(steps, s)
	}
	return blueprint(steps...)
}

// TestAFlowOfAnEarlierVersionGoesOn has a state in one field that knows nothing of how
// the needs of steps have ended.
func TestAFlowOfAnEarlierVersionGoesOn(t *testing.T) {
	bubble(t, func(r *rig) {
		r.flows.Spread(1_000, 32, 200)
		id := r.submit(flow.Request{Plan: longChain(80, func(i int) string {
			if i == 40 {
				return "gate here"
			}
			return ""
		})})
		synctest.Wait()
		key := layout.FlowState(id)
		recs, err := r.board.Get(r.ctx, 1, key)
		if err != nil || recs[0].Get(layout.FlowStateRecords) != "" {
			t.Fatalf("got %v, %v", recs, err)
		}
		old := regexp.MustCompile(`"(met|worst)":\d+,?`).ReplaceAllString(recs[0].Get(layout.FlowStateData), "")
		b := board.Batch{Space: 1}
		if err := r.board.Commit(r.ctx, *b.Set(key, board.Field{Name: layout.FlowStateData, Value: old})); err != nil {
			t.Fatal(err)
		}
		r.flows.Spread(32, 32, 200)
		close(r.words.gate("here"))
		v := r.want(id, domain.FlowSucceeded)
		recs, err = r.board.Get(r.ctx, 1, key, layout.FlowSteps(id, 2))
		if err != nil || recs[0].Get(layout.FlowStateRecords) != "3" || recs[0].Get(layout.FlowStateChanged) != "" || len(recs[1]) != 16 {
			t.Errorf("the steps do not lie for themselves: %v, %v", recs, err)
		}
		if len(v.Jobs) != 80 {
			t.Errorf("the flow has %d jobs, want 80", len(v.Jobs))
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderDelete})
		synctest.Wait()
		r.nothingLeft()
	})
}

func TestWhatChangesManyStepsIsPutToThem(t *testing.T) {
	bubble(t, func(r *rig) {
		var steps []domain.Step
		const n = 700
		for i := range n {
			s := step(fmt.Sprint("s", i), "", maySkip)
			if i > 0 {
				s.Needs = []string{"s0"}
			}
			steps = append(steps, s)
		}
		steps[0].Script = "crashonce\n"
		id := r.submit(flow.Request{Plan: blueprint(steps...)})
		v := r.want(id, domain.FlowErrored)
		if v.Steps[n-1].Status != domain.StepSkippedByError {
			t.Errorf("the last is %s", v.Steps[n-1].Status)
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		v = r.want(id, domain.FlowSucceeded)
		if v.Steps[n-1].Status != domain.StepSucceeded || len(v.Jobs) != n || v.Progress != "100.00" {
			t.Errorf("the last is %s; %d jobs, %s done", v.Steps[n-1].Status, len(v.Jobs), v.Progress)
		}
	})
}

func TestAFlowOfStepsCostsItsStepsWhateverItsSize(t *testing.T) {
	watched.Large(t)
	none := func(int) string { return "" }
	cost := func(n int) cost {
		return costOfFlow(t, n, flow.Request{Plan: longChain(n, none)}, func(*rig, domain.FlowView) {})
	}
	small, large := cost(100), cost(2_000)
	t.Logf("of each step of 100: %+v; of 2000: %+v", small, large)
	if large.bytes > 1.5*small.bytes || large.batches > 1.5*small.batches || large.reads > 1.5*small.reads || large.ops > 1.5*small.ops {
		t.Errorf("a step costs %+v in a flow of 100, %+v in one of 2000", small, large)
	}
}
