package migrate

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

// This file reads the matrix of a job: lists by name are a matrix here, too. Where
// combinations are taken out or written one by one, they are a list.

// matrix reads the matrix of a job.
func (w *actionsReader) matrix(st *fields, s *domain.Step, j *actionsJob) {
	if n := st.vals["matrix"]; n == nil || n.Kind != yaml.MappingNode {
		if n != nil { // it is noted as what nobody has asked for
			j.stop += stops("the matrix")
		}
		return
	}
	m := st.object("matrix")
	matrix, count, written := domain.Matrix{}, 1, true
	for _, k := range m.keys {
		axis, n := ident(k.Value), m.vals[k.Value]
		if n == nil || k.Value == "include" || k.Value == "exclude" || domain.ValidateName("axis", axis) != nil {
			continue
		}
		if value, size := w.axis(n, s); value != nil && count <= domain.MaxEach {
			m.take(k.Value)
			matrix[axis], count, written = value, count*size, written && n.Kind == yaml.SequenceNode
		} else {
			j.stop += stops("the matrix' " + axis)
		}
	}
	if len(matrix) > domain.MaxAxes || count > domain.MaxEach {
		w.in.note(m.line, "%s: there are more combinations, or lists, than a matrix may have: the step fails until they are written", m.path)
		j.stop += stops("the matrix")
		return
	}
	if m.vals["include"] != nil || m.vals["exclude"] != nil {
		if written && w.combined(m, matrix, count, s, j) {
			m.rest()
			return
		}
		if !w.rules(m, matrix, j) {
			w.in.note(m.line, "%s: include and exclude are not understood: the step fails until they are written, or the combinations as `each`", m.path)
			m.take("include")
			m.take("exclude")
			j.stop += stops("what the matrix includes and excludes")
		}
	}
	if len(matrix) > 0 {
		s.Matrix, s.Key = matrix, keyOf(matrix)
		for _, axis := range matrix.Axes() {
			j.axes[axis] = true
		}
	}
	m.rest()
}

// rules hands on what a matrix leaves out and has besides, where its combinations are known only
// when the step begins. What include alone names is empty where it does not say otherwise, as it
// is there; so the first rule fits all.
func (w *actionsReader) rules(m *fields, matrix domain.Matrix, j *actionsJob) bool {
	include, ok1 := objects(m.vals["include"])
	exclude, ok2 := objects(m.vals["exclude"])
	if !ok1 || !ok2 || len(matrix) == 0 {
		return false
	}
	empty := map[string]string{}
	for _, one := range include {
		for name := range one {
			if matrix[name] == nil {
				empty[name] = ""
			}
		}
	}
	if len(empty) > 0 {
		include = append([]map[string]string{empty}, include...)
	}
	lists := map[string]json.RawMessage{}
	for name, rules := range map[string][]map[string]string{domain.MatrixInclude: include, domain.MatrixExclude: exclude} {
		if len(rules) > domain.MaxMatrixRules {
			return false
		}
		for _, rule := range rules {
			text, err := json.Marshal(rule)
			if err == nil {
				_, err = blueprint.MatrixRule(matrix, name, text)
			}
			if err != nil {
				return false
			}
		}
		if len(rules) > 0 {
			lists[name], _ = json.Marshal(rules) // each of them could be
		}
	}
	if len(empty) > 0 {
		w.in.note(m.line, "%s.include: one that fits no combination must name all that the script does", m.path)
	}
	maps.Copy(matrix, lists)
	m.take("include")
	m.take("exclude")
	for name := range empty {
		j.axes[name] = true
	}
	return true
}

// axis is a list of a matrix, written or computed, and how long it is.
func (w *actionsReader) axis(n *yaml.Node, s *domain.Step) (json.RawMessage, int) {
	if n.Kind == yaml.ScalarNode {
		m := expression().FindStringSubmatch(n.Value)
		if m == nil || m[0] != strings.TrimSpace(n.Value) {
			return nil, 0
		}
		e, err := parseExpr(m[1])
		if err != nil || e.op != "call" || !strings.EqualFold(e.text, "fromJSON") || len(e.args) != 1 || e.args[0].op != "name" {
			return nil, 0
		}
		of, err := w.rhaiName(e.args[0].text, s)
		if err != nil {
			return nil, 0
		}
		text, _ := json.Marshal("parse_json(" + of + ")")
		return text, 1
	}
	var list []string
	for _, item := range n.Content {
		if item = follow(item); item.Kind != yaml.ScalarNode || len(item.Value) > domain.MaxKeyBytes {
			return nil, 0
		}
		list = append(list, item.Value)
	}
	text, err := json.Marshal(list)
	if err != nil || len(list) == 0 {
		return nil, 0
	}
	return text, len(list)
}

