package api

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

// This file has what sets sagas right by hand, past what their events do. It is
// for admins, as audits are:
//
//	POST /v1/contexts/{context}/sagas/{saga}/replay    {"correlation_id": "", "definition": 0, "apply": false} -> saga.Rebuilt
//	POST /v1/contexts/{context}/sagas/{saga}/migrate   {"correlation_id": "", "from": 0, "to": 0, "apply": false, "limit": 0, "cursor": ""} -> saga.Migrated
//	POST /v1/contexts/{context}/sagas/{saga}/rewind    {"stream": "", "after": 0} -> SagaDone

// ReplaySagaParams are those of saga.replay.
type ReplaySagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// Correlation names an instance; "" is all of them.
	Correlation string `json:"correlation_id"`
	// Definition is the version to compute with. 0: that to which each is pinned.
	Definition int `json:"definition"`
	// Apply writes what came out; else it is only said in what it differs.
	Apply bool `json:"apply"`
}

func (p *ReplaySagaParams) auditDetail() string {
	if p.Apply {
		return "applied " + p.Correlation
	}
	return "dry run " + p.Correlation
}

// ReplaySaga computes instances again from the events that the streams have,
// and says in what they differ from what they are. No work is sent again.
func (c Caller) ReplaySaga(ctx context.Context, p ReplaySagaParams) (*saga.Rebuilt, error) {
	engine, err := c.maySaga(ctx, identity.Audit, p.Context, p.Name)
	if err != nil {
		return nil, err
	}
	return engine.Rebuild(ctx, p.Context, saga.Rebuild{Saga: p.Name, Correlation: p.Correlation, Definition: p.Definition, Apply: p.Apply})
}

// RewindSagaParams are those of saga.rewind.
type RewindSagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// Stream is AGGREGATE_EVENTS, WORKFLOW_COMMANDS or WORKFLOW_EVENTS.
	Stream stream.Name `json:"stream"`
	// After is the sequence behind which the saga reads on.
	After uint64 `json:"after"`
}

func (p *RewindSagaParams) auditDetail() string {
	return fmt.Sprintf("%s behind %d", p.Stream, p.After)
}

// RewindSaga has a saga read a stream again from behind a sequence on. Events
// that it had within its time of remembrance are passed over; older ones are
// handled once more, and what they ask for is done once more.
func (c Caller) RewindSaga(ctx context.Context, p RewindSagaParams) (SagaDone, error) {
	engine, err := c.maySaga(ctx, identity.Audit, p.Context, p.Name)
	if err != nil {
		return SagaDone{}, err
	}
	return SagaDone{p.Name, "", true}, engine.Rewind(ctx, p.Context, p.Name, p.Stream, p.After)
}

// MigrateSagaParams are those of saga.migrate.
type MigrateSagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// Correlation names an instance; "" is all that have not ended.
	Correlation string `json:"correlation_id"`
	// From are instances of one version only; 0 is any. To is the version that
	// they are brought to; 0 is the newest.
	From int `json:"from"`
	To   int `json:"to"`
	// Apply does it; else it is only said what would come of it.
	Apply bool `json:"apply"`
	// Limit is about how many instances one call looks at, up to 500; 0: that.
	// Cursor is the next of the answer before.
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

func (p *MigrateSagaParams) auditDetail() string {
	how := "dry run"
	if p.Apply {
		how = "applied"
	}
	return fmt.Sprintf("%s, to version %d %s", how, p.To, p.Correlation)
}

// MigrateSaga brings instances to another version of their saga.
func (c Caller) MigrateSaga(ctx context.Context, p MigrateSagaParams) (*saga.Migrated, error) {
	engine, err := c.maySaga(ctx, identity.Audit, p.Context, p.Name)
	if err != nil {
		return nil, err
	}
	if p.Limit < 0 || p.Limit > mostInstances {
		return nil, domain.Invalidf("limit %d: want 1 to %d, or 0 for that", p.Limit, mostInstances)
	}
	return engine.Migrate(ctx, p.Context, saga.Migrate{Saga: p.Name, Correlation: p.Correlation, From: p.From, To: p.To, Apply: p.Apply,
		Limit: cmp.Or(p.Limit, mostInstances), Cursor: p.Cursor})
}
