package lib_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/rhai/lib"
	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// answer renders what an operator gave: the value, the error, or that there is no such operator.
func answer(c *value.Ctx, v value.Value, defined bool) string {
	switch {
	case !defined:
		return "none"
	case v.IsNone():
		return c.Err.Error()
	}
	return v.HostDebug()
}

func list(items ...value.Value) value.Value { return value.NewArray(items) }

func entries(pairs ...any) value.Value {
	v := value.NewMap(0)
	for i := 0; i < len(pairs); i += 2 {
		v.AsMap().Set(pairs[i].(string), pairs[i+1].(value.Value))
	}
	return v
}

var (
	one, two   = value.Int(1), value.Int(2)
	most       = value.Int(math.MaxInt64)
	least      = value.Int(math.MinInt64)
	half       = value.Float(0.5)
	nan        = value.Float(math.NaN())
	inf        = value.Float(math.Inf(1))
	text, char = value.Str("ab"), value.Char('a')
	blobAB     = value.NewBlob([]byte("ab"))
	badBlob    = value.NewBlob([]byte{200, 'x', 0xe2, 0x82})
	pointer    = value.NewFn("f", nil, nil, nil)
)

func TestBinary(t *testing.T) {
	for _, tt := range []struct {
		op   string
		a, b value.Value
		want string
	}{
		{"+", one, two, "3"},
		{"+", most, one, "Addition overflow: 9223372036854775807 + 1 (line 3, position 4)"},
		{"-", least, one, "Subtraction overflow: -9223372036854775808 - 1 (line 3, position 4)"},
		{"*", most, two, "Multiplication overflow: 9223372036854775807 * 2 (line 3, position 4)"},
		{"*", least, value.Int(-1), "Multiplication overflow: -9223372036854775808 * -1 (line 3, position 4)"},
		{"/", value.Int(-7), two, "-3"},
		{"/", one, value.Int(0), "Division by zero: 1 / 0 (line 3, position 4)"},
		{"/", least, value.Int(-1), "Division overflow: -9223372036854775808 / -1 (line 3, position 4)"},
		{"%", value.Int(-7), two, "-1"},
		{"%", one, value.Int(0), "Modulo division by zero or overflow: 1 % 0 (line 3, position 4)"},
		{"**", value.Int(-2), value.Int(63), "-9223372036854775808"},
		{"**", two, value.Int(63), "Exponential overflow: 2 ** 63 (line 3, position 4)"},
		{"**", two, value.Int(-1), "Integer raised to a negative power: 2 ** -1 (line 3, position 4)"},
		{"**", one, value.Int(1 << 33), "Exponential overflow: 1 ** 8589934592 (line 3, position 4)"},
		{"**", value.Int(-1), value.Int(math.MaxUint32), "-1"},
		{"<<", one, value.Int(64), "0"},
		{"<<", value.Int(-8), value.Int(-1), "-4"},
		{"<<", one, least, "0"},
		{">>", value.Int(-1), value.Int(100), "-1"},
		{">>", one, value.Int(-3), "8"},
		{"^", value.Int(6), value.Int(3), "5"},
		{"..", one, two, "1..2"},
		{"..=", one, value.Unit, "1..="},
		{"..", value.Unit, one, "0..1"},
		{"+", one, half, "1.5"},
		{"/", half, value.Int(0), "inf"},
		{"%", value.Float(-5.5), two, "-1.5"},
		{"==", value.Float(0.1 + 0.2), value.Float(0.3), "true"},
		{"<", value.Float(0.3), value.Float(0.1 + 0.2), "false"},
		{"<=", value.Float(0.1 + 0.2), value.Float(0.3), "true"},
		{"==", value.Float(1e-17), value.Int(0), "true"},
		{"==", nan, nan, "false"},
		{"!=", nan, nan, "false"},
		{"==", inf, inf, "false"},
		{">", inf, one, "false"},
		{"|", value.True, value.False, "true"},
		{"<", value.False, value.True, "true"},
		{"+", value.True, one, "none"},
		{"+", char, char, `"aa"`},
		{"+", char, text, `"aab"`},
		{"+", text, char, `"aba"`},
		{"<", char, text, "true"},
		{"==", value.Str("a"), char, "true"},
		{"-", value.Str("abcab"), text, `"c"`},
		{"-", value.Str("abcab"), char, `"bcb"`},
		{"-", value.Str(""), text, `"ab"`},
		{"<", value.Str("Z"), value.Str("a"), "true"},
		{"*", text, two, "none"},
		{"+", text, list(char, one), `"ab[a, 1]"`},
		{"+", value.Float(1), text, `"1.0ab"`},
		{"+", text, value.Unit, `"ab"`},
		{"+", value.Unit, text, `"ab"`},
		{"+", value.Unit, value.Unit, "none"},
		{"+", text, badBlob, "\"ab\ufffdx\ufffd\""},
		{"+", blobAB, text, `"abab"`},
		{"+", blobAB, char, "[616261]"},
		{"+", blobAB, blobAB, "[61626162]"},
		{"+", blobAB, one, "none"},
		{"==", blobAB, char, "none"},
		{"==", blobAB, value.NewBlob([]byte("ab")), "true"},
		{"<", blobAB, blobAB, "none"},
		{"+", list(one), list(two), "[1, 2]"},
		{"+", list(one), one, "none"},
		{"==", list(one, char), list(value.Float(1), value.Str("a")), "true"},
		{"!=", list(list(one)), list(list(two)), "true"},
		{"==", list(pointer), list(pointer), "Function not found: == (Fn, Fn) (line 3, position 4)"},
		{"==", list(value.NewRange(1, 2)), list(value.NewRangeIncl(1, 2)), "false"},
		{"<", list(), list(), "none"},
		{"+", entries("a", one, "b", one), entries("a", two), `#{"a": 2, "b": 1}`},
		{"==", entries("a", one), entries("a", value.Float(1)), "true"},
		{"!=", entries("a", one), entries("b", one), "true"},
		{"==", entries("a", pointer), entries("a", pointer), "Function not found: == (Fn, Fn) (line 3, position 4)"},
		{"==", value.Unit, value.Unit, "true"},
		{"<=", value.Unit, value.Unit, "false"},
		{"!=", one, text, "true"},
		{">=", one, text, "false"},
		{"==", pointer, pointer, "none"},
		{"==", pointer, one, "false"},
		{"==", value.NewRange(1, 2), value.NewRange(1, 2), "true"},
		{"==", value.NewRange(1, 2), value.NewRangeIncl(1, 2), "none"},
		{"!=", value.NewRange(1, 2), value.NewRangeIncl(1, 2), "true"},
		{"in", one, list(one), "none"},
	} {
		c := &value.Ctx{Host: &fakeHost{}, Pos: syntax.Pos{Line: 3, Col: 4}}
		v, ok := lib.Binary(c, value.OpOf(tt.op), tt.a, tt.b)
		if got := answer(c, v, ok); got != tt.want {
			t.Errorf("%s %s %s: got %s, want %s", tt.a.HostDebug(), tt.op, tt.b.HostDebug(), got, tt.want)
		}
	}
}

