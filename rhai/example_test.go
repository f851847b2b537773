package rhai_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// Run a script once.
func ExampleEngine_Eval() {
	v, err := rhai.NewEngine().Eval(context.Background(), "let x = 40; x + 2")
	fmt.Println(v, err)
	// Output: 42 <nil>
}

// Compile once, run many times; a compiled script serves any number of
// goroutines.
func ExampleEngine_Compile() {
	ctx := context.Background()
	script, err := rhai.NewEngine().CompileNamed("square", "n * n", rhai.NewScope().Set("n", value.Unit))
	if err != nil {
		fmt.Println(err)
		return
	}
	for n := range 4 {
		v, err := script.Run(ctx, rhai.NewScope().Set("n", value.Int(int64(n))))
		fmt.Println(v, err)
	}
	// Output:
	// 0 <nil>
	// 1 <nil>
	// 4 <nil>
	// 9 <nil>
}

// Variables go in and come out through a scope.
func ExampleScope() {
	scope := rhai.NewScope().Set("count", value.Int(1)).SetConst("STEP", value.Int(10))
	_, err := rhai.NewEngine().EvalWith(context.Background(), "count += STEP; let seen = [count];", scope)
	fmt.Println(scope.Get("count").AsInt(), scope.Get("seen"), err)

	_, err = rhai.NewEngine().EvalWith(context.Background(), "STEP = 5", scope)
	fmt.Println(err)
	// Output:
	// 11 [11] <nil>
	// Cannot modify constant STEP (line 1, position 1)
}

// Go values become script values and the other way round.
func ExampleEngine_EvalWith_convert() {
	type order struct {
		Item  string  `json:"item"`
		Count int     `json:"count"`
		Price float64 `json:"price"`
	}
	in, err := value.FromGo([]order{{"tea", 3, 2.5}, {"cup", 1, 8}})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := rhai.NewEngine().EvalWith(context.Background(),
		"#{total: orders.reduce(|sum, o| sum + o.count * o.price, 0.0), items: orders.map(|o| o.item)}",
		rhai.NewScope().Set("orders", in))
	if err != nil {
		fmt.Println(err)
		return
	}
	bill, err := value.To[struct {
		Total float64  `json:"total"`
		Items []string `json:"items"`
	}](out)
	fmt.Println(bill.Total, bill.Items, err)
	// Output: 15.5 [tea cup] <nil>
}

