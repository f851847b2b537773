package work

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
)

// maxFollowersInline bounds the followers that one finishing commit counts
// down itself; more are told in pages by an alarm.
const maxFollowersInline = 200

// maxErrorText bounds what a record says of an error, in bytes.
const maxErrorText = 4 << 10

// ending is what a job becomes at its end.
type ending struct {
	status   domain.JobStatus
	reason   domain.Reason
	text     string
	result   map[string]string
	exitCode *int
}

// fields are what the end of a job writes on its record.
func (n ending) fields(now time.Time) []board.Field {
	fields := make([]board.Field, 0, 7)
	set := func(name, value string) { fields = append(fields, board.Field{Name: name, Value: value}) }
	set(layout.JobStatus, string(n.status))
	set(layout.JobUpdatedAt, strconv.FormatInt(now.Unix(), 10))
	set(layout.JobFinishedMs, strconv.FormatInt(now.UnixMilli(), 10))
	if n.result != nil {
		fields = append(fields, layout.ResultField(n.result))
	}
	if n.exitCode != nil {
		set(layout.JobExitCode, strconv.Itoa(*n.exitCode))
	}
	if n.reason != "" {
		set(layout.JobReason, string(n.reason))
	}
	if n.text != "" {
		set(layout.JobErrorText, cutText(n.text))
	}
	return fields
}

// cutText bounds a text for people, at a whole character.
func cutText(s string) string {
	if len(s) <= maxErrorText {
		return s
	}
	return strings.ToValidUTF8(s[:maxErrorText], "") + "…"
}

// end adds to b all that the end of job j means, in this order of cost: the
// record, the index of unfinished work, the list for the archive, and what
// the followers must be told. The caller adds guards that make it the only
// one; end adds the guard that no follower has come since j was read.
func (e *Engine) end(ctx context.Context, b *board.Batch, j *domain.Job, n ending, now time.Time) {
	key := j.Key().String()
	b.Set(key, n.fields(now)...)
	if stale := staleFields(j, n); len(stale) > 0 {
		b.Unset(key, stale...)
	}
	b.Settle(key)
	layout.Ended(b, key, now, layout.FailedJobs, n.status == domain.JobError)
	e.tell(ctx, b, j, key, n.status, now)
	e.tellAbove(ctx, b, j, n, now)
}

// tellAbove adds to b what the end of j means to those above: to its flow, and to
// whoever else says on its record that it waits.
func (e *Engine) tellAbove(ctx context.Context, b *board.Batch, j *domain.Job, n ending, now time.Time) {
	e.tellFlow(ctx, b, j, n)
	layout.TellWaiters(b, j, now)
	tellChildren(b, j, now)
}

// staleFields are those of an unfinished job that its end takes away.
func staleFields(j *domain.Job, n ending) []string {
	var stale []string
	if j.NextRetryMs != 0 {
		stale = append(stale, layout.JobNextRetryMs)
	}
	if j.Suspended != nil {
		if stale = append(stale, layout.JobSuspended); len(j.Suspended.Prerequisites) > 0 {
			stale = append(stale, layout.JobUnmet)
		}
	}
	if j.Parked != "" {
		stale = append(stale, layout.JobParked)
	}
	if n.status == domain.JobFinished {
		if j.Reason != "" {
			stale = append(stale, layout.JobReason)
		}
		if j.Error != "" {
			stale = append(stale, layout.JobErrorText)
		}
	}
	return stale
}

// tell lets the followers of j know how it ended: those of a job that
// finished are counted down in the same commit, where they are few; all else
// is left to the cascade alarm. item is the job's key.
func (e *Engine) tell(ctx context.Context, b *board.Batch, j *domain.Job, item string, status domain.JobStatus, now time.Time) {
	asRead(b, j, layout.JobFollowers)
	if j.Followers == 0 {
		return
	}
	key := j.Key()
	if status == domain.JobFinished && j.Followers <= maxFollowersInline {
		entries, err := e.followersOf(ctx, b.Space, j)
		if err == nil {
			countDown(b, entries, now)
			b.Delete(layout.Followers(key))
			return
		}
		// What the job has done is not thrown away because its followers
		// cannot be read now: the alarm does that later.
	}
	b.SetAlarm(layout.Alarm(layout.AlarmCascade, key), now)
}

