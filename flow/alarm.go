package flow

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// HandleAlarm does what an alarm of a flow asks for. It reports whether the
// alarm is one of ours; losing a race is no error.
func (e *Engine) HandleAlarm(ctx context.Context, a board.Alarm) (ours bool, err error) {
	if a.Name == layout.FlowScan {
		return true, e.scanAlarm(ctx, a)
	}
	kind, id, ok := layout.ParseFlowAlarm(a.Name)
	if !ok {
		return false, nil
	}
	switch kind {
	case layout.AlarmFlow:
		b := board.Batch{Space: a.Space}
		b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)
		wake(&b, id)
		err = e.board.Commit(ctx, b)
	case layout.AlarmFlowWrite:
		err = e.sweepWrite(ctx, a, id)
	case layout.AlarmFlowLate:
		err = e.lateAlarm(ctx, a, id)
	case layout.AlarmFlowPrune:
		err = e.pruneAlarm(ctx, a, id)
	default:
		return false, nil
	}
	if errors.Is(err, domain.ErrConflict) {
		err = nil
	}
	return true, err
}

// sweepWrite removes what there is of a large flow that was not written to its
// end: whoever wrote it was told so, or is dead.
func (e *Engine) sweepWrite(ctx context.Context, a board.Alarm, id domain.FlowID) error {
	p := ref{a.Space, id}
	recs, err := e.board.Get(ctx, a.Space, layout.FlowState(id))
	if err != nil {
		return err
	}
	s, err := decodeState(id, recs[0])
	if recs[0] == nil || err != nil || !s.Writing {
		b := board.Batch{Space: a.Space}
		b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)
		return e.board.Commit(ctx, b)
	}
	// From here on its writer cannot go on.
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).SetAlarm(a.Name, a.At.Add(time.Millisecond))
	b.Set(domain.FlowKey(id), board.Field{Name: layout.FlowStatus, Value: string(domain.FlowError)})
	if err := e.board.Commit(ctx, b); err != nil {
		return err
	}
	if err := e.removeJobs(ctx, p, s.jobs()); err != nil {
		return err
	}
	last := board.Batch{Space: a.Space}
	last.ClearAlarm(a.Name)
	e.removeRecords(&last, p, s.records, s.parts)
	return e.board.Commit(ctx, last)
}

// jobs are those of a plain flow.
func (s *stored) jobs() []domain.JobKey {
	keys := make([]domain.JobKey, s.count)
	for n := range keys {
		keys[n] = s.job(n)
	}
	return keys
}

// removeJobs removes those of the jobs that are the flow's, with all that
// belongs to them, as long as the guards hold. An id that was drawn for a flow
// may be another's: then the flow was never written to its end.
func (e *Engine) removeJobs(ctx context.Context, p ref, keys []domain.JobKey, guards ...board.Guard) error {
	for page := range slices.Chunk(keys, removePage) {
		names := make([]string, len(page))
		for i, key := range page {
			names[i] = key.String()
		}
		own, err := e.own(ctx, p, names)
		if err != nil {
			return err
		}
		if len(own) == 0 {
			continue
		}
		b := board.Batch{Space: p.space, Guards: slices.Clone(guards)}
		for i, key := range own {
			work.Remove(&b, key)
			if i+1 < len(own) && len(b.Guards)+len(b.Ops) < board.MaxOps-removeRoom {
				continue
			}
			if err := e.board.Commit(ctx, b); err != nil {
				return err
			}
			b = board.Batch{Space: p.space, Guards: slices.Clone(guards)}
		}
	}
	return nil
}

// own are those keys that are of jobs of the flow.
func (e *Engine) own(ctx context.Context, p ref, keys []string) (own []domain.JobKey, err error) {
	recs, err := board.Readable(e.board.GetFields(ctx, p.space, []string{layout.JobFlowID}, keys...))
	if err != nil {
		return nil, err
	}
	for i, r := range recs {
		key, err := domain.ParseJobKey(keys[i])
		if err == nil && ownJob(r, p.id) {
			own = append(own, key)
		}
	}
	return own, nil
}

// ownJob reports whether the record of a job says that it is the flow's.
func ownJob(r board.Record, id domain.FlowID) bool {
	return r != nil && r.Get(layout.JobFlowID) == strconv.FormatUint(uint64(id), 10)
}

// removeUnits removes the jobs of a flow's steps. All jobs of the caller are
// looked at: the state does not name units that ended well, which of an endless
// step are without number.
func (t *tending) removeUnits(ctx context.Context, s *seen) error {
	return t.eachOwn(ctx, s, func(own []domain.JobKey) error { return t.removeJobs(ctx, t.ref, own) })
}

// eachOwn calls do with the jobs of the flow, page by page, as their records say whose
// they are.
func (t *tending) eachOwn(ctx context.Context, s *seen, do func(own []domain.JobKey) error) error {
	prefix := layout.JobPrefix + strconv.FormatUint(uint64(s.caller), 10) + ":"
	for cursor := ""; ; {
		if err := t.renew(ctx); err != nil {
			return err
		}
		keys, next, err := t.board.Keys(ctx, t.ref.space, prefix, cursor, listPage)
		if err != nil {
			return err
		}
		own, err := t.own(ctx, t.ref, keys)
		if err != nil {
			return err
		}
		if err := do(own); err != nil {
			return err
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

const (
	// removePage is how many jobs are looked at, to be removed, at once.
	removePage = 100
	// removeRoom is more than what one of them takes of a batch.
	removeRoom = 32
)

// stepRecords is how many records the steps of a flow have, and its blueprint.
func (e *Engine) stepRecords(ctx context.Context, p ref) (steps, parts, lists int, err error) {
	recs, err := e.board.GetFields(ctx, p.space, []string{layout.FlowStateRecords, layout.FlowStatePlan, layout.FlowStateLists}, layout.FlowState(p.id))
	if err != nil {
		return 0, 0, 0, err
	}
	steps, _ = strconv.Atoi(recs[0].Get(layout.FlowStateRecords))
	parts, _ = strconv.Atoi(recs[0].Get(layout.FlowStatePlan))
	lists, _ = strconv.Atoi(recs[0].Get(layout.FlowStateLists))
	return steps, parts, lists, nil
}

// removeRecords adds to b that a flow's own records go, and those of its steps and of its
// blueprint. Who writes there may have written any number.
func (e *Engine) removeRecords(b *board.Batch, p ref, steps, parts int) {
	steps, parts = max(0, min(steps, maxStepRecords)), max(0, min(parts, maxPlanParts))
	for n := range parts {
		b.Delete(layout.FlowPlanPart(p.id, n))
	}
	for _, key := range ownRecords(p.id) {
		b.Delete(key)
	}
	for n := range steps {
		b.Delete(layout.FlowSteps(p.id, n))
	}
	b.ClearAlarm(layout.FlowAlarm(layout.AlarmFlow, p.id))
	b.ClearAlarm(layout.FlowAlarm(layout.AlarmFlowPrune, p.id))
}

// ownRecords are the keys of a flow's own records.
func ownRecords(id domain.FlowID) []string {
	return []string{domain.FlowKey(id), layout.FlowState(id), layout.FlowWaits(id), layout.FlowEnded(id), layout.FlowOrders(id),
		layout.FlowParams(id), layout.FlowAdded(id), layout.FlowPlan(id)}
}
