package flow

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/tracing"
)

const (
	// bannedLook is how soon a flow that a ban holds up is looked at again.
	bannedLook = 2 * time.Second
	// endedMost is how many ends of jobs one round takes in.
	endedMost = 1_000
	// ordersMost is how many orders.
	ordersMost = 16
)

// seen is what one round has read.
type seen struct {
	stored
	known   *known // of a flow of steps
	flow    domain.Flow
	armed   string // as the record has it
	plain   string
	ended   []string // entries, oldest first
	orders  []string
	added   map[string]string
	before  map[string]string // added, before something was taken back; nil where nothing was
	now     time.Time
	signals int64 // wake-ups that this round answers
	more    bool  // that it does not: there are more entries than one round reads
	banned  bool  // no jobs may be made
	// parent is the caller of the flow that this one is for; "" where that is not there.
	parent string
	// again are ends of children that are told once more; see [tending.found].
	again map[domain.FlowID]string
	full  bool // its concurrency key is held, and it is not to wait
	// reason is set where the flow ends in this round.
	reason domain.FlowReason
}

// round reads what happened, decides, and commits. It returns nil where there
// may be more to do, errDone where the flow is let go of.
func (t *tending) round(ctx context.Context) error {
	if err := t.renew(ctx); err != nil {
		return err
	}
	s, err := t.look(ctx)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		t.drop(ctx, t.claimed)
		return errDone
	case err != nil:
		return err
	case s.Writing:
		s.more = false                     // nothing is taken in yet
		return t.letGo(ctx, &s, t.batch()) // its last commit wakes us
	case s.stepped:
		return t.stepRound(ctx, &s)
	}
	return t.plainRound(ctx, &s)
}

// look reads all that is known of the flow. The counter of wake-ups comes
// first: what it counts is there to be read.
func (t *tending) look(ctx context.Context) (s seen, err error) {
	id, space := t.ref.id, t.ref.space
	waits, err := t.board.Get(ctx, space, layout.FlowWaits(id))
	if err != nil {
		return s, err
	}
	s.armed, s.plain = waits[0].Get(layout.WaitsArmed), waits[0].Get(layout.WaitsPlain)
	armed, _ := strconv.ParseInt(s.armed, 10, 64)
	s.signals = 1 - armed
	recs, err := t.board.Get(ctx, space, t.claimed.Item)
	if err != nil {
		return s, err
	}
	// Not its jobs: there may be thousands.
	flows, err := t.board.GetFields(ctx, space, flowFields, domain.FlowKey(id))
	if err != nil {
		return s, err
	}
	if flows[0] == nil || recs[0].Get(layout.FlowStateData) == "" {
		return s, missing(t.ref)
	}
	if s.stored, err = decodeState(id, recs[0]); err != nil {
		return s, err
	}
	s.known = newKnown(&s.stored)
	if s.flow, err = layout.DecodeFlow(domain.FlowKey(id), flows[0]); err != nil {
		return s, err
	}
	s.flow.ID, s.flow.ContextID = id, t.tenant()
	if s.ended, err = t.oldest(ctx, layout.FlowEnded(id), endedMost); err != nil {
		return s, err
	}
	if s.orders, err = t.oldest(ctx, layout.FlowOrders(id), ordersMost); err != nil {
		return s, err
	}
	// After the ends: what a job adds lies there with its end.
	if recs, err = t.board.Get(ctx, space, layout.FlowParams(id)); err != nil {
		return s, err
	}
	s.added = make(map[string]string, len(recs[0]))
	for _, f := range recs[0] {
		s.added[f.Name] = f.Value
	}
	if err = t.lookParent(ctx, &s); err != nil {
		return s, err
	}
	s.more = len(s.ended) == endedMost || len(s.orders) == ordersMost
	s.now = t.board.Now()
	return s, nil
}

// flowFields are the fields of a flow that a round reads.
var flowFields = slices.Concat(layout.FlowLine, []string{layout.FlowEnvVars})

