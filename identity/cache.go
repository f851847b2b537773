package identity

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// cacheRoom is how many answers a cache keeps. When it is full it forgets
// everything: it would be old within a second anyway.
const cacheRoom = 10_000

// cache keeps what load answered for [CacheFor], also that there is nothing.
type cache[K comparable, V any] struct {
	load func(context.Context, K) (V, error)

	mu      sync.Mutex
	answers map[K]answer[V]
	calls   map[K]*call[V]
}

// call is one question to the board, for all who ask meanwhile: when an
// answer has become old, the jobs of one claim ask for it all at once.
type call[V any] struct {
	done  chan struct{} // closed when value and err are set
	value V
	err   error
}

type answer[V any] struct {
	value V
	err   error // nil or a domain.ErrNotFound
	until time.Time
}

func newCache[K comparable, V any](load func(context.Context, K) (V, error)) *cache[K, V] {
	return &cache[K, V]{load: load, answers: map[K]answer[V]{}, calls: map[K]*call[V]{}}
}

func (c *cache[K, V]) get(ctx context.Context, k K) (V, error) {
	for {
		// The time is taken before the board is asked: an answer is never older
		// than CacheFor, however long it took.
		now := time.Now()
		c.mu.Lock()
		if a, known := c.answers[k]; known && now.Before(a.until) {
			c.mu.Unlock()
			return a.value, a.err
		}
		f, asked := c.calls[k]
		if !asked {
			f = &call[V]{done: make(chan struct{})}
			c.calls[k] = f
		}
		c.mu.Unlock()
		if !asked {
			c.ask(ctx, k, f, now)
			return f.value, f.err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
		if !errors.Is(f.err, context.Canceled) && !errors.Is(f.err, context.DeadlineExceeded) {
			return f.value, f.err
		}
		// Who asked gave up, which says nothing for us.
	}
}

// ask asks the board.
func (c *cache[K, V]) ask(ctx context.Context, k K, f *call[V], now time.Time) {
	f.err = context.Canceled // unless load returns
	defer close(f.done)
	defer c.keep(k, f, now)
	f.value, f.err = c.load(ctx, k)
}

// keep keeps the answer, unless it was forgotten meanwhile: it may be of before
// the change.
func (c *cache[K, V]) keep(k K, f *call[V], now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[k] != f {
		return
	}
	delete(c.calls, k)
	if f.err != nil && !errors.Is(f.err, domain.ErrNotFound) {
		return
	}
	if len(c.answers) >= cacheRoom {
		clear(c.answers)
	}
	c.answers[k] = answer[V]{f.value, f.err, now.Add(CacheFor)}
}

// put keeps what the board answered when it was asked at an instant: nil or a
// domain.ErrNotFound. Who waits for a call gets its answer, which
// may be older, but no one later.
func (c *cache[K, V]) put(k K, v V, err error, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, k)
	if len(c.answers) >= cacheRoom {
		clear(c.answers)
	}
	c.answers[k] = answer[V]{v, err, asked.Add(CacheFor)}
}

// forget drops what is known of k and what is being asked, after a change of
// our own.
func (c *cache[K, V]) forget(k K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.answers, k)
	delete(c.calls, k)
}
