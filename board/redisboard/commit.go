package redisboard

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Bounds of one call of the commit script: how long other clients of the
// server wait behind it, some milliseconds at most.
const (
	maxFlight      = 256     // batches
	maxFlightBytes = 1 << 19 // of encoded batches; one larger batch goes alone
	maxFlying      = 2       // calls at once: one is written while one is applied
)

// unit is batches of one caller that go to the server together.
type unit struct {
	packed  []string // the batches encoded
	batches []*board.Batch
	bytes   int
	groups  []string // queue groups that are pushed to
	errs    []error
	done    chan struct{} // closed when errs is filled
	left    atomic.Bool   // the caller is gone: do not send it any more
}

// flights are the calls of the commit script. Who comes while maxFlying are
// under way waits, and goes with all others who wait by then.
type flights struct {
	mu     sync.Mutex
	flying int
	queue  []*unit
}

// encoders keeps the encoders' buffers.
var encoders = sync.Pool{New: func() any { return new(encoder) }}

// Commit implements [board.Board].
func (b *Board) Commit(ctx context.Context, batch board.Batch) error {
	if err := b.checkBatch(ctx, &batch); err != nil {
		return err
	}
	u := &unit{errs: make([]error, 1)}
	enc := b.encoder()
	u.add(enc, &batch)
	encoders.Put(enc)
	if err := b.submit(ctx, u); err != nil {
		return err
	}
	return u.errs[0]
}

func (b *Board) checkBatch(ctx context.Context, batch *board.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := batch.Check(); err != nil {
		return err
	}
	return b.checkSpace(batch.Space)
}

func (b *Board) encoder() *encoder {
	enc := encoders.Get().(*encoder)
	enc.b = b
	return enc
}

// add encodes one more batch into the unit.
func (u *unit) add(enc *encoder, batch *board.Batch) {
	enc.out = make([]byte, 0, enc.guess())
	enc.batch(batch)
	u.packed = append(u.packed, rueidis.BinaryString(enc.out))
	u.batches = append(u.batches, batch)
	u.bytes += len(enc.out)
	u.groups = append(u.groups, enc.groups...)
	enc.out = nil
}

// CommitEach implements [board.Board].
func (b *Board) CommitEach(ctx context.Context, batches []board.Batch) []error {
	errs := make([]error, len(batches))
	enc := b.encoder()
	defer encoders.Put(enc)
	u := &unit{}
	var places []int
	send := func() {
		if len(u.batches) == 0 {
			return
		}
		u.errs = make([]error, len(u.batches))
		err := b.submit(ctx, u)
		for i, place := range places {
			if errs[place] = err; err == nil {
				errs[place] = u.errs[i]
			}
		}
		u, places = &unit{}, places[:0]
	}
	for i := range batches {
		if errs[i] = b.checkBatch(ctx, &batches[i]); errs[i] != nil {
			continue
		}
		u.add(enc, &batches[i])
		places = append(places, i)
		if len(u.batches) == maxFlight || u.bytes >= maxFlightBytes {
			send()
		}
	}
	send()
	return errs
}

// submit has a unit committed: at once where few calls are under way, else
// with the next that goes.
//
// Errors: the context's own; then the unit may or may not be applied.
func (b *Board) submit(ctx context.Context, u *unit) error {
	if !b.begin() {
		return errClosed()
	}
	defer b.calls.Done()
	f := &b.flights
	f.mu.Lock()
	if f.flying < maxFlying {
		f.flying++
		f.mu.Unlock()
		b.fly(ctx, []*unit{u})
		b.land()
		return nil
	}
	u.done = make(chan struct{})
	f.queue = append(f.queue, u)
	f.mu.Unlock()
	select {
	case <-u.done:
		return nil
	case <-ctx.Done():
		u.left.Store(true)
		return ctx.Err()
	}
}

// land ends a call and begins the next if somebody waits.
func (b *Board) land() {
	f := &b.flights
	f.mu.Lock()
	group := f.board()
	if group == nil {
		f.flying--
		f.mu.Unlock()
		return
	}
	f.mu.Unlock()
	b.calls.Add(1) // who waits has one of its own: Close has not passed
	go func() {
		defer b.calls.Done()
		b.fly(context.Background(), group)
		b.land()
	}()
}

