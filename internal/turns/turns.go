// Package turns lets the contexts of a node do one thing of a kind at a time each.
package turns

import (
	"context"
	"sync"

	"github.com/ramet-run/ramet/domain"
)

// Turns has one thing of each context done at a time: a condition evaluated, which is
// nothing but computing and may take a second and 16 MiB, or a consumer opened at a
// server that all share. So what a context asks for by the hundred takes its own
// time, and not the others'. The zero Turns is ready to use.
type Turns struct {
	mu sync.Mutex
	of map[domain.TenantID]chan struct{}
}

// Take waits until it is the caller's turn, until it calls done.
//
// Errors: the context's.
func (t *Turns) Take(ctx context.Context, tenant domain.TenantID) (done func(), err error) {
	turn := t.turn(tenant)
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *Turns) turn(tenant domain.TenantID) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.of[tenant]
	if turn == nil {
		turn = make(chan struct{}, 1)
		if t.of == nil {
			t.of = map[domain.TenantID]chan struct{}{}
		}
		t.of[tenant] = turn
	}
	return turn
}
