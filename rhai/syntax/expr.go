package syntax

import "math"

// This file parses operators and what stands between them.

// expr parses an expression.
func (p *parser) expr(c ctx) Node {
	p.peek()
	c.pos = p.tok.pos
	if !p.up(&c) {
		return nil
	}
	x := p.unary(c)
	if x == nil {
		return nil
	}
	return p.binary(c, 1, x)
}

// stops tells that the next token ends an expression where it stands.
func (p *parser) stops() bool { return p.scope.noPipe && p.tok.kind == tPipe }

// unary parses an operand with the operators before it.
func (p *parser) unary(c ctx) Node {
	k := p.peek()
	if p.stops() {
		p.fail(unexpected("|"), p.tok.pos)
		return nil
	}
	c.pos = p.tok.pos
	var op string
	switch k {
	case tMinus, tUnaryMinus:
		op = "-"
	case tPlus, tUnaryPlus:
		op = "+"
	case tBang:
		op = "!"
	case tEOF:
		p.fail(incomplete, c.pos)
		return nil
	default:
		return p.primary(c)
	}
	pos := p.take()
	if !p.up(&c) {
		return nil
	}
	x := p.unary(c)
	if x == nil {
		return nil
	}
	if lit, ok := x.(*Literal); ok && (lit.Kind == IntLit || lit.Kind == FloatLit) {
		switch op {
		case "+":
			return lit
		case "-":
			return negate(lit, pos)
		}
	}
	return &Unary{Op: op, X: x, Pos: pos}
}

func negate(lit *Literal, pos Pos) Node {
	switch {
	case lit.Kind == FloatLit:
		return &Literal{Kind: FloatLit, Float: -lit.Float, Pos: pos}
	case lit.Int == math.MinInt64:
		return &Literal{Kind: FloatLit, Float: -float64(lit.Int), Pos: pos}
	}
	return &Literal{Kind: IntLit, Int: -lit.Int, Pos: pos}
}

// operator gives the precedence of the token at hand, 0 if it is no operator.
func (p *parser) operator() (int, bool) {
	k := p.peek()
	switch k {
	case tCustom:
		return p.o.Operators[p.tok.str], true
	case tReserved:
		if !validName(p.tok.str) {
			return 0, p.fail(problem{"UnknownOperator", "Unknown operator: '" + p.tok.str + "'"}, p.tok.pos)
		}
	}
	return int(precedence[k]), true
}

// binary parses the operators after x that bind tighter than parent.
func (p *parser) binary(c ctx, parent int, x Node) Node {
	var before Pos // the operator before, once there is one
	for {
		p.peek()
		if p.stops() {
			return x
		}
		prec, ok := p.operator()
		if !ok {
			return nil
		}
		op := p.tok.kind
		if prec < parent || (prec == parent && op != tPower) {
			return x
		}
		pos := p.take()
		name := spelling[op]
		if op == tCustom {
			name = p.tok.str
		}
		y, open := p.operand(c, op)
		if y == nil {
			return nil
		}
		after, ok := p.operator()
		if !ok {
			return nil
		}
		if c.pos = before; before.IsZero() && c.level >= p.maxLevel {
			c.pos = position(x)
		}
		if prec < after || (prec == after && op == tPower) {
			deeper := c
			if !p.up(&deeper) {
				return nil
			}
			if y = p.binary(deeper, prec, y); y == nil {
				return nil
			}
		}
		if !p.up(&c) {
			return nil
		}
		before = pos
		if (op == tAnd || op == tOr) && !(p.boolean(x) && p.boolean(y)) {
			return nil
		}
		x = &Binary{Op: name, X: x, Y: y, Open: open, Pos: pos}
	}
}

// operand parses what stands right of op. Open tells that nothing does.
func (p *parser) operand(c ctx, op kind) (y Node, open bool) {
	switch op {
	case tCoalesce:
		switch p.peek() {
		case tBreak, tContinue, tReturn, tThrow:
			return p.stmt(c), false
		}
	case tRange, tRangeInclusive:
		switch p.peek() {
		case tRightBracket, tRightParen, tRightBrace, tComma, tSemicolon, tArrow:
			return &Literal{Kind: IntLit, Int: math.MaxInt64, Pos: p.tok.pos}, true
		}
	}
	return p.unary(c), false
}

// primary parses an operand with its calls, properties and indexes.
func (p *parser) primary(c ctx) Node {
	x := p.root(c)
	if x == nil {
		return nil
	}
	p.peek()
	if p.stops() {
		return x
	}
	return p.chain(c, x)
}

