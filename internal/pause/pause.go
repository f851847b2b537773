// Package pause waits between two tries, and says for how long.
package pause

import (
	"context"
	"math/rand/v2"
	"time"
)

// For waits for a time, or less when ctx ends. A loop that asks ctx itself has no
// need of the error.
//
// Errors: the context's.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
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

// Doubled is first, doubled n times, and most at the most: exponential back-off.
func Doubled(first, most time.Duration, n int) time.Duration {
	for ; n > 0 && first < most; n-- {
		if first > most/2 {
			return most
		}
		first *= 2
	}
	return min(first, most)
}

// Spread is between three quarters and all of d, by chance: what failed together
// does not come back together.
func Spread(d time.Duration) time.Duration { return SpreadBy(d, 0.25) }

// SpreadBy is d, less a part of it between none and part, by chance.
func SpreadBy(d time.Duration, part float64) time.Duration {
	return d - rand.N(time.Duration(part*float64(d))+1)
}
