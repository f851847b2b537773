package flow

import (
	"context"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
)

// This file ends plain flows many at a time: most flows are such.

// mayEnd reports whether the flow may be one of those that are ended together:
// a small plain one of which nothing else is known.
func (t *tending) mayEnd() bool {
	r := t.claimed.Record
	n, err := strconv.Atoi(r.Get(layout.FlowStateCount))
	return err == nil && n <= plainTogether && r.Get(layout.FlowStateData) == "{}"
}

// endTogether ends flows whose jobs have all ended and succeeded, all with one
// read and one commit. It returns those that are not so simple.
func (k *keeper) endTogether(ctx context.Context, list []*tending) (rest []*tending) {
	bySpace := map[board.Space][]*tending{}
	for _, t := range list {
		bySpace[t.ref.space] = append(bySpace[t.ref.space], t)
	}
	for space, list := range bySpace {
		rest = append(rest, k.endInSpace(ctx, space, list)...)
	}
	return rest
}

func (k *keeper) endInSpace(ctx context.Context, space board.Space, list []*tending) (rest []*tending) {
	var keys []string
	states := make([]stored, len(list))
	for i, t := range list {
		states[i], _ = decodeState(t.ref.id, t.claimed.Record)
		keys = append(keys, layout.FlowWaits(t.ref.id), domain.FlowKey(t.ref.id))
		for n := range states[i].count {
			keys = append(keys, states[i].job(n).String())
		}
	}
	recs, err := k.board.Get(ctx, space, keys...)
	if err != nil {
		return list // each for itself says what is wrong
	}
	now := k.board.Now()
	var batches []board.Batch
	var of []*tending
	var flows []*seen
	for i, t := range list {
		own := recs[:2+states[i].count]
		recs = recs[len(own):]
		b, s, ok := t.simpleEnd(ctx, states[i], own, now)
		if !ok {
			rest = append(rest, t)
			continue
		}
		batches, of, flows = append(batches, b), append(of, t), append(flows, s)
	}
	if len(batches) == 0 {
		return rest
	}
	for i, err := range k.board.CommitEach(ctx, batches) {
		if err == nil {
			of[i].told(flows[i])
			continue
		}
		if !lease.IsGone(err) {
			rest = append(rest, of[i])
		}
	}
	return rest
}

// simpleEnd is the commit that ends a flow all of whose jobs succeeded; ok is
// false for any other.
func (t *tending) simpleEnd(ctx context.Context, st stored, recs []board.Record, now time.Time) (b board.Batch, s *seen, ok bool) {
	waits, rec, jobs := recs[0], recs[1], recs[2:]
	if waits.Get(layout.WaitsPlain) != "0" || waits.Get(layout.WaitsArmed) != "1" || rec == nil {
		return b, nil, false
	}
	f, err := layout.DecodeFlow(domain.FlowKey(t.ref.id), rec)
	if err != nil || f.Final() || f.Parent != nil {
		return b, nil, false
	}
	var plan *Plan
	if f.Hash != "" {
		t.mu.Lock()
		plan = t.plans[f.Hash]
		t.mu.Unlock()
		if plan == nil || plan.UniqueAlive {
			return b, nil, false
		}
	}
	for _, on := range []domain.HookOn{domain.HookSucceeded, domain.HookLate} {
		if h, err := t.hook(ctx, t.tenant(), plan, on); h != nil || err != nil {
			return b, nil, false
		}
	}
	y := tally{result: newResults(plan)}
	for n, r := range jobs {
		if domain.JobStatus(r.Get(layout.JobStatus)) != domain.JobFinished {
			return b, nil, false
		}
		name := r.Get(layout.JobStep)
		if name == "" {
			name = strconv.FormatUint(uint64(st.job(n).ID), 10)
		}
		y.result.add(name, r.Get(layout.JobFollowers) == "", layout.Result(r))
	}
	b = t.batch()
	s = &seen{stored: st, flow: f, now: now}
	t.endRecord(&b, s, domain.FlowSucceeded, "", y.result.map_())
	b.Equal(layout.FlowWaits(t.ref.id), layout.WaitsArmed, "1").Equal(layout.FlowWaits(t.ref.id), layout.WaitsPlain, "0")
	b.Release(t.claimed.Item)
	return b, s, true
}
