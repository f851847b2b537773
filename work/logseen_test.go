package work

import (
	"fmt"
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
				n = next - 1 - random.Int64N(20)
			case random.IntN(10) == 0: // some are overtaken
				n += random.Int64N(4)
			}
			next = max(next, n+1)
			// Of 20 numbers back at most 10 gaps are open, so that none is forgotten.
			if got := s.take(n); got == came[n] {
				t.Fatalf("seed %d: number %d is new: %v, and it had come: %v (%s)", seed, n, got, came[n], s.text(1))
			}
			came[n] = true
			if s = parseSeen(s.text(1), 1); len(s.open) > seenGaps {
				t.Fatalf("%d gaps are kept", len(s.open))
			}
		}
	}
}

func TestWhatIsForgottenOfNumbers(t *testing.T) {
	for _, c := range []struct {
		numbers []int64
		want    string
	}{
		{[]int64{1, 2, 3}, "7:3"},
		{[]int64{1, 5, 3}, "7:5:2-2,4-4"},
		{[]int64{5_000}, "7:5000:4001-4999"},
		{[]int64{2, 1_500}, "7:1500:501-1499"},
		{[]int64{domain.MaxLogGap}, "7:4294967296:4294966297-4294967295"},
	} {
		var s logSeen
		for _, n := range c.numbers {
			if !s.take(n) {
				t.Errorf("%v: %d is taken for seen", c.numbers, n)
			}
		}
		if got := s.text(7); got != c.want {
			t.Errorf("%v: got %s, want %s", c.numbers, got, c.want)
		}
	}
	var s logSeen
	for n := int64(1); n <= 400; n += 2 {
		s.take(n)
	}
	if len(s.open) != seenGaps || s.take(2) || !s.take(398) {
		t.Errorf("got %s", s.text(7))
	}
	for _, text := range []string{"", "7", "7:", "8:5", "x:y:z", "7:x:1-2"} {
		if s := parseSeen(text, 7); s.last != 0 || len(s.open) != 0 {
			t.Errorf("%q: got %+v", text, s)
		}
	}
	if text := parseSeen("7:9:2-3,x,5-5", 7); text.text(7) != "7:9:2-3,5-5" || !strings.HasPrefix(fmt.Sprint(text.last), "9") {
		t.Errorf("got %+v", text)
	}
}
