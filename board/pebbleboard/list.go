package pebbleboard

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/ramet-run/ramet/queue"
)

// list is where a list's items lie: they are numbered [left, right), and on
// disk in chunks under the number of their first item. A chunk counts up to
// where the next one begins and never beyond right, so that what is popped
// needs no rewriting. The right end of a queue is in memory, as the window.
//
//	left      diskLeft                 whole      fresh      right
//	 | added    |          on disk ...............  |  pushed  |
//	                  windowLeft | ....... window ............ |
type list struct {
	id          uint64
	left, right int64

	diskLeft int64    // where the disk began before this group
	fresh    int64    // from here on the disk is out of date: lowest right end in this group
	added    []string // pushed on the left in this group: number diskLeft-1 first
	dead     []int64  // chunks that have been popped in this group

	windowLeft int64
	window     deque[string] // items [windowLeft, right)
	starts     deque[int64]  // chunks on disk at or right of windowLeft

	epoch   uint32 // counts what makes a fetch in flight useless
	trimmed bool   // items were cut off on the left: chunks there may be left over
	swept   int64  // where it was cut when they were last removed
	floor   int64  // none that is not dead begins left of it
	fetch   *fetch // the next part of the window, on its way
}

func newList(id uint64) *list { return &list{id: id} }

func (l *list) len() int { return int(l.right - l.left) }

func (l *list) decode(body []byte) error {
	r := reader{buf: body}
	l.id = r.uvarint()
	l.left, l.right = r.varint(), r.varint()
	l.trimmed = r.uvarint() != 0
	l.diskLeft, l.fresh, l.windowLeft, l.swept = l.left, l.right, l.right, l.left
	if l.floor = l.left; l.trimmed {
		l.floor = math.MinInt64
	}
	return r.err()
}

