package durable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// The kinds of events. A step that fails and is tried again has one [EventFailed] for each
// try, then its [DoStep]; a wait that took longer than a moment has its [DoWait], by
// which its time runs, and then an [EventCame]; a call has its [DoCall], in the commit
// that makes its child, and then an [EventReturned].
const (
	EventFailed   = "failed"
	EventCame     = "came"
	EventReturned = "returned"
)

// Event is one item of a job's history.
type Event = domain.HistoryEvent

// Encode writes an event as its item of the history.
//
// Errors: [domain.ErrInvalid] for a value that is no JSON, [domain.ErrLimit] for one that is too large.
func Encode(e Event) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // six bytes for one would not fit where one does
	if err := enc.Encode(e); err != nil {
		return "", domain.Invalidf("%s: its answer is no JSON: %v", placeID{verbOf(e.Kind), e.Name, e.N}, err)
	}
	item := strings.TrimSuffix(b.String(), "\n")
	if len(e.Value) > MaxAnswer || len(item) > 1<<20 {
		return "", domain.Limitf("%s: its answer has %d bytes, the limit is %d; keep large data elsewhere and remember where",
			placeID{verbOf(e.Kind), e.Name, e.N}, len(e.Value), MaxAnswer)
	}
	return item, nil
}

// DecodeEvent reads an item of a history.
//
// Errors: [domain.ErrInvalid].
func DecodeEvent(item string) (Event, error) {
	var e Event
	if err := json.Unmarshal([]byte(item), &e); err != nil {
		return e, domain.Invalidf("event %.80q of a history cannot be read: %v", item, err)
	}
	return e, nil
}

// placeID names what a script asks for: the nth of a verb and a name.
type placeID struct {
	verb, name string
	n          int64
}

func (id placeID) String() string {
	text := id.verb
	if id.name != "" {
		text += fmt.Sprintf(" %q", id.name)
	}
	if id.n > 1 {
		text += fmt.Sprintf(" (the %d. of that name)", id.n)
	}
	return text
}

// short is what Event.Open has of a step.
func (id placeID) short() string { return fmt.Sprintf("%s#%d", id.name, id.n) }

// verbOf is the verb that an event belongs to.
func verbOf(kind string) string {
	switch kind {
	case EventFailed:
		return DoStep
	case EventCame:
		return DoWait
	case EventReturned:
		return DoCall
	}
	return kind
}

// place is what a history has of one thing that the script asks for.
type place struct {
	placeID
	// done is set where it is over: then value, failure and timedOut are the answer.
	done     bool
	value    json.RawMessage
	failure  *Failure
	timedOut bool
	// tries is how often a step has failed; untilMs, signal as in [Event].
	tries   int
	untilMs int64
	signal  string
	// prerequisite and child are what a wait and a call wait for.
	prerequisite, child string
	// beside is set where other steps were being done at the same time: then the order
	// in which an attempt asks says nothing.
	beside bool
	asked  bool // by this attempt
}

// history is what is remembered of a job, and how far this attempt has come in it.
type history struct {
	places   []*place // in the order of their first events
	byID     map[placeID]*place
	versions map[string]int64
	next     int // of places: all before it were asked for
	events   int
	bytes    int
}

func newHistory(items []string) (*history, error) {
	h := &history{byID: map[placeID]*place{}, versions: map[string]int64{}}
	beside := map[string]bool{}
	for _, item := range items {
		e, err := DecodeEvent(item)
		if err != nil {
			return nil, err
		}
		for _, open := range e.Open {
			beside[open] = true
		}
		h.add(e, len(item))
	}
	for _, p := range h.places {
		p.beside = p.beside || p.verb == DoStep && beside[p.short()]
	}
	return h, nil
}

// add takes an event in that is on the board.
func (h *history) add(e Event, size int) *place {
	h.events++
	h.bytes += size
	if e.Kind == DoVersion {
		var n int64
		_ = json.Unmarshal(e.Value, &n)
		h.versions[e.Name] = n
		return nil
	}
	id := placeID{verbOf(e.Kind), e.Name, e.N}
	p := h.byID[id]
	if p == nil {
		p = &place{placeID: id}
		h.byID[id] = p
		h.places = append(h.places, p)
	}
	p.beside = p.beside || len(e.Open) > 0
	switch e.Kind {
	case EventFailed:
		p.tries, p.untilMs = p.tries+1, e.UntilMs
		return p
	case DoSleep:
		p.untilMs = e.UntilMs
		return p
	case DoWait:
		p.untilMs, p.signal, p.prerequisite, p.child = e.UntilMs, e.Signal, e.Prerequisite, e.Child
		if !e.Ended {
			return p
		}
	case DoCall:
		if p.child = e.Child; !e.Ended {
			return p
		}
	}
	p.done, p.value, p.failure, p.timedOut = true, e.Value, e.Failure, e.TimedOut
	return p
}

// ask notes that this attempt has asked for a place of the history.
func (h *history) ask(p *place) {
	p.asked = true
	for h.next < len(h.places) && h.places[h.next].asked {
		h.next++
	}
}

// replaying reports whether the history has what this attempt has not asked for yet.
func (h *history) replaying() bool { return h.next < len(h.places) }

// drift says how what is asked for differs from the history; nil where it does not. What
// a script does one after the other it asks for in the order of its history; of steps
// that were done side by side any may come first.
func (h *history) drift(id placeID) error {
	p := h.byID[id]
	if p != nil && (p.asked || p.beside) {
		return nil
	}
	for i := h.next; i < len(h.places); i++ {
		has := h.places[i]
		if has == p {
			return nil
		}
		if has.asked || has.beside {
			continue
		}
		return fmt.Errorf("%w: it asks for %s where its history has %s (place %d of %d). "+
			"Was the script changed? Have it say version(…) where it differs, or fork the job from a step before", ErrDrift, id, has.placeID, i+1, len(h.places))
	}
	return nil
}

// withoutOpenCalls leaves out the calls whose ends are not among the items: those children
// tell another job.
func withoutOpenCalls(items []string) (kept []string, err error) {
	ended := map[placeID]bool{}
	for at := len(items) - 1; at >= 0; at-- {
		e, err := DecodeEvent(items[at])
		if err != nil {
			return nil, err
		}
		id := placeID{verbOf(e.Kind), e.Name, e.N}
		if e.Child != "" && !e.Ended && !ended[id] {
			continue
		}
		ended[id] = true
		kept = append(kept, items[at])
	}
	slices.Reverse(kept)
	return kept, nil
}

// Until returns the items of a history up to a step: "<name>" is the first of that name,
// "<name>#<n>" the nth. What was asked for by the same name in another way counts as well.
//
// Errors: [domain.ErrNotFound] where the history has no such step.
func Until(items []string, step string) ([]string, error) {
	var names []string
	for i, item := range items {
		e, err := DecodeEvent(item)
		if err != nil {
			return nil, err
		}
		if e.Name == "" {
			continue
		}
		if id := (placeID{e.Kind, e.Name, e.N}).short(); step == id || step == e.Name {
			return withoutOpenCalls(items[:i])
		} else if !slices.Contains(names, e.Name) && len(names) < 50 {
			names = append(names, e.Name)
		}
	}
	if near := domain.Nearest(step, names); near != "" {
		return nil, domain.NotFoundf("the history has no step %q; did you mean %q?", step, near)
	}
	return nil, domain.NotFoundf("the history has no step %q", step)
}
