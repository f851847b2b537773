package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// quietTime is how long a process has to be quiet before it gives memory back.
	quietTime = 20 * time.Second

	// quietBytes is what a quiet process allocates at most in that time.
	quietBytes = 64 << 20
)

// caches are those of a board or an archive that keeps some in this process.
type caches interface {
	GiveBack()
}

// keeps notes a store that may have caches.
func (p *parts) keeps(store any) {
	if c, has := store.(caches); has {
		p.caches = append(p.caches, c)
	}
}

// lull tells when a process has become quiet after a busy time.
type lull struct {
	allocated uint64 // at the last look
	busy      bool   // since memory was given back
}

// become reports whether the process, which has allocated so many bytes in all its
// life, has been busy and was quiet since the last look.
func (l *lull) become(allocated uint64) bool {
	since := allocated - l.allocated
	l.allocated = allocated
	if since > quietBytes {
		l.busy = true
		return false
	}
	was := l.busy
	l.busy = false
	return was
}

// giveBack gives the memory that a busy time took back to the machine once it is
// over: Go's garbage collector has no reason to run when nothing is allocated, and
// caches none to shrink. The start is such a time.
func (p *parts) giveBack(ctx context.Context) error {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	l := lull{busy: true}
	look := time.NewTicker(quietTime)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		metrics.Read(sample)
		if l.become(sample[0].Value.Uint64()) {
			for _, c := range p.caches {
				c.GiveBack()
			}
			debug.FreeOSMemory()
		}
		if !l.busy {
			unmapProgram() // each time: a rare round maps much for the little that it needs
		}
	}
}
