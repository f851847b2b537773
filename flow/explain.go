package flow

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	// Text is the answer in one sentence.
	Text    string `json:"text"`
	SinceMs int64  `json:"since_ms,omitzero"`
	Holder  string `json:"holder,omitzero"`
	// WaitsFor names jobs, and steps that wait for a decision.
	WaitsFor []string `json:"waits_for,omitzero"`
	NextMs   int64    `json:"next_ms,omitzero"`
}

// explainMost bounds what an explanation names.
const explainMost = 20

// Explain answers for one flow.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Explain(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (Explanation, error) {
	p := place{layout.SpaceOf(tenant), id}
	v, err := e.Show(ctx, tenant, id)
	if err != nil {
		return Explanation{}, err
	}
	x := Explanation{Key: v.Key(), Status: v.Status, SinceMs: v.StartedMs}
	if v.Final() {
		x.Standing, x.SinceMs, x.Text = StandingEnded, v.FinishedMs, fmt.Sprintf("it has ended: %s", v.Reason)
		if v.Error != "" && v.Reason != domain.FlowCancelled {
			x.Text += ": " + v.Error
		} else if v.Error != "" {
			x.Text = "it has ended: " + v.Error
		}
		return x, nil
	}
	if l, held, err := e.board.LeaseOf(ctx, p.space, layout.FlowState(id)); err != nil {
		return x, err
	} else if held {
		x.Standing, x.Holder, x.NextMs = StandingKept, l.Owner, l.Until.UnixMilli()
		x.Text = l.Owner + " decides what follows"
		if l.Until.Before(time.Now()) { // nothing but a node's next look moves it
			x.NextMs = 0
			x.Text = fmt.Sprintf("%s was to decide what follows and is gone, paused or cut off: its lease ran out at %s, "+
				"and the flow waits for a node that takes it back", l.Owner, l.Until.UTC().Format(time.RFC3339))
		}
		return x, nil
	}
	return e.explainFree(ctx, p, &v, x)
}

// explainFree explains a flow that no keeper has in hand.
func (e *Engine) explainFree(ctx context.Context, p place, v *View, x Explanation) (Explanation, error) {
	recs, err := e.board.Get(ctx, p.space, layout.FlowState(p.id), layout.FlowWaits(p.id))
	if err != nil {
		return x, err
	}
	s, err := decodeState(p.id, recs[0])
	if err != nil {
		return x, err
	}
	at, alarm, err := e.board.AlarmOf(ctx, p.space, layout.FlowAlarm(layout.AlarmFlow, p.id))
	if err != nil {
		return x, err
	}
	if alarm {
		x.NextMs = at.UnixMilli()
	}
	deciding := false
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
	x = e.standing(&s, recs[1].Get(layout.WaitsArmed), v, x, deciding, alarm)
	if x.Standing == StandingWorking {
		return e.explainJobs(ctx, v.ContextID, x)
	}
	return x, nil
}

// explainJobs says why a job of the flow does not run, if there is one that
// does not.
func (e *Engine) explainJobs(ctx context.Context, tenant domain.TenantID, x Explanation) (Explanation, error) {
	for _, name := range x.WaitsFor {
		key, err := domain.ParseJobKey(name)
		if err != nil {
			continue // a step
		}
		j, err := e.work.Explain(ctx, tenant, key)
		switch {
		case errors.Is(err, domain.ErrNotFound):
			continue
		case err != nil:
			return x, err
		case j.Standing != work.StandingLeased && j.Standing != work.StandingEnded:
			x.Text = fmt.Sprintf("%s has not ended: %s", name, j.Text)
			return x, nil
		}
	}
	return x, nil
}

func (x *Explanation) add(what string) {
	if len(x.WaitsFor) < explainMost {
		x.WaitsFor = append(x.WaitsFor, what)
	}
}

func (e *Engine) standing(s *stored, armed string, v *View, x Explanation, deciding, alarm bool) Explanation {
	tenant := v.ContextID
	switch {
	case s.Writing:
		x.Standing, x.Text = StandingWriting, "it is still being written; it begins with its last part"
	case armed != "1":
		x.Standing, x.Text = StandingQueued, "something has happened to it, and a keeper will see to it"
	case v.Paused:
		x.Standing, x.Text = StandingPaused, fmt.Sprintf("it is paused; `ramet flow resume %d` lets it go on", v.ID)
	case e.cfg.Bans != nil && e.cfg.Bans.Create(tenant, v.Blueprint, v.ID) != nil:
		x.Standing, x.Text = StandingBanned, e.cfg.Bans.Create(tenant, v.Blueprint, v.ID).Error()
	case deciding:
		x.Standing, x.Text = StandingDeciding, fmt.Sprintf("somebody has to decide; see `ramet flow approve %d` and reject", v.ID)
	case len(x.WaitsFor) > 0:
		x.Standing, x.Text = StandingWorking, fmt.Sprintf("jobs of it have not ended, such as %s", x.WaitsFor[0])
	case alarm:
		x.Standing, x.Text = StandingDelayed, "nothing of it may begin before "+time.UnixMilli(x.NextMs).UTC().Format(time.RFC3339)
	default:
		x.Standing, x.Text = StandingStuck, "nothing would ever move it; the audit brings it back to a keeper"
	}
	return x
}