func (l *list) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, l.id)
	dst = binary.AppendVarint(dst, l.left)
	dst = binary.AppendVarint(dst, l.right)
	if l.trimmed {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func (l *list) pushRight(item string) {
	l.window.pushRight(item)
	l.right++
}

// pushLeft takes the item into the window too if that reaches all the way and
// has room.
func (l *list) pushLeft(item string, room int) {
	l.added = append(l.added, item)
	if l.windowLeft == l.left && l.window.n < room {
		l.window.pushLeft(item)
		l.windowLeft--
	}
	l.left--
}

// pop takes the rightmost item of the window, which must not be empty.
func (l *list) pop() string {
	item := l.window.popRight()
	l.right--
	l.fresh = min(l.fresh, l.right)
	for l.starts.n > 0 && l.starts.at(l.starts.n-1) >= l.right {
		l.dead = append(l.dead, l.starts.popRight())
	}
	return item
}

// cut takes n items off the left.
func (l *list) cut(n int64) {
	l.left += n
	l.trimmed = true
	l.epoch++
	if l.left <= l.windowLeft {
		return
	}
	l.window.skipLeft(int(l.left - l.windowLeft))
	l.windowLeft = l.left
	for l.starts.n > 1 && l.starts.at(1) <= l.left {
		l.starts.skipLeft(1)
	}
}

// mend makes a list that was cut on the left fit to grow there: what is left
// over on disk goes, and of a chunk that reaches over the edge the rest is
// written anew.
func (c *committer) mend(l *list) error {
	if !l.trimmed {
		return nil
	}
	starts, err := c.b.starts(c.b.db, l.id, l.floor, min(l.left, l.fresh))
	if err != nil {
		return err
	}
	switch {
	case l.left >= l.fresh: // all that is there was pushed on the right in this group
		l.added, l.diskLeft, l.fresh = nil, l.left, l.left
	case l.left < l.diskLeft: // the edge is among what was pushed on the left in this group
		n := l.diskLeft - l.left
		l.added = l.added[:n:n]
	default:
		rest, err := c.b.restOf(c.b.db, l)
		if err != nil {
			return err
		}
		slices.Reverse(rest)
		l.added, l.diskLeft = rest, l.left+int64(len(rest))
	}
	l.dead = append(l.dead[:len(l.dead):len(l.dead)], starts...)
	for l.starts.n > 0 && l.starts.at(0) < l.left {
		l.starts.skipLeft(1)
	}
	l.trimmed, l.floor = false, l.diskLeft
	l.epoch++
	return nil
}

// truncate takes away everything from number end on. starts are the chunks on
// disk from there on.
func (l *list) truncate(end int64, starts []int64) {
	l.epoch++
	l.window = l.window.clone(int(max(0, end-l.windowLeft)))
	l.windowLeft = min(l.windowLeft, end)
	kept := 0
	for kept < l.starts.n && l.starts.at(kept) < end {
		kept++
	}
	l.starts = l.starts.clone(kept)
	l.dead = append(l.dead[:len(l.dead):len(l.dead)], starts...)
	l.right = end
	l.fresh = min(l.fresh, end)
}

// shortList is the length up to which a list that goes is removed number by
// number: each range delete makes every read dearer until it is compacted.
const shortList = 64

// garbage is what a list or set that is gone leaves on disk.
type garbage struct {
	ns    byte
	id    uint64
	dead  []int64  // chunks of a list
	maybe []int64  // numbers of items, each of which may begin a chunk
	out   []string // members of a set
	all   bool     // instead: everything under its id
}

// leave says what the list leaves on disk. Popping to the end has named every
// chunk; else they are not all known.
func (l *list) leave() garbage {
	known := !l.trimmed && (l.len() == 0 || l.windowLeft == l.left)
	if !known && !l.trimmed && l.len() <= shortList {
		g := garbage{ns: nsItems, id: l.id, dead: slices.Clone(l.dead)}
		for at := l.left; at < l.right; at++ {
			g.maybe = append(g.maybe, at)
		}
		return g
	}
	g := garbage{ns: nsItems, id: l.id, all: !known}
	if known {
		g.dead = append(g.dead, l.dead...)
		for i := range l.starts.n {
			g.dead = append(g.dead, l.starts.at(i))
		}
	}
	return g
}

// install puts a chunk from disk on the left of the window.
func (l *list) install(ch chunk) {
	low := max(ch.first, l.left)
	for i := l.windowLeft - 1; i >= low; i-- {
		l.window.pushLeft(ch.items[i-ch.first])
	}
	l.windowLeft = low
	l.starts.pushLeft(ch.first)
}

// fill puts at least one item into the window of a list that is not empty.
func (c *committer) fill(l *list) error {
	if l.window.n == 0 && l.fetch != nil {
		c.arrive(l)
	}
	if l.window.n > 0 {
		return nil
	}
	if from := max(l.left, l.diskLeft); l.windowLeft > from {
		err := c.b.chunks(c.b.db, l.id, from, l.windowLeft, func(ch chunk) bool {
			l.install(ch)
			return l.window.n < c.windowStep()
		})
		if err != nil {
			return err
		}
		if l.window.n == 0 {
			return c.b.readError(errCorrupt)
		}
		return nil
	}
	for l.windowLeft > l.left { // pushed on the left in this very group
		l.window.pushLeft(l.added[l.diskLeft-l.windowLeft])
		l.windowLeft--
	}
	return nil
}

// writeList writes what the group changed of a list's items.
func (c *committer) writeList(l *list) {
	c.deletePopped(l.id, l.dead)
	c.sweepLeft(l)
	lo, hi := l.left, min(l.diskLeft, l.fresh)
	c.writeItems(l, lo, hi, func(n int64) string { return l.added[l.diskLeft-1-n] })
	c.writeItems(l, max(l.fresh, l.left), l.right, func(n int64) string { return l.window.at(int(n - l.windowLeft)) })
	l.diskLeft, l.fresh = l.left, l.right
	if l.swept, l.floor = min(l.swept, l.left), min(l.floor, l.left); !l.trimmed {
		l.swept, l.floor = l.left, l.left
	}
	clear(l.added)
	l.added, l.dead = l.added[:0], l.dead[:0]
}

// writeItems writes items [from, to) as chunks. Those in the window note
// where they begin.
func (c *committer) writeItems(l *list, from, to int64, item func(n int64) string) {
	left := l.starts.n == 0 || from < l.starts.at(0)
	var firsts []int64
	for from < to {
		first := from
		c.valBuf, c.keyBuf = c.valBuf[:0], appendChunkKey(c.keyBuf[:0], l.id, first)
		var used int
		c.valBuf, used = appendChunk(c.valBuf, int(to-from), func(i int) string { return item(first + int64(i)) })
		c.set(c.keyBuf, c.valBuf)
		from += int64(used)
		if first >= l.windowLeft {
			firsts = append(firsts, first)
		}
	}
	if !left {
		for _, first := range firsts {
			l.starts.pushRight(first)
		}
		return
	}
	for i := len(firsts) - 1; i >= 0; i-- {
		l.starts.pushLeft(firsts[i])
	}
}

// deletePopped removes chunks that were popped, each of which was written once since
// it was last removed.
func (c *committer) deletePopped(id uint64, starts []int64) {
	for _, first := range starts {
		c.keyBuf = appendChunkKey(c.keyBuf[:0], id, first)
		c.fatal(c.batch.SingleDelete(c.keyBuf, nil))
	}
}

// sweepEvery is how many items cut off on the left are worth a range delete.
const sweepEvery = 512

// sweepLeft removes chunks that lie wholly left of a list that is trimmed,
// now and then: range deletes are dear when there are many.
func (c *committer) sweepLeft(l *list) {
	if !l.trimmed || l.left-l.swept < sweepEvery+(l.right-l.left)/4 {
		return
	}
	end := l.left // all that was on disk is cut off
	if l.left < l.fresh {
		err := c.b.chunks(c.b.db, l.id, l.left, l.left+1, func(ch chunk) bool {
			end = ch.first
			return false
		})
		if err != nil {
			return // the next sweep takes it along
		}
	}
	c.fatal(c.batch.DeleteRange(appendChunkKey(nil, l.id, -1<<63), appendChunkKey(nil, l.id, end), nil))
	l.swept = l.left
}

// collect removes what lists and sets that are gone left on disk.
func (c *committer) collect(g garbage) {
	if !g.all {
		c.deletePopped(g.id, g.dead)
		for _, at := range g.maybe {
			c.keyBuf = appendChunkKey(c.keyBuf[:0], g.id, at)
			c.fatal(c.batch.Delete(c.keyBuf, nil))
		}
		for _, m := range g.out {
			c.keyBuf = appendMember(c.keyBuf[:0], g.id, m)
			c.fatal(c.batch.Delete(c.keyBuf, nil))
		}
		return
	}
	prefix := binary.BigEndian.AppendUint64([]byte{g.ns}, g.id)
	c.fatal(c.batch.DeleteRange(prefix, afterAll(prefix), nil))
}

// shrink keeps the window in bounds at the end of a group: only queues are
// popped, so other lists need none.
func (o *object) shrink(room int) {
	l := o.list
	if !queue.Is(o.id.name) {
		room = 0
	}
	if l.window.n <= room {
		return
	}
	if room == 0 {
		l.window, l.starts, l.windowLeft = deque[string]{}, deque[int64]{}, l.right
		return
	}
	for l.starts.n > 1 && l.window.n > room {
		next := l.starts.at(1)
		l.window.skipLeft(int(next - l.windowLeft))
		l.windowLeft = next
		l.starts.skipLeft(1)
	}
}

// leave says what the set leaves on disk. One that has been emptied member by
// member leaves those that this group took out; a tombstone over its whole
// range would slow every read until the memtable is flushed.
func (s *set) leave() garbage {
	g := garbage{ns: nsMember, id: s.id, all: s.count > 0}
	if g.all {
		return g
	}
	for m := range s.pending {
		g.out = append(g.out, m)
	}
	return g
}
