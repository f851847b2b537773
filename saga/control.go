package saga

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga/machine"
	"github.com/ramet-run/ramet/stream"
)

// What people do to instances comes as events of types of our own, on the same
// stream as all else: so it has its place in the order, and whoever holds the
// partition does it.
const (
	controlPrefix = "ramet:"
	controlPause  = controlPrefix + "pause"
	controlResume = controlPrefix + "resume"
	controlReplay = controlPrefix + "replay" // of the dead letter that holds it
	controlDrop   = controlPrefix + "drop"   // of it
	controlResend = controlPrefix + "resend" // of a work item that was given up on
	controlRedo   = controlPrefix + "redo"   // of a message that was no event, or had no instance
	// controlMigrate brings it to another version of its definition.
	controlMigrate = controlPrefix + "migrate"
)

func isControl(ev *domain.Event) bool {
	return ev.Source == domain.SourceWorkflow && strings.HasPrefix(ev.Type, controlPrefix)
}

// control is what such an event carries.
type control struct {
	// Dead is the key of the dead letter that it is about.
	Dead string `json:"dead,omitzero"`
	// Version is that of the definition to be migrated to, From the one before.
	Version int `json:"version,omitzero"`
	From    int `json:"from,omitzero"`
}

// redo is a message that comes again.
type redo struct {
	Dead    string        `json:"dead"`           // the key of the dead letter that it was
	Event   *domain.Event `json:"event,omitzero"` // where it could be read
	Subject string        `json:"subject"`
	Data    []byte        `json:"data,omitzero"`
}

// headerOurs is on what Ramet itself tells an instance: without it nothing is
// a control, a timer or a refusal. Who may publish to an instance's subject is the broker's
// to say; programs of sagas and the API cannot forge it.
const headerOurs = "ramet-event"

// What it says.
const (
	oursEvent = "event"
	oursRedo  = "redo" // a message that carries another
)

// own is an event of our own for one instance.
func own(tenant string, ev *domain.Event) stream.Message {
	ev.Tenant, ev.SchemaVersion = tenant, 1
	return stream.Message{Stream: domain.WorkflowCommands, Subject: subject(tenant, string(domain.SourceWorkflow), ev.Saga, token(ev.Correlation)),
		ID: ev.ID, Header: map[string]string{headerOurs: oursEvent}, Data: []byte(plainJSON(ev))}
}

// decode reads a message as an event; one that comes again as the one it was.
//
// Errors: [domain.ErrInvalid].
func (r *round) decode(t *pending) error {
	ours := t.m.Stream == domain.WorkflowCommands && t.m.Header[headerOurs] != ""
	if ours && t.m.Header[headerOurs] == oursRedo {
		var again redo
		if err := readJSON(t.m.Data, &again); err != nil {
			return domain.Invalidf("a message that comes again is no JSON: %v", err)
		}
		at, err := parseRoute(again.Subject)
		if err != nil || again.Event == nil && !slices.Contains(prefixes(r.s.tenant, r.s.name), at.tenant) {
			return domain.Invalidf("a message that comes again was on subject %q", domain.PlainText(again.Subject, stream.MaxSubject))
		}
		t.again = again.Dead
		t.m.Header, t.m.Subject, t.m.Data = nil, again.Subject, again.Data
		if again.Event != nil {
			t.ev = again.Event
			t.ev.Stream, t.ev.Seq, t.ev.StoredMs = string(t.m.Stream), t.m.Seq, t.m.Time.UnixMilli()
			return nil
		}
		ours = false
	}
	ev, err := readEvent(&t.m, prefixes(r.s.tenant, r.s.name))
	if err != nil {
		return err
	}
	if !ours && (ev.Timer != 0 || ev.Life != "" || isControl(ev)) {
		return domain.Invalidf("events of type %q are Ramet's own", domain.PlainText(ev.Type, domain.MaxEventType))
	}
	t.ev = ev
	return nil
}

