package flow

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Records are those of the archive.
type Records interface {
	Get(ctx context.Context, tenant domain.TenantID, key string, endMs int64) (archive.Record, error)
	Put(ctx context.Context, records []archive.Record) error
	Release(ctx context.Context, name archive.Name, key string) error
}

// kept is what of an archived flow makes it one of the board again.
type kept struct {
	domain.FlowView
	Plan  json.RawMessage `json:"plan"`
	State State           `json:"state"`
	// Lists are those that its steps are done for.
	Lists *keptLists `json:"lists"`
}

// UnmarshalJSON reads all of it.
func (k *kept) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &k.FlowView); err != nil {
		return err
	}
	var rest struct {
		Plan  json.RawMessage
		State State
		Lists *keptLists
	}
	err := json.Unmarshal(text, &rest)
	k.Plan, k.State, k.Lists = rest.Plan, rest.State, rest.Lists
	return err
}

// restore brings a flow that only the archive still has back onto the board,
// as it ended, with the jobs that it kept: so that it can be started again. The
// jobs of shards and packs are made anew where they are needed.
//
// Errors: [domain.ErrNotFound] where the archive does not have it either.
func (e *Engine) restore(ctx context.Context, p ref) error {
	r, err := e.archived(ctx, p)
	if err != nil {
		return err
	}
	var k kept
	if err := json.Unmarshal(r.Body, &k); err != nil {
		return domain.Invalidf("the record of flow %d in the archive cannot be read: %v", p.id, err)
	}
	if k.Reason == domain.FlowSucceeded {
		return domain.Conflictf("flow %d has succeeded: there is nothing to start again", p.id)
	}
	if k.Lists != nil && k.Lists.Cut {
		return domain.Conflictf("flow %d cannot be started again: the lists that its steps are done for are larger than what the archive keeps "+
			"of them, %d bytes of %d elements; "+
			"submit it anew", p.id, maxKeptLists, maxKeptRecords*layout.ListSize)
	}
	if err := e.restoreJobs(ctx, p, &k); err != nil {
		return err
	}
	b := k.batch(p)
	if err := e.restoreParts(ctx, p, &k, &b); errors.Is(err, domain.ErrConflict) {
		return nil // somebody else was first
	} else if err != nil {
		return err
	}
	if err := e.takeName(ctx, &b, p, &k); err != nil {
		return err
	}
	err = e.board.Commit(ctx, b)
	var g *board.GuardError
	if errors.As(err, &g) && g.Guard.Key != k.Key() {
		return domain.Conflictf("the name of flow %d was taken at the same time; try again", p.id)
	} else if errors.Is(err, domain.ErrConflict) {
		err = nil // somebody else was first
	}
	return err
}

// archived is the record of a flow in the archive.
//
// Errors: [domain.ErrNotFound], in the words of a flow that is not there.
func (e *Engine) archived(ctx context.Context, p ref) (archive.Record, error) {
	if e.cfg.Records == nil {
		return archive.Record{}, missing(p)
	}
	r, err := e.cfg.Records.Get(ctx, domain.TenantID(p.space), domain.FlowKey(p.id), 0)
	if errors.Is(err, domain.ErrNotFound) {
		err = missing(p)
	}
	return r, err
}

// takeName adds to b that the flow has its name on the board again.
//
// Errors: [domain.ErrConflict] where another flow has it: it was freed once.
func (e *Engine) takeName(ctx context.Context, b *board.Batch, p ref, k *kept) error {
	if k.Trigger == "" || k.Blueprint == "" {
		return nil
	}
	name := layout.FlowName(k.Blueprint, k.Trigger)
	recs, err := e.board.Get(ctx, p.space, name)
	if err != nil {
		return err
	}
	holder := recs[0].Get(layout.FlowNameID)
	if holder == "" && e.cfg.Names != nil {
		holder, err = e.cfg.Names.Holder(ctx, archive.Name{Context: domain.TenantID(p.space), Blueprint: k.Blueprint, Trigger: k.Trigger})
		if err != nil && !errors.Is(err, domain.ErrNotFound) {
			return err
		}
	}
	if id, err := domain.ParseFlowKey(holder); holder != "" && (err != nil || id != p.id) {
		return domain.Conflictf("flow %d cannot be started again: its name %s/%s is that of flow %d now", p.id, k.Blueprint, k.Trigger, id)
	}
	if recs[0] == nil {
		b.Absent(name)
	} else {
		b.Equal(name, layout.FlowNameID, recs[0].Get(layout.FlowNameID))
	}
	b.Set(name, board.Field{Name: layout.FlowNameID, Value: strconv.FormatUint(uint64(p.id), 10)}).Expire(name, 0)
	return nil
}

