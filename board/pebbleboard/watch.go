package pebbleboard

import (
	"context"

	"github.com/ramet-run/ramet/board"
)

// Watch implements [board.Board]. The committer notes changes only while
// somebody watches; the syncer tells of them.
func (b *Board) Watch(ctx context.Context, space board.Space, prefix string) (<-chan board.Event, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	return b.watchers.Open(ctx, space, prefix), nil
}
