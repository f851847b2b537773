package migrate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pattern"
)

// This file reads the params of a DAG of Dagu, and what its scripts find: there each param, and what
// a step has left as its output, is a variable of all that is run.

// readParams reads `params`: texts, names with values, and names with types.
func (d *daguReader) readParams(f *fields) {
	n := f.take("params")
	if n == nil {
		return
	}
	plain, typed := map[string]string{}, []*yaml.Node{}
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			if item = follow(item); isTyped(item) {
				typed = append(typed, item)
				continue
			}
			for name, value := range f.valuesOf("params", item) {
				plain[name] = value
			}
		}
	} else {
		plain = f.valuesOf("params", n)
	}
	plain = goodParams(d.in, n.Line, plain)
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		if strings.Contains(plain[name], "`") || strings.Contains(plain[name], "$") {
			d.in.note(n.Line, "params.%s: nothing is computed in %q, which stays as it is", name, plain[name])
		}
		if len(typed) > 0 { // a request gives those that are declared, and no others
			value := plain[name]
			d.declare(n.Line, domain.TypedField{Name: name, Default: &value})
		} else {
			d.plainParam(name, plain[name])
		}
	}
	for i, item := range typed {
		d.typedParam(fieldsOf(d.in, fmt.Sprintf("params[%d]", i), item))
	}
}

// isTyped reports whether an entry of `params` says of what kind a param is, and is not a param and
// its value.
func isTyped(n *yaml.Node) bool {
	named, more := false, false
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		switch n.Content[i].Value {
		case "name":
			named = true
		case "default", "description", "type", "required", "enum", "minimum", "maximum", "min_length", "max_length", "pattern", "eval":
			more = true
		default:
			return false
		}
	}
	return named && more
}

// daguTypes are the types of params, in our words.
var daguTypes = map[string]domain.FieldType{"": "", "string": "", "integer": domain.TypeInteger, "number": domain.TypeNumber, "boolean": domain.TypeFlag}

// typedParam reads a param that has a type.
func (d *daguReader) typedParam(f *fields) {
	p := domain.TypedField{Name: f.text("name"), Description: f.text("description"), Enum: f.texts("enum"), Required: f.flag("required"),
		Pattern: f.text("pattern")}
	kind, known := f.text("type"), false
	if p.Type, known = daguTypes[kind]; !known {
		d.in.note(f.line, "%s.type: %q is not known; it became a text", f.path, kind)
	}
	p.Min, p.Max = f.text("minimum", "min_length"), f.text("maximum", "max_length")
	if n := f.take("default"); n != nil {
		if p.Default = &n.Value; n.Kind != yaml.ScalarNode {
			f.odd("default", n, "a text")
			p.Default = nil
		}
	}
	if n := f.take("eval"); n != nil {
		f.note(n, "%s: nothing is computed for a param: give it when the flow is submitted", f.at("eval"))
	}
	f.rest()
	p.Required = p.Required && p.Default == nil
	if !p.Required && p.Default == nil && p.TypeOr() == domain.TypeText && len(p.Enum) == 0 {
		p.Default = new(string)
	}
	if len(goodParams(d.in, f.line, map[string]string{p.Name: ""})) > 0 {
		d.declare(f.line, p)
	}
}

// declare makes a param an input; what is no valid one becomes a text, and a note says so.
func (d *daguReader) declare(line int, p domain.TypedField) {
	if slices.Contains(d.params, p.Name) {
		d.in.note(line, "params: %s is there twice; left out", p.Name)
		return
	}
	probe := &domain.Blueprint{Name: d.b.Name, Inputs: append(slices.Clone(d.b.Inputs), p),
		Steps: []domain.Step{{Name: "a", ScriptType: domain.ScriptShell, Script: "x"}}}
	if err := blueprint.ValidateFields(probe); err != nil {
		value := ""
		if p.Default != nil {
			value = *p.Default
		}
		d.in.note(line, "params: %v; %s became a text that no request changes", err, p.Name)
		d.plainParam(p.Name, value)
		return
	}
	d.b.Inputs, d.params = probe.Inputs, append(d.params, p.Name)
	d.typed[p.Name] = p.TypeOr() != domain.TypeText
	d.absent[p.Name] = p.Default == nil && !p.Required
}

