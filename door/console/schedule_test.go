package console_test

import (
	"fmt"
	"html"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/layout"
)

// hello is a blueprint with a param, stored under its name.
const hello = "name: hello\nparams: {who: world}\nsteps:\n  - {name: greet, script: say hello, script_type: words}\n"

func (r *rig) store(text string) {
	r.Helper()
	do(r, admin, api.BlueprintApply, api.ApplyBlueprintParams{Context: 7, Text: text})
}

func (r *rig) schedule(s domain.Schedule) {
	r.Helper()
	do(r, admin, api.ScheduleApply, api.ScheduleApplyParams{Context: 7, Schedule: api.Schedule{Schedule: s}})
}

// setState writes what has become of a schedule, as the node does that looks after it.
func (r *rig) setState(name string, s domain.ScheduleState) {
	r.Helper()
	b := board.Batch{Space: layout.SpaceOf(7)}
	if err := r.board.Commit(r.Context(), *b.Set(layout.Schedule(name), layout.EncodeScheduleState(&s)...)); err != nil {
		r.Fatal(err)
	}
}

func TestNoScheduleSaysHowToMakeOne(t *testing.T) {
	b := newRig(t).as(reader)
	b.has(b.get(200, path("schedules")), "No schedule makes flows at times yet.", "ramet schedule create nightly", "--context 7")
	b.has(b.get(200, path("schedules/calendar")), "Nothing comes in the next two weeks.", "ramet schedule create nightly")
	b.get(404, path("schedule?name=none"))
}

func TestSchedulesAreListedAndFiltered(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	r.schedule(domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "0 2 * * *", Zone: "Europe/Brussels", Summary: "counts the day"})
	r.schedule(domain.Schedule{Name: "often", Blueprint: "hello", Every: 60})
	r.schedule(domain.Schedule{Name: "off", Blueprint: "hello", Every: 3600, Paused: true})
	b := r.as(reader)
	a := b.get(200, path("schedules"))
	b.has(a, "often comes next in", "0 2 * * * Europe/Brussels", "every 1m", "paused", "counts the day", `href="/console/c/7/schedule?name=nightly"`,
		"ramet schedule list --context 7",
		`href="/console/c/7/blueprint?name=hello"`)
	a = b.get(200, path("schedules?state=paused"))
	b.has(a, "name=off")
	b.hasNot(a, "name=nightly")
	b.has(b.get(200, path("schedules?blueprint=other")), "Nothing is like that")
	a = b.get(200, path("schedules/calendar"))
	b.has(a, "nightly", "comes too often to stand in days: every 1m", "The next two weeks")
	b.hasNot(a, "name=off")
	if n := strings.Count(a.text, `<span class="clock">`); n < 13 || n > 15 {
		t.Errorf("got nightly on %d days of 14", n)
	}
}

func TestTheCalendarCountsWhatComesManyTimesADay(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	// Noon, so that today and tomorrow are full whatever the clock of the machine says.
	now := time.Now()
	r.schedule(domain.Schedule{Name: "hourly", Blueprint: "hello", Every: 3600, Start: domain.Instant(now.Truncate(time.Hour).UnixMilli())})
	b := r.as(reader)
	b.has(b.get(200, path("schedules/calendar")), "24 times, up to 23:")
}

func TestAScheduleIsPausedTriggeredAndDeleted(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	r.schedule(domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "0 2 * * *", Params: map[string]string{"who": "moon"}})
	b := r.as(admin)
	b.has(b.get(200, path("schedule?name=nightly")), "It comes next in", "nightly-20", "Pause the schedule", "Make 1 flow now",
		"ramet schedule pause nightly --context 7")
	b.has(b.get(200, path("schedule?name=nightly&tab=definition")), "moon", "skip")
	b.has(b.post(200, path("schedule/pause"), "name", "nightly"), "The schedule is paused.", "It is paused, and makes no flows", "Resume the schedule")
	b.has(b.post(200, path("schedule/resume"), "name", "nightly"), "The schedule goes on.")
	b.has(b.post(200, path("schedule/trigger"), "name", "nightly"), "Made flow:1.")
	r.ended(1)
	b.has(b.get(200, path("schedule?name=nightly&tab=flows")), `href="/console/c/7/flows/1"`, "succeeded")
	b.has(b.post(200, path("schedule/delete"), "name", "nightly"), "The schedule nightly was deleted.")
	b.post(404, path("schedule/explode"), "name", "nightly")
}

