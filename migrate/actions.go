package migrate

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
)

// This file reads workflows as GitHub Actions have them. A job is a step: its own steps share
// a machine and a folder there, as the lines of one script do here.
//
// Source: docs.github.com, "Workflow syntax for GitHub Actions".

func actions(name string, text []byte) (*Imported, error) {
	in := &Imported{}
	f, err := readFields(in, text, "a workflow, with `jobs:`")
	if err != nil {
		return nil, err
	}
	jobs := f.object("jobs")
	if jobs == nil {
		return nil, domain.Invalidf("it has no jobs; want a workflow")
	}
	b := &domain.Blueprint{Name: namer{}.name(cmpText(f.text("name"), name), "workflow")}
	w := &actionsReader{in: in, b: b, names: namer{}, of: map[string]string{}, params: map[string]string{}, inputs: map[string]bool{},
		secrets: map[string]bool{}, line: map[string]int{}}
	for _, k := range jobs.keys {
		w.of[k.Value] = w.names.name(k.Value, "job")
		w.line[w.of[k.Value]] = k.Line
	}
	w.starts(f)
	b.Env, b.Secrets = w.env(f, nil)
	w.concurrency(f)
	w.run = w.defaults(f, actionsRun{})
	late := map[string]bool{}
	for _, k := range jobs.keys {
		if n := jobs.take(k.Value); n != nil && n.Kind == yaml.MappingNode {
			s, after := w.job(w.of[k.Value], fieldsOf(in, "jobs."+k.Value, n))
			b.Steps, late[s.Name] = append(b.Steps, s), after
		}
	}
	w.phases(late)
	if len(b.Steps) > 1 || b.Steps != nil && b.Steps[0].Listed() {
		b.OnError = domain.OnErrorContinue // jobs that do not need the one that failed go on there
	}
	b.Params = goodParams(in, f.line, w.params)
	if len(w.secrets) > 0 {
		in.note(0, "secrets: set them by ramet secret set NAME: %s", strings.Join(slices.Sorted(maps.Keys(w.secrets)), ", "))
	}
	f.rest()
	in.Blueprints = append(in.Blueprints, b)
	return in, nil
}

type actionsReader struct {
	in      *Imported
	b       *domain.Blueprint
	names   namer
	of      map[string]string // our names of their jobs
	params  map[string]string // that scripts find, and nothing declares
	inputs  map[string]bool
	secrets map[string]bool // that are named
	run     actionsRun
	line    map[string]int // of each job, by our name
	stop    string         // lines that stop all scripts, for what there is in no variable
}

// actionsRun is how a `run` is run.
type actionsRun struct{ shell, dir string }

// actionsJob is a job that is being read.
type actionsJob struct {
	axes         map[string]bool // of its matrix
	env, secrets map[string]string
	run          actionsRun
	stop         string // lines that stop its script until somebody writes what is not understood of it
}

// phases lets those steps that come whatever became of the steps before them begin in a later
// phase, and what needs them, too.
func (w *actionsReader) phases(late map[string]bool) {
	steps := w.b.Steps
	phase := map[string]int{}
	for range steps { // as often as a chain of them can be long
		for i := range steps {
			s := &steps[i]
			for _, on := range s.Needs {
				before := phase[on]
				if late[s.Name] {
					before++
				}
				phase[s.Name] = min(max(phase[s.Name], before), domain.MaxPhase)
			}
		}
	}
	w.afterSkipped(late, phase)
	for i := range steps {
		s := &steps[i]
		if s.Phase = phase[s.Name]; late[s.Name] {
			s.Needs = nil // it finds all of the phase before
		}
		s.Needs = slices.DeleteFunc(s.Needs, func(on string) bool { return phase[on] != s.Phase })
	}
}