func TestAssign(t *testing.T) {
	at := value.NewTime(time.Unix(100, 0))
	for _, tt := range []struct {
		op   string
		a, b value.Value
		want string // what a is then, or the error, or "none"
	}{
		{"+", one, two, "3"},
		{"+", most, one, "Addition overflow: 9223372036854775807 + 1 (line 3, position 4)"},
		{"+", one, half, "none"},
		{"+", half, one, "1.5"},
		{"&", value.True, value.False, "false"},
		{"==", one, one, "none"},
		{"+", text, one, `"ab1"`},
		{"+", text, blobAB, `"abab"`},
		{"-", text, char, `"b"`},
		{"+", char, char, "none"},
		{"+", list(one), list(two), "[1, 2]"},
		{"+", list(one), value.Unit, "[1, ()]"},
		{"-", list(one), one, "none"},
		{"+", entries("a", one), entries("a", two), `#{"a": 2}`},
		{"+", entries(), one, "none"},
		{"+", blobAB, value.Int(300), "[61622c]"},
		{"+", blobAB, value.Char('é'), "[6162c3a9]"},
		{"+", blobAB, half, "none"},
		{"+", at, one, "none"},
	} {
		c := &value.Ctx{Host: &fakeHost{}, Pos: syntax.Pos{Line: 3, Col: 4}}
		target, before := tt.a.Keep(), tt.a.HostDebug()
		done, ok := lib.Assign(c, value.OpOf(tt.op), &target, tt.b)
		got := target.HostDebug()
		if !ok {
			got = c.Err.Error()
		} else if !done {
			got = "none"
		}
		if got != tt.want {
			t.Errorf("%s %s= %s: got %s, want %s", before, tt.op, tt.b.HostDebug(), got, tt.want)
		}
		if after := tt.a.HostDebug(); after != before {
			t.Errorf("%s %s= %s: another holder of the value sees %s", before, tt.op, tt.b.HostDebug(), after)
		}
	}
}

