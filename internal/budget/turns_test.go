package budget_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/budget"
)

// crowd is those who ask for turns; a bubble of synctest is around it.
type crowd struct {
	*testing.T
	turns *budget.Turns
	has   chan []domain.ActorID // capacity 1: who makes an answer now
	end   map[domain.ActorID]chan struct{}
}

func newCrowd(t *testing.T) *crowd {
	c := &crowd{T: t, turns: budget.New(budget.Config{}, nil).Remote.Turns, has: make(chan []domain.ActorID, 1), end: map[domain.ActorID]chan struct{}{}}
	c.has <- nil
	return c
}

// ask has n of an actor ask, each for its parts.
func (c *crowd) ask(tenant domain.TenantID, who domain.ActorID, n, parts int) {
	if c.end[who] == nil {
		c.end[who] = make(chan struct{})
	}
	for range n {
		go func() {
			done, err := c.turns.Take(c.Context(), tenant, who, parts)
			if err != nil {
				c.Errorf("actor %d: %v", who, err)
				return
			}
			c.has <- append(<-c.has, who)
			<-c.end[who]
			now := <-c.has
			i := slices.Index(now, who)
			c.has <- slices.Delete(now, i, i+1)
			done()
		}()
		synctest.Wait()
	}
}

// want looks at how many of an actor's are made now.
func (c *crowd) want(who domain.ActorID, n int) {
	c.Helper()
	synctest.Wait()
	now, got := <-c.has, 0
	for _, other := range now {
		if other == who {
			got++
		}
	}
	c.has <- now
	if got != n {
		c.Errorf("%d answers to actor %d are made, want %d", got, who, n)
	}
}

// leave ends everything.
func (c *crowd) leave() {
	for _, end := range c.end {
		close(end)
	}
	synctest.Wait()
}

func TestAnswersOfOneActorAreMadeAFewAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		c.ask(7, 1, 100, 1)
		c.want(1, 16)
		c.ask(7, 2, 100, budget.ManyParts)
		c.want(2, 2)
		c.ask(7, 3, 1, 1) // the context is full, so it waits for another's
		c.want(3, 0)
		c.ask(8, 4, 1, 1)
		c.want(4, 1)
		c.ask(0, 5, 1, 1)
		c.want(5, 1)
		c.end[1] <- struct{}{} // it is before the 84 others of actor 1
		c.want(3, 1)
		c.want(1, 15)
		c.leave()
		c.want(1, 0)
		c.want(2, 0)
	})
}

func TestSmallAnswersKeepNoLargeOneWaitingForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		c.ask(7, 1, 16, 1)
		c.ask(7, 2, 15, 1)
		c.ask(7, 3, 1, budget.ManyParts)
		c.ask(7, 4, 1, 1)
		c.ask(7, 1, 8, 1)
		for range 7 {
			c.end[1] <- struct{}{}
			synctest.Wait()
		}
		c.want(3, 1)
		c.leave()
	})
}

func TestFewWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Config{}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		refused := make(chan error, 300)
		for range 300 {
			go func() {
				if _, err := b.Remote.Turns.Take(ctx, 7, 1, 1); err != nil {
					refused <- err
				}
			}()
		}
		synctest.Wait()
		if got := len(refused); got != 300-16-256 || b.Refusals()["waiting_per_actor"] != int64(got) {
			t.Errorf("%d of 300 are refused, %d are counted, want 28", got, b.Refusals()["waiting_per_actor"])
		}
		if err := <-refused; !errors.Is(err, domain.ErrExhausted) {
			t.Errorf("got %v", err)
		}
		done, err := b.Remote.Turns.Take(ctx, 7, 2, 1) // another of the context
		if err != nil {
			t.Fatal(err)
		}
		done()
		cancel()
		synctest.Wait()
		for range 27 {
			<-refused
		}
		if err := <-refused; len(refused) != 255 || !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("got %v, and %d more gave up, want 255", err, len(refused))
		}
	})
}
