package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/work"
)

// This file has the flows that steps make: children. The keeper of the step's flow submits
// them before it commits that they are open. The commit that makes a child writes its number
// beside the elements of the step ([layout.FlowChildren]), under the keeper's lease: whoever
// goes on after a crash finds it there, and makes no second. A child's end stands on its
// parent in the commit that ends it, as the ends of jobs do, with what the child leaves. So
// nothing has to be asked while it runs, and it may be gone before its parent looks.

// ChildAt is a unit of a step that a child is for.
type ChildAt struct {
	Step int
	ID   int64
}

// ChildAnswer is the child of a unit, or why there is none: Err says that there never will
// be, Later that there is none now. Zero is that there is none, and none was wanted.
type ChildAnswer struct {
	Flow       domain.FlowID
	Key        string // the name of its element
	Err, Later string
}

// ChildEnd is an end of a child, after which it is started again.
type ChildEnd struct {
	Flow domain.FlowID `json:"flow"`
	Ends int64         `json:"ends"`
}

// childLook is how soon a child is asked for again that could not be made, and how often one
// is told again that its time is over.
const (
	childLook = 2 * time.Second
	childStop = time.Minute
)

// child gives a unit its flow, or asks for it. ok is false where there can be none now, or
// ever: then the unit has been dealt with.
func (m *maker) child(i int, st *StepState, u *Unit) (ok bool) {
	answer, known := m.f.Children[ChildAt{i, u.ID}]
	if known && answer.Flow != 0 {
		u.Flow, u.Gone, u.Key = answer.Flow, 0, answer.Key
		m.bound(i, u)
		if !st.Split.Each {
			st.Flow = u.Flow
		}
		return true
	}
	switch {
	case !known && !m.f.Later:
		m.d.AskChildren = append(m.d.AskChildren, ChildAt{i, u.ID})
		return true
	case answer.Err != "":
		bad := *u
		bad.Outcome, bad.Text = string(work.OutcomeErrored), cut(answer.Err)
		st.Bad = append(st.Bad, bad)
		m.mayAbort(i, &bad)
		m.marks.add(m.p.rank[i])
		m.refused = true
	default:
		st.Lost = append([]Unit{*u}, st.Lost...)
		if st.Text = cut(answer.Later); !known {
			m.d.More = true
		}
	}
	return false
}

// bound says when a child is to have ended that is started now.
func (a *advancer) bound(i int, u *Unit) {
	if timeout := a.p.Steps[i].Timeout; timeout != 0 {
		u.DueMs = a.f.Now.Add(time.Duration(timeout) * time.Second).UnixMilli()
	}
}

// noneMade reports whether a step that ends before all its children were made has no other than those that are known. A
// keeper may have died, or the flow been stopped, between the making of a child and the commit that says so. Such children
// are taken in, and end as all that runs; else they would be nobody's.
func (a *advancer) noneMade(i int, st *StepState) bool {
	asked, made, rest := false, 0, st.clone()
	var units []Unit
	for len(units) < makeMost && rest.left() {
		u := rest.next()
		if u.Flow == 0 {
			answer, known := a.f.Children[ChildAt{i, u.ID}]
			switch {
			case !known:
				a.d.AskMade, asked = append(a.d.AskMade, ChildAt{i, u.ID}), true
			case answer.Flow != 0:
				u.Flow, u.Gone, u.Key = answer.Flow, 0, answer.Key
				a.bound(i, &u)
				made = len(units) + 1
			}
		}
		units = append(units, u)
	}
	if asked || made == 0 {
		return !asked
	}
	st, was := a.lift(i)
	var lost []Unit
	for _, u := range units[:made] {
		st.next()
		if u.Flow == 0 || u.Ends != 0 { // one with an end was to be started again
			lost = append(lost, u)
			continue
		}
		st.Open = append(st.Open, u)
		if !st.Split.Each {
			st.Flow = u.Flow
		}
	}
	st.Lost = append(lost, st.Lost...)
	a.settle(i, was)
	if a.stopped(i) {
		a.stopOpen(st)
	}
	return false
}

// later has a step looked at again whose child could not be made.
func (m *maker) later(i int) {
	at := domain.Instant(m.f.Now.Add(childLook).UnixMilli())
	m.s.Sums.wait(m.p.rank[i], at)
	m.wakeAt(at)
}

