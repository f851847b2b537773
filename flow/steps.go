package flow

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// This file moves flows of steps on.

// stepRound lets a flow of steps go on.
func (t *tending) stepRound(ctx context.Context, s *seen) error {
	plan, err := t.plan(ctx, t.ref, s.flow.Hash)
	if err == nil {
		err = s.fits(plan)
	}
	if errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid) {
		return t.planlessRound(ctx, s, err)
	} else if err != nil {
		return err
	}
	switch {
	case len(s.changed) > 0:
		return t.unfold(ctx, s)
	case s.flow.Final() && len(s.orders) == 0 && !s.redoing():
		if s.Delete {
			return t.remove(ctx, s, s.Forget)
		}
		b := t.batch()
		t.taken(&b, s)
		return t.letGo(ctx, s, b)
	case s.Sums == nil && len(plan.Steps) > t.spread.whole:
		return t.spreadOut(ctx, plan, s)
	case s.redoing():
		return t.redo(ctx, plan, s)
	}
	held, done, err := t.queueUp(ctx, plan, s)
	if done || err != nil {
		return err
	}
	if !held {
		if done, err := t.takeSlot(ctx, plan, s); done || err != nil {
			return err
		}
	}
	facts, err := t.facts(ctx, s)
	if err != nil {
		return err
	}
	facts.Banned = facts.Banned || held
	if s.full {
		facts.Orders = append(facts.Orders, Order{ID: rand.Text()[:12], Verb: OrderCancel, Full: true})
	}
	facts.Queued = t.queued(ctx, plan)
	if facts.Rival, err = t.rival(ctx, plan, s); err != nil {
		return err
	}
	if err := t.stepsOf(ctx, plan, s, &facts); err != nil {
		return err
	}
	v, err := t.advance(ctx, plan, s, &facts)
	if err != nil {
		return err
	}
	if err := t.apply(ctx, plan, s, v); err != nil || !facts.Later {
		return err
	}
	t.back(ctx)
	return errDone
}

// facts are what was read, as Advance takes it.
func (t *tending) facts(ctx context.Context, s *seen) (f Facts, err error) {
	f = Facts{Now: s.now, Added: s.added}
	for _, entry := range s.ended {
		if e, ok := work.ParseEnding(entry); ok {
			f.Ended = append(f.Ended, e)
		}
	}
	for _, text := range s.orders {
		var o Order
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			t.log.Error("order of a flow cannot be read; dropped", "flow", uint32(t.ref.id), "context", uint32(t.ref.space), "err", err)
			continue
		}
		f.Orders = append(f.Orders, o)
	}
	s.banned = t.cfg.Bans != nil && t.cfg.Bans.Create(t.tenant(), s.flow.Blueprint, t.ref.id) != nil
	f.Banned = s.banned || s.flow.Paused
	return f, nil
}

// stepsOf finds the steps of the jobs that have ended, by their records, so that not all
// steps must be looked through. Where a job is gone they must.
func (t *tending) stepsOf(ctx context.Context, plan *Plan, s *seen, f *Facts) error {
	if s.Sums == nil || len(f.Ended) == 0 {
		return nil
	}
	keys := make([]string, len(f.Ended))
	for n, e := range f.Ended {
		if keys[n] = (domain.JobKey{Caller: s.caller, ID: e.Job}).String(); e.Flow != 0 {
			keys[n] = domain.FlowKey(e.Flow)
		}
	}
	recs, err := board.Readable(t.board.GetFields(ctx, t.ref.space, []string{layout.JobStep, layout.FlowParent}, keys...))
	if err != nil {
		return err
	}
	of, flows := make(map[domain.JobID]int, len(recs)), map[domain.FlowID]int{}
	var steps []int
	for n, r := range recs {
		i, known := plan.index[stepOf(keys[n], r)]
		if !known {
			return nil
		}
		if e := f.Ended[n]; e.Flow != 0 {
			flows[e.Flow] = i
		} else {
			of[e.Job] = i
		}
		if steps = append(steps, i); len(recs) < endedMost/10 { // else what follows may be too much
			steps = append(steps, plan.followers[i]...)
		}
	}
	f.Of, f.OfFlows = of, flows
	return t.know(ctx, s, steps)
}

// stepOf is the step of a job or a child, by its record.
func stepOf(key string, r board.Record) string {
	if step := r.Get(layout.JobStep); step != "" {
		return step
	}
	f, _ := layout.DecodeFlow(key, r)
	if f.Parent == nil {
		return ""
	}
	return f.Parent.Step
}

