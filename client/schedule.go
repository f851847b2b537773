package client

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// ApplySchedule makes a schedule, or changes the one of that name. It is
// durable when it returns.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden].
func (c *Client) ApplySchedule(ctx context.Context, tenant domain.TenantID, s domain.Schedule) (api.Schedule, error) {
	return Call(ctx, c, api.ScheduleApply, api.ScheduleApplyParams{Context: tenant, Schedule: api.Schedule{Schedule: s}})
}

// Schedule is one schedule with its next n times; 0 is 10.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Schedule(ctx context.Context, tenant domain.TenantID, name string, n int) (api.Schedule, error) {
	return Call(ctx, c, api.ScheduleShow, api.ScheduleShowParams{ScheduleParams: api.ScheduleParams{Context: tenant, Name: name}, N: n})
}

// ListSchedules lists all schedules that filters fit, or counts them.
func (c *Client) ListSchedules(ctx context.Context, p api.ScheduleListParams) (api.SchedulePage, error) {
	all := api.SchedulePage{Schedules: []api.Schedule{}}
	err := c.pages(func(cursor string) (next string, err error) {
		p.Cursor = cursor
		page, err := Call(ctx, c, api.ScheduleList, p)
		all.Schedules, all.Count = append(all.Schedules, page.Schedules...), page.Count
		return page.Next, err
	})
	return all, err
}

// PreviewSchedule says when a schedule would come next, n times; 0 is 10.
// Nothing is stored; its name and blueprint need not be given.
//
// Errors: [domain.ErrInvalid].
func (c *Client) PreviewSchedule(ctx context.Context, tenant domain.TenantID, s domain.Schedule, n int) (api.ScheduleTimes, error) {
	return Call(ctx, c, api.SchedulePreview, api.SchedulePreviewParams{Context: tenant, Schedule: api.Schedule{Schedule: s}, N: n})
}

// DeleteSchedule removes a schedule and returns it as it was; its flows stay.
//
// Errors: [domain.ErrNotFound].
func (c *Client) DeleteSchedule(ctx context.Context, tenant domain.TenantID, name string) (api.Schedule, error) {
	return Call(ctx, c, api.ScheduleDelete, api.ScheduleParams{Context: tenant, Name: name})
}

// PauseSchedule keeps a schedule from making flows.
//
// Errors: [domain.ErrNotFound].
func (c *Client) PauseSchedule(ctx context.Context, tenant domain.TenantID, name string) (api.Schedule, error) {
	return Call(ctx, c, api.SchedulePause, api.ScheduleParams{Context: tenant, Name: name})
}

// ResumeSchedule lets a paused schedule go on with its next time.
//
// Errors: [domain.ErrNotFound].
func (c *Client) ResumeSchedule(ctx context.Context, tenant domain.TenantID, name string) (api.Schedule, error) {
	return Call(ctx, c, api.ScheduleResume, api.ScheduleParams{Context: tenant, Name: name})
}

// TriggerSchedule makes a flow of a schedule now.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] while the last flow has
// not ended and the schedule does not allow two.
func (c *Client) TriggerSchedule(ctx context.Context, tenant domain.TenantID, name string) (api.ScheduleTriggered, error) {
	return Call(ctx, c, api.ScheduleTrigger, api.ScheduleParams{Context: tenant, Name: name})
}

// BackfillSchedule begins to make the flows of a schedule's past times; with DryRun, it says
// which these are. It goes on by itself: how far it has come stands in the schedule's state.
//
// Errors: [domain.ErrNotFound]; [domain.ErrInvalid]; [domain.ErrConflict] while another is under
// way; [domain.ErrLimit] for more than [domain.MaxBackfill] times.
func (c *Client) BackfillSchedule(ctx context.Context, p api.ScheduleBackfillParams) (api.ScheduleBackfilled, error) {
	return Call(ctx, c, api.ScheduleBackfill, p)
}

// CancelBackfill ends the backfill of a schedule; the flows that it made go on.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] where none is under way.
func (c *Client) CancelBackfill(ctx context.Context, tenant domain.TenantID, name string) (api.Schedule, error) {
	return Call(ctx, c, api.ScheduleBackfillCancel, api.ScheduleParams{Context: tenant, Name: name})
}
