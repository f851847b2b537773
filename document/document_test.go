package document_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
)

var aThing = (&document.Object{
	Title: "thing",
	Fields: []document.Field{
		{Name: "size", Kind: document.ANumber, Max: 9},
		{Name: "text", Kind: document.AValue},
		{Name: "any", Kind: document.AnyData},
	},
}).Index()

var aBox = (&document.Object{
	Title: "box",
	Fields: []document.Field{
		{Name: "things", Kind: document.NamedObjects, Of: aThing, Key: "name", Short: "text", Most: 3},
		{Name: "steps", Kind: document.NamedObjects, Of: aThing, Key: "from", KeyNumber: true, Most: 3},
		{Name: "modes", Kind: document.SomeChoices, Enum: []string{"slow", "fast"}},
		{Name: "data", Kind: document.SomeData},
	},
}).Index()

func read(text string) (*document.Reader, map[string]any) {
	return document.Read([]byte(text), aBox, document.Options{What: "a box, with `things:`", Hint: "less", MaxBytes: 1 << 10})
}

func TestNamedThingsAreAListInTheirOrder(t *testing.T) {
	want := `{"things":[{"name":"b.c","size":1},{"name":"a","text":"5"},{"name":"d"}]}`
	for _, text := range []string{"things: {b.c: {size: 1}, a: 5, d: }", `{"things":[{"name":"b.c","size":1},{"name":"a","text":5},{"name":"d"}]}`,
		"things:\n  <<: {a: 7}\n  b.c: &x {size: 1}\n  a: 5\n  d:\n"} {
		r, values := read(text)
		if got := string(document.Encode(values)); got != want || len(r.Faults()) > 0 {
			t.Errorf("%s: got %s, %v", text, got, r.Faults())
		}
	}
	r, values := read("steps: {2: {}, 10: {size: 3}}")
	if got := string(document.Encode(values)); got != `{"steps":[{"from":2},{"from":10,"size":3}]}` {
		t.Errorf("%s %v", got, r.Faults())
	}
}

func TestDataStaysWhatItIs(t *testing.T) {
	r, values := read("data: {i: 9007199254740993, h: 0x10, f: 2.0, e: 1e30, s: 1e-9, t: 2026-01-31, q: '5', b: true, n: ~, l: [1, [x]], m: {a: " +
		"{}}}\nthings: {a: {any: [1.0]}}")
	want := `{"data":{"b":true,"e":1e+30,"f":2.0,"h":16,"i":9007199254740993,"l":[1,["x"]],"m":{"a":{}},"n":null,"q":"5","s":1e-09,"t":"2026-01-31"},` +
		`"things":[{"any":[1.0],"name":"a"}]}`
	if got := string(document.Encode(values)); got != want {
		t.Errorf("got  %s\nwant %s\n%v", got, want, r.Faults())
	}
}

func TestWhatIsWrongHasItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"things: {a: {size: 10.5}}":      "1:20: things.a.size: got the number 10.5, want a whole number from 0 to 9",
		"things: [{nam: x}]":             `1:11: things[0].nam: unknown field "nam"; known are size, text, any`,
		"things: {a: [1]}":               "1:13: things.a: got a list, want a text, or fields such as `size:`",
		"things: 5":                      "1:9: things: got the number 5, want names, of which each has fields such as `size:`",
		"things: {a: , b: , c: , d: }":   "1:9: things: 4 things, the limit is 3",
		"steps: {x: {}}":                 `1:9: steps.x: got the text "x", want a whole number`,
		"modes: {a: slwo}":               `1:12: modes.a: got the text "slwo", want slow or fast; did you mean "slow"?`,
		"modes: {a: }":                   "1:12: modes.a: it has no value; write \"\" for an empty one",
		"modes: [slow]":                  "1:8: modes: got a list, want names, and slow or fast for each",
		"data: {a: 9999999999999999999}": "1:11: data.a: got the number 9999999999999999999, want a value that JSON can hold",
		"data: {a: 1e400}":               "1:11: data.a: 1e400 is larger than a number can be; put it in quotes where it is a text",
		"data: {? [a] : 1}":              "1:10: data: want a name here, got a list",
	} {
		r, _ := read(text)
		if len(r.Faults()) != 1 || r.Faults()[0].String() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, r.Faults(), want)
		}
	}
}

func TestPlacesOfFaultsThatACheckFound(t *testing.T) {
	r, _ := read("things:\n  a.b:\n    text: |\n      one\n      two\n  a: {text: \"x y\"}\nsteps:\n  1: {size: 1}\n")
	for _, tc := range []struct {
		f    domain.Fault
		want string
	}{
		{domain.Fault{Path: "things.a.b.text", Line: 2, Column: 3}, "5:9"},
		{domain.Fault{Path: "things.a.text", Line: 1, Column: 3}, "6:16"},
		{domain.Fault{Path: "things.a.size"}, "6:6"},
		{domain.Fault{Path: "things.c"}, "2:3"},
		{domain.Fault{Path: "things[5].x"}, "2:3"},
		{domain.Fault{Path: "steps.1.size"}, "8:13"},
		{domain.Fault{Path: ""}, "1:1"},
		{domain.Fault{Path: "nothing[3].x"}, "1:1"},
	} {
		before := len(r.Faults())
		tc.f.Text = "x"
		r.Add(tc.f)
		f := r.Faults()[before]
		f.Path = ""
		if got := f.String(); got != tc.want+": x" {
			t.Errorf("%v: got %s, want %s", tc.f, got, tc.want)
		}
	}
	// In a list, things are found by their names too.
	r, _ = read("things:\n- {name: a.b, size: 1}\n- {name: c, size: 2}\n")
	for path, want := range map[string]int{"things.c.size": 3, "things.a.b.size": 2, "things[1]": 3, "things[7]": 2} {
		if got := r.Line(path); got != want {
			t.Errorf("%s: line %d, want %d", path, got, want)
		}
	}
}

func TestDifferences(t *testing.T) {
	list := document.Diff([]byte(`{"a":{"list":[{"id":1,"x":1},{"id":2}]},"n":9007199254740993,"t":"one\ntwo\nthree"}`),
		[]byte(`{"a":{"list":[{"id":2,"y":[1]},{"id":3}]},"n":9007199254740992,"t":"one\n2\nthree"}`), map[string]string{"a.list": "id"})
	var got []string
	for _, c := range list {
		got = append(got, c.Text())
	}
	want := []string{`- a.list[1]: {"id":1,"x":1}`, "+ a.list[2].y: [1]", `+ a.list[3]: {"id":3}`, "n: 9007199254740993 -> 9007199254740992",
		"t: at line 2\n  - two\n  + 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
