package syntax

// This file parses branches, loops and jumps.

// notBlock refuses { where a condition or a list has to come.
func (p *parser) notBlock() bool {
	if p.peek() == tLeftBrace {
		return p.fail(exprExpected("a boolean"), p.tok.pos)
	}
	return true
}

// condition parses a boolean expression and refuses = after it.
func (p *parser) condition(c ctx) Node {
	if !p.notBlock() {
		return nil
	}
	x := p.expr(c)
	if x == nil || !p.boolean(x) {
		return nil
	}
	if p.peek() == tAssign {
		p.fail(typoOfEquals, p.tok.pos)
		return nil
	}
	return x
}

func (p *parser) ifStmt(c ctx) *If {
	n := &If{Pos: p.take()}
	if !p.up(&c) {
		return nil
	}
	c.pos = n.Pos
	if n.Cond = p.condition(c); n.Cond == nil {
		return nil
	}
	if n.Then = p.block(c); n.Then == nil {
		return nil
	}
	if p.match(tElse) {
		if p.peek() == tIf {
			n.Else = asNode(p.ifStmt(c))
		} else {
			n.Else = asNode(p.block(c))
		}
		if n.Else == nil {
			return nil
		}
	}
	return n
}

// loop parses the loop whose first word is at hand.
func (p *parser) loop(c ctx) Node {
	k, pos := p.tok.kind, p.take()
	if !p.up(&c) {
		return nil
	}
	switch k {
	case tDo:
		c.pos = pos
		return p.do(c, pos)
	case tFor:
		c.pos = pos
		return p.forStmt(c, pos)
	}
	n := &While{Pos: pos}
	if k == tWhile {
		if n.Cond = p.condition(c); n.Cond == nil {
			return nil
		}
	}
	c.pos = pos
	c.flags |= breakable
	if n.Body = p.block(c); n.Body == nil {
		return nil
	}
	return n
}

func (p *parser) do(c ctx, pos Pos) Node {
	n := &Do{Pos: pos}
	body := c
	body.flags |= breakable
	if n.Body = p.block(body); n.Body == nil {
		return nil
	}
	switch p.next() {
	case tWhile:
	case tUntil:
		n.Until = true
	default:
		p.fail(missing("while", "for the do statement"), p.tok.pos)
		return nil
	}
	if n.Cond = p.condition(c); n.Cond == nil {
		return nil
	}
	return n
}

func (p *parser) forStmt(c ctx, pos Pos) Node {
	n := &For{Pos: pos}
	if !p.loopVars(n) {
		return nil
	}
	if p.next() != tIn {
		p.wrongToken(missing("in", "after the iteration variable"))
		return nil
	}
	if !p.notBlock() {
		return nil
	}
	if n.X = p.expr(c); n.X == nil || !p.iterable(n.X) {
		return nil
	}
	s := p.scope
	before := len(s.vars)
	if n.Counter != nil {
		s.declare(n.Counter.Name, false)
	}
	s.declare(n.Var.Name, false)
	c.flags |= breakable
	if n.Body = p.block(c); n.Body == nil {
		return nil
	}
	s.vars = s.vars[:before]
	return n
}

// loopVars parses x or (x, i).
func (p *parser) loopVars(n *For) bool {
	paren := p.match(tLeftParen)
	ok := false
	if n.Var, ok = p.name(); !ok || !paren {
		return ok
	}
	if !p.match(tComma) {
		return p.fail(missing(",", "after the iteration variable name"), p.tok.pos)
	}
	counter, ok := p.name()
	if !ok {
		return false
	}
	n.Counter = &counter
	if counter.Name == n.Var.Name {
		return p.fail(problem{"DuplicatedVariable", "Duplicated variable name: " + counter.Name}, counter.Pos)
	}
	if !p.match(tRightParen) {
		return p.fail(missing(")", "to close the iteration variable"), p.tok.pos)
	}
	return true
}

// jump parses break and continue.
func (p *parser) jump(c ctx, k kind) Node {
	pos := c.pos
	if c.flags&breakable == 0 {
		p.fail(problem{"LoopBreak", "Break statement should only be used inside a loop"}, pos)
		return nil
	}
	p.take()
	if k == tContinue {
		return &Continue{Pos: pos}
	}
	value, ok := p.optional(c)
	if !ok {
		return nil
	}
	return &Break{Value: value, Pos: pos}
}

// leave parses return and throw.
func (p *parser) leave(c ctx, k kind) Node {
	pos := p.take()
	value, ok := p.optional(c)
	switch {
	case !ok:
		return nil
	case k == tReturn:
		return &Return{Value: value, Pos: pos}
	}
	return &Throw{Value: value, Pos: pos}
}

// optional parses an expression if one follows: if not even its first token
// is one, there is none.
func (p *parser) optional(c ctx) (Node, bool) {
	if !p.up(&c) {
		return nil, false
	}
	k, first := p.peek(), p.tok.pos
	p.closed = false
	if k == tSemicolon || k == tRightBrace { // the usual end
		return nil, true
	}
	x := p.expr(c)
	if x == nil {
		if p.peek(); p.tok.pos != first {
			return nil, false
		}
		p.err = nil
	}
	p.closed = false
	return x, true
}

func (p *parser) try(c ctx) Node {
	n := &Try{Pos: p.take()}
	if !p.up(&c) {
		return nil
	}
	c.pos = n.Pos
	if n.Body = p.block(c); n.Body == nil {
		return nil
	}
	if !p.match(tCatch) {
		p.fail(missing("catch", "for the 'try' statement"), p.tok.pos)
		return nil
	}
	s := p.scope
	before := len(s.vars)
	if p.match(tLeftParen) {
		v, ok := p.name()
		if !ok {
			return nil
		}
		if !p.match(tRightParen) {
			p.fail(missing(")", "to enclose the catch variable"), p.tok.pos)
			return nil
		}
		n.Var = &v
		s.declare(v.Name, false)
	}
	if n.Catch = p.block(c); n.Catch == nil {
		return nil
	}
	s.vars = s.vars[:before]
	return n
}
