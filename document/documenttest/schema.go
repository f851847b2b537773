// Package documenttest helps tests of documents.
package documenttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// Validate checks a YAML text by a schema, which an editor would take as it stands: it
// must be sound, have no words that nobody reads, and no object that takes what it does
// not name. A schema that is not so fails the test.
func Validate(t *testing.T, schema []byte, text string) error {
	t.Helper()
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	if err := sound(root.(map[string]any), ""); err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", root); err != nil {
		t.Fatal(err)
	}
	checks, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return checks.Validate(inJSON(t, text))
}

// inJSON is a YAML text as a reader of JSON has it.
func inJSON(t *testing.T, text string) any {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(named(doc))
	if err != nil {
		t.Fatal(err)
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(written))
	if err != nil {
		t.Fatal(err)
	}
	return read
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

// words are those that our schemas have. A validator passes over a word that is misspelt.
var words = []string{"$schema", "$defs", "$ref", "title", "description", "default", "examples", "type", "enum", "pattern", "maxLength", "minimum", "maximum",
	"minItems", "maxItems", "uniqueItems", "items", "maxProperties", "required", "not", "anyOf", "propertyNames", "properties", "additionalProperties"}

// sound says what is wrong with a schema that a validator would take.
func sound(s map[string]any, path string) error {
	if s["properties"] != nil && s["additionalProperties"] != false {
		return fmt.Errorf("%s is open", path)
	}
	for _, word := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(words, word) {
			return fmt.Errorf("%s has %q, which this test does not know", path, word)
		}
		parts := map[string]any{}
		switch v := s[word].(type) {
		case []any:
			for i, part := range v {
				parts[fmt.Sprint(i)] = part
			}
		case map[string]any:
			if parts = v; word != "properties" && word != "$defs" {
				parts = map[string]any{"": v}
			}
		}
		for name, part := range parts {
			if part, is := part.(map[string]any); is && word != "default" && word != "examples" && word != "enum" {
				if err := sound(part, path+"/"+word+"/"+name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
