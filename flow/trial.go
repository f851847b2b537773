package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/blueprint/trial"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

var _ trial.Player = Play

const (
	// trialJobs bounds the jobs of a flow that is played: an endless step never ends.
	trialJobs = 100_000
	// trialRounds bounds the rounds without any job: time that passes, and decisions.
	trialRounds = 100_000
	// trialStart is when a played flow is submitted: 2026-01-01T00:00:00Z.
	trialStart = 1_767_225_600_000
)

// trialPlay is a flow that is played without a board.
type trialPlay struct {
	plan  *Plan
	state State
	told  []int // of the sums
	now   time.Time
	end   func(trial.Job) trial.End
	out   trial.Played

	added   map[string]string // by jobs
	later   map[string]string // by indexes of steps that have not ended
	items   map[int]list      // of steps that are done for each element of one
	results map[int]domain.Results
	single  map[int]map[string]string // the results of steps of one job
	next    domain.JobID
	jobs    []Unit // that wait to be run, in the order in which they were made
	of      []int  // the step of each
	began   map[int]bool
	asked   map[int]bool // approvals

	children map[ChildAt]trialChild
	flows    domain.FlowID // that steps have made
}

// Play plays a flow of a blueprint: see [trial.Player]. What becomes of it is decided by
// [AdvancePart], and by the conditions, as a keeper does.
func Play(ctx context.Context, b *domain.Blueprint, ask trial.Ask, end func(trial.Job) trial.End) (trial.Played, error) {
	own := *b
	own.Steps = slices.Clone(b.Steps)
	if err := change(&own, Request{Params: ask.Params, Skip: ask.Skip}); err != nil {
		return trial.Played{}, err
	}
	if err := blueprint.FillInputs(&own); err != nil {
		return trial.Played{}, err
	}
	if err := blueprint.ValidateFields(&own); err != nil {
		return trial.Played{}, err
	}
	p := &trialPlay{plan: NewPlan(&own), now: time.UnixMilli(trialStart), end: end, added: map[string]string{}, later: map[string]string{}, items: map[int]list{},
		children: map[ChildAt]trialChild{}, results: map[int]domain.Results{}, single: map[int]map[string]string{}, began: map[int]bool{}, asked: map[int]bool{}}
	p.out = trial.Played{States: map[string]string{}, Texts: map[string]string{}, Order: []string{}, Jobs: []trial.Job{}, Whens: map[string]bool{}}
	p.state.Steps = make([]StepState, len(own.Steps))
	for i := range own.Steps {
		p.state.Steps[i] = StepState{Status: domain.StepDormant, Skip: slices.Contains(ask.Skip, own.Steps[i].Name)}
	}
	err := p.play(ctx)
	return p.out, err
}

// play lets the flow go as far as it can.
func (p *trialPlay) play(ctx context.Context) error {
	var f Facts
	var last work.Ending
	for range trialRounds + trialJobs {
		d, err := p.round(ctx, f)
		if err != nil {
			return err
		}
		f = Facts{}
		switch {
		case d.End != "":
			if err := p.finish(string(d.End), d.Why); err != nil {
				return err
			}
			p.callHook(ctx, d.End)
			return nil
		case len(d.AgainFlows) > 0: // how a flow ends is how it ends after all retries
			last.Nth++
			f.Ended = []work.Ending{last}
		case d.More:
		case len(p.jobs) > 0:
			if len(p.out.Jobs) == trialJobs {
				return domain.Invalidf("there are more than %d jobs: give an endless step an end", trialJobs)
			}
			ending, err := p.runFirst(ctx)
			if err != nil {
				return err
			}
			f.Ended = []work.Ending{ending}
			last = ending
		default:
			var err error
			if f.Orders, err = p.decisions(); err != nil {
				return err
			} else if len(f.Orders) > 0 {
				break
			}
			if d.WakeAt.IsZero() {
				return p.finish(trial.Waits, p.waitsFor())
			}
			p.now = d.WakeAt
		}
	}
	return domain.Invalidf("it does not end")
}