// TestAChangeOfAScheduleIsUndone: the one that somebody has seen, by who may change it, and to and fro.
func TestAChangeOfAScheduleIsUndone(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	r.schedule(domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "0 2 * * *", Params: map[string]string{"who": "moon"}})
	b := r.as(admin)
	b.hasNot(b.get(200, path("schedules")), "Undo the change")
	r.schedule(domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "0 3 * * *", Params: map[string]string{"who": "sun"}})
	list := b.get(200, path("schedules"))
	b.has(list, ">Undo<", "Undo the change")
	b.hasNot(list, "moon") // who lists them is not shown what flows are given
	a := b.get(200, path("schedule?name=nightly"))
	b.has(a, "when is 0 2 * * * UTC instead of 0 3 * * * UTC; params is who=moon instead of who=sun")
	_, changed, _ := strings.Cut(a.text, `name="changed" value="`)
	changed, _, _ = strings.Cut(changed, `"`)
	r.as(reader).hasNot(r.as(reader).get(200, path("schedule?name=nightly")), "Undo the change")
	b.has(b.post(200, path("schedule/undo"), "name", "nightly", "changed", "1"), "somebody has changed schedule &#34;nightly&#34; meanwhile")
	b.post(200, path("schedule/pause"), "name", "nightly") // is no change to undo, and stays
	b.has(b.post(200, path("schedule/undo"), "name", "nightly", "changed", changed), "The change is undone: when is 0 2 * * * UTC", "It is paused")
	b.has(b.get(200, path("schedule?name=nightly")), "when is 0 3 * * * UTC instead of 0 2 * * * UTC")
}

// TestAnUndoNamesTheEnvironmentThatItChanges without its values, and who may not read these stores no stars in their place.
func TestAnUndoNamesTheEnvironmentThatItChanges(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	yes := true
	do(r, admin, api.ContextUpdate, api.UpdateContextParams{Context: 7, TenantChange: domain.TenantChange{ExecutorsMaySubmit: &yes}})
	for _, env := range []map[string]string{{"A": "hunter2", "B": "same", "C": "gone"}, {"A": "hunter3", "B": "same", "D": "came"}} {
		r.schedule(domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "0 2 * * *", Env: env})
	}
	b, e, page := r.as(admin), r.as(executor), path("schedule?name=nightly")
	a := b.get(200, page)
	b.has(a, "env differs in A, C, D")
	b.hasNot(a, "hunter2")
	_, changed, _ := strings.Cut(a.text, `name="changed" value="`)
	changed, _, _ = strings.Cut(changed, `"`)
	e.hasNot(e.get(200, page), "hunter", "Undo the change", "schedule/edit")
	e.hasNot(e.get(200, path("schedules")), "Undo the change")
	b.has(b.get(200, path("schedules")), ">Undo<")
	b.has(a, "schedule/edit")
	e.has(e.post(200, path("schedule/undo"), "name", "nightly", "changed", changed), "This was not done", "may not read the values of env")
	e.get(403, path("schedule/edit?name=nightly"))
	defined := path("schedule?name=nightly&tab=definition")
	b.has(b.get(200, defined), "hunter3")
	said := b.post(200, path("schedule/undo"), "name", "nightly", "changed", changed)
	b.has(said, "The change is undone: env differs in A, C, D.")
	b.has(b.get(200, defined), "hunter2")
}

