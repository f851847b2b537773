package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/work"
)

// This file finds the reason for which an unfinished flow is alive, or that there is
// none and what brings it back: explain says it, the audit acts by it.

// looker looks at flows of a context.
type looker struct {
	*Engine
	space board.Space
	now   time.Time
	// queued is what was last seen in the keeper's queue, lack who is not there by role;
	// nil: not asked.
	queued map[string]bool
	lack   map[domain.Role]string
}

// standing finds the reason. What the flow waits for is not named yet: jobs of it
// ([domain.StandingWorking]) may be a person, too.
func (l *looker) standing(ctx context.Context, p ref, r records) (explained, error) {
	x := explained{FlowExplanation: domain.FlowExplanation{Key: domain.FlowKey(p.id), Status: r.flow.Status}}
	s, err := decodeState(p.id, r.state)
	switch {
	case r.flow.Final():
		x.ended(&r.flow)
		return l.leaving(ctx, p, &s, x)
	case r.bad != nil:
		x.stuck("another kind of thing lies where a record was: "+r.bad.Error(), nil)
		return x, nil
	case err != nil || r.state == nil:
		x.stuck("what its keeper knew of it is gone, or cannot be read", nil)
		return x, nil
	}
	if why, err := l.planless(ctx, p, r, &s); err != nil || why != "" {
		x.stuck("the text of its blueprint "+why+": no keeper can decide what follows", nil)
		return x, err
	}
	switch {
	case r.state.Get(board.FieldOwner) != "":
		return l.leased(ctx, p, r, x)
	case s.Writing:
		return l.writing(ctx, p, r, x)
	case r.waits.Get(layout.WaitsArmed) == "1" && s.Begun < s.Held && r.waits.Get(layout.WaitsPlain) != "0":
		return l.crowded(ctx, p, r, x)
	case r.waits.Get(layout.WaitsArmed) != "1" || s.Begun < s.Held || s.redoing() || !s.stepped && r.waits.Get(layout.WaitsPlain) == "0":
		return l.due(ctx, p, x)
	case !s.stepped:
		if x, err = l.countJobs(ctx, p, r, &s, x); err != nil || x.Standing != "" {
			return x, err
		}
		return l.inOrder(r, x, true, 0), nil
	}
	if s.Sums != nil {
		if err := l.gatherSteps(ctx, p, &s); err != nil {
			return x, err
		}
	}
	return l.steps(ctx, p, r, &s, x)
}

// guard holds a repair to what was read: no keeper had the flow meanwhile.
func (r records) guard(b *board.Batch, p ref) {
	item, waits := layout.FlowState(p.id), layout.FlowWaits(p.id)
	b.Equal(waits, layout.WaitsArmed, r.waits.Get(layout.WaitsArmed)).Equal(waits, layout.WaitsPlain, r.waits.Get(layout.WaitsPlain))
	b.Equal(item, board.FieldAttempt, r.state.Get(board.FieldAttempt))
	b.Equal(item, board.FieldOwner, r.state.Get(board.FieldOwner))
}

func (x *explained) ended(f *domain.Flow) {
	x.Standing, x.SinceMs, x.Text = domain.StandingEnded, f.FinishedMs, fmt.Sprintf("it has ended: %s", f.Reason)
	if f.Error != "" && f.Reason != domain.FlowCancelled {
		x.Text += ": " + f.Error
	} else if f.Error != "" {
		x.Text = "it has ended: " + f.Error
	}
}

// leaving adds that a flow which has ended is to be deleted, if that is so: a keeper does
// it at once, unless the archive is away.
func (l *looker) leaving(ctx context.Context, p ref, s *stored, x explained) (explained, error) {
	deleted := s.Delete
	if !deleted {
		orders, err := l.board.List(ctx, p.space, layout.FlowOrders(p.id), -ordersMost, ordersMost)
		if err != nil {
			return x, err
		}
		deleted = slices.ContainsFunc(orders, func(text string) bool {
			var o Order
			return json.Unmarshal([]byte(text), &o) == nil && o.Verb == OrderDelete
		})
	}
	if !deleted {
		return x, nil
	}
	if x.Text += "; it is to be deleted"; l.cfg.Records != nil {
		x.Text += ", and waits for the archive to have it first"
	}
	return x, nil
}

