package console_test

import (
	"fmt"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// run makes a flow of blueprint "count" that has ended.
func (r *rig) run(trigger, script string, params map[string]string) domain.FlowID {
	r.Helper()
	done := do(r, admin, api.FlowSubmit, api.SubmitFlowParams{Context: 7, FlowInput: api.FlowInput{File: "b.yaml", Trigger: trigger, Params: params,
		Text: "name: count\nparams: {shop: \"1\", closed: \"0\"}\nsteps:\n" +
			"  - {name: a, script_type: words, script: \"" + script + "\"}\n  - {name: b, needs: a, script_type: words, script: say b}\n"}})
	r.ended(done.Flows[0].ID)
	return done.Flows[0].ID
}

func TestTwoRunsAreCompared(t *testing.T) {
	r := newRig(t)
	well := r.run("mon", "sum=4", nil)
	bad := r.run("tue", "fail", map[string]string{"closed": "<b>3</b>"})
	b := r.as(reader)
	a := b.get(200, path("flows/compare?a=%d&b=%d", well, bad))
	b.has(a, "count mon and count tue", "2 steps ended otherwise. The first: a succeeded in flow 1, and failed in flow 2.", "closed", "&lt;b&gt;3&lt;/b&gt;",
		"1 more value is the same.", "exit code 3", `class="of" data-of="Flow 2"`, "ramet flow show 1 --context 7; ramet flow show 2 --context 7")
	b.has(b.get(200, path("flows/compare?b=%d", bad)), "count mon and count tue") // the run before
	b.has(b.get(404, path("flows/compare?b=%d", well)), "there is no earlier run")
	b.has(b.get(200, path("flows/compare?a=1&b=1")), "All steps ended alike.", "They were given the same.", "Their results are the same.")
	b.has(b.get(200, path("flows/%d", bad)), "flows/compare?b=2")
	b.hasNot(b.get(200, path("flows/%d", well)), "flows/compare?b=1") // it would lead to nothing
	var open [2]domain.FlowID
	for i := range open {
		open[i] = r.flow("name: open\nsteps: [{name: look, kind: approval}]\n")
		r.deciding(open[i])
	}
	a = b.get(200, path("flows/compare?a=%d&b=%d", open[0], open[1]))
	b.has(a, "So far all steps stand alike", `class="sentence running"`)
	b.has(b.get(200, path("flows/many?act=compare&key=flow%%3A2&key=flow%%3A1")), "count mon and count tue")
	b.has(b.get(400, path("flows/many?act=compare&key=flow%%3A2")), "tick 2 of them")
	b.post(400, path("flows/many"), "act", "compare", "key", "flow:1")
	for _, p := range []string{"flows/compare", "flows/compare?a=x&b=2", "flows/compare?a=1&b=%3Cscript%3E"} {
		harmless(t, b.get(400, path("%s", p)))
	}
	b.get(404, path("flows/compare?a=1&b=99"))
	r.as(stranger).get(403, path("flows/compare?a=1&b=2"))
}

// TestTheRunBeforeIsFoundBelowOthers: far below, too, where a page offers to look for it.
func TestTheRunBeforeIsFoundBelowOthers(t *testing.T) {
	r := newRig(t)
	first := r.run("mon", "sum=4", nil)
	for range 600 { // more than a page of the list
		r.flow("name: open\nsteps: [{name: look, kind: approval}]\n")
	}
	second := r.run("tue", "sum=5", nil)
	r.run("wed", "sum=6", nil) // made after it, and none of those before
	b := r.as(reader)
	b.has(b.get(200, path("flows/%d", second)), fmt.Sprintf("flows/compare?b=%d", second))
	b.has(b.get(200, path("flows/compare?b=%d", second)), "count mon and count tue")
	b.get(404, path("flows/compare?b=%d", first))
}
