package identity

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// CacheFor is how long a registry may answer from memory when it is asked for
// rights and keys: a change elsewhere acts within that time.
const CacheFor = time.Second

// Board is what a registry needs of a board.
type Board interface {
	Commit(ctx context.Context, batch board.Batch) error
	Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error)
	Keys(ctx context.Context, space board.Space, prefix, cursor string, limit int) (keys []string, next string, err error)
	Len(ctx context.Context, space board.Space, lists ...string) ([]int, error)
	List(ctx context.Context, space board.Space, list string, from, n int) ([]string, error)
	Members(ctx context.Context, space board.Space, set, after string, limit int) ([]string, error)
	Next(ctx context.Context, space board.Space, key string, n int) (int64, error)
	Now() time.Time
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
	chains  chains
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

// SetNode says which node this is, for the audit log, before it is at work. With key it
// signs there; the zero key signs nothing.
func (r *Registry) SetNode(name string, key Key) { r.node, r.chains.key = name, key }

// As returns the registry for what one actor changes: that is written to the
// audit log, in the same commit. Without, nothing is.
func (r *Registry) As(actor domain.ActorID) *Registry { return &Registry{r.directory, actor} }

// noted is a batch with the entries of the audit log that say what it does.
type noted struct {
	board.Batch
	entries []domain.AuditEntry
}

// note adds to a batch the entry of the audit log that says what it does.
func (r *Registry) note(b *noted, tenant domain.TenantID, verb domain.Verb, object, detail string) {
	if r.by == 0 {
		return
	}
	b.entries = append(b.entries, domain.AuditEntry{AtMs: r.board.Now().UnixMilli(), Actor: r.by, Verb: string(verb), Object: object,
		Context: tenant, Outcome: domain.AuditDone, Detail: detail, Node: r.node})
}
