package lib_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/rhai/value"
)

func TestMaps(t *testing.T) {
	i, s := value.Int, value.Str
	ab := func() value.Value { return object(t, "b", i(2), "a", i(1)) }
	same := ` | #{"a": 1, "b": 2}`
	check(t, []call{
		{"len", "len", ab(), nil, "2" + same},
		{"is_empty", "is_empty", object(t), nil, "true | #{}"},
		{"contains", "contains", ab(), args(s("a")), "true" + same},
		{"get", "get", ab(), args(s("b")), "2" + same},
		{"get of a missing key", "get", ab(), args(s("c")), "()" + same},
		{"set of a new key", "set", ab(), args(s("c"), i(3)), `() | #{"a": 1, "b": 2, "c": 3}`},
		{"set of a key that is there", "set", ab(), args(s("a"), i(3)), `() | #{"a": 3, "b": 2}`},
		{"remove", "remove", ab(), args(s("a")), `1 | #{"b": 2}`},
		{"remove of a missing key", "remove", ab(), args(s("c")), "()" + same},
		{"clear", "clear", ab(), nil, "() | #{}"},
		{"mixin", "mixin", ab(), args(object(t, "a", i(8), "c", i(9))), `() | #{"a": 8, "b": 2, "c": 9}`},
		{"fill_with", "fill_with", ab(), args(object(t, "a", i(8), "c", i(9))), `() | #{"a": 1, "b": 2, "c": 9}`},
		{"merge", "+", ab(), args(object(t, "a", i(8))), `#{"a": 8, "b": 2}` + same},
		{"keys", "keys", ab(), nil, `["a", "b"]` + same},
		{"values", "values", ab(), nil, "[1, 2]" + same},
	})
}

func TestMapCallbacks(t *testing.T) {
	thrown := "! Runtime error: no 3 (line 1, position 2)\nin call to function '"
	tests := []struct {
		name, fn string
		f        callback
		this     value.Value
		want     string
	}{
		{"map", "map", each(addTen), object(t, "b", value.Int(2), "a", value.Int(1)), `#{"a": 11, "b": 12} | #{"a": 11, "b": 12}`},
		{"map fails as filter", "map", failOn(3, addTen), object(t, "a", value.Int(3)), thrown + `filter' (line 1, position 2) | #{"a": 3}`},
		{"filter", "filter", each(isEven), object(t, "a", value.Int(1), "b", value.Int(2)), `#{"b": 2} | #{"a": 1, "b": 2}`},
		{"drain", "drain", each(isEven), object(t, "a", value.Int(1), "b", value.Int(2)), `#{"b": 2} | #{"a": 1}`},
		{"retain", "retain", each(isEven), object(t, "a", value.Int(1), "b", value.Int(2)), `#{"a": 1} | #{"b": 2}`},
		{"retain after an error lacks the entry that it failed for", "retain", failOn(3, isEven),
			object(t, "a", value.Int(1), "b", value.Int(2), "c", value.Int(3), "d", value.Int(5)),
			thrown + `retain' (line 1, position 2) | #{"b": 2, "d": 5}`},
	}
	for _, tt := range tests {
		for _, shared := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				c, h := newCtx()
				h.fns["f"] = tt.f
				before := tt.this.HostDebug()
				this := value.NewMap(0)
				run(t, c, "mixin", &this, tt.this)
				var other value.Value
				if shared {
					other = this.Keep()
				}
				got := show(c, run(t, c, tt.fn, &this, fn("f"))) + " | " + this.HostDebug()
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				if shared && other.HostDebug() != before {
					t.Errorf("the other place has %s, want %s", other.HostDebug(), before)
				}
			})
		}
	}
}

func TestMapLimits(t *testing.T) {
	tooLarge := "! Size of object map too large (line 1, position 2)"
	two := func() value.Value { return object(t, "a", value.Int(1), "b", value.Int(2)) }
	tests := []struct {
		name, fn string
		args     []value.Value
		want     string
	}{
		{"a new key", "set", args(value.Str("c"), value.Int(3)), tooLarge},
		{"an old key", "set", args(value.Str("a"), value.Int(3)), "()"},
		{"a nested map", "set", args(value.Str("a"), object(t, "x", value.Int(1))), tooLarge},
		{"mixin", "mixin", args(object(t, "c", value.Int(1))), tooLarge},
		{"fill_with", "fill_with", args(object(t, "c", value.Int(1))), tooLarge},
		{"merge", "+", args(object(t, "c", value.Int(1))), tooLarge},
		{"map", "map", args(fn("wrap")), tooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, h := newCtx()
			c.Limits.MaxMap = 2
			h.fns["wrap"] = each(func(el *value.Value) value.Value { return object(t, "x", *el) })
			this := two()
			if got := show(c, run(t, c, tt.fn, &this, tt.args...)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestMapsAreCopiedBeforeTheyChange(t *testing.T) {
	c, _ := newCtx()
	a := object(t, "a", ints(1))
	b := a.Keep()
	run(t, c, "set", &b, value.Str("self"), b)
	values := run(t, c, "values", &a)
	run(t, c, "push", &values.AsArray().Items[0], value.Int(2))
	want := []string{`#{"a": [1]}`, `#{"a": [1], "self": #{"a": [1]}}`, "[[1, 2]]"}
	if diff := cmp.Diff(want, []string{a.HostDebug(), b.HostDebug(), values.HostDebug()}); diff != "" {
		t.Error(diff)
	}
}
