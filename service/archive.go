package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Archive is what the operations need of the archive.
type Archive interface {
	Get(ctx context.Context, tenant domain.TenantID, key string, endMs int64) (archive.Record, error)
	Search(ctx context.Context, q archive.Query) (archive.Page, error)
	Count(ctx context.Context, q archive.Query) (int64, error)
	Ping(ctx context.Context) error
	Durability() board.Durability
}

// answering is an archive that is read only as long as it answers at all: a server that takes
// what it is asked and is silent would be waited for without end, by a connection that is there
// already. What is slow goes on.
type answering struct {
	Archive
	is *outlook[struct{}]
}

func (a answering) Get(ctx context.Context, tenant domain.TenantID, key string, endMs int64) (archive.Record, error) {
	return answered(ctx, a.is, func(ctx context.Context) (archive.Record, error) { return a.Archive.Get(ctx, tenant, key, endMs) })
}

func (a answering) Search(ctx context.Context, q archive.Query) (archive.Page, error) {
	return answered(ctx, a.is, func(ctx context.Context) (archive.Page, error) { return a.Archive.Search(ctx, q) })
}

func (a answering) Count(ctx context.Context, q archive.Query) (int64, error) {
	return answered(ctx, a.is, func(ctx context.Context) (int64, error) { return a.Archive.Count(ctx, q) })
}

// answered is what ask finds. Where that ends because nothing answers, it is said since when, in
// place of the words of a client library.
func answered[T any](ctx context.Context, is *outlook[struct{}], ask func(context.Context) (T, error)) (T, error) {
	while, stop := whileAnswering(ctx, is)
	defer stop()
	found, err := ask(while)
	if silent := (*silence)(nil); err != nil && errors.As(context.Cause(while), &silent) {
		err = silent
	}
	return found, err
}

// noArchive stands where the node has none.
type noArchive struct{}

var errNoArchive = domain.NotFoundf("this node has no archive; it was started with --archive none, or on a board that has none")

func (noArchive) Get(context.Context, domain.TenantID, string, int64) (archive.Record, error) {
	return archive.Record{}, errNoArchive
}

func (noArchive) Search(context.Context, archive.Query) (archive.Page, error) {
	return archive.Page{}, errNoArchive
}

func (noArchive) Count(context.Context, archive.Query) (int64, error) { return 0, errNoArchive }

func (noArchive) Ping(context.Context) error { return nil }

func (noArchive) Durability() board.Durability { return "" }

func archiveQuery(p api.ArchiveParams, whole bool) archive.Query {
	return archive.Query{Context: p.Context, Kind: p.Kind, Status: p.Status, Reason: p.Reason, ScriptType: p.Type, Blueprint: p.Blueprint,
		Trigger: p.Trigger, Caller: p.Caller, FromMs: p.FromMs, ToMs: p.ToMs, Text: p.Text, Cursor: p.Cursor, Limit: p.Limit, Whole: whole}
}

// SearchArchive lists a page of what has ended, newest end first, without
// bodies and logs.
func (c Caller) SearchArchive(ctx context.Context, p api.ArchiveParams) (api.ArchivePage, error) {
	return c.archived(ctx, p, false)
}

// ExportArchive lists a page of whole records. A page of large ones ends early.
func (c Caller) ExportArchive(ctx context.Context, p api.ArchiveParams) (api.ArchivePage, error) {
	return c.archived(ctx, p, true)
}

func (c Caller) archived(ctx context.Context, p api.ArchiveParams, whole bool) (api.ArchivePage, error) {
	t, err := c.may(ctx, domain.VerbRead, p.Context, "archive")
	if err != nil {
		return api.ArchivePage{}, err
	}
	if p.Count {
		return c.countArchive(ctx, p)
	}
	page, err := c.api.parts.Archive.Search(ctx, archiveQuery(p, whole))
	if err != nil {
		return api.ArchivePage{}, err
	}
	list := api.ArchivePage{Records: make([]api.ArchiveRecord, len(page.Records)), Next: page.Next}
	for i := range page.Records {
		if list.Records[i], err = c.archiveView(t, &page.Records[i]); err != nil {
			return api.ArchivePage{}, err
		}
	}
	list.Records, err = where(ctx, c, p.Context, p.Where, "record", list.Records)
	return list, err
}

