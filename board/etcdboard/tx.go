package etcdboard

import (
	"maps"
	"math"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// tx gathers what several callers want changed, judged against the mirror, for
// one transaction of etcd. What one caller wants lies in a layer until it is
// kept or discarded. Every value that a judgement rests on is noted, also
// where it led to a refusal: the transaction holds only if none has changed.
type tx struct {
	m     *mirror
	now   int64   // Unix ms, for what comes at an instant
	tick  int64   // the mirror's, for leases
	kept  layer   // of those who are done
	layer layer   // of who is being judged
	bytes int     // of what is kept, about
	given []given // turns that were given
	cut   bool    // a claim ended before all that it could look at
	alone bool    // nobody else changes the board meanwhile
	large bool    // it wants to be alone
}

// layer is what was read and what is to be written.
type layer struct {
	reads  map[string]int64 // key to the revision that wrote it, 0: not there
	writes map[string]any   // nil: deleted
}

func newLayer() layer { return layer{map[string]int64{}, map[string]any{}} }

func newTx(m *mirror) *tx {
	return &tx{m: m, now: m.now(), tick: m.tick(), kept: newLayer(), layer: newLayer()}
}

// get reads a value and notes that.
func (t *tx) get(key string) any {
	if v, ok := t.pending(key); ok {
		return v
	}
	c := t.m.cells[key]
	t.layer.reads[key] = c.mod
	return c.value
}

// peek reads a value on which nothing rests.
func (t *tx) peek(key string) any {
	if v, ok := t.pending(key); ok {
		return v
	}
	return t.m.cells[key].value
}

func (t *tx) pending(key string) (any, bool) {
	if v, ok := t.layer.writes[key]; ok {
		return v, true
	}
	v, ok := t.kept.writes[key]
	return v, ok
}

func (t *tx) put(key string, v any) { t.layer.writes[key] = v }

func (t *tx) del(key string) { t.layer.writes[key] = nil }

// keep takes the layer over.
func (t *tx) keep() {
	t.bytes += t.layer.size()
	maps.Copy(t.kept.writes, t.layer.writes)
	t.keepReads()
}

// keepReads takes over what was read, but nothing else: a refusal rests on it.
func (t *tx) keepReads() {
	maps.Copy(t.kept.reads, t.layer.reads)
	t.discard()
}

// discard forgets the layer.
func (t *tx) discard() {
	clear(t.layer.reads)
	clear(t.layer.writes)
}

// most is how many writes and reads go into the transaction. One that is alone
// compares nothing.
func (t *tx) most() (writes, reads int) {
	if t.alone {
		return maxAlone, math.MaxInt
	}
	return maxWrites, maxReads
}

// fits reports whether the layer can go with what is kept in one transaction.
func (t *tx) fits() bool {
	writes, reads := t.most()
	return len(t.kept.writes)+len(t.layer.writes) <= writes &&
		len(t.kept.reads)+len(t.layer.reads) <= reads &&
		t.bytes+t.layer.size() <= maxBytes
}

// size is about how much the writes are in a request.
func (l layer) size() (bytes int) {
	for key, v := range l.writes {
		bytes += len(key) + 32 + weight(v)
	}
	return bytes
}

func weight(v any) (n int) {
	switch v := v.(type) {
	case *head:
		return v.bytes + 4*len(v.fields)
	case *segment:
		for _, it := range v.items {
			n += len(it) + 3
		}
	case member:
		return len(v)
	case *lease:
		return len(v.owner) + len(v.group)
	}
	return n
}

// head returns what lies under a key, nil for nothing: not even a live mark.
// What has expired is removed on the way.
func (t *tx) head(n name) *head {
	h, _ := t.get(n.in(roomHead)).(*head)
	if h != nil && h.gone(t.now) {
		t.remove(n)
		return nil
	}
	return h
}

// lookup returns what lies under a key that must hold a kind, nil for nothing.
//
// Errors: [domain.ErrInvalid] when it holds another kind.
func (t *tx) lookup(n name, want kind) (*head, error) {
	h := t.head(n)
	if !h.there() {
		return nil, nil
	}
	if h.kind != want {
		return nil, wrongKind(n, h.kind, want)
	}
	return h, nil
}

func wrongKind(n name, is, want kind) error {
	return domain.Invalidf("%q is a %s, not a %s", n.key, is, want)
}

// own returns a copy of what lies under a key, to be changed; an empty one of
// the kind for a key that holds nothing.
//
// Errors: [domain.ErrInvalid] when it holds another kind.
func (t *tx) own(n name, k kind) (*head, error) {
	h, err := t.lookup(n, k)
	if err != nil {
		return nil, err
	}
	if h != nil {
		return t.change(n, h), nil
	}
	h = t.change(n, t.head(n))
	h.kind = k
	h.hi = h.lo - 1
	return h, nil
}

// change returns a copy in the layer; of nothing, an empty one.
func (t *tx) change(n name, h *head) *head {
	key := n.in(roomHead)
	if _, mine := t.layer.writes[key]; mine && h != nil {
		return h
	}
	if h == nil {
		h = &head{}
	} else {
		h = h.clone()
	}
	t.put(key, h)
	return h
}

// drop empties a key; only its live mark stays.
func (t *tx) drop(n name, h *head) {
	switch h.kind {
	case kindList:
		for i := h.lo; i <= h.hi; i++ {
			if t.peek(n.segmentKey(i)) != nil {
				t.del(n.segmentKey(i))
			}
		}
	case kindSet:
		t.dropMembers(n)
	case kindUnreadable: // whatever it was
		t.dropParts(n)
	}
	if !h.marked {
		t.del(n.in(roomHead))
		return
	}
	t.put(n.in(roomHead), &head{marked: true, mark: h.mark})
}

// dropParts deletes all that could be part of a list or set.
func (t *tx) dropParts(n name) {
	segments, members := n.in(roomSegment)+"\x00", n.in(roomMember)+"\x00"
	for key := range t.m.cells { // rare enough
		if strings.HasPrefix(key, segments) || strings.HasPrefix(key, members) {
			t.del(key)
		}
	}
}

// remove takes a key away, whatever it holds, with its lease and live mark.
func (t *tx) remove(n name) {
	t.endLease(n)
	h, _ := t.get(n.in(roomHead)).(*head)
	if h == nil {
		return
	}
	t.drop(n, h)
	t.del(n.in(roomHead))
}

func (t *tx) lease(n name) *lease {
	l, _ := t.get(n.in(roomLease)).(*lease)
	return l
}

func (t *tx) endLease(n name) {
	if t.lease(n) != nil {
		t.del(n.in(roomLease))
	}
}

// guards judges the guards of a batch.
func (t *tx) guards(b *board.Batch) error {
	for i := range b.Guards {
		g := &b.Guards[i]
		holds, err := t.holds(name{b.Space, g.Key}, g)
		if err != nil {
			return err
		}
		if !holds {
			return &board.GuardError{Index: i, Guard: *g}
		}
	}
	return nil
}

func (t *tx) holds(n name, g *board.Guard) (bool, error) {
	switch g.Kind {
	case board.GuardAbsent:
		return !t.head(n).there(), nil
	case board.GuardEqual:
		h, err := t.lookup(n, kindRecord)
		if h == nil {
			return g.Value == "", err
		}
		return h.fields.Get(g.Field) == g.Value, nil
	case board.GuardHeld:
		l := t.lease(n)
		return l != nil && l.owner == g.Value && l.token == g.N, nil
	case board.GuardLapsed:
		l := t.lease(n)
		return l != nil && l.token == g.N && l.until <= t.tick, nil
	case board.GuardAlarm:
		at, set := t.get(n.in(roomAlarm)).(alarm)
		return set && int64(at) == g.N, nil
	case board.GuardLength, board.GuardItem:
		h, err := t.lookup(n, kindList)
		if err != nil {
			return false, err
		}
		if g.Kind == board.GuardLength {
			return int64(t.length(n, h)) == g.N, nil
		}
		item, there := t.item(n, h, g.N)
		return there && item == g.Value, nil
	}
	l := t.lease(n) // GuardFree: Check has let no other through
	return l == nil || l.until <= t.tick, nil
}
