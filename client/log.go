package client

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Logs is a part of a job's log from line from on; limit 0 is the node's.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Logs(ctx context.Context, tenant domain.TenantID, key domain.JobKey, from, limit int) (api.LogPage, error) {
	return c.LogsWanted(ctx, api.LogParams{JobParams: jobParams(tenant, key), From: from, Limit: limit})
}

// FollowLogs calls line for each line of a job's log, from line number from
// on, and returns the job when it has ended. Each line comes once and in
// order, also over connections that break; it gives up when the node stays
// away for about half a minute.
//
// Errors: what line returns, [domain.ErrNotFound], [domain.ErrUnavailable].
func (c *Client) FollowLogs(ctx context.Context, tenant domain.TenantID, key domain.JobKey, from int, line func(domain.Log) error) (*domain.Job, error) {
	return c.FollowLogsWanted(ctx, api.LogParams{JobParams: jobParams(tenant, key), From: from}, line)
}

// logFollower reads one job's log.
type logFollower struct {
	stream stream
	next   int // the line wanted next
	line   func(domain.Log) error
	job    *domain.Job // set by the end
}

// event takes one event of the stream; unknown ones are for later versions.
func (f *logFollower) event(e event) error {
	switch e.name {
	case "log":
		var l domain.Log
		n, err := strconv.Atoi(e.id)
		if err != nil || e.into(&l) != nil {
			return fmt.Errorf("%w: log %q: %.100q", errBadEvent, e.id, e.data)
		}
		if n < f.next {
			return nil // seen before the connection broke
		}
		if err := f.line(l); err != nil {
			return err
		}
		f.next = n + 1
		f.stream.wentOn(strconv.Itoa(n))
		f.stream.query.Set("from", strconv.Itoa(f.next))
	case "end":
		return cmp.Or(e.into(&f.job), errDone)
	}
	return nil
}

// LogsWanted is a part of a job's log, of the lines that are wanted.
//
// Errors: [domain.ErrInvalid], [domain.ErrNotFound].
func (c *Client) LogsWanted(ctx context.Context, p api.LogParams) (api.LogPage, error) {
	return Call(ctx, c, api.JobLogs, p)
}

// FollowLogsWanted is [Client.FollowLogs] for the lines that are wanted.
func (c *Client) FollowLogsWanted(ctx context.Context, p api.LogParams, line func(domain.Log) error) (*domain.Job, error) {
	f := logFollower{next: p.From, line: line}
	f.stream = stream{client: c, of: "job", take: f.event}
	f.stream.path, f.stream.query, _ = api.JobLogs.Request(p)
	err := f.stream.follow(ctx) // sets job
	return f.job, err
}
