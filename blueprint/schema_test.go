package blueprint

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
)

var update = flag.Bool("update", false, "write docs/blueprint.schema.json anew")

func TestTheSchemaInTheDocsIsCurrent(t *testing.T) {
	const file = "../docs/blueprint.schema.json"
	if *update {
		if err := os.WriteFile(file, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(Schema()), string(got)); diff != "" {
		t.Errorf("go test ./blueprint -update writes it anew (-want +got):\n%s", diff)
	}
}

// TestTheTableHasTheFieldsOfTheGoTypes holds names, order and kinds.
func TestTheTableHasTheFieldsOfTheGoTypes(t *testing.T) {
	kinds := map[reflect.Type][]kind{
		reflect.TypeFor[int](): {aNumber}, reflect.TypeFor[int64](): {aNumber}, reflect.TypeFor[*int64](): {aNumber}, reflect.TypeFor[bool](): {aFlag},
		reflect.TypeFor[string](): {aText, aValue}, reflect.TypeFor[domain.OnError](): {aText}, reflect.TypeFor[domain.StepKind](): {aText},
		reflect.TypeFor[domain.ScriptType](): {aText}, reflect.TypeFor[domain.Span](): {aSpan}, reflect.TypeFor[domain.Instant](): {anInstant},
		reflect.TypeFor[[]string](): {someTexts}, reflect.TypeFor[map[string]string](): {aMap}, reflect.TypeFor[[]domain.Step](): {someObjects},
		reflect.TypeFor[*domain.Shard](): {anObject}, reflect.TypeFor[*domain.Pack](): {anObject}, reflect.TypeFor[*domain.EffectCall](): {anObject},
	}
	for o, typ := range map[*object]reflect.Type{aBlueprint: reflect.TypeFor[domain.Blueprint](), aStep: reflect.TypeFor[domain.Step](),
		aShard: reflect.TypeFor[domain.Shard](), aPack: reflect.TypeFor[domain.Pack](), anEffect: reflect.TypeFor[domain.EffectCall]()} {
		rest := slices.DeleteFunc(slices.Clone(o.names), func(name string) bool { return o == aStep && name == "file" }) // only documents have it
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if i >= len(rest) || rest[i] != name {
				t.Errorf("%s.%s: the table has %v there", o.title, name, rest[min(i, len(rest)):])
				break
			}
			if k := o.known(name).kind; !slices.Contains(kinds[f.Type], k) {
				t.Errorf("%s.%s: a %s, the table says kind %d", o.title, name, f.Type, k)
			}
		}
		if len(rest) != typ.NumField() {
			t.Errorf("%s: the table has %d fields, the type %d", o.title, len(rest), typ.NumField())
		}
		for other, name := range o.others {
			if o.known(name) == nil || o.known(other) != nil {
				t.Errorf("%s: %q stands for %q", o.title, other, name)
			}
		}
		for _, f := range o.fields {
			if !strings.HasSuffix(f.doc, ".") {
				t.Errorf("%s.%s: %q is no sentence", o.title, f.name, f.doc)
			}
		}
	}
}

