package board

import (
	"context"
	"errors"

	"github.com/ramet-run/ramet/domain"
)

// Listed is [Board.GetFields] for keys that [Board.Keys] named. Something else than
// a record may lie under one of them: a foreign program's list, say. It is as if
// that one were not there (nil), so that it does not keep the others from being read.
func Listed(ctx context.Context, b Board, space Space, fields, keys []string) ([]Record, error) {
	recs, err := b.GetFields(ctx, space, fields, keys...)
	if !errors.Is(err, domain.ErrInvalid) {
		return recs, err
	}
	stats, err := b.Stat(ctx, space, keys...)
	if err != nil {
		return nil, err
	}
	var good []string
	var at []int
	for i, s := range stats {
		if s.Kind == KindRecord {
			good, at = append(good, keys[i]), append(at, i)
		}
	}
	found, err := b.GetFields(ctx, space, fields, good...)
	if err != nil {
		return nil, err
	}
	recs = make([]Record, len(keys))
	for i, r := range found {
		recs[at[i]] = r
	}
	return recs, nil
}
