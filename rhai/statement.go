package rhai

import (
	"github.com/ramet-run/ramet/rhai/lib"
	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file compiles statements that do not loop or branch.

// statements compiles a list; its value is that of the last one.
func (c *fnc) statements(list []syntax.Node, m mode) node {
	nodes := make([]node, 0, len(list))
	for i, n := range list {
		if _, empty := n.(*syntax.Noop); empty && i < len(list)-1 {
			continue
		}
		if i < len(list)-1 {
			nodes = append(nodes, c.node(n, borrow))
		} else {
			nodes = append(nodes, c.node(n, m))
		}
	}
	switch len(nodes) {
	case 0:
		return constant(value.Unit)
	case 1:
		return nodes[0]
	case 2:
		a, b := nodes[0], nodes[1]
		return func(fr *frame) Value {
			if v := a(fr); v.IsNone() {
				return v
			}
			return b(fr)
		}
	case 3:
		a, b, d := nodes[0], nodes[1], nodes[2]
		return func(fr *frame) Value {
			if v := a(fr); v.IsNone() {
				return v
			}
			if v := b(fr); v.IsNone() {
				return v
			}
			return d(fr)
		}
	}
	last := nodes[len(nodes)-1]
	nodes = nodes[:len(nodes)-1]
	return func(fr *frame) Value {
		for _, n := range nodes {
			if v := n(fr); v.IsNone() {
				return v
			}
		}
		return last(fr)
	}
}

// blockNode compiles { ... } with a scope of its own.
func (c *fnc) blockNode(n *syntax.Block, m mode) node {
	shut := c.open()
	evals := c.evals
	body := c.statements(n.Body, m)
	imports := hasImport(n.Body)
	shut()
	if c.evals == evals && !imports {
		return body
	}
	c.evals = evals
	// What eval declared in the block ends with it, and so do imports.
	return func(fr *frame) Value {
		extras, imported := len(fr.extras), len(fr.run.imported)
		v := body(fr)
		clear(fr.extras[extras:])
		fr.extras = fr.extras[:extras]
		fr.run.imported = fr.run.imported[:min(imported, len(fr.run.imported))]
		return v
	}
}

func hasImport(list []syntax.Node) bool {
	for _, n := range list {
		if _, ok := n.(*syntax.Import); ok {
			return true
		}
	}
	return false
}

// let compiles a declaration.
func (c *fnc) let(n *syntax.Let) node {
	declare := c.declaration(n)
	if !n.Export {
		return declare
	}
	export := c.export(&syntax.Export{Name: n.Name})
	return func(fr *frame) Value {
		if v := declare(fr); v.IsNone() {
			return v
		}
		return export(fr)
	}
}

func (c *fnc) declaration(n *syntax.Let) node {
	e := c.unit.engine
	name, pos, readonly := n.Name.Name, n.Pos, n.Const
	init := constant(value.Unit)
	if n.Init != nil {
		init = c.node(n.Init, own)
	}
	if e.Syntax.NoShadowing {
		init = c.unshadowed(init, n)
	}
	if c.site != nil && c.block == 0 {
		if readonly && c.global {
			init = recorded(init, name)
		}
		return c.letExtra(init, name, readonly)
	}
	known := len(c.locals)
	slot := c.declare(name, readonly)
	fresh := len(c.locals) > known
	if fresh {
		init = c.room(init, known, 1, pos)
	}
	if e.OnDefVar != nil {
		store := init
		namePos := n.Name.Pos
		init = func(fr *frame) Value {
			if err := e.OnDefVar(name, readonly); err != nil {
				return fr.fail(&value.Error{Kind: value.ErrorForbiddenVariable, Name: name, Cause: err, Pos: namePos})
			}
			return store(fr)
		}
	}
	if readonly && c.top && c.block == 0 && c.unit.prog.HasFuncs {
		init = recorded(init, name)
	}
	return func(fr *frame) Value {
		v := init(fr)
		if v.IsNone() {
			return v
		}
		fr.slots[slot] = v
		return value.Unit
	}
}

// recorded makes what init gives the constant global::name.
func recorded(init node, name string) node {
	return func(fr *frame) Value {
		v := init(fr)
		if !v.IsNone() {
			fr.env.constant(name, v.Keep())
		}
		return v
	}
}

// room lets do happen only where n more variables may live beside those known.
func (c *fnc) room(do node, known, n int, pos Pos) node {
	most, top := c.unit.engine.MaxVariables, c.top
	if most == 0 {
		return do
	}
	return func(fr *frame) Value {
		n := known + n + len(fr.extras)
		if top {
			n += fr.run.scope.Len()
		}
		if n > most {
			return fr.fail(&value.Error{Kind: value.ErrorTooManyVariables, Pos: pos})
		}
		return do(fr)
	}
}

// unshadowed lets init happen only where the name does not exist: variables of
// the host and those around an eval are not known to the parser.
func (c *fnc) unshadowed(init node, n *syntax.Let) node {
	r := c.look(n.Name.Name, n.Pos)
	return func(fr *frame) Value {
		if p, _ := fr.lookup(&r); p != nil {
			return fr.fail(&value.Error{Kind: value.ErrorVariableExists, Name: r.name, Pos: r.pos})
		}
		return init(fr)
	}
}

// letExtra compiles a declaration at the top level of an eval: the variable
// belongs to the code around it.
func (c *fnc) letExtra(init node, name string, readonly bool) node {
	c.evals++
	return func(fr *frame) Value {
		v := init(fr)
		if v.IsNone() {
			return v
		}
		f := fr
		for f.outer != nil {
			f = f.outer
		}
		f.extras = append(f.extras, extra{name, &v, readonly})
		if !fr.charge(extraBytes, Pos{}) {
			return Value{}
		}
		return value.Unit
	}
}

// assign compiles target = value and target op= value.
func (c *fnc) assign(n *syntax.Assign) node {
	switch t := n.Target.(type) {
	case *syntax.Name:
		if len(t.Path) > 0 {
			return c.assignQualified(n, t)
		}
		r := c.look(t.Name, t.Pos)
		if r.kind == refSlot && r.hops == 0 && !r.readonly {
			return c.assignSlot(n, r)
		}
		return c.assignRef(n, r)
	case *syntax.This:
		return c.assignThis(n)
	case *syntax.Chain:
		return c.assignChain(n, t)
	}
	panic("BUG: the parser let an odd target of an assignment through")
}

// assignSlot is for the usual target: a local variable.
func (c *fnc) assignSlot(n *syntax.Assign, r ref) node {
	slot, pos := r.slot, n.Pos
	op := value.OpOf(n.Op)
	if n.Op == "" {
		x := c.node(n.Value, own)
		if r.cell {
			return func(fr *frame) Value {
				v := x(fr)
				if v.IsNone() {
					return v
				}
				return fr.store(&fr.slots[slot], v, &r)
			}
		}
		if f := c.growing(n, slot, x); f != nil {
			return f
		}
		return func(fr *frame) Value {
			v := x(fr)
			if v.IsNone() {
				return v
			}
			fr.slots[slot] = v
			return value.Unit
		}
	}
	if !r.cell && c.unit.engine.fastOperators() {
		if f := c.assignInt(n, op, slot); f != nil {
			return f
		}
	}
	x := c.node(n.Value, borrow)
	opName := n.Op
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		p := fr.change(&fr.slots[slot], &r)
		if p == nil {
			return Value{}
		}
		return fr.operate(p, op, opName, v, pos)
	}
}

