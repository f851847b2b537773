package memboard

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// Commit implements [board.Board].
func (b *Board) Commit(ctx context.Context, batch board.Batch) error {
	if err := batch.Check(); err != nil {
		return err
	}
	now, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	return b.commit(&batch, now)
}

// CommitEach implements [board.Board].
func (b *Board) CommitEach(ctx context.Context, batches []board.Batch) []error {
	errs := make([]error, len(batches))
	now, err := b.lock(ctx)
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	defer b.mu.Unlock()
	for i := range batches {
		if errs[i] = batches[i].Check(); errs[i] == nil {
			errs[i] = b.commit(&batches[i], now)
		}
	}
	return errs
}

func (b *Board) commit(batch *board.Batch, now int64) error {
	t := tx{b: b, s: b.space(batch.Space), now: now}
	for i := range batch.Guards {
		if err := t.guard(i, &batch.Guards[i]); err != nil {
			return err
		}
	}
	for i := range batch.Ops {
		if err := t.apply(&batch.Ops[i]); err != nil {
			t.undo()
			return err
		}
	}
	t.settle()
	if len(batch.Ops) > 0 {
		b.recent.Note(batch.Space)
	}
	b.armExpiry(now)
	return nil
}

// tx is one batch being applied.
type tx struct {
	b       *Board
	s       *space
	now     int64
	back    []func() // how to take back each step, in order of the steps
	changed []string // keys, for watchers, queues and limits
	freed   bool     // a claimed lease has ended
}

func (t *tx) journal(back func()) { t.back = append(t.back, back) }

func (t *tx) change(key string) {
	if n := len(t.changed); n == 0 || t.changed[n-1] != key {
		t.changed = append(t.changed, key)
	}
}

func (t *tx) undo() {
	for _, back := range slices.Backward(t.back) {
		back()
	}
}

// settle does what follows from an applied batch: it tells watchers, keeps
// the ready index, takes up new limits, and serves those who wait.
func (t *tx) settle() {
	for _, key := range t.changed {
		t.b.watchers.Tell(t.s.id, key)
		if queue.Is(key) {
			t.b.account(t.s, key)
		}
		if key == board.LimitsKey {
			t.s.turns.Limits = readLimits(t.s.entries[key])
			t.freed = true
		}
	}
	if t.freed {
		t.b.unpark(t.s, t.now)
	}
	for _, key := range t.changed {
		if queue.Is(key) {
			t.b.serve(t.b.groups[queue.Group(key)], t.now)
		}
	}
}

// guard checks a guard against the state before the batch.
func (t *tx) guard(i int, g *board.Guard) error {
	holds := false
	l := t.s.leases[g.Key]
	switch g.Kind {
	case board.GuardAbsent:
		holds = t.s.entries[g.Key] == nil
	case board.GuardEqual:
		e, err := t.s.lookup(g.Key, board.KindRecord)
		if err != nil {
			return err
		}
		holds = e == nil && g.Value == "" || e != nil && e.rec.get(g.Field) == g.Value
	case board.GuardHeld:
		holds = l != nil && l.owner == g.Value && l.token == g.N
	case board.GuardLapsed:
		holds = l != nil && l.token == g.N && l.until <= t.now
	case board.GuardAlarm:
		at, set := t.s.alarms[g.Key]
		holds = set && at == g.N
	case board.GuardFree:
		holds = l == nil || l.until <= t.now
	case board.GuardLength, board.GuardItem:
		e, err := t.s.lookup(g.Key, board.KindList)
		if err != nil {
			return err
		}
		holds = e.holds(g)
	default:
		return domain.Invalidf("%s", g)
	}
	if !holds {
		return &board.GuardError{Index: i, Guard: *g}
	}
	return nil
}

// holds reports whether the guard's length or item is that of a list; nil has
// no items.
func (e *entry) holds(g *board.Guard) bool {
	n := int64(0)
	if e != nil {
		n = int64(e.list.n)
	}
	if g.Kind == board.GuardLength {
		return g.N == n
	}
	i := g.N
	if i < 0 {
		i += n
	}
	return i >= 0 && i < n && e.list.at(int(i)) == g.Value
}

func (t *tx) apply(o *board.Op) error {
	switch o.Kind {
	case board.OpSet:
		return t.set(o.Key, o.Fields)
	case board.OpUnset:
		return t.unset(o.Key, o.Items...)
	case board.OpDelete:
		t.remove(o.Key)
	case board.OpAdd:
		_, err := t.add(o.Key, o.Field, o.N)
		return err
	case board.OpPushLeft:
		return t.pushLeft(o.Key, o.Items)
	case board.OpPushRight:
		return t.pushRight(o.Key, o.Items)
	case board.OpDrop:
		return t.drop(o.Key, o.N, o.Items)
	case board.OpTrimRight, board.OpTrimLeft:
		return t.trim(o.Key, o.N, o.Kind == board.OpTrimLeft)
	case board.OpAppend:
		return t.append(o.Key, o.N, o.Items)
	case board.OpInclude:
		return t.include(o.Key, o.Items)
	case board.OpExclude:
		return t.exclude(o.Key, o.Items)
	case board.OpSetAlarm:
		t.setAlarm(o.Key, o.N)
	case board.OpClearAlarm:
		t.clearAlarm(o.Key)
	case board.OpRelease:
		return t.release(o.Key)
	case board.OpExpire:
		t.expire(o.Key, o.N)
	case board.OpLive:
		t.mark(o.Key, func() { t.s.setMark(o.Key, o.N) })
	case board.OpSettle:
		t.mark(o.Key, func() { t.s.dropMark(o.Key) })
	case board.OpCountdown:
		return t.countdown(o)
	default:
		return domain.Invalidf("unknown operation %d on %q", o.Kind, o.Key)
	}
	return nil
}

// countdown implements [board.OpCountdown].
func (t *tx) countdown(o *board.Op) error {
	if e, err := t.s.lookup(o.Key, board.KindRecord); e == nil {
		return err
	}
	n, err := t.add(o.Key, o.Field, -1)
	if err != nil || n != 0 {
		return err
	}
	if err := t.set(o.Key, o.Fields); err != nil {
		return err
	}
	return t.pushRight(o.List, o.Items)
}

func (t *tx) add(key, field string, n int64) (int64, error) {
	e, err := t.s.lookup(key, board.KindRecord)
	if err != nil {
		return 0, err
	}
	var old int64
	if e != nil {
		if old, err = e.rec.number(key, field); err != nil {
			return 0, err
		}
	}
	if n > 0 && old > math.MaxInt64-n || n < 0 && old < math.MinInt64-n {
		return 0, domain.Invalidf("field %q of %q is %d: adding %d leaves 64 bits", field, key, old, n)
	}
	return old + n, t.set(key, []board.Field{{Name: field, Value: strconv.FormatInt(old+n, 10)}})
}
