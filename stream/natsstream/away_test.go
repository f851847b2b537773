package natsstream_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testcable"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// laid opens a log over a cable.
func laid(t *testing.T, b *broker) (*natsstream.Log, *testcable.Cable) {
	t.Helper()
	cable := testcable.Lay(t, strings.TrimPrefix(b.url, "nats://"))
	return open(t, natsstream.Config{URL: "nats://" + cable.Address(), Replicas: 1, SyncDeclared: true}), cable
}

// TestACutConnectionBreaksNoOrder cuts again and again while messages are
// published and read over cables.
func TestACutConnectionBreaksNoOrder(t *testing.T) {
	t.Parallel()
	const n = 3_000
	b := run(t, server.Options{})
	from, cutFrom := laid(t, b)
	to, cutTo := laid(t, b)
	r := reader(t, to, stream.Consumer{Durable: "r", Stream: domain.AggregateEvents, MaxInFlight: 700})
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for at := 0; at < n; {
			var list []stream.Message
			for i := range min(1+at%97, n-at) {
				list = append(list, event(at+i))
			}
			publish(t, from, list...)
			at += len(list)
		}
	})
	cut := 0
	for want := 0; want < n; {
		list := next(t, r, 100)
		for _, m := range list {
			if m.ID != event(want).ID {
				t.Fatalf("got %s, want event-%d", m.ID, want)
			}
			want++
		}
		_ = r.Done(t.Context(), list[len(list)-1].Seq)
		if want > (cut+1)*n/10 {
			cut++
			for _, c := range []*testcable.Cable{cutFrom, cutTo} {
				c.Sever()
				c.Mend()
			}
		}
	}
	if st, err := from.Stats(t.Context(), domain.AggregateEvents); err != nil || st.Messages != n {
		t.Errorf("got %d messages and %v, want %d", st.Messages, err, n)
	}
}

// TestAnOwnerThatWasCutOffTakesNothing has an owner come back after another has
// taken its consumer.
func TestAnOwnerThatWasCutOffTakesNothing(t *testing.T) {
	t.Parallel()
	b := run(t, server.Options{})
	away, cable := laid(t, b)
	here := open(t, natsstream.Config{URL: b.url, Replicas: 1, SyncDeclared: true})
	c := stream.Consumer{Durable: "r", Stream: domain.AggregateEvents}
	first := reader(t, away, c)
	publish(t, here, event(0), event(1))
	if got := next(t, first, 1); got[0].ID != "event-0" {
		t.Fatalf("got %s, want event-0", got[0].ID)
	}
	cable.Sever()
	c.After = 1
	second := reader(t, here, c)
	cable.Mend()
	publish(t, here, event(2))
	for {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		list, err := first.Next(ctx, 1)
		cancel()
		if errors.Is(err, domain.ErrConflict) {
			break
		}
		// What it had fetched before, it may give, and it may not be there yet.
		if err == nil && list[0].ID != "event-1" || err != nil && !errors.Is(err, domain.ErrUnavailable) {
			t.Fatalf("got %v and error %v, want a conflict", list, err)
		}
	}
	for want := 1; want <= 2; want++ {
		if got := next(t, second, 1); got[0].ID != event(want).ID {
			t.Errorf("got %s, want event-%d", got[0].ID, want)
		}
	}
}

// TestWorkGoesOnOverCuts has a worker lose its connection while it takes and
// acknowledges.
func TestWorkGoesOnOverCuts(t *testing.T) {
	t.Parallel()
	const n = 300
	b := run(t, server.Options{})
	here := open(t, natsstream.Config{URL: b.url, Replicas: 1, SyncDeclared: true})
	far, cable := laid(t, b)
	q, err := far.Work(t.Context(), stream.Shared{Durable: "q", Stream: domain.AggregateEvents, AckWait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for at := range n {
		publish(t, here, event(at))
	}
	worked := map[string]bool{}
	for rounds := 0; len(worked) < n; rounds++ {
		until(t, func(ctx context.Context) error {
			list, err := q.Next(ctx, 20)
			for i, d := range list {
				worked[d.Message().ID] = true
				if rounds%3 == 1 && i == 5 {
					cable.Sever()
					cable.Mend()
				}
				_ = d.Ack(ctx) // or it comes again
			}
			return err
		})
	}
}
