package scripts

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// hostile are scripts that try to take more memory than they are given.
// What a script may print and throw is made as well: none is harmless.
var hostile = []struct{ name, script string }{
	// Function pointers.
	{"currying itself", `let f = |a| 1; loop { f = f.curry(f); }`},
	{"currying itself as a function", `let f = |a| 1; loop { f = curry(f, f); }`},
	{"currying many values", `let f = |a| 1; loop { f = f.curry(f, 1, 2, 3, 4, 5, 6, 7, 8); }`},
	{"currying one after another", `let f = |a| 1; loop { f = f.curry(1); }`},
	{"currying into an array", `let f = |a| 1; let g = f; let all = []; for i in 0..1000 { g = g.curry(i); } loop { all.push(g.curry(1)); }`},
	{"currying in a deep expression", `fn go(f) { f.curry(f).curry(f).curry(f).curry(f) } let f = |a| 1; loop { f = go(f); }`},
	{"closures in closures", `let f = || 1; loop { let g = f; f = || g; }`},
	{"cycles of closures", `let all = (); loop { let a = []; let f = || a; a.push(f); a.push(all); all = a; }`},
	{"cycles of closures that nobody holds", `for i in 0..300000 { let a = [1, 2, 3, 4, 5, 6, 7, 8]; let f = || a; a.push(f); }`},
	{"pointers by name", `let all = []; loop { all.push(Fn("a_name_of_some_length_that_is_made_again")); }`},
	{"pointers by made names", `let all = []; let n = "x"; n.pad(10000, "y"); for i in 0..1000000 { all.push(Fn(n + i)); }`},
	{"the arguments of a call", `let f = |a| a; let a = []; a.pad(500000, 1); loop { a = f.call([a, a]); }`},

	{"calls among the caller's variables, two by two", `fn f(n) { if n > 0 { f!(n-1); f!(n-1); } } f!(40);`},

	// Arrays.
	{"doubling an array", `let a = [1]; loop { a += a; }`},
	{"appending an array to itself", `let a = [1]; loop { a.append(a); }`},
	{"concatenating arrays", `let a = [1]; loop { a = a + a; }`},
	{"copies of an array", `let a = []; a.pad(50000, 0); let all = []; loop { let b = a; b[0] = 1; all.push(b); }`},
	{"copies eight wide", `fn f(n) { if n == 0 { let a = []; a.pad(2000, 0); return a; } let r = []; for i in 0..8 { let x = f(n - 1); x[0] = ` +
		`i; r.push(x); } r } f(7)`},
	{"literals eight wide", `fn f(n) { if n == 0 { return [1, 2, 3, 4, 5, 6, 7, 8]; } [f(n-1), f(n-1), f(n-1), f(n-1), f(n-1), f(n-1), f(n-1), ` +
		`f(n-1)] } f(9)`},
	{"copies held by expressions", `let a = []; a.pad(400000, 0); fn f(a, n) { a[0] = n; if n == 0 { return 0; } f(a, n - 1) + a[0] } f(a, 40)`},
	{"copies in one literal", `let a = []; a.pad(200000, 0); fn c(a) { a[0] = 1; a } [c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), ` +
		`c(a), c(a), c(a), c(a), c(a), c(a), ` +
		`c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a), c(a)]`},
	{"nesting arrays", `let a = []; loop { a = [a]; }`},
	{"small arrays", `let a = []; loop { a.push([]); }`},
	{"padding an array", `let a = []; a.pad(100000000, 0);`},
	{"padding with arrays", `let a = []; a.pad(1000000, [1, 2, 3]); for i in 0..1000000 { a[i][0] = i; }`},
	{"inserting", `let a = []; loop { a.insert(0, [0]); if a.len > 2000 { a = [a]; } }`},
	{"splicing an array into itself", `let a = [1]; loop { a.splice(0, 0, a); }`},
	{"extracting", `let a = []; a.pad(100000, 0); let all = []; loop { all.push(a.extract(0)); }`},
	{"splitting an array", `let a = []; a.pad(1000000, 0); let all = []; loop { let b = a; all.push(b.split(10)); all.push(b); }`},
	{"draining and retaining", `let a = []; a.pad(1000000, 0); let all = []; loop { let b = a; all.push(b.drain(|x| true)); let c = a; ` +
		`all.push(c.retain(|x| false)); }`},
	{"draining by range", `let a = []; a.pad(1000000, 0); let all = []; loop { let b = a; all.push(b.drain(0..900000)); let c = a; ` +
		`all.push(c.retain(0..100)); }`},
	{"mapping to arrays", `let a = []; a.pad(300000, 0); a.map(|x| [x, x, x, x, x, x, x, x, x, x])`},
	{"mapping inside of mapping", `let a = []; a.pad(1000, 0); a.map(|x| a.map(|y| a.map(|z| [z])))`},
	{"filtering with a closure that grows", `let a = []; a.pad(1000000, 0); let b = []; a.filter(|x| { b.push([x, x, x, x]); true })`},
	{"filtering again and again", `let a = []; a.pad(1000000, 0); let all = []; loop { all.push(a.filter(|x| true)); }`},
	{"sorting with a closure that grows", `let a = []; for i in 0..100000 { a.push(i * 7919 % 100003); } let b = []; a.sort(|x, y| { ` +
		`b.push([x, y, x, y]); x - y }); b.len`},
	{"sorting a large array", `let a = []; for i in 0..600000 { a.push(i * 7919 % 600011); } a.sort(); a.sort(|x, y| x - y); a.order();`},
	{"reducing to an array", `let a = []; a.pad(1000000, 0); a.reduce(|s, x| { s.push([x]); s }, [])`},
	{"zipping", `let a = []; a.pad(300000, 0); a.zip(a, |x, y| [x, y, [x, y]])`},
	{"finding with a closure that grows", `let a = []; a.pad(1000000, 0); let b = []; a.find_map(|x| { b.push([x, x, x]); })`},
	{"changing items in for_each", `let a = []; a.pad(500000, 0); a.for_each(|i| { this = [i, i, i, i, i, i, i, i]; });`},
	{"removing duplicates", `let a = []; a.pad(1000000, 0); let all = []; loop { let b = a; b.dedup(); let c = a; c.dedup(|x, y| false); ` +
		`all.push(c); }`},
	{"an array by ranges", `let a = []; for i in 0..100000000 { a.push(i); }`},
	{"ranges", `let a = []; loop { a.push(0..5); a.push(0..=5); }`},
	{"timestamps", `let a = []; loop { a.push(timestamp()); }`},
	{"floats with tags", `let a = []; loop { let x = 1.5; x.tag = 7; a.push(x); }`},
	{"ints with tags", `let a = []; loop { let x = 1; x.tag = 7; a.push(x); }`},
	{"iterators", `let s = "abc"; let a = []; loop { a.push(s.chars()); a.push(range(0, 10, 2)); a.push(7.bits()); }`},

	// Maps.
	{"a map that grows", `let m = #{}; let i = 0; loop { m["" + i] = i; i += 1; }`},
	{"a map that grows by set", `let m = #{}; let i = 0; loop { m.set("k" + i, i); i += 1; }`},
	{"wide maps", `let k = #{}; for i in 0..2000 { k["key number " + i] = i; } let all = []; loop { let m = k; m.x = 1; all.push(m); }`},
	{"many small maps", `let a = []; loop { a.push(#{a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9}); }`},
	{"maps of long keys", `let m = #{}; let k = "x"; k.pad(10000, "y"); let i = 0; loop { m[k + i] = i; i += 1; }`},
	{"adding maps", `let k = #{}; for i in 0..20000 { k["k" + i] = i; } let all = []; loop { all.push(k + #{x: 1}); }`},
	{"mixing in maps", `let k = #{}; for i in 0..20000 { k["k" + i] = i; } let all = []; loop { let m = #{}; m.mixin(k); all.push(m); let n = ` +
		`#{}; n.fill_with(k); all.push(n); }`},
	{"keys and values", `let k = #{}; for i in 0..20000 { k["k" + i] = i; } let all = []; loop { all.push(k.keys()); all.push(k.values()); }`},
	{"nesting maps", `let m = #{}; loop { m = #{a: m}; }`},
	{"nesting maps eight wide", `fn f(n) { if n == 0 { return #{a: 1}; } #{a: f(n-1), b: f(n-1), c: f(n-1), d: f(n-1), e: f(n-1), f: f(n-1), ` +
		`g: f(n-1), h: f(n-1)} } f(9)`},
	{"filtering maps", `let k = #{}; for i in 0..20000 { k["k" + i] = i; } let all = []; loop { all.push(k.filter(|k, v| true)); }`},
	{"draining maps", `let k = #{}; for i in 0..20000 { k["k" + i] = i; } let all = []; loop { let m = k; all.push(m.drain(|k, v| true)); let ` +
		`n = k; all.push(n.retain(|k, v| false)); }`},

	// Texts.
	{"doubling a text", `let s = "x"; loop { s += s; }`},
	{"concatenating a text", `let s = "x"; loop { s = s + s; }`},
	{"interpolating a text", "let s = \"x\"; loop { s = `${s}${s}`; }"},
	{"interpolating many texts", "let s = \"x\"; s.pad(1000000, \"y\"); let all = []; loop { all.push(`${s}!`); }"},
	{"interpolating inside of interpolating", "let s = \"x\"; s.pad(3000000, \"y\"); " +
		"`${s}${`${s}${`${s}${`${s}${`${s}${`${s}${s}`}${s}`}${s}`}${s}`}${s}`}`"},
	{"padding a text", `let s = ""; s.pad(500000000, "x");`},
	{"padding with a text", `let s = "x"; s.pad(1000000, "y"); let t = ""; t.pad(500000000, s);`},
	{"replacing in a text", `let s = "x"; loop { s.replace("x", "xxxxxxxxxx"); }`},
	{"upper and lower", `let s = "x"; s.pad(5000000, "y"); let all = []; loop { all.push(s.to_upper()); all.push(s.to_lower()); }`},
	{"characters that grow in upper case", `let s = "x"; s.pad(5000000, "ŉ"); let t = s; t.make_upper(); s.to_upper()`},
	{"many small texts", `let a = []; let i = 0; loop { a.push("n" + i); i += 1; }`},
	{"texts that share", `let s = "x"; s.pad(8000000, "y"); let all = []; loop { let t = s; t += "z"; all.push(t); }`},
	{"parts that keep a whole", `let all = []; let i = 0; loop { let s = "" + i; s.pad(1000000, "y"); all.push(s.sub_string(0, 300000)); i += 1; }`},
	{"parts of parts that keep a whole", `let all = []; let i = 0; loop { let s = "" + i; s.pad(1000000, "y"); for k in 0..20 { s = ` +
		`s.sub_string(0, s.len * 6 / 10); } all.push(s); i += 1; }`},
	{"popping until little is left", `let all = []; let i = 0; loop { let s = "" + i; s.pad(1000000, "y"); for k in 0..10 { s.pop(s.len * 4 / ` +
		`10); } all.push(s); s.trim(); all.push(s); i += 1; }`},
	{"iterators that keep a text", `let all = []; let i = 0; loop { let s = "" + i; s.pad(1000000, "y"); all.push(s.chars()); i += 1; }`},
	{"splitting a text", `let s = "x"; s.pad(2000000, ","); s.split(",")`},
	{"splitting a text into characters", `let s = "x"; s.pad(3000000, "y"); s.split()`},
	{"splitting a text by places", `let s = "x"; s.pad(8000000, "y"); let all = []; loop { all.push(s.split(10)); all.push(s.split_rev("y", 2)); }`},
	{"the characters of a text", `let s = "x"; s.pad(2000000, "y"); let a = []; for c in s { a.push(c); a.push(c.to_string()); } a.len`},
	{"to_chars", `let s = "x"; s.pad(4000000, "y"); s.to_chars()`},
	{"prepending", `let s = ""; let all = []; loop { s = "0123456789" + s; all.push(s); }`},
	{"removing and cropping", `let s = "x"; s.pad(8000000, "y"); let all = []; loop { let t = s; t.remove("x"); all.push(t); let u = s; ` +
		`u.crop(1); all.push(u); }`},
	{"numbers to text", `let a = []; let i = 0; loop { a.push(i.to_binary()); i += 1; }`},
	{"setting a character", `let s = "x"; s.pad(8000000, "y"); let all = []; loop { let t = s; t[3] = 'z'; all.push(t); let u = s; u.set(2, ` +
		`'z'); all.push(u); }`},

	// Blobs.
	{"a large blob", `blob(500000000)`},
	{"a blob that doubles", `let b = blob(10, 1); loop { b += b; }`},
	{"copies of a blob", `let b = blob(1000000, 1); let all = []; loop { let c = b; c[0] = 2; all.push(c); }`},
	{"a blob and a text", `let b = blob(8000000, 65); let all = []; loop { all.push(b.as_string()); all.push(b.as_string().to_blob()); }`},
	{"a blob that is no text", `let b = blob(8000000, 255); let s = b.as_string(); s += b; s + b`},
	{"a blob to an array", `let b = blob(8000000, 65); b.to_array()`},
	{"printing a blob", `let b = blob(16000000, 65); print(b); b.to_string()`},
	{"a blob to JSON", `let b = blob(16000000, 65); #{b: b}.to_json()`},

	// Shared structure, small and without end when it is written.
	{"printing shared structure", `let a = [1]; for i in 0..60 { a = [a, a]; } print(a);`},
	{"debugging shared structure", `let a = [1]; for i in 0..60 { a = [a, a]; } debug(a);`},
	{"throwing shared structure", `let a = [1]; for i in 0..60 { a = [a, a]; } throw a;`},
	{"throwing a map of shared structure", `let a = [1]; for i in 0..60 { a = #{a: a, b: a}; } throw a;`},
	{"throwing a large text", `let s = "x"; s.pad(15000000, "y"); throw s;`},
	{"catching and throwing", `let a = [1]; for i in 0..60 { a = [a, a]; } let all = []; loop { try { throw a; } catch (e) { all.push("" + ` +
		`e.len); all.push([e]); } }`},
	{"the value of shared structure", `let a = [1]; for i in 0..60 { a = [a, a]; } a`},
	{"the value of a wide structure", `let s = "x"; s.pad(1000000, "y"); let a = []; a.pad(100000, s); a`},
	{"printing a wide structure", `let s = "x"; s.pad(1000000, "y"); let a = []; a.pad(100000, s); print(a);`},
	{"debugging large texts", `let s = "x"; s.pad(15000000, "\n"); debug(s); debug(s); debug([s, s, s, s]);`},
	{"to_string of shared structure", `let a = [1]; for i in 0..60 { a = [a, a]; } a.to_string()`},
	{"to_debug of shared structure", `let a = [1]; for i in 0..60 { a = #{a: a, b: a}; } a.to_debug()`},
	{"to_json of shared structure", `let a = #{a: 1}; for i in 0..60 { a = #{a: a, b: a}; } a.to_json()`},
	{"to_json of large texts", `let s = "x"; s.pad(4000000, "\u0001"); #{a: s, b: s, c: s, d: s}.to_json()`},
	{"interpolating shared structure", "let a = [1]; for i in 0..60 { a = [a, a]; } `${a}`"},
	{"adding shared structure to a text", `let a = [1]; for i in 0..60 { a = [a, a]; } "" + a`},
	{"shared structure as an index", `let a = [1]; for i in 0..60 { a = [a, a]; } let m = #{}; m[a] = 1;`},
	{"comparing shared structure", `let a = [1]; let b = [1]; for i in 0..22 { a = [a, a]; b = [b, b]; } a == b`},
	{"printing closures of closures", `let f = |a| 1; for i in 0..60 { f = f.curry(f, f); } print(f); throw [f];`},
	{"join of shared structure", `let s = "x"; s.pad(1000000, "y"); let a = []; a.pad(1000, s); a.join(s)`},
	{"sum of shared structure", `let s = "x"; s.pad(1000000, "y"); let a = []; a.pad(1000, s); a.reduce(|x, y| "" + x + y)`},
	{"a missing index that is large", `let s = "x"; s.pad(10000000, "y"); let m = #{}; try { m.call(s); } catch (e) { print(e); } [1][s]`},
	{"a missing function with a large name", `let s = "x"; s.pad(15000000, "y"); let all = []; loop { try { call(Fn(s), 1); } catch (e) { ` +
		`all.push(e); } }`},
	{"a missing variable with a large name", `let s = "x"; s.pad(5000000, "y"); let all = []; loop { try { eval(s); } catch (e) { all.push(e); } }`},
	{"errors in errors", `let all = []; fn f(n) { if n == 0 { throw "x"; } f(n - 1) } loop { try { f(40); } catch (e) { all.push(e); ` +
		`all.push(#{e: e}); } }`},

	// JSON, numbers and other readers.
	{"parsing JSON of brackets", `let s = "["; s.pad(4000000, "[],"); s += "[]]"; parse_json(s)`},
	{"parsing JSON of maps", `let s = "{\"a\":["; s.pad(6000000, "{},"); s += "{}]}"; parse_json(s)`},
	{"parsing JSON of numbers", `let s = "{\"a\":["; s.pad(12000001, "1,"); s += "1]}"; s.len; parse_json(s)`},
	{"parsing JSON of small maps", `let s = "["; for i in 0..13 { if s.len < 3000000 { s += "{\"a\":{\"b\":{\"c\":1}}},"; s += ` +
		`s.sub_string(1); } } s += "1]"; parse_json(s)`},
	{"parsing JSON of keys", `let s = "{"; for i in 0..200000 { s += "\"" + i + "\":0,"; } s += "\"x\":0}"; let all = []; loop { ` +
		`all.push(parse_json(s)); }`},
	{"parsing JSON of keys again", `let s = "{"; for i in 0..10000 { s += "\"" + i + "\":{},"; } s += "\"x\":0}"; let all = []; loop { ` +
		`all.push(parse_json(s)); }`},
	{"parsing a number of many digits", `let s = "1"; s.pad(15000000, "1"); parse_int(s)`},
	{"parsing a float of many digits", `let s = "1."; s.pad(15000000, "1"); parse_float(s)`},

	// Code.
	{"eval of a large sum", `let s = "1"; s.pad(1000000, "+1"); eval(s)`},
	{"eval of many statements", `let s = ""; s.pad(4000000, "1;"); eval(s)`},
	{"eval of a large array", `let s = "["; s.pad(2000001, "1,"); s += "]"; eval(s)`},
	{"eval of arrays", `let s = "["; s.pad(3000001, "[],"); s += "]"; eval(s)`},
	{"eval of variables", `let s = ""; for i in 0..100000 { s += "let a" + i + "=0;"; } eval(s)`},
	{"eval of closures", `let s = "["; s.pad(1200001, "||1,"); s += "]"; eval(s)`},
	{"eval of texts kept", `let s = "|x| ["; for i in 0..10000 { s += "x,"; } s += "]"; let all = []; loop { all.push(eval(s)); }`},
	{"eval of closures kept", `let s = "["; s.pad(5001, "|x|x,"); s += "|x|1]"; let all = []; loop { all.push(eval(s)); }`},
	{"eval of a switch", `let s = "switch 1 {"; for i in 0..100000 { s += i + "=>" + i + ","; } s += "}"; eval(s)`},
	{"eval of a long name", `let s = "let x"; s.pad(8000000, "y"); s += "=1;"; for i in 0..30 { eval(s); }`},
	{"eval of interpolations", "let s = \"`\"; s.pad(3000001, \"${1}\"); s += \"`\"; eval(s)"},
	{"eval of maps", `let s = "["; s.pad(4000001, "#{},"); s += "]"; eval(s)`},
	{"eval of calls", `fn f(x) { x } let s = ""; s.pad(2500000, "f(1);"); eval(s)`},
	{"eval of chains", `let a = [1]; let s = ""; s.pad(3600000, "a.len;a[0];"); eval(s)`},
	{"eval of comments", `let s = ""; s.pad(14000000, "//x\n"); eval(s)`},
	{"eval of nothing", `let s = ""; s.pad(14000000, ";"); eval(s)`},
	{"eval of ifs", `let s = ""; s.pad(4400000, "if 1==2{3}else{4};"); eval(s)`},
	{"eval in a callback", `let s = "["; s.pad(60001, "1,"); s += "]"; let a = []; a.pad(300, 0); a.map(|x| eval(s))`},
	{"functions of many arguments", `let s = "x"; s.pad(10000, ",x"); let x = 1; loop { eval("[" + s + "].len; (|a,b| a).call(1,2)"); }`},
	{"variables by eval", `let i = 0; loop { eval("let v" + i + " = [1, 2, 3, 4, 5, 6, 7, 8];"); i += 1; }`},
	{"recursion with large frames", `fn f(n) { let a = []; a.pad(20000, n); if n == 0 { 0 } else { f(n - 1) + a.len } } loop { f(60); f(63); ` +
		`break; }`},
	{"recursion of wide frames", `let s = "fn "; let f = ""; for i in 0..20000 { f += "let a" + i + "=n;"; } fn g(n, f) { if n > 0 { eval(f + ` +
		`"g(n - 1, f)"); } } g(40, f);`},
	{"recursion of evals", `fn f(n) { let a = []; a.pad(40000, n); if n == 0 { 0 } else { eval("f(n - 1)") + a.len } } f(30)`},
	{"lists of functions", `fn a(x, y) { 1 } fn b(x) { 2 } let all = []; loop { all.push(get_fn_metadata_list()); }`},

	// Beside those above: each has a way of its own to what it takes.
	{"constants by eval", `let i = 0; loop { eval("const C" + i + " = [1, 2, 3, 4, 5, 6, 7, 8];"); i += 1; }`},
	{"large constants by eval", `let s = "x"; s.pad(100000, "y"); let i = 0; loop { eval("const C" + i + " = \"" + s + "\";"); i += 1; }`},
	{"functions by eval", `let i = 0; loop { try { eval("fn f" + i + "(x) { x + x + x }"); } catch { } i += 1; }`},
	{"evals of evals", "let s = \"1\"; for i in 0..24 { s = \"eval(\" + s.to_debug() + \")\"; } eval(s)"},
	{"curried evals", `let f = |a, b| a; let all = []; let i = 0; loop { let g = eval("|a, b| a + " + i); all.push(g.curry(f)); i += 1; }`},
	{"currying large arguments", `let a = []; a.pad(100000, 1); let f = |a| 1; loop { let b = a; b[0] = f; f = f.curry(b); }`},
	{"currying in a callback", `let f = |a| 1; let all = []; for i in 0..1000000 { all += [1].map(|x| f.curry(x, all)); }`},
	{"currying by reduce", `let a = []; a.pad(1000000, 1); a.reduce(|f, x| f.curry(f), |a| 1)`},
	{"closures with many variables", `let a=1; let b=2; let c=3; let d=4; let e=5; let f=6; let all = []; ` +
		`loop { let g = 1; let h = 2; all.push(|| a + b + c + d + e + f + g + h); }`},
	{"closures that hold one another", `let last = (); loop { let f = (); let h = last; f = || [f, h]; last = f; }`},
	{"cycles of closures in maps", `let all = #{}; let i = 0; loop { let m = #{}; let f = || m; m["f" + i] = f; m.all = all; all = m; i += 1; }`},
	{"sums before an array", `let a = []; loop { a = [a.len()] + a; }`},
	{"sums of several arrays", `let a = [1]; loop { a = a + a + a; }`},
	{"a sum that is kept each time", `let s = "x"; let all = []; loop { s = s + "0123456789012345678901234567890123456789"; all.push(s); }`},
	{"a sum before that is kept each time", `let s = "x"; let all = []; loop { s = "0123456789012345678901234567890123456789" + s; all.push(s); }`},
	{"taking from a text", `let s = "x"; s.pad(8000000, "y"); let all = []; loop { all.push(s - "x"); let t = s; t -= "x"; all.push(t); }`},
	{"a character of many texts", `let all = []; let s = "é"; s.pad(1000000, "ü"); loop { let t = s; t += "z"; t[500000]; all.push(t); }`},
	{"a range to items", `let a = []; for i in 0..3 { for (x, k) in 0..1000000000 { a += [x, k]; } }`},
	{"changing many texts", `let a = []; a.pad(200000, "x"); for i in 0..200000 { a[i] += "0123456789012345678901234567890123456789" + i; }`},
	{"changing maps in an array", `let a = []; a.pad(300000, #{}); for i in 0..300000 { a[i].x = i; }`},
	{"arrays of copies of arrays of copies", `let a = [0]; for i in 0..9 { let b = []; for k in 0..8 { let c = a; c[0] = k; b.push(c); } a = b; } ` +
		`fn touch(a) { for i in 0..a.len() { if type_of(a[i]) == "array" { a[i] = touch(a[i]); } else { a[i] = 7; } } a } touch(a)`},
	{"wide maps of wide maps", `let k = #{}; for i in 0..500 { k["key " + i] = i; } let all = #{}; ` +
		`for i in 0..100000 { let m = k; m.x = i; for j in 0..3 { m["key " + j] = m; } all["m" + i] = m; }`},
	{"keys that are long and many", `let m = #{}; for i in 0..1000000 { ` +
		`m["a key of some length, that takes room beside its value, number " + i] = (); }`},
	{"throwing in callbacks", `let a = [1]; for i in 0..60 { a = [a, a]; } let all = []; loop { ` +
		`try { [1].map(|x| { throw a; }); } catch (e) { all.push(e); all.push("" + all.len()); } }`},
	{"throwing what was caught", `fn f(n, x) { try { if n == 0 { throw x; } f(n - 1, [x, x]); } catch (e) { throw [e, e]; } } loop { ` +
		`try { f(30, "x"); } catch (e) { "" + e; } }`},
	{"throwing shared structure with maps and texts", `let a = "x"; a.pad(1000, "\n"); for i in 0..40 { a = #{a: [a, a], b: a}; } throw a;`},
	{"to_json of wide structure", `let s = "x"; s.pad(1000000, "\""); let m = #{}; for i in 0..1000 { m["k" + i] = s; } m.to_json()`},
	{"to_json again and again", `let m = #{}; for i in 0..1000 { m["k" + i] = [i, i]; } let all = []; loop { all.push(m.to_json()); }`},
	{"printing cycles of closures", `let a = []; let f = || a; a.push(f); for i in 0..40 { a.push(a); } print(a); debug(a); throw a;`},
	{"debugging what curries itself", `let f = |a| 1; for i in 0..50 { f = f.curry(f, f); } debug(f); debug([f, #{f: f}]); print("" + f);`},
	{"a long name that is missed", `let s = "x"; s.pad(3000000, "y"); let all = []; loop { try { Fn(s).call(all); } catch (e) { all.push(e); } }`},
	{"asking for functions", `let s = "x"; let all = []; loop { s += "yyyyyyyyyyyyyyyyyyyyyyyy"; all.push(is_def_fn(s, 3)); all.push(is_def_var(s)); }`},
	{"a blob that is written to", `let b = blob(); loop { b.push(1); b += "0123456789"; b.append(b); }`},
	{"padding a blob", `let b = blob(); b.pad(1000000000, 1); b`},
	{"parts of a blob", `let b = blob(8000000, 1); let all = []; loop { all.push(b.extract(1)); let c = b; all.push(c.split(5)); all.push(c); }`},
	{"frames of closures", `fn f(n, g) { let h = || [n, g]; if n == 0 { h } else { f(n - 1, h) } } let all = []; loop { all.push(f(50, 1)); }`},
	{"switching on shared structure", `let a = [1]; for i in 0..60 { a = [a, a]; } switch a { 1 => 2, "x" => 3, _ => 4 }`},
	{"looking for shared structure", `let a = [1]; for i in 0..60 { a = [a, a]; } let b = [a, a, a]; [b.index_of(a), b.contains(a), a in b]`},
}

