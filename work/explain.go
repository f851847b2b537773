package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// explained is an explanation, and what else follows from why the job is as it is.
type explained struct {
	domain.JobExplanation
	Reason
	// untaken is set where a foreign program wrote the job and no node has taken it over:
	// it is not among what is unfinished, where audits look.
	untaken bool
}

// outlook follows from the reason: there is no other place that tells who moves a job.
func (x *explained) outlook() domain.Outlook {
	otherwise := domain.OutlookMoves
	switch x.Standing {
	case domain.StandingEnded:
		return ""
	case domain.StandingWaiting, domain.StandingSent, domain.StandingSuspended:
		otherwise = domain.OutlookWaits
	}
	return x.Reason.Outlook(x.Standing == domain.StandingStuck, otherwise)
}

// queuedAgain is how most are mended; free guards and undoes what was read of them.
func (e *Engine) queuedAgain(j *domain.Job, free func(b *board.Batch)) *Mend {
	return &Mend{Does: "queues it again", Did: "queued again", Add: func(b *board.Batch) {
		free(b)
		e.requeue(b, j, e.board.Now())
	}}
}

// Explain answers for one job.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Explain(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (domain.JobExplanation, error) {
	space := layout.SpaceOf(tenant)
	j, rec, err := e.loadLine(ctx, space, key)
	if err != nil && !errors.Is(err, domain.ErrInvalid) {
		return domain.JobExplanation{}, err
	}
	for range explainTries {
		x, err := e.explain(ctx, space, j, rec)
		if err == nil && x.Standing == domain.StandingStuck {
			err = e.explainStuck(ctx, space, j, &x)
		}
		x.JobExplanation.Outlook = x.outlook()
		if j.CalledBy != nil {
			x.Text += "; it was " + CalledText(j.CalledBy)
		}
		if err != nil || x.Standing != domain.StandingStuck && !x.untaken {
			return x.JobExplanation, err
		}
		now, rec2, err := e.loadLine(ctx, space, key)
		if err != nil && !errors.Is(err, domain.ErrInvalid) {
			return domain.JobExplanation{}, err
		}
		if !moved(j, now) {
			return x.JobExplanation, nil
		}
		j, rec = now, rec2
	}
	return domain.JobExplanation{Key: key.String(), Status: j.Status, Standing: domain.StandingQueued, Outlook: domain.OutlookMoves,
		Text: "it moves too quickly to tell"}, nil
}

// explainStuck says what the audit does about a job that nothing moves, or that no audit
// comes by it.
func (e *Engine) explainStuck(ctx context.Context, space board.Space, j *domain.Job, x *explained) error {
	since, live, err := e.liveSince(ctx, space, x.Key)
	if err != nil {
		return err
	}
	if live {
		from := doubtedFrom(j)
		if j.QueuedMs == 0 && since.Add(auditAge).After(from) {
			from = since.Add(auditAge) // see auditor.look
		}
		x.Text += x.Audited(from)
		return nil
	}
	x.Standing, x.untaken, x.Reason = domain.StandingWriting, true, Reason{Held: true}
	queue := queue.Of(j)
	if j.ScriptType == "" {
		x.Text = "its record has no script_type: whoever writes it has not done so yet"
		return nil
	}
	x.Text = fmt.Sprintf("it was written past every door, and no node has found it in a queue of its type: LPUSH %s %s queues it", queue, x.Key)
	return nil
}

// liveSince finds a job among what is unfinished. It reads no further than a queue is read:
// what may stand behind that counts as live, since the zero instant.
func (e *Engine) liveSince(ctx context.Context, space board.Space, item string) (since time.Time, live bool, err error) {
	var after board.LiveItem
	for looked := 0; looked < queueLook; {
		page, err := e.board.Live(ctx, space, after, listPage)
		if err != nil || len(page) == 0 {
			return time.Time{}, false, err
		}
		for _, it := range page {
			if it.Item == item {
				return it.At, true, nil
			}
		}
		looked += len(page)
		after = page[len(page)-1]
	}
	return time.Time{}, true, nil
}

// explainTries bounds how often a job is looked at again that moved between
// two looks.
const explainTries = 5

