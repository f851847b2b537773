package flow_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/work"
)

// play lets Advance decide about a plan, one fact after the other, as a keeper
// would: it gives what is made its jobs. After each step it checks that the
// same question has the same answer, and that nothing follows from no facts.
type play struct {
	*testing.T
	plan   *flow.Plan
	state  flow.State
	last   flow.Decisions
	now    time.Time
	added  map[string]string
	whens  map[string]flow.WhenAnswer
	untils map[string]flow.WhenAnswer
	lists  map[string]flow.ListAnswer
	banned bool
	jobs   domain.JobID
	units  map[domain.JobID]string // what each job does: "step" or "step:unit"
	of     map[domain.JobID]int    // the step of each
	made   []string                // by the last step
	anew   []string                // steps that began anew in the last step
	ended  map[domain.JobID]bool
	orders int
	kids   *children
	parts  *parts // the same flow in parts; nil: it is not played so
}

func newPlay(t *testing.T, b *domain.Blueprint) *play {
	t.Helper()
	p := &play{T: t, plan: flow.NewPlan(b), now: time.UnixMilli(1_000_000), added: map[string]string{}, whens: map[string]flow.WhenAnswer{},
		untils: map[string]flow.WhenAnswer{}, lists: map[string]flow.ListAnswer{},
		units: map[domain.JobID]string{}, of: map[domain.JobID]int{}, ended: map[domain.JobID]bool{}, kids: newChildren()}
	p.parts = newParts(p.plan)
	return p
}

// step lets time pass, and Advance decide about facts.
func (p *play) step(f flow.Facts) {
	p.Helper()
	f = p.facts(f)
	p.made, p.anew = nil, nil
	for {
		f.Ended = append(f.Ended, p.kids.untold...)
		p.kids.untold = nil
		next, d := p.ask(f)
		again := f
		again.Ended, again.Orders = nil, nil
		gone := p.take(next, d)
		if len(gone) > 0 {
			p.state = flow.Forget(p.plan, p.state, gone...)
		}
		if !d.More && len(gone)+len(p.kids.untold) == 0 {
			p.fixpoint(again)
			return
		}
		f = again
	}
}

// facts are those of a later time, with what is known about all of them.
func (p *play) facts(f flow.Facts) flow.Facts {
	p.now = p.now.Add(time.Second)
	f.Now, f.Added, f.Banned = p.now, p.added, p.banned
	if len(p.ended)%3 > 0 { // else all steps are looked through for the jobs
		f.Of, f.OfFlows = p.of, p.kids.steps
	}
	return f
}

// ask is one Advance with all conditions answered.
func (p *play) ask(f flow.Facts) (flow.State, flow.Decisions) {
	p.Helper()
	f.Whens, f.Untils, f.Lists = map[int]flow.WhenAnswer{}, map[int]flow.WhenAnswer{}, map[int]flow.ListAnswer{}
	f.Children = map[flow.ChildAt]flow.ChildAnswer{}
	for range 3*len(p.plan.Steps) + 20 {
		before := fmt.Sprintf("%+v", p.state)
		next, d := flow.Advance(p.plan, p.state, f)
		next2, d2 := flow.Advance(p.plan, p.state, f)
		if !reflect.DeepEqual(next, next2) || !reflect.DeepEqual(d, d2) {
			p.Fatalf("two answers to the same question (-one +other):\n%s%s", cmp.Diff(next, next2), cmp.Diff(d, d2))
		}
		if after := fmt.Sprintf("%+v", p.state); after != before {
			p.Fatalf("Advance changed the state that it was given:\n%s\n%s", before, after)
		}
		p.compare(f, next, d)
		if len(d.Ask)+len(d.AskUntil)+len(d.AskList)+len(d.AskChildren)+len(d.AskMade) == 0 {
			return next, d
		}
		for _, at := range slices.Concat(d.AskChildren, d.AskMade) {
			if _, twice := f.Children[at]; twice {
				p.Fatalf("the child of unit %d of step %d is asked for twice", at.ID, at.Step)
			}
			f.Children[at] = p.kids.answer(at.Step, &next.Steps[at.Step], at.ID, slices.Contains(d.AskMade, at))
		}
		for _, i := range d.AskUntil {
			if _, twice := f.Untils[i]; twice {
				p.Fatalf("step %d is asked for twice whether it is enough", i)
			}
			f.Untils[i] = p.untils[p.plan.Steps[i].Name]
		}
		for _, i := range d.AskList {
			if _, twice := f.Lists[i]; twice {
				p.Fatalf("step %d is asked for its list twice", i)
			}
			f.Lists[i] = p.lists[p.plan.Steps[i].Name]
			if s := &p.plan.Steps[i]; s.KindOr() == domain.StepFlow {
				f.Lists[i] = p.kids.list(s, f.Lists[i])
			}
		}
		for _, i := range d.Ask {
			if _, twice := f.Whens[i]; twice {
				p.Fatalf("step %d is asked for twice", i)
			}
			f.Whens[i] = p.whens[p.plan.Steps[i].Name]
		}
	}
	p.Fatal("Advance asks without end")
	return flow.State{}, flow.Decisions{}
}

// take gives what is to be made its jobs. gone are the children that were to be started again and are not there.
func (p *play) take(next flow.State, d flow.Decisions) (gone []domain.FlowID) {
	for _, at := range d.Make {
		p.jobs++
		s, st := &p.plan.Steps[at.Step], &next.Steps[at.Step]
		u := &st.Open[at.Open]
		u.Job = p.jobs
		if p.parts != nil {
			p.parts.changed[at.Step].Open[at.Open].Job = p.jobs
		}
		p.of[p.jobs] = at.Step
		name := s.Name
		if s.KindOr() == domain.StepSingle {
			st.Job = u.Job
			if p.parts != nil {
				p.parts.changed[at.Step].Job = p.jobs
			}
		} else {
			name = fmt.Sprintf("%s:%d", name, u.ID)
		}
		p.units[u.Job] = name
		p.made = append(p.made, name)
	}
	for _, i := range d.Anew {
		p.anew = append(p.anew, p.plan.Steps[i].Name)
	}
	for _, j := range d.Again {
		delete(p.ended, j)
	}
	p.state, p.last = next, d
	if p.parts != nil {
		p.parts.write()
	}
	return p.kids.took(next, d)
}

