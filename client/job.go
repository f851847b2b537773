package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Submit hands in jobs of one context. It is durable when it returns. A job
// that was refused does not fail the call: its place in the answer says why.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden], [domain.ErrUnavailable].
func (c *Client) Submit(ctx context.Context, tenant domain.TenantID, jobs []api.JobInput) (api.JobSubmitted, error) {
	out, err := Call(ctx, c, api.JobSubmit, api.SubmitParams{Context: tenant, JobInputs: api.JobInputs{Jobs: jobs}})
	if err == nil && len(out.Jobs) != len(jobs) {
		err = fmt.Errorf("submit %d jobs: %s answered for %d", len(jobs), c.where, len(out.Jobs))
	}
	return out, err
}

// SubmitJob hands in one job. It is durable when it returns.
//
// Errors: those of Submit; a job that was refused is an error.
func (c *Client) SubmitJob(ctx context.Context, tenant domain.TenantID, job domain.Job) (domain.JobKey, error) {
	out, err := c.Submit(ctx, tenant, []api.JobInput{{Job: job}})
	if err != nil {
		return domain.JobKey{}, err
	}
	if p := out.Jobs[0].Error; p != nil {
		return domain.JobKey{}, &Error{Problem: *p}
	}
	return domain.ParseJobKey(out.Jobs[0].Key)
}

// Job is one job as it stands.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Job(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	return Call(ctx, c, api.JobShow, jobParams(tenant, key))
}

// Jobs is one page of jobs; the Next of a page is the cursor of the one after.
func (c *Client) Jobs(ctx context.Context, p api.ListJobsParams) (api.JobPage, error) {
	return Call(ctx, c, api.JobList, p)
}

// Wait returns the job once it has ended, however long that takes. It goes on
// waiting when the connection breaks and the node is there again soon.
//
// Errors: [domain.ErrNotFound], [domain.ErrUnavailable].
func (c *Client) Wait(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	return await(ctx, func() (*domain.Job, error) { return c.Job(ctx, tenant, key) }, func() (*domain.Job, error) {
		return Call(ctx, c, api.JobWait, api.WaitParams{JobParams: jobParams(tenant, key)})
	}, (*domain.Job).Final)
}

// Cancel asks for a job to end: at once where it waits; a running one is told
// to stop. The job that comes back may therefore not have ended yet.
//
// Errors: [domain.ErrNotFound], [domain.ErrConflict] when it has ended.
func (c *Client) Cancel(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	return Call(ctx, c, api.JobCancel, jobParams(tenant, key))
}

// Retry brings a job that ended in error back to its queue.
//
// Errors: [domain.ErrNotFound], [domain.ErrConflict].
func (c *Client) Retry(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	return Call(ctx, c, api.JobRetry, jobParams(tenant, key))
}

// Explain says why a job is where it is.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Explain(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (domain.JobExplanation, error) {
	return Call(ctx, c, api.JobExplain, jobParams(tenant, key))
}

// jobParams name a job.
func jobParams(tenant domain.TenantID, key domain.JobKey) api.JobParams {
	return api.JobParams{Context: tenant, Caller: key.Caller, ID: key.ID}
}

// await asks for something until it is final: with ask at first, so that a break later is
// known to be one, and then with wait, which the node answers when it is, or after a while.
func await[T any](ctx context.Context, ask, wait func() (*T, error), final func(*T) bool) (*T, error) {
	t, err := ask()
	p := pauses{met: err == nil}
	for {
		switch {
		case err == nil && final(t):
			return t, nil
		case err != nil && !errors.Is(err, domain.ErrUnavailable):
			return nil, err
		}
		began := time.Now()
		if err != nil && !p.next(ctx) {
			return nil, cmp.Or(ctx.Err(), err)
		}
		t, err = wait()
		if err == nil || time.Since(began) > resumePauseMost {
			p.tries = 0
		}
		if err == nil && !final(t) {
			p.next(ctx) // a node that does not wait is not to be asked in a tight loop
		}
	}
}

const (
	// resumePause is the first pause before a connection is taken up again;
	// it doubles up to resumePauseMost.
	resumePause     = 100 * time.Millisecond
	resumePauseMost = 5 * time.Second
	// resumeTries bounds how often in a row: about half a minute, in which a
	// node can be started anew.
	resumeTries = 10
)

// pauses counts the tries to take a connection up again.
type pauses struct {
	met   bool // the node has answered before
	tries int
}

// next waits before the next try. It is false when there shall be none: the
// node never answered, is gone for too long, or ctx ended.
func (p *pauses) next(ctx context.Context) bool {
	if !p.met || p.tries == resumeTries {
		return false
	}
	t := time.NewTimer(min(resumePause<<p.tries, resumePauseMost))
	defer t.Stop()
	p.tries++
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
