package identity

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// CacheFor is how long a registry may answer from memory when it is asked for
// rights and keys: a change elsewhere acts within that time.
const CacheFor = time.Second

// Board is what a registry needs of a board.
type Board interface {
	Commit(ctx context.Context, batch board.Batch) error
	Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error)
	Keys(ctx context.Context, space board.Space, prefix, cursor string, limit int) (keys []string, next string, err error)
	List(ctx context.Context, space board.Space, list string, from, n int) ([]string, error)
	Members(ctx context.Context, space board.Space, set, after string, limit int) ([]string, error)
	Next(ctx context.Context, space board.Space, key string, n int) (int64, error)
}

// Registry is the actors and contexts of a board. It is safe for concurrent use.
type Registry struct {
	*directory
	by domain.ActorID
}

// directory is what the registries of one node have in common.
type directory struct {
	board   Board
	actors  *cache[domain.ActorID, Holder]
	tenants *cache[domain.TenantID, domain.Tenant]
	byKey   *cache[string, domain.Actor]
	byAlias *cache[string, domain.TenantID]
	scan    keyScan
	node    string // its name, for the audit log
}

// NewRegistry returns a registry on b.
func NewRegistry(b Board) *Registry {
	r := &Registry{directory: &directory{board: b}}
	r.actors = newCache(r.holder)
	r.tenants = newCache(r.Tenant)
	r.byKey = newCache(r.actorOf)
	r.byAlias = newCache(r.tenantOf)
	return r
}

// SetNode says which node this is, for the audit log, before it is at work.
func (r *Registry) SetNode(name string) { r.node = name }

// As returns the registry for what one actor changes: that is written to the
// audit log, in the same commit. Without, nothing is.
func (r *Registry) As(actor domain.ActorID) *Registry { return &Registry{r.directory, actor} }

// note adds to a batch the line of the audit log that says what it does.
func (r *Registry) note(b *board.Batch, tenant domain.TenantID, verb domain.Verb, object, detail string) {
	if r.by == 0 {
		return
	}
	layout.AppendAuditEntry(b, domain.AuditEntry{AtMs: time.Now().UnixMilli(), Actor: r.by, Verb: string(verb), Object: object,
		Context: tenant, Outcome: domain.AuditDone, Detail: detail, Node: r.node})
}
