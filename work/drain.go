package work

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
)

// This file ends a runner: how long it waits for what it has in hand.

const (
	// unwritten is how long a drain waits for ends of runs to be written after
	// everything was stopped.
	unwritten = 10 * time.Second
	// stuckWait is how long a drain waits after that. What still runs then is a
	// script inside the process that does not listen: nothing ends it but the
	// end of the process.
	stuckWait = time.Second
	// boardGone is how long a drain bears with a board that does not answer.
	// Then nothing can be given back, and scripts run for nothing: their leases
	// run out. With StopGrace for scripts that do not listen, and stuckWait, it
	// keeps a drain without a board at about ten seconds.
	boardGone = 4 * time.Second
	// boardLook is the pause between two looks whether it answers.
	boardLook = 500 * time.Millisecond
)

// drain waits until all runs have ended, and ends those that take longer than
// Grace; all of them, where the board is gone.
//
// Errors: [domain.ErrUnavailable] for jobs that could not be given back.
func (r *Runner) drain(done <-chan struct{}, stop context.CancelFunc) error {
	looking, end := context.WithCancel(context.Background())
	gone := make(chan struct{})
	var look sync.WaitGroup
	look.Go(func() { r.awaitGone(looking, gone) })
	defer look.Wait()
	defer end()

	if waitFor(done, r.cfg.Grace, gone) {
		return nil
	}
	r.mu.Lock()
	for _, x := range r.held {
		x.cancel(script.ErrDraining)
	}
	r.mu.Unlock()
	// Scripts get their time to stop in any case.
	if waitFor(done, r.cfg.StopGrace, nil) || waitFor(done, unwritten, gone) {
		return nil
	}
	r.mu.Lock()
	left := len(r.held)
	r.mu.Unlock()
	stop()
	if !waitFor(done, stuckWait, nil) {
		r.complain()
	}
	select {
	case <-gone:
		return domain.Unavailablef("the board does not answer: %d job(s) in hand were not given back; they go on when their leases have run out", left)
	default:
		return nil
	}
}

// complain says which scripts do not stop.
func (r *Runner) complain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.held {
		r.log.Error("script does not stop; another node may run it when its lease has run out", "job", x.claimed.Item,
			"context", uint32(x.claimed.Space), "script_type", string(x.lane.typ))
	}
}

// awaitGone closes gone once the board has not answered for boardGone. It
// returns then, or when ctx ends.
func (r *Runner) awaitGone(ctx context.Context, gone chan<- struct{}) {
	answered := time.Now()
	for ctx.Err() == nil {
		asking, cancel := context.WithTimeout(ctx, boardGone)
		_, err := r.e.board.Len(asking, 0, layout.Finished)
		cancel()
		switch {
		case !errors.Is(err, domain.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded):
			answered = time.Now()
		case time.Since(answered) >= boardGone:
			close(gone)
			return
		}
		pause.For(ctx, boardLook)
	}
}

// waitFor waits until done is closed; it returns false when d is over, or
// enough is closed, before.
func waitFor(done <-chan struct{}, d time.Duration, enough <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-enough:
	case <-t.C:
	}
	return false
}
