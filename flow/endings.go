package flow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// This file has what the ends of jobs mean to their steps.

const (
	// maxGaps ends the steps of a flow whose bad ends leave so many gaps: what is
	// remembered of an endless step must stay bounded.
	maxGaps = 10_000
	// maxTexts is of how many units that ended badly the reason is remembered;
	// it stands on their jobs too.
	maxTexts = 500
)

// endings takes in the ends of jobs. One that is not open any more was told
// twice.
func (a *advancer) endings() {
	if len(a.f.Ended) == 0 {
		return
	}
	if a.f.Of == nil {
		if !a.all {
			a.everything()
		}
		a.f.Of, a.f.OfFlows = a.openParts()
	}
	texts := a.s.Sums.Bad
	open := map[int]map[part]int{} // where the open units of steps stand, by their jobs and children
	for _, e := range a.f.Ended {
		i, known := a.f.Of[e.Job]
		if e.Flow != 0 {
			i, known = a.f.OfFlows[e.Flow]
		}
		if !known || e.Job == 0 && e.Flow == 0 {
			continue
		}
		if _, ok := a.at(i); !ok {
			continue
		}
		if open[i] == nil {
			st, _ := a.lift(i)
			open[i] = make(map[part]int, len(st.Open))
			for k := range st.Open {
				open[i][st.Open[k].part()] = k
			}
		}
		k, known := open[i][part{e.Job, e.Flow}]
		if !known {
			continue
		}
		st := a.changed[i]
		u := &st.Open[k]
		if e.Flow != 0 && e.Nth <= u.Ends {
			continue // told before
		}
		u.Ends = e.Nth
		if e.Outcome != work.OutcomeSucceeded && a.again(i, st, u, e) {
			a.d.AgainFlows = append(a.d.AgainFlows, ChildEnd{e.Flow, e.Nth})
			continue
		}
		delete(open[i], u.part())
		if a.p.Steps[i].KindOr() == domain.StepApproval {
			a.heard(st, &e)
		} else if e.Outcome == work.OutcomeSucceeded {
			st.Done = st.Done.Add(u.Start, u.End)
		} else {
			bad := *u
			bad.Outcome, bad.DueMs = string(rune(e.Outcome)), 0
			if bad.Text != "" { // it took too long
				bad.Outcome = string(work.OutcomeErrored)
			} else if texts < maxTexts {
				bad.Text = e.Text
			}
			texts++
			st.Bad = append(st.Bad, bad)
			a.mayAbort(i, &bad)
		}
		u.Job, u.Flow = 0, 0 // taken out below, when no index points here any more
	}
	for _, i := range slices.Sorted(maps.Keys(open)) {
		st := a.changed[i]
		st.Open = slices.DeleteFunc(st.Open, func(u Unit) bool { return u.part() == part{} })
		a.settle(i, st.Status)
		a.marks.add(a.p.rank[i])
	}
}

// openParts are the steps of the jobs and children that are open.
func (a *advancer) openParts() (of map[domain.JobID]int, flows map[domain.FlowID]int) {
	of, flows = map[domain.JobID]int{}, map[domain.FlowID]int{}
	for i := range a.p.Steps {
		if st, ok := a.at(i); ok {
			for _, u := range st.Open {
				if u.Flow != 0 {
					flows[u.Flow] = i
				} else {
					of[u.Job] = i
				}
			}
		}
	}
	return of, flows
}

// mayAbort makes the flow abort where a unit ended badly and nobody accepts it.
func (a *advancer) mayAbort(step int, u *Unit) {
	s := &a.p.Steps[step]
	accepted := s.MayFail && !u.fault()
	if accepted || a.p.OnError == domain.OnErrorContinue || a.s.Cancelled != "" {
		return
	}
	a.abort(step, u.fault())
}

func (a *advancer) abort(step int, fault bool) {
	before := a.s
	if a.s.Aborted == "" {
		a.s.Aborted, a.s.AbortFault = a.p.Steps[step].Name, fault
	}
	a.s.AbortPhase = max(a.s.AbortPhase, a.p.Steps[step].Phase)
	if a.s.Aborted != before.Aborted || a.s.AbortPhase != before.AbortPhase {
		a.stops++ // else it is all as it was
	}
}

// stopped reports whether nothing more is begun of a step.
func (a *advancer) stopped(step int) bool {
	return a.s.Cancelled != "" || a.s.Aborted != "" && a.p.Steps[step].Phase <= a.s.AbortPhase
}

// full reports whether no more is begun of a step because of what ended badly in it:
// the flow remembers no more gaps. What is being retried is begun, for it closes them.
func (a *advancer) full(st *StepState) bool {
	return a.gaps >= maxGaps && st.gaps() > 0 && len(st.Lost) == 0
}

// endStep ends a step whose jobs have all ended.
func (a *advancer) endStep(i int, st *StepState) {
	s := &a.p.Steps[i]
	if a.stopped(i) {
		a.stopOpen(st)
	}
	if s.Flow != nil {
		a.childrenDue(i, st)
	}
	switch approval := s.KindOr() == domain.StepApproval; {
	case approval && !a.stopped(i):
		a.await(i, st)
		return
	case len(st.Open) > 0:
		return
	case approval:
		a.end(i, domain.StepSkippedByError, "nobody decided before the flow ended")
		return
	}
	if st.left() && !a.stopped(i) && !a.full(st) {
		return
	}
	if s.Flow != nil && st.left() && !a.noneMade(i, st) {
		return
	}
	if s.Repeat != nil && len(st.Bad) == 0 && a.goesOn(i, st) {
		return
	}
	faults, failures := 0, 0
	text := ""
	for k := range st.Bad {
		if a.isFault(&st.Bad[k]) {
			if faults++; faults == 1 {
				text = st.Bad[k].Text
			}
		} else if failures++; faults == 0 && text == "" {
			text = st.Bad[k].Text
		}
	}
	if st.left() && !a.stopped(i) {
		text = fmt.Sprintf("ended before all its jobs were made: what ended badly leaves %d gaps in the flow; "+
			"a retry of that lets it go on (--failed for what failed): %s", a.gaps, text)
	}
	switch {
	case faults > 0:
		a.end(i, domain.StepErrored, text)
	case st.left() && (a.s.Cancelled != "" || a.s.AbortFault):
		a.end(i, domain.StepErrored, "it was ended before all its jobs were made")
	case st.left():
		a.end(i, domain.StepFailed, cmp.Or(text, "it was ended before all its jobs were made"))
	case failures > 0 && s.MayFail:
		a.end(i, domain.StepFailedAccepted, text)
	case failures > 0:
		a.end(i, domain.StepFailed, text)
	default:
		a.end(i, domain.StepSucceeded, "")
	}
}

// isFault reports whether a unit ended by an error. One that its flow ended
// counts as what the flow was aborted for.
func (a *advancer) isFault(u *Unit) bool {
	if u.Outcome == string(work.OutcomeAborted) {
		return a.s.AbortFault
	}
	return u.fault()
}

// stopOpen ends the jobs of a step that the flow no longer wants.
func (a *advancer) stopOpen(st *StepState) {
	for _, u := range st.Open {
		if u.Flow != 0 {
			if a.s.Cancelled != "" {
				a.d.StopFlows = append(a.d.StopFlows, u.Flow)
			}
			continue // else what runs is let finish
		}
		if a.s.Cancelled != "" {
			a.d.Stop = append(a.d.Stop, u.Job)
		} else {
			a.d.Abort = append(a.d.Abort, u.Job)
		}
	}
}
