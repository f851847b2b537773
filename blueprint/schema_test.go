package blueprint

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/document/documenttest"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
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
	kinds := map[reflect.Type][]document.Kind{
		reflect.TypeFor[int](): {document.ANumber}, reflect.TypeFor[int64](): {document.ANumber}, reflect.TypeFor[*int64](): {document.ANumber},
		reflect.TypeFor[float64](): {document.ADecimal}, reflect.TypeFor[*float64](): {document.ADecimal},
		reflect.TypeFor[bool]():   {document.AFlag},
		reflect.TypeFor[string](): {document.AText, document.AValue}, reflect.TypeFor[domain.OnError](): {document.AText},
		reflect.TypeFor[domain.StepKind]():   {document.AText},
		reflect.TypeFor[domain.ScriptType](): {document.AText}, reflect.TypeFor[domain.Span](): {document.ASpan},
		reflect.TypeFor[domain.Instant](): {document.AnInstant},
		reflect.TypeFor[[]string]():       {document.SomeTexts, document.SomeValues}, reflect.TypeFor[map[string]string](): {document.AMap},
		reflect.TypeFor[[]domain.Step](): {document.SomeObjects},
		reflect.TypeFor[*string]():       {document.AValue},
		reflect.TypeFor[*domain.Shard](): {document.AnObject}, reflect.TypeFor[*domain.Pack](): {document.AnObject},
		reflect.TypeFor[*domain.Approval](): {document.AnObject}, reflect.TypeFor[domain.OnDeadline](): {document.AText},
		reflect.TypeFor[[]domain.TypedField](): {document.NamedObjects, document.SomeObjects}, reflect.TypeFor[domain.FieldType](): {document.AText},
		reflect.TypeFor[*domain.EffectCall](): {document.AnObject}, reflect.TypeFor[*domain.Retry](): {document.AnObject},
		reflect.TypeFor[*domain.Repeat]():   {document.AnObject},
		reflect.TypeFor[*domain.FlowCall](): {document.AnObject},
		reflect.TypeFor[*domain.Hooks]():    {document.AnObject}, reflect.TypeFor[*domain.Hook](): {document.AnObject},
		reflect.TypeFor[*domain.StepCache](): {document.AnObject}, reflect.TypeFor[*domain.Rate](): {document.AnObject},
		reflect.TypeFor[*domain.Concurrency](): {document.AnObject}, reflect.TypeFor[domain.WhenFull](): {document.AText},
		reflect.TypeFor[[]domain.RetryOn](): {document.SomeTexts}, reflect.TypeFor[[]int](): {document.SomeNumbers},
		reflect.TypeFor[domain.Matrix](): {document.SomeData},
	}
	for o, typ := range map[*document.Object]reflect.Type{aBlueprint: reflect.TypeFor[domain.Blueprint](), aStep: reflect.TypeFor[domain.Step](),
		aRepeat: reflect.TypeFor[domain.Repeat](), aRetry: reflect.TypeFor[domain.Retry](), anApproval: reflect.TypeFor[domain.Approval](),
		aShard:  reflect.TypeFor[domain.Shard](),
		aPack:   reflect.TypeFor[domain.Pack](),
		anInput: reflect.TypeFor[domain.TypedField](), anEffect: reflect.TypeFor[domain.EffectCall](), aFlow: reflect.TypeFor[domain.FlowCall](),
		someHooks: reflect.TypeFor[domain.Hooks](), aHook: reflect.TypeFor[domain.Hook](),
		aConcurrency: reflect.TypeFor[domain.Concurrency](), aCache: reflect.TypeFor[domain.StepCache](), aRate: reflect.TypeFor[domain.Rate]()} {
		rest := slices.DeleteFunc(slices.Clone(o.Names()), func(name string) bool { return (o == aStep || o == aHook) && name == "file" }) // only documents have it
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if i >= len(rest) || rest[i] != name {
				t.Errorf("%s.%s: the table has %v there", o.Title, name, rest[min(i, len(rest)):])
				break
			}
			if k := o.Known(name).Kind; !slices.Contains(kinds[f.Type], k) {
				t.Errorf("%s.%s: a %s, the table says kind %d", o.Title, name, f.Type, k)
			}
		}
		if len(rest) != typ.NumField() {
			t.Errorf("%s: the table has %d fields, the type %d", o.Title, len(rest), typ.NumField())
		}
		for other, name := range o.Others {
			if o.Known(name) == nil || o.Known(other) != nil {
				t.Errorf("%s: %q stands for %q", o.Title, other, name)
			}
		}
		for _, f := range o.Fields {
			if !strings.HasSuffix(f.Doc, ".") {
				t.Errorf("%s.%s: %q is no sentence", o.Title, f.Name, f.Doc)
			}
		}
	}
}

// TestTheSchemaAndTheParserAgree: what the parser takes, the schema takes, and
// what is wrong in a way that a schema can say, both refuse.
func TestTheSchemaAndTheParserAgree(t *testing.T) {
	watched.Alone(t)
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
		if err := documenttest.Validate(t, Schema(), string(text)); err != nil {
			t.Errorf("%s: the schema says %v", file, err)
		}
	}
	const step = "{name: a, script: x, script_type: shell"
	good := []string{
		"name: n\nsteps: [" + step + "}]",
		"name: n\nversion: 3\npriority: 9\nafter: 5\nduration: 90\nretention: 1h30m\nparams: {a: 1, b: true, c: x}\non_error: abort\nsteps: [" + step +
			", needs: []}]",
		"name: n\nsteps: [" + step + ", after: \"2026-01-31T02:00:00.5+01:00\", timeout: \"90\", when: true}, {name: b, kind: approval, needs: a}]",
		"name: n\nsteps: [" + step + ", shard: {count: 1000000, window: 0}}, {name: b, effect: {kind: http, target: t}, needs: [a]}]",
		"name: n\nsteps: [" + step + ", pack: {size: 1, end: -1, start: 9223372036854775807}}]",
		"name: n\nsteps: [" + step + ", retry: {max: 3, delay: 10s, factor: 1.5, max_delay: 1h, jitter: 0, on: errored, exit_codes: [75], final_exit_codes: [1]}}]",
	}
	for _, text := range good {
		if _, err := Parse("", []byte(text)); err != nil {
			t.Errorf("%s: the parser says %v", text, err)
		}
		if err := documenttest.Validate(t, Schema(), text); err != nil {
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
		"name: n\nsteps: [" + step + ", retry: 3}]", "name: n\nsteps: [" + step + ", retry: {delay: soon}}]",
		"name: n\nsteps: [" + step + ", retry: {factor: fast}}]", "name: n\nsteps: [" + step + ", retry: {factor: 101}}]",
		"name: n\nsteps: [" + step + ", retry: {jitter: 1.5}}]", "name: n\nsteps: [" + step + ", retry: {exit_codes: 75}}]",
		"name: n\nsteps: [{name: a, script: x, script_type: Shell}]", "name: n\nsummary: 5\nsteps: [" + step + "}]",
	}
	for _, text := range bad {
		if _, err := Parse("", []byte(text)); err == nil {
			t.Errorf("%s: the parser takes it", text)
		}
		if err := documenttest.Validate(t, Schema(), text); err == nil {
			t.Errorf("%s: the schema takes it", text)
		}
	}
}
