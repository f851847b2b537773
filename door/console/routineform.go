package console

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// This file has the form that makes a routine, or changes one.

const routineIntro = "Runs a script again and again: each round is a job, and the next begins a pause after the last has ended."

// routineFields are those of the form.
func (v *visit) routineFields() []formField {
	fields := []formField{v.field("name", "Name", "sync", ""), v.field("script_type", "Script type", "shell", ""),
		v.field("every", "Pause between rounds", "60s", ""), v.field("scale", "Instances", "1", "Each has rounds of its own."),
		v.field("script", "Script", "echo \"round $RAMET_PARAM_ROUND\"", "What it saves in $RAMET_CHECKPOINT the next round finds there."),
		v.field("params", "Params, NAME=VALUE, one a line", "table=orders", ""),
		v.field("timeout", "Time limit of a round", "10m", ""), v.field("priority", "Priority", "0", ""),
		v.field("summary", "What for", "copies new orders", "")}
	for i := range fields {
		switch f := &fields[i]; f.Name {
		case "name", "script_type":
			f.Needed = true
		case "script":
			f.Needed, f.Area = true, 8
		case "params":
			f.Area = 2
		}
	}
	return fields
}

var routineHalves = []string{"name", "script_type", "every", "scale", "timeout", "priority"}

// routineMake shows the form, checks it, and makes the routine.
func (v *visit) routineMake() error {
	if !v.may(api.RoutineApply.Operation) {
		return v.refusedTo("make routines in context " + contextName(v.tenant))
	}
	r, faults := v.routineTyped()
	b := &makeBody{Title: "New routine", Verb: "Make 1 routine", Check: true, Post: v.path("routines/new"), Intro: routineIntro, Fields: v.routineFields(),
		Command: v.command("routine", "apply", cmp.Or(r.Name, "NAME")+".yaml")}
	b.halves(routineHalves...)
	pg := page{Noun: "Schedules", Crumbs: []crumb{{"Routines", v.path("routines")}, {"New", ""}}}
	if v.r.Method == "GET" {
		return v.showMake(pg, b, nil)
	}
	b.Will = "Makes 1 routine, whose first round begins at once, in your name."
	if err := checkRoutine(&r, faults); err != nil || !v.making() {
		return v.showMake(pg, b, err)
	}
	if err := v.applyRoutine(&r, ""); err != nil {
		return v.showMake(pg, b, ofTheForm(err))
	}
	return v.did(v.routineLink(r.Name), "The routine "+r.Name+" is made.", nil)
}

// mayRewriteRoutine refuses who would store stars, which he sees in the place of the values of an environment.
func (v *visit) mayRewriteRoutine(r *domain.Routine) error {
	if len(r.Env) > 0 && !v.who.Permits(v.tenant, domain.VerbReadEnv, false, api.RoutineApply.Group()) {
		return domain.Forbiddenf("actor %d may not read the values of env of routine %q, which it would store", v.who.Actor, r.Name)
	}
	return nil
}

// routineEdit is the form with what a routine has, by which it is changed. What the form does not ask for stays.
func (v *visit) routineEdit() error {
	if !v.may(api.RoutineApply.Operation) {
		return v.refusedTo("change routines in context " + contextName(v.tenant))
	}
	name := v.r.FormValue("name")
	was, err := call(v, api.RoutineShow, api.RoutineParams{Context: v.tenant.ID, Name: name})
	if err == nil {
		err = v.mayRewriteRoutine(was)
	}
	if err != nil {
		return err
	}
	b := &makeBody{Title: "Change routine " + name, Verb: "Change 1 routine", Check: true, Post: v.path("routine/edit"), Intro: routineIntro,
		Fields: v.routineFields(), Command: v.command("routine", "apply", name+".yaml")}
	base := cmp.Or(v.r.PostFormValue("base"), routineMark(was))
	b.Fields[0].Hidden = true
	b.Fields = append(b.Fields, formField{Name: "base", Value: base, Hidden: true})
	b.halves(routineHalves[2:]...) // the name cannot be changed, and the type stands alone
	kept := b.keepParams("routine", was.Params)
	pg := page{Noun: "Schedules", Crumbs: []crumb{{"Routines", v.path("routines")}, {name, v.routineLink(name)}, {"Change", ""}}}
	if v.r.Method == "GET" {
		values := routineValues(was)
		for i := range b.Fields {
			if value, has := values[b.Fields[i].Name]; has {
				b.Fields[i].Value = value
			}
		}
		return v.showMake(pg, b, nil)
	}
	r, faults := v.routineTyped()
	r.Env, r.Affinity, r.Paused = was.Env, was.Affinity, was.Paused
	r.Summary, r.Script = v.asItWas("summary", was.Summary, r.Summary), v.asItWas("script", was.Script, r.Script)
	if kept {
		r.Params = was.Params
	}
	b.Will = "From its next round on the routine is this one, in your name. A round under way ends as it began."
	if err := checkRoutine(&r, faults); err != nil || !v.making() {
		return v.showMake(pg, b, err)
	}
	if err := v.applyRoutine(&r, base); err != nil {
		return v.showMake(pg, b, ofTheForm(err))
	}
	return v.did(v.routineLink(name), "The routine "+name+" was changed.", nil)
}