// round lets what follows from facts happen, with all that must be known for it.
func (p *trialPlay) round(ctx context.Context, f Facts) (Decisions, error) {
	f.Now, f.Added, f.Whens, f.Untils, f.Lists = p.now, p.added, map[int]WhenAnswer{}, map[int]WhenAnswer{}, map[int]ListAnswer{}
	f.Children = map[ChildAt]ChildAnswer{}
	head := p.state
	head.Steps = nil
	for gathered := false; ; {
		next, changed, d := AdvancePart(p.plan, head, whole(p.state.Steps), f)
		at := func(i int) *StepState {
			if st := changed[i]; st != nil {
				return st
			}
			return &p.state.Steps[i]
		}
		if !gathered && p.anyEnds(changed) {
			maps.Copy(p.added, p.later)
			clear(p.later)
			gathered = true
		}
		if !d.asks() {
			p.take(next, changed, &d)
			return d, ctx.Err()
		}
		for _, i := range d.AskList {
			if !p.plan.Steps[i].Listed() {
				f.Lists[i] = ListAnswer{Count: 1}
				continue
			}
			l, fault := p.listOf(ctx, i, p.needs(i, next.Sums.Told, at, soughtByList(&p.plan.Steps[i])))
			p.items[i] = l
			f.Lists[i] = ListAnswer{Count: int64(len(l.items)), Err: fault}
		}
		for _, c := range d.AskChildren {
			f.Children[c] = p.child(c, p.needs(c.Step, next.Sums.Told, at, soughtByCall(p.plan.Steps[c.Step].Flow)))
		}
		for _, c := range d.AskMade { // no keeper has died here
			f.Children[c] = ChildAnswer{}
		}
		for _, i := range d.AskUntil {
			text := p.plan.Steps[i].Repeat.Until
			needs := p.needs(i, next.Sums.Told, at, soughtBy(blueprint.CompileUntil, text))
			f.Untils[i] = evalUntil(ctx, text, stepParams(p.plan, i, p.added), needs, p.single[i], at(i).Round)
		}
		for _, i := range d.Ask {
			text := p.plan.Steps[i].When
			f.Whens[i] = evalWhen(ctx, text, stepParams(p.plan, i, p.added), p.needs(i, next.Sums.Told, at, soughtBy(blueprint.CompileUntil, text)))
			if f.Whens[i].Err == "" {
				p.out.Whens[p.plan.Steps[i].Name] = f.Whens[i].Holds
			}
		}
	}
}

func (p *trialPlay) anyEnds(changed map[int]*StepState) bool {
	for i, st := range changed {
		if st.Status.Done() && !p.state.Steps[i].Status.Done() {
			return true
		}
	}
	return false
}

// take takes over what was decided, and gives the units that are made their jobs.
func (p *trialPlay) take(next State, changed map[int]*StepState, d *Decisions) {
	p.told = next.Sums.Told
	for _, at := range d.Make {
		p.next++
		st := changed[at.Step]
		u := &st.Open[at.Open]
		if u.Job = p.next; p.plan.Steps[at.Step].KindOr().One() {
			st.Job = u.Job
		}
		p.jobs, p.of = append(p.jobs, *u), append(p.of, at.Step)
	}
	steps := p.state.Steps
	p.state = next
	p.state.Sums, p.state.Steps = nil, steps
	for _, i := range p.plan.order {
		st := changed[i]
		if st == nil {
			continue
		}
		steps[i] = *st
		p.takeChildren(i, st)
		if st.Status.Begun() && !p.began[i] {
			p.began[i] = true
			p.out.Order = append(p.out.Order, p.plan.Steps[i].Name)
		}
	}
}

// needs is what the expressions of a step find of those before it.
func (p *trialPlay) needs(i int, told []int, at func(int) *StepState, of sought) map[string]needed {
	return p.left(p.plan.earlier(i, told, of), at)
}

// left is what steps have left.
func (p *trialPlay) left(steps []int, at func(int) *StepState) map[string]needed {
	needs := map[string]needed{}
	for _, on := range steps {
		st := at(on)
		one := needed{state: st.Status, result: p.single[on]}
		if st.Result != nil {
			one.result = st.Result
		}
		if p.plan.Steps[on].Listed() && st.Split != nil {
			one.results = p.resultsOf(on)
		}
		if needs[p.plan.Steps[on].Name] = one; len(needs) >= maxNeeds {
			break
		}
	}
	return needs
}

// resultsOf are the results of a step that is done for each element of a list.
func (p *trialPlay) resultsOf(i int) domain.Results {
	if p.results[i] == nil {
		p.results[i] = make(domain.Results, len(p.items[i].items))
		for n := range p.results[i] {
			p.results[i][n] = map[string]string{}
		}
	}
	return p.results[i]
}

