package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/hide"
	"github.com/ramet-run/ramet/listing"
	"github.com/ramet-run/ramet/work"
)

// jobOf is the job that is asked for, in a caller's name: only what a caller may
// choose. What became of a job, and where it belongs, is not taken over.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden].
func jobOf(in *api.JobInput, caller domain.ActorID, tenant domain.TenantID) (*domain.Job, error) {
	if in.CallerID != 0 && in.CallerID != caller {
		return nil, domain.Forbiddenf("job %d: caller_id %d is not you: jobs are submitted in one's own name; leave it out, or write %d", in.ID, in.CallerID, caller)
	}
	if in.ContextID != 0 && in.ContextID != tenant {
		return nil, domain.Invalidf("job %d: context_id %d, but it is submitted to context %d; leave it out", in.ID, in.ContextID, tenant)
	}
	if err := hide.Refuse(in.EnvVars); err != nil {
		return nil, fmt.Errorf("job %d: %w", in.ID, err)
	}
	needs := in.Dependends
	if len(needs) == 0 {
		needs = in.Depends
	} else if len(in.Depends) > 0 && !slices.Equal(needs, in.Depends) {
		return nil, domain.Invalidf("job %d: dependends and depends are two spellings of one field; give one", in.ID)
	}
	return &domain.Job{
		ID: in.ID, CallerID: caller, ContextID: tenant, Script: in.Script, ScriptType: in.ScriptType, Timeout: in.Timeout,
		Retries: in.Retries, Retry: in.Retry, EnvVars: in.EnvVars, Secrets: in.Secrets, Prerequisites: in.Prerequisites, Dependends: needs, Priority: in.Priority,
		NotBefore: in.NotBefore, ForRunner: in.ForRunner, PrerequisiteTimeout: in.PrerequisiteTimeout, TraceID: in.TraceID, Affinity: in.Affinity, At: in.At,
		Artifacts: in.Artifacts,
	}, nil
}

// SubmitJobs submits in the caller's own name. Of a list each job gets its own
// answer; a single job that is refused is an error.
func (c Caller) SubmitJobs(ctx context.Context, p api.SubmitParams) (api.JobSubmitted, error) {
	if err := c.maySubmit(ctx, p.Context, "job"); err != nil {
		return api.JobSubmitted{}, err
	}
	single := p.Jobs == nil
	inputs := p.Jobs
	if single {
		inputs = []api.JobInput{p.JobInput}
	} else if p.Script != "" || p.ScriptType != "" || p.ID != 0 {
		return api.JobSubmitted{}, domain.Invalidf("the body has jobs and the fields of one job; give either")
	}
	jobs := make([]*domain.Job, len(inputs))
	for i := range inputs {
		j, err := jobOf(&inputs[i], c.who.Actor, p.Context)
		if err != nil {
			return api.JobSubmitted{}, err
		}
		jobs[i] = j
	}
	traced(ctx, jobs)
	if err := c.mayGoAll(jobs, nil); err != nil {
		return api.JobSubmitted{}, err
	}
	began := time.Now()
	receipts, err := c.submitJobs(ctx, p.Context, jobs)
	if err != nil {
		return api.JobSubmitted{}, err
	}
	for i := range receipts {
		if r := &receipts[i]; r.Err == nil && !r.Existing {
			c.asked(ctx, p.Context, began, r.Key.String())
		}
	}
	if single && receipts[0].Err != nil {
		return api.JobSubmitted{}, receipts[0].Err
	}
	return api.JobSubmitted{Jobs: c.receipts(ctx, receipts), Durability: c.api.parts.Durability()}, nil
}

// submitJobs submits them; those of a request that has a key under names of the request: done
// again it finds them, though they may be gone by then, and makes none.
func (c Caller) submitJobs(ctx context.Context, tenant domain.TenantID, jobs []*domain.Job) ([]work.Receipt, error) {
	if c.once == nil {
		return c.api.parts.Jobs.Submit(ctx, tenant, jobs)
	}
	if first, err := c.once.numberedBefore(); err != nil {
		return nil, err
	} else if first != 0 {
		for _, j := range jobs {
			if j.ID == 0 {
				j.ID = domain.JobID(first)
				first++
			}
		}
	}
	names := make([]string, len(jobs))
	for i := range jobs {
		names[i] = c.once.name(i)
	}
	return c.api.parts.Jobs.SubmitUnder(ctx, tenant, jobs, names, onceFor)
}

