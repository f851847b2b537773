package console

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/clockwork/timetable"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// This file has the form that makes a schedule, or changes one, and shows when it would come.

// overlaps are what can become of a time at which the flow before still lives.
var overlaps = []string{string(domain.OverlapSkip), string(domain.OverlapQueue), string(domain.OverlapAllow)}

// zones are suggested; every other will do.
var zones = []string{"UTC", "Europe/Berlin", "Europe/Brussels", "Europe/London", "America/New_York", "America/Los_Angeles", "Asia/Kolkata", "Asia/Tokyo"}

// scheduleFields are those of the form.
func (v *visit) scheduleFields() ([]formField, error) {
	list, err := call(v, api.BlueprintList, api.ListBlueprintsParams{Context: v.tenant.ID})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, b := range list.Blueprints {
		names = append(names, b.Name)
	}
	fields := []formField{v.field("name", "Name", "nightly", ""), v.field("blueprint", "Blueprint", "nightly", ""),
		v.field("cron", "By cron", "0 2 * * *", "Minute, hour, day, month, day of the week."),
		v.field("zone", "By the clocks of", "UTC", ""), v.field("every", "Or every", "1h30m", ""),
		v.field("overlap", "While the flow before lives", "", "skip makes none, queue waits, allow runs both."),
		v.field("at", "Or at single times, one a line", "2026-12-24T18:00:00Z", ""),
		v.field("params", "Params, NAME=VALUE, one a line", "region=eu", "They go over those of the blueprint."),
		v.field("trigger", "Triggers begin with", "nightly", "The time follows. Empty is its name."),
		v.field("summary", "What for", "counts the day", "")}
	for i := range fields {
		switch f := &fields[i]; f.Name {
		case "name":
			f.Needed = true
		case "blueprint":
			f.Needed, f.Suggest = true, names
		case "zone":
			f.Suggest = zones
		case "overlap":
			f.Options = overlaps
		case "at", "params":
			f.Area = 2
		}
	}
	return fields, nil
}

// scheduleMake shows the form, checks it, and makes the schedule.
func (v *visit) scheduleMake() error {
	if !v.may(api.ScheduleApply.Operation) {
		return v.refusedTo("make schedules in context " + contextName(v.tenant))
	}
	b := &makeBody{Title: "New schedule", Verb: "Make 1 schedule", Check: true, Post: v.path("schedules/new"), Intro: scheduleIntro}
	var err error
	if b.Fields, err = v.scheduleFields(); err != nil {
		return err
	}
	b.halves(scheduleHalves...)
	s, words, faults := v.scheduleTyped()
	b.Command = v.command(words...)
	pg := page{Noun: "Schedules", Crumbs: []crumb{{"Schedules", v.path("schedules")}, {"New", ""}}}
	if v.r.Method == "GET" {
		return v.showMake(pg, b, nil)
	}
	b.Will = "Makes 1 schedule, which makes a flow of " + s.Blueprint + " at these times, in your name."
	if err = v.foresee(b, &s, faults, v.nameTaken); err != nil || !v.making() {
		return v.showMake(pg, b, err)
	}
	stored, err := v.newSchedule(&s)
	if err != nil {
		return v.showMake(pg, b, err)
	}
	return v.did(v.path("schedule")+with("name", s.Name), "The schedule "+s.Name+" is made: "+v.comesIn(&stored)+".", nil)
}

const scheduleIntro = "Makes flows of a blueprint at times. Say when in one of three ways: by cron, every so often, or at single times."

var scheduleHalves = []string{"name", "blueprint", "cron", "zone", "every", "overlap", "trigger", "summary"}

// scheduleEdit is the form with what a schedule has, by which it is changed. What the form
// does not ask for stays.
func (v *visit) scheduleEdit() error {
	if !v.may(api.ScheduleApply.Operation) {
		return v.refusedTo("change schedules in context " + contextName(v.tenant))
	}
	name := v.r.FormValue("name")
	shown, err := call(v, api.ScheduleShow, api.ScheduleShowParams{ScheduleParams: api.ScheduleParams{Context: v.tenant.ID, Name: name}})
	if err == nil {
		err = v.mayWrite(&shown.Schedule)
	}
	if err != nil {
		return err
	}
	b := &makeBody{Title: "Change schedule " + name, Verb: "Change 1 schedule", Check: true, Post: v.path("schedule/edit"), Intro: scheduleIntro,
		Command: v.command("schedule", "apply", name+".yaml")}
	if b.Fields, err = v.scheduleFields(); err != nil {
		return err
	}
	base := cmp.Or(v.r.PostFormValue("base"), scheduleMark(&shown.Schedule))
	b.Fields[0].Hidden = true
	b.Fields = append(b.Fields, formField{Name: "base", Value: base, Hidden: true})
	b.halves(scheduleHalves[2:]...) // the name cannot be changed, and blueprint stands alone
	kept := b.keepParams("schedule", shown.Params)
	pg := page{Noun: "Schedules", Crumbs: []crumb{{"Schedules", v.path("schedules")}, {name, v.path("schedule") + with("name", name)}, {"Change", ""}}}
	if v.r.Method == "GET" {
		values := scheduleValues(&shown.Schedule)
		for i := range b.Fields {
			if value, has := values[b.Fields[i].Name]; has {
				b.Fields[i].Value = value
			}
		}
		return v.showMake(pg, b, nil)
	}
	s, _, faults := v.scheduleTyped()
	if kept {
		s.Params = shown.Params
	}
	s.Summary = v.asItWas("summary", shown.Summary, s.Summary)
	whole := changed(shown.Defined(), &s)
	b.Will = "From now on the schedule makes a flow of " + s.Blueprint + " at these times, in your name. Flows that it has made stay as they are."
	if err = v.foresee(b, &whole, faults, nil); err != nil || !v.making() {
		return v.showMake(pg, b, err)
	}
	stored, err := v.applySchedule(&whole, base)
	if err != nil {
		return v.showMake(pg, b, err)
	}
	return v.did(v.path("schedule")+with("name", name), "The schedule "+name+" was changed: "+cmp.Or(v.comesIn(&stored), "it has no further time")+".", nil)
}

