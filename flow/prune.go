package flow

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file lets flows leave the board: first a record of each goes to the
// archive, then, after a while, its own records and the jobs that it kept go.

// Record is what the archive gets of a flow that has ended; ok is false where
// it is gone or was started again.
func (e *Engine) Record(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (r archive.Record, ok bool, err error) {
	v, err := e.Show(ctx, tenant, id)
	if errors.Is(err, domain.ErrNotFound) || err == nil && !v.Final() {
		return r, false, nil
	} else if err != nil && !errors.Is(err, domain.ErrInvalid) {
		return r, false, err
	}
	recs, err := e.board.Get(ctx, layout.SpaceOf(tenant), layout.FlowPlan(id), layout.FlowState(id))
	if err != nil {
		return r, false, err
	}
	body, err := json.Marshal(v)
	if err != nil {
		return r, false, domain.Invalidf("flow %d cannot be written as JSON: %v", id, err)
	}
	if text := recs[0].Get(layout.FlowPlanText); json.Valid([]byte(text)) {
		body = joinObjects(body, []byte(`{"plan":`+text+`}`))
	}
	// By it the flow can be brought back and started again.
	if text := recs[1].Get(layout.FlowStateData); json.Valid([]byte(text)) {
		body = joinObjects(body, []byte(`{"state":`+text+`}`))
	}
	return archive.Record{Context: tenant, Kind: archive.KindFlow, Key: v.Key(), EndMs: max(v.FinishedMs, 1), BeginMs: int64(v.CreatedAt) * 1000,
		Status: string(v.Status), Reason: string(v.Reason), Blueprint: v.Blueprint, Trigger: v.Trigger, Caller: v.CallerID, Body: body}, true, nil
}

// Archived is the flow that a record of the archive is of.
//
// Errors: [domain.ErrInvalid] for a record of another kind, or a head only.
func Archived(r *archive.Record) (View, error) {
	if r.Kind != archive.KindFlow || r.Body == nil {
		return View{}, domain.Invalidf("record %q of kind %s holds no flow", r.Key, r.Kind)
	}
	var v View
	if err := json.Unmarshal(r.Body, &v); err != nil {
		return v, domain.Invalidf("record %q: the flow cannot be read: %v", r.Key, err)
	}
	return v, nil
}

// nameFor is how long a name stays taken on the board after its flow has left
// it: longer than a submit may take, which looks into the archive before it
// guards the name on the board.
const nameFor = 2 * submitWithin

// prune removes what a flow kept besides its own records, and adds to b that
// those go; later, where the flow says that it stays longer.
func (e *Engine) prune(ctx context.Context, b *board.Batch, id domain.FlowID) error {
	p := place{b.Space, id}
	f, err := e.load(ctx, p)
	if errors.Is(err, domain.ErrNotFound) {
		return nil
	} else if err != nil && !errors.Is(err, domain.ErrInvalid) {
		return err
	}
	stays := time.Until(time.UnixMilli(f.FinishedMs).Add(time.Duration(f.Retention) * time.Second))
	keys := make([]domain.JobKey, len(f.Jobs))
	for i, j := range f.Jobs {
		keys[i] = domain.JobKey{Caller: f.CallerID, ID: j}
	}
	if err := e.removeJobs(ctx, p, keys, stays); err != nil {
		return err
	}
	e.removeRecords(b, p, stays)
	if name := layout.FlowName(f.Blueprint, f.Trigger); f.Trigger != "" && f.Blueprint != "" {
		if e.cfg.Names != nil {
			stays = max(stays, 0) + nameFor
		}
		remove(b, name, stays)
	}
	return nil
}

// remove adds to b that a key goes, at once or after a while.
func remove(b *board.Batch, key string, after time.Duration) {
	if after > 0 {
		b.Expire(key, after)
	} else {
		b.Delete(key)
	}
}
