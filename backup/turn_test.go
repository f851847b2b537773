package backup_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/domain"
)

// TestABackupRightAfterOneThatWasKilled waits for that, however long its end takes; one that goes on is in the way.
func TestABackupRightAfterOneThatWasKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turn backup.Turn
		begin := func() (end func(), kill context.CancelFunc) {
			t.Helper()
			ctx, kill := context.WithCancel(t.Context())
			end, err := turn.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return end, kill
		}
		end, kill := begin()
		begun := time.Now()
		if _, err := turn.Begin(t.Context()); !errors.Is(err, domain.ErrConflict) || time.Since(begun) > time.Minute {
			t.Errorf("beside one that goes on: got %v after %v", err, time.Since(begun))
		}
		for _, takes := range []time.Duration{time.Second, time.Hour} { // until it has noticed, and removed what it made
			kill()
			time.AfterFunc(takes, end)
			begun = time.Now()
			if end, kill = begin(); time.Since(begun) != takes {
				t.Errorf("it began after %v, want %v", time.Since(begun), takes)
			}
		}
		defer end()
		kill()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if _, err := turn.Begin(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("whose caller goes, too: got %v", err)
		}
	})
}
