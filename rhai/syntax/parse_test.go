package syntax_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ramet-run/ramet/rhai/syntax"
)

func mustParse(t *testing.T, text string, o *syntax.Options) *syntax.Program {
	t.Helper()
	p, err := syntax.Parse(text, "test", o)
	if err != nil {
		t.Fatalf("parse %q: %v", text, err)
	}
	return p
}

// captures lists the captures of all closures of a text, outer ones first.
func captures(p *syntax.Program) string {
	var all []string
	for _, n := range p.Body {
		syntax.Walk(n, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.Closure); ok {
				var names []string
				for _, x := range c.Captures {
					names = append(names, x.Name)
				}
				all = append(all, strings.Join(names, " "))
			}
			return true
		})
	}
	return strings.Join(all, "; ")
}

// TestManyParameters has as many as a text of a megabyte can: looked through for each other, they took a minute.
func TestManyParameters(t *testing.T) {
	var names strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&names, "p%d, ", i)
	}
	began := time.Now()
	mustParse(t, "fn f("+names.String()+"q) {} let g = |"+names.String()+"q| 1;", nil)
	// Generous: machines can be busy.
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if _, err := syntax.Parse("fn f("+names.String()+"p99999) {}", "test", nil); err == nil || !strings.Contains(err.Error(), "p99999") {
		t.Errorf("got error %v, want one of the parameter that stands twice", err)
	}
	if _, err := syntax.Parse("|a, b, a| 1", "test", nil); err == nil {
		t.Error("a parameter of few stands twice: got no error")
	}
}

func TestClosuresCapture(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"names that are neither parameters nor locals, in order of use", "|x| { let y = b + x; a + y + b }", "b a"},
		{"not what is declared in a block that is over", "|| { { let y = 1; } y }", "y"},
		{"what an inner closure captures and the outer does not have", "|x| |y| x + y + z", "z; x z"},
		{"objects, but not their properties or methods", "|| a.b.c(d)[e]", "a d e"},
		{"no called functions, modules and built-ins", "|| f(x) + m::y + m::g(z) + print(w)", "x z w"},
		{"no functions defined before", "fn g() {} || g", ""},
		{"functions defined after", "|| g; fn g() {}", "g"},
		{"assigned variables", "|| { a = 1; b.c += 2; d[e] = 3 }", "a b d e"},
		{"but not loop variables and caught errors", "|| { for (x, i) in l { x + i } try { a } catch (e) { e } }", "l a"},
		{"names inside templates", "|| `${a} ${b.c}`", "a b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, captures(mustParse(t, tc.text, nil))); diff != "" {
				t.Errorf("captures (-want +got):\n%s", diff)
			}
		})
	}
}

// places lists what Walk meets, with its position.
func places(p *syntax.Program) string {
	var all []string
	note := func(what string, pos syntax.Pos) { all = append(all, fmt.Sprintf("%s %d:%d", what, pos.Line, pos.Col)) }
	for _, n := range p.Body {
		syntax.Walk(n, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Binary:
				note(n.Op, n.Pos)
			case *syntax.Call:
				note(n.Name+"()", n.Pos)
			case *syntax.Name:
				note(n.Name, n.Pos)
			case *syntax.Assign:
				note(n.Op+"=", n.Pos)
			case *syntax.Chain:
				for _, s := range n.Steps {
					note("."+s.Name, s.Pos)
				}
			case *syntax.Literal:
				note("lit", n.Pos)
			case *syntax.Block:
				note("{", n.Pos)
				note("}", n.End)
			}
			return true
		})
	}
	return strings.Join(all, ", ")
}

