// Package precondition lets a change hold only while something is as its caller has read
// it: HTTP's If-Match, exactly.
//
// To compare what is there with what somebody has read, and then to change it, lets two
// pass who both compared first. So what was read for the comparison is noted, record by
// record, and the change is guarded by it:
//
//	ctx, seen := precondition.Note(ctx)   // read, and compare
//	ctx = precondition.Hold(ctx, seen)    // change: with guards for all that was noted
//
// Both go through a board from [Over]. Who writes need not know of it: while it reads
// the same records again they must be the same, and its commit that writes one of them
// gets guards for their fields. What fails on that is a conflict, and [Seen.Changed] says
// that it was that.
//
// A request that may come again has what it makes made once in the same way, by a mark in
// the commit that makes it: see [Once].
package precondition

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Board is what such a board does otherwise than the one below: the rest is that one's.
type Board struct{ board.Board }

var _ board.Board = Board{}

// Over is b with preconditions. Calls without one cost a look at their context.
func Over(b board.Board) Board { return Board{b} }

// ref is where a record lies.
type ref struct {
	space board.Space
	key   string
}

// Seen is what was read. It is safe for concurrent use.
type Seen struct {
	mu      sync.Mutex
	records map[ref]board.Record // nil: there was none
	held    bool                 // a commit that was guarded by it has been made
	changed bool                 // something is not as it was seen
}

// Nothing reports whether nothing was seen: what was read was not read over such a board,
// and nothing would be held.
func (s *Seen) Nothing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records) == 0
}

// Changed reports whether something was not as it was seen when it was to be changed.
func (s *Seen) Changed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

type noting struct{}
type holding struct{}

// Note has what is read with the context noted.
func Note(ctx context.Context) (context.Context, *Seen) {
	s := &Seen{records: map[ref]board.Record{}}
	return context.WithValue(ctx, noting{}, s), s
}

// Hold has what is changed with the context hold only while what was seen is so. It holds
// for the first commit that changes some of it.
func Hold(ctx context.Context, s *Seen) context.Context {
	return context.WithValue(context.WithValue(ctx, noting{}, (*Seen)(nil)), holding{}, s)
}

// Without has what is done with the context hold whatever was seen: what tidies up after a
// change that failed.
func Without(ctx context.Context) context.Context {
	return context.WithValue(ctx, holding{}, (*Seen)(nil))
}

var errChanged = domain.Conflictf("what is to be changed is not as it was read")

// Get reads records, and notes them or compares them with what was seen.
func (b Board) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	recs, err := b.Board.Get(ctx, space, keys...)
	if err != nil {
		return recs, err
	}
	if s, _ := ctx.Value(noting{}).(*Seen); s != nil {
		s.note(space, keys, recs)
	}
	if s, _ := ctx.Value(holding{}).(*Seen); s != nil && !s.same(space, keys, recs) {
		return nil, errChanged
	}
	return recs, nil
}

func (s *Seen) note(space board.Space, keys []string, recs []board.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, key := range keys {
		s.records[ref{space, key}] = recs[i]
	}
}

// same reports whether records are as they were seen, as far as they were.
func (s *Seen) same(space board.Space, keys []string, recs []board.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, key := range keys {
		was, seen := s.records[ref{space, key}]
		if seen && !s.held && !equal(was, recs[i]) {
			s.changed = true
		}
	}
	return !s.changed
}

// equal compares records by their fields, in whatever order these come.
func equal(a, b board.Record) bool {
	if (a == nil) != (b == nil) || len(a) != len(b) {
		return false
	}
	return !slices.ContainsFunc(a, func(f board.Field) bool {
		v, there := b.Lookup(f.Name)
		return !there || v != f.Value
	})
}

// Commit commits a batch: once where it makes what a [Once] is about, and guarded by what was
// seen where it writes some of that.
func (b Board) Commit(ctx context.Context, batch board.Batch) error {
	if o, _ := ctx.Value(making{}).(*Once); o != nil {
		return o.commit(ctx, batch, b.hold)
	}
	return b.hold(ctx, batch)
}

// hold commits a batch that is guarded by what was seen.
func (b Board) hold(ctx context.Context, batch board.Batch) error {
	s, _ := ctx.Value(holding{}).(*Seen)
	if s == nil {
		return b.Board.Commit(ctx, batch)
	}
	guards := s.guards(&batch)
	if len(guards) == 0 {
		return b.Board.Commit(ctx, batch)
	}
	own := batch.Guards
	batch.Guards = append(guards, own...) // judged in order: what changed comes before what follows from it
	err := b.Board.Commit(ctx, batch)
	s.mu.Lock()
	defer s.mu.Unlock()
	failed := (*board.GuardError)(nil)
	switch {
	case err == nil:
		s.held = true
	case errors.As(err, &failed) && failed.Index < len(guards):
		s.changed = true
		return errChanged
	case errors.As(err, &failed):
		return &board.GuardError{Index: failed.Index - len(guards), Guard: failed.Guard}
	}
	return err
}

// guards are those of what was seen in the space of a batch that writes some of it.
func (s *Seen) guards(batch *board.Batch) (guards []board.Guard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held || !slices.ContainsFunc(batch.Ops, func(o board.Op) bool { _, seen := s.records[ref{batch.Space, o.Key}]; return seen }) {
		return nil
	}
	var b board.Batch
	for p, rec := range s.records {
		switch {
		case p.space != batch.Space:
		case rec == nil:
			b.Absent(p.key)
		default:
			for _, f := range rec {
				b.Equal(p.key, f.Name, f.Value)
			}
		}
	}
	return b.Guards
}
