package pebbleboard

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"runtime/debug"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/ramet-run/ramet/board"
)

// committer is the one goroutine that changes the board. It works in groups:
// all requests that wait become one Pebble batch.
type committer struct {
	b     *Board
	batch *pebble.Batch // of the group
	now   int64         // Unix ms, of the group
	no    uint64        // number of the group
	space board.Space   // of the board batch at work

	next, reserved uint64 // numbers: the last given out, the last on disk
	reserve        bool   // the group must write reserved

	objects   map[ident]*object
	last      *object   // the one asked for last
	touched   []*object // in this group
	dirty     []*object // to be written with this group
	line      deque[*object]
	lineBytes int
	spare     []*object // to be used again
	aheads    map[ident]aheadRecord
	writes    []uint64 // group that wrote a key last, by hash
	seed      maphash.Seed

	batchNo    uint64 // counts board batches
	saves      []saved
	listSaves  []list
	steps      []step
	alarmSaves []alarmSave
	gone       []garbage
	goneMark   int // of gone, where the batch began

	alarms   map[ident]*alarm
	counters map[ident]int64

	spaces    map[board.Space]*space
	groups    map[string]*group
	filled    int      // queues that are not empty
	readied   []*group // to be served after the batch
	freedIn   []board.Space
	lapses    lapseHeap
	lapseWake chan struct{} // closed when a lease runs out before lapseNext
	lapseNext int64
	logs      []*claimLog // claims of this group
	deadLogs  []uint64

	// To be made known when the group is in the store.
	hotter []*object // leased by a log only
	colder []ident   // no longer
	rung   []int64   // alarms set
	lived  map[board.Space]int64
	ends   int64 // earliest end of a key
	told   []ident

	soon    []*request // answered when the group is in the store
	late    []*request // answered when it is durable
	partial bool       // the group has a part of a request

	expiry   *time.Timer
	expiryAt int64 // Unix ms; 0: not set

	keyBuf, valBuf, arena []byte
	fieldBufs             [][]board.Field
}

func newCommitter(b *Board) *committer {
	return &committer{
		b: b, objects: map[ident]*object{}, aheads: map[ident]aheadRecord{}, alarms: map[ident]*alarm{},
		counters: map[ident]int64{}, spaces: map[board.Space]*space{}, groups: map[string]*group{},
		lived: map[board.Space]int64{}, writes: make([]uint64, writeSlots), seed: maphash.MakeSeed(), ends: math.MaxInt64, batchNo: 1,
	}
}

// fatalError is a panic of the committer that the board does not survive.
type fatalError struct{ err error }

// fatal ends the board: memory would run ahead of the disk.
func (c *committer) fatal(err error) {
	if err != nil {
		panic(fatalError{err})
	}
}

// run works off the requests until the queue is closed.
func (c *committer) run() {
	defer close(c.b.groups)
	defer close(c.b.fetches)
	defer c.recover()
	var spare []*request
	for {
		reqs, ok := c.b.queue.take(spare[:0])
		if !ok {
			break
		}
		for at := 0; at < len(reqs); {
			if c.b.stopped() {
				return
			}
			at += c.work(reqs[at:])
		}
		clear(reqs)
		spare = reqs
	}
	if c.expiry != nil {
		c.expiry.Stop()
	}
}

func (c *committer) recover() {
	switch r := recover().(type) {
	case nil:
	case fatalError:
		c.b.fail(r.err)
	case error:
		c.b.log.Error("committer stopped", "error", r, "stack", string(debug.Stack()))
		c.b.fail(r)
	default:
		c.b.log.Error("committer stopped", "error", r, "stack", string(debug.Stack()))
		c.b.failf("BUG: %v", r)
	}
}

// groupBytes is about how much is written at a time.
const groupBytes = 256 << 10

// work makes a group of the first requests, and returns how many are done.
func (c *committer) work(reqs []*request) (n int) {
	c.begin()
	weight := 0
	for _, r := range reqs {
		if weight > groupBytes || r.take() && !c.serve(r, &weight) {
			break
		}
		n++
	}
	c.end()
	return n
}

func (c *committer) begin() {
	c.no = c.number()
	c.now = time.Now().UnixMilli()
	c.batch = c.b.db.NewBatch()
	c.last = nil
}