// verdict is what was decided in a round.
type verdict struct {
	Decisions
	next    State // without its steps
	changed map[int]*StepState
	known   *known
}

// at is a step as it is now; it must be known.
func (v *verdict) at(i int) *StepState {
	if st := v.changed[i]; st != nil {
		return st
	}
	return v.known.At(i)
}

// ends reports whether a step has ended that had not.
func (v *verdict) ends() bool {
	for i, st := range v.changed {
		if st.Status.Done() && !v.known.At(i).Status.Done() {
			return true
		}
	}
	return false
}

// advance decides, and finds out what must be known for it: as much as there is
// time for. f.Later is set where that is not all.
func (t *tending) advance(ctx context.Context, plan *Plan, s *seen, f *Facts) (*verdict, error) {
	f.Whens, f.Untils, f.Lists = map[int]WhenAnswer{}, map[int]WhenAnswer{}, map[int]ListAnswer{}
	f.Children, f.Cached = map[ChildAt]ChildAnswer{}, map[int]CacheAnswer{}
	begun := time.Now()
	head := s.State
	head.Steps = nil
	for gathered := false; ; {
		v := &verdict{known: s.known}
		v.next, v.changed, v.Decisions = AdvancePart(plan, head, s.known, *f)
		if s.known.bad != nil {
			return nil, s.known.bad
		}
		if len(v.Load) > 0 {
			if err := t.know(ctx, s, v.Load); err != nil {
				return nil, err
			}
			continue
		}
		if !gathered && plan.sharded && v.ends() {
			if err := t.gather(ctx, s); err != nil {
				return nil, err
			}
			gathered = true
		}
		if len(v.Anew) > 0 && s.before == nil {
			if err := t.takeBack(ctx, plan, s, v); err != nil {
				return nil, err
			}
			f.Added = s.added
			continue
		}
		if !v.asks() {
			return v, nil
		}
		if err := t.answerChildren(ctx, plan, s, v, f); err != nil {
			return nil, err
		}
		if err := t.answerMade(ctx, s, v, f); err != nil {
			return nil, err
		}
		if err := t.answerLists(ctx, plan, s, v, f, begun); err != nil {
			return nil, err
		}
		if err := t.answerCache(ctx, plan, s, v, f, begun); err != nil {
			return nil, err
		}
		if err := t.answerWhens(ctx, plan, s, v, f, begun); err != nil {
			return nil, err
		}
	}
}

// answerWhens finds the conditions that were asked for, as much as there is time for.
func (t *tending) answerWhens(ctx context.Context, plan *Plan, s *seen, v *verdict, f *Facts, begun time.Time) error {
	for n, i := range slices.Concat(v.Ask, v.AskUntil) {
		if f.Later = f.Later || len(f.Whens)+len(f.Untils) > 0 && time.Since(begun) >= whenTime; f.Later {
			return nil
		}
		step, answers := &plan.Steps[i], f.Whens
		text := step.When
		until := n >= len(v.Ask)
		if until {
			text, answers = step.Repeat.Until, f.Untils
		}
		needs, err := t.needed(ctx, plan, s, v, i, soughtBy(blueprint.CompileUntil, text))
		var result map[string]string
		if err == nil && until {
			result, err = t.newest(ctx, plan, s, v, i)
		}
		if cannotBe(err) {
			answers[i] = WhenAnswer{Err: err.Error()}
			continue
		} else if err != nil {
			return err
		}
		params := stepParams(plan, i, s.added)
		if answers[i], err = t.inTurn(ctx, func() WhenAnswer {
			if until {
				return evalUntil(ctx, text, params, needs, result, v.at(i).Round)
			}
			return t.eval(ctx, text, params, needs)
		}); err != nil {
			return err
		}
	}
	return nil
}

// gatherMost is how many entries of [layout.FlowAdded] go into one commit.
const gatherMost = 250

// gather puts what indexes of shards have added where all jobs find it: a step
// has ended, so others may begin that come after it.
func (t *tending) gather(ctx context.Context, s *seen) error {
	for {
		entries, err := t.oldest(ctx, layout.FlowAdded(t.ref.id), gatherMost)
		if err != nil || len(entries) == 0 {
			return err
		}
		added := map[string]string{}
		for _, entry := range entries {
			if err := json.Unmarshal([]byte(entry), &added); err != nil {
				t.log.Error("what a job added to its flow cannot be read; dropped", "flow", uint32(t.ref.id), "context", uint32(t.ref.space), "err", err)
			}
		}
		maps.Copy(s.added, added)
		b := t.batch()
		var fields []board.Field
		for name, value := range added {
			fields = append(fields, board.Field{Name: name, Value: value})
		}
		if len(fields) > 0 {
			b.Set(layout.FlowParams(t.ref.id), fields...)
		}
		if err := t.board.Commit(ctx, *b.TrimRight(layout.FlowAdded(t.ref.id), len(entries))); err != nil {
			return err
		}
	}
}

