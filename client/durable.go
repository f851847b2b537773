package client

import (
	"context"
	"encoding/json"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Signal tells a job what its durable script waits for, or will wait for; payload is
// JSON, nil is null.
//
// Errors: [domain.ErrNotFound], [domain.ErrConflict] when it has ended, [domain.ErrLimit].
func (c *Client) Signal(ctx context.Context, tenant domain.TenantID, key domain.JobKey, name string, payload json.RawMessage) (*domain.Job, error) {
	return Call(ctx, c, api.JobSignal, api.SignalParams{JobParams: jobParams(tenant, key), Name: name, Payload: payload})
}

// JobHistory is a page of what a job's durable script remembers; limit 0 is 100 events.
//
// Errors: [domain.ErrNotFound].
func (c *Client) JobHistory(ctx context.Context, tenant domain.TenantID, key domain.JobKey, from, limit int) (api.JobHistoryPage, error) {
	return Call(ctx, c, api.JobHistory, api.JobHistoryParams{JobParams: jobParams(tenant, key), From: from, Limit: limit})
}

// Fork submits a job's script again, as a new job that remembers what this one did before
// a step: its name, or <name>#<n>.
//
// Errors: [domain.ErrNotFound], [domain.ErrConflict].
func (c *Client) Fork(ctx context.Context, tenant domain.TenantID, key domain.JobKey, from string) (*domain.Job, error) {
	return Call(ctx, c, api.JobFork, api.ForkParams{JobParams: jobParams(tenant, key), From: from})
}
