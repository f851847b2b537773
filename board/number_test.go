package board_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/ramet-run/ramet/board"
)

func TestNumber(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 9, 10, -10, math.MaxInt64, math.MinInt64} {
		if got, ok := board.Number(strconv.FormatInt(n, 10)); !ok || got != n {
			t.Errorf("%d: got %d, %v", n, got, ok)
		}
	}
	for _, text := range []string{"", "-", "+", "+1", "-+1", "--1", "01", "-01", "00", "-0", "+0", " 1", "1 ", "1\n", "1.0", "1e2", "0x1", "1_0", "٣",
		"9223372036854775808", "-9223372036854775809", "true"} {
		if n, ok := board.Number(text); ok || n != 0 {
			t.Errorf("%q: got %d, %v, want that it is no number", text, n, ok)
		}
	}
}
