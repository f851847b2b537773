package board_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
)

// TestTheLastLossOfEachStoreIsKept: what the archive lost last hides nothing of what the board lost before.
func TestTheLastLossOfEachStoreIsKept(t *testing.T) {
	b := memboard.Open()
	at := func(hour int) time.Time { return time.Unix(int64(hour)*3600, 0) }
	for _, next := range []*board.Batch{
		new(board.Batch).NextEpochOf(domain.LossOfStreams, at(1), "files were damaged"),
		new(board.Batch).NextEpoch(at(2), "redis was restarted"),
		new(board.Batch).NextEpoch(at(3), "redis was restarted again"),
		new(board.Batch).NextEpochOf(domain.LossOfArchive, at(4), "the archive is older"),
	} {
		if err := b.Commit(t.Context(), *next); err != nil {
			t.Fatal(err)
		}
	}
	recs, err := b.Get(t.Context(), 0, board.EpochKey)
	if err != nil {
		t.Fatal(err)
	}
	got := board.EpochOf(recs[0])
	want := board.Epoch{Number: 4, Since: at(4), Cause: "the archive is older", Losses: []board.Loss{
		{Of: domain.LossOfBoard, At: at(3), Cause: "redis was restarted again"},
		{Of: domain.LossOfArchive, At: at(4), Cause: "the archive is older"},
		{Of: domain.LossOfStreams, At: at(1), Cause: "files were damaged"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("epoch (-want +got):\n%s", diff)
	}
}

// TestALongCauseShowsThatThereIsMore of it: the log has all.
func TestALongCauseShowsThatThereIsMore(t *testing.T) {
	b := memboard.Open()
	if err := b.Commit(t.Context(), *new(board.Batch).NextEpoch(time.Unix(1, 0), strings.Repeat("job:1:231 of context 1, ended ", 60))); err != nil {
		t.Fatal(err)
	}
	recs, err := b.Get(t.Context(), 0, board.EpochKey)
	if err != nil {
		t.Fatal(err)
	}
	if cause := board.EpochOf(recs[0]).Cause; len(cause) > 1000 || !strings.HasSuffix(cause, ", ended …") {
		t.Errorf("got %q", cause)
	}
}
