package blueprint_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/layout"
)

// everyBoard runs a test on each kind of board. etcd is as it comes, with its
// own limits.
func everyBoard(t *testing.T, test func(t *testing.T, b board.Board)) {
	for name, open := range map[string]func(*testing.T) (board.Board, error){
		"memboard": func(*testing.T) (board.Board, error) { return memboard.Open(), nil },
		"pebbleboard": func(t *testing.T) (board.Board, error) {
			return pebbleboard.Open(t.TempDir(), pebbleboard.Config{})
		},
		"redisboard": func(t *testing.T) (board.Board, error) {
			return redisboard.Open(t.Context(), redistest.Start(t).URL(), redisboard.Config{})
		},
		"etcdboard": func(t *testing.T) (board.Board, error) {
			return etcdboard.Open(t.Context(), etcdtest.URL("b", etcdtest.Start(t, "--unsafe-no-fsync")), etcdboard.Config{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { b.Close() })
			test(t, b)
		})
	}
}

// house and actor are whose the blueprints are.
const (
	house = domain.TenantID(3)
	actor = domain.ActorID(10)
)

// plan is a blueprint of one step.
func plan(name, script string) *domain.Blueprint {
	return &domain.Blueprint{Name: name, Summary: "of " + script, Steps: []domain.Step{{Name: "s", Script: script, ScriptType: "shell"}}}
}

func apply(t *testing.T, s *blueprint.Store, b *domain.Blueprint) domain.StoredBlueprint {
	t.Helper()
	got, existing, err := s.Apply(t.Context(), house, actor, b)
	if err != nil || existing {
		t.Fatalf("got existing %v, %v", existing, err)
	}
	return got
}

func TestVersionsOfABlueprint(t *testing.T) {
	everyBoard(t, func(t *testing.T, b board.Board) {
		s, ctx := blueprint.NewStore(b), t.Context()
		if _, err := s.Get(ctx, house, "n", 0); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("before: got %v", err)
		}
		for i, script := range []string{"a", "b"} {
			if got := apply(t, s, plan("n", script)); got.Version != i+1 || got.Blueprint.Version != i+1 || got.By != actor ||
				got.Hash != blueprint.Hash(plan("n", script)) {
				t.Errorf("got %+v", got)
			}
		}
		if got, existing, err := s.Apply(ctx, house, 99, plan("n", "b")); err != nil || !existing || got.Version != 2 || got.By != actor {
			t.Errorf("the same again: got %+v, %v, %v", got, existing, err)
		}
		given := plan("n", "a") // what an older version had is a new one
		given.Version = 7
		if got := apply(t, s, given); got.Version != 7 {
			t.Errorf("a version that is given: got %+v", got)
		}
		for _, v := range []int{2, 7} {
			given := plan("n", "c")
			given.Version = v
			_, _, err := s.Apply(ctx, house, actor, given)
			if want := `blueprint "n" is at version 7 already, with other content; want version 8 or more, or none for the next`; !errors.Is(
				err, domain.ErrConflict) || err.Error() != want {
				t.Errorf("version %d: got %v", v, err)
			}
		}
		for version, script := range map[int]string{0: "a", 1: "a", 2: "b", 7: "a"} {
			got, err := s.Get(ctx, house, "n", version)
			want := plan("n", script)
			want.Version = got.Version
			if version == 0 {
				version = 7
			}
			if diff := cmp.Diff(*want, got.Blueprint); err != nil || got.Version != version || diff != "" {
				t.Errorf("version %d: %v (-want +got):\n%s", version, err, diff)
			}
		}
		if _, err := s.Get(ctx, house, "n", 3); !errors.Is(err, domain.ErrNotFound) ||
			!strings.Contains(err.Error(), `blueprint "n" has no version 3; the newest is 7`) {
			t.Errorf("got %v", err)
		}
		if _, err := s.Get(ctx, 4, "n", 0); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("in another context: got %v", err)
		}
		page, next, err := s.Versions(ctx, house, "n", 0, 2)
		if got := numbersOf(page); err != nil || next != 2 || !slices.Equal(got, []int{7, 2}) {
			t.Errorf("versions: got %v, next %d, %v", got, next, err)
		}
		page, next, err = s.Versions(ctx, house, "n", next, 2)
		if got := numbersOf(page); err != nil || next != 0 || !slices.Equal(got, []int{1}) {
			t.Errorf("more versions: got %v, next %d, %v", got, next, err)
		}
	})
}

func numbersOf(list []domain.DocumentEntry) (versions []int) {
	for _, e := range list {
		versions = append(versions, e.Version)
	}
	return versions
}

func TestBlueprintsAreListedByName(t *testing.T) {
	everyBoard(t, func(t *testing.T, b board.Board) {
		s := blueprint.NewStore(b)
		if list, next, err := s.List(t.Context(), house, "", 0); err != nil || next != "" || list == nil || len(list) != 0 {
			t.Errorf("none: got %v, %q, %v", list, next, err)
		}
		for _, name := range []string{"c", "a", "b", "a"} {
			apply(t, s, plan(name, time.Now().String()))
		}
		strange := board.Batch{Space: layout.SpaceOf(house)} // a list where the newest version of one would be
		apply(t, s, plan("d", "x"))
		if err := b.Commit(t.Context(), *strange.Delete(layout.BlueprintKeys.Newest("d")).PushLeft(layout.BlueprintKeys.Newest("d"), "x")); err != nil {
			t.Fatal(err)
		}
		var names []string
		after, pages := "", 0
		for {
			list, next, err := s.List(t.Context(), house, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				names = append(names, fmt.Sprint(e.Name, e.Version, strings.HasPrefix(e.Summary, "of 2")))
			}
			pages++
			if after = next; next == "" {
				break
			}
		}
		if !slices.Equal(names, []string{"a2 true", "b1 true", "c1 true"}) || pages != 2 {
			t.Errorf("got %v in %d pages", names, pages)
		}
	})
}

