package object_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/object"
)

func TestLifeOfAnObject(t *testing.T) {
	everyBoard(t, func(t *testing.T, b board.Board) {
		s, in := openStore(t, b), people(executor)
		made, err := s.Create(t.Context(), in, `{"name":"Ann"}`)
		if err != nil || made.ID != 1 || made.Version != 1 {
			t.Fatalf("create: got %+v, %v", made, err)
		}
		got, err := s.Get(t.Context(), people(reader), 1)
		if diff := cmp.Diff(made, got); err != nil || diff != "" {
			t.Errorf("get: %v (-want +got):\n%s", err, diff)
		}
		changed, err := s.Change(t.Context(), people(admin), 1, func(o domain.Object) (string, error) {
			if o.Data != made.Data {
				t.Errorf("change got %s", o.Data)
			}
			return `{"name":"Anna"}`, nil
		})
		if err != nil || changed.Version != 2 || changed.CreatedBy != executor || changed.UpdatedBy != admin {
			t.Errorf("change: got %+v, %v", changed, err)
		}
		if second := create(t, s, `{}`); second != 2 {
			t.Errorf("got id %d, want 2", second)
		}
		consistent(t, s, b)
		for _, want := range []bool{true, false} {
			if got, err := s.Delete(t.Context(), in, 1); err != nil || got != want {
				t.Errorf("delete: got %v, %v, want %v", got, err, want)
			}
		}
		if _, err := s.Get(t.Context(), in, 1); !errors.Is(err, domain.ErrNotFound) || err.Error() != "person 1 does not exist" {
			t.Errorf("get what is deleted: got %v", err)
		}
		if _, err := s.Change(t.Context(), in, 1, data("{}")); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("change what is deleted: got %v", err)
		}
		if third := create(t, s, `{}`); third != 3 {
			t.Errorf("got id %d: ids are not given twice", third)
		}
		consistent(t, s, b)
	})
}

func TestRights(t *testing.T) {
	s := openStore(t, memory(t))
	create(t, s, `{}`)
	calls := []struct {
		name  string
		write bool
		do    func(in domain.Model) error
	}{
		{"get", false, func(in domain.Model) error { _, err := s.Get(t.Context(), in, 1); return err }},
		{"scan", false, func(in domain.Model) error {
			return s.Scan(t.Context(), in, domain.ObjectQuery{}, func(domain.Object) (bool, error) { return true, nil })
		}},
		{"count", false, func(in domain.Model) error { _, err := s.Count(t.Context(), in, domain.ObjectQuery{}); return err }},
		{"create", true, func(in domain.Model) error { _, err := s.Create(t.Context(), in, "{}"); return err }},
		{"change", true, func(in domain.Model) error { _, err := s.Change(t.Context(), in, 1, data("{}")); return err }},
		{"index", true, func(in domain.Model) error { return s.Index(t.Context(), in, "name") }},
		{"delete", true, func(in domain.Model) error { _, err := s.Delete(t.Context(), in, 99); return err }},
	}
	for _, c := range calls {
		for actor, may := range map[domain.ActorID]bool{admin: true, executor: true, reader: !c.write, stranger: false, 0: false} {
			err := c.do(people(actor))
			if denied := errors.Is(err, domain.ErrForbidden); denied == may || may && err != nil {
				t.Errorf("%s by actor %d: got %v, want allowed %v", c.name, actor, err, may)
			}
		}
	}
}

func TestContextsAreApart(t *testing.T) {
	s := openStore(t, memory(t))
	create(t, s, `{"of":3}`)
	other := domain.Model{Tenant: 4, Caller: admin, Name: "person"}
	if _, err := s.Get(t.Context(), other, 1); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("context 4 sees an object of context 3: %v", err)
	}
	if n, err := s.Count(t.Context(), other, domain.ObjectQuery{}); err != nil || n != 0 {
		t.Errorf("got %d, %v", n, err)
	}
}