// TestAFormKeepsParamsThatItCannotShow: a line each would be other params, and they would be stored with whatever is changed.
func TestAFormKeepsParamsThatItCannotShow(t *testing.T) {
	for name, params := range map[string]map[string]string{
		"several lines": {"sql": "select 1\nlimit=2", "sep": "x"}, "blanks at an end": {"sep": " , "},
		"no value at all": {"a": "\n"}, "another end of lines": {"a": "b\rc\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.store(strings.Replace(hello, "who: world", `sql: "", sep: "", a: ""`, 1))
			r.routine(domain.Routine{Name: "sync", Script: "say hello", Params: params})
			r.schedule(domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "0 2 * * *", Params: params})
			b := r.as(admin)
			routine := b.get(200, path("routine/edit?name=sync"))
			schedule := b.get(200, path("schedule/edit?name=nightly"))
			for _, form := range []answer{routine, schedule} {
				b.has(form, "Its params stay as they are")
				b.hasNot(form, `name="params"`)
			}
			b.post(200, path("routine/edit"), "name", "sync", "script_type", "words", "script", "say hello", "summary", "new", "base", baseOf(routine), "act", "make")
			b.post(200, path("schedule/edit"), "name", "nightly", "blueprint", "hello", "cron", "0 2 * * *", "summary", "new", "base", baseOf(schedule), "act", "make")
			now := do(r, admin, api.RoutineShow, api.RoutineParams{Context: 7, Name: "sync"})
			if !maps.Equal(now.Params, params) || now.Summary != "new" {
				t.Errorf("the routine is %q of %q", now.Summary, now.Params)
			}
			then := do(r, admin, api.ScheduleShow, api.ScheduleShowParams{ScheduleParams: api.ScheduleParams{Context: 7, Name: "nightly"}})
			if !maps.Equal(then.Params, params) || then.Summary != "new" {
				t.Errorf("the schedule is %q of %q", then.Summary, then.Params)
			}
		})
	}
}

// sent is what a browser sends of a field of a form: an area has its lines, each with CR LF, an input has one.
func sent(t *testing.T, form answer, name string) string {
	t.Helper()
	if _, area, is := strings.Cut(form.text, `<textarea name="`+name+`"`); is {
		_, area, _ = strings.Cut(area, ">")
		area, _, _ = strings.Cut(area, "</textarea>")
		area = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(html.UnescapeString(area), "\n"))
		return strings.ReplaceAll(area, "\n", "\r\n")
	}
	_, input, is := strings.Cut(form.text, `name="`+name+`" value="`)
	if !is {
		t.Fatalf("the form has no field %q", name)
	}
	input, _, _ = strings.Cut(input, `"`)
	return strings.NewReplacer("\n", "", "\r", "").Replace(html.UnescapeString(input))
}

// TestAFormChangesNoTextThatNobodyHasChanged: it comes back as browsers send it.
func TestAFormChangesNoTextThatNobodyHasChanged(t *testing.T) {
	for _, text := range []string{"line 1\nline 2", "line 1\r\nline 2\r", "\n\nlate", "  blanks before and after ", "a tab\tand \x1b[1m",
		"one line, <b> & \"quoted\"", strings.Repeat("long ", 190)} {
		t.Run(strconv.Quote(text), func(t *testing.T) {
			r := newRig(t)
			r.store(hello)
			r.routine(domain.Routine{Name: "sync", Script: "say hello\r\n" + text, Summary: text})
			r.schedule(domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "0 2 * * *", Summary: text})
			was := do(r, admin, api.RoutineShow, api.RoutineParams{Context: 7, Name: "sync"})
			b := r.as(admin)
			edit := b.get(200, path("routine/edit?name=sync"))
			b.post(200, path("routine/edit"), "name", "sync", "script_type", "words", "script", sent(t, edit, "script"), "summary", sent(t, edit, "summary"),
				"scale", "2", "base", baseOf(edit), "act", "make")
			now := do(r, admin, api.RoutineShow, api.RoutineParams{Context: 7, Name: "sync"})
			if now.ScaleOr() != 2 || now.Summary != was.Summary || now.Script != was.Script {
				t.Errorf("the routine has %d instances, %q and %q; want 2, %q and %q", now.ScaleOr(), now.Summary, now.Script, was.Summary, was.Script)
			}
			edit = b.get(200, path("schedule/edit?name=nightly"))
			b.post(200, path("schedule/edit"), "name", "nightly", "blueprint", "hello", "cron", "0 2 * * *", "summary", sent(t, edit, "summary"),
				"overlap", "allow", "base", baseOf(edit), "act", "make")
			then := do(r, admin, api.ScheduleShow, api.ScheduleShowParams{ScheduleParams: api.ScheduleParams{Context: 7, Name: "nightly"}})
			if then.Overlap != domain.OverlapAllow || then.Summary != text {
				t.Errorf("the schedule has %q and %q; want %q", then.Overlap, then.Summary, text)
			}
		})
	}
}

