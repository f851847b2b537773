package client

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// ApplySaga stores a saga as the newest version of its name, and has it served;
// where the newest has the same content, nothing is done. from says where a new
// saga begins to read its streams; "" is [domain.SagaFromNow].
//
// Errors: [domain.ErrInvalid], of which an [Error] has the faults;
// [domain.ErrConflict] for a version that is not greater than the newest.
func (c *Client) ApplySaga(ctx context.Context, tenant domain.TenantID, def *domain.SagaDefinition, from domain.SagaFrom) (api.SagaApplied, error) {
	return Call(ctx, c, api.SagaApply, api.ApplySagaParams{Context: tenant, From: from, SagaDefinition: *def})
}

// ApplySagaText is ApplySaga of YAML or JSON: the faults have lines. file is the
// text's name in them.
func (c *Client) ApplySagaText(ctx context.Context, tenant domain.TenantID, file, text string, from domain.SagaFrom) (api.SagaApplied, error) {
	return Call(ctx, c, api.SagaApply, api.ApplySagaParams{Context: tenant, File: file, Text: text, From: from})
}

// Saga is a version of one; 0 is the newest.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Saga(ctx context.Context, tenant domain.TenantID, name string, version int) (domain.StoredSaga, error) {
	return Call(ctx, c, api.SagaShow, api.SagaParams{Context: tenant, Name: name, Version: version})
}

// Sagas lists all of a context, by name.
func (c *Client) Sagas(ctx context.Context, tenant domain.TenantID) (api.SagaPage, error) {
	return c.sagas(func(cursor string) (api.SagaPage, error) {
		return Call(ctx, c, api.SagaList, api.ListSagasParams{Context: tenant, Cursor: cursor})
	})
}

// SagaVersions lists all versions of one, newest first.
//
// Errors: [domain.ErrNotFound].
func (c *Client) SagaVersions(ctx context.Context, tenant domain.TenantID, name string) (api.SagaPage, error) {
	return c.sagas(func(cursor string) (api.SagaPage, error) {
		return Call(ctx, c, api.SagaVersions, api.SagaVersionsParams{Context: tenant, Name: name, Cursor: cursor})
	})
}

func (c *Client) sagas(ask func(cursor string) (api.SagaPage, error)) (api.SagaPage, error) {
	all := api.SagaPage{Sagas: []domain.DocumentEntry{}}
	err := c.pages(func(cursor string) (next string, err error) {
		page, err := ask(cursor)
		all.Sagas = append(all.Sagas, page.Sagas...)
		return page.Next, err
	})
	return all, err
}

// DiffSaga compares two versions; to 0 is the newest, from 0 the one before to.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid] where there is none before.
func (c *Client) DiffSaga(ctx context.Context, tenant domain.TenantID, name string, from, to int) (api.SagaChanges, error) {
	return Call(ctx, c, api.SagaDiff, api.DiffSagaParams{Context: tenant, Name: name, From: from, To: to})
}

// DeleteSaga removes one with all versions and instances. Unless force is set
// it is refused while instances have not ended.
//
// Errors: [domain.ErrNotFound], [domain.ErrConflict].
func (c *Client) DeleteSaga(ctx context.Context, tenant domain.TenantID, name string, force bool) (domain.SagaDeleted, error) {
	return Call(ctx, c, api.SagaDelete, api.DeleteSagaParams{Context: tenant, Name: name, Force: force})
}

// SagaSchema is the JSON Schema of a saga's file, as the node has it.
func (c *Client) SagaSchema(ctx context.Context) (json.RawMessage, error) {
	return Call(ctx, c, api.SagaSchema, api.SagaSchemaParams{})
}

// SagaLag says how far a saga has come in its streams.
//
// Errors: [domain.ErrNotFound].
func (c *Client) SagaLag(ctx context.Context, tenant domain.TenantID, name string) (api.SagaLags, error) {
	return Call(ctx, c, api.SagaLag, api.NameSagaParams{Context: tenant, Name: name})
}

// Instances is a page of a saga's instances; the Next of a page is the cursor of the one
// after. A page may be empty while more is to come.
func (c *Client) Instances(ctx context.Context, p api.ListInstancesParams) (api.InstancePage, error) {
	return Call(ctx, c, api.SagaInstances, p)
}

