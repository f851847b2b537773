package work

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

const (
	// auditAge is how long something must stand as it does before the auditor
	// doubts it: commits in progress are younger.
	auditAge = 10 * time.Second
	// auditDoubts bounds how many jobs one audit of a context looks for in the
	// queues.
	auditDoubts = 50_000
)

// Audit is what a round of the auditor found in one context, and Finding one
// job in it.
type (
	Audit   = domain.Audit
	Finding = domain.Finding
)

// Audit looks whether every unfinished job of a context has a reason to be
// alive, repairs what it knows a rule for and reports the rest.
//
// Source: the promise "every unfinished thing has one reason to be alive".
func (e *Engine) Audit(ctx context.Context, tenant domain.TenantID) (Audit, error) {
	return e.AuditSlowly(ctx, tenant, 0)
}

// AuditSlowly is Audit that rests after each page, rest times as long as the
// page took, so that it does not keep the board from work.
func (e *Engine) AuditSlowly(ctx context.Context, tenant domain.TenantID, rest int) (Audit, error) {
	a := auditor{e: e, space: layout.SpaceOf(tenant), before: time.Now().Add(-auditAge), doubts: map[string]map[string]*domain.Job{}}
	if err := a.lostBefore(ctx); err != nil {
		return a.report, err
	}
	var after board.LiveItem
	for {
		begun := time.Now()
		page, err := e.board.Live(ctx, a.space, after, listPage)
		if err != nil || len(page) == 0 {
			if err == nil {
				err = a.searchQueues(ctx)
			}
			return a.report, err
		}
		if err := a.page(ctx, page); err != nil {
			return a.report, err
		}
		after = page[len(page)-1]
		if rest > 0 {
			pause(ctx, time.Since(begun)*time.Duration(rest))
		}
	}
}

type auditor struct {
	e      *Engine
	space  board.Space
	before time.Time // only what stood as it does then is doubted
	report Audit
	// doubts are jobs that should be queued, by queue and key.
	doubts map[string]map[string]*domain.Job
	count  int
}

func (a *auditor) page(ctx context.Context, page []board.LiveItem) error {
	keys := make([]string, len(page))
	for i, it := range page {
		keys[i] = it.Item
	}
	recs, bad, err := board.PerKey(a.e.board.GetFields(ctx, a.space, layout.JobLine, keys...))
	if err != nil {
		return err
	}
	for i, rec := range recs {
		if bad[i] != nil {
			a.report.Stuck = append(a.report.Stuck, Finding{Key: keys[i], Text: "another kind of thing lies where its record was: " + bad[i].Error()})
			continue
		}
		if err := a.look(ctx, page[i], rec); err != nil {
			return err
		}
	}
	return nil
}

func (a *auditor) look(ctx context.Context, it board.LiveItem, rec board.Record) error {
	item := it.Item
	key, err := jobItem(item)
	if err != nil {
		return nil // not a job: another capability's
	}
	a.report.Looked++
	if rec == nil {
		return SettleLost(ctx, a.e.board, a.space, it, &a.report)
	}
	// A record that cannot be read wholly is judged by what could be read.
	j, _ := layout.DecodeJob(key, rec)
	if int64(j.UpdatedAt) > a.before.Unix() || j.QueuedMs > a.before.UnixMilli() {
		return nil
	}
	x, err := a.e.standing(ctx, a.space, j, rec)
	switch {
	case err != nil:
		return err
	case x.Standing == "" && j.Final():
		return a.notQueued(ctx, j)
	case x.Standing == "":
		a.doubt(j)
	case x.Standing == StandingStuck:
		return a.stuck(ctx, j, x)
	case x.Standing == StandingEnded:
		b := board.Batch{Space: a.space}
		asRead(&b, j, layout.JobFinishedMs).Settle(item)
		return a.repair(ctx, b, nil)
	}
	return nil
}

// lostBefore tells of everything that earlier audits have found lost, jobs or not.
func (a *auditor) lostBefore(ctx context.Context) error {
	lines, err := a.e.board.List(ctx, a.space, layout.Lost, 0, listPage)
	if err != nil && !errors.Is(err, domain.ErrInvalid) { // what else lies there is no line
		return err
	}
	for _, l := range lines {
		if f, ok := layout.DecodeLost(l); ok {
			a.report.Stuck = append(a.report.Stuck, f)
		}
	}
	return nil
}

// SettleLost adds to a report that something which had not ended has no record any
// more, and lets it be alive no longer, unless it has ended and gone meanwhile.
func SettleLost(ctx context.Context, b board.Board, space board.Space, it board.LiveItem, report *Audit) error {
	live, err := board.StillLive(ctx, b, space, it)
	if err != nil || !live {
		return err
	}
	batch := board.Batch{Space: space}
	found := layout.SettleLost(&batch, it.Item, time.Now())
	if err := b.Commit(ctx, batch); err != nil {
		return unlessConflict(err)
	}
	report.Stuck = append(report.Stuck, found)
	return nil
}