// scheduleValues are what the fields of the form have for a schedule.
func scheduleValues(s *domain.Schedule) map[string]string {
	values := map[string]string{"blueprint": s.Blueprint, "cron": s.Cron, "zone": s.Zone, "overlap": string(s.OverlapOr()),
		"trigger": s.Trigger, "summary": s.Summary}
	if s.Every != 0 {
		values["every"] = short(s.Every.Time())
	}
	var times []string
	for _, t := range s.At {
		times = append(times, t.String())
	}
	values["at"] = strings.Join(times, "\n")
	values["params"], _ = pairLines(s.Params)
	return values
}

// changed is a schedule with what was typed; what the form does not have stays.
func changed(was domain.Schedule, typed *domain.Schedule) domain.Schedule {
	s := was
	s.Summary, s.Blueprint, s.Trigger, s.Cron, s.Zone, s.Overlap = typed.Summary, typed.Blueprint, typed.Trigger, typed.Cron, typed.Zone, typed.Overlap
	s.At, s.Every, s.Params = typed.At, typed.Every, typed.Params
	if s.Every == 0 {
		s.Start = 0 // which is of that alone
	}
	if s.Blueprint != was.Blueprint {
		s.Version = 0 // it was one of another
	}
	return s
}

// scheduleMark tells a definition from others.
func scheduleMark(s *domain.Schedule) string {
	text, _ := json.Marshal(s.Defined())
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// applySchedule stores a schedule in the place of the one that somebody has begun with.
func (v *visit) applySchedule(s *domain.Schedule, base string) (domain.Schedule, error) {
	p := &api.ScheduleApplyParams{Context: v.tenant.ID, Schedule: api.Schedule{Schedule: *s}}
	got, err := v.caller.CallHeld(v.r.Context(), service.Named(api.ScheduleApply.Name), p, func(answer any) error {
		if now, is := answer.(api.Schedule); !is || scheduleMark(&now.Schedule) != base {
			return domain.Conflictf("somebody has changed or deleted schedule %q meanwhile: look at it, and change it again", s.Name)
		}
		return nil
	})
	if err != nil {
		return domain.Schedule{}, err
	}
	return got.(api.Schedule).Schedule, nil
}

// scheduleTyped is the schedule that was typed, the command that makes it, and all that
// cannot be read of it.
func (v *visit) scheduleTyped() (s domain.Schedule, words []string, faults wrongs) {
	s = domain.Schedule{Name: v.typedIn("name"), Summary: v.typedIn("summary"), Blueprint: v.typedIn("blueprint"), Trigger: v.typedIn("trigger"),
		Cron: v.typedIn("cron"), Zone: v.typedIn("zone"), Overlap: domain.Overlap(v.typedIn("overlap"))}
	if s.Overlap == domain.OverlapSkip {
		s.Overlap = "" // which is the default
	}
	words = flagsOf([]string{"schedule", "create", cmp.Or(s.Name, "NAME")}, "blueprint", s.Blueprint, "cron", s.Cron, "zone", s.Zone, "every", v.typedIn("every"))
	for _, text := range v.linesIn("at") {
		words = append(words, "--at", text)
		instant, wrong := domain.ParseInstant(text)
		faults.add(at("at", wrong))
		s.At = append(s.At, instant)
	}
	words = flagsOf(words, "overlap", string(s.Overlap))
	params, wrong := v.pairsIn("params")
	faults.add(wrong)
	s.Params = params
	for _, p := range pairs(params) {
		words = append(words, "--param", p.Name+"="+p.Value)
	}
	words = flagsOf(words, "trigger", s.Trigger, "summary", s.Summary)
	if text := v.typedIn("every"); text != "" {
		every, wrong := domain.ParseSpan(text)
		faults.add(at("every", wrong))
		s.Every = every
	} else if s.Cron == "" && len(s.At) == 0 {
		faults.add(at("cron", domain.Invalidf("say when: by cron, every so often, or at single times")))
	}
	return s, words, faults
}

// foresee says what would come of a schedule, and all that is wrong with it.
func (v *visit) foresee(b *makeBody, s *domain.Schedule, faults wrongs, taken func(name string) error) error {
	named := *s
	wrong := at("name", domain.ValidateName("schedule", s.Name))
	if s.Name == "" {
		wrong = at("name", domain.Invalidf("say what it is called"))
	}
	if wrong != nil {
		named.Name = "" // its times can be seen all the same
	}
	faults.add(wrong)
	if s.Blueprint == "" {
		faults.add(at("blueprint", domain.Invalidf("say of which blueprint it makes flows")))
	}
	faults.times(s)
	if !faults.at("cron", "zone", "every", "at") { // of times that cannot be read there is no more to say
		faults.add(v.foreseeTimes(b, &named))
	}
	if s.Blueprint != "" {
		stored, err := call(v, api.BlueprintShow, api.BlueprintParams{Context: v.tenant.ID, Name: s.Blueprint})
		faults.add(at("blueprint", err))
		if err == nil {
			faults.add(at("params", blueprint.TakesParams(&stored.Blueprint, s.Params)))
		}
	}
	if wrong == nil && taken != nil {
		faults.add(taken(s.Name))
	}
	return faults.all()
}

// times adds what is wrong with each way to say when, by itself: who mends one field is not told of the next after that.
func (w *wrongs) times(s *domain.Schedule) {
	alone := func(field string, times domain.Schedule) {
		if w.at(field) {
			return
		}
		times.Name, times.Blueprint = "it", "it"
		_, err := timetable.New(&times)
		w.add(at(field, ofTheForm(err)))
	}
	var ways []string
	if s.Cron != "" {
		ways = append(ways, "cron")
		alone("cron", domain.Schedule{Cron: s.Cron})
	}
	if s.Zone != "" {
		alone("zone", domain.Schedule{Cron: "0 0 * * *", Zone: s.Zone})
	}
	if s.Every != 0 || w.at("every") {
		ways = append(ways, "every")
		if s.Every != 0 {
			alone("every", domain.Schedule{Every: s.Every})
		}
	}
	if len(s.At) > 0 {
		ways = append(ways, "at")
	}
	for _, way := range ways[min(1, len(ways)):] {
		if !w.at(way) {
			w.add(at(way, domain.Invalidf("say when in one way alone: by cron, every so often, or at single times")))
		}
	}
}

// foreseeTimes shows the next times.
func (v *visit) foreseeTimes(b *makeBody, s *domain.Schedule) error {
	found, err := call(v, api.SchedulePreview, api.SchedulePreviewParams{Context: v.tenant.ID, Schedule: api.Schedule{Schedule: *s}})
	if err != nil {
		return ofTheForm(err)
	}
	b.Sections = []section{v.upcoming(&api.Schedule{Schedule: *s, Upcoming: found.Upcoming})}
	return nil
}

// ofTheForm leaves out of an error of which schedule or routine it is: it is the one in the form, which
// may have no name yet.
func ofTheForm(err error) error {
	inner := errors.Unwrap(err)
	if inner == nil || !strings.HasPrefix(err.Error(), "schedule ") && !strings.HasPrefix(err.Error(), "routine ") ||
		!strings.HasSuffix(err.Error(), ": "+inner.Error()) {
		return err
	}
	return inner
}

// nameTaken is the error of a name that another schedule has.
func (v *visit) nameTaken(name string) error {
	_, err := call(v, api.ScheduleShow, api.ScheduleShowParams{ScheduleParams: api.ScheduleParams{Context: v.tenant.ID, Name: name}})
	if err == nil {
		return at("name", thereAlready(name))
	} else if notThere(err) {
		return nil
	}
	return err
}

// thereAlready says that a name is taken.
func thereAlready(name string) error {
	return domain.Conflictf("schedule %q is there already: choose another name, or change that one with `ramet schedule apply`", name)
}

// newSchedule makes a schedule, unless there is one of its name meanwhile.
func (v *visit) newSchedule(s *domain.Schedule) (domain.Schedule, error) {
	p := &api.ScheduleApplyParams{Context: v.tenant.ID, Schedule: api.Schedule{Schedule: *s}}
	got, err := v.caller.CallHeld(v.r.Context(), service.Named(api.ScheduleApply.Name), p, func(answer any) error {
		if answer != nil {
			return at("name", thereAlready(s.Name))
		}
		return nil
	})
	if err != nil {
		return domain.Schedule{}, err
	}
	return got.(api.Schedule).Schedule, nil
}
