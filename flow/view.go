package flow

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// maxUnits bounds the units of a step that are shown.
const maxUnits = 200

// Show reads a flow with its steps.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Show(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (domain.FlowView, error) {
	p := ref{layout.SpaceOf(tenant), id}
	f, err := e.load(ctx, p)
	if err != nil {
		return domain.FlowView{}, err
	}
	v := domain.FlowView{Flow: f}
	recs, err := e.board.Get(ctx, p.space, layout.FlowParams(id))
	if err != nil {
		return v, err
	}
	for _, field := range recs[0] {
		if v.Added == nil {
			v.Added = map[string]string{}
		}
		v.Added[field.Name] = field.Value
	}
	s, _, err := e.readState(ctx, p)
	if err != nil {
		return v, err
	}
	if err := e.showSteps(ctx, p, &v, &s); err != nil {
		return v, err
	}
	if err := e.tellView(ctx, p, &v, &s); err != nil {
		return v, err
	}
	if v.Hooks, err = e.hooksView(ctx, p, &f); err != nil {
		return v, err
	}
	v.Slow = f.Duration > 0 && f.StartedMs > 0 && lasted(&v, e.board.Now()) > time.Duration(f.Duration)*time.Second
	return v, nil
}

// lasted is how long the flow took, or takes already.
func lasted(v *domain.FlowView, now time.Time) time.Duration {
	if v.FinishedMs > 0 {
		now = time.UnixMilli(v.FinishedMs)
	}
	return now.Sub(time.UnixMilli(v.StartedMs))
}

func (e *Engine) showSteps(ctx context.Context, p ref, v *domain.FlowView, s *stored) error {
	if !s.stepped {
		return e.showJobs(ctx, p, v, s.Aborted)
	}
	plan, err := e.plan(ctx, p, v.Hash)
	if errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid) { // what its steps are stood there; the flow is
		if !v.Final() {
			v.Jobs = jobsOf(len(s.Steps), whole(s.Steps).At)
		}
		return nil
	} else if err != nil {
		return err
	}
	if len(s.Steps) != len(plan.Steps) {
		return domain.Invalidf("the state of flow %d has %d steps, its blueprint %d", p.id, len(s.Steps), len(plan.Steps))
	}
	for i := range plan.Steps {
		v.Steps = append(v.Steps, stepView(plan, i, s))
	}
	if s.records > 0 && !v.Final() { // else its record has them
		v.Jobs = jobsOf(len(s.Steps), whole(s.Steps).At)
	}
	return nil
}

// stepView is a step of a flow of steps.
func stepView(plan *Plan, i int, s *stored) domain.StepView {
	step, st := &plan.Steps[i], &s.Steps[i]
	v := domain.StepView{Name: step.Name, Summary: step.Summary, Kind: step.KindOr(), Status: st.Status, Text: st.Text, Needs: step.Needs, Phase: step.Phase,
		Done: st.Done.Count(), Open: len(st.Open), Bad: len(st.Bad), Progress: st.progress(), SinceMs: st.SinceMs, EndMs: st.EndMs}
	if st.Job != 0 {
		v.Job = domain.JobKey{Caller: s.caller, ID: st.Job}.String()
	}
	if st.Flow != 0 {
		v.Flow = domain.FlowKey(st.Flow)
	}
	if step.Repeat != nil {
		v.Round, v.Rounds, v.RoundMs = st.Round, step.Repeat.Max, st.RoundMs
	}
	v.Cached = st.Cached
	if v.Kind == domain.StepApproval {
		v.Approval = approvalView(step, st)
	} else if st.Split != nil {
		v.Endless = st.Split.Endless
		if !v.Endless {
			v.Total = max(st.Split.End-st.Split.Start+1, 0)
		}
		if !v.Kind.One() && v.Flow == "" {
			v.Ranges = st.Done.String()
			mark := st.Done.Watermark(st.Split.Start)
			v.Watermark = &mark
		}
	} else if step.Shard != nil {
		v.Total = int64(max(step.Shard.Count-step.Shard.Start, 0))
	}
	for _, u := range st.Bad {
		addUnit(&v, s.caller, u)
	}
	for _, u := range st.Open {
		addUnit(&v, s.caller, u)
	}
	return v
}

// outcomes are the outcomes of units as words.
var outcomes = map[string]string{
	string(work.OutcomeFailed): "failed", string(work.OutcomeErrored): "errored", string(work.OutcomeAborted): "aborted",
	string(work.OutcomeCancelled): "cancelled", string(work.OutcomeSkipped): "skipped",
}

func addUnit(v *domain.StepView, caller domain.ActorID, u Unit) {
	if len(v.Units) < maxUnits {
		one := domain.UnitView{ID: u.ID, Start: u.Start, End: u.End, Key: u.Key, Outcome: outcomes[u.Outcome], Text: u.Text}
		if u.Job != 0 {
			one.Job = domain.JobKey{Caller: caller, ID: u.Job}.String()
		}
		if u.Flow != 0 {
			one.Flow = domain.FlowKey(u.Flow)
		}
		v.Units = append(v.Units, one)
	}
}

