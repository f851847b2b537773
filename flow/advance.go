package flow

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

const (
	// makeMost bounds the jobs that one round makes: their commit is one batch.
	makeMost = 150
	// maxGaps ends the steps of a flow whose bad ends leave so many gaps: what is
	// remembered of an endless step must stay bounded.
	maxGaps = 10_000
	// maxTexts is of how many units that ended badly the reason is remembered;
	// it stands on their jobs too.
	maxTexts = 500
)

// Facts are what happened to a flow since its state was written.
type Facts struct {
	Now time.Time
	// Ended are the ends of jobs.
	Ended []work.Ending
	// Orders are what people ask, oldest first.
	Orders []Order
	// Added are what jobs have added: "params.<name>", "steps.<step>.<setting>".
	Added map[string]string
	// Whens answers what was asked by [Decisions.Ask].
	Whens map[int]WhenAnswer
	// Later says that no more is answered in this round: what is not known is asked in the next.
	Later bool
	// Banned says that no jobs may be made now.
	Banned bool
	// Rival is the flow for whose sake one that has ended may not go on: it lives,
	// and the blueprint wants only one at a time.
	Rival string
}

// WhenAnswer is the value of a step's `when`, or why it has none.
type WhenAnswer struct {
	Holds bool
	Err   string
}

// Decisions are what is to be done.
type Decisions struct {
	// Make are units to make jobs for: places in State.Steps[Step].Open.
	Make []Place
	// Ask are steps whose `when` must be known to go on; Advance is then called
	// again with the same state and their answers.
	Ask []int
	// Abort are jobs to end unless they run, Stop jobs to end even then.
	Abort, Stop []domain.JobID
	// Again are jobs to start again.
	Again []domain.JobID
	// WakeAt is when to look again though nothing happens; zero: never.
	WakeAt time.Time
	// More is set where a round could not make all that may be made.
	More bool
	// End is how the flow ended; "" while it has not.
	End domain.FlowReason
	// Why is what went wrong first.
	Why string
	// Reopened is set where a flow that had ended goes on.
	Reopened bool
	// Remove is set where the flow has ended and is to be removed.
	Remove bool
}

// Place is a unit of a step.
type Place struct{ Step, Open int }

