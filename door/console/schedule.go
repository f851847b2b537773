package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// scheduleTimes is how many of its next times the page of a schedule shows.
const scheduleTimes = 20

func (c *Console) mountSchedule() {
	c.live("GET schedule", (*visit).schedulePage)
	c.inContext("POST schedule/{act}", (*visit).actOnSchedule)
}

// scheduleCommands show what a tab shows; of the others `schedule show` does.
var scheduleCommands = map[string][]string{"times": {"schedule", "next"}}

func (v *visit) schedulePage() error {
	name := v.r.FormValue("name")
	s, err := call(v, api.ScheduleShow, api.ScheduleShowParams{ScheduleParams: api.ScheduleParams{Context: v.tenant.ID, Name: name}, N: scheduleTimes})
	if err != nil {
		return err
	}
	b := &detailBody{Title: s.Name, State: v.scheduleState(&s), Facts: v.scheduleFacts(&s.Schedule)}
	b.Links = v.toMake(v.may(api.ScheduleApply.Operation) && v.mayWrite(&s.Schedule) == nil, "Change", "schedule/edit"+with("name", name))
	if s.State.Backfill == nil || s.State.Backfill.Final() {
		b.Links = append(b.Links, v.toMake(v.may(api.ScheduleBackfill.Operation), "Backfill", "schedule/backfill"+with("name", name))...)
	}
	at := func(key string) string { return v.path("schedule") + with("name", name, "tab", key) }
	var key string
	key, b.Tabs = v.tabsOf(at, "times", "Next times", "flows", "Its flows", "definition", "Definition", "history", "History")
	switch key {
	case "times":
		b.Sections = []section{v.upcoming(&s)}
	case "flows":
		b.Sections, err = v.scheduleFlows(&s.Schedule, at(key))
	case "definition":
		b.Sections = scheduleDefinition(&s.Schedule)
	case "history":
		var acts []happening
		acts, err = v.acts("schedule:" + name)
		b.Sections = []section{{History: acts, None: noneOf(len(acts), "No act of a person on it is in the audit log, as far as you may read that.")}}
	}
	if err != nil {
		return err
	}
	pg := page{Title: s.Name, Noun: "Schedules", Command: v.commandOf("schedule", key, scheduleCommands, s.Name), Body: b, Follow: lists("schedule", "flow"),
		Crumbs: []crumb{{"Schedules", v.path("schedules")}, {s.Name, ""}}, Sentence: v.scheduleSentence(&s)}
	pg.Sentence.Actions = v.scheduleActions(&s.Schedule)
	v.render(nethttp.StatusOK, pg)
	return nil
}

// noneOf is what is said of nothing, "" where there is something.
func noneOf(n int, text string) string {
	if n > 0 {
		return ""
	}
	return text
}

func (v *visit) scheduleSentence(s *api.Schedule) *sentence {
	st := v.scheduleState(s)
	switch st.Class {
	case failed:
		return &sentence{State: st, Text: upper(v.scheduleWhy(s)) + "."}
	case held:
		return &sentence{State: st, Text: "It is paused, and makes no flows. Times that pass meanwhile are not made up."}
	case errored:
		return &sentence{State: st, Text: "It made no flow the last time: " + s.State.LastError + ".", Since: v.past(s.State.LastMs), Next: v.comesIn(&s.Schedule)}
	case skipped:
		return &sentence{State: st, Text: "It has no further time."}
	}
	text := upper(v.comesIn(&s.Schedule)) + "."
	if s.State.LastError != "" {
		text += " The last time was " + s.State.LastError + "."
	}
	return &sentence{State: st, Text: text}
}

// comesNext says in how long a schedule comes, or since when it is late.
func (v *visit) comesNext(s *domain.Schedule) string {
	if v.now.UnixMilli() > s.State.NextMs {
		return "was to come " + v.at(s.State.NextMs).Ago + " ago"
	}
	return "comes next in " + v.at(s.State.NextMs).Ago
}

// comesIn says when a schedule comes next, "" where it does not.
func (v *visit) comesIn(s *domain.Schedule) string {
	if s.State.NextMs == 0 {
		return ""
	}
	at := time.UnixMilli(s.State.NextMs).In(zoneOf(s))
	return "it " + v.comesNext(s) + ", " + at.Format("Mon 2 Jan, 15:04:05 MST")
}

