package boardtest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Blurting is a board whose first claims that take something say what they have
// taken and fail all the same, as no driver may. It complains about callers who
// act on what came with the error: the same may be given to somebody else.
func Blurting(t testing.TB, b board.Board, claims int) board.Board {
	return &blurting{Board: b, t: t, left: claims, said: map[string]bool{}}
}

type blurting struct {
	board.Board
	t testing.TB

	mu   sync.Mutex
	left int
	said map[string]bool // leases that were given with an error
}

func lease(space board.Space, item string, token int64) string {
	return fmt.Sprintf("%d %s %d", space, item, token)
}

func (b *blurting) Claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	got, err := b.Board.Claim(ctx, ask)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(got) == 0 || err != nil || b.left == 0 {
		return got, err
	}
	b.left--
	for _, c := range got {
		b.said[lease(c.Space, c.Item, c.Token)] = true
	}
	return got, domain.Unavailablef("the board's answer was lost")
}

func (b *blurting) Commit(ctx context.Context, batch board.Batch) error {
	b.judge(batch)
	return b.Board.Commit(ctx, batch)
}

func (b *blurting) CommitEach(ctx context.Context, batches []board.Batch) []error {
	for _, batch := range batches {
		b.judge(batch)
	}
	return b.Board.CommitEach(ctx, batches)
}

func (b *blurting) judge(batch board.Batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range batch.Guards {
		if g.Kind == board.GuardHeld && b.said[lease(batch.Space, g.Key, g.N)] {
			b.t.Errorf("somebody acts on what came with an error: %s", g)
		}
	}
}
