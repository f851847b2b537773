package migrate

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pattern"
	"github.com/ramet-run/ramet/template"
)

// This file reads DAGs of Dagu.
//
// Source: docs.dagu.sh, "YAML specification", 1.x and 2.x.

func dagu(name string, text []byte) (*Imported, error) {
	in := &Imported{}
	var all []*fields
	beside := map[string]bool{}
	for _, text := range documents(text) {
		f, err := readFields(in, text, "a DAG of Dagu, with `steps:`")
		if err != nil {
			return nil, err
		}
		its := name
		if n := f.vals["name"]; n != nil && n.Value != "" {
			its = n.Value
		} else if len(all) > 0 {
			return nil, domain.Invalidf("line %d: a DAG beside another has no name", f.line)
		}
		if its = (namer{}).name(its, "dag"); beside[its] {
			return nil, domain.Invalidf("line %d: two DAGs have the name %s", f.line, its)
		}
		beside[its] = true
		all = append(all, f)
	}
	for _, f := range all {
		if err := daguDAG(in, f, name, beside); err != nil {
			return nil, err
		}
	}
	return in, nil
}

var documentLine = pattern.Late(`(?m)^---[ \t\r]*(#.*)?$`)

// documents are the DAGs of a file, which may have some for its own use behind its first. Each has so
// many empty lines before it that its lines have the numbers that they have in the file.
func documents(text []byte) (list [][]byte) {
	from := 0
	cut := func(to int) {
		if part := text[from:to]; len(bytes.TrimSpace(part)) > 0 {
			list = append(list, append(bytes.Repeat([]byte("\n"), bytes.Count(text[:from], []byte("\n"))), part...))
		}
	}
	for _, at := range documentLine().FindAllIndex(text, maxDocuments) {
		cut(at[0])
		from = at[1]
	}
	if cut(len(text)); len(list) == 0 {
		return [][]byte{text}
	}
	return list
}

// maxDocuments bounds the DAGs of a file: of more the last are refused as being one.
const maxDocuments = 100

// daguDAG reads a DAG; beside are those of its file.
func daguDAG(in *Imported, f *fields, name string, beside map[string]bool) error {
	steps := f.take("steps")
	if steps == nil {
		return domain.Invalidf("it has no steps; want a DAG of Dagu")
	}
	b := &domain.Blueprint{Name: namer{}.name(cmpText(f.text("name"), name), "dag"), Summary: f.text("description")}
	d := &daguReader{in: in, b: b, names: namer{}, of: map[string]string{}, may: map[string]bool{}, chain: true, beside: beside,
		typed: map[string]bool{}, absent: map[string]bool{}, lost: map[string]bool{}}
	d.hasParams = f.vals["params"] != nil
	d.readParams(f)
	b.Env = d.env(f)
	d.variables()
	d.secrets(f)
	d.schedules(f)
	d.queue(f)
	b.Retention = domain.Span(f.number(domain.MaxTimeout/86400, "histRetentionDays", "hist_retention_days") * 86400)
	d.shell, d.dir = f.text("shell"), f.text("workingDir", "working_dir")
	if n := f.take("dotenv"); n != nil {
		f.note(n, "dotenv: no file is read when a flow begins, as each step may run on another node: write what it has under `env`, or under `secrets`")
	}
	if f.take("container") != nil {
		d.within = "container"
	}
	b.MaxParallel = f.number(10_000, "maxActiveSteps", "max_active_steps")
	timeout := d.limit(f)
	switch t := f.text("type"); t {
	case "", "chain":
	case "graph":
		d.chain = false
	default:
		in.note(f.line, "type: %q is not known; it became graph", t)
		d.chain = false
	}
	d.steps(f, steps, timeout)
	d.dagConditions(f)
	b.On = d.hooks(f.object("handlerOn", "handler_on"))
	f.rest()
	if len(b.Steps) > 1 {
		b.OnError = domain.OnErrorContinue // what does not need the step that failed goes on there
	}
	in.Blueprints = append(in.Blueprints, b)
	return nil
}