func (v *visit) scheduleFacts(s *domain.Schedule) []fact {
	blueprint := s.Blueprint
	if s.Version != 0 {
		blueprint += " version " + strconv.Itoa(s.Version)
	}
	facts := []fact{{Name: "when", Text: timesOf(s)}, {Name: "blueprint", Text: blueprint, Link: v.path("blueprint") + with("name", s.Blueprint)},
		{Name: "by", Text: actorText(s.CallerID)}, {Name: "made", Text: madeOf(s)}}
	for _, c := range [...]struct {
		name string
		n    int64
	}{{"skipped", s.State.Skipped}, {"missed", s.State.Missed}, {"refused", s.State.Refused}} {
		if c.n > 0 {
			facts = append(facts, fact{Name: c.name, Text: strconv.FormatInt(c.n, 10)})
		}
	}
	if b := s.State.Backfill; b != nil {
		facts = append(facts, fact{Name: "backfill", Text: b.String(), Link: v.path("schedule") + with("name", s.Name, "tab", "flows")})
	}
	if s.State.LastFlow != 0 {
		facts = append(facts, fact{Name: "last flow", Text: strconv.Itoa(int(s.State.LastFlow)), Link: v.path("flows/%d", s.State.LastFlow)})
	}
	return facts
}

// madeOf says how many flows a schedule has made: its own count has none of a backfill.
func madeOf(s *domain.Schedule) string {
	text := plural(int(s.State.Fired), "flow")
	if b := s.State.Backfill; b != nil && b.Made > 0 {
		text += ", and " + strconv.Itoa(b.Made) + " by its last backfill"
	}
	return text
}

// clockFormat is a time of a schedule by the clocks that it goes by, which byTheClocks names:
// a night in which clocks are set back has some times twice.
const clockFormat = "Mon 2006-01-02 15:04:05 MST"

func byTheClocks(zone *time.Location) string { return "By the clocks of " + zone.String() }

// zoneOf is whose clocks a schedule goes by.
func zoneOf(s *domain.Schedule) *time.Location {
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		return time.UTC // the zone of a node of another version
	}
	return zone
}

// upcoming are the next times, by the schedule's own clocks.
func (v *visit) upcoming(s *api.Schedule) section {
	zone := zoneOf(&s.Schedule)
	t := &table{Name: "Next times", Head: []column{{"In", ""}, {byTheClocks(zone), "id"}, {"Trigger of its flow", "why"}}}
	if s.TriggerPrefix() == "" { // in a form that has no name yet
		t.Head = t.Head[:2]
	}
	for _, at := range s.Upcoming {
		cells := []entry{when(v.at(at.UnixMilli())), words(at.In(zone).Format(clockFormat)), words(s.TriggerAt(at))}
		t.Rows = append(t.Rows, row{Link: "", Cells: cells[:len(t.Head)]})
	}
	return section{Table: t, None: noneOf(len(t.Rows), "It has no time to come.")}
}

// scheduleFlows are the flows that a schedule has made, newest first.
func (v *visit) scheduleFlows(s *domain.Schedule, here string) ([]section, error) {
	found, err := call(v, api.FlowList, api.ListFlowsParams{Context: v.tenant.ID, FlowFilter: api.FlowFilter{Blueprint: s.Blueprint,
		Where: fmt.Sprintf("flow.schedule == %q", s.Name)},
		Cursor: v.r.FormValue("cursor"), Limit: pageRows})
	if err != nil {
		return nil, err
	}
	t := &table{Name: "Flows", Head: []column{{"Flow", "id"}, {"State", ""}, {"Trigger", "trigger"}, {"Why", "why"}, {"Made", ""}, {"Took", "num"}}}
	for i := range found.Flows {
		r := v.flowRow(&found.Flows[i])
		t.Rows = append(t.Rows, row{Link: r.Link, Cells: []entry{linkTo(strconv.Itoa(int(r.ID)), r.Link), chip(r.State), words(r.Trigger), words(r.Why), when(r.Made),
			words(r.Took)}})
	}
	p := pager{}
	if found.Next != "" {
		p.Next = here + "&cursor=" + urlEscape(found.Next)
	}
	return []section{{Table: t, Pager: p, None: noneOf(len(t.Rows), "No flow of it is on the board. The archive may have more.")}}, nil
}

// scheduleDefinition is what somebody handed in.
func scheduleDefinition(s *domain.Schedule) (list []section) {
	rules := []pair{{"overlap", string(s.OverlapOr())}, {"catch up", span(s.Window())}}
	if s.Summary != "" {
		rules = append([]pair{{"summary", s.Summary}}, rules...)
	}
	for _, t := range [...]struct {
		name string
		at   domain.Instant
	}{{"start", s.Start}, {"from", s.From}, {"until", s.Until}} {
		if t.at != 0 {
			rules = append(rules, pair{t.name, t.at.String()})
		}
	}
	for i, at := range s.At {
		if i >= scheduleTimes {
			rules = append(rules, pair{"at", fmt.Sprintf("and %d more", len(s.At)-i)})
			break
		}
		rules = append(rules, pair{"at", at.String()})
	}
	list = append(list, section{Title: "Rules", Pairs: rules})
	if len(s.Params) > 0 {
		list = append(list, section{Title: "Params", Pairs: pairs(s.Params)})
	}
	if len(s.Env) > 0 {
		list = append(list, section{Title: "Environment", Pairs: pairs(s.Env)})
	}
	var vars []pair
	for name, variable := range s.Variables {
		vars = append(vars, pair{name, variableText(name, variable, s.State.Counts)})
	}
	slices.SortFunc(vars, func(a, b pair) int { return cmp.Compare(a.Name, b.Name) })
	if len(vars) > 0 {
		list = append(list, section{Title: "Variables", Pairs: vars})
	}
	return list
}

