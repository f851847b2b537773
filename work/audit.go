package work

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

const (
	// auditAge is how long something must stand as it does before the auditor
	// doubts it: commits in progress are younger.
	auditAge = 10 * time.Second
	// auditDoubts bounds how many jobs one audit of a context looks for in the
	// queues.
	auditDoubts = 50_000
)

// Audit looks whether every unfinished job of a context has a reason to be
// alive, repairs what it knows a rule for and reports the rest.
//
// Source: the promise "every unfinished thing has one reason to be alive".
func (e *Engine) Audit(ctx context.Context, tenant domain.TenantID) (domain.Audit, error) {
	return e.AuditSlowly(ctx, tenant, 0)
}

// AuditWithin is Audit that looks at no more than there is time for, oldest first: what
// nothing moves has been there for long. Looking for it in the queues may take as long
// again. Zero: all.
func (e *Engine) AuditWithin(ctx context.Context, tenant domain.TenantID, within time.Duration) (domain.Audit, error) {
	return e.audit(ctx, tenant, 0, within, false)
}

// LookWithin is AuditWithin that repairs nothing, so that those may ask who only read: it
// finds what is stuck, and what waits for somebody who is not there.
func (e *Engine) LookWithin(ctx context.Context, tenant domain.TenantID, within time.Duration) (domain.Audit, error) {
	return e.audit(ctx, tenant, 0, within, true)
}

// AuditSlowly is Audit that rests after each page, rest times as long as the
// page took, so that it does not keep the board from work.
func (e *Engine) AuditSlowly(ctx context.Context, tenant domain.TenantID, rest int) (domain.Audit, error) {
	return e.audit(ctx, tenant, rest, 0, false)
}

func (e *Engine) audit(ctx context.Context, tenant domain.TenantID, rest int, within time.Duration, looks bool) (domain.Audit, error) {
	a := auditor{e: e, space: layout.SpaceOf(tenant), began: time.Now(), within: within, looks: looks, doubts: map[string]map[string]*domain.Job{}}
	if err := a.lostBefore(ctx); err != nil {
		return a.report, err
	}
	var after board.LiveItem
	for {
		begun := time.Now()
		page, err := e.board.Live(ctx, a.space, after, listPage)
		if len(page) > 0 && a.late(1) {
			a.report.Partial = true
		}
		if err != nil || len(page) == 0 || a.report.Partial {
			if err == nil {
				err = a.searchQueues(ctx)
			}
			return a.report, err
		}
		a.report.Unfinished = true // also where it is another capability's
		if err := a.page(ctx, page); err != nil {
			return a.report, err
		}
		after = page[len(page)-1]
		if rest > 0 {
			pause.For(ctx, time.Since(begun)*time.Duration(rest))
		}
	}
}

type auditor struct {
	e      *Engine
	space  board.Space
	began  time.Time
	within time.Duration // 0: as long as it takes
	looks  bool          // it repairs nothing
	report domain.Audit
	// doubts are jobs that should be queued, by queue and key.
	doubts map[string]map[string]*domain.Job
	count  int
	// serving is who takes jobs; nil: not asked. lacking are the places of findings in
	// the report, by what is lacking.
	serving *serving
	lacking map[string]int
}

// late reports whether so many times the time is over.
func (a *auditor) late(times int) bool {
	return a.within > 0 && time.Since(a.began) > time.Duration(times)*a.within
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
		key, other := jobItem(keys[i])
		if other != nil {
			continue // another capability's, which also tells of what lies there instead
		}
		err := bad[i]
		if err == nil {
			err = a.look(ctx, page[i], key, rec)
		}
		if err := a.report.Strange(keys[i], err); err != nil {
			return err
		}
	}
	return nil
}

func (a *auditor) look(ctx context.Context, it board.LiveItem, key domain.JobKey, rec board.Record) error {
	a.report.Looked++
	if rec == nil && a.looks {
		return nil // the next audit tells
	} else if rec == nil {
		return SettleLost(ctx, a.e.board, a.space, it, &a.report)
	}
	// A record that cannot be read wholly is judged by what could be read.
	j, _ := layout.DecodeJob(key, rec)
	if a.young(j) {
		if there, err := a.served(ctx, j); err != nil || there {
			return err // only who moves it is asked; nothing of it is doubted yet
		}
	}
	x, err := a.e.standing(ctx, a.space, j, rec)
	switch {
	case err != nil:
		return err
	case x.waitsForTaker() || x.waitsForTime():
		return a.lacks(ctx, &x, j)
	case j.QueuedMs == 0 && !j.Final() && a.began.Before(it.At.Add(auditAge)): // a foreign program's, which may be about to queue it
		return nil
	case x.Standing == "" && !j.Final():
		a.doubt(j)
	case a.young(j):
		return nil
	case x.Standing == "":
		return a.notQueued(ctx, j)
	case x.Standing == domain.StandingStuck:
		return a.stuck(ctx, j, rec)
	case x.Standing == domain.StandingEnded:
		b := board.Batch{Space: a.space}
		asRead(&b, j, layout.JobFinishedMs).Settle(it.Item)
		return a.repair(ctx, b, nil)
	}
	return nil
}

