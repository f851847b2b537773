// Package rhai runs scripts in the Rhai language within a Go program. It needs
// nothing but Go's own library.
//
//	e := rhai.NewEngine()
//	v, err := e.Eval(ctx, "let x = 40; x + 2")
//	fmt.Println(v) // 42
//
// # A short tour
//
// Variables come from Go's data, and results become Go's data again:
//
//	scope, err := e.ScopeOf(map[string]any{"order": order, "rate": 0.21})
//	v, err := e.EvalWith(ctx, "order.price * (1.0 + rate)", scope)
//	total, err := value.To[float64](v)
//
// A script that runs more than once is compiled once, and may then run in any
// number of goroutines, each run with a scope of its own:
//
//	script, err := e.Compile(text)
//	v, err := script.Run(ctx, scope)
//	v, err := script.CallFn(ctx, nil, "on_event", rhai.CallOptions{}, event)
//
// Functions of Go are offered as they are; [Engine.RegisterFunc] says what their
// parameters may be. What asks somebody else takes the context of the run first:
//
//	err := e.RegisterFunc("join", strings.Join)
//	err := e.RegisterFunc("fetch", func(ctx context.Context, url string) (string, error) {...})
//
// [Fn0] to [Fn4] do the same without reflection, for what is called very often,
// and [Engine.Register] without conversions. Types of Go have a name in scripts,
// and what is registered for them; [TypeOf] says when they are copied:
//
//	carts := rhai.RegisterType[Cart](e, "Cart")
//	err := carts.RegisterMethod("add", (*Cart).Add)
//	err := carts.RegisterProperty("owner", func(c *Cart) string { return c.owner }, nil)
//
// A script from a stranger is bounded by fields of the [Engine], and by ctx:
//
//	e.MaxOperations, e.MaxMemory = 1_000_000, 16<<20
//	ctx, stop := context.WithTimeout(ctx, time.Second)
//
// What goes wrong is an *[Error], with its kind and place; [Explain] shows it at
// the line of the script. Engine.OnPrint takes what is printed; a [Resolver] gives
// the modules that scripts import, of which there are none by default. Files,
// network, other programs: a script reaches what the host has registered and
// nothing else.
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
