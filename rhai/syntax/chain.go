package syntax

// This file parses what follows an operand: calls, paths, indexes, properties.

// link is a chain being built. A root that is a chain itself (in parentheses)
// is continued, not nested.
type link struct {
	root  Node
	steps []Step
}

func (l *link) node() Node {
	if len(l.steps) == 0 {
		return l.root
	}
	return &Chain{Root: l.root, Steps: l.steps}
}

func (l *link) add(s Step) {
	if len(l.steps) == 0 {
		if inner, ok := l.root.(*Chain); ok {
			l.root, l.steps = inner.Root, inner.Steps
		}
	}
	l.steps = append(l.steps, s)
}

// chain parses the calls, indexes and properties after x.
func (p *parser) chain(c ctx, x Node) Node {
	l := link{root: x}
	brackets := -1 // where the brackets right before begin in l.steps
	for {
		switch k := p.peek(); k {
		case tPeriod, tElvis:
			// Quirk: the reference forgets the ?[ before a dot.
			if brackets >= 0 {
				for i := brackets; i < len(l.steps); i++ {
					l.steps[i].NullSafe = false
				}
			}
			brackets = -1
			c.pos = p.take()
			if !p.up2(&c) || !p.property(c, k, &l) {
				return nil
			}
		case tLeftBracket, tQuestionBracket:
			c.pos = p.take()
			first := len(l.steps)
			if inner, ok := l.root.(*Chain); ok && first == 0 {
				first = len(inner.Steps)
			}
			inner := c
			if !p.up(&inner) || !p.indexes(inner, k, &l) {
				return nil
			}
			brackets = first
		default:
			name, ok := l.root.(*Name)
			if !ok || len(l.steps) > 0 || !(k == tLeftParen || k == tUnit || k == tBang || k == tDoubleColon) {
				return p.endChain(c, &l)
			}
			if l.root = p.callOrPath(c, k, name); l.root == nil {
				return nil
			}
		}
	}
}

// endChain checks what can only be known at the end of a chain.
func (p *parser) endChain(c ctx, l *link) Node {
	if name, ok := l.root.(*Name); ok && len(name.Path) > 0 && !p.checkModule(c, name.Path[0]) {
		return nil
	}
	return l.node()
}

// callOrPath parses what makes a name more than a variable.
func (p *parser) callOrPath(c ctx, k kind, n *Name) Node {
	pos := p.take()
	c.pos = n.Pos
	call := &Call{Path: n.Path, Name: n.Name, Pos: n.Pos}
	switch k {
	case tDoubleColon:
		id, ok := p.name()
		if !ok {
			return nil
		}
		path := append(n.Path, Ident{n.Name, n.Pos})
		return &Name{Path: path, Name: id.Name, Pos: id.Pos}
	case tBang:
		opens := p.peek() == tLeftParen || p.tok.kind == tUnit
		switch {
		case len(n.Path) > 0 && opens:
			p.fail(unexpected("!"), pos)
			return nil
		case len(n.Path) > 0:
			p.fail(improper("!", "'!' cannot be used to call module functions"), pos)
			return nil
		case !opens:
			p.fail(missing("(", "to start arguments list of function call"), p.tok.pos)
			return nil
		}
		call.Capture = true
		k = p.next()
	}
	ok := false
	if call.Args, ok = p.arguments(c, n.Name, k == tUnit); !ok {
		return nil
	}
	if len(n.Path) > 0 {
		if !p.checkModule(c, n.Path[0]) {
			return nil
		}
	} else if n.Name == "eval" {
		p.scope.usesEval = true
	}
	return call
}

// arguments parses a, b ) after the parenthesis; none says that it was ().
func (p *parser) arguments(c ctx, name string, none bool) ([]Node, bool) {
	if none {
		return nil, true
	}
	switch p.peek() {
	case tRightParen:
		p.take()
		return nil, true
	case tEOF, tError:
		return nil, p.wrongToken(missing(")", "to close the arguments list of this function call '"+name+"'"))
	}
	if !p.up(&c) {
		return nil, false
	}
	var args []Node
	for {
		if p.peek() != tRightParen {
			x := p.expr(c)
			if x == nil {
				return nil, false
			}
			args = append(args, x)
		}
		switch p.peek() {
		case tRightParen:
			p.take()
			return args, true
		case tComma:
			p.take()
		case tEOF:
			return nil, p.fail(missing(")", "to close the arguments list of this function call '"+name+"'"), p.tok.pos)
		default:
			return nil, p.wrongToken(missing(",", "to separate the arguments to function call '"+name+"'"))
		}
	}
}

