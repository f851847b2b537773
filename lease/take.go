package lease

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/internal/pause"
)

const (
	// Wait is how long one claim waits. It only bounds the wait: a push wakes it at once.
	Wait = time.Minute
	// Rest is the pause after the board could not be asked.
	Rest = 500 * time.Millisecond
)

// Take claims until ctx ends, and has what came dealt with. Nothing is begun of a
// claim that failed: others may have it. failed is told of that, unless ctx has ended.
func Take(ctx context.Context, claim func(context.Context) ([]board.Claimed, error), deal func([]board.Claimed), failed func(error)) {
	for ctx.Err() == nil {
		claimed, err := claim(ctx)
		switch {
		case err == nil && len(claimed) > 0:
			deal(claimed)
		case err != nil && ctx.Err() == nil:
			failed(err)
			pause.For(ctx, Rest)
		}
	}
}
