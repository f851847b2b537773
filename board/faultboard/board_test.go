package faultboard_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
)

func add(b board.Board) error {
	return b.Commit(context.Background(), *new(board.Batch).Add("r", "n", 1))
}

// count reads what add has counted, past all faults.
func count(t *testing.T, inner board.Board) int {
	t.Helper()
	recs, err := inner.Get(t.Context(), 0, "r")
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(recs[0].Get("n"))
	return n
}

func TestWithoutFaultsItIsABoard(t *testing.T) {
	boardtest.Run(t, boardtest.Factory{
		Open: func(*testing.T) board.Board { return faultboard.New(memboard.Open(), faultboard.Config{}) },
	})
}

func TestChances(t *testing.T) {
	for _, c := range []struct {
		name            string
		refuse, lose    float64
		failed, applied int // of 1000, give or take
	}{
		{name: "refused calls are not done", refuse: 0.3, failed: 300, applied: 700},
		{name: "lost calls are done", lose: 0.3, failed: 300, applied: 1000},
		{name: "both", refuse: 0.2, lose: 0.5, failed: 600, applied: 800},
	} {
		t.Run(c.name, func(t *testing.T) {
			var counts []int
			for range 2 {
				inner := memboard.Open()
				b := faultboard.New(inner, faultboard.Config{Seed: 7, Refuse: c.refuse, Lose: c.lose})
				failed := 0
				for range 1000 {
					if err := add(b); errors.Is(err, domain.ErrUnavailable) {
						failed++
					} else if err != nil {
						t.Fatal(err)
					}
				}
				applied := count(t, inner)
				if abs(failed-c.failed) > 60 || abs(applied-c.applied) > 60 {
					t.Errorf("%d failed and %d were applied, want about %d and %d", failed, applied, c.failed, c.applied)
				}
				counts = append(counts, failed, applied)
				b.Calm()
				for range 100 {
					if err := add(b); err != nil {
						t.Fatalf("commit in the calm: %v", err)
					}
				}
				b.Close()
			}
			if counts[0] != counts[2] || counts[1] != counts[3] {
				t.Errorf("the same seed gave %v", counts)
			}
		})
	}
}

func abs(n int) int { return max(n, -n) }

func TestCrashPoints(t *testing.T) {
	inner := memboard.Open()
	defer inner.Close()
	crash := errors.New("crash")
	var before, after int
	b := faultboard.New(inner, faultboard.Config{
		Before: func(_ context.Context, c faultboard.Call) error {
			if c.Name != "commit" || c.Batch == nil {
				t.Errorf("got call %v, want a commit with its batch", c)
			}
			if before++; before == 3 {
				return crash
			}
			return nil
		},
		After: func(context.Context, faultboard.Call) error {
			if after++; after == 4 {
				return crash
			}
			return nil
		},
	})
	one := *new(board.Batch).Add("r", "n", 1)
	conflict := *new(board.Batch).Equal("r", "n", "x")
	errs := b.CommitEach(t.Context(), []board.Batch{one, one, one, one})
	if errs[0] != nil || errs[1] != nil || errs[2] != crash || errs[3] != crash {
		t.Fatalf("crash before the third: got %v", errs)
	}
	if n := count(t, inner); n != 2 {
		t.Fatalf("%d were applied, want 2", n)
	}
	errs = b.CommitEach(t.Context(), []board.Batch{conflict, one, one, one})
	if !errors.Is(errs[0], domain.ErrConflict) || errs[1] != nil || errs[2] != crash || errs[3] != crash {
		t.Fatalf("crash after the fourth: got %v", errs)
	}
	if n := count(t, inner); n != 4 {
		t.Fatalf("%d were applied, want 4", n)
	}
}

func TestCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := faultboard.New(memboard.Open(), faultboard.Config{})
		defer b.Close()
		ask := board.Ask{Queues: []board.Queue{{Lists: []string{"queue:v"}}}, Max: 1, Owner: "me", Lease: time.Minute, Wait: time.Hour}
		waiting := make(chan error)
		go func() {
			_, err := b.Claim(t.Context(), ask)
			waiting <- err
		}()
		synctest.Wait()
		b.Cut()
		if err := <-waiting; !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("a claim that waited when the link was cut: got %v, want unavailable", err)
		}
		if err := add(b); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("commit over a cut link: got %v, want unavailable", err)
		}
		b.Heal()
		if err := add(b); err != nil {
			t.Errorf("commit after healing: %v", err)
		}
	})
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := faultboard.New(memboard.Open(), faultboard.Config{Seed: 1, Delay: time.Second})
		defer b.Close()
		began := time.Now()
		for range 100 {
			if err := add(b); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d < 30*time.Second || d > 70*time.Second {
			t.Errorf("100 calls of up to a second took %v", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
		defer cancel()
		if _, err := b.Get(ctx, 0, "r"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("get with too little time: got %v", err)
		}
	})
}
