package redisboard

import (
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