func (c Caller) receipts(ctx context.Context, list []work.Receipt) []api.Submitted {
	out := make([]api.Submitted, len(list))
	for i, r := range list {
		out[i] = api.Submitted{Existing: r.Existing}
		if r.Key.ID != 0 { // 0: refused before it got a number
			out[i].Key = r.Key.String()
		}
		if r.Err != nil {
			p := c.api.itemProblem(ctx, r.Err)
			out[i].Error = &p
		}
	}
	return out
}

// mayJob asks for a right on a job.
func (c Caller) mayJob(ctx context.Context, verb domain.Verb, p api.JobParams) (domain.Tenant, error) {
	return c.may(ctx, verb, p.Context, p.Key().String())
}

// view is the job as the caller may see it.
func (c Caller) view(t domain.Tenant, j *domain.Job) *domain.Job {
	if len(j.EnvVars) == 0 || c.who.Permits(t, domain.VerbReadEnv, identity.Holds(c.who.Actor, j.LeaseOwner), c.group) {
		return j
	}
	seen := *j
	seen.EnvVars = make(map[string]string, len(j.EnvVars))
	for name := range j.EnvVars {
		seen.EnvVars[name] = api.Redacted
	}
	return &seen
}

// ShowJob reads one job: from the archive, once the board has let it go.
func (c Caller) ShowJob(ctx context.Context, p api.JobParams) (*domain.Job, error) {
	t, err := c.mayJob(ctx, domain.VerbRead, p)
	if err != nil {
		return nil, err
	}
	j, err := c.api.parts.Jobs.Show(ctx, p.Context, p.Key())
	if err != nil {
		j, _, err = c.showArchived(ctx, p, err)
	}
	if err != nil {
		return nil, err
	}
	return c.view(t, j), nil
}

// ListJobs lists a page: those that have not ended in the order in which they began,
// those that ended in error the newest end first, others the newest of the context's
// members first. It looks on where nothing matches, but not for ever: a page may be
// empty while more is to come. A job that is there all the time comes at least once
// over all pages.
func (c Caller) ListJobs(ctx context.Context, p api.ListJobsParams) (api.JobPage, error) {
	t, err := c.may(ctx, domain.VerbRead, p.Context, "jobs")
	if err != nil {
		return api.JobPage{}, err
	}
	f, err := c.findJobs(ctx, t, p, wanted[*domain.Job]{cursor: p.Cursor, limit: p.Limit, count: p.Count}, false)
	if f.list == nil {
		f.list = []*domain.Job{}
	}
	return api.JobPage{Jobs: f.list, Next: f.next, Looked: f.looked, Count: f.count}, err
}

