package syntax

// This file parses statements and blocks.

// stmt parses one statement; p.closed tells whether it needs a semicolon.
func (p *parser) stmt(c ctx) Node {
	doc, ok := p.docComments(c)
	if !ok {
		return nil
	}
	k := p.peek()
	pos := p.tok.pos
	p.closed = false
	if k == tEOF {
		return &Noop{Pos: pos}
	}
	c.pos = pos
	inner := c
	switch k {
	case tSemicolon:
		p.take()
		return &Noop{Pos: pos}
	case tFn, tPrivate:
		return p.function(c, doc)
	case tContinue, tBreak:
		if !p.o.NoLooping {
			return p.jump(c, k)
		}
	case tReturn, tThrow:
		return p.leave(c, k)
	case tExport:
		if c.flags&global == 0 {
			p.fail(problem{"WrongExport", "Export statement can only appear at global level"}, pos)
			return nil
		}
	}
	if !p.up(&inner) {
		return nil
	}
	var n Node
	switch k {
	case tLeftBrace:
		n = asNode(p.block(inner))
	case tIf:
		n = asNode(p.ifStmt(inner))
	case tSwitch:
		n = p.switchStmt(inner)
	case tTry:
		n = p.try(inner)
	case tLet, tConst:
		return p.let(inner, k == tConst, false)
	case tImport:
		return p.importStmt(inner)
	case tExport:
		return p.export(inner)
	case tWhile, tLoop, tFor:
		if p.o.NoLooping {
			return p.exprStmt(inner)
		}
		n = p.loop(inner)
	case tDo:
		if p.o.NoLooping {
			return p.exprStmt(inner)
		}
		n = p.loop(inner)
		p.closed = false
		return n
	default:
		return p.exprStmt(inner)
	}
	p.closed = true
	return n
}

// block parses { ... }.
func (p *parser) block(c ctx) *Block {
	if p.next() != tLeftBrace {
		p.wrongToken(missing("{", "to start a statement block"))
		return nil
	}
	return p.blockBody(c, p.tok.pos)
}

// blockBody parses what follows the { at pos.
func (p *parser) blockBody(c ctx, pos Pos) *Block {
	if !p.up(&c) {
		return nil
	}
	c.pos = pos
	b := &Block{Pos: pos}
	if c.flags&exprBlocks != 0 {
		n := p.exprStmt(c)
		if n == nil {
			return nil
		}
		b.Body = []Node{n}
		if p.next() != tRightBrace {
			p.wrongToken(missing("{", "to start a statement block"))
			return nil
		}
		b.End = p.tok.pos
		return b
	}
	s := p.scope
	frame, imports := s.frame, len(s.imports)
	s.frame = len(s.vars)
	c.flags &^= global
	if !p.statements(c, b) {
		return nil
	}
	s.vars = s.vars[:s.frame]
	s.frame = frame
	s.imports = s.imports[:imports]
	return b
}

// statements parses up to the } of b.
func (p *parser) statements(c ctx, b *Block) bool {
	for {
		switch p.peek() {
		case tRightBrace:
			b.End = p.take()
			return true
		case tEOF:
			return p.fail(missing("}", "to terminate this block"), p.tok.pos)
		}
		n := p.stmt(c)
		if n == nil {
			return false
		}
		if _, ok := n.(*Noop); ok {
			continue
		}
		b.Body = append(b.Body, n)
		closed := p.closed
		switch k := p.peek(); {
		case k == tRightBrace:
			b.End = p.take()
			return true
		case k == tSemicolon:
			p.take()
		case !closed:
			return p.wrongToken(missing(";", "to terminate this statement"))
		}
	}
}

// exprStmt parses an expression or an assignment.
func (p *parser) exprStmt(c ctx) Node {
	p.peek()
	c.pos = p.tok.pos
	x := p.expr(c)
	if x == nil {
		return nil
	}
	k := p.peek()
	op, assigns := opAssign(k)
	if !assigns && k != tAssign {
		custom, ok := x.(*Custom)
		p.closed = ok && custom.closed
		return x
	}
	pos := p.take()
	c.pos = pos
	value := p.expr(c)
	if value == nil {
		return nil
	}
	p.closed = false
	if !p.assignable(x, op, pos) {
		return nil
	}
	return &Assign{Target: x, Op: op, Value: value, Pos: pos}
}

// assignable reports targets that cannot be assigned to.
func (p *parser) assignable(x Node, op string, at Pos) bool {
	switch x := x.(type) {
	case *This:
		return true
	case *Name:
		if len(x.Path) == 0 {
			if v, behind := p.scope.find(x.Name); v != nil && !behind && v.constant {
				return p.fail(constantTarget(x.Name), x.Pos)
			}
		}
		return true
	case *Chain:
		for _, s := range x.Steps {
			if s.Kind == MethodStep {
				return p.fail(invalidTarget, s.Pos)
			}
		}
		switch x.Root.(type) {
		case *Name, *This:
			return true
		}
		return p.fail(invalidTarget, position(x.Root))
	case *Binary:
		if shortCircuit(x.Op) && op == "" {
			return p.fail(typoOfEquals, at)
		}
	}
	if isConstant(x) {
		return p.fail(constantTarget(""), start(x))
	}
	return p.fail(invalidTarget, position(x))
}

// let parses the declaration of a variable or a constant.
func (p *parser) let(c ctx, constant, export bool) Node {
	n := &Let{Const: constant, Export: export, Pos: p.take()}
	c.pos = n.Pos
	ok := false
	if n.Name, ok = p.name(); !ok {
		return nil
	}
	if p.o.NoShadowing {
		if v, _ := p.scope.find(n.Name.Name); v != nil {
			p.fail(problem{"VariableExists", "Variable already defined: " + n.Name.Name}, n.Name.Pos)
			return nil
		}
	}
	if p.match(tAssign) {
		if !p.up(&c) {
			return nil
		}
		if n.Init = p.expr(c); n.Init == nil {
			return nil
		}
	}
	p.closed = false
	p.scope.declare(n.Name.Name, constant)
	return n
}

// importStmt parses import path as name.
func (p *parser) importStmt(c ctx) Node {
	n := &Import{Pos: p.take()}
	if !p.up(&c) {
		return nil
	}
	c.pos = n.Pos
	if n.Path = p.expr(c); n.Path == nil {
		return nil
	}
	if p.match(tAs) {
		alias, ok := p.name()
		if !ok {
			return nil
		}
		n.Alias = &alias
		p.scope.imports = append(p.scope.imports, alias.Name)
	}
	p.closed = false
	return n
}

// export parses export x as y and the declarations that export.
func (p *parser) export(c ctx) Node {
	n := &Export{Pos: p.take()}
	c.pos = n.Pos
	if k := p.peek(); k == tLet || k == tConst {
		if !p.up(&c) {
			return nil
		}
		return p.let(c, k == tConst, true)
	}
	ok := false
	if n.Name, ok = p.name(); !ok {
		return nil
	}
	n.Alias = n.Name
	if p.match(tAs) {
		if n.Alias, ok = p.name(); !ok {
			return nil
		}
	}
	return n
}
