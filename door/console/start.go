package console

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

// This file has the form that starts a flow of a blueprint: a field for each input that is
// declared, or for each param, what is wrong with each of them as one types, and the command
// that starts the same flow.

// paramPrefix is what the fields of the start form have before a param's name.
const paramPrefix = "param."

// triggerHelp says what a trigger is.
const triggerHelp = "What the flow is called beside its blueprint. One flow of a name is made, ever; left empty, there are any number."

// startForm asks for what a flow needs, with what was typed. What is left empty is as the
// blueprint has it.
func (v *visit) startForm(s *domain.StoredBlueprint) (b *makeBody, params map[string]string, faults wrongs) {
	bp, version := &s.Blueprint, strconv.Itoa(s.Version)
	b = &makeBody{Verb: "Start 1 flow", Post: v.path("blueprint/start"), Quick: true, Will: "Makes 1 flow of version " + version + ".",
		Fields: []formField{{Name: "name", Value: s.Name, Hidden: true}, {Name: "version", Value: version, Hidden: true},
			v.field("trigger", "Trigger", "2026-12-24", triggerHelp)}}
	words := flagsOf([]string{"flow", "submit", s.Name}, "version", version, "trigger", v.typedIn("trigger"))
	params = map[string]string{}
	take := func(f formField, byDefault string) {
		if f.Value != "" && f.Value != byDefault {
			params[strings.TrimPrefix(f.Name, paramPrefix)] = f.Value
			words = append(words, "--param", strings.TrimPrefix(f.Name, paramPrefix)+"="+f.Value)
		}
		b.Fields = append(b.Fields, f)
	}
	for i := range bp.Inputs {
		d := &bp.Inputs[i]
		f, byDefault := v.inputField(bp, d)
		if v.r.Method == "POST" {
			faults.add(at(f.Name, inputFault(d, &f, byDefault)))
		}
		take(f, byDefault)
	}
	if len(bp.Inputs) == 0 { // else no others are taken
		for _, p := range pairs(bp.Params) {
			take(v.field(paramPrefix+p.Name, p.Name, p.Value, ""), "")
		}
	}
	b.Command = v.command(words...)
	return b, params, faults
}

// inputField asks for a param that is declared; byDefault is what it is where nothing is said.
func (v *visit) inputField(b *domain.Blueprint, d *domain.TypedField) (f formField, byDefault string) {
	if byDefault = b.Params[d.Name]; byDefault == "" && d.Default != nil {
		byDefault = *d.Default
	}
	f = v.field(paramPrefix+d.Name, d.Name, byDefault, wantsOf(d))
	f.Value = strings.TrimSpace(v.lastOf(f.Name))
	f.Needed = d.Required && byDefault == ""
	looking := v.r.Method != "POST"
	switch {
	case d.TypeOr() == domain.TypeFlag && (byDefault == "true" || byDefault == "false" || f.Needed):
		f.Flag, f.Needed = true, false // one that is not ticked is false
		if looking {
			f.Value = byDefault
		}
	case d.TypeOr() == domain.TypeFlag:
		f.Options = []string{"", "true", "false"}
	case len(d.Enum) > 0:
		f.Options = d.Enum
		if looking {
			f.Value = byDefault
		}
		if !slices.Contains(d.Enum, byDefault) {
			f.Options = append([]string{""}, d.Enum...)
		}
	}
	return f, byDefault
}

// inputFault says what is wrong with what was typed.
func inputFault(d *domain.TypedField, f *formField, byDefault string) error {
	switch {
	case f.Value == "" && f.Needed:
		return domain.Invalidf("%s is required: want %s", d.Name, blueprint.FieldWants(d))
	case f.Value == "" || f.Value == byDefault:
		return nil
	}
	_, err := blueprint.FieldValue(d, f.Value)
	return err
}

// wantsOf says what an input is for, and what its value has to be.
func wantsOf(d *domain.TypedField) string {
	if d.Description == "" {
		return "Want " + blueprint.FieldWants(d) + "."
	}
	return strings.TrimSuffix(d.Description, ".") + ". Want " + blueprint.FieldWants(d) + "."
}

// inputPairs are the inputs of a blueprint with what each is.
func inputPairs(b *domain.Blueprint) (list []pair) {
	for i := range b.Inputs {
		d := &b.Inputs[i]
		text := wantsOf(d)
		if d.Required {
			text += " It is required."
		} else if d.Default != nil {
			text += " Left out, it is " + *d.Default + "."
		}
		list = append(list, pair{Name: d.Name, Value: text})
	}
	return list
}

// startBlueprint makes a flow of what was typed, or says what would come of it.
func (v *visit) startBlueprint() error {
	v.r.Form.Set("tab", "start")
	if _, err := strconv.Atoi(v.r.PostForm.Get("version")); err != nil {
		return domain.Invalidf("version %q: want a number", domain.PlainText(v.r.PostForm.Get("version"), 20))
	}
	if !v.may(api.FlowSubmit.Operation) { // the refusal is the operation's, so that it is audited
		_, err := v.start(&domain.StoredBlueprint{Blueprint: domain.Blueprint{Name: v.r.PostForm.Get("name")}}, nil)
		return v.did(v.blueprintLink(v.r.PostForm.Get("name"), 0), "", err)
	}
	return v.blueprintPage()
}

// startSection is the form, and where it was sent to be done, what became of that: done says
// that the flow is made, and the browser sent to its page.
func (v *visit) startSection(s *domain.StoredBlueprint) (form *makeBody, status int, done bool, err error) {
	form, params, faults := v.startForm(s)
	if err = faults.all(); err == nil && v.making() {
		var flow api.SubmittedFlow
		if flow, err = v.start(s, params); err == nil {
			said := "The flow was started."
			if flow.Existing {
				said = "There was a flow of that trigger already: this is it."
			}
			return form, 0, true, v.did(v.path("flows/%d", flow.ID), said, nil)
		}
	}
	status, err = v.blamed(form, err)
	return form, status, false, err
}

// start makes the flow that a form asks for.
func (v *visit) start(s *domain.StoredBlueprint, params map[string]string) (flow api.SubmittedFlow, err error) {
	done, err := call(v, api.FlowSubmit, api.SubmitFlowParams{Context: v.tenant.ID,
		FlowInput: api.FlowInput{Blueprint: s.Name, Version: s.Version, Trigger: v.typedIn("trigger"), Params: params}})
	if err != nil || len(done.Flows) != 1 {
		return flow, err
	}
	if flow = done.Flows[0]; flow.Error != nil {
		err = domain.Invalidf("%s", cmp.Or(flow.Error.Detail, flow.Error.Title))
	}
	return flow, err
}