// Advance decides what follows from facts. It changes nothing and asks nobody:
// the same state and facts give the same answer.
//
// Source: seed 004, "job proceed"; its rules, without the faults that
// docs/concepts.md names.
func Advance(p *Plan, state State, f Facts) (State, Decisions) {
	a := advancer{p: p, s: state.clone(), f: f}
	if len(a.s.Steps) == 0 {
		a.s.Steps = make([]StepState, len(p.Steps))
		for i := range a.s.Steps {
			a.s.Steps[i].Status = Dormant
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
	a.finish()
	return a.s, a.d
}

type advancer struct {
	p *Plan
	s State
	f Facts
	d Decisions
	// aborts counts what made the flow abort in this round.
	aborts int
	// gaps are those of all steps.
	gaps int
}

// endings takes in the ends of jobs. One that is not open any more was told
// twice.
func (a *advancer) endings() {
	if len(a.f.Ended) == 0 {
		return
	}
	at := map[domain.JobID]Place{}
	texts := 0
	for i := range a.s.Steps {
		texts += len(a.s.Steps[i].Bad)
		for k, u := range a.s.Steps[i].Open {
			at[u.Job] = Place{i, k}
		}
	}
	for _, e := range a.f.Ended {
		where, known := at[e.Job]
		if !known {
			continue
		}
		delete(at, e.Job)
		st := &a.s.Steps[where.Step]
		u := &st.Open[where.Open]
		if e.Outcome == work.OutcomeSucceeded {
			st.Done = st.Done.Add(u.Start, u.End)
		} else {
			bad := *u
			bad.Outcome = string(rune(e.Outcome))
			if texts < maxTexts {
				bad.Text = e.Text
			}
			texts++
			st.Bad = append(st.Bad, bad)
			a.mayAbort(where.Step, &bad)
		}
		u.Job = 0 // taken out below, when no index points here any more
	}
	for i := range a.s.Steps {
		st := &a.s.Steps[i]
		kept := st.Open[:0]
		for _, u := range st.Open {
			if u.Job != 0 {
				kept = append(kept, u)
			}
		}
		st.Open = kept
	}
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
	if a.s.Aborted == "" {
		a.s.Aborted, a.s.AbortFault = a.p.Steps[step].Name, fault
	}
	a.s.AbortPhase = max(a.s.AbortPhase, a.p.Steps[step].Phase)
	a.aborts++
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

// steps lets every step go as far as it can. One pass is enough, as a step comes
// after all that it waits for, unless the flow aborts in it: that changes what
// becomes of steps before.
func (a *advancer) steps() {
	a.d.Ask, a.d.Abort, a.d.Stop = nil, nil, nil
	done := true      // all steps of smaller phases are
	phase := 0        // of the step before
	phaseDone := true // all steps of that phase so far
	for n, i := range a.p.order {
		if s := &a.p.Steps[i]; n == 0 || s.Phase != phase {
			done, phase, phaseDone = done && phaseDone, s.Phase, true
		}
		st := &a.s.Steps[i]
		switch {
		case st.Status == Dormant:
			a.wakeStep(i, done)
		case st.Status.Begun():
			a.endStep(i)
		}
		phaseDone = phaseDone && st.Status.Done()
	}
}

// wakeStep decides about a step that has not begun.
func (a *advancer) wakeStep(i int, phasesDone bool) {
	s, st := &a.p.Steps[i], &a.s.Steps[i]
	worst, all := well, true
	for _, on := range a.p.needs[i] {
		c := a.s.Steps[on].Status.class()
		all = all && c != undecided
		worst = max(worst, c)
	}
	switch {
	case a.s.Cancelled != "":
		a.end(i, SkippedByError, "the flow was cancelled")
	case a.stopped(i) && !a.s.AbortFault:
		a.end(i, SkippedByFailure, "the flow was aborted: step "+a.s.Aborted+" failed")
	case a.stopped(i):
		a.end(i, SkippedByError, "the flow was aborted: step "+a.s.Aborted+" ended in error")
	case !all:
	case worst == fault:
		a.end(i, SkippedByError, "a step that it needs ended in error")
	case worst == failure && s.MayFail:
		a.end(i, FailedAccepted, "a step that it needs failed, which is accepted")
	case worst == failure:
		a.end(i, SkippedByFailure, "a step that it needs failed")
	case st.Skip:
		a.end(i, Skipped, "as asked")
	case !phasesDone || a.early(a.p.After) || a.early(s.After) || a.f.Banned:
	case s.When != "" && !a.when(i):
	default:
		a.open(i)
	}
}

// early reports whether an instant is still to come, and sees to it that it is
// not missed.
func (a *advancer) early(at domain.Instant) bool {
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
func (a *advancer) when(i int) bool {
	answer, known := a.f.Whens[i]
	switch {
	case !known && a.f.Later:
		a.d.More = true
	case !known:
		a.d.Ask = append(a.d.Ask, i)
	case answer.Err != "":
		a.end(i, Errored, "when: "+answer.Err)
		a.mayAbort(i, &Unit{Outcome: string(work.OutcomeErrored)})
	case !answer.Holds:
		a.end(i, Skipped, "its condition does not hold: "+a.p.Steps[i].When)
	default:
		return true
	}
	return false
}

// end ends a step.
func (a *advancer) end(i int, status Status, text string) {
	st := &a.s.Steps[i]
	st.Status, st.Text, st.EndMs = status, cut(text), a.f.Now.UnixMilli()
}

// open begins a step.
func (a *advancer) open(i int) {
	s, st := &a.p.Steps[i], &a.s.Steps[i]
	st.Status, st.SinceMs, st.Text = Open, a.f.Now.UnixMilli(), ""
	if s.KindOr() == domain.StepApproval {
		st.Status, st.Text = Running, "waits for somebody to approve or reject it"
		return
	}
	split, retries, err := splitOf(s, a.f.Added, st.Change)
	if err != nil {
		a.end(i, Errored, err.Error())
		a.mayAbort(i, &Unit{Outcome: string(work.OutcomeErrored)})
		return
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
		a.end(i, Succeeded, "there is nothing to do in its range")
	}
}

// lastOffset bounds what is counted in packs: one more is a number too.
const lastOffset = math.MaxInt64 - 1

// splitOf is how a step is split, with what jobs and people have said about it.
func splitOf(s *domain.Step, added map[string]string, change *StepChange) (split *Split, retries *int, err error) {
	if change == nil {
		change = &StepChange{}
	}
	get := func(name string) (int64, bool, error) {
		text, ok := added["steps."+s.Name+"."+name]
		if !ok {
			return 0, false, nil
		}
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			err = domain.Invalidf("a job set steps.%s.%s to %q, want a whole number", s.Name, name, text)
		}
		return n, true, err
	}
	var errs error
	take := func(name string, into *int64) {
		if n, ok, err := get(name); err != nil {
			errs = err
		} else if ok {
			*into = n
		}
	}
	if n, ok, err := get("retries"); err != nil {
		errs = err
	} else if ok {
		r := int(min(max(n, 0), 255))
		retries = &r
	}
	switch s.KindOr() {
	case domain.StepShard:
		sh := *s.Shard
		count, start, window := int64(sh.Count), int64(sh.Start), int64(sh.Window)
		take("shard.count", &count)
		take("shard.start", &start)
		take("shard.window", &window)
		// A job may well find that there is nothing to do.
		sh.Count, sh.Start, sh.Window = cmp.Or(int(count), 1), int(start), int(window)
		if err := sh.Validate(); err != nil && errs == nil {
			errs = fmt.Errorf("steps.%s.shard: %w", s.Name, err)
		}
		split = &Split{Total: count, Size: 1, Start: start, End: count - 1, Window: orDefault(sh.Window)}
	case domain.StepPack:
		pk := *s.Pack
		end := int64(-1)
		if pk.End != nil {
			end = *pk.End
		}
		window := int64(pk.Window)
		take("pack.size", &pk.Size)
		take("pack.start", &pk.Start)
		take("pack.window", &window)
		if _, ok, _ := get("pack.end"); ok {
			take("pack.end", &end)
			pk.End, pk.Endless = &end, false
		}
		pk.Window = int(window)
		if err := pk.Validate(); err != nil && errs == nil {
			errs = fmt.Errorf("steps.%s.pack: %w", s.Name, err)
		}
		if pk.End == nil && !pk.Endless && change.End == nil && errs == nil {
			errs = domain.Invalidf("steps.%s.pack has no end: set it in the blueprint or the request, or let a job before it write steps.%s.pack.end", s.Name, s.Name)
		}
		if pk.Start > lastOffset && errs == nil {
			errs = domain.Invalidf("steps.%s.pack: start %d: want up to %d", s.Name, pk.Start, lastOffset)
		}
		split = &Split{Pack: true, Size: pk.Size, Start: pk.Start, End: min(end, lastOffset), Endless: pk.Endless, Window: orDefault(pk.Window)}
	default:
		split = &Split{Total: 1, Size: 1, Window: 1}
	}
	split.apply(*change, split.Start)
	return split, retries, errs
}

func orDefault(window int) int {
	if window == 0 {
		return domain.DefaultWindow
	}
	return window
}

// endStep ends a step whose jobs have all ended.
func (a *advancer) endStep(i int) {
	s, st := &a.p.Steps[i], &a.s.Steps[i]
	if a.stopped(i) {
		a.stopOpen(i)
	}
	if len(st.Open) > 0 {
		return
	}
	if s.KindOr() == domain.StepApproval {
		if a.s.Cancelled != "" || a.stopped(i) {
			a.end(i, SkippedByError, "nobody decided before the flow ended")
		}
		return
	}
	if st.left() && !a.stopped(i) && !a.full(st) {
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
		a.end(i, Errored, text)
	case st.left() && (a.s.Cancelled != "" || a.s.AbortFault):
		a.end(i, Errored, "it was ended before all its jobs were made")
	case st.left():
		a.end(i, Failed, cmp.Or(text, "it was ended before all its jobs were made"))
	case failures > 0 && s.MayFail:
		a.end(i, FailedAccepted, text)
	case failures > 0:
		a.end(i, Failed, text)
	default:
		a.end(i, Succeeded, "")
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
func (a *advancer) stopOpen(i int) {
	for _, u := range a.s.Steps[i].Open {
		if a.s.Cancelled != "" {
			a.d.Stop = append(a.d.Stop, u.Job)
		} else {
			a.d.Abort = append(a.d.Abort, u.Job)
		}
	}
}

// makeUnits makes what the windows have room for, earlier steps first.
func (a *advancer) makeUnits() {
	if len(a.d.Ask) > 0 {
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
		if st.Status != Open || a.stopped(i) || a.f.Banned {
			continue
		}
		st.Text = ""
		if a.full(st) {
			st.Text = fmt.Sprintf("no more of it is begun: what ended badly leaves %d gaps in the flow; it ends with its last job, unless that is retried", a.gaps)
			continue
		}
		for st.left() && len(st.Open) < st.Split.Window && parallel > 0 {
			if room <= 0 {
				a.d.More = true
				return
			}
			parallel--
			u := st.next()
			if u.Job != 0 {
				a.d.Again = append(a.d.Again, u.Job)
			} else {
				room -= 1 + a.p.bytes[i]*makeMost/partBytes
				a.d.Make = append(a.d.Make, Place{i, len(st.Open)})
			}
			st.Open = append(st.Open, u)
		}
		if !st.left() {
			st.Status = Running
		}
	}
}

// next takes the next unit off what is left. It has a job where that is to be
// started again.
func (st *StepState) next() Unit {
	if len(st.Lost) > 0 {
		u := st.Lost[0]
		st.Lost = st.Lost[1:]
		return u
	}
	end := st.Split.last()
	if end-st.At >= st.Split.Size { // what is left is more than one
		end = st.At + st.Split.Size - 1
	}
	u := Unit{ID: st.Next, Start: st.At, End: end}
	st.Next++
	st.At = end + 1
	return u
}

// finish ends the flow when all its steps have ended.
func (a *advancer) finish() {
	if len(a.d.Ask) > 0 {
		return
	}
	worst := well
	waiting := false
	why := map[Status]string{} // of each kind of bad end what came first
	for _, i := range a.p.order {
		st := &a.s.Steps[i]
		if !st.Status.Done() {
			waiting = waiting || st.Status.Begun()
			worst = undecided
			continue
		}
		if c := st.Status.class(); worst != undecided {
			worst = max(worst, c)
		}
		name := a.p.Steps[i].Name
		if (st.Status == Failed || st.Status == Errored) && (why[st.Status] == "" || name == a.s.Aborted) {
			why[st.Status] = "step " + name + ": " + st.Text
		}
	}
	a.d.Why = cmp.Or(why[Failed], why[Errored])
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
		a.d.End, a.d.Why = domain.FlowErrored, cmp.Or(why[Errored], why[Failed])
	default:
		a.d.End = domain.FlowFailed
	}
	a.d.Remove = a.s.Delete
}
