package natsbus_test

import (
	"context"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/bus/natsbus"
)

// BenchmarkParcel sends parcels of 1 KiB from 16 callers, receives them and is
// done with them; ns/op are for one parcel, there and acknowledged.
func BenchmarkParcel(b *testing.B) {
	quiet := func(b *testing.B, cfg natsbus.Config) *natsbus.Bus {
		bus, err := natsbus.Open(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { bus.Close() })
		return bus
	}
	host := func(b *testing.B, cfg natsbus.Config) (*natsbus.Bus, string, string) {
		cfg.Node, cfg.Link, cfg.DataDir, cfg.Listen, cfg.LeafListen, cfg.Peers = public(0), link(0), b.TempDir(), "127.0.0.1:0", "127.0.0.1:0", peers(1)
		bus := quiet(b, cfg)
		nodes, leafs := bus.Listening()
		return bus, at(nodes, 0), "nats://" + leafs
	}
	b.Run("embedded to itself", func(b *testing.B) {
		a, _, _ := host(b, natsbus.Config{})
		carry(b, a, a)
	})
	b.Run("node to host", func(b *testing.B) {
		to, nodes, _ := host(b, natsbus.Config{})
		carry(b, quiet(b, natsbus.Config{Node: public(1), Link: link(1), URL: nodes}), to)
	})
	b.Run("host to node", func(b *testing.B) {
		from, nodes, _ := host(b, natsbus.Config{})
		carry(b, from, quiet(b, natsbus.Config{Node: public(1), Link: link(1), URL: nodes}))
	})
	b.Run("site to site", func(b *testing.B) {
		to, _, leafs := host(b, natsbus.Config{})
		carry(b, quiet(b, natsbus.Config{Node: public(1), Link: link(1), DataDir: b.TempDir(), Leafs: []string{leafs}, Peers: peers(0)}), to)
	})
	b.Run("node to host, each synced", func(b *testing.B) {
		to, nodes, _ := host(b, natsbus.Config{SyncAlways: true})
		carry(b, quiet(b, natsbus.Config{Node: public(1), Link: link(1), URL: nodes}), to)
	})
}

func carry(b *testing.B, from, to *natsbus.Bus) {
	ctx, body := context.Background(), make([]byte, 1024)
	for from.Send(ctx, to.Self(), body) != nil {
	}
	p, err := to.Receive(ctx)
	if err != nil {
		b.Fatal(err)
	}
	_ = p.Done(ctx)
	b.SetBytes(int64(len(body)))
	b.ResetTimer()
	var wg sync.WaitGroup
	left := make(chan struct{}, b.N)
	for range b.N {
		left <- struct{}{}
	}
	close(left)
	for range 16 {
		wg.Go(func() {
			for range left {
				if err := from.Send(ctx, to.Self(), body); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	for range b.N {
		p, err := to.Receive(ctx)
		if err != nil {
			b.Fatal(err)
		}
		_ = p.Done(ctx)
	}
	wg.Wait()
}

// BenchmarkOpen starts and ends an embedded server.
func BenchmarkOpen(b *testing.B) {
	data := b.TempDir()
	for b.Loop() {
		bus, err := natsbus.Open(b.Context(), natsbus.Config{Node: public(0), Link: link(0), DataDir: data})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		bus.Close()
		b.StartTimer()
	}
}
