package flow

import (
	"context"
	"slices"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// For tests from outside.

// NewSums are those of a new flow.
func NewSums(p *Plan) *Sums {
	head, _ := spread(p, State{})
	return head.Sums
}

// Spread is a state with sums instead of its steps, and the steps.
func Spread(p *Plan, s State) (head State, steps []StepState) { return spread(p, s) }

// Spread has the steps of flows of more than whole steps lie for themselves, so many in a
// record at least, and so many written in one commit at most.
func (e *Engine) Spread(whole, record, commit int) { e.spread = spreading{whole, record, commit} }

// Forget takes back the units of children that are gone.
func Forget(p *Plan, s State, children ...domain.FlowID) State {
	lost := make([]part, len(children))
	for i, id := range children {
		lost[i].flow = id
	}
	head := s
	head.Steps = nil
	next, changed := forget(p, head, whole(s.Steps), lost)
	next.Sums, next.Steps = nil, slices.Clone(s.Steps)
	for i, st := range changed {
		next.Steps[i] = *st
	}
	return next
}

// StateOf is what is remembered of a flow, with all its steps.
func (e *Engine) StateOf(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (State, error) {
	s, _, err := e.readState(ctx, ref{layout.SpaceOf(tenant), id})
	return s.State, err
}

// EvalBy has conditions take as long as f, and then hold.
func (e *Engine) EvalBy(f func(text string)) {
	e.eval = func(_ context.Context, text string, _ map[string]string, _ map[string]needed) WhenAnswer {
		f(text)
		return WhenAnswer{Holds: true}
	}
}

// Narrowed is what becomes of a window while many wait.
var Narrowed = narrowed
