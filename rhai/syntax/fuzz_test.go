package syntax_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/rhai/syntax"
)

// seed adds the scripts of the corpus and some that are wrong on purpose.
func seed(f *testing.F) {
	for _, c := range cases(f) {
		f.Add(c.Src)
	}
	for _, s := range []string{"`${`${", "#\"", "#{", "'", "/**/", "/** \n * x\n */fn f(){}", "1.", "..", "\\", "||", "a?[0].b", "x\xff", "x = 1; fn f() {}"} {
		f.Add(s)
	}
}

func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, k := range syntax.Tokens(text) {
			if k.Start < end || k.End <= k.Start || k.End > len(text) {
				t.Fatalf("token %+v after offset %d", k, end)
			}
			end = k.End
		}
		for _, o := range []*syntax.Options{nil, {ExprOnly: true, Strict: true}, {MaxExprDepth: -1, MaxFnExprDepth: -1}} {
			if p, err := syntax.Parse(text, "", o); err == nil {
				syntax.Format(p)
			}
		}
		if n, err := syntax.ParseJSON(text, true, nil); err == nil {
			syntax.Print(n)
		}
	})
}

func FuzzPrint(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string) {
		checkPrint(t, text, &syntax.Options{})
		checkPrint(t, text, &syntax.Options{ExprOnly: true})
	})
}

func TestHostileTextsEndInErrors(t *testing.T) {
	const n = 100_000
	for _, tc := range []struct{ name, text string }{
		{"brackets", strings.Repeat("[", n)},
		{"parentheses", strings.Repeat("(", n)},
		{"maps", strings.Repeat("#{a:", n)},
		{"blocks", strings.Repeat("{", n)},
		{"negations", strings.Repeat("!", n) + "x"},
		{"calls", strings.Repeat("f(", n)},
		{"indexes", strings.Repeat("a[", n)},
		{"properties", "a" + strings.Repeat(".a", n)},
		{"operators", "1" + strings.Repeat("+1", n)},
		{"powers", "1" + strings.Repeat("**1", n)},
		{"templates", strings.Repeat("`${", n)},
		{"closures", strings.Repeat("|x| ", n)},
		{"branches", strings.Repeat("if a {} else ", n)},
		{"switches", strings.Repeat("switch a { 1 => ", n)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, depth := range []int{0, -1} {
				_, err := syntax.Parse(tc.text, "", &syntax.Options{MaxExprDepth: depth, MaxFnExprDepth: depth})
				if e, ok := err.(*syntax.Error); !ok || e.Kind != "ExprTooDeep" {
					t.Errorf("depth %d: got %v, want ExprTooDeep", depth, err)
				}
			}
			syntax.Tokens(tc.text)
		})
	}
	for name, text := range map[string]string{
		"nested comments": strings.Repeat("/*", n), "bytes": strings.Repeat("\xff", n),
		"quotes": strings.Repeat("'", n), "hashes": strings.Repeat("#", n), "ticks": strings.Repeat("`", n+1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := syntax.Parse(text, "", nil)
			if (err == nil) != (name == "nested comments") {
				t.Errorf("got %v", err)
			}
			syntax.Tokens(text)
		})
	}
}

func TestDeepTextsWithoutLimits(t *testing.T) {
	o := &syntax.Options{MaxExprDepth: -1, MaxFnExprDepth: -1}
	for _, text := range []string{
		strings.Repeat("!", 9_000) + "x", "1" + strings.Repeat(" + 1", 9_000), "a" + strings.Repeat(".a", 9_000),
		strings.Repeat("[", 3_000) + strings.Repeat("]", 3_000), strings.Repeat("f(", 3_000) + strings.Repeat(")", 3_000),
	} {
		checkPrint(t, text, o)
		if _, err := syntax.Parse(text, "", o); err != nil {
			t.Errorf("%.20s...: %v", text, err)
		}
	}
}
