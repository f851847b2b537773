package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// MaxSubmit bounds the jobs of one Submit.
const MaxSubmit = 10_000

// submitTries bounds how often a submit is put together again because a job
// it depends on moved under it.
const submitTries = 20

// Receipt is the answer for one submitted job.
type Receipt struct {
	Key domain.JobKey
	// Existing is true when the same job was there already: nothing was done.
	Existing bool
	// Err is why this job was refused; the others are not touched by it.
	Err error
}

// Submit writes jobs of one context and queues those that need not wait. When
// it returns, what was accepted is as durable as the board is. Jobs may depend
// on jobs of the same caller that exist, or that come in the same call, in any
// order. Id 0 asks for the caller's next free id, which is put into the job.
//
// Submitting the same job again is a no-op that returns the existing one.
//
// Errors: [domain.ErrInvalid] for a circle or too many jobs: then nothing was
// submitted. Each Receipt has its own: [domain.ErrInvalid],
// [domain.ErrConflict] for an id in use with other content,
// [domain.ErrUnavailable].
//
// Source: seed 000, "Message flow", steps 5 and 6.
func (e *Engine) Submit(ctx context.Context, tenant domain.TenantID, jobs []*domain.Job) ([]Receipt, error) {
	if len(jobs) > MaxSubmit {
		return nil, tooMany(len(jobs))
	}
	s := e.newSubmission(tenant, jobs)
	return s.receipts, s.do(ctx)
}

func tooMany(jobs int) error {
	return domain.Invalidf("%d jobs in one submit, the limit is %d", jobs, MaxSubmit)
}

// AddJobs adds to b what Submit would write of jobs that have their ids, where one
// commit can: all are accepted, and none depends on another. It is false where that
// is not so: b is as it was, and Submit says of each job what is wrong with it. The
// commit is a conflict where an id is not free.
//
// Errors: as of Submit.
func (e *Engine) AddJobs(ctx context.Context, b *board.Batch, tenant domain.TenantID, jobs []*domain.Job) (bool, error) {
	if slices.ContainsFunc(jobs, func(j *domain.Job) bool { return j.ID == 0 || len(j.Dependends) > 0 }) {
		return false, nil
	}
	s := e.newSubmission(tenant, jobs)
	s.check(ctx, jobs)
	ordered, err := s.order(jobs)
	if err != nil || len(ordered) < len(jobs) {
		return false, err
	}
	if err := e.Announce(ctx, ordered...); err != nil {
		return false, err
	}
	all := board.Batch{Space: b.Space, Guards: slices.Clone(b.Guards), Ops: slices.Clone(b.Ops)}
	for _, j := range ordered {
		one, err := s.batch(ctx, j, true)
		if err != nil {
			return false, err
		}
		all.Guards, all.Ops = append(all.Guards, one.Guards...), append(all.Ops, one.Ops...)
	}
	if !all.Fits(e.board.Limits()) {
		return false, nil
	}
	*b = all
	e.Took(tenant, len(ordered))
	return true, nil
}

func (e *Engine) newSubmission(tenant domain.TenantID, jobs []*domain.Job) *submission {
	for _, j := range jobs {
		j.ContextID = tenant
	}
	return &submission{e: e, space: layout.SpaceOf(tenant), now: e.board.Now(), jobs: jobs,
		byKey: make(map[domain.JobKey]int, len(jobs)), receipts: make([]Receipt, len(jobs)), drawn: map[*domain.Job]bool{}}
}

// do fills the receipts.
func (s *submission) do(ctx context.Context) error {
	s.check(ctx, s.jobs)
	if err := s.number(ctx, s.jobs); err != nil {
		return err
	}
	ordered, err := s.order(s.jobs)
	if err != nil {
		return err
	}
	if err := s.e.Announce(ctx, ordered...); err != nil {
		return err
	}
	s.commit(ctx, ordered)
	return nil
}

// submission is one call of Submit.
type submission struct {
	e        *Engine
	space    board.Space
	now      time.Time
	jobs     []*domain.Job
	byKey    map[domain.JobKey]int // accepted jobs -> index in jobs and receipts
	receipts []Receipt
	drawn    map[*domain.Job]bool    // their ids were chosen here, not by the caller
	tickets  map[*domain.Job]*ticket // of [Engine.SubmitUnder]; nil elsewhere
}

// check validates every job; a bad one only gets its receipt.
func (s *submission) check(ctx context.Context, jobs []*domain.Job) {
	for i, j := range jobs {
		err := j.Validate()
		if err == nil {
			err = s.e.bans.Submit(j.ContextID, "", j.ScriptType)
		}
		if err == nil {
			err = s.e.place(ctx, j)
		}
		if err == nil {
			err = s.e.known(ctx, j.ContextID, j)
		}
		if err == nil {
			err = s.e.CheckPlace(ctx, j.ContextID, j.CallerID, j.At)
		}
		if err == nil {
			err = validatePrerequisites(j.Prerequisites)
		}
		s.receipts[i].Err = err
	}
}

