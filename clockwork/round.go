package clockwork

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file moves the rounds of contexts' routines on. A round is written down
// with the number of its job before the job is submitted: whoever comes after
// a crash submits the same job, which is one job however often it is done.

const (
	// roundAgain is when a round is looked at whose job should be there by then.
	roundAgain = 10 * time.Second
	// roundLook is how often a round under way is looked at, should its end
	// have been missed.
	roundLook = 5 * time.Minute
	// roundHeld is how often an instance is looked at that a ban holds up.
	roundHeld = 10 * time.Second
	// failMin and failMax bound the pause after rounds that failed; it doubles.
	failMin = 5 * time.Second
	failMax = 5 * time.Minute
)

// HandleAlarm does an instance's next step: begin a round, or see how it ended.
// Every step is a commit guarded by the alarm's instant, so two nodes cannot
// both do it.
func (u *Routines) HandleAlarm(ctx context.Context, a board.Alarm) (ours bool, err error) {
	name, part, ours := layout.ParseRoutineAlarm(a.Name)
	if !ours || a.Space == 0 {
		return false, nil
	}
	def, revision, err := u.read(ctx, a.Space, name)
	if err != nil && !errors.Is(err, domain.ErrInvalid) {
		return true, err
	}
	key := layout.RoutineInstance(name, part)
	recs, err := u.board.Get(ctx, a.Space, key)
	if err != nil {
		return true, err
	}
	r := round{u: u, alarm: a, came: a.At, name: name, part: part, def: def, revision: revision, key: key, was: recs[0], state: layout.DecodeInstance(recs[0]),
		now: u.board.Now()}
	if r.now.Before(a.At) {
		r.now = a.At // a clock is behind the one by which the alarm came
	}
	return true, unlessChanged(r.step(ctx))
}

// round is one look at one instance.
type round struct {
	u        *Routines
	alarm    board.Alarm
	came     time.Time // the alarm's instant as it came
	name     string
	part     domain.RoutinePart
	def      *domain.Routine // nil: deleted
	revision string
	key      string
	was      board.Record
	state    domain.RoutineInstance // as it becomes
	now      time.Time
}

func (r *round) step(ctx context.Context) error {
	switch {
	case r.state.Job != "":
		return r.watch(ctx)
	case r.def == nil:
		b := r.batch()
		return r.commit(ctx, b.Delete(r.key).ClearAlarm(r.alarm.Name))
	case r.def.Paused || r.part.Scale != r.def.ScaleOr():
		r.state.NextMs, r.state.Held = 0, ""
		return r.write(ctx, r.batch().ClearAlarm(r.alarm.Name))
	case r.state.NextMs > r.now.UnixMilli(): // a round was done again by hand, say
		return r.commit(ctx, r.batch().SetAlarm(r.alarm.Name, time.UnixMilli(r.state.NextMs)))
	}
	if held := r.u.held(domain.TenantID(r.alarm.Space), r.def, r.part); held != "" {
		r.state.Held = held
		return r.write(ctx, r.batch().SetAlarm(r.alarm.Name, r.now.Add(min(roundHeld, r.def.EveryOr().Time()))))
	}
	if err := r.u.jobs.Room(ctx, domain.TenantID(r.alarm.Space)); err != nil {
		return r.later(ctx, err)
	}
	return r.begin(ctx)
}

// held says which ban lets no round of an instance begin.
func (u *Routines) held(tenant domain.TenantID, r *domain.Routine, p domain.RoutinePart) string {
	if by, yes := u.bans.Routine(domain.BanExec, tenant, r.Name, domain.InstanceName(r.Name, p)); yes {
		return by.Text()
	}
	if err := u.bans.CreateOf(tenant, r.ScriptType); err != nil {
		return err.Error()
	}
	return ""
}

// later leaves the alarm as it is, to come again, and says why in the instance: a round
// that cannot begin for want of room has no job.
func (r *round) later(ctx context.Context, why error) error {
	if !errors.Is(why, domain.ErrExhausted) || r.state.Held != "" {
		return why
	}
	r.state.Held = why.Error()
	if err := r.write(ctx, r.batch()); err != nil {
		return err
	}
	return why
}

// putBack takes a round back whose job was not taken for want of room.
func (r *round) putBack(ctx context.Context, job domain.JobKey, why error) error {
	r.was = layout.EncodeInstance(r.state)
	b := r.batch()
	b.Absent(job.String()).Delete(layout.Checkpoint(job)).SetAlarm(r.alarm.Name, r.came)
	r.state.Round--
	r.state.Job, r.state.Held = "", why.Error()
	if err := r.write(ctx, b); err != nil {
		return err
	}
	return why
}

// batch is one that holds only while all is as it was read.
func (r *round) batch() *board.Batch {
	b := &board.Batch{Space: r.alarm.Space}
	b.AlarmAt(r.alarm.Name, r.alarm.At)
	b.Equal(layout.Routine(r.name), layout.RoutineRevision, r.revision)
	b.Equal(r.key, layout.InstanceJob, r.was.Get(layout.InstanceJob))
	return b.Equal(r.key, layout.InstanceRound, r.was.Get(layout.InstanceRound))
}

func (r *round) commit(ctx context.Context, b *board.Batch) error {
	return r.u.board.Commit(ctx, *b)
}

// write commits b with the state.
func (r *round) write(ctx context.Context, b *board.Batch) error {
	return r.commit(ctx, b.Set(r.key, layout.EncodeInstance(r.state)...))
}

