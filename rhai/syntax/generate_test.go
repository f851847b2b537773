package syntax_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/rhai/syntax"
)

// generator writes random scripts that are right, or nearly so.
type generator struct {
	*rand.Rand
	loops int // around this place
}

func (g *generator) pick(list ...string) string { return list[g.Intn(len(list))] }

func (g *generator) name() string { return g.pick("a", "b", "c", "xs", "inside") }

func (g *generator) list(depth int, item func(int) string) string {
	items := make([]string, g.Intn(3))
	for i := range items {
		items[i] = item(depth)
	}
	return strings.Join(items, ", ")
}

func (g *generator) expr(depth int) string {
	if depth <= 0 {
		return g.pick("1", "-2", "0x1F", "2.5", "1e300", "-9223372036854775808", "'x'", `'\''`, `"s\n\"é"`, "true", "()", "`t`", "this", "a", "b",
			"m::x", `#"raw\"#`)
	}
	d := depth - 1 - g.Intn(2)
	switch g.Intn(20) {
	case 0, 1, 2, 3:
		return g.expr(d) + " " + g.pick("+", "-", "*", "/", "%", "**", "<<", ">>", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "in", "!in", "??",
			"..", "..=") + " " + g.expr(d)
	case 4:
		return "(" + g.expr(d) + ")"
	case 5:
		return g.pick("-", "!", "+", "- ") + g.expr(d)
	case 6:
		return g.name() + g.pick("(", "!(", " (") + g.list(d, g.expr) + ")"
	case 7:
		return "[" + g.list(d, g.expr) + "]"
	case 8:
		return fmt.Sprintf("#{ a: %s, \"if\": %s }", g.expr(d), g.expr(d))
	case 9, 10:
		return "(" + g.expr(d) + ")" + g.step(d) + g.step(d) + g.step(d)
	case 11:
		return g.name() + g.step(d) + g.step(d)
	case 12:
		return "(|" + g.pick("", "p", "p, q") + "| " + g.body(d) + ")"
	case 13:
		return "`\n" + g.pick("", "t\\", "``", "$$", "\\${", "\r\r\n", "é") + "x${" + g.stmts(d) + "}" + g.pick("", "`` ", "\n") + "`"
	case 14:
		return "(" + g.statement(d) + ")"
	case 15:
		return g.name() + " && " + g.name() + " || " + g.name()
	case 16:
		return "(" + g.expr(d) + g.pick("..", "..=") + ")"
	case 17:
		return "(" + g.expr(d) + " ?? " + g.pick("return", "throw 1", "return -1") + ")"
	case 18:
		return g.pick("m::f", "a::b::g") + "(" + g.list(d, g.expr) + ")"
	}
	return g.pick("..", "..=") + g.expr(d)
}

func (g *generator) step(d int) string {
	safe := g.pick("", "", "?")
	switch g.Intn(3) {
	case 0:
		return safe + "." + g.name()
	case 1:
		return safe + "." + g.name() + "(" + g.list(d, g.expr) + ")"
	}
	return safe + "[" + g.expr(d) + "]"
}

func (g *generator) body(d int) string {
	loops := g.loops
	defer func() { g.loops = loops }()
	g.loops = 0
	return g.pick(g.expr(d), g.block(d), g.statement(d), g.name()+" = "+g.expr(d), "return "+g.expr(d))
}

func (g *generator) block(d int) string { return "{ " + g.stmts(d) + " }" }

func (g *generator) loop(d int) string {
	g.loops++
	defer func() { g.loops-- }()
	return g.block(d)
}

// statement writes one that has a value.
func (g *generator) statement(d int) string {
	switch g.Intn(7) {
	case 0:
		return "if " + g.name() + " == " + g.expr(0) + " " + g.block(d) + g.pick("", " else "+g.block(d), " else if a "+g.block(d))
	case 1:
		return "while " + g.name() + " " + g.loop(d)
	case 2:
		return "loop " + g.loop(d)
	case 3:
		return "do " + g.loop(d) + g.pick(" while ", " until ") + g.name()
	case 4:
		return "for " + g.pick("i", "(i, j)") + " in (" + g.name() + ") " + g.loop(d)
	case 5:
		return "switch " + g.name() + " { 1 | \"s\" => " + g.body(d) + ", -3..5 | (7..) if " + g.name() + " => " + g.block(d) + " _ => " + g.body(d) + " }"
	}
	return g.block(d)
}

func (g *generator) stmts(depth int) string {
	var b strings.Builder
	for range 1 + g.Intn(3) {
		d := depth - 1
		switch g.Intn(9) {
		case 0, 1:
			b.WriteString(g.pick("let ", "const ") + g.name() + g.pick("", " = "+g.expr(d)))
		case 2:
			b.WriteString(g.name() + g.pick("", "[0]", ".a") + g.pick(" = ", " += ", " **= ") + g.expr(d))
		case 3:
			b.WriteString("try " + g.block(d) + " catch " + g.pick("", "(e) ") + g.block(d))
		case 4:
			if depth > 0 {
				b.WriteString(g.statement(d))
			}
		case 5:
			b.WriteString(g.pick("import \"m\" as m", "return", "throw "+g.expr(d)))
		case 6:
			if g.loops > 0 {
				b.WriteString(g.pick("break", "continue", "break "+g.expr(d)))
			}
		default:
			b.WriteString(g.expr(d))
		}
		b.WriteString(";\n")
	}
	return b.String()
}

func TestPrintedRandomTreesParseToTheSameTree(t *testing.T) {
	const scripts = 1000
	o := &syntax.Options{MaxExprDepth: -1, MaxFnExprDepth: -1}
	good := 0
	for seed := range int64(scripts) {
		g := &generator{Rand: rand.New(rand.NewSource(seed))}
		text := "fn f(a, b) { " + g.stmts(4) + " }\n" + strings.ReplaceAll(g.stmts(4), "this", "a")
		if _, err := syntax.Parse(text, "", o); err == nil {
			good++
		}
		checkPrint(t, text, o)
	}
	if good < scripts/2 {
		t.Errorf("only %d of %d scripts are right", good, scripts)
	}
}
