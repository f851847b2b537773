package backup_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
)

// TestACopyThatWasKilledIsBegunAgain: half a board is one that no node starts on, and the same
// copy makes it whole, whatever has changed on the board that is copied; without --overwrite,
// for what lies there is its own.
func TestACopyThatWasKilledIsBegunAgain(t *testing.T) {
	for name, open := range drivers(t) {
		t.Run(name, func(t *testing.T) {
			src, dst := memboard.Open(), open()
			living(t, src)
			half, cut := context.WithCancel(t.Context())
			_, err := backup.Copy(half, backup.Side{Board: src, Name: "home"}, backup.Side{Board: dst}, false, func(int64) { cut() })
			if err == nil {
				t.Fatal("it was not cut off")
			}
			if err := backup.Unfinished(t.Context(), dst); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("half a board is called whole: %v", err)
			}
			if _, err := src.Next(t.Context(), 7, "ramet:seq:late", 3); err != nil {
				t.Fatal(err)
			}
			if _, err := backup.Copy(t.Context(), backup.Side{Board: src, Name: "home"}, backup.Side{Board: dst}, false, nil); err != nil {
				t.Fatal(err)
			}
			if err := backup.Unfinished(t.Context(), dst); err != nil {
				t.Error(err)
			}
			lapsed(t, dst)
		})
	}
}