// up2 goes down for a property: the name after the dot comes first, so that a
// wrong one is reported before the depth.
func (p *parser) up2(c *ctx) bool {
	switch k := p.peek(); {
	case k == tIdent:
		p.scope.property = true
	case k == tReserved && reservedWord(p.tok.str)&isMethod != 0:
	case k == tReserved:
		return p.fail(reserved(p.tok.str), p.tok.pos)
	default:
		return p.fail(propertyExpected, p.tok.pos)
	}
	return p.up(c)
}

// property parses the name after a dot and its arguments, if any.
func (p *parser) property(c ctx, op kind, l *link) bool {
	at := c.pos
	c.pos = p.tok.pos
	if s := p.syntax(); s != nil {
		key := p.tok.str
		p.take()
		if p.customExpr(c, key, s) == nil {
			return false
		}
		return p.fail(propertyExpected, c.pos)
	}
	reservedName := p.tok.kind == tReserved
	step := Step{NullSafe: op == tElvis, Name: p.tok.str, Pos: p.take(), OpPos: at}
	k := p.peek()
	switch k {
	case tLeftParen, tUnit, tBang:
	case tDoubleColon:
		if !reservedName {
			return p.fail(improper("::", ""), p.tok.pos)
		}
		fallthrough
	default:
		if reservedName {
			return p.fail(reserved(step.Name), step.Pos)
		}
		p.access(step.Name, step.Pos)
		l.add(step)
		return true
	}
	if !reservedName {
		p.scope.property = false
	}
	call := p.callOrPath(c, k, &Name{Name: step.Name, Pos: step.Pos})
	if call == nil {
		return false
	}
	step.Kind = MethodStep
	step.Args = call.(*Call).Args
	l.add(step)
	return p.method(call.(*Call))
}

// method refuses the functions that are none, unless more of the chain
// follows (a quirk of the reference).
func (p *parser) method(call *Call) bool {
	switch p.peek() {
	case tPeriod, tElvis, tLeftBracket, tQuestionBracket:
		return true
	}
	switch {
	case len(call.Args) == 0 && (call.Name == "Fn" || call.Name == "eval"):
		return p.fail(improper(call.Name, "'"+call.Name+"' should not be called in method style. Try "+call.Name+"(...);"), call.Pos)
	case call.Capture:
		return p.fail(problem{"MalformedCapture", "method-call style does not support running within the caller's scope"}, call.Pos)
	}
	return true
}

// indexes parses x][y]... after the first bracket, of kind k.
func (p *parser) indexes(c ctx, k kind, l *link) bool {
	for first := true; ; first = false {
		inner := c
		if !p.up(&inner) {
			return false
		}
		x := p.expr(inner)
		if x == nil {
			return false
		}
		if first && len(l.steps) == 0 && !p.checkIndex(l.root, x) {
			return false
		}
		if p.peek() != tRightBracket {
			return p.wrongToken(missing("]", "for a matching [ in this index expression"))
		}
		p.take()
		step := Step{Kind: IndexStep, Index: x, NullSafe: k == tQuestionBracket, Pos: c.pos, OpPos: c.pos}
		k = p.peek()
		if k != tLeftBracket && k != tQuestionBracket {
			l.add(step)
			return true
		}
		// Quirk: of brackets in a row, each is as null-safe as the next one.
		step.NullSafe = k == tQuestionBracket
		l.add(step)
		c.pos = p.take()
		if !p.up(&c) {
			return false
		}
	}
}

// checkIndex refuses literals as indexes that can never fit a literal root.
func (p *parser) checkIndex(root, index Node) bool {
	wants, fits := "Array, string or bit-field expects integer index, not ", "a number"
	switch r := root.(type) {
	case *MapLit:
		wants, fits = "Object map expects string index, not ", "a string"
	case *ArrayLit, *Interpolated:
	case *Literal:
		if r.Kind != IntLit && r.Kind != StringLit {
			return true
		}
	default:
		return true
	}
	got := ""
	switch x := index.(type) {
	case *Interpolated:
		got = "a string"
	case *Binary:
		if x.Op == "&&" || x.Op == "||" {
			got = "a boolean"
		}
	case *Literal:
		got = [...]string{UnitLit: "()", BoolLit: "a boolean", IntLit: "a number",
			FloatLit: "a float", CharLit: "a character", StringLit: "a string"}[x.Kind]
	}
	if got == "" || got == fits {
		return true
	}
	if got == "a string" {
		wants = "Array, string or bit-field expects numeric index, not "
	}
	return p.fail(problem{"MalformedIndexExpr", wants + got}, start(index))
}
