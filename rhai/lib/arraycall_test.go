package lib_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/rhai/value"
)

func isEven(el *value.Value) value.Value { return value.Bool(el.AsInt()%2 == 0) }

// addTen changes the element in place and gives it.
func addTen(el *value.Value) value.Value {
	*el = value.Int(el.AsInt() + 10)
	return *el
}

// failOn fails at the element i.
func failOn(i int64, f func(*value.Value) value.Value) callback {
	return func(c *value.Ctx, el *value.Value, _ []value.Value, _ int, _ []value.Value) value.Value {
		if el.AsInt() == i {
			return c.Throw("no %d", i)
		}
		return f(el)
	}
}

func TestArrayCallbacks(t *testing.T) {
	thrown := func(name string) string {
		return "! Runtime error: no 3 (line 1, position 2)\nin call to function '" + name + "' (line 1, position 2)"
	}
	tests := []struct {
		name, fn string
		f        callback
		this     value.Value
		rest     []value.Value
		want     string
	}{
		{"map", "map", each(func(el *value.Value) value.Value { return value.Int(-el.AsInt()) }), ints(1, 2), nil, "[-1, -2] | [1, 2]"},
		{"map sees changes in place", "map", each(addTen), ints(1, 2), nil, "[11, 12] | [11, 12]"},
		{"map stops at an error", "map", failOn(3, addTen), ints(1, 3, 2), nil, thrown("map") + " | [11, 3, 2]"},
		{"filter", "filter", each(isEven), ints(1, 2, 3, 4), nil, "[2, 4] | [1, 2, 3, 4]"},
		{"filter takes true only", "filter", each(addTen), ints(1), nil, "[] | [11]"},
		{"some", "some", failOn(3, isEven), ints(1, 2, 3), nil, "true | [1, 2, 3]"},
		{"some of none", "some", each(isEven), ints(), nil, "false | []"},
		{"all", "all", failOn(3, isEven), ints(2, 1, 3), nil, "false | [2, 1, 3]"},
		{"all of none", "all", each(isEven), ints(), nil, "true | []"},
		{"find", "find", each(isEven), ints(1, 2, 4), nil, "2 | [1, 2, 4]"},
		{"find from the end", "find", each(isEven), ints(2, 4, 5), args(value.Int(-2)), "4 | [2, 4, 5]"},
		{"find nothing", "find", each(isEven), ints(1), nil, "() | [1]"},
		{"find fails as index_of", "find", failOn(3, isEven), ints(3), nil, thrown("index_of") + " | [3]"},
		{"find_map", "find_map", each(addTen), ints(1, 2), nil, "11 | [11, 2]"},
		{"index_of", "index_of", each(isEven), ints(1, 2, 4), nil, "1 | [1, 2, 4]"},
		{"index_of from a start", "index_of", each(isEven), ints(1, 2, 4), args(value.Int(2)), "2 | [1, 2, 4]"},
		{"for_each", "for_each", each(addTen), ints(1, 2), nil, "() | [11, 12]"},
		{"drain", "drain", each(isEven), ints(1, 2, 3, 4), nil, "[2, 4] | [1, 3]"},
		{"drain after an error has what is left", "drain", failOn(3, isEven), ints(2, 1, 4, 3, 6), nil, thrown("drain") + " | [1, 3, 6]"},
		{"retain", "retain", each(isEven), ints(1, 2, 3, 4), nil, "[1, 3] | [2, 4]"},
		{"retain keeps changes", "retain", each(addTen), ints(1, 2), nil, "[11, 12] | []"},
	}
	for _, tt := range tests {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, shared %v", tt.name, shared), func(t *testing.T) {
				c, h := newCtx()
				h.fns["f"] = tt.f
				this := array(slices.Clone(tt.this.AsArray().Items)...)
				var other value.Value
				if shared {
					other = this.Keep()
				}
				got := show(c, run(t, c, tt.fn, &this, append(args(fn("f")), tt.rest...)...)) + " | " + this.HostDebug()
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				if shared && other.HostDebug() != tt.this.HostDebug() {
					t.Errorf("the other place has %s, want %s", other.HostDebug(), tt.this.HostDebug())
				}
			})
		}
	}
}

func TestNestedItemsOfASharedArrayAreChangedInOnePlace(t *testing.T) {
	c, h := newCtx()
	h.fns["f"] = each(func(el *value.Value) value.Value {
		value.MutArray(el).Items[0] = value.Int(9)
		return value.Unit
	})
	a := array(ints(1), ints(2))
	b := a.Keep()
	run(t, c, "for_each", &b, fn("f"))
	if diff := cmp.Diff([]string{"[[1], [2]]", "[[9], [9]]"}, []string{a.HostDebug(), b.HostDebug()}); diff != "" {
		t.Error(diff)
	}
}

