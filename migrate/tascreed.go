package migrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
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
		d.note(d.names[name], "no counterpart, left out: %s", document.Clip(string(d.fields[name]), 80))
	}
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
