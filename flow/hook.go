package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// This file calls hooks. A hook is a job that is none of the flow's: the commit that ends
// the flow makes it, so there is one for each end, whatever dies meanwhile; and what becomes
// of it is told to nobody.

// hook is that of a flow for something: its blueprint's, or that of its context; nil where
// there is none. plan is nil for a flow of jobs.
func (e *Engine) hook(ctx context.Context, tenant domain.TenantID, plan *Plan, on domain.HookOn) (*domain.Hook, error) {
	if plan != nil && plan.On.Of(on) != nil {
		return plan.On.Of(on), nil
	}
	if e.cfg.Hooks == nil {
		return nil, nil
	}
	hooks, err := e.cfg.Hooks(ctx, tenant)
	if errors.Is(err, domain.ErrNotFound) { // a context that was deleted has none
		err = nil
	}
	return hooks.Of(on), err
}

// hookOf is the hook that an end calls for.
func hookOf(r domain.FlowReason) domain.HookOn {
	switch r {
	case domain.FlowSucceeded:
		return domain.HookSucceeded
	case domain.FlowFailed:
		return domain.HookFailed
	case domain.FlowCancelled:
		return domain.HookCancelled
	}
	return domain.HookErrored
}

// callEnd adds to b the hook for an end of a flow, where it has one; at and end are as in
// [calling].
func (t *tending) callEnd(ctx context.Context, b *board.Batch, plan *Plan, reason domain.FlowReason, at func(i int) *StepState,
	end func(*domain.FlowView)) error {
	late, err := t.hook(ctx, t.tenant(), plan, domain.HookLate)
	if err != nil {
		return err
	}
	if late != nil {
		b.ClearAlarm(layout.FlowAlarm(layout.AlarmFlowLate, t.ref.id))
	}
	on := hookOf(reason)
	h, err := t.hook(ctx, t.tenant(), plan, on)
	if h == nil || err != nil {
		return err
	}
	return t.call(ctx, b, t.ref, calling{on, h, plan, at, end})
}

// calling is a hook that is called, for a flow of which the board has what was before.
type calling struct {
	on   domain.HookOn
	hook *domain.Hook
	plan *Plan // nil for a flow of jobs
	// at are the steps as they are now; nil: as the board has them.
	at func(i int) *StepState
	// end makes what the board has of the flow what it is now.
	end func(*domain.FlowView)
}

// call adds to b the job of a hook, and that the flow's record names it.
func (e *Engine) call(ctx context.Context, b *board.Batch, p ref, c calling) error {
	tenant, on, h := domain.TenantID(p.space), c.on, c.hook
	v, err := e.Show(ctx, tenant, p.id)
	if err != nil && !errors.Is(err, domain.ErrInvalid) { // else the hook is told all that can be read
		return err
	}
	if c.at != nil {
		for i := range v.Steps {
			st := c.at(i)
			v.Steps[i].Status, v.Steps[i].Text = st.Status, st.Text
		}
	}
	c.end(&v)
	id, err := e.drawJobs(ctx, p.space, v.CallerID, 1)
	if err != nil {
		return err
	}
	step := h.Step(on)
	plan := &domain.Blueprint{Params: paramsOf(&v), Priority: v.Priority}
	own := c.plan != nil && c.plan.On.Of(on) != nil // else it is the context's, which names its own secrets and variables
	if own {
		plan.Secrets, plan.Env = c.plan.Secrets, v.EnvVars
	}
	j := stepJob(plan, &step, v.CallerID)
	if own && v.BroughtPlan() {
		j.Secrets = nil // no door lets such a plan in: somebody has written it past them
	}
	j.ID, j.ContextID, j.Step, j.TraceID, j.Hook = id, tenant, "", v.TraceID, hookInput(on, &v)
	j.EnvVars = over(plan.Env, h.Env)
	if j.Needs, err = e.hookNeeds(ctx, p, &v, c); err != nil {
		return err
	}
	key := j.Key().String()
	if list := work.AddFlowJob(b, j, work.Place{}, e.board.Now()); list != "" {
		b.PushLeft(list, key)
	}
	b.Set(v.Key(), board.Field{Name: layout.FlowHook(on), Value: key})
	return nil
}

// paramsOf are those of a flow with what its jobs have added.
func paramsOf(v *domain.FlowView) map[string]string {
	added := map[string]string{}
	for name, value := range v.Added {
		if name, ok := strings.CutPrefix(name, "params."); ok {
			added[name] = value
		}
	}
	return over(v.Params, added)
}

