package service

import (
	"cmp"
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
)

// This file has what sets sagas right by hand, past what their events do. It is
// for admins, as audits are.

// ReplaySaga computes instances again from the events that the streams have,
// and says in what they differ from what they are. No work is sent again.
func (c Caller) ReplaySaga(ctx context.Context, p api.ReplaySagaParams) (*domain.SagaRebuilt, error) {
	engine, err := c.maySaga(ctx, domain.VerbAudit, p.Context, p.Name)
	if err != nil {
		return nil, err
	}
	return engine.Rebuild(ctx, p.Context, saga.Rebuild{Saga: p.Name, Correlation: p.Correlation, Definition: p.Definition, Apply: p.Apply})
}

// RewindSaga has a saga read a stream again from behind a sequence on. Events
// that it had within its time of remembrance are passed over; older ones are
// handled once more, and what they ask for is done once more.
func (c Caller) RewindSaga(ctx context.Context, p api.RewindSagaParams) (api.SagaDone, error) {
	engine, err := c.maySaga(ctx, domain.VerbAudit, p.Context, p.Name)
	if err != nil {
		return api.SagaDone{}, err
	}
	return api.SagaDone{Saga: p.Name, Correlation: "", Done: true}, engine.Rewind(ctx, p.Context, p.Name, p.Stream, p.After)
}

// MigrateSaga brings instances to another version of their saga.
func (c Caller) MigrateSaga(ctx context.Context, p api.MigrateSagaParams) (*domain.SagaMigrated, error) {
	engine, err := c.maySaga(ctx, domain.VerbAudit, p.Context, p.Name)
	if err != nil {
		return nil, err
	}
	if p.Limit < 0 || p.Limit > mostInstances {
		return nil, domain.Invalidf("limit %d: want 1 to %d, or 0 for that", p.Limit, mostInstances)
	}
	return engine.Migrate(ctx, p.Context, saga.Migrate{Saga: p.Name, Correlation: p.Correlation, From: p.From, To: p.To, Apply: p.Apply,
		Limit: cmp.Or(p.Limit, mostInstances), Cursor: p.Cursor})
}
