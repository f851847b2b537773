package blueprint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// MatrixRule reads an object of include or exclude.
//
// Errors: [domain.ErrInvalid].
func MatrixRule(m domain.Matrix, list string, text json.RawMessage) (rule map[string]json.RawMessage, err error) {
	if json.Unmarshal(text, &rule) != nil || rule == nil {
		return nil, domain.Invalidf("want an object, as {os: linux}")
	}
	if len(rule) == 0 {
		return nil, domain.Invalidf("it is empty")
	}
	axes := m.Axes()
	for _, name := range slices.Sorted(maps.Keys(rule)) {
		if err := domain.ValidateName("name", name); err != nil {
			return nil, err
		}
		if list == domain.MatrixExclude && !slices.Contains(axes, name) {
			near := ""
			if n := domain.Nearest(name, axes); n != "" {
				near = fmt.Sprintf("; did you mean %q?", n)
			}
			return nil, domain.Invalidf("the matrix has no list %q%s", name, near)
		}
	}
	return rule, nil
}

// list checks what a step is done for each element of.
func (c *checker) list(s *domain.Step, at func(string) string) {
	switch {
	case s.Each != "" && s.Matrix != nil:
		c.fault(at("matrix"), "each is given too; want one of them")
	case !s.Listed():
		c.fault(at("each"), "a step of kind each needs each, an expression whose value is a list, or matrix, lists by name")
	case len(s.Each) > domain.MaxWhenBytes:
		c.fault(at("each"), "%d bytes, the limit is %d", len(s.Each), domain.MaxWhenBytes)
	}
	c.axes(s, at)
	if s.Window < 0 || s.Window > domain.MaxWindow {
		c.fault(at("window"), "%d: want 1 to %d", s.Window, domain.MaxWindow)
	}
	if len(s.Key) > domain.MaxKeyTextBytes {
		c.fault(at("key"), "%d bytes, the limit is %d", len(s.Key), domain.MaxKeyTextBytes)
	}
}

func (c *checker) axes(s *domain.Step, at func(string) string) {
	if n := len(s.Matrix.Axes()); n > domain.MaxAxes {
		c.fault(at("matrix"), "%d axes, the limit is %d", n, domain.MaxAxes)
	}
	product := 1
	for _, name := range s.Matrix.Lists() {
		path := at("matrix." + name)
		c.err(path, domain.ValidateName("axis", name))
		expression, values := s.Matrix.Axis(name)
		switch {
		case expression == "" && values == nil:
			c.fault(path, "want a list, or a Rhai expression over params and needs whose value is one")
		case len(expression) > domain.MaxWhenBytes:
			c.fault(path, "%d bytes, the limit is %d", len(expression), domain.MaxWhenBytes)
		case name == domain.MatrixInclude || name == domain.MatrixExclude:
			c.rules(s.Matrix, name, path, values)
		case values != nil:
			product = min(product*len(values), domain.MaxEach+1)
		}
		for i, text := range values {
			var v any
			if err := json.Unmarshal(text, &v); err != nil {
				c.fault(fmt.Sprintf("%s[%d]", path, i), "%s is no value that expressions and scripts can have: want numbers up to 1.7e308, or a text in quotes",
					domain.PlainText(string(text), 100))
				break
			}
		}
	}
	if product > domain.MaxEach {
		c.fault(at("matrix"), "%s", TooManyElements(0))
	}
}

// rules checks what is written out under include or exclude.
func (c *checker) rules(m domain.Matrix, list, path string, values []json.RawMessage) {
	if len(values) > domain.MaxMatrixRules {
		c.fault(path, "%d objects, the limit is %d", len(values), domain.MaxMatrixRules)
	}
	for i, text := range values[:min(len(values), domain.MaxMatrixRules)] {
		if _, err := MatrixRule(m, list, text); err != nil {
			c.err(fmt.Sprintf("%s[%d]", path, i), err)
		}
	}
	if list == domain.MatrixExclude && len(m.Axes()) == 0 {
		c.fault(path, "the matrix has no list that something could be left out of")
	}
}

// TooManyElements says that a list has more elements than a step may be done for; 0 is
// that nobody has counted them.
func TooManyElements(n int) string {
	if n == 0 {
		return fmt.Sprintf("the product of its lists has more than %d elements; a pack has no such bound", domain.MaxEach)
	}
	return fmt.Sprintf("the list has %d elements, the limit is %d; a pack has no such bound", n, domain.MaxEach)
}
