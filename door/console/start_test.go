package console_test

import (
	"strings"
	"testing"
)

const asking = `name: asking
inputs:
  - {name: day, required: true, pattern: '\d{4}-\d\d-\d\d', description: Which day is counted}
  - {name: loud, type: flag, default: "true"}
  - {name: quiet, type: flag}
  - {name: mode, enum: [fast, slow], default: slow}
  - {name: times, type: integer, min: "1", max: "9"}
steps: [{name: a, script: say a, script_type: words}]
`

func TestTheStartFormAsksForEachInput(t *testing.T) {
	r := newRig(t)
	r.store(asking)
	b, form := r.as(admin), path("blueprint/start")
	b.has(b.get(200, path("blueprint?name=asking&tab=start")), `name="param.day"`, " required", "Which day is counted",
		`type="checkbox" name="param.loud" value="true" checked`,
		`<select name="param.quiet"`, `<option selected></option><option>true</option><option>false</option>`, `<option>fast</option><option selected>slow</option>`,
		"ramet flow submit asking --version 1 --context 7")
	// As one types, what is missing is no fault yet, and what is wrong is said where it stands.
	typed := []string{"name", "asking", "version", "1", "param.loud", "true", "param.mode", "slow", "param.times", "12"}
	a := b.post(200, form, typed...)
	b.has(a, "Day is required", `class="below fault" id="about-param.times"`)
	b.hasNot(a, `class="below fault" id="about-param.day"`, "loud=")
	// All that is wrong is said at once, and nothing is made.
	a = b.post(400, form, append(typed, "param.day", "today", "act", "make")...)
	b.has(a, `class="below fault" id="about-param.times"`, `class="below fault" id="about-param.day"`, `value="today"`, "--param day=today --param times=12")
	a = b.post(200, form, "name", "asking", "version", "1", "param.day", "2026-11-27", "param.loud", "false",
		"param.quiet", "true", "param.mode", "fast", "param.times", "3", "act", "make")
	b.has(a, "The flow was started.")
	if v := r.ended(1); v.Params["loud"] != "false" || v.Params["quiet"] != "true" || v.Params["mode"] != "fast" || v.Params["times"] != "3" {
		t.Errorf("got %v", v.Params)
	}
}

func TestAScheduleIsChangedByItsForm(t *testing.T) {
	r := newRig(t)
	r.store("name: hello\nparams: {who: world}\nsteps: [{name: a, script: say a, script_type: words}]\n")
	b := r.as(admin)
	b.post(200, path("schedules/new"), "name", "night", "blueprint", "hello", "cron", "0 2 * * *", "zone", "Europe/Berlin", "params", "who=moon", "act", "make")
	b.has(b.get(200, path("schedule?name=night")), `href="/console/c/7/schedule/edit?name=night"`)
	a := b.get(200, path("schedule/edit?name=night"))
	b.has(a, `value="0 2 * * *"`, `value="Europe/Berlin"`, "who=moon", `<input type="hidden" name="name" value="night">`)
	_, base, _ := strings.Cut(a.text, `name="base" value="`)
	base, _, _ = strings.Cut(base, `"`)
	form := []string{"name", "night", "base", base, "blueprint", "hello", "every", "6h", "params", "who=sun"}
	b.has(b.post(200, path("schedule/edit"), form...), "From now on the schedule makes a flow of hello")
	b.has(b.post(200, path("schedule/edit"), append(form, "act", "make")...), "The schedule night was changed", "every 6h")
	b.has(b.post(400, path("schedule/edit"), append(form, "act", "make")...), "somebody has changed or deleted schedule")
	// All that is wrong stands where it was typed.
	a = b.post(400, path("schedules/new"), "name", "9 lives", "blueprint", "none", "every", "often", "params", "who", "act", "make")
	for _, field := range []string{"name", "blueprint", "every", "params"} {
		b.has(a, `class="below fault" id="about-`+field+`"`)
	}
	r.as(reader).get(403, path("schedule/edit?name=night"))
}
