package rhai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// must registers f as "f" and gives the engine.
func must(t *testing.T, e *rhai.Engine, f any) *rhai.Engine {
	t.Helper()
	if err := e.RegisterFunc("f", f); err != nil {
		t.Fatal(err)
	}
	return e
}

// answer is what a script gives, or the kind of its error.
func answer(ctx context.Context, e *rhai.Engine, script string) string {
	v, err := e.Eval(ctx, script)
	var failed *rhai.Error
	if errors.As(err, &failed) {
		return failed.Innermost().Kind.String()
	}
	return v.HostDebug()
}

// show says of what type a function got what.
func show[T any](x T) string { return fmt.Sprintf("%T %v", x, x) }

func TestParametersTakeWhatTheirTypesSay(t *testing.T) {
	const missing, misfit = "ErrorFunctionNotFound", "ErrorMismatchDataType"
	type pair struct {
		A int    `json:"a"`
		B string `json:"b"`
	}
	pointer := func(p *int) string {
		if p == nil {
			return "nil"
		}
		return fmt.Sprint(*p)
	}
	for _, tt := range []struct {
		f            any
		script, want string
	}{
		{show[bool], "f(true)", `"bool true"`}, {show[bool], "f(1)", missing},
		{show[int], "f(-3)", `"int -3"`}, {show[int], "f(3.0)", missing}, {show[int64], "3.f()", `"int64 3"`},
		{show[uint8], "f(255)", `"uint8 255"`}, {show[uint8], "f(256)", misfit}, {show[uint8], "f(-1)", misfit},
		{show[rune], "f('a')", `"int32 97"`}, {show[rune], "f(98)", `"int32 98"`}, {show[rune], `f("a")`, missing},
		{show[float64], "f(0.5)", `"float64 0.5"`}, {show[float64], "f(1)", missing}, {show[float32], "f(0.5)", `"float32 0.5"`},
		{show[string], `f("x")`, `"string x"`}, {show[string], "f('x')", missing}, {show[[]byte], `f(blob(2, 7))`, `"[]uint8 [7 7]"`},
		{show[[]int], "f([1, 2])", `"[]int [1 2]"`},
		{show[[]int], `f([1, "2"])`, misfit}, {show[[]int], "f(1)", missing}, {show[[]byte], "f([1])", missing},
		{show[[2]int], "f([1, 2])", `"[2]int [1 2]"`}, {show[[2]int], "f([1])", misfit},
		{show[map[string]int], "f(#{a: 1})", `"map[string]int map[a:1]"`}, {show[map[string]int], "f([])", missing},
		{show[pair], `f(#{a: 1, b: "x", c: 2})`, `"rhai_test.pair {1 x}"`}, {show[[]pair], "f([#{a: 2}])", `"[]rhai_test.pair [{2 }]"`},
		{show[time.Duration], "f(1000000000)", `"time.Duration 1s"`},
		{func(x time.Time) int { return x.Year() }, `f("2026-11-23T10:00:00Z")`, "2026"},
		{func(x time.Time) bool { return x.IsZero() }, "f(timestamp())", "false"},
		{show[netip.Addr], `f("::1")`, `"netip.Addr ::1"`}, {show[netip.Addr], `f("no")`, misfit},
		{pointer, "f(5)", `"5"`}, {pointer, "f(())", `"nil"`}, {pointer, `f("5")`, missing},
		{show[any], "f(())", `"<nil> <nil>"`}, {show[any], `f(#{a: [1, "x"]})`, `"map[string]interface {} map[a:[1 x]]"`},
		{show[rhai.Value], "f([1, 'c'])", `"value.Value [1, c]"`},
	} {
		if got := answer(t.Context(), must(t, rhai.NewEngine(), tt.f), tt.script); got != tt.want {
			t.Errorf("%T: %s: got %s, want %s", tt.f, tt.script, got, tt.want)
		}
	}
}

