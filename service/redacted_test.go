package service_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// TestNobodyStoresWhatHidesAValue gives each operation whose parameters have environments what stands
// for a value that is not shown, in each of them.
func TestNobodyStoresWhatHidesAValue(t *testing.T) {
	withMail(t, nobodyStoresWhatHidesAValue)
}

func nobodyStoresWhatHidesAValue(t *testing.T, m *mail) {
	tried := map[string]bool{}
	for _, o := range service.Operations {
		for _, path := range environmentPaths(reflect.TypeOf(o.NewParams()).Elem(), nil) {
			params := o.NewParams()
			v := reflect.ValueOf(params).Elem()
			if of := v.FieldByName("Context"); of.IsValid() {
				of.Set(reflect.ValueOf(house))
			}
			setMark(v, path)
			m.refusesMark(o, params, strings.Join(path, "."))
			tried[o.Name] = true
		}
	}
	texts := []any{
		&api.ApplyBlueprintParams{Context: house, Text: "name: c\nsteps:\n- {name: a, script: x, script_type: shell, env: {TOKEN: '***'}}\n"},
		&api.SubmitFlowParams{Context: house, FlowInput: api.FlowInput{Text: "name: c\nsteps:\n- {name: a, script: x, script_type: shell, env: {TOKEN: '***'}}\n"}},
		&api.SendParams{Context: house, Message: domain.Message{MessageType: domain.MessageJob, Flow: `{"blueprint":"b","Env":{"TOKEN":"***"}}`}},
		&api.SendParams{Context: house, Message: domain.Message{MessageType: domain.MessageJob, Flow: api.Redacted}},
	}
	for i, name := range []string{"blueprint.apply", "flow.submit", "message.send", "message.send"} {
		m.refusesMark(*service.Named(name), texts[i], "text")
	}
	for _, name := range []string{"job.submit", "flow.submit", "blueprint.apply", "schedule.apply", "schedule.preview", "routine.apply", "context.create",
		"context.update", "message.send"} {
		if !tried[name] {
			t.Errorf("%s was not tried", name)
		}
	}
}

func (m *mail) refusesMark(o service.Operation, params any, where string) {
	m.Helper()
	who := admin
	if o.Right.OnNode() {
		who = operator
	}
	got, err := o.Call(m.Context(), m.api.As(who), params)
	if err == nil { // of a list each is refused by itself
		text, _ := json.Marshal(got)
		err = errors.New(string(text))
	}
	if !strings.Contains(err.Error(), "may read it") {
		m.Errorf("%s, %s: got %v, want it refused", o.Name, where, err)
	}
}

// environmentPaths are the fields that lead to environments in a type.
func environmentPaths(t reflect.Type, at []string) (all [][]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || len(at) > 5 {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		path := append(at[:len(at):len(at)], f.Name)
		if f.Type == reflect.TypeFor[map[string]string]() && (f.Name == "Env" || f.Name == "EnvVars") {
			all = append(all, path)
		} else {
			all = append(all, environmentPaths(f.Type, path)...)
		}
	}
	return all
}

// setMark sets the environment at a path.
func setMark(v reflect.Value, path []string) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
		switch {
		case v.Kind() == reflect.Slice && v.Len() == 0:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			v = v.Index(0)
		case v.Kind() == reflect.Slice:
			v = v.Index(0)
		case v.IsNil():
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		default:
			v = v.Elem()
		}
	}
	f := v.FieldByName(path[0])
	if len(path) == 1 {
		f.Set(reflect.ValueOf(map[string]string{"TOKEN": api.Redacted, "OTHER": "x"}))
		return
	}
	setMark(f, path[1:])
}
