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
	// careAfter is after how many such lives.
	careAfter = 3
	// careFor is how many messages are handled so: what one round may have had.
	careFor = 2*roundMost + fetchMost
	// careTries is how many lives an event may end. Then its instance fails on
	// it; after as many again, nobody looks at it any more.
	careTries = 3
)

// Fields of the shard's record.
const (
	careLives  = "lives"  // that ended without a commit
	careLife   = "life"   // the owner of the last one
	careTrying = "trying" // the message that is being handled
	careTried  = "tries"  // in how many lives
)

// care is how careful a shard is.
type care struct {
	left   int  // messages to be handled one by one
	ease   bool // the next commit is a reason to be careful no more
	trying string
	tries  int
	same   bool // it was tried by this life already, which did not end
}

// openCare counts this life.
func (s *shard) openCare(ctx context.Context) error {
	recs, err := s.e.board.Get(ctx, s.space, s.record)
	if err != nil {
		return err
	}
	lives, _ := strconv.Atoi(recs[0].Get(careLives))
	if recs[0].Get(careLife) != s.owner {
		lives++
		b := board.Batch{Space: s.space}
		b.Held(s.record, s.owner, s.Claimed.Token).
			Set(s.record, board.Field{Name: careLives, Value: strconv.Itoa(lives)}, board.Field{Name: careLife, Value: s.owner})
		if err := s.e.board.Commit(ctx, b); err != nil {
			return err
		}
	}
	s.care = care{ease: lives > 0, trying: recs[0].Get(careTrying), same: recs[0].Get(careLife) == s.owner}
	if lives > careAfter {
		s.care.left, s.care.ease = careFor, false
		s.care.tries, _ = strconv.Atoi(recs[0].Get(careTried))
		s.e.text.Warn("workers died one after the other without progress: events are handled one by one", "context", uint32(s.tenant), "saga", s.saga,
			"partition", s.partition, "lives", lives-1)
	}
	return nil
}

// carefully deals with one message.
func (s *shard) carefully(ctx context.Context, t *pending) error {
	c := &s.care
	if name := string(t.from.name) + ":" + sequence(t.seq); name != c.trying {
		c.trying, c.tries, c.same = name, 0, false
	}
	if !c.same {
		c.tries++
	}
	c.same = false
	b := board.Batch{Space: s.space}
	b.Held(s.record, s.owner, s.Claimed.Token).
		Set(s.record, board.Field{Name: careTrying, Value: c.trying}, board.Field{Name: careTried, Value: strconv.Itoa(c.tries)})
	if err := s.e.board.Commit(ctx, b); err != nil {
		return err
	}
	if c.tries > careTries {
		t.fatal = domain.Invalidf("%d times in a row the process died that handled it", c.tries-1)
	}
	if c.tries > 2*careTries {
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

// ease takes back what was counted.
func (c *chunk) ease(s *shard) {
	c.Set(s.record, board.Field{Name: careLives, Value: "0"}).Unset(s.record, careTrying, careTried)
	c.eased = true
}
