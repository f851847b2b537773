package migrate

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pattern"
)

// This file reads what stands around the command of a step of Dagu: on which condition it is
// run, how often, what other DAG it is, and what comes at the end of all.

// daguCondition is a precondition: what a shell computes, and what that should be. Without the
// latter it is a command that should succeed.
type daguCondition struct {
	text, expected string
	negate         bool
}

// readConditions reads preconditions.
func (d *daguReader) readConditions(f *fields) (list []daguCondition, line int) {
	n := f.take("preconditions", "precondition")
	if n == nil {
		return nil, 0
	}
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	for i, item := range items {
		switch item = follow(item); item.Kind {
		case yaml.ScalarNode:
			list = append(list, daguCondition{text: item.Value})
		case yaml.MappingNode:
			o := fieldsOf(d.in, fmt.Sprintf("%s[%d]", f.at("preconditions"), i), item)
			list = append(list, daguCondition{o.text("condition", "command"), o.text("expected"), o.flag("negate")})
			o.rest()
		default:
			f.odd("preconditions", item, "a condition")
		}
	}
	return list, n.Line
}

// param is the param that a condition is about; "" where it is about something else.
func (d *daguReader) param(c daguCondition) string {
	m := daguName().FindStringSubmatch(c.text)
	if m == nil || m[0] != c.text || c.expected == "" || strings.HasPrefix(c.expected, "re:") {
		return ""
	}
	name := cmpText(m[1], m[2])
	if slices.Contains(d.params, name) && !d.typed[name] {
		return name
	}
	return ""
}

// when is a condition as `when` has it; "" where it cannot be one.
func (d *daguReader) when(c daguCondition) string {
	name := d.param(c)
	if name == "" {
		return ""
	}
	op := " == "
	if c.negate {
		op = " != "
	}
	return dot("params", name) + op + quoteRhai(c.expected)
}

// conditions reads on which conditions a step is run: those over a param become its `when`, at
// others a step looks that comes before it.
func (d *daguReader) conditions(f *fields, s *domain.Step) {
	list, line := d.readConditions(f)
	var b strings.Builder
	var whens []string
	for _, c := range list {
		if when := d.when(c); when != "" {
			whens = append(whens, when)
			continue
		}
		if what := d.strange(c.text, &domain.Step{}); what != "" {
			d.in.note(line, "%s: one names %s: the step that looks at them fails until its script is written", f.at("preconditions"), what)
			b.WriteString(placeholder(s.Name, "its precondition ("+what+")"))
			continue
		}
		fmt.Fprintf(&b, "%sif %s; then\n  echo 'a precondition is not met'\n  exit 0\nfi\n", absentLines(c.text, d), d.shellTest(c))
	}
	if b.Len() > 0 {
		look := domain.Step{Name: d.names.name(s.Name+"_precondition", "precondition"), ScriptType: domain.ScriptShell, Env: s.Env, Timeout: unlimited,
			Needs: slices.Clone(s.Needs), Script: d.begins() + b.String() + "echo met=yes >>\"$RAMET_RESULT\"\n"}
		d.looks = append(d.looks, look)
		d.in.note(line, "%s: the step %s looks at them, on whatever node it runs", f.at("preconditions"), look.Name)
		s.Needs = append(s.Needs, look.Name)
		whens = append(whens, dot("needs", look.Name)+`.result.met == "yes"`)
	}
	if len(whens) > 0 {
		d.only(s, strings.Join(whens, " && "))
	}
}

// begins has what looks at preconditions begin in the folder of the DAG.
func (d *daguReader) begins() string {
	if d.dir == "" {
		return ""
	}
	return "cd " + shellWord(d.dir) + " || exit 1\n"
}

// shellTest is what a shell says of a condition that is not met.
func (d *daguReader) shellTest(c daguCondition) string {
	not := "! "
	if c.negate {
		not = ""
	}
	text := strings.ReplaceAll(c.text, "\n", " ")
	if c.expected == "" {
		return not + "( " + strings.Trim(text, "`") + "\n)"
	}
	word := `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`
	if re, ok := strings.CutPrefix(c.expected, "re:"); ok {
		return not + "printf '%s\\n' " + word + " | grep -Eq -- " + shellQuote(re)
	}
	return not + "[ " + word + " = " + shellQuote(c.expected) + " ]"
}

