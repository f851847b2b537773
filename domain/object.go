package domain

import (
	"encoding/json"
	"regexp"
	"strconv"
)

// Limits of what scripts are given of the object store of a context.
const (
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

// modelPattern keeps names safe inside keys, where ':' ends them.
var modelPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// Validate checks the model's name.
//
// Errors: [ErrInvalid].
func (m Model) Validate() error {
	if !modelPattern.MatchString(m.Name) {
		return Invalidf("model %q: want a letter, then up to 63 letters, digits, '_', '-' or '.'", clipped(m.Name))
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