// TestWhoMayNotReadAnEnvironmentEditsWhatHasNone: a blueprint that has one is not offered, and it is said why.
func TestWhoMayNotReadAnEnvironmentEditsWhatHasNone(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	r.store("name: secretive\nsteps:\n  - {name: greet, script: say hello, script_type: words, env: {A: hunter2}}\n")
	yes := true
	do(r, admin, api.ContextUpdate, api.UpdateContextParams{Context: 7, TenantChange: domain.TenantChange{ExecutorsMaySubmit: &yes}})
	e := r.as(executor)
	e.has(e.get(200, path("blueprint?name=hello")), "blueprint/edit")
	e.has(e.get(200, path("blueprint/edit?name=hello")), "say hello")
	e.has(e.post(200, path("blueprint/edit"), "text", strings.Replace(hello, "say hello", "say hi", 1)), "The text is right.")
	e.has(e.post(200, path("blueprint/edit"), "text", strings.Replace(hello, "say hello,", "say hello, env: {A: '***'},", 1)), "1 thing is wrong.",
		"environment variable A: *** stands for a value")
	e.has(e.post(200, path("blueprint/store"), "text", strings.Replace(hello, "say hello", "say hi", 1), "base", "1"), "Version 2 of hello is stored.")
	e.hasNot(e.get(200, path("blueprint?name=secretive")), "blueprint/edit", "hunter2")
	e.has(e.get(403, path("blueprint/edit?name=secretive")), "may not read the values of env of blueprint")
	r.as(admin).has(r.as(admin).get(200, path("blueprint/edit?name=secretive")), "hunter2")
}

// TestAnUndoNamesEachValueThatItChanges, also those that the form does not have. Of the environment it tells no value.
func TestAnUndoNamesEachValueThatItChanges(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	one, day := "1", domain.Span(24*3600)
	is := domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "0 2 * * *"}
	b := r.as(admin)
	r.schedule(is)
	for _, change := range []struct {
		to   func(s *domain.Schedule)
		want string
	}{
		{func(s *domain.Schedule) { s.CatchUp = &day }, "catch up is 1h instead of 24h"},
		{func(s *domain.Schedule) { s.Priority = 3 }, "priority is none instead of 3"},
		{func(s *domain.Schedule) { s.Version = 1 }, "version is the newest instead of 1"},
		{func(s *domain.Schedule) { s.From = 1_800_000_000_000 }, "from is none instead of 2027-01-15T08:00:00Z"},
		{func(s *domain.Schedule) { s.Until = 1_900_000_000_000 }, "until is none instead of 2030-03-17T17:46:40Z"},
		{func(s *domain.Schedule) { s.Env = map[string]string{"PASS": "moonlight", "A": "a"} }, "env differs in A, PASS"},
		{func(s *domain.Schedule) { s.Variables = map[string]domain.Variable{"v": {Const: &one}} },
			"variables is none instead of v={&#34;const&#34;:&#34;1&#34;}"},
		{func(s *domain.Schedule) { s.Cron, s.At = "", []domain.Instant{1_850_000_000_000} }, "at is none instead of 2028-08-16T00:53:20Z"},
		{func(s *domain.Schedule) { s.At = []domain.Instant{1_860_000_000_000} }, "at is 2028-08-16T00:53:20Z instead of 2028-12-09T18:40:00Z"},
	} {
		change.to(&is)
		r.schedule(is)
		_, undo, _ := strings.Cut(b.get(200, path("schedule?name=nightly")).text, "It becomes again")
		undo, _, _ = strings.Cut(undo, "Its flows are made")
		if !strings.Contains(undo, change.want) || strings.Contains(undo, "moonlight") || strings.Contains(undo, "; ") != strings.Contains(undo, "when is") {
			t.Errorf("got %q, want that %s and no more", undo, change.want)
		}
	}
}

