package redisboard

import (
	"context"
	"strconv"
	"time"
)

// reading is what the server's clock said, and when. How long ago that is tells a clock
// that nobody sets: so the clock of this machine may jump.
type reading struct {
	said  time.Time
	since time.Time
}

// readClock asks for the server's clock.
func (b *Board) readClock(ctx context.Context) error {
	parts, err := b.client.Do(ctx, b.client.B().Time().Build()).AsStrSlice()
	if err != nil || len(parts) < 2 {
		return b.translate(err)
	}
	micros, _ := strconv.ParseInt(parts[1], 10, 64)
	b.time.Store(&reading{said: time.Unix(parseInt(parts[0]), 0).Add(time.Duration(micros) * time.Microsecond), since: time.Now()})
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
