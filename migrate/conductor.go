package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pattern"
)

// This file reads workflow definitions of Conductor (JSON): tasks one after the other, some
// of which have branches.
//
// Source: docs.conductor-oss.org, "Workflow definition".

func conductor(name string, text []byte) (*Imported, error) {
	in := &Imported{}
	f, err := readFields(in, text, "a workflow definition of Conductor, with `tasks`")
	if err != nil {
		return nil, err
	}
	tasks := f.take("tasks")
	if tasks == nil || tasks.Kind != yaml.SequenceNode {
		return nil, domain.Invalidf("it has no tasks; want a workflow definition of Conductor")
	}
	b := &domain.Blueprint{Name: namer{}.name(cmpText(f.text("name"), name), "workflow"), Summary: f.text("description"),
		Version: f.number(domain.MaxVersion, "version")}
	params := map[string]string{}
	for _, p := range f.texts("inputParameters") {
		params[p] = ""
	}
	for k, v := range f.values("inputTemplate") {
		params[k] = v
	}
	b.Params = goodParams(in, f.line, params)
	for _, known := range []string{"schemaVersion", "ownerEmail", "ownerApp", "restartable", "createTime", "updateTime", "createdBy", "updatedBy",
		"accessPolicy"} {
		f.take(known) // says nothing of what is done
	}
	if n := f.number(1<<31, "timeoutSeconds"); n > 0 {
		b.Duration = domain.Span(n)
		in.note(f.line, "timeoutSeconds: a flow that takes longer is shown as slow, and not ended; time-outs are the steps'")
	}
	f.take("timeoutPolicy")
	c := &conductorReader{in: in, b: b, names: namer{}, of: map[string]string{}}
	c.list("tasks", tasks, nil, branch{})
	for as, from := range f.values("outputParameters") {
		if m := conductorOutput().FindStringSubmatch(from); m != nil && c.of[m[1]] != "" && paramName().MatchString(as) {
			if b.Output == nil {
				b.Output = map[string]string{}
			}
			b.Output[as] = c.of[m[1]] + "." + m[2]
		} else {
			in.note(f.line, "outputParameters.%s: %q is not understood", as, from)
		}
	}
	f.rest()
	in.Blueprints = append(in.Blueprints, b)
	return in, nil
}

var (
	conductorOutput = pattern.Late(`^\$\{([A-Za-z0-9_-]+)\.output\.([A-Za-z0-9_]+)\}$`)
	conductorInput  = pattern.Late(`^\$\{workflow\.input\.([A-Za-z0-9_]+)\}$`)
	// conductorName is a name anywhere in a text.
	conductorName = pattern.Late(`\$\{([A-Za-z0-9_.-]+)\}`)
)

// branch is on which condition what is in it is done, and of which steps that asks.
type branch struct {
	when string
	of   []string
}

// and is a branch within another.
func (b branch) and(when string, of ...string) branch {
	if b.when != "" {
		when = "(" + b.when + ") && (" + when + ")"
	}
	return branch{when, append(slices.Clone(b.of), of...)}
}

type conductorReader struct {
	in    *Imported
	b     *domain.Blueprint
	names namer
	of    map[string]string // our names by their references
	depth int
}

// list reads tasks that come one after the other, the first after some; it returns what the
// next one comes after. when is the condition of the branch.
func (c *conductorReader) list(path string, n *yaml.Node, after []string, when branch) []string {
	if c.depth++; c.depth > 30 {
		c.in.note(n.Line, "%s: branches of branches, more than 30 deep, are left out", path)
		c.depth--
		return after
	}
	for i, item := range n.Content {
		if item = follow(item); item.Kind != yaml.MappingNode {
			c.in.note(item.Line, "%s[%d]: left out; want a task", path, i)
			continue
		}
		after = c.task(fieldsOf(c.in, fmt.Sprintf("%s[%d]", path, i), item), after, when)
	}
	c.depth--
	return after
}

