package streamtest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

var queueTests = []test{
	{"each message goes to one worker", testWorkers},
	{"what was not acked in time goes to another", testComesAgain},
	{"what was naked comes again", testNak},
	{"what was naked with a delay comes later", testNakDelay},
	{"progress keeps a delivery", testProgress},
	{"a late ack ends what another holds", testLateAck},
	{"what workers have in hands is bounded", testQueueInFlight},
	{"an opened queue takes on new settings", testSettings},
	{"a closed queue's messages come again", testQueueCloses},
	{"a queue counts what waits and what is in hands", testQueuePending},
}

var troubleTests = []test{
	{"a message that was terminated is a trouble", testTerm},
	{"a message that was given out too often is a trouble, and others go on", testMaxDeliver},
}

func is(err, kind error) bool { return errors.Is(err, kind) }

func shared(durable string) stream.Shared {
	return stream.Shared{Durable: durable, Stream: domain.AggregateEvents, AckWait: long}
}

func testWorkers(r *rig) {
	const n, workers = 200, 4
	logs := []stream.Log{r.log(), r.other()}
	var (
		mu  sync.Mutex
		got = map[string]int{}
		wg  sync.WaitGroup
	)
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	for i := range workers {
		queue := r.queue(logs[i%2], shared("q"))
		wg.Go(func() {
			for {
				list, err := queue.Next(ctx, i+1)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					r.Errorf("next: %v", err)
					return
				}
				r.ack(list...)
				mu.Lock()
				for _, d := range list {
					got[d.Message().ID]++
					// A server may count one that was on its way to a worker which asked no more.
					if n := d.Deliveries(); n < 1 || r.Bubble && n != 1 {
						r.Errorf("got delivery %d of %s, want the first", n, d.Message().ID)
					}
				}
				if len(got) == n {
					stop()
				}
				mu.Unlock()
			}
		})
	}
	for from := range n / 10 {
		r.publish(logs[0], events(from*10, from*10+9)...)
	}
	wg.Wait()
	for _, m := range events(0, n-1) {
		if got[m.ID] != 1 {
			r.Errorf("got %s %d times, want once", m.ID, got[m.ID])
		}
	}
	r.queuePending(r.queue(logs[0], shared("q")), 0, 0)
}

// queuePending waits until a queue counts so many.
func (r *rig) queuePending(queue stream.Queue, pending, inFlight uint64) {
	r.Helper()
	var got [2]uint64
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pause) {
		r.until("pending", func() (err error) {
			got[0], got[1], err = queue.Pending(r.ctx)
			return err
		})
		if got == [2]uint64{pending, inFlight} {
			return
		}
	}
	r.Errorf("got %d pending and %d in flight, want %d and %d", got[0], got[1], pending, inFlight)
}

func testComesAgain(r *rig) {
	a, b := r.log(), r.other()
	c := shared("q")
	c.AckWait = shortly
	first, second := r.queue(a, c), r.queue(b, c)
	r.publish(a, event(1))
	r.take(first, 1)
	again := r.take(second, 1)
	r.same(messages(again), events(1, 1))
	// In real time, this machine may have been too slow for the second.
	if n := again[0].Deliveries(); n < 2 || r.Bubble && n != 2 {
		r.Errorf("got delivery %d, want 2", n)
	}
	r.ack(again...)
	r.queuePending(second, 0, 0)
}

func testNak(r *rig) {
	l := r.log()
	queue := r.queue(l, shared("q"))
	r.publish(l, event(1))
	for n := 1; n <= 3; n++ {
		d := r.take(queue, 1)[0]
		if d.Deliveries() != n {
			r.Errorf("got delivery %d, want %d", d.Deliveries(), n)
		}
		r.until("nak", func() error { return d.Nak(r.ctx, 0) })
	}
	r.ack(r.take(queue, 1)...)
	r.queuePending(queue, 0, 0)
}

func testNakDelay(r *rig) {
	l := r.log()
	queue := r.queue(l, shared("q"))
	r.publish(l, event(1), event(2))
	d := r.take(queue, 1)[0]
	began := time.Now()
	r.until("nak", func() error { return d.Nak(r.ctx, shortly) })
	list := r.take(queue, 1)
	if took := time.Since(began); took < shortly { // else this machine may have paused until both could come
		r.same(messages(list), events(2, 2))
	}
	list = append(list, r.take(queue, 1)...)
	if took := time.Since(began); took < shortly {
		r.Errorf("it came again after %s, want %s at least", took, shortly)
	}
	r.same(sorted(list), events(1, 2))
}