func TestAReaderIsOfferedNoActOnSchedulesAndBlueprints(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	r.schedule(domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "0 2 * * *"})
	b := r.as(reader)
	for _, p := range []string{"schedule?name=nightly", "blueprint?name=hello", "blueprint?name=hello&tab=start", "blueprints", "schedules"} {
		a := b.get(200, path("%s", p))
		b.hasNot(a, `method="post" action="/console/c/7/`, "blueprint/edit", ">Start<")
	}
	for _, act := range []string{"pause", "resume", "trigger", "delete"} {
		b.has(b.post(200, path("schedule/%s", act), "name", "nightly"), "This was not done: actor")
	}
	b.has(b.post(200, path("blueprint/start"), "name", "hello", "version", "1", "act", "make"), "This was not done: actor")
	b.has(b.post(200, path("blueprint/delete"), "name", "hello"), "This was not done: actor")
	b.get(403, path("blueprint/edit"))
	b.post(403, path("blueprint/edit"), "text", hello)
	b.has(b.post(200, path("blueprint/store"), "text", hello), "This was not done: actor")
	r.as(stranger).get(403, path("schedules"))
}

func TestABlueprintIsShownComparedAndStarted(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	r.store("name: hello\nsummary: greets twice\nparams: {who: world}\nsteps:\n  - {name: greet, script: say hello, script_type: words}\n  - " +
		"{name: again, needs: greet, script: say again, script_type: words}\n")
	b := r.as(admin)
	b.has(b.get(200, path("blueprints")), "greets twice", `href="/console/c/7/blueprint?name=hello"`, "New blueprint", "ramet blueprint list")
	a := b.get(200, path("blueprint?name=hello"))
	b.has(a, "greets twice", `class="node waiting`, "again", "single", "blueprint?name=hello&amp;step=again", "ramet blueprint show hello")
	b.has(b.get(200, path("blueprint?name=hello&step=again")), "Step again", "say again")
	b.has(b.get(200, path("blueprint?name=hello&tab=source")), "script_type: words")
	b.has(b.get(200, path("blueprint?name=hello&tab=versions")), "what it changed", "version=1")
	b.has(b.get(200, path("blueprint?name=hello&tab=differences")), "From version 1 to version 2", `class="line new"`, "greets twice",
		"ramet blueprint diff hello --from 1 --to 2")
	b.has(b.get(200, path("blueprint?name=hello&version=1")), "This is version 1. The newest is 2.")
	b.has(b.get(200, path("blueprint?name=hello&version=1&tab=differences")), "This is the first version")
	b.has(b.get(200, path("blueprint?name=hello&tab=start")), `name="param.who"`, `placeholder="world"`, "Start 1 flow")
	a = b.post(400, path("blueprint/start"), "name", "hello", "version", "2", "trigger", "no blanks", "param.who", "moon", "act", "make")
	b.has(a, `class="below fault" id="about-trigger"`, `value="no blanks"`, `value="moon"`)
	a = b.post(200, path("blueprint/start"), "name", "hello", "version", "2", "trigger", "t1", "param.who", "moon") // as one types
	b.has(a, "ramet flow submit hello --version 2 --trigger t1 --param who=moon --context 7", "Makes 1 flow of version 2.")
	b.has(b.post(200, path("blueprint/start"), "name", "hello", "version", "2", "trigger", "t1", "param.who", "moon", "act", "make"), "The flow was started.")
	if v := r.ended(1); v.Params["who"] != "moon" || v.Version != 2 || v.Trigger != "t1" {
		t.Errorf("got %+v", v.Flow)
	}
	b.has(b.post(200, path("blueprint/start"), "name", "hello", "version", "2", "trigger", "t1", "act", "make"), "There was a flow of that trigger already")
	b.has(b.post(200, path("blueprint/delete"), "name", "hello"), "Blueprint hello was deleted, with 2 versions.", "No blueprint is stored yet.")
}

