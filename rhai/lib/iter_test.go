package lib_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/rhai/value"
)

// pass renders what an iterator gives in one pass.
func pass(v value.Value) string {
	list := array()
	for next := v.AsIter().Start(); ; {
		item := next()
		if item.IsNone() {
			return list.HostDebug()
		}
		list.AsArray().Items = append(list.AsArray().Items, item)
	}
}

func TestIterators(t *testing.T) {
	i, f, s := value.Int, value.Float, value.Str
	nine := s("añz")
	tests := []struct {
		name, fn string
		this     value.Value
		args     []value.Value
		want     string
	}{
		{"steps up", "range", i(0), args(i(10), i(3)), "[0, 3, 6, 9]"},
		{"steps down", "range", i(10), args(i(0), i(-4)), "[10, 6, 2]"},
		{"steps away", "range", i(10), args(i(0), i(4)), "[]"},
		{"steps of a range", "range", value.NewRange(0, 3), args(i(2)), "[0, 2]"},
		{"steps of floats", "range", f(0), args(f(1), f(0.4)), "[0.0, 0.4, 0.8]"},
		{"steps to nowhere", "range", f(0), args(f(math.NaN()), f(0.4)), "[]"},
		{"no steps", "range", i(0), args(i(10), i(0)), "! step value cannot be zero\nin call to function 'range' (line 1, position 2)"},
		{"steps end before an overflow", "range", i(math.MaxInt64 - 7), args(i(math.MaxInt64), i(5)), "[9223372036854775800]"},
		{"steps that overflow at once", "range", i(math.MaxInt64), args(i(0), i(1)), "[]"},
		{"chars", "chars", nine, nil, "['a', 'ñ', 'z']"},
		{"chars as a property", "get$chars", nine, nil, "['a', 'ñ', 'z']"},
		{"chars from a start", "chars", nine, args(i(-2)), "['ñ', 'z']"},
		{"chars from before the start", "chars", nine, args(i(-5), i(1)), "['a']"},
		{"chars of a range", "chars", nine, args(value.NewRange(-3, 2)), "['a', 'ñ']"},
		{"chars of a reversed range", "chars", nine, args(value.NewRangeIncl(2, 0)), "[]"},
		{"bits", "bits", i(5), args(i(0), i(4)), "[true, false, true, false]"},
		{"bits of a negative int", "bits", i(-1), args(i(-2)), "[true, true]"},
		{"bits of a range", "bits", i(5), args(value.NewRangeIncl(2, 3)), "[true, false]"},
		{"bits of a reversed range", "bits", i(5), args(value.NewRangeIncl(2, -3)), "[]"},
		{"bits past the end", "bits", i(5), args(i(64)), "! Bit-field index 64 out of bounds: only 64 bits in bit-field (line 1, position 2)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := newCtx()
			v := run(t, c, tt.fn, &tt.this, tt.args...)
			if v.IsNone() {
				if got := show(c, v); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
				return
			}
			if diff := cmp.Diff([]string{tt.want, tt.want}, []string{pass(v), pass(v)}); diff != "" {
				t.Errorf("two passes: %s", diff)
			}
		})
	}
}

func TestRanges(t *testing.T) {
	i := value.Int
	check(t, []call{
		{"a range of two ints", "range", i(3), args(i(1)), "3..1 | 3"},
		{"start", "start", value.NewRange(1, 3), nil, "1 | 1..3"},
		{"end as a property", "get$end", value.NewRangeIncl(1, 3), nil, "3 | 1..=3"},
		{"is_inclusive", "is_inclusive", value.NewRangeIncl(1, 3), nil, "true | 1..=3"},
		{"is_exclusive", "get$is_exclusive", value.NewRangeIncl(1, 3), nil, "false | 1..=3"},
		{"a..a is empty", "is_empty", value.NewRange(3, 3), nil, "true | 3..3"},
		{"a..=a is not", "is_empty", value.NewRangeIncl(3, 3), nil, "false | 3..=3"},
		{"the end is not in a..b", "contains", value.NewRange(1, 3), args(i(3)), "false | 1..3"},
		{"but in a..=b", "contains", value.NewRangeIncl(1, 3), args(i(3)), "true | 1..=3"},
	})
}

func TestTimestamps(t *testing.T) {
	c, h := newCtx()
	h.now = time.Unix(1000, 0)
	start := run(t, c, "timestamp", nil)
	h.now = h.now.Add(1500 * time.Millisecond)
	later := run(t, c, "timestamp", nil)
	moved := run(t, c, "+", &start, value.Float(2.0005))
	past := start
	run(t, c, "-=", &past, value.Int(2))
	got := map[string]string{
		"elapsed":      show(c, run(t, c, "get$elapsed", &start)),
		"difference":   show(c, run(t, c, "-", &later, start)),
		"opposite":     show(c, run(t, c, "-", &start, later)),
		"milliseconds": show(c, run(t, c, "-", &moved, start)),
		"back":         show(c, run(t, c, "-", &past, start)),
		"future":       show(c, run(t, c, "elapsed", &moved)),
		"less":         show(c, run(t, c, "<", &start, later)),
		"equal":        show(c, run(t, c, "==", &start, start)),
		"too far":      show(c, run(t, c, "+", &start, value.Int(math.MaxInt64))),
		"too far back": show(c, run(t, c, "-", &start, value.Float(1e19))),
		"NaN":          show(c, run(t, c, "-", &start, value.Float(math.NaN()))),
	}
	want := map[string]string{
		"elapsed": "1.5", "difference": "1.5", "opposite": "-1.5", "milliseconds": "2.0", "back": "-2.0",
		"future": "! Time-stamp is later than now (line 1, position 2)",
		"less":   "true", "equal": "true",
		"too far":      "! Timestamp overflow when adding 9223372036854775807 second(s) (line 1, position 2)",
		"too far back": "! Integer overflow for timestamp subtract: 10000000000000000000 (line 1, position 2)",
		"NaN":          "<timestamp>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, n := range []*value.Native{
		find(t, "timestamp", nil), find(t, "elapsed", args(start)), find(t, "get$elapsed", args(start)),
	} {
		if !n.Volatile {
			t.Errorf("%s is not volatile", n.Name)
		}
	}
}
