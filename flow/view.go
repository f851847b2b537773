package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// View is a flow as people see it.
type View struct {
	domain.Flow
	// Steps are its steps in the blueprint's order, or its jobs.
	Steps domain.List[StepView] `json:"steps"`
	// Slow is set where it takes longer than expected.
	Slow bool `json:"slow,omitzero"`
	// Added are the params that its jobs have added.
	Added map[string]string `json:"added,omitzero"`
}

// MarshalJSON writes all of it: the method of the flow in it would leave the
// rest out.
func (v View) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(v.Flow)
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(struct {
		Steps domain.List[StepView] `json:"steps"`
		Slow  bool                  `json:"slow,omitzero"`
		Added map[string]string     `json:"added,omitzero"`
	}{v.Steps, v.Slow, v.Added})
	if err != nil {
		return nil, err
	}
	return joinObjects(head, rest), nil
}

// joinObjects makes one JSON object of two that are not empty.
func joinObjects(a, b []byte) []byte {
	out := append([]byte{}, bytes.TrimSpace(a)...)
	out[len(out)-1] = ','
	return append(out, bytes.TrimSpace(b)[1:]...)
}

// StepView is a step as people see it.
type StepView struct {
	Name   string          `json:"name"`
	Kind   domain.StepKind `json:"kind"`
	Status Status          `json:"status"`
	Text   string          `json:"text,omitzero"`
	Needs  []string        `json:"needs,omitzero"`
	Phase  int             `json:"phase,omitzero"`
	// Job is the key of a single step's job.
	Job string `json:"job,omitzero"`
	// Total is how many units there are; 0 where that is not known, or endless.
	Total int64 `json:"total,omitzero"`
	// Done, Open and Bad count units.
	Done int64 `json:"done,omitzero"`
	Open int   `json:"open,omitzero"`
	Bad  int   `json:"bad,omitzero"`
	// Ranges are the indexes or offsets that ended well, Watermark the last up
	// to which none is missing.
	Ranges    string `json:"ranges,omitzero"`
	Watermark *int64 `json:"watermark,omitzero"`
	Endless   bool   `json:"endless,omitzero"`
	// Progress is from 0 to 1.
	Progress float64 `json:"progress"`
	SinceMs  int64   `json:"since_ms,omitzero"`
	EndMs    int64   `json:"end_ms,omitzero"`
	// Units are the open and the bad ones.
	Units []UnitView `json:"units,omitzero"`
}

// UnitView is a part of a step as people see it.
type UnitView struct {
	ID      int64  `json:"id"`
	Start   int64  `json:"start"`
	End     int64  `json:"end"`
	Job     string `json:"job"`
	Outcome string `json:"outcome,omitzero"` // failed, errored, aborted, cancelled; "" is open
	Text    string `json:"text,omitzero"`
}

// maxUnits bounds the units of a step that are shown.
const maxUnits = 200

// Show reads a flow with its steps.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Show(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (View, error) {
	p := place{layout.SpaceOf(tenant), id}
	f, err := e.load(ctx, p)
	if err != nil {
		return View{}, err
	}
	v := View{Flow: f}
	recs, err := e.board.Get(ctx, p.space, layout.FlowState(id), layout.FlowParams(id), layout.FlowWaits(id))
	if err != nil {
		return v, err
	}
	for _, field := range recs[1] {
		if v.Added == nil {
			v.Added = map[string]string{}
		}
		v.Added[field.Name] = field.Value
	}
	s, err := decodeState(id, recs[0])
	if err != nil {
		return v, err
	}
	if err := e.showSteps(ctx, p, &v, &s); err != nil {
		return v, err
	}
	v.Slow = f.Duration > 0 && f.StartedMs > 0 && v.lasted(time.Now()) > time.Duration(f.Duration)*time.Second
	return v, nil
}

// lasted is how long the flow took, or takes already.
func (v *View) lasted(now time.Time) time.Duration {
	if v.FinishedMs > 0 {
		now = time.UnixMilli(v.FinishedMs)
	}
	return now.Sub(time.UnixMilli(v.StartedMs))
}

func (e *Engine) showSteps(ctx context.Context, p place, v *View, s *stored) error {
	if !s.stepped {
		return e.showJobs(ctx, p, v, s.Aborted)
	}
	plan, err := e.plan(ctx, p, v.Hash)
	if err != nil {
		return err
	}
	for i := range plan.Steps {
		v.Steps = append(v.Steps, stepView(plan, i, s))
	}
	return nil
}

