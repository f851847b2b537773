package pebbleboard

import (
	"hash/maphash"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/queue"
)

// This file reads ahead for the committer. While it works on the window of a
// long queue, another goroutine reads the next items and their records; and
// who submits something new looks himself whether it is there already. What
// was read may be old by then: the table of last writes tells.

const (
	writeSlots   = 1 << 18  // of the table of last writes, by hash: 2 MiB
	fetchBytes   = 2 << 20  // of records read ahead at a time
	maxAhead     = 48 << 10 // records read ahead and not claimed yet
	maxWindow    = 4 << 10  // items in one window
	allWindows   = 64 << 10 // items in all windows, about
	minWindow    = 64
	maxFetch     = 1 << 10 // items fetched at a time
	fetchBacklog = 64
)

// fetch is the next part of a window, on its way.
type fetch struct {
	space   board.Space
	name    string
	list    uint64
	epoch   uint32
	from    int64 // of the list, when asked
	to      int64
	want    int
	since   uint64        // the last group that was surely in the store
	done    chan struct{} // closed by the fetcher
	chunks  []chunk
	records []record
	err     error
}

// record is a record read ahead, as it lies in the store; nil: there is none.
type record struct {
	item  string
	value []byte
}

// aheadRecord is a record that may be out of date if it was written since.
type aheadRecord struct {
	value []byte
	since uint64
}

// windowRoom says how many items of a list are kept in memory.
func (c *committer) windowRoom(o *object) int {
	if !queue.Is(o.id.name) {
		return 0
	}
	return min(maxWindow, max(minWindow, allWindows/max(1, c.filled)))
}

// windowStep is how many items are read into a window at a time.
func (c *committer) windowStep() int {
	return min(maxFetch, max(minWindow/2, allWindows/4/max(1, c.filled)))
}

// fetchAhead has the next part of a window read when it is running low.
func (c *committer) fetchAhead(o *object) {
	l := o.list
	if l.fetch != nil {
		select {
		case <-l.fetch.done:
			c.arrive(l)
		default:
			return
		}
	}
	from := max(l.left, l.diskLeft)
	if l.window.n >= c.windowStep() || l.windowLeft <= from {
		return
	}
	f := &fetch{
		space: o.id.space, name: o.id.name, list: l.id, epoch: l.epoch, from: from, to: l.windowLeft,
		want: c.windowStep(), since: c.b.applied.Load(), done: make(chan struct{}),
	}
	select {
	case c.b.fetches <- f:
		l.fetch = f
	default:
	}
}

// arrive takes in what was fetched, waiting for it if need be.
func (c *committer) arrive(l *list) {
	f := l.fetch
	l.fetch = nil
	select {
	case <-f.done:
	case <-c.b.down:
		return
	}
	if f.err != nil || f.epoch != l.epoch || f.to != l.windowLeft {
		return // the committer reads for itself, and meets the error
	}
	for _, ch := range f.chunks {
		l.install(ch)
	}
	if len(c.aheads) > maxAhead {
		clear(c.aheads)
	}
	for _, r := range f.records {
		c.aheads[ident{f.space, r.item}] = aheadRecord{r.value, f.since}
	}
}

// claimed returns the object of an item that is being claimed.
func (c *committer) claimed(s board.Space, item string) (*object, error) {
	id := ident{s, item}
	ahead, ok := c.aheads[id]
	if ok {
		delete(c.aheads, id)
		if c.objects[id] == nil && c.writes[c.slot(id)] <= ahead.since {
			id.name = text(item)
			o := c.newObject(id)
			if err := c.decode(o, ahead.value); err != nil {
				return nil, c.b.readError(err)
			}
			c.objects[id] = o
		}
	}
	if c.objects[id] == nil {
		item = text(item) // it shares memory with a whole chunk
	}
	return c.settled(s, item)
}

// settled is object for claims, where no batch is being applied: a key whose
// time has run out is followed up at once.
func (c *committer) settled(s board.Space, name string) (*object, error) {
	o, err := c.object(s, name)
	if len(c.saves) > 0 {
		c.follow()
	}
	return o, err
}

// slot is where the table of last writes has a key.
func (c *committer) slot(id ident) uint64 {
	return (maphash.String(c.seed, id.name) ^ uint64(id.space)*0x9e3779b97f4a7c15) % writeSlots
}