// fixpoint checks that no facts change nothing.
func (p *play) fixpoint(f flow.Facts) {
	p.Helper()
	next, d := p.ask(f)
	if !reflect.DeepEqual(p.state, next) {
		p.Fatalf("without facts the state changes (-was +is):\n%s", cmp.Diff(p.state, next))
	}
	if len(d.Make)+len(d.Again)+len(d.AgainFlows) > 0 || d.More || d.Reopened || d.End != p.last.End {
		p.Fatalf("without facts it was decided: %+v; before: %+v", d, p.last)
	}
}

// end ends the jobs of units, given as "step outcome" or "step:unit outcome".
func (p *play) end(units ...string) {
	p.Helper()
	var f flow.Facts
	for _, text := range units {
		name, outcome, _ := strings.Cut(text, " ")
		f.Ended = append(f.Ended, work.Ending{Job: p.job(name), Outcome: work.Outcome(outcome[0]), Text: "the text of " + name})
		p.ended[p.job(name)] = true
	}
	p.step(f)
}

// job is the newest job of a unit.
func (p *play) job(name string) domain.JobID {
	p.Helper()
	for id := p.jobs; id > 0; id-- {
		if p.units[id] == name {
			return id
		}
	}
	p.Fatalf("there is no job of %s; made are %v", name, p.units)
	return 0
}

// order gives an order; it returns why it was refused.
func (p *play) order(o flow.Order) string {
	p.Helper()
	p.orders++
	o.ID, o.By = fmt.Sprint("o", p.orders), 9
	p.step(flow.Facts{Orders: []flow.Order{o}})
	answer := p.state.Answers[len(p.state.Answers)-1]
	if answer.ID != o.ID {
		p.Fatalf("the last answer is to %s, want %s", answer.ID, o.ID)
	}
	return answer.Error
}

func (p *play) must(o flow.Order) {
	p.Helper()
	if text := p.order(o); text != "" {
		p.Fatalf("%s %s: %s", o.Verb, o.Step, text)
	}
}

func (p *play) refused(o flow.Order, want string) {
	p.Helper()
	if text := p.order(o); !strings.Contains(text, want) {
		p.Errorf("%s %s: got %q, want a refusal with %q", o.Verb, o.Step, text, want)
	}
}

// want checks "step status" of steps.
func (p *play) want(steps ...string) {
	p.Helper()
	for _, text := range steps {
		name, status, _ := strings.Cut(text, " ")
		if st := p.at(name); string(st.Status) != status {
			p.Errorf("step %s: got %s (%s), want %s", name, st.Status, st.Text, status)
		}
	}
}

func (p *play) at(name string) *flow.StepState {
	p.Helper()
	i := slices.IndexFunc(p.plan.Steps, func(s domain.Step) bool { return s.Name == name })
	if i < 0 {
		p.Fatalf("no step %s", name)
	}
	return &p.state.Steps[i]
}

func (p *play) wantMade(units ...string) {
	p.Helper()
	if diff := cmp.Diff(units, p.made); diff != "" {
		p.Errorf("made (-want +got):\n%s", diff)
	}
}

func (p *play) wantEnd(reason domain.FlowReason, why string) {
	p.Helper()
	if p.last.End != reason || !strings.Contains(p.last.Why, why) {
		p.Errorf("end: got %q (%s), want %q (%s)", p.last.End, p.last.Why, reason, why)
	}
}

// wantStopped checks which units are to be ended, if nobody runs them or in
// any case.
func (p *play) wantStopped(got []domain.JobID, units ...string) {
	p.Helper()
	var names []string
	for _, j := range got {
		names = append(names, p.units[j])
	}
	if diff := cmp.Diff(units, names); diff != "" {
		p.Errorf("to be ended (-want +got):\n%s", diff)
	}
}

func approval(name string, change ...func(*domain.Step)) domain.Step {
	s := domain.Step{Name: name, Kind: domain.StepApproval}
	for _, c := range change {
		c(&s)
	}
	return s
}

func when(text string) func(*domain.Step) { return func(s *domain.Step) { s.When = text } }

func endless(size int64, window int) func(*domain.Step) {
	return func(s *domain.Step) { s.Pack = &domain.Pack{Size: size, Endless: true, Window: window} }
}

func after(ms int64) func(*domain.Step) {
	return func(s *domain.Step) { s.After = domain.Instant(ms) }
}

func continues(steps ...domain.Step) *domain.Blueprint {
	b := blueprint(steps...)
	b.OnError = domain.OnErrorContinue
	return b
}

func num(n int64) *int64 { return &n }

// part is one test of Advance: what happens to a plan.
type part struct {
	name string
	plan *domain.Blueprint
	play func(p *play)
}

func runParts(t *testing.T, parts []part) {
	for _, c := range parts {
		t.Run(c.name, func(t *testing.T) {
			watched.Alone(t)
			p := newPlay(t, c.plan)
			p.step(flow.Facts{})
			c.play(p)
		})
	}
}

