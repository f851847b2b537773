package saga

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

// handle deals with messages: all at once, unless what comes of them does not
// fit on the board, or one of them is feared to end the process.
func (s *shard) handle(ctx context.Context, todo []pending) error {
	for ; s.crashLoop.left > 0 && len(todo) > 0; todo = todo[1:] {
		if err := s.handleSingly(ctx, &todo[0]); err != nil {
			return err
		}
	}
	if len(todo) == 0 {
		return nil
	}
	err := s.round(ctx, todo)
	if !doesNotFit(err) {
		return err
	}
	for i := range todo {
		if t := &todo[i]; !t.done() {
			if err := s.alone(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// alone deals with one message. If what comes of it does not fit on the board,
// its instance fails on it; if that does not fit either, all that comes of it is
// a dead letter.
func (s *shard) alone(ctx context.Context, t *pending) error {
	err := s.round(ctx, []pending{*t})
	if doesNotFit(err) && t.fatal == nil {
		t.fatal = fmt.Errorf("what comes of it does not fit on the board: %w", err)
		err = s.round(ctx, []pending{*t})
	}
	if doesNotFit(err) && t.bad == nil {
		t.bad, t.mine = fmt.Errorf("what comes of it does not fit on the board: %w", err), true
		err = s.round(ctx, []pending{*t})
	}
	return err
}

// done reports whether what comes of a message is on the board.
func (t *pending) done() bool {
	if t.late {
		return t.seq <= t.from.saved.back
	}
	return t.seq <= t.from.saved.front
}

// commitError is a commit that the board did not make.
type commitError struct{ err error }

func (e *commitError) Error() string { return "commit: " + e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }

// doesNotFit reports whether a board will never make a commit.
func doesNotFit(err error) bool {
	var c *commitError
	return errors.As(err, &c) && (errors.Is(err, domain.ErrInvalid) || errors.Is(err, domain.ErrLimit))
}

// round deals with some messages, in order, in as few commits as they fit into.
type round struct {
	s     *shard
	now   time.Time // by the board's clock: its timers come by it
	began time.Time

	todo        []pending
	newest      *compiled
	instances   map[string]*instance          // by correlation id
	seen        map[string]bool               // ids of events
	deadLetters map[string]*domain.DeadLetter // by key; nil: gone

	had  map[asideOf]int  // events of instances that are dealt with
	over map[asideOf]bool // that have had their share
	more map[*source]int  // how many of them there are

	chunks []*chunk
	cur    *chunk

	transitions, passed, deferred int
}

// pending is a message that is not handled yet, with what is known of it.
type pending struct {
	from *source
	seq  uint64
	m    stream.Message // one that was carried by another is that itself
	ev   *domain.Event
	// correlation of the instance it is for; "" is none of this partition's.
	correlation string
	bad         error  // why it cannot be an event
	fatal       error  // why its instance must fail on it
	mine        bool   // this partition makes the dead letter of it, whatever it is
	refused     bool   // it says that it is a result, and is none
	again       string // it comes again by a person's wish: the key of its dead letter
	aside       bool   // its instance has had its share of this round, or has others before it
	late        bool   // it was put aside before
}

// instance is one that the round has to do with.
type instance struct {
	in     *domain.SagaInstance // nil: there is none
	stored int64                // version on the board; 0: it is not there
	broken error                // why it cannot be read
}

// round handles messages and returns when that is durable.
func (s *shard) round(ctx context.Context, todo []pending) error {
	r := &round{s: s, now: s.e.board.Now(), began: time.Now(), todo: todo, newest: s.newest, instances: map[string]*instance{}, seen: map[string]bool{},
		deadLetters: map[string]*domain.DeadLetter{}, had: map[asideOf]int{}, over: map[asideOf]bool{}, more: map[*source]int{}}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	for i := range r.todo {
		if err := r.take(ctx, &r.todo[i]); err != nil {
			return err
		}
	}
	return r.commit(ctx)
}

// prepare reads messages as events and loads the instances they are for.
func (r *round) prepare(ctx context.Context) error {
	s := r.s
	keys := []string{layout.SagaDefKeys.Newest(s.saga)}
	for i := range r.todo {
		t := &r.todo[i]
		r.read(t)
		if t.aside = r.isAside(t); t.aside || t.correlation == "" {
			continue
		}
		if r.instances[t.correlation] == nil {
			r.instances[t.correlation] = &instance{}
			keys = append(keys, s.keys.Instance(s.saga, t.correlation))
		}
		keys = append(keys, s.keys.Seen(s.saga, t.ev.ID))
	}
	if len(keys) == 1 {
		return nil
	}
	// What lies where an instance or a mark should be is the fault of one message.
	recs, bad, err := board.PerKey(s.e.board.Get(ctx, s.space, keys...))
	if err := cmp.Or(err, bad[0]); err != nil {
		return err
	}
	if v := recs[0].Get(layout.VersionNumber); v != sequence(uint64(r.newest.version)) {
		return s.newer(ctx)
	}
	// In the order in which they were asked for.
	i, loaded := 1, map[string]bool{}
	for n := range r.todo {
		t := &r.todo[n]
		if t.aside || t.correlation == "" {
			continue
		}
		if !loaded[t.correlation] {
			loaded[t.correlation] = true
			r.load(t.correlation, recs[i], bad[i])
			i++
		}
		if bad[i] != nil && t.bad == nil {
			t.bad, t.mine = bad[i], true
		}
		r.seen[t.ev.ID] = r.seen[t.ev.ID] || recs[i] != nil
		i++
	}
	return nil
}

func (r *round) load(correlation string, rec board.Record, fault error) {
	at := r.instances[correlation]
	if rec == nil {
		at.broken = fault
		return
	}
	at.in, at.broken = layout.DecodeSaga(r.s.name, r.s.saga, correlation, rec)
	at.stored = at.in.Version
}

// read finds out what a message is and whom it is for.
func (r *round) read(t *pending) {
	if t.bad != nil || t.aside {
		return // it is known
	}
	bad := r.decode(t)
	if r.s.dealtWith(t, bad) {
		return
	}
	var id string
	var mine bool
	if bad == nil {
		id, mine, bad = goesTo(r.newest, t.ev)
	}
	switch {
	case bad != nil:
		t.bad, t.mine = bad, r.s.partition == 0 // one for all
	case mine && r.s.has(id):
		t.correlation = id
	case !mine && t.again != "" && r.s.partition == 0:
		t.mine = true // nobody wants it any more
	}
}

// goesTo says to which instance an event goes; mine is whether to any of the
// saga.
//
// Errors: [domain.ErrInvalid].
func goesTo(m *compiled, ev *domain.Event) (id string, mine bool, err error) {
	own := ev.Source == domain.SourceWorkflow || ev.Source == domain.SourceResult && ev.Saga == m.def.Name
	switch {
	case own && ev.Saga == m.def.Name:
		return ev.Correlation, true, domain.ValidateCorrelation(ev.Correlation)
	case own || !m.Takes(ev):
		return "", false, nil
	}
	// An older version is read as the newest would be, if that can be.
	taken := *ev
	if m.Upcast(&taken) != nil {
		taken = *ev
	}
	id, err = m.Correlate(&taken)
	return id, true, err
}

// take deals with one message: what follows from it is in the chunk then.
func (r *round) take(ctx context.Context, t *pending) error {
	if r.cur == nil || !t.aside {
		r.open(t)
	}
	at := r.at(t.from)
	if t.aside {
		t.from.keep(t, at)
		r.cur.upTo[t.from] = at.put(t.correlation, t.seq)
		return nil
	}
	if t.again != "" && (t.correlation != "" || t.mine) {
		r.forget(t.again)
	}
	switch {
	case t.bad != nil:
		r.malformed(t)
	case t.correlation == "":
	case r.seen[t.ev.ID] && t.again == "":
		r.passed++
		if err := r.repeated(ctx, t); err != nil {
			return err
		}
	default:
		if err := r.handle(ctx, t); err != nil {
			return err
		}
		if t.refused {
			break // the true one has the same id
		}
		r.seen[t.ev.ID] = true
		r.markSeen(t.ev)
	}
	if !t.late {
		t.from.keep(t, at)
	}
	r.cur.upTo[t.from] = at.with(t)
	return nil
}

// at is how far the round has come.
func (r *round) at(src *source) progress {
	for i := len(r.chunks) - 1; i >= 0; i-- {
		if at, there := r.chunks[i].upTo[src]; there {
			return at
		}
	}
	return src.seen
}

// open begins a new chunk where the present one is full.
func (r *round) open(t *pending) {
	if r.cur != nil {
		if !r.cur.full(len(t.m.Data)) {
			return
		}
		r.close()
	}
	r.cur = r.s.chunk()
	r.chunks = append(r.chunks, r.cur)
}

// close ends the present chunk.
func (r *round) close() {
	c, s := r.cur, r.s
	c.close(s, r)
	for src, at := range c.upTo {
		was := src.written
		for _, before := range r.chunks[:len(r.chunks)-1] {
			if at, there := before.upTo[src]; there {
				was = at.written()
			}
		}
		c.move(s, src, was, at.written())
	}
	r.cur = nil
}

// commit writes the chunks, one after the other, and tells relay and brokers.
func (r *round) commit(ctx context.Context) error {
	s := r.s
	last := r.chunks[len(r.chunks)-1]
	if len(r.chunks) == 1 && last.empty() && !s.worthSaving(last.upTo) {
		// Nothing but messages of others: that they were looked at is not
		// worth a commit.
		return s.done(ctx, last.upTo)
	}
	r.close()
	batches := make([]board.Batch, len(r.chunks))
	for i := range r.chunks {
		batches[i] = r.chunks[i].Batch
	}
	// Each is guarded by the checkpoint of the one before: after one that
	// fails none is made.
	for i, err := range s.e.board.CommitEach(ctx, batches) {
		c := r.chunks[i]
		if err != nil {
			return &commitError{err}
		}
		s.saved(c.upTo)
		if c.eased {
			s.crashLoop.ease = false
		}
		for _, d := range c.dead {
			s.e.reportDead(s.tenant, d)
		}
		for _, span := range c.spans {
			s.e.cfg.Tracer.Tell(span)
		}
		s.relay.add(c.work)
		if err := s.done(ctx, c.upTo); err != nil {
			return err
		}
	}
	s.e.cfg.Observer.SagaEvents(s.saga, r.transitions, r.passed, r.deferred, time.Since(r.began))
	return nil
}
