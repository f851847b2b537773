package redisboard

import (
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/board"
)

// This file writes batches as lua/commit.lua reads them: Redis commands that
// the script passes on as they are, and around them what it must know.

// most is how many items, fields or members one command carries: Lua cannot
// pass more than some thousands at once.
const most = 1000

// kind is what a key must hold for an operation: the numbers of the checks in
// lua/commit.lua.
type kind int

const (
	kindAny kind = iota
	kindRecord
	kindList
	kindSet
)

// touched is what a batch does to one key.
type touched struct {
	key      string
	kind     kind
	bytes    int   // set in all
	sets     []int // where the commands that set have their lengths, among the operations
	fresh    bool  // a guard says that it is not there
	deleted  bool
	unset    bool
	numbers  []string // fields that are added to
	fields   []string // fields that are set, when numbers matter
	existing bool     // something was done to what it holds
	maybe    bool     // a countdown may push to it
}

// segment is one part of a batch: a run of values.
type segment struct {
	b []byte
	n int // values
}

func (s *segment) reset() { s.b, s.n = s.b[:0], 0 }

// num adds small numbers: codes, counts and places.
func (s *segment) num(numbers ...int) {
	for _, n := range numbers {
		s.b = packInt(s.b, n)
	}
	s.n += len(numbers)
}

func (s *segment) text(text string) { s.b = packString(s.b, text); s.n++ }

// joined adds two texts as one.
func (s *segment) joined(head, tail string) {
	s.b = append(append(packHead(s.b, len(head)+len(tail)), head...), tail...)
	s.n++
}

// decimal adds a number as text: Lua would lose digits.
func (s *segment) decimal(n int64) {
	var text [20]byte
	digits := strconv.AppendInt(text[:0], n, 10)
	s.b = append(packHead(s.b, len(digits)), digits...)
	s.n++
}

func (s *segment) texts(list []string) {
	for _, t := range list {
		s.text(t)
	}
}

// encoder writes batches. It is used again for the batches of one call.
type encoder struct {
	b       *Board
	guards  segment
	checks  segment // of all operations or, in a careful batch, of the next
	ops     segment
	nguards int
	nchecks int // in a careful batch: of the next operation
	nops    int
	keys    []touched
	index   map[string]int // place in keys, when there are many
	prefix  string         // of keys
	mark    string         // of members: "<space>|"
	careful bool
	limits  bool
	groups  []string // queue groups that are pushed to
	out     []byte
	last    int // bytes of the batch before
}

// batch appends the batch to out.
func (e *encoder) batch(batch *board.Batch) {
	e.prefix, e.mark, e.careful = e.b.prefix(batch.Space), decimal(batch.Space)+"|", false
	e.encodeGuards(batch.Guards)
	e.encodeOps(batch)
	if e.careful {
		e.encodeOps(batch)
	}
	copies := 0
	if e.careful {
		copies = len(e.keys)
		e.checks.reset()
		for i := range e.keys {
			e.key(&e.checks, e.keys[i].key)
		}
	} else {
		e.finalChecks()
	}
	head := segment{b: packArray(e.out, 6+e.guards.n+e.checks.n+e.ops.n)}
	head.num(int(batch.Space))
	head.text(e.prefix)
	head.num(e.nguards, e.checks.n, e.nops, copies)
	e.out = append(append(append(head.b, e.guards.b...), e.checks.b...), e.ops.b...)
	e.last = len(e.out)
}

// guess is how large the next batch may be: about as the one before.
func (e *encoder) guess() int { return max(256, min(e.last+e.last/8, 1<<16)) }

// key adds a key with the space's prefix.
func (e *encoder) key(s *segment, key string) { s.joined(e.prefix, key) }

// member adds "<space>|<name>".
func (e *encoder) member(name string) { e.ops.joined(e.mark, name) }

// command adds a command on a key, with its length before it.
func (e *encoder) command(name, key string, args []string) {
	e.ops.num(2 + len(args))
	e.ops.text(name)
	e.key(&e.ops, key)
	e.ops.texts(args)
}

func (e *encoder) hset(key string, fields []board.Field) {
	e.ops.num(2 + 2*len(fields))
	e.ops.text("HSET")
	e.key(&e.ops, key)
	for i := range fields {
		e.ops.text(fields[i].Name)
		e.ops.text(fields[i].Value)
	}
}

// begin begins an operation. In a careful batch the checks made since the
// last one are its own, and go before it.
func (e *encoder) begin(code int) {
	e.nops++
	if e.careful {
		e.ops.num(e.nchecks)
		e.ops.b, e.ops.n = append(e.ops.b, e.checks.b...), e.ops.n+e.checks.n
		e.checks.reset()
		e.nchecks = 0
	}
	e.ops.num(code)
}

// nothing gives a careful batch's check an operation to go before.
func (e *encoder) nothing() {
	if e.careful {
		e.begin(16)
	}
}

// touch notes that an operation needs a kind of thing under the key. Two
// different kinds under one key make the batch a careful one.
func (e *encoder) touch(key string, k kind) *touched {
	t := e.find(key)
	if t.kind != kindAny && k != kindAny && t.kind != k || t.deleted || t.maybe && k != kindList {
		e.careful = true
	}
	if k != kindAny {
		t.kind = k
	}
	if key == board.LimitsKey {
		e.limits = true
	}
	return t
}