// planless says why a flow of steps has no text to go by any more; "" where it has.
func (l *looker) planless(ctx context.Context, p ref, r records, s *stored) (why string, err error) {
	if !s.stepped || s.Writing {
		return "", nil
	}
	_, err = l.plan(ctx, p, r.flow.Hash)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return "is gone from the board", nil
	case errors.Is(err, domain.ErrInvalid): // somebody else wrote there
		return "cannot be read (" + err.Error() + ")", nil
	}
	return "", err
}

// lacks adds that nobody is there who would move the flow next, if that is so.
func (l *looker) lacks(ctx context.Context, role domain.Role, x explained) (explained, error) {
	lack, err := l.absent(ctx, role)
	if x.Lack = lack; lack != "" {
		x.Text += "; " + lack
	}
	return x, err
}

func (l *looker) absent(ctx context.Context, role domain.Role) (string, error) {
	if lack, asked := l.lack[role]; asked {
		return lack, nil
	}
	lack, err := l.work.Absent(ctx, role)
	if l.lack == nil {
		l.lack = map[domain.Role]string{}
	}
	l.lack[role] = lack
	return lack, err
}

func (l *looker) leased(ctx context.Context, p ref, r records, x explained) (explained, error) {
	item := layout.FlowState(p.id)
	lease, held, err := l.board.LeaseOf(ctx, p.space, item)
	switch {
	case err != nil:
		return x, err
	case !held:
		x.stuck("its record names a keeper, but there is no such lease", &work.Mend{Does: "queues it again", Did: "queued again", Add: func(b *board.Batch) {
			b.Release(item).Unset(item, board.FieldOwner, board.FieldQueue).PushLeft(queue.Keeper, item)
		}})
		return x, nil
	}
	x.Standing, x.Holder, x.NextMs = domain.StandingKept, lease.Owner, lease.Until.UnixMilli()
	x.Text = lease.Owner + " decides what follows"
	if lease.Over() { // nothing but a node's next look moves it
		x.NextMs = 0
		x.Text = fmt.Sprintf("%s was to decide what follows and is gone, paused or cut off: its lease ran out at %s, "+
			"and the flow waits for a node that takes it back", lease.Owner, lease.Until.UTC().Format(time.RFC3339))
		return l.lacks(ctx, domain.RoleClockwork, x)
	}
	return x, nil
}

// writing explains a flow whose last part is not there; an alarm sweeps what is not
// written to its end.
func (l *looker) writing(ctx context.Context, p ref, r records, x explained) (explained, error) {
	alarm := layout.FlowAlarm(layout.AlarmFlowWrite, p.id)
	_, set, err := l.board.AlarmOf(ctx, p.space, alarm)
	if err != nil {
		return x, err
	}
	if x.Standing, x.Text = domain.StandingWriting, "it is still being written; it begins with its last part"; !set {
		x.stuck("it was not written to its end, and no alarm would sweep it", &work.Mend{Does: "sets it", Did: "the alarm was set", Add: func(b *board.Batch) {
			b.Equal(x.Key, layout.FlowStatus, string(r.flow.Status)).SetAlarm(alarm, l.now.Add(writeWithin))
		}})
	}
	return x, nil
}

// due explains a flow that a keeper has to look at.
func (l *looker) due(ctx context.Context, p ref, x explained) (explained, error) {
	item := layout.FlowState(p.id)
	queued, err := l.inQueue(ctx, item)
	if err != nil {
		return x, err
	}
	if !queued {
		x.stuck("a keeper had to look at it, but it was in no queue", &work.Mend{Does: "queues it again", Did: "queued again", Add: func(b *board.Batch) {
			b.Free(item).PushLeft(queue.Keeper, item)
		}})
		return x, nil
	}
	x.Standing, x.Text = domain.StandingQueued, "something has happened to it, and a keeper will see to it"
	return l.lacks(ctx, domain.RoleKeeper, x)
}