// number gives ids to jobs that ask for one.
func (s *submission) number(ctx context.Context, jobs []*domain.Job) error {
	wanted := map[domain.ActorID][]*domain.Job{}
	chosen := map[domain.JobKey]bool{} // by hand, in this call
	highest := map[domain.ActorID]domain.JobID{}
	for i, j := range jobs {
		if j.ID == 0 && s.receipts[i].Err == nil {
			wanted[j.CallerID] = append(wanted[j.CallerID], j)
		} else if j.ID != 0 {
			chosen[j.Key()] = true
		}
		if j.ID != 0 && s.receipts[i].Err == nil {
			highest[j.CallerID] = max(highest[j.CallerID], j.ID)
		}
	}
	for caller, id := range highest {
		if err := s.e.choose(ctx, chooser{s.space, caller}, id); err != nil {
			return err
		}
	}
	for caller, list := range wanted {
		first, err := s.e.board.Next(ctx, s.space, layout.Seq("job", caller), len(list))
		if err != nil {
			return err
		}
		if first+int64(len(list)) > 1<<32 {
			return domain.Limitf("caller %d has used up its job ids", caller)
		}
		for i, j := range list {
			j.ID = domain.JobID(first + int64(i))
			s.drawn[j] = true
			for chosen[j.Key()] {
				if first, err := s.e.board.Next(ctx, s.space, layout.Seq("job", caller), 1); err != nil {
					return err
				} else if j.ID = domain.JobID(first); first >= 1<<32 {
					return domain.Limitf("caller %d has used up its job ids", caller)
				}
			}
		}
	}
	return nil
}

// chooser is a caller who chooses numbers of jobs.
type chooser struct {
	space  board.Space
	caller domain.ActorID
}

// choose notes on the board who chooses a number that was not given out.
func (e *Engine) choose(ctx context.Context, who chooser, id domain.JobID) error {
	if _, known := e.choosers.Load(who); known {
		return nil
	}
	next, err := e.board.Next(ctx, who.space, layout.Seq("job", who.caller), 0)
	if err != nil || int64(id) < next {
		return err
	}
	b := board.Batch{Space: who.space}
	layout.Choose(&b, who.caller)
	if err := e.board.Commit(ctx, b); err != nil {
		return err
	}
	e.choosers.Store(who, true)
	return nil
}

// redraw gives a job another id, because somebody chose the drawn one by hand.
// Each try goes twice as far, so that a long run of such ids is soon left
// behind.
func (s *submission) redraw(ctx context.Context, j *domain.Job, try int) error {
	step := int64(1) << min(try, 16)
	first, err := s.e.board.Next(ctx, s.space, layout.Seq("job", j.CallerID), int(step))
	if err != nil {
		return err
	}
	if first+step > 1<<32 {
		return domain.Limitf("caller %d has used up its job ids", j.CallerID)
	}
	i := s.byKey[j.Key()]
	delete(s.byKey, j.Key())
	j.ID = domain.JobID(first + step - 1)
	s.byKey[j.Key()], s.receipts[i].Key = i, j.Key()
	return nil
}

// order sorts the accepted jobs so that dependencies come first, and finds
// circles and ids that are used twice.
func (s *submission) order(jobs []*domain.Job) ([]*domain.Job, error) {
	accepted := make([]*domain.Job, 0, len(jobs))
	for i, j := range jobs {
		s.receipts[i].Key = j.Key()
		if s.receipts[i].Err != nil {
			continue
		}
		if _, twice := s.byKey[j.Key()]; twice {
			s.receipts[i].Err = domain.Conflictf("job %q is in this submit twice", j.Key())
			continue
		}
		s.byKey[j.Key()] = i
		accepted = append(accepted, j)
	}
	return domain.OrderJobs(accepted)
}

// commit writes the jobs, all in one go where it can. Batches whose guards
// failed are put together again one by one.
func (s *submission) commit(ctx context.Context, jobs []*domain.Job) {
	batches := make([]board.Batch, 0, len(jobs))
	owners := make([]*domain.Job, 0, len(jobs))
	for _, j := range jobs {
		b, err := s.batch(ctx, j, true)
		if err != nil {
			s.receipt(j).Err = err
			continue
		}
		batches = append(batches, b)
		owners = append(owners, j)
	}
	for i, err := range s.e.board.CommitEach(ctx, batches) {
		if errors.Is(err, domain.ErrConflict) && !s.tickets[owners[i]].taken(err) {
			err = s.again(ctx, owners[i])
		}
		s.receipt(owners[i]).Err = err
	}
	s.e.Took(domain.TenantID(s.space), len(batches))
}

