package syntax

// This file holds the tree that the parser makes and the compiler reads.
//
// Most constructs of Rhai are expressions and statements at once (if, switch,
// loops, blocks), so one interface, Node, serves for both; the parser alone
// knows where which is allowed.

// Pos is a place in a source text: line and column from 1, the column counted
// in characters. The zero Pos means "no position".
type Pos struct{ Line, Col int32 }

// IsZero reports that p says nothing.
func (p Pos) IsZero() bool { return p.Line == 0 }

// Node is any statement or expression.
type Node interface {
	// Start is where errors that concern the whole node are reported.
	Start() Pos
}

// Ident is a name and its place.
type Ident struct {
	Name string
	Pos  Pos
}

// LitKind tells which field of a Literal holds its value.
type LitKind uint8

// The kinds of literals.
const (
	UnitLit LitKind = iota
	BoolLit
	IntLit
	FloatLit
	CharLit
	StringLit
)

type (
	// Literal is a constant written in the source.
	Literal struct {
		Kind  LitKind
		Bool  bool
		Int   int64 // also the code point of a char
		Float float64
		Str   string
		Pos   Pos
	}

	// Interpolated is a back-tick string with ${...} parts; text parts are
	// string Literals, the others Blocks. Never empty.
	Interpolated struct {
		Parts []Node
		Pos   Pos
	}

	// ArrayLit is [a, b].
	ArrayLit struct {
		Items []Node
		Pos   Pos
	}

	// MapLit is #{key: value}; Keys and Values run in parallel, in source order.
	MapLit struct {
		Keys   []Ident
		Values []Node
		Pos    Pos
	}

	// Name is a variable, a constant or a script function used as a value.
	// Path holds the module names before it: a::b::x has Path a, b.
	Name struct {
		Path []Ident
		Name string
		Pos  Pos
	}

	// This is the receiver of the running method.
	This struct{ Pos Pos }

	// Unary is an operator before its operand: "-", "+", "!".
	Unary struct {
		Op  string
		X   Node
		Pos Pos // of the operator
	}

	// Binary is X Op Y, for all operators of two operands, among them
	// "&&", "||", "??" (short-circuit), "in", "!in", "..", "..=" and custom ones.
	// A range with a missing side gets a Literal there: 0 on the left, the
	// largest int on the right.
	Binary struct {
		Op   string
		X, Y Node
		Open bool // a range whose right side is not written
		Pos  Pos  // of the operator
	}

	// Call is f(args), m::f(args) or f!(args).
	Call struct {
		Path    []Ident
		Name    string
		Args    []Node
		Capture bool // f!(...): runs in the caller's scope
		Pos     Pos  // of the name
	}

	// Chain is a root followed by one or more steps: root.a[i].f(x).
	Chain struct {
		Root  Node
		Steps []Step
	}

	// Block is { ... } with a scope of its own.
	Block struct {
		Body []Node
		Pos  Pos // of {
		End  Pos // of }
	}

	// If has a nil Else when there is none; Else is a Block or another If.
	If struct {
		Cond Node
		Then *Block
		Else Node
		Pos  Pos
	}

	// Switch tries Cases in order; Default is nil when there is no _ case.
	Switch struct {
		X       Node
		Cases   []Case
		Default Node
		Pos     Pos
	}

	// While is "while cond {}"; a nil Cond makes it "loop {}".
	While struct {
		Cond Node
		Body *Block
		Pos  Pos
	}

	// Do is "do {} while cond", or "until" when Until is set.
	Do struct {
		Body  *Block
		Cond  Node
		Until bool
		Pos   Pos
	}

	// For is "for x in e {}" or "for (x, i) in e {}".
	For struct {
		Var     Ident
		Counter *Ident
		X       Node
		Body    *Block
		Pos     Pos
	}

	// Closure is |params| body. Captures are the names of the body that are
	// neither parameters nor locals of it, in order of first use.
	Closure struct {
		Fn       *Func // Name is anon$ and a hash; Params do not hold the captures
		Captures []Ident
		Pos      Pos
	}

	// Custom is an instance of a syntax that the host registered.
	Custom struct {
		Key    string   // the first word or symbol of the syntax
		Inputs []Node   // what the markers matched; identifiers as Name
		Tokens []string // the words and symbols met, as the reference counts them
		State  any      // what the host's parse function left
		Pos    Pos

		closed bool // as a statement it needs no semicolon
	}

	// Let declares a variable or a constant. Init is nil for "let x;".
	Let struct {
		Name   Ident
		Init   Node
		Const  bool
		Export bool
		Pos    Pos // of let, const or export
	}

	// Assign is target = value, or with an operator ("+" for "+=").
	// Target is a Name, a This or a Chain that ends in a property or an index.
	Assign struct {
		Target Node
		Op     string
		Value  Node
		Pos    Pos // of the operator
	}

	// Break leaves a loop; Value is nil when none is given.
	Break struct {
		Value Node
		Pos   Pos
	}

	// Continue starts the next round of a loop.
	Continue struct{ Pos Pos }

	// Return leaves a function or the script; Value may be nil.
	Return struct {
		Value Node
		Pos   Pos
	}

	// Throw raises Value, () when nil.
	Throw struct {
		Value Node
		Pos   Pos
	}

	// Try is try {} catch (v) {}; Var is nil when the error is not named.
	Try struct {
		Body  *Block
		Var   *Ident
		Catch *Block
		Pos   Pos
	}

	// Import is import path as alias; Alias is nil when there is none.
	Import struct {
		Path  Node
		Alias *Ident
		Pos   Pos
	}

	// Export is "export x as y"; without "as", Alias equals Name.
	Export struct {
		Name, Alias Ident
		Pos         Pos
	}

	// Noop is an empty statement.
	Noop struct{ Pos Pos }
)

