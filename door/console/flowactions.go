package console

import (
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// flowActions are what can be done with a flow as it stands, by who looks.
func (v *visit) flowActions(f *domain.FlowView) (list []action) {
	id := strconv.Itoa(int(f.ID))
	add := func(op *api.Operation, act string, a action) {
		if !v.may(op) {
			return
		}
		a.Post = v.path("flows/%d/%s", f.ID, act)
		v.again(&a)
		list = append(list, a)
	}
	openJobs, bad := 0, 0
	for i := range f.Steps {
		s := &f.Steps[i]
		openJobs += s.Open
		bad += badUnits(s)
		if s.Kind == domain.StepApproval && s.Status.Begun() {
			v.decideActions(f, s, add)
		}
	}
	if f.Final() {
		v.endedActions(f, bad, add)
		return list
	}
	if f.Paused {
		add(api.FlowResume.Operation, "resume", action{Name: "Resume", Verb: "Resume the flow", Primary: true, Will: "What is ready begins again.",
			Command: v.command("flow", "resume", id)})
	} else {
		add(api.FlowPause.Operation, "pause", action{Name: "Pause", Verb: "Pause the flow", Will: "Nothing more of it is begun; what runs goes on to its end.",
			Command: v.command("flow", "pause", id)})
	}
	add(api.FlowCancel.Operation, "cancel", action{Name: "Cancel", Verb: "Cancel the flow",
		Will: "What has not begun ends now, and " + counted(openJobs, "job that waits or runs is", "jobs that wait or run are") +
			" told to stop. What has ended stays as it is.",
		Command: v.command("flow", "cancel", id)})
	return list
}

// endedActions are what can be done with a flow that has ended.
func (v *visit) endedActions(f *domain.FlowView, bad int, add func(*api.Operation, string, action)) {
	id := strconv.Itoa(int(f.ID))
	if f.Status == domain.FlowError {
		add(api.FlowRetry.Operation, "retry", action{Name: "Retry " + plural(max(bad, 1), "job"), Verb: "Retry", Fields: []field{{"failed", "yes"}}, Primary: true,
			Will:    "What failed or ended in error starts again, and what was skipped because of it follows. What succeeded keeps its result and is not run again.",
			Command: v.command("flow", "retry", id, "--failed")})
		if bad := badSteps(f); len(bad) > 0 {
			s := bad[0] // one is offered at a time: the next comes when this is done
			add(api.FlowSkip.Operation, "skip", action{Name: "Accept " + s.Name, Verb: "Accept the failure", Fields: stepField(s.Name),
				Will: "Step " + s.Name + " counts as ended, failed and accepted, and the flow goes on without it.", Command: v.command("flow", "skip", id, s.Name)})
			if s.Kind != domain.StepApproval {
				add(api.FlowMarkDone.Operation, "done", action{Name: "Mark " + s.Name + " as done", Verb: "Mark as done", Fields: stepField(s.Name), Comment: true,
					Will: "Step " + s.Name + " counts as succeeded, without a result, and the flow goes on.", Command: v.command("flow", "done", id, s.Name)})
			}
			if f.Blueprint != "" {
				add(api.FlowRerun.Operation, "rerun", action{Name: "Run again from " + s.Name, Verb: "Make a new flow", Fields: []field{{"from", s.Name}},
					Will: "A new flow takes over what ended well, and begins with " + s.Name +
						" and all that follows from it.", Command: v.command("flow", "rerun", id, "--from", s.Name)})
			}
		}
	}
	if f.Blueprint != "" {
		add(api.FlowRerun.Operation, "rerun", action{Name: "Run again", Verb: "Make a new flow",
			Will:    "A new flow of the same blueprint and params runs from its beginning.",
			Command: v.command("flow", "rerun", id)})
	}
	add(api.FlowDelete.Operation, "delete", action{Name: "Delete", Verb: "Delete the flow",
		Will: "The flow, " + plural(len(f.Jobs), "job") + " and their logs leave the board. This cannot be undone.", Command: v.command("flow", "delete", id)})
}

// badUnits is how many jobs of a step would start again.
func badUnits(s *domain.StepView) int {
	if s.Kind.One() && (s.Status == domain.StepFailed || s.Status == domain.StepErrored) {
		return 1
	}
	return s.Bad
}

// flowActs are what actOnFlow does, by the last word of the path, and what is said of it.
var flowActs = map[string]struct {
	do   func(v *visit, p api.FlowParams) (api.FlowDone, error)
	said string
}{
	"cancel": {func(v *visit, p api.FlowParams) (api.FlowDone, error) { return call(v, api.FlowCancel, p) }, "The flow was cancelled."},
	"pause":  {func(v *visit, p api.FlowParams) (api.FlowDone, error) { return call(v, api.FlowPause, p) }, "The flow is paused."},
	"resume": {func(v *visit, p api.FlowParams) (api.FlowDone, error) { return call(v, api.FlowResume, p) }, "The flow goes on."},
	"retry": {func(v *visit, p api.FlowParams) (api.FlowDone, error) {
		return call(v, api.FlowRetry, api.RetryFlowParams{FlowParams: p, Failed: v.r.PostFormValue("failed") == "yes"})
	}, "The flow was started again."},
	"approve": {func(v *visit, p api.FlowParams) (api.FlowDone, error) {
		return call(v, api.FlowApprove, v.decideParams(p))
	}, "The step was approved."},
	"reject": {func(v *visit, p api.FlowParams) (api.FlowDone, error) {
		return call(v, api.FlowReject, v.decideParams(p))
	}, "The step was rejected."},
	"skip": {func(v *visit, p api.FlowParams) (api.FlowDone, error) { return call(v, api.FlowSkip, v.stepParams(p)) }, "The step was skipped."},
	"done": {func(v *visit, p api.FlowParams) (api.FlowDone, error) {
		return call(v, api.FlowMarkDone, api.DoneParams{StepParams: v.stepParams(p)})
	}, "The step counts as done."},
	"delete": {func(v *visit, p api.FlowParams) (api.FlowDone, error) {
		return call(v, api.FlowDelete, api.DeleteFlowParams{FlowParams: p})
	}, "The flow was deleted."},
}

func (v *visit) decideParams(p api.FlowParams) api.DecideParams {
	return api.DecideParams{StepParams: v.stepParams(p), Answers: v.answers()}
}

func (v *visit) stepParams(p api.FlowParams) api.StepParams {
	return api.StepParams{FlowParams: p, Step: v.r.PostFormValue("step"), Comment: v.r.PostFormValue("comment")}
}

// actOnFlow does what a person asked of a flow.
func (v *visit) actOnFlow() error {
	p, err := v.flowParams()
	if err != nil {
		return err
	}
	name := v.r.PathValue("act")
	if name == "rerun" {
		return v.rerunFlow(p)
	}
	act, known := flowActs[name]
	if !known {
		return domain.NotFoundf("a flow cannot be told to %q", domain.PlainText(name, 20))
	}
	done, err := act.do(v, p)
	said := act.said
	if err == nil && !done.Done {
		said = "It is noted durably, and is being carried out."
	}
	to := v.path("flows/%d", p.Flow)
	if err != nil && v.typedIntoForm("comment") {
		return v.refused((*visit).flowPage, to, err)
	}
	if name == "delete" && err == nil {
		to = v.path("flows")
	}
	return v.did(to, said, err)
}

// rerunFlow makes a new flow of one, and goes to its page.
func (v *visit) rerunFlow(p api.FlowParams) error {
	made, err := call(v, api.FlowRerun, api.RerunFlowParams{FlowParams: p, From: v.r.PostFormValue("from")})
	if err != nil {
		return v.did(v.path("flows/%d", p.Flow), "", err)
	}
	return v.did(v.path("flows/%d", made.ID), "This flow was made of flow "+strconv.Itoa(int(p.Flow))+".", nil)
}
