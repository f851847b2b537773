package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file has the lists that are products, and the names of elements.

// combinations are those of a matrix: the values of its axes, and the rules for them.
type combinations struct {
	axes             []string
	values, plain    [][]string // of each axis: as JSON, and as they are compared
	count            int
	include, exclude []rule
}

// rule is an object of include or exclude.
type rule struct {
	axes   []string          // its values of the axes as they are compared; "" is none
	more   map[string]string // what else it has, as JSON
	whole  map[string]string // all of it
	fitted bool              // a combination
}

// product is the list of a step with a matrix: an object for each combination of the
// axes' values; or it says why there is none.
//
// Errors: the context's.
func product(m domain.Matrix, list func(expression string) (items []string, fault string, err error)) (items []string, fault string, err error) {
	c := combinations{axes: m.Axes(), count: 1}
	for _, name := range m.Lists() {
		expression, written := m.Axis(name)
		var values []string
		if expression != "" {
			if values, fault, err = list(expression); fault != "" || err != nil {
				return nil, name + ": " + fault, err
			}
		}
		for _, v := range written {
			values = append(values, string(v))
		}
		switch name {
		case domain.MatrixInclude:
			c.include, fault = c.rules(m, name, values)
		case domain.MatrixExclude:
			c.exclude, fault = c.rules(m, name, values)
		default:
			c.add(values)
		}
		if fault != "" {
			return nil, name + ": " + fault, nil
		}
		if c.count > domain.MaxEach {
			return nil, blueprint.TooManyElements(0), nil
		}
	}
	if len(c.axes) == 0 {
		c.count = 0
	}
	items, fault = c.items()
	return items, fault, nil
}

// add adds the values of the next axis.
func (c *combinations) add(values []string) {
	plain := make([]string, len(values))
	for i, v := range values {
		plain[i] = plainJSON(v)
	}
	c.values, c.plain, c.count = append(c.values, values), append(c.plain, plain), c.count*len(values)
}

// rules reads include or exclude.
func (c *combinations) rules(m domain.Matrix, list string, texts []string) (rules []rule, fault string) {
	if len(texts) > domain.MaxMatrixRules {
		return nil, fmt.Sprintf("it has %d objects, the limit is %d", len(texts), domain.MaxMatrixRules)
	}
	for i, text := range texts {
		fields, err := blueprint.MatrixRule(m, list, json.RawMessage(text))
		if err != nil {
			return nil, fmt.Sprintf("element %d: %v", i, err)
		}
		r := rule{axes: make([]string, len(c.axes)), more: map[string]string{}, whole: map[string]string{}}
		for name, v := range fields {
			if r.whole[name] = string(v); !slices.Contains(c.axes, name) {
				r.more[name] = string(v)
			}
		}
		for k, name := range c.axes {
			if v, there := fields[name]; there {
				r.axes[k] = plainJSON(string(v))
			}
		}
		rules = append(rules, r)
	}
	return rules, ""
}

// items are the elements: the combinations that are not excluded, each with what is put to
// it, and those that are included besides.
func (c *combinations) items() (items []string, fault string) {
	total := 0
	add := func(fields map[string]string) {
		text := objectText(fields)
		if total += len(text); len(text) > domain.MaxItemBytes || total > domain.MaxListBytes {
			fault = fmt.Sprintf("element %d has %d bytes as JSON, %d with those before it; the limits are %d and %d; hand on where it is instead",
				len(items), len(text), total, domain.MaxItemBytes, domain.MaxListBytes)
		}
		items = append(items, text)
	}
	at := make([]int, len(c.axes))
	for n := 0; n < c.count && fault == ""; n++ {
		part, fields := c.count, make(map[string]string, len(c.axes))
		for i, name := range c.axes {
			part /= len(c.values[i])
			at[i] = n / part % len(c.values[i])
			fields[name] = c.values[i][at[i]]
		}
		if slices.ContainsFunc(c.exclude, func(r rule) bool { return c.fits(&r, at) }) {
			continue
		}
		for k := range c.include {
			if r := &c.include[k]; c.fits(r, at) {
				r.fitted = true
				maps.Copy(fields, r.more)
			}
		}
		add(fields)
	}
	for k := range c.include {
		if !c.include[k].fitted && fault == "" {
			add(c.include[k].whole)
		}
	}
	if len(items) > domain.MaxEach {
		fault = blueprint.TooManyElements(0)
	}
	if fault != "" {
		return nil, fault
	}
	return items, ""
}

// fits reports whether a rule says nothing else of the axes than a combination.
func (c *combinations) fits(r *rule, at []int) bool {
	for i, want := range r.axes {
		if want != "" && want != c.plain[i][at[i]] {
			return false
		}
	}
	return true
}

// objectText is an object as JSON, its fields by their names.
func objectText(fields map[string]string) string {
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		fmt.Fprintf(&b, "%q:%s", name, fields[name])
	}
	b.WriteByte('}')
	return b.String()
}

// plainJSON is a JSON text in the spelling in which it is compared: 1.0 is 1.
func plainJSON(text string) string {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return text
	}
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(plain)
}

// names are those of the elements of a list, or why they have none.
//
// Errors: the context's.
func (t *tending) names(ctx context.Context, text string, items []string) (names []string, fault string, err error) {
	if text == "" || len(items) == 0 {
		return nil, "", nil
	}
	done, err := t.turns.Take(ctx, t.tenant())
	if err != nil {
		return nil, "", err
	}
	defer done()
	names, fault = evalNames(ctx, text, items)
	return names, fault, nil
}

// evalNames evaluates the key of a step for each element of its list.
func evalNames(ctx context.Context, text string, items []string) (names []string, fault string) {
	if text == "" || len(items) == 0 {
		return nil, ""
	}
	c, err := blueprint.CompileKeys(text)
	if err != nil {
		return nil, err.Error()
	}
	list, err := value.ReadJSON("[" + strings.Join(items, ",") + "]")
	if err != nil {
		return nil, err.Error()
	}
	v, err := c.Value(ctx, list)
	if err != nil {
		return nil, err.Error()
	}
	names, first := make([]string, len(items)), make(map[string]int, len(items))
	for i, v := range v.AsArray().Items {
		name, fault := nameOf(v)
		if fault != "" {
			return nil, fmt.Sprintf("element %d: %s", i, fault)
		}
		if k, twice := first[name]; twice {
			return nil, fmt.Sprintf("elements %d and %d have the same name, %q", k, i, name)
		}
		names[i], first[name] = name, i
	}
	return names, ""
}

// nameOf is a value as the name of an element, or why it is none.
func nameOf(v value.Value) (name, fault string) {
	text, err := value.AppendJSON(nil, v)
	if err != nil || json.Unmarshal(text, &name) != nil {
		name = string(text) // a number
	}
	switch {
	case err != nil || !v.Is(value.StringKind) && !v.Is(value.IntKind) && !v.Is(value.BoolKind) && !v.Is(value.FloatKind) && !v.Is(value.CharKind):
		return "", "it is " + condition.Word(v) + ", want a text or a number"
	case name == "":
		return "", "it is empty"
	case len(name) > domain.MaxKeyBytes:
		return "", fmt.Sprintf("it has %d bytes, the limit is %d", len(name), domain.MaxKeyBytes)
	case strings.ContainsFunc(name, unicode.IsControl):
		return "", "it has a control character"
	}
	return name, ""
}