// Instance is one instance of a saga, by its correlation id.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Instance(ctx context.Context, tenant domain.TenantID, name, correlation string) (*domain.SagaInstance, error) {
	return Call(ctx, c, api.SagaInstance, api.InstanceParams{Context: tenant, Name: name, Correlation: correlation})
}

// ExplainInstance says what an instance waits for.
//
// Errors: [domain.ErrNotFound].
func (c *Client) ExplainInstance(ctx context.Context, tenant domain.TenantID, name, correlation string) (domain.SagaExplanation, error) {
	return Call(ctx, c, api.SagaExplain, api.InstanceParams{Context: tenant, Name: name, Correlation: correlation})
}

// History is what an instance went through, oldest first: the newest limit
// lines of it; 0 is 1,000.
//
// Errors: [domain.ErrNotFound].
func (c *Client) History(ctx context.Context, tenant domain.TenantID, name, correlation string, limit int) ([]domain.SagaEntry, error) {
	out, err := Call(ctx, c, api.SagaHistory, api.HistoryParams{InstanceParams: api.InstanceParams{Context: tenant, Name: name, Correlation: correlation},
		Limit: limit})
	return out.Lines, err
}

// FollowHistory calls each with the lines of an instance's history as they
// come, also over connections that break, and returns the instance when it has
// ended.
//
// Errors: what each returns, [domain.ErrNotFound], [domain.ErrUnavailable].
func (c *Client) FollowHistory(ctx context.Context, tenant domain.TenantID, name, correlation string,
	each func(domain.SagaEntry) error) (*domain.SagaInstance, error) {
	var last *domain.SagaInstance
	s := stream{client: c, of: "instance"}
	s.path, s.query, _ = api.SagaHistory.Request(api.HistoryParams{
		InstanceParams: api.InstanceParams{Context: tenant, Name: name, Correlation: correlation}})
	s.take = func(e event) error {
		switch e.name {
		case api.EventHistory:
			var h api.HistoryPage
			if err := e.into(&h); err != nil {
				return err
			}
			for _, line := range h.Lines {
				if err := each(line); err != nil {
					return err
				}
			}
			s.wentOn(e.id)
		case api.EventEnd:
			return cmp.Or(e.into(&last), errDone)
		}
		return nil
	}
	err := s.follow(ctx) // sets last
	return last, err
}

// PauseSaga has an instance keep its events; where correlation is "" the saga
// takes none. ResumeSaga ends either.
//
// Errors: [domain.ErrNotFound], [domain.ErrConflict] for an instance that has
// ended.
func (c *Client) PauseSaga(ctx context.Context, tenant domain.TenantID, name, correlation string) (api.SagaDone, error) {
	return Call(ctx, c, api.SagaPause, api.SteerSagaParams{Context: tenant, Name: name, Correlation: correlation})
}

// ResumeSaga lets an instance, or a saga, go on that was paused.
func (c *Client) ResumeSaga(ctx context.Context, tenant domain.TenantID, name, correlation string) (api.SagaDone, error) {
	return Call(ctx, c, api.SagaResume, api.SteerSagaParams{Context: tenant, Name: name, Correlation: correlation})
}

// RewindSaga has a saga read a stream again from behind a sequence on: what it
// asks for may be done once more.
func (c *Client) RewindSaga(ctx context.Context, tenant domain.TenantID, p api.RewindSagaParams) (api.SagaDone, error) {
	p.Context = tenant
	return Call(ctx, c, api.SagaRewind, p)
}

// ReplaySaga computes instances again from the events that the streams have,
// and says in what they differ from what they are.
//
// Errors: [domain.ErrNotFound], [domain.ErrLimit] for too many events.
func (c *Client) ReplaySaga(ctx context.Context, tenant domain.TenantID, p api.ReplaySagaParams) (*domain.SagaRebuilt, error) {
	p.Context = tenant
	return Call(ctx, c, api.SagaReplay, p)
}

// MigrateSaga brings instances to another version of their saga, or says what
// would come of it. A page may not be all: cursor is the Next of the one before.
//
// Errors: [domain.ErrNotFound].
func (c *Client) MigrateSaga(ctx context.Context, tenant domain.TenantID, p api.MigrateSagaParams) (*domain.SagaMigrated, error) {
	p.Context = tenant
	return Call(ctx, c, api.SagaMigrate, p)
}