// concurrency reads which flows are not to run beside each other.
func (w *actionsReader) concurrency(f *fields) {
	n := f.vals["concurrency"]
	if n == nil {
		return
	}
	c := &domain.Concurrency{}
	group := ""
	if n.Kind == yaml.MappingNode {
		o := f.object("concurrency")
		group = o.text("group")
		if cancel := o.take("cancel-in-progress"); cancel != nil {
			if c.WhenFull = domain.FullCancelOld; cancel.Value == "false" {
				c.WhenFull = ""
			} else if cancel.Value != "true" {
				c.WhenFull = ""
				o.note(cancel, "%s: %s is not computed here; one more flow waits", o.at("cancel-in-progress"), cancel.Value)
			}
		}
		o.rest()
	} else {
		group = f.text("concurrency")
	}
	c.Key = strings.Trim(expression().ReplaceAllStringFunc(group, func(found string) string {
		expr := expression().FindStringSubmatch(found)[1]
		switch noun, name := nameOf(expr); {
		case noun == "inputs":
			if ours, ok := w.input(name); ok {
				return "${params." + ours + "}"
			}
		case expr == "github.workflow":
			return w.b.Name
		}
		f.note(n, "concurrency: ${{ %s }} has no counterpart; it is left out of the key", expr)
		return ""
	}), "-/ ")
	if c.Key = cmpText(c.Key, w.b.Name); len(c.Key) > domain.MaxConcurrencyKey || strings.ContainsRune(c.Key, 0) {
		f.note(n, "concurrency: its group is too long for a key; it became %s", w.b.Name)
		c.Key = w.b.Name
	}
	w.b.Concurrency = c
}

// defaults reads how a `run` is run that does not say so.
func (w *actionsReader) defaults(f *fields, run actionsRun) actionsRun {
	d := f.object("defaults")
	if d == nil {
		return run
	}
	if r := d.object("run"); r != nil {
		run = actionsRun{cmpText(r.text("shell"), run.shell), cmpText(r.text("working-directory"), run.dir)}
		r.rest()
	}
	d.rest()
	return run
}

// actionsTimeout is how long a job may take that does not say so.
const actionsTimeout = domain.Span(360 * 60)

// job reads a job; late is set where it comes whatever became of those that it needs.
func (w *actionsReader) job(name string, f *fields) (s domain.Step, late bool) {
	s = domain.Step{Name: name, Summary: f.text("name")}
	windows := false
	for _, on := range f.texts("needs") {
		if ours := w.of[on]; ours != "" && ours != name && !slices.Contains(s.Needs, ours) {
			s.Needs = append(s.Needs, ours)
		} else {
			w.in.note(f.line, "%s: there is no job %q", f.at("needs"), on)
		}
	}
	if n := f.take("runs-on"); n != nil {
		f.note(n, "%s: it runs on any node; `affinity` names labels that a node must have", f.at("runs-on"))
		windows = strings.Contains(textOf(n), "windows")
	}
	if s.Timeout = f.span(60, "timeout-minutes"); s.Timeout == 0 {
		s.Timeout = actionsTimeout
	}
	if n := f.take("continue-on-error"); n != nil {
		if s.MayFail = n.Value == "true"; !s.MayFail && n.Value != "false" {
			f.note(n, "%s: %s is not computed here; that it fails counts", f.at("continue-on-error"), n.Value)
		}
	}
	j := &actionsJob{axes: map[string]bool{}, env: map[string]string{}, secrets: map[string]string{}, stop: w.stop}
	if n := f.take("if"); n != nil {
		late = w.condition(f, n, &s, j)
	}
	if st := f.object("strategy"); st != nil {
		w.matrix(st, &s, j)
		if s.Window = st.number(domain.MaxWindow, "max-parallel"); !s.Listed() {
			s.Window = 0
		}
		if n := st.take("fail-fast"); s.Listed() && (n == nil || n.Value != "false") {
			w.in.note(st.line, "%s: when one of them fails, the others are not cancelled", st.path)
		}
		st.rest()
	}
	env, secrets := w.env(f, j)
	maps.Copy(j.env, env)
	maps.Copy(j.secrets, secrets)
	if j.run = w.defaults(f, w.run); windows {
		j.run.shell = cmpText(j.run.shell, "pwsh")
	}
	if n := f.take("uses"); n != nil {
		w.another(f, n, &s, j)
	} else {
		s.ScriptType, s.Script = domain.ScriptShell, w.script(f, &s, j)
	}
	if s.Flow == nil {
		s.Env, s.Secrets = goodEnv(w.in, f.line, j.env), j.secrets
		for variable := range s.Env {
			delete(s.Secrets, variable)
		}
		if len(s.Secrets) == 0 {
			s.Secrets = nil
		}
	}
	f.rest()
	return s, late
}