// limit reads how long all of it may take, which there is for steps only.
func (d *daguReader) limit(f *fields) domain.Span {
	line := f.lineOf("timeoutSec", "timeout_sec")
	timeout := f.span(1, "timeoutSec", "timeout_sec")
	if timeout > 0 {
		d.in.note(line, "timeout_sec: a flow has no time limit as a whole: each step that has none of its own got this one, all of them together may take longer; "+
			"a step of kind flow, with `timeout`, bounds a whole flow, and `on.late` tells of one that takes long")
	}
	return timeout
}

// secrets reads which variables have secrets: of the context here, whatever provides them there.
func (d *daguReader) secrets(f *fields) {
	n := f.take("secrets")
	if n == nil || n.Kind != yaml.SequenceNode {
		if n != nil {
			f.odd("secrets", n, "a list")
		}
		return
	}
	secrets := map[string]string{}
	for i, item := range n.Content {
		if item = follow(item); item.Kind != yaml.MappingNode {
			f.odd("secrets", item, "a name")
			continue
		}
		o := fieldsOf(d.in, fmt.Sprintf("secrets[%d]", i), item)
		variable := o.text("name")
		name := namer{}.name(cmpText(o.text("key"), variable), "secret")
		provider := o.text("provider")
		o.take("options")
		o.rest()
		if d.b.Env[variable] != "" {
			o.note(item, "secrets: %s stands in env, too; left out", variable)
			continue
		}
		secrets[variable] = name
		o.note(item, "secrets: %s is the secret %s of the context, not of %s: ramet secret set %s", variable, name, cmpText(provider, "its provider"), name)
	}
	d.b.Secrets = goodSecrets(d.in, n.Line, secrets)
}

// schedules reads when it is started.
func (d *daguReader) schedules(f *fields) {
	names := namer{}
	of := f
	if n := f.vals["schedule"]; n != nil && n.Kind == yaml.MappingNode {
		of = f.object("schedule")
		defer of.rest() // stop and restart
	}
	for _, cron := range of.texts("schedule", "start") {
		zone := ""
		if rest, ok := strings.CutPrefix(cron, "CRON_TZ="); ok {
			zone, cron = word(rest)
		}
		if zone == "" {
			d.in.note(of.line, "schedule: its times are by the zone of the machine there, here by UTC: set `zone` of the schedule, or CRON_TZ= before its times")
		}
		d.in.schedule(of.line, names, d.b.Name, cron, zone, domain.OverlapSkip)
	}
}

// queue reads how many may run beside each other: one more waits.
func (d *daguReader) queue(f *fields) {
	n := f.vals["maxActiveRuns"]
	if n == nil {
		n = f.vals["max_active_runs"]
	}
	queue := f.text("queue")
	if n != nil && strings.HasPrefix(n.Value, "-") { // as many as there are
		f.take("maxActiveRuns", "max_active_runs")
		return
	}
	most := f.number(domain.MaxConcurrency, "maxActiveRuns", "max_active_runs")
	if queue != "" && len(queue) <= domain.MaxConcurrencyKey && !strings.Contains(queue, "${") {
		d.in.note(f.line, "queue: flows that have the key %q go one after the other; `max` of `concurrency` says how many at once", queue)
	} else {
		queue = d.b.Name
	}
	if most > 0 || queue != d.b.Name {
		d.b.Concurrency = &domain.Concurrency{Key: queue, Max: most}
	}
}

var daguName = pattern.Late(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)`)

// env reads an `env`, whose values may name params and what stands in it before.
func (d *daguReader) env(f *fields) map[string]string {
	line := f.line
	if n := f.vals["env"]; n != nil {
		line = n.Line
	}
	plain := f.values("env")
	env := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		env[name] = d.template(plain[name], plain, 0)
		if daguName().MatchString(strings.ReplaceAll(env[name], "${params.", "")) || strings.Contains(env[name], "`") {
			d.in.note(line, "env %s: what is not a param in %q stays as it is", name, plain[name])
		}
	}
	return goodEnv(d.in, line, env)
}