// dagConditions reads on which conditions all of it is run. Those that only a shell can
// decide a step looks at that comes before the others.
func (d *daguReader) dagConditions(f *fields) {
	list, _ := d.readConditions(f)
	var whens []string
	var script, unmet strings.Builder
	for _, c := range list {
		if when := d.when(c); when != "" {
			whens = append(whens, when)
			fmt.Fprintf(&unmet, "if %s; then exit 0; fi\n", d.shellTest(c))
		} else {
			fmt.Fprintf(&script, "%sif %s; then exit 0; fi\n", absentLines(c.text, d), d.shellTest(c))
		}
	}
	first := ""
	if script.Len() > 0 {
		first = d.names.name("preconditions", "preconditions")
		whens = append(whens, dot("needs", first)+`.result.met == "yes"`)
		unmet.WriteString("[ \"${RAMET_PARAM_PRECONDITIONS_MET:-}\" = yes ] || exit 0\n") // the step leaves it
	}
	d.unmet = unmet.String()
	for i := range d.b.Steps {
		s := &d.b.Steps[i]
		all := slices.Clone(whens)
		if s.When != "" && len(whens) > 0 {
			all = append([]string{"(" + s.When + ")"}, all...)
		}
		if len(all) > 0 {
			s.When = strings.Join(all, " && ")
		}
		if len(s.When) > domain.MaxWhenBytes {
			d.in.note(f.line, "preconditions: they are too long for `when` of step %s, which is never run", s.Name)
			s.When = "false"
		}
		if first != "" && len(s.Needs) < domain.MaxDependends {
			s.Needs = append(s.Needs, first)
		}
	}
	if first != "" {
		d.b.Steps = append([]domain.Step{{Name: first, ScriptType: domain.ScriptShell, Script: d.begins() + script.String() +
			"echo met=yes >>\"$RAMET_RESULT\"\necho params.preconditions_met=yes >>\"$RAMET_RESULT\"\n"}}, d.b.Steps...)
	}
}

// repeat has a step run again until a condition holds, or as often as it says. What is looked at
// is an exit code, or what a command says: so the script of a round says whether it is enough. The
// last round that a limit allows is enough in any case, and its exit code counts; where there is no
// limit, the step fails after as many rounds as there can be. own is what the step leaves as
// `output`: the condition finds that of its round.
func (d *daguReader) repeat(p *fields, s *domain.Step, own string) {
	how := p.text("repeat")
	every, limit := p.number(int(domain.MaxRepeatEvery), "intervalSec", "interval_sec"), p.number(1_000_000, "limit")
	c := daguCondition{text: p.text("condition"), expected: p.text("expected")}
	codes := p.texts("exitCode", "exit_code")
	p.rest()
	test, fault := d.enough(how, c, codes)
	if fault != "" {
		d.in.note(p.line, "%s: %s is not understood: the step fails until its script is written anew", p.path, fault)
		s.Script = placeholder(s.Name, "its repeat policy ("+fault+")")
		return
	}
	if test == "" { // it is not repeated
		return
	}
	last := fmt.Sprintf(" || [ \"$RAMET_ROUND\" -ge %d ]", limit)
	if limit == 0 || limit > domain.MaxRounds {
		d.in.note(p.line, "%s: it has no limit of up to %d rounds, which became 1000: after these the step fails", p.path, domain.MaxRounds)
		limit, last = 1000, ""
	}
	d.in.note(p.line, "%s: each round is a job with a work folder of its own: what one is to find of the round before goes into params", p.path)
	if s.Timeout != 0 {
		d.in.note(p.line, "%s: the time-out of step %s is of each round, not of all", p.path, s.Name)
	}
	left := ""
	if own != "" && uses(c.text, own) {
		left = fmt.Sprintf("export %s=\"$(sed -n 's/^params\\.%s=//p' \"$RAMET_RESULT\" | tail -n 1)\"\n", own, own)
	}
	s.Repeat = &domain.Repeat{Until: `result.enough == "yes"`, Max: limit, Every: domain.Span(every)}
	s.Script = absentLines(c.text, d) + fmt.Sprintf("(\n%s)\ncode=$?\n%sif { %s; }%s; then\n"+
		"echo enough=yes >>\"$RAMET_RESULT\"\nexit $code\nfi\n", s.Script, left, test, last)
}

