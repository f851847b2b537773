package intake_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

type thing struct {
	ID    int               `json:"id" yaml:"id"`
	Env   map[string]string `json:"env" yaml:"env"`
	Items []thing           `json:"items" yaml:"items"`
	Raw   json.RawMessage   `json:"raw" yaml:"-"`
}

func TestDecode(t *testing.T) {
	many := "{"
	for i := range 40 {
		many += fmt.Sprintf("%q:1,", fmt.Sprint("n", i))
	}
	for _, c := range []struct{ name, text, want string }{
		{"a whole thing", `{"id":1,"env":{"PATH":"a","Path":"b"},"items":[{"id":2},{"id":2}],"raw":{"ID":1,"id":2}}`, ""},
		{"the same name in two objects", `{"items":[{"id":1},{"id":2}],"id":3}`, ""},
		{"a name twice", "{\"id\":1,\n\"id\":2}", `line 2: "id" stands twice`},
		{"a name twice, once escaped", `{"id":1,"\u0069d":2}`, `line 1: "id" stands twice`},
		{"a name twice in what is only passed on", `{"raw":{"a":[{"b":1,"b":2}]}}`, `"b" stands twice`},
		{"a name twice among many", `{"raw":` + many + `"n3":2}}`, `"n3" stands twice`},
		{"a name twice with an object between", `{"id":1,"env":{"id":"x"},"id":2}`, `"id" stands twice`},
		{"a field in another case", `{"ID":1}`, `"ID" is written "id"`},
		{"a field in another case, beside it", `{"id":1,"Id":2}`, `"Id" is written "id"`},
		{"a field in another case, deep", `{"items":[{"ItemS":[]}]}`, `"ItemS" is written "items"`},
		{"a field with a letter that folds to one", `{"itemſ":[]}`, `"itemſ" is written "items"`},
		{"a field that is not known", `{"ids":1}`, `unknown field "ids"`},
		{"something behind it", `{"id":1} {}`, `line 1: there is more behind`},
		{"what is no UTF-8", "{\"env\":{\"a\":\"\xff\"}}", "not UTF-8"},
		{"what is no JSON", "{\n\"id\": x}", "line 2: invalid character 'x'"},
		{"nothing", "", "it is empty"},
		{"too deep", strings.Repeat(`{"items":[`, 20), "line 1: it is nested more than 30 deep"},
		{"too many values", `{"raw":[` + strings.Repeat("1,", 300) + `1]}`, "more than 200 values"},
		{"too long", `{"raw":"` + strings.Repeat("x", 5000) + `"}`, "more than 4000 bytes"},
	} {
		err := intake.Decode([]byte(c.text), new(thing), intake.Limits{Bytes: 4000, Depth: 30, Values: 200})
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) || !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// A request's body is looked at before it is decoded: that must not cost more than the decoding.
func TestCheckAllocatesNothing(t *testing.T) {
	text, into := []byte(`{"id":1,"env":{"a":"b"},"items":[{"id":2},{"id":3,"env":{"c":"d"}}]}`), new(thing)
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := intake.Check(text, into, intake.Limits{}); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations of a small text", n)
	}
}

// A scanner that is used again has nothing of the text before.
func TestCheckForgets(t *testing.T) {
	for _, c := range []struct {
		text string
		good bool
	}{
		{`{"id":1,"id":2}`, false}, {`{"id":1}`, true}, {`{"id":1,"env":{"a":`, true}, {`{"id":1}`, true},
		{`{"items":[{"ID":1}]}`, false}, {`{"id":1,"items":[]}`, true},
	} {
		size, err := intake.Check([]byte(c.text), new(thing), intake.Limits{})
		if (err == nil) != c.good || c.text == `{"id":1}` && size != (intake.Size{Values: 3, Objects: 1}) {
			t.Errorf("%s: got %v, %v", c.text, size, err)
		}
	}
}

