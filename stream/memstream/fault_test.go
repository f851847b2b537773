package memstream_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/memstream"
)

func event(n int, id string) stream.Message {
	return stream.Message{Stream: domain.AggregateEvents, Subject: "aggregate.a.b", ID: id, Data: fmt.Append(nil, n)}
}

func stored(t *testing.T, l stream.Log) (data []string) {
	t.Helper()
	list, err := l.Scan(t.Context(), domain.AggregateEvents, nil, 1, stream.MaxFetch)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		data = append(data, string(m.Data))
	}
	return data
}

func unavailable(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("%s: got error %v, want unavailable", what, err)
	}
}

func TestARefusedPublishStoresNothing(t *testing.T) {
	b := memstream.New()
	l := b.Log()
	b.Fault(memstream.Faults{Refuse: 1})
	unavailable(t, "publish", l.Publish(t.Context(), event(1, "")))
	if got := stored(t, l); got != nil {
		t.Errorf("got %v stored, want nothing", got)
	}
}

func TestAnUnsurePublishStoresTheFirst(t *testing.T) {
	b := memstream.New()
	l := b.Log()
	found := map[int]bool{}
	for seed := range uint64(50) {
		b.Fault(memstream.Faults{Seed: seed, Unsure: 1})
		unavailable(t, "publish", l.Publish(t.Context(), event(0, ""), event(1, ""), event(2, "")))
		b.Fault(memstream.Faults{})
		got := stored(t, l)
		if diff := cmp.Diff([]string{"0", "1", "2"}[:len(got)], got); diff != "" {
			t.Fatalf("stored (-want +got):\n%s", diff)
		}
		found[len(got)] = true
		if err := l.Trim(t.Context(), domain.AggregateEvents, "", 1<<40); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[int]bool{1: true, 2: true, 3: true}, found); diff != "" {
		t.Errorf("numbers stored of three (-want +got):\n%s", diff)
	}
}

func TestOnlyWhatHasNoIDIsDoubled(t *testing.T) {
	b := memstream.New()
	l := b.Log()
	b.Fault(memstream.Faults{Double: 1})
	if err := l.Publish(t.Context(), event(1, ""), event(2, "x")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1", "1", "2"}, stored(t, l)); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func TestABrokerThatIsAwayFailsEverything(t *testing.T) {
	ctx := t.Context()
	b := memstream.New()
	l := b.Log()
	if err := l.Publish(ctx, event(1, "")); err != nil {
		t.Fatal(err)
	}
	reader, err := l.Read(ctx, stream.Consumer{Durable: "r", Stream: domain.AggregateEvents})
	if err != nil {
		t.Fatal(err)
	}
	b.Fault(memstream.Faults{Away: true})
	unavailable(t, "publish", l.Publish(ctx, event(1, "")))
	_, err = reader.Next(ctx, 1)
	unavailable(t, "next", err)
	unavailable(t, "done", reader.Done(ctx, 1))
	_, err = l.Stats(ctx, domain.AggregateEvents)
	unavailable(t, "stats", err)
	b.Fault(memstream.Faults{})
	if list, err := reader.Next(ctx, 1); err != nil || len(list) != 1 {
		t.Errorf("got %d messages and %v when it is back, want 1", len(list), err)
	}
}

func TestAnIDIsForgottenAfterItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memstream.Open()
		for _, after := range []time.Duration{0, 2*time.Minute - 1, 1, time.Second} {
			time.Sleep(after)
			if err := l.Publish(t.Context(), event(1, "x")); err != nil {
				t.Fatal(err)
			}
		}
		if got := stored(t, l); len(got) != 2 {
			t.Errorf("got %d messages, want 2: one of each window", len(got))
		}
	})
}

// TestNothingIsLostOnABadBroker drives all at once: every message is published
// until it is sure, read in order and worked off until it is acked.
func TestNothingIsLostOnABadBroker(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) { badBroker(t, seed) })
	}
}

func badBroker(t *testing.T, seed uint64) {
	const n = 100
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	b := memstream.New()
	b.Fault(memstream.Faults{Seed: seed, Refuse: 0.2, Unsure: 0.2, Double: 0.2, Fail: 0.2, LoseAck: 0.3, Redeliver: 0.3, Delay: time.Second})
	var wg sync.WaitGroup
	wg.Go(func() {
		l := b.Log()
		for i := range n {
			for l.Publish(ctx, event(2*i, fmt.Sprint("even", i)), event(2*i+1, fmt.Sprint("odd", i))) != nil && ctx.Err() == nil {
			}
		}
	})
	wg.Go(func() {
		reader, err := b.Log().Read(ctx, stream.Consumer{Durable: "r", Stream: domain.AggregateEvents, MaxInFlight: 7})
		if err != nil {
			t.Error(err)
			return
		}
		for want := 0; want < 2*n && ctx.Err() == nil; {
			list, err := reader.Next(ctx, 5)
			if err != nil {
				continue
			}
			for _, m := range list {
				if string(m.Data) != fmt.Sprint(want) {
					t.Errorf("seed %d: read %s, want %d", seed, m.Data, want)
				}
				want++
				_ = reader.Done(ctx, m.Seq)
			}
		}
	})
	deliveries, worked := 0, map[string]bool{}
	wg.Go(func() {
		queue, err := b.Log().Work(ctx, stream.Shared{Durable: "q", Stream: domain.AggregateEvents, MaxDeliver: 1_000})
		if err != nil {
			t.Error(err)
			return
		}
		for ctx.Err() == nil {
			waiting, inFlight, err := queue.Pending(ctx)
			if err == nil && waiting+inFlight == 0 && len(worked) == 2*n {
				return
			}
			soon, cancel := context.WithTimeout(ctx, time.Second)
			list, _ := queue.Next(soon, 5)
			cancel()
			for _, d := range list {
				deliveries++
				worked[string(d.Message().Data)] = true
				_ = d.Ack(ctx) // or it comes again
			}
		}
	})
	wg.Wait()
	if ctx.Err() != nil {
		t.Fatalf("seed %d: not done in an hour", seed)
	}
	if got := len(stored(t, b.Log())); got != 2*n {
		t.Errorf("seed %d: got %d messages, want %d", seed, got, 2*n)
	}
	if deliveries <= 2*n {
		t.Errorf("seed %d: nothing was delivered twice", seed)
	}
}

func TestWhatIsRedeliveredEarlyIsInTwoHands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memstream.New()
		b.Fault(memstream.Faults{Redeliver: 1})
		queue, err := b.Log().Work(t.Context(), stream.Shared{Durable: "q", Stream: domain.AggregateEvents, AckWait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Log().Publish(t.Context(), event(1, "")); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for want := 1; want <= 2; want++ {
			list, err := queue.Next(t.Context(), 1)
			if err != nil || list[0].Deliveries() != want {
				t.Fatalf("got %v, want delivery %d", err, want)
			}
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("it came again after %s, want within a tenth of its minute", took)
		}
	})
}
