package value

import "time"

// This file holds the objects that never change once made, and the cell.

// Fn is a function pointer: a name, and the leading arguments it carries.
type Fn struct {
	header
	Name  string
	Curry []Value
	// Def is the script function it leads to when that is known (a closure, or
	// a function named in the script), else nil: found by name at the call.
	Def any
	// Env is the module or script whose functions and imports it sees.
	Env any
}

// NewFn makes a function pointer; it owns curry.
func NewFn(name string, curry []Value, def, env any) Value {
	return Value{&(&Fn{header: header{kind: FnKind, shared: true}, Name: name, Curry: curry, Def: def, Env: env}).header, 0}
}

// Range is from..to or from..=to of ints.
type Range struct {
	header
	From, To int64
}

// NewRange makes from..to.
func NewRange(from, to int64) Value {
	return Value{&(&Range{header{kind: RangeKind, shared: true}, from, to}).header, 0}
}

// NewRangeIncl makes from..=to.
func NewRangeIncl(from, to int64) Value {
	return Value{&(&Range{header{kind: RangeInclKind, shared: true}, from, to}).header, 0}
}

// Inclusive reports that the end belongs to the range.
func (r *Range) Inclusive() bool { return r.kind == RangeInclKind }

// Time is an instant.
type Time struct {
	header
	T time.Time
}

// NewTime makes a timestamp.
func NewTime(t time.Time) Value {
	return Value{&(&Time{header{kind: TimeKind, shared: true}, t}).header, 0}
}

// Iter is something to loop over that is no container: range(a, b, step),
// chars(), bits().
type Iter struct {
	header
	// Name is how a host's debugger shows it.
	Name string
	// Start begins a new pass. Each call of what it returns gives the next
	// value, or None at the end.
	Start func() func() Value
	// Bytes is the memory that it keeps alive, without what is in values.
	Bytes int
}

// NewIter makes an iterator.
func NewIter(name string, start func() func() Value) Value {
	return Value{&(&Iter{header: header{kind: IterKind, shared: true}, Name: name, Start: start}).header, 0}
}

// Cell is a variable that a closure has captured: both sides see one place.
type Cell struct {
	header
	V Value
	// InUse counts the running calls that hold V by reference (as this or as a
	// first argument). Who meets a cell in use has a data race.
	InUse int32
	// Const says that the variable is a constant, for those who captured it too.
	Const bool
}

// NewCell makes a cell.
func NewCell(v Value) Value {
	return Value{&(&Cell{header: header{kind: CellKind, shared: true}, V: v}).header, 0}
}

// Type is a type of the host.
type Type struct {
	// Name is what type_of answers.
	Name string
	// Clone copies data of the type where a value is copied. Nil: copies share it.
	Clone func(data any) any
	// Assigned says that data is a *T and Clone does no more than to assign a T:
	// who reads a T out of data, or has made one for it, need not call Clone too.
	Assigned bool
	// Iterate gives an iterator over data of the type. Nil: cannot be looped over.
	// stop, which may be nil, is called when the loop is over.
	Iterate func(data any) (next func() Value, stop func())
	// Display and Debug render data. Nil: the type's name.
	Display, Debug func(data any) string
}

// Custom is an object of the host.
type Custom struct {
	header
	Type *Type
	Data any
}

// NewCustom makes an object of a host's type.
func NewCustom(t *Type, data any) Value {
	return Value{&(&Custom{header{kind: CustomKind}, t, data}).header, 0}
}

// MutCustom gives the object at p for changing: a copy, put in its place, where
// others hold it too and its type can be copied.
func MutCustom(p *Value) *Custom {
	c := p.AsCustom()
	if !c.shared || c.Type.Clone == nil {
		return c
	}
	*p = NewCustom(c.Type, c.Type.Clone(c.Data))
	return p.AsCustom()
}