// childrenDue tells the children of a step that have taken too long to end.
func (a *advancer) childrenDue(i int, st *StepState) {
	for k := range st.Open {
		if due := st.Open[k].DueMs; due != 0 && a.f.Now.UnixMilli() >= due {
			st = a.change(i)
			u := &st.Open[k]
			if u.Text == "" {
				u.Text = fmt.Sprintf("%s took longer than its timeout of %s", domain.FlowKey(u.Flow), time.Duration(a.p.Steps[i].Timeout)*time.Second)
			}
			u.DueMs = a.f.Now.Add(childStop).UnixMilli()
			a.lateFlows = append(a.lateFlows, u.Flow)
		}
	}
	a.comesAgain(i, st)
}

// comesAgain sees to it that a step is looked at when it is the time for something of it.
func (a *advancer) comesAgain(i int, st *StepState) {
	if at := st.nextMs(); at != 0 {
		a.s.Sums.wait(a.p.rank[i], domain.Instant(at))
		a.wakeAt(domain.Instant(at))
	}
}

// nextMs is when something of a step that has begun is due; 0 where that is never.
func (s *StepState) nextMs() (next int64) {
	for i := range s.Open {
		if due := s.Open[i].DueMs; due != 0 && (next == 0 || due < next) {
			next = due
		}
	}
	if due := s.RoundMs; due != 0 && (next == 0 || due < next) {
		next = due
	}
	return next
}

// again reports whether a child that ended badly is started again by itself.
func (a *advancer) again(i int, st *StepState, u *Unit, e work.Ending) bool {
	s := &a.p.Steps[i]
	retries := s.MaxRetries()
	if st.Retries != nil {
		retries = *st.Retries
	}
	end := domain.RetryErrored
	if e.Outcome == work.OutcomeFailed {
		end = domain.RetryFailed
	}
	if e.Flow == 0 || u.Text != "" || e.Outcome == work.OutcomeCancelled || u.Tries >= retries || s.Retry.Final(end, 0) || a.stopped(i) {
		return false
	}
	u.Tries++
	a.bound(i, u)
	return true
}

// answerMade finds the children that were made of those that were asked for.
func (t *tending) answerMade(ctx context.Context, s *seen, v *verdict, f *Facts) error {
	for step, units := range byStep(v.AskMade) {
		st := v.at(step)
		made, err := t.childrenOf(ctx, st.List, units)
		if err != nil {
			return err
		}
		items, err := t.readItems(ctx, st.List, units)
		if err != nil {
			return err
		}
		for n, id := range units {
			var answer ChildAnswer
			if made[n] != 0 && made[n] != st.gone(id) {
				if answer, err = t.found(ctx, s, made[n]); err != nil {
					return err
				}
				answer.Key = items[n].name
			}
			f.Children[ChildAt{step, id}] = answer
		}
	}
	return nil
}

// answerChildren makes the children that were asked for, or finds those that were made.
func (t *tending) answerChildren(ctx context.Context, plan *Plan, s *seen, v *verdict, f *Facts) error {
	if len(v.AskChildren) == 0 {
		return nil
	}
	if err := t.renew(ctx); err != nil {
		return err
	}
	var reqs []Request
	var of []ChildAt
	for step, units := range byStep(v.AskChildren) {
		made, err := t.childrenOf(ctx, v.at(step).List, units)
		if err != nil {
			return err
		}
		needs, err := t.needed(ctx, plan, s, v, step, soughtByCall(plan.Steps[step].Flow))
		if err != nil && !cannotBe(err) {
			return err
		}
		items, readErr := t.readItems(ctx, v.at(step).List, units)
		if readErr != nil {
			return readErr
		}
		for n, id := range units {
			at := ChildAt{step, id}
			gone := v.at(step).gone(id)
			if made[n] != 0 && made[n] != gone {
				answer, err := t.found(ctx, s, made[n])
				if err != nil {
					return err
				}
				answer.Key = items[n].name
				f.Children[at] = answer
				continue
			}
			if err != nil {
				f.Children[at] = ChildAnswer{Err: err.Error()}
				continue
			}
			r, fault := t.childRequest(plan, s, v, at, items[n], needs)
			if fault != nil {
				f.Children[at] = ChildAnswer{Err: fault.Error()}
				continue
			}
			t.noteChild(&r, at, v.at(step).List, gone)
			reqs, of = append(reqs, r), append(of, at)
		}
	}
	if len(reqs) == 0 {
		return nil
	}
	receipts, err := t.Submit(ctx, t.tenant(), reqs)
	if err != nil {
		return err
	}
	for n, r := range receipts {
		answer, err := childAnswer(r, reqs[n])
		if err != nil {
			return err
		}
		answer.Key = reqs[n].Parent.Key
		f.Children[of[n]] = answer
	}
	return nil
}

