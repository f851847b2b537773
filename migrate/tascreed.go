package migrate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
	"github.com/ramet-run/ramet/internal/pattern"
)

// This file reads job defines of TasCreed. Its executors are Java classes: the
// steps get a script that says which one it was, and fails.
//
// Source: seed 004, "job define", "step define".

// define is a job define or a step define, by its names in lower case without
// '_' and '-'. What has been read is taken out.
type define struct {
	path   string
	fields map[string]json.RawMessage
	names  map[string]string // as they were written
	notes  *[]string
}

// tasCreed makes a blueprint of a job define's JSON. notes say what of it has no
// counterpart, and what means something else here.
//
// Errors: *[document.Error], also where what comes out is no valid blueprint.
func tasCreed(name string, text []byte) (_ *domain.Blueprint, notes []string, err error) {
	root, err := newDefine("", text, &notes)
	if err != nil {
		return nil, nil, document.NewError(name, []domain.Fault{{Text: fmt.Sprintf("it is no job define: %v; want a JSON object", err)}})
	}
	b := &domain.Blueprint{OnError: domain.OnErrorContinue}
	root.take(&b.Name, "jobname", "name")
	root.take(&b.Version, "version")
	root.take(&b.UniqueAlive, "uniquealiveinstance")
	root.take(&b.Params, "params")
	b.Priority = root.bounded(domain.MaxPriority, "priority")
	b.Duration = root.duration()
	root.note("steps", "as there, only what errored is tried again: retry.on is [errored], and a script that exits with 1 to 124 has failed for good")
	var steps []json.RawMessage
	root.take(&steps, "steps")
	for i, text := range steps {
		d, err := newDefine(fmt.Sprintf("steps[%d]", i), text, &notes)
		if err != nil {
			return nil, nil, document.NewError(name, []domain.Fault{{Path: fmt.Sprintf("steps[%d]", i), Text: "want a JSON object"}})
		}
		b.Steps = append(b.Steps, d.step())
	}
	root.rest()
	if err := blueprint.Validate(b); err != nil {
		return nil, nil, document.NewError(name, err.(*document.Error).Faults)
	}
	return b, notes, nil
}

func newDefine(path string, text []byte, notes *[]string) (*define, error) {
	var written map[string]json.RawMessage
	if _, err := intake.Check(text, nil, intake.Limits{}); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &written); err != nil {
		return nil, err
	}
	d := &define{path: path, fields: map[string]json.RawMessage{}, names: map[string]string{}, notes: notes}
	for name, value := range written {
		key := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
		if string(value) != "null" {
			d.fields[key], d.names[key] = value, name
		}
	}
	return d, nil
}

func (d *define) note(name, format string, args ...any) {
	*d.notes = append(*d.notes, join(d.path, name)+": "+fmt.Sprintf(format, args...))
}

// take reads the first field of these names that is there.
func (d *define) take(into any, names ...string) bool {
	for _, name := range names {
		value, ok := d.fields[name]
		if !ok {
			continue
		}
		delete(d.fields, name)
		if err := json.Unmarshal(value, into); err != nil {
			d.note(d.names[name], "left out, it cannot be read: %s", value)
			return false
		}
		return true
	}
	return false
}

// object reads a field that has fields; one without any where it is not there.
func (d *define) object(names ...string) (*define, bool) {
	var value json.RawMessage
	there := d.take(&value, names...)
	if there {
		if sub, err := newDefine(join(d.path, d.names[names[0]]), value, d.notes); err == nil {
			return sub, true
		}
	}
	return &define{path: d.path, notes: d.notes}, there
}

// bounded reads a number, which may be too large for us.
func (d *define) bounded(most int, name string) int {
	n := 0
	if d.take(&n, name) && n > most {
		d.note(d.names[name], "%d is more than the %d there are here; it became that", n, most)
		n = most
	}
	return n
}

// duration reads milliseconds, rounded up.
func (d *define) duration() domain.Span {
	ms := int64(0)
	if d.take(&ms, "duration"); ms < 0 || ms > 1000<<32-1000 {
		return 0
	}
	return domain.Span((ms + 999) / 1000)
}

// rest notes what nobody has read.
func (d *define) rest() {
	for _, name := range slices.Sorted(maps.Keys(d.fields)) {
		value := document.Clip(string(d.fields[name]), 80)
		if timeName().MatchString(name) {
			d.note(d.names[name], "no counterpart, left out: %s. What is known of defines has no times: a job is made for each request. If this says when one is, "+
				"apply the blueprint, and write `ramet schedule create NAME --blueprint BLUEPRINT %s`", value, timesFor(d.fields[name]))
			continue
		}
		d.note(d.names[name], "no counterpart, left out: %s", value)
	}
}

