package pebbleboard_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/domain"
)

// TestLeasesHoldWhenTheClockIsSet has leases when the machine's clock is set an hour
// on or back: none has run out by that, and one that is let run out still does.
func TestLeasesHoldWhenTheClockIsSet(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, -time.Hour, 30 * time.Second, -30 * time.Second} {
		t.Run(ahead.String(), func(t *testing.T) {
			b := openDir(t, t.TempDir())
			defer b.Close()
			batch := board.Batch{Space: 1}
			if err := b.Commit(t.Context(), *batch.PushLeft("queue:v", "job:1")); err != nil {
				t.Fatal(err)
			}
			got, err := b.Claim(t.Context(), board.Ask{Queues: []board.Queue{{Lists: []string{"queue:v"}}}, Max: 1, Owner: "one", Lease: 20 * time.Second})
			if err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			if _, err := b.Occupy(t.Context(), 1, "routine", "one", 20*time.Second); err != nil {
				t.Fatal(err)
			}

			pebbleboard.SetClock(b, ahead)
			if list, err := b.Expired(t.Context(), 10, 0); err != nil || len(list) > 0 {
				t.Errorf("run out are %v %v, want none", list, err)
			}
			if _, err := b.Occupy(t.Context(), 1, "routine", "two", time.Minute); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("occupy what is occupied: got %v, want a conflict", err)
			}
			taken := board.Batch{Space: 1}
			if err := b.Commit(t.Context(), *taken.Lapsed("job:1", got[0].Token).Release("job:1")); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("take a lease away that holds: got %v, want a conflict", err)
			}
			// By the clock as it is now: that is what it is compared with.
			if l, ok, err := b.LeaseOf(t.Context(), 1, "job:1"); !ok || err != nil || l.Until.Sub(time.Now().Add(ahead)).Round(20*time.Second) != 20*time.Second {
				t.Errorf("the lease is %v %v %v, want one until 20 s from now", l, ok, err)
			}
			// Whoever gives it up gives it up.
			if err := b.Void(t.Context(), "one"); err != nil {
				t.Fatal(err)
			}
			list, err := b.Expired(t.Context(), 10, time.Minute)
			if err != nil || len(list) != 1 || !strings.HasPrefix(list[0].Item, "job:1") {
				t.Errorf("run out are %v %v, want that of job:1", list, err)
			}
		})
	}
}
