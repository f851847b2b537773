package rhai_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// small is an engine for texts that nobody has looked at: everything is bounded.
func small() *rhai.Engine {
	e := rhai.NewEngine()
	e.MaxOperations, e.MaxCallLevels, e.MaxVariables, e.MaxModules = 5000, 12, 100, 3
	e.MaxMemory = 4 << 20
	e.Sizes = value.Limits{MaxString: 4096, MaxArray: 1024, MaxMap: 256}
	e.Resolver = rhai.MemoryResolver{"m": "export const A = [1, [2]]; fn f(x) { x.push(1); x } fn array.g() { this.len }"}
	e.OnPrint = func(string) {}
	e.OnDebug = func(string, string, rhai.Pos) {}
	e.Pause = func(time.Duration) {}
	return e
}

// FuzzEval runs any text: no panic, an end within the limits, and a value or an
// error of the script's. What comes out can be shown.
func FuzzEval(f *testing.F) {
	for _, c := range readCases(f) {
		if len(c.Src) < 2000 {
			f.Add(c.Src)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		scope := rhai.NewScope().Set("a", value.NewArray([]rhai.Value{value.Int(1), value.NewArray(nil)})).
			Set("s", value.Str("héllo")).SetConst("K", value.NewMap(0))
		start := time.Now()
		v, err := small().EvalWith(ctx, text, scope)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
		var failed *rhai.Error
		switch {
		case errors.As(err, &failed):
			_, _ = failed.Error(), rhai.Explain(failed, text)
		case err != nil:
			t.Errorf("got an error of type %T, want one of the script's: %v", err, err)
		case v.IsNone():
			t.Error("got neither a value nor an error")
		default:
			_, _, _ = v.Display(), v.HostDebug(), value.ToGo(v)
		}
		for i := range scope.Len() {
			if _, v, _ := scope.At(i); v.IsNone() {
				t.Errorf("variable %d of the scope is no value", i)
			}
		}
	})
}
