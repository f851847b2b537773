package console

import (
	"cmp"
	"fmt"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

// This file has the list of schedules and the calendar of what they will make; one
// schedule is in schedule.go.

const (
	// calendarDays are those that the calendar has, from today on.
	calendarDays = 14
	// calendarTimes is how many times of one schedule it asks for: one that comes each hour
	// has fewer. One that has more comes too often to be drawn day by day.
	calendarTimes = 24*calendarDays + 25
	// calendarEntries is how many schedules a day names.
	calendarEntries = 12
	// undoWithin is for how long the list offers to undo a change; later the schedule's own page does.
	undoWithin = 24 * time.Hour
)

func (c *Console) mountSchedules() {
	c.live("GET schedules", (*visit).schedulesPage)
	c.inContext("GET schedules/calendar", (*visit).calendarPage)
	c.mountMake("schedules/new", (*visit).scheduleMake)
	c.mountMake("schedule/edit", (*visit).scheduleEdit)
	c.mountMake("schedule/backfill", (*visit).backfillMake)
	c.mountSchedule()
}

// startTabs are the views of what starts flows.
func (v *visit) startTabs(here string) (tabs []tab) {
	for _, t := range [...]struct{ name, path string }{{"List", "schedules"}, {"Calendar", "schedules/calendar"},
		{"Routines", "routines"}, {"Webhooks", "webhooks"}, {"Listeners", "listeners"}} {
		tabs = append(tabs, tab{t.name, v.path("%s", t.path), t.name == here})
	}
	return tabs
}

func (v *visit) schedulesPage() error {
	q := v.r.URL.Query()
	list, err := call(v, api.ScheduleList, api.ScheduleListParams{Context: v.tenant.ID, Blueprint: q.Get("blueprint"), Cursor: q.Get("cursor"), Limit: pageRows})
	if err != nil {
		return err
	}
	b := &listBody{Title: "Schedules", Tabs: v.startTabs("List"), Filtered: filtered(q), All: v.path("schedules"), Pager: v.pagerOf("schedules", q, list.Next),
		None: "No schedule makes flows at times yet.", Make: v.command("schedule", "create", "nightly", "--blueprint", "nightly", "--cron", "0 2 * * *"),
		Links:  v.toMake(v.may(api.ScheduleApply.Operation), "New schedule", "schedules/new"),
		Fields: v.fields(typed("blueprint", "Blueprint", q.Get("blueprint"), "nightly"))}
	for _, f := range [...]struct{ name, state string }{{"All", ""}, {"On", "on"}, {"Paused", "paused"}, {"Late", "late"}, {"In trouble", "in trouble"},
		{"Over", "over"}} {
		b.Filters = append(b.Filters, v.choice("schedules", f.name, "state", f.state))
	}
	t := table{Name: "Schedules", Head: []column{{"Schedule", "name"}, {"State", ""}, {"When", "when"}, {"Blueprint", "name"}, {"Next", ""}, {"Last",
		""}, {"Why, or what for", "why"}}}
	if v.may(api.SchedulePause.Operation) {
		t.Head = append(t.Head, column{"Do", ""})
	}
	for i := range list.Schedules {
		listed := &list.Schedules[i]
		s, st := &listed.Schedule, v.scheduleState(listed)
		if want := q.Get("state"); want != "" && want != st.Word {
			continue
		}
		link := v.path("schedule") + with("name", s.Name)
		r := row{Link: link, Cells: []entry{linkTo(s.Name, link), chip(st), words(timesOf(s)), linkTo(s.Blueprint, v.path("blueprint")+with("name",
			s.Blueprint)),
			when(v.nextOf(s)), when(v.past(s.State.LastMs)), words(v.scheduleWhy(listed))}}
		if v.may(api.SchedulePause.Operation) {
			acts := v.scheduleActions(s)[:1] // pause or resume
			if undo := v.undoChange(s); undo != nil && v.now.UnixMilli()-s.Before.ChangedMs < undoWithin.Milliseconds() {
				undo.Name = "Undo" // there is no room for more
				acts = append(acts, *undo)
			}
			r.Cells = append(r.Cells, entry{Actions: acts})
		}
		t.Rows = append(t.Rows, r)
	}
	b.Tables = []table{t}
	v.render(nethttp.StatusOK, page{Title: "Schedules", Noun: "Schedules", Command: v.command(v.flags([]string{"schedule", "list"},
		"blueprint")...), Crumbs: []crumb{{"Schedules", ""}}, Follow: lists("schedule"),
		Sentence: v.schedulesSentence(list.Schedules), Body: b})
	return nil
}

// nextOf is when a schedule comes next; none while it is paused.
func (v *visit) nextOf(s *domain.Schedule) moment {
	if s.Paused {
		return moment{}
	}
	return v.at(s.State.NextMs)
}

// schedulesSentence says which comes next, or what went wrong with the last ones.
func (v *visit) schedulesSentence(list []api.Schedule) *sentence {
	var next, bad *domain.Schedule
	wrong := 0
	for i := range list {
		s := &list[i].Schedule
		switch v.scheduleState(&list[i]).Class {
		case errored:
			wrong++
			if bad == nil || s.State.LastMs > bad.State.LastMs {
				bad = s
			}
		case waiting:
			if next == nil || s.State.NextMs < next.State.NextMs {
				next = s
			}
		}
	}
	switch {
	case wrong == 1:
		return &sentence{State: state{"in trouble", errored}, Text: "Schedule " + bad.Name + " made no flow the last time: " + bad.State.LastError + "."}
	case wrong > 1:
		return &sentence{State: state{"in trouble", errored}, Text: plural(wrong,
			"schedule") + " made no flow the last time. The latest, " + bad.Name + ": " + bad.State.LastError + "."}
	case next != nil:
		return &sentence{State: state{"on", waiting}, Text: next.Name + " " + v.comesNext(next) + "."}
	}
	return nil
}

// scheduleState is how a schedule stands.
func (v *visit) scheduleState(s *api.Schedule) state {
	switch is, _ := doctor.ScheduleStands(s, v.now); is {
	case doctor.StartRefused:
		return state{"in trouble", errored}
	case doctor.StartOn:
		return state{"on", waiting}
	case doctor.StartHeld:
		return state{"waits", waiting}
	default:
		return startStates[is]
	}
}

// scheduleWhy says why a schedule stands as it does, or else what it is for.
func (v *visit) scheduleWhy(s *api.Schedule) string {
	_, why := doctor.ScheduleStands(s, v.now)
	return cmp.Or(why, s.State.LastError, s.Summary)
}

// timesOf says when a schedule comes, in its own words.
func timesOf(s *domain.Schedule) string {
	switch {
	case s.Cron != "":
		return s.Cron + " " + cmp.Or(s.Zone, "UTC")
	case s.Every != 0:
		return "every " + short(s.Every.Time())
	}
	return plural(len(s.At), "single time")
}

// short is a length of time as people write it into a schedule: "90s", "1h30m".
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// calendarBody is what the calendar shows.
type calendarBody struct {
	Tabs []tab
	Days []calendarDay
	// Often are schedules that come too often to stand in days.
	Often []calendarEntry
	Zone  string
	Pager pager
	Any   bool
	Make  string
}

// calendarDay is a day with what comes in it, in the order of the first times.
type calendarDay struct {
	Name, Date string
	Today      bool
	Entries    []calendarEntry
	More       int // how many schedules it does not name
}

// calendarEntry is a schedule in a day.
type calendarEntry struct {
	Name, Link, Clock string
	first             time.Time
	// Times is how often it comes.
	Times int
	Last  string
}

func (v *visit) calendarPage() error {
	q := v.r.URL.Query()
	list, err := call(v, api.ScheduleList, api.ScheduleListParams{Context: v.tenant.ID, Cursor: q.Get("cursor")})
	if err != nil {
		return err
	}
	b := &calendarBody{Tabs: v.startTabs("Calendar"), Zone: v.now.Format("MST"), Pager: v.pagerOf("schedules/calendar", q, list.Next),
		Make: v.command("schedule", "create", "nightly", "--blueprint", "nightly", "--cron", "0 2 * * *")}
	today := dateOf(v.now)
	b.Days = daysFrom(today)
	for i := range list.Schedules {
		if s := &list.Schedules[i]; !s.Paused {
			if err := v.addToCalendar(b, s, today); err != nil {
				return err
			}
		}
	}
	for i := range b.Days {
		d := &b.Days[i]
		slices.SortStableFunc(d.Entries, func(x, y calendarEntry) int { return x.first.Compare(y.first) })
		if len(d.Entries) > calendarEntries {
			d.More = len(d.Entries) - calendarEntries
			d.Entries = d.Entries[:calendarEntries]
		}
	}
	v.render(nethttp.StatusOK, page{Title: "Calendar", Noun: "Schedules", Command: v.command("schedule", "list"),
		Crumbs: []crumb{{"Schedules", v.path("schedules")}, {"Calendar", ""}}, Sentence: v.schedulesSentence(list.Schedules), Body: b})
	return nil
}

// daysFrom are the days of the calendar.
func daysFrom(today time.Time) (days []calendarDay) {
	for i := range calendarDays {
		day := today.AddDate(0, 0, i)
		days = append(days, calendarDay{Name: day.Format("Mon"), Date: day.Format("2 Jan"), Today: i == 0})
	}
	return days
}

// addToCalendar puts the times of a schedule into the days, of which today is the first.
func (v *visit) addToCalendar(b *calendarBody, s *api.Schedule, today time.Time) error {
	found, err := call(v, api.SchedulePreview, api.SchedulePreviewParams{Context: v.tenant.ID, N: calendarTimes, Schedule: *s})
	if err != nil {
		return err
	}
	end := today.AddDate(0, 0, calendarDays)
	e := calendarEntry{Name: s.Name, Link: v.path("schedule") + with("name", s.Name)}
	times := found.Upcoming
	if len(times) == calendarTimes && dateOf(times[len(times)-1].In(v.now.Location())).Before(end) {
		e.Clock, b.Any = timesOf(&s.Schedule), true
		b.Often = append(b.Often, e)
		return nil
	}
	for _, t := range times {
		t = t.In(v.now.Location())
		day := dateOf(t)
		if !day.Before(end) {
			break
		}
		b.Any = true
		d := &b.Days[int(day.Sub(today).Hours())/24]
		if n := len(d.Entries); n > 0 && d.Entries[n-1].Link == e.Link {
			d.Entries[n-1].Times++
			d.Entries[n-1].Last = t.Format("15:04")
			continue
		}
		e.first, e.Times, e.Clock = t, 1, t.Format("15:04")
		d.Entries = append(d.Entries, e)
	}
	return nil
}

// dateOf is a date as a moment that can be counted on from: a day of a zone may have 23 or 25 hours,
// or no midnight.
func dateOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// More says when an entry comes in its day beside the first time.
func (e calendarEntry) More() string {
	if e.Times < 2 {
		return ""
	}
	return fmt.Sprintf("%s times, up to %s", strconv.Itoa(e.Times), e.Last)
}