func (s *submission) receipt(j *domain.Job) *Receipt { return &s.receipts[s.byKey[j.Key()]] }

// again submits one job whose first try met a conflict: it exists, or a job
// it depends on has moved.
func (s *submission) again(ctx context.Context, j *domain.Job) error {
	for try := range submitTries {
		old, _, err := s.e.load(ctx, s.space, j.Key())
		switch {
		case (err == nil || errors.Is(err, domain.ErrInvalid)) && s.drawn[j]:
			if err := s.redraw(ctx, j, try); err != nil {
				return err
			}
		case err == nil || errors.Is(err, domain.ErrInvalid):
			if !old.Same(j) {
				return domain.Conflictf("job %q exists with other content; choose another id, or 0 for the next free one", j.Key())
			}
			s.receipt(j).Existing = true
			return s.tickets[j].keepFor(ctx, s.e.board, s.space, j)
		case !errors.Is(err, domain.ErrNotFound):
			return err
		}
		b, err := s.batch(ctx, j, false)
		if err != nil {
			return err
		}
		if err := s.e.board.Commit(ctx, b); !errors.Is(err, domain.ErrConflict) || s.tickets[j].taken(err) {
			return err
		}
	}
	return domain.Conflictf("job %q: the jobs it depends on change too quickly; submit it again", j.Key())
}

// batch puts together the commit that creates j. fresh is true at the first
// try, when jobs of the same call are taken to be unfinished.
func (s *submission) batch(ctx context.Context, j *domain.Job, fresh bool) (board.Batch, error) {
	b := board.Batch{Space: s.space, Ops: make([]board.Op, 0, 4)}
	key := j.Key().String()
	s.tickets[j].guard(&b)
	b.Absent(key)
	s.reset(j)
	failed, err := s.follow(ctx, &b, j, fresh)
	if err != nil {
		return b, err
	}
	if failed != 0 {
		s.stillborn(&b, j, failed)
		s.tickets[j].write(&b, j)
		return b, nil
	}
	s.tickets[j].write(&b, j)
	s.wait(&b, j)
	if j.Waits == 0 {
		j.QueuedMs = s.now.UnixMilli()
	}
	takeHistory(&b, j)
	b.Set(key, jobFields(j)...)
	b.Live(key, s.now)
	if j.Waits == 0 {
		b.PushLeft(queue.Of(j), key)
	}
	return b, nil
}

// jobFields are the fields of a new job, with what it still waits for.
func jobFields(j *domain.Job) []board.Field {
	fields := layout.EncodeJob(j)
	if len(j.Prerequisites) > 0 && !j.Final() {
		fields = append(fields, layout.UnmetField(j.Prerequisites))
	}
	return fields
}

// reset sets what a caller cannot choose.
func (s *submission) reset(j *domain.Job) {
	j.Status, j.Waits, j.Followers, j.QueuedMs = domain.JobDispatched, 0, 0, 0
	j.CreatedAt, j.UpdatedAt = domain.At(s.now), domain.At(s.now)
	j.Result, j.Reason, j.Error, j.ExitCode = nil, "", "", nil
	j.Attempt, j.Losses, j.Failures, j.RunnerID, j.LeaseOwner, j.Cancel = 0, 0, 0, 0, "", ""
	j.StartedMs, j.FinishedMs, j.NextRetryMs = 0, 0, 0
	j.Signals, j.Suspended, j.Calls = 0, nil, 0
	j.TakenBy, j.EndedBy, j.AliveUntil = 0, 0, 0
}

// follow registers j with every job it depends on that has not ended. It
// returns the id of one that has ended badly.
func (s *submission) follow(ctx context.Context, b *board.Batch, j *domain.Job, fresh bool) (failed domain.JobID, err error) {
	if len(j.Dependends) == 0 {
		return 0, nil
	}
	deps, err := s.states(ctx, j, fresh)
	if err != nil {
		return 0, err
	}
	entry := layout.Follower(j)
	for _, d := range deps {
		switch d.status {
		case domain.JobFinished:
			continue
		case domain.JobError:
			return d.key.ID, nil
		}
		d.guard(b)
		d.register(b, entry, s.now)
		j.Waits++
	}
	if j.Waits > 0 {
		j.Status = domain.JobWaiting
	}
	return 0, nil
}

// dependency is what a submit must know of a job that another depends on.
type dependency struct {
	key        domain.JobKey
	status     domain.JobStatus
	scriptType string
	finishedMs string // as the record has it
	foreign    bool   // a foreign program wrote it and we have not taken it over
}

