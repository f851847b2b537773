package etcdboard

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// This file has the board's clock, by which alarms come and keys expire. etcd has none
// to ask, and nodes' clocks need not agree. So each node writes every few seconds what
// its clock says, under a key of its own, and takes the middle one of all it has heard
// for the board's: what most nodes are right about is right, and one that is an hour off
// goes by the others. Of an even number it is the earlier of the two in the middle:
// nothing comes too early then, and both sides take the same. A node within a second of
// that goes by its own clock.
//
// What a clock said is counted on by the time since it was heard, which nobody sets. A
// word that was long on its way says too little: the most of the last few counts.
//
// A node that opens the board waits for a word from each whose key is there, which they
// give as soon as they hear of a new one: it goes by their time from the first alarm on. It
// waits a short time, for whoever was killed says nothing. But where the last word of a key
// is far from its own clock, it waits until that node must be dead: else one that is a year
// ahead, and comes while the others stand still for some seconds, would remove all that
// expires.
//
// A command has no say: it comes from any machine, and is gone before anybody could hold by
// what it has said. It writes no key, but asks for a word.

// clockName begins the keys under which nodes write what their clocks say.
const clockName = "~clock/"

// clockAsk is the name, and the value, of the one key under it by which who has no say asks
// for a word of each node. It is left where it is.
const clockAsk = "?"

const (
	// clockEvery is how often a node says what its clock says.
	clockEvery = 10 * time.Second
	// clockSilence is for how long the clock of a node counts that says nothing.
	clockSilence = 3 * clockEvery
	// clockForgotten is after how long its key is taken away. A clock that is further than that
	// from the last word of a key is wrong, or that node is long dead.
	clockForgotten = 10 * time.Minute
	// clocksAgree is by how much a clock may be off without being wrong.
	clocksAgree = time.Second
	// clockWords is of how many words the one counts that was on its way the shortest.
	clockWords = 3
)

// clockOldest is what every clock that somebody has set is past, in Unix ms: a machine whose
// battery is empty begins in 1970, or when its firmware was made. Such a one has no say.
var clockOldest = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

// said is what a clock said, and when it was heard.
type said struct {
	at    int64     // Unix ms
	heard time.Time // by a clock that nobody sets
}

// clocks are what the nodes' clocks say. All but the board's is guarded by Board.mu.
type clocks struct {
	skew    time.Duration // of the machine's clock, in tests
	silence time.Duration // clockSilence, unless in tests
	mute    bool          // the machine's clock has no say where another has
	born    time.Time     // ticks are counted from it
	others  map[string]*otherClock
	boards  atomic.Pointer[said]
}

// otherClock is that of another node.
type otherClock struct {
	mod   int64   // the revision of its last word
	word  int64   // that word, in Unix ms
	heard int64   // the tick at which that came
	ahead []int64 // by how many ms it is ahead of our ticks, by its last words; none: we only know of it
}

func newClocks() *clocks {
	return &clocks{born: time.Now(), others: map[string]*otherClock{}}
}

// machine is this machine's clock, in Unix milliseconds.
func (c *clocks) machine() int64 { return time.Now().Add(c.skew).UnixMilli() }

// tick is the milliseconds of this board's life, whatever is done to the machine's clock.
func (c *clocks) tick() int64 { return time.Since(c.born).Milliseconds() }

// now is the board's clock, in Unix milliseconds.
func (c *clocks) now() int64 {
	b := c.boards.Load()
	return b.at + time.Since(b.heard).Milliseconds()
}

// settle finds the board's clock anew, and by how much it was set.
func (c *clocks) settle() (set time.Duration) {
	tick, own, heard := c.tick(), c.machine(), time.Now()
	var all []int64
	for _, o := range c.others {
		if len(o.ahead) > 0 && tick-o.heard <= c.silence.Milliseconds() {
			all = append(all, slices.Max(o.ahead)+tick)
		}
	}
	if !c.mute || len(all) == 0 {
		all = append(all, own)
	}
	if set := slices.DeleteFunc(slices.Clone(all), func(at int64) bool { return at < clockOldest }); len(set) > 0 {
		all = set
	}
	at := boardsTime(own, all)
	if was := c.boards.Load(); was != nil {
		set = time.Duration(at-c.now()) * time.Millisecond
	}
	c.boards.Store(&said{at, heard})
	return set
}

