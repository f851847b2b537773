package memboard_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
)

// In a bubble nothing but the awaited instant lets time pass, so "exactly"
// can be asked for.

func commit(t *testing.T, b board.Board, batch *board.Batch) {
	t.Helper()
	if err := b.Commit(t.Context(), *batch); err != nil {
		t.Fatal(err)
	}
}

func claimAsk(wait time.Duration) board.Ask {
	return board.Ask{
		Queues: []board.Queue{{Lists: []string{"queue:v"}}},
		Max:    1, Owner: "me", Lease: 30 * time.Second, Wait: wait,
	}
}

func TestDueAndExpiredWakeExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		began := time.Now()
		commit(t, b, new(board.Batch).SetAlarm("far", began.Add(72*time.Hour)).PushLeft("queue:v", "job:1"))
		if _, err := b.Claim(t.Context(), claimAsk(0)); err != nil {
			t.Fatal(err)
		}
		woken := make(chan time.Duration, 2)
		go func() {
			if as, err := b.Due(t.Context(), 1, 100*time.Hour); err != nil || as[0].Name != "near" {
				t.Errorf("due: got %v %v", as, err)
			}
			woken <- time.Since(began)
		}()
		synctest.Wait()
		commit(t, b, new(board.Batch).SetAlarm("near", began.Add(time.Hour)))
		if ls, err := b.Expired(t.Context(), 1, 100*time.Hour); err != nil || len(ls) != 1 {
			t.Errorf("expired: got %v %v", ls, err)
		}
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("the lease ran out after %v, want 30s", d)
		}
		if d := <-woken; d != time.Hour {
			t.Errorf("the alarm came after %v, want 1h", d)
		}
	})
}

func TestClaimWaitsExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		began := time.Now()
		if got, err := b.Claim(t.Context(), claimAsk(time.Minute)); err != nil || len(got) != 0 {
			t.Errorf("claim: got %v %v", got, err)
		}
		if d := time.Since(began); d != time.Minute {
			t.Errorf("waited %v, want 1m", d)
		}
		got := make(chan time.Time)
		go func() {
			if cs, err := b.Claim(t.Context(), claimAsk(time.Hour)); err != nil || len(cs) != 1 {
				t.Errorf("claim: got %v %v", cs, err)
			}
			got <- time.Now()
		}()
		synctest.Wait()
		pushed := time.Now()
		commit(t, b, new(board.Batch).PushLeft("queue:v", "job:1"))
		if d := (<-got).Sub(pushed); d != 0 {
			t.Errorf("woken %v after the push", d)
		}
	})
}

func TestExpiryIsSeenByThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		began := time.Now()
		ch, err := b.Watch(t.Context(), 0, "rec")
		if err != nil {
			t.Fatal(err)
		}
		commit(t, b, new(board.Batch).Set("rec", board.Field{Name: "a"}).Expire("rec", 10*time.Second).
			Set(board.LimitsKey, board.Field{Name: "max", Value: "0"}).Expire(board.LimitsKey, 5*time.Second).
			PushLeft("queue:v", "job:1"))
		<-ch
		if got, err := b.Claim(t.Context(), claimAsk(time.Hour)); err != nil || len(got) != 1 {
			t.Errorf("claim: got %v %v", got, err)
		}
		if d := time.Since(began); d != 5*time.Second {
			t.Errorf("the claim was held up %v, want until the limits expired after 5s", d)
		}
		<-ch
		if d := time.Since(began); d != 10*time.Second {
			t.Errorf("the watcher heard after %v, want 10s", d)
		}
	})
}