// countArchive says how many records a search would find.
func (c Caller) countArchive(ctx context.Context, p api.ArchiveParams) (api.ArchivePage, error) {
	if p.Where != "" {
		return api.ArchivePage{}, domain.Invalidf("count: the archive counts by its own filters only; leave where out, or count what a search lists")
	}
	n, err := c.api.parts.Archive.Count(ctx, archiveQuery(p, false))
	if err != nil {
		return api.ArchivePage{}, err
	}
	return api.ArchivePage{Records: []api.ArchiveRecord{}, Count: &api.Counted{Matching: int(n)}}, nil
}

// ShowArchive reads one record with its body and log.
func (c Caller) ShowArchive(ctx context.Context, p api.ArchiveShowParams) (api.ArchiveRecord, error) {
	t, err := c.may(ctx, domain.VerbRead, p.Context, "archive")
	if err != nil {
		return api.ArchiveRecord{}, err
	}
	r, err := c.api.parts.Archive.Get(ctx, p.Context, p.Key, p.EndMs)
	if err != nil {
		return api.ArchiveRecord{}, err
	}
	return c.archiveView(t, &r)
}

// archiveView is a record as the caller may see it.
func (c Caller) archiveView(t domain.Tenant, r *archive.Record) (api.ArchiveRecord, error) {
	out := api.ArchiveRecord{Kind: r.Kind, Key: r.Key, EndMs: r.EndMs, BeginMs: r.BeginMs, Status: r.Status, Reason: r.Reason,
		ScriptType: r.ScriptType, Blueprint: r.Blueprint, Trigger: r.Trigger, Caller: r.Caller, Logs: r.Logs}
	switch {
	case r.Body == nil: // a head
	case r.Kind == domain.ArchiveJob:
		j, err := r.Job()
		if err != nil {
			return out, err
		}
		out.Job = c.view(t, j)
	case r.Kind == domain.ArchiveMessage:
		m, err := r.Message()
		if err != nil {
			return out, err
		}
		m.Logs = nil // they are the record's
		out.Message = &c.messageView(t, m, nil).Message
	case c.who.Permits(t, domain.VerbReadEnv, false, c.group):
		out.Body = r.Body
	default:
		body, err := redactEnv(r.Body)
		if err != nil {
			return out, err
		}
		out.Body = body
	}
	return out, nil
}

// redactEnv hides the values of every env_vars in a JSON text, and of every env
// of the blueprint in it, however deep.
func redactEnv(body json.RawMessage) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, domain.Invalidf("the archived record cannot be read: %v", err)
	}
	hideEnv(v, false)
	return json.Marshal(v)
}

func hideEnv(v any, isEnv bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if isEnv {
				v[name] = api.Redacted
				continue
			}
			hideEnv(value, name == "env_vars" || name == "env")
		}
	case []any:
		for _, item := range v {
			hideEnv(item, false)
		}
	}
}

// inArchive is the newest record of what the board no longer has. Where the
// archive does not have it either, the error is what the board said, and what the
// audit knows of it where its record was lost.
func (c Caller) inArchive(ctx context.Context, tenant domain.TenantID, key string, missing error) (archive.Record, error) {
	if !errors.Is(missing, domain.ErrNotFound) {
		return archive.Record{}, missing
	}
	r, err := c.api.parts.Archive.Get(ctx, tenant, key, 0)
	if !errors.Is(err, domain.ErrNotFound) {
		return r, err
	}
	if found, lost, err := c.api.parts.Jobs.Lost(ctx, tenant, key); err == nil && lost {
		missing = fmt.Errorf("%w: %s", missing, found.Text)
	}
	return r, missing
}

// showArchived reads a job that the board no longer has.
func (c Caller) showArchived(ctx context.Context, p api.JobParams, missing error) (*domain.Job, []domain.Log, error) {
	r, err := c.inArchive(ctx, p.Context, p.Key().String(), missing)
	if err != nil {
		return nil, nil, err
	}
	j, err := r.Job()
	if err == nil {
		j.History = nil // job.history tells it, page by page
	}
	return j, r.Logs, err
}

// archivedJob reads a job that the board no longer has, with its history.
func (c Caller) archivedJob(ctx context.Context, p api.JobParams, missing error) (*domain.Job, error) {
	r, err := c.inArchive(ctx, p.Context, p.Key().String(), missing)
	if err != nil {
		return nil, err
	}
	return r.Job()
}

// archivedMessage reads a message that the board no longer has.
func (c Caller) archivedMessage(ctx context.Context, tenant domain.TenantID, key domain.MessageKey, missing error) (*domain.Message, error) {
	r, err := c.inArchive(ctx, tenant, key.String(), missing)
	if err != nil {
		return nil, err
	}
	return r.Message()
}
