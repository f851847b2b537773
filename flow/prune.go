package flow

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
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
	var bad board.KeyErrors // something else lies there
	if errors.Is(err, domain.ErrNotFound) || errors.As(err, &bad) || err == nil && !v.Final() {
		return r, false, nil
	} else if err != nil && !errors.Is(err, domain.ErrInvalid) {
		return r, false, err
	}
	text, err := e.planText(ctx, ref{layout.SpaceOf(tenant), id})
	if err != nil && !errors.Is(err, domain.ErrInvalid) && !errors.As(err, &bad) {
		return r, false, err
	}
	s, there, err := e.readState(ctx, ref{layout.SpaceOf(tenant), id})
	if err != nil && !errors.Is(err, domain.ErrInvalid) {
		return r, false, err
	}
	whole := there && err == nil
	body, err := json.Marshal(v)
	if err != nil {
		return r, false, domain.Invalidf("flow %d cannot be written as JSON: %v", id, err)
	}
	if json.Valid([]byte(text)) {
		body = domain.JoinObjects(body, []byte(`{"plan":`+text+`}`))
	}
	// By it the flow can be brought back and started again, or another can take it over.
	if whole {
		body = domain.JoinObjects(body, []byte(`{"state":`+string(jsonText(s.State))+`}`))
		if s.lists > 0 {
			most := maxKeptLists
			if v.Reason == domain.FlowSucceeded { // it is never brought back
				most = maxTakenLists
			}
			lists, err := e.keepLists(ctx, ref{layout.SpaceOf(tenant), id}, s.lists, most)
			if err != nil {
				return r, false, err
			}
			body = domain.JoinObjects(body, []byte(`{"lists":`+string(jsonText(lists))+`}`))
		}
	}
	return archive.Record{Context: tenant, Kind: domain.ArchiveFlow, Key: v.Key(), EndMs: max(v.FinishedMs, 1),
		BeginMs: archive.AskedMs(v.CreatedAt, firstStarted(&v)),
		Status:  string(v.Status), Reason: string(v.Reason), Blueprint: v.Blueprint, Trigger: v.Trigger, Caller: v.CallerID, Body: body}, true, nil
}

// firstStarted is when a flow was started the first time, 0 where that is not known any more.
func firstStarted(v *domain.FlowView) int64 {
	if v.Retried > 0 {
		return 0
	}
	return v.StartedMs
}

// Archived is the flow that a record of the archive is of.
//
// Errors: [domain.ErrInvalid] for a record of another kind, or a head only.
func Archived(r *archive.Record) (domain.FlowView, error) {
	if r.Kind != domain.ArchiveFlow || r.Body == nil {
		return domain.FlowView{}, domain.Invalidf("record %q of kind %s holds no flow", r.Key, r.Kind)
	}
	var v domain.FlowView
	if err := json.Unmarshal(r.Body, &v); err != nil {
		return v, domain.Invalidf("record %q: the flow cannot be read: %v", r.Key, err)
	}
	return v, nil
}

// nameFor is how long a name stays taken on the board after its flow has left
// it: longer than a submit may take, which looks into the archive before it
// guards the name on the board.
const nameFor = 2 * submitWithin

// pruneEntry is prune for an entry among those of ended jobs. What is no flow's key has
// nothing that could be removed.
func (e *Engine) pruneEntry(ctx context.Context, b *board.Batch, key string) error {
	id, err := domain.ParseFlowKey(key)
	if err != nil {
		return nil
	}
	return e.prune(ctx, b, id)
}

// prune removes what a flow kept besides its own records, and adds to b that
// those go. Of one that says that it stays longer, it adds the alarm by which
// it goes: then no entry of it stands on the list of what has ended any more.
// b guards that the flow has not been started again.
//
// Errors: [domain.ErrConflict] where it has.
func (e *Engine) prune(ctx context.Context, b *board.Batch, id domain.FlowID) error {
	p := ref{b.Space, id}
	f, err := e.load(ctx, p)
	if errors.Is(err, domain.ErrNotFound) {
		return nil
	} else if err != nil && !errors.Is(err, domain.ErrInvalid) {
		return err
	}
	if until := staysUntil(&f); until.After(e.board.Now()) {
		b.Add(f.Key(), layout.FlowStale, -1)
		b.SetAlarm(layout.FlowAlarm(layout.AlarmFlowPrune, id), until)
		return nil
	}
	keys := make([]domain.JobKey, len(f.Jobs))
	for i, j := range f.Jobs {
		keys[i] = domain.JobKey{Caller: f.CallerID, ID: j}
	}
	ended := board.Guard{Kind: board.GuardEqual, Key: f.Key(), Field: layout.FlowFinishedMs, Value: strconv.FormatInt(f.FinishedMs, 10)}
	if err := e.removeJobs(ctx, p, keys, ended); err != nil {
		return err
	}
	records, parts, lists, err := e.stepRecords(ctx, p)
	if err != nil {
		return err
	}
	if err := e.removeLists(ctx, p, lists, ended); err != nil {
		return err
	}
	e.removeRecords(b, p, records, parts)
	if name := layout.FlowName(f.Blueprint, f.Trigger); f.Trigger != "" && f.Blueprint != "" {
		if e.cfg.Names != nil {
			b.Expire(name, nameFor)
		} else {
			b.Delete(name)
		}
	}
	return nil
}

// staysUntil is when a flow that has ended may go.
func staysUntil(f *domain.Flow) time.Time {
	return time.UnixMilli(f.FinishedMs).Add(time.Duration(f.Retention) * time.Second)
}

// pruneAlarm removes a flow that was to stay longer than others: unless it was
// started again, or has ended anew and its entry is still to come.
func (e *Engine) pruneAlarm(ctx context.Context, a board.Alarm, id domain.FlowID) error {
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)
	key := domain.FlowKey(id)
	recs, err := e.board.GetFields(ctx, a.Space, []string{layout.FlowStatus, layout.FlowStale, layout.FlowFinishedMs}, key)
	if err != nil {
		return err
	}
	if r := recs[0]; domain.FlowStatus(r.Get(layout.FlowStatus)).Final() && r.Get(layout.FlowStale) == "-1" {
		b.Equal(key, layout.FlowFinishedMs, r.Get(layout.FlowFinishedMs)).Equal(key, layout.FlowStale, "-1")
		if err := e.prune(ctx, &b, id); err != nil {
			return err
		}
	}
	return e.board.Commit(ctx, b)
}
