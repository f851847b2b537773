package console

import (
	"cmp"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/clockwork/timetable"
	"github.com/ramet-run/ramet/domain"
)

// This file has the form that begins a backfill: the flows of a schedule's past times. It says
// first how many there are, and of which there is a flow already.

// backfillTimes is how many of the times the form shows.
const backfillTimes = 50

func (v *visit) backfillMake() error {
	name := v.typedIn("name")
	if !v.may(api.ScheduleBackfill.Operation) {
		return v.refusedTo("backfill schedules in context " + contextName(v.tenant))
	}
	s, err := call(v, api.ScheduleShow, api.ScheduleShowParams{ScheduleParams: api.ScheduleParams{Context: v.tenant.ID, Name: name}})
	if err != nil {
		return err
	}
	today := v.now.In(zoneOf(&s.Schedule))
	b := &makeBody{Title: "Backfill " + s.Name, Verb: "Begin 1 backfill", Check: true, Post: v.path("schedule/backfill"),
		Intro: "Makes the flows of its past times, oldest first, each with the name that the schedule would have given it: a time makes one flow, ever.",
		Fields: []formField{{Name: "name", Value: s.Name, Hidden: true},
			v.field("from", "From", today.AddDate(0, -1, 0).Format(time.DateOnly), "The first time, as 2026-01-31T02:00:00Z, or the day of it."),
			v.field("to", "To", today.Format(time.DateOnly), "It is no part of them, and not after now."),
			v.field("max", "Under way at once", "1", "How many of its flows, up to "+strconv.Itoa(domain.MaxBackfillAlive)+".")}}
	b.Fields[1].Needed, b.Fields[2].Needed = true, true
	b.halves("from", "to")
	b.Command = v.command(flagsOf([]string{"schedule", "backfill", s.Name}, "from", cmp.Or(v.typedIn("from"), "TIME"), "to", cmp.Or(v.typedIn("to"), "TIME"),
		"max", v.typedIn("max"))...)
	pg := page{Noun: "Schedules", Crumbs: []crumb{{"Schedules", v.path("schedules")}, {s.Name, v.path("schedule") + with("name", s.Name)}, {"Backfill", ""}}}
	if v.r.Method == "GET" {
		return v.showMake(pg, b, nil)
	}
	p, faults := v.backfillTyped(&s.Schedule)
	if err := faults.all(); err != nil {
		return v.showMake(pg, b, err)
	}
	plan, err := v.backfill(b, p, zoneOf(&s.Schedule))
	if err != nil || !v.making() {
		return v.showMake(pg, b, err)
	}
	said := "The backfill of " + plural(plan.Total, "past time") + " has begun, and goes on by itself."
	return v.did(v.path("schedule")+with("name", s.Name, "tab", "flows"), said, nil)
}

// backfillTyped is what was typed, and all that cannot be read of it.
func (v *visit) backfillTyped(s *domain.Schedule) (p api.ScheduleBackfillParams, faults wrongs) {
	p.ScheduleParams = api.ScheduleParams{Context: v.tenant.ID, Name: s.Name}
	for _, t := range []struct {
		field string
		to    *domain.Instant
	}{{"from", &p.From}, {"to", &p.To}} {
		if v.typedIn(t.field) == "" {
			faults.add(at(t.field, domain.Invalidf("say the time %s, as 2026-01-31T02:00:00Z, or a day, as 2026-01-31", t.field)))
			continue
		}
		var err error
		*t.to, err = timetable.InstantOrDay(s, v.typedIn(t.field))
		faults.add(at(t.field, err))
	}
	most, err := v.numberUpTo("max", domain.MaxBackfillAlive)
	faults.add(err)
	p.Max = int(most)
	return p, faults
}

// backfill begins a backfill, or only says of which times it would be, by the clocks of a zone.
func (v *visit) backfill(b *makeBody, p api.ScheduleBackfillParams, zone *time.Location) (api.ScheduleBackfilled, error) {
	if v.making() {
		return call(v, api.ScheduleBackfill, p)
	}
	p.DryRun = true
	plan, err := call(v, api.ScheduleBackfill, p)
	if err != nil {
		return plan, err
	}
	there := 0
	t := &table{Name: "Times", Head: []column{{byTheClocks(zone), "id"}, {"Trigger of its flow", "name"}, {"Flow", ""}}}
	for i, at := range plan.Times {
		flow := words("to be made")
		if at.Flow != "" {
			there++
			flow = linkTo(at.Flow, v.flowLink(at.Flow))
		}
		if i < backfillTimes {
			t.Rows = append(t.Rows, row{Cells: []entry{words(at.At.In(zone).Format(clockFormat)), words(at.Trigger), flow}})
		}
	}
	b.Verb = "Begin: " + plural(plan.Total-there, "flow")
	b.Will = "Makes " + plural(plan.Total-there, "flow") + " of " + plural(plan.Total, "past time") + ", " + strconv.Itoa(max(p.Max, 1)) + " at once."
	switch {
	case plan.Total == there: // to begin it would only write over what the last one came to
		b.Verb, b.Will = "", "There is nothing to make: "+counted(there, "past time has its flow", "past times have their flows")+" already."
	case plan.Total > len(plan.Times):
		b.Verb, b.Will = "Begin: up to "+plural(plan.Total-there, "flow"), "Makes up to "+plural(plan.Total-there, "flow")+", "+strconv.Itoa(max(p.Max, 1))+
			" at once: of these past times that have none yet."
	case there > 0:
		b.Will += " " + upper(counted(there, "of them has its flow", "of them have their flows")) + " already."
	}
	title := "These times"
	if plan.Total > len(t.Rows) {
		title = "The first " + strconv.Itoa(len(t.Rows)) + " of " + plural(plan.Total, "time")
	}
	b.Sections = []section{{Title: title, Table: t, None: noneOf(plan.Total, "The schedule had no time then.")}}
	return plan, nil
}
