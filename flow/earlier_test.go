package flow_test

import (
	"fmt"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// TestExpressionsFindAllStepsBeforeTheirs: those that a step needs through others, too, and those
// of all smaller phases; by name, and where they are counted.
func TestExpressionsFindAllStepsBeforeTheirs(t *testing.T) {
	const far = `needs.first.result.x == "1" && needs.list.results[1].was == "8@1"`
	within(t, newCatalog(named("child", map[string]string{"x": ""}, step("c", "param x"))), func(r *rig) {
		id := r.steps(step("first", "set x 1\nset towns [7,8]"), step("list", "item was", each("parse_json(needs.first.result.towns)", 0), needs("first")),
			step("middle", "", needs("list")),
			step("when", "", func(s *domain.Step) { s.When = far }, needs("middle")),
			step("until", "", repeat(far+" && result.len() > 0", 1, 0), needs("middle")),
			step("each", "", each("parse_json(needs.first.result.towns)", 0), needs("middle")),
			step("matrix", "", matrix("a", `"needs.list.results"`), needs("middle")),
			call("flow", "child", []string{"x", "${needs.first.x}"}, needs("middle")),
			step("all", "", func(s *domain.Step) { s.When = "needs.len() == 3" }, needs("middle")),
			step("two", "", phase(1)), step("three", "", phase(2), func(s *domain.Step) { s.When = far }))
		v := r.want(id, domain.FlowSucceeded, "when succeeded", "until succeeded", "each succeeded", "matrix succeeded", "flow succeeded", "all succeeded",
			"three succeeded")
		if v.Result["flow.x"] != "1" && v.Result["flow.c.x"] != "1" {
			t.Errorf("the flow was told %v", v.Result)
		}
	})
}

// TestALargeFlowFindsThemToo, where a round knows but a few of the steps.
func TestALargeFlowFindsThemToo(t *testing.T) {
	bubble(t, func(r *rig) {
		r.flows.Spread(0, 1, 0)
		steps := []domain.Step{step("s0", "set x 1")}
		for i := 1; i < 40; i++ {
			steps = append(steps, step(fmt.Sprint("s", i), "", needs(fmt.Sprint("s", i-1)), func(s *domain.Step) { s.When = `needs.s0.result.x == "1"` }))
		}
		r.want(r.submit(flow.Request{Plan: blueprint(steps...)}), domain.FlowSucceeded, "s39 succeeded")
	})
}
