package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// auditAge is how long a flow must stand as it does before it is doubted.
const auditAge = 10 * time.Second

// Audit looks whether every unfinished flow of a context has a reason to be
// alive, and brings those that have none back to a keeper. It rests after each
// flow, rest times as long as that took.
func (e *Engine) Audit(ctx context.Context, tenant domain.TenantID, rest int) (work.Audit, error) {
	a := auditor{Engine: e, space: layout.SpaceOf(tenant), now: time.Now()}
	var after board.LiveItem
	for {
		page, err := e.board.Live(ctx, a.space, after, listPage)
		if err != nil || len(page) == 0 {
			return a.report, err
		}
		for _, it := range page {
			id, err := domain.ParseFlowKey(it.Item)
			if err != nil || it.Item != domain.FlowKey(id) || a.now.Sub(it.At) < auditAge {
				continue
			}
			begun := time.Now()
			if err := a.look(ctx, place{a.space, id}, it); err != nil {
				return a.report, err
			}
			if rest > 0 {
				pause(ctx, time.Since(begun)*time.Duration(rest))
			}
		}
		after = page[len(page)-1]
	}
}

type auditor struct {
	*Engine
	space  board.Space
	now    time.Time
	report work.Audit
	queued map[string]bool // what is in the keeper's queue; nil: not looked
}

func (a *auditor) look(ctx context.Context, p place, it board.LiveItem) error {
	a.report.Looked++
	key, item, waits := domain.FlowKey(p.id), layout.FlowState(p.id), layout.FlowWaits(p.id)
	recs, bad, err := board.PerKey(a.board.Get(ctx, p.space, key, item, waits))
	if err != nil {
		return err
	}
	if len(bad) > 0 {
		a.report.Stuck = append(a.report.Stuck, work.Finding{Key: key, Text: "another kind of thing lies where a record was: " + bad.Error()})
		return nil
	}
	f, _ := layout.DecodeFlow(key, recs[0])
	f.ID = p.id
	b := board.Batch{Space: p.space}
	switch {
	case recs[0] == nil:
		return work.SettleLost(ctx, a.board, a.space, it, &a.report)
	case f.Final():
		b.Equal(key, layout.FlowStatus, string(f.Status)).Settle(key)
		return a.repair(ctx, b, p, "")
	case a.now.Sub(f.UpdatedAt.Time()) < auditAge:
		return nil
	}
	s, err := decodeState(p.id, recs[1])
	if err != nil || recs[1] == nil {
		a.report.Stuck = append(a.report.Stuck, work.Finding{Key: key, Text: "what its keeper knew of it is gone, or cannot be read"})
		return nil
	}
	if recs[1].Get(board.FieldOwner) != "" {
		return nil // a keeper has it
	}
	if s.Writing {
		return a.writing(ctx, p)
	}
	armed, plain := recs[2].Get(layout.WaitsArmed), recs[2].Get(layout.WaitsPlain)
	b.Equal(waits, layout.WaitsArmed, armed).Equal(waits, layout.WaitsPlain, plain).Free(item)
	b.Equal(item, board.FieldAttempt, recs[1].Get(board.FieldAttempt)) // no keeper had it meanwhile
	why, err := a.doubt(ctx, p, &b, &f, &s, armed, plain)
	if err != nil || why == "" {
		return err
	}
	return a.repair(ctx, b, p, why)
}

// writing sees to it that a flow which was not written to its end is swept.
func (a *auditor) writing(ctx context.Context, p place) error {
	alarm := layout.FlowAlarm(layout.AlarmFlowWrite, p.id)
	_, set, err := a.board.AlarmOf(ctx, p.space, alarm)
	if err != nil || set {
		return err
	}
	b := board.Batch{Space: p.space}
	b.Equal(domain.FlowKey(p.id), layout.FlowStatus, string(domain.FlowDispatched)).SetAlarm(alarm, a.now.Add(writeWithin))
	return a.repair(ctx, b, p, "")
}

// doubt says why nothing would move the flow, and adds to b what does; "" where
// something will.
func (a *auditor) doubt(ctx context.Context, p place, b *board.Batch, f *domain.Flow, s *stored, armed, plain string) (why string, err error) {
	item := layout.FlowState(p.id)
	if armed != "1" || s.Begun < s.Held || len(s.Redo) > 0 || !s.stepped && plain == "0" {
		queued, err := a.inQueue(ctx, item)
		if err != nil || queued {
			return "", err
		}
		b.PushLeft(layout.Keeper, item)
		return "a keeper had to look at it, but it was in no queue; queued again", nil
	}
	if !s.stepped {
		return a.doubtPlain(ctx, p, b, s, plain)
	}
	gone, err := a.unheard(ctx, p, s)
	if err != nil {
		return "", err
	}
	for _, entry := range gone {
		b.PushLeft(layout.FlowEnded(p.id), entry)
	}
	if len(gone) > 0 {
		wake(b, p.id)
		return fmt.Sprintf("%d of its jobs had ended, or were gone, and it did not know; it was told", len(gone)), nil
	}
	if f.Paused || s.busy() {
		return "", nil
	}
	if _, set, err := a.board.AlarmOf(ctx, p.space, layout.FlowAlarm(layout.AlarmFlow, p.id)); err != nil || set {
		return "", err
	}
	wake(b, p.id)
	return "nothing would have moved it; a keeper looks at it", nil
}

