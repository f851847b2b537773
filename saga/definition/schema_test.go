package definition

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
)

var update = flag.Bool("update", false, "write docs/saga.schema.json anew")

func TestTheSchemaInTheDocsIsCurrent(t *testing.T) {
	const file = "../../docs/saga.schema.json"
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
		t.Errorf("go test ./saga/definition -update writes it anew (-want +got):\n%s", diff)
	}
}

// TestTheTableHasTheFieldsOfTheGoTypes: the tables have each field of the
// types, but for the names under which things stand.
func TestTheTableHasTheFieldsOfTheGoTypes(t *testing.T) {
	for _, tc := range []struct {
		table *document.Object
		typ   reflect.Type
		key   string   // the name under which it stands
		only  []string // in documents
	}{
		{aSaga, reflect.TypeFor[domain.SagaDefinition](), "", []string{"script_file"}},
		{aTrigger, reflect.TypeFor[domain.SagaTrigger](), "", nil},
		{aState, reflect.TypeFor[domain.SagaState](), "name", nil},
		{aTimeout, reflect.TypeFor[domain.SagaTimeout](), "", nil},
		{anEvent, reflect.TypeFor[domain.SagaEvent](), "type", []string{"versions"}},
		{anUpcast, reflect.TypeFor[domain.SagaUpcast](), "from", nil},
		{aNode, reflect.TypeFor[domain.SagaNode](), "name", nil},
		{aCompensation, reflect.TypeFor[domain.SagaCompensation](), "", nil},
	} {
		var want []string
		for i := range tc.typ.NumField() {
			name, _, _ := strings.Cut(tc.typ.Field(i).Tag.Get("json"), ",")
			if name != tc.key {
				want = append(want, name)
			}
		}
		got := slices.DeleteFunc(slices.Clone(tc.table.Names()), func(name string) bool { return slices.Contains(tc.only, name) })
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-type +table):\n%s", tc.table.Title, diff)
		}
		for other, name := range tc.table.Others {
			if tc.table.Known(name) == nil || tc.table.Known(other) != nil {
				t.Errorf("%s: %q stands for %q", tc.table.Title, other, name)
			}
		}
		for _, f := range tc.table.Fields {
			if !strings.HasSuffix(f.Doc, ".") {
				t.Errorf("%s.%s: %q is no sentence", tc.table.Title, f.Name, f.Doc)
			}
		}
	}
}

// TestTheSchemaAndTheParserAgree: what the parser takes, the schema takes, and
// what is wrong in a way that a schema can say, both refuse.
func TestTheSchemaAndTheParserAgree(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../machine/testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\nstates:\n") {
			continue // blueprints, tests
		}
		read++
		d, err := ParseFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, form := range []string{string(text), string(YAML(d))} {
			if err := documenttest.Validate(t, Schema(), form); err != nil {
				t.Errorf("%s: the schema says %v", file, err)
			}
		}
	}
	if read < 3 {
		t.Errorf("%d definitions were found", read)
	}
	const head = "name: n\ntriggers: [{of: O, types: [A]}]\ninitial: one\nnodes: {next: 1}\n"
	const states = "states: {one: {on: {'*': handle}}, end: {final: true}}\n"
	for _, text := range []string{
		head + states, head + states + "version: 3\npartitions: 64\ndata: {a: [1, {b: 1.5}]}\ntimers: T\neffects: [a, b]\n",
		head + "states: {one: {on: {'*': handle}, timeout: {after: 5, event: T}}, two: {final: true, outcome: failed}}\n",
		head + states + "events: {A: {versions: 1..2, upcast: {1: payload}}, B: {versions: 2}, C: {}, D: {min_version: 1}}\n",
		head + states + "correlation: event.id\non_poison: skip\non_version: ignore\nretention: 1h\ndedupe: 90\ngateway: {attempts: 3, give_up: 1h}\n",
		head + states + "compensation: {steps: [a], effects: b, attempts: 9, done: end, failed: end, nodes: {effect: {expr: 1, when: true}}}\n",
	} {
		if _, err := Parse("", []byte(text)); err != nil {
			t.Errorf("%s: the parser says %v", text, err)
		}
		if err := documenttest.Validate(t, Schema(), text); err != nil {
			t.Errorf("%s: the schema says %v", text, err)
		}
	}
	for _, text := range []string{
		"[]", states, head, head + "states: {1x: {final: true}}\n", head + states + "unknown: 1\n", head + states + "partitions: 65\n", head + states + "data: [1]\n",
		head + "states: {one: {on: {'*': hande}}}\n", head + "states: {one: {on: [a]}}\n", head + "states: {one: {timeout: {after: soon, event: T}}}\n",
		head + "states: {one: {timeout: {event: T}, on: {'*': handle}}}\n", head + states + "effects: [a b]\n", head + states + "timers: [a, a]\n",
		head + states + "script: fn on_event(s, e) {}\n",
		head + states + "events: {A: {versions: x}}\n", head + states + "events: {A: {versions: 1..2, upcast: {1: {exp: 1}}}}\n", head + states + "on_poison: stop\n",
		head + states + "compensation: {steps: [a], done: end}\n", "name: n\ntriggers: []\ninitial: one\nnodes: {next: 1}\n" + states,
		"name: n\ntriggers: [{of: O, type: [A]}]\ninitial: one\nnodes: {next: 1}\n" + states,
		"name: n\ntriggers: [{source: mail, of: O, types: [A]}]\ninitial: one\nnodes: {next: 1}\n" + states,
		"name: n\ntriggers: [{of: O, types: [A]}]\ninitial: one\nnodes: {Next: 1}\n" + states,
	} {
		if _, err := Parse("", []byte(text)); err == nil {
			t.Errorf("%s: the parser takes it", text)
		}
		if err := documenttest.Validate(t, Schema(), text); err == nil {
			t.Errorf("%s: the schema takes it", text)
		}
	}
}
