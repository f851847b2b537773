package main

import "fmt"

// declare writes a let or a const.
func (g *generator) declare(depth int) {
	t := g.anyType()
	v := variable{typ: t, constant: g.chance(10)}
	value := ""
	if t == "Fn" {
		v.arity = g.r.IntN(3)
		value = g.closure(v.arity, pick[Type](g, "int", "bool", "string"))
	} else {
		value = g.expr(t, depth-1)
	}
	v.name = g.name()
	if v.constant {
		g.line("const %s = %s;", v.name, value)
	} else {
		g.line("let %s = %s;", v.name, value)
	}
	g.scope = append(g.scope, v)
}

// guarded writes statements in a try block that says what went wrong and where.
func (g *generator) guarded() {
	g.block("try {", "} catch (e) {", func() {
		for range 1 + g.r.IntN(3) {
			g.statement(3)
		}
		if v, ok := g.variable(func(variable) bool { return true }); ok {
			g.line("print(%s);", v.name)
		}
	})
	g.line("    print(e);")
	g.line("}")
}

func (g *generator) statement(depth int) {
	if depth <= 0 {
		g.assign(1)
		return
	}
	kinds := []func(int){
		g.declare, g.assign, g.assign, g.chain, g.chain, g.mutate, g.mutate, g.mutate, g.show,
		g.reflect, g.ifElse, g.count, g.forEach, g.forEach, g.repeat, g.choose, g.attempt, g.nested, g.capture, g.method,
	}
	pick(g, kinds...)(depth)
}

// body writes the statements of a nested block.
func (g *generator) body(depth int) func() {
	return func() {
		for range 1 + g.r.IntN(2) {
			g.statement(depth - 1)
		}
	}
}

func (g *generator) show(depth int) {
	if g.chance(4) {
		g.line("print(%s);", g.libraryCall(pick(g, g.library["any"]...), depth-1))
		return
	}
	g.line("%s(%s);", pick(g, "print", "print", "print", "debug"), g.expr(g.anyType(), depth))
}

