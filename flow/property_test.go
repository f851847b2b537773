package flow_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	blueprints "github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/simtest"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/work"
)

// This file lets Advance decide about random plans and random facts: one seed
// is one run. What it promises is checked after every step.

func TestAdvanceKeepsItsPromises(t *testing.T) {
	watched.Alone(t)
	first, last := simtest.Seeds(5 * simSeeds)
	for seed := first; seed <= last; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			c := chance{rand.New(rand.NewPCG(seed, 2))}
			b := c.anyPlan()
			c.more(b)
			b.OnError = []domain.OnError{domain.OnErrorAbort, domain.OnErrorContinue}[c.IntN(2)]
			if err := blueprints.ValidateFields(b); err != nil {
				t.Fatal(err)
			}
			r := &randomPlay{play: newPlay(t, b), chance: c, parts: map[string]string{}}
			r.play.step(flow.Facts{})
			r.check(nil, nil)
			for range 40 {
				r.fact()
			}
			r.drain()
		})
	}
}

// chance makes random things.
type chance struct{ *rand.Rand }

func (c chance) yes(percent int) bool { return c.IntN(100) < percent }

// anyPlan is a blueprint of up to nine steps of all kinds.
func (c chance) anyPlan() *domain.Blueprint { return c.anyPlanOf(1+c.IntN(9), 25) }

// anyPlanOf is one of n steps; dense is the chance of an edge, and of a phase, in percent.
func (c chance) anyPlanOf(n, dense int) *domain.Blueprint {
	b := blueprint()
	phase := 0
	for i := range n {
		if c.yes(dense) {
			phase += 1 + c.IntN(3)
		}
		s := step("s"+strconv.Itoa(i), "", func(s *domain.Step) { s.Phase, s.MayFail, s.MaySkip = phase, c.yes(20), c.yes(40) })
		for k := range i {
			if c.yes(dense) {
				s.Needs = append(s.Needs, "s"+strconv.Itoa(k))
			}
		}
		switch c.IntN(8) {
		case 0, 1:
			s.Shard = &domain.Shard{Count: 1 + c.IntN(8), Start: c.IntN(3), Window: 1 + c.IntN(4)}
		case 2, 3:
			end := int64(c.IntN(60)) - 1
			s.Pack = &domain.Pack{Size: 1 + c.Int64N(9), Start: c.Int64N(10), End: &end, Window: 1 + c.IntN(4), FirstID: c.Int64N(2)}
		case 4:
			if c.yes(30) {
				s.Pack = &domain.Pack{Size: 1 + c.Int64N(9), Endless: true, Window: 1 + c.IntN(4)}
			}
		case 5:
			s = domain.Step{Name: s.Name, Kind: domain.StepApproval, Phase: s.Phase, Needs: s.Needs, MayFail: s.MayFail, MaySkip: s.MaySkip}
		}
		if c.yes(15) {
			s.When = "true"
		}
		if c.yes(10) {
			s.After = domain.Instant(1_000_000 + c.IntN(60_000))
		}
		b.Steps = append(b.Steps, s)
	}
	c.Shuffle(len(b.Steps), func(i, k int) { b.Steps[i], b.Steps[k] = b.Steps[k], b.Steps[i] })
	if c.yes(30) {
		b.MaxParallel = 1 + c.IntN(5)
	}
	return b
}

// more makes approvals wait for a time only, and some steps of one job ones that are repeated, or
// done for a list: what a play answers for, and a simulation would have to compute.
func (c chance) more(b *domain.Blueprint) {
	for i := range b.Steps {
		switch s := &b.Steps[i]; {
		case s.Kind == domain.StepApproval && c.yes(60):
			s.Approval = &domain.Approval{Deadline: domain.Span(1 + c.IntN(60)),
				OnDeadline: []domain.OnDeadline{"", domain.DeadlineReject, domain.DeadlineApprove, domain.DeadlineFail}[c.IntN(4)]}
			if c.yes(50) {
				s.Approval.Answers = []domain.TypedField{{Name: "size", Default: new("7")}}
			}
		case s.KindOr() != domain.StepSingle:
		case c.yes(30):
			c.moreFlow(s)
		case c.yes(25):
			s.Repeat = &domain.Repeat{Until: "enough", Max: 1 + c.IntN(4), Every: domain.Span(c.IntN(3) * 5)}
		case c.yes(25):
			s.Each, s.Window = "elements", c.IntN(4)
		}
	}
}

