package work

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/queue"
)

// This file has looks at addresses made by others than those who handle alarms:
// a stranger's server may take its time. The alarm puts a record on a queue, and
// a checker, of any node, claims it, looks, and writes down what it found.
//
//	alarm ──> ramet:check:<job> on ramet:queue:checks ──> claimed ──> looked at ──> deleted
//	            ^                                            │
//	            └──────────── lease ran out ─────────────────┘

const (
	// checksNode is how many jobs' addresses a node looks at at once, and
	// checksContext how many of one context within the time of a look.
	checksNode    = 64
	checksContext = 16
	// checkFull bounds one wait for something to look at that passes over contexts
	// which have as many in hand as they may.
	checkFull = time.Second
	// checkSpare is what a lease is longer than a look.
	checkSpare = 30 * time.Second
	// checkAnew is when something is asked for once more that nobody has done: the
	// queue may have lost it. A doubled entry costs no look.
	checkAnew = time.Hour
	// checkTries is how often the end of a look is written while others write too.
	checkTries = 5
)

// askToCheck adds to b that somebody is to look at a job's addresses, unless
// that is asked for already.
func (e *Engine) askToCheck(ctx context.Context, b *board.Batch, job domain.JobKey, now time.Time) error {
	key := layout.Check(job)
	recs, err := e.board.Get(ctx, b.Space, key)
	if err != nil {
		return err
	}
	asked := recs[0].Get(layout.CheckAskedMs)
	b.Equal(key, layout.CheckAskedMs, asked)
	if ms, err := strconv.ParseInt(asked, 10, 64); err == nil && now.Sub(time.UnixMilli(ms)) < checkAnew {
		return nil
	}
	b.Set(key, board.Field{Name: layout.CheckAskedMs, Value: strconv.FormatInt(now.UnixMilli(), 10)})
	b.PushLeft(queue.Checks, key)
	return nil
}

// recoverCheck brings back a look whose node was lost.
func (e *Engine) recoverCheck(ctx context.Context, l board.Lease) error {
	b := board.Batch{Space: l.Space}
	b.Lapsed(l.Item, l.Token).Release(l.Item).PushRight(queue.Checks, l.Item)
	return e.board.Commit(ctx, b)
}

// Check looks at the addresses of jobs until ctx ends. Any number of nodes may.
// owner is written on leases; it must differ for each life of a process.
func (e *Engine) Check(ctx context.Context, owner string) {
	c := checker{Engine: e, owner: owner, held: map[board.Space]int{}, freed: make(chan struct{}, 1)}
	var looks sync.WaitGroup
	defer looks.Wait()
	lease.Take(ctx, c.claim, func(claimed []board.Claimed) {
		for _, it := range claimed {
			c.take(it.Space)
			looks.Go(func() {
				c.look(ctx, it)
				c.free(func() { c.now-- })
			})
		}
	}, func(err error) { e.log.Warn("no address taken to look at", "err", err) })
}

// checker is a node's pool of looks.
type checker struct {
	*Engine
	owner string
	freed chan struct{} // has an entry after there is room again

	mu   sync.Mutex
	now  int                 // looks in hand
	held map[board.Space]int // looks within the time of one
}

// claim waits for something to look at, or for room.
func (c *checker) claim(ctx context.Context) ([]board.Claimed, error) {
	ask, room := c.ask()
	if !room {
		select {
		case <-c.freed:
		case <-ctx.Done():
		}
		return nil, nil
	}
	return c.board.Claim(ctx, ask)
}

// ask is for as many as there is room for, of contexts that have not as many as
// they may. They may all be of one.
func (c *checker) ask() (ask board.Ask, room bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ask = board.Ask{Queues: []board.Queue{{Lists: []string{queue.Checks}}}, Owner: c.owner, Lease: c.reach.took + checkSpare, Wait: lease.Wait,
		Max: min(checksNode-c.now, checksContext)}
	for space, n := range c.held {
		if n >= checksContext {
			ask.Except, ask.Wait = append(ask.Except, space), checkFull
		} else {
			ask.Max = min(ask.Max, checksContext-n)
		}
	}
	return ask, ask.Max > 0 && len(ask.Except) <= board.MaxExcept
}

