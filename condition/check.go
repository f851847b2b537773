package condition

import (
	"fmt"
	"slices"
	"sync"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/syntax"
)

// This file finds what a condition would fail of whenever it is evaluated.

// functions are those that a condition can call.
var functions = sync.OnceValue(func() []string { return engine().Functions() })

// Fault is what is wrong in a condition, and where.
type Fault struct {
	Pos  rhai.Pos
	Text string
}

// Faults are the functions that there are not; with yesNo also that what is written out is
// no yes or no.
func (c *Condition) Faults(yesNo bool) (faults []Fault) {
	body := c.script.Tree().Body
	call := func(name string, pos syntax.Pos) {
		if !slices.Contains(functions(), name) {
			text := fmt.Sprintf("there is no function %q", name)
			if near := domain.Nearest(name, functions()); near != "" {
				text += fmt.Sprintf("; did you mean %q?", near)
			}
			faults = append(faults, Fault{pos, text})
		}
	}
	for _, n := range body {
		syntax.Walk(n, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Call:
				if len(n.Path) == 0 {
					call(n.Name, n.Pos)
				}
			case *syntax.Chain:
				for _, s := range n.Steps {
					if s.Kind == syntax.MethodStep {
						call(s.Name, s.Pos)
					}
				}
			}
			return true
		})
	}
	if yesNo && len(body) == 1 {
		if is := written(body[0]); is != "" {
			faults = append(faults, Fault{body[0].Start(), "it is " + is + ", want what is true or false"})
		}
	}
	return faults
}

// written is what an expression is that is no yes or no as it stands there; "" where that
// cannot be told.
func written(n syntax.Node) string {
	switch n := n.(type) {
	case *syntax.Interpolated:
		return "a text"
	case *syntax.ArrayLit:
		return "an array"
	case *syntax.MapLit:
		return "a map"
	case *syntax.Closure:
		return "a function"
	case *syntax.Literal:
		return map[syntax.LitKind]string{syntax.UnitLit: "nothing", syntax.IntLit: "a number", syntax.FloatLit: "a number", syntax.CharLit: "a character",
			syntax.StringLit: "a text"}[n.Kind]
	}
	return ""
}

// Fields calls each with the names that a condition takes from one of its own, as far as
// they are written out: of needs.load.state they are load and state. What is called on it ends
// them.
func (c *Condition) Fields(name string, each func(fields []string, pos rhai.Pos)) {
	for _, n := range c.script.Tree().Body {
		syntax.Walk(n, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Closure: // its own name may be the same
				return !slices.ContainsFunc(n.Fn.Params, func(p syntax.Ident) bool { return p.Name == name })
			case *syntax.Chain:
				if root, ok := n.Root.(*syntax.Name); ok && root.Name == name {
					if fields, pos := fieldNames(n.Steps); len(fields) > 0 {
						each(fields, pos)
					}
				}
			}
			return true
		})
	}
}

// Takes are the names that a condition takes from one of its own, as far as they are written
// out; all is set where it takes more of it than these, or something that is computed.
func (c *Condition) Takes(name string) (fields []string, all bool) {
	named, used := 0, 0
	c.Fields(name, func(f []string, _ rhai.Pos) {
		named++
		if !slices.Contains(fields, f[0]) {
			fields = append(fields, f[0])
		}
	})
	for _, n := range c.script.Tree().Body {
		syntax.Walk(n, func(n syntax.Node) bool {
			if n, ok := n.(*syntax.Name); ok && n.Name == name {
				used++
			}
			return true
		})
	}
	return fields, used > named
}

// fieldNames are the names of steps, up to the first that is none, and where the first stands.
func fieldNames(steps []syntax.Step) (fields []string, pos rhai.Pos) {
	for i, s := range steps {
		name, ok := s.Field()
		if !ok {
			break
		}
		if i == 0 {
			pos = s.Pos
		}
		fields = append(fields, name)
	}
	return fields, pos
}
