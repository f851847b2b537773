package flow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// This file decides what follows by looking at every step of a flow, as it was done
// once: slow, and simple enough to be believed.

// ReferenceAdvance is Advance as it was when it looked at all steps each time: [Advance] and
// [AdvancePart] are held against it.
func ReferenceAdvance(p *Plan, state State, f Facts) (State, Decisions) {
	a := referee{p: p, s: state.clone(), f: f}
	if len(a.s.Steps) == 0 {
		a.s.Steps = make([]StepState, len(p.Steps))
		for i := range a.s.Steps {
			a.s.Steps[i].Status = domain.StepDormant
		}
	}
	a.endings()
	for _, o := range f.Orders {
		a.order(o)
	}
	for i := range a.s.Steps {
		a.gaps += a.s.Steps[i].gaps()
	}
	for aborts := -1; aborts != a.aborts; {
		aborts = a.aborts
		a.steps()
	}
	a.makeUnits()
	if a.refused {
		for aborts := -1; aborts != a.aborts; {
			aborts = a.aborts
			a.steps()
		}
		a.d.More = true
	}
	a.finish()
	a.d.StopFlows = append(a.d.StopFlows, a.late...)
	return a.s, a.d
}

type referee struct {
	p *Plan
	s State
	f Facts
	d Decisions
	// aborts counts what made the flow abort in this round.
	aborts int
	// gaps are those of all steps.
	gaps int
	// late are the children that have had their time, refused is set where one could not be made.
	late    []domain.FlowID
	refused bool
}

// endings takes in the ends of jobs. One that is not open any more was told
// twice.
func (a *referee) endings() {
	if len(a.f.Ended) == 0 {
		return
	}
	at := map[part]Place{}
	texts := 0
	for i := range a.s.Steps {
		texts += len(a.s.Steps[i].Bad)
		for k, u := range a.s.Steps[i].Open {
			at[u.part()] = Place{i, k}
		}
	}
	for _, e := range a.f.Ended {
		where, known := at[part{e.Job, e.Flow}]
		if !known {
			continue
		}
		st := &a.s.Steps[where.Step]
		u := &st.Open[where.Open]
		if e.Flow != 0 && e.Nth <= u.Ends {
			continue
		}
		u.Ends = e.Nth
		if a.again(where.Step, u, e) {
			a.d.AgainFlows = append(a.d.AgainFlows, ChildEnd{e.Flow, e.Nth})
			continue
		}
		delete(at, part{e.Job, e.Flow})
		if e.Outcome == work.OutcomeSucceeded {
			st.Done = st.Done.Add(u.Start, u.End)
		} else {
			bad := *u
			bad.Outcome, bad.DueMs = string(rune(e.Outcome)), 0
			if bad.Text != "" {
				bad.Outcome = string(work.OutcomeErrored)
			} else if texts < maxTexts {
				bad.Text = e.Text
			}
			texts++
			st.Bad = append(st.Bad, bad)
			a.mayAbort(where.Step, &bad)
		}
		u.Job, u.Flow = 0, 0 // taken out below, when no index points here any more
	}
	for i := range a.s.Steps {
		st := &a.s.Steps[i]
		kept := st.Open[:0]
		for _, u := range st.Open {
			if u.part() != (part{}) {
				kept = append(kept, u)
			}
		}
		st.Open = kept
	}
}

// again reports whether a child that has ended is started again by itself.
func (a *referee) again(step int, u *Unit, e work.Ending) bool {
	s, end := &a.p.Steps[step], domain.RetryErrored
	if e.Outcome == work.OutcomeFailed {
		end = domain.RetryFailed
	}
	retries := s.MaxRetries()
	if changed := a.s.Steps[step].Retries; changed != nil {
		retries = *changed
	}
	late, wanted := u.Text != "", e.Outcome == work.OutcomeSucceeded || e.Outcome == work.OutcomeCancelled
	if e.Flow == 0 || wanted || late || u.Tries >= retries || s.Retry.Final(end, 0) || a.stopped(step) {
		return false
	}
	u.Tries++
	a.bound(step, u)
	return true
}

