package definition

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Store keeps the definitions of all contexts, with all versions. It is safe
// for concurrent use.
type Store struct{ *document.Store }

// NewStore returns the store on a board.
func NewStore(b document.Board) *Store {
	return &Store{document.NewStore(b, "saga", layout.SagaDefKeys)}
}

// Apply stores a definition as the newest of its name. Where the newest has
// the same content, nothing is done and that one is returned. Version 0 asks
// for the next. with adds to the commit of a new version what is to be stored
// with it; nil: nothing.
//
// Errors: those of [Validate] and of with; [domain.ErrConflict] for a version that
// is not greater than the newest.
func (s *Store) Apply(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, d *domain.SagaDefinition,
	with document.With) (_ domain.StoredSaga, existing bool, err error) {
	if err := Validate(d); err != nil {
		return domain.StoredSaga{}, false, err
	}
	e, existing, err := s.Store.Apply(ctx, tenant, actor, document.Draft{Name: d.Name, Version: d.Version, Hash: Hash(d), Text: string(Canonical(d)),
		Summary: d.Summary, With: with})
	if err != nil {
		return domain.StoredSaga{}, false, err
	}
	return stored(e, d), existing, nil
}

func stored(e domain.DocumentEntry, d *domain.SagaDefinition) domain.StoredSaga {
	out := *d
	out.Version = e.Version
	return domain.StoredSaga{DocumentEntry: e, Definition: &out}
}

// Get reads a version of a definition; 0 is the newest.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid] for what is no name.
func (s *Store) Get(ctx context.Context, tenant domain.TenantID, name string, version int) (domain.StoredSaga, error) {
	e, text, err := s.Store.Get(ctx, tenant, name, version)
	if err != nil {
		return domain.StoredSaga{}, err
	}
	d := new(domain.SagaDefinition)
	if err := json.Unmarshal([]byte(text), d); err != nil {
		return domain.StoredSaga{}, fmt.Errorf("read version %d of saga %s: %w", e.Version, name, err)
	}
	return stored(e, d), nil
}
