package syntax_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/rhai/syntax"
)

func TestTokens(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"an ordinary statement", `let x = f(1) + y.len; // sum`,
			`keyword:let name:x operator:= function:f punctuation:( number:1 punctuation:) operator:+ name:y punctuation:. name:len punctuation:; comment:// sum`},
		{"braces inside a template go back to its text", "`a${ #{b: {1}} }c${d}`",
			"string:`a$ punctuation:{ punctuation:#{ name:b punctuation:: punctuation:{ number:1 punctuation:} punctuation:} punctuation:} string:c$ " +
				"punctuation:{ name:d punctuation:} string:`"},
		{"block and documentation comments", "/* a */ /// b\nfn g() {}",
			"comment:/* a */ comment:/// b\n keyword:fn function:g punctuation:() punctuation:{ punctuation:}"},
		{"built-in functions and reserved words", `print(this) === var`,
			`function:print punctuation:( keyword:this punctuation:) invalid:=== invalid:var`},
		{"what is wrong does not end the rest", "1 ° \"open\n2",
			"number:1 invalid:° invalid:\"open\n number:2"},
		{"bytes that are no characters", "a\xff b", "name:a invalid:\xff name:b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, k := range syntax.Tokens(tc.text) {
				got = append(got, k.Kind.String()+":"+tc.text[k.Start:k.End])
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("tokens (-want +got):\n%s", diff)
			}
		})
	}
}