// batch is the commit that puts the flow's own records back.
func (k *kept) batch(p ref) board.Batch {
	b := board.Batch{Space: p.space}
	b.Absent(k.Key())
	b.Set(k.Key(), layout.EncodeFlow(k.Flow)...)
	k.State.Delete, k.State.Forget = false, false // one that was deleted begins again as any other
	b.Set(layout.FlowState(p.id), board.Field{Name: layout.FlowStateCaller, Value: strconv.FormatUint(uint64(k.CallerID), 10)})
	if k.Stepped {
		b.Set(layout.FlowState(p.id), board.Field{Name: layout.FlowStateStepped, Value: "true"})
	} else {
		b.Set(layout.FlowState(p.id), layout.IDsField(layout.FlowStateJobs, k.Jobs))
	}
	if k.Lists != nil {
		b.Set(layout.FlowState(p.id), board.Field{Name: layout.FlowStateLists, Value: strconv.Itoa(len(k.Lists.Items))})
	}
	b.Set(layout.FlowWaits(p.id), board.Field{Name: layout.WaitsPlain, Value: "0"}, board.Field{Name: layout.WaitsArmed, Value: "1"})
	if len(k.Added) > 0 {
		var fields []board.Field
		for name, value := range k.Added {
			fields = append(fields, board.Field{Name: name, Value: value})
		}
		b.Set(layout.FlowParams(p.id), fields...)
	}
	// As after its end: it leaves the board again where nothing comes of it.
	layout.Ended(&b, k.Key(), time.UnixMilli(k.FinishedMs), layout.FailedFlows, k.Status == domain.FlowError)
	return b
}

// partsFor is how long what a flow has beside its own records waits for these: who was
// to write them may have died.
const partsFor = time.Hour

// restoreParts puts back the flow's blueprint and its state, and adds to b what of them
// belongs to its own records. What is too large for one commit is written before that,
// and stays when b is committed.
//
// Errors: [domain.ErrConflict] where the board has the flow already.
func (e *Engine) restoreParts(ctx context.Context, p ref, k *kept, b *board.Batch) error {
	put := func(key string, fields ...board.Field) error {
		b.Expire(key, 0)
		part := board.Batch{Space: p.space}
		part.Absent(k.Key()).Set(key, fields...).Expire(key, partsFor)
		return e.board.Commit(ctx, part)
	}
	state := layout.FlowState(p.id)
	parts := planParts(k.Plan)
	for n, text := range parts {
		if err := put(layout.FlowPlanPart(p.id, n), board.Field{Name: layout.FlowPlanText, Value: text}); err != nil {
			return err
		}
	}
	if err := k.Lists.restore(p.id, put); err != nil {
		return err
	}
	switch {
	case len(parts) > 0:
		b.Set(state, board.Field{Name: layout.FlowStatePlan, Value: strconv.Itoa(len(parts))})
	case len(k.Plan) > 0:
		b.Set(layout.FlowPlan(p.id), board.Field{Name: layout.FlowPlanText, Value: string(k.Plan)})
	}
	if len(k.State.Steps) <= e.spread.whole {
		b.Set(state, board.Field{Name: layout.FlowStateData, Value: stateText(k.State)})
		return nil
	}
	blueprint, err := decodePlan(string(k.Plan))
	if err != nil {
		return err
	}
	plan := NewPlan(blueprint)
	if len(plan.Steps) != len(k.State.Steps) {
		return domain.Invalidf("the record of flow %d in the archive cannot be read: it has %d steps, and its blueprint %d",
			p.id, len(k.State.Steps), len(plan.Steps))
	}
	head, steps := e.spreadState(plan, k.State)
	fields := map[int][]board.Field{} // by record
	for _, i := range slices.Sorted(maps.Keys(steps)) {
		n := i / head.Sums.Size
		fields[n] = append(fields[n], board.Field{Name: strconv.Itoa(i), Value: stepText(steps[i])})
	}
	for _, n := range slices.Sorted(maps.Keys(fields)) {
		if err := put(layout.FlowSteps(p.id, n), fields[n]...); err != nil {
			return err
		}
	}
	b.Set(state, headFields(head)...)
	return nil
}

// restoreJobs puts back the jobs that the flow kept.
func (e *Engine) restoreJobs(ctx context.Context, p ref, k *kept) error {
	for page := range slices.Chunk(k.Jobs, removePage) {
		var batches []board.Batch
		for _, id := range page {
			key := domain.JobKey{Caller: k.CallerID, ID: id}
			r, err := e.cfg.Records.Get(ctx, domain.TenantID(p.space), key.String(), 0)
			if errors.Is(err, domain.ErrNotFound) {
				continue // made anew, if it is needed
			} else if err != nil {
				return err
			}
			j, err := r.Job()
			if err != nil {
				return err
			}
			b := board.Batch{Space: p.space}
			b.Absent(key.String())
			b.Set(key.String(), append(layout.EncodeJob(j), board.Field{Name: layout.JobAttempt, Value: strconv.FormatInt(j.Attempt, 10)})...)
			if j.Status == domain.JobError {
				layout.Failed(&b, layout.FailedJobs, key.String(), j.FinishedMs)
			}
			batches = append(batches, b)
		}
		if len(batches) == 0 {
			continue
		}
		for _, err := range e.board.CommitEach(ctx, batches) {
			if err != nil && !errors.Is(err, domain.ErrConflict) {
				return err
			}
		}
	}
	return nil
}