// TestCallbackForms shows what the evaluator is told of each callback.
func TestCallbackForms(t *testing.T) {
	var seen []string
	tell := func(_ *value.Ctx, el *value.Value, fixed []value.Value, at int, extra []value.Value) value.Value {
		var b strings.Builder
		if el != nil {
			fmt.Fprintf(&b, "%s at %d", el.HostDebug(), at)
		} else {
			fmt.Fprintf(&b, "nothing at %d", at)
		}
		for _, v := range fixed {
			b.WriteString(" " + v.HostDebug())
		}
		for _, v := range extra {
			b.WriteString(" +" + v.HostDebug())
		}
		seen = append(seen, b.String())
		return value.Int(int64(len(seen)))
	}
	tests := []struct {
		fn   string
		this value.Value
		args []value.Value
		want []string
	}{
		{"map", ints(7, 8), args(fn("f")), []string{"7 at 0 +0", "8 at 0 +1"}},
		{"for_each", ints(7, 8), args(fn("f")), []string{"7 at -1 +0", "8 at -1 +1"}},
		{"reduce", ints(7, 8), args(fn("f")), []string{"7 at 1 () +0", "8 at 1 1 +1"}},
		{"reduce", ints(7, 8), args(fn("f"), value.Int(5)), []string{"7 at 1 5 +0", "8 at 1 1 +1"}},
		{"reduce_rev", ints(7, 8), args(fn("f")), []string{"8 at 1 () +1", "7 at 1 1 +0"}},
		{"drain", ints(7, 8), args(fn("f")), []string{"7 at 0 +0", "8 at 0 +1"}},
		{"zip", ints(7, 8), args(ints(5, 6, 4), fn("f")), []string{"nothing at -1 7 5 +0", "nothing at -1 8 6 +1"}},
		{"sort", ints(7, 8), args(fn("f")), []string{"nothing at -1 8 7"}},
		{"dedup", ints(7, 8), args(fn("f")), []string{"nothing at -1 7 8"}},
		{"map", object(t, "a", value.Int(7)), args(fn("f")), []string{`7 at 1 "a"`}},
	}
	for _, tt := range tests {
		t.Run(tt.fn+" of "+tt.this.TypeName(), func(t *testing.T) {
			c, h := newCtx()
			h.fns["f"], seen = tell, nil
			run(t, c, tt.fn, &tt.this, tt.args...)
			if diff := cmp.Diff(tt.want, seen); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReduceOfNothing(t *testing.T) {
	c, _ := newCtx()
	a := ints()
	if got := show(c, run(t, c, "reduce", &a, fn("f"), value.Int(5))); got != "5" {
		t.Errorf("got %s, want what it begins with", got)
	}
}

func TestCallbacksByName(t *testing.T) {
	c, h := newCtx()
	h.fns["f"] = each(isEven)
	a := array(value.Int(1), value.Int(4), value.Str("g"), value.Str("a b"))
	h.fns["h"] = func(c *value.Ctx, _ *value.Value, _ []value.Value, _ int, _ []value.Value) value.Value {
		return c.Fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: "missing ()"})
	}
	tests := []struct{ name, fn, arg, want string }{
		{"a function of the name is called", "index_of", "f", "1"},
		{"else the name is looked for", "index_of", "g", "2"},
		{"what cannot be a name is looked for", "index_of", "a b", "3"},
		{"a function that misses another fails", "index_of", "h",
			"! Function not found: missing () (line 1, position 2)\nin call to function 'index_of' (line 1, position 2)"},
		{"other functions need a name", "map", "a b", "! Function not found: a b (line 1, position 2)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(c, run(t, c, tt.fn, &a, value.Str(tt.arg))); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestExitInACallbackIsNoError(t *testing.T) {
	for _, name := range []string{"map", "filter", "for_each", "sort", "dedup", "drain", "zip", "reduce"} {
		c, h := newCtx()
		h.fns["f"] = func(*value.Ctx, *value.Value, []value.Value, int, []value.Value) value.Value { return value.Value{} }
		a, rest := ints(1, 2), args(fn("f"))
		if name == "zip" {
			rest = args(a, fn("f"))
		}
		out := find(t, name, append(args(a), rest...)).Call(c, &a, rest)
		if !out.IsNone() || c.Err != nil {
			t.Errorf("%s gives %s, want nothing", name, show(c, out))
		}
		if got := a.HostDebug(); got != "[1, 2]" {
			t.Errorf("%s leaves %s", name, got)
		}
	}
}

func TestLibraryFunctionsStandInErrorsOfTheirCallbacks(t *testing.T) {
	const frame = "in call to function 'map' (line 1, position 2)"
	for want, answer := range map[string]*value.Error{
		"in closure call\n" + frame: {Kind: value.ErrorInFunctionCall, Name: "anon$1", Inner: &value.Error{Kind: value.ErrorUnboundThis}},
		frame:                       {Kind: value.ErrorFunctionNotFound, Name: "anon$1 (i64, i64)"}, // no form fits
		"Too many operations":       {Kind: value.ErrorTooManyOperations},
	} {
		c, h := newCtx()
		h.fns["anon$1"] = func(c *value.Ctx, _ *value.Value, _ []value.Value, _ int, _ []value.Value) value.Value {
			c.Err = answer
			return value.Value{}
		}
		a := ints(1)
		got := show(c, run(t, c, "map", &a, value.NewFn("anon$1", nil, "its definition", nil)))
		if !strings.HasSuffix(got, want) {
			t.Errorf("got %s, want it to end with %s", got, want)
		}
	}
}

func BenchmarkMapFilterReduce(b *testing.B) {
	c, h := newCtx()
	h.fns["double"] = each(func(el *value.Value) value.Value { return value.Int(el.AsInt() * 2) })
	h.fns["even"] = each(isEven)
	h.fns["sum"] = func(_ *value.Ctx, el *value.Value, fixed []value.Value, _ int, _ []value.Value) value.Value {
		return value.Int(fixed[0].AsInt() + el.AsInt())
	}
	list := make([]int64, 100_000)
	a := ints(list...)
	mapFn, filterFn := find(b, "map", args(a, fn("f"))), find(b, "filter", args(a, fn("f")))
	reduceFn := find(b, "reduce", args(a, fn("f"), value.Int(0)))
	b.ReportAllocs()
	for b.Loop() {
		x := mapFn.Call(c, &a, args(fn("double")))
		x = filterFn.Call(c, &x, args(fn("even")))
		reduceFn.Call(c, &x, args(fn("sum"), value.Int(0)))
	}
}
