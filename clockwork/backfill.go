package clockwork

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/clockwork/timetable"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

// This file makes the flows of a schedule's past times.
//
// How far a backfill has come stands on the schedule's record, and it has one alarm. A flow is
// made in the commit that moves it on, so a node that dies leaves both or nothing, and another
// goes on. A flow of it that ends sets the alarm in the commit of its end.

const (
	// backfillPart is how many times are dealt with at one alarm: others come after it.
	backfillPart = 100
	// backfillLook is when a backfill is looked at though nobody has told it of an end: a
	// foreign program may have removed a flow, and a ban ends without a word.
	backfillLook = 30 * time.Second
)

// BackfillPlan is what a backfill would be about.
type BackfillPlan struct {
	domain.Backfill
	// Times are the first [MaxUpcoming] of them.
	Times []PastTime
}

// PastTime is a time of a schedule, and the flow that it has; 0: none.
type PastTime struct {
	At      time.Time
	Trigger string
	Flow    domain.FlowID
}

// Backfill begins to make the flows of a schedule's times from From to before To, in the name
// of CallerID; it goes on by itself, whether or not the schedule is paused. What the schedule
// says of overlaps does not count for them, Max does. Asked for again while it is under way,
// it is that one.
//
// Errors: [domain.ErrNotFound]; [domain.ErrInvalid], also where no time is within; [domain.ErrLimit]
// for more than [domain.MaxBackfill] times; [domain.ErrConflict] while another is under way, and where
// all of the times have flows.
func (s *Schedules) Backfill(ctx context.Context, tenant domain.TenantID, name string, ask domain.Backfill) (*domain.Schedule, error) {
	return s.write(ctx, tenant, name, func(old *domain.Schedule, now time.Time) (*domain.Schedule, error) {
		fill, table, err := planned(old, name, ask, now)
		if err != nil {
			return nil, err
		}
		if was := old.State.Backfill; was != nil && !was.Final() {
			// Who has not heard an answer asks again: it is the one that is under way.
			if was.From == fill.From && was.To == fill.To && was.Max == fill.Max && was.CallerID == fill.CallerID {
				return old, nil
			}
			return nil, domain.Conflictf("a backfill of schedule %q from %s to %s is under way; wait until it has ended, or cancel it", name, was.From, was.To)
		}
		if err := s.toMake(ctx, tenant, old, &fill, table); err != nil {
			return nil, err
		}
		changed := *old
		changed.State.Backfill = &fill
		return &changed, nil
	}, func(b *board.Batch, now time.Time) { b.SetAlarm(layout.BackfillAlarm(name), now) })
}

// toMake is a conflict where all times of a backfill have flows: it would only write over what the
// one before it came to.
func (s *Schedules) toMake(ctx context.Context, tenant domain.TenantID, sched *domain.Schedule, fill *domain.Backfill, table *timetable.Table) error {
	from := fill.From.Time().Add(-time.Nanosecond)
	for left := fill.Total; left > 0; {
		times := table.Upcoming(from, min(left, MaxUpcoming))
		if len(times) == 0 {
			break
		}
		left, from = left-len(times), times[len(times)-1]
		found, err := s.flows.Named(ctx, tenant, sched.Blueprint, triggersOf(sched, times))
		if err != nil || slices.Contains(found, 0) {
			return err
		}
	}
	return domain.Conflictf("there is nothing to make: %d of %d times of schedule %q from %s to before %s have flows already; "+
		"a flow that is to be made anew must be forgotten first: ramet flow delete --forget", fill.Total, fill.Total, sched.Name, fill.From, fill.To)
}

// triggersOf are those of the flows of times.
func triggersOf(sched *domain.Schedule, times []time.Time) []string {
	triggers := make([]string, len(times))
	for i, at := range times {
		triggers[i] = sched.TriggerAt(at)
	}
	return triggers
}

// PlanBackfill says what a backfill would be about, and begins none.
//
// Errors: those of [Schedules.Backfill], but for another that is under way.
func (s *Schedules) PlanBackfill(ctx context.Context, tenant domain.TenantID, name string, ask domain.Backfill) (BackfillPlan, error) {
	sched, err := s.Show(ctx, tenant, name)
	if err != nil {
		return BackfillPlan{}, err
	}
	fill, table, err := planned(sched, name, ask, time.Now())
	if err != nil {
		return BackfillPlan{}, err
	}
	p := BackfillPlan{Backfill: fill}
	times := table.Upcoming(fill.From.Time().Add(-time.Nanosecond), min(fill.Total, MaxUpcoming))
	triggers := triggersOf(sched, times)
	for i, at := range times {
		p.Times = append(p.Times, PastTime{At: at, Trigger: triggers[i]})
	}
	found, err := s.flows.Named(ctx, tenant, sched.Blueprint, triggers)
	if err != nil {
		return BackfillPlan{}, err
	}
	for i, id := range found {
		if p.Times[i].Flow = id; id != 0 {
			p.Existing++
		}
	}
	return p, nil
}

