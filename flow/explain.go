package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// Standing is why an unfinished flow is alive.
type Standing string

// The standings.
const (
	StandingEnded    Standing = "ended"
	StandingWriting  Standing = "writing"  // it is still being written
	StandingKept     Standing = "kept"     // a keeper decides what follows
	StandingQueued   Standing = "queued"   // for a keeper
	StandingWorking  Standing = "working"  // jobs of it have not ended
	StandingDeciding Standing = "deciding" // a person has to approve or reject
	StandingDelayed  Standing = "delayed"  // an alarm will wake it
	StandingPaused   Standing = "paused"
	StandingBanned   Standing = "banned"
	StandingStuck    Standing = "stuck" // nothing would ever move it
)

// Explanation answers for a flow: what it waits for, since when, who holds it,
// what will wake it and when.
type Explanation struct {
	Key      string            `json:"key"`
	Status   domain.FlowStatus `json:"status"`
	Standing Standing          `json:"standing"`
	// Outlook is what becomes of it if nobody does anything; none once it has ended.
	Outlook domain.Outlook `json:"outlook,omitzero"`
	// Text is the answer in one sentence.
	Text    string `json:"text"`
	SinceMs int64  `json:"since_ms,omitzero"`
	Holder  string `json:"holder,omitzero"`
	// WaitsFor names jobs, and steps that wait for a decision.
	WaitsFor []string `json:"waits_for,omitzero"`
	NextMs   int64    `json:"next_ms,omitzero"`

	work.Reason
	jobs domain.Outlook // of those that it waits for
}

// outlook follows from the reason: there is no other place that tells who moves a flow.
func (x *Explanation) outlook() domain.Outlook {
	if x.Standing == StandingEnded {
		return ""
	}
	return x.Reason.Outlook(x.Standing == StandingStuck, cmp.Or(x.jobs, domain.OutlookMoves))
}

func (x *Explanation) stuck(text string, m *work.Mend) {
	x.Standing, x.Text, x.Mend = StandingStuck, text, m
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
func (e *Engine) Explain(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (Explanation, error) {
	p := place{layout.SpaceOf(tenant), id}
	r, err := e.records(ctx, p)
	if err != nil {
		return Explanation{}, err
	}
	for range explainTries {
		l := looker{Engine: e, space: p.space, now: time.Now()}
		x, err := l.standing(ctx, p, r)
		if err == nil {
			err = e.explainJobs(ctx, tenant, id, &x)
		}
		x.Outlook = x.outlook()
		if err != nil || x.Standing != StandingStuck {
			return x, err
		}
		now, err := e.records(ctx, p)
		if err != nil {
			return x, err
		}
		if !r.moved(now) {
			x.Text += x.Audited(doubtedFrom(&r.flow))
			return x, nil
		}
		r = now
	}
	return Explanation{Key: domain.FlowKey(id), Status: r.flow.Status, Standing: StandingQueued, Outlook: domain.OutlookMoves,
		Text: "it moves too quickly to tell"}, nil
}

// records are what the board has of a flow.
type records struct {
	flow         domain.Flow
	state, waits board.Record
	bad          error // why one of them cannot be read
}

func (e *Engine) records(ctx context.Context, p place) (r records, err error) {
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
func (e *Engine) explainJobs(ctx context.Context, tenant domain.TenantID, id domain.FlowID, x *Explanation) error {
	if x.Standing != StandingWorking && x.Standing != StandingPaused && x.Standing != StandingBanned {
		return nil
	}
	v, err := e.Show(ctx, tenant, id)
	if err != nil {
		return err
	}
	deciding := x.waitsFor(&v)
	if x.Standing != StandingWorking {
		return nil
	}
	if deciding {
		x.Standing, x.Held = StandingDeciding, true
		x.Text = fmt.Sprintf("somebody has to decide; see `ramet flow approve %d` and reject", v.ID)
		return nil
	}
	if len(x.WaitsFor) > 0 {
		x.Text += ", such as " + x.WaitsFor[0]
	}
	return e.worstJob(ctx, tenant, x)
}

// waitsFor names the jobs that are open, and the steps that wait for a decision.
func (x *Explanation) waitsFor(v *View) (deciding bool) {
	for i := range v.Steps {
		st := &v.Steps[i]
		switch {
		case st.Kind == domain.StepApproval && st.Status == Running:
			deciding = true
			x.add("step " + st.Name)
		case st.Status.Begun() && len(st.Units) > 0:
			for _, u := range st.Units {
				if u.Outcome == "" {
					x.add(u.Job)
				}
			}
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

func (x *Explanation) add(what string) {
	if len(x.WaitsFor) < explainMost {
		x.WaitsFor = append(x.WaitsFor, what)
	}
}

// hindrances are the outlooks of jobs, from what hinders their flow least to most.
var hindrances = []domain.Outlook{domain.OutlookWaits, domain.OutlookMoves, domain.OutlookHeld, domain.OutlookMended, domain.OutlookLacking,
	domain.OutlookStuck}

// worstJob says why the job does not run that hinders the flow most: the first of those
// that hinder it alike. Of one that runs nothing is said.
func (e *Engine) worstJob(ctx context.Context, tenant domain.TenantID, x *Explanation) error {
	said := false
	for _, name := range x.WaitsFor[:min(len(x.WaitsFor), explainJobsMost)] {
		key, err := domain.ParseJobKey(name)
		if err != nil {
			continue // a step
		}
		j, err := e.work.Explain(ctx, tenant, key)
		if errors.Is(err, domain.ErrNotFound) || err == nil && j.Standing == work.StandingEnded {
			continue
		} else if err != nil {
			return err
		}
		worse := slices.Index(hindrances, j.Outlook) > slices.Index(hindrances, x.jobs)
		if running := j.Outlook == domain.OutlookMoves && j.Standing == work.StandingLeased; !running && (worse || !said) {
			x.Text, said = fmt.Sprintf("%s has not ended: %s", name, j.Text), true
		}
		if worse {
			x.jobs = j.Outlook
		}
	}
	return nil
}
