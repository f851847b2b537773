package redisboard_test

import (
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/internal/redistest"
)

// TestABoardHasTheServersClock has boards on machines whose clocks are an hour off: the
// board's clock is the server's, and when a lease ends is told by the machine's own.
func TestABoardHasTheServersClock(t *testing.T) {
	s := redistest.Start(t)
	one := open(t, s, redisboard.Config{})
	if _, err := one.Occupy(t.Context(), 1, "routine", "one", board.MaxLease); err != nil {
		t.Fatal(err)
	}
	for _, skew := range []time.Duration{time.Hour, -time.Hour} {
		b, err := redisboard.OpenSkewed(t.Context(), s.URL(), redisboard.Config{}, skew)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		// Within half an hour: however long a slow machine takes, it is not the hour.
		near := func(what string, got, want time.Time) {
			if off := got.Sub(want); off.Abs() > 30*time.Minute {
				t.Errorf("%v off: %s is %v from what it should be", skew, what, off)
			}
		}
		near("the board's clock", b.Now(), time.Now())
		l, ok, err := b.LeaseOf(t.Context(), 1, "routine")
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		near("the end of a lease", l.Until, time.Now().Add(skew+board.MaxLease))
	}
}