func (a *auditor) doubt(j *domain.Job) {
	if a.count >= auditDoubts {
		return // the next round
	}
	a.count++
	q := layout.Queue(j)
	if a.doubts[q] == nil {
		a.doubts[q] = map[string]*domain.Job{}
	}
	// Not the job itself: there are many.
	a.doubts[q][j.Key().String()] = &domain.Job{ID: j.ID, CallerID: j.CallerID, ScriptType: j.ScriptType, Priority: j.Priority,
		ForRunner: j.ForRunner, Affinity: j.Affinity, At: j.At, Status: j.Status, Attempt: j.Attempt, QueuedMs: j.QueuedMs, NextRetryMs: j.NextRetryMs,
		Odd: j.Odd}
}

// searchQueues looks for the doubtful jobs in their queues, each queue once,
// and repairs those that are not there.
func (a *auditor) searchQueues(ctx context.Context) error {
	for q, jobs := range a.doubts {
		if _, at := layout.ParseAffinityQueue(q); at {
			if err := a.e.announce(ctx, a.space, q); err != nil && !errors.Is(err, domain.ErrLimit) {
				return err
			}
		}
		err := a.e.scanQueue(ctx, a.space, q, func(item string) bool {
			delete(jobs, item)
			return len(jobs) > 0
		})
		if err != nil {
			return err
		}
		for _, j := range jobs {
			if err := a.notQueued(ctx, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// notQueued brings back a job that should be in a queue and is not. Its guards
// hold it to the state it was seen in, so one that moved meanwhile is left
// alone.
func (a *auditor) notQueued(ctx context.Context, j *domain.Job) error {
	key := j.Key().String()
	if x, err := a.e.foreign(ctx, a.space, j, Explanation{}); err != nil || x.Standing != "" {
		return err
	}
	b := board.Batch{Space: a.space}
	b.Free(key)
	b.Equal(key, layout.JobStatus, string(j.Status))
	asRead(&b, j, layout.JobAttempt, layout.JobQueuedMs)
	if j.Status == domain.JobStarted || j.Final() {
		// A foreign runner has it, or had it: an alarm looks after it.
		b.SetAlarm(layout.Alarm(layout.AlarmForeign, j.Key()), time.Now())
		return a.repair(ctx, b, nil)
	}
	a.e.requeue(&b, j, time.Now())
	return a.repair(ctx, b, &Finding{Key: key, Text: "it was ready, but in no queue; queued again"})
}

// stuck repairs what there is a rule for.
func (a *auditor) stuck(ctx context.Context, j *domain.Job, x Explanation) error {
	now, err := a.e.loadAny(ctx, a.space, j.Key())
	if errors.Is(err, domain.ErrNotFound) || err == nil && moved(j, now) {
		return nil // it only looked so, between two looks
	} else if err != nil {
		return err
	}
	b := board.Batch{Space: a.space}
	switch {
	case j.LeaseOwner == "" && j.At != "" && j.Message != "":
		return a.endSent(ctx, now, x.Text)
	case j.LeaseOwner == "" && j.Parked != "":
		a.e.requeueParked(&b, j)
		return a.repair(ctx, b, &Finding{Key: x.Key, Text: x.Text + "; queued again"})
	case j.LeaseOwner == "" && j.NextRetryMs != 0:
		asRead(&b, j, layout.JobNextRetryMs, layout.JobAttempt)
		b.Free(x.Key)
		b.SetAlarm(layout.Alarm(layout.AlarmRetry, j.Key()), time.UnixMilli(j.NextRetryMs))
		return a.repair(ctx, b, &Finding{Key: x.Key, Text: x.Text + "; the alarm was set"})
	case j.LeaseOwner != "":
		b.Equal(x.Key, layout.JobLeaseOwner, j.LeaseOwner)
		asRead(&b, j, layout.JobAttempt)
		b.Release(x.Key)
		b.Unset(x.Key, layout.JobLeaseOwner, board.FieldQueue)
		a.e.requeue(&b, j, time.Now())
		return a.repair(ctx, b, &Finding{Key: x.Key, Text: x.Text + "; queued again"})
	}
	a.report.Stuck = append(a.report.Stuck, Finding{Key: x.Key, Text: x.Text})
	return nil
}

// repair commits b and reports what was found, if it is worth a word; a
// conflict means that it repaired itself.
func (a *auditor) repair(ctx context.Context, b board.Batch, found *Finding) error {
	err := a.e.board.Commit(ctx, b)
	if errors.Is(err, domain.ErrConflict) {
		return nil
	}
	if err == nil && found != nil {
		a.report.Repaired = append(a.report.Repaired, *found)
	}
	return err
}
