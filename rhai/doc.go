// Package rhai runs scripts in the Rhai language.
//
//	engine := rhai.NewEngine()
//	v, err := engine.Eval(ctx, "let x = 40; x + 2")
//
// # How it works
//
// The parser (package syntax) makes a tree. The compiler turns each node of it
// into a Go closure of type node, func(*frame) Value, in which names have become slots
// of the frame. Shapes that scripts use most (a local plus a constant, an
// element of a local array, a loop over a range of ints) have closures of their
// own. A script runs by calling the outermost closure; there is no other
// machine.
//
//	text -> syntax.Parse -> tree -> compileUnit -> unit of closures -> run
//
// A node gives its value; none (the zero Value) says that it did not come to its
// end, and run.ctl says why: an error, break, continue, return, exit. So an error costs
// no more than a value, and nothing is unwound by panics.
//
// A unit never changes after it is made: any number of runs in any number of
// goroutines may use it. Everything that changes is in a run: the stack of
// slots, the frames by depth, what is left to spend.
//
// Names that cannot be resolved beforehand, because eval may declare them, are looked
// up by name; see look in compile.go.
//
// # Limits
//
// Work is counted in operations, spent at loops and calls; when the quantum is
// used up, limits, cancellation and the host's OnProgress are looked at.
// Nested calls are counted, nested expressions are bounded by the parser,
// sizes of values are checked where they grow.
//
// Source: the Rhai book and the reference implementation, see docs/rhai.md.
package rhai