// keyOf names the combinations of a matrix that is written out.
func keyOf(m domain.Matrix) string {
	var parts []string
	for _, axis := range m.Axes() {
		expression, values := m.Axis(axis)
		bytes, seen := 0, map[string]bool{}
		for _, v := range values {
			bytes += len(v)
			seen[string(v)] = true
		}
		if expression != "" || len(seen) < len(values) || bytes > domain.MaxKeyBytes/domain.MaxAxes || slices.ContainsFunc(values, func(v json.RawMessage) bool {
			return len(v) == len(`""`) || strings.Contains(string(v), `\`)
		}) {
			return ""
		}
		parts = append(parts, dot("item", axis))
	}
	return strings.Join(parts, ` + "-" + `)
}

// maxCombined bounds the combinations that are written one by one.
const maxCombined = 1_000

// combined makes a list of the combinations of lists without some, and with others.
func (w *actionsReader) combined(m *fields, matrix domain.Matrix, count int, s *domain.Step, j *actionsJob) bool {
	include, ok1 := objects(m.vals["include"])
	exclude, ok2 := objects(m.vals["exclude"])
	if !ok1 || !ok2 || count > maxCombined || len(include) > maxCombined {
		return false
	}
	var list []map[string]string
	if len(matrix) > 0 {
		list = slices.DeleteFunc(product(matrix), func(one map[string]string) bool {
			return slices.ContainsFunc(exclude, func(out map[string]string) bool { return within(out, one) })
		})
	}
	list = included(list, matrix, include)
	for _, one := range list {
		for name := range one {
			j.axes[name] = true
		}
	}
	for _, one := range list { // what an element has not is empty, as it is there
		for name := range j.axes {
			if _, there := one[name]; !there {
				one[name] = ""
			}
		}
	}
	text, err := json.Marshal(list)
	each := "parse_json(" + quoteRhai(string(text)) + ")"
	if err != nil || len(list) == 0 || len(each) > domain.MaxWhenBytes {
		clear(j.axes)
		return false
	}
	m.take("include")
	m.take("exclude")
	s.Each = each
	return true
}

// objects are the objects of a list, whose values are texts.
func objects(n *yaml.Node) (list []map[string]string, ok bool) {
	if n == nil {
		return nil, true
	}
	if n.Kind != yaml.SequenceNode {
		return nil, false
	}
	for _, item := range n.Content {
		one := map[string]string{}
		if item = follow(item); item.Kind != yaml.MappingNode || len(item.Content) == 0 {
			return nil, false
		}
		for i := 0; i+1 < len(item.Content); i += 2 {
			name, v := ident(item.Content[i].Value), follow(item.Content[i+1])
			if v.Kind != yaml.ScalarNode || !plainName().MatchString(name) || expression().MatchString(v.Value) {
				return nil, false
			}
			one[name] = v.Value
		}
		list = append(list, one)
	}
	return list, true
}

// product is each combination of a matrix that is written out.
func product(matrix domain.Matrix) []map[string]string {
	list := []map[string]string{{}}
	for _, axis := range matrix.Axes() {
		_, values := matrix.Axis(axis)
		var longer []map[string]string
		for _, one := range list {
			for _, v := range values {
				own := maps.Clone(one)
				own[axis], _ = strconv.Unquote(string(v)) // it was made of texts
				longer = append(longer, own)
			}
		}
		list = longer
	}
	return list
}

// within reports whether an object has all fields of another one.
func within(part, whole map[string]string) bool {
	for name, value := range part {
		if got, there := whole[name]; !there || got != value {
			return false
		}
	}
	return true
}

// included adds what is included: to each combination with whose values it agrees, or, where
// there is none, as one of its own.
//
// Source: docs.github.com, "Expanding or adding matrix configurations".
func included(list []map[string]string, matrix domain.Matrix, include []map[string]string) []map[string]string {
	combinations := len(list)
	for _, more := range include {
		fits := false
		for _, one := range list[:combinations] {
			if agrees := !slices.ContainsFunc(matrix.Axes(), func(axis string) bool {
				value, there := more[axis]
				return there && value != one[axis]
			}); agrees {
				maps.Copy(one, more)
				fits = true
			}
		}
		if !fits {
			list = append(list, maps.Clone(more))
		}
	}
	return list
}
