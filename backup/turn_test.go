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

// TestABackupThatComesInBetweenIsNotWaitedFor: whoever has waited for the end of one that was killed, and finds
// another there that goes on, has waited long enough.
func TestABackupThatComesInBetweenIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 { // else nobody might come in between
			var turn backup.Turn
			ctx, kill := context.WithCancel(t.Context())
			end, err := turn.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			kill()
			waits, stop := context.WithTimeout(t.Context(), time.Hour)
			told := make(chan error, 1)
			go func() {
				end, err := turn.Begin(waits)
				if err == nil {
					end()
				}
				told <- err
			}()
			time.Sleep(time.Minute) // it takes long to end
			end()
			end, err = turn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			switch err := <-told; {
			case err == nil: // he was the quicker one
			case !errors.Is(err, domain.ErrConflict) || time.Since(begun) != 0:
				t.Errorf("got %v after %v more", err, time.Since(begun))
			}
			end()
			stop()
		}
	})
}
