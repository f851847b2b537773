package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/saga/definition"
)

// ApplySaga stores a saga as the newest version of its name, and has it served;
// where the newest has the same content, nothing is done. from says where a new
// saga begins to read its streams; "" is [saga.FromNow].
//
// Errors: [domain.ErrInvalid], of which an [Error] has the faults;
// [domain.ErrConflict] for a version that is not greater than the newest.
func (c *Client) ApplySaga(ctx context.Context, tenant domain.TenantID, def *domain.SagaDefinition, from saga.From) (api.SagaApplied, error) {
	var out api.SagaApplied
	err := c.call(ctx, http.MethodPost, sagaPath(tenant, ""), nil, api.ApplySagaParams{From: from, SagaDefinition: *def}, &out)
	return out, err
}

// ApplySagaText is ApplySaga of YAML or JSON: the faults have lines. file is the
// text's name in them.
func (c *Client) ApplySagaText(ctx context.Context, tenant domain.TenantID, file, text string, from saga.From) (api.SagaApplied, error) {
	var out api.SagaApplied
	err := c.call(ctx, http.MethodPost, sagaPath(tenant, ""), nil, map[string]string{"file": file, "text": text, "from": string(from)}, &out)
	return out, err
}

// Saga is a version of one; 0 is the newest.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Saga(ctx context.Context, tenant domain.TenantID, name string, version int) (definition.Stored, error) {
	var out definition.Stored
	err := c.call(ctx, http.MethodGet, sagaPath(tenant, name), versionQuery(map[string]int{"version": version}), nil, &out)
	return out, err
}

// Sagas lists all of a context, by name.
func (c *Client) Sagas(ctx context.Context, tenant domain.TenantID) (api.SagaList, error) {
	return c.sagas(ctx, sagaPath(tenant, ""))
}

// SagaVersions lists all versions of one, newest first.
//
// Errors: [domain.ErrNotFound].
func (c *Client) SagaVersions(ctx context.Context, tenant domain.TenantID, name string) (api.SagaList, error) {
	return c.sagas(ctx, sagaPath(tenant, name)+"/versions")
}

func (c *Client) sagas(ctx context.Context, path string) (api.SagaList, error) {
	all := api.SagaList{Sagas: []document.Entry{}}
	err := c.pages(ctx, path, func(get func(page any) error) (next string, err error) {
		var page api.SagaList
		err = get(&page)
		all.Sagas = append(all.Sagas, page.Sagas...)
		return page.Next, err
	})
	return all, err
}

// DiffSaga compares two versions; to 0 is the newest, from 0 the one before to.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid] where there is none before.
func (c *Client) DiffSaga(ctx context.Context, tenant domain.TenantID, name string, from, to int) (api.SagaDiff, error) {
	var out api.SagaDiff
	err := c.call(ctx, http.MethodGet, sagaPath(tenant, name)+"/diff", versionQuery(map[string]int{"from": from, "to": to}), nil, &out)
	return out, err
}

// DeleteSaga removes one with all versions and instances. Unless force is set
// it is refused while instances have not ended.
//
// Errors: [domain.ErrNotFound], [domain.ErrConflict].
func (c *Client) DeleteSaga(ctx context.Context, tenant domain.TenantID, name string, force bool) (saga.Deleted, error) {
	q := url.Values{}
	if force {
		q.Set("force", "true")
	}
	var out saga.Deleted
	err := c.call(ctx, http.MethodDelete, sagaPath(tenant, name), q, nil, &out)
	return out, err
}

// SagaSchema is the JSON Schema of a saga's file, as the node has it.
func (c *Client) SagaSchema(ctx context.Context) (json.RawMessage, error) {
	var out json.RawMessage
	err := c.call(ctx, http.MethodGet, "/v1/schemas/saga", nil, nil, &out)
	return out, err
}

// SagaLag says how far a saga has come in its streams.
//
// Errors: [domain.ErrNotFound].
func (c *Client) SagaLag(ctx context.Context, tenant domain.TenantID, name string) (api.SagaLags, error) {
	var out api.SagaLags
	err := c.call(ctx, http.MethodGet, sagaPath(tenant, name)+"/lag", nil, nil, &out)
	return out, err
}

// InstanceFilter says which instances of a saga to list.
type InstanceFilter struct {
	// Where is a Rhai condition over an instance; "" is all.
	Where string
	// Limit is about how many a page has. Default: the node's.
	Limit int
}

// Instances is a page of a saga's instances; cursor is "" or the Next of the
// page before. A page may be empty while more is to come.
func (c *Client) Instances(ctx context.Context, tenant domain.TenantID, name string, f InstanceFilter, cursor string) (api.InstanceList, error) {
	q := texts(map[string]string{"where": f.Where, "cursor": cursor})
	if f.Limit != 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	var out api.InstanceList
	err := c.call(ctx, http.MethodGet, sagaPath(tenant, name)+"/instances", q, nil, &out)
	return out, err
}

