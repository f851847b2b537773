package flow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// This file has the steps that a person decides.

// waitsForPerson is what an approval says while nobody has decided it.
const waitsForPerson = "waits for somebody to approve or reject it"

// noticeRetries is how often a notice is told again that did not come through: with the
// time between attempts it outlasts a target that is away for some hours.
const noticeRetries = 12

// ask begins an approval: it waits for a person, and somebody is told.
func (a *advancer) ask(i int) {
	st, was := a.lift(i)
	st.Status, st.SinceMs, st.Text = domain.StepRunning, a.f.Now.UnixMilli(), waitsForPerson
	if about := a.p.Steps[i].Summary; about != "" {
		st.Text += ": " + about
	}
	if ap := a.p.Steps[i].Approval; ap != nil {
		if ap.Deadline != 0 {
			st.DueMs = a.f.Now.Add(ap.Deadline.Time()).UnixMilli()
		}
		if ap.Notice != nil {
			st.Status, st.Split = domain.StepOpen, &Split{Total: 1, Size: 1, Window: 1}
		}
	}
	a.settle(i, was)
	st, _ = a.at(i)
	a.await(i, st)
}

// await has an approval looked at again when its time is up, or ends it then.
func (a *advancer) await(i int, st *StepState) {
	switch {
	case st.DueMs == 0:
	case a.f.Now.UnixMilli() < st.DueMs:
		a.s.Sums.wait(a.p.rank[i], domain.Instant(st.DueMs))
		a.wakeAt(domain.Instant(st.DueMs))
	default:
		a.overdue(i)
	}
}

// heard notes that the notice of an approval has ended: it is no part of what is decided.
func (a *advancer) heard(st *StepState, e *work.Ending) {
	if e.Outcome != work.OutcomeSucceeded {
		st.Text = waitsForPerson + "; the notice of it did not come through: " + e.Text
	}
}

// decide approves or rejects.
func (a *advancer) decide(i int, st *StepState, o Order) error {
	s := &a.p.Steps[i]
	switch {
	case s.KindOr() != domain.StepApproval:
		return domain.Conflictf("step %s is of kind %s; only approvals can be approved or rejected", s.Name, s.KindOr())
	case st.Status == domain.StepDormant:
		return domain.Conflictf("step %s does not wait for a decision yet", s.Name)
	case !st.Status.Begun():
		return domain.Conflictf("step %s has been decided: it is %s", s.Name, st.Status)
	}
	answers, err := blueprint.FillAnswers(s.Approval, o.Answers, o.Verb == OrderApprove)
	if err != nil {
		return err
	}
	by := fmt.Sprint(uint32(o.By))
	answers["by"], answers["comment"] = by, o.Text
	if o.Verb == OrderApprove {
		a.decided(i, answers, domain.StepSucceeded, "approved by actor "+by)
		return nil
	}
	text := "rejected by actor " + by
	if o.Text != "" {
		text += ": " + o.Text
	}
	a.decided(i, answers, domain.StepFailed, text)
	return nil
}

// byDeadline is who decided a step that nobody decided in time.
const byDeadline = "deadline"

// overdue ends an approval that nobody decided in time.
func (a *advancer) overdue(i int) {
	ap := a.p.Steps[i].Approval
	late := fmt.Sprintf("nobody decided it within %s", ap.Deadline.Time())
	answers := map[string]string{}
	if ap.OnDeadline == domain.DeadlineApprove {
		answers, _ = blueprint.FillAnswers(ap, nil, true) // nothing is required there: the blueprint was checked
	}
	answers["by"], answers["comment"] = byDeadline, late
	switch ap.OnDeadline {
	case domain.DeadlineApprove:
		a.decided(i, answers, domain.StepSucceeded, late+", which approves it")
	case domain.DeadlineFail:
		a.decided(i, answers, domain.StepErrored, late)
	default:
		a.decided(i, answers, domain.StepFailed, late+", which rejects it")
	}
}

// decided ends an approval. A notice that nobody has begun to tell is not told any more.
func (a *advancer) decided(i int, result map[string]string, status domain.StepStatus, text string) {
	s := &a.p.Steps[i]
	st, was := a.lift(i)
	for _, u := range st.Open {
		a.late = append(a.late, u.Job)
	}
	st.Open, st.Split, st.Result = nil, nil, result
	a.settle(i, was)
	if status == domain.StepFailed && s.MayFail {
		status = domain.StepFailedAccepted
	}
	a.end(i, status, text)
	switch status {
	case domain.StepFailed:
		a.mayAbort(i, &Unit{Outcome: string(work.OutcomeFailed)})
	case domain.StepErrored:
		a.mayAbort(i, &Unit{Outcome: string(work.OutcomeErrored)})
	}
}