func (d *daguReader) plainParam(name, value string) {
	d.b.Params = withValue(d.b.Params, name, value)
	d.params = append(d.params, name)
}

// variables has all that is run find the params, whether its text names them or what it calls.
func (d *daguReader) variables() {
	for _, name := range d.params {
		if !d.absent[name] {
			d.variable(name)
		}
	}
}

func (d *daguReader) variable(name string) {
	if err := domain.ValidateEnv(map[string]string{name: "x"}); err != nil {
		d.in.note(0, "params: %v: scripts find it as $RAMET_PARAM_%s alone", err, strings.ToUpper(name))
		return
	}
	d.b.Env = withValue(d.b.Env, name, "${params."+name+"}")
}

// leaves has what comes later find what a step has left.
func (d *daguReader) leaves(output string) {
	if slices.Contains(d.params, output) {
		return
	}
	d.plainParam(output, "") // before that it is empty
	d.variable(output)
}

var (
	daguPlace  = pattern.Late(`\$[1-9]|\$\{[1-9]`)
	daguOwn    = pattern.Late(`\bset --|\bshift\b|\(\)\s*\{`) // a script that has places of its own
	daguField  = pattern.Late(`\$\{[A-Za-z_][A-Za-z0-9_-]*\.[^}]*\}`)
	daguRun    = pattern.Late(`\bDAGU?_(RUN_|PARAMS_|WAITING_|DOCS_)[A-Z_]+\b`)
	quotedText = pattern.Late(`'[^']*'`)
)

// strange is what a script names that it does not find here; "" is nothing.
func (d *daguReader) strange(text string, s *domain.Step) string {
	if at := daguField().FindString(text); at != "" {
		return at + ", a field of what another step left"
	}
	if s.ScriptType == domain.ScriptPython {
		for _, m := range daguName().FindAllStringSubmatch(text, -1) {
			if name := m[1]; name != "" && d.b.Env[name] != "" {
				return fmt.Sprintf("%s in Python, in which nothing is put: write os.environ[%q]", m[0], name)
			}
		}
	} else if at := daguPlace().FindString(quotedText().ReplaceAllString(text, "")); at != "" && d.hasParams && !daguOwn().MatchString(text) {
		return strings.TrimPrefix(strings.Replace(at, "{", "", 1), "") + ", a param by its place: write its name"
	}
	for _, name := range slices.Sorted(maps.Keys(d.lost)) {
		if d.lost[name] && uses(text, regexp.QuoteMeta(name)) && (s.ScriptType == domain.ScriptPython ||
			slices.ContainsFunc(daguName().FindAllStringSubmatch(text, -1), func(m []string) bool { return m[1] == name || m[2] == name })) {
			return "$" + name + ", which no step leaves here"
		}
	}
	for _, name := range daguRun().FindAllString(text, -1) {
		switch {
		case name == "DAG_RUN_ID" || name == "DAG_RUN_STEP_NAME":
		case name == "DAG_RUN_STATUS" && d.hooking && s.ScriptType == domain.ScriptShell:
		default:
			return "$" + name
		}
	}
	return ""
}

// told gives a script what Dagu says of the run.
func (d *daguReader) told(text string, s *domain.Step) string {
	for name, value := range map[string]string{"DAG_NAME": "${flow.blueprint}", "DAG_RUN_ID": "${flow.id}", "DAG_RUN_STEP_NAME": s.Name} {
		if uses(text, name) {
			s.Env = withValue(s.Env, name, value)
		}
	}
	if d.hooking && uses(text, "DAG_RUN_STATUS") {
		return "case \"$RAMET_HOOK\" in\nsucceeded) DAG_RUN_STATUS=succeeded;;\ncancelled) DAG_RUN_STATUS=aborted;;\n*) DAG_RUN_STATUS=failed;;\nesac\n" +
			"export DAG_RUN_STATUS\n"
	}
	return ""
}
