package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestCompare(t *testing.T) {
	failed := Answer{Error: "ErrorParsing", ParseError: "MissingToken", Pos: "1:2", Message: "Syntax error"}
	with := func(change func(*Answer)) Answer {
		a := failed
		change(&a)
		return a
	}
	one := Answer{Expect: &Value{Type: "i64", Value: "1"}}
	for _, test := range []struct {
		name string
		a, b Answer
		want Level
	}{
		{name: "the same error", a: failed, b: failed, want: Same},
		{name: "equal values", a: one, b: Answer{Expect: &Value{Type: "i64", Value: "1"}}, want: Same},
		{name: "other types", a: one, b: Answer{Expect: &Value{Type: "f64", Value: "1"}}, want: What},
		{name: "a value and an error", a: one, b: failed, want: What},
		{name: "other lines printed", a: Answer{Print: []string{"a"}}, b: Answer{Print: []string{"b"}}, want: What},
		{name: "other variables left", a: Answer{ScopeAfter: map[string]Value{"x": {}}}, b: Answer{}, want: What},
		{name: "other parse errors", a: failed, b: with(func(a *Answer) { a.ParseError = "Reserved" }), want: Where},
		{name: "other positions", a: failed, b: with(func(a *Answer) { a.Pos, a.Message = "1:3", "x" }), want: Where},
		{name: "debug at other positions", a: Answer{Debug: []Note{{Text: "a", Pos: "1:1"}}}, b: Answer{Debug: []Note{{Text: "a"}}}, want: Where},
		{name: "other words", a: failed, b: with(func(a *Answer) { a.Message = "x" }), want: Words},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := compare(test.a, test.b); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestAnAlternativeAnswerIsRightToo(t *testing.T) {
	var c Case
	line := `{"id":"a","src":"","print":["p"],"expect":{"type":"i64","value":"1"},"alt_no_optimizer":{"error":"ErrorFor","message":"m","pos":"1:1"}}`
	if err := json.Unmarshal([]byte(line), &c); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		got  Answer
		want Level
	}{
		{name: "the recorded one", got: c.Answer, want: Same},
		{name: "the alternative, printing the same", got: Answer{Print: []string{"p"}, Error: "ErrorFor", Message: "m", Pos: "1:1"}, want: Same},
		{name: "near the alternative", got: Answer{Print: []string{"p"}, Error: "ErrorFor", Message: "other", Pos: "1:1"}, want: Words},
		{name: "neither", got: Answer{Print: []string{"p"}}, want: What},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, _ := grade(c, test.got); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestIntended(t *testing.T) {
	value := func(text string) Answer { return Answer{Expect: &Value{Type: "string", Value: text}} }
	message := func(text string) Answer { return Answer{Error: "ErrorArithmetic", Message: text} }
	for _, test := range []struct {
		name            string
		reference, ours Answer
		want            string
	}{
		{name: "exit in a callback", reference: Answer{Error: "Exit", Message: "NOT AN ERROR"}, ours: value("1"), want: "exit-in-callback"},
		{
			name:      "the frame of a function of the script stays",
			reference: message("Division\nin call to function 'f' (line 1, position 5)"), ours: message("Division"),
		},
		{name: "another error besides the frame", reference: message("a\nin call to function 'map'"), ours: message("b")},
		{name: "the last digit of a float", reference: value("1.234567890123456"), ours: value("1.2345678901234563"), want: "float-digits"},
		{name: "another float", reference: value("0.123456789"), ours: value("0.123456788")},
		{name: "the same float, written differently", reference: value("1.5"), ours: value("1.50")},
		{name: "integers are exact", reference: value("9007199254740993"), ours: value("9007199254740992")},
		{
			name:      "operations",
			reference: Answer{Error: "ErrorTooManyOperations", Message: "Too many operations (line 1, position 1)"}, ours: value("1"),
			want: "operation-count",
		},
		{
			name: "another caught error",
			reference: Answer{Print: []string{`#{"error": "ErrorInFunctionCall", "function": "map", "line": 1, "message": "Division\nin call to function ` +
				`'map'", "position": 5, "source": ""}`}},
			ours: Answer{Print: []string{`#{"error": "ErrorArithmetic", "line": 1, "message": "Addition", "position": 5}`}},
		},
		{
			name:      "the type of a captured variable",
			reference: message("Data type incorrect: alloc::rc::Rc<core::cell::RefCell<rhai::types::dynamic::Dynamic>> (expecting bool)"),
			ours:      message("Data type incorrect: i64 (expecting bool)"),
			want:      "shared-type-name",
		},
		{
			name:      "another type wanted of a captured variable",
			reference: message("Data type incorrect: alloc::rc::Rc<core::cell::RefCell<rhai::types::dynamic::Dynamic>> (expecting bool)"),
			ours:      message("Data type incorrect: i64 (expecting string)"),
		},
		{
			name: "a data race of the reference only", reference: Answer{Error: "ErrorDataRace", Message: "Data race detected"}, ours: value("1"),
			want: "data-race",
		},
		{name: "a data race of ours only", reference: value("1"), ours: Answer{Error: "ErrorDataRace", Message: "Data race detected"}},
		{name: "a panic of the reference", reference: Answer{Error: "ErrorSystem"}, ours: value("1"), want: "reference-panic"},
		{name: "a panic of ours", reference: value("1"), ours: Answer{Error: "ErrorSystem"}},
		{
			name: "the characters of a closure's name", reference: value("[a, n, o, n, $, a, 8, e, 6, 4, 9]"), ours: value("[a, n, o, n, $, 5, 9, 7, 5, b, f]"),
			want: "closure-name",
		},
		{name: "pieces of a closure's name", reference: value(`Fn(a, non$a8e649d8)`), ours: value(`Fn(a, non$5975bfca)`), want: "closure-name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if k := intention(Case{}, test.reference, test.ours); k != nil {
				got = k.name
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// fake answers with the number of tokens; it is wrong about scripts that hold the word.
type fake struct{ wrongAbout string }

func (f fake) Ask(c Case) (Answer, error) {
	n := len(tokens(c.Src))
	if f.wrongAbout != "" && strings.Contains(c.Src, f.wrongAbout) {
		return Answer{Error: "ErrorFor", Message: "wrong"}, nil
	}
	return Answer{Expect: &Value{Type: "i64", Value: fmt.Sprint(n)}}, nil
}

func TestFuzzFindsADifferenceAndMakesItSmall(t *testing.T) {
	var out bytes.Buffer
	f := fuzzing{seed: 3, length: time.Hour, programs: 500, show: 5, scripts: []string{"let a = 1; a"}, reference: fake{}, ours: fake{wrongAbout: "truncate"}}
	kinds, err := f.run(&out)
	if err != nil || kinds != 1 {
		t.Fatalf("got %d kinds, error %v, want 1 kind:\n%s", kinds, err, &out)
	}
	found := ""
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "{") {
			var c Case
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatalf("%q is not a case: %v", line, err)
			}
			found = strings.TrimSpace(c.Src)
			if c.Expect == nil || c.Expect.Value != fmt.Sprint(len(tokens(c.Src))) {
				t.Errorf("case %s does not hold the reference's answer", line)
			}
		}
	}
	if !strings.Contains(found, "truncate") || len(tokens(found)) != 1 {
		t.Errorf("got script %q, want only the word, at most joined to another\n%s", found, &out)
	}
}

func TestAnEngineThatDiesIsAnAnswer(t *testing.T) {
	e := NewEngine([]string{"sh", "-c", `read line; read line; exit 3`})
	defer e.Close()
	for range 2 { // and may be asked again
		e.start()
		e.in.Write([]byte("a first line\n"))
		got, err := e.Ask(Case{ID: "x"})
		if err != nil || got.Error != "ErrorSystem" || !strings.Contains(got.Message, "exit status 3") {
			t.Errorf("got %+v, error %v, want an ErrorSystem with exit status 3", got, err)
		}
	}
}

func TestAnEngineThatIsMissingIsAnError(t *testing.T) {
	if got, err := NewEngine([]string{"no/such/engine"}).Ask(Case{ID: "x"}); err == nil {
		t.Errorf("got %+v, want an error", got)
	}
}