// The functions without reflection take the same.
func TestFnTakesWhatRegisterFuncTakes(t *testing.T) {
	for name, x := range map[string]struct {
		register func(e *rhai.Engine)
		script   string
	}{
		"a rune from an int":  {func(e *rhai.Engine) { rhai.Fn1(e, "f", func(r rune) (rune, error) { return r, nil }) }, "f(98)"},
		"a rune from a char":  {func(e *rhai.Engine) { rhai.Fn1(e, "f", func(r rune) (rune, error) { return r, nil }) }, "f('b')"},
		"a list of structs":   {func(e *rhai.Engine) { rhai.Fn1(e, "f", func(p []point) (int64, error) { return p[0].X, nil }) }, "f([#{X: 98}])"},
		"a pointer to an int": {func(e *rhai.Engine) { rhai.Fn1(e, "f", func(p *int) (int, error) { return *p, nil }) }, "f(98)"},
		"four parameters": {func(e *rhai.Engine) {
			rhai.Fn4(e, "f", func(a, b, c, d int) (int, error) { return a + b + c + d, nil })
		}, "f(1, 2, 90, 5)"},
		"an int that is named": {func(e *rhai.Engine) { rhai.Fn1(e, "f", func(d time.Duration) (int64, error) { return int64(d), nil }) }, "f(98)"},
	} {
		e := rhai.NewEngine()
		x.register(e)
		if got := answer(t.Context(), e, x.script); got != "98" {
			t.Errorf("%s: got %s, want 98", name, got)
		}
	}
	e := rhai.NewEngine()
	rhai.Fn1(e, "f", func(p *int8) (int8, error) { return *p, nil })
	if got := answer(t.Context(), e, "f(300)"); got != "ErrorMismatchDataType" {
		t.Errorf("300 for an int8: got %s", got)
	}
}

func TestResults(t *testing.T) {
	var none *point
	for _, tt := range []struct {
		f    any
		want string
	}{
		{func() {}, "()"}, {func() error { return nil }, "()"}, {func() (int, error) { return 4, nil }, "4"},
		{func() (int, error) { return 4, errors.New("no") }, "ErrorRuntime"}, {func() *point { return none }, "()"},
		{func() *int { return new(int) }, "0"}, {func() []string { return nil }, "[]"}, {func() any { return nil }, "()"},
		{func() map[string]any { return map[string]any{"a": []int{1}} }, `#{"a": [1]}`}, {func() json.Number { return "1.5" }, "1.5"},
		{func() point { return point{1, 2} }, `#{"X": 1, "Y": 2}`}, {func() rhai.Value { return rhai.Value{} }, "()"},
		{func() error { panic("ouch") }, "ErrorRuntime"}, {func() any { return make(chan int) }, "ErrorRuntime"},
	} {
		if got := answer(t.Context(), must(t, rhai.NewEngine(), tt.f), "f()"); got != tt.want {
			t.Errorf("%T: got %s, want %s", tt.f, got, tt.want)
		}
	}
}

func TestVariadicFunctions(t *testing.T) {
	e := rhai.NewEngine()
	points := rhai.RegisterType[point](e, "Point")
	rhai.Fn2(e, "point", func(x, y int64) (point, error) { return point{x, y}, nil })
	must(t, e, func(format string, args ...any) string { return fmt.Sprintf(format, args...) })
	for name, f := range map[string]any{
		"sum": func(_ context.Context, n ...int) (s int) {
			for _, x := range n {
				s += x
			}
			return s
		},
		"join":  func(sep string, parts ...string) string { return strings.Join(parts, sep) },
		"count": func(v ...rhai.Value) int { return len(v) },
	} {
		if err := e.RegisterFunc(name, f); err != nil {
			t.Fatal(err)
		}
	}
	if err := points.RegisterMethod("shift", func(p *point, by ...int64) {
		for _, n := range by {
			p.X += n
		}
	}); err != nil {
		t.Fatal(err)
	}
	rhai.Fn1(e, "sum", func(s string) (string, error) { return s, nil }) // another kind stands beside it
	for script, want := range map[string]string{
		`f("x")`: `"x"`, `f("%v-%v", 1, "a")`: `"1-a"`, `"%v".f([1])`: `"[1]"`,
		"sum()": "0", "sum(1)": "1", "sum(1, 2, 3)": "6", "1.sum(2)": "3", `sum("x")`: `"x"`, `sum(1, "x")`: "ErrorFunctionNotFound",
		`join("-", "a", "b")`: `"a-b"`, `Fn("sum").call(1, 2)`: "3", "count((), 1, 'c')": "3",
		"let p = point(1, 2); p.shift(); p.shift(1, 2); p.shift(3); [p.type_of(), p == p]": "ErrorFunctionNotFound",
		"count(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16)":                                    "16",
		"count(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)":                                 "ErrorFunctionNotFound",
	} {
		if got := answer(t.Context(), e, script); got != want {
			t.Errorf("%s: got %s, want %s", script, got, want)
		}
	}
}

