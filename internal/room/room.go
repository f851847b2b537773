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
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

const (
	// lostMost is how often a maker is too late, before it asks the other nodes to let it go first:
	// the slower of two nodes could lose every time.
	lostMost = 8
	// patience is for how long another is let go first that has asked for it: it may have died.
	patience = 2 * time.Second
	// look is how long a maker that lets another go first waits between two looks.
	look = 5 * time.Millisecond
	// longest is for how long a maker tries that has no deadline of its own.
	longest = 30 * time.Second
)

// Room is where things of a kind are made. At one node those of a context go in one after the
// other, so that their commits do not get in each other's way; contexts do not wait for each
// other. It is safe for concurrent use.
type Room struct {
	board board.Board
	kind  string
	mu    sync.Mutex // of turns
	turns map[board.Space]*turn
}

// turn is whose it is in a context. It is kept while somebody has it or waits for it.
type turn struct {
	taken chan struct{}
	users int
}

// New returns the room of a kind of things, which names it on the board: "webhook".
func New(b board.Board, kind string) *Room {
	return &Room{board: b, kind: kind, turns: map[board.Space]*turn{}}
}

// Make commits what makes one more. full counts those that there are, and is an error where there
// is no room.
//
// Errors: that of full; those of the commit, [domain.ErrConflict] too; the context's;
// [domain.ErrUnavailable] if others have been first for half a minute.
func (r *Room) Make(ctx context.Context, b board.Batch, full func(ctx context.Context) error) error {
	leave, err := r.enter(ctx, b.Space)
	if err != nil {
		return err
	}
	defer leave()
	is, err := r.read(ctx, b.Space)
	if err != nil {
		return err
	}
	asked := "" // to be let go first, by this name
	defer func() {
		if asked != "" {
			r.withdraw(context.WithoutCancel(ctx), b.Space, asked)
		}
	}()
	begun := time.Now()
	for lost := 0; time.Since(begun) < longest; lost++ {
		if lost >= lostMost && asked == "" {
			asked = rand.Text()
			r.ask(ctx, b.Space, is, asked)
		}
		if is, err = r.letGo(ctx, b.Space, is, asked); err != nil {
			return err
		}
		if err := full(ctx); err != nil {
			return err
		}
		try := board.Batch{Space: b.Space}
		try.Guards, try.Ops = append(try.Guards, b.Guards...), append(try.Ops, b.Ops...)
		n, _ := strconv.ParseUint(is.made, 10, 64) // what is no number is guarded as it is, and begins anew
		try.Equal(layout.Rooms, r.kind, is.made).Set(layout.Rooms, board.Field{Name: r.kind, Value: strconv.FormatUint(n+1, 10)})
		conflict := r.board.Commit(ctx, try)
		if !errors.Is(conflict, domain.ErrConflict) {
			return conflict
		}
		was := is.made
		if is, err = r.read(ctx, b.Space); err != nil {
			return err
		}
		if is.made == was { // it was a guard of b
			return conflict
		}
	}
	return domain.Unavailablef("others make things of kind %s all the time; try again", r.kind)
}

// state is what the record of a context says of a kind.
type state struct{ made, first string }

// ask asks to be let go first, unless somebody else has.
func (r *Room) ask(ctx context.Context, space board.Space, is state, name string) {
	b := board.Batch{Space: space}
	b.Equal(layout.Rooms, layout.RoomFirst(r.kind), is.first).Set(layout.Rooms, board.Field{Name: layout.RoomFirst(r.kind), Value: name})
	if is.first == "" {
		_ = r.board.Commit(ctx, b) // else it goes on as it did
	}
}

// withdraw takes back that name has asked to be let go first.
func (r *Room) withdraw(ctx context.Context, space board.Space, name string) {
	b := board.Batch{Space: space}
	_ = r.board.Commit(ctx, *b.Equal(layout.Rooms, layout.RoomFirst(r.kind), name).Set(layout.Rooms, board.Field{Name: layout.RoomFirst(r.kind)}))
}

// letGo waits for who has asked to be let go first, but for who asks by the name of asked; and what
// is there then.
func (r *Room) letGo(ctx context.Context, space board.Space, is state, asked string) (state, error) {
	other := is.first
	for begun := time.Now(); is.first != "" && is.first != asked && is.first == other; {
		if time.Since(begun) > patience {
			r.withdraw(ctx, space, other)
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return is, ctx.Err()
		}
		var err error
		if is, err = r.read(ctx, space); err != nil {
			return is, err
		}
	}
	return is, nil
}

// enter waits until no other is being made here in a context. Whoever is in calls leave.
func (r *Room) enter(ctx context.Context, space board.Space) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	t := r.turns[space]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		r.turns[space] = t
	}
	t.users++
	r.mu.Unlock()
	done := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(r.turns, space)
		}
	}
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken; done() }, nil
	case <-ctx.Done():
		done()
		return nil, ctx.Err()
	}
}

func (r *Room) read(ctx context.Context, space board.Space) (state, error) {
	recs, err := board.Readable(r.board.GetFields(ctx, space, []string{r.kind, layout.RoomFirst(r.kind)}, layout.Rooms))
	if err != nil {
		return state{}, err
	}
	return state{recs[0].Get(r.kind), recs[0].Get(layout.RoomFirst(r.kind))}, nil
}
