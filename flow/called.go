package flow

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// This file has the flows that durable scripts call; see work/call.go for how they are made
// once and waited for.

var _ work.Flows = (*Engine)(nil)

// decisionStep is the only step of a flow by which a script asks a person.
const decisionStep = "decision"

// CallFlow makes a flow of a script, in the commit that remembers it.
//
// Errors: those of a [Receipt].
func (e *Engine) CallFlow(ctx context.Context, tenant domain.TenantID, c work.FlowCall) error {
	r := Request{Caller: c.Caller, Blueprint: c.Blueprint, Version: c.Version, Params: c.Params, Priority: c.Priority, TraceID: c.TraceID,
		CalledBy: &c.CalledBy, Also: c.Also}
	if c.Approval != nil {
		// That somebody says no is an answer, no failure of the flow.
		r.Plan = &domain.Blueprint{Name: decisionStep, Steps: []domain.Step{{Name: decisionStep, Kind: domain.StepApproval, MayFail: true,
			Summary: c.Approval.Text, Approval: &c.Approval.Approval}}}
	}
	receipts, err := e.Submit(ctx, tenant, []Request{r})
	if err != nil {
		return err
	}
	if r := receipts[0]; r.Err == nil && r.Existing {
		return domain.Conflictf("%s is there already", domain.FlowKey(r.ID))
	}
	return receipts[0].Err
}

// CalledEnd is how a flow has ended that a script has called; nil where it has not.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) CalledEnd(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (*domain.ChildEnd, error) {
	f, err := e.load(ctx, refOf(tenant, id))
	if err != nil || !f.Final() {
		return nil, err
	}
	end := endOfCalled(&f)
	if f.Blueprint == decisionStep && f.Version == 0 && end.Failure == nil {
		v, err := e.Show(ctx, tenant, id)
		if err != nil {
			return nil, err
		}
		decided(end, v.Steps)
	}
	return end, nil
}

func endOfCalled(f *domain.Flow) *domain.ChildEnd {
	end := &domain.ChildEnd{Result: f.Result}
	if f.Reason != domain.FlowSucceeded {
		end.Failure = work.ChildFailure(f.Key(), string(f.Reason), f.Error, nil)
	}
	return end
}

// decided says what became of the only step of a flow by which a script has asked a person.
func decided(end *domain.ChildEnd, steps []domain.StepView) {
	if len(steps) != 1 || steps[0].Name != decisionStep {
		return
	}
	result := map[string]string{}
	for name, text := range end.Result {
		result[strings.TrimPrefix(name, decisionStep+".")] = text
	}
	end.Result, end.Decided = result, steps[0].Status == domain.StepSucceeded
	end.Late = !end.Decided && end.Result["by"] == byDeadline
}

// CancelFlow has the keeper of a flow end it, whose script has ended.
//
// Errors: [domain.ErrNotFound], [domain.ErrUnavailable].
func (e *Engine) CancelFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID, by domain.ActorID) error {
	p := refOf(tenant, id)
	for range submitTries {
		f, err := e.load(ctx, p)
		if err != nil || f.Final() {
			return err
		}
		b := board.Batch{Space: p.space}
		if err := addOrder(&b, &f, Order{ID: rand.Text()[:12], Verb: OrderCancel, By: by}); err != nil {
			return err
		}
		if err := e.board.Commit(ctx, b); !errors.Is(err, domain.ErrConflict) {
			return err
		}
	}
	return domain.Unavailablef("%s changes too quickly", domain.FlowKey(id))
}

// FlowDepth is how many calls and flows are above a flow.
func (e *Engine) FlowDepth(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (int, error) {
	f, err := e.load(ctx, refOf(tenant, id))
	if errors.Is(err, domain.ErrNotFound) {
		return 0, nil
	}
	return depthOf(&f), err
}

// ArchivedEnd is how a job or flow has ended that is in the archive alone.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) ArchivedEnd(ctx context.Context, tenant domain.TenantID, key string) (*domain.ChildEnd, error) {
	if e.cfg.Records == nil {
		return nil, domain.NotFoundf("%s does not exist", key)
	}
	r, err := e.cfg.Records.Get(ctx, tenant, key, 0)
	if err != nil {
		return nil, err
	}
	var body struct {
		Result   map[string]string `json:"result"`
		Error    string            `json:"error"`
		ExitCode *int              `json:"exit_code"`
		Steps    []domain.StepView `json:"steps"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil, domain.Invalidf("the record of %s in the archive cannot be read: %v", key, err)
	}
	end := &domain.ChildEnd{Result: body.Result}
	if r.Status != string(domain.JobFinished) {
		end.Failure = work.ChildFailure(key, r.Reason, body.Error, body.ExitCode)
	}
	if r.Blueprint == decisionStep {
		decided(end, body.Steps)
	}
	return end, nil
}
