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
	a := auditor{e: e, space: layout.SpaceOf(tenant), began: time.Now(), doubts: map[string]map[string]*domain.Job{}}
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
	began  time.Time
	report Audit
	// doubts are jobs that should be queued, by queue and key.
	doubts map[string]map[string]*domain.Job
	count  int
	// serving is who takes jobs; nil: not asked. lacking are the places of findings in
	// the report, by what is lacking.
	serving *serving
	lacking map[string]int
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
		err := bad[i]
		if err == nil {
			err = a.look(ctx, page[i], rec)
		}
		if err := a.report.Strange(keys[i], err); err != nil {
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
	if a.young(j) {
		if lack, err := a.lack(ctx, j); err != nil || lack == "" {
			return err // only who takes it is asked; nothing of it is doubted yet
		}
	}
	if j.QueuedMs == 0 && !j.Final() && a.began.Before(it.At.Add(auditAge)) { // a foreign program's, which may be about to queue it
		return nil
	}
	x, err := a.e.standing(ctx, a.space, j, rec)
	switch {
	case err != nil:
		return err
	case x.waitsForTaker():
		return a.lacks(ctx, j)
	case x.Standing == "" && !j.Final():
		a.doubt(j)
	case a.young(j):
		return nil
	case x.Standing == "":
		return a.notQueued(ctx, j)
	case x.Standing == StandingStuck:
		return a.stuck(ctx, j, rec)
	case x.Standing == StandingEnded:
		b := board.Batch{Space: a.space}
		asRead(&b, j, layout.JobFinishedMs).Settle(item)
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
		StartedMs: j.StartedMs, UpdatedAt: j.UpdatedAt, Dependends: j.Dependends, Odd: j.Odd}
}

// searchQueues looks for the doubtful jobs in their queues, each queue once. It tells
// which of them nobody takes, and repairs those that are not there.
func (a *auditor) searchQueues(ctx context.Context) error {
	for _, q := range slices.Sorted(maps.Keys(a.doubts)) {
		jobs := a.doubts[q]
		if _, at := layout.ParseAffinityQueue(q); at {
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
			return len(jobs) > 0
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
			if err := a.lacks(ctx, j); err != nil {
				return err
			}
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
	if x, err := a.e.foreign(ctx, a.space, j, Explanation{}); err != nil || x.Standing != "" {
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
		return a.repair(ctx, b, &Finding{Key: key, Text: textUnqueued + "; " + again.Did})
	}
	// A foreign runner has it, or had it: an alarm looks after it.
	now := time.Now()
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
	return err == nil && a.serving.taken(layout.Queue(j)), err
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
	if err != nil || x.Standing != StandingStuck {
		return err
	}
	if x.Mend == nil {
		a.report.Stuck = append(a.report.Stuck, Finding{Key: x.Key, Text: x.Text})
		return nil
	}
	b := board.Batch{Space: a.space}
	x.Mend.Add(&b)
	return a.repair(ctx, b, &Finding{Key: x.Key, Text: x.Text + "; " + x.Mend.Did})
}

// lack says who would have to be there to take a job; "" where somebody is.
func (a *auditor) lack(ctx context.Context, j *domain.Job) (string, error) {
	if err := a.ask(ctx); err != nil {
		return "", err
	}
	_, lack := a.serving.takers(j)
	return lack, nil
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
func (a *auditor) lacks(ctx context.Context, j *domain.Job) error {
	lack, err := a.lack(ctx, j)
	if err != nil || lack == "" {
		return err
	}
	if i, known := a.lacking[lack]; known {
		a.report.Lacking[i].More++
		return nil
	}
	a.lacking[lack] = len(a.report.Lacking)
	a.report.Lacking = append(a.report.Lacking, Finding{Key: j.Key().String(), Text: lack})
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
