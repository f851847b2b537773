package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// explained is an explanation, and what else follows from why the flow is as it is.
type explained struct {
	domain.FlowExplanation
	work.Reason
	jobs domain.Outlook // of those that it waits for
}

// outlook follows from the reason: there is no other place that tells who moves a flow.
func (x *explained) outlook() domain.Outlook {
	if x.Standing == domain.StandingEnded {
		return ""
	}
	return x.Reason.Outlook(x.Standing == domain.StandingStuck, cmp.Or(x.jobs, domain.OutlookMoves))
}

func (x *explained) stuck(text string, m *work.Mend) {
	x.Standing, x.Text, x.Mend = domain.StandingStuck, text, m
}

// doubtedFrom is when audits begin to doubt a flow as it stands.
func doubtedFrom(f *domain.Flow) time.Time { return f.UpdatedAt.Time().Add(auditAge) }

const (
	// explainMost bounds what an explanation names.
	explainMost = 20
	// explainJobsMost bounds the jobs that are explained for a flow: a long queue is looked
	// through for each.
	explainJobsMost = 8
	// explainTries bounds how often a flow is looked at again that moved between
	// two looks.
	explainTries = 5
)

// Explain answers for one flow.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Explain(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (domain.FlowExplanation, error) {
	p := ref{layout.SpaceOf(tenant), id}
	r, err := e.records(ctx, p)
	if err != nil {
		return domain.FlowExplanation{}, err
	}
	for range explainTries {
		l := looker{Engine: e, space: p.space, now: e.board.Now()}
		x, err := l.standing(ctx, p, r)
		if err == nil {
			err = e.explainJobs(ctx, tenant, id, &x)
		}
		if err == nil {
			err = e.explainUnheard(ctx, tenant, p, &x)
		}
		if err == nil && len(r.flow.HookJobs) > 0 {
			err = e.explainHooks(ctx, p, &r.flow, &x)
		}
		x.FlowExplanation.Outlook = x.outlook()
		if by := r.flow.CalledBy; by != nil {
			x.Text += "; it was " + work.CalledText(by)
		}
		if err != nil || x.Standing != domain.StandingStuck {
			return x.FlowExplanation, err
		}
		now, err := e.records(ctx, p)
		if err != nil {
			return x.FlowExplanation, err
		}
		if !r.moved(now) {
			x.Text += x.Audited(doubtedFrom(&r.flow))
			return x.FlowExplanation, nil
		}
		r = now
	}
	return domain.FlowExplanation{Key: domain.FlowKey(id), Status: r.flow.Status, Standing: domain.StandingQueued, Outlook: domain.OutlookMoves,
		Text: "it moves too quickly to tell"}, nil
}

// records are what the board has of a flow.
type records struct {
	flow         domain.Flow
	state, waits board.Record
	bad          error // why one of them cannot be read
}

// notBegunSince is since when a flow waits to begin; 0 of one that has begun, for when it came to wait again
// stands nowhere.
func (r *records) notBegunSince() int64 {
	if r.flow.StartedMs != 0 {
		return 0
	}
	return int64(r.flow.CreatedAt) * 1000
}

func (e *Engine) records(ctx context.Context, p ref) (r records, err error) {
	if r.flow, err = e.load(ctx, p); err != nil {
		return r, err
	}
	recs, bad, err := board.PerKey(e.board.Get(ctx, p.space, layout.FlowState(p.id), layout.FlowWaits(p.id)))
	if err != nil {
		return r, err
	}
	r.state, r.waits, r.bad = recs[0], recs[1], bad.Err()
	return r, nil
}

// moved reports whether a flow has gone on between two looks.
func (r records) moved(now records) bool {
	for _, field := range []string{board.FieldOwner, board.FieldAttempt, layout.FlowStateData} {
		if r.state.Get(field) != now.state.Get(field) {
			return true
		}
	}
	return r.flow.Status != now.flow.Status || r.waits.Get(layout.WaitsArmed) != now.waits.Get(layout.WaitsArmed) ||
		r.waits.Get(layout.WaitsPlain) != now.waits.Get(layout.WaitsPlain)
}

// explainJobs adds what a flow that is in order waits for: its jobs, or a person. Why a
// job does not go on is why the flow does not.
func (e *Engine) explainJobs(ctx context.Context, tenant domain.TenantID, id domain.FlowID, x *explained) error {
	if x.Standing != domain.StandingWorking && x.Standing != domain.StandingPaused && x.Standing != domain.StandingBanned {
		return nil
	}
	v, err := e.Show(ctx, tenant, id)
	if err != nil {
		return err
	}
	x.Status = v.Status
	deciding := x.waitsFor(&v)
	if x.Standing != domain.StandingWorking {
		return nil
	}
	if deciding != nil {
		x.Standing, x.Held, x.SinceMs = domain.StandingDeciding, true, deciding.SinceMs // the flow began before
		x.Text = fmt.Sprintf("somebody has to decide; see `ramet flow approve %d %s%s` and reject", v.ID, deciding.Name, answersText(deciding)) + decidersText(&v)
		return nil
	}
	if len(x.WaitsFor) > 0 {
		x.Text += ", such as " + x.WaitsFor[0]
	}
	return e.worstJob(ctx, tenant, x)
}

