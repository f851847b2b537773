package value_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/rhai/value"
)

func TestRendering(t *testing.T) {
	array := value.NewArray([]value.Value{value.Char('a'), value.Str("a"), value.Unit, value.Float(1e20)})
	mapping := value.NewMap(2)
	mapping.AsMap().Set("b", value.Float(1.5))
	mapping.AsMap().Set("a b", value.Char('\''))
	cell := value.NewCell(value.Int(5))
	loop := value.NewCell(value.Unit)
	loop.AsCell().V = value.NewFn("f", []value.Value{loop}, nil, nil)

	for _, tt := range []struct {
		name                 string
		v                    value.Value
		display, debug, host string
	}{
		{"unit is nothing at all when displayed", value.Unit, "", "()", "()"},
		{"chars are quoted for the host only", value.Char('\''), "'", "'", `'\''`},
		{"a double quote needs no escape in a char", value.Char('"'), `"`, `"`, `'"'`},
		{"strings are quoted by debug", value.Str("a\"'\\\n\t\r\x00"), "a\"'\\\n\t\r\x00", `"a\"'\\\n\t\r\0"`, `"a\"'\\\n\t\r\0"`},
		{"what does not print is escaped", value.Str("\x7f\u00ad\u200b\u0301\u00a0é日"), "\x7f\u00ad\u200b\u0301\u00a0é日",
			`"\u{7f}\u{ad}\u{200b}\u{301}\u{a0}é日"`, `"\u{7f}\u{ad}\u{200b}\u{301}\u{a0}é日"`},
		{"items of arrays are debugged", array, `[a, "a", (), 1e20]`, `[a, "a", (), 1e20]`, `['a', "a", (), 1e20]`},
		{"maps come sorted", mapping, `#{"a b": ', "b": 1.5}`, `#{"a b": ', "b": 1.5}`, `#{"a b": '\'', "b": 1.5}`},
		{"bytes come in eights", value.NewBlob([]byte("123456789")), "[3132333435363738 39]", "[3132333435363738 39]", "[3132333435363738 39]"},
		{"a range with an end", value.NewRange(-1, 3), "-1..3", "-1..3", "-1..3"},
		{"a range without an end", value.NewRangeIncl(1, math.MaxInt64), "1..=", "1..=", "1..="},
		{"a pointer shows what it carries to the host", value.NewFn("f", []value.Value{cell, value.Str("x")}, nil, nil),
			"Fn(f)", "Fn(f)", `Fn("f", 5 (shared), "x")`},
		{"a cell that leads back to itself ends", loop, "Fn(f)", "Fn(f)", `Fn("f", <shared>) (shared)`},
		{"timestamps tell nothing", value.NewTime(time.Now()), "<timestamp>", "<timestamp>", "<timestamp>"},
		{"iterators show their name to the host", value.NewIter("Steps", nil), "range", "range", "Steps"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := []string{tt.v.Display(), tt.v.Debug(), tt.v.HostDebug(), string(value.AppendDisplay([]byte("<"), tt.v))}
			if diff := cmp.Diff([]string{tt.display, tt.debug, tt.host, "<" + tt.display}, got); diff != "" {
				t.Errorf("display, debug, host, appended (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFloats(t *testing.T) {
	for _, tt := range []struct {
		f              float64
		display, debug string
	}{
		{0, "0.0", "0.0"},
		{math.Copysign(0, -1), "0.0", "-0.0"},
		{1e12, "1000000000000.0", "1000000000000.0"},
		{9999999827968, "9999999827968.0", "9999999827968.0"},
		{9999999827969, "9.999999827969e12", "9999999827969.0"},
		{1e13, "1e13", "10000000000000.0"},
		{-1e16, "-1e16", "-1e16"},
		{1e-13, "0.0000000000001", "1e-13"},
		{1.5e-14, "1.5e-14", "1.5e-14"},
		{0.0001, "0.0001", "0.0001"},
		{0.00001, "0.00001", "1e-5"},
		{1.5e300, "1.5e300", "1.5e300"},
		{math.NaN(), "NaN", "NaN"},
		{math.Inf(-1), "-inf", "-inf"},
	} {
		if got := [2]string{value.Float(tt.f).Display(), value.Float(tt.f).Debug()}; got != [2]string{tt.display, tt.debug} {
			t.Errorf("%g: got %q, want %q and %q", tt.f, got, tt.display, tt.debug)
		}
	}
}

func TestRenderingIsBounded(t *testing.T) {
	a := value.NewArray([]value.Value{value.Int(1)})
	for range 60 { // shared structure: small in memory, 2^60 items when written out
		a = value.NewArray([]value.Value{a.Keep(), a.Keep()})
	}
	if n := len(a.Display()); n < 1<<20 || n > 100<<20 {
		t.Errorf("got %d bytes, want a large but bounded text", n)
	}
	deep := value.NewArray(nil)
	for range 100_000 {
		deep = value.NewArray([]value.Value{deep})
	}
	if s := deep.Debug(); !strings.Contains(s, "[...]") {
		t.Errorf("got %d bytes without a mark where nesting was cut off", len(s))
	}
	if _, err := value.AppendJSON(nil, deep); err == nil {
		t.Error("JSON of too many levels: got no error")
	}
}

func TestCharactersOfSeveralBytes(t *testing.T) {
	v := value.Str("")
	var want []rune
	for i := range 300 {
		for _, text := range []string{"a", "ä", "€😀", "plain"} {
			if i%3 == 0 {
				value.PrependString(&v, text)
				want = append([]rune(text), want...)
			} else {
				value.AppendString(&v, text)
				want = append(want, []rune(text)...)
			}
		}
		if v.Chars() != len(want) {
			t.Fatalf("got %d characters, want %d", v.Chars(), len(want))
		}
		// Forwards, backwards, and far apart.
		for _, k := range []int{0, i, i + 1, i / 2, len(want) - 1, len(want) / 3} {
			if got := v.CharAt(k); got != want[k] {
				t.Fatalf("character %d of %d: got %c, want %c", k, len(want), got, want[k])
			}
			if got := v.Substring(k, min(k+20, len(want))); got != string(want[k:min(k+20, len(want))]) {
				t.Fatalf("from character %d: got %q", k, got)
			}
		}
	}
	if got := v.AsString(); got != string(want) {
		t.Errorf("got %q", got)
	}
}

// Package fmt shows values as scripts do, alone and within data of Go's.
func TestValuesPrint(t *testing.T) {
	list := value.NewArray([]value.Value{value.Str("a"), value.Char('b'), value.Float(1)})
	for _, tt := range []struct{ got, want string }{
		{fmt.Sprint(value.Int(-3)), "-3"}, {fmt.Sprintf("%v|%s", value.Str("x"), value.True), "x|true"},
		{fmt.Sprint(value.Unit, value.Value{}), " "}, {list.String(), `["a", b, 1.0]`}, {fmt.Sprint([]value.Value{list, value.Unit}), `[["a", b, 1.0] ]`},
		{fmt.Sprintf("%10v|", value.Int(5)), "         5|"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
