package saga_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/saga"
)

// asked is a board that notes which version each instance had when others were written.
type asked struct {
	board.Board
	mu       sync.Mutex
	versions map[string]int64 // by key
	when     map[string]int64 // the version of hot when an instance was first written, by its key
	hot      string
}

func (a *asked) CommitEach(ctx context.Context, batches []board.Batch) []error {
	errs := a.Board.CommitEach(ctx, batches)
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range batches {
		if errs[i] != nil {
			continue
		}
		for _, op := range batches[i].Ops {
			for _, f := range op.Fields {
				if op.Kind == board.OpSet && f.Name == "version" {
					a.versions[op.Key], _ = strconv.ParseInt(f.Value, 10, 64)
				}
			}
		}
		for key := range a.versions {
			if _, there := a.when[key]; !there {
				a.when[key] = a.versions[a.hot]
			}
		}
	}
	return errs
}

// TestAnInstanceWithManyEventsDelaysOthersBySharesOnly: those behind wait for one share of
// its events and eight more for each 4,096 of them, not for all.
func TestAnInstanceWithManyEventsDelaysOthersBySharesOnly(t *testing.T) {
	watched.Large(t)
	const many, others, most = 20_000, 50, 64 + (20_000/4_096+1)*512
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("count", countsEvents))
		for i := range many {
			r.publish(shop, goes(fmt.Sprintf("h%d", i), `{"id":"hot"}`))
		}
		for i := range others {
			r.publish(shop, goes(fmt.Sprintf("o%d", i), fmt.Sprintf(`{"id":"o%d"}`, i)))
			r.publish(shop, goes(fmt.Sprintf("m%d", i), `{"id":"hot"}`))
		}
		noted := &asked{Board: r.board, versions: map[string]int64{}, when: map[string]int64{}, hot: "saga:acme:count:hot"}
		defer r.workOn(noted, r.log, saga.WorkerConfig{})()
		time.Sleep(time.Minute)
		for i := range others {
			key := fmt.Sprintf("saga:acme:count:o%d", i)
			if hot, there := noted.when[key]; !there || hot > most {
				t.Fatalf("%s began (%v) when hot had had %d events, want at most %d", key, there, hot, most)
			}
		}
		if got, want := r.data(shop, "count", "hot"), fmt.Sprintf(`{"n":%d}`, many+others); got != want {
			t.Errorf("hot has %s, want %s", got, want)
		}
		lags, err := r.engine.Lags(t.Context(), shop, "count")
		r.must(err)
		for _, l := range lags {
			if l.Behind != 0 || l.Aside != 0 || l.Position != l.Last {
				t.Errorf("got %+v, want nothing behind", l)
			}
		}
	})
}

// TestWhatWasPutAsideIsDealtWithOnce: whenever the worker dies, with nothing to tell
// what was handled but the positions.
func TestWhatWasPutAsideIsDealtWithOnce(t *testing.T) {
	const many, others = 1_500, 200
	for life := 1; life <= watched.Rounds(25, 4); life += 3 {
		bubble(t, func(r *rig) {
			def := machineOf("count", `fn on_event(state, event) { if event.payload.i != state.n { throw "out of order" } state.n += 1; #{state: state} }`)
			def.Dedupe = 1
			r.apply(shop, def)
			for i := range many {
				r.publish(shop, goes("", fmt.Sprintf(`{"id":"hot","i":%d}`, i)))
				if i < others {
					r.publish(shop, goes("", fmt.Sprintf(`{"id":"o%d","i":0}`, i)))
				}
			}
			var behind []uint64
			for died := true; died; {
				died = r.live(life)
				time.Sleep(time.Minute) // leases and marks are over
				lags, err := r.engine.Lags(t.Context(), shop, "count")
				r.must(err)
				i := slices.IndexFunc(lags, func(l domain.SagaLag) bool { return l.Stream == "AGGREGATE_EVENTS" })
				behind = append(behind, lags[i].Behind)
				if had := r.handled("count"); had+int(lags[i].Behind) != many+others {
					t.Fatalf("life after %d commits: %d events were handled, and %d are behind, want %d together", life, had, lags[i].Behind, many+others)
				}
			}
			if last := behind[len(behind)-1]; last != 0 || len(r.deadLetters(shop)) > 0 {
				t.Errorf("%d are left behind, with %d dead letters", last, len(r.deadLetters(shop)))
			}
		})
	}
}

// TestWhatWasReadAgainIsForgottenWhenItIsDealtWith: a worker that found events put aside
// reads them again, with those of others between and behind them. When more are put aside
// later the position goes on from where it is.
func TestWhatWasReadAgainIsForgottenWhenItIsDealtWith(t *testing.T) {
	const many, others = 100, 400
	for life := 1; life <= 7; life += 2 {
		bubble(t, func(r *rig) {
			r.board = newAccount(t, r.board) // it sees to it that no position goes back
			r.apply(shop, machineOf("count", countsEvents))
			burst := func() {
				for range many {
					r.publish(shop, goes("", `{"id":"hot"}`))
				}
				for i := range others {
					r.publish(shop, goes("", fmt.Sprintf(`{"id":"o%d"}`, i)))
				}
			}
			burst()
			r.live(life)
			time.Sleep(time.Minute) // its lease is over
			defer r.workOn(r.board, r.log, saga.WorkerConfig{})()
			time.Sleep(time.Minute)
			burst()
			time.Sleep(time.Minute)
			if got, want := r.data(shop, "count", "hot"), fmt.Sprintf(`{"n":%d}`, 2*many); got != want {
				t.Errorf("hot has %s, want %s", got, want)
			}
		})
	}
}

// live has a worker work until it has moved positions so often, and die there; died is
// false where it had not so much to do.
func (r *rig) live(commits int) (died bool) {
	var faults *faultboard.Board
	var mu sync.Mutex
	faults = faultboard.New(r.board, faultboard.Config{After: func(_ context.Context, c faultboard.Call) error {
		mu.Lock()
		defer mu.Unlock()
		moves := c.Batch != nil && slices.ContainsFunc(c.Batch.Guards, func(g board.Guard) bool { return strings.HasPrefix(g.Key, "checkpoint:") })
		if !moves || commits == 0 {
			return nil
		}
		if commits--; commits > 0 {
			return nil
		}
		died = true
		faults.Cut()
		return domain.Unavailablef("killed")
	}})
	r.workers++
	r.share = 16
	e := r.newEngine(faults, r.log)
	ctx, stop := context.WithCancel(r.Context())
	var all sync.WaitGroup
	all.Go(func() {
		r.must(saga.NewWorker(e, saga.WorkerConfig{Owner: fmt.Sprintf("node%d/1", r.workers)}).Run(ctx))
	})
	time.Sleep(20 * time.Second)
	synctest.Wait()
	stop()
	all.Wait()
	mu.Lock()
	defer mu.Unlock()
	return died
}

// handled is how many transitions the instances of a saga have made.
func (r *rig) handled(name string) (n int) {
	r.Helper()
	list, _, err := r.engine.Query(r.Context(), shop, saga.Query{Saga: name, Limit: 1000})
	r.must(err)
	for _, x := range list {
		n += int(x.Version)
	}
	return n
}