// explainUnheard says which settings of steps jobs have written that change nothing.
func (e *Engine) explainUnheard(ctx context.Context, tenant domain.TenantID, p ref, x *explained) error {
	recs, err := e.board.Get(ctx, p.space, layout.FlowParams(p.id))
	if err != nil {
		return err
	}
	var names []string
	for _, f := range recs[0] {
		if strings.HasPrefix(f.Name, domain.SettingPrefix) {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	v, err := e.Show(ctx, tenant, p.id)
	if err != nil {
		return err
	}
	kinds := make(map[string]domain.StepKind, len(v.Steps))
	for i := range v.Steps {
		kinds[v.Steps[i].Name] = v.Steps[i].Kind
	}
	slices.Sort(names)
	said := 0
	for _, name := range names {
		if text := unheard(name, kinds, v.Stepped); text != "" && said < explainMost {
			x.Text += "; " + text
			said++
		}
	}
	return nil
}

// unheard says why a setting that a job has written changes nothing; "" where it does.
func unheard(name string, kinds map[string]domain.StepKind, stepped bool) string {
	step, setting, err := domain.ParseStepSetting(name)
	kind, known := kinds[step]
	switch {
	case err != nil:
		return err.Error()
	case !stepped:
		return name + work.Unheard
	case !known && len(kinds) == 0: // its blueprint cannot be read
	case !known:
		text := fmt.Sprintf("%s changes nothing: there is no step %q", name, step)
		if near := domain.Nearest(step, slices.Sorted(maps.Keys(kinds))); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
		return text
	case !slices.Contains(domain.StepSettings[setting], kind):
		return fmt.Sprintf("%s changes nothing: step %s is of kind %s", name, step, kind)
	}
	return ""
}

// waitsFor names the jobs that are open, and the steps that wait for a decision, of which it
// gives the first.
func (x *explained) waitsFor(v *domain.FlowView) (deciding *domain.StepView) {
	for i := range v.Steps {
		st := &v.Steps[i]
		switch {
		case st.Kind == domain.StepApproval && st.Status == domain.StepRunning:
			deciding = cmp.Or(deciding, st)
			x.add("step " + st.Name)
		case st.RoundMs != 0:
			x.add("step " + st.Name)
		case st.Status.Begun() && len(st.Units) > 0:
			for _, u := range st.Units {
				if u.Outcome == "" {
					x.add(named(cmp.Or(u.Job, u.Flow), u.Key))
				}
			}
		case st.Status.Begun() && v.Stepped && st.Open == 0: // its job is still to be made; it may have that of the round before
			x.add("step " + st.Name)
		case st.Status.Begun() && st.Job != "":
			x.add(st.Job)
		}
	}
	if len(x.WaitsFor) == 0 && !v.Stepped {
		for i := range v.Steps {
			if st := &v.Steps[i]; !st.Status.Done() {
				x.add(st.Job) // it waits for something of its own
			}
		}
	}
	return deciding
}

// named is the key of a job, and the name of the element that it is of.
func named(job, element string) string {
	if element == "" {
		return job
	}
	return job + " (" + element + ")"
}

func (x *explained) add(what string) {
	if len(x.WaitsFor) < explainMost {
		x.WaitsFor = append(x.WaitsFor, what)
	}
}

// hindrances are the outlooks of jobs, from what hinders their flow least to most.
var hindrances = []domain.Outlook{domain.OutlookWaits, domain.OutlookMoves, domain.OutlookHeld, domain.OutlookMended, domain.OutlookLacking,
	domain.OutlookStuck}

// explainPart explains what a flow waits for: a job, a child, or nothing that could be.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) explainPart(ctx context.Context, tenant domain.TenantID, name string) (x domain.JobExplanation, err error) {
	name, _, _ = strings.Cut(name, " ")
	if strings.HasPrefix(name, layout.FlowPrefix) {
		id, err := domain.ParseFlowKey(name)
		if err != nil {
			return x, err
		}
		child, err := e.Explain(ctx, tenant, id)
		return domain.JobExplanation{Standing: child.Standing, Outlook: child.Outlook, Text: child.Text, SinceMs: child.SinceMs}, err
	}
	key, err := domain.ParseJobKey(name)
	if err != nil {
		return x, domain.NotFoundf("%s is no job", name)
	}
	return e.work.Explain(ctx, tenant, key)
}

// worstJob says why the job does not run that hinders the flow most: the first of those
// that hinder it alike. Of one that runs nothing is said. The flow stands as it does since that
// job does, not since its own start.
func (e *Engine) worstJob(ctx context.Context, tenant domain.TenantID, x *explained) error {
	said := false
	for _, name := range x.WaitsFor[:min(len(x.WaitsFor), explainJobsMost)] {
		j, err := e.explainPart(ctx, tenant, name)
		if errors.Is(err, domain.ErrNotFound) || err == nil && j.Standing == domain.StandingEnded {
			continue
		} else if err != nil {
			return err
		}
		worse := slices.Index(hindrances, j.Outlook) > slices.Index(hindrances, x.jobs)
		running := j.Outlook == domain.OutlookMoves && j.Standing == domain.StandingLeased
		switch {
		case !running && (worse || !said):
			x.Text, x.SinceMs, said = fmt.Sprintf("%s has not ended: %s", name, j.Text), j.SinceMs, true
		case !said && (x.SinceMs == 0 || j.SinceMs < x.SinceMs): // the one that has run longest
			x.SinceMs = j.SinceMs
		}
		if worse {
			x.jobs = j.Outlook
		}
	}
	return nil
}
