package saga

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga/machine"
	"github.com/ramet-run/ramet/stream"
)

// handle lets an instance have an event.
func (r *round) handle(ctx context.Context, t *pending) error {
	at := r.instances[t.correlation]
	if at.broken != nil {
		r.deadLetter(r.failed(newDead(domain.DeadSaga, t.ev, &t.m, at.broken), t.correlation))
		return nil
	}
	m, err := r.find(ctx, at)
	if errors.Is(err, domain.ErrInvalid) || errors.Is(err, domain.ErrNotFound) {
		r.strand(at, t, err)
		return nil
	}
	if err != nil {
		return err
	}
	if isControl(t.ev) {
		return r.control(ctx, t, at, m)
	}
	if r.refuse(t, at, m) {
		return nil
	}
	was := at.in
	if at.in == nil {
		at.in = m.New(r.s.name, t.correlation, m.hash)
	}
	var changed bool
	if t.fatal != nil {
		tr := r.poison(at, m, t.ev, &t.m, t.fatal)
		changed = r.write(at, m, &tr)
	} else {
		changed = r.advance(at, m, t.ev, &t.m)
	}
	if !changed {
		at.in = was // an event that was ignored begins nothing
		r.passed++
	}
	return nil
}

// find is the machine that an instance is pinned to.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid] where it cannot be had;
// [domain.ErrUnavailable].
func (r *round) find(ctx context.Context, at *instance) (*compiled, error) {
	if at.in == nil || at.in.Definition == r.newest.version {
		return r.newest, nil
	}
	return r.s.e.defs.pinned(ctx, r.s.tenant, r.s.saga, at.in.Definition, at.in.Hash)
}

// advance gives an event to an instance and writes what follows into the
// chunk; changed is false when nothing does.
func (r *round) advance(at *instance, m *compiled, ev *domain.Event, msg *stream.Message) (changed bool) {
	taken := *ev
	err := m.Upcast(&taken)
	var version *machine.VersionError
	if errors.As(err, &version) {
		return r.otherVersion(at, m, ev, msg, version)
	}
	var tr machine.Transition
	if err == nil {
		tr, err = m.advance(at.in, &taken)
	}
	if err != nil {
		tr = r.poison(at, m, &taken, msg, err)
	}
	changed = r.write(at, m, &tr)
	r.traced(at, &taken, &tr)
	return changed
}

// otherVersion does what the definition says of events of a version that it
// does not take.
func (r *round) otherVersion(at *instance, m *compiled, ev *domain.Event, msg *stream.Message, cause *machine.VersionError) (changed bool) {
	switch m.def.OnVersion {
	case domain.VersionIgnore:
		return false
	case domain.VersionCompensate:
		tr, err := m.Compensate(at.in, ev)
		if err != nil {
			tr = r.poison(at, m, ev, msg, err)
		}
		return r.write(at, m, &tr)
	}
	r.deadLetter(r.failed(newDead(domain.DeadEvent, ev, msg, cause), at.in.Correlation))
	return false // the dead letter is all that is left of it
}

// write puts a transition into the chunk, if it changes anything.
func (r *round) write(at *instance, m *compiled, tr *machine.Transition) (changed bool) {
	for i := range tr.Poison {
		p := &tr.Poison[i]
		r.hold(newDead(domain.DeadSaga, &p.Event, &stream.Message{Stream: domain.StreamName(p.Event.Stream), Seq: p.Event.Seq}, p.Err), at, m)
	}
	if tr.Ignored {
		return false
	}
	r.transitions += len(tr.Entries)
	at.in = tr.Instance
	keys, c := r.s.keys, r.cur
	saga, correlation := at.in.Saga, at.in.Correlation
	c.change(keys.Instance(saga, correlation), at)
	for i := range tr.Clear {
		key := keys.Timer(saga, correlation, tr.Clear[i].DueMs)
		c.Delete(key).ClearAlarm(layout.TimerAlarm(key))
	}
	for i := range tr.Set {
		c.timer(keys, at.in, &tr.Set[i])
	}
	for i := range tr.Work {
		r.send(tr.Work[i])
	}
	r.note(at, tr.Entries)
	return true
}

