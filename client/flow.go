package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

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
	for name, value := range map[string]string{"status": string(f.Status), "reason": string(f.Reason), "blueprint": f.Blueprint, "trigger": f.Trigger, "where": f.Where, "cursor": cursor} {
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

// DeleteFlow removes a flow with its jobs; one that lives is cancelled first.
func (c *Client) DeleteFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (api.FlowDone, error) {
	var out api.FlowDone
	err := c.call(ctx, http.MethodDelete, flowPath(tenant, id), nil, nil, &out)
	return out, err
}

// WatchFlow calls each with the flow whenever something has changed, also over
// connections that break, and returns it when it has ended. each may be nil.
//
// Errors: what each returns, [domain.ErrNotFound], [domain.ErrUnavailable].
func (c *Client) WatchFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID, each func(api.FlowView) error) (api.FlowView, error) {
	w := flowWatcher{client: c, path: flowPath(tenant, id) + "/wait", each: each}
	for {
		err := w.once(ctx)
		switch {
		case w.end != nil:
			return *w.end, nil
		case w.refused != nil:
			return api.FlowView{}, w.refused
		case ctx.Err() != nil:
			return api.FlowView{}, ctx.Err()
		case err != nil && !errors.Is(err, domain.ErrUnavailable):
			return api.FlowView{}, err
		}
		if !w.pauses.next(ctx) {
			return api.FlowView{}, cmp.Or(ctx.Err(), err)
		}
	}
}

// flowWatcher follows one flow over as many connections as it takes.
type flowWatcher struct {
	client  *Client
	path    string
	each    func(api.FlowView) error
	pauses  pauses
	end     *api.FlowView
	refused error
}

// once reads one connection to its end.
func (w *flowWatcher) once(ctx context.Context) error {
	h := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-store"}}
	resp, err := w.client.send(ctx, http.MethodGet, w.path, nil, nil, h)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if t := resp.Header.Get("Content-Type"); !strings.HasPrefix(t, "text/event-stream") {
		return fmt.Errorf("follow %s: %s answered %q, want text/event-stream", w.path, w.client.where, t)
	}
	w.pauses.met = true
	err = readEvents(bufio.NewReaderSize(resp.Body, 16<<10), w.event)
	switch {
	case w.end != nil || w.refused != nil:
		return nil
	case errors.Is(err, errBadEvent):
		return fmt.Errorf("follow %s: %w", w.path, err)
	case err == nil:
		return domain.Unavailablef("%s ended the stream before the flow ended", w.client.where)
	}
	return w.client.unreachable(ctx, err)
}

func (w *flowWatcher) event(e event) error {
	if e.name != "flow" && e.name != "end" {
		return nil
	}
	var v api.FlowView
	if err := json.Unmarshal(e.data, &v); err != nil {
		return fmt.Errorf("%w: %s: %w", errBadEvent, e.name, err)
	}
	w.pauses.tries = 0
	if w.each != nil {
		if err := w.each(v); err != nil {
			w.refused = err
			return errDone
		}
	}
	if e.name == "end" {
		w.end = &v
		return errDone
	}
	return nil
}
