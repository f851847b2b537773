package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// Redacted stands for the values of environment variables that the caller may
// not read.
const Redacted = "***"

// job is the job that is asked for, in a caller's name: only what a caller may
// choose. What became of a job, and where it belongs, is not taken over.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden].
func (in *JobInput) job(caller domain.ActorID, tenant domain.TenantID) (*domain.Job, error) {
	if in.CallerID != 0 && in.CallerID != caller {
		return nil, domain.Forbiddenf("job %d: caller_id %d is not you: jobs are submitted in one's own name; leave it out, or write %d", in.ID, in.CallerID, caller)
	}
	if in.ContextID != 0 && in.ContextID != tenant {
		return nil, domain.Invalidf("job %d: context_id %d, but it is submitted to context %d; leave it out", in.ID, in.ContextID, tenant)
	}
	needs := in.Dependends
	if len(needs) == 0 {
		needs = in.Depends
	} else if len(in.Depends) > 0 && !slices.Equal(needs, in.Depends) {
		return nil, domain.Invalidf("job %d: dependends and depends are two spellings of one field; give one", in.ID)
	}
	return &domain.Job{
		ID: in.ID, CallerID: caller, ContextID: tenant, Script: in.Script, ScriptType: in.ScriptType, Timeout: in.Timeout,
		Retries: in.Retries, Retry: in.Retry, EnvVars: in.EnvVars, Prerequisites: in.Prerequisites, Dependends: needs, Priority: in.Priority,
		NotBefore: in.NotBefore, ForRunner: in.ForRunner, PrerequisiteTimeout: in.PrerequisiteTimeout, TraceID: in.TraceID, Affinity: in.Affinity, At: in.At,
	}, nil
}

// SubmitParams are those of job.submit: a list of up to [work.MaxSubmit] jobs,
// or the fields of one.
type SubmitParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	JobSubmit
	JobInput
}

// SubmitJobs submits in the caller's own name. Of a list each job gets its own
// answer; a single job that is refused is an error.
func (c Caller) SubmitJobs(ctx context.Context, p SubmitParams) (JobSubmitted, error) {
	if _, err := c.may(ctx, identity.Create, p.Context, "job"); err != nil {
		return JobSubmitted{}, err
	}
	single := p.Jobs == nil
	if single {
		p.Jobs = []JobInput{p.JobInput}
	} else if p.Script != "" || p.ScriptType != "" || p.ID != 0 {
		return JobSubmitted{}, domain.Invalidf("the body has jobs and the fields of one job; give either")
	}
	jobs := make([]*domain.Job, len(p.Jobs))
	for i := range p.Jobs {
		j, err := p.Jobs[i].job(c.who.Actor, p.Context)
		if err != nil {
			return JobSubmitted{}, err
		}
		jobs[i] = j
	}
	if err := c.mayGoAll(jobs, nil); err != nil {
		return JobSubmitted{}, err
	}
	if err := c.numberJobs(ctx, jobs); err != nil {
		return JobSubmitted{}, err
	}
	receipts, err := c.api.parts.Jobs.Submit(ctx, p.Context, jobs)
	if err != nil {
		return JobSubmitted{}, err
	}
	if single && receipts[0].Err != nil {
		return JobSubmitted{}, receipts[0].Err
	}
	return JobSubmitted{Jobs: c.receipts(ctx, receipts), Durability: c.api.parts.Info().Durability}, nil
}

// numberJobs gives the jobs of a request that has a key the numbers that are its
// own: done again they exist, and are not made.
func (c Caller) numberJobs(ctx context.Context, jobs []*domain.Job) error {
	if c.once == nil || len(jobs) > work.MaxSubmit {
		return nil
	}
	want := 0
	for _, j := range jobs {
		if j.ID == 0 {
			want++
		}
	}
	if want == 0 {
		return nil
	}
	next, err := c.once.numbers(ctx, layout.Seq("job", c.who.Actor), want)
	for _, j := range jobs {
		if j.ID == 0 {
			j.ID = domain.JobID(next)
			next++
		}
	}
	return err
}

func (c Caller) receipts(ctx context.Context, list []work.Receipt) []Submitted {
	out := make([]Submitted, len(list))
	for i, r := range list {
		out[i] = Submitted{Existing: r.Existing}
		if r.Key.ID != 0 { // 0: refused before it got a number
			out[i].Key = r.Key.String()
		}
		if r.Err != nil {
			p := c.api.ProblemOf(ctx, r.Err)
			out[i].Error = &p
		}
	}
	return out
}

// JobParams name a job.
type JobParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Caller  domain.ActorID  `json:"-" path:"caller"`
	ID      domain.JobID    `json:"-" path:"id"`
}

// Key names the job within its context.
func (p JobParams) Key() domain.JobKey { return domain.JobKey{Caller: p.Caller, ID: p.ID} }

// mayJob asks for a right on a job.
func (c Caller) mayJob(ctx context.Context, verb identity.Verb, p JobParams) (domain.Tenant, error) {
	return c.may(ctx, verb, p.Context, p.Key().String())
}

// view is the job as the caller may see it.
func (c Caller) view(t domain.Tenant, j *domain.Job) *domain.Job {
	if len(j.EnvVars) == 0 || c.who.Permits(t, identity.ReadEnv, identity.Holds(c.who.Actor, j.LeaseOwner), c.group) {
		return j
	}
	seen := *j
	seen.EnvVars = make(map[string]string, len(j.EnvVars))
	for name := range j.EnvVars {
		seen.EnvVars[name] = Redacted
	}
	return &seen
}