// Instance is one instance of a saga, by its correlation id.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Instance(ctx context.Context, tenant domain.TenantID, name, correlation string) (*domain.SagaInstance, error) {
	in := new(domain.SagaInstance)
	if err := c.call(ctx, http.MethodGet, instancePath(tenant, name, correlation), nil, nil, in); err != nil {
		return nil, err
	}
	return in, nil
}

// ExplainInstance says what an instance waits for.
//
// Errors: [domain.ErrNotFound].
func (c *Client) ExplainInstance(ctx context.Context, tenant domain.TenantID, name, correlation string) (saga.Explanation, error) {
	var out saga.Explanation
	err := c.call(ctx, http.MethodGet, instancePath(tenant, name, correlation)+"/explain", nil, nil, &out)
	return out, err
}

// History is what an instance went through, oldest first: the newest limit
// lines of it; 0 is 1,000.
//
// Errors: [domain.ErrNotFound].
func (c *Client) History(ctx context.Context, tenant domain.TenantID, name, correlation string, limit int) ([]domain.SagaEntry, error) {
	var out api.SagaHistory
	err := c.call(ctx, http.MethodGet, instancePath(tenant, name, correlation)+"/history", versionQuery(map[string]int{"limit": limit}), nil, &out)
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
	s := stream{client: c, path: instancePath(tenant, name, correlation) + "/history", of: "instance"}
	s.take = func(e event) error {
		switch e.name {
		case api.EventHistory:
			var h api.SagaHistory
			if err := json.Unmarshal(e.data, &h); err != nil {
				return fmt.Errorf("%w: %s: %w", errBadEvent, e.name, err)
			}
			for _, line := range h.Lines {
				if err := each(line); err != nil {
					return err
				}
			}
			s.wentOn(e.id)
		case api.EventEnd:
			last = new(domain.SagaInstance)
			if err := json.Unmarshal(e.data, last); err != nil {
				return fmt.Errorf("%w: %s: %w", errBadEvent, e.name, err)
			}
			return errDone
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
	return c.onSaga(ctx, tenant, name, "pause", map[string]string{"correlation_id": correlation})
}

// ResumeSaga lets an instance, or a saga, go on that was paused.
func (c *Client) ResumeSaga(ctx context.Context, tenant domain.TenantID, name, correlation string) (api.SagaDone, error) {
	return c.onSaga(ctx, tenant, name, "resume", map[string]string{"correlation_id": correlation})
}

// RewindSaga has a saga read a stream again from behind a sequence on: what it
// asks for may be done once more.
func (c *Client) RewindSaga(ctx context.Context, tenant domain.TenantID, p api.RewindSagaParams) (api.SagaDone, error) {
	return c.onSaga(ctx, tenant, p.Name, "rewind", p)
}

func (c *Client) onSaga(ctx context.Context, tenant domain.TenantID, name, verb string, in any) (api.SagaDone, error) {
	var out api.SagaDone
	err := c.call(ctx, http.MethodPost, sagaPath(tenant, name)+"/"+verb, nil, in, &out)
	return out, err
}

// ReplaySaga computes instances again from the events that the streams have,
// and says in what they differ from what they are.
//
// Errors: [domain.ErrNotFound], [domain.ErrLimit] for too many events.
func (c *Client) ReplaySaga(ctx context.Context, tenant domain.TenantID, p api.ReplaySagaParams) (*saga.Rebuilt, error) {
	out := new(saga.Rebuilt)
	if err := c.call(ctx, http.MethodPost, sagaPath(tenant, p.Name)+"/replay", nil, p, out); err != nil {
		return nil, err
	}
	return out, nil
}

// MigrateSaga brings instances to another version of their saga, or says what
// would come of it. A page may not be all: cursor is the Next of the one before.
//
// Errors: [domain.ErrNotFound].
func (c *Client) MigrateSaga(ctx context.Context, tenant domain.TenantID, p api.MigrateSagaParams) (*saga.Migrated, error) {
	out := new(saga.Migrated)
	if err := c.call(ctx, http.MethodPost, sagaPath(tenant, p.Name)+"/migrate", nil, p, out); err != nil {
		return nil, err
	}
	return out, nil
}

func sagaPath(tenant domain.TenantID, name string) string {
	path := contextPath(tenant) + "/sagas"
	if name != "" {
		path += "/" + segment(name)
	}
	return path
}

func instancePath(tenant domain.TenantID, name, correlation string) string {
	return sagaPath(tenant, name) + "/instances/" + segment(correlation)
}

// segment is a text as one part of a path. Dots alone would be taken for the
// folder, or the one above.
func segment(text string) string {
	if text == "." || text == ".." {
		return strings.ReplaceAll(text, ".", "%2E")
	}
	return url.PathEscape(text)
}

// texts is a query of what is not empty.
func texts(values map[string]string) url.Values {
	q := url.Values{}
	for name, v := range values {
		if v != "" {
			q.Set(name, v)
		}
	}
	return q
}