// serve works on a request and reports whether that is done.
func (c *committer) serve(r *request, weight *int) bool {
	switch {
	case r.claim != nil:
		c.serveClaim(r.claim)
		c.settle()
	case r.call != nil:
		c.beginBatch(0)
		if r.err = r.call(c); r.err != nil {
			c.undo()
		} else {
			c.settle()
		}
		c.answerSoon(r)
	default:
		for ; r.applied < len(r.batches); r.applied++ {
			if *weight > groupBytes {
				c.partial = true
				return false
			}
			if r.errs[r.applied] != nil {
				continue // it was refused before it came here
			}
			b := &r.batches[r.applied]
			*weight += weigh(b)
			c.takeAhead(r, b)
			r.errs[r.applied] = c.commit(b)
		}
		c.late = append(c.late, r)
	}
	return true
}

func weigh(b *board.Batch) int {
	n := 0
	for i := range b.Ops {
		op := &b.Ops[i]
		n += 64
		for k := range op.Fields {
			n += len(op.Fields[k].Value)
		}
		for _, it := range op.Items {
			n += len(it)
		}
	}
	return n
}

func (c *committer) answerSoon(r *request) { c.soon = append(c.soon, r) }

// tell notes for watchers that a key has changed.
func (c *committer) tell(id ident) {
	if c.b.watch.open.Load() > 0 {
		c.told = append(c.told, id)
	}
}

// number gives out a number that was never used on this board.
func (c *committer) number() uint64 {
	if c.next++; c.next > c.reserved {
		c.reserved = c.next + 1<<20
		c.reserve = true
	}
	return c.next
}

func (c *committer) set(key, value []byte) { c.fatal(c.batch.Set(key, value, nil)) }

// end writes the group and passes it on.
func (c *committer) end() {
	c.write()
	g := &written{batch: c.batch, answers: c.late, told: c.told}
	sync := len(g.answers) > 0 || len(g.told) > 0 || c.partial
	c.partial = false
	switch {
	case c.batch.Empty():
		c.fatal(c.batch.Close())
		g.batch = nil
	case sync:
		c.fatal(c.b.db.ApplyNoSyncWait(c.batch, pebble.Sync))
	default:
		c.fatal(c.b.db.Apply(c.batch, pebble.NoSync))
		c.fatal(c.batch.Close())
		g.batch = nil
	}
	c.batch = nil
	c.publish()
	for _, r := range c.soon {
		r.answer()
	}
	clear(c.soon)
	c.soon = c.soon[:0]
	if sync {
		c.late, c.told = nil, nil
		c.b.groups <- g
	}
	c.tidy()
}

// write puts into the Pebble batch what the group has changed.
func (c *committer) write() {
	for _, g := range c.gone {
		c.collect(g)
	}
	clear(c.gone)
	c.gone, c.goneMark = c.gone[:0], 0
	for _, o := range c.dirty {
		c.writeObject(o)
	}
	c.writeAlarms()
	c.writeLogs()
	c.writeCounters()
	if c.reserve {
		c.set(markNumber, binary.AppendUvarint(nil, c.reserved))
		c.reserve = false
	}
}

func (c *committer) writeObject(o *object) {
	c.writes[c.slot(o.id)] = c.no
	if o.overlaid {
		if o.kind == kindRecord {
			c.fatal(c.openFields(o))
		}
		o.overlaid = false
		c.colder = append(c.colder, o.id)
	}
	h := header{kind: o.kind, live: o.live, liveAt: o.liveAt, expires: o.expires, stamp: c.no}
	if o.lease != nil {
		h.leased, h.occupied = true, o.lease.group == ""
	}
	c.writeIndexes(o, &h)
	c.keyBuf = appendKey(c.keyBuf[:0], o.id)
	if o.kind == kindNone && !o.live {
		if o.onDisk {
			c.fatal(c.batch.Delete(c.keyBuf, nil))
		}
		o.disk, o.onDisk = header{}, false
		return
	}
	c.valBuf = h.append(c.valBuf[:0])
	c.writeBody(o)
	c.keyBuf = appendKey(c.keyBuf[:0], o.id)
	c.set(c.keyBuf, c.valBuf)
	o.disk, o.onDisk = h, true
}

// writeBody appends to valBuf what is under the key.
func (c *committer) writeBody(o *object) {
	switch o.kind {
	case kindRecord:
		if !o.open {
			c.valBuf = append(c.valBuf, o.body...)
			return
		}
		start := len(c.valBuf)
		c.valBuf = appendFields(c.valBuf, o.fields)
		o.body = c.keep(c.valBuf[start:])
	case kindList:
		head := append([]byte(nil), c.valBuf...)
		c.writeList(o.list)
		c.valBuf = o.list.append(append(c.valBuf[:0], head...))
	case kindSet:
		c.writeSet(o.set)
		c.valBuf = o.set.append(c.valBuf)
	}
}

