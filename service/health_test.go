package service

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// answersIn is an outlook on a board that answers after so long.
func answersIn(takes *time.Duration) outlook[struct{}] {
	return outlook[struct{}]{of: "the board", ask: finds(func(ctx context.Context) error {
		select {
		case <-time.After(*takes):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})}
}

// TestALookThatEndsAsPatienceDoesIsAnAnswer: who waited is told of it, or that there was none in time; nobody else is,
// nor is it remembered as silence.
func TestALookThatEndsAsPatienceDoesIsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes := 40 * time.Millisecond
		for range 500 {
			o := answersIn(&takes)
			var all sync.WaitGroup
			for range 30 {
				all.Go(func() { o.trouble(t.Context(), takes) })
			}
			all.Go(func() {
				if told := o.trouble(t.Context(), healthTime); told != "" {
					t.Errorf("who had the patience is told that %s", told)
				}
			})
			all.Wait()
			if !o.silent.IsZero() {
				t.Fatal("all looks have ended well, and it is called silent")
			}
		}
	})
}

// TestWhatIsSlowGoesOn as long as it takes, and ends within a second where nothing answers at all.
func TestWhatIsSlowGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(2 * healthTime) // no look goes on
		var takes time.Duration
		s := &Service{board: answersIn(&takes)}
		// page is for how long a page is waited for that takes so long.
		page := func(most time.Duration) time.Duration {
			while, stop := (Caller{api: s}).WhileAnswering(t.Context(), false)
			defer stop()
			began := time.Now()
			select {
			case <-while.Done():
			case <-time.After(most):
			}
			synctest.Wait()
			return time.Since(began)
		}
		for _, tt := range []struct {
			name  string
			takes time.Duration
			most  time.Duration // nothing answers for longer
		}{
			{"slow", 700 * time.Millisecond, time.Minute},
			{"slower", 1300 * time.Millisecond, time.Minute},
			{"very slow", 2500 * time.Millisecond, time.Minute},
			{"as it should be", time.Millisecond, time.Minute},
			{"silent", time.Hour, time.Second},
			{"silent still", time.Hour, quietTime},
		} {
			takes = tt.takes
			for range 3 {
				if got := page(time.Minute); got != tt.most {
					t.Errorf("%s: it was waited for %v, want %v", tt.name, got, tt.most)
				}
				if tt.takes == time.Hour {
					break // the look goes on
				}
			}
		}
		takes = 1300 * time.Millisecond // more than is waited for where nothing is known of it
		time.Sleep(2 * healthTime)      // until the look that found nothing has ended
		page(2 * time.Second)
		time.Sleep(takes)
		if got := page(time.Minute); got != time.Minute {
			t.Errorf("as it answers again, slowly: it was waited for %v", got)
		}
	})
}
