package api

import (
	"context"

	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
)

// where keeps of a list what a condition holds for: a Rhai expression over one
// of its things, by the fields that its JSON has. "" keeps all.
//
// Errors: [domain.ErrInvalid].
func where[T any](ctx context.Context, text, name string, list []T) ([]T, error) {
	if text == "" {
		return list, nil
	}
	c, err := condition.Compile(text, name)
	if err != nil {
		return nil, domain.Invalidf("where: %v", err)
	}
	kept := list[:0]
	for i := range list {
		v, err := condition.Of(list[i])
		if err != nil {
			return nil, err
		}
		holds, err := c.Holds(ctx, v)
		if err != nil {
			return nil, domain.Invalidf("where: %v", err)
		}
		if holds {
			kept = append(kept, list[i])
		}
	}
	return kept, nil
}