// root parses what a chain may start with.
func (p *parser) root(c ctx) Node {
	k := p.tok.kind
	if s := p.syntax(); s != nil {
		key := p.tok.str
		p.take()
		return p.customExpr(c, key, s)
	}
	switch k {
	case tIdent:
		return p.variable(c)
	case tInt, tFloat, tChar, tString, tTrue, tFalse, tUnit:
		return p.literal(k)
	case tRange, tRangeInclusive:
		return &Literal{Kind: IntLit, Pos: c.pos} // ..x starts at 0
	case tLeftParen:
		return p.group(c)
	case tLeftBracket:
		if p.up(&c) {
			return p.array(c)
		}
		return nil
	case tMapStart:
		if p.up(&c) {
			return p.mapLit(c)
		}
		return nil
	case tInterpolated:
		return p.interpolated(c)
	case tPipe, tOr:
		if c.flags&anonFn != 0 {
			if p.full() {
				p.fail(tooManyFunctions, c.pos)
				return nil
			}
			return p.closure(c, false)
		}
	case tReserved:
		return p.reservedName(c)
	case tEOF:
		p.fail(incomplete, c.pos)
		return nil
	case tError:
		p.take()
		p.fail(p.tok.problem, c.pos)
		return nil
	default:
		if n, ok := p.stmtAsExpr(c, k); ok {
			return n
		}
	}
	p.fail(unexpected(p.tok.text()), c.pos)
	return nil
}

// stmtAsExpr parses the statements that have values, as far as the options let
// them be expressions.
func (p *parser) stmtAsExpr(c ctx, k kind) (Node, bool) {
	need := flag(0)
	parse := p.loop
	switch k {
	case tLeftBrace:
		need, parse = stmtExpr, func(c ctx) Node { return asNode(p.block(c)) }
	case tIf:
		need, parse = ifExpr, func(c ctx) Node { return asNode(p.ifStmt(c)) }
	case tSwitch:
		need, parse = switchExpr, p.switchStmt
	case tWhile, tLoop, tDo, tFor:
		if p.o.NoLooping {
			return nil, false
		}
		need = loopExpr
	}
	if need == 0 || c.flags&need == 0 {
		return nil, false
	}
	if !p.up(&c) {
		return nil, true
	}
	return parse(c), true
}

// asNode keeps a nil pointer from becoming a Node that is not nil.
func asNode[T interface {
	*Block | *If
	Node
}](n T) Node {
	if n == nil {
		return nil
	}
	return n
}

func (p *parser) literal(k kind) Node {
	lit := &Literal{Pos: p.take()}
	switch k {
	case tInt:
		lit.Kind, lit.Int = IntLit, p.tok.num
	case tFloat:
		lit.Kind, lit.Float = FloatLit, p.tok.float
	case tChar:
		lit.Kind, lit.Int = CharLit, p.tok.num
	case tString:
		lit.Kind, lit.Str = StringLit, p.tok.str
	case tTrue, tFalse:
		lit.Kind, lit.Bool = BoolLit, k == tTrue
	}
	return lit
}

// group parses ( x ), which leaves no trace in the tree.
func (p *parser) group(c ctx) Node {
	p.take()
	if !p.up(&c) {
		return nil
	}
	x := p.expr(c)
	if x == nil {
		return nil
	}
	if p.next() != tRightParen {
		p.wrongToken(missing(")", "for a matching ( in this expression"))
		return nil
	}
	return x
}

// variable parses a name. Names that are called or qualified are no variables.
func (p *parser) variable(c ctx) Node {
	n := &Name{Name: p.tok.str, Pos: p.take()}
	switch p.peek() {
	case tLeftParen, tBang, tUnit, tDoubleColon:
		p.scope.property = false
		return n
	}
	if !p.access(n.Name, n.Pos) && c.flags&strict != 0 {
		if _, ok := p.o.Vars[n.Name]; !ok {
			p.fail(undefinedVariable(n.Name), n.Pos)
			return nil
		}
	}
	return n
}

// reservedName parses this and the built-in functions.
func (p *parser) reservedName(c ctx) Node {
	word, pos := p.tok.str, p.take()
	switch p.peek() {
	case tLeftParen, tBang, tUnit:
		if reservedWord(word)&isCallable != 0 {
			return &Name{Name: word, Pos: pos}
		}
	}
	switch {
	case word != "this":
		p.fail(reserved(word), pos)
	case c.flags&inFn == 0:
		p.fail(improper(word, "'this' can only be used in functions"), pos)
	default:
		return &This{Pos: pos}
	}
	return nil
}
