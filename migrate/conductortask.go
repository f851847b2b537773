package migrate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pattern"
)

// This file reads what tasks of Conductor are given, and those that have a counterpart.

// attempts reads how often a task is tried, and how long it may take: its own words, or those
// of the definition that it brings.
//
// limit is how long the task may wait that has no worker to answer: 0 where it may for ever.
func (c *conductorReader) attempts(f *fields, s *domain.Step) (limit domain.Span) {
	of := f
	if d := f.object("taskDefinition"); d != nil {
		of = d
	}
	s.Retries = f.number(domain.MaxRetries, "retryCount")
	if of != f {
		s.Retries = max(s.Retries, of.number(domain.MaxRetries, "retryCount"))
	}
	delay, logic := of.number(domain.MaxRetryDelay, "retryDelaySeconds"), of.text("retryLogic")
	limit = of.span(1, "timeoutSeconds")
	if s.Timeout = of.span(1, "responseTimeoutSeconds"); s.Timeout == 0 {
		s.Timeout = limit
	}
	if of.text("timeoutPolicy") == "ALERT_ONLY" { // it goes on there
		limit = 0
	}
	if delay > 0 && s.Retries > 0 {
		s.Retry = &domain.Retry{Max: s.Retries, Delay: domain.Span(delay), Factor: 1}
		if s.Retries = 0; logic == "EXPONENTIAL_BACKOFF" {
			s.Retry.Factor = 2
		}
	}
	if of != f {
		for _, known := range []string{"name", "ownerEmail", "timeoutPolicy", "inputKeys", "outputKeys", "description", "timeoutSeconds"} {
			of.take(known)
		}
		of.rest()
	}
	return limit
}

// textOf is a node as a text: a scalar as it is, all else as JSON.
func textOf(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// quoted is a text as a word of a shell, in which inputs of the workflow are params. What else
// stands in it is noted, and stops the script.
func (c *conductorReader) quoted(f *fields, field, text string) string {
	var b strings.Builder
	from := 0
	for _, at := range conductorName().FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[from:at[0]])
		from = at[1]
		if name, ok := strings.CutPrefix(text[at[2]:at[3]], "workflow.secrets."); ok && c.secret(f, field, name) {
			b.WriteString("\x00" + name + "\x01")
			continue
		}
		name, ok := strings.CutPrefix(text[at[2]:at[3]], "workflow.input.")
		if !ok || !paramName().MatchString(name) {
			f.in.note(f.line, "%s: %s has no counterpart in a script; it stops there until it is written", f.at(field), text[at[0]:at[1]])
			b.WriteString("\x00UNKNOWN:?" + strings.Trim(text[at[0]:at[1]], "${}") + " is not known here\x01")
			continue
		}
		c.param(name)
		b.WriteString("\x00RAMET_PARAM_" + strings.ToUpper(name) + "\x01")
	}
	quoted := shellQuote(strings.NewReplacer("\x00", "\x02", "\x01", "\x03").Replace(b.String() + text[from:]))
	return strings.NewReplacer("\x02", `'"${`, "\x03", `}"'`).Replace(quoted)
}

// secret has all scripts find a secret; false where it cannot be one.
func (c *conductorReader) secret(f *fields, field, name string) bool {
	secrets := map[string]string{}
	for variable, of := range c.b.Secrets {
		secrets[variable] = of
	}
	if secrets[name] != "" {
		return true
	}
	secrets[name] = name
	if !plainName().MatchString(name) || domain.ValidateSecrets(secrets, nil) != nil {
		return false
	}
	c.b.Secrets = secrets
	f.in.note(f.line, "%s: ramet secret set %s", f.at(field), name)
	return true
}

// param declares a param that is used.
func (c *conductorReader) param(name string) {
	if c.b.Params == nil {
		c.b.Params = map[string]string{}
	}
	if _, known := c.b.Params[name]; !known && len(name) <= 64 {
		c.b.Params[name] = ""
	}
}

