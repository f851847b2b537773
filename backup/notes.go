package backup

import (
	"context"
	"fmt"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file knows the keys that a load has written from those of others. Keys that nodes write show it by their
// names. Any other is noted on the board in the very batch that writes it, so that a later run knows it as its own,
// though what it was filled from has it no more.

// notedTogether is how many keys are in one set: it is removed in one commit, and a board may take few
// operations in one, of which each member is one.
const notedTogether = 1000

// notes are the keys of a space that are noted.
type notes struct {
	sets int             // that are full, or of earlier runs
	last int             // keys in the set after them
	keys map[string]bool // of earlier runs, and of this one where it goes on
}

// readNotes reads what earlier runs have noted.
func (l *load) readNotes(ctx context.Context, spaces []board.Space) error {
	for _, s := range spaces {
		n := &notes{keys: map[string]bool{}}
		for {
			keys, err := l.board.Members(ctx, s, layout.Restored(n.sets), "", membersPage)
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				break
			}
			for _, key := range keys {
				n.keys[key] = true
			}
			n.sets++
		}
		if n.sets > 0 {
			l.notes[s] = n
		}
	}
	return nil
}

// note adds to the batch that writes an item that its key is the load's.
func (l *load) note(b *board.Batch, it item) {
	if it.kind != kindRecord && it.kind != kindList && it.kind != kindSet || it.from > 0 || layout.Has(it.key) {
		return
	}
	n := l.notes[it.space]
	if n == nil {
		n = &notes{}
		l.notes[it.space] = n
	}
	if n.keys[it.key] {
		return
	}
	if n.last == notedTogether {
		n.sets, n.last = n.sets+1, 0
	}
	n.last++
	b.Include(layout.Restored(n.sets), it.key)
	if l.goesOn {
		if n.keys == nil {
			n.keys = map[string]bool{}
		}
		n.keys[it.key] = true
	}
}

// forget removes what is noted of a space, the first set last: the next run reads up to the first that is missing.
func (l *load) forget(ctx context.Context, s board.Space) error {
	n := l.notes[s]
	if n == nil {
		return nil
	}
	for i := n.sets; i >= 0; i-- {
		if err := l.board.Commit(ctx, *(&board.Batch{Space: s}).Delete(layout.Restored(i))); err != nil {
			return err
		}
	}
	delete(l.notes, s)
	return nil
}

// mine refuses a key that the load may not remove: no node would write it, and no run has.
//
// Errors: [domain.ErrConflict].
func (l *load) mine(s board.Space, key string) error {
	if l.over || layout.Has(key) {
		return nil
	}
	if n := l.notes[s]; n != nil && n.keys[key] {
		return nil
	}
	return &foreign{key, s}
}

// foreign is a [domain.ErrConflict]: something lies there that no load has put there.
type foreign struct {
	key   string
	space board.Space
}

func (e *foreign) Error() string {
	return fmt.Sprintf("the board to fill has %s in space %d, which is no key of a node's, and which filling it has not put there: another program's, as it "+
		"seems. Fill an empty board instead, as on a server or in a folder of its own; or run the same command with --overwrite, which removes that, and "+
		"whatever else lies there", domain.PlainText(e.key, 200), e.space)
}
func (e *foreign) Unwrap() error { return domain.ErrConflict }
