package flow

import (
	"context"
	"fmt"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// This file has what a flow tells the one that made it, its parent.

// outcomeOf is how the end of a child counts for its step.
func outcomeOf(reason domain.FlowReason) work.Outcome {
	switch reason {
	case domain.FlowSucceeded:
		return work.OutcomeSucceeded
	case domain.FlowFailed:
		return work.OutcomeFailed
	case domain.FlowCancelled:
		return work.OutcomeCancelled
	}
	return work.OutcomeErrored
}

// endOf is which of its ends a child has come to: two for each time that it was started, as
// it may have to say that it was not started again.
func endOf(f *domain.Flow) int64 { return 2*int64(f.Retried) + 1 }

// childEnding is the entry by which the end of a child stands on its parent, with the result
// that the child has then. Of one that was too large the parent would go on with a part.
func childEnding(id domain.FlowID, reason domain.FlowReason, nth int64, why string, result map[string]string) string {
	text := ""
	if reason == domain.FlowSucceeded && result[resultCut] != "" {
		return work.FlowEnding(id, nth, work.OutcomeErrored, fmt.Sprintf("%s has succeeded with a result of more than %d bytes: "+
			"name what is wanted of it under its blueprint's output, and hand on large things as artifacts", domain.FlowKey(id), maxResultBytes))
	}
	if reason != domain.FlowSucceeded {
		text = fmt.Sprintf("%s %s: %s", domain.FlowKey(id), reason, why)
	}
	return work.FlowEnding(id, nth, outcomeOf(reason), text)
}

// tellParent adds to b that the flow has ended, for the step that made it, if that is there.
func (t *tending) tellParent(b *board.Batch, s *seen, reason domain.FlowReason, why string, result map[string]string) {
	p := s.flow.Parent
	if p == nil || s.parent == "" {
		return
	}
	b.Equal(domain.FlowKey(p.Flow), layout.FlowCaller, s.parent) // it is still there
	most := domain.MaxItemBytes
	if p.One {
		most = 2 * maxResultBytes
	}
	if reason == domain.FlowSucceeded && result[resultCut] == "" {
		work.PutResult(b, p.Flow, p.List, p.Index, most, s.flow.Key(), result)
	}
	b.PushLeft(layout.FlowEnded(p.Flow), childEnding(t.ref.id, reason, endOf(&s.flow), why, result))
	wake(b, p.Flow)
}

// retell tells the parent anew of a flow that it has asked to start again, and that will not:
// it would wait for ever.
func (t *tending) retell(b *board.Batch, s *seen, reason domain.FlowReason, why string) {
	p := s.flow.Parent
	if p == nil || s.parent == "" {
		return
	}
	b.Equal(domain.FlowKey(p.Flow), layout.FlowCaller, s.parent)
	b.PushLeft(layout.FlowEnded(p.Flow), childEnding(t.ref.id, reason, endOf(&s.flow)+1, why, s.flow.Result))
	wake(b, p.Flow)
}

// retellRefused does so where an order was refused.
func (t *tending) retellRefused(b *board.Batch, s *seen, next *State) {
	if s.flow.Parent == nil || !s.flow.Final() {
		return
	}
	for _, a := range next.Answers {
		if _, before := s.answered(a.ID); !before && a.Error != "" && strings.HasPrefix(a.ID, redoOrder) {
			t.retell(b, s, s.flow.Reason, "it could not be started again: "+a.Error)
			return
		}
	}
}

// redoOrder begins the id of an order by which a flow starts a child again.
const redoOrder = "redo:"

// lookParent finds whether the flow that the flow is for is there.
func (t *tending) lookParent(ctx context.Context, s *seen) error {
	if s.flow.Parent == nil {
		return nil
	}
	recs, err := t.board.GetFields(ctx, t.ref.space, []string{layout.FlowCaller}, domain.FlowKey(s.flow.Parent.Flow))
	if err == nil {
		s.parent = recs[0].Get(layout.FlowCaller)
	}
	return err
}
