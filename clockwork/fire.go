package clockwork

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/clockwork/timetable"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/template"
)

// This file has what becomes of a schedule's times when they come.

const (
	// A time that waits for the flow before is looked at again after an eighth
	// of that flow's age, within these.
	waitMin = time.Second
	waitMax = 30 * time.Second
)

// HandleAlarm does what the alarm of a schedule asks for: it makes the flow of
// the time that has come and sets the alarm to the next, in one commit that
// holds only while alarm and record are as they were read. So however many
// nodes come here, a time makes one flow, and a crash leaves both or nothing.
//
// Errors: [domain.ErrUnavailable], [domain.ErrExhausted] and what is not
// known: the alarm stays, to be handled again.
func (s *Schedules) HandleAlarm(ctx context.Context, a board.Alarm) (ours bool, err error) {
	if name, fills := layout.ParseBackfillAlarm(a.Name); fills && a.Space != 0 {
		return true, s.fillUp(ctx, a, name)
	}
	name, ours := layout.ParseScheduleAlarm(a.Name)
	if !ours {
		return false, nil
	}
	tenant := domain.TenantID(a.Space)
	sched, err := s.Show(ctx, tenant, name)
	if errors.Is(err, domain.ErrNotFound) {
		// Who deletes a schedule takes its alarm in the same commit: this one's record went
		// some other way.
		b := board.Batch{Space: a.Space}
		b.AlarmAt(a.Name, a.At).Absent(layout.Schedule(name)).ClearAlarm(a.Name)
		layout.NoteLost(&b, layout.Schedule(name), s.board.Now())
		err := s.board.Commit(ctx, b)
		if err == nil {
			s.log.Error("the record of a schedule is gone, and nobody has deleted it by Ramet", "context", uint32(tenant), "schedule", name)
		}
		return true, unlessChanged(err)
	}
	if err != nil {
		return true, err
	}
	table, err := timetable.New(sched)
	if err != nil {
		return true, err
	}
	// A clock that is behind the one by which the alarm came must not hold it up.
	now := s.board.Now()
	if now.Before(a.At) {
		now = a.At
	}
	l := look{schedules: s, tenant: tenant, alarm: a, schedule: sched, table: table, now: now, state: sched.State}
	return true, unlessChanged(l.handle(ctx))
}

// look is one look at a schedule whose alarm has come.
type look struct {
	schedules *Schedules
	tenant    domain.TenantID
	alarm     board.Alarm
	schedule  *domain.Schedule
	table     *timetable.Table
	now       time.Time
	state     domain.ScheduleState // as it becomes
	late      time.Duration        // how long after its time a flow is made
}

func (l *look) handle(ctx context.Context) error {
	due := time.UnixMilli(l.state.NextMs)
	switch {
	case l.state.NextMs == 0 || l.schedule.Paused:
		l.state.NextMs = 0
		return l.commit(ctx, 0)
	case due.After(l.now): // a foreign hand moved the alarm
		return l.commit(ctx, l.state.NextMs)
	case l.missed(due):
		return l.skipMissed(ctx, due)
	case l.schedule.OverlapOr() == domain.OverlapAllow:
		return l.fire(ctx, due)
	}
	before, err := l.schedules.before(ctx, l.tenant, l.schedule)
	switch {
	case err != nil:
		return err
	case !before.lives:
		return l.fire(ctx, due)
	case l.schedule.OverlapOr() == domain.OverlapQueue:
		return l.wait(ctx, due, before)
	}
	l.state.Skipped++
	l.state.LastMs, l.state.LastError = l.state.NextMs, domain.SkippedFor(l.state.LastFlow)
	l.moveOn(due)
	return l.commit(ctx, l.state.NextMs)
}

// missed reports whether a time is too old to be made up. One that has waited
// was seen in time.
func (l *look) missed(due time.Time) bool {
	return l.now.Sub(due) > l.schedule.Window() && due.UnixMilli() > l.state.LookedMs
}

// skipMissed counts the times that are too old and goes on with the first that
// is not.
func (l *look) skipMissed(ctx context.Context, due time.Time) error {
	// Not all at once, maybe: then the alarm comes again right after.
	n, next, ok := l.table.Count(due, l.now.Add(-l.schedule.Window()), math.MaxInt64)
	l.state.Missed += n
	l.state.NextMs = 0
	if ok {
		l.state.NextMs = next.UnixMilli()
	}
	l.schedules.log.Warn("times of a schedule were missed", "context", uint32(l.tenant), "schedule", l.schedule.Name, "times", n,
		"since", due.UTC(), "window", l.schedule.Window())
	return l.commit(ctx, l.state.NextMs)
}

