package migrate

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pattern"
)

// This file reads DO_WHILE: its tasks are a blueprint of their own, and a step repeats the flow
// of that.

var (
	// conductorIf is what a condition is that is written as a statement.
	conductorIf = pattern.Late(`^\s*if\s*\((.*)\)\s*\{\s*(?:return\s+)?true;?\s*\}\s*else\s*\{\s*(?:return\s+)?false;?\s*\}\s*$`)
	// conductorClause compares what a task has left, the number of the round, or what is given.
	conductorClause = pattern.Late(`^\(*\s*\$\.([A-Za-z0-9_]+)(?:(?:\.|\[')([A-Za-z0-9_]+)(?:'\])?)?\s*(<=|>=|<|>|===?|!==?)` +
		`\s*(\d{1,9}|true|false|'[^'\\]*'|"[^"\\]*"|\$\.[A-Za-z0-9_]+)\s*\)*$`)
)

// loopLimit is how many rounds there are at the most where a condition bounds them by nothing.
const loopLimit = 1000

// loop makes a step that repeats a flow of the tasks of a loop.
func (c *conductorReader) loop(f, inputs *fields, s *domain.Step) {
	over, cond := f.take("loopOver"), f.text("loopCondition")
	f.take("evaluatorType", "keepLastN")
	if over == nil || over.Kind != yaml.SequenceNode || len(over.Content) == 0 {
		c.in.note(f.line, "%s: a loop over no tasks does nothing", f.path)
		s.Script = placeholder(s.Name, "DO_WHILE")
		return
	}
	b := &domain.Blueprint{Name: namer{}.name(c.b.Name+"-"+s.Name, "loop"), Summary: "A round of " + s.Name + " of " + c.b.Name}
	body := &conductorReader{in: c.in, b: b, names: namer{}, of: map[string]string{}, depth: c.depth}
	body.list(f.path+".loopOver", over, nil, branch{})
	if len(b.Steps) == 0 || b.Name == c.b.Name {
		c.in.note(f.line, "%s: no task of the loop can be done", f.path)
		s.Script = placeholder(s.Name, "DO_WHILE")
		return
	}
	c.in.Blueprints = append(c.in.Blueprints, b)
	s.ScriptType, s.Flow = "", &domain.FlowCall{Blueprint: b.Name}
	for _, name := range slices.Sorted(maps.Keys(b.Params)) {
		c.param(name)
		if s.Flow.Params == nil {
			s.Flow.Params = map[string]string{}
		}
		s.Flow.Params[name] = "${" + name + "}"
	}
	if s.Timeout != 0 {
		c.in.note(f.line, "%s: its time-out is of each round, not of all", f.path)
	}
	if s.Retry != nil {
		s.Retries, s.Retry = s.Retry.Max, nil
	}
	c.in.note(f.line, "%s: a round is a flow of blueprint %s; what its tasks leave is named <task>.<key> in the result of %s, which has the last round's", f.path,
		b.Name, s.Name)
	s.Repeat = c.rounds(f, inputs, s.Name, body, cond)
}

// rounds is what a loop is repeated until. Where its condition is not understood the step fails,
// after its first round.
func (c *conductorReader) rounds(f, inputs *fields, name string, body *conductorReader, cond string) *domain.Repeat {
	given := map[string]string{}
	if inputs != nil {
		for _, k := range slices.Clone(inputs.keys) {
			if n := inputs.take(k.Value); n != nil {
				given[k.Value] = textOf(n)
			}
		}
	}
	text := cond
	if m := conductorIf().FindStringSubmatch(cond); m != nil {
		text = m[1]
	}
	r := &domain.Repeat{Max: loopLimit}
	var all []string
	for _, clause := range strings.Split(text, "&&") {
		rhai, most := c.clause(strings.TrimSpace(clause), name, body, given)
		if rhai == "" {
			c.in.note(f.line, "%s: loopCondition %q is not understood: write what the loop is repeated until as repeat.until of step %s, which fails until then", f.path,
				cond, name)
			return &domain.Repeat{Until: "false", Max: 1}
		}
		if all = append(all, rhai); most > 0 {
			r.Max = min(r.Max, most)
		}
	}
	if r.Until = "!(" + strings.Join(all, " && ") + ")"; r.Max == loopLimit {
		c.in.note(f.line, "%s: there are %d rounds at the most, after which the step fails", f.path, loopLimit)
	}
	return r
}

// clause is a comparison as Rhai has it, "" for one that is not understood, and how many rounds it
// allows, where it says so.
func (c *conductorReader) clause(text, name string, body *conductorReader, given map[string]string) (rhai string, most int) {
	m := conductorClause().FindStringSubmatch(text)
	if m == nil || strings.Count(text, "(") != strings.Count(text, ")") {
		return "", 0
	}
	of, key, op, right := m[1], m[2], strings.Replace(strings.Replace(m[3], "===", "==", 1), "!==", "!=", 1), m[4]
	if ref, is := strings.CutPrefix(right, "$."); is {
		right = given[ref]
		if p := conductorInput().FindStringSubmatch(right); p != nil && paramName().MatchString(p[1]) {
			c.param(p[1])
			right = "parse_int(" + dot("params", p[1]) + ")"
		} else if _, err := strconv.Atoi(right); err != nil {
			return "", 0
		}
	}
	n, err := strconv.Atoi(right)
	number := err == nil || strings.HasPrefix(right, "parse_int(")
	switch {
	case key == "iteration" && number:
		if err == nil && op == "<" && n >= 1 && n <= domain.MaxRounds {
			most = n
		}
		return "round " + op + " " + right, most
	case key == "" || body.of[of] == "" || !plainName().MatchString(key):
		return "", 0
	}
	left := "result[" + quoteRhai(body.of[of]+"."+key) + "]"
	switch {
	case number:
		return "parse_int(" + left + ") " + op + " " + right, 0
	case op != "==" && op != "!=":
		return "", 0
	case right == "true" || right == "false":
		return left + " " + op + " " + quoteRhai(right), 0
	}
	return left + " " + op + " " + quoteRhai(strings.Trim(right, `'"`)), 0
}
