package etcdboard

import (
	"context"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// leaseStep is how many leases one transaction renews at most.
const leaseStep = 90

// Extend implements [board.Board].
func (b *Board) Extend(ctx context.Context, owner string, ttl time.Duration, held []board.Held) ([]board.Answer, error) {
	if err := board.CheckLease(ttl); err != nil {
		return nil, err
	}
	if err := b.alive(ctx); err != nil {
		return nil, err
	}
	answers := make([]board.Answer, len(held))
	var rs []*request
	for from := 0; from < len(held); from += leaseStep {
		part := held[from:min(from+leaseStep, len(held))]
		r := newRequest(ctx)
		r.judge = func(t *tx) bool {
			for i, h := range part {
				answers[from+i] = t.extendLease(h, owner, ttl)
			}
			return true
		}
		rs = append(rs, &r)
	}
	if err := b.doAll(ctx, rs...); err != nil {
		return nil, err
	}
	return answers, nil
}

func (t *tx) extendLease(h board.Held, owner string, ttl time.Duration) board.Answer {
	n := name{h.Space, h.Item}
	l := t.lease(n)
	if l == nil || l.owner != owner || l.token != h.Token {
		return board.Lost
	}
	t.hold(n, *l, ttl)
	// Not noted: a change of the record does not make the renewal void.
	if rec, _ := t.peek(n.in(roomHead)).(*head); rec != nil && rec.fields.Get(board.FieldCancel) != "" {
		return board.Cancelled
	}
	return board.Renewed
}

// Occupy implements [board.Board].
func (b *Board) Occupy(ctx context.Context, space board.Space, item, owner string, ttl time.Duration) (int64, error) {
	if err := board.CheckLease(ttl); err != nil {
		return 0, err
	}
	if owner == "" {
		return 0, domain.Invalidf("occupy %q without an owner", item)
	}
	if err := new(board.Batch).Delete(item).Check(); err != nil { // holds the key to its limits
		return 0, err
	}
	var token int64
	var refused error
	r := newRequest(ctx)
	r.judge = func(t *tx) bool {
		token, refused = t.occupy(name{space, item}, owner, ttl)
		return true
	}
	if err := b.doAll(ctx, &r); err != nil {
		return 0, err
	}
	return token, refused
}

func (t *tx) occupy(n name, owner string, ttl time.Duration) (int64, error) {
	if _, err := t.lookup(n, kindRecord); err != nil {
		return 0, err
	}
	l := t.lease(n)
	switch {
	case l == nil:
	case l.owner == owner:
		return t.hold(n, *l, ttl).token, nil
	case l.until > t.tick:
		return 0, domain.Conflictf("%q is occupied by %s until %s", n.key, l.owner, t.m.instant(l.until).Format(time.RFC3339))
	}
	h, err := t.own(n, kindRecord)
	if err != nil {
		return 0, err
	}
	if l != nil { // it has run out
		h.unset(board.FieldQueue)
	}
	return t.grant(n, h, owner, "", ttl).token, nil
}

// Void implements [board.Board].
func (b *Board) Void(ctx context.Context, ownerPrefix string) error {
	if err := b.fresh(ctx); err != nil {
		return err
	}
	for more := true; more; {
		r := newRequest(ctx)
		r.judge = func(t *tx) bool {
			more = t.void(ownerPrefix)
			return true
		}
		if err := b.doAll(ctx, &r); err != nil {
			return err
		}
	}
	return nil
}

// void ends some leases, and reports whether there are more.
func (t *tx) void(ownerPrefix string) bool {
	n := 0
	for id, s := range t.m.spaces {
		for item, l := range s.leases {
			if l.until <= t.tick || !strings.HasPrefix(l.owner, ownerPrefix) {
				continue
			}
			if n == leaseStep {
				return true
			}
			key := name{id, item}
			if l = t.lease(key); l != nil { // as it stands in this transaction
				t.hold(key, *l, 0)
				n++
			}
		}
	}
	return false
}

// Expired implements [board.Board].
func (b *Board) Expired(ctx context.Context, limit int, wait time.Duration) ([]board.Lease, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d leases, want 1 or more", limit)
	}
	var out []board.Lease
	err := b.await(ctx, wait, &b.lapsed, b.mirror.tick, func(now int64) (bool, int64) {
		for m := range b.mirror.lapses.All() {
			if m.at > now || len(out) >= limit {
				return len(out) > 0, m.at
			}
			out = append(out, b.mirror.public(m.name, b.mirror.spaces[m.space].leases[m.key]))
		}
		return len(out) > 0, never
	})
	return out, err
}

func (m *mirror) public(n name, l *lease) board.Lease {
	return board.Lease{Space: n.space, Item: n.key, Owner: l.owner, Token: l.token, Until: m.instant(l.until)}
}

// LeaseOf implements [board.Board].
func (b *Board) LeaseOf(ctx context.Context, space board.Space, item string) (found board.Lease, ok bool, err error) {
	n := name{space, item}
	err = b.read(ctx, func(m *mirror, _ int64) error {
		var l *lease
		if l, ok = m.cells[n.in(roomLease)].value.(*lease); ok {
			found = m.public(n, l)
		}
		return nil
	})
	return found, ok, err
}

// Due implements [board.Board].
func (b *Board) Due(ctx context.Context, limit int, wait time.Duration) ([]board.Alarm, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d alarms, want 1 or more", limit)
	}
	var out []board.Alarm
	err := b.await(ctx, wait, &b.alarmSet, b.mirror.now, func(now int64) (bool, int64) {
		for m := range b.mirror.alarms.All() {
			if m.at > now || len(out) >= limit {
				return len(out) > 0, m.at
			}
			out = append(out, board.Alarm{Space: m.space, Name: m.key, At: time.UnixMilli(m.at)})
		}
		return len(out) > 0, never
	})
	return out, err
}

// Now implements [board.Board].
func (b *Board) Now() time.Time { return time.UnixMilli(b.clocks.now()) }

// AlarmOf implements [board.Board].
func (b *Board) AlarmOf(ctx context.Context, space board.Space, key string) (at time.Time, ok bool, err error) {
	err = b.read(ctx, func(m *mirror, _ int64) error {
		var ms alarm
		if ms, ok = m.cells[name{space, key}.in(roomAlarm)].value.(alarm); ok {
			at = time.UnixMilli(int64(ms))
		}
		return nil
	})
	return at, ok, err
}
