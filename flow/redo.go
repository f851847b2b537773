package flow

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file starts jobs again, as a retry has decided.

// redo starts jobs again that ended badly, as a retry has decided. A keeper
// that died in the middle is followed by one that does the rest: a job that
// has ended since is not started once more.
func (t *tending) redo(ctx context.Context, plan *Plan, s *seen) error {
	gone := make([]bool, len(s.Redo))
	var g errgroup.Group
	g.SetLimit(keeperRounds)
	for i, id := range s.Redo {
		g.Go(func() (err error) {
			gone[i], err = t.again(ctx, domain.JobKey{Caller: s.caller, ID: id}, s.RedoMs)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var lost []part
	for i, id := range s.Redo {
		if gone[i] {
			lost = append(lost, part{job: id})
		}
	}
	for _, c := range s.RedoFlows {
		if gone, err := t.redoChild(ctx, s, c); err != nil {
			return err
		} else if gone {
			lost = append(lost, part{flow: c.Flow})
		}
	}
	if len(lost) > 0 {
		if err := t.know(ctx, s, plan.order); err != nil {
			return err
		}
	}
	head := s.State
	head.Steps = nil
	next, changed := forget(plan, head, s.known, lost)
	if s.known.bad != nil {
		return s.known.bad
	}
	next.Redo, next.RedoFlows, next.RedoMs = nil, nil, 0
	b := t.batch()
	t.putSteps(&b, s, next, changed)
	return t.board.Commit(ctx, b)
}

// lastEnd is the instant by which all of these jobs had ended. What ends later
// has been started again. Other nodes' clocks wrote the ends: ours may be late.
func (t *tending) lastEnd(ctx context.Context, s *seen, jobs []domain.JobID) (int64, error) {
	last := s.now.UnixMilli()
	for page := range slices.Chunk(jobs, plainPage) {
		keys := make([]string, len(page))
		for i, id := range page {
			keys[i] = domain.JobKey{Caller: s.caller, ID: id}.String()
		}
		recs, err := t.board.GetFields(ctx, t.ref.space, []string{layout.JobFinishedMs}, keys...)
		if err != nil {
			return 0, err
		}
		for _, r := range recs {
			ms, _ := strconv.ParseInt(r.Get(layout.JobFinishedMs), 10, 64)
			last = max(last, ms)
		}
	}
	return last, nil
}

// again starts one job again. gone is true where its record is not there any
// more.
func (t *tending) again(ctx context.Context, key domain.JobKey, before int64) (gone bool, err error) {
	j, err := t.work.Show(ctx, t.tenant(), key)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return true, nil
	case err != nil:
		return false, err
	case j.Status != domain.JobError || j.FinishedMs > before:
		return false, nil // it was started again already
	}
	err = t.work.RetryInFlow(ctx, t.tenant(), key)
	if errors.Is(err, domain.ErrConflict) {
		err = nil
	}
	return false, err
}

// forget takes back the units of jobs that are gone, so that others are made. All steps
// must be known where there are any.
func forget(plan *Plan, head State, steps Steps, gone []part) (next State, changed map[int]*StepState) {
	a := newAdvancer(plan, head, steps, Facts{})
	if len(gone) == 0 {
		return a.s, nil
	}
	of, flows := a.openParts()
	for _, it := range gone {
		i, open := of[it.job]
		if it.flow != 0 {
			i, open = flows[it.flow]
		}
		if !open {
			continue
		}
		st, was := a.lift(i)
		k := slices.IndexFunc(st.Open, func(u Unit) bool { return u.part() == it })
		u := st.Open[k]
		u.Job, u.Flow, u.Gone, u.Ends, u.DueMs = 0, 0, u.Flow, 0, 0
		st.Open = slices.Delete(st.Open, k, k+1)
		st.Lost = append(st.Lost, u)
		st.Status = domain.StepOpen
		a.settle(i, was)
	}
	return a.s, a.changed
}