func TestAdvanceStepStates(t *testing.T) {
	runParts(t, []part{
		{"a step without needs begins at once", blueprint(step("a", "")), func(p *play) {
			p.want("a running")
			p.wantMade("a")
			p.wantEnd("", "")
			p.end("a s")
			p.want("a succeeded")
			p.wantEnd(domain.FlowSucceeded, "")
		}},
		{"a step begins when all it needs has succeeded", blueprint(step("a", ""), step("b", ""), step("c", "", needs("a", "b"))), func(p *play) {
			p.want("c dormant")
			p.end("a s")
			p.want("c dormant")
			p.end("b s")
			p.want("c running")
			p.wantMade("c")
		}},
		{"a step with more units than its window is open until all are made", blueprint(step("a", "", shards(3, 2))), func(p *play) {
			p.want("a open")
			p.wantMade("a:0", "a:1")
			p.end("a:0 s")
			p.want("a running")
			p.wantMade("a:2")
			p.end("a:2 s", "a:1 s")
			p.want("a succeeded")
		}},
		{"a script that fails fails its step", continues(step("a", "")), func(p *play) {
			p.end("a f")
			p.want("a failed")
			p.wantEnd(domain.FlowFailed, "step a: the text of a")
		}},
		{"what is unexpected errs", continues(step("a", "")), func(p *play) {
			p.end("a e")
			p.want("a errored")
			p.wantEnd(domain.FlowErrored, "step a: the text of a")
		}},
		{"error beats failure in a step", continues(step("a", "", shards(3, 3))), func(p *play) {
			p.end("a:0 f", "a:1 e", "a:2 f")
			p.want("a errored")
			p.wantEnd(domain.FlowErrored, "the text of a:1")
		}},
		{"a step goes on making units after bad ends where errors do not abort", continues(step("a", "", shards(4, 1))), func(p *play) {
			p.end("a:0 e")
			p.wantMade("a:1")
			p.end("a:1 f")
			p.end("a:2 s")
			p.want("a running")
			p.end("a:3 s")
			p.want("a errored")
		}},
		{"accepted failures are an end that is well", blueprint(step("a", "", mayFail), step("b", "", needs("a"))), func(p *play) {
			p.end("a f")
			p.want("a failed_accepted", "b running")
			p.end("b s")
			p.wantEnd(domain.FlowSucceeded, "")
		}},
		{"errors are not accepted", continues(step("a", "", mayFail), step("b", "", needs("a"))), func(p *play) {
			p.end("a e")
			p.want("a errored", "b skipped_by_error")
		}},
		{"what needs a failed step is skipped, and so on to the end of the chain",
			continues(step("d", "", needs("c")), step("c", "", needs("b")), step("b", "", needs("a")), step("a", "")), func(p *play) {
				p.end("a f")
				p.want("a failed", "b skipped_by_failure", "c skipped_by_failure", "d skipped_by_failure")
				p.wantEnd(domain.FlowFailed, "step a: ")
			}},
		{"a step that may fail accepts the failure of what it needs without running",
			continues(step("a", ""), step("b", "", needs("a"), mayFail), step("c", "", needs("b"))), func(p *play) {
				p.end("a f")
				p.want("b failed_accepted", "c running")
				p.wantMade("c")
			}},
		{"error beats failure among needs, and may_fail", continues(step("a", ""), step("b", ""), step("c", "", needs("a", "b"), mayFail)), func(p *play) {
			p.end("a f")
			p.want("c dormant")
			p.end("b e")
			p.want("c skipped_by_error")
		}},
		{"a cascade waits until all needs have ended", continues(step("a", ""), step("b", ""), step("c", "", needs("a", "b"))), func(p *play) {
			p.end("a e")
			p.want("c dormant")
			p.end("b s")
			p.want("c skipped_by_error")
		}},
		{"independent branches go on after an error", continues(step("a", ""), step("b", ""), step("c", "", needs("b"))), func(p *play) {
			p.end("a e")
			p.end("b s")
			p.want("c running")
			p.end("c s")
			p.wantEnd(domain.FlowErrored, "step a")
		}},
		{"an empty range succeeds at once, and so do those after it", blueprint(step("a", "", func(s *domain.Step) {
			s.Shard = &domain.Shard{Count: 3, Start: 3}
		}), step("b", "", packs(10, 5, 4), needs("a"))), func(p *play) {
			p.want("a succeeded", "b succeeded")
			p.wantEnd(domain.FlowSucceeded, "")
		}},
		{"an end that is told twice counts once", blueprint(step("a", "", shards(3, 3))), func(p *play) {
			p.end("a:0 s", "a:0 f")
			p.end("a:0 e")
			if st := p.at("a"); st.Done.String() != "[0,0]" || len(st.Bad) != 0 || len(st.Open) != 2 {
				p.Errorf("got %+v", st)
			}
		}},
		{"the end of a job that is not the flow's changes nothing", blueprint(step("a", "")), func(p *play) {
			p.step(flow.Facts{Ended: []work.Ending{{Job: 999, Outcome: work.OutcomeErrored}}})
			p.want("a running")
		}},
	})
}

func TestAdvancePhases(t *testing.T) {
	runParts(t, []part{
		{"a later phase begins when every smaller one is done, whatever came of it",
			continues(step("a", ""), step("b", "", phase(2)), step("c", "", phase(7))), func(p *play) {
				p.want("a running", "b dormant", "c dormant")
				p.end("a e")
				p.want("b running", "c dormant")
				p.end("b f")
				p.want("c running")
				p.end("c s")
				p.wantEnd(domain.FlowErrored, "")
			}},
		{"every smaller phase counts, not the nearest only",
			continues(step("slow", ""), step("bad", ""), step("b", "", phase(3), needs("bad")), step("c", "", phase(9))), func(p *play) {
				p.end("bad f")
				p.want("slow running", "b skipped_by_failure", "c dormant")
				p.end("slow s")
				p.want("c running")
			}},
		{"skips do not wait for phases", continues(step("slow", ""), step("bad", ""), step("b", "", phase(1), needs("bad"))), func(p *play) {
			p.end("bad e")
			p.want("b skipped_by_error", "slow running")
		}},
		{"needs may cross phases", blueprint(step("a", ""), step("b", "", phase(1), needs("a")), step("c", "", phase(1))), func(p *play) {
			p.want("b dormant", "c dormant")
			p.end("a s")
			p.want("b running", "c running")
		}},
		{"the order of steps in the blueprint does not matter", continues(step("c", "", phase(2)), step("b", "", phase(1)), step("a", "")), func(p *play) {
			p.end("a s")
			p.want("b running", "c dormant")
		}},
	})
}

func TestAdvanceAborts(t *testing.T) {
	runParts(t, []part{
		{"the first error ends what has not begun and lets finish what runs",
			blueprint(step("bad", ""), step("s", "", shards(9, 2)), step("b", "", needs("s"))), func(p *play) {
				p.end("bad e")
				p.want("bad errored", "s open", "b skipped_by_error")
				p.wantStopped(p.last.Abort, "s:0", "s:1")
				p.wantStopped(p.last.Stop)
				p.wantMade()
				p.end("s:0 a", "s:1 s")
				p.want("s errored")
				p.wantEnd(domain.FlowErrored, "step bad")
			}},
		{"a failure aborts too, and what it ends counts as failed", blueprint(step("bad", ""), step("s", "", shards(9, 2)), step("b", "", needs("s"))),
			func(p *play) {
				p.end("bad f")
				p.want("b skipped_by_failure")
				p.end("s:0 a", "s:1 a")
				p.want("s failed")
				p.wantEnd(domain.FlowFailed, "step bad")
			}},
		{"later phases still run: they clean up", blueprint(step("bad", ""), step("b", "", needs("bad")), step("fin", "", phase(1))), func(p *play) {
			p.end("bad e")
			p.want("b skipped_by_error", "fin running")
			p.end("fin s")
			p.wantEnd(domain.FlowErrored, "step bad")
		}},
		{"a clean-up that fails aborts its own phase and those before", blueprint(step("bad", ""), step("fin", "", phase(1)),
			step("fin2", "", phase(1), needs("fin")), step("last", "", phase(2))), func(p *play) {
			p.end("bad e")
			p.end("fin f")
			p.want("fin failed", "fin2 skipped_by_error", "last running")
			p.end("last s")
			p.wantEnd(domain.FlowErrored, "step bad")
		}},
		{"an accepted failure aborts nothing", blueprint(step("a", "", mayFail, shards(3, 1)), step("b", "")), func(p *play) {
			p.end("a:0 f")
			p.wantMade("a:1")
			p.wantStopped(p.last.Abort)
		}},
		{"a condition that cannot be told aborts all in the same round", blueprint(step("s", "", shards(9, 2)), step("late", "", needs("s")),
			step("a", ""), step("w", "", needs("a"), when("true"))), func(p *play) {
			p.whens["w"] = flow.WhenAnswer{Err: "no such name"}
			p.end("a s")
			p.want("w errored", "late skipped_by_error")
			p.wantStopped(p.last.Abort, "s:0", "s:1")
			p.wantMade()
			p.end("s:0 a", "s:1 a")
			p.wantEnd(domain.FlowErrored, "when: no such name")
		}},
		{"settings that are wrong abort all in the same round", blueprint(step("s", "", shards(9, 2)), step("late", "", needs("s")), step("a", ""),
			step("w", "", needs("a"), shards(2, 2))), func(p *play) {
			p.added["steps.w.shard.count"] = "many"
			p.end("a s")
			p.want("w errored", "late skipped_by_error")
			p.wantStopped(p.last.Abort, "s:0", "s:1")
		}},
	})
}

