package rhai_test

import (
	"errors"
	"testing"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// loopSyntax is "exec NAME -> BLOCK while EXPR": it declares NAME as 0 and runs
// the block, then goes on as long as the expression holds.
func loopSyntax(e *rhai.Engine) {
	e.RegisterSyntax([]string{"exec", "$ident$", "->", "$block$", "while", "$expr$"}, true, func(c *rhai.SyntaxCall) (rhai.Value, error) {
		if err := c.Set(c.Name(0), value.Int(0)); err != nil {
			return rhai.Value{}, err
		}
		n := int64(0)
		for {
			if _, err := c.Eval(1); err != nil {
				return rhai.Value{}, err
			}
			n++
			v, err := c.Eval(2)
			if err != nil {
				return rhai.Value{}, err
			}
			if !v.Is(value.BoolKind) {
				return rhai.Value{}, &rhai.Error{Kind: value.ErrorMismatchDataType, Got: v.TypeName(), Want: "bool"}
			}
			if !v.AsBool() {
				return value.Int(n), nil
			}
		}
	})
}

func TestCustomSyntax(t *testing.T) {
	tests := []struct {
		name, script, want string
		fails              value.ErrorKind
	}{
		{name: "an expression of its own", script: "let n = exec x -> { x += 2 } while x < 10; n", want: "5"},
		{name: "its variable stays", script: "exec x -> { x += 2; } while x < 10; x", want: "10"},
		{name: "it sees variables around it", script: "let y = 1; exec x -> { x += y; y += 1; } while x < 10; [x, y]", want: "[10, 5]"},
		{name: "inside a function", script: "fn f(k) { exec x -> { x += k } while x < 9; x } f(3)", want: "9"},
		{name: "break leaves a loop around it", script: "loop { exec x -> { break 7; } while true }", want: "7"},
		{name: "an error inside is the script's", script: "exec x -> { x / 0 } while true", fails: value.ErrorArithmetic},
		{name: "an error of the syntax is caught", script: "let r = 0; try { exec x -> { 1 } while 5 } catch (e) { r = e.error } r", want: `"ErrorMismatchDataType"`},
		{name: "the word is not a name any more", script: "let exec = 1;", fails: value.ErrorParsing},
		{name: "what does not fit the pattern", script: "exec x { }", fails: value.ErrorParsing},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := rhai.NewEngine()
			loopSyntax(e)
			v, err := e.Eval(t.Context(), test.script)
			var failed *rhai.Error
			switch {
			case errors.As(err, &failed):
				if test.want != "" || failed.Innermost().Kind != test.fails {
					t.Errorf("got error %v, want %q %s", err, test.want, test.fails)
				}
			case v.HostDebug() != test.want:
				t.Errorf("got %s, want %q %s", v.HostDebug(), test.want, test.fails)
			}
		})
	}
}
