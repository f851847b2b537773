package client

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// FlowLogs is a page of what the jobs of a flow said, in the order of time.
//
// Errors: [domain.ErrInvalid], [domain.ErrNotFound].
func (c *Client) FlowLogs(ctx context.Context, p api.FlowLogParams) (api.FlowLogPage, error) {
	return Call(ctx, c, api.FlowLogs, p)
}

// late is by how much a line may come after younger ones of other jobs, and is not missed
// over a connection that broke.
const late = 10 * time.Second

// FollowFlowLogs calls line for each line of a flow's log, and returns the flow when it has
// ended. Each line comes once, also over connections that break; those of one job come in
// order, and those of several in the order of time as far as they are there.
//
// Errors: what line returns, [domain.ErrNotFound], [domain.ErrUnavailable].
func (c *Client) FollowFlowLogs(ctx context.Context, p api.FlowLogParams, line func(api.FlowLog) error) (domain.FlowView, error) {
	var last domain.FlowView
	had := map[domain.JobID]int{} // up to which line
	s := stream{client: c, of: "flow"}
	s.path, s.query, _ = api.FlowLogs.Request(p)
	newest := int64(0)
	s.take = func(e event) error {
		switch e.name {
		case api.EventLog:
			var l api.FlowLog
			if err := e.into(&l); err != nil {
				return err
			}
			if l.N <= had[l.Job] {
				return nil // seen before the connection broke
			}
			if err := line(l); err != nil {
				return err
			}
			had[l.Job] = l.N
			newest = max(newest, l.AtMs)
			s.wentOn("")
			s.query.Del("tail")
			s.query.Set("since_ms", strconv.FormatInt(max(p.SinceMs, newest-late.Milliseconds()), 10))
		case api.EventEnd:
			return cmp.Or(e.into(&last), errDone)
		}
		return nil
	}
	err := s.follow(ctx) // sets last
	return last, err
}

// FlowNamed finds the flow of a blueprint and a trigger, wherever it is.
//
// Errors: [domain.ErrNotFound].
func (c *Client) FlowNamed(ctx context.Context, tenant domain.TenantID, blueprint, trigger string) (domain.FlowID, error) {
	page, err := c.Flows(ctx, api.ListFlowsParams{Context: tenant, FlowFilter: api.FlowFilter{Blueprint: blueprint, Trigger: trigger}})
	if err != nil {
		return 0, err
	}
	if len(page.Flows) == 0 {
		return 0, domain.NotFoundf("flow %q does not exist in context %d: no flow of the blueprint %q has the trigger %q", blueprint+"/"+trigger, tenant,
			blueprint, trigger)
	}
	return page.Flows[0].ID, nil
}
