package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/api"
)

// This file makes a page of the document, to be read in a browser that reaches nothing
// else: one file, without scripts.

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"kind": kindOf, "json": indented, "paragraphs": func(text string) []string { return strings.Split(text, "\n\n") },
}).Parse(pageText))

// The document, as far as the page needs it.
type (
	document struct {
		Info       struct{ Title, Description string }
		Paths      map[string]map[string]operation
		Components struct {
			Schemas    map[string]schema
			Parameters map[string]parameter
			Responses  map[string]struct{ Description string }
		}
	}
	operation struct {
		OperationID, Summary, Description string
		Parameters                        []parameter
		RequestBody                       struct{ Content map[string]media }
		Responses                         map[string]struct {
			Content map[string]media
		}
	}
	parameter struct {
		Ref                   string `json:"$ref"`
		Name, In, Description string
		Required              bool
		Schema                schema
	}
	media struct {
		Schema  schema
		Example any
		Events  map[string]schema `json:"x-events"`
	}
	schema struct {
		Ref                  string `json:"$ref"`
		Type                 any
		Format, Description  string
		Items                *schema
		Properties           map[string]schema
		AdditionalProperties any
		Required             []string
		Examples             []any
		AnyOf, OneOf         []schema
	}
)

// What the template is given.
type (
	page struct {
		Title   string
		About   string
		Nouns   []noun
		Schemas []shape
	}
	noun struct {
		Name       string
		Operations []shown
	}
	shown struct {
		operation
		Method, Path, Example string
		Body                  *media
		Answer                schema
		Events                []field
		Failures              []failure
	}
	failure struct{ Status, Text string }
	shape   struct {
		Name   string
		Schema schema
		Fields []field
	}
	field struct {
		Name     string
		Required bool
		Schema   schema
	}
)

// Page is the document as a page, with the operations in the order of [api.Table].
func Page(text []byte) ([]byte, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	p := page{Title: d.Info.Title, About: d.Info.Description}
	for _, o := range api.Table {
		at := slices.IndexFunc(p.Nouns, func(n noun) bool { return n.Name == o.Group() })
		if at < 0 {
			at, p.Nouns = len(p.Nouns), append(p.Nouns, noun{Name: o.Group()})
		}
		p.Nouns[at].Operations = append(p.Nouns[at].Operations, d.show(o))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		p.Schemas = append(p.Schemas, shape{name, s, fieldsOf(s)})
	}
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, p)
	return b.Bytes(), err
}

// show is an operation as the page has it.
func (d *document) show(o *api.Operation) shown {
	s := shown{operation: d.Paths[o.Path][strings.ToLower(o.Method)], Method: o.Method, Path: o.Path}
	for i, p := range s.Parameters {
		if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
			s.Parameters[i] = d.Components.Parameters[name]
		}
	}
	path, query, _ := o.Write(o.Example)
	if s.Example = o.Method + " " + path; len(query) > 0 {
		s.Example += "?" + query.Encode()
	}
	if body, there := s.RequestBody.Content["application/json"]; there {
		s.Body = &body
	}
	done := s.Responses["200"].Content
	s.Answer = done["application/json"].Schema
	for _, name := range slices.Sorted(maps.Keys(done["text/event-stream"].Events)) {
		s.Events = append(s.Events, field{Name: name, Schema: done["text/event-stream"].Events[name]})
	}
	for _, status := range slices.Sorted(maps.Keys(s.Responses)) {
		if status != "200" {
			s.Failures = append(s.Failures, failure{status, d.Components.Responses[status].Description})
		}
	}
	return s
}

// fieldsOf are the fields of an object, those first that are always there.
func fieldsOf(s schema) (fields []field) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		fields = append(fields, field{name, slices.Contains(s.Required, name), s.Properties[name]})
	}
	slices.SortStableFunc(fields, func(a, b field) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return fields
}

// kindOf says in a few words what a schema is of, with links to those that have names.
func kindOf(s schema) template.HTML {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		name = template.HTMLEscapeString(name)
		return template.HTML(fmt.Sprintf(`<a href="#%s">%s</a>`, name, name))
	}
	if either := append(slices.Clone(s.AnyOf), s.OneOf...); len(either) > 0 {
		var kinds []string
		for _, one := range either {
			kinds = append(kinds, string(kindOf(one)))
		}
		return template.HTML(strings.Join(kinds, " or "))
	}
	kind, orNull := s.Type, template.HTML("")
	if kinds, several := s.Type.([]any); several {
		kind, orNull = kinds[0], " or null"
	}
	switch kind {
	case nil:
		return "anything"
	case "array":
		return "list of " + kindOf(*s.Items) + orNull
	case "object":
		if of, ok := s.AdditionalProperties.(map[string]any); ok {
			return "map of " + kindOf(asSchema(of)) + orNull
		}
	case "integer":
		return "whole number" + orNull
	}
	return template.HTML(template.HTMLEscapeString(fmt.Sprint(kind))) + orNull
}

// asSchema is a schema that stands where false might.
func asSchema(v map[string]any) (s schema) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		panic("BUG: a schema of the document: " + err.Error())
	}
	return s
}

func indented(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
