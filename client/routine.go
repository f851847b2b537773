package client

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Routines lists the routines of a context, and what nodes do for all.
func (c *Client) Routines(ctx context.Context, tenant domain.TenantID) (api.RoutinePage, error) {
	return Call(ctx, c, api.RoutineList, api.ListRoutinesParams{Context: tenant})
}

// ApplyRoutine makes a routine, or changes the one of that name.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden].
func (c *Client) ApplyRoutine(ctx context.Context, tenant domain.TenantID, r domain.Routine) (*domain.Routine, error) {
	return Call(ctx, c, api.RoutineApply, api.RoutineApplyParams{Context: tenant, Routine: r})
}

// Routine is one routine and where its instances stand.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Routine(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	return Call(ctx, c, api.RoutineShow, api.RoutineParams{Context: tenant, Name: name})
}

// DeleteRoutine takes a routine away; a round under way is let end.
//
// Errors: [domain.ErrNotFound].
func (c *Client) DeleteRoutine(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	return Call(ctx, c, api.RoutineDelete, api.RoutineParams{Context: tenant, Name: name})
}

// PauseRoutine lets no more rounds of a routine begin.
//
// Errors: [domain.ErrNotFound].
func (c *Client) PauseRoutine(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	return Call(ctx, c, api.RoutinePause, api.RoutineParams{Context: tenant, Name: name})
}

// ResumeRoutine lets a paused routine go on.
//
// Errors: [domain.ErrNotFound].
func (c *Client) ResumeRoutine(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	return Call(ctx, c, api.RoutineResume, api.RoutineParams{Context: tenant, Name: name})
}

// RunRoutine lets the next rounds begin now.
//
// Errors: [domain.ErrNotFound], [domain.ErrConflict] for one that is paused.
func (c *Client) RunRoutine(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	return Call(ctx, c, api.RoutineRun, api.RoutineParams{Context: tenant, Name: name})
}
