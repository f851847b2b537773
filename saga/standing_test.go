package saga_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

// away is a log of which nothing can be read while deaf, and nothing can be asked while gone.
type away struct {
	stream.Log
	deaf, gone atomic.Bool
}

func (a *away) Read(ctx context.Context, c stream.Consumer) (stream.Reader, error) {
	if a.deaf.Load() {
		return nil, domain.Unavailablef("the broker is away")
	}
	r, err := a.Log.Read(ctx, c)
	return &deafReader{r, a}, err
}

func (a *away) Count(ctx context.Context, n domain.StreamName, subjects []string, after uint64) (uint64, error) {
	if a.gone.Load() {
		return 0, domain.Unavailablef("the broker is away")
	}
	return a.Log.Count(ctx, n, subjects, after)
}

type deafReader struct {
	stream.Reader
	a *away
}

func (r *deafReader) Next(ctx context.Context, most int) ([]stream.Message, error) {
	list, err := r.Reader.Next(ctx, most)
	if err == nil && r.a.deaf.Load() {
		return nil, domain.Unavailablef("the broker is away")
	}
	return list, err
}

// TestABrokerThatIsAwayIsNoSagaThatHasCaughtUp: its worker has lost the partition, and is to have it.
// One that was behind stays so, and what is not known is counted.
func TestABrokerThatIsAwayIsNoSagaThatHasCaughtUp(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		log := &away{Log: r.log}
		w := saga.NewWorker(r.newEngine(r.board, log), saga.WorkerConfig{Owner: "node1/1"})
		ctx, stop := context.WithCancel(r.Context())
		var all sync.WaitGroup
		all.Go(func() { r.must(w.Run(ctx)) })
		defer all.Wait()
		defer stop()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Minute)
		look := func(when string, behind uint64, age time.Duration, unknown int, whole bool) {
			t.Helper()
			got := w.Standings(ctx, 10)
			if len(got.List) != 1 || got.List[0].Behind != behind || got.Unknown != unknown || got.Whole != whole {
				t.Fatalf("%s: got %+v, want one that is %d behind", when, got, behind)
			}
			if at := got.List[0].Oldest; behind > 0 && time.Since(at) < age {
				t.Errorf("%s: the oldest is of %v ago, want %v", when, time.Since(at), age)
			}
		}
		look("there", 0, 0, 0, true)
		log.deaf.Store(true)
		r.publish(shop, goes("e2", `{"id":1}`))
		time.Sleep(time.Minute)
		look("nothing is read", 1, time.Minute, 0, true)
		told := func(when string, want bool) {
			t.Helper()
			a, err := r.engine.AuditWithin(ctx, shop, time.Second)
			r.must(err)
			found := slices.ContainsFunc(a.Lacking, func(f domain.Finding) bool {
				return f.Key == "saga s" && strings.Contains(f.Text, "not handled: 1, the oldest for 6m")
			})
			if found != want || !found && len(a.Lacking) > 0 {
				t.Errorf("%s: the audit has found %v", when, a.Lacking)
			}
		}
		told("behind for a minute", false)
		time.Sleep(5 * time.Minute)
		told("behind for six minutes", true)
		look("nothing is read still", 1, 6*time.Minute, 0, true)
		log.gone.Store(true)
		look("nothing can be asked", 1, time.Minute, 0, false)
		time.Sleep(time.Hour)
		look("for an hour", 1, time.Hour, 1, false)
		if got := w.Standings(ctx, 0); got.Whole || len(got.List) != 0 {
			t.Errorf("got %+v: want to be told that there are more", got)
		}
		if got := w.Standings(ctx, 10); len(got.List) != 0 || got.Unknown != 1 {
			t.Errorf("of which nothing was ever seen: got %+v", got)
		}
		log.deaf.Store(false)
		log.gone.Store(false)
		time.Sleep(time.Minute)
		look("again", 0, 0, 0, true)
	})
}
