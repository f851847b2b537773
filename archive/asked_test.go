package archive_test

import (
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

func TestABeginIsAsExactAsTheRecordAllows(t *testing.T) {
	for _, c := range []struct {
		created domain.UnixTime
		next    int64
		want    int64
	}{
		{10, 10_900, 10_900}, // it went on at once
		{10, 12_900, 10_000}, // it waited, nobody knows since when within that second
		{10, 0, 10_000},
		{10, 9_999, 10_000}, // another node's clock
		{0, 0, 0},
	} {
		if got := archive.AskedMs(c.created, c.next); got != c.want {
			t.Errorf("made in second %d, next at %d: got %d, want %d", c.created, c.next, got, c.want)
		}
	}
	// A job that was tried again says only when it was queued last.
	r, err := archive.OfJob(7, &domain.Job{ID: 1, CallerID: 2, CreatedAt: 10, Attempt: 2, QueuedMs: 10_900, FinishedMs: 11_000}, nil)
	if err != nil || r.BeginMs != 10_000 {
		t.Errorf("got %d, %v", r.BeginMs, err)
	}
}
