package console_test

import (
	"fmt"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
)

// TestAnApprovalIsAFormWithWhatItAsks: for those who may decide, and nobody else.
func TestAnApprovalIsAFormWithWhatItAsks(t *testing.T) {
	r := newRig(t)
	id := r.flow(fmt.Sprintf(`name: asks
steps:
  - name: look
    approval:
      deadline: 2d
      approvers: [%d]
      answers:
        amount: {type: number, required: true, max: 500, description: What is <b>paid</b>}
        account: {enum: [travel, office], default: office}
        sure: {type: flag}
`, admin))
	shown := func() domain.FlowView {
		return do(r, admin, api.FlowShow, api.ShowFlowParams{FlowParams: api.FlowParams{Context: 7, Flow: id}})
	}
	testwait.Until(t, "the flow waits for a decision", func() bool { return shown().Steps[0].Status == domain.StepRunning })
	page := path("flows/%d", id)
	b := r.as(admin)
	b.has(b.get(200, page), `name="answer.amount"`, "required", "a number, up to 500", "What is &lt;b&gt;paid", `<option selected>office</option>`,
		`<select name="answer.sure"><option selected></option><option>false</option>`, "--answer amount=AMOUNT --answer account=office --context 7<")
	b.hasNot(r.as(reader).get(200, page), "answer.amount")
	b.hasNot(b.get(200, page), "looked at again") // then it counts as rejected, which is more
	others := r.flow("name: others\nsteps:\n  - {name: look, approval: {approvers: [77]}}\n")
	b.hasNot(b.get(200, path("flows/%d", others)), "/approve")

	// What was typed stays where it was refused, with all that is wrong with it.
	a := b.post(400, page+"/approve", "step", "look", "answer.amount", "501", "answer.account", "travel", "answer.sure", "true", "comment", "after the trip")
	b.has(a, "at most 500", `<details class="sheet" data-act="/console/c/7/flows/1/approve  look" open>`, `value="501"`, `<option selected>travel</option>`,
		`<option selected>true</option>`, `value="after the trip"`, `id="about-answer.amount"`,
		"--answer amount=501 --answer account=travel --answer sure=true --context 7<")
	b.hasNot(a, "data-live") // nothing takes it away
	b.has(b.post(200, page+"/approve", "step", "look", "answer.amount", "48", "answer.account", "travel", "answer.sure", ""), "The step was approved.")
	testwait.Until(t, "the flow has ended", func() bool { return shown().Status == domain.FlowFinished })
	if got := shown().Result; got["look.amount"] != "48" || got["look.account"] != "travel" || got["look.sure"] != "" {
		t.Errorf("result %v", got)
	}
}
