package work

import (
	"maps"
	"sync"
	"time"
)

// attemptTimes are when this node gave workers the attempts that they have: how long one
// takes is told by that, not by instants on records, between which a clock may be set.
type attemptTimes struct {
	mu    sync.Mutex
	all   map[attemptOf]attemptTime
	swept time.Time
}

type attemptTime struct {
	begun time.Time
	until time.Time // its lease is over by then, unless it is heard of again
}

// begin notes an attempt that is given to a worker.
func (t *attemptTimes) begin(of attemptOf, now time.Time, lease time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[attemptOf]attemptTime{}
	}
	if now.Sub(t.swept) > workerEvery {
		t.swept = now
		maps.DeleteFunc(t.all, func(_ attemptOf, a attemptTime) bool { return now.After(a.until) })
	}
	t.all[of] = attemptTime{now, now.Add(2 * lease)}
}

// took is for how long a worker has had the attempt, which it renews; it is not known
// where another node gave it, or this one in an earlier life.
func (t *attemptTimes) took(of attemptOf, now time.Time, lease time.Duration) (d time.Duration, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, known := t.all[of]
	if known {
		a.until = now.Add(2 * lease)
		t.all[of] = a
	}
	return now.Sub(a.begun), known
}