func TestLimits(t *testing.T) {
	s := openStore(t, memory(t))
	in := people(admin)
	many := strings.Builder{}
	for i := range object.MaxFields + 1 {
		fmt.Fprintf(&many, `,"f%d":1`, i)
	}
	big := `{"x":"` + strings.Repeat("a", object.MaxBytes) + `"}`
	for _, tt := range []struct {
		name, data, want string
	}{
		{"too many bytes", big, "the limit is 262144"},
		{"too many fields", "{" + many.String()[1:] + "}", "1025 fields, the limit is 1024"},
		{"no object", "[]", "no JSON object"},
		{"null", "null", "no JSON object"},
		{"no JSON", "{", "no JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := s.Create(t.Context(), in, tt.data); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("create: got %v, want %q", err, tt.want)
			}
		})
	}
	if n, err := s.Count(t.Context(), in, domain.ObjectQuery{}); err != nil || n != 0 {
		t.Errorf("what was refused counts: %d, %v", n, err)
	}
	for _, name := range []string{"", "a:b", "7up", "ä", strings.Repeat("a", 65)} {
		if _, err := s.Create(t.Context(), domain.Model{Tenant: 3, Caller: admin, Name: name}, "{}"); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("model %q: got %v", name, err)
		}
	}
	for _, field := range []string{"", "a:b", "id", strings.Repeat("a", 65)} {
		if err := s.Index(t.Context(), in, field); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("index %q: got %v", field, err)
		}
	}
	for i := range object.MaxIndexes {
		if err := s.Index(t.Context(), in, "f"+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Index(t.Context(), in, "more"); !errors.Is(err, domain.ErrLimit) {
		t.Errorf("one index too many: got %v", err)
	}
	if err := s.Index(t.Context(), in, "f0"); err != nil {
		t.Errorf("an index that is there: got %v", err)
	}
}

// TestFind asks the same with and without indexes.
func TestFind(t *testing.T) {
	long := strings.Repeat("x", 100)
	objects := []string{
		`{"n":1,"name":"a"}`, `{"n":1.0,"name":"b"}`, `{"n":2,"name":"a"}`, `{"name":"a","tags":["x","y"]}`,
		`{"n":null,"name":"` + long + `"}`, `{"n":"1","name":"` + long + `y"}`, `{"n":{"b":1,"a":2.0},"name":"<&>"}`,
	}
	where := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	tests := []struct {
		name string
		q    domain.ObjectQuery
		want []domain.ObjectID
	}{
		{"everything", domain.ObjectQuery{}, []domain.ObjectID{1, 2, 3, 4, 5, 6, 7}},
		{"after an id", domain.ObjectQuery{After: 5}, []domain.ObjectID{6, 7}},
		{"numbers by value", domain.ObjectQuery{Where: where("n", "1")}, []domain.ObjectID{1, 2}},
		{"the other way round", domain.ObjectQuery{Where: where("n", "1e0")}, []domain.ObjectID{1, 2}},
		{"a text is no number", domain.ObjectQuery{Where: where("n", `"1"`)}, []domain.ObjectID{6}},
		{"what is not there is null", domain.ObjectQuery{Where: where("n", "null")}, []domain.ObjectID{4, 5}},
		{"long values", domain.ObjectQuery{Where: where("name", `"`+long+`"`)}, []domain.ObjectID{5}},
		{"objects, whatever their order", domain.ObjectQuery{Where: where("n", `{ "a": 2, "b": 1 }`)}, []domain.ObjectID{7}},
		{"however it is escaped", domain.ObjectQuery{Where: where("name", `"\u003c&>"`)}, []domain.ObjectID{7}},
		{"all of two", domain.ObjectQuery{Where: where("n", "1", "name", `"a"`)}, []domain.ObjectID{1}},
		{"any of two", domain.ObjectQuery{Where: where("n", "2", "name", `"a"`), Any: true}, []domain.ObjectID{1, 3, 4}},
		{"any of two, after an id", domain.ObjectQuery{Where: where("n", "2", "name", `"a"`), Any: true, After: 1}, []domain.ObjectID{3, 4}},
		{"a field without an index", domain.ObjectQuery{Where: where("tags", `["x","y"]`)}, []domain.ObjectID{4}},
		{"any, one without an index", domain.ObjectQuery{Where: where("tags", `["x","y"]`, "n", "2"), Any: true}, []domain.ObjectID{3, 4}},
		{"the id", domain.ObjectQuery{Where: where("id", "3")}, []domain.ObjectID{3}},
		{"nothing", domain.ObjectQuery{Where: where("n", "3")}, []domain.ObjectID{}},
		{"any of none", domain.ObjectQuery{Any: true}, []domain.ObjectID{1, 2, 3, 4, 5, 6, 7}},
	}
	everyBoard(t, func(t *testing.T, b board.Board) {
		s := openStore(t, b)
		for _, o := range objects {
			create(t, s, o)
		}
		for _, indexed := range []string{"", "n", "name"} {
			if indexed != "" {
				if err := s.Index(t.Context(), people(admin), indexed); err != nil {
					t.Fatal(err)
				}
			}
			for _, tt := range tests {
				if diff := cmp.Diff(tt.want, find(t, s, tt.q)); diff != "" {
					t.Errorf("%s, index %q (-want +got):\n%s", tt.name, indexed, diff)
				}
				if n, err := s.Count(t.Context(), people(reader), tt.q); err != nil || n != int64(len(tt.want)) {
					t.Errorf("%s, index %q: count %d, %v, want %d", tt.name, indexed, n, err, len(tt.want))
				}
			}
		}
		consistent(t, s, b, "n", "name")
	})
}

// reads counts the objects that are read.
type reads struct {
	board.Board
	objects int
}

func (r *reads) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	for _, k := range keys {
		if strings.HasPrefix(k, "ramet:object:") {
			r.objects++
		}
	}
	return r.Board.Get(ctx, space, keys...)
}

