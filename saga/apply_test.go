package saga_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
)

// TestAContextHasSoManyPartitions: each is three consumers of streams that all contexts share.
func TestAContextHasSoManyPartitions(t *testing.T) {
	bubble(t, func(r *rig) {
		apply := func(in domain.TenantID, name string, partitions int) error {
			def := order()
			def.Name, def.Partitions = name, partitions
			_, _, err := r.engine.Apply(r.Context(), in, actor, def, "")
			return err
		}
		const fit = domain.MaxPartitions / domain.MaxSagaPartitions
		var refused atomic.Int32
		var all sync.WaitGroup
		for i := range fit + 3 {
			all.Go(func() {
				if err := apply(shop, fmt.Sprint("order", i), domain.MaxSagaPartitions); errors.Is(err, domain.ErrLimit) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := refused.Load(); n != 3 {
			t.Errorf("%d sagas were refused, want 3", n)
		}
		if err := apply(shop, "one", 1); !errors.Is(err, domain.ErrLimit) {
			t.Errorf("one more: got %v", err)
		}
		if _, err := r.engine.Definition(r.Context(), shop, "one", 0); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("what was refused: got %v", err)
		}
		r.must(apply(8, "one", 1)) // of another context
		list, _, err := r.engine.Definitions(r.Context(), shop, "", 1)
		r.must(err)
		r.must(apply(shop, list[0].Name, 63)) // fewer than it had
		r.must(apply(shop, "one", 1))
	})
}

// noIndex is a board on which nobody can say that a saga is to be served.
type noIndex struct {
	board.Board
	is atomic.Bool
}

func (b *noIndex) Commit(ctx context.Context, batch board.Batch) error {
	if b.is.Load() && slices.ContainsFunc(batch.Ops, func(op board.Op) bool { return op.Key == "ramet:saga:index" }) {
		return domain.Unavailablef("away")
	}
	return b.Board.Commit(ctx, batch)
}

// TestASagaIsStoredWhereItIsKnownWhereItBegins, and not where its streams cannot say where they end: nobody would serve it, and
// who applied it once more would have it begin behind what came meanwhile.
func TestASagaIsStoredWhereItIsKnownWhereItBegins(t *testing.T) {
	bubble(t, func(r *rig) {
		log := &without{Log: r.log, name: domain.AggregateEvents}
		_, _, err := r.newEngine(r.board, log).Apply(r.Context(), shop, actor, order(), "")
		if !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("without a stream: got %v", err)
		}
		if _, err := r.engine.Definition(r.Context(), shop, "order", 0); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("it is stored: %v", err)
		}
		r.apply(shop, order())
		if _, existing, err := r.newEngine(r.board, log).Apply(r.Context(), shop, actor, order(), ""); err != nil || !existing {
			t.Errorf("one that is served, as it is: got %v, %v: it asks nothing of the streams", existing, err)
		}
	})
}

// TestAStoredSagaThatNobodyWasToldToServeIsFound, until it is applied again; one that is being applied is none.
func TestAStoredSagaThatNobodyWasToldToServeIsFound(t *testing.T) {
	bubble(t, func(r *rig) {
		defer r.work(saga.WorkerConfig{})()
		b := &noIndex{Board: r.board}
		b.is.Store(true)
		e := r.newEngine(b, r.log)
		if _, _, err := e.Apply(r.Context(), shop, actor, order(), ""); !errors.Is(err, domain.ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
		found := func(want int) {
			t.Helper()
			a, err := r.engine.LookWithin(r.Context(), shop, time.Second)
			r.must(err)
			without, err := saga.Unserved(r.Context(), r.board, names{}, shop)
			r.must(err)
			if len(a.Lacking) != want || len(without) != want || want > 0 && (a.Lacking[0].Key != "saga order" || a.Lacking[0] != without[0]) {
				t.Errorf("got %v and %v, want %d", a.Lacking, without, want)
			}
		}
		found(0)
		time.Sleep(2 * time.Minute)
		found(1)
		b.is.Store(false)
		if _, existing, err := e.Apply(r.Context(), shop, actor, order(), ""); err != nil || !existing {
			t.Fatalf("again: got %v, %v", existing, err)
		}
		time.Sleep(time.Minute)
		found(0)
	})
}