func TestAssignKeepsTags(t *testing.T) {
	for op, tags := range map[string]int32{"+": 7, "**": 7, "<<": 0, "|": 0} { // as in the reference
		v := value.Int(5).WithTag(7)
		lib.Assign(&value.Ctx{Host: &fakeHost{}}, value.OpOf(op), &v, two)
		if v.Tag() != tags {
			t.Errorf("%s=: got tag %d, want %d", op, v.Tag(), tags)
		}
	}
}

func TestUnary(t *testing.T) {
	for _, tt := range []struct {
		op   byte
		v    value.Value
		want string
	}{
		{'-', one, "-1"}, {'-', half, "-0.5"}, {'+', half, "0.5"}, {'!', value.True, "false"}, {'!', one, "none"},
		{'-', text, "none"}, {'-', least, "integer overflow (line 3, position 4)"},
	} {
		c := &value.Ctx{Pos: syntax.Pos{Line: 3, Col: 4}}
		v, ok := lib.Unary(c, tt.op, tt.v)
		if got := answer(c, v, ok); got != tt.want {
			t.Errorf("%c%s: got %s, want %s", tt.op, tt.v.HostDebug(), got, tt.want)
		}
	}
}

func TestTextStaysWithinTheLimits(t *testing.T) {
	native := func(c *value.Ctx, name string, this value.Value, args ...value.Value) value.Value {
		return run(t, c, name, &this, args...)
	}
	for name, use := range map[string]func(c *value.Ctx) bool{
		"+":       func(c *value.Ctx) bool { v, _ := lib.Binary(c, value.Add, text, value.Str("xyz")); return v.IsNone() },
		"+=":      func(c *value.Ctx) bool { v := text; _, ok := lib.Assign(c, value.Add, &v, text); return !ok },
		"append":  func(c *value.Ctx) bool { return native(c, "append", value.Str("ab"), value.Str("xyz")).IsNone() },
		"replace": func(c *value.Ctx) bool { return native(c, "replace", value.Str("aaa"), char, text).IsNone() },
		"pad":     func(c *value.Ctx) bool { return native(c, "pad", text, value.Int(1<<40), char).IsNone() },
		"to_json": func(c *value.Ctx) bool { return native(c, "to_json", entries("abc", one)).IsNone() },
	} {
		c := &value.Ctx{Host: &fakeHost{}, Limits: value.Limits{MaxString: 3}}
		if !use(c) || c.Err == nil || c.Err.Text() != "Length of string too large" {
			t.Errorf("%s: got %v, want a string that is too large", name, c.Err)
		}
	}
	c := &value.Ctx{Host: &fakeHost{budget: 1 << 20}}
	if v := native(c, "replace", value.Str(strings.Repeat("a", 10_000)), char, value.Str(strings.Repeat("b", 10_000))); !v.IsNone() {
		t.Error("a hundred megabytes were made on a budget of one")
	}
}