func (e *Engine) explain(ctx context.Context, space board.Space, j *domain.Job, rec board.Record) (explained, error) {
	x, err := e.standing(ctx, space, j, rec)
	if err == nil && x.Standing == "" {
		x, err = e.foreign(ctx, space, j, x)
	}
	if err == nil && x.Standing == "" {
		x, err = e.explainQueued(ctx, space, j, x)
	}
	if err != nil || !x.waitsForTaker() && !x.waitsForTime() {
		return x, err
	}
	s, err := e.serving(ctx, space)
	if err != nil {
		return x, err
	}
	takers, lack := s.lack(&x, j)
	if x.Lack = lack; lack != "" {
		x.Text += "; " + lack
	}
	if x.Standing == domain.StandingQueued {
		x.explainSlots(s.tenant, j.ScriptType, takers)
		err = e.explainBanned(ctx, space, j, &x)
	}
	return x, err
}

// waitsForTaker reports whether nothing moves the job but a runner that takes it, or
// takes it back.
func (x *explained) waitsForTaker() bool {
	return x.Standing == domain.StandingQueued || x.Standing == domain.StandingLeased && x.NextMs == 0
}

// waitsForTime reports whether the job goes on only when what comes due is done, an alarm
// or a lease that has run out: a node on duty as clockwork does both.
func (x *explained) waitsForTime() bool {
	switch x.Standing {
	case domain.StandingDelayed, domain.StandingRetrying, domain.StandingSuspended:
		return true
	case domain.StandingWaiting:
		return x.NextMs != 0
	}
	return x.Standing == domain.StandingLeased && x.NextMs == 0
}

// moved reports whether a job has gone on between two looks: what was found
// besides the record in that time says nothing.
func moved(was, is *domain.Job) bool {
	return was.Status != is.Status || was.Attempt != is.Attempt || was.LeaseOwner != is.LeaseOwner || was.Waits != is.Waits || was.Parked != is.Parked ||
		was.QueuedMs != is.QueuedMs || was.NextRetryMs != is.NextRetryMs || was.FinishedMs != is.FinishedMs
}

// standing finds all reasons but the queue, which is looked at last because
// it costs most. It leaves Standing empty where only the queue is left.
func (e *Engine) standing(ctx context.Context, space board.Space, j *domain.Job, rec board.Record) (explained, error) {
	x := explained{JobExplanation: domain.JobExplanation{Key: j.Key().String(), Status: j.Status}}
	switch {
	case j.FinishedMs != 0:
		x.Standing, x.SinceMs, x.Status = domain.StandingEnded, j.FinishedMs, j.EndStatus()
		x.Text = "it has ended: " + string(x.Status)
		if x.Status != domain.JobFinished {
			x.Text += endText(j)
		}
		return x, nil
	case j.LeaseOwner != "":
		return e.explainLeased(ctx, space, j, x)
	case j.Final():
		return x, nil // a foreign runner ended it
	case j.Parked != "":
		return e.explainParked(ctx, space, j, x)
	case j.At != "" && j.Message != "":
		return e.explainSent(ctx, space, j, x)
	case j.Waits > 0:
		return e.explainWaiting(ctx, space, j, rec, x)
	case j.NextRetryMs != 0:
		at, set, err := e.board.AlarmOf(ctx, space, layout.Alarm(layout.AlarmRetry, j.Key()))
		if err != nil {
			return x, err
		}
		x.SinceMs = int64(j.UpdatedAt) * 1000
		if set && j.Suspended != nil {
			x.NextMs = at.UnixMilli()
			return e.explainSuspended(ctx, space, j, x)
		}
		if set {
			x.Standing, x.NextMs = domain.StandingRetrying, at.UnixMilli()
			x.Text = fmt.Sprintf("attempt %d failed (%s); the next begins at %s", j.Attempt, j.Error, at.UTC().Format(time.RFC3339))
			if n := j.MaxRetries(); n > 0 {
				x.Text += fmt.Sprintf(", which is retry %d of %d", max(j.Failures, 1), n)
			}
			if says := j.Retry.PauseText(); says != "" {
				// The pause is longer with each attempt, and by jitter: what the rule says is not how long it is.
				pause := at.Sub(time.Unix(int64(j.UpdatedAt), 0)).Truncate(time.Second)
				x.Text += fmt.Sprintf(", after a pause of about %v (by its rule: %s)", pause, says)
			}
			return x, nil
		}
		x.Standing, x.Text = domain.StandingStuck, "it should be tried again, but no alarm is set for it"
		x.Mend = &Mend{Does: "sets it", Did: "the alarm was set", Add: func(b *board.Batch) {
			asRead(b, j, layout.JobNextRetryMs, layout.JobAttempt)
			b.Free(x.Key)
			b.SetAlarm(layout.Alarm(layout.AlarmRetry, j.Key()), time.UnixMilli(j.NextRetryMs))
		}}
		return x, nil
	}
	return x, nil
}