// young reports whether nothing of a job is doubted yet.
func (a *auditor) young(j *domain.Job) bool { return a.began.Before(doubtedFrom(j)) }

// doubtedFrom is when audits begin to doubt a job as it stands: a commit that belongs to
// its last change may be under way until then.
func doubtedFrom(j *domain.Job) time.Time {
	return time.UnixMilli(max(int64(j.UpdatedAt)*1000, j.QueuedMs)).Add(auditAge)
}

// lostBefore tells of everything that earlier audits have found lost, jobs or not.
func (a *auditor) lostBefore(ctx context.Context) error {
	lost, err := a.e.lost(ctx, a.space)
	a.report.Stuck = append(a.report.Stuck, lost...)
	return err
}

// lost is what audits have found lost in a space, the newest last.
func (e *Engine) lost(ctx context.Context, space board.Space) (found []domain.Finding, err error) {
	lines, err := e.board.List(ctx, space, layout.Lost, 0, layout.LostMost)
	if err != nil && !errors.Is(err, domain.ErrInvalid) { // what else lies there is no line
		return nil, err
	}
	for _, l := range lines {
		if f, ok := layout.DecodeLost(l); ok {
			found = append(found, f)
		}
	}
	return found, nil
}

// What is looked through for an item that audits have not come to yet.
const (
	lostPage  = 1000
	lostPages = 50
)

// Lost is what is known of an item, of a job or not, that had not ended and has no record
// any more: what audits have found, and, where they have not come to it yet, that it is
// still marked as live. Of more than 50,000 that have not ended only the oldest are looked
// at. ok is false where nothing was found.
//
// Errors: [domain.ErrUnavailable].
func (e *Engine) Lost(ctx context.Context, tenant domain.TenantID, item string) (found domain.Finding, ok bool, err error) {
	space := layout.SpaceOf(tenant)
	all, err := e.lost(ctx, space)
	if err != nil {
		return found, false, err
	}
	for _, f := range slices.Backward(all) {
		if f.Key == item {
			return f, true, nil
		}
	}
	var after board.LiveItem
	for range lostPages {
		page, err := e.board.Live(ctx, space, after, lostPage)
		if err != nil || len(page) == 0 {
			return found, false, err
		}
		for _, it := range page {
			if it.Item == item {
				return e.lostNow(ctx, space, item)
			}
		}
		after = page[len(page)-1]
	}
	return found, false, nil
}

// lostNow says of a live item that it has no record, where that is so.
func (e *Engine) lostNow(ctx context.Context, space board.Space, item string) (found domain.Finding, ok bool, err error) {
	recs, err := e.board.GetFields(ctx, space, []string{layout.JobStatus}, item)
	if err != nil || recs[0] != nil { // it was made just now
		return found, false, err
	}
	found, ok = layout.LostNow(item, e.board.Now())
	return found, ok, nil
}

// SettleLost adds to a report that something which had not ended has no record any
// more, and lets it be alive no longer, unless it has ended and gone meanwhile.
func SettleLost(ctx context.Context, b board.Board, space board.Space, it board.LiveItem, report *domain.Audit) error {
	live, err := board.StillLive(ctx, b, space, it)
	if err != nil || !live {
		return err
	}
	batch := board.Batch{Space: space}
	found := layout.SettleLost(&batch, it.Item, b.Now())
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
	q := queue.Of(j)
	if a.doubts[q] == nil {
		a.doubts[q] = map[string]*domain.Job{}
	}
	// Not the job itself: there are many.
	a.doubts[q][j.Key().String()] = &domain.Job{ID: j.ID, CallerID: j.CallerID, ScriptType: j.ScriptType, Priority: j.Priority,
		ForRunner: j.ForRunner, Affinity: j.Affinity, At: j.At, Status: j.Status, Attempt: j.Attempt, QueuedMs: j.QueuedMs, NextRetryMs: j.NextRetryMs,
		StartedMs: j.StartedMs, UpdatedAt: j.UpdatedAt, Dependends: j.Dependends, Odd: j.Odd}
}

