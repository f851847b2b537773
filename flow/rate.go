package flow

import (
	"context"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/layout"
)

// This file lets flows of one key begin with pauses between them.
//
// The record of a key says from when on the next flow may begin. A flow that could begin takes
// that instant for its own and moves it on, in one commit guarded by what it has read: so slots
// are given out in the order in which flows ask, each once, and a flow waits for its slot by an
// alarm, as for any other instant. It keeps it once it has begun, however often it is started
// again; where it has not begun soon after, it takes another. The slot of a flow that is
// cancelled while it waits is not given to another.

// rateKeep is how long the record of a key stays after its last slot.
const rateKeep = time.Minute

// rateLate is how late a flow may begin that has a slot, as it may be where much comes due at once.
const rateLate = 10 * time.Second

// missedSlot reports whether a flow did not begin when it could have: no node was there, it was
// paused, or banned. All that missed theirs would begin at once; so each takes another.
func (s *seen) missedSlot(plan *Plan) bool {
	late := max(rateLate, plan.Rate.Pause())
	return s.flow.StartedMs == 0 && !s.flow.Paused && s.now.UnixMilli() > s.Slot+late.Milliseconds()
}

// takeSlot gives a flow its slot that has a rate and may begin otherwise. done says that
// something was committed, and the round begins anew.
func (t *tending) takeSlot(ctx context.Context, plan *Plan, s *seen) (done bool, err error) {
	if plan.Rate == nil || s.Slot != 0 && !s.missedSlot(plan) || s.flow.Final() || s.Cancelled != "" || s.flow.AfterMs > s.now.UnixMilli() {
		return false, nil
	}
	key, err := rateKey(plan, &s.flow)
	if err != nil {
		return false, err
	}
	record := layout.FlowRate(key)
	recs, bad, err := board.PerKey(t.board.Get(ctx, t.ref.space, record))
	if err != nil {
		return false, err
	}
	read := recs[0].Get(layout.FlowRateNext)
	slot, err := strconv.ParseInt(read, 10, 64)
	if err != nil { // it is not there, or a foreign program wrote it
		slot = 0
	}
	next := s.State.clone()
	next.Slot = max(slot, s.now.UnixMilli())
	after := next.Slot + plan.Rate.Pause().Milliseconds()
	b := t.batch()
	switch {
	case bad[0] != nil: // another kind of thing, which a foreign program left there
		b.Delete(record)
	case recs[0] == nil:
		b.Absent(record)
	default:
		b.Equal(record, layout.FlowRateNext, read)
	}
	b.Set(record, board.Field{Name: layout.FlowRateNext, Value: strconv.FormatInt(after, 10)})
	b.Expire(record, time.UnixMilli(after).Sub(s.now)+rateKeep)
	return true, t.putLine(ctx, s, next, b)
}
