package identity

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestOneReadIsForAllWhoAskMeanwhile is about the jobs of one claim, which ask
// for the same context at once.
func TestOneReadIsForAllWhoAskMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loads atomic.Int64
		answer := make(chan int)
		c := newCache(func(ctx context.Context, _ string) (int, error) {
			loads.Add(1)
			select {
			case n := <-answer:
				return n, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		got := make(chan int, 100)
		ask := func(ctx context.Context) {
			if n, err := c.get(ctx, "x"); err == nil {
				got <- n
			} else {
				got <- -1
			}
		}
		for range 50 {
			go ask(t.Context())
		}
		synctest.Wait()
		answer <- 7
		for range 50 {
			if n := <-got; n != 7 {
				t.Errorf("got %d", n)
			}
		}
		if n := loads.Load(); n != 1 {
			t.Errorf("the board was asked %d times, want once", n)
		}

		// A change of our own: who asks after it is not answered from before it.
		c.forget("x")
		go ask(t.Context())
		synctest.Wait()
		c.forget("x")
		go ask(t.Context())
		synctest.Wait()
		if n := loads.Load(); n != 3 {
			t.Errorf("the board was asked %d times, want three times", n)
		}
		answer <- 8
		answer <- 8
		<-got
		<-got

		// Who asks first and gives up takes nobody along.
		c.forget("x")
		ctx, cancel := context.WithCancel(t.Context())
		go ask(ctx)
		synctest.Wait()
		go ask(t.Context())
		synctest.Wait()
		cancel()
		if n := <-got; n != -1 {
			t.Errorf("got %d from one that gave up", n)
		}
		answer <- 9
		if n := <-got; n != 9 {
			t.Errorf("got %d, want the answer", n)
		}
	})
}
