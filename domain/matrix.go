package domain

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

const (
	// MaxAxes is how many axes a matrix may have.
	MaxAxes = 8
	// MaxKeyTextBytes bounds the expression that names the elements of a list, MaxKeyBytes
	// a name.
	MaxKeyTextBytes = 4 << 10
	MaxKeyBytes     = 256
	// MaxMatrixRules is how many objects include, and exclude, may each have: each is held
	// against each combination.
	MaxMatrixRules = 1_000
)

// The names in a matrix that are no axes but lists of objects: combinations that are left out,
// those with all that an object has; and what is put to those that an object fits, or, where it
// fits none, is one more.
//
// Source: GitHub Actions, jobs.<job_id>.strategy.matrix.include and exclude.
const (
	MatrixInclude = "include"
	MatrixExclude = "exclude"
)

// Matrix are the axes of a step that is done for each combination of their values: by
// name a JSON list, or a JSON text, which is a Rhai expression for one.
type Matrix map[string]json.RawMessage

// Axes are their names, in the order in which the values are gone through: those of the
// last the fastest.
func (m Matrix) Axes() []string {
	return slices.DeleteFunc(m.Lists(), func(name string) bool { return name == MatrixInclude || name == MatrixExclude })
}

// Lists are the names of all its lists: its axes, include and exclude.
func (m Matrix) Lists() []string { return slices.Sorted(maps.Keys(m)) }

// Axis is what an axis, include or exclude has: an expression, or values. It is neither where it is wrong.
func (m Matrix) Axis(name string) (expression string, values []json.RawMessage) {
	if json.Unmarshal(m[name], &expression) == nil && bytes.HasPrefix(m[name], []byte(`"`)) {
		return expression, nil
	}
	if json.Unmarshal(m[name], &values) != nil {
		return "", nil
	}
	if values == nil && string(m[name]) != "null" {
		values = []json.RawMessage{}
	}
	return "", values
}

// Listed reports whether the step is done for each element of a list.
func (s *Step) Listed() bool { return s.Each != "" || len(s.Matrix) > 0 }