// TestTheSchemaAndTheParserAgree: what the parser takes, the schema takes, and
// what is wrong in a way that a schema can say, both refuse.
func TestTheSchemaAndTheParserAgree(t *testing.T) {
	examples, err := filepath.Glob("../examples/*/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range examples {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\nsteps:\n") {
			continue // jobs, schedules
		}
		if _, err := ParseFile(file); err != nil {
			t.Error(err)
		}
		if err := validate(t, string(text)); err != nil {
			t.Errorf("%s: the schema says %v", file, err)
		}
	}
	const step = "{name: a, script: x, script_type: shell"
	good := []string{
		"name: n\nsteps: [" + step + "}]",
		"name: n\nversion: 3\npriority: 9\nafter: 5\nduration: 90\nretention: 1h30m\nparams: {a: 1, b: true, c: x}\non_error: abort\nsteps: [" + step + ", needs: []}]",
		"name: n\nsteps: [" + step + ", after: \"2026-01-31T02:00:00.5+01:00\", timeout: \"90\", when: true}, {name: b, kind: approval, needs: a}]",
		"name: n\nsteps: [" + step + ", shard: {count: 1000000, window: 0}}, {name: b, effect: {kind: http, target: t}, needs: [a]}]",
		"name: n\nsteps: [" + step + ", pack: {size: 1, end: -1, start: 9223372036854775807}}]",
	}
	for _, text := range good {
		if _, err := Parse("", []byte(text)); err != nil {
			t.Errorf("%s: the parser says %v", text, err)
		}
		if err := validate(t, text); err != nil {
			t.Errorf("%s: the schema says %v", text, err)
		}
	}
	bad := []string{
		"[]", "name: n", "name: 1x\nsteps: [" + step + "}]", "name: n\nsteps: []", "name: n\nsteps: [1]", "steps: [" + step + "}]",
		"name: n\nunknown: 1\nsteps: [" + step + "}]", "name: n\npriority: 10\nsteps: [" + step + "}]", "name: n\npriority: high\nsteps: [" + step + "}]",
		"name: n\nversion: -1\nsteps: [" + step + "}]", "name: n\non_error: stop\nsteps: [" + step + "}]", "name: n\nduration: 1.5 h\nsteps: [" + step + "}]",
		"name: n\nafter: tomorrow\nsteps: [" + step + "}]", "name: n\nunique_alive: maybe\nsteps: [" + step + "}]", "name: n\nparams: [a]\nsteps: [" + step + "}]",
		"name: n\nparams: {a: [1]}\nsteps: [" + step + "}]", "name: n\nparams: {1a: 1}\nsteps: [" + step + "}]", "name: n\nenv: {A-B: 1}\nsteps: [" + step + "}]",
		"name: n\nsteps: [{script: x, script_type: v}]", "name: n\nsteps: [" + step + ", depends: [b]}]", "name: n\nsteps: [" + step + ", needs: {b: 1}}]",
		"name: n\nsteps: [" + step + ", needs: [1]}]", "name: n\nsteps: [" + step + ", needs: [b, b]}]", "name: n\nsteps: [" + step + ", retries: 256}]",
		"name: n\nsteps: [" + step + ", retries: 1.5}]", "name: n\nsteps: [" + step + ", kind: parallel}]", "name: n\nsteps: [" + step + ", shard: {count: 0}}]",
		"name: n\nsteps: [" + step + ", shard: {start: 0}}]", "name: n\nsteps: [" + step + ", shard: {count: 1, windw: 1}}]",
		"name: n\nsteps: [" + step + ", pack: {size: 0}}]", "name: n\nsteps: [" + step + ", pack: {size: 1, end: -2}}]",
		"name: n\nsteps: [{name: a, effect: {kind: http}}]", "name: n\nsteps: [" + step + ", phase: -1}]", "name: n\nsteps: [" + step + ", file: a.sh}]",
		"name: n\nsteps: [{name: a, script: x, script_type: Shell}]", "name: n\nsummary: 5\nsteps: [" + step + "}]",
	}
	for _, text := range bad {
		if _, err := Parse("", []byte(text)); err == nil {
			t.Errorf("%s: the parser takes it", text)
		}
		if err := validate(t, text); err == nil {
			t.Errorf("%s: the schema takes it", text)
		}
	}
}

// validate checks a YAML text by the schema. It knows the keywords that the
// schema has, and fails the test at others.
func validate(t *testing.T, text string) error {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	v := validator{T: t}
	return v.check(v.decode(Schema()).(map[string]any), v.decode(asJSON), "")
}

type validator struct {
	*testing.T
	root map[string]any
}

func (v *validator) decode(text []byte) any {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		v.Fatal(err)
	}
	if m, ok := out.(map[string]any); ok && v.root == nil {
		v.root = m
	}
	return out
}

