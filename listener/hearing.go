package listener

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/start"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/rhai/value"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/saga/machine"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/work"
)

const (
	// clocksApart is how far the clocks of nodes and broker may be apart: what is in the
	// stream for longer than the listener is there by more than that is older than it.
	clocksApart = time.Minute
	// holdEvery is how often it is written down that events wait.
	holdEvery = 10 * time.Second
	// tellEvery is how often a dead letter has a line in the log.
	tellEvery = time.Minute
	// maxHeld bounds the text of it.
	maxHeld = 300
)

// hearing is a listener, as it was read, that takes events.
type hearing struct {
	w           *Worker
	tenant      domain.TenantID
	name        string // what subjects call the context
	l           *domain.Listener
	subjects    []string
	deadLetters *deadLetters
	noted       time.Time // when, by the board's time, it was written down that events wait; zero: not since it last went on
}

func newHearing(ctx context.Context, w *Worker, tenant domain.TenantID, l *domain.Listener) (*hearing, error) {
	name, err := w.s.names.TenantName(ctx, tenant)
	if err != nil {
		return nil, err
	}
	if err := l.Validate(); err != nil {
		return nil, err
	}
	h := &hearing{w: w, tenant: tenant, name: name, l: l, subjects: saga.SubjectsOf(l.On, l.Stream(), tenant, name)}
	if l.State.HeldMs != 0 {
		h.noted = time.UnixMilli(l.State.HeldMs)
	}
	return h, nil
}

// one is an event in the hand.
type one struct {
	d     stream.Delivery
	m     stream.Message
	event *domain.Event
	req   *flow.Request // nil: it starts nothing
	again bool          // its flow was there
	err   error         // why it is no event, or an expression fails on it
}

// deal starts the flows of events. held says that what holds up one of them holds up the
// next, too: they come again.
func (h *hearing) deal(ctx context.Context, list []stream.Delivery) (held bool, err error) {
	all := make([]*one, len(list))
	var reqs []flow.Request
	var of []*one
	for i, d := range list {
		all[i] = &one{d: d, m: d.Message()}
		if h.read(ctx, all[i]); all[i].req != nil {
			reqs, of = append(reqs, *all[i].req), append(of, all[i])
		}
	}
	if len(reqs) > 0 {
		receipts, err := h.w.flows.Submit(ctx, h.tenant, reqs)
		for i, o := range of {
			if o.err = err; err == nil {
				o.err, o.again = receipts[i].Err, receipts[i].Existing
			}
		}
	}
	for _, o := range all {
		again, err := h.settle(ctx, o)
		if err != nil {
			return false, err // what is left comes again by itself
		}
		held = held || again
	}
	return held, nil
}

// read finds out what an event asks for.
func (h *hearing) read(ctx context.Context, o *one) {
	if o.m.Seq <= h.l.State.After && o.m.Time.Before(time.UnixMilli(h.l.State.MadeMs).Add(clocksApart)) {
		return
	}
	if o.event, o.err = saga.ReadEvent(&o.m, h.tenant, h.name); o.err == nil {
		o.req, o.err = h.request(ctx, o.event)
	}
}

// request is the flow that an event asks for; nil: none.
//
// Errors: [domain.ErrInvalid].
func (h *hearing) request(ctx context.Context, ev *domain.Event) (*flow.Request, error) {
	if !saga.Takes(h.l.On, ev) {
		return nil, nil
	}
	v, err := machine.EventValue(ev, ev.At())
	if err != nil {
		return nil, err
	}
	params, holds, err := start.Params(ctx, h.l.When, h.l.Params, names, []value.Value{v})
	if err != nil || !holds {
		return nil, err
	}
	return &flow.Request{Caller: h.l.CallerID, Blueprint: h.l.Blueprint, Version: h.l.Version, Trigger: start.Trigger(h.l.Name+".", ev.ID), Params: params,
		TraceID: ev.Metadata[domain.MetaTrace], Also: func(b *board.Batch, id domain.FlowID) { h.started(b, ev, id) }}, nil
}

// started writes down a flow with the commit that makes it.
func (h *hearing) started(b *board.Batch, ev *domain.Event, id domain.FlowID) {
	key := layout.Listener(h.l.Name)
	layout.ListenerGuard(b, h.l).Add(key, layout.ListenerStarted, 1).Set(key,
		board.Field{Name: layout.ListenerLastMs, Value: strconv.FormatInt(h.w.s.board.Now().UnixMilli(), 10)},
		board.Field{Name: layout.ListenerLastFlow, Value: strconv.FormatUint(uint64(id), 10)},
		board.Field{Name: layout.ListenerLastEvent, Value: ev.ID})
}

// settle tells the broker what became of an event: that it is dealt with, or is to come again.
func (h *hearing) settle(ctx context.Context, o *one) (again bool, err error) {
	switch {
	case o.err == nil:
		if o.req != nil && !h.noted.IsZero() { // the flow may have been there already
			h.noted = time.Time{}
			h.write(ctx, 0, "")
		}
		return false, h.ended(ctx, o, o.outcome())
	case errors.As(o.err, new(*work.UnknownTypeError)): // it waits, as for a blueprint that is gone: the event is right
	case errors.Is(o.err, domain.ErrInvalid), errors.Is(o.err, domain.ErrLimit):
		if err := h.deadLetter(ctx, o); err != nil {
			return false, h.changed(ctx, err)
		}
		return false, h.ended(ctx, o, Dead)
	}
	if errors.Is(o.err, domain.ErrConflict) {
		if err := h.changed(ctx, o.err); errors.Is(err, errChanged) {
			return false, errors.Join(o.d.Nak(ctx, 0), err)
		}
	}
	h.hold(ctx, o)
	h.tell(Held)
	return true, o.d.Nak(ctx, h.w.cfg.HeldPause)
}