// assign writes `x = e` or `x op= e`.
func (g *generator) assign(depth int) {
	t := g.anyType()
	v, ok := g.writable(t)
	if !ok || v.name == "this" && g.chance(2) {
		g.show(depth)
		return
	}
	switch {
	case t == "int" && g.chance(2):
		op := pick(g, "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "**")
		g.line("%s %s= %s;", v.name, op, g.expr("int", depth-1))
	case t == "float" && g.chance(2):
		g.line("%s %s= %s;", v.name, pick(g, "+", "-", "*", "/", "%"), g.expr(pick[Type](g, "int", "float"), depth-1))
	case (t == "string" || t == "array") && g.chance(2):
		g.line("%s += %s;", v.name, g.expr(g.anyType(), depth-1))
	case (t == "map" || t == "blob") && g.chance(2):
		g.line("%s += %s;", v.name, g.expr(t, depth-1))
	case t == "bool" && g.chance(2):
		g.line("%s %s= %s;", v.name, pick(g, "&", "|", "^"), g.expr("bool", depth-1))
	default:
		g.line("%s = %s;", v.name, g.expr(t, depth-1))
	}
}

// chain writes an assignment to, or a call on, a place inside an array, map, string, blob or int.
func (g *generator) chain(depth int) {
	v, ok := g.writable(pick[Type](g, "array", "array", "map", "map", "string", "blob", "int"))
	if !ok {
		g.mutate(depth)
		return
	}
	op := pick(g, "=", "=", "+=", "-=")
	switch v.typ {
	case "array":
		place := fmt.Sprintf("%s[%s]", v.name, g.index())
		switch g.r.IntN(5) {
		case 0:
			g.line("%s[%s] %s %s;", place, g.index(), op, g.expr(g.anyType(), depth-1))
		case 1:
			g.line("%s.%s %s %s;", place, g.key(), op, g.expr("int", depth-1))
		case 2:
			g.line("%s.push(%s);", place, g.expr(g.anyType(), depth-1))
		default:
			g.line("%s %s %s;", place, op, g.expr(g.anyType(), depth-1))
		}
	case "map":
		place := v.name + pick(g, ".", "?.") + g.key()
		if g.chance(3) {
			place = fmt.Sprintf("%s[%q]", v.name, g.key())
		}
		switch g.r.IntN(5) {
		case 0:
			g.line("%s%s%s %s %s;", place, pick(g, ".", "?."), g.key(), op, g.expr("int", depth-1))
		case 1:
			g.line("%s[%s] %s %s;", place, g.index(), op, g.expr(g.anyType(), depth-1))
		case 2:
			g.line("%s.%s(%s);", place, pick(g, "push", "append", "call", "remove"), g.expr(g.anyType(), depth-1))
		default:
			g.line("%s %s %s;", place, op, g.expr(g.anyType(), depth-1))
		}
	case "string":
		if g.chance(3) {
			g.line("%s[%s..%s] = %s;", v.name, g.small(), g.small(), g.expr("string", 1))
		} else {
			g.line("%s[%s] = %s;", v.name, g.index(), g.expr("char", 1))
		}
	case "blob":
		g.line("%s[%s] %s %s;", v.name, g.index(), op, g.expr("int", 1))
	case "int":
		if g.chance(2) {
			g.line("%s[%s] = %s;", v.name, g.expr("int", 1), g.expr("bool", 1))
		} else {
			g.line("%s[%s%s%s] = %s;", v.name, g.small(), pick(g, "..", "..="), g.small(), g.expr("int", 1))
		}
	}
}

// mutate writes a call of a library method that changes a variable.
func (g *generator) mutate(depth int) {
	t := pick[Type](g, "string", "array", "array", "array", "map", "blob", "blob", "int")
	v, ok := g.writable(t)
	if !ok {
		g.declare(depth)
		return
	}
	call := g.call(pick(g, g.methods[t]...), v.name, depth-1)
	if g.chance(2) {
		g.line("print(%s);", call)
	} else {
		g.line("%s;", call)
	}
}

// reflect asks about names, or runs something in the scope it stands in.
func (g *generator) reflect(depth int) {
	name := g.name()
	known, ok := g.variable(ofType("int"))
	if len(g.functions) == 0 || !ok || known.name == "this" {
		g.line("print(is_def_var(%q));", name)
		return
	}
	f := pick(g, g.functions...)
	switch g.r.IntN(5) {
	case 0:
		g.line("print([is_def_var(%q), is_shared(%s)]);", name, known.name)
	case 1:
		g.line("print(is_def_fn(%q, %d));", f.name, g.r.IntN(4))
	case 2:
		g.line("print(%s!(%s));", f.name, g.args(f.arity, depth-1))
	default:
		g.line("print(eval(`%s %s %s`));", known.name, pick(g, "+", "*", "/", "+=", "-="), g.small())
	}
}

func (g *generator) ifElse(depth int) {
	g.block(fmt.Sprintf("if %s {", g.head("bool", depth-1)), "} else {", g.body(depth))
	g.indent++
	g.statement(0)
	g.indent--
	g.line("}")
}

// count writes a loop with a counter: while, do-while, do-until or loop.
func (g *generator) count(depth int) {
	g.names++
	i := fmt.Sprintf("i%d", g.names)
	g.line("let %s = 0;", i)
	end := 1 + g.r.IntN(5)
	head, tail := fmt.Sprintf("while %s < %d {", i, end), "}"
	switch g.r.IntN(4) {
	case 0:
		head, tail = "do {", fmt.Sprintf("} while %s < %d;", i, end)
	case 1:
		head, tail = "do {", fmt.Sprintf("} until %s >= %d;", i, end)
	}
	g.scope = append(g.scope, variable{name: i, typ: "int", constant: true})
	g.loops++
	g.block(head, tail, func() {
		g.line("%s += 1;", i)
		g.body(depth)()
		g.leave()
	})
	g.loops--
}

// leave sometimes writes a break or a continue.
func (g *generator) leave() {
	if g.chance(4) {
		g.line("if %s { %s; }", g.head("bool", 1), pick(g, "break", "continue"))
	}
}

func (g *generator) forEach(depth int) {
	g.names++
	x, i := fmt.Sprintf("x%d", g.names), fmt.Sprintf("n%d", g.names)
	over, t := "", Type("int")
	switch g.r.IntN(8) {
	case 0:
		over = g.libraryCall(pick(g, g.library["iter"]...), 1)
	case 1:
		over = fmt.Sprintf("%s%s%s", g.small(), pick(g, "..", "..="), g.small())
	case 2:
		over = fmt.Sprintf("range(%s, %s, %s)", g.small(), g.small(), g.small())
	case 3:
		over, t = g.head("string", 1), "char"
	case 4:
		over = g.head("blob", 1) + ".to_array()" // see blob-loop in known.go
	default:
		over = g.head("array", 1)
	}
	head := fmt.Sprintf("for %s in %s {", x, over)
	g.loops++
	if g.chance(3) {
		head = fmt.Sprintf("for (%s, %s) in %s {", x, i, over)
		g.scope = append(g.scope, variable{name: i, typ: "int"})
	}
	g.scope = append(g.scope, variable{name: x, typ: t})
	known := len(g.scope)
	g.block(head, "}", func() {
		g.body(depth)()
		g.leave()
	})
	g.loops--
	// The loop's own variables go with it.
	for known > 0 && (g.scope[known-1].name == x || g.scope[known-1].name == i) {
		known--
	}
	g.scope = g.scope[:known]
}

// repeat writes a loop whose value is used.
func (g *generator) repeat(depth int) {
	g.names++
	n := fmt.Sprintf("n%d", g.names)
	v := g.name()
	g.line("let %s = 0;", n)
	g.loops++
	g.block(fmt.Sprintf("let %s = loop {", v), "};", func() {
		g.line("%s += 1;", n)
		g.line("if %s > %d { break %s; }", n, 1+g.r.IntN(4), g.expr("int", 1))
		g.body(depth)()
	})
	g.loops--
	g.scope = append(g.scope, variable{name: n, typ: "int"}, variable{name: v, typ: "int"})
}

func (g *generator) choose(depth int) {
	g.block(fmt.Sprintf("switch %s {", g.head(pick[Type](g, "int", "string", "char", "bool"), depth-1)), "}", func() {
		for _, label := range pick(g, []string{"0", "1 | 2", "-3", "4..9", "9..=100"}, []string{`"hello"`, `"" | "ab"`, "'a'"}, []string{"true", "[1, 2]", "()"}) {
			if g.chance(3) {
				label += " if " + g.head("bool", 1)
			}
			g.block(label+" => {", "}", g.body(depth-1))
		}
		g.line("_ => print(%s)", g.expr(g.anyType(), 1))
	})
}

// attempt writes a try block that may throw.
func (g *generator) attempt(depth int) {
	g.block("try {", "} catch (err) {", func() {
		g.statement(depth - 1)
		switch g.r.IntN(3) {
		case 0:
			g.line("throw %s;", g.expr(g.anyType(), 1))
		case 1:
			g.line("if %s { throw; }", g.head("bool", 1))
		}
	})
	g.indent++
	g.line("print(err);")
	if g.chance(6) {
		g.line("throw;")
	}
	g.indent--
	g.line("}")
}

func (g *generator) nested(depth int) {
	g.block("{", "}", func() {
		g.declare(depth - 1)
		g.body(depth)()
	})
}

// capture writes a closure that changes a variable around it, and calls it.
func (g *generator) capture(depth int) {
	v, ok := g.writable("int")
	if !ok || v.name == "this" {
		g.declare(depth)
		return
	}
	f := variable{name: g.name(), typ: "Fn", arity: 1}
	g.line("let %s = |k| { %s += %s; %s };", f.name, v.name, pick(g, "k", "1", g.expr("int", 1)), g.expr("int", 1))
	g.scope = append(g.scope, f)
	g.line("print(%s.call(%s) + %s);", f.name, g.expr("int", 1), v.name)
}

// method calls a function of the program with a receiver, or one kept in a map.
func (g *generator) method(depth int) {
	if g.chance(3) {
		v := g.name()
		g.line("let %s = #{n: %s, f: |d| { this.n += d; this.n }};", v, g.expr("int", 1))
		g.line("print(%s.f(%s));", v, g.expr("int", 1))
		g.scope = append(g.scope, variable{name: v, typ: "map"})
		return
	}
	if len(g.functions) == 0 {
		g.show(depth)
		return
	}
	f := pick(g, g.functions...)
	t := f.this
	if t == "" {
		t = g.anyType()
	}
	g.line("print(%s.%s(%s));", g.receiver(t, 1), f.name, g.args(f.arity, depth-1))
}