func (e *encoder) find(key string) *touched {
	if e.index != nil {
		if i, ok := e.index[key]; ok {
			return &e.keys[i]
		}
		e.index[key] = len(e.keys)
	} else {
		for i := range e.keys {
			if e.keys[i].key == key {
				return &e.keys[i]
			}
		}
	}
	e.keys = append(e.keys, touched{key: key})
	return &e.keys[len(e.keys)-1]
}

// use notes an operation on a key that needs a kind, and its check: at once in
// a careful batch; others are checked once for each key, by finalChecks.
func (e *encoder) use(key string, k kind) *touched {
	t := e.touch(key, k)
	t.existing = true
	if e.careful {
		e.nchecks++
		e.checks.num(int(k))
		e.key(&e.checks, key)
		if k == kindRecord {
			e.checks.num(0, 0)
		}
	}
	return t
}

func (e *encoder) finalChecks() {
	for i := range e.keys {
		t := &e.keys[i]
		switch {
		case t.kind == kindAny:
			continue
		case t.fresh && t.bytes < 1<<14: // nothing is there, and it will be small
			continue
		case t.numbers != nil && len(t.sets) == 0: // the number's own check has asked
			continue
		}
		e.checks.num(int(t.kind))
		e.key(&e.checks, t.key)
		if t.kind == kindRecord {
			e.checks.num(t.bytes, len(t.sets))
			e.checks.num(t.sets...)
		}
	}
}

func (e *encoder) encodeOps(batch *board.Batch) {
	e.ops.reset()
	e.checks.reset()
	e.nops, e.nchecks, e.limits, e.groups = 0, 0, false, e.groups[:0]
	e.keys, e.index = e.keys[:0], nil
	if len(batch.Ops) > 24 {
		e.index = make(map[string]int, len(batch.Ops))
	}
	for i := range batch.Guards {
		if batch.Guards[i].Kind == board.GuardAbsent {
			e.find(batch.Guards[i].Key).fresh = true
		}
	}
	for i := range batch.Ops {
		e.op(&batch.Ops[i])
	}
	if e.limits {
		e.begin(15)
	}
}

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
		e.ops.num(len(o.Items))
		e.ops.texts(o.Items)
	case board.OpAppend:
		e.append(o)
	case board.OpTrimRight:
		e.use(o.Key, kindList)
		if o.N == 0 {
			e.nothing()
			return
		}
		e.begin(17)
		e.command("LTRIM", o.Key, []string{"0", formatInt(-min(o.N, 1<<40) - 1)})
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
	if board.IsQueue(list) {
		group = board.Group(list)
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

// encodeGuards encodes the guards. Those on fields of one record that stand
// side by side become one HMGET.
func (e *encoder) encodeGuards(guards []board.Guard) {
	e.guards.reset()
	e.nguards = 0
	for i := 0; i < len(guards); e.nguards++ {
		end := runEnd(guards, i)
		if guards[i].Kind == board.GuardEqual || guards[i].Kind == board.GuardHeld {
			e.fieldGuards(guards[i:end], i)
		} else {
			e.guard(&guards[i], i)
		}
		i = end
	}
}

func runEnd(guards []board.Guard, i int) int {
	key := guards[i].Key
	for first := i; i < len(guards); i++ {
		k := guards[i].Kind
		if k != board.GuardEqual && k != board.GuardHeld || guards[i].Key != key {
			return max(i, first+1)
		}
	}
	return i
}

func (e *encoder) guard(g *board.Guard, i int) {
	s := &e.guards
	switch g.Kind {
	case board.GuardAbsent:
		s.num(1, i)
		e.key(s, g.Key)
	case board.GuardLapsed:
		s.num(3, i)
		e.key(s, g.Key)
		s.decimal(g.N)
		s.joined(e.mark, g.Key)
	case board.GuardAlarm:
		s.num(4, i)
		s.joined(e.mark, g.Key)
		s.decimal(g.N)
	case board.GuardFree:
		s.num(5, i)
		e.key(s, g.Key)
		s.joined(e.mark, g.Key)
	}
}

// fieldGuards encodes equal and held guards on one key; first is the number of
// the first among all guards.
func (e *encoder) fieldGuards(run []board.Guard, first int) {
	values, fields := 0, 0
	for i := range run {
		values++
		if run[i].Kind == board.GuardHeld {
			values++
			fields = 1
		}
	}
	fields += values
	s := &e.guards
	s.num(2)
	// What to answer when the key holds no record: nobody holds it, or a text.
	if run[0].Kind == board.GuardHeld {
		s.num(first)
	} else {
		s.text("\x00" + run[0].Key)
	}
	s.num(values, fields)
	s.text("HMGET")
	e.key(s, run[0].Key)
	e.fieldNames(run, fields > values)
	for i := range run {
		e.wanted(&run[i], first+i)
	}
}

func (e *encoder) fieldNames(run []board.Guard, held bool) {
	for i := range run {
		if run[i].Kind == board.GuardHeld {
			e.guards.text(board.FieldOwner)
			e.guards.text(board.FieldAttempt)
			continue
		}
		e.guards.text(run[i].Field)
	}
	if held {
		e.guards.text(board.FieldQueue)
	}
}

// wanted encodes the values that the fields of a guard must have.
func (e *encoder) wanted(g *board.Guard, i int) {
	switch {
	case g.Kind == board.GuardEqual:
		e.guards.text(g.Value)
	case g.Value == "":
		e.guards.num(0) // nobody holds without a name
	default:
		e.guards.text(g.Value)
	}
	e.guards.num(i)
	if g.Kind == board.GuardHeld {
		e.guards.decimal(g.N)
		e.guards.num(i)
	}
}