func (c *conductorReader) task(f *fields, after []string, when branch) []string {
	kind := cmpText(f.text("type"), "SIMPLE")
	theirs := f.text("name")
	ref := f.text("taskReferenceName")
	switch kind {
	case "FORK_JOIN":
		return c.fork(f, after, when)
	case "JOIN":
		f.take("joinOn") // the branches are what comes before it
		f.rest()
		return after
	case "SWITCH", "DECISION":
		return c.choice(f, after, when, ref)
	case "TERMINATE":
		if inputs := f.vals["inputParameters"]; inputs == nil || !strings.Contains(document.Clip(textOf(inputs), 1000), "FAILED") {
			kind = "TERMINATE of a flow that succeeds" // it stops, so that what follows is not done either
		}
	}
	s := domain.Step{Name: c.names.name(cmpText(ref, theirs), "task"), Needs: slices.Clone(after), When: when.when, ScriptType: domain.ScriptShell}
	for _, on := range when.of {
		c.need(&s, on)
	}
	if ref != "" {
		c.of[ref] = s.Name
	}
	s.MayFail = f.flag("optional")
	limit := c.attempts(f, &s)
	s.Summary = f.text("description")
	inputs := f.object("inputParameters")
	switch kind {
	case "HUMAN":
		approval(&s, limit)
	case "WAIT":
		c.wait(f, inputs, &s, limit)
	case "HTTP":
		s.Script = c.http(f, inputs, s.Name)
	case "SUB_WORKFLOW":
		c.within(f, inputs, &s)
	case "DO_WHILE":
		c.loop(f, inputs, &s)
	case "TERMINATE":
		c.terminate(f, inputs, &s)
	case "SIMPLE":
		c.in.note(f.line, "%s: a worker did %s: write what it does as the step's script, or have a worker of yours serve a type of jobs", f.path, theirs)
		s.Script = placeholder(s.Name, "the worker of "+theirs)
	case "FORK_JOIN_DYNAMIC":
		c.dynamic(f, inputs, &s)
	default:
		c.in.note(f.line, "%s: %s has no counterpart: write it as the step's script", f.path, kind)
		s.Script = placeholder(s.Name, kind)
		f.take("dynamicForkTasksParam")
	}
	if inputs != nil && len(inputs.keys) > 0 && (kind == "SIMPLE" || strings.HasPrefix(s.Script, "echo 'step ")) {
		c.in.note(inputs.line, "%s: what it is given: a script finds params as $RAMET_PARAM_<NAME>, and results of steps that it needs in $RAMET_INPUT", inputs.path)
	}
	if len(s.Needs) > domain.MaxDependends {
		c.in.note(f.line, "%s: it comes after more than %d tasks", f.path, domain.MaxDependends)
		s.Needs = s.Needs[:domain.MaxDependends]
	}
	f.take("startDelay", "asyncComplete")
	f.rest()
	c.b.Steps = append(c.b.Steps, s)
	return []string{s.Name}
}

// need lets a step need another one.
func (c *conductorReader) need(s *domain.Step, on string) {
	if on != s.Name && !slices.Contains(s.Needs, on) {
		s.Needs = append(s.Needs, on)
	}
}

// fork reads branches that are done beside each other.
func (c *conductorReader) fork(f *fields, after []string, when branch) []string {
	var ends []string
	n := f.take("forkTasks")
	if n != nil {
		for i, branch := range n.Content {
			if branch = follow(branch); branch.Kind == yaml.SequenceNode {
				for _, end := range c.list(fmt.Sprintf("%s.forkTasks[%d]", f.path, i), branch, after, when) {
					if !slices.Contains(ends, end) {
						ends = append(ends, end)
					}
				}
			}
		}
	}
	f.rest()
	if len(ends) == 0 {
		return after
	}
	return ends
}

