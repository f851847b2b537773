package work

import (
	"context"
	"errors"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// finishers is how many loops commit the ends of runs: while one waits for
// the disk, the other gathers the next.
const finishers = 2

// finish is a batch that ends a run.
type finish struct {
	x     *run
	batch board.Batch
	what  ended
}

// finishLoop commits the ends of runs, all that are ready at once.
func (r *Runner) finishLoop(ctx context.Context) {
	for f := range r.finishes {
		group := append(make([]finish, 0, 16), f)
	more:
		for len(group) < maxClaim {
			select {
			case f, open := <-r.finishes:
				if !open {
					break more
				}
				group = append(group, f)
			default:
				break more
			}
		}
		r.finish(ctx, group)
	}
}

func (r *Runner) finish(ctx context.Context, group []finish) {
	batches := make([]board.Batch, len(group))
	for i := range group {
		batches[i] = group[i].batch
	}
	freed := map[*lane][]board.Space{}
	for i, err := range r.e.board.CommitEach(ctx, batches) {
		f := group[i]
		if err != nil && !f.x.settled(err) {
			// The slow way, beside the loop: it may take until the board is back.
			go f.x.finishAgain(ctx, f, err)
			continue
		}
		f.x.close(f.what, err)
		freed[f.x.lane] = append(freed[f.x.lane], f.x.claimed.Space)
	}
	for l, spaces := range freed {
		l.vacate(spaces...)
	}
}

// ended is what came of a run, for the observer and the log.
type ended struct {
	status  domain.JobStatus // started: it goes on later
	reason  domain.Reason
	text    string
	written bool // it is on the board already
}

// settled reports whether err means that there is nothing left to do: the
// lease is no longer ours.
func (x *run) settled(err error) bool {
	var g *board.GuardError
	return errors.As(err, &g) && g.Guard.Kind == board.GuardHeld
}
