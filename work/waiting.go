package work

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file bounds the jobs and flows of one context that have not ended: who submits
// without end would fill the store of all. Nobody counts along, as a count that every
// submit and every end changes would be the one record that all of a context wait for.
// What is there is counted now and then, in the index of what has not ended; each node
// may then let in half of what there is room for before it counts again. So several
// nodes together may go beyond the bound by a part of it.

// DefaultWaitingJobs is for [Config.WaitingJobs].
const DefaultWaitingJobs = 5_000_000

const (
	// waitingPage is how many are counted at once.
	waitingPage = 1000
	// countRest is how many times as long as it took a context that is full is not
	// counted again, within leastCountRest and mostCountRest.
	countRest      = 10
	leastCountRest = time.Second
	mostCountRest  = 30 * time.Second
)

// waitings is the room that contexts have for more.
type waitings struct {
	mu    sync.Mutex
	known map[domain.TenantID]*waiting
}

// waiting is the room that one has.
type waiting struct {
	turn  chan struct{} // who counts has it; capacity 1
	mu    sync.Mutex
	left  int       // what may come in before it is counted again
	until time.Time // when it may be
	err   error     // that it was full
}

// known is what is to be said without counting; ok is false where it must be counted.
func (w *waiting) known() (ok bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left > 0 {
		return true, nil
	}
	return w.err != nil && time.Now().Before(w.until), w.err
}

func (w *waitings) of(tenant domain.TenantID) *waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		w.known = map[domain.TenantID]*waiting{}
	}
	if w.known[tenant] == nil {
		w.known[tenant] = &waiting{turn: make(chan struct{}, 1)}
	}
	return w.known[tenant]
}

// Waiting returns an error while so many jobs and flows of a context have not ended that
// it may have no more. What was begun goes on, and makes what it has yet to make.
//
// Errors: [domain.ErrExhausted], and those of the board.
func (e *Engine) Waiting(ctx context.Context, tenant domain.TenantID) error {
	most := e.cfg.WaitingJobs
	if most < 0 {
		return nil
	}
	w := e.waits.of(tenant)
	if ok, err := w.known(); ok {
		return err
	}
	// Others wait for who counts, and no longer than they want to: the board may hang.
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if ok, err := w.known(); ok {
		return err
	}
	began := time.Now()
	n, err := e.countWaiting(ctx, layout.SpaceOf(tenant), most)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left, w.err = max(most-n, 0), nil
	w.left -= w.left / 2
	if w.left == 0 {
		w.until = time.Now().Add(min(max(countRest*time.Since(began), leastCountRest), mostCountRest))
		w.err = domain.Exhaustedf("%d jobs and flows of context %d have not ended, and it may have no more (waiting_jobs): try again when some have ended; "+
			"`ramet doctor` says what keeps them, and `ramet job cancel --all` ends them", n, tenant)
	}
	return w.err
}

// Admit is Waiting for one more, which comes in some other way than through the engine.
//
// Errors: as of Waiting.
func (e *Engine) Admit(ctx context.Context, tenant domain.TenantID) error {
	err := e.Waiting(ctx, tenant)
	if err == nil {
		e.Took(tenant, 1)
	}
	return err
}

// Took counts n jobs and flows that have come into a context.
func (e *Engine) Took(tenant domain.TenantID, n int) {
	if e.cfg.WaitingJobs < 0 || n == 0 {
		return
	}
	w := e.waits.of(tenant)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = max(w.left-n, 0)
}

// countWaiting is how many jobs and flows of a space have not ended; it stops at most.
func (e *Engine) countWaiting(ctx context.Context, space board.Space, most int) (n int, err error) {
	var after board.LiveItem
	for n < most {
		page, err := e.board.Live(ctx, space, after, waitingPage)
		if err != nil || len(page) == 0 {
			return n, err
		}
		for _, it := range page {
			if strings.HasPrefix(it.Item, layout.JobPrefix) || strings.HasPrefix(it.Item, layout.FlowPrefix) {
				n++
			}
		}
		after = page[len(page)-1]
	}
	return n, nil
}
