package memstream

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Faults says how bad a broker is. The zero value is a perfect one. Chances are
// 0..1.
type Faults struct {
	// Seed decides everything that is left to chance.
	Seed uint64
	// Away has every call fail, as while no broker can be reached.
	Away bool
	// Refuse is the chance that Publish fails and has stored nothing.
	Refuse float64
	// Unsure is the chance that it fails and has stored the first few, or all.
	Unsure float64
	// Double is the chance that a message without an ID is stored twice.
	Double float64
	// Fail is the chance that Next fails.
	Fail float64
	// LoseAck is the chance that what ends a delivery, or Done, fails; half of
	// the time the broker has heard it all the same.
	LoseAck float64
	// Redeliver is the chance that a delivery of a queue goes to another within
	// a tenth of its AckWait.
	Redeliver float64
	// Delay is how long at most Publish, and what ends a delivery, take.
	Delay time.Duration
}

var (
	errClosed = domain.Unavailablef("stream log is closed")
	errAway   = domain.Unavailablef("stream broker cannot be reached")
	errUnsure = domain.Unavailablef("stream broker did not answer")
)

// Fault sets what goes wrong from now on.
func (b *Broker) Fault(f Faults) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.Seed != b.faults.Seed || b.rand == nil {
		b.rand = rand.New(rand.NewPCG(f.Seed, f.Seed))
	}
	b.faults = f
	b.wake()
}

// chance throws a die. The caller holds the lock.
func (b *Broker) chance(p float64) bool { return p > 0 && b.rand.Float64() < p }

// travel waits as long as a call is on its way.
func (b *Broker) travel(ctx context.Context) error {
	b.mu.Lock()
	var d time.Duration
	if b.faults.Delay > 0 {
		d = time.Duration(b.rand.Int64N(int64(b.faults.Delay) + 1))
	}
	b.mu.Unlock()
	if d == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ack throws the die for what ends a delivery: whether the broker hears it, and
// what the caller hears. The caller holds the lock.
func (b *Broker) ack() (heard bool, err error) {
	if b.faults.Away {
		return false, errAway
	}
	if b.chance(b.faults.LoseAck) {
		return b.rand.IntN(2) == 0, errUnsure
	}
	return true, nil
}