func TestYAML(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a thing", "id: 1\nenv: {a: b}\nitems:\n- {id: 2}\n- {id: 2}\n", ""},
		{"a thing as JSON", `{"id":1,"env":{"a":"\u0062"}}`, ""},
		{"nothing", "# only a remark\n", ""},
		{"an alias", "env: &e {a: b}\nitems:\n- {env: *e}\n- {env: *e}\n", ""},
		{"a name twice", "id: 1\nid: 2\n", `line 2: "id" stands twice, at line 1 too`},
		{"a name twice, deep", "items:\n- id: 1\n  id: 2\n", `line 3: "id" stands twice`},
		{"a name twice as JSON", "{\"id\":1,\n\"id\":2}", `line 2: "id" stands twice`},
		{"a name that is none", "{[a]: 1}", "want a name here"},
		{"two documents", "id: 1\n---\nid: 2\n", "line 2: here begins a second document"},
		{"what is no UTF-8", "id: \xff", "not UTF-8"},
		{"a field that is not known", "ids: 1", "field ids not found"},
		{"an alias in itself", "items: &a [*a]", "stands in what it stands for"},
		{"too deep", strings.Repeat("[", 200) + strings.Repeat("]", 200), "nested more than"},
		{"too many marks", "items: [" + strings.Repeat("[],", 100_000) + "]", "too many lists and fields"},
		{"aliases of aliases", bomb(), "with what its aliases stand for written out"},
	} {
		began := time.Now()
		err := intake.YAML([]byte(c.text), new(thing), intake.Limits{Values: 50_000})
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("%s: it took %v", c.name, d)
		}
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// bomb is a text whose aliases stand for 10^20 texts.
func bomb() string {
	b := "a0: &a0 [x]\n"
	for i := range 20 {
		b += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 10))
	}
	return b
}

// FuzzJSON: what is taken has each name once, and the decoder agrees that it is
// JSON.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"id":1,"items":[{"env":{"a":"b"}}]}`, `{"a":1,"\u0061":2}`, `[[{"a":{"a":1}}]]`, `{"a":"\"","\"":1}`, `{`, `"`, `{"a" "b"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if _, err := intake.Check([]byte(text), nil, intake.Limits{}); err != nil || json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		d := json.NewDecoder(strings.NewReader(text))
		if twice(d) {
			t.Errorf("%q has a name twice", text)
		}
	})
}

// twice finds a name that stands twice in the next value, by the decoder's own
// tokens.
func twice(d *json.Decoder) bool {
	tok, err := d.Token()
	if err != nil {
		return false
	}
	delim, _ := tok.(json.Delim)
	if delim != '{' && delim != '[' {
		return false
	}
	seen := map[string]bool{}
	for d.More() {
		if delim == '{' {
			name, _ := d.Token()
			text, _ := name.(string)
			if seen[text] {
				return true
			}
			seen[text] = true
		}
		if twice(d) {
			return true
		}
	}
	_, _ = d.Token() // the end
	return false
}

// FuzzYAML: nothing panics, and what is taken is within its bounds.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{"a: &x {b: c}\nd: *x\n", "- *a\n", "<<: [*a]\n", "? [a]\n: b\n", "--- |\n a\n...\n---\n", "{a: 1, a: 2}", bomb(), "&a [*a]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4000 {
			return
		}
		n, err := intake.Parse([]byte(text), intake.Limits{Bytes: 4000, Depth: 50, Values: 1000})
		if err != nil || n == nil || intake.Unique(n) != nil {
			return
		}
		var v any
		if n.Decode(&v) != nil {
			return // as a number that is too large
		}
		if out, err := yaml.Marshal(v); err == nil && len(out) > 200*4000 { // indented, quoted
			t.Errorf("%q comes to %d bytes", text, len(out))
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	text := []byte(`{"event_id":"0190b5a0-0000-7000-8000-000000000000","type":"OrderPlaced","schema_version":1,"time":"2026-11-22T14:00:00Z",` +
		`"payload":{"order":"7","items":[` +
		strings.Repeat(`{"sku":"a-1","count":2,"price":12.5},`, 9) + `{"sku":"a-1"}],"customer":{"id":12,"name":"Ada"}}}`)
	b.SetBytes(int64(len(text)))
	var into struct {
		ID      string          `json:"event_id"`
		Payload json.RawMessage `json:"payload"`
	}
	b.Run("check", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := intake.Check(text, &into, intake.Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("unmarshal", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if err := json.Unmarshal(text, &into); err != nil {
				b.Fatal(err)
			}
		}
	})
}
