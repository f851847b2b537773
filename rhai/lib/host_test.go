package lib_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/rhai/lib"
	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// fakeHost is an evaluator without scripts: its functions are written in Go.
type fakeHost struct {
	fns     map[string]callback
	now     time.Time
	charged int
	budget  int // of memory; 0 means any
	steps   int
}

// callback is a function of the fake evaluator.
type callback func(c *value.Ctx, el *value.Value, fixed []value.Value, at int, extra []value.Value) value.Value

func (f callback) Call(c *value.Ctx, el *value.Value, fixed []value.Value, at int, extra []value.Value) value.Value {
	return f(c, el, fixed, at, extra)
}

func (h *fakeHost) CallFn(c *value.Ctx, fn value.Value, _ *value.Value, args []value.Value) value.Value {
	names := make([]string, len(args))
	for i, arg := range args {
		names[i] = arg.SignatureName()
	}
	name := fn.AsFn().Name + " (" + strings.Join(names, ", ") + ")"
	return c.Fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: name})
}

func (h *fakeHost) Callback(_ *value.Ctx, fn value.Value) value.Callback {
	if f, ok := h.fns[fn.AsFn().Name]; ok {
		return f
	}
	return callback(func(c *value.Ctx, _ *value.Value, _ []value.Value, _ int, _ []value.Value) value.Value {
		return c.Fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: fn.AsFn().Name + " ()"})
	})
}

func (h *fakeHost) Named(c *value.Ctx, name string) value.Value {
	if name == "" || strings.ContainsAny(name, " +") {
		return c.Fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: name})
	}
	return value.NewFn(name, nil, nil, nil)
}

func (h *fakeHost) Alive(_ *value.Ctx, n int) bool { h.steps += n; return true }

func (h *fakeHost) Charge(c *value.Ctx, bytes int) bool {
	h.charged += bytes
	if h.budget > 0 && h.charged > h.budget {
		c.Fail(&value.Error{Kind: value.ErrorDataTooLarge, Name: "Memory"})
		return false
	}
	return true
}

func (h *fakeHost) Now() time.Time                           { return h.now }
func (h *fakeHost) Print(string)                             {}
func (h *fakeHost) Debug(string, string, syntax.Pos)         {}
func (h *fakeHost) Functions(string, int) []*syntax.Func     { return nil }
func (h *fakeHost) Sleep(_ *value.Ctx, d time.Duration) bool { h.now = h.now.Add(d); return true }

func newCtx() (*value.Ctx, *fakeHost) {
	h := &fakeHost{fns: map[string]callback{}}
	return &value.Ctx{Host: h, Pos: syntax.Pos{Line: 1, Col: 2}}, h
}

// find picks the overload of a standard function that takes args: one with
// exact types before one that takes anything.
func find(t testing.TB, name string, args []value.Value) *value.Native {
	t.Helper()
	var found *value.Native
	for _, n := range lib.Standard() {
		if n.Name == name && accepts(n, args) && (found == nil || width(n) < width(found)) {
			found = n
		}
	}
	if found == nil {
		t.Fatalf("there is no %s for %d arguments of these types", name, len(args))
	}
	return found
}

func accepts(n *value.Native, args []value.Value) bool {
	if len(n.Params) != len(args) {
		return false
	}
	for i, p := range n.Params {
		if !p.Accepts(args[i]) {
			return false
		}
	}
	return true
}

func width(n *value.Native) (any int) {
	for _, p := range n.Params {
		if p.Kinds == value.AnyKind {
			any++
		}
	}
	return any
}

// run calls a standard function. The first argument may be changed.
func run(t testing.TB, c *value.Ctx, name string, this *value.Value, args ...value.Value) value.Value {
	t.Helper()
	c.Err = nil
	if this == nil {
		return find(t, name, nil).Call(c, nil, nil)
	}
	all := append([]value.Value{*this}, args...)
	out := find(t, name, all).Call(c, this, args)
	if out.IsNone() && c.Err == nil {
		t.Fatalf("%s gives neither a value nor an error", name)
	}
	return out
}

// show renders a value, or the error instead of one.
func show(c *value.Ctx, v value.Value) string {
	if v.IsNone() {
		return "! " + c.Err.Error()
	}
	return v.HostDebug()
}

func ints(list ...int64) value.Value {
	items := make([]value.Value, len(list))
	for i, n := range list {
		items[i] = value.Int(n)
	}
	return value.NewArray(items)
}

func array(items ...value.Value) value.Value { return value.NewArray(items) }

func object(t testing.TB, pairs ...any) value.Value {
	t.Helper()
	m := value.NewMap(0)
	for i := 0; i < len(pairs); i += 2 {
		m.AsMap().Set(pairs[i].(string), pairs[i+1].(value.Value))
	}
	return m
}

func fn(name string) value.Value { return value.NewFn(name, nil, nil, nil) }

// each is a callback that gives what f makes of the element.
func each(f func(el *value.Value) value.Value) callback {
	return func(_ *value.Ctx, el *value.Value, _ []value.Value, _ int, _ []value.Value) value.Value { return f(el) }
}
