package rhai_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// TestValuesAreCopies looks for a change of one variable that shows through
// another. What is wanted is what the reference answers.
func TestValuesAreCopies(t *testing.T) {
	for _, tc := range []struct{ name, script, want string }{
		{"an array in itself", `let a = [1]; a.push(a); a.push(a); a`, `[1, [1], [1, [1]]]`},
		{"an element that is the array", `let a = [1, 2]; a[0] = a; a[1] = a; a[0][0] = 7; a`, `[[7, 2], [[1, 2], 2]]`},
		{"a map in itself", `let m = #{}; m.self = m; m.self.self = m; m`, `#{"self": #{"self": #{"self": #{}}}}`},
		{"an array added to itself", `let a = [1, 2]; a += a; a += a; a`, `[1, 2, 1, 2, 1, 2, 1, 2]`},
		{"an array inserted into itself", `let a = [1, 2, 3]; a.splice(1, 1, a); a.insert(1, a); a`, `[1, [1, 1, 2, 3, 3], 1, 2, 3, 3]`},
		{"an array appended to its own element", `let a = [[1, 2], [3]]; a[0].append(a[0]); a[0].append(a[1]); a[1].push(7); a`, `[[1, 2, 1, 2, 3], [3, 7]]`},
		{"an element pushed the whole", `let a = [[1], 2]; a[0].push(a); a`, `[[1, [[1], 2]], 2]`},
		{"a blob added to itself", `let b = blob(2, 1); b.append(b); b += b; b.splice(1, 1, b); b.len`, `15`},
		{"a string added to itself", `let s = "ab"; s += s; let t = s; s += s; [s, t]`, `["abababab", "abab"]`},
		{"texts with a common start", `let s = ""; let l = []; for i in 0..3 { s += "a"; let t = s; t += "b"; l.push(t); l.push(s) } l`,
			`["ab", "a", "aab", "aa", "aaab", "aaa"]`},
		{"elements that change places", `let a = [[1], [2]]; let t = a[0]; a[0] = a[1]; a[1] = t; a[0].push(9); t.push(8); a`, `[[2, 9], [1]]`},
		{"one element padded many times", `let a = [[0]]; let p = [5]; a.pad(3, p); a[1].push(2); p.push(6); [a, p]`, `[[[0], [5, 2], [5]], [5, 6]]`},
		{"literals", `let a = [1]; let b = [a, a]; let m = #{p: a, q: a}; b[0].push(1); m.p.push(2); [a, b, m]`, `[[1], [[1, 1], [1]], #{"p": [1, 2], "q": [1]}]`},
		{"operands that are changed later in the expression", `let a = [1]; [[a, { a.push(2); a }, a], a + { a.push(3); a }]`,
			`[[[1], [1, 2], [1, 2]], [1, 2, 1, 2, 3]]`},
		{"arguments", `fn f(x) { x.push(1); x } let a = [0]; let b = f(a); b.push(2); [a, b, f(a)]`, `[[0], [0, 1, 2], [0, 1]]`},
		{"the same argument twice", `fn f(a, b) { a.push(b); b.push(a); [a, b] } let x = [1]; [f(x, x), x]`, `[[[1, [1]], [1, [1, [1]]]], [1]]`},
		{"a result that a local is in twice", `fn f() { let q = [1]; let z = #{q: q}; q.push(2); [q, z] } let a = f(); a[0].push(3); a`, `[[1, 2, 3], #{"q": [1]}]`},
		{"a result given away after it was put elsewhere",
			`fn f() { let r = []; let q = []; for i in 0..2 { q.push(i); r.push(q) } q.push(r); q } let a = f(); a.push(7); a[2][0].push(8); a`,
			`[0, 1, [[0, 8], [0, 1]], 7]`},
		{"this returned", `fn f(x) { this.push(x); x.push(0); this } let a = [1]; let b = [2]; let c = a.f(b); c.push(3); [a, b, c]`, `[[1, [2]], [2], [1, [2], 3]]`},
		{"what a branch gives", `let x = [1]; let y = if true { x } else { 0 }; y.push(2); let z = switch 1 { 1 => x, _ => 0 }; z.push(3); let w = loop ` +
			`{ break x }; w.push(4); [x, y, z, w]`, `[[1], [1, 2], [1, 3], [1, 4]]`},
		{"what eval gives", `let x = [1]; eval("let z = x; z.push(3)"); let y = eval("x"); y.push(2); [x, y, z]`, `[[1], [1, 2], [1, 3]]`},
		{"what f! gives", `fn g(a) { a.push(5); x = a; a.push(6); a } let x = [1]; let y = g!(x); y.push(7); [x, y]`, `[[1, 5], [1, 5, 6, 7]]`},
		{"what a closure gives", `fn mk() { let n = [0]; [|| { n.push(1); n }, || n] } let p = mk(); p[0].call(); let r = p[1].call(); r.push(5); ` +
			`[p[1].call(), r]`, `[[0, 1], [0, 1, 5]]`},
		{"what a closure captured with its array's copy",
			`let a = [1]; let c = || { let d = || { a.push(3); a }; d.call() }; let e = c.call(); e.push(0); [e, c.call()]`, `[[1, 3, 0], [1, 3, 3]]`},
		{"a curried argument", `let f = |x| { x.push(1); x }; let a = [0]; let g = f.curry(a); a.push(5); [g.call(), g.call(), a]`, `[[0, 1], [0, 1], [0, 5]]`},
		{"elements changed while looped over", `let a = [[1], [2]]; for x in a { x.push(9); a.push(x); } a`, `[[1], [2], [1, 9], [2, 9]]`},
		{"this of a callback in a shared array", `let a = [[1], [2]]; let b = a; let c = b.map(|| { this.push(3); this }); c[0].push(4); [a, b, c]`,
			`[[[1], [2]], [[1, 3], [2, 3]], [[1, 3, 4], [2, 3]]]`},
		{"an element that a callback has changed", `let a = [[1], [2]]; let b = a.filter(|x| { x.push(1); true }); b[0].push(8); [a, b]`,
			`[[[1], [2]], [[1, 8], [2]]]`},
		{"the accumulator of reduce", `let a = [[1], [2]]; let init = [0]; let r = a.reduce(|acc, x| { acc.push(x); x.push(9); acc }, init); ` +
			`r[1].push(7); [a, r, init]`, `[[[1], [2]], [0, [1, 7], [2]], [0]]`},
		{"items that a comparer changes", `let a = [[2], [1]]; let b = a; a.sort(|x, y| { x.push(5); x[0] - y[0] }); a[0].push(6); [a, b]`,
			`[[[1, 6], [2]], [[2], [1]]]`},
		{"what was taken out", `let a = [[1], [2], [3]]; let b = a; let x = a.pop(); x.push(1); let y = a.drain(0..1); y[0].push(2); [a, b, x, y]`,
			`[[[2]], [[1], [2], [3]], [3, 1], [[1, 2]]]`},
		{"values of a map", `let m = #{a: [1]}; let v = m.values(); v[0].push(2); let n = m + #{b: m}; n.a.push(3); n.b.a.push(4); [m, n, v]`,
			`[#{"a": [1]}, #{"a": [1, 3], "b": #{"a": [1, 4]}}, [[1, 2]]]`},
		{"constants", `const C = #{a: [1]}; fn f() { let d = global::C.a; d.push(2); [global::C, d] } let e = C.a; e.push(3); [f(), C, e]`,
			`[[#{"a": [1]}, [1, 2]], #{"a": [1]}, [1, 3]]`},
		{"a constant looped over", `const C = [[1]]; for x in C { x.push(2) } C.map(|x| { x.push(2); x }); C`, `[[1]]`},
		{"a caught value", `let e = [1]; try { try { throw e } catch (x) { x.push(2); throw; } } catch (y) { y.push(3); [e, y] } e`, `[1]`},
		{"values with tags", `let a = [1]; a.tag = 5; let b = a; b.tag = 6; b.push(3); [a.tag, b.tag, a, b]`, `[5, 6, [1], [1, 3]]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := rhai.NewEngine().Eval(t.Context(), tc.script)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, v.Debug()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.script, diff)
			}
		})
	}
}

// TestModulesKeepTheirValues imports a module twice and changes what it gave.
func TestModulesKeepTheirValues(t *testing.T) {
	e := rhai.NewEngine()
	e.Resolver = rhai.MemoryResolver{"m": `export const A = [[0]]; const B = [9]; fn b() { global::B } fn id(a) { a } fn mut(a) { a.push(7); a }`}
	v, err := e.Eval(t.Context(), `
		import "m" as m; import "m" as n;
		let x = m::A; x[0].push(1); let y = m::b(); y.push(2); let a = [1]; let z = m::id(a); z.push(3); let w = m::mut(a);
		[x, y, z, w, a, n::A, n::b()]`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`[[[0, 1]], [9, 2], [1, 3], [1, 7], [1], [[0]], [9]]`, v.Debug()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTheHostsValuesStayTheHosts runs scripts that change what they are given.
func TestTheHostsValuesStayTheHosts(t *testing.T) {
	list := value.NewArray([]rhai.Value{value.NewArray([]rhai.Value{value.Int(1)})})
	e, scope := rhai.NewEngine(), rhai.NewScope().Set("a", list).SetConst("C", list)
	for range 2 {
		if _, err := e.EvalWith(t.Context(), `a[0].push(2); a.push(C); let f = || a.push(3); f.call(); let b = a;`, scope); err != nil {
			t.Fatal(err)
		}
	}
	got := []string{list.Debug(), scope.Get("C").Debug(), scope.Get("a").Debug()}
	want := []string{`[[1]]`, `[[1]]`, `[[1, 2, 2], [[1]], 3, [[1]], 3]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestOneScriptManyGoroutines is for the race detector: literals, constants,
// caches of call sites and lazily made code of one script in many runs.
func TestOneScriptManyGoroutines(t *testing.T) {
	s, err := rhai.NewEngine().Compile(`
		const C = #{b: [1, "é"], a: "zé"};
		fn c() { global::C }
		fn up() { x += 1; q.push(x) }
		let x = 0; let q = []; let r = [];
		for i in 0..50 {
			up!();
			let m = #{z: 1, a: 2};
			m.hint = i;
			switch i { 1 | 2 => r.push(i), _ => () }
			switch m { #{z: 1, a: 2} => 1, _ => 2 };
			r.push([3, 1, 2].map(|v| v * 2));
			r.push(c().b.len + "lité".len + c().a.len + eval("i + 1") + m.keys().len);
			try { throw "é" } catch (e) { r.push(e.len) }
		}
		r.len + q.len`)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			v, err := s.Run(t.Context(), nil)
			if err != nil || v.Debug() != "202" {
				t.Errorf("got %s and %v, want 202", v.Debug(), err)
			}
		})
	}
	wg.Wait()
}
