package circle

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

// This file ends a worker: how long it waits for what it has in hand.

const (
	// stopWait is how long scripts have to stop, and what is given back to be
	// written, where the board answers.
	stopWait = 10 * time.Second
	// stuckWait is how long a drain waits after that for scripts that do not
	// listen: nothing ends them but the end of the process.
	stuckWait = time.Second
	// boardGone is how long a drain bears with a board that does not answer.
	boardGone = 4 * time.Second
	// boardLook is the pause between two looks whether it answers.
	boardLook = 500 * time.Millisecond
)

// drain waits until all runs have ended, and ends those that take longer than
// Grace; all of them, where the board is gone.
//
// Errors: [domain.ErrUnavailable] for tasks that could not be given back.
func (w *Worker) drain(done <-chan struct{}, stop context.CancelFunc) error {
	looking, end := context.WithCancel(context.Background())
	gone := make(chan struct{})
	var look sync.WaitGroup
	look.Go(func() { w.awaitGone(looking, gone) })
	defer look.Wait()
	defer end()

	if waitFor(done, w.cfg.Grace, gone) {
		return nil
	}
	for _, x := range w.inHand() {
		x.cancel(script.ErrDraining)
	}
	if waitFor(done, stopWait, gone) {
		return nil
	}
	left := len(w.inHand())
	stop()
	waitFor(done, stuckWait, nil)
	return domain.Unavailablef("%d task(s) of circles in hand were not given back; they go on when their leases have run out", left)
}

// awaitGone closes gone once the board has not answered for boardGone. It
// returns then, or when ctx ends.
func (w *Worker) awaitGone(ctx context.Context, gone chan<- struct{}) {
	answered := time.Now()
	for ctx.Err() == nil {
		asking, cancel := context.WithTimeout(ctx, boardGone)
		_, err := w.e.board.Len(asking, 0, layout.Finished)
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
