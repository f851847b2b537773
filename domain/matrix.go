package domain

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// Rule reads an object of include or exclude.
//
// Errors: [ErrInvalid].
func (m Matrix) Rule(list string, text json.RawMessage) (rule map[string]json.RawMessage, err error) {
	if json.Unmarshal(text, &rule) != nil || rule == nil {
		return nil, Invalidf("want an object, as {os: linux}")
	}
	if len(rule) == 0 {
		return nil, Invalidf("it is empty")
	}
	axes := m.Axes()
	for _, name := range slices.Sorted(maps.Keys(rule)) {
		if err := ValidateName("name", name); err != nil {
			return nil, err
		}
		if list == MatrixExclude && !slices.Contains(axes, name) {
			near := ""
			if n := Nearest(name, axes); n != "" {
				near = fmt.Sprintf("; did you mean %q?", n)
			}
			return nil, Invalidf("the matrix has no list %q%s", name, near)
		}
	}
	return rule, nil
}

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

// list checks what a step is done for each element of.
func (c *checker) list(s *Step, at func(string) string) {
	switch {
	case s.Each != "" && s.Matrix != nil:
		c.fault(at("matrix"), "each is given too; want one of them")
	case !s.Listed():
		c.fault(at("each"), "a step of kind each needs each, an expression whose value is a list, or matrix, lists by name")
	case len(s.Each) > MaxWhenBytes:
		c.fault(at("each"), "%d bytes, the limit is %d", len(s.Each), MaxWhenBytes)
	}
	c.axes(s, at)
	if s.Window < 0 || s.Window > MaxWindow {
		c.fault(at("window"), "%d: want 1 to %d", s.Window, MaxWindow)
	}
	if len(s.Key) > MaxKeyTextBytes {
		c.fault(at("key"), "%d bytes, the limit is %d", len(s.Key), MaxKeyTextBytes)
	}
}

func (c *checker) axes(s *Step, at func(string) string) {
	if n := len(s.Matrix.Axes()); n > MaxAxes {
		c.fault(at("matrix"), "%d axes, the limit is %d", n, MaxAxes)
	}
	product := 1
	for _, name := range s.Matrix.Lists() {
		path := at("matrix." + name)
		c.err(path, ValidateName("axis", name))
		expression, values := s.Matrix.Axis(name)
		switch {
		case expression == "" && values == nil:
			c.fault(path, "want a list, or a Rhai expression over params and needs whose value is one")
		case len(expression) > MaxWhenBytes:
			c.fault(path, "%d bytes, the limit is %d", len(expression), MaxWhenBytes)
		case name == MatrixInclude || name == MatrixExclude:
			c.rules(s.Matrix, name, path, values)
		case values != nil:
			product = min(product*len(values), MaxEach+1)
		}
		for i, text := range values {
			var v any
			if err := json.Unmarshal(text, &v); err != nil {
				c.fault(fmt.Sprintf("%s[%d]", path, i), "%s is no value that expressions and scripts can have: want numbers up to 1.7e308, or a text in quotes",
					PlainText(string(text), 100))
				break
			}
		}
	}
	if product > MaxEach {
		c.fault(at("matrix"), "%s", TooManyElements(0))
	}
}

// rules checks what is written out under include or exclude.
func (c *checker) rules(m Matrix, list, path string, values []json.RawMessage) {
	if len(values) > MaxMatrixRules {
		c.fault(path, "%d objects, the limit is %d", len(values), MaxMatrixRules)
	}
	for i, text := range values[:min(len(values), MaxMatrixRules)] {
		if _, err := m.Rule(list, text); err != nil {
			c.err(fmt.Sprintf("%s[%d]", path, i), err)
		}
	}
	if list == MatrixExclude && len(m.Axes()) == 0 {
		c.fault(path, "the matrix has no list that something could be left out of")
	}
}

// TooManyElements says that a list has more elements than a step may be done for; 0 is
// that nobody has counted them.
func TooManyElements(n int) string {
	if n == 0 {
		return fmt.Sprintf("the product of its lists has more than %d elements; a pack has no such bound", MaxEach)
	}
	return fmt.Sprintf("the list has %d elements, the limit is %d; a pack has no such bound", n, MaxEach)
}