func countDown(b *board.Batch, entries []string, now time.Time) {
	for _, entry := range entries {
		follower, queue := layout.ParseFollower(entry)
		b.Countdown(follower, layout.JobWaits, queue, follower, ready(now))
	}
}

// cascade handles the alarm of an ended job whose followers were not told in
// its own commit: one page of them, and the alarm stays for the next page.
func (e *Engine) cascade(ctx context.Context, a board.Alarm, key domain.JobKey) error {
	j, err := e.loadAny(ctx, a.Space, key)
	if errors.Is(err, domain.ErrNotFound) || err == nil && j.FinishedMs == 0 {
		return e.clear(ctx, a) // its next end tells them
	} else if err != nil {
		return err
	}
	list := layout.Followers(key)
	entries, err := e.board.List(ctx, a.Space, list, 0, maxFollowersInline)
	if err != nil {
		return err
	}
	if j.Status != domain.JobFinished {
		if err := e.failFollowers(ctx, a.Space, entries, key); err != nil {
			return err
		}
	}
	now := e.board.Now()
	told := func() board.Batch {
		b := board.Batch{Space: a.Space}
		b.AlarmAt(a.Name, a.At)
		// A follower that is started again by hand takes itself off the list.
		asRead(&b, j, layout.JobFollowers)
		if len(entries) == 0 {
			b.ClearAlarm(a.Name)
		} else {
			// The alarm moves with each page, so that a page is counted once only.
			b.SetAlarm(a.Name, laterThan(a.At, now)).Drop(list, entries...)
		}
		return b
	}
	if j.Status == domain.JobFinished && len(entries) > 0 {
		return e.cascadePage(ctx, a, key, entries, told)
	}
	e.Came(a.Space, key.String(), "")
	return e.board.Commit(ctx, told())
}

// cascadePage lets a page of those go that waited for a job, unless their queue is
// full. told begins a commit with that they were told.
func (e *Engine) cascadePage(ctx context.Context, a board.Alarm, key domain.JobKey, entries []string, told func() board.Batch) error {
	var p Page
	for _, entry := range entries {
		p.Add(layout.ParseFollower(entry))
	}
	wait, err := e.Crowded(ctx, a.Space, key.String(), p.Queues())
	if err != nil {
		return err
	}
	now := e.board.Now()
	if wait > 0 {
		b := board.Batch{Space: a.Space}
		b.AlarmAt(a.Name, a.At).SetAlarm(a.Name, laterThan(a.At, now.Add(wait)))
		return e.board.Commit(ctx, b)
	}
	waits, err := board.Readable(e.board.GetFields(ctx, a.Space, []string{layout.JobWaits}, p.keys...))
	if err != nil {
		return err
	}
	b := told()
	p.Begin(&b, waits, now)
	err = e.board.Commit(ctx, b)
	if g := new(board.GuardError); errors.As(err, &g) && g.Guard.Field == layout.JobWaits { // one has less to wait for since it was read
		b = told()
		p.count(&b, now)
		err = e.board.Commit(ctx, b)
	}
	if err == nil {
		e.Came(a.Space, key.String(), p.Last())
	}
	return err
}

// laterThan is now, but never the instant a itself, nor before it.
func laterThan(a, now time.Time) time.Time {
	if now.UnixMilli() > a.UnixMilli() {
		return now
	}
	return a.Add(time.Millisecond)
}

