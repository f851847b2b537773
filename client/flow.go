package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// flowPath is the address of a flow.
func flowPath(tenant domain.TenantID, id domain.FlowID) string {
	return contextPath(tenant) + "/flows/" + strconv.FormatUint(uint64(id), 10)
}

// SubmitFlow submits one flow.
//
// Errors: [domain.ErrInvalid], [domain.ErrNotFound] for a blueprint,
// [domain.ErrConflict] while another lives that wants to be alone.
func (c *Client) SubmitFlow(ctx context.Context, tenant domain.TenantID, f api.FlowInput) (api.SubmittedFlow, error) {
	var out api.FlowSubmitted
	if err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/flows", nil, f, &out); err != nil {
		return api.SubmittedFlow{}, err
	}
	if len(out.Flows) != 1 {
		return api.SubmittedFlow{}, fmt.Errorf("submit a flow: %s answered for %d flows, want 1", c.where, len(out.Flows))
	}
	return out.Flows[0], nil
}

// SubmitFlows submits many flows; each has its own answer.
func (c *Client) SubmitFlows(ctx context.Context, tenant domain.TenantID, flows []api.FlowInput) (api.FlowSubmitted, error) {
	var out api.FlowSubmitted
	err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/flows", nil, map[string]any{"flows": flows}, &out)
	return out, err
}

// Flow reads a flow with its steps.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Flow(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (api.FlowView, error) {
	var out api.FlowView
	err := c.call(ctx, http.MethodGet, flowPath(tenant, id), nil, nil, &out)
	return out, err
}

// FlowFilter says which flows to list; empty filters do not filter.
type FlowFilter struct {
	Status             domain.FlowStatus
	Reason             domain.FlowReason
	Blueprint, Trigger string
	Caller             domain.ActorID
	Where              string // a Rhai expression over `flow`
}

// Flows is a page of flows. cursor is "" at first, then the Next of the page before.
func (c *Client) Flows(ctx context.Context, tenant domain.TenantID, f FlowFilter, cursor string) (api.FlowList, error) {
	q := url.Values{}
	for name, value := range map[string]string{"status": string(f.Status), "reason": string(f.Reason), "blueprint": f.Blueprint,
		"trigger": f.Trigger, "where": f.Where, "cursor": cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Caller != 0 {
		q.Set("caller", strconv.FormatUint(uint64(f.Caller), 10))
	}
	var out api.FlowList
	err := c.call(ctx, http.MethodGet, contextPath(tenant)+"/flows", q, nil, &out)
	return out, err
}

// FlowGraph draws a flow: format is mermaid, dot or svg.
func (c *Client) FlowGraph(ctx context.Context, tenant domain.TenantID, id domain.FlowID, format string) (api.BlueprintGraph, error) {
	var out api.BlueprintGraph
	err := c.call(ctx, http.MethodGet, flowPath(tenant, id)+"/graph", url.Values{"format": {format}}, nil, &out)
	return out, err
}

// ExplainFlow says what a flow waits for.
func (c *Client) ExplainFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (api.FlowExplanation, error) {
	var out api.FlowExplanation
	err := c.call(ctx, http.MethodGet, flowPath(tenant, id)+"/explain", nil, nil, &out)
	return out, err
}

// onFlow asks something of a flow.
func (c *Client) onFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID, verb string, in any) (api.FlowDone, error) {
	var out api.FlowDone
	err := c.call(ctx, http.MethodPost, flowPath(tenant, id)+"/"+verb, nil, in, &out)
	return out, err
}

// CancelFlow ends what a flow has not begun, and tells what runs to stop.
func (c *Client) CancelFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (api.FlowDone, error) {
	return c.onFlow(ctx, tenant, id, "cancel", nil)
}

// RetryFlow starts again what ended in error; failed parts too, if asked.
func (c *Client) RetryFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID, failed bool) (api.FlowDone, error) {
	return c.onFlow(ctx, tenant, id, "retry", map[string]bool{"failed": failed})
}

// SkipStep skips a step, or accepts one that ended badly.
func (c *Client) SkipStep(ctx context.Context, tenant domain.TenantID, id domain.FlowID, step string) (api.FlowDone, error) {
	return c.onFlow(ctx, tenant, id, "skip", map[string]string{"step": step})
}

// DecideStep approves or rejects a step that waits for a decision.
func (c *Client) DecideStep(ctx context.Context, tenant domain.TenantID, id domain.FlowID, step, comment string, approve bool) (api.FlowDone, error) {
	verb := "reject"
	if approve {
		verb = "approve"
	}
	return c.onFlow(ctx, tenant, id, verb, map[string]string{"step": step, "comment": comment})
}

// UpdateFlow changes steps of a flow that lives.
func (c *Client) UpdateFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID, steps map[string]api.StepChange) (api.FlowDone, error) {
	return c.onFlow(ctx, tenant, id, "update", map[string]any{"steps": steps})
}

// PauseFlow holds a flow up; ResumeFlow lets it go on.
func (c *Client) PauseFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (api.FlowDone, error) {
	return c.onFlow(ctx, tenant, id, "pause", nil)
}

// ResumeFlow lets a flow go on that was paused.
func (c *Client) ResumeFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (api.FlowDone, error) {
	return c.onFlow(ctx, tenant, id, "resume", nil)
}

// DeleteFlow removes a flow with its jobs; one that lives is cancelled first. forget
// frees its name.
func (c *Client) DeleteFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID, forget bool) (api.FlowDone, error) {
	var out api.FlowDone
	q := url.Values{}
	if forget {
		q.Set("forget", "true")
	}
	err := c.call(ctx, http.MethodDelete, flowPath(tenant, id), q, nil, &out)
	return out, err
}

// WatchFlow calls each with the flow whenever something has changed, also over
// connections that break, and returns it when it has ended. each may be nil.
//
// Errors: what each returns, [domain.ErrNotFound], [domain.ErrUnavailable].
func (c *Client) WatchFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID, each func(api.FlowView) error) (api.FlowView, error) {
	var last api.FlowView
	s := stream{client: c, path: flowPath(tenant, id) + "/wait", of: "flow"}
	s.take = func(e event) error {
		if e.name != "flow" && e.name != "end" {
			return nil
		}
		var v api.FlowView
		if err := json.Unmarshal(e.data, &v); err != nil {
			return fmt.Errorf("%w: %s: %w", errBadEvent, e.name, err)
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
