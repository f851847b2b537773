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
	case *syntax.Binary, *syntax.Unary, *syntax.Interpolated:
		return "#" // gives a fresh value
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
			ok = w.setIndex(b.parent, b.step, *b.v, b.step.pos, !always)
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

// quickChain makes the forms that scripts use most: local.name, local[i],
// local[i][j] and local.method(args).
func (c *fnc) quickChain(n *syntax.Chain, ch *chain, m mode) node {
	slow := func(fr *frame, first, second Value) Value {
		r := fr.run
		vals := r.scratch(ch.vals)
		if ch.steps[0].index != nil {
			vals[ch.steps[0].at] = first
		}
		if len(ch.steps) > 1 {
			vals[ch.steps[1].at] = second
		}
		v := ch.get(fr, vals, m)
		r.release(vals)
		return v
	}
	plain := ch.slot >= 0 && !ch.ref.cell
	first := ch.steps[0]
	slot := ch.slot
	switch {
	case len(n.Steps) == 1 && first.kind == syntax.PropertyStep && plain && !first.nullSafe:
		return func(fr *frame) Value {
			v := fr.slots[slot]
			switch v.Kind() {
			case value.MapKind:
				m2 := v.AsMap()
				if h := int(first.hint.Load()); h < m2.Len() {
					if e := m2.At(h); e.Key == first.name {
						x := e.Value
						if m != borrow {
							x.Keep()
						}
						return x
					}
				}
			case value.ArrayKind:
				if first.name == "len" {
					return value.Int(int64(len(v.AsArray().Items)))
				}
			}
			return slow(fr, Value{}, Value{})
		}
	case len(n.Steps) == 1 && first.kind == syntax.PropertyStep && ch.isThis && !first.nullSafe:
		return func(fr *frame) Value {
			if p := fr.this; p != nil && p.Is(value.MapKind) {
				m2 := p.AsMap()
				if h := int(first.hint.Load()); h < m2.Len() {
					if e := m2.At(h); e.Key == first.name {
						x := e.Value
						if m != borrow {
							x.Keep()
						}
						return x
					}
				}
			}
			return slow(fr, Value{}, Value{})
		}
	case len(n.Steps) == 1 && first.kind == syntax.IndexStep && plain && !first.nullSafe:
		index := first.index
		return func(fr *frame) Value {
			i := index(fr)
			if i.IsNone() {
				return i
			}
			if v := fr.slots[slot]; i.PlainInt() && v.Is(value.ArrayKind) {
				if items := v.AsArray().Items; uint64(i.AsInt()) < uint64(len(items)) {
					x := items[i.AsInt()]
					if m != borrow {
						x.Keep()
					}
					return x
				}
			}
			return slow(fr, i, Value{})
		}
	case len(n.Steps) == 2 && first.kind == syntax.IndexStep && plain && !first.nullSafe &&
		ch.steps[1].kind == syntax.IndexStep && !ch.steps[1].nullSafe:
		index, index2 := first.index, ch.steps[1].index
		return func(fr *frame) Value {
			i := index(fr)
			if i.IsNone() {
				return i
			}
			j := index2(fr)
			if j.IsNone() {
				return j
			}
			if v := fr.slots[slot]; i.PlainInt() && j.PlainInt() && v.Is(value.ArrayKind) {
				if items := v.AsArray().Items; uint64(i.AsInt()) < uint64(len(items)) {
					if row := items[i.AsInt()]; row.Is(value.ArrayKind) {
						if cells := row.AsArray().Items; uint64(j.AsInt()) < uint64(len(cells)) {
							x := cells[j.AsInt()]
							if m != borrow {
								x.Keep()
							}
							return x
						}
					}
				}
			}
			return slow(fr, i, j)
		}
	case len(n.Steps) == 1 && first.kind == syntax.MethodStep && plain && !first.nullSafe && !ch.readonly &&
		first.fn == nil && !first.typed && !specialMethod[first.name]:
		return quickMethod(ch, first, slot, m)
	case len(n.Steps) == 1 && first.kind == syntax.MethodStep && plain && !first.nullSafe && first.name == "call":
		return quickPointer(ch, first, slot, m)
	}
	return nil
}

// quickPointer calls the function pointer in a plain local: f.call(args).
func quickPointer(ch *chain, s *step, slot int, m mode) node {
	return func(fr *frame) Value {
		r := fr.run
		vals := r.scratch(ch.vals)
		for i, a := range s.args {
			v := a(fr)
			if v.IsNone() {
				r.release(vals)
				return v
			}
			vals[s.at+i] = v
		}
		var v Value
		if f := fr.slots[slot]; f.Is(value.FnKind) {
			v = fr.callFn(f, nil, false, vals[s.at:s.at+len(s.args)], s.pos)
		} else {
			v = ch.get(fr, vals, m)
		}
		r.release(vals)
		return v
	}
}