// moreFlow makes a step of one job one that makes a flow, or several.
func (c chance) moreFlow(s *domain.Step) {
	s.Script, s.ScriptType, s.Flow, s.Retries = "", "", &domain.FlowCall{Blueprint: "child"}, c.IntN(3)
	if c.yes(30) {
		s.Timeout = domain.Span(1 + c.IntN(90))
	}
	if c.yes(30) {
		s.Retry = &domain.Retry{On: []domain.RetryOn{domain.RetryErrored}}
	}
	if c.yes(40) {
		s.Each, s.Window = "elements", c.IntN(4)
	} else if c.yes(30) {
		s.Repeat = &domain.Repeat{Until: "enough", Max: 1 + c.IntN(4), Every: domain.Span(c.IntN(3) * 5)}
	}
}

// randomPlay is one run.
type randomPlay struct {
	*play
	chance
	parts map[string]string // by "step:start" of every unit that was made: its job or flow
}

// fact lets something happen.
func (r *randomPlay) fact() {
	r.Helper()
	before := r.state
	var f flow.Facts
	switch r.IntN(12) {
	case 10, 11:
		r.meddle()
	case 0:
		r.banned = !r.banned
	case 1, 2:
		r.orders++
		o := r.randomOrder()
		o.ID = fmt.Sprint("o", r.orders)
		f.Orders = append(f.Orders, o)
	case 3:
		r.now = r.now.Add(time.Duration(r.Int64N(int64(20 * time.Second))))
	default:
		f.Ended = r.ends(1 + r.IntN(3))
	}
	for i, s := range r.plan.Steps {
		r.whens[s.Name] = []flow.WhenAnswer{{Holds: true}, {Holds: true}, {}, {Err: "cannot be told"}}[r.IntN(4)]
		r.untils[s.Name] = []flow.WhenAnswer{{Holds: true}, {}, {}, {}, {Err: "cannot be told"}}[r.IntN(5)]
		r.kids.refusals[i] = []flow.ChildAnswer{{}, {}, {}, {Later: "another lives"}, {Err: "there can be none"}}[r.IntN(5)]
		r.lists[s.Name] = []flow.ListAnswer{{}, {Count: 1}, {Count: r.Int64N(9), First: r.IntN(3)}, {Count: 4}, {Err: "no list"}}[r.IntN(5)]
	}
	if r.yes(10) { // its keeper dies before it has written down what it decided; the children that it has made are there
		r.ask(r.facts(flow.Facts{Ended: f.Ended}))
		r.kids.untold = nil
	}
	r.play.step(f)
	r.check(&before, &f)
}

// meddle does to a child what people may do to any flow.
func (r *randomPlay) meddle() {
	list := r.kids.over()
	if len(list) == 0 {
		return
	}
	switch it := list[r.IntN(len(list))]; {
	case r.yes(50):
		it.gone = true
	case it.ended != work.OutcomeSucceeded:
		it.start()
		it.byHand = true
	}
}

// ends are ends of up to n open jobs, and sometimes one that was told before.
func (r *randomPlay) ends(n int) (ends []work.Ending) {
	var open []domain.JobID
	for _, s := range r.state.Steps {
		for _, u := range s.Open {
			if u.Flow == 0 {
				open = append(open, u.Job)
			}
		}
	}
	lives := r.kids.living()
	r.Shuffle(len(lives), func(i, k int) { lives[i], lives[k] = lives[k], lives[i] })
	for _, it := range lives[:min(n, len(lives))] {
		how := []work.Outcome{work.OutcomeSucceeded, work.OutcomeSucceeded, work.OutcomeFailed, work.OutcomeErrored, work.OutcomeCancelled}[r.IntN(5)]
		if slices.Contains(r.last.StopFlows, it.id) && r.yes(80) {
			how = work.OutcomeCancelled
		}
		ends = append(ends, it.end(how))
	}
	r.Shuffle(len(open), func(i, k int) { open[i], open[k] = open[k], open[i] })
	for _, j := range open[:min(n, len(open))] {
		what := []work.Outcome{work.OutcomeSucceeded, work.OutcomeSucceeded, work.OutcomeSucceeded, work.OutcomeFailed, work.OutcomeErrored}[r.IntN(5)]
		if slices.Contains(r.last.Stop, j) && r.yes(80) {
			what = work.OutcomeCancelled
		}
		if slices.Contains(r.last.Abort, j) && r.yes(60) {
			what = work.OutcomeAborted
		}
		ends = append(ends, work.Ending{Job: j, Outcome: what, Text: "text"})
	}
	if len(ends) > 0 && r.yes(10) {
		ends = append(ends, ends[0])
	}
	return ends
}

