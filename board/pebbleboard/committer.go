package pebbleboard

import (
	"hash/maphash"
	"math"
	"runtime/debug"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/turn"
)

// committer is the one goroutine that changes the board. It works in groups:
// all requests that wait become one Pebble batch.
type committer struct {
	b     *Board
	batch *pebble.Batch // of the group
	now   int64         // Unix ms, of the group
	tick  int64         // the same by the clock of leases; see clock
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

	// near is the chunk of list nearList that a guard of the batch has read last:
	// guards on several items of a list are often on neighbours.
	near     chunk
	nearList uint64

	batchNo    uint64 // counts board batches
	saves      []saved
	listSaves  []list
	steps      []step
	alarmSaves []alarmSave
	gone       []garbage
	goneMark   int // of gone, where the batch began

	alarms map[ident]*alarm

	spaces    map[board.Space]*turn.Space
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
	// stirred are the spaces in which batches were committed.
	stirred []board.Space

	soon    []*request // answered when the group is in the store
	late    []*request // answered when it is durable
	partial bool       // the group has a part of a request
	telling bool       // tellLater has set its timer
	tellNow bool       // its time has come

	expiry   *time.Timer
	expiryAt int64 // Unix ms; 0: not set

	keyBuf, valBuf, arena []byte
	fieldBufs             [][]board.Field
}

func newCommitter(b *Board) *committer {
	return &committer{
		b: b, objects: map[ident]*object{}, aheads: map[ident]aheadRecord{}, alarms: map[ident]*alarm{},
		spaces: map[board.Space]*turn.Space{}, groups: map[string]*group{},
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
	if !c.b.stopped() {
		c.begin() // for numbers that were given out since
		c.end()
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
		c.b.log.Error("committer stopped", "err", r, "stack", string(debug.Stack()))
		c.b.fail(r)
	default:
		c.b.log.Error("committer stopped", "err", r, "stack", string(debug.Stack()))
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
	c.now, c.tick = c.b.clock.now(), c.b.clock.tick()
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

// tell notes for watchers that a key has changed, also while there are none:
// one that opens before the change can be read must still hear of it.
func (c *committer) tell(id ident) { c.told = append(c.told, id) }

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
	sync := len(c.late) > 0 || c.partial || c.tellNow
	if c.tellNow && c.batch.Empty() {
		c.fatal(c.batch.LogData([]byte{0}, nil)) // something to wait for
	}
	c.partial, c.tellNow = false, false
	g := &written{batch: c.batch}
	if sync {
		g.answers, c.late = c.late, nil
	}
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
	switch {
	case !c.b.watchers.Any(): // who opens a watch now reads all this
		clear(c.told)
		c.told = c.told[:0]
	case sync:
		g.told, c.told = c.told, nil
	case len(c.told) > 0:
		c.tellLater()
	}
	for _, r := range c.soon {
		r.answer()
	}
	clear(c.soon)
	c.soon = c.soon[:0]
	if sync {
		c.b.groups <- g
	}
	c.tidy()
}

// tellWait is how long watchers wait for a change that nobody else waits for.
// Mostly a commit comes before, and the disk is asked once for both: a claim
// is followed by a finish.
const tellWait = 2 * time.Millisecond

// tellLater keeps what watchers are to be told for the next group that goes to
// the disk, and sees to it that there is one.
func (c *committer) tellLater() {
	if c.telling {
		return
	}
	c.telling = true
	time.AfterFunc(tellWait, func() {
		c.b.post(&request{call: func(c *committer) error {
			c.telling, c.tellNow = false, len(c.told) > 0
			return nil
		}})
	})
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
	for _, s := range c.stirred {
		b.recent.Note(s)
	}
	c.stirred = c.stirred[:0]
	if c.ends != math.MaxInt64 {
		b.expiries.add(c.ends)
		c.armExpiry(c.ends)
		c.ends = math.MaxInt64
	}
}