// note writes lines of an instance's history.
func (r *round) note(at *instance, entries []domain.SagaEntry) {
	lines := make([]string, len(entries))
	for i := range entries {
		lines[i] = plainJSON(entries[i])
		r.cur.bytes += len(lines[i])
		if entries[i].Reaction == domain.Defer {
			r.deferred++
		}
	}
	if len(lines) > 0 {
		r.cur.Append(r.s.keys.History(at.in.Saga, at.in.Correlation), r.s.e.cfg.History, lines...)
	}
}

// send puts a work item into the outbox.
func (r *round) send(w domain.WorkItem) {
	s, c := r.s, r.cur
	key := s.keys.Outbox(w.Kind, w.ID)
	c.set(key, board.Field{Name: layout.OutboxItem, Value: plainJSON(w)})
	c.outbox = append(c.outbox, key)
	c.work = append(c.work, outgoing{WorkItem: w, index: s.keys.OutboxIndex(s.saga, s.partition)})
}

// retention is how long an ended instance stays.
func (r *round) retention(at *instance) time.Duration {
	def := r.newest.def
	if at.in.Definition != r.newest.version {
		// Known: it was found before.
		if m, err := r.s.e.defs.get(context.Background(), r.s.tenant, r.s.saga, at.in.Definition); err == nil {
			def = m.def
		}
	}
	if def.Retention != 0 {
		return def.Retention.Time()
	}
	return r.s.e.cfg.Retention
}

// markSeen keeps an event from being handled again.
func (r *round) markSeen(ev *domain.Event) {
	key := r.s.keys.Seen(r.s.saga, ev.ID)
	stay := 24 * time.Hour
	if r.newest.def.Dedupe != 0 {
		stay = r.newest.def.Dedupe.Time()
	}
	r.cur.set(key, board.Field{Name: layout.SeenAt, Value: strconv.FormatInt(r.now.UnixMilli(), 10)})
	r.cur.Expire(key, stay)
}

// strand is what becomes of an instance whose definition cannot be had, or does
// not compile any more: it is held, and what comes for it is kept.
func (r *round) strand(at *instance, t *pending, cause error) {
	out := *at.in
	out.Version++
	out.UpdatedMs = min(max(t.ev.At(), 0), domain.MaxNotBefore)
	entry := domain.SagaEntry{Version: out.Version, AtMs: out.UpdatedMs, EventID: t.ev.ID, Type: t.ev.Type, Stream: t.ev.Stream, Seq: t.ev.Seq,
		From: out.State, To: out.State, Reaction: domain.Defer, Note: "its definition cannot be had"}
	total := sizeOf(&out) + len(t.ev.Payload)
	switch {
	case out.Status == domain.SagaEnded:
		return
	case isControl(t.ev) || out.Held != "" && (len(out.Deferred) >= domain.MaxDeferredEvents || total > domain.MaxDeferredBytes):
		r.deadLetter(r.failed(newDead(domain.DeadSaga, t.ev, &t.m, cause), out.Correlation))
		return
	case out.Held == "":
		d := r.failed(newDead(domain.DeadSaga, t.ev, &t.m, cause), out.Correlation)
		d.Holds = true
		r.deadLetter(d)
		out.Held, entry.Reaction = t.ev.ID, domain.Fail
	default:
		out.Deferred = append(out.Deferred[:len(out.Deferred):len(out.Deferred)], *t.ev)
	}
	at.in = &out
	r.transitions++
	r.cur.change(r.s.keys.Instance(out.Saga, out.Correlation), at)
	r.note(at, []domain.SagaEntry{entry})
}
