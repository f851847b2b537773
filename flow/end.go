package flow

import (
	"context"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// This file writes what becomes of a flow on its record.

// record adds to b what the flow's own record says now. reopened is true where
// it had ended, and goes on.
func (t *tending) record(ctx context.Context, b *board.Batch, plan *Plan, s *seen, v *verdict) (reopened bool, err error) {
	key := domain.FlowKey(t.ref.id)
	fields := []board.Field{{Name: layout.FlowUpdatedAt, Value: strconv.FormatInt(s.now.Unix(), 10)}}
	set := func(name, value string) { fields = append(fields, board.Field{Name: name, Value: value}) }
	if s.flow.Status == domain.FlowDispatched && v.begun() {
		s.flow.Status, s.flow.StartedMs = domain.FlowStarted, s.now.UnixMilli()
		set(layout.FlowStatus, string(domain.FlowStarted))
		set(layout.FlowStartedMs, strconv.FormatInt(s.flow.StartedMs, 10))
	}
	if reopened = v.Reopened && s.flow.Final(); reopened {
		if err := t.reopen(ctx, b, plan, s); err != nil {
			return false, err
		}
	}
	if whole := s.Sums == nil; whole && len(v.Make) > 0 || v.End != "" {
		fields = append(fields, layout.IDsField(layout.FlowJobs, v.jobs(plan)))
	}
	if v.next.Cancelled != "" {
		set(layout.FlowCancel, v.next.Cancelled)
	}
	set(layout.FlowProgress, progressText(v.next.Sums.Done/plan.weight))
	awaits := v.next.Sums.awaits()
	if v.End != "" {
		awaits = ""
	}
	if awaits != s.flow.Awaits && awaits != "" {
		set(layout.FlowAwaits, string(awaits))
	}
	b.Set(key, fields...)
	if awaits != s.flow.Awaits && awaits == "" {
		b.Unset(key, layout.FlowAwaits)
	}
	return reopened, nil
}

// begun reports whether a step is not as all begin.
func (v *verdict) begun() bool {
	for _, st := range v.changed {
		if st.Status != domain.StepDormant {
			return true
		}
	}
	return false
}

// jobs are those of single steps, in the order in which they were made, where all steps
// are known. Those of a large flow stand on its record when it has ended: one that is
// rewritten with each of thousands of jobs would be most of what the flow costs.
func (v *verdict) jobs(plan *Plan) []domain.JobID { return jobsOf(len(plan.Steps), v.at) }

// jobsOf are the jobs of single steps, of all their rounds.
func jobsOf(steps int, at func(i int) *StepState) (ids []domain.JobID) {
	for i := range steps {
		st := at(i)
		if st == nil {
			continue
		}
		if st.Job != 0 {
			ids = append(ids, st.Job)
		}
		for id := range st.Earlier.all() {
			ids = append(ids, domain.JobID(id))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// reopen adds to b that a flow which had ended goes on.
func (t *tending) reopen(ctx context.Context, b *board.Batch, plan *Plan, s *seen) error {
	late, err := t.hook(ctx, t.tenant(), plan, domain.HookLate)
	if err != nil {
		return err
	}
	key := domain.FlowKey(t.ref.id)
	s.flow.Status = domain.FlowStarted
	b.Set(key, board.Field{Name: layout.FlowStatus, Value: string(domain.FlowStarted)})
	b.Unset(key, layout.FlowReason, layout.FlowError, layout.FlowFinishedMs, layout.FlowCancel)
	b.Add(key, layout.FlowRetried, 1).Add(key, layout.FlowStale, 1)
	b.Live(key, s.now)
	setLate(b, late, &s.flow, s.now)
	if plan != nil && plan.UniqueAlive {
		// It takes the place again, which is free: see rival. Who takes it first has it.
		b.Absent(aliveOf(&s.flow))
		b.Set(aliveOf(&s.flow), board.Field{Name: layout.FlowNameID, Value: strconv.FormatUint(uint64(t.ref.id), 10)})
	}
	return nil
}

// rival is the flow that lives where its blueprint wants only one at a time, and
// this one has ended and is asked for something; "" where there is none.
func (t *tending) rival(ctx context.Context, plan *Plan, s *seen) (string, error) {
	if plan == nil || !plan.UniqueAlive || !s.flow.Final() || len(s.orders) == 0 {
		return "", nil
	}
	recs, err := t.board.Get(ctx, t.ref.space, aliveOf(&s.flow))
	if err != nil {
		return "", err
	}
	return recs[0].Get(layout.FlowNameID), nil
}

// rivalled says why a flow that has ended cannot go on.
func rivalled(rival string) error {
	if rival == "" {
		return nil
	}
	return domain.Conflictf("flow %s of its blueprint is alive, which wants only one at a time (unique_alive); wait until that has ended, or cancel it", rival)
}

// end adds to b that the flow has ended.
func (t *tending) end(ctx context.Context, b *board.Batch, plan *Plan, s *seen, v *verdict) error {
	result, err := t.result(ctx, plan, s, v)
	if err != nil {
		return err
	}
	if err := t.endFlow(ctx, b, plan, s, v.End, v.Why, result, v.at); err != nil {
		return err
	}
	if plan.UniqueAlive {
		return t.leaveAlive(ctx, b, s)
	}
	return nil
}

// endFlow adds to b that a flow has ended, and calls its hook. at, where it is given, are the
// steps of a flow as this round has made them.
func (t *tending) endFlow(ctx context.Context, b *board.Batch, plan *Plan, s *seen, reason domain.FlowReason, why string, result map[string]string,
	at func(i int) *StepState) error {
	t.endRecord(b, s, reason, why, result)
	if s.Line != "" {
		if err := t.leaveLine(ctx, b, t.ref.space, s.Line, entryOf(t.ref.id, s.LineMax)); err != nil {
			return err
		}
	}
	return t.callEnd(ctx, b, plan, reason, at, func(f *domain.FlowView) {
		f.Status, f.Reason, f.Error, f.Result, f.FinishedMs = statusOf(reason), reason, "", result, s.now.UnixMilli()
		if reason != domain.FlowSucceeded {
			f.Error = why
		}
		if f.StartedMs == 0 {
			f.StartedMs = s.flow.StartedMs
		}
	})
}

// statusOf is the status of a flow that has ended so.
func statusOf(reason domain.FlowReason) domain.FlowStatus {
	if reason == domain.FlowSucceeded {
		return domain.FlowFinished
	}
	return domain.FlowError
}

// endRecord writes the end of a flow on its record.
func (t *tending) endRecord(b *board.Batch, s *seen, reason domain.FlowReason, why string, result map[string]string) {
	key := domain.FlowKey(t.ref.id)
	s.reason = reason
	status := statusOf(reason)
	fields := []board.Field{
		{Name: layout.FlowStatus, Value: string(status)},
		{Name: layout.FlowReason, Value: string(reason)},
		{Name: layout.FlowUpdatedAt, Value: strconv.FormatInt(s.now.Unix(), 10)},
		{Name: layout.FlowFinishedMs, Value: strconv.FormatInt(s.now.UnixMilli(), 10)},
		layout.MapField(layout.FlowResult, result),
	}
	if reason == domain.FlowSucceeded {
		fields = append(fields, board.Field{Name: layout.FlowProgress, Value: progressText(1)})
	} else if why != "" {
		fields = append(fields, board.Field{Name: layout.FlowError, Value: why})
	}
	b.Set(key, fields...)
	b.Settle(key)
	layout.Ended(b, key, s.now, layout.FailedFlows, status == domain.FlowError)
	t.tellParent(b, s, reason, why, result)
	if alarm := layout.CalledAlarm(s.flow.CalledBy, s.flow.CallerID); alarm != "" {
		b.SetAlarm(alarm, s.now)
	}
	if s.flow.Backfill {
		b.SetAlarm(layout.BackfillAlarm(s.flow.Schedule), s.now)
	}
	if m := s.flow.Message; m != "" {
		b.Countdown(m, layout.MessageOpen, queue.PostResult, m)
	}
}

// leaveAlive makes room for another flow of a blueprint that allows only one.
func (t *tending) leaveAlive(ctx context.Context, b *board.Batch, s *seen) error {
	key := aliveOf(&s.flow)
	recs, err := t.board.Get(ctx, t.ref.space, key)
	if err != nil {
		return err
	}
	mine := strconv.FormatUint(uint64(t.ref.id), 10)
	if recs[0].Get(layout.FlowNameID) == mine {
		b.Equal(key, layout.FlowNameID, mine).Delete(key)
	}
	return nil
}
