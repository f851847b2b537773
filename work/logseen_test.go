package work

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// TestEachNumberComesOnce holds what is remembered of numbers in any order, written and read between, against
// all of them: within the window each is new once, and never twice anywhere.
func TestEachNumberComesOnce(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var s logSeen
		came := map[int64]bool{}
		next := int64(1)
		for range 2000 {
			n := next
			switch {
			case random.IntN(3) == 0 && next > 20: // once more, or late
				n = next - 1 - random.Int64N(min(next-1, seenWindow+20))
			case random.IntN(10) == 0: // some are overtaken
				n += random.Int64N(40)
			}
			last := next - 1
			next = max(next, n+1)
			if got, want := s.take(n), n > last-seenWindow && !came[n]; got != want {
				t.Fatalf("seed %d: number %d after %d is new: %v, and it had come: %v (%s)", seed, n, last, got, came[n], s.text(1))
			}
			came[n] = true
			s = parseSeen(s.text(1), 1)
		}
	}
}

// TestLinesBetweenOthersAreKept: requests that are made beside each other may have every other line each.
func TestLinesBetweenOthersAreKept(t *testing.T) {
	text := ""
	for first := int64(1); first <= 2; first++ {
		var lines []domain.LogLine
		for n := first; n <= seenWindow; n += 2 {
			lines = append(lines, domain.LogLine{N: n})
		}
		s := parseSeen(text, 3)
		fresh, err := s.unseen(lines)
		if err != nil || len(fresh) != len(lines) {
			t.Errorf("of %d lines from %d on %d are new: %v", len(lines), first, len(fresh), err)
		}
		for _, l := range fresh {
			s.take(l.N)
		}
		text = s.text(3)
	}
	if text != "3:1000" {
		t.Errorf("got %s", text)
	}
}

func TestWhatIsForgottenOfNumbers(t *testing.T) {
	for _, c := range []struct {
		numbers []int64
		open    int // how many are still taken
	}{
		{[]int64{1, 2, 3}, 0},
		{[]int64{1, 5, 3}, 2},
		{[]int64{5_000}, 999},
		{[]int64{2, 1_500}, 999},
		{[]int64{2, 900, 1_500}, 998},
		{[]int64{1, 999, 1_003}, 995 + 3},
		{[]int64{domain.MaxLogGap}, 999},
	} {
		var s logSeen
		var last int64
		for _, n := range c.numbers {
			if !s.take(n) {
				t.Errorf("%v: %d is taken for seen", c.numbers, n)
			}
			last = max(last, n)
		}
		text := s.text(7)
		if len(text) > 200 || c.open == 0 && strings.Count(text, ":") != 1 {
			t.Errorf("%v: got %s", c.numbers, text)
		}
		s, open := parseSeen(text, 7), 0
		for n := max(1, last-2*seenWindow); n <= last; n++ {
			if s.take(n) {
				open++
			}
		}
		if open != c.open {
			t.Errorf("%v: %d are open, want %d", c.numbers, open, c.open)
		}
	}
	for _, text := range []string{"", "7", "7:", "8:5", "x:y:z", "7:x:1-2"} {
		if s := parseSeen(text, 7); s != (logSeen{}) {
			t.Errorf("%q: got %+v", text, s)
		}
	}
	if s := parseSeen("7:9:2-3,5-5", 7); s != (logSeen{last: 9}) {
		t.Errorf("got %+v", s)
	}
}
