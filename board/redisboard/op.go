package redisboard

import (
	"slices"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/queue"
)

// This file encodes the operations of a batch, as the function act of
// lua/commit.lua reads them.

func (e *encoder) op(o *board.Op) {
	switch o.Kind {
	case board.OpSet:
		e.set(o.Key, o.Fields)
	case board.OpUnset:
		e.unset(o)
	case board.OpDelete:
		e.delete(o.Key)
	case board.OpAdd:
		e.number(o.Key, o.Field)
		e.checks.num(checkAdd)
		e.key(&e.checks, o.Key)
		e.checks.text(o.Field)
		e.checks.decimal(o.N)
		e.begin(8)
		e.key(&e.ops, o.Key)
		e.ops.text(o.Field)
		e.ops.decimal(o.N)
	case board.OpPushLeft:
		e.push("LPUSH", o.Key, o.Items)
	case board.OpPushRight:
		e.push("RPUSH", o.Key, o.Items)
	case board.OpDrop:
		e.use(o.Key, kindList)
		e.begin(13)
		e.key(&e.ops, o.Key)
		e.ops.decimal(clamp(o.N))
		e.ops.num(len(o.Items))
		e.ops.texts(o.Items)
	case board.OpAppend:
		e.append(o)
	case board.OpTrimRight:
		e.trim(o, "0", formatInt(-clamp(o.N)-1))
	case board.OpTrimLeft:
		e.trim(o, formatInt(clamp(o.N)), "-1")
	case board.OpInclude:
		e.members("SADD", o.Key, o.Items)
	case board.OpExclude:
		e.members("SREM", o.Key, o.Items)
	case board.OpCountdown:
		e.countdown(o)
	default:
		e.about(o)
	}
}

// maxIndex is more than any list has items. Redis does not take every number of
// 64 bits for an index, nor can Lua hold it.
const maxIndex = 1 << 40

func clamp(n int64) int64 { return max(-maxIndex, min(n, maxIndex)) }

// trim encodes a trim that keeps what lies between two indexes.
func (e *encoder) trim(o *board.Op, first, last string) {
	e.use(o.Key, kindList)
	if o.N == 0 {
		e.nothing()
		return
	}
	e.begin(17)
	e.command("LTRIM", o.Key, []string{first, last})
}

// about encodes what is done to alarms, leases, expiries and live marks.
func (e *encoder) about(o *board.Op) {
	switch o.Kind {
	case board.OpSetAlarm:
		e.begin(6)
		e.member(o.Key)
		e.ops.decimal(o.N)
	case board.OpClearAlarm:
		e.begin(7)
		e.member(o.Key)
	case board.OpRelease:
		e.find(o.Key)
		e.begin(3)
		e.key(&e.ops, o.Key)
		e.member(o.Key)
	case board.OpExpire:
		e.find(o.Key)
		e.begin(14)
		if o.N == 0 {
			e.command("PERSIST", o.Key, nil)
			return
		}
		e.command("PEXPIRE", o.Key, []string{formatInt(o.N)})
	case board.OpLive:
		e.begin(5)
		e.ops.text(o.Key)
		e.ops.decimal(o.N)
	case board.OpSettle:
		e.begin(4)
		e.ops.text(o.Key)
	}
}

func (e *encoder) set(key string, fields []board.Field) {
	if len(fields) == 0 {
		e.use(key, kindRecord)
		e.nothing()
		return
	}
	for len(fields) > 0 {
		part := fields[:min(most, len(fields))]
		fields = fields[len(part):]
		t := e.use(key, kindRecord)
		e.noteFields(t, part)
		e.begin(1)
		t.bytes += fieldBytes(part)
		t.sets = append(t.sets, e.ops.n)
		e.hset(key, part)
	}
}

func fieldBytes(fields []board.Field) int {
	n := 0
	for i := range fields {
		n += len(fields[i].Name) + len(fields[i].Value)
	}
	return n
}

