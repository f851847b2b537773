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

// callEnd adds to b the hook for an end of a flow, where it has one. end makes what the board
// has of the flow what it is with that end.
func (t *tending) callEnd(ctx context.Context, b *board.Batch, plan *Plan, reason domain.FlowReason, end func(*domain.FlowView)) error {
	late, err := t.hook(ctx, t.tenant(), plan, domain.HookLate)
	if err != nil {
		return err
	}
	if late != nil {
		b.ClearAlarm(layout.FlowAlarm(layout.AlarmFlowLate, t.ref.id))
	}
	on := domain.HookOf(reason)
	h, err := t.hook(ctx, t.tenant(), plan, on)
	if h == nil || err != nil {
		return err
	}
	return t.call(ctx, b, t.ref, on, h, end)
}

// call adds to b the job of a hook, and that the flow's record names it.
func (e *Engine) call(ctx context.Context, b *board.Batch, p ref, on domain.HookOn, h *domain.Hook, end func(*domain.FlowView)) error {
	tenant := domain.TenantID(p.space)
	v, err := e.Show(ctx, tenant, p.id)
	if err != nil && !errors.Is(err, domain.ErrInvalid) { // else the hook is told all that can be read
		return err
	}
	end(&v)
	id, err := e.drawJobs(ctx, p.space, v.CallerID, 1)
	if err != nil {
		return err
	}
	step := h.Step(on)
	j := stepJob(&domain.Blueprint{Params: paramsOf(&v), Priority: v.Priority}, &step, v.CallerID)
	j.ID, j.ContextID, j.Step, j.TraceID, j.Hook = id, tenant, "", v.TraceID, hookInput(on, &v)
	j.EnvVars = over(v.EnvVars, h.Env)
	key := j.Key().String()
	if list := work.AddFlowJob(b, j, work.Place{}, time.Now()); list != "" {
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
	for _, done := range []bool{false, true} {
		for i := range v.Steps {
			s := &v.Steps[i]
			if (classOf(s.Status) == well) == done && len(in.Steps) < domain.MaxHookSteps {
				in.Steps[s.Name] = domain.HookStep{State: s.Status, Text: cut(s.Text)}
			}
		}
	}
	return in
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
	if err := e.call(ctx, &b, p, domain.HookLate, h, func(*domain.FlowView) {}); err != nil {
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
