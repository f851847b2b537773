package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMinimise(t *testing.T) {
	contains := func(parts ...string) func(string) bool {
		return func(src string) bool {
			return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(src, p) })
		}
	}
	balanced := func(src string) bool { return strings.Count(src, "(") == strings.Count(src, ")") }
	// whole refuses scripts in which a try, for or if has lost a part.
	whole := func(src string) bool {
		n := func(word string) int { return strings.Count(src, word) }
		return n("bad") == 1 && balanced(src) && n("{") == n("}") && n("try {") == n("} catch") &&
			n("try") == n("catch") && n("for") == n("in") && n("for") <= n("{") && n("if x {") == n("if") && n("} else {") == n("else")
	}
	for _, test := range []struct {
		name, src string
		keep      func(string) bool
		want      string
	}{
		{name: "a line is found among many", src: "let a = 1;\nbad();\nlet b = 2;\nprint(a);\n", keep: contains("bad"), want: "bad"},
		{name: "two places far apart stay", src: "one;\ntwo;\nthree;\nfour;\nfive;\n", keep: contains("one", "five"), want: "one\nfive"},
		{
			name: "brackets go in pairs", src: "f((g(1 + (bad))), 2)",
			keep: func(src string) bool { return contains("bad")(src) && balanced(src) }, want: "bad",
		},
		{
			name: "a try block goes with its catch", src: "try { a(); } catch (e) { b(); }\nbad();\ntry { c(); } catch { }",
			keep: whole, want: "bad",
		},
		{
			name: "the body stays of a statement around it", src: "for i in 0..3 {\n  if x { bad(1); } else { y(); }\n}\n",
			keep: whole, want: "bad",
		},
		{name: "nothing to take out", src: "bad", keep: contains("bad"), want: "bad"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.TrimSpace(minimise(test.src, 1000, test.keep)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestMinimiseAsksNoMoreThanItsBudget(t *testing.T) {
	asked := 0
	src := strings.Repeat("let a = [1, 2, bad];\n", 50)
	got := minimise(src, 40, func(s string) bool {
		asked++
		return strings.Contains(s, "bad")
	})
	if asked > 40 || !strings.Contains(got, "bad") || len(got) >= len(src) {
		t.Errorf("asked %d times, want at most 40; got %d bytes of %d, with bad: %v", asked, len(got), len(src), strings.Contains(got, "bad"))
	}
}

func TestTokens(t *testing.T) {
	for _, test := range []struct {
		name, src string
		want      []string
	}{
		{name: "blanks go with what follows", src: "let  x=\n1 ;", want: []string{"let", "  x", "=", "\n1", " ;"}},
		{name: "long symbols first", src: "a..=b**=c?.d#{", want: []string{"a", "..=", "b", "**=", "c", "?.", "d", "#{"}},
		{name: "strings with what is in them", src: `"a\"b" 'c' x`, want: []string{`"a\"b"`, " 'c'", " x"}},
		{name: "an interpolation with strings and braces", src: "`a${ f(`}`, #{b: \"}\"}) }c`;", want: []string{"`a${ f(`}`, #{b: \"}\"}) }c`", ";"}},
		{name: "what does not end", src: "x \"abc", want: []string{"x", " \"abc"}},
		{name: "an interpolation that does not end", src: "`a${ {", want: []string{"`a${ {"}},
		{name: "a comment and other characters", src: "é// é\n é", want: []string{"é", "// é", "\n é"}},
		{name: "blanks at the end", src: "x \n", want: []string{"x", " \n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, tokens(test.src)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
