package main

import (
	"fmt"
	"strings"
)

// expr returns an expression of type t, nested at most depth deep.
func (g *generator) expr(t Type, depth int) string {
	if g.chance(25) {
		if v, ok := g.variable(func(variable) bool { return true }); ok {
			return v.name
		}
	}
	switch t {
	case "any":
		t = g.anyType()
	case "iter":
		t = "range"
	}
	if v, ok := g.variable(ofType(t)); ok && g.chance(2) {
		return v.name
	}
	if depth <= 0 {
		return g.literal(t)
	}
	switch g.r.IntN(10) {
	case 0, 1:
		return g.literal(t)
	case 2, 3:
		if list := g.library[t]; len(list) > 0 {
			return g.libraryCall(pick(g, list...), depth-1)
		}
		return g.literal(t)
	case 4:
		return g.anyForm(t, depth-1)
	}
	return g.operation(t, depth-1)
}

// anyForm is an expression that gives what its parts give.
func (g *generator) anyForm(t Type, depth int) string {
	e := func() string { return g.expr(t, depth) }
	switch g.r.IntN(11) {
	case 0:
		return fmt.Sprintf("if %s { %s } else { %s }", g.head("bool", depth), e(), e())
	case 1:
		return fmt.Sprintf("switch %s { %s => %s, %s..%s => %s, _ => %s }", g.head("int", depth), g.small(), e(), g.small(), g.small(), e(), e())
	case 2:
		return fmt.Sprintf("{ let t = %s; %s }", g.expr(g.anyType(), depth), e())
	case 3:
		return fmt.Sprintf("(%s ?? %s)", pick(g, "()", e()), e())
	case 4:
		return fmt.Sprintf("#{%s: %s, k: %s}.k", g.key(), g.expr("int", 0), e())
	case 5:
		return fmt.Sprintf("[%s, %s][%s]", e(), e(), g.index())
	case 6:
		if len(g.functions) > 0 {
			if f := pick(g, g.functions...); !f.typed {
				return fmt.Sprintf("%s(%s)", f.name, g.args(f.arity, depth))
			}
		}
	case 7:
		if v, ok := g.variable(ofType("Fn")); ok {
			return fmt.Sprintf("%s.call(%s)", v.name, g.args(v.arity, depth))
		}
		return fmt.Sprintf("(%s).call(%s)", g.closure(1, t), g.expr("int", depth))
	case 8:
		if g.chance(5) {
			return fmt.Sprintf("%s.curry(%s).call(%s)", g.receiver("Fn", depth), g.expr("int", depth), g.expr("int", depth))
		}
		return fmt.Sprintf("(%s).curry(%s).call(%s)", g.closure(2, t), g.expr("int", depth), g.expr("int", depth))
	case 9:
		if v, ok := g.variable(ofType("map")); ok {
			return fmt.Sprintf("%s%s%s", v.name, pick(g, ".", "?."), g.key())
		}
	}
	return "(" + e() + ")"
}

