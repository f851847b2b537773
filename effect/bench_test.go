package effect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/memstream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// idle is a target that answers at once.
type idle struct{}

func (idle) Do(context.Context, effect.Call) (json.RawMessage, error) {
	return json.RawMessage(`{"ok":true}`), nil
}
func (idle) Check(context.Context, domain.TenantID) error { return nil }
func (idle) Target() string                               { return "idle" }
func (idle) Close() error                                 { return nil }

// counter counts results.
type counter struct {
	left atomic.Int64
	done chan struct{}
}

func (*counter) EffectBegun(string, string)                        {}
func (*counter) EffectTried(string, string, string, time.Duration) {}
func (*counter) EffectDead(string)                                 {}
func (*counter) BreakerTurned(string, string)                      {}
func (c *counter) EffectEnded(string, domain.ResultType, int, time.Duration) {
	if c.left.Add(-1) == 0 {
		close(c.done)
	}
}

// BenchmarkEffects is commands that wait in the stream, from the first taken to
// the last marked done; the target costs nothing.
func BenchmarkEffects(b *testing.B) {
	ctx := context.Background()
	pebble := func(b *testing.B) board.Board {
		p, err := pebbleboard.Open(b.TempDir(), pebbleboard.Config{})
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
	nats := func(mayLose bool) func(b *testing.B) stream.Log {
		return func(b *testing.B) stream.Log {
			l, err := natsstream.Open(ctx, natsstream.Config{DataDir: b.TempDir(), MayLose: mayLose})
			if err != nil {
				b.Fatal(err)
			}
			return l
		}
	}
	for _, c := range []struct {
		name  string
		board func(*testing.B) board.Board
		log   func(*testing.B) stream.Log
	}{
		{"memory", func(*testing.B) board.Board { return memboard.Open() }, func(*testing.B) stream.Log { return memstream.Open() }},
		{"pebble and NATS", pebble, nats(false)},
		{"pebble and NATS that may lose", pebble, nats(true)},
	} {
		b.Run(c.name, func(b *testing.B) {
			bd, log := c.board(b), c.log(b)
			defer bd.Close()
			defer log.Close()
			for from := 0; from < b.N; from += stream.MaxPublish {
				var list []stream.Message
				for i := from; i < min(from+stream.MaxPublish, b.N); i++ {
					list = append(list, message(command(fmt.Sprintf("018f5b1e-0000-7000-8000-%012d", i))))
				}
				if err := log.Publish(ctx, list...); err != nil {
					b.Fatal(err)
				}
			}
			set, err := effect.OpenSet([]effect.Definition{{Name: "pay", Kind: "idle"}},
				map[domain.EffectKind]effect.Open{"idle": func(effect.Definition, effect.Host) (effect.Provider, error) { return idle{}, nil }}, effect.Host{})
			if err != nil {
				b.Fatal(err)
			}
			told := &counter{done: make(chan struct{})}
			told.left.Store(int64(b.N))
			w := effect.NewWorker(log, bd, set, effect.Config{Tenant: tenants, Observer: told, Logger: slog.New(slog.DiscardHandler)})
			run, stop := context.WithCancel(ctx)
			ended := make(chan error, 1)
			b.ResetTimer()
			go func() { ended <- w.Run(run) }()
			<-told.done
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "effects/s")
			stop()
			if err := <-ended; err != nil {
				b.Fatal(err)
			}
		})
	}
}
