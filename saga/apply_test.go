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
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/saga/definition"
	"github.com/ramet-run/ramet/stream/memstream"
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

// boards are those on which sagas are applied.
var boards = map[string]func(t *testing.T) (board.Board, error){
	"mem":    func(*testing.T) (board.Board, error) { return memboard.Open(), nil },
	"pebble": func(t *testing.T) (board.Board, error) { return pebbleboard.Open(t.TempDir(), pebbleboard.Config{}) },
	"redis": func(t *testing.T) (board.Board, error) {
		return redisboard.Open(t.Context(), redistest.Start(t, "appendonly yes").URL(), redisboard.Config{})
	},
	"etcd": func(t *testing.T) (board.Board, error) {
		return etcdboard.Open(t.Context(), etcdtest.URL("apply", etcdtest.Start(t, "--unsafe-no-fsync")), etcdboard.Config{})
	},
}

// TestASagaIsStoredWithWhereItBegins fails each commit of an apply in turn, and what comes behind it: not made, or made and not
// told. What is published then is read by whoever applies it again, if it was stored.
func TestASagaIsStoredWithWhereItBegins(t *testing.T) {
	for name, open := range boards {
		t.Run(name, func(t *testing.T) {
			b, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { b.Close() })
			r := &rig{T: t, board: b, broker: memstream.New()}
			r.log = r.broker.Log()
			r.engine = r.newEngine(b, r.log)
			for _, before := range []bool{false, true} { // with a version that does not read the stream
				halves := 0
				for cut, whole := 0, false; !whole; cut++ {
					for _, made := range []bool{false, true} {
						a := cutApply{r, fmt.Sprintf("s%v-%d-%v", before, cut, made), cut, made, before}
						half, all := a.run()
						if half {
							halves++
						}
						whole = all
					}
				}
				if halves == 0 {
					t.Errorf("before %v: no cut left a saga that is stored", before)
				}
			}
		})
	}
}

// cutApply is an apply whose commits fail from one on.
type cutApply struct {
	*rig
	saga         string
	cut          int
	made, before bool
}

// run reports whether it was stored and failed, and whether no commit failed.
func (a *cutApply) run() (half, whole bool) {
	a.Helper()
	def := machineOf(a.saga, countsEvents)
	version := 1
	if a.before {
		first := *def
		first.Triggers = []domain.SagaTrigger{{Source: domain.SourceWorkflow, Types: []string{"Go"}}}
		a.apply(1, &first)
		version++
	}
	var n atomic.Int32
	away := domain.Unavailablef("away")
	faults := faultboard.New(a.board, faultboard.Config{
		Before: func(context.Context, faultboard.Call) error {
			if at := int(n.Add(1)) - 1; at > a.cut || at == a.cut && !a.made {
				return away
			}
			return nil
		},
		After: func(context.Context, faultboard.Call) error {
			if int(n.Load())-1 == a.cut {
				return away
			}
			return nil
		},
	})
	_, _, err := a.newEngine(faults, a.log).Apply(a.Context(), 1, actor, def, "")
	if whole = int(n.Load()) <= a.cut; whole {
		a.must(err)
	} else if !errors.Is(err, domain.ErrUnavailable) {
		a.Errorf("%s: got %v", a.saga, err)
	}
	s, err := a.engine.Definition(a.Context(), 1, a.saga, 0)
	stored := err == nil && s.Version == version
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		a.Fatal(err)
	}
	a.publish(1, goes(a.saga, `{"id":1}`))
	if _, existing, err := a.engine.Apply(a.Context(), 1, actor, def, ""); err != nil || existing != stored {
		a.Errorf("%s again: got %v, %v", a.saga, existing, err)
	}
	lags, err := a.engine.Lags(a.Context(), 1, a.saga)
	a.must(err)
	i := slices.IndexFunc(lags, func(l domain.SagaLag) bool { return l.Stream == domain.AggregateEvents })
	if i < 0 || stored != (lags[i].Behind == 1) {
		a.Errorf("%s, stored %v: got %+v", a.saga, stored, lags)
	}
	return stored && !whole, whole
}

// TestASagaWithoutPositionsBeginsWhenItWasStored is of one that an earlier version has stored and did not come to have served.
func TestASagaWithoutPositionsBeginsWhenItWasStored(t *testing.T) {
	bubble(t, func(r *rig) {
		r.publish(shop, goes("before", `{"id":1}`))
		time.Sleep(time.Hour)
		def := machineOf("s", countsEvents)
		_, _, err := definition.NewStore(r.board).Apply(r.Context(), shop, actor, def, nil)
		r.must(err)
		time.Sleep(time.Hour)
		r.publish(shop, goes("waits", `{"id":1}`))
		time.Sleep(time.Hour)
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{})()
		time.Sleep(time.Minute)
		if got := r.data(shop, "s", "1"); got != `{"n":1}` {
			t.Errorf("got %s, want what came since it was stored", got)
		}
	})
}
