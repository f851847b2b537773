package lib_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/rhai/value"
)

// call is one call of a library function and what is expected of it.
type call struct {
	name string
	fn   string
	this value.Value
	args []value.Value
	want string // the answer and, after " | ", what this is then
}

func check(t *testing.T, calls []call) {
	t.Helper()
	for _, tt := range calls {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := newCtx()
			this := tt.this
			got := show(c, run(t, c, tt.fn, &this, tt.args...)) + " | " + this.HostDebug()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func args(list ...value.Value) []value.Value { return list }

func TestArrays(t *testing.T) {
	i, rng, rngIncl := value.Int, value.NewRange, value.NewRangeIncl
	check(t, []call{
		{"get counts from the end", "get", ints(1, 2, 3), args(i(-1)), "3 | [1, 2, 3]"},
		{"get clips at the start", "get", ints(1, 2, 3), args(i(-9)), "1 | [1, 2, 3]"},
		{"get past the end is unit", "get", ints(1, 2, 3), args(i(3)), "() | [1, 2, 3]"},
		{"get survives the least int", "get", ints(1, 2), args(i(math.MinInt64)), "1 | [1, 2]"},
		{"set clips at the start", "set", ints(1, 2), args(i(-9), i(7)), "() | [7, 2]"},
		{"set past the end does nothing", "set", ints(1, 2), args(i(2), i(7)), "() | [1, 2]"},
		{"push adds any value", "push", ints(1), args(value.Unit), "() | [1, ()]"},
		{"append adds items", "append", ints(1), args(ints(2, 3)), "() | [1, 2, 3]"},
		{"insert before the last", "insert", ints(1, 2), args(i(-1), i(9)), "() | [1, 9, 2]"},
		{"insert past the end appends", "insert", ints(1, 2), args(i(7), i(9)), "() | [1, 2, 9]"},
		{"insert into nothing", "insert", ints(), args(i(-3), i(9)), "() | [9]"},
		{"pad fills", "pad", ints(1), args(i(3), i(0)), "() | [1, 0, 0]"},
		{"pad never shortens", "pad", ints(1, 2), args(i(-3), i(0)), "() | [1, 2]"},
		{"pop", "pop", ints(1, 2), nil, "2 | [1]"},
		{"pop of nothing", "pop", ints(), nil, "() | []"},
		{"shift", "shift", ints(1, 2), nil, "1 | [2]"},
		{"remove counts from the end", "remove", ints(1, 2, 3), args(i(-2)), "2 | [1, 3]"},
		{"remove does not clip", "remove", ints(1, 2, 3), args(i(-4)), "() | [1, 2, 3]"},
		{"clear", "clear", ints(1, 2), nil, "() | []"},
		{"truncate to less than nothing", "truncate", ints(1, 2), args(i(-1)), "() | []"},
		{"truncate", "truncate", ints(1, 2, 3), args(i(2)), "() | [1, 2]"},
		{"chop keeps the end", "chop", ints(1, 2, 3), args(i(2)), "() | [2, 3]"},
		{"chop to more", "chop", ints(1, 2, 3), args(i(4)), "() | [1, 2, 3]"},
		{"reverse", "reverse", ints(1, 2, 3), nil, "() | [3, 2, 1]"},
		{"split cuts off the tail", "split", ints(1, 2, 3), args(i(1)), "[2, 3] | [1]"},
		{"split before the start takes all", "split", ints(1, 2), args(i(-5)), "[1, 2] | []"},
		{"split past the end", "split", ints(1, 2), args(i(2)), "[] | [1, 2]"},
		{"extract to the end", "extract", ints(1, 2, 3), args(i(-2)), "[2, 3] | [1, 2, 3]"},
		{"extract of start and length", "extract", ints(1, 2, 3), args(i(-2), i(1)), "[2] | [1, 2, 3]"},
		{"extract of a range clips below", "extract", ints(1, 2, 3), args(rng(-5, 2)), "[1, 2] | [1, 2, 3]"},
		{"extract of a reversed range has one item", "extract", ints(1, 2, 3), args(rngIncl(1, -5)), "[2] | [1, 2, 3]"},
		{"extract of all ints", "extract", ints(1, 2, 3), args(rngIncl(0, math.MaxInt64)), "[1, 2, 3] | [1, 2, 3]"},
		{"splice past the end appends", "splice", ints(1, 2), args(i(5), i(1), ints(9)), "() | [1, 2, 9]"},
		{"splice inserts", "splice", ints(1, 2), args(i(1), i(0), ints(8, 9)), "() | [1, 8, 9, 2]"},
		{"splice of a range", "splice", ints(1, 2, 3), args(rng(0, 2), ints(9)), "() | [9, 3]"},
		{"drain of a part", "drain", ints(1, 2, 3, 4), args(i(1), i(2)), "[2, 3] | [1, 4]"},
		{"drain past the end", "drain", ints(1, 2), args(i(2), i(2)), "[] | [1, 2]"},
		{"retain of a part", "retain", ints(1, 2, 3, 4), args(i(1), i(2)), "[1, 4] | [2, 3]"},
		{"retain of nothing keeps all", "retain", ints(1, 2), args(i(1), i(0)), "[] | [1, 2]"},
		{"contains compares numbers by value", "contains", ints(1, 2), args(value.Float(2)), "true | [1, 2]"},
		{"contains of another type", "contains", ints(1, 2), args(fn("f")), "false | [1, 2]"},
		{"contains of what cannot be compared", "contains", array(fn("f")), args(fn("f")),
			`! Function not found: == (Fn, Fn) (line 1, position 2) | [Fn("f")]`},
		{"index_of from a start", "index_of", ints(1, 2, 1), args(i(1), i(1)), "2 | [1, 2, 1]"},
		{"index_of from past the end", "index_of", ints(1, 2, 1), args(i(1), i(9)), "-1 | [1, 2, 1]"},
		{"dedup", "dedup", ints(1, 1, 2, 2, 1), nil, "() | [1, 2, 1]"},
		{"dedup leaves what cannot be compared", "dedup", array(fn("f"), fn("f")), nil, `() | [Fn("f"), Fn("f")]`},
	})
}

func TestArraysAreCopiedBeforeTheyChange(t *testing.T) {
	c, _ := newCtx()
	inner := ints(1)
	a := array(inner)
	b := a.Keep()
	run(t, c, "push", &b, value.Int(2))
	run(t, c, "push", &a, a)
	got := []string{a.HostDebug(), b.HostDebug()}
	if diff := cmp.Diff([]string{"[[1], [[1]]]", "[[1], 2]"}, got); diff != "" {
		t.Error(diff)
	}
	// What extract gives is a second place for the items.
	part := run(t, c, "extract", &a, value.Int(0), value.Int(1))
	run(t, c, "push", &part.AsArray().Items[0], value.Int(3))
	if got, want := a.HostDebug(), "[[1], [[1]]]"; got != want {
		t.Errorf("the array is %s after its part changed, want %s", got, want)
	}
}

func TestArrayKeepsItsTagWhenCleared(t *testing.T) {
	c, _ := newCtx()
	a := ints(1).WithTag(7)
	run(t, c, "clear", &a)
	if got := a.Tag(); got != 7 {
		t.Errorf("got tag %d, want 7", got)
	}
}

func TestArrayLimits(t *testing.T) {
	tooLarge := "! Size of array/BLOB too large (line 1, position 2)"
	nested := func() value.Value { return array(ints(1, 2, 3), ints(4)) } // 6 items in all
	tests := []struct {
		name, fn string
		this     value.Value
		args     []value.Value
		want     string
	}{
		{"push up to the limit", "push", ints(1, 2, 3, 4, 5, 6, 7, 8, 9), args(value.Int(1)), "()"},
		{"push beyond the limit", "push", ints(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), args(value.Int(1)), tooLarge},
		{"nested items count", "push", nested(), args(ints(1, 2, 3, 4)), tooLarge},
		{"nested items may fill the array", "push", nested(), args(ints(1, 2, 3)), "()"},
		{"append", "append", ints(1, 2, 3, 4, 5), args(ints(1, 2, 3, 4, 5, 6)), tooLarge},
		{"insert", "insert", ints(1, 2, 3, 4, 5, 6), args(value.Int(0), ints(1, 2, 3, 4)), tooLarge},
		{"splice", "splice", ints(1, 2, 3, 4, 5, 6), args(value.Int(0), value.Int(1), ints(1, 2, 3, 4, 5, 6)), tooLarge},
		{"pad", "pad", ints(1), args(value.Int(math.MaxInt64), value.Int(1)), tooLarge},
		{"pad with arrays", "pad", ints(1, 2), args(value.Int(5), ints(1, 2, 3)), tooLarge},
		{"set", "set", ints(1, 2), args(value.Int(0), ints(1, 2, 3, 4, 5, 6, 7, 8, 9)), tooLarge},
		{"map", "map", ints(1, 2, 3, 4, 5, 6), args(fn("wrap")), tooLarge},
		{"for_each", "for_each", ints(1, 2, 3, 4, 5, 6), args(fn("become")), tooLarge},
		{"a blob in an array", "push", ints(1, 2, 3), args(blob(1, 2, 3, 4, 5)), "()"},
		{"a blob in an array counts itself", "push", ints(1, 2, 3), args(blob(1, 2, 3, 4, 5, 6)), tooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, h := newCtx()
			c.Limits.MaxArray = 10
			h.fns["wrap"] = each(func(el *value.Value) value.Value { return array(el.Keep()) })
			h.fns["become"] = each(func(el *value.Value) value.Value { *el = ints(1); return value.Unit })
			this := tt.this
			if got := show(c, run(t, c, tt.fn, &this, tt.args...)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPadIsBoundedWithoutLimits(t *testing.T) {
	c, _ := newCtx()
	for _, this := range []value.Value{ints(1), value.NewBlob([]byte{1})} {
		want := "! Size of array/BLOB too large (line 1, position 2)"
		if got := show(c, run(t, c, "pad", &this, value.Int(math.MaxInt64), value.Int(0))); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestMemoryIsChargedBeforeItIsTaken(t *testing.T) {
	c, h := newCtx()
	h.budget = 1 << 20
	a := ints()
	want := "! Memory too large (line 1, position 2)"
	if got := show(c, run(t, c, "pad", &a, value.Int(1<<20), value.Int(0))); got != want {
		t.Errorf("pad gives %s, want %s", got, want)
	}
	h.charged = 0
	for range 1 << 20 {
		if run(t, c, "push", &a, value.Int(1)).IsNone() {
			break
		}
	}
	// Growing by half takes three times as much as there is at the end.
	if n := len(a.AsArray().Items); n < 1<<20/16/4 || n > 1<<20/16 {
		t.Errorf("%d items were pushed into 1 MiB", n)
	}
}
