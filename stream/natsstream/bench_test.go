package natsstream_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// Go's benchmarks of what runners do, embedded, 400 bytes a message. Of each
// the figure is messages a second.

func perSecond(b *testing.B, messages int) {
	b.ReportMetric(float64(messages)/b.Elapsed().Seconds(), "msg/s")
	b.ReportMetric(0, "ns/op")
}

var serial atomic.Int64

func some(n int) (list []stream.Message) {
	for range n {
		id := serial.Add(1)
		list = append(list, stream.Message{
			Stream: domain.WorkflowCommands, Subject: fmt.Sprintf("effect.mail.%d", id),
			ID: fmt.Sprint(id), Data: make([]byte, 400),
		})
	}
	return list
}

func modes(b *testing.B, run func(b *testing.B, l *natsstream.Log)) {
	for _, mayLose := range []bool{false, true} {
		b.Run(map[bool]string{false: "synced", true: "may-lose"}[mayLose], func(b *testing.B) {
			l, err := natsstream.Open(context.Background(), natsstream.Config{DataDir: b.TempDir(), MayLose: mayLose})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			run(b, l)
		})
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, c := range []struct{ callers, batch int }{{1, 1}, {1, 10}, {1, 100}, {1, 1000}, {16, 1}, {64, 1}, {64, 10}, {512, 1}} {
		b.Run(fmt.Sprintf("callers=%d/batch=%d", c.callers, c.batch), func(b *testing.B) {
			modes(b, func(b *testing.B, l *natsstream.Log) {
				b.SetParallelism((c.callers + 1) / 2) // of 2 processors
				if c.callers == 1 {
					for b.Loop() {
						if err := l.Publish(b.Context(), some(c.batch)...); err != nil {
							b.Fatal(err)
						}
					}
				} else {
					b.RunParallel(func(p *testing.PB) {
						for p.Next() {
							if err := l.Publish(b.Context(), some(c.batch)...); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				perSecond(b, b.N*c.batch)
			})
		})
	}
}

// BenchmarkRaw is JetStream's own client, one message and one sync each.
func BenchmarkRaw(b *testing.B) {
	for _, sync := range []bool{true, false} {
		b.Run(map[bool]string{true: "synced", false: "may-lose"}[sync], func(b *testing.B) {
			s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: b.TempDir(), NoSigs: true, SyncAlways: sync})
			if err != nil {
				b.Fatal(err)
			}
			s.Start()
			defer s.WaitForShutdown()
			defer s.Shutdown()
			if !s.ReadyForConnections(patience) {
				b.Fatal("the server does not start")
			}
			nc, err := nats.Connect("", nats.InProcessServer(s))
			if err != nil {
				b.Fatal(err)
			}
			defer nc.Close()
			js, err := jetstream.New(nc)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"effect.>"}}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				m := some(1)[0]
				if _, err := js.Publish(b.Context(), m.Subject, m.Data, jetstream.WithMsgID(m.ID)); err != nil {
					b.Fatal(err)
				}
			}
			perSecond(b, b.N)
		})
	}
}

// BenchmarkRead reads a full stream, 100 at a time, each time done with.
func BenchmarkRead(b *testing.B) {
	modes(b, func(b *testing.B, l *natsstream.Log) {
		r := reader(b, l, stream.Consumer{Durable: "r", Stream: domain.WorkflowCommands})
		fill(b, l, b.N)
		b.ResetTimer()
		for n := 0; n < b.N; {
			list, err := r.Next(b.Context(), 100)
			if err != nil {
				b.Fatal(err)
			}
			n += len(list)
			if err := r.Done(b.Context(), list[len(list)-1].Seq); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b, b.N)
	})
}

// BenchmarkWork takes what a queue holds and acknowledges each by itself, by one
// worker with 64 hands.
func BenchmarkWork(b *testing.B) {
	modes(b, func(b *testing.B, l *natsstream.Log) {
		q, err := l.Work(b.Context(), stream.Shared{Durable: "q", Stream: domain.WorkflowCommands, AckWait: time.Minute})
		if err != nil {
			b.Fatal(err)
		}
		fill(b, l, b.N)
		hands := make(chan struct{}, 64)
		b.ResetTimer()
		for n := 0; n < b.N; {
			list, err := q.Next(b.Context(), 64)
			if err != nil {
				b.Fatal(err)
			}
			n += len(list)
			for _, d := range list {
				hands <- struct{}{}
				go func() {
					defer func() { <-hands }()
					if err := d.Ack(b.Context()); err != nil {
						b.Error(err)
					}
				}()
			}
		}
		for range cap(hands) {
			hands <- struct{}{}
		}
		perSecond(b, b.N)
	})
}

func fill(b *testing.B, l *natsstream.Log, n int) {
	b.Helper()
	for ; n > 0; n -= 1000 {
		publish(b, l, some(min(n, 1000))...)
	}
}

// BenchmarkLatency is from a publish until a reader that waits has it.
func BenchmarkLatency(b *testing.B) {
	modes(b, func(b *testing.B, l *natsstream.Log) {
		r := reader(b, l, stream.Consumer{Durable: "r", Stream: domain.WorkflowCommands})
		for b.Loop() {
			publish(b, l, some(1)...)
			list := next(b, r, 10)
			if err := r.Done(b.Context(), list[0].Seq); err != nil {
				b.Fatal(err)
			}
		}
	})
}
