package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// This file looks after plain flows: their jobs are all there from the start
// and count each other down. The keeper sees them when the last job has ended,
// when one ended badly, and when a person asks for something.

const (
	// plainPage is how many jobs are read or let go at once.
	plainPage = 300
	// plainTogether is how many jobs flows may have that are ended together.
	plainTogether = 64
)

// plainRound lets a plain flow go on.
func (t *tending) plainRound(ctx context.Context, s *seen) error {
	if s.Adopting {
		return t.adopt(ctx, s)
	}
	if s.Begun < s.Held {
		return t.beginPage(ctx, s)
	}
	if len(s.Redo) > 0 || s.RedoMs > 0 {
		return t.redoPlain(ctx, s)
	}
	next := s.State.clone()
	b := t.batch()
	t.taken(&b, s)
	again, err := t.plainOrders(ctx, s, &next)
	if err != nil {
		return err
	}
	if again {
		return t.restartPlain(ctx, s, b, next)
	}
	if s.flow.Final() {
		if next.Delete {
			return t.remove(ctx, s)
		}
		t.putState(&b, s, next)
		return t.letGo(ctx, s, b)
	}
	t.plainEnds(s, &next)
	if next.Cancelled != s.Cancelled || next.Aborted != s.Aborted {
		next.Swept = false
	}
	t.putState(&b, s, next)
	if (next.Cancelled != "" || next.Aborted != "") && !next.Swept {
		return t.sweep(ctx, s, b, next)
	}
	if s.plain == "0" {
		return t.endPlain(ctx, s, b, next)
	}
	return t.letGo(ctx, s, b)
}

// sweep ends what has not begun, and remembers that it has: a keeper that dies
// in the middle is followed by one that begins anew.
func (t *tending) sweep(ctx context.Context, s *seen, b board.Batch, next State) error {
	if next.Cancelled != "" {
		b.Set(domain.FlowKey(t.place.id), board.Field{Name: layout.FlowCancel, Value: next.Cancelled})
	}
	if err := t.goOn(ctx, s, b); err != nil {
		return err
	}
	if err := t.sweepPlain(ctx, s, next); err != nil {
		return err
	}
	swept := t.batch()
	s.State = next
	next.Swept = true
	t.putState(&swept, s, next)
	return t.board.Commit(ctx, swept)
}

// putState adds the state to b, if it has changed.
func (t *tending) putState(b *board.Batch, s *seen, next State) {
	if text := stateText(next); text != stateText(s.State) {
		b.Set(t.claimed.Item, board.Field{Name: layout.FlowStateData, Value: text})
	}
}

// beginPage lets jobs go that waited for their flow to be written.
func (t *tending) beginPage(ctx context.Context, s *seen) error {
	keys := make([]string, 0, plainPage)
	for n := s.Begun; n < min(s.Held, s.Begun+plainPage); n++ {
		keys = append(keys, s.job(n).String())
	}
	recs, err := t.board.GetFields(ctx, t.place.space, layout.JobLine, keys...)
	if err != nil {
		return err
	}
	b := t.batch()
	next := s.State.clone()
	next.Begun += len(keys)
	t.putState(&b, s, next)
	for n, r := range recs {
		if r == nil {
			continue
		}
		key := s.job(s.Begun + n)
		j, _ := layout.DecodeJob(key, r)
		work.Begin(&b, key, layout.Queue(j), s.now)
	}
	return t.board.Commit(ctx, b)
}

// plainEnds looks at what ended badly.
func (t *tending) plainEnds(s *seen, next *State) {
	for _, entry := range s.ended {
		e, ok := work.ParseEnding(entry)
		if !ok || e.Outcome == work.OutcomeAborted || e.Outcome == work.OutcomeSkipped {
			continue
		}
		if next.Aborted == "" && s.flow.OnError != domain.OnErrorContinue {
			next.Aborted = domain.JobKey{Caller: s.caller, ID: e.Job}.String()
		}
	}
}