// quickMethod calls a native method on a plain local.
func quickMethod(ch *chain, s *step, slot int, m mode) node {
	return func(fr *frame) Value {
		r := fr.run
		vals := r.scratch(ch.vals)
		for i, a := range s.args {
			v := a(fr)
			if v.IsNone() {
				r.release(vals)
				return v
			}
			vals[s.at+i] = v
		}
		this := &fr.slots[slot]
		if !this.Is(value.MapKind) && len(r.imported) == 0 && len(r.engine.global) == 0 {
			args := vals[s.at : s.at+len(s.args)]
			if f := s.method.native(fr, this, args); f != nil {
				v := fr.invoke(f, this, args, s.pos)
				r.release(vals)
				return v
			}
		}
		v := ch.get(fr, vals, m)
		r.release(vals)
		return v
	}
}

// assignChain compiles a.b[i] = v and a.b[i] op= v.
func (c *fnc) assignChain(n *syntax.Assign, t *syntax.Chain) node {
	ch := c.compileChain(t.Root, t.Steps)
	x := c.node(n.Value, own)
	op, opName, pos := value.OpOf(n.Op), n.Op, n.Pos
	slow := func(fr *frame, vals []Value, v Value) Value {
		return ch.put(fr, vals, v, op, opName, pos)
	}
	general := func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		r := fr.run
		vals := r.scratch(ch.vals)
		if !ch.fill(fr, vals) {
			r.release(vals)
			return Value{}
		}
		out := slow(fr, vals, v)
		r.release(vals)
		return out
	}
	if f := quickAssign(ch, x, op, opName, pos); f != nil && !c.unit.engine.sized() {
		return f
	}
	return general
}

// quickAssign makes the forms of assignments that scripts use most: to
// local[i], local[i][j] and local.name.
func quickAssign(ch *chain, x node, op value.Op, opName string, pos Pos) node {
	local := ch.slot >= 0 && !ch.ref.cell && !ch.readonly
	if !local && !(ch.isThis && len(ch.steps) == 1) || ch.steps[0].nullSafe {
		return nil
	}
	first, slot := ch.steps[0], ch.slot
	// do finishes in an element's own place.
	do := func(fr *frame, q *Value, v Value) Value {
		if opName == "" {
			*q = v
			return value.Unit
		}
		if op == value.Add && v.PlainInt() && q.PlainInt() {
			a, b := q.AsInt(), v.AsInt()
			if s := a + b; (a^s)&(b^s) >= 0 {
				q.SetInt(s)
				return value.Unit
			}
		}
		return fr.operate(q, op, opName, v, pos)
	}
	// slow takes over with what has been evaluated.
	slow := func(fr *frame, v, i, j Value) Value {
		r := fr.run
		vals := r.scratch(ch.vals)
		if first.index != nil {
			vals[first.at] = i
		}
		if len(ch.steps) > 1 {
			vals[ch.steps[1].at] = j
		}
		out := ch.put(fr, vals, v, op, opName, pos)
		r.release(vals)
		return out
	}
	switch {
	case ch.isThis && first.kind == syntax.PropertyStep:
		return func(fr *frame) Value {
			v := x(fr)
			if v.IsNone() {
				return v
			}
			if p := fr.this; p != nil && !fr.thisConst && p.Is(value.MapKind) {
				m := value.MutMap(p)
				if h := int(first.hint.Load()); h < m.Len() {
					if e := m.At(h); e.Key == first.name {
						return do(fr, &e.Value, v)
					}
				}
			}
			return slow(fr, v, Value{}, Value{})
		}
	case ch.isThis:
		return nil
	case len(ch.steps) == 1 && first.kind == syntax.PropertyStep:
		return func(fr *frame) Value {
			v := x(fr)
			if v.IsNone() {
				return v
			}
			if p := &fr.slots[slot]; p.Is(value.MapKind) {
				m := value.MutMap(p)
				if h := int(first.hint.Load()); h < m.Len() {
					if e := m.At(h); e.Key == first.name {
						return do(fr, &e.Value, v)
					}
				}
			}
			return slow(fr, v, Value{}, Value{})
		}
	case len(ch.steps) == 1 && first.kind == syntax.IndexStep:
		index := first.index
		return func(fr *frame) Value {
			v := x(fr)
			if v.IsNone() {
				return v
			}
			i := index(fr)
			if i.IsNone() {
				return i
			}
			if p := &fr.slots[slot]; i.PlainInt() && p.Is(value.ArrayKind) {
				if items := value.MutArray(p).Items; uint64(i.AsInt()) < uint64(len(items)) {
					if opName == "" {
						items[i.AsInt()] = v
						return value.Unit
					}
					return do(fr, &items[i.AsInt()], v)
				}
			}
			return slow(fr, v, i, Value{})
		}
	case len(ch.steps) == 2 && first.kind == syntax.IndexStep && ch.steps[1].kind == syntax.IndexStep && !ch.steps[1].nullSafe:
		index, index2 := first.index, ch.steps[1].index
		return func(fr *frame) Value {
			v := x(fr)
			if v.IsNone() {
				return v
			}
			i := index(fr)
			if i.IsNone() {
				return i
			}
			j := index2(fr)
			if j.IsNone() {
				return j
			}
			if p := &fr.slots[slot]; i.PlainInt() && j.PlainInt() && p.Is(value.ArrayKind) {
				if rows := value.MutArray(p).Items; uint64(i.AsInt()) < uint64(len(rows)) && rows[i.AsInt()].Is(value.ArrayKind) {
					if items := value.MutArray(&rows[i.AsInt()]).Items; uint64(j.AsInt()) < uint64(len(items)) {
						return do(fr, &items[j.AsInt()], v)
					}
				}
			}
			return slow(fr, v, i, j)
		}
	}
	return nil
}