// assignInt makes the quick forms of local op= int.
func (c *fnc) assignInt(n *syntax.Assign, op value.Op, slot int) node {
	pos, opName := n.Pos, n.Op
	if k, ok := intLiteral(n.Value); ok && (op == value.Add || op == value.Sub) {
		c.cost++
		kv := value.Int(k)
		if op == value.Sub {
			if k == -1<<63 {
				return nil
			}
			k = -k
		}
		return func(fr *frame) Value {
			p := &fr.slots[slot]
			if p.PlainInt() {
				a := p.AsInt()
				if s := a + k; (a^s)&(k^s) >= 0 {
					p.SetInt(s)
					return value.Unit
				}
			}
			return fr.operate(p, op, opName, kv, pos)
		}
	}
	switch op {
	case value.Add:
		x := c.node(n.Value, borrow)
		return func(fr *frame) Value {
			v := x(fr)
			p := &fr.slots[slot]
			switch {
			case v.PlainInt() && p.PlainInt():
				a, b := p.AsInt(), v.AsInt()
				if s := a + b; (a^s)&(b^s) >= 0 {
					p.SetInt(s)
					return value.Unit
				}
			case v.PlainFloat() && p.PlainFloat():
				p.SetFloat(p.AsFloat() + v.AsFloat())
				return value.Unit
			case v.IsNone():
				return v
			}
			return fr.operate(p, op, opName, v, pos)
		}
	case value.Sub:
		x := c.node(n.Value, borrow)
		return func(fr *frame) Value {
			v := x(fr)
			p := &fr.slots[slot]
			switch {
			case v.PlainInt() && p.PlainInt():
				a, b := p.AsInt(), v.AsInt()
				if s := a - b; (a^b)&(a^s) >= 0 {
					p.SetInt(s)
					return value.Unit
				}
			case v.PlainFloat() && p.PlainFloat():
				p.SetFloat(p.AsFloat() - v.AsFloat())
				return value.Unit
			case v.IsNone():
				return v
			}
			return fr.operate(p, op, opName, v, pos)
		}
	}
	return nil
}