func TestABlueprintIsCheckedBeforeItIsStored(t *testing.T) {
	r := newRig(t)
	b := r.as(admin)
	b.has(b.get(200, path("blueprint/edit")), "name: hello", "Nothing is stored before.")
	a := b.post(200, path("blueprint/edit"), "text", "name: hello\nsteps:\n  - {name: greet, script: say, script_type: words, neds: x}\n")
	b.has(a, "1 thing is wrong.", "line 3", "neds")
	b.hasNot(a, "blueprint/store")
	a = b.post(200, path("blueprint/edit"), "text", hello)
	b.has(a, "The text is right. Stores version 1 of a new blueprint, hello.", `formaction="/console/c/7/blueprint/store"`, "greet")
	b.has(b.post(200, path("blueprint/store"), "text", hello), "Version 1 of hello is stored.")
	b.has(b.post(200, path("blueprint/edit"), "text", hello), "This is version 1 as it is stored")
	a = b.post(200, path("blueprint/edit"), "text", strings.Replace(hello, "say hello", "say hi", 1))
	b.has(a, "Stores version 2 of hello.", "say hi", "What it changes")
	b.has(b.get(200, path("blueprint/edit?name=hello")), "say hello")
	b.has(b.post(200, path("blueprint/store"), "text", "name: ["), "1 thing is wrong.")
}

func TestAnEditorDoesNotStoreOverWhatSomebodyElseStored(t *testing.T) {
	r := newRig(t)
	text := func(says string) string {
		return "name: shared\nsteps:\n  - {name: greet, script: say " + says + ", script_type: words}\n"
	}
	store := func(says string) {
		do(r, admin, api.BlueprintApply, api.ApplyBlueprintParams{Context: 7, Text: text(says)})
	}
	store("one")
	b := r.as(admin)
	b.has(b.get(200, path("blueprint/edit?name=shared")), `name="base" value="1"`)
	store("two")
	mine := text("mine")
	b.has(b.post(200, path("blueprint/edit"), "text", mine, "base", "1"), "You began with version 1; meanwhile actor 10 has stored version 2.")
	a := b.post(200, path("blueprint/store"), "text", mine, "base", "1")
	b.has(a, "You began with version 1; meanwhile actor 10 has stored version 2.", "say mine", `name="base" value="2"`)
	if got := do(r, admin, api.BlueprintShow, api.BlueprintParams{Context: 7, Name: "shared"}); got.Version != 2 {
		t.Errorf("version %d was stored", got.Version)
	}
	b.has(b.post(200, path("blueprint/store"), "text", mine, "base", "2"), "Version 3 of shared is stored.")
	b.has(b.post(200, path("blueprint/store"), "text", text("new"), "base", "x"), "The text is right.", "say new") // it was not there when one began
	if got := do(r, admin, api.BlueprintShow, api.BlueprintParams{Context: 7, Name: "shared"}); got.Version != 3 {
		t.Errorf("version %d was stored by who knew of none", got.Version)
	}
}

func TestLargeBlueprintsCanBeTyped(t *testing.T) {
	watched.Large(t)
	r := newRig(t)
	b := r.as(admin)
	var text strings.Builder
	text.WriteString("name: large\nsteps:\n")
	for i := range 4000 {
		fmt.Fprintf(&text, "  - {name: s%d, script_type: words, script: \"say %s\"}\n", i, strings.Repeat("ü", 20))
	}
	b.has(b.post(200, path("blueprint/store"), "text", text.String()), "Version 1 of large is stored.")
	b.has(b.get(200, path("blueprint?name=large")), "4,000 steps are too many to draw. Its source has all of them.")
}

