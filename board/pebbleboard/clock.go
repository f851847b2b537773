package pebbleboard

import (
	"sync/atomic"
	"time"
)

// clock tells two times. Alarms, and keys that end, come by the machine's clock, which
// somebody may set while the board is open. A lease is a length, so it is counted in
// ticks, milliseconds of the board's life: no lease runs out because a clock was set.
type clock struct {
	born time.Time
	skew atomic.Int64 // ms by which the machine's clock was set, in tests
}

// now is the machine's clock, in Unix milliseconds.
func (k *clock) now() int64 { return time.Now().UnixMilli() + k.skew.Load() }

// tick is the milliseconds since the board was opened, whatever is done to the
// machine's clock meanwhile.
func (k *clock) tick() int64 { return time.Since(k.born).Milliseconds() }

// instant is when a tick is, or was, by the machine's clock.
func (k *clock) instant(tick int64) time.Time { return time.UnixMilli(k.now() + tick - k.tick()) }
