package openapi_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/docs"
)

// TestValuesAreAsTheirSchemasSay marshals a zero and a full value of all that operations
// answer, and of the data of their events, and wants each to be as the document says, with
// no field that it does not know.
func TestValuesAreAsTheirSchemasSay(t *testing.T) {
	d := load(t, true)
	for _, o := range api.Table {
		if o.Bytes != "" {
			continue // no JSON
		}
		answer := d.compile(t, "paths", o.Path, strings.ToLower(o.Method), "responses", "200", "content", "application/json", "schema")
		result := reflect.TypeOf(o.Result)
		if result.Kind() == reflect.Pointer {
			result = result.Elem()
		}
		check(t, o.Name, answer, reflect.Zero(result).Interface())
		check(t, o.Name, answer, full(result, 0).Interface())
		for _, name := range o.Follows {
			event := d.compile(t, "paths", o.Path, strings.ToLower(o.Method), "responses", "200", "content", "text/event-stream", "x-events", name)
			check(t, o.Name+", event "+name, event, full(reflect.TypeOf(o.EventData(name)), 0).Interface())
		}
	}
}

// TestRequestsAreAsTheirSchemasSay does so with the body of every example, and of one in
// which there is all that can be; and wants a field that there is not to be refused.
func TestRequestsAreAsTheirSchemasSay(t *testing.T) {
	d := load(t, false)
	for _, o := range api.Table {
		_, _, example := o.Write(o.Example)
		if example == nil {
			continue
		}
		body := d.compile(t, "paths", o.Path, strings.ToLower(o.Method), "requestBody", "content", "application/json", "schema")
		check(t, o.Name, body, example)
		params := reflect.New(reflect.TypeOf(o.NewParams()).Elem())
		params.Elem().Set(full(params.Type().Elem(), 0))
		_, _, all := o.Write(params.Interface())
		check(t, o.Name, body, all)
		if body.Validate(map[string]any{"no_such_field": true}) == nil {
			t.Errorf("%s: the schema takes a field that there is not", o.Name)
		}
	}
}

// full is a value of a type in which everything is there, to some depth.
func full(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case depth > 12:
	case t == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"total":120}`))
	case t == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
	case t.Kind() == reflect.String:
		v.SetString("x")
	case t.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanUint():
		v.SetUint(1)
	case v.CanInt():
		v.SetInt(-1)
	case v.CanFloat():
		v.SetFloat(0.5)
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(full(t.Elem(), depth+1))
	case t.Kind() == reflect.Slice:
		v.Set(reflect.Append(v, full(t.Elem(), depth+1)))
	case t.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(full(t.Key(), depth+1), full(t.Elem(), depth+1))
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(full(t.Field(i).Type, depth+1))
			}
		}
	}
	return v
}

func check(t *testing.T, what string, s *jsonschema.Schema, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(read); err != nil {
		t.Errorf("%s: %.500s\n%v", what, text, err)
	}
}

// description is the document that is kept.
type description struct{ compiler *jsonschema.Compiler }

// load reads it. Where it is strict, objects have no fields but those of their schemas.
func load(t *testing.T, strict bool) description {
	t.Helper()
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(docs.OpenAPI))
	if err != nil {
		t.Fatal(err)
	}
	if strict {
		schemas := read.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
		for _, s := range schemas {
			if s := s.(map[string]any); s["type"] == "object" {
				s["additionalProperties"] = false
			}
		}
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("openapi.json", read); err != nil {
		t.Fatal(err)
	}
	return description{c}
}

// compile is the schema at a place of the document.
func (d description) compile(t *testing.T, place ...string) *jsonschema.Schema {
	t.Helper()
	at := "openapi.json#"
	for _, name := range place {
		at += "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	s, err := d.compiler.Compile(at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
