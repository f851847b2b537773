package flow

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file ends flows of steps of which nobody knows any more what their steps are: the
// text of their blueprint is gone from the board, or cannot be read, or what is known of
// the steps does not fit it.

// errPlanless refuses what cannot be done then.
var errPlanless = domain.Conflictf("the text of its blueprint is gone from the board, or cannot be read: it can only be cancelled or deleted")

// planlessRound lets a flow be cancelled and deleted, which wants its jobs and not its
// steps. Of anything else cause is why it cannot go on.
func (t *tending) planlessRound(ctx context.Context, s *seen, cause error) error {
	next := s.State.clone()
	t.planlessOrders(s, &next)
	b := t.batch()
	switch {
	case s.flow.Final() && next.Delete:
		return t.remove(ctx, s, next.Forget)
	case s.flow.Final():
		t.taken(&b, s)
		t.putState(&b, s, next)
		return t.letGo(ctx, s, b)
	case next.Cancelled == "":
		if len(s.orders) > 0 { // What has ended stays where it is, for when the text is back.
			b.TrimRight(layout.FlowOrders(t.ref.id), len(s.orders))
			t.putState(&b, s, next)
			if err := t.board.Commit(ctx, b); err != nil {
				return err
			}
		}
		return cause
	}
	open, err := t.cancelOwn(ctx, s, next.Cancelled)
	if err != nil {
		return err
	}
	next.Redo, next.RedoMs = nil, 0
	t.taken(&b, s)
	t.putState(&b, s, next)
	b.Set(domain.FlowKey(t.ref.id), board.Field{Name: layout.FlowCancel, Value: next.Cancelled})
	if open > 0 {
		return t.letGo(ctx, s, b) // the end of each wakes us
	}
	b.ClearAlarm(layout.FlowAlarm(layout.AlarmFlow, t.ref.id))
	if err := t.endFlow(ctx, &b, nil, s, domain.FlowCancelled, next.cancelledText(), nil, nil); err != nil {
		return err
	}
	if st, there, err := t.readState(ctx, t.ref); there && err == nil {
		b.Set(domain.FlowKey(t.ref.id), layout.IDsField(layout.FlowJobs, jobsOf(len(st.Steps), whole(st.Steps).At))) // they go with it
	}
	if s.flow.Blueprint != "" {
		if err := t.leaveAlive(ctx, &b, s); err != nil {
			return err
		}
	}
	if next.Delete {
		return t.goOn(ctx, s, b) // and it is removed in the next round
	}
	return t.letGo(ctx, s, b)
}

// planlessOrders does what people ask, as far as it can be done.
func (t *tending) planlessOrders(s *seen, next *State) {
	for _, text := range s.orders {
		var o Order
		if json.Unmarshal([]byte(text), &o) != nil {
			continue
		}
		if _, twice := next.answered(o.ID); twice {
			continue
		}
		why := ""
		switch {
		case next.Delete && o.Verb != OrderDelete:
			why = errDeleted.Error()
		case o.Verb == OrderCancel && s.flow.Final():
			why = "the flow has ended"
		case o.Verb == OrderCancel || o.Verb == OrderDelete:
			if !s.flow.Final() && next.Cancelled == "" {
				next.Cancelled = strconv.FormatUint(uint64(o.By), 10)
			}
			if o.Verb == OrderDelete {
				next.Delete, next.Forget = true, next.Forget || o.Forget
			}
		default:
			why = errPlanless.Error()
		}
		next.answer(o.ID, why)
	}
}

// cancelOwn ends the jobs of the flow, and counts those that still run.
func (t *tending) cancelOwn(ctx context.Context, s *seen, by string) (open int64, err error) {
	actor, _ := strconv.ParseUint(by, 10, 32)
	var left atomic.Int64
	var g errgroup.Group
	g.SetLimit(keeperRounds)
	err = t.eachOwn(ctx, s, func(own []domain.JobKey) error {
		names := make([]string, len(own))
		for i, key := range own {
			names[i] = key.String()
		}
		recs, err := board.Readable(t.board.GetFields(ctx, t.ref.space, []string{layout.JobFinishedMs}, names...))
		if err != nil {
			return err
		}
		for i, r := range recs {
			if r == nil || r.Get(layout.JobFinishedMs) != "" {
				continue
			}
			g.Go(func() error {
				job, err := t.work.Cancel(ctx, t.tenant(), own[i], domain.ActorID(actor))
				if errors.Is(err, domain.ErrConflict) || errors.Is(err, domain.ErrNotFound) {
					return nil // it has ended
				}
				if err == nil && !job.Final() {
					left.Add(1)
				}
				return err
			})
		}
		return nil
	})
	err = errors.Join(err, g.Wait())
	return left.Load(), err
}