// boardsTime is what all clocks together say, for a node with a clock of its own.
func boardsTime(own int64, all []int64) int64 {
	slices.Sort(all)
	middle := all[(len(all)-1)/2]
	if (time.Duration(middle-own) * time.Millisecond).Abs() <= clocksAgree {
		return own
	}
	return middle
}

// hear is told of a clock's key as etcd has it; live: its node has just written it. It is
// called under the mutex.
func (b *Board) hear(kv *mvccpb.KeyValue, gone, live bool) {
	name := strings.TrimPrefix(string(kv.Key), b.prefix+clockName)
	if name == clockAsk {
		if live {
			b.sayTime()
		}
		return
	}
	if gone {
		delete(b.clocks.others, name)
		b.settleClock()
		return
	}
	at, err := strconv.ParseInt(string(kv.Value), 10, 64)
	if err != nil {
		return // no node of ours wrote it
	}
	if name == b.clockID() {
		b.settleClock() // what others have said before has been heard
		return
	}
	o := b.clocks.others[name]
	if o == nil {
		o = &otherClock{}
		b.clocks.others[name] = o
	}
	if o.mod == kv.ModRevision {
		return
	}
	tick := b.clocks.tick()
	first := len(o.ahead) == 0
	o.mod, o.word, o.heard = kv.ModRevision, at, tick
	if !live {
		return // nobody knows when it was said
	}
	if o.ahead = append(o.ahead, at-tick); len(o.ahead) > clockWords {
		o.ahead = o.ahead[1:]
	}
	if first || b.passing { // whoever is passing hears no word of its own by which to do it
		b.settleClock()
	}
	if first {
		b.sayTime() // it waits for us, too
	}
}

// settleClock finds the board's clock anew, and wakes who waits for alarms where it was set.
func (b *Board) settleClock() {
	if set := b.clocks.settle(); set.Abs() > clocksAgree {
		b.log.Warn("the clocks of the nodes differ, or one was set: the board goes by the middle one; run NTP on all",
			"set_by", set.String(), "ahead_of_this_machine", (time.Duration(b.clocks.now()-b.clocks.machine()) * time.Millisecond).String())
		b.alarmSet.fire()
	}
}

// sayTime has the node say soon what its clock says.
func (b *Board) sayTime() {
	select {
	case b.asked <- struct{}{}:
	default:
	}
}

// clockLoop says again and again what the clock of this node says, until the board is closed.
func (b *Board) clockLoop() {
	for b.closing.Err() == nil {
		select {
		case <-time.After(clockEvery - rand.N(clockEvery/10)):
		case <-b.asked:
		case <-b.closing.Done():
		}
		b.tellTime(b.closing)
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.answer/5)
	defer cancel()
	_, _ = b.client.Delete(ctx, b.clockKey()) // or the others do it, some minutes later
}

func (b *Board) clockKey() string { return b.prefix + clockName + b.clockID() }

// clockID names the clock: it begins with what all lives of the node have in common.
func (b *Board) clockID() string { return b.lives() + b.name }

func (b *Board) lives() string {
	if b.folder == "" {
		return ""
	}
	return b.folder + "."
}

// write writes a key of clocks. A board on which nothing was written yet is left so.
func (b *Board) write(ctx context.Context, key, value string) (done bool) {
	born := b.since()
	if born == 0 {
		return false
	}
	_, err := b.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(b.prefix+headName), "=", born)).
		Then(clientv3.OpPut(key, value)).
		Commit()
	if err != nil {
		b.log.Debug("what the clock says was not told", "err", b.translate(err))
	}
	return err == nil
}

