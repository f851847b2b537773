package flow_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	parsing "github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/blueprint/trial"
	"github.com/ramet-run/ramet/document/documenttest"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/watched"
)

// The tests of the examples are right, show all of their blueprints, and are as their schema says.
func TestTheTestsOfTheExamples(t *testing.T) {
	files, err := filepath.Glob("../examples/*/*_test.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("got %q, %v", files, err)
	}
	for _, file := range files {
		r, err := trial.Run(t.Context(), file, "", flow.Play)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if r.Failed() > 0 || len(r.Coverage) > 0 {
			var text strings.Builder
			_ = r.Text(&text, true, true)
			t.Error(text.String())
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := documenttest.Validate(t, trial.Schema(), string(text)); err != nil {
			t.Errorf("%s: its schema says %v", file, err)
		}
	}
}

const kindsText = `
name: kinds
params: {day: monday, extra: ""}
steps:
  - {name: list, script: x, script_type: shell}
  - {name: each, needs: list, each: parse_json(needs.list.result.towns), window: 2, script: x, script_type: shell, may_fail: true}
  - {name: shards, needs: list, shard: {count: 3, start: 1}, script: x, script_type: shell}
  - {name: packs, needs: list, pack: {size: 10}, script: x, script_type: shell}
  - {name: big, needs: each, when: needs.each.results.len() > 5, script: x, script_type: shell}
  - name: tell
    needs: [each, list]
    effect: {target: mail, payload: '#{towns: needs.each.results.map(|r| r.letters), day: params.day, got: needs.list.result.n}'}
  - {name: pay, needs: list, effect: {target: bank, params: {to: "account of ${extra}"}}}
  - {name: late, after: 2030-01-01T00:00:00Z, script: x, script_type: shell}
  - {name: last, phase: 1, script: x, script_type: shell, when: needs.each.state == "failed_accepted"}
`

func playText(t *testing.T, text string, ask trial.Ask, ends map[string]trial.End) trial.Played {
	t.Helper()
	b, err := parsing.Parse("kinds.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := flow.Play(t.Context(), b, ask, func(j trial.Job) trial.End {
		for _, name := range []string{fmt.Sprintf("%s:%d", j.Step, j.Index), j.Step} {
			if e, ok := ends[name]; ok {
				return e
			}
		}
		return trial.End{End: trial.Succeeded}
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryKindOfStepIsPlayed(t *testing.T) {
	p := playText(t, kindsText, trial.Ask{Params: map[string]string{"day": "friday"}}, map[string]trial.End{
		"list": {End: trial.Succeeded, Result: map[string]string{"towns": `["Oslo", "Rome", {"n": 1.0}]`, "n": "7", "params.extra": "ann",
			"steps.packs.pack.end": "24"}},
		"each:0": {End: trial.Succeeded, Result: map[string]string{"letters": "4", "params.seen": "yes"}},
		"each:1": {End: trial.Failed, Text: "closed"},
	})
	if p.End != "succeeded" || p.Why != "" {
		t.Errorf("it ended as %s, %s", p.End, p.Why)
	}
	want := map[string]string{"list": "succeeded", "each": "failed_accepted", "shards": "succeeded", "packs": "succeeded", "big": "skipped", "tell": "succeeded",
		"pay": "succeeded", "late": "succeeded", "last": "succeeded"}
	if diff := cmp.Diff(want, p.States); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	var jobs []string
	for _, j := range p.Jobs {
		jobs = append(jobs, strings.TrimSpace(fmt.Sprintf("%s %d %s%s%s", j.Step, j.Index, j.Range, j.Item, j.Payload)))
	}
	slices.Sort(jobs)
	if diff := cmp.Diff([]string{
		`each 0 "Oslo"`, `each 1 "Rome"`, `each 2 {"n":1.0}`, "last 0", "late 0", "list 0", "packs 0 0-9", "packs 1 10-19", "packs 2 20-24",
		`pay 0 {"to":"account of ann"}`, "shards 1", "shards 2", `tell 0 {"day":"friday","got":"7","towns":["4",null,null]}`,
	}, jobs); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	last := p.Jobs[len(p.Jobs)-1]
	if last.Step != "last" || last.Params["seen"] != "yes" || last.Params["extra"] != "ann" || last.Params["day"] != "friday" {
		t.Errorf("the last is %+v", last)
	}
	if p.Jobs[0].Params["extra"] != "" {
		t.Error("the first finds what it added itself")
	}
	if p.Result["list.n"] != "7" || p.Result["each.results"] != "" && !json.Valid([]byte(p.Result["each.results"])) {
		t.Errorf("got the result %v", p.Result)
	}
	if p.Whens["big"] || !p.Whens["last"] {
		t.Errorf("conditions were %v", p.Whens)
	}
}

func TestTheHookOfAnEndIsPlayed(t *testing.T) {
	const text = `
name: hooked
params: {day: monday}
on:
  failed: {effect: {target: chat, params: {text: "${hook_reason} on ${params.day}: ${needs.load.rows} rows"}}}
  errored: {effect: {target: chat, payload: '#{why: needs.send.state, on: hook.on, rows: parse_int(needs.load.result.rows)}'}}
  succeeded: {script: x, script_type: shell, params: {how: well}}
steps:
  - {name: load, script: x, script_type: shell}
  - {name: send, needs: load, script: x, script_type: shell}
`
	load := trial.End{End: trial.Succeeded, Result: map[string]string{"rows": "7"}}
	for end, want := range map[string]string{
		trial.Failed: `{"text":"failed on monday: 7 rows"}`, trial.Errored: `{"on":"errored","rows":7,"why":"errored"}`, trial.Succeeded: "",
	} {
		p := playText(t, text, trial.Ask{}, map[string]trial.End{"load": load, "send": {End: end}})
		if h := p.Hook; h == nil || h.On != end || string(h.Payload) != want || h.Fault != "" || h.Params["day"] != "monday" ||
			(end == trial.Succeeded) != (h.Params["how"] == "well") {
			t.Errorf("after %s: %+v, want %s", end, h, want)
		}
	}
	p := playText(t, text, trial.Ask{}, map[string]trial.End{"load": {End: trial.Errored}})
	if h := p.Hook; h == nil || !strings.Contains(h.Fault, "payload: ") {
		t.Errorf("what the payload names is not there, and it is %+v", h)
	}
}

const withinText = `
name: within
params: {day: monday}
steps:
  - {name: list, script: x, script_type: shell}
  - name: towns
    needs: list
    each: parse_json(needs.list.result.towns)
    key: item.name
    retries: 2
    may_fail: true
    flow: {blueprint: town, params: {name: "${item.name}", day: "${day}", at: "${key}/${index}"}, trigger: "${day}-${key}"}
  - {name: capital, needs: list, flow: {blueprint: town, params: {name: "${needs.list.capital}"}}}
  - {name: sum, needs: [towns, capital], when: 'needs.towns.results[0].n == "4" && needs.capital.result.n == "5"', script: x, script_type: shell}
`

// Of flows within flows the case says how they end; what they are given is there to be compared.
func TestFlowsWithinArePlayed(t *testing.T) {
	p := playText(t, withinText, trial.Ask{}, map[string]trial.End{
		"list":    {End: trial.Succeeded, Result: map[string]string{"towns": `[{"name": "Oslo"}, {"name": "Rome"}]`, "capital": "Paris"}},
		"towns:0": {End: trial.Succeeded, Result: map[string]string{"n": "4", "params.day": "its own"}},
		"towns:1": {End: trial.Failed, Text: "closed"},
		"capital": {End: trial.Succeeded, Result: map[string]string{"n": "5"}},
	})
	if p.End != "succeeded" || p.Why != "" {
		t.Errorf("it ended as %s, %s", p.End, p.Why)
	}
	if diff := cmp.Diff(map[string]string{"list": "succeeded", "towns": "failed_accepted", "capital": "succeeded", "sum": "succeeded"}, p.States); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	var jobs []string
	for _, j := range p.Jobs {
		params, _ := json.Marshal(j.Params)
		jobs = append(jobs, fmt.Sprintf("%s %d %s %s %s", j.Step, j.Index, j.Item, j.Trigger, params))
	}
	slices.Sort(jobs)
	if diff := cmp.Diff([]string{
		`capital 0   {"name":"Paris"}`, `list 0   {"day":"monday"}`, `sum 0   {"day":"monday"}`,
		`towns 0 {"name":"Oslo"} monday-Oslo {"at":"Oslo/0","day":"monday","name":"Oslo"}`,
		`towns 1 {"name":"Rome"} monday-Rome {"at":"Rome/1","day":"monday","name":"Rome"}`,
	}, jobs); diff != "" {
		t.Errorf("jobs and flows (-want +got):\n%s", diff)
	}
	if p.Result["capital.n"] != "5" || p.Result["towns.results"] != `[{"n":"4"},{}]` {
		t.Errorf("got the result %v", p.Result)
	}
}

// What a flow within cannot be given, and names that elements cannot have, end the step as on a node.
func TestWhatAFlowWithinCannotBeGivenIsPlayed(t *testing.T) {
	for list, want := range map[string]string{
		`[{"name": "Oslo"}, {"name": "Oslo"}]`: "elements 0 and 1 have the same name",
		`[{"called": "Oslo"}]`:                 "element 0",
		`[]`:                                   "",
	} {
		p := playText(t, withinText, trial.Ask{}, map[string]trial.End{"list": {End: trial.Succeeded, Result: map[string]string{"towns": list, "capital": "Paris"}}})
		if got := p.Texts["towns"]; !strings.Contains(got, want) || want == "" && p.States["towns"] != "succeeded" {
			t.Errorf("%s: the step is %s, %q, want %q", list, p.States["towns"], got, want)
		}
	}
	p := playText(t, withinText, trial.Ask{}, map[string]trial.End{"list": {End: trial.Succeeded, Result: map[string]string{"towns": "[]"}}})
	if p.States["capital"] != "errored" || !strings.Contains(p.Texts["capital"], "has no capital") {
		t.Errorf("capital is %s: %s", p.States["capital"], p.Texts["capital"])
	}
}

const askText = `
name: ask
steps:
  - {name: sign, approval: {answers: {amount: {type: number, max: 100, required: true}}}}
  - {name: pay, needs: sign, when: parse_float(needs.sign.result.amount) > 10.0, script: x, script_type: shell}
`

func TestAnswersArePlayed(t *testing.T) {
	p := playText(t, askText, trial.Ask{}, map[string]trial.End{"sign": {End: trial.Approved, Text: "well", Result: map[string]string{"amount": "48"}}})
	if p.End != "succeeded" || p.States["pay"] != "succeeded" || p.Result["sign.amount"] != "48" {
		t.Errorf("got %+v", p)
	}
	b, err := parsing.Parse("ask.yaml", []byte(askText))
	if err != nil {
		t.Fatal(err)
	}
	_, err = flow.Play(t.Context(), b, trial.Ask{}, func(trial.Job) trial.End {
		return trial.End{End: trial.Approved, Result: map[string]string{"amount": "900"}}
	})
	if err == nil || !strings.Contains(err.Error(), "step sign") || !strings.Contains(err.Error(), "amount") {
		t.Errorf("a wrong answer: %v", err)
	}
}

func TestWhatCannotBePlayed(t *testing.T) {
	watched.Alone(t)
	b, err := parsing.Parse("x.yaml", []byte("name: x\nsteps:\n- {name: a, script: x, script_type: shell, pack: {size: 1, endless: true}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	well := func(trial.Job) trial.End { return trial.End{End: trial.Succeeded} }
	if _, err := flow.Play(t.Context(), b, trial.Ask{}, well); err == nil || !strings.Contains(err.Error(), "give an endless step an end") {
		t.Errorf("got %v", err)
	}
	if _, err := flow.Play(t.Context(), b, trial.Ask{Skip: []string{"b"}}, well); err == nil || !strings.Contains(err.Error(), "no step") {
		t.Errorf("got %v", err)
	}
	setting := func(trial.Job) trial.End {
		return trial.End{End: trial.Succeeded, Result: map[string]string{"steps.a.colour": "red"}}
	}
	if _, err := flow.Play(t.Context(), b, trial.Ask{}, setting); err == nil {
		t.Error("a setting that there is not is taken")
	}
}

// What is played ends as what is run, where the jobs end so.
func TestWhatIsPlayedIsWhatIsRun(t *testing.T) {
	for name, steps := range map[string][]domain.Step{
		"all well":        {step("a", ""), step("b", "", needs("a")), step("c", "", shards(4, 2))},
		"a failure":       {step("a", "fail"), step("b", "", needs("a")), step("c", "", func(s *domain.Step) { s.Phase = 1 })},
		"an accepted one": {step("a", "fail", mayFail), step("b", "", needs("a"))},
		"a range":         {step("a", "", packs(10, 0, 34)), step("b", "", needs("a"), func(s *domain.Step) { s.When = `needs.a.state == "failed"` })},
		"a later phase": {step("a", "fail"), step("b", "", needs("a"), func(s *domain.Step) { s.Phase = 2 }),
			step("c", "", func(s *domain.Step) { s.Phase = 1 })},
		"a wrong condition": {step("a", ""), step("b", "", needs("a"), func(s *domain.Step) { s.When = `parse_int(needs.a.result.n) > 1` })},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				id := r.steps(steps...)
				v, err := r.flows.Wait(r.ctx, tenant, id, nil)
				if err != nil {
					t.Fatal(err)
				}
				states := map[string]string{}
				for i := range v.Steps {
					states[v.Steps[i].Name] = string(v.Steps[i].Status)
				}
				p, err := flow.Play(r.ctx, blueprint(steps...), trial.Ask{}, func(j trial.Job) trial.End {
					for i := range steps {
						if steps[i].Name == j.Step && strings.Contains(steps[i].Script, "fail") {
							return trial.End{End: trial.Failed}
						}
					}
					return trial.End{End: trial.Succeeded}
				})
				if err != nil {
					t.Fatal(err)
				}
				if p.End != string(v.Reason) {
					t.Errorf("it is played as %s, %s, and ends as %s, %s", p.End, p.Why, v.Reason, v.Error)
				}
				if diff := cmp.Diff(states, p.States); diff != "" {
					t.Errorf("states (-run +played):\n%s", diff)
				}
			})
		})
	}
}

// A flow within ends its step, and hands on its result, as it is played.
func TestAFlowWithinIsPlayedAsItIsRun(t *testing.T) {
	for script, end := range map[string]trial.End{
		"set rows 7": {End: trial.Succeeded, Result: map[string]string{"work.rows": "7", "rows": "7"}},
		"fail":       {End: trial.Failed},
		"crash":      {End: trial.Errored},
	} {
		t.Run(script, func(t *testing.T) {
			within(t, newCatalog(named("child", nil, step("work", script))), func(r *rig) {
				p := blueprint(step("a", ""), call("sub", "child", nil, needs("a")),
					step("b", "", needs("sub"), func(s *domain.Step) { s.When = `needs.sub.result.rows == "7"` }), step("c", "", phase(1)))
				v, err := r.flows.Wait(r.ctx, tenant, r.submit(flow.Request{Plan: p}), nil)
				if err != nil {
					t.Fatal(err)
				}
				played, err := flow.Play(r.ctx, p, trial.Ask{}, func(j trial.Job) trial.End {
					if j.Step == "sub" {
						return end
					}
					return trial.End{End: trial.Succeeded}
				})
				if err != nil {
					t.Fatal(err)
				}
				states := map[string]string{}
				for i := range v.Steps {
					states[v.Steps[i].Name] = string(v.Steps[i].Status)
				}
				if diff := cmp.Diff(states, played.States); diff != "" || played.End != string(v.Reason) {
					t.Errorf("it is played as %s and ends as %s; states (-run +played):\n%s", played.End, v.Reason, diff)
				}
				if v.Result["sub.rows"] != played.Result["sub.rows"] {
					t.Errorf("its result has %v, and is played as %v", v.Result, played.Result)
				}
			})
		})
	}
}