// Variables come from a map or a struct of Go's.
func ExampleEngine_ScopeOf() {
	e := rhai.NewEngine()
	scope, err := e.ScopeOf(map[string]any{"names": []string{"Ada", "Bob"}, "limit": 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := e.EvalWith(context.Background(), "names.len() > limit", scope)
	fmt.Println(v, err)
	// Output: true <nil>
}

// Functions of Go, called without reflection.
func ExampleFn2() {
	e := rhai.NewEngine()
	rhai.Fn2(e, "between", func(a, b int64) (int64, error) {
		if a > b {
			return 0, fmt.Errorf("%d is above %d", a, b)
		}
		return (a + b) / 2, nil
	})
	for _, text := range []string{"between(1, 9)", "2.between(4)", "between(9, 1)"} {
		v, err := e.Eval(context.Background(), text)
		fmt.Println(v, err)
	}
	// Output:
	// 5 <nil>
	// 3 <nil>
	//  Runtime error: 9 is above 1 (line 1, position 1)
}

// Any Go function, by reflection.
func ExampleEngine_RegisterFunc() {
	e := rhai.NewEngine()
	if err := e.RegisterFunc("repeat", func(words []string, n int) map[string]int {
		counts := map[string]int{}
		for _, w := range words {
			counts[w] += n
		}
		return counts
	}); err != nil {
		fmt.Println(err)
	}
	v, err := e.Eval(context.Background(), `repeat(["a", "b", "a"], 2)`)
	fmt.Println(v, err)
	// Output: #{"a": 4, "b": 2} <nil>
}

// A variadic function takes up to 16 arguments for its last parameter.
func ExampleEngine_RegisterFunc_variadic() {
	e := rhai.NewEngine()
	if err := e.RegisterFunc("format", fmt.Sprintf); err != nil {
		fmt.Println(err)
	}
	v, err := e.Eval(context.Background(), `format("%v of %v", 2, [1, 2])`)
	fmt.Println(v, err)
	// Output: 2 of [1 2] <nil>
}

// A function that waits for somebody has the context of the run, and ends with it.
func ExampleEngine_RegisterFunc_context() {
	e := rhai.NewEngine()
	if err := e.RegisterFunc("answer", func(ctx context.Context, question string) (string, error) {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Hour):
			return "42", nil
		}
	}); err != nil {
		fmt.Println(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Millisecond)
	defer stop()
	_, err := e.Eval(ctx, `answer("why?")`)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output: true
}

// What no script could ever call is refused at once.
func ExampleEngine_RegisterFunc_refused() {
	fmt.Println(rhai.NewEngine().RegisterFunc("send", func(to chan int, n int) { to <- n }))
	fmt.Println(rhai.NewEngine().RegisterFunc("print", func(text string) {}))
	// Output:
	// register "send": no script has a value for its parameter of type chan int
	// register "print": print(…) with 1 parameters belongs to the language
}

// A function that sees values as they are, with no conversion at all.
func ExampleEngine_Register() {
	e := rhai.NewEngine()
	e.Register(&value.Native{
		Name: "count", Params: []value.Param{{Kinds: value.Of(value.ArrayKind)}, {Kinds: value.AnyKind}},
		Call: func(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
			n := 0
			for _, x := range this.AsArray().Items {
				if x.Display() == args[0].Display() {
					n++
				}
			}
			return value.Int(int64(n))
		},
	})
	v, err := e.Eval(context.Background(), "[1, 2, 1].count(1)")
	fmt.Println(v, err)
	// Output: 2 <nil>
}

// A type of Go's, with properties, methods, an operator and iteration.
func ExampleRegisterType() {
	type point struct{ X, Y int64 }
	e := rhai.NewEngine()
	points := rhai.RegisterType[point](e, "Point").
		ShowAs(func(p *point) string { return fmt.Sprintf("(%d, %d)", p.X, p.Y) }).
		IterateBy(func(p *point) iter.Seq[rhai.Value] {
			return func(yield func(rhai.Value) bool) {
				_ = yield(value.Int(p.X)) && yield(value.Int(p.Y))
			}
		})
	rhai.Fn2(e, "point", func(x, y int64) (point, error) { return point{x, y}, nil })
	rhai.Property(points, "x", func(p *point) int64 { return p.X }, func(p *point, x int64) { p.X = x })
	rhai.Method1(points, "move_up", func(p *point, by int64) (rhai.Nothing, error) { p.Y += by; return rhai.Nothing{}, nil })
	rhai.Fn2(e, "+", func(a, b point) (point, error) { return point{a.X + b.X, a.Y + b.Y}, nil })

	v, err := e.Eval(context.Background(), `
		let a = point(1, 2);
		let b = a;        // a copy
		b.x = 10;
		b.move_up(5);
		let sum = 0;
		for n in a + b { sum += n }
		[type_of(a), a, b, sum]`)
	fmt.Println(v, err)
	// Output: ["Point", (1, 2), (10, 7), 20] <nil>
}

type cart struct{ items []string }

func (c *cart) Add(items ...string) int {
	c.items = append(c.items, items...)
	return len(c.items)
}

// Methods and properties of any shape, by reflection.
func ExampleTypeOf_RegisterMethod() {
	e := rhai.NewEngine()
	carts := rhai.RegisterType[cart](e, "Cart").CopyWith(func(c *cart) cart { return cart{append([]string(nil), c.items...)} })
	if err := errors.Join(
		e.RegisterFunc("cart", func() *cart { return &cart{} }),
		carts.RegisterMethod("add", (*cart).Add),
		carts.RegisterProperty("items", func(c *cart) []string { return c.items }, nil),
	); err != nil {
		fmt.Println(err)
	}
	v, err := e.Eval(context.Background(), `let c = cart(); [c.add("tea"), c.add("cup", "pot"), c.items]`)
	fmt.Println(v, err)
	// Output: [1, 3, ["tea", "cup", "pot"]] <nil>
}

// A type whose objects are never copied, for what stands for something outside.
func ExampleTypeOf_Shared() {
	type counter struct{ n int }
	e := rhai.NewEngine()
	counters := rhai.RegisterType[counter](e, "Counter").Shared()
	mine := &counter{}
	if err := errors.Join(
		e.RegisterFunc("counter", func() *counter { return mine }),
		counters.RegisterMethod("next", func(c *counter) int { c.n++; return c.n }),
	); err != nil {
		fmt.Println(err)
	}
	v, err := e.Eval(context.Background(), "let a = counter(); let b = a; [a.next(), b.next()]")
	fmt.Println(v, err, mine.n)
	// Output: [1, 2] <nil> 2
}

// A module made of functions of Go.
func ExampleModule_RegisterFunc() {
	e := rhai.NewEngine()
	text := rhai.NewModule().Set("SEPARATOR", value.Str(", "))
	if err := text.RegisterFunc(e, "join", strings.Join); err != nil {
		fmt.Println(err)
	}
	e.RegisterModule("text", text)
	v, err := e.Eval(context.Background(), `text::join(["a", "b"], text::SEPARATOR)`)
	fmt.Println(v, err)
	// Output: a, b <nil>
}

// A module of the host, used without import.
func ExampleEngine_RegisterModule() {
	e := rhai.NewEngine()
	e.RegisterModule("site", rhai.NewModule().Set("NAME", value.Str("north")))
	v, err := e.Eval(context.Background(), "site::NAME")
	fmt.Println(v, err)
	// Output: north <nil>
}

// Scripts import other scripts, here from memory.
func ExampleMemoryResolver() {
	e := rhai.NewEngine()
	e.Resolver = rhai.MemoryResolver{"math": "export const TWO = 2; fn twice(x) { x * 2 }"}
	v, err := e.Eval(context.Background(), `import "math" as m; m::twice(20) + m::TWO`)
	fmt.Println(v, err)
	// Output: 42 <nil>
}

// Scripts import files of one folder and nothing outside of it.
func ExampleFileResolver() {
	dir, err := os.MkdirTemp("", "rhai")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "greet.rhai"), []byte("fn hello(who) { `hello ${who}` }"), 0o600)
	root, err := os.OpenRoot(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Close()

	e := rhai.NewEngine()
	e.Resolver = &rhai.FileResolver{Root: root}
	v, err := e.Eval(context.Background(), `import "greet" as g; g::hello("you")`)
	fmt.Println(v, err)
	_, err = e.Eval(context.Background(), `import "../../etc/passwd" as p;`)
	fmt.Println(err)
	// Output:
	// hello you <nil>
	// Module not found: ../../etc/passwd (line 1, position 8)
}