// findJobs finds what of jobs is wanted that a filter fits; live: only what has not ended.
func (c Caller) findJobs(ctx context.Context, t domain.Tenant, p api.ListJobsParams, w wanted[*domain.Job], live bool) (none found[*domain.Job], err error) {
	if p.Status != "" && !p.Status.Known() {
		return none, domain.Invalidf("status %q: want dispatched, waiting_for_prerequisites, started, error or finished%s", p.Status, didYouMean(string(p.Status),
			[]string{string(domain.JobDispatched), string(domain.JobWaiting), string(domain.JobStarted), string(domain.JobError), string(domain.JobFinished)}))
	}
	if p.Phase != "" && !p.Phase.Known() {
		var words []string
		for _, phase := range domain.JobPhases {
			words = append(words, string(phase))
		}
		return none, domain.Invalidf("phase %q: want queued, blocked, running, suspended or retrying%s", p.Phase, didYouMean(string(p.Phase), words))
	}
	filter := work.Filter{Status: p.Status, Type: p.Type, Caller: p.Caller, Flow: p.Flow, Phase: p.Phase, Callers: membersOf(t), Live: live, Look: w.look()}
	if filter.Way, err = wayOf(p.Sort, filter.Ways()); err != nil {
		return none, err
	}
	if (p.JobFilter == api.JobFilter{} || p.JobFilter == api.JobFilter{Status: domain.JobError}) && w.limit > 0 && !w.count {
		filter.Look = w.limit // all that is looked at is listed
	}
	w.tenant, w.list = p.Context, listName("jobs", p.JobFilter, p.Sort)
	w.where, w.name, w.narrow = p.Where, "job", p.Narrowing
	w.made, w.grain = func(j *domain.Job) int64 { return j.CreatedAt.Time().UnixMilli() }, aSecond
	w.page = func(cursor string) ([]*domain.Job, listing.At, error) {
		return c.api.parts.Jobs.List(ctx, p.Context, filter, cursor)
	}
	w.key = func(j *domain.Job) string { return j.Key().String() }
	w.isKey = func(key string) bool { _, err := domain.ParseJobKey(key); return err == nil }
	return find(ctx, c, w)
}

// aSecond is how exactly created_at is known of records of the seeds, in milliseconds.
const aSecond = 1000

// LiveJobs is how many jobs of a context have not ended, by how they stand.
type LiveJobs struct {
	Running, Suspended int
	Retrying           int // between two attempts
	Waiting            int // for a runner
	Blocked            int // waiting for what they need: other jobs, prerequisites
	// OldestMs is since when the one waits for a runner that began to wait first; 0: none does.
	OldestMs int64
	// More says that there was too much to look through: there may be more of each.
	More bool
}

// All is how many there are together.
func (n *LiveJobs) All() int { return n.Running + n.Suspended + n.Retrying + n.Waiting + n.Blocked }

// CountLive counts them in one pass: a job.list of each state would look through them all anew.
func (c Caller) CountLive(ctx context.Context, tenant domain.TenantID) (n LiveJobs, err error) {
	t, err := c.may(ctx, domain.VerbRead, tenant, "jobs")
	if err != nil {
		return n, err
	}
	filter := work.Filter{Live: true, Brief: true, Callers: membersOf(t)}
	cursor, looked := "", 0
	// Pages count as well as records, as in find.
	for pages := 0; pages*listing.Look < lookMost*countMore && looked < lookMost*countMore; pages++ {
		list, at, err := c.api.parts.Jobs.List(ctx, tenant, filter, cursor)
		if err != nil {
			return n, err
		}
		for _, j := range list {
			n.add(j)
		}
		if cursor, looked = at.Next, looked+at.Looked; cursor == "" {
			return n, nil
		}
	}
	n.More = true
	return n, nil
}

func (n *LiveJobs) add(j *domain.Job) {
	switch j.Phase() {
	case domain.PhaseQueued:
		n.Waiting++
		// They come in the order in which they were made, in which followers are not queued.
		if at := cmp.Or(j.QueuedMs, j.CreatedAt.Time().UnixMilli()); n.OldestMs == 0 || at < n.OldestMs {
			n.OldestMs = at
		}
	case domain.PhaseBlocked:
		n.Blocked++
	case domain.PhaseSuspended:
		n.Suspended++
	case domain.PhaseRetrying:
		n.Retrying++
	case domain.PhaseRunning:
		n.Running++
	}
}

