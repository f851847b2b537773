package memboard

import (
	"context"

	"github.com/ramet-run/ramet/board"
)

// Watch implements [board.Board].
func (b *Board) Watch(ctx context.Context, id board.Space, prefix string) (<-chan board.Event, error) {
	if _, err := b.lock(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	return b.watchers.Open(ctx, id, prefix), nil
}