// plainOrders does what people ask. again is true where what ended badly is to
// be started again.
func (t *tending) plainOrders(ctx context.Context, s *seen, next *State) (again bool, err error) {
	for _, text := range s.orders {
		var o Order
		if json.Unmarshal([]byte(text), &o) != nil {
			continue
		}
		if _, twice := next.answered(o.ID); twice {
			continue
		}
		why := ""
		ended := s.flow.Final() && !again
		switch {
		case next.Delete && o.Verb != OrderDelete:
			why = errDeleted.Error()
		case o.Verb == OrderRetry:
			why, err = t.plainRetry(ctx, s, next, o)
			if err != nil {
				return false, err
			}
			again = again || why == ""
		case o.Verb == OrderDelete:
			next.Delete = true
			if !ended && next.Cancelled == "" {
				next.Cancelled = strconv.FormatUint(uint64(o.By), 10)
			}
		case o.Verb == OrderCancel && ended:
			why = fmt.Sprintf("the flow has ended: it is %s", s.flow.Reason)
		case o.Verb == OrderCancel:
			if next.Cancelled == "" {
				next.Cancelled = strconv.FormatUint(uint64(o.By), 10)
			}
		default:
			why = fmt.Sprintf("the flow has no step that could be asked to %s: its jobs were all made at the start", o.Verb)
		}
		next.answer(o.ID, why)
	}
	return again, nil
}

// sweepPlain ends what has not begun; where the flow was cancelled, what runs too.
func (t *tending) sweepPlain(ctx context.Context, s *seen, next State) error {
	by, _ := strconv.ParseUint(next.Cancelled, 10, 32)
	var g errgroup.Group
	g.SetLimit(keeperRounds)
	err := t.eachPlain(ctx, s, []string{layout.JobStatus, layout.JobLeaseOwner, layout.JobFlowID}, func(key domain.JobKey, r board.Record) error {
		if r == nil || domain.JobStatus(r.Get(layout.JobStatus)).Final() || next.Cancelled == "" && r.Get(layout.JobLeaseOwner) != "" {
			return nil
		}
		g.Go(func() error {
			if next.Cancelled == "" {
				_, err := t.work.Abort(ctx, t.tenant(), key, abortText(next.Aborted))
				return err
			}
			_, err := t.work.Cancel(ctx, t.tenant(), key, domain.ActorID(by))
			if errors.Is(err, domain.ErrConflict) || errors.Is(err, domain.ErrNotFound) {
				err = nil
			}
			return err
		})
		return nil
	})
	return errors.Join(err, g.Wait())
}

// eachPlain calls do with the fields of every job of a plain flow; they are nil
// of one that is gone, or that another flow has: a foreign program may name any.
func (t *tending) eachPlain(ctx context.Context, s *seen, fields []string, do func(domain.JobKey, board.Record) error) error {
	for from := 0; from < s.count; from += plainPage {
		if err := t.renew(ctx); err != nil {
			return err
		}
		keys := make([]string, 0, plainPage)
		for n := from; n < min(s.count, from+plainPage); n++ {
			keys = append(keys, s.job(n).String())
		}
		var recs []board.Record
		var err error
		if fields == nil {
			recs, err = t.board.Get(ctx, t.place.space, keys...)
		} else {
			recs, err = t.board.GetFields(ctx, t.place.space, fields, keys...)
		}
		if err != nil {
			return err
		}
		for n, r := range recs {
			if !s.Adopting && !ownJob(r, t.place.id) {
				r = nil
			}
			if err := do(s.job(from+n), r); err != nil {
				return err
			}
		}
	}
	return nil
}

// tally is what a plain flow came to.
type tally struct {
	result           *results
	failures, faults int
	others           int // that ended because of those, or of the flow
	unended          int
	why              string
	othersWhy        string
}

// add takes in a job that has ended.
func (y *tally) add(j *domain.Job) {
	switch o := work.OutcomeOf(j); o {
	case work.OutcomeSucceeded:
		y.result.add(stepName(j), j.Followers == 0, j.Result)
		return
	case work.OutcomeFailed:
		y.failures++
	case work.OutcomeErrored, work.OutcomeCancelled:
		y.faults++
	default:
		y.others++
		y.othersWhy = cmp.Or(y.othersWhy, whyOf(j))
		return
	}
	y.why = cmp.Or(y.why, whyOf(j))
}

// whyOf names a job and says what went wrong with it.
func whyOf(j *domain.Job) string {
	if j.Step != "" {
		return "step " + j.Step + ": " + j.Error
	}
	return j.Key().String() + ": " + j.Error
}

// stepName is the job's name in the flow: its step, or its id.
func stepName(j *domain.Job) string {
	if j.Step != "" {
		return j.Step
	}
	return strconv.FormatUint(uint64(j.ID), 10)
}

