package etcdboard

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// flights is who asks etcd how far the board is. Whoever comes while an answer
// is on its way waits for the next one, which all of them share.
type flights struct {
	mu     sync.Mutex
	flying bool
	next   *flight // not asked yet
}

type flight struct {
	done chan struct{}
	rev  int64
	err  error
}

// fresh waits until the mirror has everything that any node had committed when
// it was called.
func (b *Board) fresh(ctx context.Context) error {
	if err := b.alive(ctx); err != nil {
		return err
	}
	b.flights.mu.Lock()
	f := b.flights.next
	if f == nil {
		f = &flight{done: make(chan struct{})}
		b.flights.next = f
	}
	if !b.flights.flying {
		b.flights.flying = true
		go b.fly()
	}
	b.flights.mu.Unlock()
	select {
	case <-f.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.err != nil {
		return f.err
	}
	return b.reach(ctx, f.rev)
}

// fly asks as long as somebody waits. It ends by itself: an answer is waited
// for only so long.
func (b *Board) fly() {
	fs := &b.flights
	for {
		fs.mu.Lock()
		f := fs.next
		if fs.next = nil; f == nil {
			fs.flying = false
			fs.mu.Unlock()
			return
		}
		fs.mu.Unlock()
		head, err := b.sameHead(b.closing)
		if f.err = err; head != nil {
			f.rev = head.ModRevision
		}
		close(f.done)
	}
}

// read looks at the mirror once it has everything committed before.
func (b *Board) read(ctx context.Context, look func(m *mirror, now int64) error) error {
	if err := b.fresh(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return look(b.mirror, b.mirror.now())
}

// lookup returns what lies under a key that must hold a kind, nil for nothing.
//
// Errors: [domain.ErrInvalid] when it holds another kind.
func (m *mirror) lookup(n name, want kind, now int64) (*head, error) {
	h := m.head(n)
	if !h.there() || h.gone(now) {
		return nil, nil
	}
	if h.kind != want {
		return nil, wrongKind(n, h.kind, want)
	}
	return h, nil
}

// Get implements [board.Board].
func (b *Board) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	return b.records(ctx, space, keys, func(h *head) board.Record { return slices.Clone(h.fields) })
}

// GetFields implements [board.Board].
func (b *Board) GetFields(ctx context.Context, space board.Space, fields []string, keys ...string) ([]board.Record, error) {
	return b.records(ctx, space, keys, func(h *head) board.Record {
		out := make(board.Record, 0, len(fields))
		for _, f := range fields {
			if v, ok := h.fields.Lookup(f); ok {
				out = append(out, board.Field{Name: f, Value: v})
			}
		}
		return out
	})
}

func (b *Board) records(ctx context.Context, space board.Space, keys []string, part func(*head) board.Record) ([]board.Record, error) {
	out, bad := make([]board.Record, len(keys)), board.KeyErrors(nil)
	err := b.read(ctx, func(m *mirror, now int64) error {
		for i, key := range keys {
			h, err := m.lookup(name{space, key}, kindRecord, now)
			if err := bad.Add(i, err); err != nil {
				return err
			}
			if h != nil {
				out[i] = part(h)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, bad.Err()
}

// List implements [board.Board].
func (b *Board) List(ctx context.Context, space board.Space, list string, from, n int) (out []string, err error) {
	key := name{space, list}
	err = b.read(ctx, func(m *mirror, now int64) error {
		h, err := m.lookup(key, kindList, now)
		if h == nil {
			return err
		}
		if from < 0 {
			from = max(0, m.space(space).lengths[list]+from)
		}
		for i := h.lo; i <= h.hi && len(out) < n; i++ {
			s, _ := m.cells[key.segmentKey(i)].value.(*segment)
			if s == nil {
				continue
			}
			if from >= len(s.items) {
				from -= len(s.items)
				continue
			}
			out = append(out, s.items[from:min(len(s.items), from+n-len(out))]...)
			from = 0
		}
		return nil
	})
	return out, err
}

// Len implements [board.Board].
func (b *Board) Len(ctx context.Context, space board.Space, lists ...string) ([]int, error) {
	out := make([]int, len(lists))
	err := b.read(ctx, func(m *mirror, now int64) error {
		for i, list := range lists {
			h, err := m.lookup(name{space, list}, kindList, now)
			if err != nil {
				return err
			}
			if h != nil {
				out[i] = m.space(space).lengths[list]
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Stat implements [board.Board].
func (b *Board) Stat(ctx context.Context, space board.Space, keys ...string) ([]board.Stat, error) {
	out := make([]board.Stat, len(keys))
	err := b.read(ctx, func(m *mirror, now int64) error {
		for i, key := range keys {
			h := m.head(name{space, key})
			if !h.there() || h.gone(now) {
				continue
			}
			out[i].Kind = kinds[h.kind]
			if h.expires != 0 {
				out[i].Expires = m.instant(m.tick() + h.expires - now)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// kinds are what the contract calls them.
var kinds = [...]board.Kind{"", board.KindRecord, board.KindList, board.KindSet, board.KindOther}

// Members implements [board.Board].
func (b *Board) Members(ctx context.Context, space board.Space, set, after string, limit int) (out []string, err error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d members, want 1 or more", limit)
	}
	err = b.read(ctx, func(m *mirror, now int64) error {
		h, err := m.lookup(name{space, set}, kindSet, now)
		members := m.space(space).members[set]
		if h == nil || members == nil {
			return err
		}
		for it := range members.From(after) {
			if len(out) >= limit {
				break
			}
			// "" is both a possible member and the word for "from the start".
			if it != after || after == "" {
				out = append(out, it)
			}
		}
		return nil
	})
	return out, err
}

// Keys implements [board.Board]. The cursor is the last key of the page
// before; order is lexical.
func (b *Board) Keys(ctx context.Context, space board.Space, prefix, cursor string, limit int) (keys []string, next string, err error) {
	if limit < 1 {
		return nil, "", domain.Invalidf("page of %d keys, want 1 or more", limit)
	}
	err = b.read(ctx, func(m *mirror, now int64) error {
		s := m.space(space)
		for key := range s.keys.From(max(prefix, cursor)) {
			switch {
			case !strings.HasPrefix(key, prefix):
				return nil
			case key == cursor || m.head(name{space, key}).gone(now):
			case len(keys) == limit:
				next = keys[limit-1]
				return nil
			default:
				keys = append(keys, key)
			}
		}
		return nil
	})
	return keys, next, err
}

// Live implements [board.Board].
func (b *Board) Live(ctx context.Context, space board.Space, after board.LiveItem, limit int) (out []board.LiveItem, err error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d live items, want 1 or more", limit)
	}
	last := liveMark{at: math.MinInt64}
	if after != (board.LiveItem{}) {
		last = liveMark{after.At.UnixMilli(), after.Item}
	}
	err = b.read(ctx, func(m *mirror, _ int64) error {
		for it := range m.space(space).live.From(last) {
			if len(out) >= limit {
				break
			}
			if it != last {
				out = append(out, board.LiveItem{Item: it.item, At: time.UnixMilli(it.at)})
			}
		}
		return nil
	})
	return out, err
}

// Ready implements [board.Board].
func (b *Board) Ready(ctx context.Context, group string) (out []board.Space, err error) {
	if err := b.reap(ctx); err != nil { // what has expired is not ready
		return nil, err
	}
	err = b.read(ctx, func(m *mirror, _ int64) error {
		if g := m.groups[group]; g != nil {
			out = g.Spaces()
		}
		return nil
	})
	return out, err
}

// Changed implements [board.Board]. The mirror sees what everybody writes, whatever
// their version, also what it missed and read anew.
func (b *Board) Changed(ctx context.Context, since string) (c board.Changes, err error) {
	err = b.read(ctx, func(*mirror, int64) error {
		c = b.recent.Since(since)
		return nil
	})
	return c, err
}

// Watch implements [board.Board].
func (b *Board) Watch(ctx context.Context, space board.Space, prefix string) (<-chan board.Event, error) {
	if err := b.fresh(ctx); err != nil { // what was committed before is no news
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed()
	}
	return b.watchers.Open(ctx, space, prefix), nil
}
