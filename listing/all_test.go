package listing_test

import (
	"context"
	"fmt"
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

func TestCountCountsAKeyOnce(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	batch := board.Batch{Space: 7}
	for i := range 1500 { // more than a page
		batch.Set(fmt.Sprintf("x:%d", i), board.Field{Name: "n", Value: "1"})
		if i%500 == 499 {
			if err := b.Commit(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			batch = board.Batch{Space: 7}
		}
	}
	odd := func(key string) bool { return len(key) == 3 || len(key) == 5 }
	for name, c := range map[string]struct {
		prefix string
		most   int
		of     func(string) bool
		want   int
	}{
		"all, of which one comes twice": {"x:", 5000, nil, 1500},
		"until there are enough":        {"x:", 10, nil, 1000},
		"of a kind":                     {"x:", 5000, odd, 10 + 900}, // of one digit or three: x:7, x:123
		"none":                          {"y:", 5000, nil, 0},
	} {
		if got, err := listing.Count(t.Context(), &again{Board: b}, 7, c.prefix, c.most, c.of); err != nil || got != c.want {
			t.Errorf("%s: got %d, %v, want %d", name, got, err, c.want)
		}
	}
}
