package client

import (
	"context"
	"fmt"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// SubmitFlow submits one flow.
//
// Errors: [domain.ErrInvalid], [domain.ErrNotFound] for a blueprint,
// [domain.ErrConflict] while another lives that wants to be alone.
func (c *Client) SubmitFlow(ctx context.Context, tenant domain.TenantID, f api.FlowInput) (api.SubmittedFlow, error) {
	out, err := Call(ctx, c, api.FlowSubmit, api.SubmitFlowParams{Context: tenant, FlowInput: f})
	if err != nil {
		return api.SubmittedFlow{}, err
	}
	if len(out.Flows) != 1 {
		return api.SubmittedFlow{}, fmt.Errorf("submit a flow: %s answered for %d flows, want 1", c.where, len(out.Flows))
	}
	return out.Flows[0], nil
}

// SubmitFlows submits many flows; each has its own answer.
func (c *Client) SubmitFlows(ctx context.Context, tenant domain.TenantID, flows []api.FlowInput) (api.FlowSubmitted, error) {
	return Call(ctx, c, api.FlowSubmit, api.SubmitFlowParams{Context: tenant, Flows: flows})
}

// Flow reads a flow with its steps.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Flow(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (domain.FlowView, error) {
	return c.FlowFrom(ctx, tenant, id, 0)
}

// FlowFrom reads a flow as Flow does, with its steps from one on, counted from 0: of a flow
// of more than 10,000 steps an answer has 1,000, and says how many there are.
func (c *Client) FlowFrom(ctx context.Context, tenant domain.TenantID, id domain.FlowID, step int) (domain.FlowView, error) {
	return Call(ctx, c, api.FlowShow, api.ShowFlowParams{FlowParams: api.FlowParams{Context: tenant, Flow: id}, StepsFrom: step})
}

// Flows is a page of flows; the Next of a page is the cursor of the one after.
func (c *Client) Flows(ctx context.Context, p api.ListFlowsParams) (api.FlowPage, error) {
	return Call(ctx, c, api.FlowList, p)
}

// FlowGraph draws a flow: format is mermaid, dot or svg.
func (c *Client) FlowGraph(ctx context.Context, tenant domain.TenantID, id domain.FlowID, format string) (api.Drawing, error) {
	return Call(ctx, c, api.FlowGraph, api.GraphFlowParams{FlowParams: api.FlowParams{Context: tenant, Flow: id}, Format: format})
}

// ExplainFlow says what a flow waits for.
func (c *Client) ExplainFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (domain.FlowExplanation, error) {
	return Call(ctx, c, api.FlowExplain, api.FlowParams{Context: tenant, Flow: id})
}

// CancelFlow ends what a flow has not begun, and tells what runs to stop.
func (c *Client) CancelFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (api.FlowDone, error) {
	return Call(ctx, c, api.FlowCancel, api.FlowParams{Context: tenant, Flow: id})
}

// SkipStep skips a step, or accepts one that ended badly.
func (c *Client) SkipStep(ctx context.Context, tenant domain.TenantID, id domain.FlowID, step string) (api.FlowDone, error) {
	return Call(ctx, c, api.FlowSkip, api.StepParams{FlowParams: api.FlowParams{Context: tenant, Flow: id}, Step: step})
}

// MarkStepDone marks a step as done that has not begun, or ended badly, with a result.
func (c *Client) MarkStepDone(ctx context.Context, tenant domain.TenantID, id domain.FlowID, step, comment string,
	result map[string]string) (api.FlowDone, error) {
	return Call(ctx, c, api.FlowMarkDone, api.DoneParams{StepParams: api.StepParams{FlowParams: api.FlowParams{Context: tenant, Flow: id}, Step: step,
		Comment: comment}, Result: result})
}

// DecideStep approves or rejects a step that waits for a decision, with what it asks for.
func (c *Client) DecideStep(ctx context.Context, tenant domain.TenantID, id domain.FlowID, step, comment string, answers map[string]string,
	approve bool) (api.FlowDone, error) {
	op := api.FlowReject
	if approve {
		op = api.FlowApprove
	}
	return Call(ctx, c, op, api.DecideParams{StepParams: api.StepParams{FlowParams: api.FlowParams{Context: tenant, Flow: id}, Step: step, Comment: comment},
		Answers: answers})
}

// UpdateFlow changes steps of a flow that lives.
func (c *Client) UpdateFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID, steps map[string]domain.StepChange) (api.FlowDone, error) {
	return Call(ctx, c, api.FlowUpdate, api.UpdateFlowParams{FlowParams: api.FlowParams{Context: tenant, Flow: id}, Steps: steps})
}

// PauseFlow holds a flow up; ResumeFlow lets it go on.
func (c *Client) PauseFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (api.FlowDone, error) {
	return Call(ctx, c, api.FlowPause, api.FlowParams{Context: tenant, Flow: id})
}

// ResumeFlow lets a flow go on that was paused.
func (c *Client) ResumeFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (api.FlowDone, error) {
	return Call(ctx, c, api.FlowResume, api.FlowParams{Context: tenant, Flow: id})
}

// DeleteFlow removes a flow with its jobs; one that lives is cancelled first. forget
// frees its name.
func (c *Client) DeleteFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID, forget bool) (api.FlowDone, error) {
	return Call(ctx, c, api.FlowDelete, api.DeleteFlowParams{FlowParams: api.FlowParams{Context: tenant, Flow: id}, Forget: forget})
}

// WatchFlow calls each with the flow whenever something has changed, also over
// connections that break, and returns it when it has ended. each may be nil.
//
// Errors: what each returns, [domain.ErrNotFound], [domain.ErrUnavailable].
func (c *Client) WatchFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID, each func(domain.FlowView) error) (domain.FlowView, error) {
	var last domain.FlowView
	s := stream{client: c, of: "flow"}
	s.path, s.query, _ = api.FlowWait.Request(api.WaitFlowParams{FlowParams: api.FlowParams{Context: tenant, Flow: id}})
	s.take = func(e event) error {
		if e.name != "flow" && e.name != "end" {
			return nil
		}
		var v domain.FlowView
		if err := e.into(&v); err != nil {
			return err
		}
		s.wentOn("")
		if each != nil {
			if err := each(v); err != nil {
				return err
			}
		}
		if e.name == "end" {
			last = v
			return errDone
		}
		return nil
	}
	err := s.follow(ctx) // sets last
	return last, err
}
