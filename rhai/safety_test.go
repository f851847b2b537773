package rhai_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// outcome runs a script and tells how it ended: its value, or the innermost error's kind.
func outcome(t *testing.T, e *rhai.Engine, ctx context.Context, script string) string {
	t.Helper()
	v, err := e.Eval(ctx, script)
	var failed *rhai.Error
	switch {
	case errors.As(err, &failed):
		return failed.Innermost().Kind.String()
	case err != nil:
		t.Fatalf("got an error of type %T: %v", err, err)
	}
	return v.Debug()
}

// TestJumpsOutOfExpressions leaves calls, literals and chains in the middle.
func TestJumpsOutOfExpressions(t *testing.T) {
	for _, tc := range []struct{ name, script, want string }{
		{"return in an argument", `fn f(a, b) { a } fn g() { f(1, {return 5}); 6 } g() + g()`, "10"},
		{"continue in an argument", `fn f(a, b) { a } let r = []; for i in 0..3 { r.push(f(i, {if i == 1 {continue} 0})); } r`, "[0, 2]"},
		{"break in an index", `let a = [1]; let r = loop { a[{break 7}]; }; [r, a]`, "[7, [1]]"},
		{"break in a method's argument", `let a = [1]; let r = loop { a.push({break 7}); }; [r, a]`, "[7, [1]]"},
		{"break in an assigned value", `let a = [1]; let r = loop { a[0] = {break 7}; }; [r, a]`, "[7, [1]]"},
		{"break in literals", `let r = [loop { [1, {break 7}]; }, loop { #{a: 1, b: {break 8}}; }]; r`, "[7, 8]"},
		{"break in a text", "let r = loop { `${1}${break 7}`; }; `${r}!`", `"7!"`},
		{"break in what a loop runs over", `let r = loop { for i in 0..{break 7} {} }; r`, "7"},
		{"break in the value of a switch", `let r = loop { switch {break 8} {1 => 2} }; r`, "8"},
		{"break in what is thrown", `let r = loop { try { throw {break 7} } catch { 1 } }; r`, "7"},
		{"return in a callback", `fn g() { for i in 0..3 { [1, 2].map(|x| { return x; }); } 8 } g()`, "8"},
		{"return out of try and catch", `fn f() { try { return 4 } catch { return 5 } 8 } fn g() { try { throw 1 } catch { return 5 } 8 } [f(), g()]`, "[4, 5]"},
		{"continue and break out of catch", `let r = []; for i in 0..5 { try { if i == 1 {continue} if i == 3 {break} r.push(i); throw i } catch { ` +
			`r.push(-i); continue } } r`, "[0, 0, 2, -2]"},
		{"errors caught deep down", `fn f(n) { let q = [n]; try { if n == 0 { throw "x" } f(n - 1) } catch(e) { q.push(e); return q } q } f(5)`, "[5]"},
		{"errors from deep down", `fn f(n) { if n == 0 { throw "x" } let a = n; f(n - 1) + a } let r = []; for i in 0..200 { try { f(40) } catch(e) { ` +
			`r.push(e) } } r.len`, "200"},
		{"errors in the middle of many calls",
			`fn f(a, b, c) { a + b + c } let n = 0; for i in 0..2000 { try { f(1, [2].map(|x| { throw x }), 3) } catch { n += f(i, 0, 0) } } n`, "1999000"},
		{"exit through everything", `fn f() { [1].map(|x| { try { [1].sort(|a, b| 1); exit(x + 4) } catch { 0 } }); } f(); 9`, "5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, outcome(t, rhai.NewEngine(), t.Context(), tc.script)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.script, diff)
			}
		})
	}
}

