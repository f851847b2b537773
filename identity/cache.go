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
}

type answer[V any] struct {
	value V
	err   error // nil or a domain.ErrNotFound
	until time.Time
}

func newCache[K comparable, V any](load func(context.Context, K) (V, error)) *cache[K, V] {
	return &cache[K, V]{load: load, answers: map[K]answer[V]{}}
}

func (c *cache[K, V]) get(ctx context.Context, k K) (V, error) {
	// The time is taken before the board is asked: an answer is never older
	// than CacheFor, however long it took.
	now := time.Now()
	c.mu.Lock()
	a, known := c.answers[k]
	c.mu.Unlock()
	if known && now.Before(a.until) {
		return a.value, a.err
	}
	v, err := c.load(ctx, k)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return v, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answers) >= cacheRoom {
		clear(c.answers)
	}
	c.answers[k] = answer[V]{v, err, now.Add(CacheFor)}
	return v, err
}

// forget drops what is known of k, after a change of our own.
func (c *cache[K, V]) forget(k K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.answers, k)
}
