package lib_test

import (
	"testing"

	"github.com/ramet-run/ramet/rhai/value"
)

func TestNumbersInText(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []value.Value
		want string
	}{
		{"parse_int", []value.Value{value.Str(" -7\u00a0")}, "-7"},
		{"parse_int", []value.Value{value.Str("+zZ"), value.Int(36)}, "1295"},
		{"parse_int", []value.Value{value.Str("-9223372036854775808")}, "-9223372036854775808"},
		{"parse_int", []value.Value{value.Str("9223372036854775808")},
			"! Error parsing integer number '9223372036854775808': number too large to fit in target type (line 1, position 2)"},
		{"parse_int", []value.Value{value.Str("-9223372036854775809")},
			"! Error parsing integer number '-9223372036854775809': number too small to fit in target type (line 1, position 2)"},
		{"parse_int", []value.Value{value.Str(" ")}, "! Error parsing integer number ' ': cannot parse integer from empty string (line 1, position 2)"},
		{"parse_int", []value.Value{value.Str("-")}, "! Error parsing integer number '-': invalid digit found in string (line 1, position 2)"},
		{"parse_int", []value.Value{value.Str("1_000")}, "! Error parsing integer number '1_000': invalid digit found in string (line 1, position 2)"},
		{"parse_int", []value.Value{value.Str("1"), value.Int(37)}, "! Invalid radix: '37' (line 1, position 2)"},
		{"parse_float", []value.Value{value.Str(" .5 ")}, "0.5"},
		{"parse_float", []value.Value{value.Str("-Infinity")}, "-inf"},
		{"parse_float", []value.Value{value.Str("1e999")}, "inf"},
		{"parse_float", []value.Value{value.Str("0x1p3")}, "! Error parsing floating-point number '0x1p3': invalid float literal (line 1, position 2)"},
		{"parse_float", []value.Value{value.Str("1_0")}, "! Error parsing floating-point number '1_0': invalid float literal (line 1, position 2)"},
		{"parse_float", []value.Value{value.Str("")}, "! Error parsing floating-point number '': cannot parse float from empty string (line 1, position 2)"},
		{"to_int", []value.Value{value.Float(-1.9)}, "-1"},
		{"to_int", []value.Value{nan}, "0"},
		{"to_int", []value.Value{value.Float(0x1p63)}, "9223372036854775807"},
		{"to_int", []value.Value{value.Float(1e20)}, "! Integer overflow: to_int(100000000000000000000) (line 1, position 2)"},
		{"to_hex", []value.Value{value.Int(-1)}, `"ffffffffffffffff"`},
		{"abs", []value.Value{least}, "! Negation overflow: --9223372036854775808 (line 1, position 2)"},
		{"sign", []value.Value{nan}, "! Sign of NaN is undefined (line 1, position 2)"},
		{"max", []value.Value{nan, one}, "1.0"},
		{"min", []value.Value{one, half}, "0.5"},
		{"max", []value.Value{text, value.Str("b")}, `"b"`},
	} {
		c, _ := newCtx()
		if got := show(c, run(t, c, tt.name, &tt.args[0], tt.args[1:]...)); got != tt.want {
			t.Errorf("%s(%q): got %s, want %s", tt.name, tt.args[0].Display(), got, tt.want)
		}
	}
}

