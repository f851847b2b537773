package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// This file takes over flows that foreign programs have written: a record
// "flow:<id>" with a list of jobs whose dependends are the edges, as the seeds
// have it. They become plain flows of ours.

// scanAlarm looks for such flows in a context where a foreign program has
// written jobs.
func (e *Engine) scanAlarm(ctx context.Context, a board.Alarm) error {
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)
	// First, so that what is written from here on is looked for again.
	if err := e.board.Commit(ctx, b); err != nil {
		if errors.Is(err, domain.ErrConflict) {
			err = nil
		}
		return err
	}
	_, err := e.FindForeign(ctx, domain.TenantID(a.Space))
	return err
}

// FindForeign takes over the flows of foreign programs in a context, and
// returns how many. One whose jobs are not all there yet is left for later.
func (e *Engine) FindForeign(ctx context.Context, tenant domain.TenantID) (found int, err error) {
	space := layout.SpaceOf(tenant)
	for cursor := ""; ; {
		keys, next, err := e.board.Keys(ctx, space, layout.FlowPrefix, cursor, listPage)
		if err != nil {
			return found, err
		}
		n, err := e.takeOver(ctx, space, keys)
		found += n
		if cursor = next; err != nil || next == "" {
			return found, err
		}
	}
}

// takeOver takes over those of the flows that are not ours yet.
func (e *Engine) takeOver(ctx context.Context, space board.Space, keys []string) (found int, err error) {
	var ids []domain.FlowID
	var states []string
	for _, key := range keys {
		if id, err := domain.ParseFlowKey(key); err == nil && key == domain.FlowKey(id) && !slices.Contains(ids, id) {
			ids, states = append(ids, id), append(states, layout.FlowState(id))
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	recs, bad, err := board.PerKey(e.board.GetFields(ctx, space, []string{layout.FlowStateCaller}, states...))
	if err != nil {
		return 0, err
	}
	for i, r := range recs {
		if r != nil || bad[i] != nil {
			continue // ours, or never anybody's
		}
		taken, err := e.takeOverOne(ctx, ref{space, ids[i]})
		if err != nil {
			return found, err
		}
		if taken {
			found++
		}
	}
	return found, nil
}

// takeOverOne makes a foreign program's flow one that keepers look after. What
// cannot be a flow is ended with the reason, once all of it is there.
func (e *Engine) takeOverOne(ctx context.Context, p ref) (taken bool, err error) {
	f, err := e.load(ctx, p)
	if errors.Is(err, domain.ErrNotFound) || f.Final() {
		return false, nil
	} else if err != nil && !errors.Is(err, domain.ErrInvalid) {
		return false, err
	}
	why := err
	if why == nil {
		var there bool
		if there, why, err = e.checkForeign(ctx, p, &f); err != nil || !there {
			return false, err
		}
	}
	now := e.board.Now()
	key := domain.FlowKey(p.id)
	b := board.Batch{Space: p.space}
	b.Absent(layout.FlowState(p.id)).Equal(key, layout.FlowStatus, string(f.Status))
	if why != nil {
		// Its jobs first: a node that dies here is followed by one that finds the same.
		for _, id := range f.Jobs[:min(len(f.Jobs), domain.MaxSteps)] {
			if err := e.work.Refuse(ctx, domain.TenantID(p.space), domain.JobKey{Caller: f.CallerID, ID: id}, fmt.Errorf("its flow %d: %w", p.id, why)); err != nil {
				return false, err
			}
		}
		// What is known of it has no jobs: it can be deleted, and that is all.
		b.Set(layout.FlowState(p.id), board.Field{Name: layout.FlowStateData, Value: "{}"},
			board.Field{Name: layout.FlowStateCaller, Value: strconv.FormatUint(uint64(f.CallerID), 10)})
		b.Set(layout.FlowWaits(p.id), board.Field{Name: layout.WaitsPlain, Value: "0"}, board.Field{Name: layout.WaitsArmed, Value: "1"})
		b.Set(key, board.Field{Name: layout.FlowStatus, Value: string(domain.FlowError)}, board.Field{Name: layout.FlowReason, Value: string(domain.FlowErrored)},
			board.Field{Name: layout.FlowError, Value: why.Error()}, board.Field{Name: layout.FlowFinishedMs, Value: strconv.FormatInt(now.UnixMilli(), 10)})
		layout.Ended(&b, key, now, layout.FailedFlows, true)
	} else {
		b.Set(key, board.Field{Name: layout.FlowStatus, Value: string(domain.FlowStarted)},
			board.Field{Name: layout.FlowStartedMs, Value: strconv.FormatInt(now.UnixMilli(), 10)})
		b.Live(key, now)
		b.Set(layout.FlowState(p.id), board.Field{Name: layout.FlowStateData, Value: stateText(State{Adopting: true})},
			board.Field{Name: layout.FlowStateCaller, Value: strconv.FormatUint(uint64(f.CallerID), 10)}, layout.IDsField(layout.FlowStateJobs, f.Jobs))
		// One more than there are jobs: it does not end while they are adopted.
		b.Set(layout.FlowWaits(p.id), board.Field{Name: layout.WaitsPlain, Value: strconv.Itoa(len(f.Jobs) + 1)}, board.Field{Name: layout.WaitsArmed, Value: "0"})
		b.PushLeft(queue.Keeper, layout.FlowState(p.id))
	}
	err = e.board.Commit(ctx, b)
	if errors.Is(err, domain.ErrConflict) {
		return false, nil // another node was first, or it is being written
	}
	if err == nil {
		e.log.Info("flow of a foreign program taken over", "flow", uint32(p.id), "context", uint32(p.space), "jobs", len(f.Jobs))
	}
	return err == nil, err
}

// checkForeign reads the jobs of a foreign program's flow, and takes out those
// that it names twice. there is false while they are not all written.
func (e *Engine) checkForeign(ctx context.Context, p ref, f *domain.Flow) (there bool, why, err error) {
	switch {
	case len(f.Jobs) == 0 || f.CallerID == 0:
		return false, nil, nil
	case len(f.Jobs) > domain.MaxSteps:
		return true, domain.Invalidf("the flow has %d jobs, the limit is %d", len(f.Jobs), domain.MaxSteps), nil
	}
	named := make(map[domain.JobID]bool, len(f.Jobs))
	f.Jobs = slices.DeleteFunc(f.Jobs, func(id domain.JobID) bool {
		twice := named[id]
		named[id] = true
		return twice
	})
	jobs := make([]*domain.Job, len(f.Jobs))
	for from := 0; from < len(jobs); from += plainPage {
		to := min(len(jobs), from+plainPage)
		keys := make([]string, 0, plainPage)
		for _, id := range f.Jobs[from:to] {
			keys = append(keys, domain.JobKey{Caller: f.CallerID, ID: id}.String())
		}
		recs, err := board.Readable(e.board.GetFields(ctx, p.space, layout.JobLine, keys...))
		if err != nil {
			return false, nil, err
		}
		for i, r := range recs {
			if r.Get(layout.JobScriptType) == "" {
				return false, nil, nil
			}
			jobs[from+i], _ = layout.DecodeJob(domain.JobKey{Caller: f.CallerID, ID: f.Jobs[from+i]}, r)
		}
	}
	_, why = domain.OrderJobs(jobs)
	return true, why, nil
}

// adopt makes the jobs of a foreign program's flow its own, those that others
// need first. A keeper that died in the middle is followed by one that goes on:
// a job that is the flow's already is left as it is.
func (t *tending) adopt(ctx context.Context, s *seen) error {
	jobs := make([]*domain.Job, 0, s.count)
	err := t.eachPlain(ctx, s, layout.JobLine, func(key domain.JobKey, r board.Record) error {
		j, _ := layout.DecodeJob(key, r)
		jobs = append(jobs, j)
		return nil
	})
	if err != nil {
		return err
	}
	ordered, err := domain.OrderJobs(jobs)
	if err != nil {
		ordered = jobs // it has been changed since; what waits for itself is shown as stuck
	}
	missing := int64(0)
	for _, j := range ordered {
		if err := t.renew(ctx); err != nil {
			return err
		}
		gone, err := t.work.Adopt(ctx, t.tenant(), t.ref.id, j.Key())
		if err != nil {
			return err
		}
		if gone {
			missing++
		}
	}
	next := s.State.clone()
	next.Adopting = false
	b := t.batch()
	t.putState(&b, s, next)
	b.Add(layout.FlowWaits(t.ref.id), layout.WaitsPlain, -1-missing)
	return t.goOn(ctx, s, b)
}
