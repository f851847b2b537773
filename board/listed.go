package board

import "context"

// Listed is [Board.GetFields] for keys that [Board.Keys] named. Something else than
// a record may lie under one of them: a foreign program's list, say. It is as if
// that one were not there (nil).
func Listed(ctx context.Context, b Board, space Space, fields, keys []string) ([]Record, error) {
	recs, _, err := PerKey(b.GetFields(ctx, space, fields, keys...))
	return recs, err
}
