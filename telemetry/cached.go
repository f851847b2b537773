package telemetry

import (
	"maps"
	"sync"
	"sync/atomic"
)

// cached remembers series by what their labels are made of: to look one up in its vector
// costs several times as much as to count. What is looked up are few things, and always the
// same.
type cached[K comparable, V any] struct {
	make func(K) V
	all  atomic.Pointer[map[K]V]
	mu   sync.Mutex // of who adds one
}

func (c *cached[K, V]) get(k K) V {
	if all := c.all.Load(); all != nil {
		if v, ok := (*all)[k]; ok {
			return v
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	more := map[K]V{}
	if all := c.all.Load(); all != nil {
		maps.Copy(more, *all)
	}
	v, ok := more[k]
	if !ok {
		v = c.make(k)
		more[k] = v
		c.all.Store(&more)
	}
	return v
}