// begin writes the next round down and submits its job.
func (r *round) begin(ctx context.Context) error {
	job, err := r.draw(ctx)
	if err != nil {
		return err
	}
	r.state.Round++
	r.state.Job, r.state.Held, r.state.BeganMs, r.state.NextMs = job.String(), "", r.now.UnixMilli(), 0
	b := r.batch()
	b.Absent(job.String()) // somebody took that number by hand: the next look takes another
	if r.state.Checkpoint != "" {
		b.Set(layout.Checkpoint(job), board.Field{Name: layout.CheckpointData, Value: r.state.Checkpoint})
	}
	r.alarm.At = laterThan(r.alarm.At, r.now.Add(roundAgain))
	if err := r.write(ctx, b.SetAlarm(r.alarm.Name, r.alarm.At)); err != nil {
		return err
	}
	return r.submit(ctx, job)
}

// draw draws the number of the round's job. Of those that somebody has taken by hand each
// try passes over twice as many as the one before.
func (r *round) draw(ctx context.Context) (job domain.JobKey, err error) {
	for step := int64(1); ; step = min(2*step, 1<<16) {
		first, err := r.u.board.Next(ctx, r.alarm.Space, layout.Seq("job", r.def.CallerID), int(step))
		if err != nil {
			return job, err
		}
		if first+step > 1<<32 {
			return job, domain.Limitf("caller %d has used up its job ids", r.def.CallerID)
		}
		job = domain.JobKey{Caller: r.def.CallerID, ID: domain.JobID(first + step - 1)}
		recs, err := r.u.board.GetFields(ctx, r.alarm.Space, layout.JobLine, job.String())
		if err != nil || recs[0] == nil {
			return job, err
		}
	}
}

// laterThan is t, but never before a, nor the same instant.
func laterThan(a, t time.Time) time.Time {
	if t.UnixMilli() > a.UnixMilli() {
		return t
	}
	return a.Add(time.Millisecond)
}

// submit hands the round's job in. One that is refused is a round that failed.
func (r *round) submit(ctx context.Context, key domain.JobKey) error {
	tenant := domain.TenantID(r.alarm.Space)
	job := r.def.Job(tenant, key.ID, r.part, r.state.Round)
	job.CallerID = key.Caller // whoever has changed the routine since
	receipts, err := r.u.jobs.Submit(ctx, tenant, []*domain.Job{job})
	if err == nil {
		err = receipts[0].Err
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, domain.ErrExhausted):
		return r.putBack(ctx, key, err)
	case !refused(err):
		return err // the alarm comes again
	}
	// A ban that came between, a type that nobody serves any more, a number
	// that somebody has taken by hand.
	r.was = layout.EncodeInstance(r.state)
	return r.settle(ctx, err.Error(), "")
}

// watch looks how the round goes that is under way.
func (r *round) watch(ctx context.Context) error {
	key, err := domain.ParseJobKey(r.state.Job)
	if err != nil {
		return r.settle(ctx, err.Error(), "")
	}
	recs, err := r.u.board.GetFields(ctx, r.alarm.Space, layout.JobLine, r.state.Job)
	if err != nil {
		return err
	}
	if recs[0] == nil {
		if r.def == nil {
			return r.settle(ctx, "", "")
		}
		// A crash came between the round and its job.
		b := r.batch()
		r.alarm.At = laterThan(r.alarm.At, r.now.Add(roundAgain))
		if err := r.commit(ctx, b.SetAlarm(r.alarm.Name, r.alarm.At)); err != nil {
			return err
		}
		return r.submit(ctx, key)
	}
	job, _ := layout.DecodeJob(key, recs[0]) // as far as it can be read
	switch {
	case job.Routine != r.name+":"+r.part.String():
		return r.settle(ctx, fmt.Sprintf("the number of its job was taken: %s is another", key), "")
	case job.FinishedMs == 0:
		// The job's end may set the alarm to the instant where it stands.
		return r.commit(ctx, r.batch().Equal(r.state.Job, layout.JobFinishedMs, "").SetAlarm(r.alarm.Name, r.now.Add(roundLook)))
	case job.Status == domain.JobFinished:
		return r.settle(ctx, "", r.state.Job)
	}
	text := string(job.Reason)
	if job.Error != "" {
		text += ": " + job.Error
	}
	return r.settle(ctx, text, r.state.Job)
}

// settle ends the round: fault is what went wrong, job what was run. What the
// job has saved is given to the next.
func (r *round) settle(ctx context.Context, fault, job string) error {
	r.state.Job, r.state.LastJob, r.state.EndedMs, r.state.Error = "", job, r.now.UnixMilli(), fault
	b := r.batch()
	if key, err := domain.ParseJobKey(job); err == nil {
		saved := layout.Checkpoint(key)
		recs, err := r.u.board.Get(ctx, r.alarm.Space, saved)
		if err != nil {
			return err
		}
		if recs[0] != nil {
			r.state.Checkpoint = recs[0].Get(layout.CheckpointData)
			b.Delete(saved)
		}
	}
	if r.def == nil {
		return r.commit(ctx, b.Delete(r.key).ClearAlarm(r.alarm.Name))
	}
	rest := r.def.EveryOr().Time()
	r.state.Failures++
	if fault == "" {
		r.state.Failures = 0
	} else {
		rest = max(rest, min(failMin<<min(r.state.Failures-1, 10), failMax))
	}
	next := r.now.Add(rest)
	r.state.NextMs = next.UnixMilli()
	return r.write(ctx, b.SetAlarm(r.alarm.Name, next))
}
