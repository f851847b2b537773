package pause_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/internal/pause"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		if err := pause.For(ctx, time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("got %v after %v, want none after a minute", err, time.Since(began))
		}
		time.AfterFunc(time.Second, cancel)
		began = time.Now()
		if err := pause.For(ctx, time.Minute); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("got %v after %v, want the end of the context after a second", err, time.Since(began))
		}
		if err := pause.For(ctx, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("no time: got %v, want that the context has ended", err)
		}
	})
}

func TestDoubled(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, most time.Duration
		n           int
		want        time.Duration
	}{
		{"the first", time.Second, time.Minute, 0, time.Second},
		{"less than the first is the first", time.Second, time.Minute, -1, time.Second},
		{"the fourth", time.Second, time.Minute, 3, 8 * time.Second},
		{"no more than the most", time.Second, time.Minute, 6, time.Minute},
		{"the first is more than the most", time.Hour, time.Minute, 2, time.Minute},
		{"far too often", time.Second, time.Minute, math.MaxInt, time.Minute},
		{"no overflow", time.Second, math.MaxInt64, 1000, math.MaxInt64},
	} {
		if got := pause.Doubled(c.first, c.most, c.n); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSpread(t *testing.T) {
	for range 1000 {
		if d := pause.Spread(time.Minute); d < 45*time.Second || d > time.Minute {
			t.Fatalf("got %v, want 45 s to a minute", d)
		}
	}
	if d := pause.Spread(0); d != 0 {
		t.Errorf("got %v of nothing", d)
	}
}