// enough is what a shell says of a round that is the last one, or what is not understood; "" where
// there is one round only. A condition goes before exit codes. Where it is not said whether it is
// repeated while or until they hold, that is until a condition has its value, and while else.
func (d *daguReader) enough(how string, c daguCondition, codes []string) (test, fault string) {
	switch how {
	case "while", "true":
	case "until":
	case "", "false":
		switch {
		case c.text != "" && c.expected != "":
			how = "until"
		case c.text == "" && len(codes) == 0:
			return "", ""
		}
	default:
		return "", "repeat: " + how
	}
	until := how == "until"
	switch {
	case c.text != "":
		c.negate = until
		return d.shellTest(c), ""
	case len(codes) > 0:
		for _, code := range codes {
			if strings.Trim(code, "0123456789") != "" || code == "" {
				return "", fmt.Sprintf("the exit code %q", code)
			}
		}
		test = "case $code in " + strings.Join(codes, "|") + ") true;; *) false;; esac"
		if !until {
			test = "! { " + test + "; }"
		}
		return test, ""
	case how == "true":
		return "[ $code -ne 0 ]", ""
	}
	return "", fmt.Sprintf("repeat: %s without a condition or exit codes", how)
}

// bareName is a variable that a shell would put in, and a flow's params do not.
var bareName = pattern.Late(`\$[A-Za-z_1-9]`)

// another makes a flow of another DAG, or a step that stops where that would be another one.
func (d *daguReader) another(f *fields, n *yaml.Node, s *domain.Step) (understood bool) {
	blueprint := namer{}.name(strings.TrimSuffix(path.Base(n.Value), path.Ext(n.Value)), "dag")
	noted := len(d.in.Notes)
	params := f.values("params")
	fault := ""
	if len(d.in.Notes) > noted {
		fault = "its params"
	}
	if n.Kind != yaml.ScalarNode || n.Value == "" || blueprint == d.b.Name {
		f.note(n, "%s: a DAG that is not known is run; left out", s.Name)
		s.Script = placeholder(s.Name, "the DAG "+n.Value)
		return false
	}
	if !d.beside[blueprint] {
		f.note(n, "%s: another DAG (%s) is run: import it, too, as the blueprint %s", s.Name, n.Value, blueprint)
	}
	if output := d.output(f); output != "" {
		d.lost[output] = true
		f.note(n, "%s: what another DAG leaves is found as needs.%s.result, not as %s: a script that names %s fails until it is written",
			f.at("output"), s.Name, output, output)
	}
	s.ScriptType, s.Flow = "", &domain.FlowCall{Blueprint: blueprint}
	if s.Env = nil; s.Retry != nil { // of a flow an exit code says nothing
		s.Retries, s.Retry = s.Retry.Max, nil
	}
	if !d.parallel(f, s) {
		fault = "its list (parallel)"
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		text := params[name]
		text = strings.ReplaceAll(d.template(strings.ReplaceAll(text, "${ITEM}", "$ITEM"), nil, 0), "${params.", "${")
		if s.Listed() {
			text = strings.ReplaceAll(text, "$ITEM", "${item}")
		}
		if !paramName().MatchString(name) || strings.Contains(text, "$${") || strings.Contains(text, "$(") ||
			strings.Contains(text, "`") || bareName().MatchString(text) {
			d.in.note(n.Line, "%s: %q cannot be given to a flow as it is: the step fails until it is written", f.at("params"), name+"="+text)
			fault = "its param " + name
			continue
		}
		if s.Flow.Params == nil {
			s.Flow.Params = map[string]string{}
		}
		s.Flow.Params[name] = text
	}
	if fault != "" {
		stop(s, "the DAG "+n.Value+" with "+fault)
	}
	return fault == ""
}