// hostileTexts are scripts that are large themselves.
var hostileTexts = []struct {
	name, head, part string
	times            int
	tail             string
}{
	{"a sum", "1", "+1", 1_500_000, ""},
	{"statements", "", "1;", 4_000_000, ""},
	{"variables", "", "let a=1;", 400_000, ""},
	{"arrays", "[", "[],", 2_000_000, "]"},
	{"constants", "", "const A=\"x\";", 300_000, ""},
	{"functions", "", "fn f%d(){1} ", 100_000, ""},
	{"closures", "[", "|x|x,", 700_000, "]"},
	{"a switch", "switch 7 {", "%d=>%d,", 200_000, "}"},
	{"an identifier", "let x", "yyyyyyyyyy", 800_000, "=1;"},
	{"calls", "fn f(x){x} ", "f(1);", 800_000, ""},
	{"texts", "[", "\"x\",", 1_500_000, "]"},
	{"interpolations", "`", "${1}", 1_000_000, "`"},
	{"a map", "#{", "a%d:1,", 200_000, "}"},
	{"a wide function that calls itself", "fn f(n) { if n == 0 { return; } ", "let a%d=1;", 10_000, "f(n - 1); } f(60);"},
}

const (
	hostileLimit      = "32M"
	hostileOperations = "10000000"
	// hostilePeak is what the process may take at most, which has about 75 MB before it begins.
	hostilePeak = 160 << 10 // KiB
)

