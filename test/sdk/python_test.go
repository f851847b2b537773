package sdk_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/script"
)

const pythonWire = "../../sdk/python/src/ramet/wire.py"

var update = flag.Bool("update", false, "write the SDK's wire types anew")

// The wire types of the Python SDK are made from ours, so that they cannot drift: after a
// change here, `go test ./test/sdk -update` writes them.
func TestPythonWire(t *testing.T) {
	want := pythonTypes(
		domain.Assignment{}, domain.WorkerAsk{}, domain.HeldAttempt{}, domain.AttemptEnd{}, domain.Log{},
		api.JobInput{}, api.JobSubmitted{}, api.JobPage{}, api.LogPage{},
		api.Assignments{}, api.Extended{}, api.Finished{}, domain.WorkerStepAnswer{}, domain.JobExplanation{}, domain.Bulk{},
		api.FlowInput{}, api.FlowSubmitted{}, domain.FlowView{}, api.FlowDone{}, domain.FlowExplanation{},
	)
	if *update {
		if err := os.WriteFile(pythonWire, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(pythonWire)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the types here make; run: go test ./test/sdk -update", pythonWire)
	}
}

// pythonFile is the module in the making.
type pythonFile struct {
	strings.Builder
	seen map[string]bool
}

// pythonTypes writes a module with a TypedDict for each struct, and for those in it.
func pythonTypes(values ...any) string {
	f := &pythonFile{seen: map[string]bool{}}
	f.WriteString(`"""What goes over the wire. Made from the node's own types: do not edit."""

from __future__ import annotations

from typing import Any, Final, Literal, TypedDict

`)
	for _, c := range []struct {
		name  string
		value int64
	}{
		{"MAX_ASSIGNMENTS", domain.MaxAssignments}, {"MAX_WORKER_TYPES", domain.MaxWorkerTypes},
		{"MAX_WORKER_WAIT_MS", domain.MaxWorkerWait.Milliseconds()}, {"MIN_WORKER_LEASE_MS", domain.MinWorkerLease.Milliseconds()},
		{"MAX_WORKER_LEASE_MS", domain.MaxWorkerLease.Milliseconds()}, {"DEFAULT_LEASE_MS", domain.DefaultLease.Milliseconds()},
		{"MAX_LOG_LINES", domain.MaxLogLines}, {"MAX_LINE_BYTES", script.MaxLineBytes}, {"MAX_RESULT_BYTES", script.MaxResultBytes},
		{"MAX_RESULT_KEYS", script.MaxResultKeys}, {"MAX_BODY", http.MaxBody},
	} {
		fmt.Fprintf(f, "%s: Final = %d\n", c.name, c.value)
	}
	fmt.Fprintf(f, "\nJobStatus = %s\n", literal(domain.JobDispatched, domain.JobWaiting, domain.JobStarted, domain.JobError, domain.JobFinished))
	fmt.Fprintf(f, "LeaseState = %s\n", literal(domain.LeaseRenewed, domain.LeaseCancelled, domain.LeaseTimeout, domain.LeaseLost))
	fmt.Fprintf(f, "Verdict = %s\n", literal(domain.VerdictSucceeded, domain.VerdictFailed, domain.VerdictErrored, domain.VerdictTimeout, domain.VerdictStopped,
		domain.VerdictLost, domain.VerdictSuspended))
	fmt.Fprintf(f, "BulkStatus = %s\n", literal(domain.BulkCounted, domain.BulkRunning, domain.BulkFinished, domain.BulkCancelled, domain.BulkError))
	for _, v := range values {
		f.dict(reflect.TypeOf(v))
	}
	for _, q := range queries {
		f.class(q.name, cmp.Or(q.of, "TypedDict")+", total=False", f.queryFields(q))
	}
	return f.String()
}

func literal[T ~string](values ...T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprintf("%q", string(v))
	}
	return "Literal[" + strings.Join(words, ", ") + "]"
}

// pythonField is a key of a TypedDict.
type pythonField struct {
	name, typ string
	always    bool
}

// dict writes the class of a struct, behind those that it needs. Keys that are always
// there stand in a class of their own, as Python 3.10 wants it.
func (f *pythonFile) dict(t reflect.Type) {
	if f.seen[t.Name()] {
		return
	}
	f.seen[t.Name()] = true
	fields := f.fields(t)
	var always, mayBe []pythonField
	for _, field := range fields {
		asked := t == reflect.TypeFor[api.JobInput]() || t == reflect.TypeFor[api.FlowInput]()
		if field.always && !asked { // of what is asked for all has a default
			always = append(always, field)
		} else {
			mayBe = append(mayBe, field)
		}
	}
	switch {
	case len(mayBe) == 0:
		f.class(t.Name(), "TypedDict", always)
	case len(always) == 0:
		f.class(t.Name(), "TypedDict, total=False", mayBe)
	default:
		f.class("_"+t.Name(), "TypedDict", always)
		f.class(t.Name(), "_"+t.Name()+", total=False", mayBe)
	}
}

func (f *pythonFile) class(name, bases string, fields []pythonField) {
	if slices.ContainsFunc(fields, func(field pythonField) bool { return field.name == "from" }) { // a word of the language
		pairs := make([]string, len(fields))
		for i, field := range fields {
			pairs[i] = fmt.Sprintf("%q: %s", field.name, field.typ)
		}
		fmt.Fprintf(f, "\n\n%s = TypedDict(%q, {%s})\n", name, name, strings.Join(pairs, ", "))
		return
	}
	fmt.Fprintf(f, "\n\nclass %s(%s):\n", name, bases)
	for _, field := range fields {
		fmt.Fprintf(f, "    %s: %s\n", field.name, field.typ)
	}
}

// fields are those that encoding/json writes, in order.
func (f *pythonFile) fields(t reflect.Type) (list []pythonField) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct:
			list = append(list, f.fields(field.Type)...)
		default:
			list = append(list, pythonField{name, f.typeOf(field.Type), !strings.Contains(options, "omit")})
		}
	}
	return list
}

// queryFields are the parameters of a list.
func (f *pythonFile) queryFields(q query) (list []pythonField) {
	for _, field := range q.fields() {
		list = append(list, pythonField{name: field.Tag.Get("query"), typ: f.typeOf(field.Type)})
	}
	return list
}

func (f *pythonFile) typeOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[domain.JobStatus](), reflect.TypeFor[domain.LeaseState](), reflect.TypeFor[domain.Verdict](), reflect.TypeFor[domain.BulkStatus]():
		return t.Name()
	case reflect.TypeFor[json.RawMessage]():
		return "Any"
	case reflect.TypeFor[domain.Blueprint](): // nobody writes one by hand in the SDK's language: it is a document of its own
		return "dict[str, Any]"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return f.typeOf(t.Elem())
	case reflect.String:
		return "str"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "int"
	case reflect.Float64:
		return "float"
	case reflect.Slice:
		return "list[" + f.typeOf(t.Elem()) + "]"
	case reflect.Map:
		return "dict[str, " + f.typeOf(t.Elem()) + "]"
	case reflect.Struct:
		f.dict(t)
		return t.Name()
	}
	return "Any"
}
