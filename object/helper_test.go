package object_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/object"
)

const (
	admin    = domain.ActorID(10)
	executor = domain.ActorID(20)
	reader   = domain.ActorID(30)
	stranger = domain.ActorID(40)
)

// people is a model as an actor of context 3 sees it.
func people(caller domain.ActorID) domain.Model {
	return domain.Model{Tenant: 3, Caller: caller, Name: "person"}
}

// everyBoard runs a test on each kind of board.
func everyBoard(t *testing.T, test func(t *testing.T, b board.Board)) {
	for name, open := range map[string]func(*testing.T) (board.Board, error){
		"memboard": func(*testing.T) (board.Board, error) { return memboard.Open(), nil },
		"pebbleboard": func(t *testing.T) (board.Board, error) {
			return pebbleboard.Open(t.TempDir(), pebbleboard.Config{})
		},
		"redisboard": func(t *testing.T) (board.Board, error) {
			return redisboard.Open(t.Context(), redistest.Start(t).URL(), redisboard.Config{})
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

func memory(t *testing.T) board.Board {
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	return b
}

// openStore gives a store on b, whose contexts 3 and 4 have one actor of each role.
func openStore(t testing.TB, b board.Board) *object.Store {
	t.Helper()
	for _, id := range []domain.TenantID{3, 4} {
		c := domain.Tenant{ID: id, Admins: []domain.ActorID{admin}, Executors: []domain.ActorID{executor}, Readers: []domain.ActorID{reader}}
		batch := board.Batch{Space: layout.SpaceOf(id)}
		if err := b.Commit(t.Context(), *batch.Set(c.Key(), layout.EncodeTenant(c)...)); err != nil {
			t.Fatal(err)
		}
	}
	return object.New(b, identity.NewAccess(identity.NewRegistry(b), nil))
}

func create(t *testing.T, s *object.Store, data string) domain.ObjectID {
	t.Helper()
	o, err := s.Create(t.Context(), people(admin), data)
	if err != nil {
		t.Fatal(err)
	}
	return o.ID
}

// fill makes n objects, many at once.
func fill(t testing.TB, s *object.Store, n int) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(64)
	for i := range n {
		all.Go(func() error {
			_, err := s.Create(t.Context(), people(admin), fmt.Sprintf(`{"n":%d}`, i))
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

func data(text string) func(domain.Object) (string, error) {
	return func(domain.Object) (string, error) { return text, nil }
}

// find gives the ids that match.
func find(t *testing.T, s *object.Store, q domain.ObjectQuery) []domain.ObjectID {
	t.Helper()
	ids := []domain.ObjectID{}
	err := s.Scan(t.Context(), people(reader), q, func(o domain.Object) (bool, error) {
		ids = append(ids, o.ID)
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// consistent checks that ids, count and the indexes tell of the same objects.
func consistent(t *testing.T, s *object.Store, b board.Board, indexes ...string) {
	t.Helper()
	all := find(t, s, domain.ObjectQuery{})
	if n, err := s.Count(t.Context(), people(reader), domain.ObjectQuery{}); err != nil || n != int64(len(all)) {
		t.Errorf("count: got %d, %v, want %d", n, err, len(all))
	}
	var records []domain.ObjectID
	members := map[string]int{}
	for cursor := ""; ; {
		keys, next, err := b.Keys(t.Context(), 3, "ramet:", cursor, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			var id domain.ObjectID
			if _, err := fmt.Sscanf(k, "ramet:object:person:%d", &id); err == nil {
				records = append(records, id)
			}
			for _, field := range indexes {
				if strings.HasPrefix(k, "ramet:model:person:index:"+field+":") {
					m, err := b.Members(t.Context(), 3, k, "", 10_000)
					if err != nil {
						t.Fatal(err)
					}
					members[field] += len(m)
				}
			}
		}
		if cursor = next; next == "" {
			break
		}
	}
	slices.Sort(records)
	if records = slices.Compact(records); !slices.Equal(records, all) {
		t.Errorf("records %v, listed %v", records, all)
	}
	for _, field := range indexes {
		if members[field] != len(all) {
			t.Errorf("index %s has %d members, want one for each of %d objects", field, members[field], len(all))
		}
	}
}

var errCrash = errors.New("crash")