// template is a value of `env` with params as ours are named; others of the same `env` are
// put in.
func (d *daguReader) template(text string, env map[string]string, depth int) string {
	var b strings.Builder
	from := 0
	for _, at := range daguName().FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(template.Escape(text[from:at[0]]))
		name := text[max(at[2], at[4]):max(at[3], at[5])]
		value, there := env[name]
		if outer, ok := d.b.Env[name]; !there && ok {
			b.WriteString(outer)
		} else if slices.Contains(d.params, name) {
			b.WriteString("${params." + name + "}")
		} else if there && depth < 10 && b.Len() < domain.MaxTemplateBytes {
			b.WriteString(d.template(value, env, depth+1))
		} else {
			b.WriteString(template.Escape(text[at[0]:at[1]]))
		}
		from = at[1]
	}
	b.WriteString(template.Escape(text[from:]))
	return b.String()
}

func cmpText(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

type daguReader struct {
	in     *Imported
	b      *domain.Blueprint
	names  namer
	of     map[string]string // our names of theirs, and of their ids
	params []string          // what scripts find as variables
	chain  bool              // a step needs the one before it
	shell  string            // of steps that have none
	dir    string            // in which all scripts begin
	within string            // in what all of them are run that say not in what: a container
	looks  []domain.Step     // at preconditions; each comes before its step
	may    map[string]bool   // steps of which what needs them goes on though they are skipped

	hasParams bool            // it has some, perhaps without names
	typed     map[string]bool // params that are no texts
	absent    map[string]bool // params that there may not be
	lost      map[string]bool // outputs that nothing finds here
	beside    map[string]bool // the blueprints of the DAGs of its file
	hooking   bool            // what is read is a handler
	unmet     string          // lines of a shell that end where the preconditions of all were not met
}

// steps reads the steps: a list, or a mapping by their names.
func (d *daguReader) steps(root *fields, n *yaml.Node, timeout domain.Span) {
	var list []*fields
	var theirs []string
	switch n.Kind {
	case yaml.SequenceNode:
		for i, item := range n.Content {
			item = follow(item)
			switch item.Kind {
			case yaml.MappingNode:
				list = append(list, fieldsOf(d.in, fmt.Sprintf("steps[%d]", i), item))
			case yaml.ScalarNode: // only a command
				f := &fields{in: d.in, path: fmt.Sprintf("steps[%d]", i), line: item.Line, vals: map[string]*yaml.Node{"command": item}}
				list = append(list, f)
			default:
				d.in.note(item.Line, "steps[%d]: steps beside each other in one entry are not understood: write them, and what needs which", i)
				list = append(list, &fields{in: d.in, path: fmt.Sprintf("steps[%d]", i), line: item.Line})
			}
			theirs = append(theirs, "")
		}
	case yaml.MappingNode:
		d.chain = false
		for i := 0; i+1 < len(n.Content); i += 2 {
			list = append(list, fieldsOf(d.in, "steps."+n.Content[i].Value, follow(n.Content[i+1])))
			theirs = append(theirs, n.Content[i].Value)
		}
	default:
		root.odd("steps", n, "a list of steps")
	}
	for i, f := range list {
		id, name := f.text("id"), f.text("name")
		ours := d.names.name(cmpText(name, cmpText(theirs[i], id)), fmt.Sprintf("step_%d", i+1))
		for _, t := range []string{id, name, theirs[i]} {
			if t != "" {
				d.of[t] = ours
			}
		}
		d.b.Steps = append(d.b.Steps, domain.Step{Name: ours})
	}
	// A DAG of which a step says what it depends on is no chain.
	for _, f := range list {
		d.chain = d.chain && f.vals["depends"] == nil
	}
	for i, f := range list {
		if depends := f.vals["depends"]; d.chain && i > 0 && depends == nil {
			d.b.Steps[i].Needs = []string{d.b.Steps[i-1].Name}
		}
		d.step(f, &d.b.Steps[i], timeout)
	}
	d.skipped()
	var all []domain.Step
	for _, s := range d.b.Steps {
		for _, look := range d.looks {
			if slices.Contains(s.Needs, look.Name) { // no other needs it
				all = append(all, look)
			}
		}
		all = append(all, s)
	}
	d.b.Steps = all
}

// skipped has what needs a skipped step be skipped, too, unless it may go on. The steps in b are those
// of the DAG alone, in any order.
func (d *daguReader) skipped() {
	skips := map[string]bool{}
	for i := range d.b.Steps {
		skips[d.b.Steps[i].Name] = d.b.Steps[i].When != ""
	}
	for again := true; again; {
		again = false
		for i := range d.b.Steps {
			s := &d.b.Steps[i]
			for _, on := range s.Needs {
				if skips[on] && !d.may[on] && !skips[s.Name] {
					skips[s.Name], again = true, true
				}
			}
		}
	}
	for _, list := range [][]domain.Step{d.b.Steps, d.looks} {
		for i := range list {
			s := &list[i]
			for _, on := range s.Needs {
				if skips[on] && !d.may[on] {
					d.only(s, dot("needs", on)+`.state != "skipped"`)
				}
			}
		}
	}
}

// only has a step be done where a condition holds, beside those that it has.
func (d *daguReader) only(s *domain.Step, when string) {
	if s.When != "" {
		when = s.When + " && " + when
	}
	if s.When = when; len(s.When) > domain.MaxWhenBytes {
		d.in.note(0, "%s: its conditions are too long for `when`: it fails until they are written", s.Name)
		stop(s, "its preconditions")
		s.When = ""
	}
}

func (d *daguReader) step(f *fields, s *domain.Step, timeout domain.Span) {
	s.Summary, s.ScriptType = f.text("description"), domain.ScriptShell
	s.Env = d.env(f)
	s.Timeout = f.span(1, "timeoutSec", "timeout_sec")
	if s.Timeout == 0 {
		s.Timeout = timeout
	}
	for _, on := range f.texts("depends") {
		if ours := d.of[on]; ours != "" && ours != s.Name && !slices.Contains(s.Needs, ours) {
			s.Needs = append(s.Needs, ours)
		} else {
			d.in.note(f.line, "%s: there is no step %q before it", f.at("depends"), on)
		}
	}
	s.Retry = d.retry(f)
	marks, codes := d.continued(f, s)
	d.conditions(f, s)
	repeat := f.object("repeatPolicy", "repeat_policy")
	own, understood := d.script(f, s, repeat != nil)
	switch {
	case repeat == nil:
	case !understood: // it stops, and whoever writes it reads here that it is repeated
		d.in.note(repeat.line, "%s: to be written with what it does: `repeat` of step %s", repeat.path, s.Name)
	case s.Flow != nil:
		d.in.note(repeat.line, "%s: of another DAG it is not understood: the step fails until `repeat` is written", repeat.path)
		stop(s, "its repeat policy, of the DAG "+s.Flow.Blueprint)
	default:
		d.repeat(repeat, s, own)
	}
	if marks && understood {
		d.marked(f, s, codes)
	}
	if s.Script != "" && s.Timeout == 0 {
		s.Timeout = unlimited
	}
	f.rest()
}

// retry reads when a step is tried again.
func (d *daguReader) retry(f *fields) *domain.Retry {
	p := f.object("retryPolicy", "retry_policy")
	if p == nil {
		return nil
	}
	r := &domain.Retry{Max: p.number(domain.MaxRetries, "limit"), Delay: domain.Span(p.number(domain.MaxRetryDelay, "intervalSec", "interval_sec")), Factor: 1}
	if n := p.take("backoff"); n != nil {
		if r.Factor = 2; n.Value != "true" {
			v, err := strconv.ParseFloat(n.Value, 64)
			if r.Factor = v; err != nil || v < 1 || v > domain.MaxRetryFactor {
				r.Factor = 1
				p.odd("backoff", n, "a number from 1 to 100")
			}
		}
	}
	r.MaxDelay = domain.Span(p.number(domain.MaxRetryDelay, "maxIntervalSec", "max_interval_sec"))
	for _, code := range p.texts("exitCode", "exit_codes", "exit_code") {
		if n, err := strconv.Atoi(code); err == nil && n > 0 && n < 256 && !slices.Contains(r.ExitCodes, n) {
			r.ExitCodes = append(r.ExitCodes, n)
		} else {
			p.in.note(p.line, "%s: %q is no exit code that is tried again; left out", p.at("exitCode"), code)
		}
	}
	if r.Delay == 0 {
		r.Factor, r.MaxDelay = 0, 0
	}
	r.MaxDelay = max(r.MaxDelay, min(r.MaxDelay, 1)*r.Delay)
	p.rest()
	return r
}