func TestAdvanceOrders(t *testing.T) {
	cancel := flow.Order{Verb: flow.OrderCancel}
	retry, retryFailed := flow.Order{Verb: flow.OrderRetry}, flow.Order{Verb: flow.OrderRetry, Failed: true}
	skip := func(name string) flow.Order { return flow.Order{Verb: flow.OrderSkip, Step: name} }
	runParts(t, []part{
		{"a cancel ends everything, what runs too",
			blueprint(step("a", "", shards(4, 2)), step("b", "", needs("a")), approval("ok"), step("fin", "", phase(1))), func(p *play) {
				p.must(cancel)
				p.want("a open", "b skipped_by_error", "ok skipped_by_error", "fin skipped_by_error")
				p.wantStopped(p.last.Stop, "a:0", "a:1")
				p.wantStopped(p.last.Abort)
				p.end("a:0 c", "a:1 s")
				p.want("a errored")
				p.wantEnd(domain.FlowCancelled, "cancelled by actor 9")
				p.refused(cancel, "has ended")
			}},
		{"a cancel of a flow all of whose steps then succeed has come too late", blueprint(step("a", "")), func(p *play) {
			p.must(cancel)
			p.end("a s")
			p.want("a succeeded")
			p.wantEnd(domain.FlowSucceeded, "")
		}},
		{"a flow that is being cancelled does not go on by a retry or a skip", blueprint(step("a", "", shards(2, 2), maySkip), step("z", "", maySkip)),
			func(p *play) {
				p.end("z e")
				p.must(cancel)
				p.refused(retry, "being cancelled")
				p.refused(skip("z"), "being cancelled")
				p.end("a:0 c", "a:1 c")
				p.wantEnd(domain.FlowCancelled, "")
				p.must(retry)
				p.want("a running", "z running")
			}},
		{"a retry starts what ended in error again, and wakes what was skipped for it",
			continues(step("a", ""), step("b", "", needs("a")), step("c", "", needs("b"))), func(p *play) {
				p.end("a e")
				p.want("c skipped_by_error")
				p.wantEnd(domain.FlowErrored, "")
				job := p.job("a")
				p.must(retry)
				p.want("a running", "b dormant", "c dormant")
				if diff := cmp.Diff([]domain.JobID{job}, p.last.Again); diff != "" || !p.last.Reopened || p.last.End != "" {
					p.Errorf("got %+v", p.last)
				}
				p.end("a s")
				p.end("b s")
				p.end("c s")
				p.wantEnd(domain.FlowSucceeded, "")
			}},
		{"a retry leaves failures alone unless asked", continues(step("a", "", shards(3, 3))), func(p *play) {
			p.end("a:0 f", "a:1 e", "a:2 s")
			p.must(retry)
			p.wantStopped(p.last.Again, "a:1")
			p.end("a:1 s")
			p.want("a failed")
			p.refused(retry, "1 of it failed")
			p.must(retryFailed)
			p.wantStopped(p.last.Again, "a:0")
			p.end("a:0 s")
			p.want("a succeeded")
			p.refused(retryFailed, "nothing of the flow ended in error")
		}},
		{"a flow that was aborted by an error is retried whole, its done units kept",
			blueprint(step("s", "", shards(6, 2)), step("bad", ""), step("b", "", needs("s", "bad"))), func(p *play) {
				p.end("s:0 s")
				p.end("bad e")
				p.end("s:1 s", "s:2 a")
				p.want("s errored", "b skipped_by_error")
				p.must(retry)
				p.want("s open", "bad running", "b dormant")
				p.wantStopped(p.last.Again, "s:2", "bad")
				p.wantMade("s:3")
				p.end("s:2 s", "s:3 s", "bad s")
				p.end("s:4 s", "s:5 s")
				p.end("b s")
				p.wantEnd(domain.FlowSucceeded, "")
			}},
		{"what a failure aborted is failed: a retry must ask for it", blueprint(step("s", "", shards(4, 2)), step("bad", "")), func(p *play) {
			p.end("s:0 s")
			p.end("bad f")
			p.end("s:1 a", "s:2 s")
			p.want("s failed")
			p.refused(retry, "failed")
			p.must(retryFailed)
			p.wantStopped(p.last.Again, "s:1", "bad")
			p.wantMade("s:3")
		}},
		{"a step that was aborted between two units keeps what it has done", blueprint(step("s", "", shards(4, 1)), step("bad", "")), func(p *play) {
			p.end("s:0 s")
			p.end("bad f", "s:1 s")
			p.want("s failed")
			p.must(retryFailed)
			p.wantMade("s:2")
			p.end("bad s", "s:2 s")
			p.end("s:3 s")
			p.want("s succeeded")
			p.wantEnd(domain.FlowSucceeded, "")
		}},
		{"a retry does not touch what was skipped by hand", continues(step("a", "", maySkip), step("b", "")), func(p *play) {
			p.end("a e", "b e")
			p.must(skip("a"))
			p.want("a skipped")
			p.must(retry)
			p.wantStopped(p.last.Again, "b")
			p.want("a skipped")
			p.end("b s")
			p.wantEnd(domain.FlowSucceeded, "")
		}},
		{"a retry leaves accepted failures alone: what needs them has begun",
			continues(step("a", "", mayFail), step("b", "", needs("a")), step("c", "")), func(p *play) {
				p.end("a f", "c f")
				p.want("a failed_accepted", "b running")
				p.must(retryFailed)
				p.wantStopped(p.last.Again, "c")
				p.want("a failed_accepted")
			}},
		{"a retry of a live flow does not wait for its end", continues(step("a", ""), step("b", "")), func(p *play) {
			p.end("a e")
			p.must(retry)
			p.want("a running", "b running")
			p.end("a s", "b s")
			p.wantEnd(domain.FlowSucceeded, "")
		}},
		{"changes that wait for a step outlive a retry", blueprint(step("bad", ""), step("s", "", shards(9, 2), needs("bad"))), func(p *play) {
			p.must(flow.Order{Verb: flow.OrderUpdate, Steps: map[string]domain.StepChange{"s": {Window: 3}}})
			p.end("bad e")
			p.want("s skipped_by_error")
			p.must(retry)
			p.end("bad s")
			p.wantMade("s:0", "s:1", "s:2")
		}},
		{"a step is skipped by hand before it begins", blueprint(step("a", ""), step("b", "", needs("a"), maySkip), step("c", "", needs("b"))), func(p *play) {
			p.must(skip("b"))
			p.want("b dormant")
			p.end("a s")
			p.want("b skipped", "c running")
			p.refused(skip("b"), "is skipped already")
		}},
		{"a step that runs, or does not allow it, is not skipped", blueprint(step("a", "", maySkip), step("b", "", needs("a"))), func(p *play) {
			p.refused(skip("a"), "only one that has not begun")
			p.refused(skip("b"), "may_skip")
			p.refused(skip("z"), `no step "z"`)
		}},
		{"a skip by request waits for needs, and gives way to their errors", continues(step("a", ""), step("b", "", needs("a"), maySkip)), func(p *play) {
			p.must(skip("b"))
			p.end("a e")
			p.want("b skipped_by_error")
		}},
		{"a skip of what ended badly lets the flow go on", blueprint(step("a", "", maySkip), step("b", "", needs("a"))), func(p *play) {
			p.end("a e")
			p.wantEnd(domain.FlowErrored, "")
			p.must(skip("a"))
			p.want("a skipped", "b running")
			if !p.last.Reopened {
				p.Error("the flow is not open again")
			}
			p.end("b s")
			p.wantEnd(domain.FlowSucceeded, "")
		}},
		{"an approval waits for a person", blueprint(step("a", ""), approval("ok", needs("a")), step("b", "", needs("ok"))), func(p *play) {
			p.refused(approve("ok"), "does not wait for a decision yet")
			p.end("a s")
			p.want("ok running", "b dormant")
			p.wantEnd("", "")
			p.refused(approve("a"), "only approvals")
			p.must(approve("ok"))
			p.want("ok succeeded", "b running")
			if diff := cmp.Diff(map[string]string{"by": "9", "comment": "fine"}, p.at("ok").Result); diff != "" {
				p.Errorf("result (-want +got):\n%s", diff)
			}
			p.refused(reject("ok"), "has been decided")
		}},
		{"a rejection is a failure", blueprint(approval("ok"), step("b", "", needs("ok")), step("s", "")), func(p *play) {
			p.must(reject("ok"))
			p.want("ok failed", "b skipped_by_failure")
			p.wantStopped(p.last.Abort, "s")
			p.end("s s")
			p.wantEnd(domain.FlowFailed, "rejected by actor 9: no")
			p.refused(retry, "failed")
			p.must(retryFailed)
			p.want("ok running", "b dormant", "s succeeded")
		}},
		{"a rejection may be accepted", blueprint(approval("ok", mayFail), step("b", "", needs("ok"))), func(p *play) {
			p.must(reject("ok"))
			p.want("ok failed_accepted", "b running")
		}},
		{"a delete cancels, and removes the flow when it has ended", blueprint(step("a", "")), func(p *play) {
			p.must(flow.Order{Verb: flow.OrderDelete})
			if p.last.Remove {
				p.Error("it is removed while it runs")
			}
			p.wantStopped(p.last.Stop, "a")
			p.end("a c")
			p.wantEnd(domain.FlowCancelled, "")
			if !p.last.Remove {
				p.Error("it is not removed")
			}
		}},
		{"a delete of an ended flow removes it at once", blueprint(step("a", "")), func(p *play) {
			p.end("a s")
			p.must(flow.Order{Verb: flow.OrderDelete})
			if !p.last.Remove {
				p.Error("it is not removed")
			}
			p.wantEnd(domain.FlowSucceeded, "")
		}},
		{"an order that is told twice is done once", continues(step("a", "")), func(p *play) {
			p.end("a e")
			o := flow.Order{ID: "x", Verb: flow.OrderRetry}
			p.step(flow.Facts{Orders: []flow.Order{o, o}})
			p.end("a e")
			p.step(flow.Facts{Orders: []flow.Order{o}})
			p.want("a errored")
			if len(p.state.Answers) != 1 {
				p.Errorf("answers: %v", p.state.Answers)
			}
		}},
		{"answers are kept, but not for ever", blueprint(step("a", "")), func(p *play) {
			for range 100 {
				p.refused(skip("a"), "may_skip")
			}
			if n := len(p.state.Answers); n != 32 {
				p.Errorf("%d answers are kept", n)
			}
		}},
	})
}