// stepParams are the params of a step, with what jobs have added.
func stepParams(plan *Plan, i int, added map[string]string) map[string]string {
	params := maps.Clone(over(plan.Params, plan.Steps[i].Params))
	if params == nil {
		params = map[string]string{}
	}
	for name, value := range added {
		if name, ok := strings.CutPrefix(name, "params."); ok {
			params[name] = value
		}
	}
	return params
}

// cannotBe reports whether an error is of what a step needs, and comes again.
func cannotBe(err error) bool {
	return errors.Is(err, domain.ErrLimit) || errors.Is(err, domain.ErrInvalid)
}

// needed reads what the expressions of a step find in needs.
//
// Errors: [domain.ErrLimit], [domain.ErrInvalid] where it cannot be had.
func (t *tending) needed(ctx context.Context, plan *Plan, s *seen, v *verdict, i int, of sought) (map[string]needed, error) {
	steps := plan.earlier(i, v.next.Sums.Told, of)
	if err := t.know(ctx, s, steps); err != nil {
		return nil, err
	}
	needs := make(map[string]needed, len(steps))
	for _, on := range steps {
		name := plan.Steps[on].Name
		one, err := t.leftBy(ctx, t.ref, s.caller, needOf(&plan.Steps[on], v.at(on)))
		if err != nil {
			return nil, fmt.Errorf("step %s: %w", name, err)
		}
		needs[name] = one
	}
	return needs, s.known.bad
}

// leftBy reads what a step has left.
//
// Errors: [domain.ErrLimit], [domain.ErrInvalid] where it cannot be had.
func (e *Engine) leftBy(ctx context.Context, p ref, caller domain.ActorID, n domain.Need) (one needed, err error) {
	tenant := domain.TenantID(p.space)
	one.state = domain.StepStatus(n.State)
	switch {
	case n.Result != nil:
		one.result = n.Result
	case n.Results != nil:
		one.results = n.Results
	case n.Items > 0:
		if one.results, err = e.work.Results(ctx, tenant, p.id, n); err != nil {
			return one, err
		}
		if n.One && len(one.results) == 1 {
			one.result, one.results = one.results[0], nil
		}
	case n.Job != 0:
		j, err := e.work.Show(ctx, tenant, domain.JobKey{Caller: caller, ID: n.Job})
		if err != nil && !errors.Is(err, domain.ErrNotFound) {
			return one, err
		}
		if err == nil {
			one.result = j.Result
		}
	}
	return one, nil
}

// needsOf are the states of the steps that a step needs, and of those of the
// phase before it, as its jobs are told of them.
func (t *tending) needsOf(ctx context.Context, plan *Plan, s *seen, v *verdict, i int) (map[string]domain.Need, error) {
	told := v.next.Sums.Told
	if err := t.know(ctx, s, plan.needs[i]); err != nil {
		return nil, err
	}
	if err := t.know(ctx, s, told); err != nil {
		return nil, err
	}
	needs := make(map[string]domain.Need, len(plan.needs[i]))
	for _, on := range slices.Concat(plan.needs[i], told) {
		needs[plan.Steps[on].Name] = needOf(&plan.Steps[on], v.at(on))
		if len(needs) >= maxNeeds {
			break
		}
	}
	return needs, s.known.bad
}

// needOf is what others are told of a step.
func needOf(step *domain.Step, st *StepState) domain.Need {
	need := domain.Need{State: string(st.Status), Job: st.Job, Result: st.Result}
	if st.Result != nil {
		need.Job = 0 // whatever it left: somebody has given the step another result
	}
	if hasList(step) && st.Split != nil {
		need.One = st.Split.Flows && !st.Split.Each
		if need.Items, need.List = st.Split.Total, st.List; need.Items == 0 {
			need.Results = domain.Results{} // of none, which is not the same as none
		}
	}
	switch leaves := len(step.Artifacts) > 0; {
	case leaves && st.Cached != nil:
		need.LeftBy = st.Cached.Job
	default:
		need.Artifacts = leaves && st.Job == 0
	}
	return need
}

