package blueprint

import (
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/hide"
)

// This file knows where a blueprint has environments, whose values not everybody may read.

// Storable says of the environments of a blueprint whether it would be stored, as what cannot store it wants to tell.
//
// Errors: [domain.ErrInvalid].
func Storable(b *domain.Blueprint) error { return hide.Refuse(EnvironmentsOf(b)...) }

// EnvironmentsOf are those of a blueprint.
func EnvironmentsOf(b *domain.Blueprint) []map[string]string {
	all := append(HookEnvironments(b.On), b.Env)
	for i := range b.Steps {
		all = append(all, b.Steps[i].Env)
	}
	return all
}

// HookEnvironments are those of hooks.
func HookEnvironments(h *domain.Hooks) (all []map[string]string) {
	if h == nil {
		return nil
	}
	for _, of := range []*domain.Hook{h.Failed, h.Errored, h.Succeeded, h.Cancelled, h.Late} {
		if of != nil {
			all = append(all, of.Env)
		}
	}
	return all
}