// reason is how the flow ended.
func (y *tally) reason(s *State) (domain.FlowReason, string) {
	switch {
	case s.Cancelled != "" && y.failures+y.faults+y.others > 0: // else it came too late
		return domain.FlowCancelled, "cancelled by actor " + s.Cancelled
	case y.faults > 0:
		return domain.FlowErrored, y.why
	case y.failures > 0:
		return domain.FlowFailed, y.why
	case y.others > 0: // because of a job that is none of the flow's, say
		return domain.FlowErrored, y.othersWhy
	}
	return domain.FlowSucceeded, ""
}

// endPlain ends a flow whose jobs have all ended.
func (t *tending) endPlain(ctx context.Context, s *seen, b board.Batch, next State) error {
	if next.Delete {
		return t.remove(ctx, s)
	}
	plan, err := t.planOf(ctx, s)
	if err != nil {
		return err
	}
	y := tally{result: newResults(plan)}
	err = t.eachPlain(ctx, s, nil, func(key domain.JobKey, r board.Record) error {
		if r == nil {
			y.faults++
			y.why = key.String() + " is gone"
			return nil
		}
		j, _ := layout.DecodeJob(key, r)
		if j.FinishedMs == 0 {
			y.unended++
			return nil
		}
		y.add(j)
		return nil
	})
	if err != nil {
		return err
	}
	if y.unended > 0 {
		// The counter was wrong: somebody else has written on the board.
		waits := layout.FlowWaits(t.place.id)
		b.Equal(waits, layout.WaitsPlain, s.plain).Set(waits, board.Field{Name: layout.WaitsPlain, Value: strconv.Itoa(y.unended)})
		return t.goOn(ctx, s, b)
	}
	reason, why := y.reason(&next)
	t.endRecord(&b, s, reason, why, y.result.map_())
	if plan != nil && plan.UniqueAlive {
		if err := t.leaveAlive(ctx, &b, s); err != nil {
			return err
		}
	}
	return t.letGo(ctx, s, b)
}

// planOf is the plan of a plain flow; nil where it was made of jobs.
func (t *tending) planOf(ctx context.Context, s *seen) (*Plan, error) {
	if s.flow.Hash == "" {
		return nil, nil
	}
	return t.plan(ctx, t.place, s.flow.Hash)
}

