package rhai

import (
	"maps"
	"strings"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file lets a host add syntax of its own.

// customSyntax is a registered syntax.
type customSyntax struct {
	parse *syntax.Syntax
	eval  func(c *SyntaxCall) (Value, error)
}

// SyntaxCall is one evaluation of a custom syntax.
type SyntaxCall struct {
	fr     *frame
	custom *syntax.Custom
	inputs []node
	here   *site
}

// Len is the number of inputs: what the markers of the pattern matched.
func (s *SyntaxCall) Len() int { return len(s.inputs) }

// Tokens are the words and symbols that the pattern met.
func (s *SyntaxCall) Tokens() []string { return s.custom.Tokens }

// Name gives input i as an identifier, "" when it is none.
func (s *SyntaxCall) Name(i int) string {
	if n, ok := s.custom.Inputs[i].(*syntax.Name); ok {
		return n.Name
	}
	return ""
}

// Literal gives input i when it is a constant, None when not.
func (s *SyntaxCall) Literal(i int) Value {
	if n, ok := s.custom.Inputs[i].(*syntax.Literal); ok {
		return literal(n)
	}
	return Value{}
}

// Eval evaluates input i, an expression or a block. It may be called any number of times.
//
// Errors: one that tells nothing; who gets it gives it back, and the run ends with what happened.
func (s *SyntaxCall) Eval(i int) (Value, error) {
	v := s.inputs[i](s.fr)
	if v.IsNone() {
		return v, errPassed
	}
	return v.Keep(), nil
}

// Get reads a variable that is visible where the syntax stands.
func (s *SyntaxCall) Get(name string) Value {
	if p, _ := s.find(name); p != nil {
		return p.Flatten().Keep()
	}
	return Value{}
}

// Set changes a variable that is visible there, or declares it.
//
// Errors: *[Error] of kind ErrorAssignmentToConstant.
func (s *SyntaxCall) Set(name string, v Value) error {
	p, readonly := s.find(name)
	switch {
	case p == nil:
		s.fr.extras = append(s.fr.extras, extra{name: name, v: &v})
	case readonly:
		return &Error{Kind: value.ErrorAssignmentToConstant, Name: name, Pos: s.custom.Pos}
	case p.Is(value.CellKind):
		p.AsCell().V = v.Keep()
	default:
		*p = v.Keep()
	}
	return nil
}

func (s *SyntaxCall) find(name string) (*Value, bool) {
	at := fnc{site: s.here}
	r := at.look(name, s.custom.Pos)
	inner := frame{run: s.fr.run, outer: s.fr, env: s.fr.env}
	return inner.lookup(&r)
}

// errPassed says that the run knows already what went wrong.
var errPassed = &Error{Kind: value.ErrorSystem, Name: "already reported"}

// RegisterSyntax adds a syntax made of fixed words and markers ($expr$,
// $block$, $inner$, $func$, $ident$, $symbol$, $token$, $string$, $int$, $float$, $bool$);
// the first part names it. declares says that evaluations may declare variables.
func (e *Engine) RegisterSyntax(pattern []string, declares bool, eval func(c *SyntaxCall) (Value, error)) {
	parts := append([]string{}, pattern...)
	for _, p := range parts {
		if marker := len(p) > 2 && p[0] == '$' && p[len(p)-1] == '$'; !marker && !syntax.InUse(p) {
			e.reserve(p)
		}
	}
	e.RegisterSyntaxFunc(parts[0], declares, func(met []string, _ string, _ *any) (string, error) {
		if len(met) < len(parts) {
			return parts[len(met)], nil
		}
		return "", nil
	}, eval)
}

// RegisterSyntaxFunc adds a syntax whose next part is decided while it is
// read: see [syntax.Syntax].
func (e *Engine) RegisterSyntaxFunc(key string, declares bool, next func(met []string, ahead string, state *any) (string, error),
	eval func(c *SyntaxCall) (Value, error)) {
	if e.customs == nil {
		e.customs = map[string]*customSyntax{}
	}
	if !syntax.InUse(key) {
		e.reserve(key)
	}
	e.customs[key] = &customSyntax{parse: &syntax.Syntax{Next: next, ScopeChanged: declares}, eval: eval}
}

// reserve makes a word or symbol one that only syntaxes use.
func (e *Engine) reserve(word string) {
	operators := map[string]int{word: 0}
	maps.Copy(operators, e.Syntax.Operators)
	e.Syntax.Operators = operators
}

// custom compiles a use of a custom syntax.
func (c *fnc) custom(n *syntax.Custom) node {
	def := c.unit.engine.customs[n.Key]
	if def.parse.ScopeChanged {
		c.evals++ // what it declares is known by name only, to its own parts too
	}
	inputs := make([]node, len(n.Inputs))
	for i, in := range n.Inputs {
		if name, ok := in.(*syntax.Name); ok && strings.HasPrefix(name.Name, "$") {
			inputs[i] = constant(value.Str(name.Name))
			continue
		}
		inputs[i] = c.node(in, own)
	}
	here := c.here()
	return func(fr *frame) Value {
		v, err := def.eval(&SyntaxCall{fr: fr, custom: n, inputs: inputs, here: here})
		switch {
		case err == errPassed:
			return Value{}
		case err != nil:
			if e, ok := err.(*Error); ok {
				return fr.fail(e)
			}
			return fr.fail(&Error{Kind: value.ErrorRuntime, Value: value.Str(err.Error()), Cause: err, Pos: n.Pos})
		case v.IsNone():
			return value.Unit
		}
		return v
	}
}
