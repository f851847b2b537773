package memboard

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// lease is one owner's hold on one item.
type lease struct {
	s     *space
	item  string
	owner string
	token int64
	until int64  // Unix ms
	group string // CapGroup it counts to; "" for an occupied item
}

func (l *lease) moment() moment { return moment{l.until, l.s.id, l.item} }

func (l *lease) public() board.Lease {
	return board.Lease{Space: l.s.id, Item: l.item, Owner: l.owner, Token: l.token, Until: time.UnixMilli(l.until)}
}

// putLease makes the lease count.
func (b *Board) putLease(l *lease) {
	l.s.leases[l.item] = l
	if l.group != "" {
		l.s.turns.Hold(l.group)
		b.putLapse(l)
	}
}

func (b *Board) dropLease(l *lease) {
	delete(l.s.leases, l.item)
	if l.group == "" {
		return
	}
	l.s.turns.Release(l.group)
	b.lapses.Remove(l.moment())
}

func (b *Board) putLapse(l *lease) {
	m := l.moment()
	b.lapses.Insert(m)
	if first, _ := b.lapses.First(); first == m {
		b.lapseMoved.fire()
	}
}

// moveLease changes when a lease runs out.
func (b *Board) moveLease(l *lease, until int64) {
	if l.group == "" {
		l.until = until
		return
	}
	b.lapses.Remove(l.moment())
	l.until = until
	b.putLapse(l)
}

// grant leases a record to owner with a new token and writes that on it.
// An attempt that is not a number counts as 0.
func (b *Board) grant(s *space, item string, e *entry, owner, group string, until int64) *lease {
	token, _ := strconv.ParseInt(e.rec.get(board.FieldAttempt), 10, 64)
	token++
	e.rec.set(board.FieldAttempt, strconv.FormatInt(token, 10))
	e.rec.set(board.FieldOwner, owner)
	if group != "" {
		e.rec.set(board.FieldQueue, group)
	}
	l := &lease{s: s, item: item, owner: owner, token: token, until: until, group: group}
	b.putLease(l)
	return l
}

// Extend implements [board.Board].
func (b *Board) Extend(ctx context.Context, owner string, ttl time.Duration, held []board.Held) ([]board.Answer, error) {
	if err := board.CheckLease(ttl); err != nil {
		return nil, err
	}
	now, err := b.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	answers := make([]board.Answer, len(held))
	for i, h := range held {
		answers[i] = b.extend(h, owner, now+ttl.Milliseconds())
	}
	return answers, nil
}

func (b *Board) extend(h board.Held, owner string, until int64) board.Answer {
	s := b.spaces[h.Space]
	if s == nil {
		return board.Lost
	}
	l := s.leases[h.Item]
	if l == nil || l.owner != owner || l.token != h.Token {
		return board.Lost
	}
	b.moveLease(l, until)
	if e := s.entries[h.Item]; e != nil && e.rec.get(board.FieldCancel) != "" {
		return board.Cancelled
	}
	return board.Renewed
}

// Occupy implements [board.Board].
func (b *Board) Occupy(ctx context.Context, id board.Space, item, owner string, ttl time.Duration) (int64, error) {
	if err := board.CheckLease(ttl); err != nil {
		return 0, err
	}
	if owner == "" {
		return 0, domain.Invalidf("occupy %q without an owner", item)
	}
	if err := new(board.Batch).Delete(item).Check(); err != nil { // holds the key to its limits
		return 0, err
	}
	now, err := b.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer b.mu.Unlock()
	return b.occupy(b.space(id), item, owner, now, now+ttl.Milliseconds())
}

func (b *Board) occupy(s *space, item, owner string, now, until int64) (int64, error) {
	t := tx{b: b, s: s, now: now}
	e, err := t.open(item, board.KindRecord)
	if err != nil {
		return 0, err
	}
	switch l := s.leases[item]; {
	case l == nil:
	case l.owner == owner:
		b.moveLease(l, until)
		return l.token, nil
	case l.until > now:
		return 0, domain.Conflictf("%q is occupied by %s until %s", item, l.owner, time.UnixMilli(l.until).Format(time.RFC3339))
	default:
		t.endLease(item)
		e.rec.unset(board.FieldQueue)
	}
	l := b.grant(s, item, e, owner, "", until)
	t.change(item)
	t.settle()
	return l.token, nil
}

// Void implements [board.Board]. It looks through all leases: it is called
// once in a node's life.
func (b *Board) Void(ctx context.Context, ownerPrefix string) error {
	now, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	for _, s := range b.spaces {
		for _, l := range s.leases {
			if l.until > now && strings.HasPrefix(l.owner, ownerPrefix) {
				b.moveLease(l, now)
			}
		}
	}
	return nil
}

// Expired implements [board.Board].
func (b *Board) Expired(ctx context.Context, limit int, wait time.Duration) ([]board.Lease, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d leases, want 1 or more", limit)
	}
	var out []board.Lease
	err := b.await(ctx, wait, func(now int64) (bool, int64, *signal) {
		for m := range b.lapses.All() {
			if m.at > now || len(out) >= limit {
				return len(out) > 0, m.at, &b.lapseMoved
			}
			out = append(out, b.spaces[m.space].leases[m.name].public())
		}
		return len(out) > 0, 0, &b.lapseMoved
	})
	return out, err
}

// LeaseOf implements [board.Board].
func (b *Board) LeaseOf(ctx context.Context, id board.Space, item string) (board.Lease, bool, error) {
	if _, err := b.lock(ctx); err != nil {
		return board.Lease{}, false, err
	}
	defer b.mu.Unlock()
	if s := b.spaces[id]; s != nil && s.leases[item] != nil {
		return s.leases[item].public(), true, nil
	}
	return board.Lease{}, false, nil
}