// childAnswer is what a submit says of a child. An error is one of the flow that it is for:
// somebody else has that now, or has made the child.
func childAnswer(r Receipt, q Request) (ChildAnswer, error) {
	var g *board.GuardError
	switch err := r.Err; {
	case err == nil && r.Existing:
		return ChildAnswer{Err: fmt.Sprintf("%s of blueprint %s has the trigger %s already", domain.FlowKey(r.ID), q.Blueprint, q.Trigger)}, nil
	case err == nil:
		return ChildAnswer{Flow: r.ID}, nil
	case errors.As(err, &g):
		return ChildAnswer{}, err
	case errors.Is(err, domain.ErrInvalid) || errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrLimit):
		return ChildAnswer{Err: err.Error()}, nil
	default: // a ban, another flow that lives, a board that is away
		return ChildAnswer{Later: "its flow cannot be made yet: " + err.Error()}, nil
	}
}

// byStep are units by their steps, the first step first.
func byStep(list []ChildAt) func(yield func(step int, ids []int64) bool) {
	of := map[int][]int64{}
	for _, at := range list {
		of[at.Step] = append(of[at.Step], at.ID)
	}
	return func(yield func(int, []int64) bool) {
		for _, step := range slices.Sorted(maps.Keys(of)) {
			if !yield(step, of[step]) {
				return
			}
		}
	}
}

// gone is the child of a unit that is not there any more; 0 where there was none.
func (s *StepState) gone(id int64) domain.FlowID {
	for _, list := range [][]Unit{s.Open, s.Lost} {
		for i := range list {
			if list[i].ID == id && list[i].Flow == 0 {
				return list[i].Gone
			}
		}
	}
	return 0
}

// childrenOf are the children that units have got, 0 of those that have none.
func (t *tending) childrenOf(ctx context.Context, list int, ids []int64) ([]domain.FlowID, error) {
	made := make([]domain.FlowID, len(ids))
	keys := make([]string, len(ids))
	for n, id := range ids {
		keys[n] = layout.FlowChildren(t.ref.id, list+int(id/layout.ListSize))
	}
	distinct := slices.Clone(keys)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	recs, err := board.Readable(t.board.Get(ctx, t.ref.space, distinct...))
	if err != nil {
		return nil, err
	}
	for n, id := range ids {
		k, _ := slices.BinarySearch(distinct, keys[n])
		made[n] = childNumber(recs[k].Get(strconv.FormatInt(id, 10)))
	}
	return made, nil
}

func childNumber(text string) domain.FlowID {
	n, _ := strconv.ParseUint(text, 10, 32)
	return domain.FlowID(n)
}

// found is a child that was made before. One that has ended has told so, maybe at a time when
// nobody knew of it: it is told once more.
func (t *tending) found(ctx context.Context, s *seen, id domain.FlowID) (ChildAnswer, error) {
	f, err := t.load(ctx, ref{t.ref.space, id})
	switch {
	case errors.Is(err, domain.ErrNotFound):
		if s.again == nil {
			s.again = map[domain.FlowID]string{}
		}
		s.again[id] = work.FlowEnding(id, 1, work.OutcomeErrored, domain.FlowKey(id)+" was deleted before it was known how it ended")
		if r, err := t.archived(ctx, ref{t.ref.space, id}); err == nil {
			s.again[id] = childEnding(id, domain.FlowReason(r.Reason), 1, "see the archive", nil)
		} else if !errors.Is(err, domain.ErrNotFound) {
			return ChildAnswer{}, err
		}
	case err != nil:
		return ChildAnswer{}, err
	case f.Final():
		if s.again == nil {
			s.again = map[domain.FlowID]string{}
		}
		s.again[id] = childEnding(id, f.Reason, endOf(&f), f.Error, f.Result)
	}
	return ChildAnswer{Flow: id}, nil
}

// ask has an order done by the keeper of a child that is as it is wanted. Of one that is
// gone nothing is asked.
func (t *tending) ask(ctx context.Context, id domain.FlowID, o Order, wanted func(f *domain.Flow) bool) error {
	f, err := t.load(ctx, ref{t.ref.space, id})
	if errors.Is(err, domain.ErrNotFound) || err == nil && !wanted(&f) {
		return nil
	} else if err != nil {
		return err
	}
	b := t.batch()
	if err := addOrder(&b, &f, o); err != nil {
		return err
	}
	return t.board.Commit(ctx, b)
}

// stopFlows cancels children, each once under this lease.
func (t *tending) stopFlows(ctx context.Context, now *State, flows []domain.FlowID) error {
	by, _ := strconv.ParseUint(now.Cancelled, 10, 32)
	for _, id := range flows {
		if t.askedFlows == nil {
			t.askedFlows = map[domain.FlowID]bool{}
		}
		t.askedFlows[id] = true
		err := t.ask(ctx, id, Order{ID: fmt.Sprintf("stop:%d:%d", t.ref.id, t.claimed.Token), Verb: OrderCancel, By: domain.ActorID(by)},
			func(f *domain.Flow) bool { return !f.Final() })
		if err != nil && !errors.Is(err, domain.ErrConflict) {
			return err
		}
	}
	return nil
}

