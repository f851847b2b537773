package rhai_test

// This file holds what a review of the engine has found, each as a test.

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"testing"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

func kindOf(err error) string {
	var e *rhai.Error
	if errors.As(err, &e) {
		return e.Innermost().Kind.String()
	}
	return fmt.Sprint(err)
}

// 1. An argument that is no plain variable is a copy; `??` gives an operand itself.
func TestMendedArgumentsAreCopies(t *testing.T) {
	for _, tc := range [][2]string{
		{`let a = [[1]]; let b = a; push(a[0], 5); [a, b]`, `[[[1]], [[1]]]`},
		{`const C = [[1]]; push(C[0], 2); sort(C[0]); C`, `[[1]]`},
		{`const C = [1]; push({C}, 7); push(C ?? 1, 8); push(if true {C} else {0}, 9); C`, `[1]`},
		{`let m = #{k: "x"}; m.k += "y"; append(m.k, "z"); m`, `#{"k": "xy"}`},
		{`fn f(x) { push(x[0], 9); x } let a = [[1]]; f(a); a`, `[[1]]`},
		{`let a = [[]]; push(a[0], a); a`, `[[]]`},
		{`let a = [[]]; a[0].push(a ?? 1); a`, `[[[[]]]]`},
		{`let x = [1, 2]; let y = [1, 2]; x.zip(y, |a, b| { y[1] = 99; b })`, `[1, 2]`},
		{`let x = [1, 2]; let y = [1, 2]; x.zip(y, |a, b| { y.pop(); b })`, `[1, 2]`},
		{`let a = [1]; switch a { [1] if a.push(2) == 1 => 1, [1] => 2, _ => 3 }`, `2`},
	} {
		v, err := rhai.NewEngine().Eval(t.Context(), tc[0])
		if got := v.Debug(); got != tc[1] {
			t.Errorf("%s\n got %.80s (%v), want %s", tc[0], got, err, tc[1])
		}
	}
}

func TestMendedEndByCycle(t *testing.T) {
	rhai.NewEngine().Eval(t.Context(), `let a = [[]]; push(a[0], a); a == a`)
}

func TestMendedEndByCycleOfCoalesce(t *testing.T) {
	rhai.NewEngine().Eval(t.Context(), `let a = [[]]; a[0].push(a ?? 1); a == a`)
}

// 2. Go recursion that nothing bounds.
// 3. Calls without arguments are free: no bound on operations, no cancellation.
func TestMendedCallsWithoutArgumentsCost(t *testing.T) {
	s := "fn f0() { 1 }"
	for i := 1; i <= 24; i++ {
		s += fmt.Sprintf(" fn f%d() { f%d(); f%d() }", i, i-1, i-1)
	}
	e := rhai.NewEngine()
	e.MaxOperations = 1000
	_, err := e.Eval(t.Context(), s+" f24()")
	if kindOf(err) != "ErrorTooManyOperations" {
		t.Errorf("got %v, want ErrorTooManyOperations", err)
	}
}

// 4. Ways around MaxMemory. Each takes 10 to 100 times what is allowed.
// 5. Cancelling takes longer than 100 ms while natives work.
// 6. Measuring sizes of shared structure takes 2^n steps, unbounded by ctx.
// 7. Compiling takes exponential or quadratic time and memory.
// 8. A variable that was never declared holds what a block has left in its slot.
func TestMendedStaleScope(t *testing.T) {
	scope := rhai.NewScope()
	rhai.NewEngine().EvalWith(t.Context(), `{ let secret = 42; } if true { return 5; } let b = 1;`, scope)
	if v := scope.Get("b"); !v.IsNone() {
		t.Errorf("b = %s, want none", v.Debug())
	}
}

type dot struct{ X int64 }

func dotEngine() (*rhai.Engine, rhai.TypeOf[dot]) {
	e := rhai.NewEngine()
	p := rhai.RegisterType[dot](e, "Point")
	rhai.Property(p, "x", func(p *dot) int64 { return p.X }, func(p *dot, x int64) { p.X = x })
	rhai.Fn0(e, "point", func() (dot, error) { return dot{1}, nil })
	return e, p
}