// put walks to the last step and assigns there.
func (ch *chain) put(fr *frame, vals []Value, v Value, op value.Op, opName string, pos Pos) Value {
	w := walker{ch: ch, fr: fr, vals: vals}
	last := len(ch.steps) - 1
	if !w.start() {
		return Value{}
	}
	if !w.walk(last) {
		return Value{}
	}
	s := ch.steps[last]
	if w.skipped || s.nullSafe && w.cur.IsUnit() {
		return value.Unit
	}
	if w.readonly && !w.mayChange(s) {
		return Value{}
	}
	p := w.place(last)
	if p == nil || !fr.chargeCopy(p, s.pos) {
		return Value{}
	}
	if opName != "" {
		if q := direct(p, s, vals); q != nil {
			if out := fr.operate(q, op, opName, v, pos); out.IsNone() {
				return out
			}
		} else {
			temp := Value{}
			if s.kind == syntax.PropertyStep {
				temp = fr.property(s, *p, vals)
			} else {
				temp = fr.index(s, *p, vals)
			}
			switch {
			case !temp.IsNone():
				temp.Keep()
				if out := fr.operate(&temp, op, opName, v, pos); out.IsNone() {
					return out
				}
				v = temp
			case fr.run.ctl != ctlError || fr.run.err.Kind != value.ErrorIndexingType:
				return temp
			default:
				// What cannot be read by index is set all the same; the lack of a setter is the error then.
				fr.run.ctl, fr.run.err = ctlNone, nil
			}
			opName = ""
		}
	}
	if opName == "" {
		ok := false
		if s.kind == syntax.PropertyStep {
			ok = w.setProperty(p, s, v, false)
		} else {
			ok = w.setIndex(p, s, v, pos, false)
		}
		if !ok {
			return Value{}
		}
	}
	if !w.giveBack(true) {
		return Value{}
	}
	// An element is measured by itself, as the reference does; what an array holds in all is
	// measured when it grows.
	grown := p
	if s.kind == syntax.IndexStep {
		grown = &v
		if p.Is(value.MapKind) && fr.run.sizes && !fr.within(sizes{maps: p.AsMap().Len()}, pos) {
			return Value{}
		}
	}
	if !fr.fits(*grown, pos) || !fr.charge(16, pos) {
		return Value{}
	}
	return value.Unit
}

// mayChange says whether the last step of a chain from a constant may be
// assigned to. What the constant holds is constant too: elements, values of
// keys. Setters see to it themselves. As in the reference, the rest is not:
// new keys of a map, and bits, characters and bytes.
func (w *walker) mayChange(s *step) bool {
	fr, vals, cur := w.fr, w.vals, w.cur
	taken := false
	switch {
	case s.kind == syntax.IndexStep && cur.Is(value.ArrayKind):
		if fr.index(s, cur, vals).IsNone() {
			return false
		}
		taken = true
	case s.kind == syntax.IndexStep && cur.Is(value.MapKind):
		taken = vals[s.at].Is(value.StringKind) && cur.AsMap().Find(vals[s.at].AsString()) >= 0
	case s.kind == syntax.PropertyStep && cur.Is(value.MapKind):
		taken = cur.AsMap().Find(s.name) >= 0
	}
	if taken {
		fr.fail(&value.Error{Kind: value.ErrorAssignmentToConstant, Name: w.ch.ref.name, Pos: w.ch.pos})
	}
	return !taken
}

// direct gives the element's own place where it has one, for changing it there.
func direct(p *Value, s *step, vals []Value) *Value {
	var q *Value
	switch {
	case s.kind == syntax.PropertyStep && p.Is(value.MapKind):
		q = refOrNew(value.MutMap(p), s.name)
	case s.kind == syntax.IndexStep && p.Is(value.ArrayKind) && vals[s.at].Is(value.IntKind):
		items := value.MutArray(p).Items
		if i, ok := at(vals[s.at].AsInt(), len(items)); ok {
			q = &items[i]
		}
	case s.kind == syntax.IndexStep && p.Is(value.MapKind) && vals[s.at].Is(value.StringKind):
		q = refOrNew(value.MutMap(p), vals[s.at].AsString())
	}
	if q != nil && q.Is(value.CellKind) {
		q = &q.AsCell().V
	}
	return q
}

// refOrNew gives the place of a key, which is added when the map does not have it.
func refOrNew(m *value.Map, key string) *Value {
	if q := m.Ref(key); q != nil {
		return q
	}
	return &m.At(m.Set(key, value.Unit)).Value
}

// at turns an index that may be negative into one from 0; false when there is no such element.
func at(i int64, n int) (int, bool) {
	if i < 0 {
		i += int64(n)
	}
	return int(i), i >= 0 && i < int64(n)
}