// oldest reads up to n items from the right end of a list.
func (t *tending) oldest(ctx context.Context, list string, n int) ([]string, error) {
	items, err := t.board.List(ctx, t.ref.space, list, -n, n)
	slices.Reverse(items)
	return items, err
}

// taken adds to b that what was read is dealt with.
func (t *tending) taken(b *board.Batch, s *seen) {
	if len(s.ended) > 0 {
		b.TrimRight(layout.FlowEnded(t.ref.id), len(s.ended))
	}
	if len(s.orders) > 0 {
		b.TrimRight(layout.FlowOrders(t.ref.id), len(s.orders))
	}
}

// letGo commits b and lets go of the flow, unless something has happened to it
// since it was looked at, or not all of it was read: then b is committed alone,
// and nil is returned for another round.
func (t *tending) letGo(ctx context.Context, s *seen, b board.Batch) error {
	if s.more {
		return t.goOn(ctx, s, b)
	}
	waits := layout.FlowWaits(t.ref.id)
	last := b
	last.Guards, last.Ops = slices.Clone(b.Guards), slices.Clone(b.Ops)
	last.Equal(waits, layout.WaitsArmed, s.armed)
	if s.armed != "" {
		last.Set(waits, board.Field{Name: layout.WaitsArmed, Value: "1"})
	}
	last.Release(t.claimed.Item)
	if s.plain != "" && s.plain != "0" {
		// Where the last job has ended meanwhile, its entry in the queue may be
		// lost, as we held the flow. No guard: jobs end all the time, and we
		// would read the flow again each time.
		last.Add(waits, layout.WaitsPlain, 1).Countdown(waits, layout.WaitsPlain, queue.Keeper, t.claimed.Item)
	}
	err := t.board.Commit(ctx, last)
	var g *board.GuardError
	switch {
	case err == nil:
		t.told(s)
		return errDone
	case !errors.As(err, &g) || g.Guard.Key != waits:
		return err
	}
	return t.goOn(ctx, s, b)
}

// goOn commits b and keeps the flow.
func (t *tending) goOn(ctx context.Context, s *seen, b board.Batch) error {
	if s.signals != 0 && s.armed != "" {
		b.Add(layout.FlowWaits(t.ref.id), layout.WaitsArmed, s.signals)
	}
	if len(b.Ops) == 0 {
		return nil
	}
	err := t.board.Commit(ctx, b)
	if err == nil {
		t.told(s)
	}
	return err
}

// told tells the observer of a flow whose end has been committed.
func (t *tending) told(s *seen) {
	if s.reason != "" {
		took := time.Duration(0)
		if s.flow.StartedMs != 0 {
			took = s.now.Sub(time.UnixMilli(s.flow.StartedMs))
		}
		t.cfg.Observer.FlowEnded(s.reason, took)
		t.traced(s)
		s.reason = ""
	}
}

// traced tells of a flow that has ended, where it belongs to a trace.
func (t *tending) traced(s *seen) {
	trace := t.cfg.Tracer.Wants(s.flow.TraceID)
	if trace == "" || s.flow.StartedMs == 0 {
		return
	}
	tenant, key := t.tenant(), domain.FlowKey(t.ref.id)
	span := tracing.Span{Trace: trace, ID: tracing.Flow(tenant, t.ref.id), Parent: tracing.Request(tenant, key), Name: "flow", Kind: tracing.Consumer,
		Began: time.UnixMilli(s.flow.StartedMs), Ended: s.now, Attributes: []tracing.Attribute{{Name: "ramet.context", Value: domain.Tenant{ID: tenant}.Key()},
			{Name: "ramet.flow", Value: key}, {Name: "ramet.blueprint", Value: s.flow.Blueprint}, {Name: "ramet.reason", Value: string(s.reason)}}}
	if s.flow.Blueprint != "" {
		span.Name = "flow " + s.flow.Blueprint
	}
	if s.reason != domain.FlowSucceeded {
		span.Failed = string(s.reason)
	}
	t.cfg.Tracer.Tell(span)
}
