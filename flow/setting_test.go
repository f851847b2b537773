package flow_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

// A job changes a step that has not begun also in a flow of nothing but single steps.
func TestAJobSetsTheRetriesOfASingleStep(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("a", "set steps.b.retries 1"), step("b", "failonce", needs("a")))
		r.want(id, domain.FlowSucceeded, "a succeeded", "b succeeded")
		if x := r.explained(id); strings.Contains(x, "steps.") {
			t.Errorf("explained: %s", x)
		}
	})
}

// What changes nothing is told by the job's log, where that can be known, and by the flow.
func TestSettingsThatChangeNothingAreTold(t *testing.T) {
	bubble(t, func(r *rig) {
		jobs := r.submit(flow.Request{Jobs: []*domain.Job{job(1, "set steps.2.retries 1"), job(2, "", 1)}})
		r.want(jobs, domain.FlowSucceeded)
		steps := r.steps(step("load", "set steps.laod.retries 1\nset steps.load.shard.count 3\nset steps.load.retrys 2\nset steps.load 2"))
		r.want(steps, domain.FlowSucceeded)
		for id, says := range map[domain.FlowID][]string{
			jobs: {"steps.2.retries changes nothing: the flow is one of jobs"},
			steps: {`steps.laod.retries changes nothing: there is no step "laod"; did you mean "load"?`,
				"steps.load.shard.count changes nothing: step load is of kind single",
				"steps.load.retrys changes nothing: did you mean steps.load.retries?", "steps.load changes nothing: want steps.<step>. and one of pack.end, "},
		} {
			for _, want := range says {
				if x := r.explained(id); !strings.Contains(x, want) {
					t.Errorf("explained: %s, want %s", x, want)
				}
			}
		}
		for id, says := range map[domain.FlowID]string{jobs: "steps.2.retries changes nothing", steps: "steps.load.retrys changes nothing"} {
			key, err := domain.ParseJobKey(r.show(id).Steps[0].Job)
			if err != nil {
				t.Fatal(err)
			}
			if lines, err := r.board.List(r.ctx, 1, layout.Logs(key), 0, 9); err != nil || !strings.Contains(strings.Join(lines, "\n"), says) {
				t.Errorf("the log: %v, %v", lines, err)
			}
		}
	})
}

func (r *rig) explained(id domain.FlowID) string {
	r.Helper()
	x, err := r.flows.Explain(r.ctx, tenant, id)
	if err != nil {
		r.Fatal(err)
	}
	return x.Text
}
