package durable

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ramet-run/ramet/domain"
)

// Store keeps the history of one job for one attempt at it. Its commits are guarded by
// the attempt's lease, and by the length of the history: [ErrLost] says that the lease is
// gone, [domain.ErrUnavailable] that the commit may or may not have been made, or that
// an earlier one was made of which that was said.
type Store interface {
	// Load reads the items of the history, oldest first.
	Load(ctx context.Context) ([]string, error)
	// Append adds an item to a history that has length of them. It answers when that is
	// as durable as the board is.
	Append(ctx context.Context, length int, item string) error
	// Take takes the oldest signal of a name that nobody has taken, and adds the item
	// made of its payload, in one commit.
	Take(ctx context.Context, length int, signal string, item func(payload json.RawMessage) (string, error)) (found bool, err error)
	// Call makes the job or flow of a call, which knows by whom it was made, and adds the item
	// made of its key, in one commit.
	//
	// Errors: [ErrLater]; what else is not of the board says that there can never be such a child.
	Call(ctx context.Context, length int, c domain.Call, by domain.CalledBy, item func(child string) (string, error)) error
	// Ended tells how children have ended, nil of those that have not.
	Ended(ctx context.Context, children []string) ([]*domain.ChildEnd, error)
	// Met looks whether a prerequisite is met; first says that no attempt has asked before.
	//
	// Errors: [domain.ErrInvalid] for what is none, [domain.ErrConflict] for one that never will be.
	Met(ctx context.Context, prerequisite string, first bool) (bool, error)
	// Now is the clock by which the script goes on: its waits are counted from it.
	Now() time.Time
}

// ErrLater says that a child cannot be made now, but may be later.
var ErrLater = errors.New("it cannot be made now")

// Script is the history of one attempt: the [Channel] of its script. It holds one lock
// while it writes: what steps that are done side by side leave is written one after the
// other, in an order that each later attempt finds.
type Script struct {
	store Store
	seed  string // see key

	mu       sync.Mutex
	h        *history // nil until it was read
	unsure   bool     // whether h has all that the board has: see refresh
	counts   map[[2]string]int64
	open     map[placeID]bool // steps that are being done
	pending  map[placeID]pending
	first    placeID       // of pending
	stopping bool          // the script was asked to end
	failed   error         // drift, or a lost lease: nothing more is answered
	moved    chan struct{} // closed, and made anew, when open, stopping or failed changed
	onStop   func(now bool)
	clean    func(string) string // what a name may stand as in the history; nil: as it is
}

// pending is what the script waits for.
type pending struct {
	until        time.Time // zero: never
	signal       string
	prerequisite string
	children     []string // all of them
}

var _ Channel = (*Script)(nil)

// NewScript returns the channel of an attempt. seed is what the keys of its steps are
// made of: the same for each attempt at a job, and no other job's. onStop is called,
// once or twice, when the process is to end: now says that it will not by itself.
func NewScript(store Store, seed string, onStop func(now bool)) *Script {
	return &Script{store: store, seed: seed, onStop: onStop, counts: map[[2]string]int64{}, open: map[placeID]bool{},
		pending: map[placeID]pending{}, moved: make(chan struct{})}
}

// Clean has names stand in the history, and be looked for there, as clean gives them: without
// what nobody may read there. It is called before the first request.
func (s *Script) Clean(clean func(string) string) { s.clean = clean }

// Used reports whether the script has asked for anything, and what its history has.
func (s *Script) Used() (events int, used bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.h == nil {
		return 0, false
	}
	return s.h.events, true
}

// Suspended is what the script waits for, where it was asked to end for that.
func (s *Script) Suspended() *domain.Suspension {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping || s.failed != nil {
		return nil
	}
	out := &domain.Suspension{Kind: s.first.verb, Name: s.first.name, N: s.first.n}
	for _, p := range s.pending {
		if len(p.children) > 0 {
			out.AnyChild = len(out.Children) > 0
			out.Children = append(out.Children, p.children...)
		}
		if p.prerequisite != "" && !slices.Contains(out.Prerequisites, p.prerequisite) {
			out.Prerequisites = append(out.Prerequisites, p.prerequisite)
		}
		if at := p.until.UnixMilli(); !p.until.IsZero() && (out.UntilMs == 0 || at < out.UntilMs) {
			out.UntilMs = at
		}
		if p.signal != "" && !slices.Contains(out.Signals, p.signal) {
			out.Signals = append(out.Signals, p.signal)
		}
	}
	slices.Sort(out.Signals)
	slices.Sort(out.Prerequisites)
	return out
}

// Failed is why nothing was answered any more: an [ErrDrift] or [ErrLost].
func (s *Script) Failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Do answers a request; see [Channel].
func (s *Script) Do(ctx context.Context, r Request) (Answer, error) {
	return s.do(&call{ctx: ctx, Request: r, held: func() {}})
}

