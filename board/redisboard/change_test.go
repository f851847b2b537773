package redisboard_test

import (
	"slices"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testwait"
)

// since asks what has changed.
func since(t *testing.T, b *redisboard.Board, mark string) board.Changes {
	t.Helper()
	c, err := b.Changed(t.Context(), mark)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func commitIn(t *testing.T, b *redisboard.Board, space board.Space) {
	t.Helper()
	batch := board.Batch{Space: space}
	if err := b.Commit(t.Context(), *batch.Set("k", board.Field{Name: "a", Value: "1"})); err != nil {
		t.Fatal(err)
	}
}

func TestABoardHearsOfWhatOthersChange(t *testing.T) {
	s := redistest.Start(t)
	a, b := open(t, s, redisboard.Config{}), open(t, s, redisboard.Config{})
	mark := since(t, a, "").Next
	commitIn(t, b, 3)
	c := since(t, a, mark)
	if c.All || !slices.Contains(c.Spaces, 3) {
		t.Fatalf("another board's commit: got %+v, want space 3", c)
	}
	if other := since(t, b, c.Next); !other.All {
		t.Errorf("with another board's mark got %+v, want all", other)
	}
	// A node of an older version, or a foreign program, writes no number.
	dial(t, s, 5).do("LPUSH", "ramet:finished", "job:1:1")
	testwait.Until(t, "the push is heard", func() bool {
		c = since(t, a, c.Next)
		return slices.Contains(c.Spaces, 5)
	})
}

func TestWhatOthersWriteOverChangesFailsNoCommit(t *testing.T) {
	for _, c := range []struct{ name, key string }{{"another kind of thing", "ramet:changed"}, {"rubbish for the number", ""}} {
		t.Run(c.name, func(t *testing.T) {
			s := redistest.Start(t)
			b := open(t, s, redisboard.Config{})
			mark := since(t, b, "").Next
			if c.key != "" {
				dial(t, s, 0).do("SET", c.key, "x")
			} else {
				dial(t, s, 0).do("HSET", "ramet:board", "changes", "many")
			}
			commitIn(t, b, 3)
			if got := since(t, b, mark); !got.All {
				t.Errorf("got %+v, want that all may have changed", got)
			}
		})
	}
}
