package api

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
)

// act has an order done in the caller's name.
func (c Caller) act(ctx context.Context, verb identity.Verb, p FlowParams, o flow.Order) (FlowDone, error) {
	if _, err := c.mayFlow(ctx, verb, p); err != nil {
		return FlowDone{}, err
	}
	o.By = c.who.Actor
	done, err := c.api.parts.Flows.Act(ctx, p.Context, p.Flow, o)
	if err == nil {
		c.api.log.InfoContext(ctx, "flow ordered", "flow", uint32(p.Flow), "context", uint32(p.Context), "verb", string(o.Verb),
			"actor", uint32(c.who.Actor), "step", o.Step)
	}
	return FlowDone{domain.FlowKey(p.Flow), done}, err
}

// CancelFlow ends what a flow has not begun, and tells what runs to stop.
func (c Caller) CancelFlow(ctx context.Context, p FlowParams) (FlowDone, error) {
	return c.act(ctx, identity.Stop, p, flow.Order{Verb: flow.OrderCancel})
}

// RetryFlowParams are those of flow.retry.
type RetryFlowParams struct {
	FlowParams
	// Failed starts failed parts again too, not only those that ended in error.
	Failed bool `json:"failed"`
}

// RetryFlow starts again what ended in error.
func (c Caller) RetryFlow(ctx context.Context, p RetryFlowParams) (FlowDone, error) {
	return c.act(ctx, identity.Retry, p.FlowParams, flow.Order{Verb: flow.OrderRetry, Failed: p.Failed})
}

// StepParams name a step of a flow.
type StepParams struct {
	FlowParams
	Step    string `json:"step"`
	Comment string `json:"comment"`
}

// maxComment bounds what a person says about a step.
const maxComment = 4 << 10

func (p *StepParams) check() error {
	if p.Step == "" {
		return domain.Invalidf("step is empty: which one?")
	}
	if len(p.Comment) > maxComment {
		return domain.Invalidf("comment has %d bytes, the limit is %d", len(p.Comment), maxComment)
	}
	return nil
}

func (p *StepParams) auditDetail() string {
	return strings.TrimSpace("step " + p.Step + " " + p.Comment)
}

func (c Caller) onStep(ctx context.Context, verb identity.Verb, p StepParams, order flow.Verb) (FlowDone, error) {
	if _, err := c.mayFlow(ctx, verb, p.FlowParams); err != nil {
		return FlowDone{}, err
	}
	if err := p.check(); err != nil {
		return FlowDone{}, err
	}
	return c.act(ctx, verb, p.FlowParams, flow.Order{Verb: order, Step: p.Step, Text: p.Comment})
}

// SkipStep skips a step, or accepts one that ended badly.
func (c Caller) SkipStep(ctx context.Context, p StepParams) (FlowDone, error) {
	return c.onStep(ctx, identity.Start, p, flow.OrderSkip)
}

// ApproveStep lets a step succeed that waits for a decision.
func (c Caller) ApproveStep(ctx context.Context, p StepParams) (FlowDone, error) {
	return c.onStep(ctx, identity.Start, p, flow.OrderApprove)
}

// RejectStep lets a step fail that waits for a decision.
func (c Caller) RejectStep(ctx context.Context, p StepParams) (FlowDone, error) {
	return c.onStep(ctx, identity.Start, p, flow.OrderReject)
}

// UpdateFlowParams are those of flow.update.
type UpdateFlowParams struct {
	FlowParams
	// Steps are the changes by step: size, window, end, endless, retries.
	Steps map[string]flow.StepChange `json:"steps"`
}

// UpdateFlow changes steps of a flow that lives. Only its creator may.
//
// Source: seed 002, "Only the creator may mutate the flow definition".
func (c Caller) UpdateFlow(ctx context.Context, p UpdateFlowParams) (FlowDone, error) {
	if _, err := c.mayFlow(ctx, identity.Create, p.FlowParams); err != nil {
		return FlowDone{}, err
	}
	v, err := c.api.parts.Flows.Show(ctx, p.Context, p.Flow)
	if err != nil {
		return FlowDone{}, err
	}
	if v.CallerID != c.who.Actor {
		return FlowDone{}, domain.Forbiddenf("flow %d belongs to actor %d; only its creator may change its definition", p.Flow, v.CallerID)
	}
	return c.act(ctx, identity.Create, p.FlowParams, flow.Order{Verb: flow.OrderUpdate, Steps: p.Steps})
}

// DeleteFlowParams are those of flow.delete.
type DeleteFlowParams struct {
	FlowParams
	// Forget frees the flow's name, so that another may have it.
	Forget bool `json:"-" query:"forget"`
}

// DeleteFlow removes a flow with its jobs from the board; one that lives is
// cancelled first. The archive keeps it as it ended, and with it its name, unless
// that is to be forgotten, which can also be said later.
func (c Caller) DeleteFlow(ctx context.Context, p DeleteFlowParams) (FlowDone, error) {
	return c.act(ctx, identity.Delete, p.FlowParams, flow.Order{Verb: flow.OrderDelete, Forget: p.Forget})
}

// flowPaused is the reason of a ban that is a pause.
const flowPaused = "the flow is paused"

// PauseFlow holds a flow up: nothing more of it is begun.
func (c Caller) PauseFlow(ctx context.Context, p FlowParams) (FlowDone, error) {
	if _, err := c.mayFlow(ctx, identity.Cancel, p); err != nil {
		return FlowDone{}, err
	}
	if err := c.mayOverBan(ctx, p.Context, flowScope(p)); err != nil {
		return FlowDone{}, err
	}
	if err := c.api.parts.Flows.Pause(ctx, p.Context, p.Flow, true); err != nil {
		return FlowDone{}, err
	}
	_, err := c.api.parts.Bans.Set(ctx, domain.Ban{BanScope: flowScope(p), Level: domain.BanCreate, By: c.who.Actor, Reason: flowPaused})
	return FlowDone{domain.FlowKey(p.Flow), err == nil}, err
}

// ResumeFlow lets a flow go on that was paused.
func (c Caller) ResumeFlow(ctx context.Context, p FlowParams) (FlowDone, error) {
	if _, err := c.mayFlow(ctx, identity.Start, p); err != nil {
		return FlowDone{}, err
	}
	if err := c.mayOverBan(ctx, p.Context, flowScope(p)); err != nil {
		return FlowDone{}, err
	}
	if _, err := c.api.parts.Bans.Lift(ctx, flowScope(p)); err != nil && !errors.Is(err, domain.ErrNotFound) {
		return FlowDone{}, err
	}
	err := c.api.parts.Flows.Pause(ctx, p.Context, p.Flow, false)
	return FlowDone{domain.FlowKey(p.Flow), err == nil}, err
}

func flowScope(p FlowParams) domain.BanScope {
	return domain.BanScope{Kind: domain.BanFlow, Context: p.Context, Name: strconv.FormatUint(uint64(p.Flow), 10)}
}