// limits are what a script that ends at one says, one of them.
var limits = []string{" too large", "Stack overflow", "Too many operations", "--max-memory"}

// TestRhaiMemory runs scripts that try to take the machine's memory, each in a process of its own whose peak is measured.
func TestRhaiMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("about 170 processes, each of which takes all the memory that it may")
	}
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			tryHostile(t, h.script)
		})
	}
	for _, h := range hostileTexts {
		t.Run("a text of "+h.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			b.WriteString(h.head)
			for i := range h.times {
				b.WriteString(strings.ReplaceAll(h.part, "%d", fmt.Sprint(i)))
			}
			b.WriteString(h.tail)
			tryHostile(t, b.String())
		})
	}
}

// ends keeps how what is written to it begins and ends. Much kept would be measured too: a process begins with the size of the one that makes it.
type ends struct{ head, tail string }

func (e *ends) Write(b []byte) (int, error) {
	n := min(len(b), 1000-len(e.head))
	e.head += string(b[:n])
	e.tail += string(b[max(n, len(b)-1000):])
	e.tail = e.tail[max(0, len(e.tail)-1000):]
	return len(b), nil
}

func (e *ends) String() string { return e.head + e.tail }

func tryHostile(t *testing.T, text string) {
	file := filepath.Join(t.TempDir(), "hostile.rhai")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// The collector is as late as the machine is busy, by some megabytes: what a
	// script takes is what it takes each time.
	peak, code, said := runHostile(t, file)
	for tries := 1; peak > hostilePeak && tries < 3; tries++ {
		peak, code, said = runHostile(t, file)
	}
	if peak > hostilePeak {
		t.Errorf("the process took %d MB, want at most %d; it ended with %d: %s", peak>>10, hostilePeak>>10, code, said)
	}
	// 0 it ended, 1 it threw, 2 it is no script or its eval is none, 6 a limit.
	switch {
	case code == 6 && !slices.ContainsFunc(limits, func(name string) bool { return strings.Contains(said, name) }):
		t.Errorf("it ended at a limit, which it does not name: %s", said)
	case code > 2 && code != 6, code < 0, strings.Contains(said, "goroutine "):
		t.Errorf("it ended with %d: %s", code, said)
	}
}

// runHostile runs a script and returns what it took at most, in KiB, and how it ended.
func runHostile(t *testing.T, file string) (peak int64, code int, said string) {
	var stderr ends
	// The shell's bound is for the day when Ramet's own does not hold: the machine that runs the tests lives.
	c := exec.CommandContext(t.Context(), "/bin/sh", "-c", `ulimit -v 3000000; exec "$@"`, "sh",
		filepath.Join(bin, "ramet"), "rhai", "--max-memory", hostileLimit, "--max-operations", hostileOperations, file)
	c.Stderr = &stderr
	var failed *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss, c.ProcessState.ExitCode(), stderr.String()
}
