package pebbleboard

import (
	"context"
	"encoding/binary"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file has alarms and the instants at which keys end. Both lie in an
// index by instant; only the earliest matters, and that is searched for from
// a frontier on.

// alarm is one alarm in the group at work.
type alarm struct {
	set   bool
	at    int64
	disk  bool // as it is in the store
	dates int64
}

// alarmSave is an alarm before a batch.
type alarmSave struct {
	a   *alarm
	was alarm
}

func (c *committer) alarm(id ident) (*alarm, error) {
	if a := c.alarms[id]; a != nil {
		return a, nil
	}
	at, set, err := c.b.alarmAt(id)
	if err != nil {
		return nil, err
	}
	a := &alarm{set: set, at: at, disk: set, dates: at}
	c.alarms[id] = a
	return a, nil
}

func (b *Board) alarmAt(id ident) (at int64, set bool, err error) {
	v, closer, err := b.db.Get(appendNamed(nil, nsAlarm, id))
	if err == pebble.ErrNotFound {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, b.readError(err)
	}
	defer closer.Close()
	at, n := binary.Varint(v)
	if n <= 0 {
		return 0, false, b.readError(errCorrupt)
	}
	return at, true, nil
}

func (c *committer) putAlarm(id ident, set bool, at int64) error {
	a, err := c.alarm(id)
	if err != nil {
		return err
	}
	c.alarmSaves = append(c.alarmSaves, alarmSave{a, *a})
	a.set, a.at = set, at
	return nil
}

func (c *committer) undoAlarms() {
	for i := len(c.alarmSaves) - 1; i >= 0; i-- {
		*c.alarmSaves[i].a = c.alarmSaves[i].was
	}
}

// writeAlarms writes what the group changed of alarms.
func (c *committer) writeAlarms() {
	for id, a := range c.alarms {
		if a.set == a.disk && (!a.set || a.at == a.dates) {
			continue
		}
		if a.disk {
			c.keyBuf = appendTimed(c.keyBuf[:0], nsDue, a.dates, id)
			c.fatal(c.batch.SingleDelete(c.keyBuf, nil))
		}
		c.keyBuf = appendNamed(c.keyBuf[:0], nsAlarm, id)
		if !a.set {
			c.fatal(c.batch.Delete(c.keyBuf, nil))
			continue
		}
		c.valBuf = binary.AppendVarint(c.valBuf[:0], a.at)
		c.set(c.keyBuf, c.valBuf)
		c.keyBuf = appendTimed(c.keyBuf[:0], nsDue, a.at, id)
		c.set(c.keyBuf, nil)
		c.rung = append(c.rung, a.at)
	}
	clear(c.alarms)
}

// Due implements [board.Board].
func (b *Board) Due(ctx context.Context, limit int, wait time.Duration) ([]board.Alarm, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d alarms, want 1 or more", limit)
	}
	var out []board.Alarm
	err := b.await(ctx, wait, func(now int64) (look, error) {
		s := b.alarms.begin()
		first := int64(math.MaxInt64)
		next, err := b.timed(nsDue, s.from, now, func(at int64, id ident) bool {
			first = min(first, at)
			out = append(out, board.Alarm{Space: id.space, Name: id.name, At: time.UnixMilli(at)})
			return len(out) < limit
		})
		if err == nil {
			s.found(min(first, next))
		}
		if err != nil || len(out) > 0 {
			s.end()
			return look{found: true}, err
		}
		return look{in: between(now, next), wake: s.before(next), end: s.end}, nil
	})
	return out, err
}

// timed calls f for the entries of an index by instant from one instant to
// another, and returns the instant of the first later one (math.MaxInt64:
// there is none, or f has ended the walk).
func (b *Board) timed(ns byte, from, to int64, f func(at int64, id ident) bool) (next int64, err error) {
	it, err := b.db.NewIter(&pebble.IterOptions{LowerBound: appendOrdered([]byte{ns}, from), UpperBound: []byte{ns + 1}})
	if err != nil {
		return 0, b.readError(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		at, id := timed(it.Key())
		if at > to {
			return at, nil
		}
		if !f(at, id) {
			break
		}
	}
	return math.MaxInt64, b.readError(it.Error())
}

// AlarmOf implements [board.Board].
func (b *Board) AlarmOf(ctx context.Context, space board.Space, name string) (time.Time, bool, error) {
	if err := b.enter(ctx); err != nil {
		return time.Time{}, false, err
	}
	defer b.leave()
	at, set, err := b.alarmAt(ident{space, name})
	if !set || err != nil {
		return time.Time{}, false, err
	}
	return time.UnixMilli(at), true, nil
}

// sweepKeys bounds how many keys one group lets expire.
const sweepKeys = 512

// expireDue removes keys whose time has run out, and sets the timer for the
// next. It runs in the committer.
func (c *committer) expireDue() error {
	c.expiryAt = 0
	s := c.b.expiries.begin()
	defer s.end()
	first, n := int64(math.MaxInt64), 0
	next, err := c.b.timed(nsExpiry, s.from, c.now, func(at int64, id ident) bool {
		first = min(first, at)
		n++
		o, err := c.object(id.space, id.name) // reading it removes it
		if err != nil {
			return true
		}
		if o.disk.expires != at && o.expires != at { // left over: nobody else takes it away
			c.keyBuf = appendTimed(c.keyBuf[:0], nsExpiry, at, id)
			c.fatal(c.batch.Delete(c.keyBuf, nil))
		}
		return n < sweepKeys
	})
	if err != nil {
		return err // the next key that is to end sets the timer again
	}
	s.found(min(first, next))
	if n > 0 {
		next = c.now // what is gone now leaves the index with this group: look again after it
	}
	c.armExpiry(next)
	return nil
}

// armExpiry sets the timer for the next key that is to end.
func (c *committer) armExpiry(at int64) {
	if at == math.MaxInt64 || c.expiryAt != 0 && c.expiryAt <= at {
		return
	}
	c.expiryAt = at
	d := time.Duration(at-c.b.clock.now()) * time.Millisecond
	if c.expiry == nil {
		c.expiry = time.AfterFunc(d, c.b.expireNow)
		return
	}
	c.expiry.Reset(d)
}

func (b *Board) expireNow() {
	b.post(&request{call: (*committer).expireDue})
}
