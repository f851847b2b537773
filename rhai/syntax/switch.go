package syntax

import "math"

// This file parses switch.

func (p *parser) switchStmt(c ctx) Node {
	n := &Switch{Pos: p.take()}
	if !p.up(&c) {
		return nil
	}
	c.pos = n.Pos
	if n.X = p.expr(c); n.X == nil {
		return nil
	}
	if p.next() != tLeftBrace {
		p.wrongToken(missing("{", "to start a switch block"))
		return nil
	}
	const unclosed = "to end this switch block"
	var fallback Pos // of the _ case
	ranges := false  // were met
	for {
		var values []Node
		cs := Case{}
		k := p.peek()
		cs.Pos = p.tok.pos
		switch {
		case k == tRightBrace:
			p.take()
			return n
		case k == tEOF:
			p.fail(missing("}", unclosed), p.tok.pos)
			return nil
		case k == tUnderscore && n.Default == nil:
			fallback = p.take()
			if p.peek() == tIf {
				p.fail(problem{"WrongSwitchCaseCondition", "This switch case cannot have a condition"}, p.tok.pos)
				return nil
			}
		case n.Default != nil:
			p.fail(problem{"WrongSwitchDefaultCase", "Default switch case must be the last"}, fallback)
			return nil
		default:
			if values = p.caseValues(c); values == nil {
				return nil
			}
			if p.match(tIf) {
				if cs.Cond = p.condition(c); cs.Cond == nil {
					return nil
				}
			}
		}
		closed := false
		if cs.Body, closed = p.caseBody(c); cs.Body == nil {
			return nil
		}
		if values == nil {
			n.Default = cs.Body
		} else {
			if !p.literals(&cs, values, &ranges) {
				return nil
			}
			n.Cases = append(n.Cases, cs)
		}
		switch k := p.peek(); {
		case k == tComma:
			p.take()
		case k == tRightBrace:
		case k == tEOF:
			p.fail(missing(")", unclosed), p.tok.pos)
			return nil
		case k == tError || !closed:
			p.wrongToken(missing(",", "to separate the items in this switch block"))
			return nil
		}
	}
}

// caseBody parses what a case does; closed says that no comma need stand behind it.
func (p *parser) caseBody(c ctx) (body Node, closed bool) {
	if p.next() != tArrow {
		p.wrongToken(missing("=>", "in this switch case"))
		return nil, false
	}
	if c.flags&exprBlocks != 0 {
		return p.expr(c), false
	}
	body = p.stmt(c)
	return body, p.closed
}

// caseValues parses a | b | c.
func (p *parser) caseValues(c ctx) []Node {
	var values []Node
	for {
		s, before := p.scope, p.scope.noPipe
		s.noPipe = true
		x := p.expr(c)
		s.noPipe = before
		if x == nil {
			// Whatever is wrong with it, it is no literal.
			why := exprExpected("literal")
			p.err.Kind, p.err.Text = why.kind, why.text
			return nil
		}
		values = append(values, x)
		if !p.match(tPipe) {
			return values
		}
	}
}

// literals turns the expressions of a case into values it can be found by.
func (p *parser) literals(cs *Case, values []Node, ranges *bool) bool {
	cs.Values = make([]CaseValue, len(values))
	for i, x := range values {
		v, ok := caseValue(x)
		if !ok {
			return p.fail(exprExpected("a literal"), start(x))
		}
		cs.Values[i] = v
		if v.Range {
			if v.From < v.To || v.Inclusive && v.From == v.To {
				*ranges = true
			}
			continue
		}
		if lit, ok := x.(*Literal); ok && *ranges && (lit.Kind == IntLit || lit.Kind == FloatLit) {
			return p.fail(problem{"WrongSwitchIntegerCase", "Numeric switch case cannot follow a range case"}, start(x))
		}
	}
	return true
}

func caseValue(x Node) (CaseValue, bool) {
	switch x := x.(type) {
	case *Binary:
		from, ok1 := x.X.(*Literal)
		to, ok2 := x.Y.(*Literal)
		if (x.Op != ".." && x.Op != "..=") || !ok1 || !ok2 {
			return CaseValue{}, false
		}
		low, ok1 := bound(from, 0)
		high, ok2 := bound(to, math.MaxInt64)
		noEnds := from.Kind == UnitLit && (to.Kind == UnitLit || x.Open)
		return CaseValue{Value: x, Range: true, From: low, To: high, Inclusive: x.Op == "..="}, ok1 && ok2 && !noEnds
	case *Call:
		if len(x.Path) == 0 && x.Name == "Fn" && len(x.Args) == 1 {
			lit, ok := x.Args[0].(*Literal)
			return CaseValue{Value: x}, ok && lit.Kind == StringLit && validFunctionName(lit.Str)
		}
		return CaseValue{}, false
	}
	return CaseValue{Value: x}, isConstant(x)
}

// bound gives the end of a range of ints; () leaves it open.
func bound(lit *Literal, open int64) (int64, bool) {
	switch lit.Kind {
	case IntLit:
		return lit.Int, true
	case UnitLit:
		return open, true
	}
	return 0, false
}