func TestAdvanceUpdates(t *testing.T) {
	update := func(name string, c domain.StepChange) flow.Order {
		return flow.Order{Verb: flow.OrderUpdate, Steps: map[string]domain.StepChange{name: c}}
	}
	no, yes, five := false, true, 5
	runParts(t, []part{
		{"a wider window makes more at once", blueprint(step("s", "", shards(9, 2))), func(p *play) {
			p.must(update("s", domain.StepChange{Window: 4}))
			p.wantMade("s:2", "s:3")
		}},
		{"a narrower window ends nothing", blueprint(step("s", "", shards(9, 4))), func(p *play) {
			p.must(update("s", domain.StepChange{Window: 2}))
			p.end("s:0 s", "s:1 s")
			p.wantMade()
			p.end("s:2 s")
			p.wantMade("s:4")
		}},
		{"a size is that of packs made from now on", blueprint(step("s", "", packs(10, 0, 99), func(s *domain.Step) { s.Pack.Window = 1 })), func(p *play) {
			p.must(update("s", domain.StepChange{Size: 30}))
			p.end("s:0 s")
			if u := p.at("s").Open[0]; u.Start != 10 || u.End != 39 {
				p.Errorf("got %+v", u)
			}
		}},
		{"an end can be moved on, and a step that made all goes on", blueprint(step("s", "", packs(10, 0, 9))), func(p *play) {
			p.want("s running")
			p.must(update("s", domain.StepChange{End: num(24)}))
			p.want("s running")
			p.wantMade("s:1", "s:2")
		}},
		{"an end before what was made is that of what was made", blueprint(step("s", "", packs(10, 0, 99), func(s *domain.Step) { s.Pack.Window = 2 })),
			func(p *play) {
				p.end("s:0 s")
				p.must(update("s", domain.StepChange{End: num(3)}))
				p.want("s running")
				if sp := p.at("s").Split; sp.End != 29 {
					p.Errorf("end: got %d, want 29", sp.End)
				}
				p.end("s:1 s", "s:2 s")
				p.want("s succeeded")
			}},
		{"an endless step is ended", blueprint(step("s", "", endless(10, 2))), func(p *play) {
			p.end("s:0 s", "s:1 s")
			p.must(update("s", domain.StepChange{Endless: &no}))
			p.want("s running")
			p.end("s:2 s", "s:3 s")
			p.want("s succeeded")
		}},
		{"a step that has not begun keeps its changes, the later over the earlier",
			blueprint(step("a", ""), step("s", "", packs(10, 0, 99), needs("a"))), func(p *play) {
				p.must(update("s", domain.StepChange{Window: 7, Size: 5, Retries: &five}))
				p.must(update("s", domain.StepChange{Window: 1, End: num(8)}))
				p.end("a s")
				st := p.at("s")
				if diff := cmp.Diff(&flow.Split{Pack: true, Size: 5, End: 8, Window: 1}, st.Split); diff != "" || *st.Retries != 5 {
					p.Errorf("split (-want +got):\n%s", diff)
				}
			}},
		{"an end that was missing can be given before the step begins", blueprint(step("a", ""), step("s", "", func(s *domain.Step) {
			s.Pack = &domain.Pack{Size: 10}
		}, needs("a"))), func(p *play) {
			p.must(update("s", domain.StepChange{End: num(14)}))
			p.end("a s")
			p.want("s running")
			p.wantMade("s:0", "s:1")
		}},
		{"what cannot be changed is refused, and nothing is",
			blueprint(step("a", ""), step("s", "", shards(9, 1)), step("k", "", packs(1, 0, 9), needs("a"))), func(p *play) {
				p.refused(update("z", domain.StepChange{Window: 1}), `no step "z"`)
				p.refused(update("s", domain.StepChange{}), "changes nothing")
				p.refused(flow.Order{Verb: flow.OrderUpdate}, "changes nothing")
				p.refused(update("s", domain.StepChange{Window: -1}), "window -1: want 1 to")
				p.refused(update("s", domain.StepChange{Window: domain.MaxWindow + 1}), "window")
				p.refused(update("s", domain.StepChange{Retries: new(int), Size: 3}), "those of packs")
				p.refused(update("s", domain.StepChange{Count: 12, Params: map[string]string{"a": "b"}}), "count, params cannot be changed")
				p.refused(update("a", domain.StepChange{Window: 2}), "only steps of many jobs")
				p.refused(update("k", domain.StepChange{Size: -2}), "size -2")
				p.refused(update("k", domain.StepChange{End: num(-2)}), "end -2")
				p.refused(update("k", domain.StepChange{Endless: &yes}), "not taken away")
				retries := 256
				p.refused(update("k", domain.StepChange{Retries: &retries}), "retries 256")
				p.refused(flow.Order{Verb: flow.OrderUpdate, Steps: map[string]domain.StepChange{"s": {Window: 5}, "k": {Size: -1}}}, "size -1")
				if w := p.at("s").Split.Window; w != 1 {
					p.Errorf("window: got %d after refused updates", w)
				}
				p.end("a s")
				p.refused(update("a", domain.StepChange{Retries: &five}), "has ended")
			}},
	})
}