// tellTime writes what the clock says, and takes the keys of those away that are no more.
func (b *Board) tellTime(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, b.answer)
	defer cancel()
	if !b.write(ctx, b.clockKey(), strconv.FormatInt(b.clocks.machine(), 10)) {
		return
	}
	for name, mod := range b.forgotten() {
		_ = b.takeAway(ctx, b.prefix+clockName+name, mod)
	}
}

// beginClock writes what the clock says into a transaction that may be the board's first:
// before that no key of clocks is written, and who opens the board next must know of this one.
func (b *Board) beginClock() []clientv3.Op {
	if b.passing || b.since() != 0 {
		return nil
	}
	return []clientv3.Op{clientv3.OpPut(b.clockKey(), strconv.FormatInt(b.clocks.machine(), 10))}
}

// forgotten are the clocks of nodes that have said nothing for long, with the revisions of
// their last words.
func (b *Board) forgotten() map[string]int64 {
	return b.clocksThat(func(_ string, o *otherClock) bool { return b.clocks.tick()-o.heard > clockForgotten.Milliseconds() })
}

// clocksThat are the clocks of other nodes that are such, with the revisions of their last words.
func (b *Board) clocksThat(are func(name string, o *otherClock) bool) map[string]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := map[string]int64{}
	for name, o := range b.clocks.others {
		if are(name, o) {
			found[name] = o.mod
		}
	}
	return found
}

// agree waits for a word from each node that is known of: for a short time, and for those
// whose last word is far from our clock until they must be dead. Their keys are taken away then.
func (b *Board) agree(ctx context.Context) {
	soon, cancel := context.WithTimeout(ctx, b.answer/5)
	defer cancel()
	if b.passing {
		b.write(soon, b.prefix+clockName+clockAsk, clockAsk)
	} else {
		b.succeed(soon)
		b.tellTime(soon)
	}
	if b.hearAll(soon, func(*otherClock) bool { return true }) || !b.outstanding(b.far) {
		return
	}
	b.log.Warn("the last word of a node is far from this machine's clock: its next one is waited for, until it must be dead", "most", b.clocks.silence.String())
	late, cancel := context.WithTimeout(ctx, b.clocks.silence)
	defer cancel()
	if b.hearAll(late, b.far) || ctx.Err() != nil {
		return
	}
	ctx, cancel = context.WithTimeout(ctx, b.answer)
	defer cancel()
	for name, mod := range b.clocksThat(func(_ string, o *otherClock) bool { return len(o.ahead) == 0 && b.far(o) }) {
		_ = b.takeAway(ctx, b.prefix+clockName+name, mod)
	}
}

// succeed takes the keys of this node's earlier lives away, which it was killed in.
func (b *Board) succeed(ctx context.Context) {
	if b.folder == "" {
		return
	}
	for name, mod := range b.clocksThat(func(name string, _ *otherClock) bool { return strings.HasPrefix(name, b.lives()) }) {
		_ = b.takeAway(ctx, b.prefix+clockName+name, mod)
		b.mu.Lock()
		delete(b.clocks.others, name) // before we hear of it, too: nobody waits for a word of it
		b.mu.Unlock()
	}
}

// hearAll waits for a word from each node of which it matters.
func (b *Board) hearAll(ctx context.Context, matters func(*otherClock) bool) bool {
	return b.until(ctx, func() bool { return !b.silent(matters) }) == nil
}

func (b *Board) outstanding(matters func(*otherClock) bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.silent(matters)
}

// silent reports whether there is a node of which no word was heard, and it matters. It is
// called under the mutex.
func (b *Board) silent(matters func(*otherClock) bool) bool {
	for _, o := range b.clocks.others {
		if len(o.ahead) == 0 && matters(o) {
			return true
		}
	}
	return false
}

// far reports whether the last word of a node is so far from the board's time, as we know it,
// that one of the two is wrong, or the node is long dead. It is called under the mutex.
func (b *Board) far(o *otherClock) bool {
	return (time.Duration(b.clocks.now()-o.word) * time.Millisecond).Abs() > clockForgotten
}