// assignRef is for targets that are known by name only, further out, or constant.
func (c *fnc) assignRef(n *syntax.Assign, r ref) node {
	x := c.node(n.Value, own)
	pos, op, opName := n.Pos, value.OpOf(n.Op), n.Op
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		p, readonly := fr.lookup(&r)
		if p == nil {
			return fr.fail(&value.Error{Kind: value.ErrorVariableNotFound, Name: r.name, Pos: r.pos})
		}
		if readonly {
			return fr.fail(&value.Error{Kind: value.ErrorAssignmentToConstant, Name: r.name, Pos: r.pos})
		}
		if opName == "" {
			return fr.store(p, v, &r)
		}
		if p = fr.change(p, &r); p == nil {
			return Value{}
		}
		return fr.operate(p, op, opName, v, pos)
	}
}

func (c *fnc) assignThis(n *syntax.Assign) node {
	x := c.node(n.Value, own)
	pos, op, opName := n.Pos, value.OpOf(n.Op), n.Op
	thisPos := n.Target.Start()
	return func(fr *frame) Value {
		if fr.this == nil {
			return fr.fail(&value.Error{Kind: value.ErrorUnboundThis, Pos: thisPos})
		}
		v := x(fr)
		if v.IsNone() {
			return v
		}
		if fr.thisConst {
			return fr.fail(&value.Error{Kind: value.ErrorAssignmentToConstant, Pos: thisPos})
		}
		p := fr.this
		if p.Is(value.CellKind) {
			p = &p.AsCell().V
		}
		if opName == "" {
			*p = v
			return value.Unit
		}
		return fr.operate(p, op, opName, v, pos)
	}
}

// store puts v into a variable, through its cell when it has been captured.
func (fr *frame) store(p *Value, v Value, r *ref) Value {
	if p = fr.change(p, r); p == nil {
		return Value{}
	}
	*p = v
	return value.Unit
}

// change is open for a variable that is about to change, which a captured constant must not.
func (fr *frame) change(p *Value, r *ref) *Value {
	if p.Is(value.CellKind) && p.AsCell().Const {
		fr.fail(&value.Error{Kind: value.ErrorAssignmentToConstant, Name: r.name, Pos: r.pos})
		return nil
	}
	return fr.open(p)
}