// check checks what must hold after every step; before is the state of then.
func (r *randomPlay) check(before *flow.State, f *flow.Facts) {
	r.Helper()
	reopened := false
	if f != nil {
		for _, o := range f.Orders {
			reopened = reopened || o.Verb == flow.OrderRetry || o.Verb == flow.OrderSkip
		}
	}
	open, made := 0, map[string]bool{}
	for _, name := range r.made {
		name, _, _ = strings.Cut(name, ":")
		made[name] = true
	}
	for i := range r.state.Steps {
		s, st := &r.plan.Steps[i], &r.state.Steps[i]
		open += len(st.Open)
		if slices.Contains(r.anew, s.Name) {
			maps.DeleteFunc(r.parts, func(key, _ string) bool { return strings.HasPrefix(key, s.Name+":") })
		}
		r.checkUnits(s, st)
		if made[s.Name] && len(st.Open) > st.Split.Window {
			r.Errorf("step %s: %d units are open, the window is %d", s.Name, len(st.Open), st.Split.Window)
		}
		for k := range r.plan.Steps {
			on, sk := &r.plan.Steps[k], r.state.Steps[k].Status
			if made[s.Name] && slices.Contains(s.Needs, on.Name) && !well(sk) {
				r.Errorf("step %s makes units, but needs %s, which is %s", s.Name, on.Name, sk)
			}
			begun := st.SinceMs == r.now.UnixMilli() && (before == nil || len(before.Steps) == 0 || before.Steps[i].SinceMs != st.SinceMs)
			if begun && on.Phase < s.Phase && !sk.Done() {
				r.Errorf("step %s of phase %d begins, but %s of phase %d is %s", s.Name, s.Phase, on.Name, on.Phase, sk)
			}
		}
		if before != nil && before.Steps[i].Status.Done() && st.Status != before.Steps[i].Status && !reopened {
			r.Errorf("step %s was %s and is %s, which nobody asked for", s.Name, before.Steps[i].Status, st.Status)
		}
		if st.Status.Done() && len(st.Open) > 0 {
			r.Errorf("step %s is %s with %d open units", s.Name, st.Status, len(st.Open))
		}
	}
	if r.plan.MaxParallel > 0 && len(r.made) > 0 && open > r.plan.MaxParallel {
		r.Errorf("%d units are open, the flow allows %d", open, r.plan.MaxParallel)
	}
	if r.banned && len(r.made) > 0 {
		r.Errorf("made while banned: %v", r.made)
	}
	r.checkEnd(open)
	r.checkChildren()
	if r.Failed() {
		r.FailNow()
	}
}

func well(s domain.StepStatus) bool {
	return s == domain.StepSucceeded || s == domain.StepSkipped || s == domain.StepFailedAccepted
}

// checkUnits checks that what is done, open, bad, lost and left of a step is
// its whole range, and nothing twice.
func (r *randomPlay) checkUnits(s *domain.Step, st *flow.StepState) {
	r.Helper()
	if st.Split == nil {
		if len(st.Open)+len(st.Bad)+len(st.Lost)+len(st.Done) > 0 {
			r.Errorf("step %s has units without having begun: %+v", s.Name, st)
		}
		return
	}
	all := slices.Clone(st.Done)
	count := all.Count()
	for _, units := range [][]flow.Unit{st.Open, st.Bad, st.Lost} {
		for _, u := range units {
			all = all.Add(u.Start, u.End)
			count += u.End - u.Start + 1
			key, does := fmt.Sprint(s.Name, ":", u.Start, " in round ", st.Round), fmt.Sprint("job ", u.Job)
			if u.Flow != 0 {
				does = domain.FlowKey(u.Flow)
			} else if s.Flow != nil {
				continue // its child was refused, cannot be made yet, or is gone
			}
			if was, there := r.parts[key]; there && was != does && !r.isGone(was) {
				r.Errorf("unit %s was made twice, as %s and %s", key, was, does)
			}
			r.parts[key] = does
		}
	}
	want := flow.Ranges(nil).Add(st.Split.Start, st.At-1)
	if all.String() != want.String() || count != want.Count() {
		r.Errorf("step %s: done, open and bad are %s, %d in all; made was %s", s.Name, all, count, want)
	}
	if !st.Split.Endless && st.At > max(st.Split.End, st.Split.Start-1)+1 {
		r.Errorf("step %s: %d was made, the end is %d", s.Name, st.At-1, st.Split.End)
	}
}