// Begin is Do for many requests at once: it returns when the request has its place among
// the others, and calls answer then or later, when it is known. So what a script asks for
// in some order is counted in that order.
func (s *Script) Begin(ctx context.Context, r Request, answer func(Answer, error)) {
	placed := make(chan struct{})
	var once sync.Once
	c := &call{ctx: ctx, Request: r, held: func() { once.Do(func() { close(placed) }) }}
	go func() {
		defer c.held()
		answer(s.do(c))
	}()
	<-placed
}

// call is one request on its way. held is called before it waits for anything but the board.
type call struct {
	Request
	ctx  context.Context
	held func()
	// placed are the places that it was given.
	placed []placeID
}

func (s *Script) do(c *call) (Answer, error) {
	if err := c.Validate(); err != nil {
		return Answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return Answer{}, s.failed
	}
	if s.clean != nil {
		c.Name, c.Signal = s.clean(c.Name), s.clean(c.Signal)
	}
	if err := s.load(c.ctx); err != nil {
		return Answer{}, s.fail(err)
	}
	a, err := s.answer(c)
	if err != nil {
		s.uncount(c)
		s.unsure = s.unsure || errors.Is(err, domain.ErrUnavailable)
		return Answer{}, s.fail(err)
	}
	return a, nil
}

func (s *Script) answer(c *call) (Answer, error) {
	switch c.Do {
	case DoStep:
		return s.step(c)
	case DoDone:
		return s.done(c)
	case DoDrop:
		return s.drop(c)
	case DoSleep:
		return s.sleep(c)
	case DoWait:
		if c.Prerequisite != "" || c.Approval != nil {
			return s.waitOther(c)
		}
		return s.wait(c)
	case DoCall:
		return s.callAll(c)
	case DoVersion:
		return s.version(c)
	}
	return s.value(c)
}

// fail notes an error after which nothing more is answered.
func (s *Script) fail(err error) error {
	if (errors.Is(err, ErrDrift) || errors.Is(err, ErrLost)) && s.failed == nil {
		s.failed = err
		s.stir()
		s.onStop(true)
	}
	return err
}

// stir wakes those that wait for a change.
func (s *Script) stir() {
	close(s.moved)
	s.moved = make(chan struct{})
}

// load reads the history, and once more where an answer of the board was lost: what that
// commit made, whoever asked for it finds when it asks again.
func (s *Script) load(ctx context.Context) error {
	if s.h != nil && !s.unsure {
		return nil
	}
	items, err := s.store.Load(ctx)
	switch {
	case err != nil:
		return err
	case s.h == nil:
		s.h, err = newHistory(items)
		return err
	case len(items) < s.h.events:
		return ErrLost // somebody has removed the job
	}
	for _, item := range items[s.h.events:] {
		e, err := DecodeEvent(item)
		if err != nil {
			return err
		}
		s.h.add(e, len(item))
	}
	s.unsure = false
	return nil
}

// next is the place that a request asks for, nil where the history has none.
func (s *Script) next(c *call) (placeID, *place, error) { return s.nextOf(c, c.Do, c.Name) }

func (s *Script) nextOf(c *call, verb, name string) (placeID, *place, error) {
	count := [2]string{verb, name}
	id := placeID{verb, name, s.counts[count] + 1}
	if err := s.h.drift(id); err != nil {
		return id, nil, err
	}
	s.counts[count]++
	c.placed = append(c.placed, id)
	p := s.h.byID[id]
	if p != nil {
		s.h.ask(p)
	}
	return id, p, nil
}

// uncount gives the places back of a request that had no answer: it is asked again.
func (s *Script) uncount(c *call) {
	for _, id := range slices.Backward(c.placed) {
		if count := [2]string{id.verb, id.name}; s.counts[count] == id.n {
			s.counts[count]--
		}
	}
	c.placed = nil
}

// write puts an event on the board and takes it in.
func (s *Script) write(ctx context.Context, e Event) (*place, error) {
	item, err := s.encode(&e)
	if err != nil {
		return nil, err
	}
	if err := s.store.Append(ctx, s.h.events, item); err != nil {
		return nil, err
	}
	return s.took(e, item), nil
}

func (s *Script) encode(e *Event) (string, error) {
	e.AtMs = time.Now().UnixMilli()
	for id := range s.open {
		if id != (placeID{DoStep, e.Name, e.N}) || verbOf(e.Kind) != DoStep {
			e.Open = append(e.Open, id.short())
		}
	}
	slices.Sort(e.Open)
	if s.h.events >= MaxSteps {
		return "", domain.Limitf("the history of the job has %d events, which is the limit; hand the rest to another job", s.h.events)
	}
	item, err := Encode(*e)
	if err == nil && s.h.bytes+len(item) > MaxHistory {
		return "", domain.Limitf("the history of the job would have more than %d bytes; keep large answers elsewhere and remember where", MaxHistory)
	}
	return item, err
}

func (s *Script) took(e Event, item string) *place {
	p := s.h.add(e, len(item))
	if p != nil {
		s.h.ask(p)
	}
	return p
}