// noteFields makes the batch careful when a field is both set and added to.
func (e *encoder) noteFields(t *touched, fields []board.Field) {
	for i := range fields {
		if slices.Contains(t.numbers, fields[i].Name) {
			e.careful = true
		}
	}
}

func (e *encoder) delete(key string) {
	t := e.touch(key, kindAny)
	if t.existing {
		e.careful = true
	}
	t.existing, t.deleted = true, true
	e.begin(10)
	e.key(&e.ops, key)
	e.ops.text(key)
	e.member(key)
}

// Checks of operations on numbers, by their codes in lua/commit.lua.
const (
	checkAdd       = 4
	checkCountdown = 5
)

// number notes that a number is added to, once: a second time, or after a set
// or unset of the record, the check before the batch would not see what it
// adds to.
func (e *encoder) number(key, field string) {
	t := e.touch(key, kindRecord)
	if len(t.sets) > 0 || t.unset || t.numbers != nil {
		e.careful = true
	}
	t.existing = true
	t.numbers = append(t.numbers, field)
	e.nchecks++
}

func (e *encoder) unset(o *board.Op) {
	t := e.use(o.Key, kindRecord)
	if t.numbers != nil {
		e.careful = true
	}
	t.unset = true
	if len(o.Items) == 0 {
		e.nothing()
		return
	}
	for part := range slices.Chunk(o.Items, most) {
		e.begin(11)
		e.key(&e.ops, o.Key)
		e.member(o.Key)
		e.command("HDEL", o.Key, part)
	}
}

func (e *encoder) push(name, list string, items []string) {
	e.use(list, kindList)
	if len(items) == 0 {
		e.nothing()
		return
	}
	for part := range slices.Chunk(items, most) {
		e.begin(2)
		e.group(list)
		e.ops.num(len(part))
		e.ops.text(name)
		e.key(&e.ops, list)
		e.ops.texts(part)
	}
}

// group adds the queue group of a list that is pushed to, "" of one that is no
// queue.
func (e *encoder) group(list string) {
	group := ""
	if queue.Is(list) {
		group = queue.Group(list)
		if !slices.Contains(e.groups, group) {
			e.groups = append(e.groups, group)
		}
	}
	e.ops.text(group)
}

func (e *encoder) append(o *board.Op) {
	items := o.Items
	if len(items) > most {
		cut := len(items) - most
		e.push("RPUSH", o.Key, items[:cut])
		items = items[cut:]
	}
	e.use(o.Key, kindList)
	e.begin(12)
	e.group(o.Key)
	e.key(&e.ops, o.Key)
	e.ops.num(int(min(o.N, 1<<31)), len(items))
	e.ops.texts(items)
}

func (e *encoder) members(name, set string, members []string) {
	e.use(set, kindSet)
	if len(members) == 0 {
		e.nothing()
		return
	}
	for part := range slices.Chunk(members, most) {
		e.begin(1)
		e.command(name, set, part)
	}
}

func (e *encoder) countdown(o *board.Op) {
	e.number(o.Key, o.Field)
	e.checks.num(checkCountdown)
	e.key(&e.checks, o.Key)
	e.checks.text(o.Field)
	e.key(&e.checks, o.List)
	list := e.find(o.List)
	if list.kind != kindAny && list.kind != kindList || list.deleted {
		e.careful = true
	}
	list.existing, list.maybe = true, true
	e.begin(9)
	e.key(&e.ops, o.Key)
	e.ops.text(o.Field)
	e.group(o.List)
	e.key(&e.ops, o.List)
	e.ops.text(o.Items[0])
	if len(o.Fields) == 0 {
		e.ops.num(0)
		return
	}
	if bytes := fieldBytes(o.Fields); bytes >= 1<<14 {
		t := e.find(o.Key)
		t.bytes += bytes
		t.sets = append(t.sets, e.ops.n)
	}
	e.hset(o.Key, o.Fields)
}