// guard holds the batch to the dependency as it was read. Its instant of
// finishing is set by the commit that also tells the followers: "" means that
// this is still to come. But "" is also what a record has that is not there:
// a job always has a type.
func (d *dependency) guard(b *board.Batch) {
	key := d.key.String()
	b.Equal(key, layout.JobScriptType, d.scriptType)
	b.Equal(key, layout.JobFinishedMs, d.finishedMs)
}

// register puts a follower's entry on the dependency's list. The number of
// followers counts every change of that list, so that the one who tells them
// can guard what it has read.
func (d *dependency) register(b *board.Batch, entry string, now time.Time) {
	if d.foreign {
		// Nobody has marked it as unfinished, so the auditor would not see it
		// end.
		b.Live(d.key.String(), now)
	}
	b.Add(d.key.String(), layout.JobFollowers, 1)
	b.PushRight(layout.Followers(d.key), entry)
}

// states looks at each job that j depends on; those of the same call count as
// dispatched at the first try.
func (s *submission) states(ctx context.Context, j *domain.Job, fresh bool) ([]dependency, error) {
	states := make([]dependency, len(j.Dependends))
	var ask []string
	var at []int
	for i, id := range j.Dependends {
		dep := domain.JobKey{Caller: j.CallerID, ID: id}
		states[i].key = dep
		if r, here := s.byKey[dep]; here && fresh && s.receipts[r].Err == nil {
			states[i].status, states[i].scriptType = domain.JobDispatched, string(s.jobs[r].ScriptType)
			continue
		}
		ask, at = append(ask, dep.String()), append(at, i)
	}
	if len(ask) == 0 {
		return states, nil
	}
	recs, err := s.e.board.Get(ctx, s.space, ask...)
	if err != nil {
		return nil, err
	}
	for n, r := range recs {
		d := &states[at[n]]
		// A key that was queued but not written has the fields of its claim.
		if r.Get(layout.JobScriptType) == "" {
			return nil, s.missing(j, d.key)
		}
		d.read(r)
	}
	return states, nil
}

// read takes from the dependency's record what a follower must know.
func (d *dependency) read(r board.Record) {
	d.status = domain.JobStatus(r.Get(layout.JobStatus))
	d.scriptType, d.finishedMs = r.Get(layout.JobScriptType), r.Get(layout.JobFinishedMs)
	d.foreign = d.finishedMs == "" && r.Get(layout.JobQueuedMs) == "" && r.Get(layout.JobWaits) == ""
	if d.finishedMs == "" && d.status.Final() {
		// A foreign runner ended it and we have not settled it yet: the
		// settling will count us down like any follower.
		d.status = domain.JobStarted
	}
}

// missing says that a job which j depends on is not there, and why if it was
// to come with the same call.
func (s *submission) missing(j *domain.Job, dep domain.JobKey) error {
	if r, here := s.byKey[dep]; here && s.receipts[r].Err != nil {
		return fmt.Errorf("job %q depends on %s, which was not accepted: %w", j.Key(), dep, s.receipts[r].Err)
	}
	return domain.Invalidf("job %q depends on %s, which does not exist; submit it before, or in the same call", j.Key(), dep)
}

// stillborn records a job that can never start.
func (s *submission) stillborn(b *board.Batch, j *domain.Job, failed domain.JobID) {
	// Guards on other dependencies stay, their registrations do not.
	b.Ops = nil
	j.Waits = 0
	j.Status, j.Reason = domain.JobError, domain.ReasonDependencyFailed
	j.Error = dependencyText(domain.JobKey{Caller: j.CallerID, ID: failed})
	j.FinishedMs = s.now.UnixMilli()
	b.Set(j.Key().String(), jobFields(j)...)
	layout.Ended(b, j.Key().String(), s.now, layout.FailedJobs, true)
	layout.TellWaiters(b, j, s.now)
}

func dependencyText(dep domain.JobKey) string {
	return "it depends on " + dep.String() + ", which ended in error"
}

// wait adds what j waits for besides other jobs.
func (s *submission) wait(b *board.Batch, j *domain.Job) { wait(b, j, s.now) }

func wait(b *board.Batch, j *domain.Job, now time.Time) {
	if len(j.Prerequisites) > 0 {
		j.Waits++
		j.Status = domain.JobWaiting
		b.SetAlarm(layout.Alarm(layout.AlarmPrereq, j.Key()), now)
		for _, p := range j.Prerequisites {
			if prerequisiteKind(p) == kindName {
				b.Include(layout.Wanted(p), j.Key().String())
			}
		}
	}
	if j.NotBefore > now.UnixMilli() {
		j.Waits++
		b.SetAlarm(layout.Alarm(layout.AlarmStart, j.Key()), time.UnixMilli(j.NotBefore))
	}
}

// ready returns the fields a job gets when it becomes ready at now.
func ready(now time.Time) board.Field {
	return board.Field{Name: layout.JobQueuedMs, Value: strconv.FormatInt(now.UnixMilli(), 10)}
}