// wait leaves a time for when the flow before has ended. Of more than can wait
// the oldest are let go.
func (l *look) wait(ctx context.Context, due time.Time, before flowBefore) error {
	waiting, _, _ := l.table.Count(due, l.now.Add(time.Millisecond), math.MaxInt64)
	if over := waiting - domain.MaxWaiting; over > 0 {
		_, next, _ := l.table.Count(due, l.now.Add(time.Millisecond), over)
		l.state.Skipped += over
		l.state.NextMs = next.UnixMilli()
	}
	l.state.LookedMs = l.now.UnixMilli()
	pause := min(max(l.now.Sub(before.since)/8, waitMin), waitMax)
	return l.commit(ctx, l.now.Add(pause).UnixMilli())
}

// moveOn makes the time after due the next one.
func (l *look) moveOn(due time.Time) {
	l.state.NextMs = 0
	if next, ok := l.table.Next(due); ok {
		l.state.NextMs = next.UnixMilli()
	}
}

// fire makes the flow of a time.
func (l *look) fire(ctx context.Context, due time.Time) error {
	l.state.LastMs, l.state.LastError = l.state.NextMs, ""
	l.late = l.now.Sub(due)
	l.moveOn(due)
	also := func(b *board.Batch, id domain.FlowID) {
		state := l.state
		made(&state, l.schedule, id)
		l.write(b, state, state.NextMs)
	}
	receipt, err := l.schedules.submit(ctx, l.tenant, l.schedule, l.table, due, flow.Request{Caller: l.schedule.CallerID, Also: also})
	switch {
	case err != nil && !refused(err):
		return err
	case err != nil:
		l.state.Refused++
		l.state.LastError = scheduleError(err)
		// Where another node was first, its commit is why this one's was refused, and so is the next.
		if err := l.commit(ctx, l.state.NextMs); err != nil {
			return err
		}
		l.schedules.log.Warn("flow of a schedule refused", "context", uint32(l.tenant), "schedule", l.schedule.Name, "at", due.UTC(), "err", err)
		return nil
	case receipt.Existing: // somebody else made it: that will do
		l.state.LastFlow = receipt.ID
	default:
		l.tell(domain.ScheduleMade, 1)
		return nil
	}
	return l.commit(ctx, l.state.NextMs)
}

// tell tells the observer of n times.
func (l *look) tell(outcome string, n int64) {
	if n > 0 {
		l.schedules.told.ScheduleTimes(l.tenant, l.schedule.Name, outcome, n, l.late)
	}
}

// commit writes what was found, with the alarm at the next look.
func (l *look) commit(ctx context.Context, lookMs int64) error {
	b := board.Batch{Space: l.alarm.Space}
	l.write(&b, l.state, lookMs)
	if err := l.schedules.board.Commit(ctx, b); err != nil {
		return err
	}
	was := l.schedule.State
	l.tell(domain.ScheduleMissed, l.state.Missed-was.Missed)
	l.tell(domain.ScheduleSkipped, l.state.Skipped-was.Skipped)
	l.tell(domain.ScheduleRefused, l.state.Refused-was.Refused)
	return nil
}

func (l *look) write(b *board.Batch, state domain.ScheduleState, lookMs int64) {
	b.AlarmAt(l.alarm.Name, l.alarm.At)
	writeState(b, l.schedule, state)
	setAlarm(b, l.schedule.Name, lookMs)
}

// writeState writes a schedule's state, if the record is as it was read.
func writeState(b *board.Batch, s *domain.Schedule, state domain.ScheduleState) {
	layout.ScheduleGuard(b, s)
	state.Revision++
	b.Set(layout.Schedule(s.Name), layout.EncodeScheduleState(&state)...)
}

// made is the state of a schedule after a flow was made.
func made(state *domain.ScheduleState, s *domain.Schedule, id domain.FlowID) {
	state.Fired++
	state.LastFlow = id
	state.Counts = counted(state, s)
}

// counted are the counters of a schedule after a flow was made.
func counted(state *domain.ScheduleState, s *domain.Schedule) map[string]int64 {
	next := map[string]int64{}
	for name, v := range s.Variables {
		if v.Count == nil {
			continue
		}
		n, begun := state.Counts[name]
		if !begun {
			n = v.Count.Next
		}
		next[name] = n + 1
	}
	return next
}

// submit makes the flow of one time of a schedule, as r asks for it: in whose name, and what is
// made with it.
func (s *Schedules) submit(ctx context.Context, tenant domain.TenantID, sched *domain.Schedule, table *timetable.Table, at time.Time,
	r flow.Request) (flow.Receipt, error) {
	params, err := template.FillVariables(sched.Params, table.Variables(at, sched.State.Counts))
	if err != nil {
		return flow.Receipt{}, err
	}
	r.Blueprint, r.Version, r.Trigger, r.Params = sched.Blueprint, sched.Version, sched.TriggerAt(at), params
	r.Env, r.Priority, r.Schedule = sched.Env, sched.Priority, sched.Name
	receipts, err := s.flows.Submit(ctx, tenant, []flow.Request{r})
	if err != nil {
		return flow.Receipt{}, err
	}
	return receipts[0], receipts[0].Err
}

