package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Routines lists the routines of a context, and what nodes do for all.
func (c *Client) Routines(ctx context.Context, tenant domain.TenantID) (api.RoutineList, error) {
	var out api.RoutineList
	err := c.call(ctx, http.MethodGet, contextPath(tenant)+"/routines", nil, nil, &out)
	return out, err
}

// ApplyRoutine makes a routine, or changes the one of that name.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden].
func (c *Client) ApplyRoutine(ctx context.Context, tenant domain.TenantID, r domain.Routine) (*domain.Routine, error) {
	return c.routine(ctx, http.MethodPost, contextPath(tenant)+"/routines", r)
}

// Routine is one routine and where its instances stand.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Routine(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	return c.routine(ctx, http.MethodGet, routinePath(tenant, name), nil)
}

// DeleteRoutine takes a routine away; a round under way is let end.
//
// Errors: [domain.ErrNotFound].
func (c *Client) DeleteRoutine(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	return c.routine(ctx, http.MethodDelete, routinePath(tenant, name), nil)
}

// PauseRoutine lets no more rounds of a routine begin.
//
// Errors: [domain.ErrNotFound].
func (c *Client) PauseRoutine(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	return c.routine(ctx, http.MethodPost, routinePath(tenant, name)+"/pause", nil)
}

// ResumeRoutine lets a paused routine go on.
//
// Errors: [domain.ErrNotFound].
func (c *Client) ResumeRoutine(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	return c.routine(ctx, http.MethodPost, routinePath(tenant, name)+"/resume", nil)
}

// RunRoutine lets the next rounds begin now.
//
// Errors: [domain.ErrNotFound], [domain.ErrConflict] for one that is paused.
func (c *Client) RunRoutine(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	return c.routine(ctx, http.MethodPost, routinePath(tenant, name)+"/run", nil)
}

func routinePath(tenant domain.TenantID, name string) string {
	return contextPath(tenant) + "/routines/" + url.PathEscape(name)
}

func (c *Client) routine(ctx context.Context, method, path string, in any) (*domain.Routine, error) {
	var out domain.Routine
	if err := c.call(ctx, method, path, nil, in, &out); err != nil {
		return nil, err
	}
	return &out, nil
}