// Limits end any script, whatever it does.
func ExampleEngine_limits() {
	e := rhai.NewEngine()
	e.MaxOperations = 1_000_000
	e.MaxMemory = 1 << 20
	e.Sizes = value.Limits{MaxString: 1000}
	for _, text := range []string{
		"loop {}",
		"fn f(n) { f(n + 1) } f(0)",
		"let a = []; loop { a.push(a.len()) }",
		`let s = "x"; loop { s += s }`,
	} {
		_, err := e.Eval(context.Background(), text)
		var failed *rhai.Error
		errors.As(err, &failed)
		fmt.Println(failed.Innermost().Kind)
	}
	// Output:
	// ErrorTooManyOperations
	// ErrorStackOverflow
	// ErrorDataTooLarge
	// ErrorDataTooLarge
}

// A context ends a script from outside.
func ExampleScript_Run_cancel() {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer stop()
	_, err := rhai.NewEngine().Eval(ctx, "loop {}")
	fmt.Println(errors.Is(err, context.DeadlineExceeded), err)
	// Output: true Script terminated (line 1, position 6)
}

// A single expression, for conditions and queries: it cannot declare, loop or
// define anything.
func ExampleEngine_CompileExpression() {
	ctx := context.Background()
	e := rhai.NewEngine()
	cond, err := e.CompileExpression(`age >= 18 && country in ["BE", "NL"]`, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, age := range []int64{17, 18} {
		v, err := cond.Run(ctx, rhai.NewScope().Set("age", value.Int(age)).Set("country", value.Str("BE")))
		fmt.Println(v, err)
	}
	_, err = e.CompileExpression("let x = 1", nil)
	fmt.Println(err)
	// Output:
	// false <nil>
	// true <nil>
	// Syntax error: Unexpected 'let' (line 1, position 1)
}

// A host calls the functions of a script.
func ExampleScript_CallFn() {
	script, err := rhai.NewEngine().Compile(`
		fn on_event(state, event) {
			state.seen += event.amount;
			state
		}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	state, _ := value.FromGo(map[string]int{"seen": 2})
	event, _ := value.FromGo(map[string]int{"amount": 40})
	v, err := script.CallFn(context.Background(), nil, "on_event", rhai.CallOptions{}, state, event)
	fmt.Println(v, err)
	// Output: #{"seen": 42} <nil>
}

// What a script gives may be a function: it is called later.
func ExampleScript_Call() {
	ctx := context.Background()
	script, err := rhai.NewEngine().Compile("let base = 10; |n| base + n")
	if err != nil {
		fmt.Println(err)
		return
	}
	add, err := script.Run(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := script.Call(ctx, add, value.Int(5))
	fmt.Println(v, err)
	// Output: 15 <nil>
}

// An error tells its kind, its place, and the calls that led there.
func ExampleError() {
	const text = "fn third(list) {\n    list[2]\n}\nthird([1])"
	_, err := rhai.NewEngine().Eval(context.Background(), text)
	var failed *rhai.Error
	if errors.As(err, &failed) {
		in := failed.Innermost()
		fmt.Println(in.Kind, in.Pos.Line, in.Pos.Col)
		fmt.Print(rhai.Explain(failed, text))
	}
	// Output:
	// ErrorArrayBounds 2 10
	// Array index 2 out of bounds: only 1 element in array
	// 2 |     list[2]
	//   |          ^
	//   in call to function 'third' at 4:1
}

// In deterministic mode there is no clock and no waiting.
func ExampleEngine_deterministic() {
	e := rhai.NewEngine()
	e.Deterministic = true
	for _, text := range []string{"let t = timestamp();", "#{b: 1, a: 2}.keys()"} {
		v, err := e.Eval(context.Background(), text)
		fmt.Println(v, err)
	}
	// Output:
	//  Function not found: timestamp (not available in deterministic mode) (line 1, position 9)
	// ["a", "b"] <nil>
}

// What a script prints goes where the host says.
func ExampleEngine_onPrint() {
	e := rhai.NewEngine()
	e.OnPrint = func(text string) { fmt.Println("script:", text) }
	e.OnDebug = func(text, _ string, pos rhai.Pos) { fmt.Println("debug at", pos.Line, text) }
	_, err := e.Eval(context.Background(), "print(1);\ndebug(\"x\")")
	fmt.Println(err)
	// Output:
	// script: 1
	// debug at 2 "x"
	// <nil>
}

// A syntax of one's own.
func ExampleEngine_RegisterSyntax() {
	e := rhai.NewEngine()
	e.RegisterSyntax([]string{"unless", "$expr$", "then", "$block$"}, false, func(c *rhai.SyntaxCall) (rhai.Value, error) {
		cond, err := c.Eval(0)
		if err != nil || cond.AsBool() {
			return value.Unit, err
		}
		return c.Eval(1)
	})
	v, err := e.Eval(context.Background(), "unless 1 > 2 then { 42 }")
	fmt.Println(v, err)
	// Output: 42 <nil>
}