// runFirst runs the job that was made first.
func (p *trialPlay) runFirst(ctx context.Context) (work.Ending, error) {
	u, i := p.jobs[0], p.of[0]
	p.jobs, p.of = p.jobs[1:], p.of[1:]
	s := &p.plan.Steps[i]
	j := trial.Job{Step: s.Name, Index: u.ID, Params: stepParams(p.plan, i, p.added)}
	if s.Listed() {
		j.Item = json.RawMessage(p.items[i].at(u.ID).text)
	}
	switch s.KindOr() {
	case domain.StepPack:
		j.Range = fmt.Sprintf("%d-%d", u.Start, u.End)
	case domain.StepFlow:
		c := p.children[ChildAt{i, u.ID}]
		j.Params, j.Trigger = c.params, c.trigger
	}
	j.Round = p.state.Steps[i].Round
	var end trial.End
	var fault error
	if s.KindOr() == domain.StepEffect {
		j.Payload, fault = stepPayload(ctx, s.Effect, j.Params, p.left(slices.Concat(p.plan.needs[i], p.told),
			func(i int) *StepState { return &p.state.Steps[i] }))
	}
	if end = p.end(j); fault != nil {
		end = trial.End{End: trial.Failed, Text: fault.Error()}
	}
	j.End = end.End
	p.out.Jobs = append(p.out.Jobs, j)
	ending := work.Ending{Job: u.Job, Flow: u.Flow, Nth: 1, Outcome: work.OutcomeSucceeded, Text: end.Text}
	switch end.End {
	case trial.Failed:
		ending.Outcome = work.OutcomeFailed
	case trial.Errored:
		ending.Outcome = work.OutcomeErrored
	}
	if ending.Outcome != work.OutcomeSucceeded {
		if ending.Text == "" {
			ending.Text = "exit code 1"
		}
		return ending, nil
	}
	return ending, p.give(i, u.ID, s, end.Result)
}

// give hands on what a job left.
func (p *trialPlay) give(i int, index int64, s *domain.Step, result map[string]string) error {
	own := map[string]string{}
	for name, value := range result {
		switch param := strings.HasPrefix(name, "params."); {
		case s.KindOr() == domain.StepFlow: // what it adds is its own
			if !param && !strings.HasPrefix(name, domain.SettingPrefix) {
				own[name] = value
			}
		case param && (s.KindOr() == domain.StepShard || s.KindOr() == domain.StepEach):
			p.later[name] = value
		case param:
			p.added[name] = value
		case strings.HasPrefix(name, domain.SettingPrefix):
			if _, _, err := domain.ParseStepSetting(name); err != nil {
				return err
			}
			p.added[name] = value
		case s.KindOr() == domain.StepEach && (name == script.KeyExitCode || name == script.KeyStdout || name == script.KeyStderr):
		default:
			own[name] = value
		}
	}
	switch {
	case s.Listed():
		p.resultsOf(i)[index] = own
	case s.KindOr().One() || s.KindOr() == domain.StepFlow:
		p.single[i] = own
	}
	return nil
}

// decisions are what people say about the approvals that wait.
//
// Errors: [domain.ErrInvalid] where an answer is not one that the approval asks for.
func (p *trialPlay) decisions() (orders []Order, err error) {
	for i := range p.plan.Steps {
		s := &p.plan.Steps[i]
		if s.KindOr() != domain.StepApproval || p.state.Steps[i].Status != domain.StepRunning || p.asked[i] {
			continue
		}
		p.asked[i] = true
		end := p.end(trial.Job{Step: s.Name, Params: stepParams(p.plan, i, p.added), Approval: true})
		o := Order{ID: s.Name, By: domain.Operator, AtMs: p.now.UnixMilli(), Step: s.Name, Text: end.Text, Answers: end.Result}
		switch end.End {
		case trial.Approved:
			o.Verb = OrderApprove
		case trial.Rejected:
			o.Verb = OrderReject
		default:
			continue
		}
		if _, err := blueprint.FillAnswers(s.Approval, o.Answers, o.Verb == OrderApprove); err != nil {
			return nil, fmt.Errorf("step %s: %w", s.Name, err)
		}
		orders = append(orders, o)
	}
	return orders, nil
}

// waitsFor says what a flow waits for that does not go on.
func (p *trialPlay) waitsFor() string {
	var names []string
	for i := range p.plan.Steps {
		if p.plan.Steps[i].KindOr() == domain.StepApproval && p.state.Steps[i].Status == domain.StepRunning {
			names = append(names, p.plan.Steps[i].Name)
		}
	}
	return "somebody has to decide about " + strings.Join(names, ", ")
}

// finish says what came of it.
func (p *trialPlay) finish(end, why string) error {
	p.out.End, p.out.Why = end, why
	r := newResults(p.plan)
	for i := range p.plan.Steps {
		s, st := &p.plan.Steps[i], &p.state.Steps[i]
		p.out.States[s.Name] = string(st.Status)
		if st.Text != "" {
			p.out.Texts[s.Name] = st.Text
		}
		if classOf(st.Status) != well {
			continue
		}
		switch {
		case s.Listed() && st.Split != nil:
			text, err := json.Marshal(p.resultsOf(i))
			if err != nil {
				return err
			}
			r.add(s.Name, false, map[string]string{"results": string(text)})
		case st.Result != nil:
			r.add(s.Name, false, st.Result)
		case p.single[i] != nil:
			r.add(s.Name, p.plan.leaf[i], p.single[i])
		}
	}
	p.out.Result = r.map_()
	return nil
}
