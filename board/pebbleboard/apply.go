package pebbleboard

import (
	"math"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file has guards and operations of a batch. Every operation keeps what
// it takes to be undone; what follows from a whole batch is in settle.go.

// commit applies one batch, which has been checked, wholly or not at all.
func (c *committer) commit(b *board.Batch) error {
	c.beginBatch(b.Space)
	if err := c.applyAll(b); err != nil {
		c.undo()
		return err
	}
	c.settle()
	if n := len(c.stirred); len(b.Ops) > 0 && (n == 0 || c.stirred[n-1] != b.Space) {
		c.stirred = append(c.stirred, b.Space)
	}
	return nil
}

func (c *committer) applyAll(b *board.Batch) error {
	c.near, c.nearList = chunk{}, 0
	for i := range b.Guards {
		if err := c.guard(i, &b.Guards[i]); err != nil {
			return err
		}
	}
	for i := range b.Ops {
		if err := c.apply(&b.Ops[i]); err != nil {
			return err
		}
	}
	return nil
}

// guard checks a guard against the state before the batch.
func (c *committer) guard(i int, g *board.Guard) error {
	if g.Kind == board.GuardAlarm {
		a, err := c.alarm(ident{c.space, g.Key})
		if err != nil {
			return err
		}
		return failed(i, g, a.set && a.at == g.N)
	}
	o, err := c.object(c.space, g.Key)
	if err != nil {
		return err
	}
	l := o.lease
	switch g.Kind {
	case board.GuardAbsent:
		return failed(i, g, !o.exists())
	case board.GuardEqual:
		if err := o.check(kindRecord); err != nil {
			return err
		}
		v, err := c.field(o, g.Field)
		if err != nil {
			return err
		}
		return failed(i, g, v == g.Value)
	case board.GuardHeld:
		return failed(i, g, l != nil && l.owner == g.Value && l.token == g.N)
	case board.GuardLapsed:
		return failed(i, g, l != nil && l.token == g.N && l.until <= c.tick)
	case board.GuardFree:
		return failed(i, g, l == nil || l.until <= c.tick)
	case board.GuardLength, board.GuardItem:
		return c.guardList(i, g, o)
	}
	return domain.Invalidf("%s", *g)
}

func (c *committer) guardList(i int, g *board.Guard, o *object) error {
	if err := o.check(kindList); err != nil {
		return err
	}
	n := int64(0)
	if o.exists() {
		n = int64(o.list.len())
	}
	if g.Kind == board.GuardLength {
		return failed(i, g, g.N == n)
	}
	at := g.N
	if at < 0 {
		at += n
	}
	if at < 0 || at >= n {
		return failed(i, g, false)
	}
	item, err := c.at(o.list, o.list.left+at)
	if err != nil {
		return err
	}
	return failed(i, g, item == g.Value)
}

func failed(i int, g *board.Guard, holds bool) error {
	if holds {
		return nil
	}
	return &board.GuardError{Index: i, Guard: *g}
}

func (c *committer) apply(op *board.Op) error {
	switch op.Kind {
	case board.OpSetAlarm:
		return c.putAlarm(ident{c.space, op.Key}, true, op.N)
	case board.OpClearAlarm:
		return c.putAlarm(ident{c.space, op.Key}, false, 0)
	}
	o, err := c.object(c.space, op.Key)
	if err != nil {
		return err
	}
	switch op.Kind {
	case board.OpSet:
		return c.setFields(o, op.Fields)
	case board.OpUnset:
		return c.unsetFields(o, op.Items...)
	case board.OpDelete:
		c.remove(o)
	case board.OpAdd:
		_, err = c.add(o, op.Field, op.N)
		return err
	case board.OpPushLeft, board.OpPushRight:
		return c.push(o, op.Items, op.Kind == board.OpPushLeft)
	case board.OpDrop:
		return c.drop(o, op.N, op.Items)
	case board.OpAppend:
		return c.appendLog(o, op.Items, op.N)
	case board.OpTrimRight:
		return c.trimRight(o, op.N)
	case board.OpTrimLeft:
		return c.trimLeft(o, op.N)
	case board.OpInclude:
		return c.include(o, op.Items)
	case board.OpExclude:
		return c.exclude(o, op.Items)
	case board.OpRelease:
		return c.release(o)
	case board.OpExpire:
		c.expire(o, op.N)
	case board.OpLive:
		c.setLive(o, true, op.N)
	case board.OpSettle:
		c.setLive(o, false, 0)
	case board.OpCountdown:
		return c.countdown(o, op)
	default:
		return domain.Invalidf("unknown operation %d on %q", op.Kind, op.Key)
	}
	return nil
}

func (c *committer) setFields(o *object, fields []board.Field) error {
	if len(fields) == 0 {
		return o.check(kindRecord)
	}
	if err := c.makeRecord(o); err != nil {
		return err
	}
	c.change(o)
	for i := range fields {
		c.setField(o, fields[i])
	}
	return board.CheckRecord(o.id.name, o.size)
}

func (c *committer) unsetFields(o *object, names ...string) error {
	if err := o.check(kindRecord); err != nil {
		return err
	}
	if err := c.openFields(o); err != nil || !o.exists() {
		return err
	}
	c.save(o)
	for _, name := range names {
		if c.unsetField(o, name) {
			c.change(o)
		}
	}
	if len(o.fields) == 0 {
		c.vanish(o)
	}
	return nil
}

func (c *committer) add(o *object, field string, n int64) (int64, error) {
	if err := o.check(kindRecord); err != nil {
		return 0, err
	}
	if err := c.openFields(o); err != nil {
		return 0, err
	}
	var old int64
	if i := o.find(field); i >= 0 {
		var err error
		if old, err = board.NumberOf(o.id.name, field, o.fields[i].Value); err != nil {
			return 0, err
		}
	}
	if n > 0 && old > math.MaxInt64-n || n < 0 && old < math.MinInt64-n {
		return 0, domain.Invalidf("field %q of %q is %d: adding %d leaves 64 bits", field, o.id.name, old, n)
	}
	return old + n, c.setFields(o, []board.Field{{Name: field, Value: strconv.FormatInt(old+n, 10)}})
}

// countdown implements [board.OpCountdown].
func (c *committer) countdown(o *object, op *board.Op) error {
	if err := o.check(kindRecord); err != nil || !o.exists() {
		return err
	}
	n, err := c.add(o, op.Field, -1)
	if err != nil || n != 0 {
		return err
	}
	if err := c.setFields(o, op.Fields); err != nil {
		return err
	}
	q, err := c.object(c.space, op.List)
	if err != nil {
		return err
	}
	return c.push(q, op.Items, false)
}

func (c *committer) include(o *object, members []string) error {
	if err := o.check(kindSet); err != nil || len(members) == 0 {
		return err
	}
	if o.kind == kindNone {
		c.change(o)
		o.kind, o.set = kindSet, &set{id: c.number()}
	}
	for _, m := range members {
		if err := c.putMember(o, m, true); err != nil {
			return err
		}
	}
	return nil
}

func (c *committer) exclude(o *object, members []string) error {
	if err := o.check(kindSet); err != nil || !o.exists() {
		return err
	}
	for _, m := range members {
		if err := c.putMember(o, m, false); err != nil {
			return err
		}
	}
	if o.set.count == 0 {
		c.vanish(o)
	}
	return nil
}

// release ends the lease on an item and says so on its record.
func (c *committer) release(o *object) error {
	if o.lease == nil {
		return nil
	}
	if err := c.openFields(o); err != nil {
		return err
	}
	c.change(o)
	o.lease = nil
	return c.unsetFields(o, board.FieldOwner, board.FieldQueue)
}

func (c *committer) expire(o *object, after int64) {
	if !o.exists() {
		return
	}
	c.save(o)
	c.mark(o)
	if o.expires = 0; after > 0 {
		o.expires = c.now + after
	}
}

func (c *committer) setLive(o *object, live bool, at int64) {
	if o.live == live && (!live || o.liveAt == at) {
		return
	}
	c.save(o)
	c.mark(o)
	o.live, o.liveAt = live, at
}
