package saga_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/memstream"
)

// BenchmarkTransitions moves instances on the embedded board, by events that
// are in memory: what is left is the engine's own.
func BenchmarkTransitions(b *testing.B) {
	board, err := pebbleboard.Open(b.TempDir(), pebbleboard.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer board.Close()
	log := memstream.Open()
	e := saga.New(board, log, saga.Config{Names: names{}})
	def := order()
	def.Partitions = 1
	if _, _, err := e.Apply(b.Context(), shop, actor, def, ""); err != nil {
		b.Fatal(err)
	}
	var list []stream.Message
	for i := range b.N {
		list = append(list, stream.Message{Stream: domain.AggregateEvents, Subject: fmt.Sprintf("tenant.acme.aggregate.Order.%d", i), ID: fmt.Sprint("e", i),
			Data: fmt.Appendf(nil, `{"event_id":"e%d","event_type":"OrderPlaced","payload":{"order":%d,"total":5}}`, i, i)})
		if len(list) == stream.MaxPublish || i == b.N-1 {
			if err := log.Publish(b.Context(), list...); err != nil {
				b.Fatal(err)
			}
			list = nil
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- saga.NewWorker(e, saga.WorkerConfig{Owner: "bench/1"}).Run(ctx) }()
	testwait.Until(b, "all commands are in the stream", func() bool {
		stats, err := log.Stats(b.Context(), domain.WorkflowCommands)
		if err != nil {
			b.Fatal(err)
		}
		return stats.Last >= uint64(b.N)
	})
	b.StopTimer()
	stop()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
