package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// ApplySchedule makes a schedule, or changes the one of that name. It is
// durable when it returns.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden].
func (c *Client) ApplySchedule(ctx context.Context, tenant domain.TenantID, s domain.Schedule) (api.Schedule, error) {
	var out api.Schedule
	err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/schedules", nil, s, &out)
	return out, err
}

// Schedule is one schedule with its next n times; 0 is 10.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Schedule(ctx context.Context, tenant domain.TenantID, name string, n int) (api.Schedule, error) {
	var out api.Schedule
	err := c.call(ctx, http.MethodGet, schedulePath(tenant, name), times(n), nil, &out)
	return out, err
}

// Schedules lists all of a context, without params, environment and variables.
func (c *Client) Schedules(ctx context.Context, tenant domain.TenantID) (api.ScheduleList, error) {
	all := api.ScheduleList{Schedules: []api.Schedule{}}
	err := c.pages(ctx, contextPath(tenant)+"/schedules", func(get func(page any) error) (next string, err error) {
		var page api.ScheduleList
		err = get(&page)
		all.Schedules = append(all.Schedules, page.Schedules...)
		return page.Next, err
	})
	return all, err
}

// PreviewSchedule says when a schedule would come next, n times; 0 is 10.
// Nothing is stored; its name and blueprint need not be given.
//
// Errors: [domain.ErrInvalid].
func (c *Client) PreviewSchedule(ctx context.Context, tenant domain.TenantID, s domain.Schedule, n int) (api.ScheduleTimes, error) {
	var out api.ScheduleTimes
	err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/schedules/preview", times(n), s, &out)
	return out, err
}

// DeleteSchedule removes a schedule and returns it as it was; its flows stay.
//
// Errors: [domain.ErrNotFound].
func (c *Client) DeleteSchedule(ctx context.Context, tenant domain.TenantID, name string) (api.Schedule, error) {
	var out api.Schedule
	err := c.call(ctx, http.MethodDelete, schedulePath(tenant, name), nil, nil, &out)
	return out, err
}

// PauseSchedule keeps a schedule from making flows.
//
// Errors: [domain.ErrNotFound].
func (c *Client) PauseSchedule(ctx context.Context, tenant domain.TenantID, name string) (api.Schedule, error) {
	var out api.Schedule
	err := c.call(ctx, http.MethodPost, schedulePath(tenant, name)+"/pause", nil, nil, &out)
	return out, err
}

// ResumeSchedule lets a paused schedule go on with its next time.
//
// Errors: [domain.ErrNotFound].
func (c *Client) ResumeSchedule(ctx context.Context, tenant domain.TenantID, name string) (api.Schedule, error) {
	var out api.Schedule
	err := c.call(ctx, http.MethodPost, schedulePath(tenant, name)+"/resume", nil, nil, &out)
	return out, err
}

// TriggerSchedule makes a flow of a schedule now.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] while the last flow has
// not ended and the schedule does not allow two.
func (c *Client) TriggerSchedule(ctx context.Context, tenant domain.TenantID, name string) (api.ScheduleTriggered, error) {
	var out api.ScheduleTriggered
	err := c.call(ctx, http.MethodPost, schedulePath(tenant, name)+"/trigger", nil, nil, &out)
	return out, err
}

func schedulePath(tenant domain.TenantID, name string) string {
	return contextPath(tenant) + "/schedules/" + url.PathEscape(name)
}

func times(n int) url.Values {
	if n == 0 {
		return nil
	}
	return url.Values{"n": {strconv.Itoa(n)}}
}