// crowded explains a flow whose first jobs are let go as their queue has room: an alarm
// has a keeper look again.
func (l *looker) crowded(ctx context.Context, p ref, r records, x explained) (explained, error) {
	at, set, err := l.board.AlarmOf(ctx, p.space, layout.FlowAlarm(layout.AlarmFlow, p.id))
	if err != nil || !set {
		return l.due(ctx, p, x)
	}
	x = l.inOrder(r, x, true, 0)
	if x.Standing == domain.StandingWorking {
		x.NextMs, x.Text = at.UnixMilli(), "jobs of it have not ended, and more wait until their queue is shorter"
	}
	return x, nil
}

// steps explains a flow of steps that no keeper has to look at.
func (l *looker) steps(ctx context.Context, p ref, r records, s *stored, x explained) (explained, error) {
	gone, err := l.unheard(ctx, p, s)
	if err != nil {
		return x, err
	}
	if len(gone) > 0 {
		text := fmt.Sprintf("%d of its jobs had ended, or were gone, and it did not know", len(gone))
		x.stuck(text, &work.Mend{Does: "tells it", Did: "it was told", Add: func(b *board.Batch) {
			for _, entry := range gone {
				b.PushLeft(layout.FlowEnded(p.id), entry)
			}
			b.Free(layout.FlowState(p.id))
			wake(b, p.id)
		}})
		return x, nil
	}
	at, alarm, err := l.board.AlarmOf(ctx, p.space, layout.FlowAlarm(layout.AlarmFlow, p.id))
	if err != nil {
		return x, err
	}
	if alarm {
		x.NextMs = at.UnixMilli()
	}
	place, waits, err := l.inLine(ctx, p, &s.State)
	if err != nil {
		return x, err
	}
	if waits && !r.flow.Paused && (alarm || !s.dated()) {
		x.Standing, x.Text, x.WaitsFor, x.SinceMs = domain.StandingWaiting, place.String(), place.Holders, r.notBegunSince()
		return x, nil
	}
	if !alarm && (!s.busy() && !r.flow.Paused || s.dated()) {
		x.stuck("nothing would have moved it", &work.Mend{Does: "has a keeper look at it", Did: "a keeper looks at it", Add: func(b *board.Batch) {
			b.Free(layout.FlowState(p.id))
			wake(b, p.id)
		}})
		return x, nil
	}
	if x = l.inOrder(r, x, s.busy(), s.Slot); x.Standing == domain.StandingDelayed {
		if err := l.between(ctx, p, r, s, &x); err != nil {
			return x, err
		}
		return l.lacks(ctx, domain.RoleClockwork, x)
	}
	return x, nil
}

// inOrder says for what a flow stands that somebody will move; busy says that it is for
// something of its own, and slot when its rate lets it begin.
func (l *looker) inOrder(r records, x explained, busy bool, slot int64) explained {
	var banned error
	if l.cfg.Bans != nil {
		banned = l.cfg.Bans.Create(domain.TenantID(l.space), r.flow.Blueprint, r.flow.ID)
	}
	switch {
	case r.flow.Paused:
		x.Standing, x.Held, x.Text = domain.StandingPaused, true, fmt.Sprintf("it is paused; `ramet flow resume %d` lets it go on", r.flow.ID)
	case banned != nil:
		x.Standing, x.Held, x.Text = domain.StandingBanned, true, banned.Error()
	case busy:
		x.Standing, x.Text = domain.StandingWorking, "jobs of it have not ended"
	default:
		x.Standing, x.SinceMs = domain.StandingDelayed, r.notBegunSince()
		x.Text = "nothing of it may begin before " + time.UnixMilli(x.NextMs).UTC().Format(time.RFC3339)
		if slot == x.NextMs {
			x.Text += ": its rate lets so many flows of its key begin in a minute, and that is its turn"
		}
	}
	return x
}

// busy reports whether jobs are open, or a person has to decide.
func (s *State) busy() bool {
	for i := range s.Steps {
		if st := &s.Steps[i]; len(st.Open) > 0 || st.Status == domain.StepRunning && st.RoundMs == 0 {
			return true
		}
	}
	return false
}

// dated reports whether something of the flow is due at an instant.
func (s *State) dated() bool {
	return slices.ContainsFunc(s.Steps, func(st StepState) bool { return st.Status.Begun() && st.dated() })
}