// Approval is who may decide a step of a flow and what they answer, nil where nothing is
// said about that, and who submitted the flow.
//
// Errors: [domain.ErrNotFound] for the flow; [domain.ErrConflict] for a step that there is
// not.
func (e *Engine) Approval(ctx context.Context, tenant domain.TenantID, id domain.FlowID,
	step string) (a *domain.Approval, submitter domain.ActorID, err error) {
	f, err := e.load(ctx, refOf(tenant, id))
	if err != nil || !f.Stepped {
		return nil, f.CallerID, err // the keeper says what is wrong
	}
	plan, err := e.plan(ctx, refOf(tenant, id), f.Hash)
	if errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid) {
		return nil, f.CallerID, nil // nothing of it can be decided: the keeper says so
	}
	if err != nil {
		return nil, f.CallerID, err
	}
	i, known := plan.index[step]
	if !known {
		names := slices.Sorted(maps.Keys(plan.index))
		if near := domain.Nearest(step, names[:min(len(names), 1000)]); near != "" {
			return nil, f.CallerID, domain.Conflictf("flow %d: the flow has no step %q; did you mean %q?", id, step, near)
		}
		return nil, f.CallerID, domain.Conflictf("flow %d: the flow has no step %q", id, step)
	}
	return plan.Steps[i].Approval, f.CallerID, nil
}

// checkAnswers refuses what a person answers wrongly before it is an order.
//
// Errors: [domain.ErrInvalid].
func (e *Engine) checkAnswers(ctx context.Context, tenant domain.TenantID, id domain.FlowID, o *Order) error {
	if o.Verb != OrderApprove && o.Verb != OrderReject {
		return nil
	}
	a, _, err := e.Approval(ctx, tenant, id, o.Step)
	if err == nil {
		_, err = blueprint.FillAnswers(a, o.Answers, o.Verb == OrderApprove)
	}
	return err
}

// about is what a notice says it is about.
func (e *Engine) about(tenant domain.TenantID, f *domain.Flow, step string, st *StepState) map[string]string {
	about := map[string]string{"flow": f.Key(), "step": step, "context": strconv.FormatUint(uint64(tenant), 10), "blueprint": f.Blueprint}
	if st.DueMs != 0 {
		about["deadline"] = time.UnixMilli(st.DueMs).UTC().Format(time.RFC3339)
	}
	if e.cfg.PublicURL != "" {
		about["link"] = strings.TrimSuffix(e.cfg.PublicURL, "/") + fmt.Sprintf("/console/c/%d/flows/%d?step=%s", tenant, f.ID, url.QueryEscape(step))
	}
	return about
}

// approvalView is what people see of an approval.
func approvalView(step *domain.Step, st *StepState) *domain.ApprovalView {
	v := &domain.ApprovalView{DueMs: st.DueMs, Result: st.Result}
	if a := step.Approval; a != nil {
		v.Approvers, v.NotSubmitter, v.Answers = a.Approvers, a.NotSubmitter, a.Answers
		if v.DueMs != 0 {
			v.OnDeadline = domain.DeadlineReject
			if a.OnDeadline != "" {
				v.OnDeadline = a.OnDeadline
			}
		}
	}
	return v
}

// answersText are the flags without which nobody can approve a step.
func answersText(s *domain.StepView) (text string) {
	if s.Approval == nil {
		return ""
	}
	for _, f := range s.Approval.Answers {
		if f.Required && f.Default == nil {
			text += " --answer " + f.Name + "=…"
		}
	}
	return text
}

// decidersText says who may decide the first step that waits for it, and until when.
func decidersText(v *domain.FlowView) (text string) {
	i := slices.IndexFunc(v.Steps, func(s domain.StepView) bool { return s.Approval != nil && s.Status.Begun() })
	if i < 0 {
		return ""
	}
	a := v.Steps[i].Approval
	if len(a.Approvers) > 0 {
		text += "; it is for " + strings.Join(a.Approvers, ", ")
	}
	if a.NotSubmitter {
		text += fmt.Sprintf("; actor %d, who submitted it, may not", v.CallerID)
	}
	if a.DueMs != 0 {
		text += fmt.Sprintf("; at %s it is too late (on_deadline: %s)", time.UnixMilli(a.DueMs).UTC().Format(time.RFC3339), a.OnDeadline)
	}
	return text
}
