package service

import (
	"context"
	"reflect"

	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
)

// where keeps of a list what a condition holds for: a Rhai expression over one
// of its things, by the fields that its JSON has. "" keeps all.
//
// Errors: [domain.ErrInvalid].
func where[T any](ctx context.Context, c Caller, in domain.TenantID, text, name string, list []T) ([]T, error) {
	if text == "" {
		return list, nil
	}
	over, err := condition.CompileOver(text, name, reflect.TypeFor[T]())
	if err != nil {
		return nil, domain.Invalidf("where: %v", err)
	}
	kept := list[:0]
	for i := range list {
		holds, err := c.api.holds(ctx, in, over, list[i])
		if err != nil {
			return nil, err
		}
		if holds {
			kept = append(kept, list[i])
		}
	}
	return kept, nil
}

// holds asks about one thing, when it is the context's turn.
func (s *Service) holds(ctx context.Context, in domain.TenantID, over *condition.Condition, thing any) (bool, error) {
	done, err := s.turns.Take(ctx, in)
	if err != nil {
		return false, err
	}
	defer done()
	v, err := condition.Of(thing)
	if err != nil {
		return false, err
	}
	holds, err := over.Holds(ctx, v)
	if err != nil {
		return false, domain.Invalidf("where: %v", err)
	}
	return holds, nil
}
