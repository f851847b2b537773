package saga

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga/machine"
	"github.com/ramet-run/ramet/stream"
)

// This file has what becomes of events that cannot be handled. Programs are
// deterministic: one that failed would fail again, so nothing is tried twice
// before a person has looked at it.

// malformedStays is how long the dead letter stays of a message that is no event:
// who writes nothing else must not fill the board.
const malformedStays = 30 * 24 * time.Hour

// HeldBy is the id of the dead letter that holds an instance; "" for none.
func HeldBy(in *domain.SagaInstance) string {
	if in.Held == "" {
		return ""
	}
	return deadID(in.Saga, in.Held)
}

// deadID is the id of the dead letter of an event: several sagas may have one
// of the same event.
func deadID(saga, eventID string) string { return saga + "." + eventID }

// malformed makes a dead letter of a message that is no event, or one for no instance.
func (r *round) malformed(t *pending) {
	if !t.mine {
		return
	}
	d := r.failed(newDead(domain.DeadEvent, t.ev, &t.m, t.bad), "")
	d.ID = deadID(r.s.saga, placeOf(&t.m))
	if t.ev == nil {
		d.Data = domain.CutText(string(t.m.Data), domain.MaxEventBytes)
	}
	r.deadLetter(d)
	r.cur.Expire(r.s.keys.Dead(d.Kind, d.ID), malformedStays)
}

// refuse makes a dead letter of a result that its instance does not wait for. It
// moves nothing and holds nobody: whatever it says, somebody else wrote it.
func (r *round) refuse(t *pending, at *instance, m *compiled) bool {
	if at.in == nil {
		return false
	}
	cause := m.Refuses(at.in, t.ev)
	if cause == nil {
		return false
	}
	d := r.failed(newDead(domain.DeadEvent, t.ev, &t.m, cause), t.correlation)
	d.ID = deadID(r.s.saga, placeOf(&t.m))
	r.deadLetter(d)
	r.cur.Expire(r.s.keys.Dead(d.Kind, d.ID), malformedStays)
	t.refused = true
	return true
}

// repeated looks whether a result that was here already says the same again.
func (r *round) repeated(ctx context.Context, t *pending) error {
	at := r.instances[t.correlation]
	if t.ev.Source != domain.SourceResult || at.in == nil || at.broken != nil || !machine.Knows(at.in, t.ev.CommandID) {
		return nil
	}
	m, err := r.find(ctx, at)
	if errors.Is(err, domain.ErrInvalid) || errors.Is(err, domain.ErrNotFound) {
		return nil
	}
	if err == nil {
		r.refuse(t, at, m)
	}
	return err
}

// placeOf is where a message stands.
func placeOf(m *stream.Message) string { return string(m.Stream) + "." + strconv.FormatUint(m.Seq, 10) }

// newDead is a dead letter of an event.
func newDead(kind domain.DeadKind, ev *domain.Event, m *stream.Message, cause error) *domain.DeadLetter {
	d := &domain.DeadLetter{Kind: kind, Cause: cause.Error(), Attempts: 1, Stream: string(m.Stream), Seq: m.Seq, Subject: m.Subject}
	if ev != nil {
		event := *ev // its own: what it came from may be changed
		d.ID, d.Event, d.Trace = ev.ID, &event, ev.Metadata[domain.MetaTrace]
	}
	return d
}

// failed is a dead letter of one of the saga's instances.
func (r *round) failed(d *domain.DeadLetter, correlation string) *domain.DeadLetter {
	d.ID, d.Saga, d.Correlation = deadID(r.s.saga, d.ID), r.s.saga, correlation
	return d
}

// poison makes a dead letter of an event on which an instance's program failed, and
// says what becomes of the instance.
func (r *round) poison(at *instance, m *compiled, ev *domain.Event, msg *stream.Message, cause error) machine.Transition {
	r.hold(newDead(domain.DeadSaga, ev, msg, cause), at, m)
	return m.Fail(at.in, ev, cause)
}

// hold writes a dead letter of an instance, which it holds if the definition says so.
func (r *round) hold(d *domain.DeadLetter, at *instance, m *compiled) {
	d.Holds = m.def.OnPoison != domain.PoisonSkip
	r.deadLetter(r.failed(d, at.in.Correlation))
}

// deadLetter writes a dead letter.
func (r *round) deadLetter(d *domain.DeadLetter) {
	d.Cause = domain.CutText(d.Cause, domain.MaxDeadCause)
	d.MadeMs = r.now.UnixMilli()
	key := r.s.keys.Dead(d.Kind, d.ID)
	r.cur.set(key, board.Field{Name: layout.DeadText, Value: deadText(d)})
	r.cur.dead = append(r.cur.dead, d)
	r.deadLetters[key] = d
}

// forget deletes a dead letter.
func (r *round) forget(key string) {
	r.cur.Delete(key)
	r.deadLetters[key] = nil
}

// dead reads a dead letter of the saga, as the round has left it. What is none
// is nil.
//
// Errors: [domain.ErrUnavailable].
func (r *round) dead(ctx context.Context, key, correlation string) (*domain.DeadLetter, error) {
	keys := r.s.keys
	if len(key) > board.MaxKey || !strings.HasPrefix(key, keys.Deads(domain.DeadSaga)) && !strings.HasPrefix(key, keys.Deads(domain.DeadWork)) {
		return nil, nil
	}
	d, there := r.deadLetters[key]
	if !there {
		recs, err := r.s.e.board.Get(ctx, r.s.space, key)
		if err != nil {
			return nil, err
		}
		if recs[0] != nil {
			if d, err = decodeDead(key, recs[0]); err != nil {
				return nil, nil
			}
		}
	}
	if d == nil || d.Saga != r.s.saga || d.Correlation != correlation {
		return nil, nil
	}
	return d, nil
}

// reportDead tells of a dead letter that was written.
func (e *Engine) reportDead(tenant domain.TenantID, d *domain.DeadLetter) {
	e.cfg.Observer.SagaDead(d.Kind)
	e.text.Warn("dead letter", "context", uint32(tenant), "kind", d.Kind, "id", d.ID, "saga", d.Saga, "correlation", d.Correlation, "cause", d.Cause)
}

// deadText is a dead letter as its record has it. What it was is cut where it
// would not fit.
func deadText(d *domain.DeadLetter) string {
	text := plainJSON(d)
	for size := domain.MaxEventBytes; len(text) > board.MaxField-1<<10; size /= 2 {
		small := *d
		small.Data, small.Work = domain.CutText(d.Content(), size), nil
		if d.Event != nil {
			small.Event = &domain.Event{ID: d.Event.ID, Type: d.Event.Type, Source: d.Event.Source}
		}
		text = plainJSON(small)
	}
	return text
}

// isCut reports whether a dead letter has not all of what it was.
func isCut(d *domain.DeadLetter) bool {
	return d.Data != "" && (d.Event != nil || d.Kind == domain.DeadWork)
}