// ShowJob reads one job: from the archive, once the board has let it go.
func (c Caller) ShowJob(ctx context.Context, p JobParams) (*domain.Job, error) {
	t, err := c.mayJob(ctx, identity.Read, p)
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

// ListJobsParams are those of job.list. Empty filters do not filter.
type ListJobsParams struct {
	Context domain.TenantID   `json:"-" path:"context"`
	Status  domain.JobStatus  `json:"-" query:"status"`
	Type    domain.ScriptType `json:"-" query:"type"`
	Caller  domain.ActorID    `json:"-" query:"caller"`
	// Where is a Rhai expression over `job`, such as job.losses > 0.
	Where string `json:"-" query:"where"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many a page has at the most. 0: as many as the board gives
	// at once, about 500.
	Limit int `json:"-" query:"limit"`
}

// listRounds bounds how many pages without a match one call looks through.
const listRounds = 20

// ListJobs lists a page. It looks on where nothing matches, but not for ever:
// a page may be empty while more is to come. A job that is there all the time
// comes at least once over all pages.
func (c Caller) ListJobs(ctx context.Context, p ListJobsParams) (JobList, error) {
	if _, err := c.may(ctx, identity.Read, p.Context, "jobs"); err != nil {
		return JobList{}, err
	}
	if p.Status != "" && !p.Status.Known() {
		return JobList{}, domain.Invalidf("status %q: want dispatched, waiting_for_prerequisites, started, error or finished", p.Status)
	}
	if p.Limit < 0 {
		return JobList{}, domain.Invalidf("limit %d: want 1 or more, or 0 for the board's own", p.Limit)
	}
	at, err := parseCursor(p.Cursor)
	if err != nil {
		return JobList{}, err
	}
	filter := work.Filter{Status: p.Status, Type: p.Type, Caller: p.Caller}
	for range listRounds {
		jobs, next, err := c.api.parts.Jobs.List(ctx, p.Context, filter, at.page)
		if err != nil {
			return JobList{}, err
		}
		if jobs, err = where(ctx, c, p.Context, p.Where, "job", at.rest(jobs)); err != nil {
			return JobList{}, err
		}
		if p.Limit > 0 && len(jobs) > p.Limit {
			at.after = jobs[p.Limit-1].Key().String()
			return JobList{jobs[:p.Limit], at.String()}, nil
		}
		if at = (cursor{page: next}); next == "" || len(jobs) > 0 {
			return JobList{jobs, at.String()}, nil
		}
	}
	return JobList{[]*domain.Job{}, at.String()}, nil
}

// waitMost bounds job.wait without a stream.
const waitMost = time.Minute

// WaitParams are those of job.wait.
type WaitParams struct {
	JobParams
	// TimeoutMs is how long to wait, up to 60,000. 0: that. A stream waits as
	// long as it takes.
	TimeoutMs int64 `json:"-" query:"timeout_ms"`
}

// WaitJob waits for a job's end for a while, and returns it as it stands then.
func (c Caller) WaitJob(ctx context.Context, p WaitParams) (*domain.Job, error) {
	if _, err := c.mayJob(ctx, identity.Read, p.JobParams); err != nil {
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
// it has ended. params are *[WaitParams].
func (c Caller) WatchJob(ctx context.Context, params any, emit func(Event) error) error {
	p := params.(*WaitParams).JobParams
	t, err := c.mayJob(ctx, identity.Read, p)
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
			name = EventEnd
		}
		if err != nil {
			return false, err
		}
		return name == EventEnd, emit(Event{Name: name, Data: c.view(t, j)})
	}
	if ended, err := show(EventJob); ended || err != nil {
		return err
	}
	if err := c.api.parts.Jobs.Await(ctx, p.Context, p.Key()); err != nil {
		return err
	}
	_, err = show(EventEnd)
	return err
}

// CancelJob ends a job that waits, or tells one that runs to stop. The operator may
// in every context: it gets to know that the job is told, not what it does.
func (c Caller) CancelJob(ctx context.Context, p JobParams) (*domain.Job, error) {
	t, err := c.mayJob(ctx, identity.Stop, p)
	if err != nil {
		return nil, err
	}
	j, err := c.api.parts.Jobs.Cancel(ctx, p.Context, p.Key(), c.who.Actor)
	if err != nil {
		return nil, err
	}
	if !c.who.Permits(t, identity.Read, false, c.group) {
		return &domain.Job{ID: j.ID, CallerID: j.CallerID, ContextID: j.ContextID, ScriptType: j.ScriptType, Status: j.Status, Reason: j.Reason,
			Attempt: j.Attempt, CreatedAt: j.CreatedAt, StartedMs: j.StartedMs, FinishedMs: j.FinishedMs, Cancel: j.Cancel}, nil
	}
	return c.view(t, j), nil
}

// RetryJob starts a job again that ended in error.
func (c Caller) RetryJob(ctx context.Context, p JobParams) (*domain.Job, error) {
	t, err := c.mayJob(ctx, identity.Retry, p)
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
func (c Caller) ExplainJob(ctx context.Context, p JobParams) (work.Explanation, error) {
	if _, err := c.mayJob(ctx, identity.Read, p); err != nil {
		return work.Explanation{}, err
	}
	x, err := c.api.parts.Jobs.Explain(ctx, p.Context, p.Key())
	if err == nil {
		return x, nil
	}
	j, _, err := c.showArchived(ctx, p, err)
	if err != nil {
		return work.Explanation{}, err
	}
	return work.Explanation{Key: j.Key().String(), Status: j.Status, Standing: work.StandingEnded, SinceMs: j.FinishedMs,
		Text: "it has ended: " + string(j.Status) + "; only the archive still has it"}, nil
}