func TestAnIndexSparesReading(t *testing.T) {
	r := &reads{Board: memory(t)}
	s := openStore(t, r)
	if err := s.Index(t.Context(), people(admin), "n"); err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		create(t, s, fmt.Sprintf(`{"n":%d,"half":%d}`, i, i%2))
	}
	for _, tt := range []struct {
		name string
		want int
		do   func()
	}{
		{"find by an index", 1, func() { find(t, s, domain.ObjectQuery{Where: map[string]string{"n": "77"}}) }},
		{"find by an index and another field", 1, func() { find(t, s, domain.ObjectQuery{Where: map[string]string{"n": "77", "half": "1"}}) }},
		{"find without an index", 500, func() { find(t, s, domain.ObjectQuery{Where: map[string]string{"half": "1"}}) }},
		{"count", 0, func() { _, _ = s.Count(t.Context(), people(reader), domain.ObjectQuery{}) }},
		{"count by an index", 0, func() {
			_, _ = s.Count(t.Context(), people(reader), domain.ObjectQuery{Where: map[string]string{"n": "77"}})
		}},
	} {
		r.objects = 0
		if tt.do(); r.objects != tt.want {
			t.Errorf("%s: read %d objects, want %d", tt.name, r.objects, tt.want)
		}
	}
}

func TestManyPages(t *testing.T) {
	b := memory(t)
	s := openStore(t, b)
	const n = 2500
	for range n {
		create(t, s, "{}")
	}
	for id := domain.ObjectID(1000); id < 2000; id++ {
		if _, err := s.Delete(t.Context(), people(admin), id); err != nil {
			t.Fatal(err)
		}
	}
	if got := find(t, s, domain.ObjectQuery{}); len(got) != n-1000 || got[998] != 999 || got[999] != 2000 || got[1499] != n {
		t.Errorf("got %d ids: %v", len(got), got)
	}
	// The empty page is forgotten, and comes back with an object on it.
	if got, _ := b.Members(t.Context(), 3, layout.ModelPages("person"), "", 10); !cmp.Equal(got, []string{"0000000000", "0000000002"}) {
		t.Errorf("got pages %v", got)
	}
	consistent(t, s, b)
}