func testProgress(r *rig) {
	if !r.Bubble {
		r.Skip("in real time, this machine may be too slow to say in time that there is progress")
	}
	l := r.log()
	c := shared("q")
	c.AckWait = time.Second
	queue := r.queue(l, c)
	r.publish(l, event(1))
	d := r.take(queue, 1)[0]
	for range 5 {
		time.Sleep(900 * time.Millisecond)
		if err := d.Progress(r.ctx); err != nil {
			r.Fatalf("progress: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(r.ctx, 999*time.Millisecond)
	defer cancel()
	if _, err := queue.Next(ctx, 1); !is(err, context.DeadlineExceeded) {
		r.Errorf("got error %v of Next while there is progress, want a deadline that is over", err)
	}
	if n := r.take(queue, 1)[0].Deliveries(); n != 2 {
		r.Errorf("got delivery %d, want 2", n)
	}
}

func testLateAck(r *rig) {
	l := r.log()
	c := shared("q")
	c.AckWait = shortly
	queue := r.queue(l, c)
	r.publish(l, event(1))
	late := r.take(queue, 1)
	r.take(queue, 1)
	r.ack(late...)
	r.ack(late...)
	r.queuePending(queue, 0, 0)
}

func testQueueInFlight(r *rig) {
	a, b := r.log(), r.other()
	c := shared("q")
	c.MaxInFlight = 3
	first, second := r.queue(a, c), r.queue(b, c)
	r.publish(a, events(1, 6)...)
	held := append(r.take(first, 2), r.take(second, 1)...)
	nothing(r, first.Next)
	nothing(r, second.Next)
	r.ack(held[0])
	held = append(held, r.take(second, 1)...)
	nothing(r, first.Next)
	r.same(sorted(held), events(1, 4))
}

func testSettings(r *rig) {
	l := r.log()
	c := shared("q")
	c.MaxInFlight = 1
	queue := r.queue(l, c)
	r.publish(l, events(1, 6)...)
	r.ack(r.take(queue, 1)...)
	r.take(queue, 1)
	nothing(r, queue.Next)
	c.MaxInFlight, c.Subjects = 3, []string{"tenant.acme.aggregate.odd.*"}
	queue = r.queue(l, c)
	r.same(messages(r.take(queue, 2)), []stream.Message{event(3), event(5)})
	nothing(r, queue.Next)
}

func testQueueCloses(r *rig) {
	l := r.log()
	c := shared("q")
	c.AckWait = shortly
	first := r.queue(l, c)
	r.publish(l, event(1), event(2))
	held := r.take(first, 2)
	for range 2 {
		if err := first.Close(); err != nil {
			r.Errorf("close: %v", err)
		}
	}
	_, err := first.Next(r.ctx, 1)
	r.wants(err, domain.ErrUnavailable, "Next")
	r.ack(held[0]) // who drains ends what it has
	second := r.queue(l, c)
	r.same(messages(r.take(second, 1)), []stream.Message{held[1].Message()})
}

func testQueuePending(r *rig) {
	l := r.log()
	queue := r.queue(l, shared("q"))
	r.publish(l, events(1, 10)...)
	r.queuePending(queue, 10, 0)
	held := r.take(queue, 4)
	// A driver may have fetched more: that is in its hands.
	_, inFlight, err := queue.Pending(r.ctx)
	if err != nil || inFlight < 4 {
		r.Errorf("got %d in flight and %v, want 4 at least", inFlight, err)
	}
	r.ack(held...)
	r.ack(r.take(queue, 6)...)
	r.queuePending(queue, 0, 0)
}

// troubles reads n troubles.
func (r *rig) troubles(l stream.Log, n int) (list []stream.Trouble) {
	r.Helper()
	for _, m := range r.read(r.reader(l, stream.Consumer{Durable: "watch", Stream: domain.WorkflowTroubles}), n) {
		var t stream.Trouble
		if err := json.Unmarshal(m.Data, &t); err != nil {
			r.Fatalf("trouble %s: %v", m.Data, err)
		}
		if m.Stream != domain.WorkflowTroubles {
			r.Errorf("got trouble of stream %q, want %q", m.Stream, domain.WorkflowTroubles)
		}
		list = append(list, t)
	}
	return list
}

func testTerm(r *rig) {
	l := r.log()
	queue := r.queue(l, shared("q"))
	r.publish(l, event(1), event(2))
	held := r.take(queue, 1)[0]
	r.until("term", func() error { return held.Term(r.ctx, "it is broken\nfor ever") })
	got := r.troubles(l, 1)
	want := []stream.Trouble{{Stream: domain.AggregateEvents, Consumer: "q", Seq: held.Message().Seq, Deliveries: 1, Reason: "it is broken?for ever"}}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("trouble (-want +got):\n%s", diff)
	}
	r.ack(r.take(queue, 1)...)
	r.queuePending(queue, 0, 0)
	if list := r.all(l, domain.WorkflowTroubles); len(list) != 1 {
		r.Errorf("got %d troubles of a scan, want 1", len(list))
	}
}

func testMaxDeliver(r *rig) {
	l := r.log()
	c := shared("q")
	c.AckWait, c.MaxDeliver = shortly, 2
	queue := r.queue(l, c)
	r.publish(l, events(1, 3)...)
	ctx, stop := context.WithCancel(r.ctx)
	var wg sync.WaitGroup
	seen := map[string]int{} // of the goroutine, until it has ended
	wg.Go(func() {
		for {
			list, err := queue.Next(ctx, 3)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				r.Errorf("next: %v", err)
				return
			}
			for _, d := range list {
				seen[d.Message().ID]++
				switch d.Message().ID {
				case "event-1": // it kills the worker, so to say
				case "event-2":
					r.until("nak", func() error { return d.Nak(r.ctx, 0) })
				default:
					r.ack(d)
				}
			}
		}
	})
	got := r.troubles(l, 2)
	stop()
	wg.Wait()
	slices.SortFunc(got, func(a, b stream.Trouble) int { return int(a.Seq) - int(b.Seq) })
	want := []stream.Trouble{
		{Stream: domain.AggregateEvents, Consumer: "q", Seq: 1, Deliveries: 2},
		{Stream: domain.AggregateEvents, Consumer: "q", Seq: 2, Deliveries: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("troubles (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"event-1": 2, "event-2": 2, "event-3": 1}, seen); diff != "" {
		r.Errorf("deliveries (-want +got):\n%s", diff)
	}
	r.queuePending(queue, 0, 0)
}
