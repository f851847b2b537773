package document

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/ramet-run/ramet/domain"
)

// The forms of texts that stand for something.
const (
	spanPattern    = `^([0-9]+|[0-9]+d|([0-9]+d)?([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs|ns))+)$`
	instantPattern = `^([0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}))$`
)

// schema is a JSON Schema, or a part of one.
type schema map[string]any

// Schema is the JSON Schema (2020-12) of a document: what editors complete,
// explain and underline by. It cannot say all that is refused.
func (o *Object) Schema() []byte {
	defs := schema{}
	root := o.schema(defs)
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
func (o *Object) schema(defs schema) schema {
	fields := schema{}
	var required []string
	for i := range o.Fields {
		f := &o.Fields[i]
		s := f.schema(defs)
		s["description"] = f.Doc
		if f.Initial != nil {
			s["default"] = f.Initial
		}
		fields[f.Name] = s
		if f.Required {
			required = append(required, f.Name)
		}
	}
	s := schema{"title": o.Title, "description": o.Doc, "type": "object", "properties": fields, "additionalProperties": false}
	if required != nil {
		s["required"] = required
	}
	if o.Not != nil {
		s["not"] = schema{"required": o.Not}
	}
	return s
}

func (f *Field) schema(defs schema) schema {
	switch f.Kind {
	case AText:
		return f.text()
	case AValue:
		s := schema{"type": []string{"string", "number", "boolean"}}
		if f.Pattern != "" {
			s["pattern"] = f.Pattern
		}
		return s
	case ANumber:
		s := schema{"type": "integer", "minimum": f.Min}
		if f.Max < math.MaxInt64 {
			s["maximum"] = f.Max
		}
		return s
	case ADecimal:
		return schema{"type": "number", "minimum": f.Min, "maximum": f.Max}
	case AFlag:
		return schema{"type": "boolean"}
	case ASpan:
		return schema{"type": []string{"integer", "string"}, "minimum": 0, "maximum": math.MaxUint32, "pattern": spanPattern,
			"examples": []any{90, "90s", "1h30m", "2d"}}
	case AnInstant:
		return schema{"type": []string{"integer", "string"}, "minimum": 0, "maximum": domain.MaxNotBefore, "pattern": instantPattern,
			"examples": []any{"2026-01-31T02:00:00Z", 1769824800000}}
	case SomeTexts:
		item := schema{"type": "string"}
		if f.Pattern != "" {
			item["pattern"] = f.Pattern
		}
		if len(f.Enum) > 0 {
			item["enum"] = f.Enum
		}
		return schema{"anyOf": []schema{item, {"type": "array", "items": item, "maxItems": f.Most, "uniqueItems": true}}}
	case SomeValues:
		item := schema{"type": []string{"string", "number", "boolean"}}
		return schema{"anyOf": []schema{item, {"type": "array", "items": item, "maxItems": f.Most}}}
	case SomeNumbers:
		item := schema{"type": "integer", "minimum": f.Min, "maximum": f.Max}
		return schema{"type": "array", "items": item, "maxItems": f.Most, "uniqueItems": true}
	case AMap:
		return f.names(schema{"type": []string{"string", "number", "boolean"}})
	case SomeChoices:
		return f.names(schema{"type": "string", "enum": f.Enum})
	case AnyData:
		return schema{}
	case SomeData:
		return schema{"type": "object"}
	}
	if defs[f.Of.Title] == nil {
		defs[f.Of.Title] = f.Of.schema(defs)
	}
	ref := schema{"$ref": "#/$defs/" + f.Of.Title}
	switch {
	case f.Kind == AnObject:
		return ref
	case f.Kind == NamedObjects && f.Short != "":
		return f.names(schema{"anyOf": []schema{{"type": []string{"string", "number", "boolean"}}, ref}})
	case f.Kind == NamedObjects:
		return f.names(schema{"anyOf": []schema{ref, {"type": "null"}}})
	}
	return schema{"type": "array", "items": ref, "minItems": 1, "maxItems": f.Most}
}

// names describes a mapping with any names.
func (f *Field) names(value schema) schema {
	s := schema{"type": "object", "additionalProperties": value}
	if f.Pattern != "" {
		s["propertyNames"] = schema{"pattern": f.Pattern}
	}
	if f.Most > 0 {
		s["maxProperties"] = f.Most
	}
	return s
}

func (f *Field) text() schema {
	s := schema{"type": "string"}
	if f.Pattern != "" {
		s["pattern"] = f.Pattern
	}
	if f.Most > 0 {
		s["maxLength"] = f.Most
	}
	if len(f.Enum) > 0 {
		s["enum"] = f.Enum
	}
	return s
}
