package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// JobFilter narrows a list of jobs; zero fields do not.
type JobFilter struct {
	Status domain.JobStatus
	Type   domain.ScriptType
	Caller domain.ActorID
	// Where is a Rhai expression over `job`.
	Where string
	// Limit is how many a page has at the most. Default: the node's.
	Limit int
}

// Submit hands in jobs of one context. It is durable when it returns. A job
// that was refused does not fail the call: its place in the answer says why.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden], [domain.ErrUnavailable].
func (c *Client) Submit(ctx context.Context, tenant domain.TenantID, jobs []api.JobInput) (api.JobSubmitted, error) {
	var out api.JobSubmitted
	err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/jobs", nil, api.JobSubmit{Jobs: jobs}, &out)
	if err == nil && len(out.Jobs) != len(jobs) {
		err = fmt.Errorf("submit %d jobs: %s answered for %d", len(jobs), c.where, len(out.Jobs))
	}
	return out, err
}

// Job is one job as it stands.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Job(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	return c.job(ctx, http.MethodGet, jobPath(tenant, key))
}

// Jobs is one page of jobs; cursor is "" or the Next of the page before.
func (c *Client) Jobs(ctx context.Context, tenant domain.TenantID, filter JobFilter, cursor string) (api.JobList, error) {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" && value != "0" {
			q.Set(name, value)
		}
	}
	set("status", string(filter.Status))
	set("type", string(filter.Type))
	set("caller", id(filter.Caller))
	set("where", filter.Where)
	set("limit", strconv.Itoa(filter.Limit))
	set("cursor", cursor)
	var out api.JobList
	err := c.call(ctx, http.MethodGet, contextPath(tenant)+"/jobs", q, nil, &out)
	return out, err
}

// Wait returns the job once it has ended, however long that takes. It goes on
// waiting when the connection breaks and the node is there again soon.
//
// Errors: [domain.ErrNotFound], [domain.ErrUnavailable].
func (c *Client) Wait(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	return await(ctx, c, jobPath(tenant, key), (*domain.Job).Final)
}

// Cancel asks for a job to end: at once where it waits; a running one is told
// to stop. The job that comes back may therefore not have ended yet.
//
// Errors: [domain.ErrNotFound], [domain.ErrConflict] when it has ended.
func (c *Client) Cancel(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	return c.job(ctx, http.MethodPost, jobPath(tenant, key)+"/cancel")
}

// Retry brings a job that ended in error back to its queue.
//
// Errors: [domain.ErrNotFound], [domain.ErrConflict].
func (c *Client) Retry(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	return c.job(ctx, http.MethodPost, jobPath(tenant, key)+"/retry")
}

// Explain says why a job is where it is.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Explain(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (api.Explanation, error) {
	var out api.Explanation
	err := c.call(ctx, http.MethodGet, jobPath(tenant, key)+"/explain", nil, nil, &out)
	return out, err
}

func (c *Client) job(ctx context.Context, method, path string) (*domain.Job, error) {
	var j domain.Job
	if err := c.call(ctx, method, path, nil, nil, &j); err != nil {
		return nil, err
	}
	return &j, nil
}

func contextPath(tenant domain.TenantID) string { return "/v1/contexts/" + id(tenant) }

func jobPath(tenant domain.TenantID, key domain.JobKey) string {
	return contextPath(tenant) + "/jobs/" + id(key.Caller) + "/" + id(key.ID)
}

func id[T ~uint32](n T) string { return strconv.FormatUint(uint64(n), 10) }

// await asks for what lies at path until that is final, by the path's wait.
func await[T any](ctx context.Context, c *Client, path string, final func(*T) bool) (*T, error) {
	ask := func(path string) (*T, error) {
		t := new(T)
		return t, c.call(ctx, http.MethodGet, path, nil, nil, t)
	}
	// Asked first, so that a break later is known to be one.
	t, err := ask(path)
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
		t, err = ask(path + "/wait")
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
