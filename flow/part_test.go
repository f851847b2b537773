package flow_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/simtest"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/work"
)

// This file holds what Advance decides against what is decided by looking at every
// step, and what AdvancePart decides, which knows but a part of the steps, against both.

// parts is a flow's state as it lies on a board: all but the steps, and the steps that
// are not as they began.
type parts struct {
	head  string
	steps map[int]string
	known known
	loads int // steps that were asked for by the last AdvancePart
	// what was decided last, to be written
	next    flow.State
	changed map[int]*flow.StepState
}

// known are the steps that were asked for.
type known map[int]*flow.StepState

// At implements [flow.Steps].
func (k known) At(i int) *flow.StepState { return k[i] }

func newParts(plan *flow.Plan) *parts {
	return &parts{head: text(flow.State{Sums: flow.NewSums(plan)}), steps: map[int]string{}}
}

func text(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// advance decides, and reads the steps that it is asked for.
func (x *parts) advance(t *testing.T, plan *flow.Plan, f flow.Facts) flow.Decisions {
	t.Helper()
	var head flow.State
	if err := json.Unmarshal([]byte(x.head), &head); err != nil {
		t.Fatal(err)
	}
	x.known, x.loads = known{}, 0
	for {
		next, changed, d := flow.AdvancePart(plan, head, x.known, f)
		if text(head) != x.head {
			t.Fatalf("AdvancePart changed the state that it was given: %s", text(head))
		}
		if len(d.Load) == 0 {
			x.next, x.changed = next, changed
			return d
		}
		for _, i := range d.Load {
			if x.known[i] == nil {
				x.known[i] = x.read(t, i)
				x.loads++
			}
		}
	}
}

func (x *parts) read(t *testing.T, i int) *flow.StepState {
	t.Helper()
	st := flow.StepState{Status: domain.StepDormant}
	if s, there := x.steps[i]; there {
		if err := json.Unmarshal([]byte(s), &st); err != nil {
			t.Fatal(err)
		}
	}
	return &st
}

// whole is all of what was decided.
func (x *parts) whole(t *testing.T, plan *flow.Plan) flow.State {
	t.Helper()
	all := x.next
	all.Sums, all.Steps = nil, make([]flow.StepState, len(plan.Steps))
	for i := range all.Steps {
		if st := x.changed[i]; st != nil {
			all.Steps[i] = *st
		} else {
			all.Steps[i] = *x.read(t, i)
		}
	}
	return all
}

// spread puts the steps of a whole state where they lie for themselves.
func (x *parts) spread(plan *flow.Plan, state flow.State) {
	head, steps := flow.Spread(plan, state)
	x.head = text(head)
	for i := range steps {
		x.steps[i] = text(steps[i])
	}
}

// write keeps what was decided.
func (x *parts) write() {
	x.head = text(x.next)
	for i, st := range x.changed {
		x.steps[i] = text(st)
	}
}

// bare is a state as text without what is only counted.
func bare(s flow.State) string {
	s.Sums, s.Steps = nil, slices.Clone(s.Steps)
	for i := range s.Steps {
		s.Steps[i].Met, s.Steps[i].Worst = 0, 0
	}
	return text(s)
}

// compare holds what was decided against what a look at all steps decides.
func (p *play) compare(f flow.Facts, next flow.State, d flow.Decisions) {
	p.Helper()
	want, wantD := next, d
	if !slices.ContainsFunc(p.plan.Steps, func(s domain.Step) bool { return s.Approval != nil && s.Approval.Notice != nil }) { // which the reference does not know
		want, wantD = flow.ReferenceAdvance(p.plan, p.state, f)
	}
	if bare(next) != bare(want) {
		p.Fatalf("Advance (-want +got):\n%s", cmp.Diff(strings.Split(bare(want), `{"st`), strings.Split(bare(next), `{"st`)))
	}
	p.sameDecisions("Advance", wantD, d)
	if p.parts == nil {
		return
	}
	if p.parts.next.Sums != nil && bare(p.parts.whole(p.T, p.plan)) != bare(p.state) { // the test has changed it
		p.parts.spread(p.plan, p.state)
	}
	partD := p.parts.advance(p.T, p.plan, f)
	if got := p.parts.whole(p.T, p.plan); bare(got) != bare(want) {
		p.Fatalf("AdvancePart (-want +got):\n%s", cmp.Diff(strings.Split(bare(want), `{"st`), strings.Split(bare(got), `{"st`)))
	}
	p.sameDecisions("AdvancePart", wantD, partD)
	p.parts.check(p.T, p.plan)
}

// sameDecisions compares decisions. What went wrong was once told of flows that had not
// ended, too.
func (p *play) sameDecisions(who string, want, got flow.Decisions) {
	p.Helper()
	if want.End == "" {
		want.Why = ""
	}
	// It may wake once too early, for what somebody has decided meanwhile, and never too late.
	if want.WakeAt.IsZero() || got.WakeAt.Before(want.WakeAt) && !got.WakeAt.IsZero() {
		want.WakeAt = got.WakeAt
	}
	for _, list := range [][]domain.JobID{want.Stop, want.Abort, got.Stop, got.Abort} {
		slices.Sort(list)
	}
	for _, d := range []*flow.Decisions{&want, &got} { // one of them may be named twice
		slices.Sort(d.StopFlows)
		d.StopFlows = slices.Compact(d.StopFlows)
	}
	if w, g := fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got); w != g {
		p.Fatalf("%s decides\n%s\nwant\n%s", who, g, w)
	}
}