// bound says when a child is to have ended that is started now.
func (a *referee) bound(step int, u *Unit) {
	if t := a.p.Steps[step].Timeout; t != 0 {
		u.DueMs = a.f.Now.Add(t.Time()).UnixMilli()
	}
}

// mayAbort makes the flow abort where a unit ended badly and nobody accepts it.
func (a *referee) mayAbort(step int, u *Unit) {
	s := &a.p.Steps[step]
	accepted := s.MayFail && !u.fault()
	if accepted || a.p.OnError == domain.OnErrorContinue || a.s.Cancelled != "" {
		return
	}
	a.abort(step, u.fault())
}

func (a *referee) abort(step int, fault bool) {
	if a.s.Aborted == "" {
		a.s.Aborted, a.s.AbortFault = a.p.Steps[step].Name, fault
	}
	a.s.AbortPhase = max(a.s.AbortPhase, a.p.Steps[step].Phase)
	a.aborts++
}

// stopped reports whether nothing more is begun of a step.
func (a *referee) stopped(step int) bool {
	return a.s.Cancelled != "" || a.s.Aborted != "" && a.p.Steps[step].Phase <= a.s.AbortPhase
}

// full reports whether no more is begun of a step because of what ended badly in it:
// the flow remembers no more gaps. What is being retried is begun, for it closes them.
func (a *referee) full(st *StepState) bool {
	return a.gaps >= maxGaps && st.gaps() > 0 && len(st.Lost) == 0
}

// steps lets every step go as far as it can. One pass is enough, as a step comes
// after all that it waits for, unless the flow aborts in it: that changes what
// becomes of steps before.
func (a *referee) steps() {
	a.d.Ask, a.d.AskUntil, a.d.AskList, a.d.AskMade, a.d.Abort, a.d.Stop, a.d.StopFlows, a.d.WakeAt = nil, nil, nil, nil, nil, nil, nil, time.Time{}
	done := true      // all steps of smaller phases are
	phase := 0        // of the step before
	phaseDone := true // all steps of that phase so far
	for n, i := range a.p.order {
		if s := &a.p.Steps[i]; n == 0 || s.Phase != phase {
			done, phase, phaseDone = done && phaseDone, s.Phase, true
		}
		st := &a.s.Steps[i]
		switch {
		case st.Status == domain.StepDormant:
			a.wakeStep(i, done)
		case st.Status.Begun():
			a.endStep(i)
		}
		phaseDone = phaseDone && st.Status.Done()
	}
}

// wakeStep decides about a step that has not begun.
func (a *referee) wakeStep(i int, phasesDone bool) {
	s, st := &a.p.Steps[i], &a.s.Steps[i]
	worst, all := well, true
	for _, on := range a.p.needs[i] {
		c := classOf(a.s.Steps[on].Status)
		all = all && c != undecided
		worst = max(worst, c)
	}
	switch {
	case a.s.Cancelled != "":
		a.end(i, domain.StepSkippedByError, "the flow was cancelled")
	case a.stopped(i) && !a.s.AbortFault:
		a.end(i, domain.StepSkippedByFailure, "the flow was aborted: step "+a.s.Aborted+" failed")
	case a.stopped(i):
		a.end(i, domain.StepSkippedByError, "the flow was aborted: step "+a.s.Aborted+" ended in error")
	case !all:
	case worst == fault:
		a.end(i, domain.StepSkippedByError, "a step that it needs ended in error")
	case worst == failure && s.MayFail:
		a.end(i, domain.StepFailedAccepted, "a step that it needs failed, which is accepted")
	case worst == failure:
		a.end(i, domain.StepSkippedByFailure, "a step that it needs failed")
	case st.Skip:
		a.end(i, domain.StepSkipped, "as asked")
	case !phasesDone || a.early(a.p.After) || a.early(s.After) || a.f.Banned:
	case s.When != "" && !a.when(i):
	case hasList(s) && !a.list(i):
	default:
		a.open(i)
	}
}

// early reports whether an instant is still to come, and sees to it that it is
// not missed.
func (a *referee) early(at domain.Instant) bool {
	t := time.UnixMilli(int64(at))
	if at == 0 || !a.f.Now.Before(t) {
		return false
	}
	if a.d.WakeAt.IsZero() || t.Before(a.d.WakeAt) {
		a.d.WakeAt = t
	}
	return true
}

