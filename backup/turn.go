package backup

import (
	"context"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// turnWait is for how long a backup waits for another that is being written, before it is refused: whoever
// killed one and begins it again is not to meet it, as its node hears of that a moment later.
const turnWait = 5 * time.Second

// Turn lets one backup of a node be written at a time. It is safe for concurrent use.
type Turn struct {
	mu  sync.Mutex
	now *writing // nil: none
}

// writing is a backup that is being written.
type writing struct {
	ctx   context.Context
	ended chan struct{} // closed when it has ended
}

// Begin waits until no other backup is written: for a moment, and for one whose caller has gone until it
// has ended, which is soon. The caller calls end.
//
// Errors: [domain.ErrConflict] while another is written; the context's.
func (t *Turn) Begin(ctx context.Context) (end func(), err error) {
	late := time.NewTimer(turnWait)
	defer late.Stop()
	mine := &writing{ctx, make(chan struct{})}
	for waited := false; ; {
		other := t.take(mine)
		if other == nil {
			return func() { t.leave(mine) }, nil
		}
		if waited && other.ctx.Err() == nil { // also one that came in between, each time
			return nil, domain.Conflictf("a backup of this node is being written; wait for its end")
		}
		select {
		case <-other.ended:
		case <-late.C:
			waited = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take has mine be what is written, unless there is another, which it returns.
func (t *Turn) take(mine *writing) (other *writing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		t.now = mine
		return nil
	}
	return t.now
}

func (t *Turn) leave(mine *writing) {
	t.mu.Lock()
	t.now = nil
	t.mu.Unlock()
	close(mine.ended)
}