// failFollowers ends the followers of a job that ended in error, with one read and writes
// that go together: there may be thousands. Those that have moved since they were read are
// ended one by one. An entry that names no job has nobody who could be told.
func (e *Engine) failFollowers(ctx context.Context, space board.Space, entries []string, dep domain.JobKey) error {
	n := ending{status: domain.JobError, reason: domain.ReasonDependencyFailed, text: dependencyText(dep)}
	var keys []domain.JobKey
	var names []string
	for _, entry := range entries {
		follower, _ := layout.ParseFollower(entry)
		if key, err := jobItem(follower); err == nil {
			keys, names = append(keys, key), append(names, key.String())
		}
	}
	if len(keys) == 0 {
		return nil
	}
	recs, err := board.Readable(e.board.Get(ctx, space, names...))
	if err != nil {
		return err
	}
	now := e.board.Now()
	var batches []board.Batch
	var of, held []domain.JobKey
	for i, r := range recs {
		if r == nil {
			continue
		}
		switch j, _ := layout.DecodeJob(keys[i], r); { // as far as it can be read
		case j.Final():
		case j.LeaseOwner != "":
			// Its run may let go of it before our commit, and leaves what an end takes away.
			held = append(held, keys[i])
		default:
			batches, of = append(batches, e.unheldEnd(ctx, space, j, n, now)), append(of, keys[i])
		}
	}
	var failed error
	note := func(err error) {
		if err != nil && !errors.Is(err, domain.ErrNotFound) && !errors.Is(err, errEnded) {
			failed = err // one that somebody runs, say: the others are ended all the same
		}
	}
	if len(batches) > 0 {
		for i, err := range e.board.CommitEach(ctx, batches) {
			if errors.Is(err, domain.ErrConflict) {
				err = e.endUnheld(ctx, space, of[i], n)
			}
			note(err)
		}
	}
	for _, key := range held {
		note(e.endUnheld(ctx, space, key, n))
	}
	return failed
}

// errEnded says that there was nothing to end any more.
var errEnded = domain.Conflictf("the job has ended already")

// errHeld says that somebody runs the job.
var errHeld = domain.Conflictf("the job is running")

// unheldTries bounds how often an ending is put together again because the
// job moved under it.
const unheldTries = 50

// endUnheld ends a job that nobody runs: one that waits or is queued.
//
// Errors: errEnded, errHeld, [domain.ErrNotFound].
func (e *Engine) endUnheld(ctx context.Context, space board.Space, key domain.JobKey, n ending) error {
	for range unheldTries {
		j, err := e.loadAny(ctx, space, key)
		switch {
		case err != nil:
			return err
		case j.Final():
			return errEnded
		case j.LeaseOwner != "":
			return errHeld
		}
		if err := e.board.Commit(ctx, e.unheldEnd(ctx, space, j, n, e.board.Now())); !errors.Is(err, domain.ErrConflict) {
			return err
		}
	}
	return domain.Unavailablef("job %q changes too quickly; try again", key)
}

// unheldEnd is the commit that ends a job as long as nobody runs it.
func (e *Engine) unheldEnd(ctx context.Context, space board.Space, j *domain.Job, n ending, now time.Time) board.Batch {
	b := board.Batch{Space: space}
	e.addUnheldEnd(ctx, &b, j, n, now)
	return b
}

// addUnheldEnd adds that end to a commit.
func (e *Engine) addUnheldEnd(ctx context.Context, b *board.Batch, j *domain.Job, n ending, now time.Time) {
	key := j.Key().String()
	b.Free(key)
	b.Equal(key, layout.JobStatus, string(j.Status))
	asRead(b, j, layout.JobAttempt)
	if j.At == "" || j.Message == "" { // else it left for elsewhere when it had nothing to wait for
		e.clearWaits(b, j)
	}
	e.end(ctx, b, j, n, now)
}

// asRead adds the guards that numbers of a job's record are still what they were
// when j was read from it.
func asRead(b *board.Batch, j *domain.Job, fields ...string) *board.Batch {
	key := j.Key().String()
	for _, name := range fields {
		b.Equal(key, name, layout.NumberText(j, name))
	}
	return b
}

// clearWaits takes away what an unfinished job may still wait for.
func (e *Engine) clearWaits(b *board.Batch, j *domain.Job) {
	for _, k := range []layout.AlarmKind{layout.AlarmStart, layout.AlarmRetry, layout.AlarmPrereq, layout.AlarmForeign} {
		b.ClearAlarm(layout.Alarm(k, j.Key()))
	}
	e.unwant(b, j)
}

// backoff is the pause before the attempt after failures failed ones, as r has it, or the
// node: exponential, with jitter so that a crowd does not come back at once.
func (e *Engine) backoff(r *domain.Retry, failures int) time.Duration {
	return pause.SpreadBy(r.Pause(failures, e.cfg.RetryMin, e.cfg.RetryMax))
}