func TestAdvanceRanges(t *testing.T) {
	runParts(t, []part{
		{"max_parallel bounds all steps together, earlier ones first", func() *domain.Blueprint {
			b := blueprint(step("a", "", shards(9, 2)), step("b", "", shards(9, 9)))
			b.MaxParallel = 3
			return b
		}(), func(p *play) {
			p.wantMade("a:0", "a:1", "b:0")
			p.end("a:0 s")
			p.wantMade("a:2")
			p.end("b:0 s", "a:1 s")
			p.wantMade("a:3", "b:1")
		}},
		{"more than one round makes are made in several", blueprint(step("a", "", shards(400, 350))), func(p *play) {
			if len(p.made) != 350 {
				p.Errorf("%d made", len(p.made))
			}
			p.want("a open")
		}},
		{"units with large scripts are made a few at a time", blueprint(step("a", strings.Repeat("x", 1_000_000), shards(40, 40))), func(p *play) {
			next, d := flow.Advance(p.plan, flow.State{}, flow.Facts{Now: p.now})
			if n := len(d.Make); n < 2 || n > 9 || !d.More || next.Steps[0].Status != domain.StepOpen {
				p.Errorf("%d are made in one commit, more: %v", n, d.More)
			}
			if len(p.made) != 40 {
				p.Errorf("%d are made in all", len(p.made))
			}
		}},
		{"shards begin at their start", blueprint(step("a", "", func(s *domain.Step) { s.Shard = &domain.Shard{Count: 5, Start: 3} })), func(p *play) {
			p.wantMade("a:3", "a:4")
			if st := p.at("a"); st.Split.Total != 5 {
				p.Errorf("total %d", st.Split.Total)
			}
			p.end("a:4 s")
			if st := p.at("a"); st.Done.Watermark(3) != 2 {
				p.Errorf("watermark %d", st.Done.Watermark(3))
			}
		}},
		{"packs have ids of their own, and the last may be short",
			blueprint(step("a", "", packs(10, 5, 27), func(s *domain.Step) { s.Pack.FirstID = 40 })), func(p *play) {
				p.wantMade("a:40", "a:41", "a:42")
				if u := p.at("a").Open[2]; u.Start != 25 || u.End != 27 {
					p.Errorf("got %+v", u)
				}
			}},
		{"packs of the largest size do not overflow", blueprint(step("a", "", packs(math.MaxInt64, 5, 10)),
			step("b", "", packs(math.MaxInt64, 5, math.MaxInt64)), step("c", "", endless(math.MaxInt64, 3))), func(p *play) {
			p.want("a running", "b running", "c running")
			for _, name := range []string{"a", "b"} {
				if st := p.at(name); len(st.Open) != 1 || st.Open[0].Start != 5 || st.Open[0].End < 10 {
					p.Errorf("%s: got %+v", name, st.Open)
				}
			}
			p.end("a:0 s", "b:0 s")
			p.want("a succeeded", "b succeeded")
		}},
		{"an endless step stays open and small", blueprint(step("a", "", endless(10, 3))), func(p *play) {
			for i := range 200 {
				p.end(fmt.Sprintf("a:%d s", i))
			}
			p.want("a open")
			if st := p.at("a"); st.Done.String() != "[0,1999]" || len(st.Open) != 3 {
				p.Errorf("got %+v", st)
			}
		}},
		{"a lost unit is made once more, before others", blueprint(step("a", "", shards(4, 2))), func(p *play) {
			st := p.at("a")
			lost := st.Open[0]
			lost.Job = 0 // which is gone
			st.Lost, st.Open = append(st.Lost, lost), st.Open[1:]
			p.step(flow.Facts{})
			p.wantMade("a:0")
			p.end("a:0 s", "a:1 s")
			p.end("a:2 s", "a:3 s")
			p.want("a succeeded")
		}},
		{"a step whose ends leave too many gaps ends, and goes on with a retry", continues(step("a", "", endless(1, 2))), func(p *play) {
			st := p.at("a")
			for i := range 9_995 {
				st.Bad = append(st.Bad, flow.Unit{ID: int64(i) + 1e6, Start: int64(i) + 1e6, End: int64(i) + 1e6, Job: domain.JobID(i + 1e6), Outcome: "e"})
			}
			for i := range 4 {
				p.end(fmt.Sprintf("a:%d e", i))
				p.wantMade(fmt.Sprintf("a:%d", i+2))
			}
			p.end("a:4 e")
			p.wantMade()
			if st = p.at("a"); len(st.Bad) != 10_000 || !strings.HasPrefix(st.Text, "no more of it is begun: what ended badly leaves 10000 gaps in the flow") {
				p.Errorf("%d bad: %s", len(st.Bad), st.Text)
			}
			p.want("a open")
			p.end("a:5 e")
			p.wantMade()
			p.want("a errored")
			p.wantEnd(domain.FlowErrored, "step a: ended before all its jobs were made: what ended badly leaves 10001 gaps in the flow; "+
				"a retry of that lets it go on (--failed for what failed): ")
			p.must(flow.Order{Verb: flow.OrderRetry})
			p.want("a open")
			// They begin again as the window has room.
			if st := p.at("a"); len(st.Bad) != 0 || len(st.Lost) != 9_999 || len(p.last.Again) != 2 || len(p.made) != 0 {
				p.Errorf("%d bad, %d lost, %d again", len(st.Bad), len(st.Lost), len(p.last.Again))
			}
		}},
		{"so does one that failed in every second range, with what needs it", continues(step("a", "", endless(1, 1)), step("b", "", needs("a"))), func(p *play) {
			st := p.at("a")
			const failed = 4_999
			for i := range int64(failed) {
				at := 1_000_000 + 2*i
				st.Bad = append(st.Bad, flow.Unit{ID: at, Start: at, End: at, Job: domain.JobID(at), Outcome: "f"})
				st.Done = append(st.Done, flow.Range{Start: at + 1, End: at + 1})
			}
			p.end("a:0 s")
			p.wantMade("a:1")
			p.end("a:1 f")
			p.want("a open")
			p.end("a:2 s") // 5,000 have failed, between 5,001 ranges that went well
			p.wantMade()
			p.want("a failed", "b skipped_by_failure")
			p.wantEnd(domain.FlowFailed, "ended before all its jobs were made: what ended badly leaves 10000 gaps")
			p.refused(flow.Order{Verb: flow.OrderRetry}, "nothing of the flow ended in error, but 5001 of it failed") // b is one, too
			p.must(flow.Order{Verb: flow.OrderRetry, Failed: true})
			p.want("a open", "b dormant")
		}},
	})
}

