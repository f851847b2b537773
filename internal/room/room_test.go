package room_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/room"
)

const space, most = board.Space(7), 20

// full counts the things that there are.
func full(b board.Board) func(context.Context) error {
	return func(ctx context.Context) error {
		keys, _, err := b.Keys(ctx, space, "thing:", "", 10*most)
		if err == nil && len(keys) >= most {
			err = domain.Limitf("there are %d", len(keys))
		}
		return err
	}
}

func thing(n int) board.Batch {
	b := board.Batch{Space: space}
	key := fmt.Sprintf("thing:%d", n)
	b.Absent(key).Set(key, board.Field{Name: "n", Value: "1"})
	return b
}

func TestNoMoreAreMadeThanThereIsRoomFor(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	nodes := []*room.Room{room.New(b, "thing"), room.New(b, "thing"), room.New(b, "thing")}
	var wg sync.WaitGroup
	errs := make([]error, 5*most)
	for i := range errs {
		wg.Go(func() { errs[i] = nodes[i%len(nodes)].Make(t.Context(), thing(i), full(b)) })
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if !errors.Is(err, domain.ErrLimit) {
			t.Errorf("got %v", err)
		}
	}
	if keys, _, err := b.Keys(t.Context(), space, "thing:", "", 10*most); made != most || len(keys) != most || err != nil {
		t.Errorf("%d were made, and there are %d, %v; want %d", made, len(keys), err, most)
	}
	gone := board.Batch{Space: space}
	keys, _, _ := b.Keys(t.Context(), space, "thing:", "", 1)
	if err := b.Commit(t.Context(), *gone.Delete(keys[0])); err != nil {
		t.Fatal(err)
	}
	if err := nodes[0].Make(t.Context(), thing(1000), full(b)); err != nil {
		t.Errorf("in the room of one that is gone: %v", err)
	}
}

func TestWhatIsInTheWayIsTold(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	r := room.New(b, "thing")
	if err := r.Make(t.Context(), thing(1), full(b)); err != nil {
		t.Fatal(err)
	}
	if err := r.Make(t.Context(), thing(1), full(b)); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("of one that is there already: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := r.Make(ctx, thing(2), full(b)); err == nil {
		t.Error("it was made for somebody who had gone")
	}
}

// TestWhoFitsGetsIn though another node is faster each time: it makes one of its own between what
// this one counts and what it commits.
func TestWhoFitsGetsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		slow, fast := room.New(b, "thing"), room.New(b, "thing")
		free := func(context.Context) error { return nil }
		others := 0
		var wg sync.WaitGroup
		err := slow.Make(t.Context(), thing(0), func(context.Context) error {
			others++
			n := others
			wg.Go(func() {
				if err := fast.Make(t.Context(), thing(n), free); err != nil {
					t.Errorf("the fast one: %v", err)
				}
			})
			synctest.Wait() // it has made one, or lets this one go first
			return nil
		})
		if err != nil {
			t.Errorf("after %d others: %v", others, err)
		}
		wg.Wait()
		recs, err := b.GetFields(t.Context(), space, []string{"thing", "thing_first"}, "ramet:rooms")
		if err != nil || recs[0].Get("thing") != fmt.Sprint(others+1) || recs[0].Get("thing_first") != "" {
			t.Errorf("the record is %v, %v; want %d made, and nobody who asks", recs, err, others+1)
		}
	})
}

// TestWhoAskedAndDiedHoldsNobodyUp for long, and who asked and has no room asks no more.
func TestWhoAskedAndDiedHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		ask := board.Batch{Space: space}
		if err := b.Commit(t.Context(), *ask.Set("ramet:rooms", board.Field{Name: "thing_first", Value: "dead"})); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := room.New(b, "thing").Make(t.Context(), thing(1), full(b)); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took < time.Second || took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		again := board.Batch{Space: space}
		if err := b.Commit(t.Context(), *again.Set("ramet:rooms", board.Field{Name: "thing_first", Value: "dead"})); err != nil {
			t.Fatal(err)
		}
		if err := room.New(b, "thing").Make(ctx, thing(2), full(b)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("past its deadline: got %v", err)
		}
	})
}

// TestWhoAskedInOneContextHoldsUpNoOther, though nobody takes it back there.
func TestWhoAskedInOneContextHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		ask := board.Batch{Space: space}
		if err := b.Commit(t.Context(), *ask.Set("ramet:rooms", board.Field{Name: "thing_first", Value: "dead"})); err != nil {
			t.Fatal(err)
		}
		r := room.New(b, "thing")
		var held sync.WaitGroup
		held.Go(func() {
			if err := r.Make(t.Context(), thing(1), full(b)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // it waits for the one that has died
		other := board.Batch{Space: space + 1}
		other.Set("thing:1", board.Field{Name: "n", Value: "1"})
		begun := time.Now()
		if err := r.Make(t.Context(), other, full(b)); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("another context waited %v", took)
		}
		held.Wait()
	})
}
