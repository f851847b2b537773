package precondition_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/domain"
)

func set(key, value string) board.Batch {
	b := board.Batch{Space: 7}
	return *b.Set(key, board.Field{Name: "f", Value: value})
}

func TestAChangeHolds(t *testing.T) {
	ctx := t.Context()
	for _, tc := range []struct {
		name string
		// between is what another does between the reading and the change.
		between func(b board.Board) error
		// reads says that the change reads what it changes before.
		reads   bool
		want    string // the field in the end
		changed bool
	}{
		{"nothing happens", nil, false, "new", false},
		{"nothing happens to who reads again", nil, true, "new", false},
		{"another changes it", func(b board.Board) error { return b.Commit(ctx, set("k", "theirs")) }, false, "theirs", true},
		{"another changes it before it is read again", func(b board.Board) error { return b.Commit(ctx, set("k", "theirs")) }, true, "theirs", true},
		{"another makes what was not there", func(b board.Board) error { return b.Commit(ctx, set("none", "x")) }, false, "old", true},
		{"another adds a field, and it is read again", func(b board.Board) error {
			batch := board.Batch{Space: 7}
			return b.Commit(ctx, *batch.Set("k", board.Field{Name: "g", Value: "x"}))
		}, true, "old", true},
		{"another changes something else", func(b board.Board) error { return b.Commit(ctx, set("other", "x")) }, true, "new", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			below := memboard.Open()
			defer below.Close()
			b := precondition.Over(below)
			if err := below.Commit(ctx, set("k", "old")); err != nil {
				t.Fatal(err)
			}
			noting, seen := precondition.Note(ctx)
			if _, err := b.Get(noting, 7, "k", "none"); err != nil {
				t.Fatal(err)
			}
			if tc.between != nil {
				if err := tc.between(below); err != nil {
					t.Fatal(err)
				}
			}
			holding := precondition.Hold(noting, seen)
			var err error
			if tc.reads {
				_, err = b.Get(holding, 7, "k")
			}
			if err == nil {
				err = b.Commit(holding, set("k", "new"))
			}
			if tc.changed != seen.Changed() || tc.changed != errors.Is(err, domain.ErrConflict) || !tc.changed && err != nil {
				t.Errorf("got %v, changed %v", err, seen.Changed())
			}
			recs, err := below.Get(ctx, 7, "k")
			if err != nil || recs[0].Get("f") != tc.want {
				t.Errorf("in the end: %v, %v", recs[0], err)
			}
			if tc.changed {
				return
			}
			// What comes after the change is not held.
			if recs, err := b.Get(holding, 7, "k"); err != nil || recs[0].Get("f") != "new" {
				t.Errorf("read again: %v, %v", recs, err)
			}
			if err := b.Commit(holding, set("k", "newer")); err != nil {
				t.Error(err)
			}
		})
	}
}

// A guard of the writer's own that fails is told as the writer has it.
func TestGuardsOfTheWriter(t *testing.T) {
	below := memboard.Open()
	defer below.Close()
	b := precondition.Over(below)
	noting, seen := precondition.Note(t.Context())
	if _, err := b.Get(noting, 7, "k"); err != nil {
		t.Fatal(err)
	}
	batch := set("k", "x")
	batch.Equal("a", "f", "").Equal("b", "f", "y")
	err := b.Commit(precondition.Hold(t.Context(), seen), batch)
	guard := (*board.GuardError)(nil)
	if !errors.As(err, &guard) || guard.Index != 1 || guard.Guard.Key != "b" || seen.Changed() {
		t.Errorf("got %v", err)
	}
}

// What is made once: the mark is judged first, guards of the writer's own are told as it has them, and what is
// written besides passes.
func TestAThingIsMadeOnce(t *testing.T) {
	ctx := t.Context()
	below := memboard.Open()
	defer below.Close()
	b := precondition.Over(below)
	once := func() context.Context {
		return precondition.Make(ctx, &precondition.Once{Prefix: "k", Field: "f", Mark: "mark", Keep: time.Hour})
	}
	failing := set("k1", "x")
	failing.Equal("a", "f", "").Equal("b", "f", "y")
	guard := (*board.GuardError)(nil)
	if err := b.Commit(once(), failing); !errors.As(err, &guard) || guard.Index != 1 || guard.Guard.Key != "b" {
		t.Errorf("a guard of the writer's own: got %v", err)
	}
	first := once()
	for _, batch := range []board.Batch{set("other", "x"), set("k1", "one"), set("k1", "two")} {
		if err := b.Commit(first, batch); err != nil {
			t.Errorf("the request itself: %v", err)
		}
	}
	guard = nil
	if err := b.Commit(once(), set("k1", "three")); !errors.Is(err, domain.ErrConflict) || errors.As(err, &guard) {
		t.Errorf("again: got %v", err)
	}
	if err := b.Commit(once(), set("other", "y")); err != nil {
		t.Errorf("what it writes besides: %v", err)
	}
	done := precondition.Make(ctx, &precondition.Once{Prefix: "k", Mark: "another", Done: true})
	if err := b.Commit(done, set("k2", "x")); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("what is known to be done: got %v", err)
	}
	recs, err := below.Get(ctx, 7, "k1", "mark", "k2", "other")
	if err != nil || recs[0].Get("f") != "two" || recs[1].Get(precondition.MarkMade) != "k1" || recs[1].Get(precondition.MarkValue) != "one" || recs[2] != nil ||
		recs[3].Get("f") != "y" {
		t.Errorf("in the end: %v, %v", recs, err)
	}
}
