package listing

import (
	"context"

	"github.com/ramet-run/ramet/board"
)

// All tells do of each record whose key begins with prefix, once, in the board's order. It
// reads all of them, most at a time: for what a space has few of. err is what is wrong with
// one record, which does not hide the others.
func All(ctx context.Context, b board.Board, space board.Space, prefix string, most int, do func(key string, rec board.Record, err error)) error {
	seen := map[string]bool{} // a key may come twice in a listing
	for cursor := ""; ; {
		keys, next, err := b.Keys(ctx, space, prefix, cursor, most)
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			recs, bad, err := board.PerKey(b.Get(ctx, space, keys...))
			if err != nil {
				return err
			}
			for i, key := range keys {
				if gone := recs[i] == nil && bad[i] == nil; gone || seen[key] {
					continue
				}
				seen[key] = true
				do(key, recs[i], bad[i])
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}