// 9. The Go side.
func TestMendedHost(t *testing.T) {
	e, p := dotEngine()
	rhai.Fn1(e, "any", func(x any) (int64, error) { return 1, nil })
	rhai.Fn0(e, "none", func() (*dot, error) { return nil, nil })
	rhai.Fn1(e, "bump", func(p *dot) (int64, error) { p.X += 100; return p.X, nil })
	rhai.Fn0(e, "boom", func() (int64, error) { panic("boom") })
	p.IterateBy(func(*dot) iter.Seq[rhai.Value] {
		return func(yield func(rhai.Value) bool) {
			for yield(value.Unit) {
			}
		}
	})
	for _, tc := range [][2]string{
		{`any(())`, "1"},
		{`none()`, "()"},
		{`none().x`, "error"},
		{`let a = point(); let b = a; bump(a); b.x`, "1"},
		{`const A = point(); bump(A); A.x`, "1"},
		{`boom()`, "error"},
	} {
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s: panic %v", tc[0], p)
				}
			}()
			v, err := e.Eval(t.Context(), tc[0])
			if got := v.Debug(); err != nil && tc[1] != "error" || err == nil && got != tc[1] {
				t.Errorf("%s: got %s and %v, want %s", tc[0], got, err, tc[1])
			}
		}()
	}
	before := runtime.NumGoroutine()
	e.Eval(t.Context(), `for k in 0..100 { for x in point() { break } }`)
	if n := runtime.NumGoroutine(); n > before+10 {
		t.Errorf("%d goroutines left behind by loops that were broken off", n-before)
	}
	v, err := rhai.NewEngine().EvalWith(t.Context(), `[x]`, rhai.NewScope().Set("x", rhai.Value{}))
	if err == nil && v.Debug() != "[()]" {
		t.Errorf("no value in the scope: [x] is %s, want [()] or an error", v.Debug())
	}
	e2 := rhai.NewEngine()
	e2.MaxOperations = 10_000
	if _, err := e2.Eval(t.Context(), `sleep(0.0001); sleep(0.0001); 1`); err != nil {
		t.Errorf("two sleeps take 10,000 operations: %v", err)
	}
}

// 10. Only with -race: what a module of the host holds is changed (sorted, marked) by readers.
// 11. A call that crosses the end of a piece of stack makes a new piece each time.
func TestMendedStackPieces(t *testing.T) {
	lets := func(n int) (s string) {
		for i := range n {
			s += fmt.Sprintf("let b%d=0;", i)
		}
		return s
	}
	taken := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	for d := 1; d < 60; d++ {
		before := taken()
		_, err := rhai.NewEngine().Eval(t.Context(), fmt.Sprintf(
			`fn g(x) { %s x } fn f(n) { %s if n == 0 { let s = 0; for i in 0..5_000 { s += g(i) } s } else { f(n - 1) } } f(%d)`, lets(15), lets(20), d))
		if err != nil {
			t.Fatal(err)
		}
		if took := taken() - before; took > 10<<20 { // 5,000 calls; a piece is 16 KiB at least
			t.Errorf("at depth %d it took %d MiB", d, took>>20)
		}
	}
}

// 12. Typed methods of modules are looked for along every path of imports.
func TestMendedModuleDiamonds(t *testing.T) {
	m := rhai.MemoryResolver{"m0": `export const A = 1;`}
	for i := 1; i < 60; i++ {
		m[fmt.Sprint("m", i)] = fmt.Sprintf(`import "m%d" as x; import "m%d" as y; export const A = 1;`, i-1, i-1)
	}
	e := rhai.NewEngine()
	e.Resolver = m
	if _, err := e.Eval(t.Context(), `import "m59" as m; [1].len()`); err != nil { // of 2^59 paths none would end
		t.Fatal(err)
	}
}
