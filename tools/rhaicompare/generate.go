package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// generator writes one random program. Same source of randomness, same program.
//
// Programs mostly run: types are followed, loops are bounded, and what may fail stands in try blocks that print the
// error with its position. Every 25th expression is a variable of any type instead of what its place wants, to see the
// errors; a variable, because what is wrong with a literal is mostly seen by the parser, and ends the whole program.
type generator struct {
	r         *rand.Rand
	library   map[Type][]Function // by result; Fn results are never called for, see closure
	methods   map[Type][]Function // that change their receiver, by its type
	out       strings.Builder
	indent    int
	scope     []variable
	functions []scriptFunction
	names     int  // variables named so far
	inside    bool // a script function, where the variables of the script are not seen
	loops     int  // around the statement
}

type variable struct {
	name     string
	typ      Type
	constant bool
	arity    int // of an Fn
}

// scriptFunction is a function of the program; ints are good for all its parameters.
type scriptFunction struct {
	name  string
	arity int
	this  Type // what it is a method of, if it uses this
	typed bool // it is found as a method of that type only
}

// newGenerator indexes the library for a generator; the index may be used again with another source.
func newGenerator(library []Function) *generator {
	g := &generator{library: map[Type][]Function{}, methods: map[Type][]Function{}}
	for _, f := range library {
		if mutates(f) {
			g.methods[f.Params[0]] = append(g.methods[f.Params[0]], f)
		}
		g.library[f.Result] = append(g.library[f.Result], f)
		if f.Result == "any" && f.Params[0] == "array" {
			g.library["int"] = append(g.library["int"], f) // mostly, as arrays are made here
		}
	}
	return g
}

// program returns the program that r leads to.
func (g *generator) program(r *rand.Rand) string {
	*g = generator{r: r, library: g.library, methods: g.methods}
	for range r.IntN(4) {
		g.function()
	}
	for range 3 + r.IntN(4) {
		g.variableForAll()
	}
	for range 4 + r.IntN(7) {
		if g.chance(15) {
			g.statement(3)
		} else {
			g.guarded()
		}
	}
	// Its value shows what became of the variables.
	var names []string
	for _, v := range g.scope {
		names = append(names, v.name)
	}
	g.line("[%s]", strings.Join(names, ", "))
	return g.out.String()
}

// options are the engine's settings for every generated program: nothing it can do takes long or grows large.
const options = `{"max_operations":50000,"max_string_size":20000,"max_array_size":20000,"max_map_size":20000,"max_variables":1000}`

func (g *generator) line(format string, args ...any) {
	g.out.WriteString(strings.Repeat("    ", g.indent))
	fmt.Fprintf(&g.out, format+"\n", args...)
}

// block writes head, what body writes, tail; variables declared in it are gone afterwards.
func (g *generator) block(head, tail string, body func()) {
	g.line("%s", head)
	g.indent++
	known := len(g.scope)
	body()
	g.scope = slices.Clip(g.scope[:known])
	g.indent--
	g.line("%s", tail)
}

func (g *generator) chance(oneIn int) bool { return g.r.IntN(oneIn) == 0 }

func pick[T any](g *generator, list ...T) T { return list[g.r.IntN(len(list))] }

func (g *generator) name() string {
	if v, ok := g.variable(func(v variable) bool { return v.name != "this" }); ok && g.chance(6) {
		return v.name // shadows it
	}
	g.names++
	return fmt.Sprintf("v%d", g.names)
}

// variable returns one of the type that fits, the nearest ones first; ok is false when there is none.
func (g *generator) variable(fits func(variable) bool) (v variable, ok bool) {
	var list []variable
	seen := map[string]bool{}
	for _, v := range slices.Backward(g.scope) {
		if !seen[v.name] && fits(v) {
			list = append(list, v)
		}
		seen[v.name] = true
	}
	if len(list) == 0 {
		return variable{}, false
	}
	return pick(g, list...), true
}

func ofType(t Type) func(variable) bool {
	return func(v variable) bool { return v.typ == t }
}

// writable is a variable of the type; seldom a constant, to see the error.
func (g *generator) writable(t Type) (variable, bool) {
	constants := g.chance(200)
	return g.variable(func(v variable) bool { return v.typ == t && (constants || !v.constant) })
}

// variableForAll declares a variable without fail, for the rest of the program.
func (g *generator) variableForAll() {
	t := pick(g, valueTypes...)
	v := variable{name: g.name(), typ: t}
	g.line("let %s = %s;", v.name, g.literal(t))
	g.scope = append(g.scope, v)
	if g.chance(2) {
		g.line("try { %s = %s; } catch (e) { print(e); }", v.name, g.expr(t, 3))
	}
}

var valueTypes = []Type{"int", "int", "int", "float", "bool", "char", "string", "string", "array", "array", "map", "map", "blob", "range"}

func (g *generator) anyType() Type {
	if g.chance(25) {
		return pick[Type](g, "()", "Fn", "range=")
	}
	return pick(g, valueTypes...)
}

// function writes a script function: a plain one, one that calls itself a bounded number of times, or a method.
func (g *generator) function() {
	f := scriptFunction{name: fmt.Sprintf("f%d", len(g.functions)), arity: g.r.IntN(4)}
	outer := g.scope
	g.scope, g.inside = nil, true
	var params []string
	for i := range f.arity {
		p := variable{name: string("abc"[i]), typ: "int"}
		g.scope = append(g.scope, p)
		params = append(params, p.name)
	}
	kind := g.r.IntN(4)
	if kind == 0 {
		f.this = pick[Type](g, "int", "string", "array", "map")
		g.scope = append(g.scope, variable{name: "this", typ: f.this})
		f.typed = g.chance(3)
	}
	full := f.name
	if f.typed {
		full = string(f.this) + "." + f.name
	}
	g.block(fmt.Sprintf("%sfn %s(%s) {", pick(g, "", "", "", "private "), full, strings.Join(params, ", ")), "}", func() {
		if kind == 1 && f.arity > 0 {
			args := []string{"a - 1"}
			for range f.arity - 1 {
				args = append(args, g.expr("int", 1))
			}
			g.line("if a <= 0 || a > 12 { return %s; }", g.expr("int", 1))
			g.line("let d = %s(%s);", f.name, strings.Join(args, ", "))
			g.scope = append(g.scope, variable{name: "d", typ: "int"})
		}
		for range g.r.IntN(3) {
			g.statement(2)
		}
		if g.chance(4) {
			g.line("return %s;", g.expr("int", 2))
		} else {
			g.line("%s", g.expr("int", 2))
		}
	})
	g.scope, g.inside = outer, false
	g.functions = append(g.functions, f)
}
