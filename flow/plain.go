package flow

import (
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
	"github.com/ramet-run/ramet/queue"
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
	wait := time.Duration(0) // until the next of its first jobs may go to their queue
	if s.Begun < s.Held {
		began, pause, err := t.beginPage(ctx, s)
		if began || err != nil {
			return err
		}
		wait = pause
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
			return t.remove(ctx, s, next.Forget)
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
	if wait > 0 {
		b.SetAlarm(layout.FlowAlarm(layout.AlarmFlow, t.ref.id), s.now.Add(wait))
	}
	return t.letGo(ctx, s, b)
}

// sweep ends what has not begun, and remembers that it has: a keeper that dies
// in the middle is followed by one that begins anew.
func (t *tending) sweep(ctx context.Context, s *seen, b board.Batch, next State) error {
	if next.Cancelled != "" {
		b.Set(domain.FlowKey(t.ref.id), board.Field{Name: layout.FlowCancel, Value: next.Cancelled})
	}
	if err := t.goOn(ctx, s, b); err != nil {
		return err
	}
	if err := t.sweepPlain(ctx, s, next); err != nil {
		return err
	}
	swept := t.batch()
	s.State = next
	next.Swept, next.Begun = true, next.Held // none of them is left
	t.putState(&swept, s, next)
	return t.board.Commit(ctx, swept)
}

// putState adds the state to b, if it has changed.
func (t *tending) putState(b *board.Batch, s *seen, next State) {
	t.retellRefused(b, s, &next)
	if text := stateText(next); text != stateText(s.State) {
		b.Set(t.claimed.Item, board.Field{Name: layout.FlowStateData, Value: text})
	}
}

// beginPage lets jobs go that waited for their flow to be written, unless their queue
// is full: then nothing is done, and wait is for how long that should be.
func (t *tending) beginPage(ctx context.Context, s *seen) (began bool, wait time.Duration, err error) {
	keys := make([]string, 0, plainPage)
	for n := s.Begun; n < min(s.Held, s.Begun+plainPage); n++ {
		keys = append(keys, s.job(n).String())
	}
	recs, err := board.Readable(t.board.GetFields(ctx, t.ref.space, layout.JobLine, keys...))
	if err != nil {
		return false, 0, err
	}
	var page work.Page
	var waits []board.Record
	for n, r := range recs {
		key := s.job(s.Begun + n)
		if j, _ := layout.DecodeJob(key, r); r != nil && !j.Final() {
			page.Add(key.String(), queue.Of(j))
			waits = append(waits, r)
		}
	}
	name := domain.FlowKey(t.ref.id)
	if len(waits) > 0 {
		if wait, err := t.work.Crowded(ctx, t.ref.space, name, page.Queues()); wait > 0 || err != nil {
			return false, wait, err
		}
	}
	b := t.batch()
	next := s.State.clone()
	next.Begun += len(keys)
	t.putState(&b, s, next)
	page.Begin(&b, waits, s.now)
	if err := t.board.Commit(ctx, b); err != nil {
		return true, 0, err
	}
	if next.Begun == next.Held {
		t.work.Came(t.ref.space, name, "")
	} else if len(waits) > 0 {
		t.work.Came(t.ref.space, name, page.Last())
	}
	return true, 0, nil
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
			next.Delete, next.Forget = true, next.Forget || o.Forget
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
			what := string(o.Verb)
			if o.Verb == OrderDone {
				what = "count as done"
			}
			why = fmt.Sprintf("the flow has no step that could be asked to %s: its jobs were all made at the start", what)
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
			recs, err = board.Readable(t.board.Get(ctx, t.ref.space, keys...))
		} else {
			recs, err = board.Readable(t.board.GetFields(ctx, t.ref.space, fields, keys...))
		}
		if err != nil {
			return err
		}
		for n, r := range recs {
			if !s.Adopting && !ownJob(r, t.ref.id) {
				r = nil
			}
			if err := do(s.job(from+n), r); err != nil {
				return err
			}
		}
	}
	return nil
}

// endPlain ends a flow whose jobs have all ended.
func (t *tending) endPlain(ctx context.Context, s *seen, b board.Batch, next State) error {
	plan, err := t.planOf(ctx, s)
	if planless := errors.Is(err, domain.ErrNotFound); planless {
		// Its jobs have ended, and that is what it was for.
		t.log.Warn("flow ends without the text of its blueprint, which is gone: its result has the names of its jobs", "flow", uint32(t.ref.id),
			"context", uint32(t.ref.space))
	} else if err != nil {
		return err
	}
	y := tally{result: newResults(plan)}
	err = t.eachPlain(ctx, s, nil, func(key domain.JobKey, r board.Record) error {
		if r == nil {
			y.fault(key.String() + " is gone")
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
		waits := layout.FlowWaits(t.ref.id)
		b.Equal(waits, layout.WaitsPlain, s.plain).Set(waits, board.Field{Name: layout.WaitsPlain, Value: strconv.Itoa(y.unended)})
		return t.goOn(ctx, s, b)
	}
	reason, why := y.reason(&next)
	if err := t.endFlow(ctx, &b, plan, s, reason, why, y.result.map_(), nil); err != nil {
		return err
	}
	if plan != nil && plan.UniqueAlive || plan == nil && s.flow.Blueprint != "" {
		if err := t.leaveAlive(ctx, &b, s); err != nil {
			return err
		}
	}
	if next.Delete {
		return t.goOn(ctx, s, b) // and it is removed in the next round
	}
	return t.letGo(ctx, s, b)
}

// planOf is the plan of a plain flow; nil where it was made of jobs.
func (t *tending) planOf(ctx context.Context, s *seen) (*Plan, error) {
	if s.flow.Hash == "" {
		return nil, nil
	}
	return t.plan(ctx, t.ref, s.flow.Hash)
}
