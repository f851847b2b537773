package redisboard

import (
	"context"
	"time"
)

// reading is what the server's clock said, and when. How long ago that is tells a clock
// that nobody sets: so the clock of this machine may jump.
type reading struct {
	said  time.Time
	since time.Time
}

// readClock asks for the server's clock, and hears how many numbers have been given out: also to others.
func (b *Board) readClock(ctx context.Context) error {
	answer, err := b.look(ctx, 3, "time", 0)
	if err != nil {
		return err
	}
	seconds, err := answer[0].AsInt64()
	if err != nil {
		return b.translate(err)
	}
	micros, err := answer[1].AsInt64()
	if err != nil {
		return b.translate(err)
	}
	b.hearGiven(&answer[2])
	b.time.Store(&reading{said: time.Unix(seconds, 0).Add(time.Duration(micros) * time.Microsecond), since: time.Now()})
	return nil
}

// Now implements [board.Board].
func (b *Board) Now() time.Time {
	h := b.time.Load()
	if h == nil {
		return time.Now().Add(b.skew)
	}
	return h.said.Add(time.Since(h.since))
}