// key is the idempotency key of a step.
func (s *Script) key(id placeID) string {
	return uuid.NewSHA1(keySpace, []byte(s.seed+"\x00"+id.name+"\x00"+strconv.FormatInt(id.n, 10))).String()
}

// keySpace is the name space of keys (RFC 9562, version 5).
var keySpace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://ramet.run/durable/step"))

func (s *Script) step(c *call) (Answer, error) {
	var id placeID
	var p *place
	if c.N == 0 {
		if s.stopping {
			return Answer{Suspend: true}, nil
		}
		if len(s.open) >= MaxOpen {
			return Answer{}, domain.Limitf("%d steps are being done at once, which is the limit", len(s.open))
		}
		var err error
		if id, p, err = s.next(c); err != nil {
			return Answer{}, err
		}
	} else {
		id = placeID{DoStep, c.Name, c.N}
		if c.N > s.counts[[2]string{DoStep, c.Name}] {
			return Answer{}, domain.Invalidf("%s was not asked for yet: leave n out", id)
		}
		p = s.h.byID[id]
	}
	if p != nil && p.done {
		return Answer{Done: true, Value: p.value, Failure: p.failure, N: id.n}, nil
	}
	attempt := 1
	if p != nil {
		attempt += p.tries
		if over, err := s.hold(c, p.placeID, pending{until: time.UnixMilli(p.untilMs)}); !over || err != nil {
			return Answer{Suspend: err == nil}, err
		}
	}
	s.open[id] = true
	return Answer{N: id.n, Key: s.key(id), Attempt: attempt}, nil
}

func (s *Script) done(c *call) (Answer, error) {
	id := placeID{DoStep, c.Name, c.N}
	p := s.h.byID[id]
	switch {
	case p != nil && p.done: // told before, and the answer was lost
		s.h.ask(p)
		s.shut(id)
		return Answer{Done: true}, nil
	case !s.open[id]:
		return Answer{}, domain.Invalidf("%s is not being done: ask for it first", id)
	}
	e := Event{Kind: DoStep, Name: c.Name, N: c.N, Value: c.Value, Failure: c.Failure}
	if c.Failure != nil {
		f := *c.Failure
		f.Kind, f.Text = cut(f.Kind, MaxName), cut(f.Text, MaxFailure)
		e.Failure = &f
	} else if len(e.Value) == 0 {
		e.Value = json.RawMessage("null")
	}
	a := Answer{Done: true}
	if c.RetryAfterMs != nil {
		e.Kind, e.UntilMs = EventFailed, s.store.Now().UnixMilli()+*c.RetryAfterMs
		a = Answer{Again: true, AfterMs: *c.RetryAfterMs}
	}
	if _, err := s.write(c.ctx, e); err != nil {
		return Answer{}, err
	}
	s.shut(id)
	return a, nil
}

// shut notes that a step is not being done any more.
func (s *Script) shut(id placeID) {
	delete(s.open, id)
	s.stir()
}

func (s *Script) drop(c *call) (Answer, error) {
	s.shut(placeID{DoStep, c.Name, c.N})
	return Answer{Done: true}, nil
}

// value answers for what is drawn once.
func (s *Script) value(c *call) (Answer, error) {
	id, p, err := s.next(c)
	if err != nil {
		return Answer{}, err
	}
	if p == nil {
		if p, err = s.write(c.ctx, Event{Kind: c.Do, Name: id.name, N: id.n, Value: s.draw(c.Do)}); err != nil {
			return Answer{}, err
		}
	}
	return Answer{Done: true, Value: p.value}, nil
}

func (s *Script) draw(what string) json.RawMessage {
	switch what {
	case DoNow:
		return strconv.AppendInt(nil, s.store.Now().UnixMilli(), 10)
	case DoRandom:
		return strconv.AppendFloat(nil, rand.Float64(), 'g', -1, 64)
	}
	return json.RawMessage(`"` + uuid.NewString() + `"`)
}

// version answers which version of its code the script is to follow: the one that it had
// when it first came here. Where it came past here before it asked, that is 0.
func (s *Script) version(c *call) (Answer, error) {
	n, known := s.h.versions[c.Name]
	switch {
	case known && n > c.N:
		return Answer{}, domain.Conflictf("version %q: the job went on with version %d, the script knows up to %d: run it with the newer one", c.Name, n, c.N)
	case !known && s.h.replaying():
		// Not written: each later attempt comes to the same, because the history only grows.
		s.h.versions[c.Name] = 0
	case !known:
		n = c.N
		if _, err := s.write(c.ctx, Event{Kind: DoVersion, Name: c.Name, N: 1, Value: strconv.AppendInt(nil, n, 10)}); err != nil {
			return Answer{}, err
		}
	}
	return Answer{Done: true, Value: strconv.AppendInt(nil, n, 10)}, nil
}

// cut bounds a text for people, at a whole character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && text[end]&0xc0 == 0x80 {
		end--
	}
	return text[:end] + "…"
}