// timeName are names of fields, in lower case, that say when or how often something is done.
var timeName = pattern.Late(`schedul|cron|trigger|interval|period|repeat|recur|timer|everyn?|^(at|plan|planat|start|startat|starttime|fixedrate|fixeddelay)$`)

// timesFor is how the times of a field are written for a schedule, where it is a line of cron or a number; else which
// forms there are.
func timesFor(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && times(&domain.Schedule{Name: "s", Blueprint: "b", Cron: text}) == nil && text != "" {
		return "--cron '" + text + "'"
	}
	return "--cron '0 3 * * *'` or `--every 1h"
}

// linesOf are the lines of the fields of a JSON text, by their paths.
func linesOf(text []byte) map[string]int {
	lines := map[string]int{}
	d := json.NewDecoder(bytes.NewReader(text))
	here := func() int { return 1 + bytes.Count(text[:d.InputOffset()], []byte{'\n'}) }
	var value func(path string) error
	value = func(path string) error {
		t, err := d.Token()
		if err != nil {
			return err
		}
		for i := 0; (t == json.Delim('{') || t == json.Delim('[')) && d.More(); i++ {
			at := path + "[" + strconv.Itoa(i) + "]"
			if t == json.Delim('{') {
				name, err := d.Token()
				if err != nil {
					return err
				}
				at = join(path, fmt.Sprint(name))
				lines[at] = here()
			}
			if err := value(at); err != nil {
				return err
			}
		}
		if t == json.Delim('{') || t == json.Delim('[') {
			_, err = d.Token() // its end
		}
		return err
	}
	_ = value("") // it was read before
	return lines
}

func (d *define) step() domain.Step {
	s := domain.Step{ScriptType: domain.ScriptShell}
	d.take(&s.Name, "stepname", "name")
	d.take(&s.Params, "params")
	d.take(&s.MaySkip, "ignorable")
	s.Duration = d.duration()
	s.Weight = d.bounded(domain.MaxStepWeight, "effort")
	d.split(&s)
	d.needs(&s)
	d.traits(&s)
	retries := -1
	if d.take(&retries, "maxpicktimes", "maxerrortimes"); retries < 0 || retries > 255 {
		retries = 255
		d.note("maxPickTimes", "no limit, or one over 255: retries became 255")
	}
	s.Retries, s.Retry = retries, &domain.Retry{On: []domain.RetryOn{domain.RetryErrored}}
	class := "the executor of (job, step)"
	d.take(&class, "execlass")
	d.note("exeClass", "%s: write what it does as the step's script", class)
	s.Script = fmt.Sprintf("echo %s >&2\nexit 1\n", shellQuote("step "+s.Name+": put here what "+class+" did"))
	d.rest()
	return s
}

// split reads how a step becomes jobs.
func (d *define) split(s *domain.Step) {
	kind := "SIMPLE"
	d.take(&kind, "steptype", "type")
	shard, _ := d.object("shardconf")
	pack, _ := d.object("packconf")
	switch kind {
	case "SHARD":
		s.Shard = &domain.Shard{}
		shard.take(&s.Shard.Count, "shard", "sharding")
		shard.take(&s.Shard.Start, "startshardid")
		s.Shard.Window = max(0, shard.bounded(domain.MaxWindow, "maxtaskcount"))
	case "PACK":
		s.Pack = &domain.Pack{}
		pack.take(&s.Pack.Size, "size")
		pack.take(&s.Pack.Start, "start")
		pack.take(&s.Pack.End, "end")
		if pack.take(&s.Pack.Endless, "infinite"); s.Pack.Endless {
			s.Pack.End = nil
		}
		pack.take(&s.Pack.FirstID, "startpackid")
		s.Pack.Window = max(0, pack.bounded(domain.MaxWindow, "maxtaskcount"))
	case "SIMPLE":
	default:
		d.note("stepType", "%q is not known; it became single", kind)
	}
	shard.rest()
	pack.rest()
}

// needs reads what comes before.
func (d *define) needs(s *domain.Step) {
	on, _ := d.object("dependency")
	on.take(&s.Needs, "donesteps", "steps")
	on.take(&s.Phase, "phase")
	one := ""
	if d.take(&one, "dependentstep"); one != "" && !slices.Contains(s.Needs, one) {
		s.Needs = append(s.Needs, one)
	}
	on.rest()
}

func (d *define) traits(s *domain.Step) {
	var traits []string
	d.take(&traits, "traits")
	for _, t := range traits {
		switch strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(t)) {
		case "canignore", "ignorable":
			s.MaySkip = true
		case "canfail":
			s.MayFail = true
		case "archive": // all jobs are
		default:
			d.note("traits", "%q has no counterpart", t)
		}
	}
}

// shellQuote is a text as one word of a shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// join goes a step into a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