// busy reports whether jobs are open, or a person has to decide.
func (s *State) busy() bool {
	for i := range s.Steps {
		if st := &s.Steps[i]; len(st.Open) > 0 || st.Status == Running {
			return true
		}
	}
	return false
}

// maxUnheard bounds the ends that one repair tells of.
const maxUnheard = 200

// unheard are the ends of open units that the flow was never told of.
func (a *auditor) unheard(ctx context.Context, p place, s *stored) (entries []string, err error) {
	var ids []domain.JobID
	for i := range s.Steps {
		for _, u := range s.Steps[i].Open {
			ids = append(ids, u.Job)
		}
	}
	for page := range slices.Chunk(ids, maxUnheard) {
		if entries, err = a.unheardOf(ctx, p, s.caller, page); err != nil || len(entries) > 0 {
			return entries, err
		}
	}
	return nil, nil
}

// unheardOf are those of a page of jobs.
func (a *auditor) unheardOf(ctx context.Context, p place, caller domain.ActorID, ids []domain.JobID) (entries []string, err error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = domain.JobKey{Caller: caller, ID: id}.String()
	}
	recs, err := board.Listed(ctx, a.board, p.space, layout.JobLine, keys)
	if err != nil {
		return nil, err
	}
	for i, r := range recs {
		j, _ := layout.DecodeJob(domain.JobKey{Caller: caller, ID: ids[i]}, r)
		switch {
		case r == nil:
			entries = append(entries, fmt.Sprintf("%c %d its record is gone", work.OutcomeErrored, ids[i]))
		case j.Final() && j.FinishedMs != 0 && a.now.Sub(time.UnixMilli(j.FinishedMs)) > auditAge:
			entries = append(entries, fmt.Sprintf("%c %d %s", work.OutcomeOf(j), ids[i], j.Error))
		}
	}
	return entries, nil
}

// doubtPlain compares the counter of a plain flow with its jobs.
func (a *auditor) doubtPlain(ctx context.Context, p place, b *board.Batch, s *stored, plain string) (why string, err error) {
	left := 0
	for from := 0; from < s.count; from += plainPage {
		keys := make([]string, 0, plainPage)
		for n := from; n < min(s.count, from+plainPage); n++ {
			keys = append(keys, s.job(n).String())
		}
		recs, err := board.Listed(ctx, a.board, p.space, []string{layout.JobFinishedMs, layout.JobFlowID}, keys)
		if err != nil {
			return "", err
		}
		for _, r := range recs {
			if ownJob(r, p.id) && r.Get(layout.JobFinishedMs) == "" {
				left++
			}
		}
	}
	if strconv.Itoa(left) == plain {
		return "", nil
	}
	// The guards hold the counter to what it was: no job ended meanwhile.
	b.Set(layout.FlowWaits(p.id), board.Field{Name: layout.WaitsPlain, Value: strconv.Itoa(left)})
	if left == 0 {
		wake(b, p.id)
	}
	return fmt.Sprintf("it counted %s jobs that have not ended, but there are %d; set right", plain, left), nil
}

// inQueue reports whether an item is in the keeper's queue. It goes from where
// producers push, against the direction in which their pushes move the rest.
func (a *auditor) inQueue(ctx context.Context, item string) (bool, error) {
	if a.queued == nil {
		a.queued = map[string]bool{}
		for from := 0; ; from += listPage {
			items, err := a.board.List(ctx, a.space, layout.Keeper, from, listPage)
			if err != nil {
				return false, err
			}
			for _, it := range items {
				a.queued[it] = true
			}
			if len(items) < listPage {
				break
			}
		}
	}
	return a.queued[item], nil
}

// repair commits b and reports what was found, if it is worth a word; a
// conflict means that it repaired itself.
func (a *auditor) repair(ctx context.Context, b board.Batch, p place, why string) error {
	err := a.board.Commit(ctx, b)
	if errors.Is(err, domain.ErrConflict) {
		return nil
	}
	if err == nil && why != "" {
		a.report.Repaired = append(a.report.Repaired, work.Finding{Key: domain.FlowKey(p.id), Text: why})
	}
	return err
}
