package syntax

// This file answers the parser's questions about nodes: where the reference
// reports them and what their values can be.

// position is where the reference places n itself: for chains and operators
// their first operator.
func position(n Node) Pos {
	switch n := n.(type) {
	case *Name:
		return n.Pos
	case *Call:
		return n.Pos
	case *Chain:
		return n.Steps[0].OpPos
	case *Binary:
		for shortCircuit(n.Op) {
			x, ok := n.X.(*Binary)
			if !ok || x.Op != n.Op {
				break
			}
			n = x
		}
		return n.Pos
	case *Assign:
		return n.Pos
	}
	return n.Start()
}

// start is where the reference says that n begins.
func start(n Node) Pos {
	for {
		switch x := n.(type) {
		case *Binary:
			if !shortCircuit(x.Op) {
				return x.Pos
			}
			n = x.X
		case *Chain:
			n = x.Root
		case *Name:
			return x.Start()
		default:
			return position(n)
		}
	}
}

func shortCircuit(op string) bool { return op == "&&" || op == "||" || op == "??" }

// isConstant tells that n is made of literals only.
func isConstant(n Node) bool {
	switch n := n.(type) {
	case *Literal:
		return true
	case *Closure:
		return len(n.Captures) == 0
	case *ArrayLit:
		return allConstant(n.Items)
	case *MapLit:
		return allConstant(n.Values)
	}
	return false
}

func allConstant(nodes []Node) bool {
	for _, n := range nodes {
		if !isConstant(n) {
			return false
		}
	}
	return true
}

// kindOf names what n is for messages, "" when that is not known.
func kindOf(n Node) string {
	switch n := n.(type) {
	case *Literal:
		return [...]string{UnitLit: "()", BoolLit: "a boolean", IntLit: "a number",
			FloatLit: "a floating-point number", CharLit: "a character", StringLit: "a string"}[n.Kind]
	case *Interpolated:
		return "a string"
	case *ArrayLit:
		return "an array"
	case *MapLit:
		return "an object map"
	case *Closure:
		if len(n.Captures) == 0 {
			return "Fn"
		}
	}
	return ""
}

// boolean reports an expression that can never be a bool.
func (p *parser) boolean(n Node) bool {
	if got := kindOf(n); got != "" && got != "a boolean" {
		return p.fail(mismatched("a boolean expression", got), start(n))
	}
	return true
}

// iterable reports an expression that no loop can run over.
func (p *parser) iterable(n Node) bool {
	switch got := kindOf(n); got {
	case "()", "a boolean", "a number", "a floating-point number", "a character", "an object map":
		return p.fail(mismatched("an iterable value", got), start(n))
	}
	return true
}
