package saga_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

// without are streams of which one is away.
type without struct {
	stream.Log
	name domain.StreamName
	back atomic.Bool
}

func (w *without) away(n domain.StreamName) error {
	if n == w.name && !w.back.Load() {
		return domain.Unavailablef("stream %s is away", n)
	}
	return nil
}

func (w *without) Stats(ctx context.Context, n domain.StreamName) (stream.Stats, error) {
	if err := w.away(n); err != nil {
		return stream.Stats{}, err
	}
	return w.Log.Stats(ctx, n)
}

func (w *without) Scan(ctx context.Context, n domain.StreamName, subjects []string, from uint64, most int) ([]stream.Message, error) {
	if err := w.away(n); err != nil {
		return nil, err
	}
	return w.Log.Scan(ctx, n, subjects, from, most)
}

func (w *without) Read(ctx context.Context, c stream.Consumer) (stream.Reader, error) {
	if err := w.away(c.Stream); err != nil {
		return nil, err
	}
	return w.Log.Read(ctx, c)
}

// TestAStreamThatIsAway holds up what the others have only where the board has lost something:
// what lies in it may be what the others' messages came of.
func TestAStreamThatIsAway(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) { #{} }`))
		round := 0
		goOn := func(log stream.Log, within time.Duration, want int64) {
			r.Helper()
			for i := range 3 {
				r.publish(shop, goes(fmt.Sprint("f", round, ":", i), `{"id":1}`))
			}
			round++
			defer r.workOn(r.board, log, saga.WorkerConfig{})()
			time.Sleep(within)
			if in, err := r.engine.Instance(r.Context(), shop, "s", "1"); err != nil || in.Version != want {
				r.Errorf("got %+v, %v, want %d transitions", in, err, want)
			}
			if w, ok := log.(*without); ok {
				w.back.Store(true)
			}
			time.Sleep(time.Minute)
		}
		goOn(&without{Log: r.log, name: domain.WorkflowEvents}, time.Minute, 3)
		goOn(&without{Log: r.log, name: domain.WorkflowEvents}, 3*time.Second, 6) // no look in order is due
		r.must(r.board.Commit(r.Context(), *new(board.Batch).NextEpoch(time.Now(), "a test")))
		goOn(&without{Log: r.log, name: domain.WorkflowEvents}, 10*time.Minute, 6)
		goOn(&without{Log: r.log, name: domain.WorkflowEvents}, 3*time.Second, 12) // it was done when the stream was back
	})
}