// board takes those who go next.
func (f *flights) board() []*unit {
	n, batches, bytes := 0, 0, 0
	for _, u := range f.queue {
		if n > 0 && (batches+len(u.batches) > maxFlight || bytes+u.bytes > maxFlightBytes) {
			break
		}
		n, batches, bytes = n+1, batches+len(u.batches), bytes+u.bytes
	}
	if n == 0 {
		return nil
	}
	group := f.queue[:n:n]
	f.queue = f.queue[n:]
	return group
}

// fly makes one call for some units and fills in their errors.
func (b *Board) fly(ctx context.Context, group []*unit) {
	var packed, groups []string
	var batches []*board.Batch
	var aboard []*unit
	for _, u := range group {
		if u.left.Load() {
			continue
		}
		aboard = append(aboard, u)
		packed, batches, groups = append(packed, u.packed...), append(batches, u.batches...), append(groups, u.groups...)
	}
	errs := make([]error, len(batches))
	err := b.exec(ctx, packed, batches, errs, b.line.escort(groups))
	if len(batches) > 1 && errors.Is(err, domain.ErrExhausted) {
		b.oneByOne(ctx, packed, batches, errs)
		err = nil
	}
	for _, u := range aboard {
		for i := range u.errs {
			if u.errs[i] = err; err == nil {
				u.errs[i] = errs[i]
			}
		}
		errs = errs[len(u.errs):]
		if u.done != nil {
			close(u.done)
		}
	}
}

// oneByOne is for a server that has refused a call for want of memory: what
// frees memory among the batches must not fail with what needs it.
func (b *Board) oneByOne(ctx context.Context, packed []string, batches []*board.Batch, errs []error) {
	for i := range batches {
		if err := b.exec(ctx, packed[i:i+1], batches[i:i+1], errs[i:i+1], nil); err != nil {
			errs[i] = err
		}
	}
}

// exec runs the script and reads what it says about each batch. A claim that
// waits for what the batches push goes with it: so it has its answer with the
// commit's, and not one more way to the server and back later.
func (b *Board) exec(ctx context.Context, packed []string, batches []*board.Batch, errs []error, w *waiter) error {
	if len(batches) == 0 {
		w.serve(nil, time.Time{})
		return nil
	}
	args := b.args(b.name, patched(packed)...)
	var result rueidis.RedisResult
	if w == nil {
		result = b.call(ctx, commitScript, args)
	} else {
		result = b.execBoth(ctx, args, w)
	}
	answer, err := result.ToString()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	if err != nil {
		return b.translate(err)
	}
	u := unpacker{in: answer}
	u.array()
	for n := u.array() / 2; n > 0; n-- {
		i := u.int()
		text, guard := u.value()
		if i < 0 || int(i) >= len(errs) {
			break
		}
		errs[i] = verdict(batches[i], text, int(guard))
	}
	for n := u.array() / 2; n > 0; n-- {
		group := u.string()
		b.line.wake(group, int(u.int()))
	}
	if earliest, _ := u.value(); earliest != "" {
		b.alarmSet.fire()
	}
	if u.err != nil {
		return domain.Unavailablef("redis at %s: %v", b.addr, u.err)
	}
	return nil
}

// execBoth has a commit and a claim executed, one after the other.
func (b *Board) execBoth(ctx context.Context, args []string, w *waiter) rueidis.RedisResult {
	sent := time.Now()
	// The claim is not its caller's to interrupt any more: what it leases must reach somebody.
	rs := b.client.DoMulti(context.WithoutCancel(ctx), commitScript.byHash(b.client.B(), args),
		claimScript.byHash(b.client.B(), b.args("", w.packed)))
	if isUnknown(rs[0]) {
		rs[0] = b.load(ctx, commitScript, args, b.facts.Load().durability)
	}
	answer, _ := rs[1].ToArray() // after an error the waiter asks for itself
	w.serve(answer, sent)
	return rs[0]
}

// verdict is the error of a refused batch: a text, or the number of a guard.
func verdict(batch *board.Batch, text string, guard int) error {
	if key, ok := strings.CutPrefix(text, "\x00"); ok {
		return domain.Invalidf("%q is not a record", key)
	}
	if text != "" || guard < 0 || guard >= len(batch.Guards) {
		return domain.Invalidf("%s", text)
	}
	return &board.GuardError{Index: guard, Guard: batch.Guards[guard]}
}