func TestAdvanceTimeBansAndConditions(t *testing.T) {
	runParts(t, []part{
		{"a step waits for its instant, and is woken then", blueprint(step("a", "", after(1_005_000)), step("b", "")), func(p *play) {
			p.want("a dormant", "b running")
			if p.last.WakeAt.UnixMilli() != 1_005_000 {
				p.Errorf("wakes at %v", p.last.WakeAt)
			}
			p.end("b s")
			p.want("a dormant")
			p.now = time.UnixMilli(1_005_000)
			p.step(flow.Facts{})
			p.want("a running")
			if !p.last.WakeAt.IsZero() {
				p.Errorf("wakes at %v", p.last.WakeAt)
			}
		}},
		{"the earliest instant wakes", blueprint(step("a", "", after(9_000_000)), step("b", "", after(2_000_000)), step("c", "", after(5_000_000))), func(p *play) {
			if p.last.WakeAt.UnixMilli() != 2_000_000 {
				p.Errorf("wakes at %v", p.last.WakeAt)
			}
		}},
		{"an instant delays no skip", continues(step("a", ""), step("b", "", needs("a"), after(9_000_000)), step("c", "", needs("b"))), func(p *play) {
			p.end("a f")
			p.want("b skipped_by_failure", "c skipped_by_failure")
			p.wantEnd(domain.FlowFailed, "")
		}},
		{"an instant of the flow holds all of it, but no skip", func() *domain.Blueprint {
			b := blueprint(step("a", ""), step("b", "", maySkip))
			b.After = 9_000_000
			return b
		}(), func(p *play) {
			p.must(flow.Order{Verb: flow.OrderSkip, Step: "b"})
			p.want("a dormant", "b skipped")
			p.must(flow.Order{Verb: flow.OrderCancel})
			p.wantEnd(domain.FlowCancelled, "")
		}},
		{"nothing is made while it is banned, and nothing is stuck", blueprint(step("a", ""), step("b", "", needs("a"))), func(p *play) {
			p.banned = true
			p.end("a s")
			p.want("b dormant")
			p.wantEnd("", "")
			p.banned = false
			p.step(flow.Facts{})
			p.want("b running")
		}},
		{"a ban holds units of a step that has begun", blueprint(step("a", "", shards(4, 1))), func(p *play) {
			p.banned = true
			p.end("a:0 s")
			p.want("a open")
			p.wantMade()
			p.banned = false
			p.step(flow.Facts{})
			p.wantMade("a:1")
		}},
		{"a condition that does not hold skips, which is well", blueprint(step("a", "", when("params.x == 1")), step("b", "", needs("a"))), func(p *play) {
			p.want("a skipped", "b running")
		}},
		{"a condition is asked for when its step could begin",
			blueprint(step("a", ""), step("b", "", needs("a"), when("true")), step("c", "", needs("b"), when("true"))), func(p *play) {
				p.whens["b"], p.whens["c"] = flow.WhenAnswer{Holds: true}, flow.WhenAnswer{Holds: true}
				p.want("b dormant")
				p.end("a s")
				p.want("b running", "c dormant")
				p.end("b s")
				p.want("c running")
			}},
		{"a chain of conditions that do not hold is skipped in one round",
			blueprint(step("a", "", when("1")), step("b", "", needs("a"), when("2")), step("c", "", needs("b"), when("3"))), func(p *play) {
				p.want("a skipped", "b skipped", "c skipped")
				p.wantEnd(domain.FlowSucceeded, "")
			}},
		{"a condition that could not be told is asked for again by a retry", continues(step("a", ""), step("b", "", needs("a"), when("x"))), func(p *play) {
			p.whens["b"] = flow.WhenAnswer{Err: "no x"}
			p.end("a s")
			p.want("b errored")
			p.wantEnd(domain.FlowErrored, "step b: when: no x")
			p.whens["b"] = flow.WhenAnswer{Holds: true}
			p.must(flow.Order{Verb: flow.OrderRetry})
			p.want("b running")
		}},
		{"steps that wait for each other are stuck, and say so", func() *domain.Blueprint {
			// No valid blueprint has this: a need of a later phase.
			return blueprint(step("a", "", needs("b")), step("b", "", phase(1)))
		}(), func(p *play) {
			p.wantEnd(domain.FlowStuck, "no step can begin")
		}},
	})
}

