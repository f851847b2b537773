package backup

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file copies one board to another.

// Side is a board to copy from or to.
type Side struct {
	Board board.Board
	// Name is what people call it.
	Name string
	// Alone says that nobody else can have it open.
	Alone bool
}

// Copy fills a board with what lies on another one, which nobody works on meanwhile: that is
// looked at once more in the end. Nothing is lost by it, so no epoch begins.
//
// Errors: as of [Restore]; [domain.ErrConflict] where somebody worked on the board meanwhile.
func Copy(ctx context.Context, from, to Side, overwrite bool, progress func(items int64)) (s Summary, err error) {
	if err := Unfinished(ctx, from.Board); err != nil {
		return s, fmt.Errorf("the board to copy from: %w", err)
	}
	before, err := nodesOf(ctx, from)
	if err != nil {
		return s, err
	}
	if err := before.unused(from.Board.Now()); err != nil {
		return s, fmt.Errorf("the board to copy from: %w", err)
	}
	l, err := look(ctx, to.Board, from.Name, to.Alone, overwrite)
	if err != nil {
		return s, copiedAlready(ctx, from, to, err)
	}
	if err := l.mark(ctx); err != nil {
		return s, err
	}
	switch {
	case l.goesOn:
		err = l.prune(ctx, from.Board)
	case l.again:
		err = l.empty(ctx)
	}
	if err != nil {
		return s, err
	}
	first, sum, spaces := newPicture(), newDigest(), map[board.Space]struct{}{}
	s.Skipped, err = ahead(ctx, from.Board, func(list []item) error {
		for _, it := range list {
			s.count(it)
			sum.add(it)
			if !from.Alone { // else nobody could change it
				first.add(it)
			}
			spaces[it.space] = struct{}{}
		}
		if progress != nil {
			progress(s.Items())
		}
		return l.add(ctx, list)
	})
	s.Spaces, s.Digest = len(spaces), sum.String()
	if err != nil {
		return s, err
	}
	if err := l.compare(ctx); err != nil {
		return s, err
	}
	if err := l.settle(ctx, func(board.Space, string) int64 { return 0 }); err != nil {
		return s, err
	}
	if err := still(ctx, from, before, first); err != nil {
		return s, err
	}
	return s, l.end(ctx, func(*board.Batch) {})
}

// still refuses a board that is not what it was when it was copied. This comes last of all
// before the copy is called whole, and of it the nodes: who starts says so before it does
// anything else.
//
// Errors: [domain.ErrConflict].
func still(ctx context.Context, from Side, before nodes, first *picture) error {
	if from.Alone {
		return nil
	}
	now := newPicture()
	_, err := walk(ctx, from.Board, func(list []item) error {
		for _, it := range list {
			now.add(it)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the board to copy from: %w", err)
	}
	after, err := nodesOf(ctx, from)
	if err != nil {
		return err
	}
	why := ""
	switch name, space := after.since(before), now.differs(first); {
	case name != "":
		why = fmt.Sprintf("node %s started on it", name)
	case space >= 0:
		why = fmt.Sprintf("something wrote in its space %d", space)
	default:
		return nil
	}
	return domain.Conflictf("the board to copy from was used while it was copied: %s. The copy lacks what happened there since, and is not to be used; no "+
		"node starts on it. Stop all nodes of %s, and run the same command again, which goes on with the copy", why, from.Name)
}

// copiedAlready says of a board that is not empty that it is a copy of the other one.
func copiedAlready(ctx context.Context, from, to Side, err error) error {
	if full := (*notEmpty)(nil); !errors.As(err, &full) {
		return err
	}
	var ids [2]string
	for i, b := range []board.Board{from.Board, to.Board} {
		recs, err := b.Get(ctx, 0, layout.Identity)
		if err != nil {
			return err
		}
		ids[i] = recs[0].Get(layout.IdentityID)
	}
	if ids[0] == "" || ids[0] != ids[1] {
		return err
	}
	return domain.Conflictf("the board is not empty: it is a copy of %s already, and whole; start the nodes with it. To copy again, and lose what has "+
		"happened there since, use --overwrite", from.Name)
}

// picture is what a board looked like. What expires is apart, for it may be gone by itself.
type picture struct {
	firm, passing *digest
	ends          int64 // when the first of what expires does, Unix ms; 0: nothing does
}

func newPicture() *picture { return &picture{firm: newDigest(), passing: newDigest()} }

func (p *picture) add(it item) {
	if it.expires == 0 {
		p.firm.add(it)
		return
	}
	p.passing.add(it)
	if p.ends == 0 || it.expires < p.ends {
		p.ends = it.expires
	}
}

// differs names a space that looks otherwise than before; -1: none does.
func (p *picture) differs(before *picture) int64 {
	space := p.firm.differs(before.firm)
	if space < 0 && (before.ends == 0 || time.Now().UnixMilli() < before.ends) {
		space = p.passing.differs(before.passing)
	}
	return space
}

// nodes are the records of a board's nodes by their names.
type nodes map[string]board.Record

// nodesOf reads them; of a board that nobody else can have open there are none.
func nodesOf(ctx context.Context, s Side) (nodes, error) {
	all := nodes{}
	for cursor := ""; !s.Alone; {
		keys, next, err := s.Board.Keys(ctx, 0, layout.NodePrefix, cursor, keysPage)
		if err != nil {
			return nil, err
		}
		recs, err := board.Listed(ctx, s.Board, 0, nodeFields, keys)
		if err != nil {
			return nil, err
		}
		for i, r := range recs {
			all[strings.TrimPrefix(keys[i], layout.NodePrefix)] = r
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	return all, nil
}

// nodeFields tell one life of a node from another.
var nodeFields = []string{layout.NodeSeen, layout.NodeID, layout.NodeStarted}

// unused refuses a board on which a node was seen a moment ago, by the board's clock.
//
// Errors: [domain.ErrConflict].
func (n nodes) unused(now time.Time) error {
	for name, r := range n {
		seen, _ := strconv.ParseInt(r.Get(layout.NodeSeen), 10, 64)
		if age := now.Sub(time.UnixMilli(seen)); age < domain.NodeSilence {
			return domain.Conflictf("the board is in use: node %s said %v ago that it is alive; stop all of its nodes, and wait %v for those that were killed",
				name, max(0, age.Round(time.Second)), domain.NodeSilence)
		}
	}
	return nil
}

// since names a node that has said something since then, though it may have stopped again;
// "": none has. One whose record is gone has said nothing for long.
func (n nodes) since(before nodes) string {
	for name, r := range n {
		was := before[name]
		for _, field := range nodeFields {
			if r.Get(field) != was.Get(field) {
				return name
			}
		}
	}
	return ""
}