// lookAhead looks, for batches that begin with Absent, whether the key is
// absent. It runs in the caller, so that many look at once. What cannot be
// read here, the committer reads itself, and meets the error.
func (b *Board) lookAhead(r *request) {
	r.since = b.applied.Load()
	var find finder
	defer find.close()
	var key []byte
	for i := range r.batches {
		batch := &r.batches[i]
		if r.errs[i] != nil || len(batch.Guards) == 0 || batch.Guards[0].Kind != board.GuardAbsent {
			continue
		}
		if r.absent == nil {
			r.absent = make([]bool, len(r.batches))
		}
		key = appendKey(key[:0], ident{batch.Space, batch.Guards[0].Key})
		_, found, err := find.get(b.db, key, len(r.batches)-i)
		r.absent[i] = err == nil && !found
	}
}

// takeAhead takes up what was found for a batch, unless the key was written since.
func (c *committer) takeAhead(r *request, b *board.Batch) {
	if r.absent == nil || !r.absent[r.applied] {
		return
	}
	id := ident{b.Space, b.Guards[0].Key}
	if c.objects[id] == nil && c.writes[c.slot(id)] <= r.since {
		c.objects[id] = c.newObject(id)
	}
}

// runFetcher reads ahead until the board closes.
func (b *Board) runFetcher() {
	for f := range b.fetches {
		f.err = b.fetch(f)
		close(f.done)
	}
}

func (b *Board) fetch(f *fetch) error {
	n := 0
	err := b.chunks(b.db, f.list, f.from, f.to, func(ch chunk) bool {
		f.chunks = append(f.chunks, ch)
		n += len(ch.items)
		return n < f.want
	})
	if err != nil {
		return err
	}
	var find finder
	defer find.close()
	var key, arena []byte
	size := 0
	for _, ch := range f.chunks {
		for i := len(ch.items) - 1; i >= 0 && size < fetchBytes; i-- {
			item := board.Named(f.name, ch.items[i])
			if item == "" {
				continue
			}
			key = appendKey(key[:0], ident{f.space, item})
			v, found, err := find.get(b.db, key, n)
			if err != nil {
				return b.readError(err)
			}
			if !found {
				continue
			}
			size += len(v)
			var kept []byte
			arena, kept = keep(arena, v)
			f.records = append(f.records, record{item, kept})
		}
	}
	return nil
}

// finder reads many keys. An iterator that goes on from key to key costs a
// fraction of as many Gets, because jobs that were made together lie together;
// but it is dear to make. The zero finder is ready to use.
type finder struct {
	it     *pebble.Iterator
	closer io.Closer // of the last Get
}

// finderFrom is the number of keys that are worth an iterator.
const finderFrom = 4

// get returns the value under a key, of about n that will be asked for. It is
// good until the next call.
func (f *finder) get(db *pebble.DB, key []byte, n int) (v []byte, found bool, err error) {
	if f.it == nil && n < finderFrom {
		if err := f.release(); err != nil {
			return nil, false, err
		}
		v, f.closer, err = db.Get(key)
		if err == pebble.ErrNotFound {
			return nil, false, nil
		}
		return v, err == nil, err
	}
	if f.it == nil {
		f.it, err = db.NewIter(&pebble.IterOptions{KeyTypes: pebble.IterKeyTypePointsOnly, UseL6Filters: true})
		if err != nil {
			return nil, false, err
		}
	}
	if !f.it.SeekPrefixGE(key) { // a whole key is its own prefix
		return nil, false, f.it.Error()
	}
	v, err = f.it.ValueAndErr()
	return v, err == nil, err
}

func (f *finder) release() (err error) {
	if f.closer != nil {
		err = f.closer.Close()
		f.closer = nil
	}
	return err
}

func (f *finder) close() {
	_ = f.release() // what was read was good
	if f.it != nil {
		_ = f.it.Close()
	}
}

// arenaBytes is small: one record that stays leased for long keeps its whole
// arena in memory.
const arenaBytes = 8 << 10

// keep copies v into the arena, or into a new one when it is full.
func keep(arena, v []byte) (rest, kept []byte) {
	if len(v) > arenaBytes/4 {
		return arena, append([]byte(nil), v...)
	}
	if cap(arena)-len(arena) < len(v) {
		arena = make([]byte, 0, arenaBytes)
	}
	start := len(arena)
	arena = append(arena, v...)
	return arena, arena[start:len(arena):len(arena)]
}
