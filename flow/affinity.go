package flow

import (
	"context"
	"slices"
)

// announce lets runners know of the labels that jobs of the flow will ask for,
// before the first is queued.
func (e *Engine) announce(ctx context.Context, d *draft) error {
	jobs := slices.Clone(d.jobs)
	if d.plan != nil {
		for i := range d.plan.Steps {
			jobs = append(jobs, stepJob(d.plan.Blueprint, &d.plan.Steps[i], d.flow.CallerID))
		}
	}
	for _, j := range jobs {
		j.ContextID = d.flow.ContextID // whose labels are counted
	}
	return e.work.Announce(ctx, jobs...)
}