func TestImpossibleSignaturesAreRefused(t *testing.T) {
	type secret struct{ C chan int }
	for name, f := range map[string]any{
		"no function":    5,
		"nil":            nil,
		"a nil function": (func())(nil),
		"two results":    func() (int, int) { return 1, 2 },
		//lint:ignore ST1008 that is what is refused
		"an error that is not the last":    func() (error, int) { return nil, 2 },
		"a channel":                        func(chan int) {},
		"a function":                       func(func()) {},
		"a complex number":                 func(int, complex128) {},
		"channels in a list":               func([]chan int) {},
		"functions in a map":               func(map[string]func()) {},
		"a pointer to a channel":           func(*chan int) {},
		"a map without string keys":        func(map[int]string) {},
		"an interface that nothing has":    func(fmt.Stringer, error) {},
		"variadic channels":                func(...chan int) {},
		"a context that is not the first":  func(int, context.Context) {},
		"a second context":                 func(context.Context, context.Context) {},
		"a list of contexts":               func([]context.Context) {},
		"a channel for a result":           func() chan int { return nil },
		"a function in a list of results":  func() ([]func(), error) { return nil, nil },
		"a channel in a struct of results": func() secret { return secret{} },
		"a result without string keys":     func() map[int]int { return nil },
	} {
		if err := rhai.NewEngine().RegisterFunc("f", f); err == nil {
			t.Errorf("%s: %T is taken", name, f)
		}
	}
	for name, possible := range map[string]any{
		"a field that scripts leave alone": func(secret) {}, "a text that is a struct": func(netip.Addr) netip.Addr { return netip.Addr{} },
		"a timestamp that can be shown": func(fmt.Stringer) {}, "a type that holds itself": func(*list) *list { return nil },
	} {
		if err := rhai.NewEngine().RegisterFunc("f", possible); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type list struct {
	Item int
	Next *list
}

func TestNamesThatNoScriptCanCall(t *testing.T) {
	f := func(int) int { return 0 }
	for _, name := range []string{"", "my func", "if", "let", "f()", "1x", "a.b", "a::b", "print", "type_of", "eval"} {
		if err := rhai.NewEngine().RegisterFunc(name, f); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
	for _, name := range []string{"f", "_f", "f_1", "größe", "exit_now", "!"} {
		if err := rhai.NewEngine().RegisterFunc(name, f); (err != nil) != (name == "größe") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// What the compiler of Go knows of a signature is a mistake in the program.
func TestImpossibleRegistrationsPanic(t *testing.T) {
	type celsius float64
	for name, register := range map[string]func(e *rhai.Engine){
		"a channel to Fn1":   func(e *rhai.Engine) { rhai.Fn1(e, "f", func(chan int) (int, error) { return 0, nil }) },
		"a channel from Fn0": func(e *rhai.Engine) { rhai.Fn0(e, "f", func() (chan int, error) { return nil, nil }) },
		"a late context":     func(e *rhai.Engine) { rhai.Fn2(e, "f", func(int, context.Context) (int, error) { return 0, nil }) },
		"a property of channels": func(e *rhai.Engine) {
			rhai.Property(rhai.RegisterType[point](e, "P"), "c", func(*point) chan int { return nil }, nil)
		},
		"a type twice": func(e *rhai.Engine) {
			rhai.RegisterType[point](e, "P")
			rhai.RegisterType[point](e, "Q")
		},
		"a type after a function that takes it": func(e *rhai.Engine) {
			rhai.Fn1(e, "f", func(point) (int, error) { return 0, nil })
			rhai.RegisterType[point](e, "P")
		},
		"a type after a function that gives a list of it": func(e *rhai.Engine) {
			rhai.Fn0(e, "f", func() ([]*point, error) { return nil, nil })
			rhai.RegisterType[point](e, "P")
		},
		"a pointer for a type":    func(e *rhai.Engine) { rhai.RegisterType[*point](e, "P") },
		"a type of the language":  func(e *rhai.Engine) { rhai.RegisterType[int64](e, "P") },
		"a type without a name":   func(e *rhai.Engine) { rhai.RegisterType[[]int](e, "P") },
		"an interface":            func(e *rhai.Engine) { rhai.RegisterType[fmt.Stringer](e, "P") },
		"a native without a call": func(e *rhai.Engine) { e.Register(&value.Native{Name: "f"}) },
		"a parameter that has no kind": func(e *rhai.Engine) {
			e.Register(&value.Native{Name: "f", Params: make([]value.Param, 1), Call: unit})
		},
	} {
		if text := panicOf(func() { register(rhai.NewEngine()) }); !strings.HasPrefix(text, "BUG: register ") {
			t.Errorf("%s: got %q", name, text)
		}
	}
	if text := panicOf(func() { rhai.RegisterType[celsius](rhai.NewEngine(), "Celsius") }); text != "<nil>" {
		t.Errorf("a named number: %s", text)
	}
}

func unit(*value.Ctx, *rhai.Value, []rhai.Value) rhai.Value { return value.Unit }

func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

// Each way to register a function gives it the context of the run.
func TestTheContextOfTheRun(t *testing.T) {
	type key struct{}
	who := func(ctx context.Context) string { return ctx.Value(key{}).(string) }
	e := rhai.NewEngine()
	points := rhai.RegisterType[point](e, "Point")
	rhai.Fn1(e, "point", func(context.Context) (point, error) { return point{}, nil })
	rhai.Fn1(e, "fn1", func(ctx context.Context) (string, error) { return who(ctx), nil })
	rhai.Fn2(e, "fn2", func(ctx context.Context, s string) (string, error) { return who(ctx) + s, nil })
	rhai.Fn3(e, "fn3", func(ctx context.Context, s, u string) (string, error) { return who(ctx) + s + u, nil })
	rhai.Fn4(e, "fn4", func(ctx context.Context, s, u, v string) (string, error) { return who(ctx) + s + u + v, nil })
	rhai.Method1(points, "m1", func(_ *point, ctx context.Context) (string, error) { return who(ctx), nil })
	rhai.Method2(points, "m2", func(_ *point, ctx context.Context, s string) (string, error) { return who(ctx) + s, nil })
	rhai.Method3(points, "m3", func(_ *point, ctx context.Context, s, u string) (string, error) { return who(ctx) + s + u, nil })
	e.Register(&value.Native{Name: "native", Call: func(c *value.Ctx, _ *rhai.Value, _ []rhai.Value) rhai.Value { return value.Str(who(c.Context)) }})
	for _, err := range []error{
		e.RegisterFunc("any0", who),
		e.RegisterFunc("any1", func(ctx context.Context, s string) string { return who(ctx) + s }),
		points.RegisterMethod("m", func(_ *point, ctx context.Context, n int) string { return who(ctx) + fmt.Sprint(n) }),
		points.RegisterProperty("p", func(_ *point, ctx context.Context) string { return who(ctx) },
			func(_ *point, ctx context.Context, s string) error { return errors.New(who(ctx) + s) }),
		points.RegisterIndexer(func(_ *point, ctx context.Context, i int) string { return who(ctx) }, nil),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	// A context that cannot end, and one that can.
	plain := context.WithValue(context.Background(), key{}, "Ada")
	ending, stop := context.WithCancel(plain)
	defer stop()
	for script, want := range map[string]string{
		"fn1()": `"Ada"`, `fn2("x")`: `"Adax"`, `"x".fn2()`: `"Adax"`, `fn3("x", "y")`: `"Adaxy"`, `fn4("x", "y", "z")`: `"Adaxyz"`,
		"let p = point(); p.m1()": `"Ada"`, `let p = point(); p.m2("x")`: `"Adax"`, `let p = point(); p.m3("x", "y")`: `"Adaxy"`,
		"native()": `"Ada"`, "any0()": `"Ada"`, `any1("x")`: `"Adax"`,
		"let p = point(); p.m(3)": `"Ada3"`, "let p = point(); p.p": `"Ada"`,
		`let p = point(); try { p.p = "x" } catch (e) { return e }`: `"Adax"`, "let p = point(); p[0]": `"Ada"`,
	} {
		for _, ctx := range []context.Context{plain, ending} {
			if got := answer(ctx, e, script); got != want {
				t.Errorf("%s: got %s, want %s", script, got, want)
			}
		}
	}
}

// A function that waits ends with its run.
func TestAWaitingFunctionEndsWithItsRun(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	e := must(t, rhai.NewEngine(), func(ctx context.Context) error {
		stop()
		<-ctx.Done()
		return ctx.Err()
	})
	if _, err := e.Eval(ctx, "f()"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestMethodsPropertiesAndIndexersOfAnyShape(t *testing.T) {
	e := rhai.NewEngine()
	bags := rhai.RegisterType[bag](e, "Bag").CopyWith(func(b *bag) bag { return bag{append([]int64(nil), b.items...)} })
	rhai.Fn0(e, "bag", func() (bag, error) { return bag{}, nil })
	for _, err := range []error{
		bags.RegisterMethod("add", (*bag).add),
		bags.RegisterProperty("first", func(b *bag) (int64, error) { return b.at(0) }, func(b *bag, x int64) { b.items[0] = x }),
		bags.RegisterProperty("len", func(b *bag) int { return len(b.items) }, nil),
		bags.RegisterIndexer((*bag).at, func(b *bag, i int, x int64) { b.items[i] = x }),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for script, want := range map[string]string{
		"let b = bag(); b.add(1, 2, 3, 4, 5); b.len": "5", "let b = bag(); b.add(1, 2); b.first = 9; b.first": "9",
		"let b = bag(); b.add(1, 1); b[0] += 4; b[0]": "5", "bag().first": "ErrorRuntime", "let b = bag(); b.len = 3": "ErrorDotExpr",
		"let b = bag(); b.add(1, 1); let c = b; c.add(2, 2); c[0] = 7; [b.len, b[0], c.len]": "[2, 1, 4]",
		"const B = bag(); B.add(1, 2)":     "ErrorNonPureMethodCallOnConstant",
		"let b = bag(); b.add(1, 1); b[5]": "ErrorRuntime", `let b = bag(); b["x"]`: "ErrorIndexingType",
	} {
		if got := answer(t.Context(), e, script); got != want {
			t.Errorf("%s: got %s, want %s", script, got, want)
		}
	}
	for name, err := range map[string]error{
		"a method without its object":   bags.RegisterMethod("x", func() {}),
		"a method of a T, not a *T":     bags.RegisterMethod("x", func(bag) {}),
		"a method of another type":      bags.RegisterMethod("x", func(*point) {}),
		"a getter with a parameter":     bags.RegisterProperty("x", func(*bag, int) int { return 0 }, nil),
		"a getter that gives nothing":   bags.RegisterProperty("x", func(*bag) {}, nil),
		"no getter":                     bags.RegisterProperty("x", nil, func(*bag, int) {}),
		"a setter that gives something": bags.RegisterProperty("x", func(*bag) int { return 0 }, func(*bag, int) int { return 0 }),
		"a variadic setter":             bags.RegisterProperty("x", func(*bag) int { return 0 }, func(*bag, ...int) {}),
		"an indexer of channels":        bags.RegisterIndexer(func(*bag, chan int) int { return 0 }, nil),
		"an indexer without an index":   bags.RegisterIndexer(func(*bag) int { return 0 }, nil),
		"a context before the method's": bags.RegisterMethod("x", func(context.Context, *bag) {}),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "register ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func (b *bag) add(x, y int64, more ...int64) *bag {
	b.items = append(append(b.items, x, y), more...)
	return b
}

func (b *bag) at(i int) (int64, error) {
	if i < 0 || i >= len(b.items) {
		return 0, fmt.Errorf("the bag has no item %d", i)
	}
	return b.items[i], nil
}

func TestScopeOf(t *testing.T) {
	e := rhai.NewEngine()
	rhai.Property(rhai.RegisterType[point](e, "Point"), "x", func(p *point) int64 { return p.X }, nil)
	type vars struct {
		N    int    `json:"n"`
		P    *point `json:"p"`
		Gone string `json:"gone,omitempty"`
	}
	for _, x := range []any{map[string]any{"n": 2, "p": point{3, 4}}, vars{N: 2, P: &point{3, 4}}, &vars{N: 2, P: &point{3, 4}}} {
		scope, err := e.ScopeOf(x)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := e.EvalWith(t.Context(), `n += 1; [n, p.x, is_def_var("gone")]`, scope); v.String() != "[3, 3, false]" || scope.Get("n").AsInt() != 3 {
			t.Errorf("%T: got %s, %v", x, v, err)
		}
	}
	for _, x := range []any{nil, 5, []int{1}, map[int]int{}, map[string]any{"c": make(chan int)}, point{1, 2}} {
		if _, err := e.ScopeOf(x); err == nil {
			t.Errorf("%T is taken", x)
		}
	}
}

func TestFunctionsInModules(t *testing.T) {
	e := rhai.NewEngine()
	rhai.RegisterType[point](e, "Point")
	m := rhai.NewModule()
	if err := errors.Join(
		m.RegisterFunc(e, "at", func(ctx context.Context, x ...int64) *point { return &point{X: x[0]} }),
		m.RegisterFunc(e, "x", func(p point) int64 { return p.X }),
	); err != nil {
		t.Fatal(err)
	}
	if err := m.RegisterFunc(e, "bad", func(chan int) {}); err == nil {
		t.Error("a channel is taken")
	}
	e.RegisterModule("points", m)
	for script, want := range map[string]string{"points::x(points::at(4, 5))": "4", "points::at()": "ErrorRuntime", "at(4)": "ErrorFunctionNotFound"} {
		if got := answer(t.Context(), e, script); got != want {
			t.Errorf("%s: got %s, want %s", script, got, want)
		}
	}
}
