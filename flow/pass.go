package flow

import (
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// This file has which steps begin, wait or are passed over.

// pass lets the steps go as far as they can that the facts are about, and those that
// follow. Once is enough, as a step comes after all that it waits for, unless the flow
// is stopped in it: that changes what becomes of all others.
func (a *advancer) pass() {
	a.gaps = a.s.Sums.Gaps
	if a.stops > 0 || a.gaps >= maxGaps && !a.all {
		a.everything()
	}
	for before := -1; before != a.stops && len(a.d.Load) == 0; {
		if before >= 0 {
			a.everything()
		}
		before = a.stops
		a.steps()
	}
}

// steps looks at steps in their order, and at those that are marked on the way.
func (a *advancer) steps() {
	d := &a.d
	d.Ask, d.AskUntil, d.AskList, d.AskCache, d.AskMade, d.Abort, d.Stop, d.StopFlows, d.WakeAt = nil, nil, nil, nil, nil, nil, nil, nil, time.Time{}
	a.seed()
	for rank := a.marks.take(0); rank >= 0; rank = a.marks.take(rank) {
		i := a.p.order[rank]
		st, ok := a.at(i)
		switch {
		case !ok:
		case st.Status == domain.StepDormant:
			a.wakeStep(i, st)
		case st.Status.Begun():
			a.endStep(i, st)
		}
	}
}

// seed marks what is to be looked at besides what the facts are about.
func (a *advancer) seed() {
	sums := a.s.Sums
	mark := func(ranks Ranges) {
		for rank := range ranks.all() {
			a.marks.add(int(rank))
		}
	}
	if a.all {
		mark(Ranges{{0, int64(len(a.p.order) - 1)}})
	}
	mark(sums.Stopped)
	due := sums.UntilMs != 0 && a.f.Now.UnixMilli() >= sums.UntilMs
	if due || sums.Held && !a.f.Banned || a.marks.meets(sums.Waiting) {
		mark(sums.Waiting)
		sums.Waiting, sums.UntilMs, sums.Held = nil, 0, false
	} else if sums.UntilMs != 0 {
		a.wakeAt(domain.Instant(sums.UntilMs))
	}
}

// wakeStep decides about a step that has not begun.
func (a *advancer) wakeStep(i int, st *StepState) {
	s := &a.p.Steps[i]
	switch worst := st.Worst; {
	case a.s.Cancelled != "":
		a.end(i, domain.StepSkippedByError, "the flow was cancelled")
	case a.stopped(i) && !a.s.AbortFault:
		a.end(i, domain.StepSkippedByFailure, "the flow was aborted: step "+a.s.Aborted+" failed")
	case a.stopped(i):
		a.end(i, domain.StepSkippedByError, "the flow was aborted: step "+a.s.Aborted+" ended in error")
	case st.Met < len(a.p.needs[i]):
	case worst == fault:
		a.end(i, domain.StepSkippedByError, "a step that it needs ended in error")
	case worst == failure && s.MayFail:
		a.end(i, domain.StepFailedAccepted, "a step that it needs failed, which is accepted")
	case worst == failure:
		a.end(i, domain.StepSkippedByFailure, "a step that it needs failed")
	case st.Skip:
		a.end(i, domain.StepSkipped, "as asked")
	case a.p.phase[i] > a.s.Sums.Phase:
	case a.early(i, a.p.After) || a.early(i, domain.Instant(a.s.Slot)) || a.early(i, s.After):
	case a.f.Banned:
		a.s.Sums.wait(a.p.rank[i], 0)
	case s.When != "" && !a.when(i):
	case hasList(s) && !a.list(i):
	case s.Cache != nil && !a.cache(i):
	default:
		a.open(i)
	}
}

// early reports whether an instant is still to come before a step may begin, and sees to
// it that it is not missed.
func (a *advancer) early(i int, at domain.Instant) bool {
	if at == 0 || a.f.Now.UnixMilli() >= int64(at) {
		return false
	}
	a.s.Sums.wait(a.p.rank[i], at)
	a.wakeAt(at)
	return true
}

// wakeAt has the flow looked at again at an instant, if not before.
func (a *advancer) wakeAt(at domain.Instant) {
	if t := time.UnixMilli(int64(at)); a.d.WakeAt.IsZero() || t.Before(a.d.WakeAt) {
		a.d.WakeAt = t
	}
}

// when reports whether a step's condition holds; where it does not, or cannot
// be told, the step has been dealt with.
func (a *advancer) when(i int) bool {
	answer, known := a.f.Whens[i]
	switch {
	case !known && a.f.Later:
		a.d.More = true
		a.s.Sums.wait(a.p.rank[i], 0)
	case !known:
		a.d.Ask = append(a.d.Ask, i)
	case answer.Err != "":
		a.end(i, domain.StepErrored, "when: "+answer.Err)
		a.mayAbort(i, &Unit{Outcome: string(work.OutcomeErrored)})
	case !answer.Holds:
		a.end(i, domain.StepSkipped, "its condition does not hold: "+a.p.Steps[i].When)
	default:
		return true
	}
	return false
}

// list reports whether the list of a step is known; where it is not, or cannot be had,
// the step has been dealt with.
func (a *advancer) list(i int) bool {
	answer, known := a.f.Lists[i]
	switch {
	case !known && a.f.Later:
		a.d.More = true
		a.s.Sums.wait(a.p.rank[i], 0)
	case !known:
		a.d.AskList = append(a.d.AskList, i)
	case answer.Err != "":
		a.end(i, domain.StepErrored, answer.Err)
		a.mayAbort(i, &Unit{Outcome: string(work.OutcomeErrored)})
	default:
		return true
	}
	return false
}

// end ends a step.
func (a *advancer) end(i int, status domain.StepStatus, text string) {
	st, was := a.lift(i)
	st.Status, st.Text, st.EndMs, st.RoundMs = status, cut(text), a.f.Now.UnixMilli(), 0
	a.settle(i, was)
}

// open begins a step.
func (a *advancer) open(i int) {
	s := &a.p.Steps[i]
	if s.KindOr() == domain.StepApproval {
		a.ask(i)
		return
	}
	st, was := a.lift(i)
	st.Status, st.SinceMs, st.Text = domain.StepOpen, a.f.Now.UnixMilli(), ""
	split, retries, err := splitOf(s, a.f.Added, st.Change)
	if err != nil {
		a.settle(i, was)
		a.end(i, domain.StepErrored, err.Error())
		a.mayAbort(i, &Unit{Outcome: string(work.OutcomeErrored)})
		return
	}
	if hasList(s) {
		list := a.f.Lists[i]
		split.Total, split.End, st.List = list.Count, list.Count-1, list.First
	}
	st.Change = nil
	st.Split, st.At, st.Next = split, split.Start, split.Start
	if retries != nil && st.Retries == nil {
		st.Retries = retries
	}
	if s.Repeat != nil {
		st.Round = 1
	}
	if split.Pack {
		st.Next = s.Pack.FirstID
	}
	a.settle(i, was)
	if !st.left() {
		a.end(i, domain.StepSucceeded, "there is nothing to do in its "+rangeWord(s))
	}
}

// rangeWord is what a step has its jobs of.
func rangeWord(s *domain.Step) string {
	if s.Listed() {
		return "list"
	}
	return "range"
}