func TestAdvanceTakesSettingsOfJobs(t *testing.T) {
	shard := step("s", "", shards(9, 2), needs("a"))
	pack := step("s", "", func(s *domain.Step) { s.Pack = &domain.Pack{Size: 10, Window: 2} }, needs("a"))
	good := []struct {
		name  string
		step  domain.Step
		added map[string]string
		want  flow.Split
	}{
		{"the count of shards", shard, map[string]string{"shard.count": "4"}, flow.Split{Total: 4, Size: 1, End: 3, Window: 2}},
		{"their start and window", shard, map[string]string{"shard.start": "5", "shard.window": " 3\n"}, flow.Split{Total: 9, Size: 1, Start: 5, End: 8, Window: 3}},
		{"the end of packs", pack, map[string]string{"pack.end": "25"}, flow.Split{Pack: true, Size: 10, End: 25, Window: 2}},
		{"all of packs", pack, map[string]string{"pack.end": "25", "pack.start": "20", "pack.size": "3", "pack.window": "1"},
			flow.Split{Pack: true, Size: 3, Start: 20, End: 25, Window: 1}},
		{"an end takes endlessness away", step("s", "", endless(10, 2), needs("a")), map[string]string{"pack.end": "25"},
			flow.Split{Pack: true, Size: 10, End: 25, Window: 2}},
	}
	for _, c := range good {
		t.Run(c.name, func(t *testing.T) {
			p := newPlay(t, blueprint(step("a", ""), c.step))
			p.step(flow.Facts{})
			for name, value := range c.added {
				p.added["steps.s."+name] = value
			}
			p.end("a s")
			if diff := cmp.Diff(&c.want, p.at("s").Split); diff != "" {
				t.Errorf("split (-want +got):\n%s", diff)
			}
			// Once it has begun they change nothing.
			p.added["steps.s.shard.window"], p.added["steps.s.pack.window"] = "9", "9"
			p.step(flow.Facts{})
			if diff := cmp.Diff(&c.want, p.at("s").Split); diff != "" {
				t.Errorf("split of a step that has begun (-want +got):\n%s", diff)
			}
		})
	}
	none := []struct {
		name  string
		step  domain.Step
		added map[string]string
	}{
		{"no shards at all", shard, map[string]string{"shard.count": "0"}},
		{"an end before the start", pack, map[string]string{"pack.end": "-1"}},
	}
	for _, c := range none {
		t.Run(c.name, func(t *testing.T) {
			p := newPlay(t, blueprint(step("a", ""), c.step))
			p.step(flow.Facts{})
			for name, value := range c.added {
				p.added["steps.s."+name] = value
			}
			p.end("a s")
			p.want("s succeeded")
		})
	}
	bad := []struct {
		name  string
		step  domain.Step
		added map[string]string
		want  string
	}{
		{"a count that is no number", shard, map[string]string{"shard.count": "many"}, `set steps.s.shard.count to "many", want a whole number`},
		{"a negative count", shard, map[string]string{"shard.count": "-3"}, "count -3: want 1 to"},
		{"too many shards", shard, map[string]string{"shard.count": "1000001"}, "count 1000001"},
		{"a negative start of no shards", shard, map[string]string{"shard.count": "0", "shard.start": "-5"}, "start -5"},
		{"a window of packs that is too large", pack, map[string]string{"pack.end": "9", "pack.window": "1001"}, "window 1001"},
		{"packs without an end", pack, nil, "has no end"},
		{"packs of no size", pack, map[string]string{"pack.end": "9", "pack.size": "0"}, "size 0"},
		{"retries that are no number", shard, map[string]string{"retries": "often"}, "want a whole number"},
	}
	for _, c := range bad {
		t.Run(c.name, func(t *testing.T) {
			p := newPlay(t, continues(step("a", ""), c.step))
			p.step(flow.Facts{})
			for name, value := range c.added {
				p.added["steps.s."+name] = value
			}
			p.end("a s")
			p.want("s errored")
			p.wantEnd(domain.FlowErrored, c.want)
		})
	}
	t.Run("retries, which an update beats", func(t *testing.T) {
		p := newPlay(t, blueprint(step("a", ""), step("s", "", needs("a")), step("u", "", needs("a"))))
		p.step(flow.Facts{})
		two := 2
		p.must(flow.Order{Verb: flow.OrderUpdate, Steps: map[string]domain.StepChange{"u": {Retries: &two}}})
		p.added["steps.s.retries"], p.added["steps.u.retries"] = "7", "7"
		p.end("a s")
		if s, u := *p.at("s").Retries, *p.at("u").Retries; s != 7 || u != 2 {
			t.Errorf("retries: got %d and %d, want 7 and 2", s, u)
		}
	})
}