// take takes a place for a look. The context's is free again when a look that
// gets no answer would have ended, however long this one takes: else the room
// left would tell how long the others took.
func (c *checker) take(space board.Space) {
	c.mu.Lock()
	c.now++
	c.held[space]++
	c.mu.Unlock()
	time.AfterFunc(c.reach.took, func() {
		c.free(func() {
			if c.held[space]--; c.held[space] == 0 {
				delete(c.held, space)
			}
		})
	})
}

func (c *checker) free(release func()) {
	c.mu.Lock()
	release()
	c.mu.Unlock()
	select {
	case c.freed <- struct{}{}:
	default:
	}
}

// look looks at the addresses of one job and writes down what it found, anew
// where somebody else has written meanwhile. Whatever goes wrong, the lease runs
// out, and somebody looks again.
func (c *checker) look(ctx context.Context, it board.Claimed) {
	l := addressLook{checker: c, claimed: it, began: time.Now(), met: map[string]bool{}}
	for range checkTries {
		err := l.once(ctx)
		switch {
		case err == nil, lease.IsGone(err): // somebody else has it now
			return
		case !errors.As(err, new(*board.GuardError)):
			c.log.Warn("addresses not looked at; that comes again", "item", it.Item, "context", uint32(it.Space), "err", err)
			return
		}
	}
}

// addressLook is one look at the addresses that a job waits for.
type addressLook struct {
	*checker
	claimed board.Claimed
	began   time.Time
	met     map[string]bool // of those looked at
}

// once commits the end of the look.
//
// Errors: *[board.GuardError] where somebody was first.
func (l *addressLook) once(ctx context.Context) error {
	after := context.WithoutCancel(ctx) // what is left is short
	b := board.Batch{Space: l.claimed.Space}
	b.Held(l.claimed.Item, l.owner, l.claimed.Token)
	j, rec, err := l.job(after)
	if err != nil {
		return err
	}
	if unmet := layout.Unmet(rec); j != nil && slices.ContainsFunc(unmet, isAddress) {
		still := l.find(ctx, unmet)
		if len(still) > 0 && ctx.Err() != nil { // cut short: the node ends
			b.Release(l.claimed.Item).PushRight(queue.Checks, l.claimed.Item)
			return l.board.Commit(after, b)
		}
		if len(still) < len(unmet) {
			b.Equal(j.Key().String(), layout.JobStatus, string(j.Status))
			l.nowUnmet(&b, j, rec, still)
		}
	}
	return l.board.Commit(after, *b.Delete(l.claimed.Item))
}

// job is the one that waits; nil where nothing is to be looked at: the entry is
// a doubled one, of a look that was made, or the job is its alarm's, because it
// is gone, has ended, or cannot be read.
func (l *addressLook) job(ctx context.Context) (*domain.Job, board.Record, error) {
	key, ok := layout.ParseCheck(l.claimed.Item)
	if !ok || l.claimed.Record.Bare() {
		return nil, nil, nil
	}
	j, rec, err := l.load(ctx, l.claimed.Space, key)
	switch {
	case errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid) || err == nil && j.Final():
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	return j, rec, nil
}

// find looks at the addresses among what is not met, and returns what still is
// not: no sooner than a look that gets no answer would have ended.
func (l *addressLook) find(ctx context.Context, unmet []string) []string {
	var addresses []string
	for _, p := range unmet {
		if _, looked := l.met[p]; isAddress(p) && !looked {
			addresses = append(addresses, p)
		}
	}
	for i, ok := range l.reach.look(ctx, addresses) {
		l.met[addresses[i]] = ok
	}
	still := slices.DeleteFunc(slices.Clone(unmet), func(p string) bool { return l.met[p] })
	if len(still) > 0 {
		l.reach.conceal(ctx, l.began)
	}
	return still
}