// outcome is what became of an event that nothing is wrong with.
func (o *one) outcome() string {
	switch {
	case o.req == nil:
		return Passed
	case o.again:
		return Duplicate
	}
	return Started
}

// ended tells the broker that an event is dealt with. It is counted before: what is not
// acknowledged comes again, and is a duplicate then.
func (h *hearing) ended(ctx context.Context, o *one, outcome string) error {
	h.tell(outcome)
	return o.d.Ack(ctx)
}

func (h *hearing) tell(outcome string) {
	h.w.cfg.Observer.ListenerRead(h.tenant, h.l.Name, outcome, outcome == Started || outcome == Duplicate)
}

// changed is errChanged for a conflict with a listener that is another by now, else err.
func (h *hearing) changed(ctx context.Context, err error) error {
	now, gone := h.w.s.Show(ctx, h.tenant, h.l.Name)
	if errors.Is(gone, domain.ErrNotFound) || gone == nil && now.State.Revision != h.l.State.Revision {
		return errChanged
	}
	return err
}

// deadLetter makes a dead letter of an event.
func (h *hearing) deadLetter(ctx context.Context, o *one) error {
	now := h.w.s.board.Now().UnixMilli()
	key := layout.Listener(h.l.Name)
	b := board.Batch{Space: layout.SpaceOf(h.tenant)}
	layout.ListenerGuard(&b, h.l).Add(key, layout.ListenerRefused, 1).Set(key,
		board.Field{Name: layout.ListenerRefusedMs, Value: strconv.FormatInt(now, 10)},
		board.Field{Name: layout.ListenerLastError, Value: domain.PlainText(o.err.Error(), maxHeld)})
	d := saga.Unheard(&b, h.name, h.l.Name, o.event, &o.m, o.err, now)
	if err := h.w.s.board.Commit(ctx, b); err != nil {
		return err
	}
	h.w.cfg.Observer.ListenerDead(d.Kind)
	h.deadLetters.tell(d)
	return nil
}

// letters tells the log of a listener's dead letters: of one at once, of more once a minute with
// their number, so that a flood of events that nobody can read fills no disk. Each lies on the
// board for itself.
type deadLetters struct {
	log    *slog.Logger
	tenant domain.TenantID
	name   string

	mu    sync.Mutex
	told  time.Time   // when it last did
	more  int         // that it has not told of since
	later *time.Timer // tells of them when the minute is over; nil: there are none
}

func (l *deadLetters) tell(d *domain.DeadLetter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait := tellEvery - time.Since(l.told); wait > 0 {
		if l.more++; l.later == nil {
			l.later = time.AfterFunc(wait, l.rest)
		}
		return
	}
	l.log.Warn("dead letter", "context", uint32(l.tenant), "listener", l.name, "kind", d.Kind, "id", d.ID, "cause", d.Cause)
	l.told = time.Now()
}

// rest tells of those that nothing was said of: after the minute, or where the listener is not
// served here any more.
func (l *deadLetters) rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.later == nil {
		return
	}
	l.later.Stop()
	l.log.Warn("more dead letters of a listener", "context", uint32(l.tenant), "listener", l.name, "more", l.more)
	l.told, l.more, l.later = time.Now(), 0, nil
}

// hold writes down that events wait, and for what; not each time.
func (h *hearing) hold(ctx context.Context, o *one) {
	now := h.w.s.board.Now()
	if now.Sub(h.noted).Abs() < holdEvery {
		return
	}
	h.noted = now
	h.w.log.Warn("events of a listener wait", "context", uint32(h.tenant), "listener", h.l.Name, "err", o.err)
	h.write(ctx, h.noted.UnixMilli(), domain.PlainText(o.err.Error(), maxHeld))
}

// write writes for what events wait; atMs 0: they do not.
func (h *hearing) write(ctx context.Context, atMs int64, why string) {
	b := board.Batch{Space: layout.SpaceOf(h.tenant)}
	layout.ListenerGuard(&b, h.l).Set(layout.Listener(h.l.Name),
		board.Field{Name: layout.ListenerHeldMs, Value: strconv.FormatInt(atMs, 10)}, board.Field{Name: layout.ListenerHeldWhy, Value: why})
	if err := h.w.s.board.Commit(ctx, b); err != nil && !errors.Is(err, domain.ErrConflict) {
		h.w.log.Warn("what holds up a listener is not written down", "context", uint32(h.tenant), "listener", h.l.Name, "err", err)
	}
}

// Again starts the flow of an event whose dead letter is replayed, by the listener as it is now.
//
// Errors: [domain.ErrConflict] where the dead letter has no event; what starts none still.
func (w *Worker) Again(ctx context.Context, tenant domain.TenantID, d *domain.DeadLetter) error {
	if d.Event == nil {
		return domain.Conflictf("the message of dead letter %q is no event: it can be dropped, not replayed", d.ID)
	}
	l, err := w.s.Show(ctx, tenant, d.Listener)
	if err != nil {
		return err
	}
	h, err := newHearing(ctx, w, tenant, l)
	if err != nil {
		return err
	}
	r, err := h.request(ctx, d.Event)
	if err != nil || r == nil { // it is not wanted any more
		return err
	}
	receipts, err := w.flows.Submit(ctx, tenant, []flow.Request{*r})
	if err == nil {
		err = receipts[0].Err
	}
	return err
}
