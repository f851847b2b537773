package flow

import (
	"context"
	"errors"
	"fmt"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// plainRetry looks for what a retry would start again.
func (t *tending) plainRetry(ctx context.Context, s *seen, next *State, o Order) (why string, err error) {
	if !s.flow.Final() {
		return "the flow has not ended; cancel it first, or wait", nil
	}
	if s.flow.Reason == domain.FlowSucceeded {
		return "the flow has succeeded: there is nothing to start again", nil
	}
	plan, err := t.planOf(ctx, s)
	if errors.Is(err, domain.ErrNotFound) {
		return errPlanless.Error(), nil
	} else if err != nil {
		return "", err
	}
	rival, err := t.rival(ctx, plan, s)
	if err != nil {
		return "", err
	}
	if err := rivalled(rival); err != nil {
		return err.Error(), nil
	}
	failures, others := 0, 0
	var again []*domain.Job
	err = t.eachPlain(ctx, s, layout.JobLine, func(key domain.JobKey, r board.Record) error {
		if r == nil {
			return nil
		}
		j, _ := layout.DecodeJob(key, r)
		switch what := work.OutcomeOf(j); what {
		case work.OutcomeSucceeded:
			return nil
		case work.OutcomeFailed:
			if failures++; !o.Failed {
				return nil
			}
		case work.OutcomeErrored, work.OutcomeCancelled:
			others++
		}
		again = append(again, j)
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case others == 0 && failures > 0 && !o.Failed:
		return fmt.Sprintf("nothing of the flow ended in error, but %d of it failed: say so (--failed) to start that again too", failures), nil
	case len(again) == 0:
		return "nothing of the flow ended in error", nil
	}
	// Each after those it depends on: a foreign program lists them in any order.
	ordered, err := domain.OrderJobs(again)
	if err != nil {
		return err.Error(), nil
	}
	next.Aborted, next.Cancelled, next.Swept = "", "", false
	next.Redo = make([]domain.JobID, len(ordered))
	for i, j := range ordered {
		next.Redo[i] = j.ID
	}
	next.RedoMs, err = t.lastEnd(ctx, s, next.Redo)
	return "", err
}

// restartPlain opens a flow again that had ended. Its counter is kept from zero
// while its jobs are started again.
func (t *tending) restartPlain(ctx context.Context, s *seen, b board.Batch, next State) error {
	t.putState(&b, s, next)
	plan, err := t.planOf(ctx, s)
	if err != nil {
		return err
	}
	if err := t.reopen(ctx, &b, plan, s); err != nil {
		return err
	}
	b.Add(layout.FlowWaits(t.ref.id), layout.WaitsPlain, 1)
	return t.goOn(ctx, s, b)
}

// redoPlain starts jobs again, each after those it depends on.
func (t *tending) redoPlain(ctx context.Context, s *seen) error {
	for _, id := range s.Redo {
		if err := t.renew(ctx); err != nil {
			return err
		}
		if _, err := t.again(ctx, domain.JobKey{Caller: s.caller, ID: id}, s.RedoMs); err != nil {
			return err
		}
	}
	next := s.State.clone()
	next.Redo, next.RedoMs = nil, 0
	b := t.batch()
	t.putState(&b, s, next)
	b.Add(layout.FlowWaits(t.ref.id), layout.WaitsPlain, -1)
	return t.board.Commit(ctx, b)
}
