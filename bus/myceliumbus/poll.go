package myceliumbus

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/bus"
)

// The poller asks without letting the daemon wait (timeout=0) and rests in
// between. A call that waits is the other way, but the daemon holds its one lock
// all the time that such a call waits: our own pushes would stand behind it for
// up to its second, and so would every other program's calls (measured: a parcel
// and its answer in 15 ms, against 400 to 1,100 ms with timeout=1). Resting
// delays only what arrives, and least after something was sent or came.
const (
	minPause = 5 * time.Millisecond
	maxPause = 250 * time.Millisecond
	// awayPause is the longest pause while the daemon does not answer.
	awayPause = 5 * time.Second
)

// Receive waits for the next parcel. Its Done does nothing: the daemon forgot
// the parcel when it gave it to us.
func (b *Bus) Receive(ctx context.Context) (bus.Parcel, error) {
	if err := ctx.Err(); err != nil {
		return bus.Parcel{}, err
	}
	// The poller takes a parcel's receiver off the count when it hands it over:
	// done here, it could look once more for nobody.
	b.waiting.Add(1)
	b.nudge()
	select {
	case p := <-b.parcels:
		return p, nil
	case <-ctx.Done():
		b.waiting.Add(-1)
		return bus.Parcel{}, ctx.Err()
	case <-b.closed:
		b.waiting.Add(-1)
		return bus.Parcel{}, errClosed
	}
}

// nudge lets the poller look soon.
func (b *Bus) nudge() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// poll brings parcels to those who wait, until the bus is closed.
func (b *Bus) poll() {
	defer close(b.ended)
	pause, away := minPause, false
	for b.wanted() {
		l, ok, err := b.daemon.pop(b.life)
		switch {
		case b.life.Err() != nil:
			return
		case err != nil:
			if !away {
				b.log.Warn("Mycelium daemon does not answer; nothing is sent or received until it does", "api", b.daemon.api, "err", err)
			}
			away = true
			pause = b.rest(pause, awayPause, nil)
			continue
		case away:
			away, pause = false, minPause
			b.back()
		}
		switch {
		case !ok:
			pause = b.rest(pause, maxPause, b.wake)
		case len(l.Payload) == 0 || len(l.Payload) > bus.MaxParcel:
			b.log.Debug("message on our topic is no parcel", "from", l.From, "bytes", len(l.Payload))
		default:
			pause = minPause
			b.deliver(l)
		}
	}
}

// wanted waits until somebody waits for a parcel; false once the bus is closed.
func (b *Bus) wanted() bool {
	for !b.isClosed() {
		if b.waiting.Load() > 0 {
			return true
		}
		select {
		case <-b.wake:
		case <-b.closed:
		}
	}
	return false
}

// rest pauses, and returns the next pause: twice as long, up to longest. Being
// woken shortens this one.
func (b *Bus) rest(pause, longest time.Duration, wake chan struct{}) time.Duration {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return min(2*pause, longest)
		case <-wake:
			if wake = nil; pause > minPause {
				pause = minPause
				timer.Reset(pause)
			}
		case <-b.closed:
			return pause
		}
	}
}

func (b *Bus) deliver(l message) {
	p := bus.Parcel{Body: l.Payload, Done: func(context.Context) error { return nil }}
	if isKey(l.From) {
		p.From = addressOf(l.From)
	}
	select {
	case b.parcels <- p:
		b.waiting.Add(-1)
	case <-b.closed:
		b.log.Debug("parcel came while the bus was closing; it is lost", "from", l.From)
	}
}

// back notes that the daemon answers again. If it has another key now, parcels
// for us go to a place where nobody is.
func (b *Bus) back() {
	key, err := b.daemon.key(b.life)
	switch {
	case err != nil: // away once more; the next look says so
	case addressOf(key) != b.self:
		b.log.Error("Mycelium daemon is back with another key: this node cannot be reached until it is started anew, or the daemon with its old key file",
			"api", b.daemon.api, "was", b.self, "is", addressOf(key))
	default:
		b.log.Info("Mycelium daemon is back", "api", b.daemon.api)
	}
}
