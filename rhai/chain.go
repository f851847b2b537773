package rhai

import (
	"sync/atomic"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file compiles chains: a root followed by properties, indexes and calls.
//
// All indexes and arguments are evaluated first, in order; then the root is
// read and the steps are walked. Walking borrows: nothing is copied. Only when
// a step is about to change something in place, the part of the path that has been walked is
// walked again for writing, from the last known place on, so that shared
// objects on it are copied (see walker.place).

// chain is a compiled chain.
type chain struct {
	steps []*step
	vals  int // scratch values: indexes, arguments and homes of temporaries
	home  int // of the root, when it is a temporary

	root     node // nil when the root is a place
	isThis   bool
	slot     int // of a plain local, else -1
	ref      ref
	pos      Pos // of the root
	fnName   bool
	unit     *unit
	readonly bool
}

// step is one compiled link.
type step struct {
	kind     syntax.StepKind
	nullSafe bool
	name     string
	pos      Pos
	indexPos Pos

	index node
	args  []node
	at    int // of the index or the first argument among the scratch values
	home  int // of what the step gives or of a receiver that has no other home

	method target // name with the receiver counted
	getter target
	setter target
	fn     *function // the script's function of that name, called with this
	typed  bool      // the script has typed methods of that name
	hint   atomic.Int32
}

// compileChain prepares the steps and the root.
func (c *fnc) compileChain(root syntax.Node, steps []syntax.Step) *chain {
	ch := &chain{slot: -1, pos: root.Start(), unit: c.unit}
	rootName := rootName(root)
	// What is read before a call that may change it must be kept.
	quiet := true
	for _, s := range steps {
		quiet = quiet && allHarmless(s.Args) && (s.Index == nil || harmless(s.Index))
	}
	for i := range steps {
		s := &steps[i]
		st := &step{kind: s.Kind, nullSafe: s.NullSafe, name: s.Name, pos: s.Pos, at: ch.vals}
		switch s.Kind {
		case syntax.IndexStep:
			m := borrow
			if !quiet {
				m = own
			}
			st.index, st.indexPos = c.node(s.Index, m), s.Index.Start()
			ch.vals++
			st.method.name = "index$get$"
			st.setter.name = "index$set$"
		case syntax.MethodStep:
			for _, a := range s.Args {
				m := borrow
				if r := mainRoot(a); !quiet || r == "" || r == rootName {
					m = own
				}
				st.args = append(st.args, c.node(a, m))
			}
			ch.vals += len(s.Args)
			if len(s.Args) > 0 {
				st.indexPos = position(s.Args[0])
			}
			st.method.name = s.Name
			st.fn = c.unit.fns[fnKey{s.Name, len(s.Args)}]
			for k := range c.unit.methods {
				st.typed = st.typed || k.name == s.Name && k.arity == len(s.Args)
			}
		case syntax.PropertyStep:
			st.getter.name, st.setter.name = "get$"+s.Name, "set$"+s.Name
		}
		st.home = ch.vals
		ch.vals++
		ch.steps = append(ch.steps, st)
	}
	ch.home = ch.vals
	ch.vals++
	switch n := root.(type) {
	case *syntax.This:
		ch.isThis = true
	case *syntax.Name:
		if len(n.Path) > 0 || c.unit.engine.OnVar != nil {
			// What a module offers is constant for others.
			ch.root, ch.readonly = c.node(n, borrow), len(n.Path) > 0
			ch.ref.name = n.Name
			break
		}
		ch.ref = c.look(n.Name, n.Pos)
		ch.fnName = c.unit.names[n.Name]
		if ch.ref.kind == refSlot && ch.ref.hops == 0 {
			ch.slot, ch.readonly = ch.ref.slot, ch.ref.readonly
		}
	default:
		ch.root = c.node(root, borrow)
	}
	return ch
}

// mainRoot is rootName, looking into operators and literals too: "" when unclear.
func mainRoot(n syntax.Node) string {
	switch n := n.(type) {
	case *syntax.Literal, *syntax.Closure:
		return "#"
	case *syntax.Name:
		return n.Name
	case *syntax.Chain:
		for _, s := range n.Steps {
			if s.Kind == syntax.MethodStep {
				return ""
			}
		}
		return mainRoot(n.Root)
	case *syntax.Binary:
		if n.Op != "??" {
			return "#" // gives a fresh value
		}
	case *syntax.Unary, *syntax.Interpolated:
		return "#"
	}
	return ""
}

// walker is one walk along a chain.
type walker struct {
	ch   *chain
	fr   *frame
	vals []Value
	// base is the last place known for writing; steps from on lead from there to cur.
	base     *Value
	from     int
	cur      Value
	cell     *value.Cell // the root's, when a closure has captured it
	readonly bool
	skipped  bool // a null-safe step met (): the result is ()
	backs    []back
	called   Pos // of the last method that may have changed what it was called on
}

// back is a value that was fetched through a getter or an indexer, and goes
// back the same way when it has been changed.
type back struct {
	parent *Value
	step   *step
	v      *Value
	before Value
}

// fill evaluates all indexes and arguments.
func (ch *chain) fill(fr *frame, vals []Value) bool {
	for _, s := range ch.steps {
		if s.index != nil {
			v := s.index(fr)
			if v.IsNone() {
				return false
			}
			vals[s.at] = v
		}
		for i, a := range s.args {
			v := a(fr)
			if v.IsNone() {
				return false
			}
			vals[s.at+i] = v
		}
	}
	return true
}

// start finds the root.
func (w *walker) start() bool {
	ch, fr := w.ch, w.fr
	switch {
	case ch.slot >= 0:
		w.base, w.readonly = &fr.slots[ch.slot], ch.readonly
	case ch.isThis:
		if fr.this == nil {
			fr.fail(&value.Error{Kind: value.ErrorUnboundThis, Pos: ch.pos})
			return false
		}
		w.base, w.readonly = fr.this, fr.thisConst
	case ch.root != nil:
		v := ch.root(fr)
		if v.IsNone() {
			return false
		}
		w.vals[ch.home] = v
		w.base, w.readonly = &w.vals[ch.home], ch.readonly
	default:
		p, readonly := fr.lookup(&ch.ref)
		if p == nil {
			if !ch.fnName {
				fr.fail(&value.Error{Kind: value.ErrorVariableNotFound, Name: ch.ref.name, Pos: ch.pos})
				return false
			}
			w.vals[ch.home] = value.NewFn(ch.ref.name, nil, nil, fr.env)
			p = &w.vals[ch.home]
		}
		w.base, w.readonly = p, readonly
	}
	if w.base.Is(value.CellKind) {
		w.cell = w.base.AsCell()
		if w.cell.InUse > 0 {
			fr.fail(&value.Error{Kind: value.ErrorDataRace})
			return false
		}
		w.base, w.readonly = &w.cell.V, w.readonly || w.cell.Const
	}
	w.cur = *w.base
	return true
}

// walk goes up to step end.
func (w *walker) walk(end int) bool {
	for i := 0; i < end; i++ {
		s := w.ch.steps[i]
		if s.nullSafe && w.cur.IsUnit() {
			w.skipped = true
			return true
		}
		var v Value
		switch s.kind {
		case syntax.PropertyStep:
			v = w.property(s)
		case syntax.IndexStep:
			v = w.fr.index(s, w.cur, w.vals)
		default:
			v = w.call(i, s)
			if v.IsNone() {
				return false
			}
			w.vals[s.home] = v
			w.base, w.from, w.cur = &w.vals[s.home], i+1, v
			w.cell, w.readonly = nil, false
			continue
		}
		if v.IsNone() {
			return false
		}
		w.cur = v.Flatten()
	}
	return true
}

// property reads a property of cur.
func (w *walker) property(s *step) Value { return w.fr.property(s, w.cur, w.vals) }

func (fr *frame) property(s *step, cur Value, vals []Value) Value {
	switch cur.Kind() {
	case value.MapKind:
		m := cur.AsMap()
		// The place where the key was last time is mostly the place now.
		if h := int(s.hint.Load()); h < m.Len() {
			if e := m.At(h); e.Key == s.name {
				return e.Value
			}
		}
		if i := m.Find(s.name); i >= 0 {
			s.hint.Store(int32(i))
			return m.At(i).Value
		}
		if fr.run.engine.FailOnMissingProperty {
			return fr.fail(&value.Error{Kind: value.ErrorPropertyNotFound, Name: s.name, Pos: s.pos})
		}
		return value.Unit
	case value.ArrayKind:
		if s.name == "len" {
			return value.Int(int64(len(cur.AsArray().Items)))
		}
	case value.StringKind:
		if s.name == "len" {
			return value.Int(int64(cur.Chars()))
		}
	}
	vals[s.home] = cur
	this := &vals[s.home]
	if f := s.getter.native(fr, this, nil); f != nil {
		return fr.invoke(f, this, nil, s.pos)
	}
	if cur.Is(value.CustomKind) {
		if v, ok := fr.registered("index$get$", s.pos, cur, value.Str(s.name)); ok {
			return v
		}
	}
	return fr.fail(&value.Error{Kind: value.ErrorDotExpr, Pos: s.pos,
		Name: "Unknown property '" + s.name + "' - a getter is not registered for type '" + cur.TypeName() + "'"})
}

// place walks from the last known place up to step end for writing.
func (w *walker) place(end int) *Value {
	p := w.base
	if w.from == 0 && w.ch.root != nil {
		p.Keep() // the value of an expression may belong to a variable, which stays as it is
	}
	for j := w.from; j < end; j++ {
		s := w.ch.steps[j]
		if !w.fr.chargeCopy(p, s.pos) {
			return nil
		}
		var q *Value
		switch {
		case s.kind == syntax.PropertyStep && p.Is(value.MapKind):
			m := value.MutMap(p)
			if q = m.Ref(s.name); q == nil {
				q = new(Value)
				*q = value.Unit
			}
		case s.kind == syntax.IndexStep && p.Is(value.ArrayKind):
			items := value.MutArray(p).Items
			i, ok := at(w.vals[s.at].AsInt(), len(items))
			if !ok {
				return nil // cannot be: the walk for reading has been here
			}
			q = &items[i]
		case s.kind == syntax.IndexStep && p.Is(value.MapKind) && w.vals[s.at].Is(value.StringKind):
			m := value.MutMap(p)
			if q = m.Ref(w.vals[s.at].AsString()); q == nil {
				q = new(Value)
				*q = value.Unit
			}
		default:
			q = new(Value)
			if s.kind == syntax.PropertyStep {
				*q = w.fr.property(s, *p, w.vals)
			} else {
				*q = w.fr.index(s, *p, w.vals)
			}
			if q.IsNone() {
				return nil
			}
			w.backs = append(w.backs, back{p, s, q, *q})
		}
		if q.Is(value.CellKind) {
			q = &q.AsCell().V
		}
		p = q
	}
	w.base, w.from = p, end
	return p
}

// giveBack writes values that came through getters back to where they came from.
func (w *walker) giveBack(always bool) bool {
	for i := len(w.backs) - 1; i >= 0; i-- {
		b := w.backs[i]
		if !always && b.v.Same(b.before) && !b.v.Is(value.CustomKind) {
			continue
		}
		ok := false
		if b.step.kind == syntax.PropertyStep {
			ok = w.setProperty(b.parent, b.step, *b.v, !always)
		} else {
			pos := b.step.pos
			if !always {
				pos = w.called
			}
			ok = w.setIndex(b.parent, b.step, *b.v, pos, !always)
		}
		if !ok {
			return false
		}
	}
	w.backs = w.backs[:0]
	return true
}

// get walks the whole chain for its value.
func (ch *chain) get(fr *frame, vals []Value, m mode) Value {
	w := walker{ch: ch, fr: fr, vals: vals}
	if !w.start() || !w.walk(len(ch.steps)) {
		return Value{}
	}
	if w.skipped {
		return value.Unit
	}
	if m != borrow {
		w.cur.Keep()
	}
	return w.cur
}

// chain compiles the reading of a chain.
func (c *fnc) chain(n *syntax.Chain, m mode) node {
	ch := c.compileChain(n.Root, n.Steps)
	if f := c.quickChain(n, ch, m); f != nil {
		return f
	}
	last := ch.steps[len(ch.steps)-1].kind
	if m == borrow && last != syntax.MethodStep && ch.root != nil {
		m = own // the root dies with the scratch values
	}
	return func(fr *frame) Value {
		r := fr.run
		vals := r.scratch(ch.vals)
		if !ch.fill(fr, vals) {
			r.release(vals)
			return Value{}
		}
		v := ch.get(fr, vals, m)
		r.release(vals)
		return v
	}
}

// at turns an index that may be negative into one from 0; false when there is no such element.
func at(i int64, n int) (int, bool) {
	if i < 0 {
		i += int64(n)
	}
	return int(i), i >= 0 && i < int64(n)
}
