package lib_test

import (
	"math"
	"testing"

	"github.com/ramet-run/ramet/rhai/value"
)

func blob(bytes ...byte) value.Value { return value.NewBlob(bytes) }

func TestBlobs(t *testing.T) {
	i, rng, rngIncl := value.Int, value.NewRange, value.NewRangeIncl
	text := func(s string) value.Value { return value.NewBlob([]byte(s)) }
	check(t, []call{
		{"a new one of bytes", "blob", i(3), args(i(300)), "[2c2c2c] | 3"},
		{"a new one of less than none", "blob", i(-1), nil, "[] | -1"},
		{"get clips at the start", "get", blob(1, 2), args(i(-9)), "1 | [0102]"},
		{"get past the end", "get", blob(1, 2), args(i(2)), "0 | [0102]"},
		{"set takes the lowest bits", "set", blob(1, 2), args(i(-1), i(-1)), "() | [01ff]"},
		{"contains takes the lowest bits", "contains", blob(1, 2), args(i(0x102)), "true | [0102]"},
		{"push", "push", blob(1), args(i(257)), "() | [0101]"},
		{"append of an int", "append", blob(1), args(i(2)), "() | [0102]"},
		{"append of a blob", "append", blob(1), args(blob(2, 3)), "() | [010203]"},
		{"append of a string", "append", blob(1), args(value.Str("é")), "() | [01c3a9]"},
		{"append of a char", "append", blob(1), args(value.Char('é')), "() | [01c3a9]"},
		{"insert", "insert", blob(1, 2), args(i(-1), i(9)), "() | [010902]"},
		{"pad", "pad", blob(1), args(i(3), i(9)), "() | [010909]"},
		{"pop", "pop", blob(1, 2), nil, "2 | [01]"},
		{"pop of nothing", "pop", blob(), nil, "0 | []"},
		{"shift", "shift", blob(1, 2), nil, "1 | [02]"},
		{"remove counts from the end", "remove", blob(1, 2, 3), args(i(-2)), "2 | [0103]"},
		{"remove does not clip", "remove", blob(1, 2, 3), args(i(-4)), "0 | [010203]"},
		{"clear", "clear", blob(1), nil, "() | []"},
		{"truncate", "truncate", blob(1, 2, 3), args(i(1)), "() | [01]"},
		{"chop", "chop", blob(1, 2, 3), args(i(1)), "() | [03]"},
		{"reverse", "reverse", blob(1, 2, 3), nil, "() | [030201]"},
		{"split", "split", blob(1, 2, 3), args(i(1)), "[0203] | [01]"},
		{"extract", "extract", blob(1, 2, 3), args(rngIncl(1, 2)), "[0203] | [010203]"},
		{"splice", "splice", blob(1, 2, 3), args(i(0), i(2), blob(9)), "() | [0903]"},
		{"splice of nothing appends", "splice", blob(1, 2), args(i(0), i(0), blob(9)), "() | [010209]"},
		{"drain", "drain", blob(1, 2, 3), args(rng(0, 2)), "[0102] | [03]"},
		{"retain", "retain", blob(1, 2, 3), args(i(1), i(1)), "[0103] | [02]"},
		{"retain of no length keeps all", "retain", blob(1, 2), args(i(1), i(0)), "[] | [0102]"},
		{"retain past the end keeps nothing", "retain", blob(1, 2), args(i(2), i(1)), "[0102] | []"},
		{"to_array", "to_array", blob(1, 255), nil, "[1, 255] | [01ff]"},
		{"text", "as_string", text("é"), nil, `"é" | [c3a9]`},
		{"wrong bytes in text", "as_string", text("a\xff\xfe"), nil, `"a��" | [61fffe]`},
		{"a broken character is one mistake", "as_string", text("\xe2\x82a\xf0\x9f\x98"), nil, `"�a�" | [e28261f09f98]`},
		{"an impossible character is several", "as_string", text("\xe0\x80\x80"), nil, `"���" | [e08080]`},
	})
}

func TestBlobNumbers(t *testing.T) {
	i, f := value.Int, value.Float
	long := blob(1, 2, 3, 4, 5, 6, 7, 8, 9)
	check(t, []call{
		{"little end", "parse_le_int", long, args(i(0), i(2)), "513 | [0102030405060708 09]"},
		{"big end", "parse_be_int", long, args(i(0), i(2)), "72620543991349248 | [0102030405060708 09]"},
		{"at most 8 bytes", "parse_le_int", long, args(i(0), i(9)), "578437695752307201 | [0102030405060708 09]"},
		{"a range", "parse_be_int", long, args(value.NewRange(1, math.MaxInt64)), "144964032628459529 | [0102030405060708 09]"},
		{"nothing", "parse_be_int", long, args(i(9), i(2)), "0 | [0102030405060708 09]"},
		{"a float", "parse_be_float", blob(0x3f, 0xf8), args(i(0), i(8)), "1.5 | [3ff8]"},
		{"writing an int", "write_le", blob(9, 9, 9), args(i(1), i(9), i(0x0102)), "() | [090201]"},
		{"writing the high end of an int", "write_be", blob(9, 9, 9), args(i(1), i(9), i(0x0102)), "() | [090000]"},
		{"writing a float", "write_be", blob(9, 9, 9), args(value.NewRangeIncl(0, 1), f(1.5)), "() | [3ff809]"},
		{"writing nothing", "write_be", blob(9), args(i(1), i(1), i(1)), "() | [09]"},
		{"text is cut", "write_utf8", blob(0, 0, 9), args(i(0), i(2), value.Str("aé")), "() | [61c309]"},
		{"ASCII only", "write_ascii", blob(9, 9, 9, 9), args(i(0), i(3), value.Str("aéb")), "() | [61620909]"},
	})
}

func TestBlobsAreCopiedBeforeTheyChange(t *testing.T) {
	c, _ := newCtx()
	a := blob(1, 2)
	b := a.Keep()
	run(t, c, "write_le", &b, value.Int(0), value.Int(1), value.Int(9))
	run(t, c, "append", &a, a)
	if got := a.HostDebug() + b.HostDebug(); got != "[01020102][0902]" {
		t.Errorf("got %s", got)
	}
}

func TestBlobLimits(t *testing.T) {
	want := map[string]string{
		"push":   "! Size of array/BLOB too large (line 1, position 2)",
		"pad":    "! Size of BLOB too large (line 1, position 2)",
		"append": "! Size of array/BLOB too large (line 1, position 2)",
	}
	rest := map[string][]value.Value{
		"push": args(value.Int(1)), "pad": args(value.Int(3), value.Int(1)), "append": args(value.Str("a")),
	}
	for name, want := range want {
		c, _ := newCtx()
		c.Limits.MaxArray = 2
		b := blob(1, 2)
		if got := show(c, run(t, c, name, &b, rest[name]...)); got != want {
			t.Errorf("%s gives %s, want %s", name, got, want)
		}
	}
}
