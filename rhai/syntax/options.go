package syntax

import "fmt"

// Options bound and shape what the parser accepts. The zero value is the
// default language with the default limits.
type Options struct {
	// ExprOnly accepts one expression without statements, for conditions and queries.
	ExprOnly bool

	// MaxExprDepth bounds nesting at the top level, MaxFnExprDepth inside
	// functions. Zero: 64 and 32. Negative: no bound but the parser's own,
	// which keeps the host's stack safe.
	MaxExprDepth, MaxFnExprDepth int
	// MaxFunctions bounds functions and closures together. Zero: no bound; negative: there may be none.
	MaxFunctions int
	// MaxString (bytes), MaxArray and MaxMap (entries) bound literals. Zero: no bound.
	MaxString, MaxArray, MaxMap int

	// MaxSize bounds the memory of a script, as [Program.Size] tells it. Zero:
	// no bound.
	MaxSize int64

	// Strict refuses names of variables and modules that are not defined.
	Strict bool
	// Vars are the host's variables; the value tells whether it is a constant.
	Vars map[string]bool
	// Modules are names of modules the host serves without import, for Strict.
	Modules map[string]bool

	// The language options that can be turned off.
	NoIfExpr, NoSwitchExpr, NoLoopExpr, NoStmtExpr bool
	NoAnonFn, NoLooping, NoShadowing               bool
	NoFunctions, NoEval                            bool

	// Disabled are keywords and symbols that are not part of the language.
	Disabled map[string]bool
	// Operators are custom operators, each with its precedence (1..255). With
	// 0 a reserved or disabled word or symbol becomes part of custom syntaxes.
	Operators map[string]int
	// Syntaxes are custom syntaxes by the first word or symbol of each.
	Syntaxes map[string]*Syntax
}

// Syntax is a custom syntax. Next is given the words met so far (the first is
// the key) and answers what comes next: a literal, a marker such as $expr$
// $block$ $inner$ $func$ $ident$ $symbol$ $token$ $string$ $int$ $float$
// $bool$ $raw$, or "" for the end. The state is the host's, one for each use.
type Syntax struct {
	Next func(met []string, lookAhead string, state *any) (string, error)
	// ScopeChanged says that an evaluation may declare variables.
	ScopeChanged bool
	// NoLookAhead leaves lookAhead empty, so that $raw$ can take the text
	// character by character.
	NoLookAhead bool
}

// TooLarge is the kind of the error for a script beyond Options.MaxSize.
const TooLarge = "ScriptTooLarge"

// Error is a text that is not a script.
type Error struct {
	// Kind is one of the reference's parse error kinds; of the scanner's,
	// "BadInput/" and the lexical kind.
	Kind string
	// Text is what the reference shows after "Syntax error: ".
	Text string
	Pos  Pos
}

// Error gives the text and the position.
func (e *Error) Error() string {
	if e.Pos.IsZero() {
		return "Syntax error: " + e.Text
	}
	return fmt.Sprintf("Syntax error: %s (line %d, position %d)", e.Text, e.Pos.Line, e.Pos.Col)
}