func TestPlaces(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"operators have their own place", "a +\n b", "+ 1:3, a 1:1, b 2:2"},
		{"calls have that of the name", "m::f (x)", "f() 1:4, x 1:7"},
		{"steps that of the name or bracket", "a.b[0]", ".b 1:3, . 1:4, a 1:1, lit 1:5"},
		{"assignments that of the operator", "x += -1", "+= 1:3, x 1:1, lit 1:6"},
		{"columns count characters", `"é" + x`, "+ 1:5, lit 1:1, x 1:7"},
		{"blocks that of their braces", "{\n}", "{ 1:1, } 2:1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, places(mustParse(t, tc.text, nil))); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProgram(t *testing.T) {
	p := mustParse(t, "//! All about f.\n/// Adds.\nprivate fn int.f(a, b) { eval(a) }\nlet x = 1;\n", nil)
	p.Body = nil
	want := &syntax.Program{
		Funcs: []*syntax.Func{{
			Name: "f", ThisType: "i64", Private: true, UsesEval: true, Doc: []string{"/// Adds."},
			Params: []syntax.Ident{{Name: "a", Pos: syntax.Pos{Line: 3, Col: 18}}, {Name: "b", Pos: syntax.Pos{Line: 3, Col: 21}}},
			Pos:    syntax.Pos{Line: 3, Col: 16},
		}},
		Doc: "//! All about f.", Source: "test", Text: p.Text, Size: p.Size, End: syntax.Pos{Line: 5, Col: 1}, HasFuncs: true,
	}
	if diff := cmp.Diff(want, p, cmpopts.IgnoreFields(syntax.Func{}, "Body")); diff != "" {
		t.Errorf("program (-want +got):\n%s", diff)
	}
}

func TestClosureNamesAreStable(t *testing.T) {
	name := func(text string) string {
		return mustParse(t, text, nil).Body[0].(*syntax.Closure).Fn.Name
	}
	a, b, c := name("|x| x"), name("|x| x"), name(" |x| x")
	if a != b || a == c || len(a) != len("anon$")+16 {
		t.Errorf("got %s, %s and, elsewhere, %s", a, b, c)
	}
}

// The brackets' null-safety is as odd as in the reference.
func TestNullSafeSteps(t *testing.T) {
	for text, want := range map[string]string{
		"a?[0]": "t", "a?[0].b": "ff", "a?[0]?.b": "ft", "a?[0][1]": "ff", "a[0]?[1]": "tt",
		"a?.b.c": "tf", "(a?[0]).b": "tf", "(a?[0])[1]": "tf", "a.b?[0]": "ft",
	} {
		got := ""
		for _, s := range mustParse(t, text, nil).Body[0].(*syntax.Chain).Steps {
			got += fmt.Sprint(s.NullSafe)[:1]
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestCustomSyntax(t *testing.T) {
	words := func(list ...string) *syntax.Syntax {
		return &syntax.Syntax{Next: func(met []string, _ string, _ *any) (string, error) {
			if len(met) < len(list) {
				return list[len(met)], nil
			}
			return "", nil
		}}
	}
	raw := &syntax.Syntax{NoLookAhead: true, Next: func(met []string, _ string, state *any) (string, error) {
		text, _ := (*state).(string)
		if last := met[len(met)-1]; last == "!" {
			return "", nil
		} else if len(met) > 1 {
			*state = text + last
		}
		return "$raw$", nil
	}}
	o := &syntax.Options{
		Syntaxes: map[string]*syntax.Syntax{
			"exec":  words("exec", "[", "$ident$", ";", "$int$", "]", "<-", "$expr$", ":", "$block$"),
			"quote": raw,
		},
		Operators: map[string]int{"<-": 0, "foo": 160},
	}
	p := mustParse(t, "exec[x; 42] <- 1 foo 2 * 3 : { x += 1; } quote a ~`b!", o)
	c := p.Body[0].(*syntax.Custom)
	if got := syntax.Print(c.Inputs[2]); got != "1 foo (2 * 3)" {
		t.Errorf("got the expression %q", got)
	}
	if diff := cmp.Diff([]string{"exec", "[", "$ident$", ";", "$int$", "]", "<-", "$expr$", ":", "$block$"}, c.Tokens); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
	if got := p.Body[1].(*syntax.Custom).State; got != " a ~`b" {
		t.Errorf("got the raw text %q", got)
	}
	_, err := syntax.Parse("exec[x; y]", "", o)
	if e, ok := err.(*syntax.Error); !ok || e.Kind != "MissingSymbol" || e.Text != "Expecting an integer number" {
		t.Errorf("got %v", err)
	}
}
