package value

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ramet-run/ramet/rhai/syntax"
)

// shownBytes bounds what the text of an error shows of a value or a name: a
// script may make them as large as its memory, and ask for the text again and again.
const shownBytes = 64 << 10

// Clip gives a text as errors show it: not more than they show.
func Clip(s string) string {
	if len(s) <= shownBytes {
		return s
	}
	n := shownBytes
	for n > shownBytes-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + cutMark
}

// clipped renders v as errors show it.
func (v Value) clipped(s style) string {
	if v.Kind() == StringKind && s == display {
		return Clip(v.AsString())
	}
	p := printer{writer: writer{pace: func(size, _ int) bool { return size <= shownBytes }}, limit: shownBytes, style: s}
	p.value(v)
	if p.stopped {
		return p.String() + cutMark
	}
	return p.String()
}

// Error is what went wrong in a running script. Which fields count depends on
// the kind; texts are made when they are asked for.
type Error struct {
	Kind ErrorKind
	// Name is the variable, property, function signature, module or type
	// concerned; for arithmetic, dot and system errors the whole text.
	Name string
	// Got and Want are the types of a mismatch, or of an indexer and its index.
	Got, Want string
	// Index and Len tell of bounds.
	Index int64
	Len   int
	// Value is what was thrown, or the index that does not exist.
	Value Value
	// Parse is the cause of ErrorParsing.
	Parse *syntax.Error
	// Inner is what happened inside a function call or a module.
	Inner *Error
	// Cause is the Go error behind ErrorSystem or a native function's failure.
	Cause error
	Pos   syntax.Pos
	// Source names the script in which the called function stands.
	Source string
}

// ErrorKind tells what went wrong.
type ErrorKind uint8

// The kinds, named as the reference names them.
const (
	ErrorSystem ErrorKind = iota
	ErrorParsing
	ErrorVariableExists
	ErrorForbiddenVariable
	ErrorVariableNotFound
	ErrorPropertyNotFound
	ErrorIndexNotFound
	ErrorFunctionNotFound
	ErrorModuleNotFound
	ErrorInFunctionCall
	ErrorInModule
	ErrorUnboundThis
	ErrorMismatchDataType
	ErrorMismatchOutputType
	ErrorIndexingType
	ErrorArrayBounds
	ErrorStringBounds
	ErrorBitFieldBounds
	ErrorFor
	ErrorDataRace
	ErrorNonPureMethodCallOnConstant
	ErrorAssignmentToConstant
	ErrorDotExpr
	ErrorArithmetic
	ErrorTooManyOperations
	ErrorTooManyVariables
	ErrorTooManyModules
	ErrorStackOverflow
	ErrorDataTooLarge
	ErrorTerminated
	ErrorCustomSyntax
	ErrorRuntime
)

var errorNames = [...]string{
	"ErrorSystem", "ErrorParsing", "ErrorVariableExists", "ErrorForbiddenVariable", "ErrorVariableNotFound",
	"ErrorPropertyNotFound", "ErrorIndexNotFound", "ErrorFunctionNotFound", "ErrorModuleNotFound",
	"ErrorInFunctionCall", "ErrorInModule", "ErrorUnboundThis", "ErrorMismatchDataType",
	"ErrorMismatchOutputType", "ErrorIndexingType", "ErrorArrayBounds", "ErrorStringBounds",
	"ErrorBitFieldBounds", "ErrorFor", "ErrorDataRace", "ErrorNonPureMethodCallOnConstant",
	"ErrorAssignmentToConstant", "ErrorDotExpr", "ErrorArithmetic", "ErrorTooManyOperations",
	"ErrorTooManyVariables", "ErrorTooManyModules", "ErrorStackOverflow", "ErrorDataTooLarge",
	"ErrorTerminated", "ErrorCustomSyntax", "ErrorRuntime",
}

// String gives the kind's name.
func (k ErrorKind) String() string { return errorNames[k] }

// Catchable reports whether a script may catch the error: limits, parse errors
// and termination end the script whatever it says.
func (k ErrorKind) Catchable() bool {
	switch k {
	case ErrorParsing, ErrorTooManyOperations, ErrorTooManyVariables, ErrorTooManyModules,
		ErrorStackOverflow, ErrorDataTooLarge, ErrorTerminated, ErrorCustomSyntax:
		return false
	}
	return true
}

// Wrapped reports whether the call of a function adds itself to the error.
func (k ErrorKind) Wrapped() bool {
	return k.Catchable() || k == ErrorParsing || k == ErrorCustomSyntax
}

// Innermost gives the error at the bottom of calls and modules.
func (e *Error) Innermost() *Error {
	for e.Inner != nil {
		e = e.Inner
	}
	return e
}

// Unwrap gives the Go error that caused this one, or the inner error.
func (e *Error) Unwrap() error {
	if e.Cause != nil {
		return e.Cause
	}
	if e.Inner != nil {
		return e.Inner
	}
	if e.Parse != nil {
		return e.Parse
	}
	return nil
}

// Error gives the whole text: the cause first, then each call that led there.
func (e *Error) Error() string {
	var b strings.Builder
	e.write(&b, "")
	return b.String()
}