func TestHostileTextsInSchedulesAndBlueprints(t *testing.T) {
	r := newRig(t)
	all := strings.ReplaceAll(strings.ToValidUTF8(strings.Join(acts, " "), ""), "\x00", "")
	do(r, admin, api.BlueprintApply, api.ApplyBlueprintParams{Context: 7, Blueprint: domain.Blueprint{Name: "hostile", Summary: all,
		Params: map[string]string{"p": all},
		Steps:  []domain.Step{{Name: "x", Summary: all, Script: all, ScriptType: "words"}}}})
	r.schedule(domain.Schedule{Name: "hostile", Blueprint: "hostile", Cron: "0 2 * * *", Summary: all, Params: map[string]string{"p": all}})
	b := r.as(admin)
	for _, p := range []string{"schedules", "schedules/calendar", "schedule?name=hostile", "schedule?name=hostile&tab=definition",
		"schedule?name=hostile&tab=history",
		"blueprints", "blueprint?name=hostile", "blueprint?name=hostile&step=x", "blueprint?name=hostile&tab=source", "blueprint?name=hostile&tab=start",
		"schedules?blueprint=" + url.QueryEscape(acts[0]), "schedules?state=" + url.QueryEscape(acts[1])} {
		harmless(t, b.get(200, path("%s", p)))
	}
	for _, text := range acts {
		q := url.QueryEscape(text)
		for _, p := range []string{"schedule?name=" + q, "blueprint?name=" + q, "blueprint?name=hostile&step=" + q, "blueprint/edit?name=" + q} {
			harmless(t, b.send(statusAny, "GET", path("%s", p), ""))
		}
		harmless(t, b.post(statusAny, path("schedule/pause"), "name", text))
	}
	b.has(b.get(400, path("blueprint/edit?name=hostile")), "cannot be seen")
	b.hasNot(b.get(200, path("blueprint?name=hostile")), "blueprint/edit?name=hostile") // it is not offered, and says why
	b.has(b.get(200, path("blueprint?name=hostile")), "cannot be seen")
}

// What the form says of what is typed is what would come of it: no number that it does not
// take, no button for what has nothing to do, and none in the lead where something is wrong.
func TestTheBackfillFormSaysWhatItTakes(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	r.schedule(domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "30 0 * * *", Zone: "Europe/Berlin"})
	b := r.as(admin)
	const button = `name="act" value="make"`
	ask := func(from, to, most string, more ...string) answer {
		t.Helper()
		return b.post(200, path("schedule/backfill"), append([]string{"name", "nightly", "from", from, "to", to, "max", most}, more...)...)
	}
	a := ask("2025-02-01", "2025-02-03", "1") // days are those of its zone, as at the command
	b.has(a, "Makes 2 flows of 2 past times", "By the clocks of Europe/Berlin", "Sat 2025-02-01 00:30:00 CET",
		"nightly-20250131233000", "nightly-20250201233000", `class="primary" `+button, "--from 2025-02-01 --to 2025-02-03")
	b.has(ask("2025-02-32", "2025-02-03", "1"), "or a day: 2026-01-31", `id="about-from"`)

	a = ask("2025-02-01", "2025-02-03", "abc")
	b.has(a, "want a number up to 100", button)
	b.hasNot(a, "4294967295", `class="primary" `+button)
	a = ask("", "", "", "act", "check")
	b.has(a, `class="below fault" id="about-from"`, `class="below fault" id="about-to"`)
	b.hasNot(ask("", "", ""), `class="below fault"`) // a script asks as one types

	for _, trigger := range []string{"nightly-20250131233000", "nightly-20250201233000"} {
		do(r, admin, api.FlowSubmit, api.SubmitFlowParams{Context: 7, FlowInput: api.FlowInput{Blueprint: "hello", Trigger: trigger}})
	}
	a = ask("2025-02-01", "2025-02-03", "1")
	b.has(a, "There is nothing to make: 2 past times have their flows already.")
	b.hasNot(a, button)
	// Who sends it all the same is told so, as at the other doors.
	b.has(b.post(400, path("schedule/backfill"), "name", "nightly", "from", "2025-02-01", "to", "2025-02-03", "max", "1", "act", "make"),
		"there is nothing to make: 2 of 2 times")
}