func (v *validator) check(s map[string]any, doc any, path string) error {
	number, isNumber := doc.(json.Number)
	text, isText := doc.(string)
	list, isList := doc.([]any)
	fields, isObject := doc.(map[string]any)
	atMost := func(word string, n int) error {
		if limit := v.int(s[word]); int64(n) > limit {
			return fmt.Errorf("%s: %d is over %s %d", path, n, word, limit)
		}
		return nil
	}
	for _, word := range slices.Sorted(maps.Keys(s)) {
		var err error
		switch word {
		case "$schema", "$defs", "title", "description", "default", "examples":
		case "$ref":
			name := strings.TrimPrefix(s[word].(string), "#/$defs/")
			err = v.check(v.root["$defs"].(map[string]any)[name].(map[string]any), doc, path)
		case "type":
			err = v.checkType(s[word], doc, path)
		case "enum":
			if !slices.Contains(s[word].([]any), doc) {
				err = fmt.Errorf("%s: %v is none of %v", path, doc, s[word])
			}
		case "pattern":
			if isText && !regexp.MustCompile(s[word].(string)).MatchString(text) {
				err = fmt.Errorf("%s: %q does not match", path, text)
			}
		case "maxLength":
			if isText {
				err = atMost(word, len([]rune(text)))
			}
		case "minimum", "maximum":
			if isNumber {
				n, nerr := number.Int64()
				if limit := v.int(s[word]); nerr != nil || word == "minimum" && n < limit || word == "maximum" && n > limit {
					err = fmt.Errorf("%s: %s: %s %d", path, number, word, limit)
				}
			}
		case "minItems":
			if isList && int64(len(list)) < v.int(s[word]) {
				err = fmt.Errorf("%s: too few", path)
			}
		case "maxItems":
			if isList {
				err = atMost(word, len(list))
			}
		case "uniqueItems":
			for i, item := range list {
				if slices.Contains(list[:i], item) {
					err = fmt.Errorf("%s: twice", path)
				}
			}
		case "items":
			for i, item := range list {
				if err = v.check(s[word].(map[string]any), item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
					break
				}
			}
		case "maxProperties":
			if isObject {
				err = atMost(word, len(fields))
			}
		case "required":
			for _, name := range s[word].([]any) {
				if isObject && fields[name.(string)] == nil {
					err = fmt.Errorf("%s: no %s", path, name)
				}
			}
		case "not":
			if v.check(s[word].(map[string]any), doc, path) == nil {
				err = fmt.Errorf("%s: what must not be", path)
			}
		case "anyOf":
			for _, one := range s[word].([]any) {
				if err = v.check(one.(map[string]any), doc, path); err == nil {
					break
				}
			}
		case "propertyNames":
			for name := range fields {
				if err = v.check(s[word].(map[string]any), name, path); err != nil {
					break
				}
			}
		case "properties", "additionalProperties":
			if word == "properties" && s["additionalProperties"] != false {
				v.Fatalf("%s is open", path)
			}
			if word == "additionalProperties" {
				err = v.checkOthers(s, fields, path)
				break
			}
			for name, field := range s[word].(map[string]any) {
				if value, there := fields[name]; there && err == nil {
					err = v.check(field.(map[string]any), value, join(path, name))
				}
			}
		default:
			v.Fatalf("the schema has %q, which this test does not know", word)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *validator) checkOthers(s, fields map[string]any, path string) error {
	known, _ := s["properties"].(map[string]any)
	for name, value := range fields {
		switch others := s["additionalProperties"].(type) {
		case bool:
			if known[name] == nil {
				return fmt.Errorf("%s: %s is not known", path, name)
			}
		case map[string]any:
			if err := v.check(others, value, join(path, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *validator) checkType(want, doc any, path string) error {
	types, many := want.([]any)
	if !many {
		types = []any{want}
	}
	for _, typ := range types {
		ok := false
		switch d := doc.(type) {
		case string:
			ok = typ == "string"
		case bool:
			ok = typ == "boolean"
		case json.Number:
			ok = typ == "number" || typ == "integer" && !strings.ContainsAny(d.String(), ".eE")
		case []any:
			ok = typ == "array"
		case map[string]any:
			ok = typ == "object"
		}
		if ok {
			return nil
		}
	}
	return fmt.Errorf("%s: %v is no %v", path, doc, want)
}

func (v *validator) int(n any) int64 {
	i, err := n.(json.Number).Int64()
	if err != nil {
		v.Fatal(err)
	}
	return i
}