// control does what a person asked for.
func (r *round) control(ctx context.Context, t *pending, at *instance, m *compiled) error {
	var c control
	if len(t.ev.Payload) > 0 {
		if err := json.Unmarshal(t.ev.Payload, &c); err != nil {
			t.bad, t.mine = domain.Invalidf("the payload of %s: %v", t.ev.Type, err), true
			r.malformed(t)
			return nil
		}
	}
	switch t.ev.Type {
	case controlReplay, controlDrop, controlResend:
		return r.handleDead(ctx, t, at, m, c.Dead)
	}
	if at.in == nil {
		return nil // it is gone
	}
	var tr machine.Transition
	switch t.ev.Type {
	case controlPause:
		tr = m.Pause(at.in, t.ev.At())
	case controlResume:
		tr = m.Resume(at.in, t.ev.At())
	case controlMigrate:
		return r.migrateTo(ctx, t, at, c.Version)
	default:
		t.bad, t.mine = domain.Invalidf("there is no event of Ramet's own of type %q", t.ev.Type), true
		r.malformed(t)
		return nil
	}
	r.writeAs(t, at, m, &tr)
	return nil
}

// writeAs writes a transition that came of an event which the machine does not
// see: what of its history has no event has that one.
func (r *round) writeAs(t *pending, at *instance, m *compiled, tr *machine.Transition) {
	for i := range tr.Entries {
		if e := &tr.Entries[i]; e.EventID == "" {
			e.EventID, e.Type, e.Stream, e.Seq = t.ev.ID, t.ev.Type, t.ev.Stream, t.ev.Seq
		}
	}
	r.write(at, m, tr)
}

// handleDead replays, sends again or drops a dead letter of an instance, as a
// person asked. One that is gone was dealt with before: nothing is done twice.
func (r *round) handleDead(ctx context.Context, t *pending, at *instance, m *compiled, key string) error {
	d, err := r.dead(ctx, key, t.correlation)
	if d == nil {
		return err
	}
	switch typ := t.ev.Type; {
	case typ != controlDrop && isCut(d):
		r.s.e.text.Warn("a dead letter was too long to be kept whole: it cannot be replayed", "context", uint32(r.s.tenant), "key", key)
	case typ == controlResend && d.Work != nil:
		r.forget(key)
		r.send(*d.Work)
	case typ == controlReplay && d.Event != nil:
		r.forget(key)
		r.replay(t, at, m, d)
	case typ == controlDrop:
		r.forget(key)
		if at.in != nil && d.Event != nil {
			tr := m.Drop(at.in, d.Event, t.ev.At())
			r.write(at, m, &tr)
		}
	}
	return nil
}

// replay gives an instance the event of a dead letter again. Where the program
// fails once more, so does the dead letter come back.
func (r *round) replay(t *pending, at *instance, m *compiled, d *domain.DeadLetter) {
	from := &stream.Message{Stream: domain.StreamName(d.Stream), Seq: d.Seq, Subject: d.Subject}
	ev := *d.Event
	if at.in == nil { // it is gone: the event may begin another one, now
		ev.StoredMs = t.ev.At()
		if at.in = m.New(r.s.name, t.correlation, m.hash); !r.advance(at, m, &ev, from) {
			at.in = nil
		}
		return
	}
	err := m.Upcast(&ev)
	var tr machine.Transition
	if err == nil {
		tr, err = m.replay(at.in, &ev, t.ev.At())
	}
	if err != nil {
		again := newDead(domain.DeadSaga, d.Event, from, err)
		again.Attempts = d.Attempts + 1
		r.hold(again, at, m)
		return
	}
	r.write(at, m, &tr)
}

// dead reads a dead letter, and its text as it stands on the board.
//
// Errors: [domain.ErrNotFound], [domain.ErrUnavailable].
func (e *Engine) dead(ctx context.Context, tenant domain.TenantID, key string) (*domain.DeadLetter, string, error) {
	recs, err := e.board.Get(ctx, layout.SpaceOf(tenant), key)
	if err != nil {
		return nil, "", err
	}
	if recs[0] == nil {
		return nil, "", domain.NotFoundf("there is no %s", key)
	}
	d, err := decodeDead(key, recs[0])
	return d, recs[0].Get(layout.DeadText), err
}