// searchQueues looks for the doubtful jobs in their queues, each queue once. It tells
// which of them nobody takes, and repairs those that are not there.
func (a *auditor) searchQueues(ctx context.Context) error {
	for _, q := range slices.Sorted(maps.Keys(a.doubts)) {
		jobs := a.doubts[q]
		if _, at := queue.ParseLabelled(q); at {
			// The set is looked at, also by the node that has put the queue there: an older copy of
			// the board may have been restored since, or somebody has deleted it.
			a.e.announced.Delete(announcement{a.space, queue.Group(q)})
			if err := a.e.announce(ctx, a.space, q); err != nil && !errors.Is(err, domain.ErrLimit) {
				return err
			}
		}
		var found []*domain.Job
		err := a.e.scanQueue(ctx, a.space, q, func(item string) bool {
			if j := jobs[item]; j != nil {
				found = append(found, j)
				delete(jobs, item)
			}
			return len(jobs) > 0 && !a.late(2)
		})
		if errors.Is(err, domain.ErrInvalid) {
			for item := range jobs {
				if err := a.report.Strange(item, err); err != nil {
					return err
				}
			}
			continue
		} else if err != nil {
			return err
		}
		for _, j := range slices.Backward(found) { // the oldest stands for those like it
			if err := a.lacks(ctx, &explained{JobExplanation: domain.JobExplanation{Standing: domain.StandingQueued}}, j); err != nil {
				return err
			}
		}
		if a.late(2) {
			a.report.Partial = true // whoever was not found may be further on
			continue
		}
		for _, j := range jobs {
			if a.young(j) {
				continue
			}
			if err := a.notQueued(ctx, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// notQueued brings back a job that should be in a queue and is not.
func (a *auditor) notQueued(ctx context.Context, j *domain.Job) error {
	key := j.Key().String()
	if x, err := a.e.foreign(ctx, a.space, j, explained{}); err != nil || x.Standing != "" {
		return err
	}
	taken, err := a.isTaken(ctx, j)
	if err != nil {
		return err
	}
	if taken && j.QueuedMs == 0 {
		// It has been seen by nobody: perhaps it is not queued yet, for what it needs.
		if open, err := a.e.openDependencies(ctx, a.space, j); err != nil || len(open) > 0 {
			return err
		}
	}
	b := board.Batch{Space: a.space}
	if !taken {
		again := a.e.unqueued(j)
		again.Add(&b)
		return a.repair(ctx, b, &domain.Finding{Key: key, Text: textUnqueued + "; " + again.Did})
	}
	// A foreign runner has it, or had it: an alarm looks after it.
	now := a.e.board.Now()
	asSeen(&b, j)
	if !j.Final() && j.StartedMs <= j.QueuedMs { // how long it had waited before is not that runner's time
		b.Set(key, board.Field{Name: layout.JobStartedMs, Value: strconv.FormatInt(now.UnixMilli(), 10)})
	}
	b.SetAlarm(layout.Alarm(layout.AlarmForeign, j.Key()), now)
	return a.repair(ctx, b, nil)
}

// isTaken reports whether a job that is in no queue is a foreign runner's.
func (a *auditor) isTaken(ctx context.Context, j *domain.Job) (bool, error) {
	if j.Status == domain.JobStarted || j.Final() {
		return true, nil
	}
	err := a.ask(ctx)
	return err == nil && a.serving.taken(queue.Of(j)), err
}

// stuck repairs what there is a rule for.
func (a *auditor) stuck(ctx context.Context, j *domain.Job, rec board.Record) error {
	now, err := a.e.loadAny(ctx, a.space, j.Key())
	if errors.Is(err, domain.ErrNotFound) || err == nil && moved(j, now) {
		return nil // it only looked so, between two looks
	} else if err != nil {
		return err
	}
	// Once more, and with the whole job: some are mended by what its line does not have.
	x, err := a.e.standing(ctx, a.space, now, rec)
	if err != nil || x.Standing != domain.StandingStuck {
		return err
	}
	if x.Mend == nil {
		a.report.Stuck = append(a.report.Stuck, domain.Finding{Key: x.Key, Text: x.Text})
		return nil
	}
	b := board.Batch{Space: a.space}
	x.Mend.Add(&b)
	return a.repair(ctx, b, &domain.Finding{Key: x.Key, Text: x.Text + "; " + x.Mend.Did})
}

// served reports whether there is somebody for all that a job may lack.
func (a *auditor) served(ctx context.Context, j *domain.Job) (bool, error) {
	if err := a.ask(ctx); err != nil {
		return false, err
	}
	_, lack := a.serving.takers(j)
	return lack == "" && a.serving.clockless() == "", nil
}

// ask asks who takes jobs, once in an audit.
func (a *auditor) ask(ctx context.Context) error {
	if a.serving != nil {
		return nil
	}
	s, err := a.e.serving(ctx, a.space)
	if err == nil {
		a.serving, a.lacking = &s, map[string]int{}
	}
	return err
}

// lacks reports a job that waits for somebody who is not there, in one finding with all
// that wait for the same.
func (a *auditor) lacks(ctx context.Context, x *explained, j *domain.Job) error {
	if err := a.ask(ctx); err != nil {
		return err
	}
	_, lack := a.serving.lack(x, j)
	if lack == "" {
		return nil
	}
	if i, known := a.lacking[lack]; known {
		a.report.Lacking[i].More++
		return nil
	}
	a.lacking[lack] = len(a.report.Lacking)
	a.report.Lacking = append(a.report.Lacking, domain.Finding{Key: j.Key().String(), Text: lack})
	return nil
}

// repair commits b and reports what was found, if it is worth a word; a
// conflict means that it repaired itself. Who only looks leaves it to the next audit.
func (a *auditor) repair(ctx context.Context, b board.Batch, found *domain.Finding) error {
	if a.looks {
		return nil
	}
	err := a.e.board.Commit(ctx, b)
	if errors.Is(err, domain.ErrConflict) {
		return nil
	}
	if err == nil && found != nil {
		a.report.Repaired = append(a.report.Repaired, *found)
	}
	return err
}
