package syntax

import "strings"

// This file writes expressions. Levels say what may stand somewhere without
// parentheses.
const (
	anyLevel     = 0 // up to a comma, semicolon or closing bracket
	operandLevel = 1 // any operator, but no closure or jump at the end
	unaryLevel   = 220
	rootLevel    = 230 // before a dot or bracket
)

// expr writes n, in parentheses when it binds less than level.
func (p *printer) expr(n Node, level int) {
	if levelOf(n) < level {
		p.write("(")
		defer p.write(")")
		level = anyLevel
	}
	switch n := n.(type) {
	case *Literal:
		p.literal(n)
	case *Interpolated:
		p.template(n)
	case *ArrayLit:
		p.write("[")
		p.list(n.Items)
		p.write("]")
	case *MapLit:
		p.mapLit(n)
	case *Name:
		p.path(n.Path)
		p.write(n.Name)
	case *This:
		p.write("this")
	case *Unary:
		p.write(n.Op)
		switch leftmost(n.X).(type) {
		case *Unary, *Literal:
			p.write(" ") // -- is a symbol of its own, and -1 a literal
		}
		p.expr(n.X, unaryLevel)
	case *Binary:
		p.binary(n)
	case *Call:
		p.path(n.Path)
		p.write(n.Name)
		if n.Capture {
			p.write("!")
		}
		p.args(n.Args)
	case *Chain:
		p.chain(n)
	case *Closure:
		p.closure(n)
	case *Custom:
		p.custom(n)
	default:
		p.stmt(n)
	}
}

// levelOf is the highest level at which n needs no parentheses.
func levelOf(n Node) int {
	switch n := n.(type) {
	case *Literal:
		if n.Kind == IntLit && n.Int < 0 || n.Kind == FloatLit && floatLiteral(n.Float)[0] == '-' {
			return unaryLevel
		}
	case *Binary:
		switch {
		case isJump(n.Y):
			return anyLevel
		case n.Open:
			return anyLevel - 1 // always in parentheses
		}
		return max(precedenceOf(n.Op), operandLevel)
	case *Unary:
		return unaryLevel
	case *Closure, *Custom:
		return anyLevel
	case *Block, *If, *Switch, *While, *Do, *For:
		return operandLevel
	}
	return rootLevel
}

func isJump(n Node) bool {
	switch n.(type) {
	case *Break, *Continue, *Return, *Throw:
		return true
	}
	return false
}

// precedenceOf a standard operator; 0 for those of the host.
func precedenceOf(op string) int {
	for k := tPlus; k <= tNotIn; k++ {
		if spelling[k] == op && precedence[k] > 0 {
			return int(precedence[k])
		}
	}
	return 0
}

func (p *printer) binary(n *Binary) {
	prec := precedenceOf(n.Op)
	left, right := prec, prec+1
	switch {
	case prec == 0:
		left, right = unaryLevel, unaryLevel
	case n.Op == "**":
		left, right = prec+1, prec
	}
	p.expr(n.X, left)
	if n.Open {
		p.write(n.Op)
		return
	}
	p.write(" ", n.Op, " ")
	if isJump(n.Y) {
		p.stmt(n.Y)
		return
	}
	p.expr(n.Y, right)
}

func (p *printer) path(path []Ident) {
	for _, id := range path {
		p.write(id.Name, "::")
	}
}

func (p *printer) list(items []Node) {
	for i, x := range items {
		if i > 0 {
			p.write(", ")
		}
		p.expr(x, anyLevel)
	}
}

func (p *printer) args(args []Node) {
	p.write("(")
	p.list(args)
	p.write(")")
}

func (p *printer) mapLit(n *MapLit) {
	p.write("#{")
	for i, k := range n.Keys {
		if i > 0 {
			p.write(", ")
		}
		if validFunctionName(k.Name) {
			p.write(k.Name)
		} else {
			p.write(quote(k.Name, '"'))
		}
		p.write(": ")
		p.expr(n.Values[i], anyLevel)
	}
	p.write("}")
}

// chain writes the steps of a chain. The parser changes which brackets are
// null-safe unless parentheses end the chain after each.
func (p *printer) chain(n *Chain) {
	brackets, safe := 0, false
	for _, s := range n.Steps {
		if s.Kind == IndexStep {
			brackets++
			safe = safe || s.NullSafe
		}
	}
	if safe {
		p.write(strings.Repeat("(", brackets))
	}
	p.expr(n.Root, rootLevel)
	for _, s := range n.Steps {
		if s.NullSafe {
			p.write("?")
		}
		if s.Kind == IndexStep {
			p.write("[")
			p.expr(s.Index, anyLevel)
			p.write("]")
			if safe {
				p.write(")")
			}
			continue
		}
		p.write(".", s.Name)
		if s.Kind == MethodStep {
			p.args(s.Args)
		}
	}
}

func (p *printer) closure(n *Closure) {
	p.write("|", names(n.Fn.Params), "| ")
	body := n.Fn.Body
	if len(body.Body) == 0 && body.Pos == body.End && !body.Pos.IsZero() {
		p.write(";") // as it was written, there may be no block
		return
	}
	if len(body.Body) == 1 {
		if x := body.Body[0]; !blockLike(leftmost(x)) {
			p.stmt(x)
			return
		}
	}
	p.block(body)
}

// custom writes the words of a custom syntax with its inputs between them.
func (p *printer) custom(n *Custom) {
	inputs := n.Inputs
	for i, t := range n.Tokens {
		if i > 0 {
			p.write(" ")
		}
		if len(t) < 3 || t[0] != '$' || len(inputs) == 0 || t == "$raw$" {
			p.write(t)
			continue
		}
		x := inputs[0]
		inputs = inputs[1:]
		if lit, ok := x.(*Literal); ok && (t == "$symbol$" || t == "$token$") {
			p.write(lit.Str)
		} else {
			p.expr(x, anyLevel)
		}
	}
}

// template writes a back-tick text.
func (p *printer) template(n *Interpolated) {
	p.write("`")
	for i, part := range n.Parts {
		lit, ok := part.(*Literal)
		if !ok {
			p.write("$")
			b := part.(*Block)
			if len(b.Body) == 1 && levelOf(b.Body[0]) == rootLevel && !isStmt(b.Body[0]) {
				p.write("{")
				p.stmt(b.Body[0])
				p.write("}")
			} else {
				p.block(b)
			}
			continue
		}
		if i == 0 && (lit.Str[0] == '\n' || lit.Str[0] == '\r') {
			p.write("\n") // the first line break is not part of the text
		}
		p.write(templateText.Replace(lit.Str))
	}
	p.write("`")
}

var templateText = strings.NewReplacer("`", "``", "${", `\${`, "\r\n", "\r\r\n")

func isStmt(n Node) bool {
	switch n.(type) {
	case *Let, *Assign, *Import, *Export, *Try, *Noop:
		return true
	}
	return isJump(n)
}