// TestNothingIsLost lets two sessions add to one object, and others make and
// delete objects, all at once.
func TestNothingIsLost(t *testing.T) {
	everyBoard(t, func(t *testing.T, b board.Board) {
		one, two := openStore(t, b), openStore(t, b)
		create(t, one, `{"n":0,"name":"counter"}`)
		if err := one.Index(t.Context(), people(admin), "name"); err != nil {
			t.Fatal(err)
		}
		const rounds = 40
		var all sync.WaitGroup
		for _, s := range []*object.Store{one, two} {
			all.Go(func() {
				for range rounds {
					_, err := s.Change(t.Context(), people(admin), 1, func(o domain.Object) (string, error) {
						f, err := o.Fields()
						if err != nil {
							return "", err
						}
						n, err := strconv.Atoi(string(f["n"]))
						return fmt.Sprintf(`{"n":%d,"name":"counter"}`, n+1), err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
			all.Go(func() {
				for i := range rounds {
					o, err := s.Create(t.Context(), people(admin), fmt.Sprintf(`{"n":%d,"name":"x"}`, i))
					if err != nil {
						t.Error(err)
					}
					if i%2 == 0 {
						if gone, err := s.Delete(t.Context(), people(admin), o.ID); err != nil || !gone {
							t.Error(gone, err)
						}
					}
				}
			})
		}
		all.Go(func() { // in the middle of it all
			if err := two.Index(t.Context(), people(admin), "n"); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		if o, err := one.Get(t.Context(), people(admin), 1); err != nil || o.Data != `{"n":80,"name":"counter"}` || o.Version != 81 {
			t.Errorf("got %+v, %v", o, err)
		}
		if n := len(find(t, one, domain.ObjectQuery{})); n != 1+rounds {
			t.Errorf("got %d objects", n)
		}
		consistent(t, one, b, "n", "name")
	})
}

// TestACrashLeavesNothingHalf ends a writer before each of its commits in
// turn; who comes after finds everything whole and can go on.
func TestACrashLeavesNothingHalf(t *testing.T) {
	work := func(s *object.Store) error {
		for i := range 3 {
			if _, err := s.Create(t.Context(), people(admin), fmt.Sprintf(`{"n":%d}`, i)); err != nil {
				return err
			}
		}
		if err := s.Index(t.Context(), people(admin), "n"); err != nil {
			return err
		}
		if _, err := s.Change(t.Context(), people(admin), 2, data(`{"n":7}`)); err != nil && !errors.Is(err, domain.ErrNotFound) {
			return err
		}
		_, err := s.Delete(t.Context(), people(admin), 1)
		return err
	}
	crashes := 0
	for at := 1; ; at++ {
		b, commits, crashed := memory(t), 0, false
		openStore(t, b)
		f := faultboard.New(b, faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
			if c.Name == "commit" {
				commits++
			}
			if commits >= at+2 { // the first two make the contexts
				crashed = true
				return errCrash
			}
			return nil
		}})
		err := work(openStore(t, f))
		if crashed != errors.Is(err, errCrash) {
			t.Fatalf("crash %v, got %v", crashed, err)
		}
		s := openStore(t, b)
		consistent(t, s, b)
		if err := s.Index(t.Context(), people(admin), "n"); err != nil {
			t.Errorf("crash before commit %d: the index cannot be finished: %v", at, err)
		}
		consistent(t, s, b, "n")
		if !crashed {
			break
		}
		crashes++
	}
	if crashes < 8 {
		t.Errorf("only %d crashes", crashes)
	}
}

// TestAWriterThatReadBeforeTheIndex is refused and reads again.
func TestAWriterThatReadBeforeTheIndex(t *testing.T) {
	b := memory(t)
	s := openStore(t, b)
	create(t, s, `{"n":1}`)
	tries := 0
	_, err := s.Change(t.Context(), people(admin), 1, func(domain.Object) (string, error) {
		if tries++; tries == 1 {
			if err := s.Index(t.Context(), people(admin), "n"); err != nil {
				t.Error(err)
			}
		}
		return `{"n":2}`, nil
	})
	if err != nil || tries != 2 {
		t.Errorf("got %d tries, %v", tries, err)
	}
	if got := find(t, s, domain.ObjectQuery{Where: map[string]string{"n": "2"}}); !cmp.Equal(got, []domain.ObjectID{1}) {
		t.Errorf("got %v", got)
	}
	consistent(t, s, b, "n")
}

func TestWhoIsAlwaysTooLateGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory(t)
		s := openStore(t, b)
		create(t, s, `{}`)
		_, err := s.Change(t.Context(), people(admin), 1, func(domain.Object) (string, error) {
			if _, err := s.Change(t.Context(), people(admin), 1, data(`{"other":1}`)); err != nil {
				return "", err
			}
			return `{}`, nil
		})
		if !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "others were faster") {
			t.Errorf("got %v", err)
		}
	})
}

func TestACounterThatIsBehind(t *testing.T) {
	b := memory(t)
	s := openStore(t, b)
	// As after a restore of a board without its counters.
	batch := board.Batch{Space: 3}
	for id := domain.ObjectID(1); id <= 3; id++ {
		batch.Set(layout.Object("person", id), layout.EncodeObject(domain.Object{ID: id, Data: "{}", Version: 1})...)
	}
	if err := b.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if id := create(t, s, `{"new":true}`); id != 4 {
		t.Errorf("got id %d, want 4", id)
	}
}

func TestAKeyOfTheWrongKindHidesNoOtherObject(t *testing.T) {
	b := memory(t)
	s := openStore(t, b)
	ids := []domain.ObjectID{create(t, s, `{"n":1}`), create(t, s, `{"n":2}`)}
	strange := board.Batch{Space: layout.SpaceOf(3)}
	key := layout.Object("person", ids[0])
	if err := b.Commit(t.Context(), *strange.Delete(key).PushLeft(key, "x")); err != nil {
		t.Fatal(err)
	}
	var got []domain.ObjectID
	err := s.Scan(t.Context(), people(admin), domain.ObjectQuery{}, func(o domain.Object) (bool, error) {
		got = append(got, o.ID)
		return true, nil
	})
	if err != nil || len(got) != 1 || got[0] != ids[1] {
		t.Errorf("got %v, %v, want the other one", got, err)
	}
}
