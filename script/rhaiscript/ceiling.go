package rhaiscript

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/ramet-run/ramet/internal/machine"
)

// Ceiling bounds the memory of all scripts that run at once, whatever runtime
// and slots they have. A script begins when its own limit is free of it; who
// comes first has its turn first. It is safe for concurrent use.
type Ceiling struct {
	bytes int64
	free  *semaphore.Weighted
}

// NewCeiling returns a ceiling of so many bytes.
func NewCeiling(bytes int64) *Ceiling {
	return &Ceiling{bytes: bytes, free: semaphore.NewWeighted(bytes)}
}

// processCeiling is that of all runtimes of the process which have none of their own.
var processCeiling = sync.OnceValue(func() *Ceiling {
	return NewCeiling(max(machine.Memory(assumedMemory)/ceilingShare, minSlots*defaultMemory))
})

// ceilingShare is the part of the machine's memory that scripts may have together.
const ceilingShare = 4

// enter waits for a script's turn and takes its memory, until leave is called.
// A script that may have more than all of them together, or has no limit (less
// than 0), runs alone.
//
// Errors: that of ctx.
func (c *Ceiling) enter(ctx context.Context, bytes int64) (leave func(), err error) {
	if bytes < 0 || bytes > c.bytes {
		bytes = c.bytes
	}
	if err := c.free.Acquire(ctx, bytes); err != nil {
		return nil, err
	}
	return func() { c.free.Release(bytes) }, nil
}

// assumedMemory is for machines that do not tell theirs.
const assumedMemory = 4 << 30 // bytes

// LimitProcess has Go's garbage collector keep the process below the ceiling of
// scripts and twice that again: what scripts leave behind is collected before it
// takes the machine's memory. Who has set GOMEMLIMIT has decided.
func LimitProcess() {
	if os.Getenv("GOMEMLIMIT") == "" && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(3 * processCeiling().bytes)
	}
}
