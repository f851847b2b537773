package resp

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/keyspace"
)

// This file has transactions: what stands between MULTI and EXEC is done in one
// commit of the board, with everything guarded that was read for it.

var multiCommands = []command{
	{name: "multi", arity: 1, atOnce: true, conn: multi},
	{name: "exec", arity: 1, atOnce: true, conn: exec},
	{name: "discard", arity: 1, atOnce: true, conn: discard},
	{name: "watch", arity: -2, first: 1, last: -1, step: 1, class: keyspace.Read, atOnce: true, conn: watchKeys},
	{name: "unwatch", arity: 1, atOnce: true, conn: unwatch},
}

// transaction is what was queued after MULTI.
type transaction struct {
	cmds   []queued
	bytes  int
	held   budget.Hold
	broken bool // something was refused: EXEC does nothing
}

// endMulti forgets what was queued, and what is watched.
func (c *client) endMulti() {
	if c.multi != nil {
		c.multi.held.End()
	}
	c.multi, c.watch = nil, nil
}

func multi(c *client, _ []string) error {
	if c.multi != nil {
		return failure("ERR MULTI calls can not be nested")
	}
	c.multi = &transaction{held: c.bytes()}
	c.out.ok()
	return nil
}

// queue takes a command in.
func (t *transaction) queue(c *client, q queued) {
	if q.spec.run == nil {
		t.broken = true
		c.fail(failure("ERR " + q.spec.name + " is not done between MULTI and EXEC here"))
		return
	}
	t.bytes += sizeOf(q.args)
	err := error(errBatch)
	if len(t.cmds) < maxQueued && t.bytes <= maxQueuedBytes {
		err = nil
		if t.bytes > smallBuffer {
			err = t.held.Resize(int64(t.bytes))
		}
	}
	if err != nil {
		t.broken = true
		c.fail(err)
		return
	}
	q.args = slices.Clone(q.args) // the reader's, and wanted again
	t.cmds = append(t.cmds, q)
	c.out.status("QUEUED")
}

func discard(c *client, _ []string) error {
	if c.multi == nil {
		return failure("ERR DISCARD without MULTI")
	}
	c.endMulti()
	c.out.ok()
	return nil
}

func exec(c *client, _ []string) error {
	t, w := c.multi, c.watch
	if t == nil {
		return errNoMulti
	}
	c.endMulti()
	switch {
	case t.broken:
		return errAborted
	case w != nil && w.space != c.space:
		return failure("ERR WATCH of another database than the selected one")
	}
	c.ask.cmds, c.ask.atomic = t.cmds, true
	if w != nil {
		c.ask.unless = w.changed
	}
	c.desk.run(&c.ask)
	c.ask.cmds = nil // the slice was the transaction's
	c.clear()
	return nil
}

// watched is what a client has seen of some keys.
type watched struct {
	space board.Space
	seen  map[string]print
}

// print is the content of a key, in short.
type print [sha256.Size]byte

func watchKeys(c *client, args []string) error {
	if c.multi != nil {
		return failure("ERR WATCH inside MULTI is not allowed")
	}
	if c.watch == nil || c.watch.space != c.space {
		c.watch = &watched{space: c.space, seen: map[string]print{}}
	}
	leave, err := c.desk.among(manyReads)
	if err != nil {
		return err
	}
	defer leave()
	s := newSheet(c.door.ctx, c.door.cfg.Board, c.space)
	x := &call{d: c.desk, c: c, s: s, a: &c.out, args: args}
	for _, key := range args[1:] {
		if err := checkKey(key); err != nil {
			return err
		}
		if err := x.allow(key, keyspace.Read); err != nil {
			return err
		}
		if _, again := c.watch.seen[key]; again {
			continue
		}
		if len(c.watch.seen) >= maxWatched {
			return failure("ERR WATCH of more keys than one client may")
		}
		p, err := s.print(key)
		if err != nil {
			return err
		}
		c.watch.seen[key] = p
	}
	c.out.ok()
	return nil
}

func unwatch(c *client, _ []string) error {
	c.watch = nil
	c.out.ok()
	return nil
}

// changed reports whether a key is not as it was seen. On a strict sheet what it
// reads is guarded, so that a change after this look fails the commit.
func (w *watched) changed(s *sheet) (bool, error) {
	for key, before := range w.seen {
		now, err := s.print(key)
		if err != nil {
			return false, err
		}
		if now != before {
			return true, nil
		}
	}
	return false, nil
}

// guardedItems is how many items of a list are guarded one by one; of a longer
// one its length is.
const guardedItems = 100

// print is the content of a key in short.
func (s *sheet) print(key string) (p print, err error) {
	h := sha256.New()
	l := s.leaf(key)
	st, err := s.statOf(l)
	if err != nil {
		return p, err
	}
	part(h, string(st.Kind))
	switch st.Kind {
	case board.KindRecord:
		err = s.printRecord(h, l)
	case board.KindList:
		err = s.printList(h, l)
	case board.KindSet:
		err = s.printSet(h, l)
	case "":
		if s.strict {
			s.batch.Absent(key)
		}
	}
	h.Sum(p[:0])
	return p, err
}

// part adds a text and where it ends.
func part(h hash.Hash, text string) {
	h.Write(binary.AppendUvarint(nil, uint64(len(text))))
	h.Write([]byte(text))
}

func (s *sheet) printRecord(h hash.Hash, l *leaf) error {
	if _, err := s.as(l.key, board.KindRecord); err != nil {
		return err
	}
	if err := s.loadAll(l); err != nil {
		return err
	}
	cells := slices.Clone(l.record.cells)
	slices.SortFunc(cells, func(a, b cell) int { return strings.Compare(a.name, b.name) })
	for _, c := range cells {
		if c.there {
			part(h, c.name)
			part(h, c.text)
		}
	}
	return nil
}

func (s *sheet) printList(h hash.Hash, l *leaf) error {
	if _, err := s.listOf(l.key); err != nil {
		return err
	}
	n, err := s.size(l)
	if err != nil {
		return err
	}
	items, err := s.pages(l, 0, n)
	if err != nil {
		return err
	}
	for i, it := range items {
		part(h, it)
		if s.strict && n <= guardedItems {
			s.batch.ItemAt(l.key, i, it)
		}
	}
	return nil
}

func (s *sheet) printSet(h hash.Hash, l *leaf) error {
	if _, err := s.setOf(l.key); err != nil {
		return err
	}
	list, err := s.members(l)
	if err != nil {
		return err
	}
	for _, m := range list {
		part(h, m)
	}
	return nil
}
