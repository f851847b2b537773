package resp

import (
	"context"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/keyspace"
)

// This file bounds what clients keep in one context. Jobs, flows and tasks leave the
// board when they have ended; what lies under keys of a client's own, replies that nobody
// fetches and messages that nobody sends stay until somebody takes them away, and who may
// do no more than execute could fill the disk with them.
//
// Nobody counts along: keys expire, and engines and other nodes take from the same lists.
// So what is there is measured now and then, and what clients write is taken off the room
// that was found. Nothing waits for that while there is plenty of it.

// What a thing is counted as beside its bytes: it takes something, too.
const (
	storedKey  = 64 // a key
	storedItem = 16 // a field, an item, a member
)

// How it is measured.
const (
	measureKeys   = 1000 // keys that are listed at once
	measureAtOnce = 16   // records, items or members that are read at once: each may be large
	// measureRest is how many times as long as it took nobody measures again: that is a
	// tenth of the time at the most. leastRest and mostRest bound it.
	measureRest = 10
	leastRest   = time.Second
	mostRest    = time.Minute
)

// stored is the room for what clients keep in a space.
type stored struct {
	most int64

	mu       sync.Mutex
	left     int64         // what may still be written
	measured time.Time     // when it was measured last
	took     time.Duration // how long that was
	running  chan struct{} // closed when the measurement is over that goes on; nil: none does
}

// newStored lets an eighth be written before it is known what is there.
func newStored(most int64) *stored { return &stored{most: most, left: most / 8} }

// rest is how long after a measurement there is no other.
func (s *stored) rest() time.Duration { return min(max(measureRest*s.took, leastRest), mostRest) }

// keep takes n bytes off the room for what clients keep.
//
// Errors: [domain.ErrLimit] where there is none; those of the board.
func (d *desk) keep(ctx context.Context, n int64) error {
	s := d.stored
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		due := s.running == nil && (s.measured.IsZero() || time.Since(s.measured) >= s.rest())
		if due && s.left < max(s.most/2, n) {
			s.running = make(chan struct{})
			d.door.wg.Go(func() { d.measure(s) })
		}
		switch {
		case s.left >= n:
			s.left -= n
			return nil
		case s.running == nil:
			return domain.Limitf("clients of the Redis door keep %d bytes in context %d, and may keep %d (doors.stored_per_context): "+
				"delete or take what is not needed; what is there is measured again within a minute", s.most-s.left, d.space, s.most)
		}
		over := s.running
		s.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
		}
		s.mu.Lock()
		if ctx.Err() != nil {
			return domain.Unavailablef("the node goes down")
		}
	}
}

// measure finds out what is there. What is written meanwhile is counted twice at the most.
func (d *desk) measure(s *stored) {
	s.mu.Lock()
	before := s.left
	s.mu.Unlock()
	began := time.Now()
	held, err := d.held(s.most)
	s.mu.Lock()
	defer s.mu.Unlock()
	if written := before - s.left; err == nil {
		s.left = s.most - held - written
	} else { // as much again as before anything was known: a board that is away refuses by itself
		s.left = max(s.left, s.most/8)
		d.door.log.Debug("what clients keep is not measured", "context", uint64(d.space), "err", err)
	}
	s.measured, s.took = time.Now(), time.Since(began)
	close(s.running)
	s.running = nil
}

// held is how many bytes clients keep in the space; it stops looking at most.
func (d *desk) held(most int64) (n int64, err error) {
	cursor := ""
	for {
		keys, next, err := d.door.cfg.Board.Keys(d.door.ctx, d.space, "", cursor, measureKeys)
		if err != nil {
			return n, err
		}
		var kept []string
		for _, key := range keys {
			if keyspace.Of(d.space, key).Kept() {
				kept = append(kept, key)
			}
		}
		more, err := d.heldBy(kept, most-n)
		if n += more; err != nil || next == "" || n >= most {
			return n, err
		}
		cursor = next
	}
}

// heldBy is what some keys hold.
func (d *desk) heldBy(keys []string, most int64) (n int64, err error) {
	if len(keys) == 0 {
		return 0, nil
	}
	stats, err := d.door.cfg.Board.Stat(d.door.ctx, d.space, keys...)
	if err != nil {
		return 0, err
	}
	var records []string
	for i, key := range keys {
		n += storedKey + int64(len(key))
		switch stats[i].Kind {
		case board.KindRecord:
			records = append(records, key)
			continue
		case board.KindList:
			err = d.eachItem(key, func(item string) bool { n += storedItem + int64(len(item)); return n < most })
		case board.KindSet:
			err = d.eachMember(key, func(item string) bool { n += storedItem + int64(len(item)); return n < most })
		}
		if err != nil || n >= most {
			return n, err
		}
	}
	for len(records) > 0 && n < most {
		some := records[:min(len(records), measureAtOnce)]
		records = records[len(some):]
		recs, err := d.door.cfg.Board.Get(d.door.ctx, d.space, some...)
		if err != nil && recs == nil {
			return n, err
		}
		for i, rec := range recs {
			if !keyspace.Of(d.space, some[i]).Leaves(rec) {
				n += int64(rec.Bytes() + storedItem*len(rec))
			}
		}
	}
	return n, nil
}

// eachItem reads a list until more says that it is enough. Other clients and engines
// change it meanwhile: it need not be exact.
func (d *desk) eachItem(key string, more func(item string) bool) error {
	for from := 0; ; {
		items, err := d.door.cfg.Board.List(d.door.ctx, d.space, key, from, measureAtOnce)
		if err != nil || len(items) == 0 {
			return wrongKindIsNothing(err)
		}
		for _, item := range items {
			if !more(item) {
				return nil
			}
		}
		from += len(items)
	}
}

// eachMember is eachItem for a set.
func (d *desk) eachMember(key string, more func(member string) bool) error {
	for after := ""; ; {
		members, err := d.door.cfg.Board.Members(d.door.ctx, d.space, key, after, measureAtOnce)
		if err != nil || len(members) == 0 {
			return wrongKindIsNothing(err)
		}
		for _, m := range members {
			if !more(m) {
				return nil
			}
		}
		after = members[len(members)-1]
	}
}

// wrongKindIsNothing forgives a key that has become another kind of thing meanwhile.
func wrongKindIsNothing(err error) error {
	if err != nil && wrongKind(err) == errWrongType {
		return nil
	}
	return err
}
