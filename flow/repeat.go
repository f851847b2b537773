package flow

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// This file has the steps that are run again until something holds. A round is the step's only
// unit, made anew; between two rounds the state has when the next begins, for which the flow's
// alarm is set, and nothing else waits. Whoever dies between an end of a round and the commit
// of what follows is followed by a keeper that asks once more: nothing has been made.

// goesOn reports whether a step whose round has ended well has not ended with it, or has been
// dealt with.
func (a *advancer) goesOn(i int, st *StepState) bool {
	if st.RoundMs != 0 {
		a.nextRound(i, st)
		return true
	}
	s := &a.p.Steps[i]
	answer, known := a.f.Untils[i]
	switch {
	case !known && a.f.Later:
		a.d.More = true
		a.s.Sums.wait(a.p.rank[i], 0)
	case !known:
		a.d.AskUntil = append(a.d.AskUntil, i)
	case answer.Err != "":
		a.end(i, domain.StepErrored, "repeat.until: "+answer.Err)
		a.mayAbort(i, &Unit{Outcome: string(work.OutcomeErrored)})
	case answer.Holds:
		return false
	case st.Round >= s.Repeat.Max && !a.stopped(i):
		status := domain.StepFailed
		if s.MayFail {
			status = domain.StepFailedAccepted
		}
		a.end(i, status, fmt.Sprintf("it was repeated until %s, which did not hold after %d rounds, all that repeat.max allows", s.Repeat.Until, st.Round))
		a.mayAbort(i, &Unit{Outcome: string(work.OutcomeFailed)})
	default:
		at := a.f.Now.Add(s.Repeat.Every.Time())
		st, was := a.lift(i)
		st.RoundMs = max(at.UnixMilli(), 1)
		st.Text = cut(fmt.Sprintf("round %d of %d begins at %s: %s does not hold yet", st.Round+1, s.Repeat.Max, at.UTC().Format(time.RFC3339), s.Repeat.Until))
		a.settle(i, was)
		a.nextRound(i, st)
	}
	return true
}

// between says of a flow for which step's next round it waits, where it does.
func (l *looker) between(ctx context.Context, p ref, r records, s *stored, x *explained) error {
	next := slices.IndexFunc(s.Steps, func(st StepState) bool { return st.RoundMs != 0 && st.RoundMs <= x.NextMs })
	if next < 0 {
		return nil
	}
	plan, err := l.plan(ctx, p, r.flow.Hash)
	if err == nil && next < len(plan.Steps) {
		x.WaitsFor = []string{"step " + plan.Steps[next].Name}
		x.Text = x.WaitsFor[0] + " is between two rounds: " + s.Steps[next].Text
	}
	return err
}

// leave has a step that another round, or another life, begins for remember its job: it goes with
// the flow.
func (s *StepState) leave() {
	if s.Job != 0 {
		s.Earlier = s.Earlier.Add(int64(s.Job), int64(s.Job))
	}
}

// newest is what the newest round of a step left.
func (t *tending) newest(ctx context.Context, plan *Plan, s *seen, v *verdict, i int) (map[string]string, error) {
	n, err := t.leftBy(ctx, t.ref, s.caller, needOf(&plan.Steps[i], v.at(i)))
	return n.result, err
}

// nextRound begins the next round of a step, when it is its time.
func (a *advancer) nextRound(i int, st *StepState) {
	s := &a.p.Steps[i]
	switch {
	case a.stopped(i):
		status := domain.StepFailed
		if a.s.Cancelled != "" || a.s.AbortFault {
			status = domain.StepErrored
		}
		a.end(i, status, fmt.Sprintf("the flow was ended after round %d of it, before %s held", st.Round, s.Repeat.Until))
		return
	case a.f.Now.UnixMilli() < st.RoundMs:
		a.comesAgain(i, st)
		return
	case hasList(s) && !a.list(i): // each child has its own place on the board
		return
	}
	st, was := a.lift(i)
	st.leave()
	st.Status, st.Text, st.Round, st.RoundMs, st.Done, st.At, st.Next = domain.StepOpen, "", st.Round+1, 0, nil, st.Split.Start, 0
	if hasList(s) {
		st.List = a.f.Lists[i].First
	}
	a.settle(i, was)
}

// nextAgain has a step go on with the next round, at once, that was ended after one that ended
// well: what that left is not done again.
func (a *advancer) nextAgain(i int) {
	st := a.change(i)
	st.Status, st.Text, st.EndMs, st.RoundMs = domain.StepRunning, "", 0, max(a.f.Now.UnixMilli(), 1)
}
