package saga

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file has what is done about an event that ends the process each time it
// is handled, which nothing within it can catch: memory that runs out, a bug of
// the runtime. The shard's record counts the lives that ended without a commit.
// After some of them events are handled one by one, each with a mark before, and
// one that was marked by life after life becomes a dead letter.

const (
	// crashLoopAfter is how many lives may end so before events are handled singly.
	crashLoopAfter = 3
	// singlyFor is how many messages are handled singly then: what one round may have had.
	singlyFor = 2*roundMost + fetchMost
	// crashTries is how many lives an event may end. Then its instance fails on
	// it; after as many again, nobody looks at it any more.
	crashTries = 3
)

// Fields of the shard's record.
const (
	fieldLives  = "lives"  // that ended without a commit
	fieldLife   = "life"   // the owner of the last one
	fieldTrying = "trying" // the message that is being handled
	fieldTried  = "tries"  // in how many lives
)

// crashLoop is what a shard does about lives that end one after the other.
type crashLoop struct {
	left   int  // messages still to be handled one by one
	ease   bool // the next commit is the end of the crash loop
	trying string
	tries  int
	same   bool // it was tried by this life already, which did not end
}

// countLife counts this life, and returns the partition's record as the one before has left it.
func (s *shard) countLife(ctx context.Context) (board.Record, error) {
	recs, err := s.e.board.Get(ctx, s.space, s.record)
	if err != nil {
		return nil, err
	}
	lives, _ := strconv.Atoi(recs[0].Get(fieldLives))
	if recs[0].Get(fieldLife) != s.owner {
		lives++
		b := board.Batch{Space: s.space}
		b.Held(s.record, s.owner, s.Claimed.Token).
			Set(s.record, board.Field{Name: fieldLives, Value: strconv.Itoa(lives)}, board.Field{Name: fieldLife, Value: s.owner})
		if err := s.e.board.Commit(ctx, b); err != nil {
			return nil, err
		}
	}
	s.crashLoop = crashLoop{ease: lives > 0, trying: recs[0].Get(fieldTrying), same: recs[0].Get(fieldLife) == s.owner}
	if lives > crashLoopAfter {
		s.crashLoop.left, s.crashLoop.ease = singlyFor, false
		s.crashLoop.tries, _ = strconv.Atoi(recs[0].Get(fieldTried))
		s.e.text.Warn("workers died one after the other without progress: events are handled one by one", "context", uint32(s.tenant), "saga", s.saga,
			"partition", s.partition, "lives", lives-1)
	}
	return recs[0], nil
}

// handleSingly deals with one message, with a mark before it.
func (s *shard) handleSingly(ctx context.Context, t *pending) error {
	c := &s.crashLoop
	if name := string(t.from.name) + ":" + sequence(t.seq); name != c.trying {
		c.trying, c.tries, c.same = name, 0, false
	}
	if !c.same {
		c.tries++
	}
	c.same = false
	b := board.Batch{Space: s.space}
	b.Held(s.record, s.owner, s.Claimed.Token).
		Set(s.record, board.Field{Name: fieldTrying, Value: c.trying}, board.Field{Name: fieldTried, Value: strconv.Itoa(c.tries)})
	if err := s.e.board.Commit(ctx, b); err != nil {
		return err
	}
	if c.tries > crashTries {
		t.fatal = domain.Invalidf("%d times in a row the process died that handled it", c.tries-1)
	}
	if c.tries > 2*crashTries {
		t.bad, t.mine = t.fatal, true
	}
	if err := s.alone(ctx, t); err != nil {
		return fmt.Errorf("one by one: %w", err)
	}
	if c.left--; c.left == 0 {
		c.ease = true
	}
	return nil
}

// ease takes back what was counted: there was progress.
func (c *chunk) ease(s *shard) {
	c.Set(s.record, board.Field{Name: fieldLives, Value: "0"}).Unset(s.record, fieldTrying, fieldTried)
	c.eased = true
}