// refused reports whether an error will be the same the next time.
func refused(err error) bool {
	for _, kind := range []error{domain.ErrInvalid, domain.ErrNotFound, domain.ErrConflict, domain.ErrForbidden, domain.ErrLimit} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// flowBefore is the last flow of a schedule.
type flowBefore struct {
	lives bool
	since time.Time // when it was made
}

// before looks at the last flow of a schedule. One that is not on the board
// any more has ended.
func (s *Schedules) before(ctx context.Context, tenant domain.TenantID, sched *domain.Schedule) (flowBefore, error) {
	id := sched.State.LastFlow
	if id == 0 {
		return flowBefore{}, nil
	}
	recs, err := s.board.GetFields(ctx, layout.SpaceOf(tenant), []string{"status", "created_at"}, domain.FlowKey(id))
	if err != nil || recs[0] == nil {
		return flowBefore{}, err
	}
	seconds, _ := strconv.ParseInt(recs[0].Get("created_at"), 10, 64) // of a damaged record 0: looked at seldom
	return flowBefore{lives: !domain.FlowStatus(recs[0].Get("status")).Final(), since: time.Unix(seconds, 0)}, nil
}

// triggerTries is how many seconds on a trigger under a ticket looks for one that has no flow.
const triggerTries = 60

// Trigger makes a flow of a schedule now, in the name of by, whether or not it
// is paused. Its next time stays as it is. Under a ticket it makes one within a day, however often
// it is asked for; "": none.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] while the last flow lives
// and the schedule does not allow two; why the flow was refused.
func (s *Schedules) Trigger(ctx context.Context, tenant domain.TenantID, name string, by domain.ActorID, ticket string) (flow.Receipt, error) {
	if id, err := s.under(ctx, tenant, ticket); err != nil || id != 0 {
		return flow.Receipt{ID: id, Existing: true}, err
	}
	for range scheduleTries {
		sched, err := s.Show(ctx, tenant, name)
		if err != nil {
			return flow.Receipt{}, err
		}
		receipt, err := s.trigger(ctx, tenant, sched, by, ticket)
		if !errors.Is(err, domain.ErrConflict) {
			return receipt, err
		}
		// Was it changed meanwhile, or is the flow refused?
		if now, shown := s.Show(ctx, tenant, name); shown == nil && now.State.Revision == sched.State.Revision {
			return receipt, err
		}
	}
	return flow.Receipt{}, busy(name)
}

// under is the flow that a trigger under a ticket has made; 0 where there is none. It lives, so
// that the overlap of its schedule would refuse it.
func (s *Schedules) under(ctx context.Context, tenant domain.TenantID, ticket string) (domain.FlowID, error) {
	if ticket == "" {
		return 0, nil
	}
	recs, err := board.Readable(s.board.Get(ctx, layout.SpaceOf(tenant), layout.Ticket(ticket)))
	if err != nil || recs[0] == nil {
		return 0, err
	}
	id, err := strconv.ParseUint(recs[0].Get(layout.FlowNameID), 10, 32)
	return domain.FlowID(id), err
}

func (s *Schedules) trigger(ctx context.Context, tenant domain.TenantID, sched *domain.Schedule, by domain.ActorID, ticket string) (flow.Receipt, error) {
	table, err := timetable.New(sched)
	if err != nil {
		return flow.Receipt{}, err
	}
	if sched.OverlapOr() != domain.OverlapAllow {
		before, err := s.before(ctx, tenant, sched)
		if err != nil {
			return flow.Receipt{}, err
		}
		if before.lives {
			return flow.Receipt{}, domain.Conflictf("%s of schedule %q has not ended, and its overlap is %s; wait, cancel it, or submit the blueprint by hand",
				domain.FlowKey(sched.State.LastFlow), sched.Name, sched.OverlapOr())
		}
	}
	at := time.Now().Truncate(time.Second)
	for range triggerTries {
		also := func(b *board.Batch, id domain.FlowID) {
			state := sched.State
			state.LastMs, state.LastError = at.UnixMilli(), ""
			made(&state, sched, id)
			writeState(b, sched, state)
		}
		r, err := s.submit(ctx, tenant, sched, table, at, flow.Request{Caller: by, Ticket: ticket, Also: also})
		if err != nil || !r.Existing || ticket == "" {
			return r, err
		}
		// Whose is the flow of this second? Another ticket's is not what is asked for.
		if id, err := s.under(ctx, tenant, ticket); err != nil || id != 0 {
			return r, err
		}
		at = at.Add(time.Second)
	}
	return flow.Receipt{}, busy(sched.Name)
}
