package value_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/rhai/value"
)

func TestReadJSON(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"a": [1, 2.5, "x", null, true], "a b": {}}`, `#{"a": [1, 2.5, "x", (), true], "a b": #{}}`},
		{`{"a":1,"a":2}`, `#{"a": 2}`},
		{`-9223372036854775808`, `-9223372036854775808`},
		{`9223372036854775808`, `9.223372036854776e18`},
		{`-0`, `-0.0`},
		{`1E5`, `100000.0`},
		{`1e-400`, `0.0`},
		{`"a\ud83d\ude00\n\/\b\f\u0000"`, `"a😀\n/\u{8}\u{c}\0"`},
		{``, `EOF while parsing a value at line 1 column 0`},
		{`{`, `EOF while parsing an object at line 1 column 1`},
		{`[1`, `EOF while parsing a list at line 1 column 2`},
		{`[1,`, `EOF while parsing a value at line 1 column 3`},
		{`[1,]`, `trailing comma at line 1 column 4`},
		{`{"a":1,}`, `trailing comma at line 1 column 8`},
		{`{a:1}`, `key must be a string at line 1 column 2`},
		{`{"a" 1}`, "expected `:` at line 1 column 6"},
		{`{"a":1 "b"}`, "expected `,` or `}` at line 1 column 8"},
		{"[1\n 2]", "expected `,` or `]` at line 2 column 2"},
		{`tru`, `EOF while parsing a value at line 1 column 3`},
		{`trux`, `expected ident at line 1 column 4`},
		{"\n\n  x", `expected value at line 3 column 3`},
		{`1 2`, `trailing characters at line 1 column 3`},
		{`"é" é`, `trailing characters at line 1 column 6`},
		{`01`, `invalid number at line 1 column 2`},
		{`-01`, `invalid number at line 1 column 3`},
		{`-`, `EOF while parsing a value at line 1 column 1`},
		{`1.x`, `invalid number at line 1 column 3`},
		{`1e+`, `EOF while parsing a value at line 1 column 3`},
		{`1e400`, `number out of range at line 1 column 5`},
		{`"abc`, `EOF while parsing a string at line 1 column 4`},
		{`"a\x"`, `invalid escape at line 1 column 4`},
		{`"a\u12"`, `EOF while parsing a string at line 1 column 7`},
		{`"a\u12zz"`, `invalid escape at line 1 column 8`},
		{`"a\ud800"`, `unexpected end of hex escape at line 1 column 9`},
		{`"a\ud800\u0041"`, `lone leading surrogate in hex escape at line 1 column 14`},
		{`"\ude00"`, `lone leading surrogate in hex escape at line 1 column 7`},
		{"\"a\nb\"", `control character (\u0000-\u001F) found while parsing a string at line 2 column 0`},
		{strings.Repeat("[", 127), `EOF while parsing a list at line 1 column 127`},
		{strings.Repeat("[", 128), `recursion limit exceeded at line 1 column 128`},
	} {
		v, err := value.ReadJSON(tt.text)
		got := v.HostDebug()
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestWriteJSON(t *testing.T) {
	m := value.NewMap(0)
	for key, v := range map[string]value.Value{
		"char": value.Char('c'), "text": value.Str("q\"\\\n\b\x01\x7f\u2028é"), "unit": value.Unit,
		"blob": value.NewBlob([]byte{2, 255}), "fn": value.NewFn("f", nil, nil, nil),
		"curried": value.NewFn("f", []value.Value{value.Int(1), value.NewCell(value.Str("a"))}, nil, nil),
		"range":   value.NewRange(1, 2), "nan": value.Float(math.NaN()), "list": value.NewArray([]value.Value{value.True}),
	} {
		m.AsMap().Set(key, v)
	}
	got, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"blob":[2,255],"char":"c","curried":["f",1,"a"],"fn":"f","list":[true],"nan":null,` +
		`"range":"core::ops::range::Range\u003ci64\u003e","text":"q\"\\\n\b\u0001` + "\x7f" + `\u2028é","unit":null}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for f, want := range map[float64]string{
		1: "1.0", 1e15: "1000000000000000.0", 1e16: "1e16", 123456789.125: "123456789.125",
		1e-5: "0.00001", 1.5e-6: "1.5e-6", 1.5e300: "1.5e300", math.Copysign(0, -1): "-0.0",
	} {
		if got, _ := value.AppendJSON(nil, value.Float(f)); string(got) != want {
			t.Errorf("%g: got %s, want %s", f, got, want)
		}
	}
	if got, err := value.RenderJSON(value.Float(1.5e300), nil); err != nil || got != "1.5e+300" {
		t.Errorf("rendered: got %s, %v", got, err)
	}
}

func TestReadLooseJSON(t *testing.T) {
	for text, want := range map[string]value.Value{
		`1e400`: value.Float(math.Inf(1)), `-1e400`: value.Float(math.Inf(-1)), `1`: value.Int(1),
		`"\ud800"`: value.Str("\ufffd"), `"\udc00x"`: value.Str("\ufffdx"), `"\ud800\u0041"`: value.Str("\ufffdA"),
		`"\ud800\ud83d\ude00"`: value.Str("\ufffd\U0001F600"),
	} {
		if got, err := value.ReadLooseJSON(text); err != nil || got.Kind() != want.Kind() || got.String() != want.String() {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	if _, err := value.ReadLooseJSON(`"\ud800\uzzzz"`); err == nil {
		t.Error("what is no JSON at all was read")
	}
}
