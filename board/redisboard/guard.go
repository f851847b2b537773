package redisboard

import "github.com/ramet-run/ramet/board"

// This file encodes the guards of a batch, as the function guard of
// lua/commit.lua reads them.

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
	case board.GuardLength:
		s.num(6, i)
		e.key(s, g.Key)
		s.num(int(min(g.N, maxIndex)))
	case board.GuardItem:
		s.num(7, i)
		e.key(s, g.Key)
		s.decimal(clamp(g.N))
		s.text(g.Value)
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
