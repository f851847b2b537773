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
	Members(ctx context.Context, space board.Space, set, after string, limit int) ([]string, error)
	Next(ctx context.Context, space board.Space, key string, n int) (int64, error)
}

// Registry is the actors and contexts of a board. It is safe for concurrent use.
type Registry struct {
	board   Board
	actors  *cache[domain.ActorID, domain.Actor]
	tenants *cache[domain.TenantID, domain.Tenant]
}

// NewRegistry returns a registry on b.
func NewRegistry(b Board) *Registry {
	r := &Registry{board: b}
	r.actors = newCache(r.Actor)
	r.tenants = newCache(r.Tenant)
	return r
}
