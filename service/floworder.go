package service

import (
	"context"
	"errors"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
)

// act has an order done in the caller's name.
func (c Caller) act(ctx context.Context, verb domain.Verb, p api.FlowParams, o flow.Order) (api.FlowDone, error) {
	if _, err := c.mayFlow(ctx, verb, p); err != nil {
		return api.FlowDone{}, err
	}
	o.By = c.who.Actor
	done, err := c.api.parts.Flows.Act(ctx, p.Context, p.Flow, o)
	if err == nil {
		c.api.log.InfoContext(ctx, "flow ordered", "flow", uint32(p.Flow), "context", uint32(p.Context), "verb", string(o.Verb),
			"actor", uint32(c.who.Actor), "step", o.Step)
	}
	return api.FlowDone{Key: domain.FlowKey(p.Flow), Done: done}, err
}

// CancelFlow ends what a flow has not begun, and tells what runs to stop.
func (c Caller) CancelFlow(ctx context.Context, p api.FlowParams) (api.FlowDone, error) {
	done, err := c.act(ctx, domain.VerbStop, p, flow.Order{Verb: flow.OrderCancel})
	if err == nil && done.Done {
		err = c.endPause(ctx, p)
	}
	return done, err
}

// endPause ends the pause of a flow that has been cancelled or deleted: there is nothing more for
// it to hold up. Where this process ends before, the ban's alarm finds that out.
func (c Caller) endPause(ctx context.Context, p api.FlowParams) error {
	by, holds, err := c.api.parts.Bans.Holds(ctx, flowScope(p), domain.BanPick)
	if err != nil || !holds || !pauses(by) {
		return err
	}
	if _, err := c.api.parts.Bans.Lift(ctx, flowScope(p)); err != nil && !errors.Is(err, domain.ErrNotFound) {
		return err
	}
	err = c.api.parts.Flows.Pause(ctx, p.Context, p.Flow, false)
	if errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrConflict) {
		err = nil // it has ended, or is gone
	}
	return err
}

// RetryFlow starts again what ended in error.
func (c Caller) RetryFlow(ctx context.Context, p api.RetryFlowParams) (api.FlowDone, error) {
	if p.Key != "" && p.Step == "" {
		return api.FlowDone{}, domain.Invalidf("key %q: an element of which step? name it too", p.Key)
	}
	return c.act(ctx, domain.VerbRetry, p.FlowParams, flow.Order{Verb: flow.OrderRetry, Failed: p.Failed, NoCache: p.NoCache, Step: p.Step, Key: p.Key})
}

// maxComment bounds what a person says about a step.
const maxComment = 4 << 10

func checkStep(p *api.StepParams) error {
	if p.Step == "" {
		return domain.Invalidf("step is empty: which one?")
	}
	if len(p.Comment) > maxComment {
		return domain.Invalidf("comment has %d bytes, the limit is %d", len(p.Comment), maxComment)
	}
	return nil
}

func (c Caller) onStep(ctx context.Context, verb domain.Verb, p api.StepParams, order flow.Verb) (api.FlowDone, error) {
	if _, err := c.mayFlow(ctx, verb, p.FlowParams); err != nil {
		return api.FlowDone{}, err
	}
	if err := checkStep(&p); err != nil {
		return api.FlowDone{}, err
	}
	return c.act(ctx, verb, p.FlowParams, flow.Order{Verb: order, Step: p.Step, Text: p.Comment})
}

// SkipStep skips a step, or accepts one that ended badly.
func (c Caller) SkipStep(ctx context.Context, p api.StepParams) (api.FlowDone, error) {
	return c.onStep(ctx, domain.VerbStart, p, flow.OrderSkip)
}

// MarkStepDone marks a step as done, with a result.
func (c Caller) MarkStepDone(ctx context.Context, p api.DoneParams) (api.FlowDone, error) {
	if _, err := c.mayFlow(ctx, domain.VerbStart, p.FlowParams); err != nil {
		return api.FlowDone{}, err
	}
	if err := checkStep(&p.StepParams); err != nil {
		return api.FlowDone{}, err
	}
	if err := domain.ValidateParams(p.Result); err != nil {
		return api.FlowDone{}, domain.Invalidf("result: %v", err)
	}
	return c.act(ctx, domain.VerbStart, p.FlowParams, flow.Order{Verb: flow.OrderDone, Step: p.Step, Text: p.Comment, Answers: p.Result})
}

// RerunFlow makes a new flow of one that has ended.
func (c Caller) RerunFlow(ctx context.Context, p api.RerunFlowParams) (api.SubmittedFlow, error) {
	if _, err := c.mayFlow(ctx, domain.VerbCreate, p.FlowParams); err != nil {
		return api.SubmittedFlow{}, err
	}
	r, err := c.api.parts.Flows.Rerun(ctx, p.Context, p.Flow, flow.Rerun{Caller: c.who.Actor, From: p.From, Trigger: p.Trigger, NoCache: p.NoCache,
		Ticket: c.once.name(0)})
	if err != nil {
		return api.SubmittedFlow{}, err
	}
	return api.SubmittedFlow{ID: r.ID, Key: domain.FlowKey(r.ID), Existing: r.Existing, Archived: r.Archived}, nil
}