func TestASchedulesPageCountsTheFlowsOfABackfill(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	r.schedule(domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "0 2 * * *"})
	r.setState("nightly", domain.ScheduleState{NextMs: time.Now().Add(time.Hour).UnixMilli(),
		Backfill: &domain.Backfill{From: 1_767_225_600_000, To: 1_767_484_800_000, Max: 1, Status: domain.BackfillFinished, Total: 3, Made: 3}})
	b := r.as(admin)
	b.has(b.get(200, path("schedule?name=nightly")), "0 flows, and 3 by its last backfill", "finished: 3 of 3 made")
}

// What a schedule leaves out by its own rule is no trouble; one clock has it all.
func TestASkippedTimeIsNoTrouble(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	r.schedule(domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "0 2 * * *", Zone: "Asia/Tokyo"})
	next := time.Now().Truncate(24 * time.Hour).Add(48*time.Hour - 7*time.Hour) // 02:00 there
	s := domain.ScheduleState{NextMs: next.UnixMilli(), LastMs: 1000, LastFlow: 4, LastError: domain.SkippedFor(4)}
	r.setState("nightly", s)
	b := r.as(admin)
	a := b.get(200, path("schedule?name=nightly"))
	b.has(a, "02:00:00 JST", "The last time was skipped: flow:4 of the time before had not ended.")
	b.hasNot(a, "in trouble", "17:00:00 UTC")
	b.hasNot(b.get(200, path("schedules")), "made no flow the last time")
	s.LastError = "context 7 is full"
	r.setState("nightly", s)
	b.has(b.get(200, path("schedule?name=nightly")), "in trouble", "context 7 is full")
}

func TestABackfillSaysHowManyBeforeItBegins(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	r.schedule(domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "0 2 * * *"})
	b := r.as(admin)
	b.has(b.get(200, path("schedule?name=nightly")), `href="/console/c/7/schedule/backfill?name=nightly"`)
	b.has(b.get(200, path("schedule/backfill?name=nightly")), "ramet schedule backfill nightly --from TIME --to TIME --context 7")
	ask := []string{"name", "nightly", "from", "2026-01-01T00:00:00Z", "to", "2026-01-04T00:00:00Z", "max", "2"}
	a := b.post(200, path("schedule/backfill"), ask...)
	b.has(a, "Makes 3 flows of 3 past times, 2 at once.", "nightly-20260102020000", "Begin: 3 flows",
		"ramet schedule backfill nightly --from 2026-01-01T00:00:00Z --to 2026-01-04T00:00:00Z --max 2 --context 7")
	if s := do(r, admin, api.ScheduleShow, api.ScheduleShowParams{ScheduleParams: api.ScheduleParams{Context: 7, Name: "nightly"}}); s.State.Backfill != nil {
		t.Fatalf("looking began %v", s.State.Backfill)
	}
	for field, value := range map[string]string{"from": "soon", "to": "2999-01-01T00:00:00Z", "max": "101"} {
		bad := append(append([]string{}, ask...), "act", "make")
		for i := 0; i < len(bad); i += 2 {
			if bad[i] == field {
				bad[i+1] = value
			}
		}
		b.has(b.post(400, path("schedule/backfill"), bad...), `class="below fault" id="about-`+field+`"`, value)
	}
	// Its page may say a moment later that it has ended: what is said of its begin stays true.
	b.has(b.post(200, path("schedule/backfill"), append(ask, "act", "make")...), "The backfill of 3 past times has begun, and goes on by itself.")
	b.has(b.get(200, path("schedule?name=nightly")), "Cancel backfill")
	b.hasNot(b.get(200, path("schedule?name=nightly")), "schedule/backfill?name")
	b.get(404, path("schedule/backfill?name=none"))
	b.hasNot(r.as(reader).get(200, path("schedule?name=nightly")), "schedule/backfill")
	r.as(reader).get(403, path("schedule/backfill?name=nightly"))
	r.as(reader).post(403, path("schedule/backfill"), append(ask, "act", "make")...)
}