// planned is a backfill as it begins.
func planned(sched *domain.Schedule, name string, ask domain.Backfill, now time.Time) (domain.Backfill, *timetable.Table, error) {
	none := domain.Backfill{}
	if sched == nil {
		return none, nil, domain.NotFoundf("schedule %q is not there", name)
	}
	if err := ask.Validate(now); err != nil {
		return none, nil, err
	}
	table, err := timetable.New(sched)
	if err != nil {
		return none, nil, err
	}
	first, ok := table.Next(ask.From.Time().Add(-time.Nanosecond))
	if !ok || !first.Before(ask.To.Time()) {
		return none, nil, domain.Invalidf("schedule %q has no time from %s to before %s", name, ask.From, ask.To)
	}
	n, next, more := table.Count(first, ask.To.Time(), domain.MaxBackfill+1)
	if n > domain.MaxBackfill || more && next.Before(ask.To.Time()) {
		return none, nil, domain.Limitf("schedule %q has more than %d times from %s to before %s, which is the limit; backfill it in parts",
			name, domain.MaxBackfill, ask.From, ask.To)
	}
	return domain.Backfill{From: ask.From, To: ask.To, Max: ask.Max, Status: domain.BackfillRunning, Total: int(n), NextMs: first.UnixMilli(),
		CallerID: ask.CallerID, BeganMs: now.UnixMilli()}, table, nil
}

// CancelBackfill ends the backfill of a schedule; the flows that it made go on.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] where none is under way.
func (s *Schedules) CancelBackfill(ctx context.Context, tenant domain.TenantID, name string) (*domain.Schedule, error) {
	return s.write(ctx, tenant, name, func(old *domain.Schedule, now time.Time) (*domain.Schedule, error) {
		switch {
		case old == nil:
			return nil, domain.NotFoundf("schedule %q is not there", name)
		case old.State.Backfill == nil || old.State.Backfill.Final():
			return nil, domain.Conflictf("no backfill of schedule %q is under way", name)
		}
		changed, fill := *old, *old.State.Backfill
		fill.Status, fill.NextMs, fill.EndedMs = domain.BackfillCancelled, 0, now.UnixMilli()
		changed.State.Backfill = &fill
		return &changed, nil
	}, func(b *board.Batch, _ time.Time) { b.ClearAlarm(layout.BackfillAlarm(name)) })
}

// fillUp does what the alarm of a backfill asks for.
func (s *Schedules) fillUp(ctx context.Context, a board.Alarm, name string) error {
	tenant := domain.TenantID(a.Space)
	sched, err := s.Show(ctx, tenant, name)
	if errors.Is(err, domain.ErrNotFound) || err == nil && (sched.State.Backfill == nil || sched.State.Backfill.Final()) {
		b := board.Batch{Space: a.Space}
		return unlessChanged(s.board.Commit(ctx, *b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)))
	}
	if err != nil {
		return err
	}
	table, err := timetable.New(sched)
	if err != nil {
		return err
	}
	f := filling{schedules: s, tenant: tenant, name: a.Name, at: a.At, schedule: sched, table: table, fill: *sched.State.Backfill}
	f.fill.Alive = slices.Clone(f.fill.Alive)
	return unlessChanged(f.handle(ctx))
}

// filling is one look at a backfill whose alarm has come.
type filling struct {
	schedules *Schedules
	tenant    domain.TenantID
	name      string    // of the alarm
	at        time.Time // where it stands
	schedule  *domain.Schedule
	table     *timetable.Table
	fill      domain.Backfill // as it becomes
}