// maxNeeds bounds what a job is told of the phase before its step.
const maxNeeds = domain.MaxDependends + 100

// apply commits what was decided, and does what is not part of the commit.
func (t *tending) apply(ctx context.Context, plan *Plan, s *seen, v *verdict) error {
	b, d := t.batch(), &v.Decisions
	t.taken(&b, s)
	t.putBack(&b, s)
	err := t.makeJobs(ctx, &b, plan, s, v)
	if err != nil {
		return err
	}
	if len(d.AgainFlows) > 0 {
		v.next.RedoFlows = d.AgainFlows
	}
	for id, entry := range s.again { // told once more, now that somebody knows of it
		b.PushLeft(layout.FlowEnded(t.ref.id), entry)
		d.More = d.More || id != 0
	}
	if len(d.Again) > 0 {
		v.next.Redo = d.Again
		if v.next.RedoMs, err = t.lastEnd(ctx, s, d.Again); err != nil {
			return err
		}
	}
	if d.End != "" {
		v.next.Line, v.next.LineMax, v.next.Turn = "", 0, false // see endFlow
	}
	t.putSteps(&b, s, v.next, v.changed)
	if err := t.keepCached(ctx, &b, plan, s, v); err != nil {
		return err
	}
	alarm := layout.FlowAlarm(layout.AlarmFlow, t.ref.id)
	if soon := s.now.Add(bannedLook); s.banned && (d.WakeAt.IsZero() || soon.Before(d.WakeAt)) {
		d.WakeAt = soon // whoever ends the ban does not know whom it held up
	}
	if d.WakeAt.IsZero() || d.End != "" {
		b.ClearAlarm(alarm)
	} else {
		b.SetAlarm(alarm, d.WakeAt)
	}
	t.retellRefused(&b, s, &v.next)
	reopened, err := t.record(ctx, &b, plan, s, v)
	if err != nil {
		return err
	}
	if d.End != "" {
		// An order that was refused is no second end.
		if ended := s.flow.Final() && !reopened; !ended {
			if err := t.end(ctx, &b, plan, s, v); err != nil {
				return err
			}
		}
		if d.Remove {
			return t.goOn(ctx, s, b) // and it is removed in the next round
		}
	}
	stop, abort, flows := t.unasked(d.Stop), t.unasked(d.Abort), t.unaskedFlows(d.StopFlows)
	if d.More || len(d.Again)+len(d.AgainFlows) > 0 || len(stop)+len(abort)+len(flows) > 0 {
		if err := t.goOn(ctx, s, b); err != nil {
			return err
		}
		if err := t.stopFlows(ctx, &v.next, flows); err != nil {
			return err
		}
		return t.endJobs(ctx, s.caller, &v.next, stop, abort)
	}
	return t.letGo(ctx, s, b)
}

// unasked are those jobs that have not been told to end under this lease.
func (t *tending) unasked(jobs []domain.JobID) (list []domain.JobID) {
	for _, j := range jobs {
		if !t.asked[j] {
			list = append(list, j)
		}
	}
	return list
}

// endJobs ends jobs that the flow no longer wants, for the reason that now has:
// abort only those that nobody runs.
func (t *tending) endJobs(ctx context.Context, caller domain.ActorID, now *State, stop, abort []domain.JobID) error {
	if t.asked == nil {
		t.asked = map[domain.JobID]bool{}
	}
	var g errgroup.Group
	g.SetLimit(keeperRounds)
	by, _ := strconv.ParseUint(now.Cancelled, 10, 32)
	for _, id := range stop {
		t.asked[id] = true
		g.Go(func() error {
			_, err := t.work.Cancel(ctx, t.tenant(), domain.JobKey{Caller: caller, ID: id}, domain.ActorID(by))
			if errors.Is(err, domain.ErrConflict) || errors.Is(err, domain.ErrNotFound) {
				err = nil // it has ended
			}
			return err
		})
	}
	for _, id := range abort {
		t.asked[id] = true
		g.Go(func() error {
			_, err := t.work.Abort(ctx, t.tenant(), domain.JobKey{Caller: caller, ID: id}, abortText(now.Aborted))
			return err
		})
	}
	return g.Wait()
}

// abortText says why a job is ended that nobody runs: its flow was aborted, or it is a
// notice about what has been decided.
func abortText(cause string) string {
	if cause == "" {
		return "what it was to tell of has been decided"
	}
	return "the flow was aborted because of " + cause
}
