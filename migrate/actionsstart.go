package migrate

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

// starts reads when a workflow runs, and what it is asked.
func (w *actionsReader) starts(f *fields) {
	on := f.take("on", "true") // what is YAML 1.1 takes it for true
	if on == nil || on.Kind != yaml.MappingNode {
		if on != nil {
			f.note(on, "on: what starts it is no counterpart; start it by ramet flow submit, or a schedule")
		}
		return
	}
	events := fieldsOf(w.in, "on", on)
	if list := events.take("schedule"); list != nil {
		names := namer{}
		for i, item := range list.Content {
			if item = follow(item); item.Kind == yaml.MappingNode {
				s := fieldsOf(w.in, fmt.Sprintf("on.schedule[%d]", i), item)
				w.in.schedule(s.line, names, w.b.Name, s.text("cron"), s.text("timezone"), domain.OverlapAllow)
				s.rest()
			}
		}
	}
	for _, event := range []string{"workflow_dispatch", "workflow_call"} {
		d := events.object(event)
		if d == nil {
			continue
		}
		if inputs := d.object("inputs"); inputs != nil {
			for _, k := range inputs.keys {
				one := inputs.object(k.Value)
				if one == nil {
					one = &fields{in: w.in, path: inputs.at(k.Value), line: k.Line}
				}
				w.declared(k.Value, one)
			}
		}
		if event == "workflow_call" {
			d.take("outputs", "secrets") // its flow's result, and the secrets that its steps name
		}
		d.rest()
	}
	for _, event := range []string{"push", "pull_request", "release", "issues", "issue_comment"} {
		if n := events.vals[event]; n != nil {
			events.take(event)
			events.note(n, "%s: have the forge call a webhook: ramet webhook create %s --blueprint %s --scheme github", events.at(event), w.b.Name, w.b.Name)
			for _, only := range fieldsOf(w.in, events.at(event), n).keys {
				w.in.note(only.Line, "%s.%s: left out, the webhook starts a flow for each delivery: say by its --when for which, as "+
					"--when 'headers[\"x-github-event\"] == \"%s\"'", events.at(event), only.Value, event)
			}
		}
	}
	events.rest()
}

// inputTypes are the types of inputs, in our words.
var inputTypes = map[string]domain.FieldType{"": "", "string": "", "environment": "", "choice": "", "boolean": domain.TypeFlag, "number": domain.TypeNumber}

// declared reads an input.
func (w *actionsReader) declared(theirs string, f *fields) {
	name, kind := ident(theirs), f.text("type")
	d := domain.TypedField{Name: name, Description: f.text("description"), Enum: f.texts("options")}
	ours, known := inputTypes[kind]
	if d.Type = ours; !known {
		w.in.note(f.line, "%s.type: %q is not known; it became a text", f.path, kind)
	}
	required := f.flag("required")
	if n := f.take("default"); n != nil {
		d.Default = &n.Value
	}
	f.rest()
	if d.Default == nil {
		switch d.Required = required && len(w.in.Schedules) == 0; {
		case required && !d.Required:
			w.in.note(f.line, "%s: it is required, and the schedule gives none; it became optional", f.path)
			fallthrough
		case !d.Required && d.TypeOr() == domain.TypeText && len(d.Enum) == 0:
			d.Default = new(string)
		case !d.Required && d.TypeOr() == domain.TypeFlag:
			off := "false"
			d.Default = &off
		}
	}
	if !plainName().MatchString(name) || w.inputs[name] {
		if !w.inputs[name] {
			w.in.note(f.line, "%s: %q is no name; left out", f.path, theirs)
		}
		return
	}
	probe := &domain.Blueprint{Name: w.b.Name, Inputs: append(slices.Clone(w.b.Inputs), d),
		Steps: []domain.Step{{Name: "a", ScriptType: domain.ScriptShell, Script: "x"}}}
	if err := blueprint.ValidateFields(probe); err != nil {
		w.in.note(f.line, "%s: %v; it became a text", f.path, err)
		w.param(name)
		if d.Default != nil {
			w.params[name] = *d.Default
		}
		return
	}
	w.b.Inputs, w.inputs[name] = probe.Inputs, true
}
