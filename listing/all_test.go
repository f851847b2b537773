package listing_test

import (
	"context"
	"slices"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/listing"
)

// again names the last key of a page once more in the next one, as Redis may.
type again struct {
	board.Board
	last []string
}

func (b *again) Keys(ctx context.Context, space board.Space, prefix, cursor string, most int) ([]string, string, error) {
	keys, next, err := b.Board.Keys(ctx, space, prefix, cursor, most)
	all := slices.Concat(b.last, keys)
	if len(keys) > 0 {
		b.last = keys[len(keys)-1:]
	}
	return all, next, err
}

func TestAllTellsOfEachRecordOnce(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	batch := board.Batch{Space: 7}
	for _, key := range []string{"x:a", "x:b", "x:c", "y:d"} {
		batch.Set(key, board.Field{Name: "name", Value: key})
	}
	if err := b.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := listing.All(t.Context(), &again{Board: b}, 7, "x:", 1, func(key string, rec board.Record, err error) {
		if err != nil || rec.Get("name") != key {
			t.Errorf("%s: got %v, %v", key, rec, err)
		}
		got = append(got, key)
	})
	if slices.Sort(got); err != nil || !slices.Equal(got, []string{"x:a", "x:b", "x:c"}) {
		t.Errorf("got %v, %v", got, err)
	}
}
