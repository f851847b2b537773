package flow_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

func TestMoreHappensThanOneRoundTakesIn(t *testing.T) {
	t.Run("orders", func(t *testing.T) {
		unaudited(t, func(r *rig) {
			var steps []domain.Step
			for i := range 40 {
				steps = append(steps, domain.Step{Name: fmt.Sprint("a", i), Kind: domain.StepApproval})
			}
			id := r.steps(steps...)
			stop := r.run(r.keeper)
			synctest.Wait()
			b := board.Batch{Space: 1}
			for i := range 40 {
				b.PushLeft(layout.FlowOrders(id), fmt.Sprintf(`{"id":"o%d","by":9,"verb":"approve","step":"a%d"}`, i, i))
				b.Countdown(layout.FlowWaits(id), layout.WaitsArmed, queue.Keeper, layout.FlowState(id))
			}
			if err := r.board.Commit(r.ctx, b); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if v := r.show(id); v.Reason != domain.FlowSucceeded {
				t.Errorf("it is %s %s", v.Status, v.Reason)
			}
			stop()
		})
	})
	t.Run("ends of jobs", func(t *testing.T) {
		unaudited(t, func(r *rig) {
			var steps []domain.Step
			for i := range 2500 {
				steps = append(steps, step(fmt.Sprint("a", i), "", maySkip))
			}
			id := r.steps(steps...)
			for range 4 { // more than a thousand jobs of the flow are never queued at once
				stop := r.run(r.keeper)
				time.Sleep(time.Minute)
				stop()
				stop = r.run(r.runner)
				time.Sleep(time.Minute)
				stop()
			}
			if v := r.show(id); v.Reason != domain.FlowSucceeded {
				t.Errorf("it is %s %s, %s%%", v.Status, v.Reason, v.Progress)
			}
		})
	})
}

func TestWhatDoesNotFitOnTheRecordDoesNotHoldUpTheFlow(t *testing.T) {
	t.Run("a result that grows in JSON", func(t *testing.T) {
		eachPlan(t, func(r *rig, plan func(string) *domain.Blueprint) {
			p := plan("set x " + strings.Repeat("<", 120_000))
			p.Steps = p.Steps[:1]
			r.soon(r.submit(flow.Request{Plan: p}), domain.FlowSucceeded)
		})
	})
	t.Run("a setting that is no number", func(t *testing.T) {
		bubble(t, func(r *rig) {
			end := domain.Step{Name: "b", Script: "\n", ScriptType: "words", Needs: []string{"a"}, Pack: &domain.Pack{Size: 1}}
			id := r.steps(step("a", "set steps.b.pack.end "+noise(900_000)), end)
			v := r.soon(id, domain.FlowErrored, "b errored")
			if len(v.Error) > 2000 {
				t.Errorf("the error has %d bytes", len(v.Error))
			}
		})
	})
	t.Run("an order for a step with a very long name", func(t *testing.T) {
		bubble(t, func(r *rig) {
			id := r.steps(step("a", "gate x", maySkip))
			for range 3 {
				if err := r.act(id, flow.Order{Verb: flow.OrderSkip, Step: noise(700_000)}); err == nil {
					t.Error("it was done")
				}
			}
			close(r.words.gate("x"))
			r.soon(id, domain.FlowSucceeded)
		})
	})
}

func TestARoundMakesNoMoreThanFitsIntoOneBatch(t *testing.T) {
	steps := []domain.Step{step("z", "", shards(500, 500), phase(1))}
	for i := range 2_000 {
		steps = append(steps, domain.Step{Name: fmt.Sprint("a", i), Kind: domain.StepApproval})
	}
	state := flow.State{Steps: make([]flow.StepState, len(steps))}
	for i := range state.Steps {
		state.Steps[i].Status = domain.StepSucceeded
	}
	state.Steps[0].Status = domain.StepDormant
	// Each job is told of all steps of the phase before.
	_, d := flow.Advance(flow.NewPlan(blueprint(steps...)), state, flow.Facts{Now: time.Now()})
	if n := len(d.Make); n == 0 || n > 20 || !d.More {
		t.Errorf("it makes %d jobs, more %v", n, d.More)
	}
}
