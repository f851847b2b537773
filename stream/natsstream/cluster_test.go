package natsstream_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testport"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// cluster is three servers.
type cluster struct {
	url     string
	brokers map[string]*broker // by name
}

func runCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{brokers: map[string]*broker{}}
	var routes []*url.URL
	for range 3 {
		routes = append(routes, &url.URL{Scheme: "nats", Host: testport.Free(t)})
	}
	var urls []string
	for i, route := range routes {
		opts := server.Options{ServerName: fmt.Sprint("s", i), Routes: routes, MaxPayload: 2 << 20}
		opts.Cluster.Name = "c"
		opts.Cluster.Host, opts.Cluster.Port = hostPort(t, route.Host)
		b := run(t, opts)
		c.brokers[opts.ServerName] = b
		urls = append(urls, strings.TrimPrefix(b.url, "nats://"))
	}
	c.url = "nats://" + strings.Join(urls, ",")
	testwait.Until(t, "the cluster has a leader", c.ready)
	return c
}

// ready says whether the cluster has a leader that knows of three.
func (c *cluster) ready() bool {
	for _, b := range c.brokers {
		if b.s.JetStreamIsLeader() && len(b.s.JetStreamClusterPeers()) == 3 {
			return true
		}
	}
	return false
}

// TestAClusterLosesAServer kills the leader of a stream while messages are
// published, read in order and worked off.
func TestAClusterLosesAServer(t *testing.T) {
	t.Parallel()
	const n = 2_000
	c := runCluster(t)
	l := open(t, natsstream.Config{URL: c.url})
	if got := l.Durability(); got != board.DurableQuorum {
		t.Errorf("got durability %q, want quorum", got)
	}
	r := reader(t, l, stream.Consumer{Durable: "r", Stream: domain.AggregateEvents})
	q, err := l.Work(t.Context(), stream.Shared{Durable: "q", Stream: domain.AggregateEvents, AckWait: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for at := 0; at < n; {
			var list []stream.Message
			for i := range min(1+at%53, n-at) {
				list = append(list, event(at+i))
			}
			publish(t, l, list...)
			at += len(list)
		}
	})
	worked := map[string]bool{}
	wg.Go(func() {
		for len(worked) < n && t.Context().Err() == nil {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			list, _ := q.Next(ctx, 50)
			cancel()
			for _, d := range list {
				worked[d.Message().ID] = true
				_ = d.Ack(t.Context()) // or it comes again
			}
		}
	})
	for want := 0; want < n; {
		list := next(t, r, 100)
		for _, m := range list {
			if m.ID != event(want).ID {
				t.Fatalf("got %s, want event-%d", m.ID, want)
			}
			want++
		}
		_ = r.Done(t.Context(), list[len(list)-1].Seq)
		if want > n/3 && len(c.brokers) == 3 {
			c.kill(t, l)
		}
	}
}

// kill ends the server that leads the stream of events.
func (c *cluster) kill(t *testing.T, l *natsstream.Log) {
	t.Helper()
	_, js := client(t, c.url)
	s, err := js.Stream(t.Context(), string(domain.AggregateEvents))
	if err != nil {
		t.Fatal(err)
	}
	name := s.CachedInfo().Cluster.Leader
	c.brokers[name].end()
	delete(c.brokers, name)
}
