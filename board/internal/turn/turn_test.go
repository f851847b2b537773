package turn_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/turn"
)

// space returns a space with limits: names and values in turn.
func space(id board.Space, limits ...string) *turn.Space {
	s := turn.NewSpace(id)
	var fields []board.Field
	for i := 0; i < len(limits); i += 2 {
		fields = append(fields, board.Field{Name: limits[i], Value: limits[i+1]})
	}
	s.Limits = turn.ReadLimits(fields)
	return s
}

// take takes items and returns from which spaces; each is leased.
func take(g *turn.Group, want, each int) (from []board.Space) {
	g.Take(want, each, func(t *turn.Turn, n int) (int, error) {
		for range n {
			from = append(from, t.Space.ID)
			t.Space.Hold(t.CapGroup())
		}
		return n, nil
	})
	return from
}

func TestSpacesTakeTurnsByWeight(t *testing.T) {
	g := turn.NewGroup("queue:v")
	g.Account(space(1), "queue:v", true)
	g.Account(space(2, "weight", "2"), "queue:v", true)
	if diff := cmp.Diff([]board.Space{1, 2, 2, 1, 2, 2}, take(&g, 6, 1)); diff != "" {
		t.Error(diff)
	}
}

func TestASpaceAtACapTakesNoPartUntilItHasRoom(t *testing.T) {
	g := turn.NewGroup("queue:v")
	capped := space(1, "max:queue:v", "1", "max", "x", "weight", "5000") // what is malformed is not there
	g.Account(capped, "queue:v:p7", true)
	if got := take(&g, 5, 2); len(got) != 1 || g.Any() {
		t.Fatalf("got %v, any %v, want one item and nobody left", got, g.Any())
	}
	if diff := cmp.Diff([]board.Space{1}, g.Spaces()); diff != "" {
		t.Error(diff)
	}
	if got := capped.Unpark(); got != nil {
		t.Errorf("still at its cap: got %v", got)
	}
	capped.Release("queue:v")
	if diff := cmp.Diff([]string{"queue:v"}, capped.Unpark()); diff != "" || !g.Any() {
		t.Errorf("any %v: %s", g.Any(), diff)
	}
}

func TestListsAreCountedOnce(t *testing.T) {
	g, s := turn.NewGroup("queue:v"), space(1)
	for _, step := range []struct {
		list   string
		filled bool
		want   int
	}{{"queue:v", true, 1}, {"queue:v", true, 0}, {"queue:v:p7", true, 1}, {"queue:v", false, -1}, {"queue:v", false, 0}, {"queue:v:p7", false, -1}} {
		if got := g.Account(s, step.list, step.filled); got != step.want {
			t.Errorf("%+v: got %d", step, got)
		}
	}
	if g.Any() || g.Spaces() != nil || !g.Knows(1) {
		t.Errorf("any %v, spaces %v, knows %v", g.Any(), g.Spaces(), g.Knows(1))
	}
}

func TestASpaceThatGivesNothingIsPassedOverAndStays(t *testing.T) {
	g := turn.NewGroup("queue:v")
	g.Account(space(1), "queue:v", true)
	g.Account(space(2), "queue:v", true)
	var asked []board.Space
	g.Take(2, 1, func(t *turn.Turn, n int) (int, error) {
		asked = append(asked, t.Space.ID)
		return int(t.Space.ID) - 1, nil // space 1 has nothing for this call
	})
	if diff := cmp.Diff([]board.Space{1, 2, 2}, asked); diff != "" {
		t.Error(diff)
	}
	if got := take(&g, 1, 1); len(got) != 1 || got[0] != 1 {
		t.Errorf("then: got %v, want 1", got)
	}
}

func TestATurnThatCameToNothingIsGivenAgain(t *testing.T) {
	g := turn.NewGroup("queue:v")
	g.Account(space(1), "queue:v", true)
	g.Account(space(2), "queue:v", true)
	var given []*turn.Turn
	g.Take(3, 1, func(t *turn.Turn, n int) (int, error) { given = append(given, t); return 1, nil })
	for _, t := range given {
		t.Undo(1)
	}
	if diff := cmp.Diff([]board.Space{1, 2, 1, 2}, take(&g, 4, 1)); diff != "" {
		t.Error(diff)
	}
}