// when reports whether a step's condition holds; where it does not, or cannot
// be told, the step has been dealt with.
func (a *referee) when(i int) bool {
	answer, known := a.f.Whens[i]
	switch {
	case !known && a.f.Later:
		a.d.More = true
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

// list reports whether the list of a step is known; where it is not, or cannot be had, the
// step has been dealt with.
func (a *referee) list(i int) bool {
	answer, known := a.f.Lists[i]
	switch {
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
func (a *referee) end(i int, status domain.StepStatus, text string) {
	st := &a.s.Steps[i]
	st.Status, st.Text, st.EndMs, st.RoundMs = status, cut(text), a.f.Now.UnixMilli(), 0
}

// open begins a step.
func (a *referee) open(i int) {
	s, st := &a.p.Steps[i], &a.s.Steps[i]
	st.Status, st.SinceMs, st.Text = domain.StepOpen, a.f.Now.UnixMilli(), ""
	if s.KindOr() == domain.StepApproval {
		st.Status, st.Text = domain.StepRunning, "waits for somebody to approve or reject it"
		if s.Approval != nil && s.Approval.Deadline != 0 {
			st.DueMs = a.f.Now.Add(s.Approval.Deadline.Time()).UnixMilli()
		}
		a.awaitPerson(i)
		return
	}
	split, retries, err := splitOf(s, a.f.Added, st.Change)
	if err != nil {
		a.end(i, domain.StepErrored, err.Error())
		a.mayAbort(i, &Unit{Outcome: string(work.OutcomeErrored)})
		return
	}
	word := "range"
	if hasList(s) {
		split.Total, split.End, st.List = a.f.Lists[i].Count, a.f.Lists[i].Count-1, a.f.Lists[i].First
	}
	if s.Each != "" {
		word = "list"
	}
	if s.Repeat != nil {
		st.Round = 1
	}
	st.Change = nil
	st.Split, st.At, st.Next = split, split.Start, split.Start
	if retries != nil && st.Retries == nil {
		st.Retries = retries
	}
	if split.Pack {
		st.Next = s.Pack.FirstID
	}
	if !st.left() {
		a.end(i, domain.StepSucceeded, "there is nothing to do in its "+word)
	}
}

// endStep ends a step whose jobs have all ended.
func (a *referee) endStep(i int) {
	s, st := &a.p.Steps[i], &a.s.Steps[i]
	if a.stopped(i) {
		a.stopOpen(i)
	}
	if s.Flow != nil {
		a.childrenDue(i)
	}
	if len(st.Open) > 0 {
		return
	}
	if s.KindOr() == domain.StepApproval {
		if a.s.Cancelled != "" || a.stopped(i) {
			a.end(i, domain.StepSkippedByError, "nobody decided before the flow ended")
		} else {
			a.awaitPerson(i)
		}
		return
	}
	if st.left() && !a.stopped(i) && !a.full(st) {
		return
	}
	if s.Flow != nil && a.unknown(i) {
		return
	}
	if s.Repeat != nil && len(st.Bad) == 0 && a.goesOn(i) {
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

// awaitPerson ends an approval whose time is up.
func (a *referee) awaitPerson(i int) {
	st := &a.s.Steps[i]
	if st.DueMs == 0 || a.early(domain.Instant(st.DueMs)) {
		return
	}
	ap := a.p.Steps[i].Approval
	text := fmt.Sprintf("nobody decided it within %s", ap.Deadline.Time())
	st.Result = map[string]string{"by": "deadline", "comment": text}
	switch ap.OnDeadline {
	case domain.DeadlineApprove:
		for _, f := range ap.Answers {
			st.Result[f.Name] = *f.Default
		}
		a.end(i, domain.StepSucceeded, text+", which approves it")
	case domain.DeadlineFail:
		a.end(i, domain.StepErrored, text)
		a.mayAbort(i, &Unit{Outcome: string(work.OutcomeErrored)})
	default:
		a.reject(i, text+", which rejects it")
	}
}

// goesOn reports whether a step is repeated whose round has ended well, or has been dealt with.
func (a *referee) goesOn(i int) bool {
	s, st := &a.p.Steps[i], &a.s.Steps[i]
	answer, known := a.f.Untils[i]
	switch {
	case st.RoundMs != 0:
	case !known:
		a.d.AskUntil = append(a.d.AskUntil, i)
		return true
	case answer.Err != "":
		a.end(i, domain.StepErrored, "repeat.until: "+answer.Err)
		a.mayAbort(i, &Unit{Outcome: string(work.OutcomeErrored)})
		return true
	case answer.Holds:
		return false
	case st.Round >= s.Repeat.Max && !a.stopped(i):
		text := fmt.Sprintf("it was repeated until %s, which did not hold after %d rounds, all that repeat.max allows", s.Repeat.Until, st.Round)
		if s.MayFail {
			a.end(i, domain.StepFailedAccepted, text)
			return true
		}
		a.end(i, domain.StepFailed, text)
		a.mayAbort(i, &Unit{Outcome: string(work.OutcomeFailed)})
		return true
	default:
		at := a.f.Now.Add(s.Repeat.Every.Time())
		st.RoundMs = at.UnixMilli()
		st.Text = fmt.Sprintf("round %d of %d begins at %s: %s does not hold yet", st.Round+1, s.Repeat.Max, at.UTC().Format(time.RFC3339), s.Repeat.Until)
	}
	switch {
	case a.stopped(i):
		status := domain.StepFailed
		if a.s.Cancelled != "" || a.s.AbortFault {
			status = domain.StepErrored
		}
		a.end(i, status, fmt.Sprintf("the flow was ended after round %d of it, before %s held", st.Round, s.Repeat.Until))
	case a.early(domain.Instant(st.RoundMs)):
	case hasList(s) && !a.list(i):
	default:
		a.remember(st)
		st.Status, st.Text, st.Round, st.RoundMs, st.Done, st.At, st.Next = domain.StepOpen, "", st.Round+1, 0, nil, st.Split.Start, 0
		if hasList(s) {
			st.List = a.f.Lists[i].First
		}
	}
	return true
}

// remember keeps the job of a step whose place the next one takes.
func (a *referee) remember(st *StepState) {
	if st.Job != 0 {
		st.Earlier = st.Earlier.Add(int64(st.Job), int64(st.Job))
	}
}

// isFault reports whether a unit ended by an error. One that its flow ended
// counts as what the flow was aborted for.
func (a *referee) isFault(u *Unit) bool {
	if u.Outcome == string(work.OutcomeAborted) {
		return a.s.AbortFault
	}
	return u.fault()
}

// stopOpen ends the jobs of a step that the flow no longer wants.
func (a *referee) stopOpen(i int) {
	for _, u := range a.s.Steps[i].Open {
		if u.Flow != 0 {
			if a.s.Cancelled != "" {
				a.d.StopFlows = append(a.d.StopFlows, u.Flow)
			}
		} else if a.s.Cancelled != "" {
			a.d.Stop = append(a.d.Stop, u.Job)
		} else {
			a.d.Abort = append(a.d.Abort, u.Job)
		}
	}
}

// unknown takes in the children of a step that ends before all were made, as far as they were made and nobody knows. It
// reports whether there are any, or that must be found out.
func (a *referee) unknown(i int) bool {
	st, made := &a.s.Steps[i], map[int64]bool{}
	rest := st.clone()
	for n := 0; n < makeMost && rest.left(); n++ {
		if u := rest.next(); u.Flow == 0 {
			answer, known := a.f.Children[ChildAt{i, u.ID}]
			if !known {
				a.d.AskMade = append(a.d.AskMade, ChildAt{i, u.ID})
			} else if answer.Flow != 0 {
				made[u.ID] = true
			}
		}
	}
	if len(a.d.AskMade) > 0 && a.d.AskMade[len(a.d.AskMade)-1].Step == i {
		return true
	}
	var lost []Unit
	any := len(made) > 0
	for len(made) > 0 {
		u := st.next()
		if !made[u.ID] || u.Flow != 0 {
			lost = append(lost, u)
			continue
		}
		delete(made, u.ID)
		u.Flow, u.Gone = a.f.Children[ChildAt{i, u.ID}].Flow, 0
		a.bound(i, &u)
		if u.DueMs != 0 {
			a.early(domain.Instant(u.DueMs))
		}
		if !st.Split.Each {
			st.Flow = u.Flow
		}
		st.Open = append(st.Open, u)
	}
	st.Lost = append(lost, st.Lost...)
	if any && a.stopped(i) {
		a.stopOpen(i)
	}
	return any
}

// childrenDue ends the children of a step that have had their time.
func (a *referee) childrenDue(i int) {
	st := &a.s.Steps[i]
	for k := range st.Open {
		u := &st.Open[k]
		if u.DueMs == 0 || a.early(domain.Instant(u.DueMs)) {
			continue
		}
		u.Text = cmp.Or(u.Text, fmt.Sprintf("%s took longer than its timeout of %s", domain.FlowKey(u.Flow), a.p.Steps[i].Timeout.Time()))
		u.DueMs = a.f.Now.Add(childStop).UnixMilli()
		a.early(domain.Instant(u.DueMs))
		a.late = append(a.late, u.Flow)
	}
}

// makeUnits makes what the windows have room for, earlier steps first.
func (a *referee) makeUnits() {
	if a.d.asks() {
		return // called again
	}
	room := makeMost
	parallel := 1 << 30
	if a.p.MaxParallel > 0 {
		parallel = a.p.MaxParallel
		for i := range a.s.Steps {
			parallel -= len(a.s.Steps[i].Open)
		}
	}
	for _, i := range a.p.order {
		st := &a.s.Steps[i]
		if st.Status != domain.StepOpen || a.stopped(i) || a.f.Banned {
			continue
		}
		if parallel > 0 {
			st.Text = ""
		}
		if a.full(st) {
			st.Text = fmt.Sprintf("no more of it is begun: what ended badly leaves %d gaps in the flow; it ends with its last job, unless that is retried", a.gaps)
			continue
		}
		_, fresh := a.f.Lists[i]
		if fresh = fresh && st.Split.Flows; fresh && st.left() && len(st.Open) < st.Split.Window && parallel > 0 { // where it lies is written down first
			a.d.More = true
		}
		for !fresh && st.left() && len(st.Open) < st.Split.Window && parallel > 0 {
			if room <= 0 {
				a.d.More = true
				return
			}
			u := st.next()
			if st.Split.Flows && u.Flow == 0 {
				room--
				if made, later := a.child(i, &u); later {
					break
				} else if !made {
					continue
				}
			}
			parallel--
			if u.Ends != 0 {
				a.bound(i, &u)
				a.d.AgainFlows = append(a.d.AgainFlows, ChildEnd{u.Flow, u.Ends})
			} else if st.Split.Flows {
			} else if u.Job != 0 {
				a.d.Again = append(a.d.Again, u.Job)
			} else {
				room -= 1 + a.p.bytes[i]*makeMost/partBytes
				a.d.Make = append(a.d.Make, Place{i, len(st.Open)})
			}
			st.Open = append(st.Open, u)
		}
		if !st.left() {
			st.Status = domain.StepRunning
		}
	}
}

// child gives a unit its flow. later says that it cannot be made now; otherwise it never will be.
func (a *referee) child(i int, u *Unit) (made, later bool) {
	st := &a.s.Steps[i]
	answer, known := a.f.Children[ChildAt{i, u.ID}]
	switch {
	case !known:
		a.d.AskChildren = append(a.d.AskChildren, ChildAt{i, u.ID})
	case answer.Flow != 0:
		u.Flow, u.Gone = answer.Flow, 0
		a.bound(i, u)
		if !st.Split.Each {
			st.Flow = u.Flow
		}
		if u.DueMs != 0 {
			a.early(domain.Instant(u.DueMs))
		}
	case answer.Err != "":
		bad := *u
		bad.Outcome, bad.Text = string(work.OutcomeErrored), answer.Err
		st.Bad = append(st.Bad, bad)
		a.mayAbort(i, &bad)
		a.refused = true
		return false, false
	default:
		st.Lost, st.Text = append([]Unit{*u}, st.Lost...), answer.Later
		a.early(domain.Instant(a.f.Now.Add(childLook).UnixMilli()))
		return false, true
	}
	return true, false
}

// finish ends the flow when all its steps have ended.
func (a *referee) finish() {
	if a.d.asks() {
		return
	}
	worst := well
	waiting := false
	why := map[domain.StepStatus]string{} // of each kind of bad end what came first
	for _, i := range a.p.order {
		st := &a.s.Steps[i]
		if !st.Status.Done() {
			waiting = waiting || st.Status.Begun()
			worst = undecided
			continue
		}
		if c := classOf(st.Status); worst != undecided {
			worst = max(worst, c)
		}
		name := a.p.Steps[i].Name
		if (st.Status == domain.StepFailed || st.Status == domain.StepErrored) && (why[st.Status] == "" || name == a.s.Aborted) {
			why[st.Status] = "step " + name + ": " + st.Text
		}
	}
	a.d.Why = cmp.Or(why[domain.StepFailed], why[domain.StepErrored])
	switch {
	case worst == undecided && !waiting && a.d.WakeAt.IsZero() && !a.f.Banned && !a.d.More:
		a.d.End, a.d.Why = domain.FlowStuck, "no step can begin, and none runs"
	case worst == undecided:
		return
	case worst == well: // also where a cancel came too late
		a.d.End = domain.FlowSucceeded
	case a.s.Cancelled != "":
		a.d.End, a.d.Why = domain.FlowCancelled, domain.CancelledText(a.s.Cancelled)
	case worst == fault:
		// Not what failed before: it is not what made this an error.
		a.d.End, a.d.Why = domain.FlowErrored, cmp.Or(why[domain.StepErrored], why[domain.StepFailed])
	default:
		a.d.End = domain.FlowFailed
	}
	a.d.Remove = a.s.Delete
}

// order does one order, or says why not.
func (a *referee) order(o Order) {
	if _, twice := a.s.answered(o.ID); twice {
		return
	}
	text := ""
	if err := a.obey(o); err != nil {
		text = err.Error()
	}
	a.s.answer(o.ID, text)
}

func (a *referee) obey(o Order) error {
	if a.s.Delete && o.Verb != OrderDelete {
		return errDeleted
	}
	switch o.Verb {
	case OrderCancel:
		return a.cancel(o)
	case OrderDelete:
		a.s.Delete, a.s.Forget = true, a.s.Forget || o.Forget
		if a.ended() {
			return nil
		}
		return a.cancel(o)
	case OrderRetry:
		return a.retry(o)
	case OrderUpdate:
		return a.update(o)
	}
	i, known := a.p.index[o.Step]
	if !known {
		return domain.NotFoundf("the flow has no step %q", o.Step)
	}
	if o.Verb == OrderSkip {
		return a.skip(i)
	}
	return a.decide(i, o)
}

// ended reports whether all steps have.
func (a *referee) ended() bool {
	return !slices.ContainsFunc(a.s.Steps, func(s StepState) bool { return !s.Status.Done() })
}

func (a *referee) cancel(o Order) error {
	if a.ended() {
		return domain.Conflictf("the flow has ended")
	}
	if a.s.Cancelled == "" {
		a.s.Cancelled = fmt.Sprint(uint32(o.By))
	}
	return nil
}

// cancelling says why a flow cannot go on that is on its way to its end.
func (a *referee) cancelling() error {
	if a.s.Cancelled == "" || a.ended() {
		return nil
	}
	return domain.Conflictf("the flow is being cancelled; wait until it has ended")
}

// skip skips a step that has not begun, or accepts one that ended badly.
func (a *referee) skip(i int) error {
	s, st := &a.p.Steps[i], &a.s.Steps[i]
	switch {
	case !s.MaySkip:
		return domain.Conflictf("step %s does not allow to be skipped: its blueprint does not set may_skip", s.Name)
	case st.Status == domain.StepDormant:
		st.Skip = true
	case st.Status.Begun():
		return domain.Conflictf("step %s is %s; only one that has not begun, or ended badly, can be skipped", s.Name, st.Status)
	case classOf(st.Status) == well:
		return domain.Conflictf("step %s is %s already", s.Name, st.Status)
	default:
		if err := cmp.Or(a.cancelling(), rivalled(a.f.Rival)); err != nil {
			return err
		}
		a.end(i, domain.StepSkipped, "skipped by hand after it ended badly")
		a.resume()
	}
	return nil
}

// decide approves or rejects.
func (a *referee) decide(i int, o Order) error {
	s, st := &a.p.Steps[i], &a.s.Steps[i]
	switch {
	case s.KindOr() != domain.StepApproval:
		return domain.Conflictf("step %s is of kind %s; only approvals can be approved or rejected", s.Name, s.KindOr())
	case st.Status == domain.StepDormant:
		return domain.Conflictf("step %s does not wait for a decision yet", s.Name)
	case st.Status != domain.StepRunning:
		return domain.Conflictf("step %s has been decided: it is %s", s.Name, st.Status)
	}
	answers, err := blueprint.FillAnswers(s.Approval, o.Answers, o.Verb == OrderApprove)
	if err != nil {
		return err
	}
	st.Result = answers
	st.Result["by"], st.Result["comment"] = fmt.Sprint(uint32(o.By)), o.Text
	if o.Verb == OrderApprove {
		a.end(i, domain.StepSucceeded, "approved by actor "+st.Result["by"])
		return nil
	}
	text := "rejected by actor " + st.Result["by"]
	if o.Text != "" {
		text += ": " + o.Text
	}
	a.reject(i, text)
	return nil
}

// reject ends an approval badly.
func (a *referee) reject(i int, text string) {
	if a.p.Steps[i].MayFail {
		a.end(i, domain.StepFailedAccepted, text)
		return
	}
	a.end(i, domain.StepFailed, text)
	a.mayAbort(i, &Unit{Outcome: string(work.OutcomeFailed)})
}

// retry starts again what ended badly.
func (a *referee) retry(o Order) error {
	if err := cmp.Or(a.cancelling(), rivalled(a.f.Rival)); err != nil {
		return err
	}
	if o.Step != "" {
		i, known := a.p.index[o.Step]
		if !known {
			return domain.NotFoundf("the flow has no step %q", o.Step)
		}
		if n, _ := a.retryStep(i, true); n == 0 {
			return domain.Conflictf("nothing of step %s ended badly: it is %s", o.Step, a.s.Steps[i].Status)
		}
		a.s.Steps[i].EndMs = 0
		a.resume()
		return nil
	}
	again, failures := 0, 0
	for i := range a.s.Steps {
		st := &a.s.Steps[i]
		n, f := a.retryStep(i, o.Failed)
		again, failures = again+n, failures+f
		if n > 0 {
			st.EndMs = 0
		}
	}
	switch {
	case again == 0 && failures > 0:
		return domain.Conflictf("nothing of the flow ended in error, but %d of it failed: say so (--failed) to start that again too", failures)
	case again == 0:
		return domain.Conflictf("nothing of the flow ended in error")
	}
	a.resume()
	return nil
}

// retryStep starts the bad units of a step again. It returns how many, and how
// many it left because they failed.
func (a *referee) retryStep(i int, failedToo bool) (again, failures int) {
	st := &a.s.Steps[i]
	if classOf(st.Status) == well {
		return 0, 0 // what ended badly in it was accepted, or skipped by hand
	}
	var kept []Unit
	for _, u := range st.Bad {
		if !a.isFault(&u) && !failedToo {
			kept = append(kept, u)
			failures++
			continue
		}
		again++
		st.Lost = append(st.Lost, Unit{ID: u.ID, Start: u.Start, End: u.End, Job: u.Job, Key: u.Key, Flow: u.Flow, Ends: u.Ends})
	}
	st.Bad = kept
	class := classOf(st.Status)
	switch {
	case again > 0 || (class == fault || class == failure && failedToo) && st.Split != nil && st.left():
		st.Status, st.Text = domain.StepRunning, ""
		if st.left() {
			st.Status = domain.StepOpen
		}
		return max(again, 1), failures
	case (class == fault || class == failure && failedToo) && len(st.Bad) == 0:
		if rep := a.p.Steps[i].Repeat; rep != nil && st.Round > 0 && st.Round < rep.Max {
			// A round that ended well is not done again.
			st.Status, st.Text, st.RoundMs = domain.StepRunning, "", a.f.Now.UnixMilli()
			return 1, 0
		}
		// It never had jobs: skipped with others, rejected, or by its condition. Or it has had all its rounds.
		if st.Round > 0 {
			a.d.Anew = append(a.d.Anew, i)
		}
		st.reset()
		return 1, 0
	case class == failure:
		failures = max(failures, 1)
	}
	return 0, failures
}

// resume lets a flow go on that was ending, or had ended: steps that were
// skipped because of others are looked at again.
func (a *referee) resume() {
	a.s.Aborted, a.s.AbortPhase, a.s.AbortFault, a.s.Cancelled = "", 0, false, ""
	for i := range a.s.Steps {
		st := &a.s.Steps[i]
		if st.Status == domain.StepSkippedByError || st.Status == domain.StepSkippedByFailure {
			st.reset()
		}
	}
	a.d.Reopened = true
}

// update changes steps that have not ended.
//
// Source: seed 004, "job update", of sizes, windows and picks.
func (a *referee) update(o Order) error {
	if len(o.Steps) == 0 {
		return domain.Invalidf("the update changes nothing")
	}
	for _, name := range slices.Sorted(maps.Keys(o.Steps)) {
		if err := a.mayUpdate(name, o.Steps[name]); err != nil {
			return err
		}
	}
	for name, c := range o.Steps {
		a.updateStep(a.p.index[name], c)
	}
	return nil
}

func (a *referee) mayUpdate(name string, c domain.StepChange) error {
	i, known := a.p.index[name]
	if !known {
		return domain.NotFoundf("the flow has no step %q", name)
	}
	s, st := &a.p.Steps[i], &a.s.Steps[i]
	var cannot []string
	for field, given := range map[string]bool{"params": len(c.Params) > 0, "after": c.After != 0, "timeout": c.Timeout != 0, "may_fail": c.MayFail != nil,
		"count": c.Count != 0, "start": c.Start != nil} {
		if given {
			cannot = append(cannot, field)
		}
	}
	slices.Sort(cannot)
	switch {
	case len(cannot) > 0:
		return domain.Invalidf("step %s: %s cannot be changed while the flow lives; size, window, end, endless and retries can", name, strings.Join(cannot, ", "))
	case st.Status.Done():
		return domain.Conflictf("step %s has ended: it is %s", name, st.Status)
	case c.Window < 0 || c.Window > domain.MaxWindow:
		return domain.Invalidf("step %s: window %d: want 1 to %d", name, c.Window, domain.MaxWindow)
	case c.Retries != nil && (*c.Retries < 0 || *c.Retries > domain.MaxRetries):
		return domain.Invalidf("step %s: retries %d: want 0 to %d", name, *c.Retries, domain.MaxRetries)
	case (c.Size != 0 || c.End != nil || c.Endless != nil) && s.KindOr() != domain.StepPack:
		return domain.Invalidf("step %s is of kind %s; size, end and endless are those of packs", name, s.KindOr())
	case c.Window != 0 && s.Shard == nil && s.Pack == nil && s.Each == "":
		return domain.Invalidf("step %s is of kind %s; only steps of many jobs have a window", name, s.KindOr())
	case c.End != nil && *c.End < -1:
		return domain.Invalidf("step %s: end %d: want 0 or more, or -1 for none", name, *c.End)
	case c.Size < 0:
		return domain.Invalidf("step %s: size %d: want 1 or more", name, c.Size)
	case c.Endless != nil && *c.Endless:
		return domain.Invalidf("step %s: an end can be set, not taken away", name)
	case c.Size == 0 && c.Window == 0 && c.Retries == nil && c.End == nil && c.Endless == nil:
		return domain.Invalidf("step %s: the update changes nothing", name)
	}
	return nil
}

// updateStep changes what is made from now on. A step that has not begun keeps
// the changes until then.
func (a *referee) updateStep(i int, c domain.StepChange) {
	st := &a.s.Steps[i]
	if c.Retries != nil {
		st.Retries = c.Retries
	}
	if st.Split == nil {
		merged := c
		if old := st.Change; old != nil {
			merged = changeOver(*old, c)
		}
		st.Change = &merged
		return
	}
	st.Split.apply(c, st.At)
	if st.left() && st.Status == domain.StepRunning {
		st.Status = domain.StepOpen
	}
}