// showJobs fills in the jobs of a plain flow.
func (e *Engine) showJobs(ctx context.Context, p ref, v *domain.FlowView, aborted string) error {
	names := map[domain.JobID]string{}
	var jobs []*domain.Job
	for from := 0; from < len(v.Jobs); from += plainPage {
		page := v.Jobs[from:min(len(v.Jobs), from+plainPage)]
		keys := make([]string, len(page))
		for i, id := range page {
			keys[i] = domain.JobKey{Caller: v.CallerID, ID: id}.String()
		}
		recs, err := board.Listed(ctx, e.board, p.space, layout.JobLine, keys)
		if err != nil {
			return err
		}
		for i, r := range recs {
			j := &domain.Job{ID: page[i], CallerID: v.CallerID}
			if r != nil {
				j, _ = layout.DecodeJob(j.Key(), r)
			}
			jobs = append(jobs, j)
			names[j.ID] = stepName(j)
		}
	}
	done := 0.0
	because := skips(jobs, aborted)
	for i, j := range jobs {
		s := jobStep(j, names)
		if because[i] != "" {
			s.Status = because[i]
		}
		done += s.Progress
		v.Steps = append(v.Steps, s)
	}
	if !v.Final() && len(jobs) > 0 {
		v.Progress = progressText(done / float64(len(jobs)))
	}
	return nil
}

// skips says of the jobs that were not run whether that was because of a failure
// or an error: of what they needed, or of the job that made the flow abort.
func skips(jobs []*domain.Job, aborted string) []domain.StepStatus {
	status := make(map[domain.JobID]domain.StepStatus, len(jobs))
	cause := domain.StepSkippedByError
	for _, j := range jobs {
		if status[j.ID] = jobStatus(j); j.Key().String() == aborted && status[j.ID] == domain.StepFailed {
			cause = domain.StepSkippedByFailure
		}
	}
	because := make([]domain.StepStatus, len(jobs))
	for i, j := range jobs { // each comes after what it needs
		if status[j.ID] != domain.StepSkippedByError {
			continue
		}
		switch work.OutcomeOf(j) {
		case work.OutcomeAborted:
			because[i] = cause
		case work.OutcomeSkipped:
			worst := failure
			for _, on := range j.Dependends {
				worst = max(worst, classOf(status[on]))
			}
			if because[i] = domain.StepSkippedByFailure; worst == fault {
				because[i] = domain.StepSkippedByError
			}
		default:
			because[i] = domain.StepSkippedByError
		}
		status[j.ID] = because[i]
	}
	return because
}

// jobKind is the kind of the step that a job of a plain flow is.
func jobKind(j *domain.Job) domain.StepKind {
	if j.ScriptType == domain.ScriptEffect {
		return domain.StepEffect
	}
	return domain.StepSingle
}

// jobStep is a job of a plain flow, as a step.
func jobStep(j *domain.Job, names map[domain.JobID]string) domain.StepView {
	v := domain.StepView{Name: stepName(j), Kind: jobKind(j), Status: jobStatus(j), Text: j.Error, Job: j.Key().String(), Total: 1, SinceMs: j.StartedMs,
		EndMs: j.FinishedMs}
	for _, on := range j.Dependends {
		v.Needs = append(v.Needs, names[on])
	}
	switch {
	case v.Status == domain.StepSucceeded:
		v.Done, v.Progress = 1, 1
	case v.Status == domain.StepRunning:
		v.Open = 1
	case v.Status.Done():
		v.Bad = 1
	}
	return v
}

// jobStatus is the status of a step that is one job.
func jobStatus(j *domain.Job) domain.StepStatus {
	switch {
	case j.Status == "":
		return domain.StepErrored // its record is gone
	case j.Status == domain.JobStarted:
		return domain.StepRunning
	case !j.Final() && j.QueuedMs != 0:
		return domain.StepOpen
	case !j.Final():
		return domain.StepDormant
	}
	switch work.OutcomeOf(j) {
	case work.OutcomeSucceeded:
		return domain.StepSucceeded
	case work.OutcomeFailed:
		return domain.StepFailed
	case work.OutcomeSkipped, work.OutcomeAborted:
		return domain.StepSkippedByError
	case work.OutcomeCancelled:
		if j.StartedMs == 0 {
			return domain.StepSkippedByError
		}
	}
	return domain.StepErrored
}

// Plan reads the blueprint that a flow runs by; nil where it was made of jobs.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Plan(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (*domain.Blueprint, error) {
	p := ref{layout.SpaceOf(tenant), id}
	f, err := e.load(ctx, p)
	if err != nil || f.Hash == "" {
		return nil, err
	}
	plan, err := e.plan(ctx, p, f.Hash)
	if err != nil {
		return nil, err
	}
	return plan.Blueprint, nil
}
