package work

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// This file lays jobs aside that may not be picked, and brings them back. A
// parked job is on the list of its ban's scope; the alarm of that list brings
// it back once there is no such ban any more. So a node that had not heard yet
// that the ban was lifted does no harm.

const (
	// parkedSoon is when a list is looked at after something was put on it: who
	// did it may have known an old ban.
	parkedSoon = 2 * time.Second
	// parkedLook is how often it is looked at while the ban holds; lifting it
	// does so at once.
	parkedLook = 30 * time.Second
	// parkedPage is how many jobs one commit brings back.
	parkedPage = 250
)

// heldUp lets go of the job if it may not be begun: a ban forbids it, or the
// runner lost its duty while the claim waited.
func (x *run) heldUp(b *board.Batch) (what ended, yes bool, err error) {
	if may, _ := x.r.may(); !may {
		x.putBack(b)
		return ended{status: domain.JobStarted, text: "put back: the node has lost the duty of a runner"}, true, nil
	}
	j := x.job
	j.ContextID = domain.TenantID(x.Claimed.Space)
	bans := x.r.e.bans
	pick := func() (domain.Ban, bool, error) {
		return bans.Pick(j, func() (string, error) { return x.r.e.blueprintOf(x.Ctx, x.Claimed.Space, j.FlowID) })
	}
	by, yes, err := pick()
	if err != nil || !yes {
		return what, false, err
	}
	held, yes, err := ban.New(x.r.e.board).Holds(x.Ctx, by.BanScope, domain.BanPick)
	if err == nil && !yes {
		// The cache of bans has not heard yet that it was lifted. There may be others.
		if err = bans.Load(x.Ctx); err == nil {
			held, yes, err = pick()
		}
	}
	if err != nil || !yes {
		return what, false, err
	}
	x.park(b, held)
	return ended{status: domain.JobStarted, text: "laid aside: " + held.Text()}, true, nil
}

// blueprintOf is the name of the blueprint that a flow is of.
func (e *Engine) blueprintOf(ctx context.Context, space board.Space, flow domain.FlowID) (string, error) {
	recs, err := e.board.GetFields(ctx, space, []string{layout.FlowBlueprint}, domain.FlowKey(flow))
	if err != nil {
		return "", err
	}
	return recs[0].Get(layout.FlowBlueprint), nil
}

// letGo ends the lease on a job that was not begun: its status is what it was
// before, unless an earlier attempt has begun it.
func (x *run) letGo(b *board.Batch) {
	item := x.Claimed.Item
	b.Equal(item, layout.JobCancel, "")
	b.Release(item)
	b.Unset(item, layout.JobRunnerID)
	if x.job.Failures+x.job.Losses == 0 {
		b.Set(item, board.Field{Name: layout.JobStatus, Value: string(domain.JobDispatched)})
		b.Unset(item, layout.JobStartedMs)
	}
}

// park lets go of a job for the time of a ban.
func (x *run) park(b *board.Batch, by domain.Ban) {
	item := x.Claimed.Item
	x.letGo(b)
	if by.Context == 0 {
		// Nobody claims such jobs as long as the ban holds.
		b.PushRight(queue.Of(x.job), item)
		return
	}
	scope := by.BanScope.String()
	b.Set(item, board.Field{Name: layout.JobParked, Value: scope})
	b.PushRight(layout.Parked(scope), item)
	b.Add(layout.Parkings(scope), layout.ParkingsCount, 1)
	b.SetAlarm(layout.ParkedAlarm(scope), x.r.e.board.Now().Add(parkedSoon))
}

// unpark handles the alarm of a list of parked jobs: one page of them goes
// back to its queues, and the alarm stays for the next. The page is the one
// parked last and goes before all else in its queues, so that the oldest is
// first again when all are back.
func (e *Engine) unpark(ctx context.Context, a board.Alarm, scope domain.BanScope) error {
	_, holds, err := ban.New(e.board).Holds(ctx, scope, domain.BanPick)
	if err != nil {
		return err
	}
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At)
	if holds {
		b.SetAlarm(a.Name, e.board.Now().Add(parkedLook))
		return e.board.Commit(ctx, b)
	}
	list, counter := layout.Parked(scope.String()), layout.Parkings(scope.String())
	recs, err := e.board.Get(ctx, a.Space, counter)
	if err != nil {
		return err
	}
	page, err := e.board.List(ctx, a.Space, list, -parkedPage, parkedPage)
	if err != nil {
		return err
	}
	// Nothing was put on the list since: else the page is not the end of it.
	b.Equal(counter, layout.ParkingsCount, recs[0].Get(layout.ParkingsCount))
	if len(page) == 0 {
		b.Delete(counter).ClearAlarm(a.Name)
		return e.board.Commit(ctx, b)
	}
	jobs, _, err := board.PerKey(e.board.GetFields(ctx, a.Space, layout.JobLine, page...))
	if err != nil {
		return err
	}
	b.TrimRight(list, len(page))
	for i := len(page) - 1; i >= 0; i-- {
		e.unparkOne(&b, page[i], jobs[i], scope)
	}
	b.SetAlarm(a.Name, laterThan(a.At, e.board.Now()))
	return e.board.Commit(ctx, b)
}

// unparkOne queues a job again, unless it was ended or started anew by hand
// meanwhile.
func (e *Engine) unparkOne(b *board.Batch, item string, rec board.Record, scope domain.BanScope) {
	key, err := jobItem(item)
	if err != nil || rec.Get(layout.JobParked) != scope.String() {
		return
	}
	j, _ := layout.DecodeJob(key, rec) // as far as it can be read: it must go on
	if j.Final() {
		return
	}
	b.Unset(item, layout.JobParked)
	b.PushRight(queue.Of(j), item)
}

// explainParked answers for a job that a ban has laid aside.
func (e *Engine) explainParked(ctx context.Context, space board.Space, j *domain.Job, x explained) (explained, error) {
	at, set, err := e.board.AlarmOf(ctx, space, layout.ParkedAlarm(j.Parked))
	if err != nil {
		return x, err
	}
	x.SinceMs = j.QueuedMs
	if !set {
		x.Standing, x.Text = domain.StandingStuck, "it was laid aside for a ban, but no alarm would bring it back"
		x.Mend = e.queuedAgain(j, func(b *board.Batch) {
			b.Equal(x.Key, layout.JobParked, j.Parked)
			asRead(b, j, layout.JobAttempt)
			b.Unset(x.Key, layout.JobParked)
			b.Drop(layout.Parked(j.Parked), x.Key)
		})
		return x, nil
	}
	x.Standing, x.NextMs = domain.StandingBanned, at.UnixMilli()
	x.Text = "it was laid aside for a ban that has ended, and goes back to its queue"
	scope, err := domain.ParseBanScope(j.Parked)
	if err != nil {
		return x, nil
	}
	by, holds, err := ban.New(e.board).Holds(ctx, scope, domain.BanPick)
	if x.Held = holds; holds {
		x.Text = "it is laid aside: " + by.Refusal().Error()
	}
	return x, err
}

// explainBanned says so of a queued job that nobody may pick.
func (e *Engine) explainBanned(ctx context.Context, space board.Space, j *domain.Job, x *explained) error {
	seen := *j
	seen.ContextID = domain.TenantID(space)
	by, yes, err := e.bans.Pick(&seen, func() (string, error) { return e.blueprintOf(ctx, space, j.FlowID) })
	if errors.Is(err, domain.ErrNotFound) || err == nil && !yes {
		return nil
	}
	if x.Held = yes; yes {
		x.Standing = domain.StandingBanned
		x.Text += "; " + by.Refusal().Error()
	}
	return err
}