// isGone reports whether it is a child that was deleted.
func (r *randomPlay) isGone(key string) bool {
	id, err := domain.ParseFlowKey(key)
	return err == nil && r.kids.of[id].gone
}

// checkChildren checks that each step waits for what will end, and that no child outlives its step.
func (r *randomPlay) checkChildren() {
	r.Helper()
	of := map[domain.FlowID]string{}
	for i, st := range r.state.Steps {
		for _, u := range st.Open {
			if u.Flow == 0 {
				continue
			}
			name := fmt.Sprint(r.plan.Steps[i].Name, ":", u.ID)
			if other, twice := of[u.Flow]; twice {
				r.Errorf("%s is the child of %s and of %s", domain.FlowKey(u.Flow), other, name)
			}
			of[u.Flow] = name
			if !r.kids.of[u.Flow].live {
				r.Errorf("%s waits for the end of %s, which has ended, and has been told", name, domain.FlowKey(u.Flow))
			}
		}
	}
	for _, it := range r.kids.living() {
		if st := r.state.Steps[it.step]; st.Status.Done() && !it.byHand {
			r.Errorf("%s lives, and the step %s that made it is %s: %s", domain.FlowKey(it.id), r.plan.Steps[it.step].Name, st.Status, st.Text)
		}
	}
}

// checkEnd checks that a flow which has not ended waits for something with a
// name, and that one which has says what its steps say.
func (r *randomPlay) checkEnd(open int) {
	r.Helper()
	var worst domain.FlowReason = domain.FlowSucceeded
	done, named := true, open > 0 || r.banned || !r.last.WakeAt.IsZero()
	for i, st := range r.state.Steps {
		done = done && st.Status.Done()
		named = named || st.Status == domain.StepRunning && r.plan.Steps[i].Kind == domain.StepApproval
		switch st.Status {
		case domain.StepFailed, domain.StepSkippedByFailure:
			if worst == domain.FlowSucceeded {
				worst = domain.FlowFailed
			}
		case domain.StepErrored, domain.StepSkippedByError:
			worst = domain.FlowErrored
		}
	}
	if worst != domain.FlowSucceeded && r.state.Cancelled != "" {
		worst = domain.FlowCancelled
	}
	switch {
	case !done && r.last.End != "":
		r.Errorf("the flow ended as %s before its steps: %+v", r.last.End, r.state.Steps)
	case !done && !named:
		r.Errorf("the flow waits for nothing: %+v", r.state.Steps)
	case done && r.last.End != worst:
		r.Errorf("the flow ended as %q (%s), its steps say %q", r.last.End, r.last.Why, worst)
	case done && (r.last.Why == "") != (worst == domain.FlowSucceeded):
		r.Errorf("the flow ended as %s because of %q", worst, r.last.Why)
	}
}

// drain lets everything end that may.
func (r *randomPlay) drain() {
	r.banned = false
	no := false
	for name := range r.untils {
		r.untils[name] = flow.WhenAnswer{Holds: true}
	}
	clear(r.kids.refusals)
	for range 300 {
		before := r.state
		var f flow.Facts
		for i, st := range r.state.Steps {
			o := flow.Order{Verb: flow.OrderApprove, By: 9, Step: r.plan.Steps[i].Name}
			if r.plan.Steps[i].Pack != nil && r.plan.Steps[i].Pack.Endless && !st.Status.Done() {
				o.Verb, o.Steps = flow.OrderUpdate, map[string]domain.StepChange{o.Step: {Endless: &no}}
			} else if r.plan.Steps[i].Kind != domain.StepApproval || st.Status != domain.StepRunning {
				continue
			}
			r.orders++
			o.ID = fmt.Sprint("o", r.orders)
			f.Orders = append(f.Orders, o)
		}
		for _, e := range r.ends(1000) {
			if e.Outcome != work.OutcomeAborted && e.Outcome != work.OutcomeCancelled {
				e.Outcome = work.OutcomeSucceeded
				if it := r.kids.of[e.Flow]; it != nil {
					it.ended = e.Outcome
				}
			}
			f.Ended = append(f.Ended, e)
		}
		if !r.last.WakeAt.IsZero() {
			r.now = r.last.WakeAt
		}
		r.play.step(f)
		r.check(&before, &f)
		if r.last.End != "" {
			return
		}
	}
	r.Errorf("the flow does not end: %+v", r.state)
}
