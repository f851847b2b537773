package syntax

import (
	"math"
	"strconv"
	"strings"
)

// This file writes trees as source text: statements here, expressions in
// printexpr.go. What is written parses to the same tree, places apart.

// Print gives the text of one node. A Custom node is written as far as the
// tree knows it.
func Print(n Node) string {
	p := &printer{}
	p.stmt(n)
	return p.out.String()
}

// Format gives the text of a whole program, functions where they stood.
func Format(g *Program) string {
	p := &printer{}
	if g.Doc != "" {
		p.write(g.Doc, "\n")
	}
	funcs := g.Funcs
	for i, n := range g.Body {
		// A closure captures the names of functions that come after it.
		for len(funcs) > 0 && before(funcs[0].Pos, start(n)) {
			p.function(funcs[0])
			funcs = funcs[1:]
		}
		last := i == len(g.Body)-1 && len(funcs) == 0
		p.bodyStmt(n, last, last && i == 0)
	}
	for _, f := range funcs {
		p.function(f)
	}
	return p.out.String()
}

func before(a, b Pos) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Col <= b.Col
}

type printer struct {
	out    strings.Builder
	indent int
}

func (p *printer) write(parts ...string) {
	for _, s := range parts {
		p.out.WriteString(s)
	}
}

func (p *printer) newline() {
	p.write("\n", strings.Repeat("    ", p.indent))
}

func (p *printer) function(f *Func) {
	for _, d := range f.Doc {
		p.write(d, "\n")
	}
	if f.Private {
		p.write("private ")
	}
	p.write("fn ")
	if f.ThisType != "" {
		p.write(quote(f.ThisType, '"'), ".")
	}
	p.write(f.Name, "(", names(f.Params), ") ")
	p.block(f.Body)
	p.newline()
}

func names(ids []Ident) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(id.Name)
	}
	return b.String()
}

func (p *printer) block(b *Block) {
	if len(b.Body) == 0 {
		p.write("{}")
		return
	}
	p.write("{")
	p.indent++
	for i, n := range b.Body {
		p.newline()
		p.bodyStmt(n, i == len(b.Body)-1, len(b.Body) == 1)
	}
	p.indent--
	p.newline()
	p.write("}")
}

// bodyStmt writes a statement of a list with the semicolon it needs. After the
// value of the list there is none: where only expressions are allowed, none may be.
func (p *printer) bodyStmt(n Node, last, only bool) {
	p.stmt(n)
	switch n := n.(type) {
	case *Block, *If, *Switch, *While, *For, *Try:
	case *Custom:
		if !n.closed {
			p.write(";")
		}
	case *Assign:
		if !only {
			p.write(";")
		}
	case *Let, *Break, *Continue, *Return, *Throw, *Import, *Export:
		p.write(";")
	case *Noop: // is a semicolon
	default:
		if !last {
			p.write(";")
		}
	}
	if p.indent == 0 {
		p.write("\n")
	}
}

// stmt writes a statement without semicolon.
func (p *printer) stmt(n Node) {
	switch n := n.(type) {
	case *Block:
		p.block(n)
	case *If:
		p.ifStmt(n)
	case *Switch:
		p.switchStmt(n)
	case *While, *Do, *For:
		p.loop(n)
	case *Try:
		p.write("try ")
		p.block(n.Body)
		p.write(" catch ")
		if n.Var != nil {
			p.write("(", n.Var.Name, ") ")
		}
		p.block(n.Catch)
	case *Let:
		p.let(n)
	case *Assign:
		p.expr(n.Target, anyLevel)
		p.write(" ", n.Op, "= ")
		p.expr(n.Value, anyLevel)
	case *Break:
		p.jump("break", n.Value)
	case *Continue:
		p.write("continue")
	case *Return:
		p.jump("return", n.Value)
	case *Throw:
		p.jump("throw", n.Value)
	case *Import:
		p.write("import ")
		p.expr(n.Path, operandLevel)
		if n.Alias != nil {
			p.write(" as ", n.Alias.Name)
		}
	case *Export:
		p.write("export ", n.Name.Name)
		if n.Alias.Name != n.Name.Name {
			p.write(" as ", n.Alias.Name)
		}
	case *Noop:
		p.write(";")
	default:
		p.leading(n, anyLevel)
	}
}

