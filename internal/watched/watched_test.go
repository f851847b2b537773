package watched_test

import (
	"testing"

	"github.com/ramet-run/ramet/internal/watched"
)

func TestAllRoundsAreDoneWhereNobodyWatches(t *testing.T) {
	want := 100
	if testing.Short() {
		want = 3
	}
	if got := watched.Rounds(100, 3); got != want {
		t.Errorf("got %d of 100 rounds, want %d", got, want)
	}
	if got := watched.Rounds(2, 3); got != 2 {
		t.Errorf("got %d of 2 rounds", got)
	}
	ran := false
	t.Run("alone", func(t *testing.T) { watched.Alone(t); ran = true })
	if ran == testing.Short() {
		t.Errorf("short %t: what is alone ran: %t", testing.Short(), ran)
	}
}
