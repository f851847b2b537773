package rhai

import (
	"slices"
	"strings"

	"github.com/ramet-run/ramet/rhai/value"
)

// errorValue is what catch (e) gets: the thrown value itself, or a map that
// tells of the error.
func errorValue(e *value.Error, source string) Value {
	if in := e.Innermost(); in.Kind == value.ErrorRuntime {
		return in.Value.Keep()
	}
	in := e
	v := value.NewMap(8)
	m := v.AsMap()
	text := func(key, s string) { m.Set(key, value.Str(s)) }
	number := func(key string, n int64) { m.Set(key, value.Int(n)) }
	text("error", in.Kind.String())
	bare := *in
	bare.Pos = Pos{}
	text("message", bare.Error())
	if !in.Pos.IsZero() {
		number("line", int64(in.Pos.Line))
		number("position", int64(in.Pos.Col))
	}
	if source != "" {
		text("source", source)
	}
	switch in.Kind {
	case value.ErrorFunctionNotFound, value.ErrorNonPureMethodCallOnConstant:
		text("function", in.Name)
	case value.ErrorInFunctionCall:
		text("function", in.Name)
		text("source", in.Source)
	case value.ErrorVariableExists, value.ErrorForbiddenVariable, value.ErrorVariableNotFound,
		value.ErrorPropertyNotFound, value.ErrorDataRace, value.ErrorAssignmentToConstant:
		text("variable", in.Name)
	case value.ErrorDotExpr:
		text("property", in.Name)
	case value.ErrorIndexNotFound:
		m.Set("index", in.Value.Keep())
	case value.ErrorInModule, value.ErrorModuleNotFound:
		text("module", in.Name)
	case value.ErrorMismatchDataType, value.ErrorMismatchOutputType:
		text("requested", in.Want)
		text("actual", in.Got)
	case value.ErrorArrayBounds, value.ErrorStringBounds, value.ErrorBitFieldBounds:
		number("length", int64(in.Len))
		number("index", in.Index)
	case value.ErrorIndexingType:
		text("type", in.Name)
	case value.ErrorTerminated:
		m.Set("token", in.Value)
	}
	return v
}

// Explain renders an error for people: the text, the line of the script it
// happened in with a caret under the place, and the calls that led there.
func Explain(e *value.Error, script string) string {
	var b strings.Builder
	in := e.Innermost()
	b.WriteString(in.Text())
	b.WriteByte('\n')
	pos := in.Pos
	if in.Kind == value.ErrorParsing && in.Parse != nil {
		pos = in.Parse.Pos
	}
	snippet(&b, script, pos)
	for _, call := range calls(e) {
		b.WriteString("  " + call.Text())
		if !call.Pos.IsZero() {
			b.WriteString(" at " + place(call.Pos))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// calls lists the errors around the innermost one, the nearest first.
func calls(e *value.Error) []*value.Error {
	var out []*value.Error
	for ; e.Inner != nil; e = e.Inner {
		out = append(out, e)
	}
	slices.Reverse(out)
	return out
}