// routineTyped is the routine that was typed, and what cannot be read of it.
func (v *visit) routineTyped() (r domain.Routine, faults wrongs) {
	r = domain.Routine{Name: v.typedIn("name"), Summary: v.typedIn("summary"), ScriptType: domain.ScriptType(v.typedIn("script_type")),
		Script: v.r.FormValue("script")}
	spanIn := func(name string) (s domain.Span) {
		if text := v.typedIn(name); text != "" {
			var err error
			s, err = domain.ParseSpan(text)
			faults.add(at(name, err))
		}
		return s
	}
	r.Timeout = spanIn("timeout")
	if v.typedIn("every") != "" {
		r.Every = new(spanIn("every"))
	}
	scale, err := v.numberUpTo("scale", domain.MaxRoutineScale)
	faults.add(err)
	if v.typedIn("scale") != "" {
		r.Scale = new(int(scale))
	}
	if text := v.typedIn("priority"); text != "" {
		r.Priority, err = strconv.Atoi(text)
		if err != nil {
			faults.add(at("priority", domain.Invalidf("%q: want a number", domain.PlainText(text, 40))))
		}
	}
	r.Params, err = v.pairsIn("params")
	faults.add(err)
	return r, faults
}

// checkRoutine says all that is wrong with a routine that was typed.
func checkRoutine(r *domain.Routine, faults wrongs) error {
	for _, f := range [...]struct{ name, value, say string }{{"name", r.Name, "say what it is called"},
		{"script_type", string(r.ScriptType), "say what the script is written in"}, {"script", strings.TrimSpace(r.Script), "say what is run"}} {
		if f.value == "" {
			faults.add(at(f.name, domain.Invalidf("%s", f.say)))
		}
	}
	faults.each(r)
	if len(faults) == 0 {
		faults.add(ofTheForm(r.Validate()))
	}
	return faults.all()
}

// each adds what is wrong with each field of a routine by itself, for a check of the whole says the first alone.
func (w *wrongs) each(r *domain.Routine) {
	alone := func(field string, change func(one *domain.Routine)) {
		if w.at(field) {
			return
		}
		one := domain.Routine{Name: "it", ScriptType: "it", Script: "it"}
		change(&one)
		w.add(at(field, ofTheForm(one.Validate())))
	}
	alone("name", func(one *domain.Routine) { one.Name = r.Name })
	alone("script_type", func(one *domain.Routine) { one.ScriptType = r.ScriptType })
	alone("script", func(one *domain.Routine) { one.Script = r.Script })
	alone("every", func(one *domain.Routine) { one.Every = r.Every })
	alone("scale", func(one *domain.Routine) { one.Scale = r.Scale })
	alone("params", func(one *domain.Routine) { one.Params = r.Params })
	alone("timeout", func(one *domain.Routine) { one.Timeout = r.Timeout })
	alone("priority", func(one *domain.Routine) { one.Priority = r.Priority })
}

// routineValues are what the fields of the form have for a routine.
func routineValues(r *domain.Routine) map[string]string {
	values := map[string]string{"script_type": string(r.ScriptType), "script": r.Script, "summary": r.Summary, "every": short(r.EveryOr().Time()),
		"scale": strconv.Itoa(r.ScaleOr())}
	if r.Timeout != 0 {
		values["timeout"] = short(r.Timeout.Time())
	}
	if r.Priority != 0 {
		values["priority"] = strconv.Itoa(r.Priority)
	}
	values["params"], _ = pairLines(r.Params)
	return values
}

// routineMark tells a definition from others; how its rounds go is no part of it.
func routineMark(r *domain.Routine) string {
	is := *r
	is.Instances = nil
	text, _ := json.Marshal(&is)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// applyRoutine stores a routine in the place of the one that somebody has begun with; base "": there is to be none.
func (v *visit) applyRoutine(r *domain.Routine, base string) error {
	p := &api.RoutineApplyParams{Context: v.tenant.ID, Routine: *r}
	_, err := v.caller.CallHeld(v.r.Context(), service.Named(api.RoutineApply.Name), p, func(answer any) error {
		now, is := answer.(*domain.Routine)
		switch {
		case base == "" && answer != nil:
			return at("name", domain.Conflictf("routine %q is there already: choose another name, or change that one", r.Name))
		case base != "" && (!is || routineMark(now) != base):
			return domain.Conflictf("somebody has changed or deleted routine %q meanwhile: look at it, and change it again", r.Name)
		}
		return nil
	})
	return err
}
