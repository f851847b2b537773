package listing

import (
	"context"

	"github.com/ramet-run/ramet/board"
)

// countPage is how many keys are asked for at once.
const countPage = 1000

// Count is how many keys of a space begin with prefix and are of the kind that of takes, up to
// most, at which it stops; a nil of takes all. It reads no record, so that it costs the same however
// large they are, and counts a key that comes twice in a listing once.
//
// Errors: those of the board.
func Count(ctx context.Context, b board.Board, space board.Space, prefix string, most int, of func(key string) bool) (int, error) {
	seen := map[string]bool{}
	for cursor := ""; ; {
		keys, next, err := b.Keys(ctx, space, prefix, cursor, countPage)
		if err != nil {
			return 0, err
		}
		for _, key := range keys {
			if of == nil || of(key) {
				seen[key] = true
			}
		}
		if cursor = next; cursor == "" || len(seen) >= most {
			return len(seen), nil
		}
	}
}
