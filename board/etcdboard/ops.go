package etcdboard

import (
	"math"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// smallChange is by how much a record may grow that is as long as any may be:
// whatever was written can be claimed and ended.
const smallChange = 16 << 10

// batch judges a checked batch into the layer.
func (t *tx) batch(b *board.Batch) error {
	if err := t.guards(b); err != nil {
		return err
	}
	for i := range b.Ops {
		if err := t.apply(b.Space, &b.Ops[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) apply(space board.Space, o *board.Op) error {
	n := name{space, o.Key}
	switch o.Kind {
	case board.OpSet:
		return t.set(n, o.Fields)
	case board.OpUnset:
		return t.unset(n, o.Items...)
	case board.OpDelete:
		t.remove(n)
	case board.OpAdd:
		_, err := t.add(n, o.Field, o.N)
		return err
	case board.OpPushLeft:
		return t.pushLeft(n, o.Items)
	case board.OpPushRight:
		return t.pushRight(n, o.Items)
	case board.OpDrop:
		return t.dropItems(n, o.N, o.Items)
	case board.OpTrimRight, board.OpTrimLeft:
		return t.trim(n, o.N, o.Kind == board.OpTrimLeft)
	case board.OpAppend:
		return t.append(n, o.N, o.Items)
	case board.OpInclude:
		return t.include(n, o.Items)
	case board.OpExclude:
		return t.exclude(n, o.Items)
	case board.OpSetAlarm:
		t.put(n.in(roomAlarm), alarm(o.N))
	case board.OpClearAlarm:
		if t.get(n.in(roomAlarm)) != nil {
			t.del(n.in(roomAlarm))
		}
	case board.OpRelease:
		return t.release(n)
	case board.OpExpire:
		t.expire(n, o.N)
	case board.OpLive:
		h := t.head(n)
		if h != nil && h.kind == kindUnreadable {
			return wrongKind(n, h.kind, kindRecord)
		}
		h = t.change(n, h)
		h.marked, h.mark = true, o.N
	case board.OpSettle:
		t.settle(n)
	case board.OpCountdown:
		return t.countdown(n, o)
	}
	return nil
}

func (t *tx) set(n name, fields []board.Field) error {
	if len(fields) == 0 {
		_, err := t.lookup(n, kindRecord)
		return err
	}
	h, err := t.own(n, kindRecord)
	if err != nil {
		return err
	}
	before := h.bytes
	for _, f := range fields {
		h.set(strings.Clone(f.Name), strings.Clone(f.Value))
	}
	if h.bytes > t.m.longest && h.bytes > before+smallChange {
		return domain.Invalidf("record %q would have %d bytes; this board takes %d, because etcd's --max-request-bytes is so small", n.key, h.bytes, t.m.longest)
	}
	return board.CheckRecord(n.key, h.bytes)
}

func (t *tx) unset(n name, names ...string) error {
	h, err := t.lookup(n, kindRecord)
	if h == nil {
		return err
	}
	for _, name := range names {
		if _, there := h.fields.Lookup(name); there {
			h = t.change(n, h)
			h.unset(name)
		}
	}
	if len(h.fields) == 0 {
		t.endLease(n)
		t.drop(n, h)
	}
	return nil
}

func (t *tx) add(n name, field string, by int64) (int64, error) {
	h, err := t.lookup(n, kindRecord)
	if err != nil {
		return 0, err
	}
	var old int64
	if h != nil {
		if text, ok := h.fields.Lookup(field); ok {
			if old, err = board.NumberOf(n.key, field, text); err != nil {
				return 0, err
			}
		}
	}
	if by > 0 && old > math.MaxInt64-by || by < 0 && old < math.MinInt64-by {
		return 0, domain.Invalidf("field %q of %q is %d: adding %d leaves 64 bits", field, n.key, old, by)
	}
	return old + by, t.set(n, []board.Field{{Name: field, Value: strconv.FormatInt(old+by, 10)}})
}

// countdown implements [board.OpCountdown].
func (t *tx) countdown(n name, o *board.Op) error {
	if h, err := t.lookup(n, kindRecord); h == nil {
		return err
	}
	left, err := t.add(n, o.Field, -1)
	if err != nil || left != 0 {
		return err
	}
	if err := t.set(n, o.Fields); err != nil {
		return err
	}
	return t.pushRight(name{n.space, o.List}, o.Items)
}

// release ends the lease on an item and says so on its record.
func (t *tx) release(n name) error {
	if t.lease(n) == nil {
		return nil
	}
	t.endLease(n)
	return t.unset(n, board.FieldOwner, board.FieldQueue)
}

func (t *tx) expire(n name, after int64) {
	h := t.head(n)
	if !h.there() || h.kind == kindUnreadable {
		return
	}
	if after > 0 {
		after += t.now
	}
	if h.expires != after {
		t.change(n, h).expires = after
	}
}

// settle takes a live mark away.
func (t *tx) settle(n name) {
	h := t.head(n)
	if h == nil || !h.marked {
		return
	}
	if !h.there() {
		t.del(n.in(roomHead))
		return
	}
	t.change(n, h).marked = false
}

func (t *tx) include(n name, members []string) error {
	h, err := t.lookup(n, kindSet)
	if err != nil {
		return err
	}
	for _, m := range members {
		// The count in the head is written with each change of a member, so
		// that it is enough to note the head.
		key := n.memberKey(m)
		if h != nil && t.peek(key) != nil {
			continue
		}
		if h, err = t.own(n, kindSet); err != nil {
			return err
		}
		t.put(key, member(strings.Clone(m)))
		h.count++
	}
	return nil
}

func (t *tx) exclude(n name, members []string) error {
	h, err := t.lookup(n, kindSet)
	if h == nil {
		return err
	}
	for _, m := range members {
		if key := n.memberKey(m); t.peek(key) != nil {
			h = t.change(n, h)
			t.del(key)
			h.count--
		}
	}
	if h.count == 0 {
		t.drop(n, h)
	}
	return nil
}

// dropMembers deletes all members of a set: those that the mirror has, and
// those that were put in since.
func (t *tx) dropMembers(n name) {
	if set := t.m.space(n.space).members[n.key]; set != nil {
		for m := range set.All() {
			if key := n.memberKey(m); t.peek(key) != nil {
				t.del(key)
			}
		}
	}
	prefix := n.in(roomMember) + "\x00"
	for _, part := range []map[string]any{t.kept.writes, t.layer.writes} {
		for key, v := range part {
			if v != nil && strings.HasPrefix(key, prefix) {
				t.del(key)
			}
		}
	}
}
