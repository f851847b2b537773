package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
)

// object is a JSON object of the document. Its names are written in their order in the
// alphabet, so that the same contract gives the same bytes.
type object = map[string]any

// inputSuffix ends the name of a schema that is for requests only, where one of the same
// Go type is for answers.
const inputSuffix = "-Input"

// schemas collects the schemas of types.
type schemas struct {
	comments *Comments
	// out and in are components by their Go type, as answers have them and as requests do.
	out, in map[reflect.Type]object
}

func newSchemas(c *Comments) *schemas {
	return &schemas{comments: c, out: map[reflect.Type]object{}, in: map[reflect.Type]object{}}
}

// of is the schema of a type, as requests or as answers have it.
func (s *schemas) of(t reflect.Type, input bool) object {
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	}
	if t.Name() != "" && t.PkgPath() != "" && !strings.Contains(t.Name(), "[") {
		switch t.Kind() {
		case reflect.Slice, reflect.Map, reflect.Array:
		default:
			return s.component(t, input)
		}
	}
	return s.plain(t, input)
}

// component is a reference to the schema of a named type, which it makes.
func (s *schemas) component(t reflect.Type, input bool) object {
	all := s.out
	if input {
		all = s.in
	}
	if _, made := all[t]; !made {
		all[t] = object{} // types that have themselves end here
		schema := s.plain(t, input)
		if text := s.comments.of(t); text != "" {
			schema["description"] = text
		}
		all[t] = schema
	}
	return object{"$ref": &reference{s, t, input}}
}

// plain is the schema of a type by its kind.
func (s *schemas) plain(t reflect.Type, input bool) object {
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem(), input)
	case reflect.Interface:
		return object{}
	case reflect.String:
		if words := s.comments.words[typeName(t)]; len(words) > 0 {
			return object{"type": "string", "examples": words}
		}
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem(), input)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem(), input)}
	case reflect.Struct:
		return s.structure(t, api.FieldsOf(t), input)
	}
	number := wholeNumber(t)
	if input && readsItself(t) {
		return object{"oneOf": []object{number, {"type": "string"}}}
	}
	return number
}

// wholeNumber has the bounds of its Go type.
func wholeNumber(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return object{"type": "integer", "minimum": 0, "maximum": uint64(math.MaxUint64) >> (64 - t.Bits())}
	case reflect.Uint64, reflect.Uint:
		return object{"type": "integer", "minimum": 0, "maximum": uint64(math.MaxUint64)}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer", "format": "int64"}
	}
	panic(fmt.Sprintf("BUG: no schema for %s", t))
}

// structure is the schema of an object with fields of a type.
func (s *schemas) structure(t reflect.Type, fields []reflect.StructField, input bool) object {
	zero := zeroOf(t)
	properties, always := object{}, []string{}
	for _, f := range fields {
		name := jsonName(f)
		schema := s.of(f.Type, input)
		value, there := zero[name]
		if there && !input {
			always = append(always, name)
			if bytes.Equal(value, []byte("null")) {
				schema = orNull(schema)
			}
		}
		if text := s.comments.ofField(t, f); text != "" {
			schema["description"] = text
		}
		properties[name] = schema
	}
	schema := object{"type": "object", "properties": properties}
	if len(always) > 0 {
		schema["required"] = always
	}
	if input {
		schema["additionalProperties"] = false
	}
	return schema
}

// zeroOf is the zero value of a struct, as it is written.
func zeroOf(t reflect.Type) map[string]json.RawMessage {
	text, err := json.Marshal(reflect.Zero(t).Interface())
	var fields map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		panic(fmt.Sprintf("BUG: the zero %s: %v", t, err))
	}
	return fields
}

// orNull is a schema of what is null, too.
func orNull(schema object) object {
	if typ, ok := schema["type"].(string); ok {
		schema["type"] = []string{typ, "null"}
		return schema
	}
	if len(schema) == 0 {
		return schema // of anything
	}
	return object{"anyOf": []object{schema, {"type": "null"}}}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return f.Name
	}
	return name
}

// readsItself reports whether a type, a length of time such as 90 or "90s", is read in
// more ways than it is written.
func readsItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// reference is a $ref. Which name its schema has is known when all are.
type reference struct {
	schemas *schemas
	of      reflect.Type
	input   bool
}

// MarshalText writes the address of the schema.
func (r *reference) MarshalText() ([]byte, error) {
	return []byte("#/components/schemas/" + r.schemas.name(r.of, r.input)), nil
}

// name is what the schema of a type is called.
func (s *schemas) name(t reflect.Type, input bool) string {
	_, answered := s.out[t]
	if input && answered && (t.Kind() == reflect.Struct || readsItself(t)) {
		return t.Name() + inputSuffix
	}
	return t.Name()
}

// all are the schemas by their names.
func (s *schemas) all() object {
	named, types := object{}, map[string]reflect.Type{}
	for input, of := range map[bool]map[reflect.Type]object{false: s.out, true: s.in} {
		for t, schema := range of {
			name := s.name(t, input)
			if other, taken := types[name]; taken && other != t {
				panic(fmt.Sprintf("BUG: two types are called %s: %s and %s", name, typeName(t), typeName(other)))
			}
			types[name], named[name] = t, schema
		}
	}
	return named
}
