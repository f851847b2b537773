package rhai

import (
	"context"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// ParseJSON reads an object in the language's relaxed JSON: keys in quotes,
// values as in scripts, null only when nullOK.
//
// Errors: *[Error] of kind ErrorParsing.
func (e *Engine) ParseJSON(text string, nullOK bool) (Value, error) {
	n, err := syntax.ParseJSON(text, nullOK, e.parseOptions(nil))
	if err != nil {
		return Value{}, parsing(err)
	}
	u := compileUnit(e, &syntax.Program{Body: []syntax.Node{n}, Text: text})
	v, err := e.newRun(context.Background(), u, nil).body(u)
	if err != nil {
		return Value{}, err
	}
	if !v.Is(value.MapKind) {
		return Value{}, &Error{Kind: value.ErrorMismatchOutputType, Got: v.TypeName(), Want: "map"}
	}
	return v, nil
}
