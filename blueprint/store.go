package blueprint

import (
	"context"
	"fmt"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// MaxList bounds what List and Versions give at once.
const MaxList = document.MaxList

// Store keeps the blueprints of all contexts, with all versions. It is safe for
// concurrent use.
type Store struct{ *document.Store }

// NewStore returns the store on a board.
func NewStore(b document.Board) *Store {
	return &Store{document.NewStore(b, "blueprint", layout.BlueprintKeys)}
}

// Apply stores a blueprint as the newest of its name. Where the newest has the
// same content, nothing is done and that one is returned. Version 0 asks for
// the next.
//
// Errors: *[Error]; [domain.ErrInvalid] where blueprints would make flows of each other without end; [domain.ErrConflict] for a version that is not greater
// than the newest.
func (s *Store) Apply(ctx context.Context, tenant domain.TenantID, actor domain.ActorID,
	b *domain.Blueprint) (_ domain.StoredBlueprint, existing bool, err error) {
	if err := Validate(b); err != nil {
		return domain.StoredBlueprint{}, false, err
	}
	if err := s.checkFlows(ctx, tenant, b); err != nil {
		return domain.StoredBlueprint{}, false, err
	}
	e, existing, err := s.Store.Apply(ctx, tenant, actor, document.Draft{Name: b.Name, Version: b.Version, Hash: Hash(b), Text: string(Canonical(b)),
		Summary: b.Summary})
	if err != nil {
		return domain.StoredBlueprint{}, false, err
	}
	return stored(e, b), existing, nil
}

func stored(e domain.DocumentEntry, b *domain.Blueprint) domain.StoredBlueprint {
	s := domain.StoredBlueprint{DocumentEntry: e, Blueprint: *b}
	s.Blueprint.Version = e.Version
	return s
}

// Get reads a version of a blueprint; 0 is the newest.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid] for what is no name.
func (s *Store) Get(ctx context.Context, tenant domain.TenantID, name string, version int) (domain.StoredBlueprint, error) {
	e, text, err := s.Store.Get(ctx, tenant, name, version)
	if err != nil {
		return domain.StoredBlueprint{}, err
	}
	b, err := decode([]byte(text))
	if err != nil {
		return domain.StoredBlueprint{}, fmt.Errorf("read version %d of blueprint %s: %w", e.Version, name, err)
	}
	return stored(e, b), nil
}