func (t *tending) unaskedFlows(flows []domain.FlowID) (list []domain.FlowID) {
	for _, id := range flows {
		if !t.askedFlows[id] {
			list = append(list, id)
		}
	}
	return list
}

// redoChild starts a child again that ended badly, as a retry has decided. gone is true where
// it is not there any more, nor in the archive.
func (t *tending) redoChild(ctx context.Context, s *seen, c ChildEnd) (gone bool, err error) {
	id := c.Flow
	p := ref{t.ref.space, id}
	f, err := t.load(ctx, p)
	if errors.Is(err, domain.ErrNotFound) {
		if err = t.restore(ctx, p); errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrConflict) || errors.Is(err, domain.ErrInvalid) {
			return true, nil
		} else if err == nil {
			f, err = t.load(ctx, p)
		}
	}
	if err != nil {
		return false, err
	}
	o := Order{ID: fmt.Sprintf(redoOrder+"%d:%d", t.ref.id, c.Ends), Verb: OrderRetry, Failed: true, By: s.caller}
	recs, err := t.board.Get(ctx, t.ref.space, layout.FlowState(id))
	if err != nil {
		return false, err
	}
	child, err := decodeState(id, recs[0])
	_, done := child.answered(o.ID)
	switch {
	case err != nil || done || !f.Final():
		return false, nil // somebody was here before, or it was started again by hand
	case f.Reason != domain.FlowSucceeded:
		return false, t.ask(ctx, id, o, (*domain.Flow).Final)
	}
	b := t.batch()
	b.PushLeft(layout.FlowEnded(t.ref.id), childEnding(id, f.Reason, endOf(&f), "", f.Result))
	wake(&b, t.ref.id)
	return false, t.board.Commit(ctx, b)
}

// eachChild calls do with the children that the steps of a flow have made.
func (e *Engine) eachChild(ctx context.Context, p ref, lists int, do func(id domain.FlowID) error) error {
	for from := 0; from < lists; from += removePage {
		var keys []string
		for n := from; n < min(from+removePage, lists); n++ {
			keys = append(keys, layout.FlowChildren(p.id, n))
		}
		recs, err := board.Readable(e.board.Get(ctx, p.space, keys...))
		if err != nil {
			return err
		}
		for _, r := range recs {
			for _, f := range r {
				if id := childNumber(f.Value); id != 0 {
					if err := do(id); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// deleteChildren has the children of a flow deleted with it.
func (t *tending) deleteChildren(ctx context.Context, s *seen, forget bool) error {
	return t.eachChild(ctx, t.ref, s.lists, func(id domain.FlowID) error {
		o := Order{ID: fmt.Sprintf("delete:%d", t.ref.id), Verb: OrderDelete, Forget: forget, By: s.caller}
		err := t.ask(ctx, id, o, func(*domain.Flow) bool { return true })
		if errors.Is(err, domain.ErrConflict) && !lease.IsGone(err) {
			err = t.ask(ctx, id, o, func(*domain.Flow) bool { return true }) // it has just ended
		}
		return cmp.Or(err, t.renew(ctx))
	})
}

// unheardFlows are the ends of children that the flow was never told of.
func (l *looker) unheardFlows(ctx context.Context, p ref, s *stored) (entries []string, err error) {
	for i := range s.Steps {
		for _, u := range s.Steps[i].Open {
			if u.Flow == 0 {
				continue
			}
			recs, err := board.Readable(l.board.Get(ctx, p.space, domain.FlowKey(u.Flow), layout.FlowWaits(u.Flow)))
			if err != nil {
				return nil, err
			}
			f, _ := layout.DecodeFlow(domain.FlowKey(u.Flow), recs[0])
			switch {
			case recs[0] == nil:
				entries = append(entries, work.FlowEnding(u.Flow, u.Ends+1, work.OutcomeErrored, domain.FlowKey(u.Flow)+" is gone"))
			case f.Final() && recs[1].Get(layout.WaitsArmed) == "1" && l.now.Sub(time.UnixMilli(f.FinishedMs)) > auditAge:
				entries = append(entries, childEnding(u.Flow, f.Reason, max(endOf(&f), u.Ends+1), f.Error, f.Result))
			}
			if len(entries) >= maxUnheard {
				return entries, nil
			}
		}
	}
	return entries, nil
}