// leading writes an expression where one that begins like a statement would be
// taken for one.
func (p *printer) leading(n Node, level int) {
	if _, ok := leftmost(n).(*Block); !ok && !blockLike(leftmost(n)) {
		p.expr(n, level)
		return
	}
	p.write("(")
	p.expr(n, anyLevel)
	p.write(")")
}

// leftmost is the part of an expression that is written first.
func leftmost(n Node) Node {
	for {
		switch x := n.(type) {
		case *Binary:
			n = x.X
		case *Chain:
			n = x.Root
		default:
			return n
		}
	}
}

func blockLike(n Node) bool {
	switch n.(type) {
	case *Block, *If, *Switch, *While, *Do, *For:
		return true
	}
	return false
}

func (p *printer) let(n *Let) {
	if n.Export {
		p.write("export ")
	}
	word := "let "
	if n.Const {
		word = "const "
	}
	p.write(word, n.Name.Name)
	if n.Init != nil {
		p.write(" = ")
		p.expr(n.Init, anyLevel)
	}
}

func (p *printer) jump(word string, value Node) {
	p.write(word)
	if value != nil {
		p.write(" ")
		p.expr(value, anyLevel)
	}
}

func (p *printer) ifStmt(n *If) {
	p.write("if ")
	p.leading(n.Cond, operandLevel)
	p.write(" ")
	p.block(n.Then)
	switch e := n.Else.(type) {
	case *Block:
		p.write(" else ")
		p.block(e)
	case *If:
		p.write(" else ")
		p.ifStmt(e)
	}
}

func (p *printer) loop(n Node) {
	switch n := n.(type) {
	case *While:
		if n.Cond == nil {
			p.write("loop ")
		} else {
			p.write("while ")
			p.leading(n.Cond, operandLevel)
			p.write(" ")
		}
		p.block(n.Body)
	case *Do:
		word := " while "
		if n.Until {
			word = " until "
		}
		p.write("do ")
		p.block(n.Body)
		p.write(word)
		p.leading(n.Cond, operandLevel)
	case *For:
		p.write("for ")
		if n.Counter != nil {
			p.write("(", n.Var.Name, ", ", n.Counter.Name, ")")
		} else {
			p.write(n.Var.Name)
		}
		p.write(" in ")
		p.leading(n.X, operandLevel)
		p.write(" ")
		p.block(n.Body)
	}
}

func (p *printer) switchStmt(n *Switch) {
	p.write("switch ")
	p.leading(n.X, operandLevel)
	p.write(" {")
	p.indent++
	for _, c := range n.Cases {
		p.newline()
		for i, v := range c.Values {
			if i > 0 {
				p.write(" | ")
			}
			p.expr(v.Value, operandLevel)
		}
		if c.Cond != nil {
			p.write(" if ")
			p.leading(c.Cond, operandLevel)
		}
		p.write(" => ")
		p.stmt(c.Body)
		p.write(",")
	}
	if n.Default != nil {
		p.newline()
		p.write("_ => ")
		p.stmt(n.Default)
		p.write(",")
	}
	p.indent--
	p.newline()
	p.write("}")
}

// literal writes a constant so that the scanner reads it back as one token.
func (p *printer) literal(n *Literal) {
	switch n.Kind {
	case UnitLit:
		p.write("()")
	case BoolLit:
		p.write(strconv.FormatBool(n.Bool))
	case IntLit:
		if n.Int == math.MinInt64 { // its sign must not be an operator
			p.write("(-9223372036854775808)")
			return
		}
		p.write(formatInt(n.Int))
	case FloatLit:
		p.write(floatLiteral(n.Float))
	case CharLit:
		p.write(quote(string(rune(n.Int)), '\''))
	case StringLit:
		p.write(quote(n.Str, '"'))
	}
}

func floatLiteral(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "1e999"
	case math.IsInf(f, -1):
		return "-1e999"
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func quote(s string, end byte) string {
	b := []byte{end}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\', end:
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, end))
}
