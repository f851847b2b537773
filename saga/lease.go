package saga

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
)

// extendMost is how many leases are renewed in one call.
const extendMost = 500

// leases are those of a worker's partitions. They are renewed together: a
// worker may have thousands.
type leases struct {
	board board.Board
	owner string
	lease time.Duration

	mu   sync.Mutex
	held map[*shard]*heldLease
}

type heldLease struct {
	until time.Time // it is known to hold
	lose  context.CancelCauseFunc
}

func newLeases(b board.Board, owner string, lease time.Duration) *leases {
	return &leases{board: b, owner: owner, lease: lease, held: map[*shard]*heldLease{}}
}

// keep renews the lease of a shard until drop is called. When it is lost, lose
// is.
func (l *leases) keep(s *shard, since time.Time, lose context.CancelCauseFunc) (drop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[s] = &heldLease{since.Add(l.lease), lose}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.held, s)
	}
}

// run renews until ctx ends.
func (l *leases) run(ctx context.Context) {
	tick := time.NewTicker(l.lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.renew(ctx)
		}
	}
}

func (l *leases) renew(ctx context.Context) {
	l.mu.Lock()
	shards := make([]*shard, 0, len(l.held))
	for s := range l.held {
		shards = append(shards, s)
	}
	l.mu.Unlock()
	for len(shards) > 0 {
		part := shards[:min(len(shards), extendMost)]
		shards = shards[len(part):]
		list := make([]board.Held, len(part))
		for i, s := range part {
			list[i] = board.Held{Space: s.space, Item: s.record, Token: s.token}
		}
		began := time.Now()
		answers, err := l.board.Extend(ctx, l.owner, l.lease, list)
		l.mu.Lock()
		for i, s := range part {
			switch h := l.held[s]; {
			case h == nil: // it has ended meanwhile
			case err == nil && answers[i] == board.Lost:
				h.lose(errLost)
			case err == nil:
				h.until = began.Add(l.lease)
			case time.Now().After(h.until):
				h.lose(fmt.Errorf("%w: the lease could not be renewed: %w", errLost, err))
			}
		}
		l.mu.Unlock()
	}
}
