package rhai_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/rhai"
)

// Loops that build a text or an array by sums take memory for what they build, not for every step of it.
func TestSumsGrowInPlace(t *testing.T) {
	for _, tt := range []struct{ name, src string }{
		{"behind a text", `let s = ""; for i in 0..20000 { s = s + "ab"; } s.len()`},
		{"several parts", `let s = ""; for i in 0..20000 { s = s + i + "," + 'x'; } s.len()`},
		{"before a text", `let s = ""; for i in 0..20000 { s = "ab" + s; } s.len()`},
		{"behind an array", `let a = []; for i in 0..20000 { a = a + [i]; } a.len()`},
		{"a blob", `let b = blob(); let x = blob(2); for i in 0..20000 { b = b + x; } b.len()`},
		{"a branch", `let s = ""; for i in 0..20000 { s = s + if i % 2 == 0 { "ab" } else { i }; } s.len()`},
		{"an interpolation", "let s = \"\"; for i in 0..20000 { s = `${s}ab${i}`; } s.len()"},
		{"what calls in a text give", "fn f(x) { x } let s = \"\"; for i in 0..20000 { s = s + `${f(i)},`; } s.len()"},
		{"what calls in an array give", `fn f(x) { x } let a = []; for i in 0..20000 { a = a + [f(i)]; } a.len()`},
		{"what functions give", `fn f(x) { [x] } let a = []; for i in 0..20000 { a = a + f(i); } a.len()`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			engine := rhai.NewEngine()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := engine.Eval(t.Context(), tt.src); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; taken > 16 {
				t.Errorf("took %d MiB", taken)
			}
		})
	}
}

// What grows in place is what the sum would be: also where the parts change what grows, or
// it is not of the kind that it mostly is.
func TestSumsThatGrowAreSums(t *testing.T) {
	for src, want := range map[string]string{
		"let s = \"a\"; s = `${s}b${s}${1.5}${[1, \"x\"]}`; s":                      "aba1.5[1, \"x\"]",
		"let s = [1]; s = `${s}b`; s":                                               "[1]b",
		"let s = 7; s = `${s}b`; s":                                                 "7b",
		"let s = \"a\"; let t = s; s = `${s}b`; t + s":                              "aab",
		`let s = "a"; s = s + if true { s = "x"; "b" } else { "c" }; s`:             "ab",
		`let s = "a"; s = s + if s == "a" { s } else { "c" }; s`:                    "aa",
		`let s = "a"; s = s + if false { "b" }; s`:                                  "a",
		`let s = "a"; for i in 0..3 { s = s + if i == 1 { break; } else { i }; } s`: "a0",
		`let b = blob(1, 1); let c = b; b = b + b; c.len().to_string() + b`:         "1",
		`let b = blob(1, 65); b = b + b + blob(1, 66); b.as_string()`:               "AAB",
		"fn f(x) { x } let a = [0]; a = a + [f(a.len()), a.len()]; `${a}`":          "[0, 1, 1]",
	} {
		v, err := rhai.NewEngine().Eval(t.Context(), src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
		} else if got := v.Display(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", src, got, want)
		}
	}
}