// handle makes flows as long as there is room, and writes down where it stands.
func (f *filling) handle(ctx context.Context) error {
	if err := f.ended(ctx); err != nil {
		return err
	}
	f.fill.Error = ""
	for n := 0; n < backfillPart && len(f.fill.Alive) < f.fill.Max && f.fill.NextMs != 0; n++ {
		goesOn, err := f.one(ctx)
		if err != nil {
			return err
		}
		if !goesOn {
			break
		}
	}
	if f.fill.Status == domain.BackfillRunning && f.fill.NextMs == 0 && len(f.fill.Alive) == 0 {
		f.fill.Status = domain.BackfillFinished
	}
	b := board.Batch{Space: layout.SpaceOf(f.tenant)}
	next := f.soon()
	if f.fill.NextMs == 0 || f.fill.Error != "" || len(f.fill.Alive) >= f.fill.Max {
		next = next.Add(backfillLook)
	}
	for _, id := range f.fill.Alive {
		// A flow that has ended meanwhile may have set the alarm to the instant where it stands, which AlarmAt does not
		// tell from no end at all: its alarm is kept, and comes at once.
		b.Equal(domain.FlowKey(id), layout.FlowFinishedMs, "")
	}
	f.write(&b, f.schedule.State, f.fill, next)
	return f.schedules.board.Commit(ctx, b)
}

// soon is the next instant that the alarm can be told from this one by.
func (f *filling) soon() time.Time {
	if now := f.schedules.board.Now(); now.UnixMilli() > f.at.UnixMilli() {
		return now
	}
	return f.at.Add(time.Millisecond)
}

// ended takes the flows out of those alive that have ended, or are gone.
func (f *filling) ended(ctx context.Context) error {
	if len(f.fill.Alive) == 0 {
		return nil
	}
	keys := make([]string, len(f.fill.Alive))
	for i, id := range f.fill.Alive {
		keys[i] = domain.FlowKey(id)
	}
	recs, err := board.Readable(f.schedules.board.GetFields(ctx, layout.SpaceOf(f.tenant), []string{layout.FlowStatus}, keys...))
	if err != nil {
		return err
	}
	var alive []domain.FlowID
	for i, rec := range recs {
		switch status := domain.FlowStatus(rec.Get(layout.FlowStatus)); {
		case rec == nil:
		case !status.Final():
			alive = append(alive, f.fill.Alive[i])
		case status == domain.FlowError:
			f.fill.Failed++
		}
	}
	f.fill.Alive = alive
	return nil
}

// one makes the flow of the next time. It goes on unless the flow is refused: for now, as by
// a ban or another flow that the blueprint wants to be alone with, or for good.
func (f *filling) one(ctx context.Context) (goesOn bool, err error) {
	at := time.UnixMilli(f.fill.NextMs)
	moved := f.fill
	moved.NextMs = 0
	if next, ok := f.table.Next(at); ok && next.Before(moved.To.Time()) {
		moved.NextMs = next.UnixMilli()
	}
	soon := f.soon()
	var state domain.ScheduleState
	also := func(b *board.Batch, id domain.FlowID) {
		state = f.schedule.State
		state.Counts = counted(&state, f.schedule)
		made := moved
		made.Made++
		made.Alive = append(slices.Clone(moved.Alive), id)
		f.write(b, state, made, soon)
		state.Backfill = &made
	}
	receipt, err := f.schedules.submit(ctx, f.tenant, f.schedule, f.table, at, flow.Request{Caller: moved.CallerID, Backfill: true, Also: also})
	var guard *board.GuardError
	switch {
	case errors.As(err, &guard): // the schedule, or the alarm, has changed: it is looked at again
		return false, err
	case errors.Is(err, domain.ErrConflict) || errors.Is(err, domain.ErrLimit) || errors.Is(err, domain.ErrExhausted):
		f.fill.Error = scheduleError(err)
		return false, nil
	case err != nil && refused(err):
		f.fill.Error, f.fill.Status, f.fill.NextMs = scheduleError(err), domain.BackfillError, 0
		return false, nil
	case err != nil:
		return false, err
	case receipt.Existing:
		moved.Existing++
		f.fill = moved
	default:
		state.Revision++
		f.schedule.State, f.fill, f.at = state, *state.Backfill, soon
	}
	return true, nil
}

// write adds to b how far the backfill has come, with the alarm at the next look.
func (f *filling) write(b *board.Batch, state domain.ScheduleState, fill domain.Backfill, next time.Time) {
	b.AlarmAt(f.name, f.at)
	if fill.Final() {
		fill.EndedMs = f.schedules.board.Now().UnixMilli()
		b.ClearAlarm(f.name)
	} else {
		b.SetAlarm(f.name, next)
	}
	state.Backfill = &fill
	writeState(b, f.schedule, state)
}
