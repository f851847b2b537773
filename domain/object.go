package domain

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// Limits of the object store of a context.
const (
	// MaxObjectBytes bounds an object as JSON text: it lies in one field of a
	// record, and a page of them in a script's memory.
	MaxObjectBytes = 256 << 10
	// MaxObjectFields bounds the fields of an object, nested ones not counted.
	MaxObjectFields = 1024
	// MaxIndexes bounds the indexes of a model: each costs two operations of
	// the commit that changes an object.
	MaxIndexes = 16
	// MaxObjectPage is the most objects that one list or find gives.
	MaxObjectPage = 1000
	// MaxObjectPageBytes bounds them together.
	MaxObjectPageBytes = 2 << 20
)

// ObjectID numbers the objects of a model, from 1.
type ObjectID uint32

// Object is one object of a model: what scripts of type osis keep in their context.
type Object struct {
	ID ObjectID
	// Data is a JSON object, without the id.
	Data string
	// Version counts the writes, from 1.
	Version              int64
	CreatedBy, UpdatedBy ActorID
	CreatedAt, UpdatedAt UnixTime
}

// ObjectIDField is the name by which an object's id is asked for; it is not
// part of the data.
const ObjectIDField = "id"

// Model is a kind of objects in a context, as one actor sees it.
type Model struct {
	Tenant TenantID
	Caller ActorID
	Name   string
}

// modelPattern and fieldPattern keep names safe inside keys, where ':' ends them.
var (
	modelPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)
	fieldPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
)

// Validate checks the model's name.
//
// Errors: [ErrInvalid].
func (m Model) Validate() error {
	if !modelPattern.MatchString(m.Name) {
		return Invalidf("model %q: want a letter, then up to 63 letters, digits, '_', '-' or '.'", clipped(m.Name))
	}
	return nil
}

// ValidateIndex checks the name of a field that shall have an index.
//
// Errors: [ErrInvalid].
func ValidateIndex(field string) error {
	if field == ObjectIDField {
		return Invalidf("index %q: objects are found by their id without one", field)
	}
	if !fieldPattern.MatchString(field) {
		return Invalidf("index %q: want a letter or '_', then up to 63 letters, digits, '_', '-' or '.'", clipped(field))
	}
	return nil
}

func clipped(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}

// ObjectQuery says which objects of a model are wanted, in the order of their ids.
type ObjectQuery struct {
	// Where are values that fields must have, as JSON; a field that is not
	// there is null. Numbers are equal by value: 1 and 1.0.
	Where map[string]string
	// Any is satisfied with one of Where; else all must hold.
	Any bool
	// After leaves out the objects up to this id.
	After ObjectID
}

// Fields takes an object's data apart; the id is among them.
//
// Errors: [ErrInvalid].
func (o Object) Fields() (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(o.Data), &m); err != nil || m == nil {
		return nil, Invalidf("object %d: its data is no JSON object", o.ID)
	}
	m[ObjectIDField] = strconv.AppendUint(nil, uint64(o.ID), 10)
	return m, nil
}

// CanonicalJSON writes a value so that equal values have equal texts: keys
// sorted, no space, numbers by value. Nothing is null.
//
// Errors: [ErrInvalid].
func CanonicalJSON(raw []byte) (string, error) {
	if len(raw) == 0 {
		return "null", nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", Invalidf("value %q is no JSON: %v", clipped(string(raw)), err)
	}
	return string(appendCanonical(nil, v)), nil
}

func appendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case json.Number:
		return append(b, canonicalNumber(string(v))...)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, item)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for i, k := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendCanonical(b, k), ':')
			b = appendCanonical(b, v[k])
		}
		return append(b, '}')
	}
	text, err := json.Marshal(v) // a string, a bool or nil
	if err != nil {
		panic("BUG: a decoded JSON value cannot be written: " + err.Error())
	}
	return append(b, text...)
}

// canonicalNumber writes ints as ints, also those written as floats.
func canonicalNumber(s string) string {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
