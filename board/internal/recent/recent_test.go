package recent_test

import (
	"slices"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/recent"
)

func TestEachChangedSpaceIsToldOnceNewestFirst(t *testing.T) {
	s := recent.New()
	begin := s.Since("")
	if !begin.All || len(begin.Spaces) != 0 {
		t.Fatalf("at the beginning got %+v, want that all may have changed", begin)
	}
	for _, space := range []board.Space{1, 2, 3, 2, 0, 1, 1, 3, 2} {
		s.Note(space)
	}
	first := s.Since(begin.Next)
	if want := []board.Space{2, 3, 1}; first.All || !slices.Equal(first.Spaces, want) {
		t.Errorf("got %+v, want the spaces %v", first, want)
	}
	if again := s.Since(begin.Next); !slices.Equal(again.Spaces, first.Spaces) {
		t.Errorf("asked from the same mark again got %v, want %v", again.Spaces, first.Spaces)
	}
	s.Note(3)
	if later := s.Since(first.Next); later.All || !slices.Equal(later.Spaces, []board.Space{3}) {
		t.Errorf("after one more change of space 3 got %+v", later)
	}
	if none := s.Since(s.Since(first.Next).Next); none.All || len(none.Spaces) != 0 {
		t.Errorf("with nothing changed got %+v", none)
	}
	for _, strange := range []string{recent.New().Since("").Next, "7", ":", "x:y", begin.Next + "x"} {
		if c := s.Since(strange); !c.All {
			t.Errorf("mark %q: got %+v, want that all may have changed", strange, c)
		}
	}
}