func TestText(t *testing.T) {
	str, i, char := value.Str, value.Int, value.Char
	for _, tt := range []struct {
		name, this string
		args       []value.Value
		want       string // the answer
		after      string // what the string is then
	}{
		{"len", "é日x", nil, "3", "é日x"},
		{"bytes", "é日x", nil, "6", "é日x"},
		{"truncate", "é日x", []value.Value{i(1)}, "()", "é"},
		{"truncate", "abc", []value.Value{i(-1)}, "()", ""},
		{"trim", "\u3000 a\n", nil, "()", "a"},
		{"pop", "a日", nil, "'日'", "a"},
		{"pop", "", nil, "()", ""},
		{"pop", "abc", []value.Value{i(2)}, `"bc"`, "a"},
		{"pop", "abc", []value.Value{i(9)}, `"abc"`, ""},
		{"pop", "abc", []value.Value{i(-9)}, `""`, "abc"},
		{"remove", "banana", []value.Value{str("an")}, "()", "ba"},
		{"replace", "abc", []value.Value{str(""), char('-')}, "()", "-a-b-c-"},
		{"replace", "", []value.Value{str(""), char('-')}, "()", ""},
		{"pad", "日", []value.Value{i(6), str("ab")}, "()", "日ababa"},
		{"pad", "日", []value.Value{i(6), str("")}, "()", "日"},
		{"set", "a日c", []value.Value{i(-2), char('b')}, "()", "abc"},
		{"set", "abc", []value.Value{i(3), char('b')}, "()", "abc"},
		{"crop", "abcde", []value.Value{i(-4), i(2)}, "()", "bc"},
		{"crop", "abcde", []value.Value{value.NewRange(-4, 2)}, "()", "ab"},
		{"crop", "abcde", []value.Value{i(3)}, "()", "de"},
		{"sub_string", "a日cde", []value.Value{i(1), i(2)}, `"日c"`, "a日cde"},
		{"sub_string", "abc", []value.Value{i(9)}, `""`, "abc"},
		{"sub_string", "abc", []value.Value{value.NewRangeIncl(2, 1)}, `"c"`, "abc"},
		{"make_upper", "Straße ŉ ὐ", nil, "()", "STRASSE ʼN Υ\u0313"},
		{"make_lower", "ΟΔΟΣ. İ", nil, "()", "οδος. i\u0307"},
		{"index_of", "日a日", []value.Value{char('日'), i(-1)}, "2", "日a日"},
		{"index_of", "abc", []value.Value{str(""), i(3)}, "-1", "abc"},
		{"index_of", "", []value.Value{str("")}, "-1", ""},
		{"get", "a日", []value.Value{i(-1)}, "'日'", "a日"},
		{"get", "a日", []value.Value{i(2)}, "()", "a日"},
		{"split", "abc", []value.Value{i(0)}, `["abc", ""]`, "abc"},
		{"split", "abc", []value.Value{i(-1)}, `["ab", "c"]`, "abc"},
		{"split", "abc", []value.Value{i(-9)}, `["", "abc"]`, "abc"},
		{"split", " a\tb ", nil, `["a", "b"]`, " a\tb "},
		{"split", "", nil, `[""]`, ""},
		{"split", "abc", []value.Value{str("")}, `["", "a", "b", "c", ""]`, "abc"},
		{"split", "abc", []value.Value{str(""), i(3)}, `["", "a", "bc"]`, "abc"},
		{"split", "a,b,c", []value.Value{char(','), i(2)}, `["a", "b,c"]`, "a,b,c"},
		{"split", "a,b", []value.Value{char(','), i(0)}, `["a,b"]`, "a,b"},
		{"split_rev", "aaa", []value.Value{str("aa")}, `["", "a"]`, "aaa"},
		{"split_rev", "a,b,c", []value.Value{char(','), i(2)}, `["c", "a,b"]`, "a,b,c"},
		{"split_rev", "abc", []value.Value{str("")}, `["", "c", "b", "a", ""]`, "abc"},
		{"to_chars", "a日", nil, "['a', '日']", "a日"},
	} {
		c, _ := newCtx()
		this := str(tt.this).WithTag(3)
		other := this.Keep()
		if got := show(c, run(t, c, tt.name, &this, tt.args...)); got != tt.want || this.Display() != tt.after {
			t.Errorf("%q.%s: got %s and %q, want %s and %q", tt.this, tt.name, got, this.Display(), tt.want, tt.after)
		}
		if other.Display() != tt.this || this.Tag() != 3 {
			t.Errorf("%q.%s: another holder sees %q, the tag is %d", tt.this, tt.name, other.Display(), this.Tag())
		}
	}
}

func TestBitFields(t *testing.T) {
	for _, tt := range []struct {
		name        string
		this        int64
		args        []value.Value
		want, after string
	}{
		{"get_bit", 4, []value.Value{value.Int(2)}, "true", "4"},
		{"get_bit", 4, []value.Value{value.Int(64)}, "! Bit-field index 64 out of bounds: only 64 bits in bit-field (line 1, position 2)", "4"},
		{"get_bits", -1, []value.Value{value.Int(-4), value.Int(9)}, "15", "-1"},
		{"get_bits", -1, []value.Value{value.Int(0), value.Int(64)}, "-1", "-1"},
		{"get_bits", 0xf0, []value.Value{value.NewRangeIncl(4, 6)}, "7", "240"},
		{"get_bits", 0xf0, []value.Value{value.NewRange(60, 99)}, "0", "240"},
		{"get_bits", 0xf0, []value.Value{value.NewRangeIncl(60, 64)}, "! Bit-field index 64 out of bounds: only 64 bits in bit-field (line 1, position 2)", "240"},
		{"set_bit", 0, []value.Value{value.Int(-1), value.True}, "()", "-9223372036854775808"},
		{"set_bits", 0, []value.Value{value.Int(4), value.Int(4), value.Int(-1)}, "()", "240"},
		{"set_bits", -1, []value.Value{value.NewRange(2, 2), value.Int(0)}, "()", "-1"},
	} {
		c, _ := newCtx()
		this := value.Int(tt.this)
		if got := show(c, run(t, c, tt.name, &this, tt.args...)); got != tt.want || this.Display() != tt.after {
			t.Errorf("%d.%s: got %s and %s, want %s and %s", tt.this, tt.name, got, this.Display(), tt.want, tt.after)
		}
	}
}

func TestTagsAndTake(t *testing.T) {
	c, _ := newCtx()
	v := value.Str("a")
	run(t, c, "set_tag", &v, value.Int(-5))
	if got := show(c, run(t, c, "tag", &v)); got != "-5" {
		t.Errorf("tag: got %s, want -5", got)
	}
	want := "! 2147483648 is too large to fit into a tag (must be between -2147483648 and 2147483647) (line 1, position 2)"
	if got := show(c, run(t, c, "set_tag", &v, value.Int(1<<31))); got != want {
		t.Errorf("set_tag: got %s, want %s", got, want)
	}
	if got := show(c, run(t, c, "take", &v)); got != `"a"` || !v.IsUnit() {
		t.Errorf("take: got %s, and %s stays", got, v.HostDebug())
	}
	c.Const = true
	if got, want := show(c, run(t, c, "take", &v)), "! Non-pure method 'take' cannot be called on constant (line 1, position 2)"; got != want {
		t.Errorf("take of a constant: got %s, want %s", got, want)
	}
}
