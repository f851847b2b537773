package pebbleboard_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/domain"
)

// TestWhatIsWrittenAfterAKeyHasEndedStays has a batch that looks at a key that has
// just ended, and fails: the next must not find it again.
func TestWhatIsWrittenAfterAKeyHasEndedStays(t *testing.T) {
	b := openDir(t, t.TempDir())
	defer b.Close()
	err := b.Commit(t.Context(), *(&board.Batch{}).Set("k", board.Field{Name: "old", Value: "1"}).Expire("k", time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	refused := (&board.Batch{}).Equal("k", "old", "1")
	errs := pebbleboard.CommitLater(t.Context(), b, 2*time.Hour, *refused, *(&board.Batch{}).Set("k", board.Field{Name: "new", Value: "1"}))
	if !errors.Is(errs[0], domain.ErrConflict) || errs[1] != nil {
		t.Fatal(errs)
	}
	recs, err := b.Get(t.Context(), 0, "k")
	if err != nil || len(recs[0]) != 1 || recs[0][0].Name != "new" {
		t.Errorf("got %v, %v", recs, err)
	}
}
