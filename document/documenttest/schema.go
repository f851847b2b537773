// Package documenttest helps tests of documents.
package documenttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Validate checks a YAML text by a schema. It knows the keywords that our
// schemas have, and fails the test at others.
func Validate(t *testing.T, schema []byte, text string) error {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(named(doc))
	if err != nil {
		t.Fatal(err)
	}
	v := validator{T: t}
	return v.check(v.decode(schema).(map[string]any), v.decode(asJSON), "")
}

// named is a document with texts as the names in it, as JSON has them.
func named(doc any) any {
	switch doc := doc.(type) {
	case map[any]any:
		out := map[string]any{}
		for name, v := range doc {
			out[fmt.Sprint(name)] = named(v)
		}
		return out
	case map[string]any:
		for name, v := range doc {
			doc[name] = named(v)
		}
	case []any:
		for i, v := range doc {
			doc[i] = named(v)
		}
	}
	return doc
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

// join goes a step into a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
