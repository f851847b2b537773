package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"time"
)

// This file has what a script waits for: time, signals, prerequisites and what it calls.

func (s *Script) sleep(c *call) (Answer, error) {
	id, p, err := s.next(c)
	if err != nil {
		return Answer{}, err
	}
	if p == nil {
		e := Event{Kind: DoSleep, Name: id.name, N: id.n}
		if c.UntilMs != nil {
			e.UntilMs = *c.UntilMs
		} else {
			e.UntilMs = s.store.Now().UnixMilli() + *c.ForMs
		}
		if p, err = s.write(c.ctx, e); err != nil {
			return Answer{}, err
		}
	}
	over, err := s.hold(c, p.placeID, pending{until: time.UnixMilli(p.untilMs)})
	return Answer{Done: over, Suspend: !over && err == nil}, err
}

func (s *Script) wait(c *call) (Answer, error) {
	id, p, err := s.next(c)
	if err != nil {
		return Answer{}, err
	}
	if p == nil {
		if p, err = s.newWait(c, id); err != nil {
			return Answer{}, err
		}
	}
	came := Event{Kind: EventCame, Name: id.name, N: id.n, Signal: p.signal}
	what := pending{signal: p.signal}
	if p.untilMs != 0 {
		what.until = time.UnixMilli(p.untilMs)
	}
	for !p.done {
		if found, err := s.take(c.ctx, came); err != nil || found != nil {
			if err != nil {
				return Answer{}, err
			}
			break
		}
		if !what.until.IsZero() && !what.until.After(s.store.Now()) { // what came in time counts, however late it is looked for
			delete(s.pending, id)
			came.TimedOut = true
			if _, err := s.write(c.ctx, came); err != nil {
				return Answer{}, err
			}
			break
		}
		if over, err := s.hold(c, id, what); err != nil || !over {
			return Answer{Suspend: err == nil}, err
		}
	}
	return Answer{Done: true, Value: p.value, TimedOut: p.timedOut}, nil
}

// newWait writes that the script waits, or what it waits for if that is there already.
func (s *Script) newWait(c *call, id placeID) (*place, error) {
	e := Event{Kind: DoWait, Name: id.name, N: id.n, Signal: cmp.Or(c.Signal, c.Name)}
	if c.TimeoutMs != nil {
		e.UntilMs = s.store.Now().UnixMilli() + *c.TimeoutMs
	}
	if p, err := s.take(c.ctx, e); err != nil || p != nil {
		return p, err
	}
	if c.TimeoutMs != nil && *c.TimeoutMs == 0 {
		e.TimedOut, e.Ended = true, true
	}
	return s.write(c.ctx, e)
}

// take ends a wait by a signal that was sent already; nil where there is none.
func (s *Script) take(ctx context.Context, e Event) (*place, error) {
	var item string
	found, err := s.store.Take(ctx, s.h.events, e.Signal, func(payload json.RawMessage) (string, error) {
		e.Value, e.Ended = payload, true
		var err error
		item, err = s.encode(&e)
		return item, err
	})
	if err != nil || !found {
		return nil, err
	}
	delete(s.pending, placeID{DoWait, e.Name, e.N})
	return s.took(e, item), nil
}

// hold waits for an instant where that is near, or while steps are being done. over says
// that it has come; else the script is to end.
func (s *Script) hold(c *call, id placeID, what pending) (over bool, err error) {
	s.pending[id] = what
	for {
		left := time.Duration(math.MaxInt64)
		if !what.until.IsZero() {
			left = what.until.Sub(s.store.Now())
		}
		switch {
		case s.failed != nil:
			return false, s.failed
		case left <= 0:
			delete(s.pending, id)
			return true, nil
		case s.stopping, left > Short && len(s.open) == 0:
			s.stop(id, c.Stop)
			return false, nil
		}
		if err := s.until(c, left); err != nil {
			delete(s.pending, id)
			return false, err
		}
	}
}

// until waits for a change or for a time, without the lock.
func (s *Script) until(c *call, left time.Duration) error {
	moved := s.moved
	c.held()
	s.mu.Unlock()
	defer s.mu.Lock()
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
	case <-moved:
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
	return nil
}

// stop has the script end.
func (s *Script) stop(id placeID, now bool) {
	if !s.stopping {
		s.stopping, s.first = true, id
		s.stir()
		s.onStop(now)
	} else if now {
		s.onStop(true)
	}
}
