package rhai_test

import (
	"runtime"
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