// operation is an expression with operators, indexes or literals with parts, of type t.
func (g *generator) operation(t Type, depth int) string {
	switch t {
	case "int":
		switch g.r.IntN(6) {
		case 0:
			return fmt.Sprintf("%s[%s]", g.receiver("array", depth), g.index())
		case 1:
			return g.receiver(pick[Type](g, "string", "array", "map", "blob"), depth) + pick(g, ".len", ".len()")
		case 2:
			return fmt.Sprintf("%s(%s)", pick(g, "-", "+"), g.expr("int", depth))
		}
		op := pick(g, "+", "-", "*", "/", "%", "**", "<<", ">>", "&", "|", "^")
		return fmt.Sprintf("%s %s %s", g.operand("int", depth), op, g.operand("int", depth))
	case "float":
		op := pick(g, "+", "-", "*", "/", "%")
		return fmt.Sprintf("%s %s %s", g.operand("float", depth), op, g.operand(pick[Type](g, "float", "int"), depth))
	case "bool":
		switch g.r.IntN(5) {
		case 0:
			return fmt.Sprintf("%s %s %s", g.operand("bool", depth), pick(g, "&&", "||", "&", "|", "^"), g.operand("bool", depth))
		case 1:
			return fmt.Sprintf("!(%s)", g.expr("bool", depth))
		case 2:
			return fmt.Sprintf("%s %s %s", g.operand(g.anyType(), depth), pick(g, "in", "!in"),
				g.receiver(pick[Type](g, "array", "string", "map", "range", "blob"), depth))
		}
		of := g.anyType()
		return fmt.Sprintf("%s %s %s", g.operand(of, depth), pick(g, "==", "!=", "<", "<=", ">", ">="), g.operand(of, depth))
	case "char":
		return fmt.Sprintf("%s[%s]", g.receiver("string", depth), g.index())
	case "string":
		switch g.r.IntN(4) {
		case 0:
			return fmt.Sprintf("`%s${%s}%s`", pick(g, "", "x = ", "é"), g.expr(g.anyType(), depth), pick(g, "", "!"))
		case 1:
			return fmt.Sprintf("%s[%s]", g.receiver("string", depth), g.expr("range", depth))
		case 2:
			return fmt.Sprintf("type_of(%s)", g.expr(g.anyType(), depth))
		}
		return fmt.Sprintf("%s %s %s", g.operand("string", depth), pick(g, "+", "+", "-"), g.operand(pick(g, "string", "char", g.anyType()), depth))
	case "array":
		if g.chance(4) {
			return fmt.Sprintf("%s + %s", g.operand("array", depth), g.operand("array", depth))
		}
		var items []string
		t := g.anyType()
		for range g.r.IntN(5) {
			items = append(items, g.expr(t, depth))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case "map":
		if g.chance(5) {
			return fmt.Sprintf("%s + %s", g.operand("map", depth), g.operand("map", depth))
		}
		keys := []string{"a", "b", "n", "xs", `"two words"`}
		g.r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		var items []string
		for _, key := range keys[:g.r.IntN(4)] {
			items = append(items, key+": "+g.expr(g.anyType(), depth))
		}
		return "#{" + strings.Join(items, ", ") + "}"
	case "blob":
		return fmt.Sprintf("blob(%s, %s)", g.small(), g.expr("int", depth))
	case "range":
		return fmt.Sprintf("(%s..%s)", g.operand("int", depth), g.operand("int", depth))
	case "range=":
		return fmt.Sprintf("(%s..=%s)", g.operand("int", depth), g.operand("int", depth))
	case "Fn":
		return "(" + g.closure(g.r.IntN(3), pick[Type](g, "int", "bool")) + ")"
	}
	return g.literal(t)
}

// operand is an expression that keeps to itself beside an operator. Sometimes it does not, to see the precedence.
func (g *generator) operand(t Type, depth int) string {
	e := g.expr(t, depth)
	if g.chance(4) && !strings.HasPrefix(e, "{") || isName(e) || depth <= 0 {
		return e
	}
	return "(" + e + ")"
}

// receiver is an expression that a dot or a bracket may follow.
func (g *generator) receiver(t Type, depth int) string {
	e := g.expr(t, depth)
	if isName(e) || strings.HasPrefix(e, "[") || strings.HasPrefix(e, `"`) {
		return e
	}
	return "(" + e + ")"
}

// head is an expression that stands before the brace of a statement.
func (g *generator) head(t Type, depth int) string {
	if e := g.expr(t, depth); !strings.HasPrefix(e, "{") {
		return e
	}
	return g.literal(t)
}

// index is a position that mostly hits.
func (g *generator) index() string {
	if g.chance(10) {
		return g.expr("int", 1)
	}
	return pick(g, "0", "0", "0", "1", "-1")
}

func isName(s string) bool {
	return len(tokens(s)) == 1 && (s[0] >= 'a' && s[0] <= 'z')
}

func (g *generator) args(n, depth int) string {
	var list []string
	for range n {
		list = append(list, g.expr("int", depth))
	}
	return strings.Join(list, ", ")
}

// rounded are functions whose last digit is a matter of the machine's mathematics library.
var rounded = map[string]bool{
	"sin": true, "cos": true, "tan": true, "asin": true, "acos": true, "atan": true, "sinh": true, "cosh": true, "tanh": true,
	"asinh": true, "acosh": true, "atanh": true, "exp": true, "ln": true, "log": true, "hypot": true,
}

func (g *generator) libraryCall(f Function, depth int) string {
	if len(f.Params) == 0 {
		return f.Name + "()"
	}
	call := g.call(f, g.receiver(f.Params[0], depth), depth)
	if rounded[f.Name] {
		return fmt.Sprintf("(%s * 1e6).round()", call)
	}
	return call
}

// call writes a call of a library function on a receiver, in either style.
func (g *generator) call(f Function, receiver string, depth int) string {
	var args []string
	for _, t := range f.Params[1:] {
		args = append(args, g.argument(f, t, depth))
	}
	if g.chance(4) {
		return fmt.Sprintf("%s(%s)", f.Name, strings.Join(append([]string{receiver}, args...), ", "))
	}
	return fmt.Sprintf("%s.%s(%s)", receiver, f.Name, strings.Join(args, ", "))
}

func (g *generator) argument(f Function, t Type, depth int) string {
	switch {
	case t == "Fn":
		return g.callback(f)
	case t == "string" && f.Params[0] == "array" && f.Name != "index_of" && f.Name != "join" && len(g.functions) > 0:
		return fmt.Sprintf("%q", pick(g, g.functions...).name)
	case t == "string" && f.Name == "pad":
		return pick(g, `"ab"`, `"é"`) // with the empty string the reference never ends
	case t == "int" && !g.chance(8):
		return g.small() // positions and lengths that mostly hit
	}
	return g.expr(t, depth)
}

// callback is a closure as the library function wants it: what it takes and gives.
func (g *generator) callback(f Function) string {
	switch f.Name {
	case "sort", "sort_by", "order", "order_by":
		// Only true orders: what sorting by anything else gives is nobody's promise.
		return pick(g, "|a, b| a - b", "|a, b| b - a", "|a, b| if a < b { -1 } else if a > b { 1 } else { 0 }", "|a, b| a < b")
	case "reduce", "reduce_rev":
		return g.closure(pick(g, 2, 2, 3), "int")
	case "dedup":
		return g.closure(2, "bool")
	case "zip":
		return g.closure(2, "any")
	case "for_each":
		return pick(g, "|| this += 1", "|i| this += i", "|| print(this)")
	case "map", "find_map":
		return g.closure(pick(g, 0, 1, 1, 1, 2), "any")
	}
	return g.closure(pick(g, 0, 1, 1, 1, 2), "bool")
}

// closure has int parameters; with none it uses this.
func (g *generator) closure(arity int, result Type) string {
	outer := g.scope
	var params []string
	for i := range arity {
		p := string("pqr"[i])
		params = append(params, p)
		g.scope = append(g.scope[:len(g.scope):len(g.scope)], variable{name: p, typ: "int"})
	}
	if arity == 0 && g.chance(2) {
		g.scope = append(g.scope[:len(g.scope):len(g.scope)], variable{name: "this", typ: "int"})
	}
	body := g.expr(result, 2)
	g.scope = outer
	if g.chance(4) {
		body = "{ " + body + " }"
	}
	return fmt.Sprintf("|%s| %s", strings.Join(params, ", "), body)
}

func (g *generator) key() string { return pick(g, "a", "b", "n", "xs", "a", "b") }

// small is an int literal as positions and lengths are.
func (g *generator) small() string {
	if g.chance(6) {
		return fmt.Sprint(-1 - g.r.IntN(3))
	}
	return fmt.Sprint(g.r.IntN(9))
}

func (g *generator) literal(t Type) string {
	switch t {
	case "int":
		if g.chance(6) {
			return pick(g, "0xff", "0b1011", "0o17", "1_000", "63", "64", "-1", "255", "9223372036854775807", "1000000007", "-9223372036854775807", "65")
		}
		return g.small()
	case "float":
		return pick(g, "0.0", "1.0", "1.5", "-2.25", "0.1", "0.2", "1e10", "3.0e-7", "123456.789", "1e300", "-0.5", "2.0", "100.0", "1e16", "0.00001")
	case "bool":
		return pick(g, "true", "false")
	case "char":
		return pick(g, "'a'", "'Z'", "'é'", `'\n'`, `'\u2764'`, "'0'", "' '", `'\''`)
	case "string":
		return pick(g, `""`, `"hello"`, `"a,b,c"`, `"Ünïcödé ❤"`, `"  pad "`, `"12"`, `"-7"`, `"3.25"`, `"x\ty\n"`, `"ab"`, "`tick`",
			"#\"raw \\ \"#", `"{\"a\": [1, 2.5, null]}"`, `"say ""hi"""`, `"zzz"`)
	case "array":
		return pick(g, "[]", "[1, 2, 3]", "[3, 1, 2, 3]", `["b", "a", "c"]`, "[1, 2.5, \"x\", 'c', true, ()]", "[[1, 2], [3]]", "[#{a: 1}, #{a: 2}]", "[5, 5, 7]")
	case "map":
		return pick(g, "#{}", "#{a: 1, b: 2}", `#{a: "x", n: 1.5}`, "#{xs: [1, 2, 3], a: #{b: 1}}", `#{"two words": true, n: ()}`)
	case "blob":
		return pick(g, "blob()", "blob(3)", "blob(4, 65)", "blob(9, 255)", `"bytes é".to_blob()`)
	case "range":
		return pick(g, "0..5", "1..3", "-2..4", "3..1", "2..20")
	case "range=":
		return pick(g, "0..=5", "1..=3", "3..=1")
	case "Fn":
		if len(g.functions) > 0 && g.chance(2) {
			return fmt.Sprintf("Fn(%q)", pick(g, g.functions...).name)
		}
		return pick(g, "(|x| x)", "(|x| x + 1)", `Fn("len")`, "(|x, y| x * y)")
	}
	return "()"
}