// condition reads whether a job is done.
func (w *actionsReader) condition(f *fields, n *yaml.Node, s *domain.Step, j *actionsJob) (late bool) {
	text := strings.TrimSpace(n.Value)
	if m := expression().FindStringSubmatch(text); m != nil && m[0] == text {
		text = m[1]
	}
	e, err := parseExpr(text)
	if err == nil {
		if late = e.calls("always") || e.calls("failure") || e.calls("cancelled") || e.calls("success") && e.loose(); !late {
			e.plain()
		}
		s.When, err = e.rhai(func(name string) (string, error) { return w.rhaiName(name, s) })
	} else {
		late = strings.Contains(text, "always()") || strings.Contains(text, "failure()") || strings.Contains(text, "cancelled()")
	}
	if err == nil && len(s.When) > domain.MaxWhenBytes {
		err = fmt.Errorf("it is too long for `when`")
	}
	switch {
	case err != nil:
		s.When = ""
		j.stop += stops("the condition " + text)
		f.note(n, "%s: write it as `when`; the script stops until then: %s (%v)", f.at("if"), n.Value, err)
	case s.When == "true":
		s.When = ""
	}
	if len(s.Needs) == 0 {
		s.When = strings.ReplaceAll(strings.ReplaceAll(s.When, goodState, "true"), badState, "false")
	}
	if late = late && len(s.Needs) > 0; late {
		f.note(n, "%s: it became a step of a later phase, which begins whatever came of those before", f.at("if"))
	}
	return late
}

// rhaiName is what a name in a condition stands for.
func (w *actionsReader) rhaiName(name string, s *domain.Step) (string, error) {
	noun, of := nameOf(name)
	switch noun {
	case "inputs":
		if ours, ok := w.input(of); ok {
			return dot("params", ours), nil
		}
	case "needs":
		job, rest, _ := strings.Cut(of, ".")
		step := w.of[job]
		if step == "" || !slices.Contains(s.Needs, step) {
			return "", fmt.Errorf("it does not need the job %q", job)
		}
		needs := dot("needs", step)
		if rest == "result" {
			return needs + ".state", nil
		}
		if key, found := strings.CutPrefix(rest, "outputs."); found && plainName().MatchString(ident(key)) {
			return dot(needs+".result", ident(key)), nil
		}
	}
	return "", fmt.Errorf("%s has no counterpart", name)
}

// another makes a flow of a workflow of the same repository.
func (w *actionsReader) another(f *fields, n *yaml.Node, s *domain.Step, j *actionsJob) {
	if !strings.HasPrefix(n.Value, "./") {
		f.note(n, "%s: a workflow of others (%s) is not followed: import it, too", f.at("uses"), n.Value)
		f.take("with", "secrets")
		s.ScriptType, s.Script = domain.ScriptShell, placeholder(s.Name, "the workflow "+n.Value)
		return
	}
	base := path.Base(n.Value)
	blueprint := namer{}.name(strings.TrimSuffix(base, path.Ext(base)), "workflow")
	if blueprint == w.b.Name {
		f.note(n, "%s: a flow is not done within itself", f.at("uses"))
		s.ScriptType, s.Script = domain.ScriptShell, placeholder(s.Name, "the workflow "+n.Value)
		return
	}
	f.note(n, "%s: import %s, too, as the blueprint %s", f.at("uses"), n.Value, blueprint)
	s.Flow = &domain.FlowCall{Blueprint: blueprint}
	with := f.values("with")
	for _, name := range slices.Sorted(maps.Keys(with)) {
		text := with[name]
		template, secret, ok := w.value(name, text, n.Line, j)
		template = strings.ReplaceAll(template, "${params.", "${")
		if !ok { // it is noted, and stops
			continue
		}
		if secret != "" || strings.Contains(template, "${flow.") || strings.Contains(template, "${step}") || strings.Contains(template, "$${") ||
			!plainName().MatchString(ident(name)) {
			f.note(n, "%s.%s: %q cannot be given to a flow: the step fails until it is written", f.at("with"), name, text)
			j.stop += stops("the input " + name)
			continue
		}
		if s.Flow.Params == nil {
			s.Flow.Params = map[string]string{}
		}
		s.Flow.Params[ident(name)] = template
	}
	f.take("secrets")                // its blueprint names them
	if s.Timeout = 0; j.stop != "" { // a flow has no script that could stop
		stop(s, "the workflow "+n.Value)
		s.Script = "set -e\n" + j.stop + s.Script
	}
}