// foreign says whether an alarm looks after the job because a runner without
// a lease has it. It leaves Standing empty where not.
func (e *Engine) foreign(ctx context.Context, space board.Space, j *domain.Job, x explained) (explained, error) {
	at, set, err := e.board.AlarmOf(ctx, space, layout.Alarm(layout.AlarmForeign, j.Key()))
	if err != nil {
		return x, err
	}
	if set {
		x.Standing, x.SinceMs, x.NextMs = domain.StandingForeign, max(j.StartedMs, j.QueuedMs), at.UnixMilli()
		x.Text = "a runner that takes no leases has it; it is looked at until its timeout"
	}
	return x, nil
}

func (e *Engine) explainLeased(ctx context.Context, space board.Space, j *domain.Job, x explained) (explained, error) {
	l, ok, err := e.board.LeaseOf(ctx, space, x.Key)
	if err != nil {
		return x, err
	}
	x.Holder, x.SinceMs = j.LeaseOwner, j.StartedMs
	if !ok {
		x.Standing, x.Text = domain.StandingStuck, "its record names a holder, but there is no such lease"
		x.Mend = e.queuedAgain(j, func(b *board.Batch) {
			b.Equal(x.Key, layout.JobLeaseOwner, j.LeaseOwner)
			asRead(b, j, layout.JobAttempt)
			b.Release(x.Key)
			b.Unset(x.Key, layout.JobLeaseOwner, board.FieldQueue)
		})
		return x, nil
	}
	x.Standing, x.NextMs = domain.StandingLeased, l.Until.UnixMilli()
	x.Text = fmt.Sprintf("%s runs attempt %d; its lease is renewed until it ends", l.Owner, l.Token)
	if l.Over() { // nothing but a node's next look moves it
		x.NextMs = 0
		x.Text = fmt.Sprintf("%s took it for attempt %d and is gone, paused or cut off: its lease ran out at %s, "+
			"and the job waits for a node that takes it back", l.Owner, l.Token, l.Until.UTC().Format(time.RFC3339))
	}
	left, _, err := e.hasLeft(ctx, space, l)
	if err != nil {
		return x, err
	}
	if left {
		x.Text = fmt.Sprintf("%s has attempt %d, and is not among the workers any more: it has left, or has said nothing for long; "+
			"unless it asks again, its lease runs out at %s, and others may take the job", l.Owner, l.Token, l.Until.UTC().Format(time.RFC3339))
	}
	if u, is, err := e.unkeptBy(ctx, l.Owner, ref{space, j.Key()}); err != nil {
		return x, err
	} else if is {
		x.Text += "; its script has done its work, and what it left waits until it can be kept: " + storeText(u.Full)
	}
	if j.Cancel != "" {
		open, err := e.untold(ctx, j.LeaseOwner, space, x.Key, j.Attempt)
		if err != nil {
			return x, err
		}
		told := "; it has been told to stop"
		switch {
		case open && left:
			told = "; it has not been told to stop, and the job ends as cancelled then"
		case open:
			told = "; it is to be told to stop, with its next renewal at the latest"
		}
		x.Text += told
	}
	return x, nil
}

// workerOf is the worker of a context whose leases have an owner; is is false where that is none's.
func workerOf(space board.Space, owner string) (w domain.Worker, is bool) {
	actor, name, is := strings.Cut(strings.TrimPrefix(owner, domain.OutsideOwner), "/")
	n, err := strconv.ParseUint(actor, 10, 32)
	w = domain.Worker{Context: domain.TenantID(space), Actor: domain.ActorID(n), Name: name}
	return w, is && err == nil && w.Owner() == owner
}