// check holds the sums against the steps.
func (x *parts) check(t *testing.T, plan *flow.Plan) {
	t.Helper()
	all := x.whole(t, plan)
	undone, begun, open, bad := 0, 0, 0, 0
	for i := range all.Steps {
		st := &all.Steps[i]
		open, bad = open+len(st.Open), bad+len(st.Bad)
		if !st.Status.Done() {
			undone++
		}
		if st.Status.Begun() {
			begun++
		}
	}
	if s := x.next.Sums; s.Undone != undone || s.Begun != begun || s.Open != open || s.Bad != bad {
		t.Fatalf("the sums are %s; there are %d undone, %d begun, %d open, %d bad", text(s), undone, begun, open, bad)
	}
}

func TestAPartOfAFlowIsDecidedAsTheWhole(t *testing.T) {
	watched.Alone(t)
	first, last := simtest.Seeds(2 * simSeeds)
	for seed := first; seed <= last; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			c := chance{rand.New(rand.NewPCG(seed, 3))}
			b := c.anyPlanOf(1+c.IntN(9), 25)
			if c.yes(50) {
				b = c.anyPlanOf(10+c.IntN(50), 4+c.IntN(12))
			}
			b.OnError = []domain.OnError{domain.OnErrorAbort, domain.OnErrorContinue}[c.IntN(2)]
			c.more(b)
			r := &randomPlay{play: newPlay(t, b), chance: c, parts: map[string]string{}}
			r.play.parts = newParts(r.plan)
			r.play.step(flow.Facts{})
			for range 60 {
				r.fact()
			}
			r.drain()
		})
	}
}

// TestARoundKnowsWhatItChanges counts the steps that a round has to know.
func TestARoundKnowsWhatItChanges(t *testing.T) {
	const n = 3_000
	for name, needsOf := range map[string]func(i int) []int{
		"a chain":   func(i int) []int { return []int{i - 1} },
		"a lattice": func(i int) []int { return []int{max(i-10, 0), max(i-9, 1) - 1} },
	} {
		t.Run(name, func(t *testing.T) {
			var steps []domain.Step
			for i := range n {
				s := step("s"+strconv.Itoa(i), "", func(s *domain.Step) { s.MayFail = true })
				if i > 0 {
					for _, on := range needsOf(i) {
						s.Needs = append(s.Needs, "s"+strconv.Itoa(on))
					}
					slices.Sort(s.Needs)
					s.Needs = slices.Compact(s.Needs)
				}
				steps = append(steps, s)
			}
			plan := flow.NewPlan(blueprint(steps...))
			x := newParts(plan)
			now := time.UnixMilli(1_000_000)
			d := x.advance(t, plan, flow.Facts{Now: now})
			of := map[domain.JobID]int{}
			var jobs []domain.JobID
			for ended := 0; d.End == ""; ended++ {
				for _, at := range d.Make {
					j := domain.JobID(len(of) + 1)
					x.changed[at.Step].Open[at.Open].Job = j
					of[j] = at.Step
					jobs = append(jobs, j)
				}
				x.write()
				e := work.Ending{Job: jobs[0], Outcome: work.OutcomeSucceeded}
				jobs = jobs[1:]
				d = x.advance(t, plan, flow.Facts{Now: now, Ended: []work.Ending{e}, Of: of})
				if d.End == "" && x.loads > 40 || ended > n {
					t.Fatalf("after %d ends a round has to know %d steps", ended, x.loads)
				}
			}
		})
	}
}