// stepView is a step of a flow of steps.
func stepView(plan *Plan, i int, s *stored) StepView {
	step, st := &plan.Steps[i], &s.Steps[i]
	v := StepView{Name: step.Name, Kind: step.KindOr(), Status: st.Status, Text: st.Text, Needs: step.Needs, Phase: step.Phase,
		Done: st.Done.Count(), Open: len(st.Open), Bad: len(st.Bad), Progress: st.progress(), SinceMs: st.SinceMs, EndMs: st.EndMs}
	if st.Job != 0 {
		v.Job = domain.JobKey{Caller: s.caller, ID: st.Job}.String()
	}
	if st.Split != nil {
		v.Endless = st.Split.Endless
		if !v.Endless {
			v.Total = max(st.Split.End-st.Split.Start+1, 0)
		}
		if !v.Kind.One() {
			v.Ranges = st.Done.String()
			mark := st.Done.Watermark(st.Split.Start)
			v.Watermark = &mark
		}
	} else if step.Shard != nil {
		v.Total = int64(max(step.Shard.Count-step.Shard.Start, 0))
	}
	for _, u := range st.Bad {
		v.addUnit(s.caller, u)
	}
	for _, u := range st.Open {
		v.addUnit(s.caller, u)
	}
	return v
}

// outcomes are the outcomes of units as words.
var outcomes = map[string]string{
	string(work.OutcomeFailed): "failed", string(work.OutcomeErrored): "errored", string(work.OutcomeAborted): "aborted",
	string(work.OutcomeCancelled): "cancelled", string(work.OutcomeSkipped): "skipped",
}

func (v *StepView) addUnit(caller domain.ActorID, u Unit) {
	if len(v.Units) < maxUnits {
		v.Units = append(v.Units, UnitView{u.ID, u.Start, u.End, domain.JobKey{Caller: caller, ID: u.Job}.String(), outcomes[u.Outcome], u.Text})
	}
}

// showJobs fills in the jobs of a plain flow.
func (e *Engine) showJobs(ctx context.Context, p place, v *View, aborted string) error {
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
func skips(jobs []*domain.Job, aborted string) []Status {
	status := make(map[domain.JobID]Status, len(jobs))
	cause := SkippedByError
	for _, j := range jobs {
		if status[j.ID] = jobStatus(j); j.Key().String() == aborted && status[j.ID] == Failed {
			cause = SkippedByFailure
		}
	}
	because := make([]Status, len(jobs))
	for i, j := range jobs { // each comes after what it needs
		if status[j.ID] != SkippedByError {
			continue
		}
		switch work.OutcomeOf(j) {
		case work.OutcomeAborted:
			because[i] = cause
		case work.OutcomeSkipped:
			worst := failure
			for _, on := range j.Dependends {
				worst = max(worst, status[on].class())
			}
			if because[i] = SkippedByFailure; worst == fault {
				because[i] = SkippedByError
			}
		default:
			because[i] = SkippedByError
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
func jobStep(j *domain.Job, names map[domain.JobID]string) StepView {
	v := StepView{Name: stepName(j), Kind: jobKind(j), Status: jobStatus(j), Text: j.Error, Job: j.Key().String(), Total: 1, SinceMs: j.StartedMs,
		EndMs: j.FinishedMs}
	for _, on := range j.Dependends {
		v.Needs = append(v.Needs, names[on])
	}
	switch {
	case v.Status == Succeeded:
		v.Done, v.Progress = 1, 1
	case v.Status == Running:
		v.Open = 1
	case v.Status.Done():
		v.Bad = 1
	}
	return v
}

// jobStatus is the status of a step that is one job.
func jobStatus(j *domain.Job) Status {
	switch {
	case j.Status == "":
		return Errored // its record is gone
	case j.Status == domain.JobStarted:
		return Running
	case !j.Final() && j.QueuedMs != 0:
		return Open
	case !j.Final():
		return Dormant
	}
	switch work.OutcomeOf(j) {
	case work.OutcomeSucceeded:
		return Succeeded
	case work.OutcomeFailed:
		return Failed
	case work.OutcomeSkipped, work.OutcomeAborted:
		return SkippedByError
	case work.OutcomeCancelled:
		if j.StartedMs == 0 {
			return SkippedByError
		}
	}
	return Errored
}

// Plan reads the blueprint that a flow runs by; nil where it was made of jobs.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Plan(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (*domain.Blueprint, error) {
	p := place{layout.SpaceOf(tenant), id}
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
