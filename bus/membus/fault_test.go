package membus_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/bus/membus"
	"github.com/ramet-run/ramet/domain"
)

// run sends n numbered parcels from a to b, one a millisecond, and returns
// what Send said of each and what arrived within an hour, in order. In a
// bubble that hour costs nothing.
func run(t *testing.T, cfg membus.Config, n int) (refused, got []int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		net := membus.New(cfg)
		a, b := net.Join("a"), net.Join("b")
		defer a.Close()
		defer b.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				p, err := b.Receive(ctx)
				if err != nil {
					return
				}
				i, _ := strconv.Atoi(string(p.Body))
				got = append(got, i)
				_ = p.Done(ctx)
			}
		})
		for i := range n {
			if err := a.Send(ctx, b.Self(), []byte(strconv.Itoa(i))); err != nil {
				if !errors.Is(err, domain.ErrUnavailable) {
					t.Errorf("send: %v", err)
				}
				refused = append(refused, i)
			}
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
	})
	return refused, got
}

func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func distinct(s []int) int { return len(slices.Compact(slices.Sorted(slices.Values(s)))) }

func TestFaults(t *testing.T) {
	const n = 2000
	for _, c := range []struct {
		name string
		cfg  membus.Config
		ok   func(refused, got []int) bool
	}{
		{"a perfect network gives each once, in order", membus.Config{}, func(refused, got []int) bool {
			return len(refused) == 0 && slices.Equal(got, numbers(n))
		}},
		{"delay alone keeps the order", membus.Config{Delay: time.Second}, func(refused, got []int) bool {
			return len(refused) == 0 && slices.Equal(got, numbers(n))
		}},
		{"what is lost was taken all the same", membus.Config{Loss: 0.3}, func(refused, got []int) bool {
			return len(refused) == 0 && len(got) > n/2 && len(got) < 9*n/10 && slices.IsSorted(got)
		}},
		{"a network that loses everything gives nothing", membus.Config{Loss: 1}, func(refused, got []int) bool {
			return len(refused) == 0 && len(got) == 0
		}},
		{"doubled parcels come twice", membus.Config{Double: 0.3, Delay: time.Second}, func(refused, got []int) bool {
			return len(refused) == 0 && distinct(got) == n && len(got) > n+n/5 && len(got) < n+n/2
		}},
		{"parcels overtake each other", membus.Config{Reorder: 0.3}, func(refused, got []int) bool {
			return len(refused) == 0 && len(got) == n && distinct(got) == n && !slices.IsSorted(got)
		}},
		{"what Send was unsure of arrives", membus.Config{Unsure: 0.3}, func(refused, got []int) bool {
			return len(refused) > n/5 && len(refused) < n/2 && slices.Equal(got, numbers(n))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Seed = 7
			refused, got := run(t, c.cfg, n)
			if !c.ok(refused, got) {
				t.Errorf("of %d, %d were refused; %d came, %d of them different, sorted: %t",
					n, len(refused), len(got), distinct(got), slices.IsSorted(got))
			}
		})
	}
}

func TestSeed(t *testing.T) {
	bad := membus.Config{Loss: 0.2, Double: 0.2, Unsure: 0.2, Delay: 50 * time.Millisecond, Reorder: 0.2}
	history := func(seed uint64) [2][]int {
		bad.Seed = seed
		refused, got := run(t, bad, 300)
		return [2][]int{refused, got}
	}
	first := history(1)
	if diff := cmp.Diff(first, history(1)); diff != "" {
		t.Errorf("the same seed gave another run (-first +second):\n%s", diff)
	}
	if cmp.Equal(first, history(2)) {
		t.Error("two seeds gave the same run")
	}
}

func TestCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := membus.New(membus.Config{Delay: time.Second})
		a, b, c := net.Join("a"), net.Join("b"), net.Join("c")
		for _, to := range []domain.Address{b.Self(), c.Self()} {
			if err := a.Send(t.Context(), to, []byte("on its way")); err != nil {
				t.Fatal(err)
			}
		}
		net.Cut("a", "b")
		if err := b.Send(t.Context(), a.Self(), []byte("x")); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("send over a cut: got %v, want unavailable", err)
		}
		if _, err := c.Receive(t.Context()); err != nil {
			t.Errorf("the others: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if p, err := b.Receive(ctx); err == nil {
			t.Errorf("got %q over a cut", p.Body)
		}
		net.Heal()
		if p, err := b.Receive(t.Context()); err != nil || string(p.Body) != "on its way" {
			t.Errorf("after healing: got %q, %v, want what was on its way", p.Body, err)
		}
	})
}

func TestCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := membus.New(membus.Config{Loss: 1, Unsure: 1})
		a, b := net.Join("a"), net.Join("b")
		net.Cut("a", "b")
		net.Calm()
		for range 100 {
			if err := a.Send(t.Context(), b.Self(), []byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := membus.New(membus.Config{})
		a := net.Join("a")
		const over = 10
		for i := range membus.MaxWaiting + over {
			if err := a.Send(t.Context(), "mem:later", []byte(strconv.Itoa(i))); err != nil {
				t.Fatal(err)
			}
		}
		later := net.Join("later")
		for i := range membus.MaxWaiting {
			p, err := later.Receive(t.Context())
			if want := strconv.Itoa(i + over); err != nil || string(p.Body) != want {
				t.Fatalf("parcel %d: got %q, %v, want %q: the oldest go", i, p.Body, err, want)
			}
		}
	})
}