// hookInput is what a hook is told.
func hookInput(on domain.HookOn, v *domain.FlowView) *domain.HookInput {
	in := &domain.HookInput{On: on, Flow: v.ID, Name: flowName(&v.Flow), Blueprint: v.Blueprint, Trigger: v.Trigger, Schedule: v.Schedule, Status: v.Status,
		Reason: v.Reason, Error: v.Error, StartedMs: v.StartedMs, FinishedMs: v.FinishedMs, Steps: map[string]domain.HookStep{}, Result: v.Result}
	in.Text = hookText(in)
	if in.Result == nil || mapBytes(in.Result) > domain.MaxHookResult {
		in.Result = map[string]string{}
	}
	for _, i := range toldSteps(v) {
		s := &v.Steps[i]
		in.Steps[s.Name] = domain.HookStep{State: s.Status, Text: cut(s.Text)}
	}
	return in
}

// toldSteps are the steps that a hook is told of: those first that did not end well.
func toldSteps(v *domain.FlowView) (list []int) {
	for _, done := range []bool{false, true} {
		for i := range v.Steps {
			if (classOf(v.Steps[i].Status) == well) == done && len(list) < domain.MaxHookSteps {
				list = append(list, i)
			}
		}
	}
	return list
}

// flowName is a flow's business name, as far as it has one.
func flowName(f *domain.Flow) string {
	if f.Trigger == "" {
		return f.Blueprint
	}
	return f.Blueprint + "/" + f.Trigger
}

// hookText says in a sentence what has come of a flow.
func hookText(in *domain.HookInput) string {
	text := strings.TrimSpace(domain.FlowKey(in.Flow) + " " + in.Name)
	switch {
	case in.On == domain.HookLate:
		return text + " is late: it has not ended"
	case in.Reason == domain.FlowSucceeded:
		return text + " has succeeded"
	case in.Error == "":
		return fmt.Sprintf("%s has ended as %s", text, in.Reason)
	}
	return fmt.Sprintf("%s has ended as %s: %s", text, in.Reason, in.Error)
}

// setLate adds to b when a flow that begins now will be late, where h says so.
func setLate(b *board.Batch, h *domain.Hook, f *domain.Flow, now time.Time) {
	if h != nil {
		b.SetAlarm(layout.FlowAlarm(layout.AlarmFlowLate, f.ID), later(now, time.UnixMilli(f.AfterMs)).Add(h.After.Time()))
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// lateAlarm calls the hook of a flow that should have ended by now.
func (e *Engine) lateAlarm(ctx context.Context, a board.Alarm, id domain.FlowID) error {
	p := ref{a.Space, id}
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)
	f, err := e.load(ctx, p)
	if errors.Is(err, domain.ErrNotFound) || err == nil && f.Final() {
		return e.board.Commit(ctx, b)
	} else if err != nil {
		return err
	}
	var plan *Plan
	if f.Hash != "" {
		plan, err = e.plan(ctx, p, f.Hash)
		if err != nil && !errors.Is(err, domain.ErrNotFound) && !errors.Is(err, domain.ErrInvalid) {
			return err
		}
	}
	h, err := e.hook(ctx, domain.TenantID(a.Space), plan, domain.HookLate)
	if err != nil {
		return err
	}
	if h == nil {
		return e.board.Commit(ctx, b)
	}
	b.Equal(f.Key(), layout.FlowStatus, string(f.Status))
	if err := e.call(ctx, &b, p, calling{domain.HookLate, h, plan, nil, func(*domain.FlowView) {}}); err != nil {
		return err
	}
	return e.board.Commit(ctx, b)
}

// hooksView are the hooks of a flow that were called, and what came of them.
func (e *Engine) hooksView(ctx context.Context, p ref, f *domain.Flow) (list []domain.HookView, err error) {
	for _, on := range domain.HookOns {
		name := f.HookJobs[on]
		key, perr := domain.ParseJobKey(name)
		if name == "" || perr != nil {
			continue
		}
		v := domain.HookView{On: on, Job: name}
		j, err := e.work.Show(ctx, domain.TenantID(p.space), key)
		if err != nil && !errors.Is(err, domain.ErrNotFound) && !errors.Is(err, domain.ErrInvalid) {
			return nil, err
		}
		if err == nil {
			v.Status, v.Reason, v.Error = j.Status, j.Reason, j.Error
		}
		list = append(list, v)
	}
	return list, nil
}

// explainHooks adds what came of hooks that were called, and have not done their work.
func (e *Engine) explainHooks(ctx context.Context, p ref, f *domain.Flow, x *explained) error {
	list, err := e.hooksView(ctx, p, f)
	for _, h := range list {
		switch {
		case h.Status == domain.JobError:
			x.Text += fmt.Sprintf("; its hook for %s, %s, ended in error (%s): `ramet job retry %s` calls it again", h.On, h.Job,
				cmp.Or(h.Error, string(h.Reason)), h.Job)
		case h.Status != "" && !h.Status.Final():
			x.Text += fmt.Sprintf("; its hook for %s, %s, is %s", h.On, h.Job, h.Status)
		}
	}
	return err
}