// dated reports whether an approval waits for a person no longer than until an instant, or a
// step for its next round.
func (s *StepState) dated() bool { return s.DueMs != 0 || s.RoundMs != 0 }

// maxUnheard bounds the ends that one repair tells of.
const maxUnheard = 200

// unheard are the ends of open units that the flow was never told of.
func (l *looker) unheard(ctx context.Context, p ref, s *stored) (entries []string, err error) {
	var ids []domain.JobID
	for i := range s.Steps {
		for _, u := range s.Steps[i].Open {
			if u.Job != 0 {
				ids = append(ids, u.Job)
			}
		}
	}
	if entries, err = l.unheardFlows(ctx, p, s); err != nil || len(entries) > 0 {
		return entries, err
	}
	for page := range slices.Chunk(ids, maxUnheard) {
		if entries, err = l.unheardOf(ctx, p, s.caller, page); err != nil || len(entries) > 0 {
			return entries, err
		}
	}
	return nil, nil
}

// unheardOf are those of a page of jobs.
func (l *looker) unheardOf(ctx context.Context, p ref, caller domain.ActorID, ids []domain.JobID) (entries []string, err error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = domain.JobKey{Caller: caller, ID: id}.String()
	}
	recs, err := board.Listed(ctx, l.board, p.space, layout.JobLine, keys)
	if err != nil {
		return nil, err
	}
	for i, r := range recs {
		j, _ := layout.DecodeJob(domain.JobKey{Caller: caller, ID: ids[i]}, r)
		switch {
		case r == nil:
			entries = append(entries, fmt.Sprintf("%c %d its record is gone", work.OutcomeErrored, ids[i]))
		case j.Final() && j.FinishedMs != 0 && l.now.Sub(time.UnixMilli(j.FinishedMs)) > auditAge:
			entries = append(entries, fmt.Sprintf("%c %d %s", work.OutcomeOf(j), ids[i], j.Error))
		}
	}
	return entries, nil
}

// countJobs compares the counter of a plain flow with its jobs. It leaves Standing empty
// where they agree.
func (l *looker) countJobs(ctx context.Context, p ref, r records, s *stored, x explained) (explained, error) {
	left, plain := 0, r.waits.Get(layout.WaitsPlain)
	for from := 0; from < s.count; from += plainPage {
		keys := make([]string, 0, plainPage)
		for n := from; n < min(s.count, from+plainPage); n++ {
			keys = append(keys, s.job(n).String())
		}
		recs, err := board.Listed(ctx, l.board, p.space, []string{layout.JobFinishedMs, layout.JobFlowID}, keys)
		if err != nil {
			return x, err
		}
		for _, r := range recs {
			if ownJob(r, p.id) && r.Get(layout.JobFinishedMs) == "" {
				left++
			}
		}
	}
	if strconv.Itoa(left) == plain {
		return x, nil
	}
	now, err := l.board.Get(ctx, p.space, layout.FlowWaits(p.id))
	if err != nil || now[0].Get(layout.WaitsPlain) != plain {
		return x, err // jobs end while they are counted: that is no mishap
	}
	text := fmt.Sprintf("it counted %s jobs that have not ended, but there are %d", plain, left)
	x.stuck(text, &work.Mend{Does: "sets that right", Did: "set right", Add: func(b *board.Batch) {
		// The guards hold the counter to what it was: no job ended meanwhile.
		b.Free(layout.FlowState(p.id)).Set(layout.FlowWaits(p.id), board.Field{Name: layout.WaitsPlain, Value: strconv.Itoa(left)})
		if left == 0 {
			wake(b, p.id)
		}
	}})
	return x, nil
}

// inQueue reports whether an item is in the keeper's queue. It goes from where
// producers push, against the direction in which their pushes move the rest. What was
// not there before may have come since, and is looked for again.
func (l *looker) inQueue(ctx context.Context, item string) (bool, error) {
	if l.queued[item] {
		return true, nil
	}
	l.queued = map[string]bool{}
	for from := 0; ; from += listPage {
		items, err := l.board.List(ctx, l.space, queue.Keeper, from, listPage)
		if err != nil {
			return false, err
		}
		for _, it := range items {
			l.queued[it] = true
		}
		if len(items) < listPage {
			return l.queued[item], nil
		}
	}
}