// membersOf are those whose work a context has, mostly: who is in none of its lists
// (any more) has work there, too, which is listed last.
func membersOf(t domain.Tenant) []domain.ActorID {
	list := slices.Concat([]domain.ActorID{domain.Operator}, t.Admins)
	if t.ExecutorsMaySubmit {
		list = append(list, t.Executors...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// waitMost bounds job.wait without a stream.
const waitMost = time.Minute

// WaitJob waits for a job's end for a while, and returns it as it stands then.
func (c Caller) WaitJob(ctx context.Context, p api.WaitParams) (*domain.Job, error) {
	if _, err := c.mayJob(ctx, domain.VerbRead, p.JobParams); err != nil {
		return nil, err
	}
	most := cmp.Or(time.Duration(p.TimeoutMs)*time.Millisecond, waitMost)
	if most < 0 || most > waitMost {
		return nil, domain.Invalidf("timeout_ms %d: want 0 to %d; ask for a stream to wait longer", p.TimeoutMs, waitMost.Milliseconds())
	}
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := c.api.parts.Jobs.Await(waiting, p.Context, p.Key())
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil
	}
	if err != nil && !errors.Is(err, domain.ErrNotFound) { // it may have ended long ago
		return nil, err
	}
	if err := c.begin(ctx, p.Context); err != nil {
		return nil, err
	}
	return c.ShowJob(ctx, p.JobParams) // asks again: the right may be gone
}

// WatchJob is the stream of job.wait: the job as it stands, and the job once
// it has ended. params are *[api.WaitParams].
func (c Caller) WatchJob(ctx context.Context, params any, emit func(api.Event) error) error {
	p := params.(*api.WaitParams).JobParams
	t, err := c.mayJob(ctx, domain.VerbRead, p)
	if err != nil {
		return err
	}
	show := func(name string) (ended bool, err error) {
		if err := c.begin(ctx, p.Context); err != nil {
			return false, err
		}
		defer c.end()
		j, err := c.api.parts.Jobs.Show(ctx, p.Context, p.Key())
		if err != nil {
			j, _, err = c.showArchived(ctx, p, err)
			name = api.EventEnd
		}
		if err != nil {
			return false, err
		}
		return name == api.EventEnd, emit(api.Event{Name: name, Data: c.view(t, j)})
	}
	if ended, err := show(api.EventJob); ended || err != nil {
		return err
	}
	if err := c.api.parts.Jobs.Await(ctx, p.Context, p.Key()); err != nil {
		return err
	}
	_, err = show(api.EventEnd)
	return err
}

// CancelJob ends a job that waits, or tells one that runs to stop. The operator may
// in every context: it gets to know that the job is told, not what it does.
func (c Caller) CancelJob(ctx context.Context, p api.JobParams) (*domain.Job, error) {
	t, err := c.mayJob(ctx, domain.VerbStop, p)
	if err != nil {
		return nil, err
	}
	j, err := c.api.parts.Jobs.Cancel(ctx, p.Context, p.Key(), c.who.Actor)
	if err != nil {
		return nil, err
	}
	if !c.who.Permits(t, domain.VerbRead, false, c.group) {
		return &domain.Job{ID: j.ID, CallerID: j.CallerID, ContextID: j.ContextID, ScriptType: j.ScriptType, Status: j.Status, Reason: j.Reason,
			Attempt: j.Attempt, CreatedAt: j.CreatedAt, StartedMs: j.StartedMs, FinishedMs: j.FinishedMs, Cancel: j.Cancel}, nil
	}
	return c.view(t, j), nil
}

// RetryJob starts a job again that ended in error.
func (c Caller) RetryJob(ctx context.Context, p api.JobParams) (*domain.Job, error) {
	t, err := c.mayJob(ctx, domain.VerbRetry, p)
	if err != nil {
		return nil, err
	}
	j, err := c.api.parts.Jobs.Retry(ctx, p.Context, p.Key())
	if err != nil {
		return nil, err
	}
	return c.view(t, j), nil
}

// ExplainJob says why a job is where it is.
func (c Caller) ExplainJob(ctx context.Context, p api.JobParams) (domain.JobExplanation, error) {
	if _, err := c.mayJob(ctx, domain.VerbRead, p); err != nil {
		return domain.JobExplanation{}, err
	}
	x, err := c.api.parts.Jobs.Explain(ctx, p.Context, p.Key())
	if err == nil {
		return x, nil
	}
	j, _, err := c.showArchived(ctx, p, err)
	if err != nil {
		return domain.JobExplanation{}, err
	}
	return domain.JobExplanation{Key: j.Key().String(), Status: j.Status, Standing: domain.StandingEnded, SinceMs: j.FinishedMs,
		Text: "it has ended: " + string(j.Status) + "; only the archive still has it"}, nil
}
