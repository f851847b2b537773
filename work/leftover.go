package work

import (
	"sync"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// kept is what failed attempts left on this machine, by context. A work folder has a
// quota, but jobs that fail one after the other would still fill the disk, which is
// the board's too: so all that one context leaves has that quota once more.
type kept struct {
	limits script.Limits

	mu       sync.Mutex
	contexts map[domain.TenantID]*leftovers
}

// leftovers are the folders of a context.
type leftovers struct {
	order []string // the oldest first; what is gone may still be named
	holds map[string]script.Usage
	sum   script.Usage
}

// add notes a folder, and names those that go so that the rest is within the quota:
// the oldest ones, at last itself.
func (k *kept) add(t domain.TenantID, dir string, holds script.Usage) (gone []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.contexts[t]
	if l == nil {
		l = &leftovers{holds: map[string]script.Usage{}}
		k.contexts[t] = l
	}
	l.drop(dir)
	l.order, l.holds[dir] = append(l.order, dir), holds
	l.sum.Bytes, l.sum.Files = l.sum.Bytes+holds.Bytes, l.sum.Files+holds.Files
	for len(l.order) > 0 && l.sum.Over(k.limits) {
		oldest := l.order[0]
		if _, there := l.holds[oldest]; there {
			gone = append(gone, oldest)
		}
		l.drop(oldest)
	}
	return gone
}

// has reports whether a folder is noted.
func (k *kept) has(t domain.TenantID, dir string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.contexts[t]
	if l == nil {
		return false
	}
	_, there := l.holds[dir]
	return there
}

// forget is for a folder that is gone.
func (k *kept) forget(t domain.TenantID, dir string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l := k.contexts[t]; l != nil {
		l.drop(dir)
	}
}

// drop takes a folder out, and from the order all that are gone and stand first.
func (l *leftovers) drop(dir string) {
	holds := l.holds[dir]
	l.sum.Bytes, l.sum.Files = l.sum.Bytes-holds.Bytes, l.sum.Files-holds.Files
	delete(l.holds, dir)
	for len(l.order) > 0 {
		if _, there := l.holds[l.order[0]]; there {
			return
		}
		l.order = l.order[1:]
	}
}