// hasLeft reports whether a lease that holds is a worker's which is listed no more: nobody
// renews it, as far as anybody knows. still guards a commit that is to be only while that is so.
func (e *Engine) hasLeft(ctx context.Context, space board.Space, l board.Lease) (left bool, still func(*board.Batch), err error) {
	w, is := workerOf(space, l.Owner)
	if !is || l.Over() {
		return false, nil, nil
	}
	key := layout.Runner(w.RunnerID())
	recs, err := board.Readable(e.board.GetFields(ctx, space, []string{layout.RunnerWorker}, key))
	if err != nil {
		return false, nil, err
	}
	listed := recs[0].Get(layout.RunnerWorker)
	return listed != w.Name, func(b *board.Batch) { b.Equal(key, layout.RunnerWorker, listed).Held(l.Item, l.Owner, l.Token) }, nil
}

func (e *Engine) explainWaiting(ctx context.Context, space board.Space, j *domain.Job, rec board.Record, x explained) (explained, error) {
	x.Standing, x.SinceMs = domain.StandingStuck, int64(j.CreatedAt)*1000
	x.Text = fmt.Sprintf("it counts %d waits, but nothing would end them", j.Waits)
	found := 0
	open, err := e.openDependencies(ctx, space, j)
	if err != nil {
		return x, err
	}
	x.WaitsFor = append(x.WaitsFor, open...)
	found += len(open)
	for kind, names := range map[layout.AlarmKind][]string{layout.AlarmPrereq: layout.Unmet(rec), layout.AlarmStart: {"not_before"}} {
		at, set, err := e.board.AlarmOf(ctx, space, layout.Alarm(kind, j.Key()))
		if err != nil {
			return x, err
		}
		if set {
			found++
			x.WaitsFor = append(x.WaitsFor, names...)
			x.NextMs = at.UnixMilli()
		}
	}
	if found < j.Waits && j.FlowID != 0 {
		recs, err := e.board.Get(ctx, space, layout.FlowState(j.FlowID))
		if err != nil {
			return x, err
		}
		if layout.FlowHolds(recs[0], j.ID) {
			found++
			x.WaitsFor = append(x.WaitsFor, domain.FlowKey(j.FlowID)+" to begin")
		}
	}
	if found >= j.Waits {
		x.Standing, x.Text = domain.StandingWaiting, fmt.Sprintf("it waits for %d: %s%s", found, joinSome(x.WaitsFor), addressHint(x.WaitsFor))
		if len(open) == 0 && slices.Equal(x.WaitsFor, []string{"not_before"}) {
			x.Standing, x.Text = domain.StandingDelayed, "it may not begin before "+time.UnixMilli(j.NotBefore).UTC().Format(time.RFC3339)
		}
	}
	return x, nil
}

// openDependencies are the jobs that have not told j yet how they ended: they
// run, or their followers are being told.
func (e *Engine) openDependencies(ctx context.Context, space board.Space, j *domain.Job) ([]string, error) {
	if len(j.Dependends) == 0 {
		return nil, nil
	}
	keys := make([]string, len(j.Dependends))
	for i, id := range j.Dependends {
		keys[i] = domain.JobKey{Caller: j.CallerID, ID: id}.String()
	}
	recs, err := board.Readable(e.board.GetFields(ctx, space, []string{layout.JobFinishedMs}, keys...))
	if err != nil {
		return nil, err
	}
	var open []string
	for i, r := range recs {
		if r == nil {
			continue
		}
		if r.Get(layout.JobFinishedMs) == "" {
			open = append(open, keys[i])
			continue
		}
		dep := domain.JobKey{Caller: j.CallerID, ID: j.Dependends[i]}
		_, telling, err := e.board.AlarmOf(ctx, space, layout.Alarm(layout.AlarmCascade, dep))
		if err != nil {
			return nil, err
		}
		if telling {
			open = append(open, keys[i])
		}
	}
	return open, nil
}

