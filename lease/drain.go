package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
)

// This file ends a runner: how long it waits for what it has in hand.

const (
	// unwritten is how long a drain waits for ends to be written after everything was
	// stopped, where the board answers.
	unwritten = 10 * time.Second
	// stuckWait is how long a drain waits after that. What is still at work then does
	// not listen: nothing ends it but the end of the process.
	stuckWait = time.Second
	// boardGone is how long a drain bears with a board that does not answer. Then
	// nothing can be given back, and all works for nothing: its leases run out. With
	// StopGrace for what does not listen, and stuckWait, it keeps a drain without a
	// board at about ten seconds.
	boardGone = 4 * time.Second
	// boardLook is the pause between two looks whether it answers.
	boardLook = 500 * time.Millisecond
)

// Left is what a runner has left behind.
type Left[W Doing] struct {
	// Items is how many were not given back: they go on when their leases have run out.
	Items int
	// Stuck is work among them that did not stop. Nothing ends it but the end of the
	// process.
	Stuck []W
	// Gone says why: the board did not answer.
	Gone bool
}

// drain waits until all work has ended, and ends what takes longer than Grace; all of
// it, where the board is gone.
func (r *Runner[W]) drain(ended <-chan struct{}, abandon context.CancelFunc) (left Left[W]) {
	looking, end := context.WithCancel(context.Background())
	gone := make(chan struct{})
	var look sync.WaitGroup
	look.Go(func() { r.awaitGone(looking, gone) })
	defer look.Wait()
	defer end()

	if waitFor(ended, r.cfg.Grace, gone) {
		return left
	}
	for _, w := range r.All() {
		w.Leased().Stop(r.cfg.Draining)
	}
	// Work gets its time to stop in any case.
	if waitFor(ended, r.cfg.StopGrace, nil) || waitFor(ended, unwritten, gone) {
		return left
	}
	left.Items = len(r.All())
	abandon()
	if !waitFor(ended, stuckWait, nil) {
		left.Stuck = r.All()
	}
	select {
	case <-gone:
		left.Gone = true
	default:
	}
	return left
}

// awaitGone closes gone once the board has not answered for boardGone. It returns
// then, or when ctx ends.
func (r *Runner[W]) awaitGone(ctx context.Context, gone chan<- struct{}) {
	answered := time.Now()
	for ctx.Err() == nil {
		asking, cancel := context.WithTimeout(ctx, boardGone)
		_, err := r.cfg.Board.Len(asking, 0, layout.Finished)
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

// waitFor waits until ended is closed; it returns false when d is over, or enough is
// closed, before.
func waitFor(ended <-chan struct{}, d time.Duration, enough <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ended:
		return true
	case <-enough:
	case <-t.C:
	}
	return false
}