// variableText says what a variable stands for.
func variableText(name string, v domain.Variable, counts map[string]int64) string {
	switch {
	case v.Const != nil:
		return *v.Const
	case v.Count != nil:
		next := v.Count.Next
		if n, counted := counts[name]; counted {
			next = n
		}
		return "counts; next is " + strconv.FormatInt(next, 10)
	}
	return "the time of the flow"
}

// scheduleActions are what can be done with a schedule by who looks.
func (v *visit) scheduleActions(s *domain.Schedule) (list []action) {
	add := func(op *api.Operation, a action) {
		if v.may(op) {
			act := op.Name[len("schedule."):]
			a.Post, a.Fields, a.Command = v.path("schedule/%s", act), []field{{"name", s.Name}}, v.command("schedule", act, s.Name)
			list = append(list, a)
		}
	}
	if s.Paused {
		add(api.ScheduleResume.Operation, action{Name: "Resume", Verb: "Resume the schedule", Primary: true,
			Will: "It goes on with its next time. Times that passed meanwhile are not made up."})
	} else {
		add(api.SchedulePause.Operation, action{Name: "Pause", Verb: "Pause the schedule",
			Will: "It makes no further flow until somebody resumes it. Flows that run go on."})
	}
	if undo := v.undoChange(s); undo != nil {
		list = append(list, *undo)
	}
	add(api.ScheduleTrigger.Operation, action{Name: "Trigger", Verb: "Make 1 flow now",
		Will: "Makes 1 flow of blueprint " + s.Blueprint + " now, beside those of its times."})
	if b := s.State.Backfill; b != nil && !b.Final() {
		add(api.ScheduleBackfillCancel.Operation, action{Name: "Cancel backfill", Verb: "Cancel the backfill",
			Will: "It makes no further flow of a past time; those that it made go on."})
	}
	add(api.ScheduleDelete.Operation, action{Name: "Delete", Verb: "Delete the schedule",
		Will: "The schedule leaves the board; " + counted(int(s.State.Fired), "flow that it made stays", "flows that it made stay") + ". This cannot be undone."})
	return list
}

// undoChange is the action that makes a schedule what it was before it was changed last; nil where there is none.
func (v *visit) undoChange(s *domain.Schedule) *action {
	if s.Before == nil || !v.may(api.ScheduleApply.Operation) {
		return nil
	}
	will := "It becomes again what it was until it was changed, " + v.at(s.Before.ChangedMs).Ago + " ago"
	if was, err := beforeOf(s); err == nil {
		if v.mayWrite(was) != nil {
			return nil
		}
		will += ": " + differs(was, s)
	} else if !v.who.Permits(v.tenant, domain.VerbReadEnv, false, api.ScheduleApply.Group()) {
		return nil // a list does not say whether it had an environment: the page does
	}
	return &action{Name: "Undo the change", Verb: "Undo the change", Post: v.path("schedule/undo"),
		Fields: []field{{"name", s.Name}, {"changed", strconv.FormatInt(s.Before.ChangedMs, 10)}},
		Will:   will + ". Its flows are made in your name from then on; those that it has made stay as they are. This can be undone in the same way."}
}

// beforeOf is what a schedule was before it was changed last.
func beforeOf(s *domain.Schedule) (*domain.Schedule, error) {
	if s.Before == nil || s.Before.Definition == nil {
		return nil, domain.NotFoundf("what schedule %q was before is not kept: nobody has changed it, or it had more than %d kB",
			s.Name, domain.MaxScheduleBefore>>10)
	}
	was := &domain.Schedule{}
	if err := json.Unmarshal(s.Before.Definition, was); err != nil {
		return nil, domain.Invalidf("what schedule %q was before cannot be read: %v", s.Name, err)
	}
	return was, nil
}