// TestBoundsHold runs scripts that go on for ever, or would take everything.
func TestBoundsHold(t *testing.T) {
	repeat := strings.Repeat
	for _, tc := range []struct{ name, script, want string }{
		{"a loop without end", `loop {}`, "ErrorTooManyOperations"},
		{"a loop without end that catches", `loop { try { loop { throw 1 } } catch { } }`, "ErrorTooManyOperations"},
		{"a range of all ints", `for i in 0..9223372036854775807 {}`, "ErrorTooManyOperations"},
		{"steps to the largest int", `for i in range(0, 9223372036854775807, 1) {}`, "ErrorTooManyOperations"},
		{"steps too small to be seen", `for x in range(0.0, 1.0, 1e-300) {}`, "ErrorTooManyOperations"},
		{"a function that calls itself", `fn f(x) { f(x) } f(1)`, "ErrorStackOverflow"},
		{"a callback that calls itself", `fn f(x) { [x].map(|v| f(v)) } f(1)`, "ErrorStackOverflow"},
		{"a method that calls itself", `fn f() { this.f() } 1.f()`, "ErrorStackOverflow"},
		{"f! that calls itself", `fn f() { f!() } f!()`, "ErrorStackOverflow"},
		{"eval in eval", `let s = "eval(s)"; eval(s)`, "ErrorStackOverflow"},
		{"a closure that calls itself", `let f = (); f = |x| f.call(x); f.call(1)`, "ErrorStackOverflow"},
		{"a comparer that calls itself", `fn f(a, b) { [1, 2].sort(Fn("f")); 0 } [1, 2].sort(Fn("f")); 1`, "ErrorStackOverflow"},
		{"a module that imports itself", `import "self" as s; s::f()`, "ErrorModuleNotFound"},
		{"functions that branch", `fn f(n) { if n > 0 { f(n - 1); f(n - 1); } } f(60)`, "ErrorTooManyOperations"},
		{"a text that doubles", `let s = "x"; loop { s += s }`, "ErrorDataTooLarge"},
		{"an array that doubles", `let a = [1]; loop { a += a }`, "ErrorDataTooLarge"},
		{"an array of two of itself", `let a = [1]; loop { a = [a, a] }`, "ErrorDataTooLarge"},
		{"a map that grows", `let m = #{}; let i = 0; loop { m["" + i] = i; i += 1 }`, "ErrorDataTooLarge"},
		{"a huge pad of a text", `let s = ""; s.pad(9223372036854775807, "x")`, "ErrorDataTooLarge"},
		{"a huge pad of an array", `let a = []; a.pad(9223372036854775807, 0)`, "ErrorDataTooLarge"},
		{"a huge blob", `blob(9223372036854775807)`, "ErrorDataTooLarge"},
		{"brackets without end", repeat("[", 100_000), "ErrorParsing"},
		{"else if without end", "if false {}" + repeat(" else if false {}", 100_000), "ErrorParsing"},
		{"interpolations without end", repeat("`${", 100_000), "ErrorParsing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := rhai.NewEngine()
			e.MaxOperations = 100_000
			e.Sizes = value.Limits{MaxString: 1 << 20, MaxArray: 10_000, MaxMap: 1000}
			e.Resolver = rhai.MemoryResolver{"self": `import "self" as s; fn f() { s::f() }`}
			ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
			defer stop()
			if diff := cmp.Diff(tc.want, outcome(t, e, ctx, tc.script)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestMemoryIsBounded asks for more memory than a script may have, at once and in small pieces.
func TestMemoryIsBounded(t *testing.T) {
	watched.Alone(t)
	for _, script := range []string{
		`let a = []; a.pad(5_000_000, 0); a.len`,
		`let s = ""; s.pad(50_000_000, "x"); s.len`,
		`blob(50_000_000).len`,
		`let a = []; a.pad(50_000, 0); let all = []; for i in 0..100 { let b = a; b[0] = 1; all.push(b) } all.len`,
		`let a = []; loop { a = [a] }`,
		`let a = []; loop { a.push(#{}) }`,
		`let s = ""; let all = []; loop { s += "0123456789"; all.push(s.to_upper()) }`,
	} {
		t.Run(script, func(t *testing.T) {
			e := rhai.NewEngine()
			e.MaxMemory = 4 << 20
			if diff := cmp.Diff("ErrorDataTooLarge", outcome(t, e, t.Context(), script)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestWhatIsMadeIsCountedFirst has native functions make much of a text that fits: what was made
// when it is counted is in memory already, of all scripts of a node at once.
func TestWhatIsMadeIsCountedFirst(t *testing.T) {
	const limit = 4 << 20
	for _, use := range []string{`s.split()`, `s.split(" ")`, `s.split("")`, `s.split_rev(" ")`, `s.split_rev("")`, `s.to_chars()`, `s.to_upper()`,
		`s.replace(" ", "ß").to_upper()`, `let s = ""; s.pad(3000, "Σ"); s.to_lower()`,
		`s.to_blob()`, `s.replace(" ", "12345678")`, `#{a: s}.to_json()`, `[s, s, s, s].to_string()`, `[s, s, s, s].to_debug()`, `s.to_blob().to_array()`,
		`s.to_blob().to_debug()`, `s.to_blob().as_string()`, `parse_json("[" + s + "]")`, `let a = []; a.pad(100_000, s); a.to_string()`,
		`eval(s)`, `throw [s, s, s, s]`} {
		t.Run(use, func(t *testing.T) {
			e := rhai.NewEngine()
			e.MaxMemory = limit
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = e.Eval(t.Context(), `let s = "a "; s.pad(3 << 19, "b "); `+use)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 3*limit {
				t.Errorf("it took %d bytes, the limit is %d", took, limit)
			}
		})
	}
}

// TestDeepValues nests values deeper than Go's stack could follow.
func TestDeepValues(t *testing.T) {
	watched.Alone(t)
	for _, use := range []string{"print(a)", "debug(a)", "`${a}`", "#{a: a}.to_json()", "let b = a; b.push(1)", "a.sort()", "a.contains(1)",
		"switch a { [1] => 1, _ => 2 }"} {
		t.Run(use, func(t *testing.T) {
			e := rhai.NewEngine()
			e.OnPrint, e.OnDebug = func(string) {}, func(string, string, rhai.Pos) {}
			v, err := e.Eval(t.Context(), "let a = []; for i in 0..200_000 { a = [a] } try { "+use+" } catch { } a")
			var failed *rhai.Error
			if err != nil && (!errors.As(err, &failed) || failed.Innermost().Kind != value.ErrorDataTooLarge) {
				t.Fatal(err)
			}
			if err == nil {
				_, _ = v.HostDebug(), value.ToGo(v)
			}
		})
	}
}

// TestCancelled ends scripts that are at work.
func TestCancelled(t *testing.T) {
	for _, script := range []string{
		`loop {}`,
		`fn f(n) { if n > 0 { f(n - 1); f(n - 1); } } f(60)`,
		`let a = []; a.pad(1000, 0); loop { a.map(|x| x + 1); }`,
		`loop { try { throw 1 } catch { } }`,
		`loop { eval("1 + 1"); }`,
		`sleep(3600)`,
	} {
		t.Run(script, func(t *testing.T) {
			why := errors.New("enough")
			ctx, stop := context.WithCancelCause(t.Context())
			e := rhai.NewEngine()
			e.OnProgress = func(n int64) (rhai.Value, bool) {
				if n > 1000 {
					stop(why)
				}
				return value.Unit, false
			}
			if strings.HasPrefix(script, "sleep") {
				stop(why)
			}
			_, err := e.Eval(ctx, script)
			var failed *rhai.Error
			if !errors.As(err, &failed) || failed.Innermost().Kind != value.ErrorTerminated || !errors.Is(failed.Innermost(), why) {
				t.Errorf("got %v, want ErrorTerminated because of %v", err, why)
			}
		})
	}
}

// TestManyCallLevels goes as deep as a host may allow, over many pieces of stack.
func TestManyCallLevels(t *testing.T) {
	watched.Alone(t)
	e := rhai.NewEngine()
	e.MaxCallLevels = 100_000
	got := []string{
		outcome(t, e, t.Context(), `fn f(n) { let a = n; if a == 0 {0} else {1 + f(n - 1)} } f(99_000)`),
		outcome(t, e, t.Context(), `fn f(n) { f(n + 1) } try { f(0) } catch { } 1`),
		outcome(t, e, t.Context(), `fn f(n) { if n == 0 {throw 7} let x = [n]; f(n - 1); x } try { f(50_000) } catch (e) { e + 1 }`),
	}
	if diff := cmp.Diff([]string{"99000", "ErrorStackOverflow", "()"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
