package blueprint

import (
	"context"
	"errors"
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// maxLooked bounds the blueprints that are looked at for circles.
const maxLooked = 200

// CheckFlows looks whether the flows that a blueprint's steps make would make flows of each
// other without end, or too deep. get reads a stored blueprint, 0 being its newest version;
// one that is not stored yet is no fault here.
//
// Errors: [domain.ErrInvalid]; those of get but [domain.ErrNotFound].
func CheckFlows(b *domain.Blueprint, get func(name string, version int) (domain.Blueprint, error)) error {
	looked := map[string]int{} // how deep it was when it was looked at
	var look func(b *domain.Blueprint, path []string) error
	look = func(b *domain.Blueprint, path []string) error {
		for _, i := range FlowCalls(b) {
			call := b.Steps[i].Flow
			next := append(slices.Clone(path), call.Blueprint)
			switch depth, known := looked[call.Blueprint]; {
			case slices.Contains(path, call.Blueprint):
				return domain.Invalidf("step %s: %s", b.Steps[i].Name, CircleText(next[slices.Index(path, call.Blueprint):]))
			case len(next) > domain.MaxFlowDepth:
				return domain.Invalidf("step %s: flows within flows are %d deep here, the limit is %d", b.Steps[i].Name, len(next), domain.MaxFlowDepth)
			case known && depth >= len(next) || len(looked) >= maxLooked:
				continue
			}
			looked[call.Blueprint] = len(next)
			child, err := get(call.Blueprint, call.Version)
			if errors.Is(err, domain.ErrNotFound) {
				continue
			} else if err != nil {
				return err
			}
			if err := look(&child, next); err != nil {
				return err
			}
		}
		return nil
	}
	return look(b, []string{b.Name})
}

// checkFlows is CheckFlows among the blueprints of a context.
func (s *Store) checkFlows(ctx context.Context, tenant domain.TenantID, b *domain.Blueprint) error {
	return CheckFlows(b, func(name string, version int) (domain.Blueprint, error) {
		stored, err := s.Get(ctx, tenant, name, version)
		return stored.Blueprint, err
	})
}