// StepKind tells what a Step does.
type StepKind uint8

// The kinds of steps in a chain.
const (
	PropertyStep StepKind = iota // .name
	MethodStep                   // .name(args)
	IndexStep                    // [index]
)

// Step is one link of a chain.
type Step struct {
	Kind     StepKind
	NullSafe bool   // ?. or ?[
	Name     string // of a property or method
	Args     []Node // of a method
	Index    Node   // of an index
	Pos      Pos    // of the name, or of the [
	OpPos    Pos    // of the . ?. [ ?[
}

// Field is the name of the property that a step takes: .name, or ["name"].
func (s *Step) Field() (name string, ok bool) {
	if l, literal := s.Index.(*Literal); s.Kind == IndexStep && literal && l.Kind == StringLit {
		return l.Str, true
	}
	return s.Name, s.Kind == PropertyStep
}

// Case is one arm of a switch: several values or ranges may share one body.
type Case struct {
	Values []CaseValue
	Cond   Node // nil: always
	Body   Node
	Pos    Pos
}

// CaseValue is a literal (Value: Literal, ArrayLit or MapLit of literals) or,
// when Range is set, the ints From..To or From..=To.
type CaseValue struct {
	Value     Node
	Range     bool
	From, To  int64
	Inclusive bool
}

// Func is a function that a script defines.
type Func struct {
	Name     string
	ThisType string // fn type.name(): the type's name as type_of gives it
	Params   []Ident
	Body     *Block // of an expression closure: one statement
	Private  bool
	Doc      []string // doc comments, one element each, with their marks
	Pos      Pos      // of the name

	// UsesEval is set when the body calls eval, so that its names cannot all
	// be resolved before it runs.
	UsesEval bool
}

// Program is a whole script.
type Program struct {
	Body   []Node
	Funcs  []*Func // in source order, closures not among them
	Doc    string  // the //! comments
	Source string  // name of the source, "" when unknown
	Text   string  // the text itself
	End    Pos     // of the end of the text
	// Size estimates the bytes that the script takes, with what is compiled of it.
	Size int64

	// UsesEval is set when the body calls eval.
	UsesEval bool
	// HasFuncs tells that the script defines functions (closures count): only
	// then global:: constants are recorded.
	HasFuncs bool
}

// Start of each kind of node.
func (n *Literal) Start() Pos      { return n.Pos }
func (n *Interpolated) Start() Pos { return n.Pos }
func (n *ArrayLit) Start() Pos     { return n.Pos }
func (n *MapLit) Start() Pos       { return n.Pos }
func (n *Name) Start() Pos {
	if len(n.Path) > 0 {
		return n.Path[0].Pos
	}
	return n.Pos
}
func (n *This) Start() Pos  { return n.Pos }
func (n *Unary) Start() Pos { return n.Pos }
func (n *Binary) Start() Pos {
	switch n.Op {
	case "&&", "||", "??":
		return n.X.Start()
	}
	return n.Pos
}
func (n *Call) Start() Pos {
	if len(n.Path) > 0 {
		return n.Path[0].Pos
	}
	return n.Pos
}
func (n *Chain) Start() Pos    { return n.Root.Start() }
func (n *Block) Start() Pos    { return n.Pos }
func (n *If) Start() Pos       { return n.Pos }
func (n *Switch) Start() Pos   { return n.Pos }
func (n *While) Start() Pos    { return n.Pos }
func (n *Do) Start() Pos       { return n.Pos }
func (n *For) Start() Pos      { return n.Pos }
func (n *Closure) Start() Pos  { return n.Pos }
func (n *Custom) Start() Pos   { return n.Pos }
func (n *Let) Start() Pos      { return n.Pos }
func (n *Assign) Start() Pos   { return n.Target.Start() }
func (n *Break) Start() Pos    { return n.Pos }
func (n *Continue) Start() Pos { return n.Pos }
func (n *Return) Start() Pos   { return n.Pos }
func (n *Throw) Start() Pos    { return n.Pos }
func (n *Try) Start() Pos      { return n.Pos }
func (n *Import) Start() Pos   { return n.Pos }
func (n *Export) Start() Pos   { return n.Pos }
func (n *Noop) Start() Pos     { return n.Pos }
