package pebbleboard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/internal/watched"
)

// TestBigBatches commits more at once than the store takes into memory as one.
func TestBigBatches(t *testing.T) {
	watched.Large(t)
	dir := t.TempDir()
	b := openDir(t, dir)
	big := strings.Repeat("x", board.MaxField)
	batches := make([]board.Batch, 3)
	for i := range batches {
		for k := range 40 {
			batches[i].Set(fmt.Sprintf("big:%d:%d", i, k), board.Field{Name: "v", Value: big})
		}
	}
	checkErrs(t, b.CommitEach(t.Context(), batches))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = openDir(t, dir)
	defer b.Close()
	for i := range batches {
		recs, err := b.Get(t.Context(), 0, fmt.Sprintf("big:%d:0", i), fmt.Sprintf("big:%d:39", i))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range recs {
			if r.Get("v") != big {
				t.Errorf("a record of batch %d is not whole", i)
			}
		}
	}
}

// TestWideRecord counts down in a record of thousands of fields.
func TestWideRecord(t *testing.T) {
	const n = 5000
	b := openDir(t, t.TempDir())
	defer b.Close()
	var batches []board.Batch
	for i := range n {
		batches = append(batches, *(&board.Batch{}).Set("wide", board.Field{Name: fmt.Sprintf("waits:%d", i), Value: "1"}))
	}
	checkErrs(t, b.CommitEach(t.Context(), batches))
	for i := range n {
		batches[i] = *(&board.Batch{}).Countdown("wide", fmt.Sprintf("waits:%d", i), "queue:v", fmt.Sprintf("job:%d", i))
	}
	checkErrs(t, b.CommitEach(t.Context(), batches))
	l, err := b.Len(t.Context(), 0, "queue:v")
	if err != nil || l[0] != n {
		t.Errorf("%d jobs are queued (%v), want %d", l[0], err, n)
	}
}

func checkErrs(t *testing.T, errs []error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
