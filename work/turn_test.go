package work

import (
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
)

func TestLooksTakeTurnsByContext(t *testing.T) {
	var turns lookTurns
	now := time.Now()
	for i := range 3000 {
		if got, want := turns.next(7, now).Sub(now), time.Duration(i)*lookEvery; got != want {
			t.Fatalf("turn %d comes after %v, want %v", i, got, want)
		}
	}
	if got := turns.next(8, now); !got.Equal(now) {
		t.Errorf("another context's first turn comes after %v, want at once", got.Sub(now))
	}
	if got := turns.next(7, now.Add(time.Minute)); !got.Equal(now.Add(time.Minute)) {
		t.Error("a turn is not handed out at once when those before are over")
	}
	for space := range 10 * maxLookTurns {
		turns.next(board.Space(space+10), now.Add(time.Hour+time.Duration(space)*time.Millisecond))
	}
	if len(turns.last) > maxLookTurns {
		t.Errorf("%d contexts are remembered, want at most %d", len(turns.last), maxLookTurns)
	}
}