// open gives the place of a variable's value, in its cell when it has been
// captured: nil, and a data race, when a running call holds the cell by reference.
func (fr *frame) open(p *Value) *Value {
	if !p.Is(value.CellKind) {
		return p
	}
	cell := p.AsCell()
	if cell.InUse > 0 {
		fr.fail(&value.Error{Kind: value.ErrorDataRace})
		return nil
	}
	return &cell.V
}

// operate does *p op= v: built in, else by a registered op=, else *p = *p op v.
func (fr *frame) operate(p *Value, op value.Op, name string, v Value, pos Pos) Value {
	r := fr.run
	if op == value.Add && p.PlainFloat() && v.PlainFloat() && r.engine.fastOperators() {
		p.SetFloat(p.AsFloat() + v.AsFloat())
		return value.Unit
	}
	if op != value.NoOp && (r.engine.fastOperators() || !fr.overridden(name, *p, v)) {
		if op == value.Add && r.measureAt > 0 && !p.Is(value.StringKind) && !fr.chargeCopy(p, pos) { // texts charge their own
			return Value{}
		}
		r.ctx.Pos = pos
		done, ok := lib.Assign(&r.ctx, op, p, v)
		if !ok {
			e := r.ctx.Err
			if e.Pos.IsZero() {
				e.Pos = pos
			}
			return fr.failed(pos)
		}
		if done {
			if (r.sizes || r.measureAt > 0) && (!fr.fits(*p, pos) || !fr.charge(16, pos)) {
				return Value{}
			}
			return value.Unit
		}
	}
	if o := r.engine.natives[fnKey{name + "=", 2}]; o != nil {
		args := r.scratch(1)
		args[0] = v
		if f := o.find(p, args, 2); f != nil {
			r.ctx.Pos = pos
			out := f.Call(&r.ctx, p, args)
			r.release(args)
			if out.IsNone() {
				return fr.failed(pos)
			}
			return value.Unit
		}
		r.release(args)
	}
	out := fr.binary(op, name, *p, v, pos)
	if out.IsNone() {
		if r.err != nil && r.err.Pos.IsZero() {
			r.err.Pos = pos
		}
		return out
	}
	*p = out.Keep()
	return value.Unit
}

// try compiles try {} catch {}.
func (c *fnc) try(n *syntax.Try, m mode) node {
	body := c.blockNode(n.Body, own)
	shut := c.open()
	slot := -1
	if n.Var != nil {
		slot = c.declareNew(n.Var.Name, false)
	}
	handler := c.blockNode(n.Catch, borrow)
	if n.Var != nil {
		handler = c.room(handler, len(c.locals)-1, 1, n.Var.Pos)
	}
	shut()
	return func(fr *frame) Value {
		r := fr.run
		held, imported := len(r.held), len(r.imported)
		v := body(fr)
		if !v.IsNone() || r.ctl != ctlError || !catchable(r.err) {
			return v
		}
		r.held = r.held[:held]
		r.imported = r.imported[:min(imported, len(r.imported))]
		caught := r.err
		r.ctl, r.err = ctlNone, nil
		if !fr.chargeError(caught, n.Body.Start()) {
			return Value{}
		}
		if slot >= 0 {
			fr.slots[slot] = errorValue(caught, fr.env.source())
		}
		v = handler(fr)
		if v.IsNone() && r.ctl == ctlError && bareThrow(r.err) {
			// throw; in a catch block raises the same error again, at the new place.
			again := *caught
			again.Pos = r.err.Pos
			r.err = &again
			return v
		}
		if v.IsNone() {
			return v
		}
		return value.Unit
	}
}

// catchable reports whether a script may catch e. Wrapped into a call, a limit is a limit still.
func catchable(e *value.Error) bool {
	in := e.Innermost().Kind
	return e.Kind.Catchable() && (in.Catchable() || in == value.ErrorParsing)
}

// bareThrow reports what "throw;" and "throw ()" do.
func bareThrow(e *value.Error) bool {
	return e.Kind == value.ErrorRuntime && e.Value.IsUnit()
}