func TestOfManyThatApplyAtOnceEachGetsAVersion(t *testing.T) {
	everyBoard(t, func(t *testing.T, b board.Board) {
		s := blueprint.NewStore(b)
		const n = 8
		var all errgroup.Group
		for i := range n {
			all.Go(func() error {
				_, _, err := s.Apply(t.Context(), house, actor, plan("n", fmt.Sprint(i)))
				return err
			})
		}
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
		list, _, err := s.Versions(t.Context(), house, "n", 0, 0)
		hashes := map[string]bool{}
		for _, e := range list {
			hashes[e.Hash] = true
		}
		if got := numbersOf(list); err != nil || len(hashes) != n || len(got) != n || got[0] != n {
			t.Errorf("got %v, %v", list, err)
		}
	})
}

// TestTheLargestBlueprintIsStored: etcd takes 1.5 MiB at once.
func TestTheLargestBlueprintIsStored(t *testing.T) {
	everyBoard(t, func(t *testing.T, b board.Board) {
		s := blueprint.NewStore(b)
		large := plan("n", strings.Repeat("x", domain.MaxBlueprintBytes-200))
		large.Summary = ""
		apply(t, s, large)
		if got, err := s.Get(t.Context(), house, "n", 0); err != nil || len(got.Blueprint.Steps[0].Script) != len(large.Steps[0].Script) {
			t.Errorf("got %d bytes, %v", len(got.Blueprint.Steps[0].Script), err)
		}
		large.Steps[0].Script += strings.Repeat("x", 200)
		wrong := (*blueprint.Error)(nil)
		if _, _, err := s.Apply(t.Context(), house, actor, large); !errors.As(err, &wrong) {
			t.Errorf("too large: got %v", err)
		}
	})
}

func TestADeletedBlueprintIsGone(t *testing.T) {
	everyBoard(t, func(t *testing.T, b board.Board) {
		s, ctx := blueprint.NewStore(b), t.Context()
		apply(t, s, plan("n", "a"))
		apply(t, s, plan("n", "b"))
		apply(t, s, plan("other", "a"))
		if n, err := s.Delete(ctx, house, "n"); err != nil || n != 2 {
			t.Fatalf("got %d, %v", n, err)
		}
		if _, err := s.Delete(ctx, house, "n"); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("again: got %v", err)
		}
		if keys, _, err := b.Keys(ctx, board.Space(house), "ramet:blueprint:n", "", 100); err != nil || len(keys) != 0 {
			t.Errorf("left: %v, %v", keys, err)
		}
		if list, _, err := s.List(ctx, house, "", 0); err != nil || len(list) != 1 || list[0].Name != "other" {
			t.Errorf("got %v, %v", list, err)
		}
		if got := apply(t, s, plan("n", "a")); got.Version != 1 {
			t.Errorf("anew: got %+v", got)
		}
	})
}

// TestADeletionThatIsCutOffCanBeDoneAgain: of more versions than one commit
// deletes.
func TestADeletionThatIsCutOffCanBeDoneAgain(t *testing.T) {
	commits := 0
	cut := errors.New("cut")
	b := faultboard.New(memboard.Open(), faultboard.Config{Before: func(context.Context, faultboard.Call) error {
		if commits--; commits == 0 {
			return cut
		}
		return nil
	}})
	t.Cleanup(func() { b.Close() })
	s := blueprint.NewStore(b)
	const n = 1000
	for i := range n {
		apply(t, s, plan("n", fmt.Sprint(i)))
	}
	commits = 2 // the second is not made
	if _, err := s.Delete(t.Context(), house, "n"); !errors.Is(err, cut) {
		t.Fatalf("got %v", err)
	}
	if got, err := s.Get(t.Context(), house, "n", 0); err != nil || got.Version != n {
		t.Errorf("between: got version %d, %v", got.Version, err)
	}
	if got, err := s.Delete(t.Context(), house, "n"); err != nil || got != 600 {
		t.Errorf("again: got %d, %v", got, err)
	}
	if keys, _, err := b.Keys(t.Context(), board.Space(house), "ramet:blueprint", "", 100); err != nil || len(keys) != 0 {
		t.Errorf("left: %v, %v", keys, err)
	}
}

func TestAnApplyWhoseAnswerWasLostIsDoneOnce(t *testing.T) {
	lost := true
	b := faultboard.New(memboard.Open(), faultboard.Config{After: func(context.Context, faultboard.Call) error {
		if lost {
			return domain.Unavailablef("lost")
		}
		return nil
	}})
	t.Cleanup(func() { b.Close() })
	s := blueprint.NewStore(b)
	if _, _, err := s.Apply(t.Context(), house, actor, plan("n", "a")); !errors.Is(err, domain.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	lost = false
	if got, existing, err := s.Apply(t.Context(), house, actor, plan("n", "a")); err != nil || !existing || got.Version != 1 {
		t.Errorf("got %+v, %v, %v", got, existing, err)
	}
}

func TestAVersionSaysWhenItWasStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		time.Sleep(time.Hour)
		s := blueprint.NewStore(b)
		if got := apply(t, s, plan("n", "a")); got.UpdatedMs != time.Now().UnixMilli() {
			t.Errorf("got %d", got.UpdatedMs)
		}
	})
}