// within makes a flow of another workflow.
func (c *conductorReader) within(f, inputs *fields, s *domain.Step) {
	p := f.object("subWorkflowParam", "subWorkflowParams")
	if p == nil {
		c.in.note(f.line, "%s: it says not which workflow it runs", f.path)
		s.Script = placeholder(s.Name, "SUB_WORKFLOW")
		return
	}
	theirs, version := p.text("name"), p.number(domain.MaxVersion, "version")
	p.rest()
	blueprint := namer{}.name(theirs, "workflow")
	if theirs == "" || blueprint == c.b.Name {
		c.in.note(p.line, "%s: a flow is not done within itself, nor without a name", p.path)
		s.Script = placeholder(s.Name, "SUB_WORKFLOW")
		return
	}
	c.in.note(p.line, "%s: import the workflow %s, too, as the blueprint %s", p.path, theirs, blueprint)
	s.ScriptType, s.Flow = "", &domain.FlowCall{Blueprint: blueprint, Version: version}
	if s.Retry != nil {
		s.Retries, s.Retry = s.Retry.Max, nil
	}
	if inputs == nil {
		return
	}
	fault := ""
	for _, k := range inputs.keys {
		n := inputs.take(k.Value)
		if n == nil {
			continue
		}
		template, ok := c.template(textOf(n), s)
		if !ok || !paramName().MatchString(k.Value) || len(k.Value) > 64 {
			inputs.note(n, "%s: %q cannot be given to a flow: the step fails until it is written", inputs.at(k.Value), textOf(n))
			fault = "its input " + k.Value
			continue
		}
		if s.Flow.Params == nil {
			s.Flow.Params = map[string]string{}
		}
		s.Flow.Params[k.Value] = template
	}
	if fault != "" {
		stop(s, "the workflow "+theirs+" with "+fault)
	}
}

// template is a text in which inputs and results stand for what they are here.
func (c *conductorReader) template(text string, s *domain.Step) (string, bool) {
	ok := len(text) <= domain.MaxTemplateBytes/2
	out := conductorName().ReplaceAllStringFunc(text, func(found string) string {
		if m := conductorInput().FindStringSubmatch(found); m != nil && paramName().MatchString(m[1]) && len(m[1]) <= 64 {
			c.param(m[1])
			return "${" + m[1] + "}"
		}
		if m := conductorOutput().FindStringSubmatch(found); m != nil && c.of[m[1]] != "" && c.of[m[1]] != s.Name {
			c.need(s, c.of[m[1]])
			return "${needs." + c.of[m[1]] + "." + m[2] + "}"
		}
		ok = false
		return ""
	})
	return out, ok && strings.Count(out, "${") == len(conductorName().FindAllString(text, -1))
}

// dynamic makes a job for each task that a task before has listed.
func (c *conductorReader) dynamic(f, inputs *fields, s *domain.Step) {
	from := ""
	if param := f.text("dynamicForkTasksParam"); inputs != nil && param != "" {
		from = inputs.text(param)
	}
	f.take("dynamicForkTasksInputParamName")
	s.Script = placeholder(s.Name, "the task that is $RAMET_ITEM")
	m := conductorOutput().FindStringSubmatch(from)
	if m == nil || c.of[m[1]] == "" || c.of[m[1]] == s.Name {
		c.in.note(f.line, "%s: it is not understood which tasks it does: write the list as `each`", f.path)
		return
	}
	c.need(s, c.of[m[1]])
	s.Each = "parse_json(" + dot(dot("needs", c.of[m[1]])+".result", m[2]) + ")"
	c.in.note(f.line, "%s: a job for each task that %s lists: write what one does as the step's script", f.path, c.of[m[1]])
}

var conductorSpan = pattern.Late(`^\s*(\d{1,5})\s*(d|days?|h|hours?|hrs?|m|minutes?|mins?|s|seconds?|secs?)\s*$`)

// wait makes a script that waits, without a process meanwhile; without a time it is somebody
// who lets it go on.
func (c *conductorReader) wait(f, inputs *fields, s *domain.Step, limit domain.Span) {
	if inputs != nil {
		if m := conductorSpan().FindStringSubmatch(inputs.text("duration")); m != nil {
			s.Script = "ramet sleep wait " + m[1] + m[2][:1] + "\n"
			s.Timeout = 0 // nothing runs while it sleeps
			if span, err := domain.ParseSpan(m[1] + m[2][:1]); err == nil && limit > 0 && limit < span {
				c.in.note(f.line, "%s: it timed out there after %v, before its time has come; here it waits until then", f.path, limit.Time())
			}
			inputs.rest()
			return
		}
		inputs.rest()
	}
	c.in.note(f.line, "%s: WAIT became an approval, which somebody gives", f.path)
	approval(s, limit)
}

// approval makes a step wait for a person: as long as the task might, and then it errs, as it timed out there.
func approval(s *domain.Step, limit domain.Span) {
	if limit > 0 {
		s.Approval = &domain.Approval{Deadline: limit, OnDeadline: domain.DeadlineFail}
	}
	s.Kind, s.ScriptType, s.Retries, s.Retry, s.Timeout = domain.StepApproval, "", 0, nil, 0
}

// terminate makes a step that fails, and ends the flow so.
func (c *conductorReader) terminate(f, inputs *fields, s *domain.Step) {
	reason := ""
	if inputs != nil {
		reason = inputs.text("terminationReason")
		for _, known := range slices.Sorted(maps.Keys(inputs.vals)) {
			inputs.take(known)
		}
	}
	s.Retries, s.Retry = 0, nil
	s.Script = "echo " + c.quoted(f, "terminationReason", cmpText(reason, "terminated")) + " >&2\nexit 1\n"
}