// ApproveStep lets a step succeed that waits for a decision.
func (c Caller) ApproveStep(ctx context.Context, p api.DecideParams) (api.FlowDone, error) {
	return c.decideStep(ctx, p, flow.OrderApprove)
}

// RejectStep lets a step fail that waits for a decision.
func (c Caller) RejectStep(ctx context.Context, p api.DecideParams) (api.FlowDone, error) {
	return c.decideStep(ctx, p, flow.OrderReject)
}

func (c Caller) decideStep(ctx context.Context, p api.DecideParams, order flow.Verb) (api.FlowDone, error) {
	t, err := c.mayFlow(ctx, domain.VerbStart, p.FlowParams)
	if err != nil {
		return api.FlowDone{}, err
	}
	if err := checkStep(&p.StepParams); err != nil {
		return api.FlowDone{}, err
	}
	a, submitter, err := c.api.parts.Flows.Approval(ctx, p.Context, p.Flow, p.Step)
	if err != nil {
		return api.FlowDone{}, err
	}
	if a != nil {
		if err := identity.MayDecide(t, c.who.Actor, submitter, a.Approvers, a.NotSubmitter); err != nil {
			c.api.parts.Audit.Record(domain.AuditEntry{Actor: c.who.Actor, Verb: c.word, Object: domain.FlowKey(p.Flow), Context: p.Context,
				Outcome: domain.AuditDenied, Detail: p.AuditDetail()})
			return api.FlowDone{}, domain.Forbiddenf("step %s of flow %d: %v", p.Step, p.Flow, err)
		}
	}
	return c.act(ctx, domain.VerbStart, p.FlowParams, flow.Order{Verb: order, Step: p.Step, Text: p.Comment, Answers: p.Answers})
}

// UpdateFlow changes steps of a flow that lives. Only its creator may.
//
// Source: seed 002, "Only the creator may mutate the flow definition".
func (c Caller) UpdateFlow(ctx context.Context, p api.UpdateFlowParams) (api.FlowDone, error) {
	if _, err := c.mayFlow(ctx, domain.VerbCreate, p.FlowParams); err != nil {
		return api.FlowDone{}, err
	}
	v, err := c.api.parts.Flows.Show(ctx, p.Context, p.Flow)
	if err != nil {
		return api.FlowDone{}, err
	}
	if v.CallerID != c.who.Actor {
		return api.FlowDone{}, domain.Forbiddenf("flow %d belongs to actor %d; only its creator may change its definition", p.Flow, v.CallerID)
	}
	return c.act(ctx, domain.VerbCreate, p.FlowParams, flow.Order{Verb: flow.OrderUpdate, Steps: p.Steps, Ticket: c.once.name(0)})
}

// DeleteFlow removes a flow with its jobs from the board; one that lives is
// cancelled first. The archive keeps it as it ended, and with it its name, unless
// that is to be forgotten, which can also be said later.
func (c Caller) DeleteFlow(ctx context.Context, p api.DeleteFlowParams) (api.FlowDone, error) {
	done, err := c.act(ctx, domain.VerbDelete, p.FlowParams, flow.Order{Verb: flow.OrderDelete, Forget: p.Forget})
	if err == nil && done.Done {
		err = c.endPause(ctx, p.FlowParams)
	}
	return done, err
}

// flowPaused is the reason of a ban that is a pause.
const flowPaused = "the flow is paused"

// PauseFlow holds a flow up: nothing more of it is begun.
func (c Caller) PauseFlow(ctx context.Context, p api.FlowParams) (api.FlowDone, error) {
	if _, err := c.mayFlow(ctx, domain.VerbCancel, p); err != nil {
		return api.FlowDone{}, err
	}
	if err := c.mayOverBan(ctx, p.Context, flowScope(p)); err != nil {
		return api.FlowDone{}, err
	}
	if err := c.api.parts.Flows.Pause(ctx, p.Context, p.Flow, true); err != nil {
		return api.FlowDone{}, err
	}
	_, err := c.api.parts.Bans.Set(ctx, domain.Ban{BanScope: flowScope(p), Level: domain.BanCreate, By: c.who.Actor, Reason: flowPaused})
	return api.FlowDone{Key: domain.FlowKey(p.Flow), Done: err == nil}, err
}

// ResumeFlow lets a flow go on that was paused.
func (c Caller) ResumeFlow(ctx context.Context, p api.FlowParams) (api.FlowDone, error) {
	if _, err := c.mayFlow(ctx, domain.VerbStart, p); err != nil {
		return api.FlowDone{}, err
	}
	if err := c.mayOverBan(ctx, p.Context, flowScope(p)); err != nil {
		return api.FlowDone{}, err
	}
	if _, err := c.api.parts.Bans.Lift(ctx, flowScope(p)); err != nil && !errors.Is(err, domain.ErrNotFound) {
		return api.FlowDone{}, err
	}
	err := c.api.parts.Flows.Pause(ctx, p.Context, p.Flow, false)
	return api.FlowDone{Key: domain.FlowKey(p.Flow), Done: err == nil}, err
}

func flowScope(p api.FlowParams) domain.BanScope {
	return domain.BanScope{Kind: domain.BanFlow, Context: p.Context, Name: strconv.FormatUint(uint64(p.Flow), 10)}
}