// choice reads branches of which one is done.
func (c *conductorReader) choice(f *fields, after []string, when branch, ref string) []string {
	of, needs := c.decided(f, ref, &after, when)
	var ends, cases []string
	do := func(path string, n *yaml.Node, cond string) {
		in := when.and(cond, needs...)
		if len(in.when) > domain.MaxWhenBytes {
			c.in.note(n.Line, "%s: its condition is too long, and it is never done until it is written", path)
			in.when = "false"
		}
		for _, end := range c.list(path, n, after, in) {
			if !slices.Contains(ends, end) {
				ends = append(ends, end)
			}
		}
	}
	if d := f.object("decisionCases"); d != nil {
		for _, k := range d.keys {
			if n := d.take(k.Value); n != nil && n.Kind == yaml.SequenceNode {
				cases = append(cases, of+" == "+quoteRhai(k.Value))
				do(d.path+"."+k.Value, n, cases[len(cases)-1])
			}
		}
	}
	if n := f.take("defaultCase"); n != nil && n.Kind == yaml.SequenceNode && len(n.Content) > 0 {
		other := "true"
		if len(cases) > 0 {
			other = "!(" + strings.Join(cases, " || ") + ")"
		}
		do(f.path+".defaultCase", n, other)
	}
	f.take("caseExpression")
	f.rest()
	if len(ends) == 0 {
		return after
	}
	return ends
}

// decided is what the branches of a choice are told apart by: a param, or a result of a task
// before. Where it is neither, a step decides, which somebody has to write.
func (c *conductorReader) decided(f *fields, ref string, after *[]string, when branch) (of string, needs []string) {
	expr := cmpText(f.text("expression"), f.text("caseValueParam"))
	from := ""
	if inputs := f.values("inputParameters"); cmpText(f.text("evaluatorType"), "value-param") == "value-param" {
		from = inputs[expr]
	}
	if m := conductorInput().FindStringSubmatch(from); m != nil && paramName().MatchString(m[1]) {
		c.param(m[1])
		return dot("params", m[1]), nil
	}
	if m := conductorOutput().FindStringSubmatch(from); m != nil && paramName().MatchString(m[2]) && c.of[m[1]] != "" {
		return dot(dot("needs", c.of[m[1]])+".result", m[2]), []string{c.of[m[1]]}
	}
	s := domain.Step{Name: c.names.name(cmpText(ref, "choice"), "choice"), Needs: slices.Clone(*after), When: when.when, ScriptType: domain.ScriptShell,
		Script: commented(cmpText(from, expr)) + "\n" + placeholder(cmpText(ref, "choice"), `the choice (echo "chosen=..." >>"$RAMET_RESULT")`)}
	for _, on := range when.of {
		c.need(&s, on)
	}
	s.Needs = s.Needs[:min(len(s.Needs), domain.MaxDependends)]
	c.b.Steps = append(c.b.Steps, s)
	c.in.note(f.line, "%s: %q is not understood: have the step %s write its choice to its result, as chosen=NAME", f.path, cmpText(from, expr), s.Name)
	*after = []string{s.Name}
	return dot("needs", s.Name) + ".result.chosen", []string{s.Name}
}

// quoteRhai is a text as Rhai writes it.
func quoteRhai(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text) + `"`
}

// http is a script that makes the call of a task.
func (c *conductorReader) http(f, inputs *fields, step string) string {
	if inputs == nil {
		return placeholder(step, "an HTTP call")
	}
	r := inputs.object("http_request")
	if r == nil {
		r = inputs
	}
	uri, method := r.text("uri"), cmpText(r.text("method"), "GET")
	if uri == "" {
		c.in.note(f.line, "%s: it has no address", f.path)
		return placeholder(step, "an HTTP call")
	}
	script := "curl --fail --silent --show-error --request " + shellQuote(method)
	for _, name := range []string{"contentType", "accept"} {
		if v := r.text(name); v != "" {
			script += " --header " + shellQuote(map[string]string{"contentType": "Content-Type", "accept": "Accept"}[name]+": "+v)
		}
	}
	for _, word := range []string{"connectionTimeOut", "readTimeOut", "vipAddress", "appName"} {
		r.take(word)
	}
	headers := r.values("headers")
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		script += " --header " + c.quoted(r, "headers", name+": "+headers[name])
	}
	if body := r.take("body"); body != nil {
		script += " --data " + c.quoted(r, "body", textOf(body))
	}
	uri = c.quoted(r, "uri", uri)
	r.rest()
	if r != inputs {
		inputs.rest()
	}
	return script + " " + uri + "\n"
}
