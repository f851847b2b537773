package flow

import (
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// Steps are the states of a flow's steps, as far as they are known.
type Steps interface {
	// At is the state of a step, which must not be changed; nil where it is not known.
	At(i int) *StepState
}

// whole are the states of all steps; none are those of a flow that is new.
type whole []StepState

// At implements [Steps].
func (w whole) At(i int) *StepState {
	if len(w) == 0 {
		return &StepState{Status: domain.StepDormant}
	}
	return &w[i]
}

// Advance decides what follows from facts. It changes nothing and asks nobody:
// the same state and facts give the same answer.
//
// Source: seed 004, "job proceed"; its rules, without the faults that
// docs/concepts.md names.
func Advance(p *Plan, state State, f Facts) (State, Decisions) {
	head := state
	head.Steps, head.Sums = nil, nil
	next, changed, d := AdvancePart(p, head, whole(state.Steps), f)
	next.Sums, next.Steps = nil, make([]StepState, len(p.Steps))
	for i := range next.Steps {
		if st := changed[i]; st != nil {
			next.Steps[i] = *st
		} else {
			next.Steps[i] = *whole(state.Steps).At(i)
		}
	}
	return next, d
}

// AdvancePart is [Advance] for a flow of which head is all but its steps, without
// looking at each of these: it begins with those that the facts are about, and goes on
// with those that follow. changed are the steps that are not as they were, or were
// looked at to be changed. Where a step must be known that is not, it says so in
// [Decisions.Load], and is called again with the same head and facts. Where head has no
// sums, all steps are looked at.
func AdvancePart(p *Plan, head State, steps Steps, f Facts) (next State, changed map[int]*StepState, d Decisions) {
	a := newAdvancer(p, head, steps, f)
	a.advance()
	if len(a.d.Load) > 0 {
		return head, nil, Decisions{Load: a.d.Load}
	}
	return a.s, a.changed, a.d
}

// newAdvancer begins with the sums of all steps, which are found where there are none.
func newAdvancer(p *Plan, head State, steps Steps, f Facts) *advancer {
	a := &advancer{p: p, s: head.clone(), states: steps, changed: map[int]*StepState{}, f: f, marks: newMarks(len(p.Steps))}
	if head.Sums == nil {
		a.s.Sums = &Sums{}
	} else {
		a.s.Sums = head.Sums.clone()
	}
	if head.Sums == nil || a.widely() {
		a.everything()
	}
	return a
}

// advance decides. Where it meets what is not known, it stops: there is no sense in the rest.
func (a *advancer) advance() {
	for _, do := range []func(){a.endings, a.orders, a.pass, a.makeUnits, a.refusals, a.finish} {
		if len(a.d.Load) > 0 {
			return
		}
		do()
	}
	a.d.Abort, a.d.StopFlows = append(a.d.Abort, a.late...), append(a.d.StopFlows, a.lateFlows...)
}

type advancer struct {
	p       *Plan
	s       State // without its steps
	states  Steps
	changed map[int]*StepState
	f       Facts
	d       Decisions
	marks   marks // what is to be looked at
	all     bool  // that is all steps
	// stops counts what made the flow abort, or be cancelled, in this round.
	stops int
	// gaps are those of all steps.
	gaps int
	// late are jobs of notices about what has been decided, lateFlows children that have had their time.
	late      []domain.JobID
	lateFlows []domain.FlowID
	// refused is set where a child could not be made, and never will be.
	refused bool
}

// refusals lets steps end of which a child was refused. What begins with that is made in the next round.
func (a *advancer) refusals() {
	if a.refused {
		a.pass()
		a.d.More = true
	}
}

// at is the state of a step, to be read. One that is not known is asked for: then ok is
// false.
func (a *advancer) at(i int) (st *StepState, ok bool) {
	if st = a.changed[i]; st == nil {
		st = a.states.At(i)
	}
	if st == nil {
		a.d.Load = append(a.d.Load, i)
	}
	return st, st != nil
}

// known reports whether steps are; those that are not are asked for.
func (a *advancer) known(steps []int) bool {
	all := true
	for _, i := range steps {
		_, ok := a.at(i)
		all = all && ok
	}
	return all
}

// change is the state of a known step, to be changed in what the sums do not count.
func (a *advancer) change(i int) *StepState {
	st := a.changed[i]
	if st == nil {
		st = a.states.At(i).clone()
		a.changed[i] = st
	}
	return st
}

// lift takes a known step out of the sums, to be changed; settle puts it back. was is
// how it stood.
func (a *advancer) lift(i int) (st *StepState, was domain.StepStatus) {
	st = a.change(i)
	a.s.Sums.count(a.p, i, st, -1)
	return st, st.Status
}

func (a *advancer) settle(i int, was domain.StepStatus) {
	st, sums := a.changed[i], a.s.Sums
	sums.count(a.p, i, st, 1)
	a.sort(i, st)
	if classOf(was) == undecided && classOf(st.Status) != undecided {
		a.tell(i, classOf(st.Status))
		a.nextPhase()
	}
}

// sort puts a step where the sums name it.
func (a *advancer) sort(i int, st *StepState) {
	sums, rank, stopped := a.s.Sums, a.p.rank[i], a.stopped(i)
	open, left := st.Status == domain.StepOpen && !stopped, st.left()
	sums.Ready = put(sums.Ready, rank, open && left && len(st.Open) < st.Split.Window)
	sums.Made = put(sums.Made, rank, open && !left)
	sums.Stopped = put(sums.Stopped, rank, st.Status.Begun() && stopped)
	if st.Status != domain.StepDormant && (st.DueMs == 0 || !st.Status.Begun()) {
		if sums.Waiting = put(sums.Waiting, rank, false); len(sums.Waiting) == 0 {
			sums.UntilMs, sums.Held = 0, false
		}
	}
	if st.Status.Begun() {
		a.comesAgain(i, st)
	}
}

// tell lets those that need a step know that it has ended.
func (a *advancer) tell(i int, end class) {
	for _, on := range a.p.followers[i] {
		st, ok := a.at(on)
		if !ok || st.Status != domain.StepDormant {
			continue
		}
		st = a.change(on)
		st.Met, st.Worst = st.Met+1, max(st.Worst, end)
		if st.Met >= len(a.p.needs[on]) {
			a.marks.add(a.p.rank[on])
		}
	}
}

// nextPhase lets the steps of the next phase be looked at, where all of those before
// have ended.
func (a *advancer) nextPhase() {
	for sums := a.s.Sums; sums.Left == 0 && sums.Phase+1 < len(a.p.phases); {
		before, steps := a.p.phases[sums.Phase], a.p.phases[sums.Phase+1]
		if !a.known(before) || !a.known(steps) {
			return
		}
		sums.Phase++
		sums.Told = a.told(before)
		for _, i := range steps {
			if st, _ := a.at(i); !st.Status.Done() {
				sums.Left++
				a.marks.add(a.p.rank[i])
			}
		}
	}
}

// told are the steps of a phase of which those after it are told. Those that did not end
// well come first: where there are many, they are what a clean-up wants to know.
func (a *advancer) told(phase []int) (list []int) {
	for _, ended := range []bool{false, true} {
		for _, i := range phase {
			if st, _ := a.at(i); (classOf(st.Status) == well) == ended && len(list) < maxNeeds {
				list = append(list, i)
			}
		}
	}
	return list
}

// widely reports whether an order is about more than the step that it names.
func (a *advancer) widely() bool {
	return slices.ContainsFunc(a.f.Orders, func(o Order) bool {
		_, twice := a.s.answered(o.ID)
		return !twice && o.Verb != OrderApprove && o.Verb != OrderReject && o.Verb != OrderUpdate
	})
}

// everything has all steps looked at.
func (a *advancer) everything() {
	a.all = true
	for i := range a.p.Steps {
		a.at(i)
	}
	a.recount()
}

// recount finds the sums anew, where all steps are known.
func (a *advancer) recount() {
	if len(a.d.Load) > 0 {
		return
	}
	sums := &Sums{Round: a.s.Sums.Round, Steps: a.s.Sums.Steps, Size: a.s.Sums.Size, Phase: len(a.p.phases) - 1}
	a.s.Sums = sums
	for _, i := range a.p.order {
		st, _ := a.at(i)
		if !st.Status.Done() {
			sums.Phase = min(sums.Phase, a.p.phase[i])
		}
		if st.Status == domain.StepDormant {
			a.remeet(i, st)
		}
	}
	if sums.Phase > 0 {
		sums.Told = a.told(a.p.phases[sums.Phase-1])
	}
	for i := range a.p.Steps {
		st, _ := a.at(i)
		sums.count(a.p, i, st, 1)
		a.sort(i, st)
	}
}

// remeet finds anew how those have ended that a step needs.
func (a *advancer) remeet(i int, st *StepState) {
	met, worst := 0, undecided
	for _, need := range a.p.needs[i] {
		on, _ := a.at(need)
		if c := classOf(on.Status); c != undecided {
			met, worst = met+1, max(worst, c)
		}
	}
	if met != st.Met || worst != st.Worst {
		st = a.change(i)
		st.Met, st.Worst = met, worst
	}
}