// plainRetry looks for what a retry would start again.
func (t *tending) plainRetry(ctx context.Context, s *seen, next *State, o Order) (why string, err error) {
	if !s.flow.Final() {
		return "the flow has not ended; cancel it first, or wait", nil
	}
	if s.flow.Reason == domain.FlowSucceeded {
		return "the flow has succeeded: there is nothing to start again", nil
	}
	failures, others := 0, 0
	var again []*domain.Job
	err = t.eachPlain(ctx, s, layout.JobLine, func(key domain.JobKey, r board.Record) error {
		if r == nil {
			return nil
		}
		j, _ := layout.DecodeJob(key, r)
		switch what := work.OutcomeOf(j); what {
		case work.OutcomeSucceeded:
			return nil
		case work.OutcomeFailed:
			if failures++; !o.Failed {
				return nil
			}
		case work.OutcomeErrored, work.OutcomeCancelled:
			others++
		}
		again = append(again, j)
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case others == 0 && failures > 0 && !o.Failed:
		return fmt.Sprintf("nothing of the flow ended in error, but %d of it failed: say so (--failed) to start that again too", failures), nil
	case len(again) == 0:
		return "nothing of the flow ended in error", nil
	}
	// Each after those it depends on: a foreign program lists them in any order.
	ordered, err := domain.OrderJobs(again)
	if err != nil {
		return err.Error(), nil
	}
	next.Aborted, next.Cancelled, next.Swept = "", "", false
	next.Redo = make([]domain.JobID, len(ordered))
	for i, j := range ordered {
		next.Redo[i] = j.ID
	}
	next.RedoMs, err = t.lastEnd(ctx, s, next.Redo)
	return "", err
}

// restartPlain opens a flow again that had ended. Its counter is kept from zero
// while its jobs are started again.
func (t *tending) restartPlain(ctx context.Context, s *seen, b board.Batch, next State) error {
	t.putState(&b, s, next)
	plan, err := t.planOf(ctx, s)
	if err != nil {
		return err
	}
	t.reopen(&b, plan, s)
	b.Add(layout.FlowWaits(t.place.id), layout.WaitsPlain, 1)
	return t.goOn(ctx, s, b)
}

// redoPlain starts jobs again, each after those it depends on.
func (t *tending) redoPlain(ctx context.Context, s *seen) error {
	for _, id := range s.Redo {
		if err := t.renew(ctx); err != nil {
			return err
		}
		if _, err := t.again(ctx, domain.JobKey{Caller: s.caller, ID: id}, s.RedoMs); err != nil {
			return err
		}
	}
	next := s.State.clone()
	next.Redo, next.RedoMs = nil, 0
	b := t.batch()
	t.putState(&b, s, next)
	b.Add(layout.FlowWaits(t.place.id), layout.WaitsPlain, -1)
	return t.board.Commit(ctx, b)
}

// mayEnd reports whether the flow may be one of those that are ended together:
// a small plain one of which nothing else is known.
func (t *tending) mayEnd() bool {
	r := t.claimed.Record
	n, err := strconv.Atoi(r.Get(layout.FlowStateCount))
	return err == nil && n <= plainTogether && r.Get(layout.FlowStateData) == "{}"
}

// endTogether ends flows whose jobs have all ended and succeeded, all with one
// read and one commit. It returns those that are not so simple.
func (k *keeper) endTogether(ctx context.Context, list []*tending) (rest []*tending) {
	bySpace := map[board.Space][]*tending{}
	for _, t := range list {
		bySpace[t.place.space] = append(bySpace[t.place.space], t)
	}
	for space, list := range bySpace {
		rest = append(rest, k.endInSpace(ctx, space, list)...)
	}
	return rest
}

func (k *keeper) endInSpace(ctx context.Context, space board.Space, list []*tending) (rest []*tending) {
	var keys []string
	states := make([]stored, len(list))
	for i, t := range list {
		states[i], _ = decodeState(t.place.id, t.claimed.Record)
		keys = append(keys, layout.FlowWaits(t.place.id), domain.FlowKey(t.place.id))
		for n := range states[i].count {
			keys = append(keys, states[i].job(n).String())
		}
	}
	recs, err := k.board.Get(ctx, space, keys...)
	if err != nil {
		return list // each for itself says what is wrong
	}
	now := time.Now()
	var batches []board.Batch
	var of []*tending
	var flows []*seen
	for i, t := range list {
		own := recs[:2+states[i].count]
		recs = recs[len(own):]
		b, s, ok := t.simpleEnd(states[i], own, now)
		if !ok {
			rest = append(rest, t)
			continue
		}
		batches, of, flows = append(batches, b), append(of, t), append(flows, s)
	}
	if len(batches) == 0 {
		return rest
	}
	for i, err := range k.board.CommitEach(ctx, batches) {
		var g *board.GuardError
		if err == nil {
			of[i].told(flows[i])
			continue
		}
		if !(errors.As(err, &g) && g.Guard.Kind == board.GuardHeld) {
			rest = append(rest, of[i])
		}
	}
	return rest
}

// simpleEnd is the commit that ends a flow all of whose jobs succeeded; ok is
// false for any other.
func (t *tending) simpleEnd(st stored, recs []board.Record, now time.Time) (b board.Batch, s *seen, ok bool) {
	waits, rec, jobs := recs[0], recs[1], recs[2:]
	if waits.Get(layout.WaitsPlain) != "0" || waits.Get(layout.WaitsArmed) != "1" || rec == nil {
		return b, nil, false
	}
	f, err := layout.DecodeFlow(domain.FlowKey(t.place.id), rec)
	if err != nil || f.Final() {
		return b, nil, false
	}
	var plan *Plan
	if f.Hash != "" {
		t.mu.Lock()
		plan = t.plans[f.Hash]
		t.mu.Unlock()
		if plan == nil || plan.UniqueAlive {
			return b, nil, false
		}
	}
	y := tally{result: newResults(plan)}
	for n, r := range jobs {
		if domain.JobStatus(r.Get(layout.JobStatus)) != domain.JobFinished {
			return b, nil, false
		}
		name := r.Get(layout.JobStep)
		if name == "" {
			name = strconv.FormatUint(uint64(st.job(n).ID), 10)
		}
		y.result.add(name, r.Get(layout.JobFollowers) == "", layout.Result(r))
	}
	b = t.batch()
	s = &seen{stored: st, flow: f, now: now}
	t.endRecord(&b, s, domain.FlowSucceeded, "", y.result.map_())
	b.Equal(layout.FlowWaits(t.place.id), layout.WaitsArmed, "1").Equal(layout.FlowWaits(t.place.id), layout.WaitsPlain, "0")
	b.Release(t.claimed.Item)
	return b, s, true
}