func joinSome(names []string) string {
	const most = 5
	text := ""
	for i, n := range names {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, len(names)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}

// queueLook bounds how much of a queue Explain reads.
const queueLook = 100_000

func (e *Engine) explainQueued(ctx context.Context, space board.Space, j *domain.Job, x explained) (explained, error) {
	queue := queue.Of(j)
	x.Queue, x.SinceMs = queue, j.QueuedMs
	found, whole, err := e.aheadInQueue(ctx, space, queue, x.Key)
	if err == nil && found < 0 && whole {
		// What was taken between two pages moved others past the look.
		err = e.scanQueue(ctx, space, queue, func(item string) bool {
			if item == x.Key {
				found = 0
			}
			return found < 0
		})
	}
	switch {
	case err != nil:
		return x, err
	case found < 0 && whole && j.Final():
		_, live, err := e.liveSince(ctx, space, x.Key)
		if err != nil {
			return x, err
		}
		x.Standing, x.Text = domain.StandingForeign, "a runner that takes no leases ended it; what follows is done in a moment, or with the next audit"
		if !live {
			x.Standing, x.SinceMs, x.untaken = domain.StandingEnded, int64(j.UpdatedAt)*1000, true
			x.Text = "it was written past every door as one that has ended: " + string(j.Status) + "; nothing follows from that, for no node has had it before"
		}
	case found < 0 && whole && j.Status == domain.JobStarted:
		x.Standing, x.Text = domain.StandingForeign, "it is in no queue and nobody leases it: a runner that takes no leases may have it"
	case found < 0 && whole:
		taken, err := e.takenIn(ctx, space)
		switch {
		case err != nil:
			return x, err
		case taken(queue):
			x.Standing, x.Text = domain.StandingForeign, "it is in no queue, and runners that take no leases take from "+queue+": one of them may have it"
		default:
			x.Standing, x.Text = domain.StandingStuck, textUnqueued
			x.Mend = e.unqueued(j)
		}
	default:
		x.Standing, x.Ahead = domain.StandingQueued, found
		x.Text = domain.TextAhead(found, queueLook, queue)
	}
	return x, nil
}

const textUnqueued = "it is ready, but in no queue"

// unqueued brings back a job that should be in a queue and is not. Its guards hold it
// to the state it was seen in, so one that moved meanwhile is left alone.
func (e *Engine) unqueued(j *domain.Job) *Mend {
	return e.queuedAgain(j, func(b *board.Batch) { asSeen(b, j) })
}

// asSeen holds a batch to a job that nobody has and that has not moved.
func asSeen(b *board.Batch, j *domain.Job) {
	key := j.Key().String()
	b.Free(key)
	b.Equal(key, layout.JobStatus, string(j.Status))
	asRead(b, j, layout.JobAttempt, layout.JobQueuedMs)
}

// aheadInQueue counts what will be taken from a queue before key; -1 if it was
// not found. whole is false where the queue was too long to look at.
func (e *Engine) aheadInQueue(ctx context.Context, space board.Space, queue, key string) (ahead int, whole bool, err error) {
	n, err := e.board.Len(ctx, space, queue)
	if err != nil {
		return -1, false, err
	}
	for end := n[0]; end > 0; end -= listPage {
		from := max(0, end-listPage)
		items, err := e.board.List(ctx, space, queue, from, end-from)
		if err != nil {
			return -1, false, err
		}
		for _, it := range slices.Backward(items) {
			if it == key {
				return ahead, true, nil
			}
			ahead++
		}
		if ahead >= queueLook {
			return -1, false, nil
		}
	}
	return -1, true, nil
}

// scanQueue calls each with the items of a queue, newest first, until it
// returns false. It goes from where producers push, against the direction in
// which their pushes move the rest: no item that is there all the time is
// missed, some may come twice.
func (e *Engine) scanQueue(ctx context.Context, space board.Space, queue string, each func(item string) bool) error {
	for from := 0; ; from += listPage {
		items, err := e.board.List(ctx, space, queue, from, listPage)
		if err != nil {
			return err
		}
		for _, it := range items {
			if !each(it) {
				return nil
			}
		}
		if len(items) < listPage {
			return nil
		}
	}
}

// endText says by what a job ended that did not finish.
func endText(j *domain.Job) (text string) {
	if j.Reason != "" {
		text = " (" + string(j.Reason) + ")"
	}
	if j.ExitCode != nil && *j.ExitCode != 0 {
		text += fmt.Sprintf(", with exit code %d", *j.ExitCode)
	}
	if text != "" {
		text += "; `ramet job show` and `ramet job logs` say more"
	}
	return text
}
