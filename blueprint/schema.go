package blueprint

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/ramet-run/ramet/domain"
)

// The forms of texts that stand for something.
const (
	spanPattern    = `^([0-9]+|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs|ns))+)$`
	instantPattern = `^([0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}))$`
)

// schema is a JSON Schema, or a part of one.
type schema map[string]any

// Schema is the JSON Schema (2020-12) of a blueprint's file: what editors
// complete, explain and underline by. It cannot say all that Parse refuses.
func Schema() []byte {
	defs := schema{}
	root := aBlueprint.schema(defs)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$defs"] = defs
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		panic("BUG: the schema cannot be written: " + err.Error())
	}
	return out.Bytes()
}

// schema describes an object; those in it are put into defs.
func (o *object) schema(defs schema) schema {
	fields := schema{}
	var required []string
	for i := range o.fields {
		f := &o.fields[i]
		s := f.schema(defs)
		s["description"] = f.doc
		if f.initial != nil {
			s["default"] = f.initial
		}
		fields[f.name] = s
		if f.required {
			required = append(required, f.name)
		}
	}
	s := schema{"title": o.title, "description": o.doc, "type": "object", "properties": fields, "additionalProperties": false, "required": required}
	if o == aStep {
		s["not"] = schema{"required": []string{"script", "file"}}
	}
	return s
}

func (f *field) schema(defs schema) schema {
	switch f.kind {
	case aText:
		return f.text()
	case aValue:
		return schema{"type": []string{"string", "number", "boolean"}}
	case aNumber:
		s := schema{"type": "integer", "minimum": f.min}
		if f.max < math.MaxInt64 {
			s["maximum"] = f.max
		}
		return s
	case aFlag:
		return schema{"type": "boolean"}
	case aSpan:
		return schema{"type": []string{"integer", "string"}, "minimum": 0, "maximum": math.MaxUint32, "pattern": spanPattern, "examples": []any{90, "90s", "1h30m"}}
	case anInstant:
		return schema{"type": []string{"integer", "string"}, "minimum": 0, "maximum": domain.MaxNotBefore, "pattern": instantPattern,
			"examples": []any{"2026-01-31T02:00:00Z", 1769824800000}}
	case someTexts:
		item := schema{"type": "string", "pattern": f.pattern}
		return schema{"anyOf": []schema{item, {"type": "array", "items": item, "maxItems": f.most, "uniqueItems": true}}}
	case aMap:
		s := schema{"type": "object", "additionalProperties": schema{"type": []string{"string", "number", "boolean"}}}
		if f.pattern != "" {
			s["propertyNames"] = schema{"pattern": f.pattern}
		}
		if f.most > 0 {
			s["maxProperties"] = f.most
		}
		return s
	}
	if defs[f.of.title] == nil {
		defs[f.of.title] = f.of.schema(defs)
	}
	ref := schema{"$ref": "#/$defs/" + f.of.title}
	if f.kind == anObject {
		return ref
	}
	return schema{"type": "array", "items": ref, "minItems": 1, "maxItems": f.most}
}

func (f *field) text() schema {
	s := schema{"type": "string"}
	if f.pattern != "" {
		s["pattern"] = f.pattern
	}
	if f.most > 0 {
		s["maxLength"] = f.most
	}
	if len(f.enum) > 0 {
		s["enum"] = f.enum
	}
	return s
}
