// Package sdk_test holds the SDKs of other languages to the shapes of the wire, and runs their tests.
package sdk_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// typescriptWire has the shapes of the wire as TypeScript's types, which are made from ours.
var typescriptWire = filepath.Join("..", "..", "sdk", "typescript", "src", "wire.ts")

// TestTypeScriptKnowsTheWire fails where a shape has changed here and not in the SDK;
// -update writes it there.
func TestTypeScriptKnowsTheWire(t *testing.T) {
	f := &typescriptFile{known: map[reflect.Type]string{}}
	for _, shape := range []any{
		api.JobInput{}, api.JobInputs{}, api.JobSubmitted{}, domain.Job{}, api.JobPage{}, api.LogPage{}, domain.JobExplanation{}, api.Problem{},
		domain.WorkerAsk{}, api.Assignments{}, api.ExtendParams{}, api.Extended{}, api.FinishParams{}, api.Finished{}, api.WorkerLogParams{},
		domain.WorkerStep{}, domain.WorkerStepAnswer{}, api.RegisterParams{}, domain.Bulk{}, api.SignalParams{},
		api.FlowInput{}, api.FlowSubmitted{}, domain.FlowView{}, api.FlowDone{}, domain.FlowExplanation{},
	} {
		f.nameOf(reflect.TypeOf(shape))
	}
	for _, q := range queries {
		f.queryOf(q)
	}
	want := f.text()
	if *update {
		if err := os.WriteFile(typescriptWire, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(typescriptWire)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the wire's shapes are; write it with `go test ./test/sdk -update`, and see what the SDK makes of it", typescriptWire)
	}
}

// typescriptWords are the texts that a type may be. Answers may have others one day, so these
// types take any text, and editors offer the known ones.
var typescriptWords = map[reflect.Type][]string{
	reflect.TypeFor[domain.JobStatus](): {
		string(domain.JobDispatched), string(domain.JobWaiting), string(domain.JobStarted), string(domain.JobError), string(domain.JobFinished)},
	reflect.TypeFor[domain.LeaseState](): {
		string(domain.LeaseRenewed), string(domain.LeaseCancelled), string(domain.LeaseTimeout), string(domain.LeaseLost)},
	reflect.TypeFor[domain.Verdict](): {
		string(domain.VerdictSucceeded), string(domain.VerdictFailed), string(domain.VerdictErrored), string(domain.VerdictTimeout),
		string(domain.VerdictStopped), string(domain.VerdictLost), string(domain.VerdictSuspended)},
	reflect.TypeFor[domain.Reason](): {
		string(domain.ReasonScriptFailed), string(domain.ReasonTimeout), string(domain.ReasonRunnerLost), string(domain.ReasonCancelled),
		string(domain.ReasonPrerequisiteTimeout), string(domain.ReasonPrerequisiteImpossible), string(domain.ReasonDependencyFailed),
		string(domain.ReasonFlowAborted), string(domain.ReasonInvalid), string(domain.ReasonRefused)},
	reflect.TypeFor[domain.BulkStatus](): {
		string(domain.BulkCounted), string(domain.BulkRunning), string(domain.BulkFinished), string(domain.BulkCancelled), string(domain.BulkError)},
	reflect.TypeFor[domain.RetryOn](): {string(domain.RetryFailed), string(domain.RetryErrored)},
}

// typescriptLimits are the numbers that the SDK keeps to.
var typescriptLimits = []struct {
	name  string
	value int64
}{
	{"maxAssignments", domain.MaxAssignments},
	{"maxWorkerTypes", domain.MaxWorkerTypes},
	{"maxWorkerWaitMs", domain.MaxWorkerWait.Milliseconds()},
	{"minWorkerLeaseMs", domain.MinWorkerLease.Milliseconds()},
	{"maxWorkerLeaseMs", domain.MaxWorkerLease.Milliseconds()},
	{"defaultLeaseMs", domain.DefaultLease.Milliseconds()},
	{"maxLogLines", domain.MaxLogLines},
	{"maxLineBytes", script.MaxLineBytes},
	{"maxResultBytes", script.MaxResultBytes},
	{"maxResultKeys", script.MaxResultKeys},
}

// typescriptFile is the file of the types as it comes about.
type typescriptFile struct {
	known map[reflect.Type]string
	parts []string
}

func (f *typescriptFile) text() string {
	var b strings.Builder
	b.WriteString("// The shapes of the wire. Made from the node's own by `go test ./test/sdk -update`: do not edit.\n")
	for _, l := range typescriptLimits {
		fmt.Fprintf(&b, "\nexport const %s = %d;", l.name, l.value)
	}
	b.WriteString("\n")
	for _, part := range f.parts {
		b.WriteString("\n" + part)
	}
	return b.String()
}

// nameOf is what a type is called in TypeScript; a struct is written down.
func (f *typescriptFile) nameOf(t reflect.Type) string {
	if name := f.known[t]; name != "" {
		return name
	}
	if list := typescriptWords[t]; list != nil {
		f.known[t] = t.Name()
		quoted := make([]string, len(list))
		for i, word := range list {
			quoted[i] = fmt.Sprintf("%q", word)
		}
		f.parts = append(f.parts, fmt.Sprintf("export type %s = %s | (string & {});\n", t.Name(), strings.Join(quoted, " | ")))
		return t.Name()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return "unknown"
	}
	if t == reflect.TypeFor[domain.Blueprint]() { // nobody writes one by hand in the SDK's language: it is a document of its own
		return "Record<string, unknown>"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Pointer:
		return f.nameOf(t.Elem())
	case reflect.Slice:
		return f.nameOf(t.Elem()) + "[]"
	case reflect.Map:
		return "Record<string, " + f.nameOf(t.Elem()) + ">"
	case reflect.Struct:
		return f.structOf(t)
	}
	return "number"
}

func (f *typescriptFile) structOf(t reflect.Type) string {
	f.known[t] = t.Name()
	at := len(f.parts)
	f.parts = append(f.parts, "") // those that it needs come behind it
	var b strings.Builder
	fmt.Fprintf(&b, "export interface %s {\n", t.Name())
	seen := map[string]bool{}
	f.fields(&b, t, seen)
	b.WriteString("}\n")
	f.parts[at] = b.String()
	return t.Name()
}

// queryOf writes the parameters of a list down.
func (f *typescriptFile) queryOf(q query) {
	var b strings.Builder
	fmt.Fprintf(&b, "export interface %s ", q.name)
	if q.of != "" {
		fmt.Fprintf(&b, "extends %s ", q.of)
	}
	b.WriteString("{\n")
	for _, field := range q.fields() {
		fmt.Fprintf(&b, "  %s?: %s | undefined;\n", field.Tag.Get("query"), f.nameOf(field.Type))
	}
	b.WriteString("}\n")
	f.parts = append(f.parts, b.String())
}

// fields writes those of a struct, and those of the structs that it embeds, as
// encoding/json has them: the outer one of two of a name.
func (f *typescriptFile) fields(b *strings.Builder, t reflect.Type, seen map[string]bool) {
	var embedded []reflect.Type
	for field := range t.Fields() {
		tag, has := field.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case name == "-" || !field.IsExported():
		case field.Anonymous && !has:
			embedded = append(embedded, field.Type)
		case !seen[name]:
			seen[name] = true
			mark := ""
			if strings.Contains(options, "omit") {
				mark = "?"
			}
			fmt.Fprintf(b, "  %s%s: %s;\n", name, mark, f.nameOf(field.Type))
		}
	}
	for _, e := range embedded {
		f.fields(b, e, seen)
	}
}
