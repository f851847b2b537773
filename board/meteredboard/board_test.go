package meteredboard_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/meteredboard"
)

// told remembers what it was told.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (o *told) Committed(outcome string, batches, bytes int, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, fmt.Sprint(outcome, " ", batches, " ", bytes, " ", took >= 0))
}

func (o *told) BoardFailed(call string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, "failed "+call)
}

func TestItIsABoard(t *testing.T) {
	boardtest.Run(t, boardtest.Factory{
		Open: func(*testing.T) board.Board { return meteredboard.New(memboard.Open(), &told{}) },
	})
}

func TestWhatIsTold(t *testing.T) {
	faults := faultboard.New(memboard.Open(), faultboard.Config{})
	var o told
	b := meteredboard.New(faults, &o)
	defer b.Close()
	set := func(key string) board.Batch {
		batch := board.Batch{Space: 1}
		return *batch.Absent(key).Set(key, board.Field{Name: "a", Value: "four"})
	}
	ctx := context.Background()
	_ = b.Commit(ctx, set("one"))
	_ = b.Commit(ctx, set("one"))
	_ = b.CommitEach(ctx, []board.Batch{set("two"), set("one"), {Space: 1}})
	faults.Cut()
	_ = b.Commit(ctx, set("three"))
	_, _ = b.Get(ctx, 1, "one")
	want := []string{"ok 1 8 true", "conflict 1 8 true", "conflict 3 16 true", "unavailable 1 10 true", "failed commit", "failed get"}
	if !slices.Equal(o.lines, want) {
		t.Errorf("got %q, want %q", o.lines, want)
	}
}