// parallel makes a list of what a DAG is run for each of. It reports whether that is understood.
func (d *daguReader) parallel(f *fields, s *domain.Step) bool {
	n := f.take("parallel")
	if n == nil {
		return true
	}
	items := n
	if n.Kind == yaml.MappingNode {
		o := fieldsOf(d.in, f.at("parallel"), n)
		items = o.take("items")
		s.Window = o.number(domain.MaxWindow, "maxConcurrent", "max_concurrent")
		defer o.rest()
	}
	if items != nil && items.Kind == yaml.SequenceNode {
		var list []string
		for _, item := range items.Content {
			if item = follow(item); item.Kind == yaml.ScalarNode {
				list = append(list, quoteRhai(item.Value))
			}
		}
		if each := "[" + strings.Join(list, ", ") + "]"; len(list) == len(items.Content) && len(each) <= domain.MaxWhenBytes {
			s.Each = each
			return true
		}
	}
	if items != nil && items.Kind == yaml.ScalarNode {
		if m := daguName().FindStringSubmatch(items.Value); m != nil && m[0] == items.Value && d.param(daguCondition{text: items.Value, expected: "x"}) != "" {
			s.Each = "parse_json(" + dot("params", cmpText(m[1], m[2])) + ")"
			return true
		}
	}
	f.note(n, "%s: it is not understood: the step fails until the list is written as `each`", f.at("parallel"))
	return false
}

// hooks reads what is done at the end: hooks here. Those of exit come at each end.
func (d *daguReader) hooks(f *fields) *domain.Hooks {
	if f == nil {
		return nil
	}
	d.hooking = true
	of := map[string]*domain.Step{}
	for _, name := range []string{"exit", "success", "failure", "cancel", "abort", "init", "wait"} {
		h := f.object(name)
		switch {
		case h == nil:
			continue
		case name == "init" || name == "wait":
			d.in.note(h.line, "%s: no counterpart, left out: make it a step", f.at(name))
			continue
		}
		s := &domain.Step{Name: "on_" + name}
		d.step(h, s, 0)
		if s.Script == "" || s.When != "" {
			d.in.note(h.line, "%s: only a script without conditions can be a hook; left out", f.at(name))
			continue
		}
		of[name] = s
	}
	if of["cancel"] == nil {
		of["cancel"] = of["abort"]
	}
	f.rest()
	d.met(of["success"])
	on := &domain.Hooks{Failed: d.hook(of["failure"], of["exit"]), Succeeded: d.hook(of["success"], of["exit"]), Cancelled: d.hook(of["cancel"], of["exit"])}
	if on.Errored = on.Failed; *on == (domain.Hooks{}) {
		return nil
	}
	return on
}

// hook is what is done at an end, and then at each; nil where that is nothing.
func (d *daguReader) hook(first, last *domain.Step) *domain.Hook {
	if first == nil {
		first, last = last, nil
	}
	if first == nil {
		return nil
	}
	h := &domain.Hook{Script: first.Script, ScriptType: first.ScriptType, Env: first.Env, Timeout: first.Timeout, Retry: first.Retry}
	if last == nil {
		return h
	}
	env, clash := maps.Clone(first.Env), false
	for name, value := range last.Env {
		old, there := first.Env[name]
		clash = clash || there && old != value
		env = withValue(env, name, value)
	}
	if first.ScriptType != domain.ScriptShell || last.ScriptType != domain.ScriptShell || clash {
		d.in.note(0, "handlerOn: %s and %s are no scripts of one shell, and there is one hook for an end: it fails until it is written", first.Name, last.Name)
		both := domain.Step{Name: first.Name + " and " + last.Name}
		stop(&both, "both")
		h.Script, h.ScriptType = both.Script, both.ScriptType
		return h
	}
	// Both are done, and that one of them fails counts.
	h.Env, h.Script = env, "(\n"+first.Script+")\nfirst=$?\n(\n"+last.Script+")\nlast=$?\n[ $first -eq 0 ] || exit $first\nexit $last\n"
	return h
}

// met has the handler of success do nothing where the preconditions of all were not met: nothing was
// done then.
func (d *daguReader) met(s *domain.Step) {
	if s == nil || d.unmet == "" {
		return
	}
	if s.ScriptType != domain.ScriptShell {
		d.in.note(0, "handlerOn.success: it is no script of a shell, and cannot look whether the preconditions were met: it fails until it is written")
		stop(s, "it, where the preconditions are met,")
		return
	}
	s.Script = d.unmet + s.Script
}