// differs says what a schedule was that it is not any more.
func differs(was, is *domain.Schedule) string {
	var parts []string
	if now := timesOf(is); timesOf(was) != now {
		parts = append(parts, "when is "+timesOf(was)+" instead of "+now)
	}
	values, now := definedValues(was), definedValues(is)
	for _, name := range [...]string{"at", "start", "from", "until", "catch up", "blueprint", "version", "zone", "overlap", "trigger", "priority", "params",
		"variables", "summary"} {
		if values[name] != now[name] {
			parts = append(parts, name+" is "+cmp.Or(strings.ReplaceAll(values[name], "\n", ", "), "none")+" instead of "+
				cmp.Or(strings.ReplaceAll(now[name], "\n", ", "), "none"))
		}
	}
	if names := envChanges(was.Env, is.Env); names != "" {
		parts = append(parts, names)
	}
	return plain(cmp.Or(strings.Join(parts, "; "), "nothing of it is another"))
}

// definedValues are all values of a schedule's definition but its environment, as texts.
func definedValues(s *domain.Schedule) map[string]string {
	values := scheduleValues(s)
	for name, at := range map[string]domain.Instant{"start": s.Start, "from": s.From, "until": s.Until} {
		if at != 0 {
			values[name] = at.String()
		}
	}
	values["version"], values["catch up"] = "the newest", short(s.Window())
	if s.Version != 0 {
		values["version"] = strconv.Itoa(s.Version)
	}
	if s.Priority != 0 {
		values["priority"] = strconv.Itoa(s.Priority)
	}
	var variables []string
	for _, name := range slices.Sorted(maps.Keys(s.Variables)) {
		text, _ := json.Marshal(s.Variables[name]) // it came as such
		variables = append(variables, name+"="+string(text))
	}
	values["variables"] = strings.Join(variables, "\n")
	return values
}

// envChanges says which variables of an environment were others: their values are for who asks to see them.
func envChanges(was, is map[string]string) string {
	var others []string
	for name, value := range was {
		if now, has := is[name]; !has || now != value {
			others = append(others, name)
		}
	}
	for name := range is {
		if _, had := was[name]; !had {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return ""
	}
	slices.Sort(others)
	return "env differs in " + strings.Join(others, ", ")
}

// mayWrite refuses who would store stars, which he sees in the place of the values of an environment.
func (v *visit) mayWrite(s *domain.Schedule) error {
	if len(s.Env) > 0 && !v.who.Permits(v.tenant, domain.VerbReadEnv, false, api.ScheduleApply.Group()) {
		return domain.Forbiddenf("actor %d may not read the values of env of schedule %q, which it would store", v.who.Actor, s.Name)
	}
	return nil
}

// undoSchedule undoes the change that somebody has seen, and no other.
func (v *visit) undoSchedule(name string) (said string, err error) {
	shown, err := call(v, api.ScheduleShow, api.ScheduleShowParams{ScheduleParams: api.ScheduleParams{Context: v.tenant.ID, Name: name}})
	if err != nil {
		return "", err
	}
	was, err := beforeOf(&shown.Schedule)
	if err != nil {
		return "", err
	}
	if strconv.FormatInt(shown.Before.ChangedMs, 10) != v.r.PostFormValue("changed") {
		return "", domain.Conflictf("somebody has changed schedule %q meanwhile: look at it before you undo that", name)
	}
	if err := v.mayWrite(was); err != nil {
		return "", err
	}
	stored, err := v.applySchedule(was, scheduleMark(&shown.Schedule))
	if err != nil {
		return "", err
	}
	return "The change is undone: " + differs(&stored, &shown.Schedule) + ".", nil
}

// actOnSchedule does what a person asked of a schedule.
func (v *visit) actOnSchedule() error {
	p := api.ScheduleParams{Context: v.tenant.ID, Name: v.r.PostFormValue("name")}
	to, said := v.path("schedule")+with("name", p.Name), ""
	var err error
	switch act := v.r.PathValue("act"); act {
	case "pause":
		_, err = call(v, api.SchedulePause, p)
		said = "The schedule is paused."
	case "resume":
		_, err = call(v, api.ScheduleResume, p)
		said = "The schedule goes on."
	case "undo":
		said, err = v.undoSchedule(p.Name)
	case "trigger":
		var made api.ScheduleTriggered
		made, err = call(v, api.ScheduleTrigger, p)
		said = "Made " + made.Flow + "."
		if made.Existing {
			said = "There was a flow of this very second already: " + made.Flow + "."
		}
	case "backfill_cancel":
		_, err = call(v, api.ScheduleBackfillCancel, p)
		said = "The backfill was cancelled."
	case "delete":
		if _, err = call(v, api.ScheduleDelete, p); err == nil {
			to = v.path("schedules")
		}
		said = "The schedule " + p.Name + " was deleted."
	default:
		return domain.NotFoundf("a schedule cannot be told to %q", domain.PlainText(act, 20))
	}
	return v.did(to, said, err)
}
