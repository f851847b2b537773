package lib_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/rhai/value"
)

func TestSort(t *testing.T) {
	f, s, ch := value.Float, value.Str, value.Char
	check(t, []call{
		{"ints", "sort", ints(3, -1, 2), nil, "() | [-1, 2, 3]"},
		{"ints, descending", "sort_desc", ints(3, -1, 2), nil, "() | [3, 2, -1]"},
		{"a sorted copy", "order", ints(3, -1, 2), nil, "[-1, 2, 3] | [3, -1, 2]"},
		{"a sorted copy, descending", "order_desc", ints(3, -1, 2), nil, "[3, 2, -1] | [3, -1, 2]"},
		{"floats", "sort", array(f(2.5), f(-1), f(2)), nil, "() | [-1.0, 2.0, 2.5]"},
		{"equal floats stay", "sort", array(f(1), f(0), f(math.Copysign(0, -1))), nil, "() | [0.0, -0.0, 1.0]"},
		{"NaN ends", "sort", array(f(math.NaN()), f(1)), nil, "() | [NaN, 1.0]"},
		{"chars", "sort", array(ch('é'), ch('b'), ch('a')), nil, "() | ['a', 'b', 'é']"},
		{"strings by bytes", "sort", array(s("b"), s("B"), s("é"), s("")), nil, `() | ["", "B", "b", "é"]`},
		{"bools", "sort_desc", array(value.False, value.True), nil, "() | [true, false]"},
		{"units", "sort", array(value.Unit, value.Unit), nil, "() | [(), ()]"},
		{"one item of any type", "sort", array(fn("f")), nil, `() | [Fn("f")]`},
		{"different types", "sort", array(value.Int(1), f(1)), nil,
			"! Function not found: elements of different types cannot be sorted (line 1, position 2) | [1, 1.0]"},
		{"arrays", "order", array(ints(2), ints(1)), nil,
			"! Function not found: elements of array cannot be sorted (line 1, position 2) | [[2], [1]]"},
		{"ranges", "sort", array(value.NewRange(1, 2), value.NewRange(1, 2)), nil,
			"! Function not found: elements of core::ops::range::Range<i64> cannot be sorted (line 1, position 2) | [1..2, 1..2]"},
	})
}

func TestSortKeepsTagsWithTheirItems(t *testing.T) {
	c, _ := newCtx()
	a := array(value.Int(2), value.Int(1).WithTag(5), value.Int(1))
	run(t, c, "sort", &a)
	items := a.AsArray().Items
	if items[0].Tag() != 5 || items[1].Tag() != 0 || a.HostDebug() != "[1, 1, 2]" {
		t.Errorf("got %s, tags %d %d", a.HostDebug(), items[0].Tag(), items[1].Tag())
	}
}

func TestSortBy(t *testing.T) {
	comparers := map[string]func(x, y int64) value.Value{
		"by difference": func(x, y int64) value.Value { return value.Int(x - y) },
		"by less":       func(x, y int64) value.Value { return value.Bool(x < y) },
	}
	for name, f := range comparers {
		for _, n := range []int{0, 1, 2, 19, 20, 21, 64, 1000} {
			c, h := newCtx()
			// The items are compared by their tens: stable order keeps the ones.
			h.fns["f"] = func(_ *value.Ctx, _ *value.Value, fixed []value.Value, _ int, _ []value.Value) value.Value {
				return f(fixed[0].AsInt()/10, fixed[1].AsInt()/10)
			}
			list := make([]int64, n)
			for i := range list {
				list[i] = rand.Int64N(int64(n))
			}
			a := ints(list...)
			run(t, c, "sort_by", &a, fn("f"))
			slices.SortStableFunc(list, func(x, y int64) int { return int(x/10 - y/10) })
			if want := ints(list...).HostDebug(); a.HostDebug() != want {
				t.Fatalf("%s: got %s, want %s", name, a.HostDebug(), want)
			}
		}
	}
}

func TestSortByEndsWithAnyComparer(t *testing.T) {
	for _, n := range []int{3, 20, 100, 1000} {
		c, h := newCtx()
		h.fns["f"] = func(*value.Ctx, *value.Value, []value.Value, int, []value.Value) value.Value {
			return value.Int(int64(rand.IntN(3) - 1))
		}
		a := ints()
		for i := range n {
			run(t, c, "push", &a, value.Int(int64(i)))
		}
		want := a.HostDebug()
		run(t, c, "sort", &a, fn("f"))
		run(t, c, "sort", &a)
		if got := a.HostDebug(); got != want {
			t.Errorf("%d items became %s", n, got)
		}
	}
}

func TestComparersThatFail(t *testing.T) {
	answers := map[string]func(c *value.Ctx) value.Value{
		"a thrown error":  func(c *value.Ctx) value.Value { return c.Throw("no") },
		"another type":    func(*value.Ctx) value.Value { return value.Str("less") },
		"a limit reached": func(c *value.Ctx) value.Value { return c.Fail(&value.Error{Kind: value.ErrorTooManyOperations}) },
	}
	want := map[string]string{
		"a thrown error":  "() | [3, 1, 1.5, \"a\"]", // sorted by type
		"another type":    "() | [3, 1, 1.5, \"a\"]",
		"a limit reached": "! Too many operations (line 1, position 2) | [3, \"a\", 1, 1.5]",
	}
	got := map[string]string{}
	for name, answer := range answers {
		c, h := newCtx()
		h.fns["f"] = func(c *value.Ctx, _ *value.Value, _ []value.Value, _ int, _ []value.Value) value.Value {
			return answer(c)
		}
		a := array(value.Int(3), value.Str("a"), value.Int(1), value.Float(1.5))
		got[name] = fmt.Sprint(show(c, run(t, c, "sort", &a, fn("f"))), " | ", a.HostDebug())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkSort(b *testing.B) {
	for _, name := range []string{"ints", "closure"} {
		b.Run(name, func(b *testing.B) {
			c, h := newCtx()
			h.fns["f"] = func(_ *value.Ctx, _ *value.Value, fixed []value.Value, _ int, _ []value.Value) value.Value {
				return value.Int(fixed[0].AsInt() - fixed[1].AsInt())
			}
			list := make([]int64, 20_000)
			for i := range list {
				list[i] = rand.Int64()
			}
			a := ints(list...)
			rest := args(fn("f"))[:map[string]int{"ints": 0, "closure": 1}[name]]
			order := find(b, "order", append(args(a), rest...))
			b.ReportAllocs()
			for b.Loop() {
				order.Call(c, &a, rest)
			}
		})
	}
}
