// Package room holds what a context has of a kind within a limit, however many are made at once
// and on however many nodes.
//
// A record of the context says how often one was made. Whoever makes one reads that, counts what
// is there, and commits only if none was made since. What was counted is then what there is, but
// for what was deleted; and no counter of things has to be kept right by those who delete.
//
// The package has no goroutines.
package room

import (
	"context"
	"errors"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// tries is how often a thing is tried to be made while other nodes make others.
const tries = 100

// Room is where things of a kind are made. At one node they go in one after the other, so that
// their commits do not get in each other's way. It is safe for concurrent use.
type Room struct {
	board board.Board
	kind  string
	turn  chan struct{}
}

// New returns the room of a kind of things, which names it on the board: "webhook".
func New(b board.Board, kind string) *Room { return &Room{b, kind, make(chan struct{}, 1)} }

// Make commits what makes one more. full counts those that there are, and is an error where there
// is no room.
//
// Errors: that of full; those of the commit, [domain.ErrConflict] too; the context's.
func (r *Room) Make(ctx context.Context, b board.Batch, full func(ctx context.Context) error) error {
	if err := r.enter(ctx); err != nil {
		return err
	}
	defer func() { <-r.turn }()
	made, err := r.made(ctx, b.Space)
	if err != nil {
		return err
	}
	for range tries {
		if err := full(ctx); err != nil {
			return err
		}
		try := board.Batch{Space: b.Space}
		try.Guards, try.Ops = append(try.Guards, b.Guards...), append(try.Ops, b.Ops...)
		n, _ := strconv.ParseUint(made, 10, 64) // what is no number is guarded as it is, and begins anew
		try.Equal(layout.Rooms, r.kind, made).Set(layout.Rooms, board.Field{Name: r.kind, Value: strconv.FormatUint(n+1, 10)})
		conflict := r.board.Commit(ctx, try)
		if !errors.Is(conflict, domain.ErrConflict) {
			return conflict
		}
		was := made
		if made, err = r.made(ctx, b.Space); err != nil {
			return err
		}
		if made == was { // it was a guard of b
			return conflict
		}
	}
	return domain.Unavailablef("others make things of kind %s all the time; try again", r.kind)
}

// enter waits until no other is being made here.
func (r *Room) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case r.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case r.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *Room) made(ctx context.Context, space board.Space) (string, error) {
	recs, err := board.Readable(r.board.GetFields(ctx, space, []string{r.kind}, layout.Rooms))
	if err != nil {
		return "", err
	}
	return recs[0].Get(r.kind), nil
}
