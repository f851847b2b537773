package flow

import (
	"context"
	"fmt"
	"slices"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// This file makes the jobs of a step: one for each of its units.

// makeJobs adds to b the jobs of units, and gives the units their ids.
func (t *tending) makeJobs(ctx context.Context, b *board.Batch, plan *Plan, s *seen, v *verdict) error {
	places := v.Make
	if len(places) == 0 {
		return nil
	}
	first, err := t.drawJobs(ctx, t.ref.space, s.caller, len(places))
	if err != nil {
		return err
	}
	items, err := t.itemsOf(ctx, plan, v, places)
	if err != nil {
		return err
	}
	needs := map[int]map[string]domain.Need{}
	queues := map[string][]string{}
	var names []string
	for n, at := range places {
		step, st := &plan.Steps[at.Step], v.changed[at.Step]
		u := &st.Open[at.Open]
		u.Job = first + domain.JobID(n)
		if needs[at.Step] == nil {
			if needs[at.Step], err = t.needsOf(ctx, plan, s, v, at.Step); err != nil {
				return err
			}
		}
		j := unitJob(plan, step, st, u, s)
		if step.KindOr() == domain.StepApproval {
			j.Params = step.Approval.NoticeParams(j.Params, t.about(t.tenant(), &s.flow, step.Name, st))
		}
		j.ID, j.ContextID, j.FlowID, j.Needs = u.Job, t.tenant(), t.ref.id, needs[at.Step]
		j.FlowEnv = len(s.flow.EnvVars) > 0
		if step.KindOr() == domain.StepEach {
			it := items[itemAt{at.Step, u.ID}]
			j.List, j.Item, u.Key = st.List, it.text, it.name
		}
		if step.KindOr().One() {
			st.Job = j.ID
		}
		q := work.AddFlowJob(b, j, work.Place{}, s.now)
		if queues[q] == nil {
			names = append(names, q)
		}
		queues[q] = append(queues[q], j.Key().String())
	}
	for _, q := range names {
		if plan.soon(places) {
			slices.Reverse(queues[q]) // the last is taken first
			b.PushRight(q, queues[q]...)
		} else {
			b.PushLeft(q, queues[q]...)
		}
	}
	return nil
}

// unitJob is the job of a unit.
func unitJob(plan *Plan, step *domain.Step, st *StepState, u *Unit, s *seen) *domain.Job {
	j := stepJob(plan.Blueprint, step, s.caller)
	j.Stepped, j.TraceID = true, s.flow.TraceID
	if step.Repeat != nil {
		j.Round = st.Round
	}
	if st.Retries != nil {
		j.Retries = uint8(*st.Retries)
	}
	switch step.KindOr() {
	case domain.StepShard, domain.StepEach:
		j.Shard = fmt.Sprintf("%d/%d", u.ID, st.Split.Total)
	case domain.StepPack:
		j.Pack = fmt.Sprintf("%d:%d-%d", u.ID, u.Start, u.End)
	}
	return j
}