// write renders the error; source names the script of the function that it happened in.
func (e *Error) write(b *strings.Builder, source string) {
	switch e.Kind {
	case ErrorInFunctionCall:
		e.Inner.write(b, e.Source)
		b.WriteByte('\n')
	case ErrorInModule:
		e.Inner.write(b, "")
		b.WriteByte('\n')
	}
	b.WriteString(e.Text())
	if source != "" {
		b.WriteString(" @ '" + source + "'")
	}
	if pos := e.Position(); !pos.IsZero() {
		fmt.Fprintf(b, " (line %d, position %d)", pos.Line, pos.Col)
	}
}

// Position is where it happened: of a syntax error, in the text that was parsed.
func (e *Error) Position() syntax.Pos {
	if e.Kind == ErrorParsing && e.Parse != nil {
		return e.Parse.Pos
	}
	return e.Pos
}

// Text gives the error's own text, without calls around it and its position.
func (e *Error) Text() string {
	name := Clip(e.Name)
	switch e.Kind {
	case ErrorParsing:
		if e.Parse != nil {
			return "Syntax error: " + e.Parse.Text
		}
		return "Syntax error: " + name
	case ErrorVariableExists:
		return "Variable already defined: " + name
	case ErrorForbiddenVariable:
		return "Forbidden variable name: " + name
	case ErrorVariableNotFound:
		return "Variable not found: " + name
	case ErrorPropertyNotFound:
		return "Property not found: " + name
	case ErrorIndexNotFound:
		return "Invalid index: " + e.Value.clipped(display)
	case ErrorFunctionNotFound:
		return "Function not found: " + name
	case ErrorModuleNotFound:
		return "Module not found: " + name
	case ErrorInFunctionCall:
		text := "in call to function '" + name + "'"
		if strings.HasPrefix(name, "anon$") {
			text = "in closure call"
		}
		if e.Source != "" {
			text += " (from '" + e.Source + "')"
		}
		return text
	case ErrorInModule:
		if name == "" {
			return "in module"
		}
		return "in module '" + name + "'"
	case ErrorUnboundThis:
		return "'this' not bound"
	case ErrorMismatchDataType:
		return mismatch("Data type incorrect", e.Got, e.Want)
	case ErrorMismatchOutputType:
		return mismatch("Output type incorrect", e.Got, e.Want)
	case ErrorIndexingType:
		return "Indexer unavailable: " + name
	case ErrorArrayBounds:
		return fmt.Sprintf("Array index %d out of bounds: %s", e.Index, count(e.Len, "array", "element"))
	case ErrorStringBounds:
		return fmt.Sprintf("String index %d out of bounds: %s", e.Index, count(e.Len, "string", "character"))
	case ErrorBitFieldBounds:
		return fmt.Sprintf("Bit-field index %d out of bounds: %s", e.Index, count(e.Len, "bit-field", "bit"))
	case ErrorFor:
		return "For loop expects iterable type"
	case ErrorDataRace:
		if name == "" {
			return "Data race detected"
		}
		return "Data race detected on " + name
	case ErrorNonPureMethodCallOnConstant:
		return nonPure(name)
	case ErrorAssignmentToConstant:
		return "Cannot modify constant " + name
	case ErrorTooManyOperations:
		return "Too many operations"
	case ErrorTooManyVariables:
		return "Too many variables defined"
	case ErrorTooManyModules:
		return "Too many modules imported"
	case ErrorStackOverflow:
		return "Stack overflow"
	case ErrorDataTooLarge:
		return name + " too large"
	case ErrorTerminated:
		return "Script terminated"
	case ErrorRuntime:
		if e.Value.IsNone() || e.Value.IsUnit() || e.Value.Is(StringKind) && e.Value.AsString() == "" {
			return "Runtime error"
		}
		if e.Value.Is(ArrayKind) || e.Value.Is(MapKind) {
			return "Runtime error: " + e.Value.clipped(hostDebug) // as hosts see it: characters are quoted
		}
		return "Runtime error: " + e.Value.clipped(display)
	}
	return name
}

// nonPure tells what could not be done with a constant: name is that of a
// method, or of the function behind a property or an index.
func nonPure(name string) string {
	if property, ok := strings.CutPrefix(name, "get$"); ok {
		return "Non-pure property " + property + " cannot be accessed on constant"
	}
	if property, ok := strings.CutPrefix(name, "set$"); ok {
		return "Cannot modify property '" + property + "' of constant"
	}
	switch name {
	case "index$get$":
		return "Non-pure indexer cannot be accessed on constant"
	case "index$set$":
		return "Cannot assign to indexer of constant"
	}
	return "Non-pure method '" + name + "' cannot be called on constant"
}

func mismatch(what, got, want string) string {
	switch {
	case got == "":
		return what + ", expecting " + want
	case want == "":
		return what + ": " + got
	}
	return what + ": " + got + " (expecting " + want + ")"
}

func count(n int, what, item string) string {
	switch n {
	case 0:
		return what + " is empty"
	case 1:
		return "only 1 " + item + " in " + what
	}
	return fmt.Sprintf("only %d %ss in %s", n, item, what)
}