// writeIndexes brings the indexes by instant up to date.
func (c *committer) writeIndexes(o *object, h *header) {
	if d := &o.disk; d.expires != h.expires {
		if d.expires != 0 {
			c.keyBuf = appendTimed(c.keyBuf[:0], nsExpiry, d.expires, o.id)
			c.fatal(c.batch.SingleDelete(c.keyBuf, nil))
		}
		if h.expires != 0 {
			c.keyBuf = appendTimed(c.keyBuf[:0], nsExpiry, h.expires, o.id)
			c.set(c.keyBuf, nil)
			c.ends = min(c.ends, h.expires)
		}
	}
	if d := &o.disk; d.live != h.live || d.liveAt != h.liveAt {
		if d.live {
			c.keyBuf = appendLive(c.keyBuf[:0], o.id.space, d.liveAt, o.id.name)
			c.fatal(c.batch.SingleDelete(c.keyBuf, nil))
		}
		if h.live {
			c.keyBuf = appendLive(c.keyBuf[:0], o.id.space, h.liveAt, o.id.name)
			c.set(c.keyBuf, nil)
			if at, ok := c.lived[o.id.space]; !ok || h.liveAt < at {
				c.lived[o.id.space] = h.liveAt
			}
		}
	}
}

func (c *committer) writeCounters() {
	for id, n := range c.counters {
		c.keyBuf = appendNamed(c.keyBuf[:0], nsCounter, id)
		c.valBuf = binary.AppendVarint(c.valBuf[:0], n)
		c.set(c.keyBuf, c.valBuf)
	}
	clear(c.counters)
}

// keep copies bytes that are used as long as some object lives.
func (c *committer) keep(v []byte) []byte {
	var kept []byte
	c.arena, kept = keep(c.arena, v)
	return kept
}

// publish makes known what is in the store now.
func (c *committer) publish() {
	b := c.b
	b.hot.update(c.hotter, c.colder)
	clear(c.hotter)
	c.hotter, c.colder = c.hotter[:0], c.colder[:0]
	b.applied.Store(c.no)
	for _, at := range c.rung {
		b.alarms.add(at)
	}
	c.rung = c.rung[:0]
	if len(c.lived) > 0 {
		b.lives.add(c.lived)
		clear(c.lived)
	}
	if c.ends != math.MaxInt64 {
		b.expiries.add(c.ends)
		c.armExpiry(c.ends)
		c.ends = math.MaxInt64
	}
}

// Bounds of what is kept in memory without being leased.
const (
	lineObjects = 8 << 10
	lineMax     = 32 << 20 // bytes
)

// tidy gives back what the group does not need any more.
func (c *committer) tidy() {
	for _, o := range c.touched {
		c.closeFields(o)
		if o.list != nil {
			o.shrink(c.windowRoom(o))
		}
		switch {
		case o.lease != nil && o.lease.asked || o.line:
		case o.cool == c.no || !o.onDisk:
			c.evict(o)
		default:
			o.line, o.used, o.cost = true, false, o.weight()
			c.line.pushRight(o)
			c.lineBytes += o.cost
		}
	}
	clear(c.touched)
	clear(c.dirty)
	c.touched, c.dirty = c.touched[:0], c.dirty[:0]
	for c.line.n > 0 && (c.line.n > lineObjects || c.lineBytes > lineMax) {
		c.shorten()
	}
}

func (o *object) weight() int {
	n := 300 + len(o.body) + 100*len(o.fields)
	if o.list != nil {
		n += 64 * o.list.window.n
	}
	return n
}

// shorten takes the object at the head of the line out of memory, unless it
// was used since it stands there.
func (c *committer) shorten() {
	o := c.line.at(0)
	*c.line.slot(0) = nil
	c.line.skipLeft(1)
	c.lineBytes -= o.cost
	o.line = false
	switch {
	case c.objects[o.id] != o || o.lease != nil && o.lease.asked:
	case o.used:
		o.line, o.used, o.cost = true, false, o.weight()
		c.line.pushRight(o)
		c.lineBytes += o.cost
	default:
		c.evict(o)
	}
}

func (c *committer) evict(o *object) {
	delete(c.objects, o.id)
	if o.line {
		o.body, o.list, o.set, o.fields = nil, nil, nil, nil
		return
	}
	if len(c.spare) < 4096 {
		c.spare = append(c.spare, o)
	}
}
