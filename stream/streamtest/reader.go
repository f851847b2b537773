package streamtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

var readerTests = []test{
	{"a reader begins behind its position", testAfter},
	{"a reader gets what its filters match, in order", testFilters},
	{"a Next that waits gets what comes", testWaits},
	{"a Next that was given up loses nothing", testGivenUp},
	{"what is in flight is bounded", testInFlight},
	{"pending counts what was not read", testReaderPending},
	{"a position before the first message begins at that", testTrimmedAway},
	{"a position that the stream has not reached is refused", testLostStream},
	{"a closed reader ends", testReaderCloses},
}

var ownerTests = []test{
	{"another owner shuts out the first", testShutsOut},
	{"owners who come and go break no order", testOwners},
	{"an owner begins again where its position is", testRewind},
	{"a consumer is read in order or shared, not both", testKinds},
	{"a reader whose consumer was dropped ends", testDropped},
}

func on(durable string, subjects ...string) stream.Consumer {
	return stream.Consumer{Durable: durable, Stream: domain.AggregateEvents, Subjects: subjects}
}

func testAfter(r *rig) {
	l := r.log()
	r.publish(l, events(1, 10)...)
	c := on("d")
	c.After = 4
	reader := r.reader(l, c)
	r.same(r.read(reader, 6), events(5, 10))
	r.publish(l, events(11, 12)...)
	r.same(r.read(reader, 2), events(11, 12))
	nothing(r, reader.Next)
}

func testFilters(r *rig) {
	l := r.log()
	odd := r.reader(l, on("odd", "tenant.acme.aggregate.odd.*"))
	some := r.reader(l, on("some", "tenant.acme.aggregate.*.3", "tenant.acme.aggregate.even.>", "tenant.acme.aggregate.even.4"))
	none := r.reader(l, on("none", "tenant.other.aggregate.*.*"))
	tenant := r.reader(l, on("tenant", "tenant.acme.>"))
	r.publish(l, events(1, 6)...)
	r.same(r.read(odd, 3), []stream.Message{event(1), event(3), event(5)})
	r.same(r.read(some, 4), []stream.Message{event(2), event(3), event(4), event(6)})
	r.same(r.read(tenant, 6), events(1, 6))
	nothing(r, none.Next)
	nothing(r, odd.Next)
}

// testWaits publishes only when a Next is under way, or about to be.
func testWaits(r *rig) {
	l := r.log()
	reader := r.reader(l, on("d"))
	for n := range 5 {
		var wg sync.WaitGroup
		wg.Go(func() { r.publish(l, event(n)) })
		r.same(r.read(reader, 1), []stream.Message{event(n)})
		wg.Wait()
	}
}

func testGivenUp(r *rig) {
	l := r.log()
	reader := r.reader(l, on("d"))
	queue := r.queue(l, stream.Shared{Durable: "q", Stream: domain.AggregateEvents, AckWait: long})
	for n := range 10 {
		for _, next := range []func(context.Context) error{
			func(ctx context.Context) error { _, err := reader.Next(ctx, 1); return err },
			func(ctx context.Context) error { _, err := queue.Next(ctx, 1); return err },
		} {
			ctx, cancel := context.WithCancel(r.ctx)
			done := make(chan error)
			go func() { done <- next(ctx) }()
			cancel()
			r.wants(<-done, context.Canceled, "a Next that was given up")
		}
		r.publish(l, event(n))
		r.same(r.read(reader, 1), []stream.Message{event(n)})
		r.same(messages(r.take(queue, 1)), []stream.Message{event(n)})
	}
}

func testInFlight(r *rig) {
	l := r.log()
	r.publish(l, events(1, 30)...)
	c := on("d", "tenant.acme.aggregate.odd.*")
	c.MaxInFlight = 5
	reader := r.reader(l, c)
	got := r.read(reader, 5)
	nothing(r, reader.Next)
	r.done(reader, got[1].Seq)
	got = append(got, r.read(reader, 2)...)
	nothing(r, reader.Next)
	r.done(reader, got[0].Seq) // what is done is done
	nothing(r, reader.Next)
	r.done(reader, got[6].Seq)
	got = append(got, r.read(reader, 5)...)
	var want []stream.Message
	for n := 1; n <= 23; n += 2 {
		want = append(want, event(n))
	}
	r.same(got, want)
}

func (r *rig) done(reader stream.Reader, seq uint64) {
	r.Helper()
	r.until("done", func() error { return reader.Done(r.ctx, seq) })
}

func testReaderPending(r *rig) {
	l := r.log()
	r.publish(l, events(1, 20)...)
	reader := r.reader(l, on("d", "tenant.acme.aggregate.odd.*"))
	r.pending(reader, 10)
	r.read(reader, 4)
	r.pending(reader, 6)
	r.read(reader, 6)
	r.pending(reader, 0)
	r.publish(l, events(21, 24)...)
	r.pending(reader, 2)
}

// pending waits until a reader counts so many: a broker may be behind a little.
func (r *rig) pending(reader stream.Reader, want uint64) {
	r.Helper()
	var got uint64
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pause) {
		r.until("pending", func() (err error) {
			got, err = reader.Pending(r.ctx)
			return err
		})
		if got == want {
			return
		}
	}
	r.Errorf("got %d pending, want %d", got, want)
}

func testTrimmedAway(r *rig) {
	l := r.log()
	r.publish(l, events(1, 10)...)
	r.until("trim", func() error { return l.Trim(r.ctx, domain.AggregateEvents, "", 6) })
	c := on("d")
	c.After = 2
	r.same(r.read(r.reader(l, c), 4), events(7, 10))
	c = on("ahead")
	c.After = 10
	reader := r.reader(l, c)
	r.publish(l, event(11))
	r.same(r.read(reader, 1), events(11, 11))
}

func testLostStream(r *rig) {
	l := r.log()
	r.publish(l, events(1, 3)...)
	c := on("d")
	c.After = 4
	_, err := l.Read(r.ctx, c)
	r.wants(err, domain.ErrInvalid, "read behind the end")
	c.After = 3
	reader := r.reader(l, c)
	r.publish(l, event(4))
	r.same(r.read(reader, 1), events(4, 4))
}

func testReaderCloses(r *rig) {
	l := r.log()
	reader := r.reader(l, on("d"))
	waiting := make(chan error)
	go func() { _, err := reader.Next(r.ctx, 1); waiting <- err }()
	for range 2 {
		if err := reader.Close(); err != nil {
			r.Errorf("close: %v", err)
		}
	}
	r.wants(<-waiting, domain.ErrUnavailable, "a Next that waits")
	_, err := reader.Next(r.ctx, 1)
	r.wants(err, domain.ErrUnavailable, "Next")
	r.publish(l, event(1))
	r.same(r.read(r.reader(l, on("d")), 1), events(1, 1))
}

// conflict waits until a reader knows that it has lost its consumer.
func (r *rig) conflict(reader stream.Reader) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	for {
		_, err := reader.Next(ctx, 1)
		if err != nil {
			r.wants(err, domain.ErrConflict, "the Next of who was shut out")
			return
		}
	}
}

func testShutsOut(r *rig) {
	a, b := r.log(), r.other()
	r.publish(a, events(1, 10)...)
	first := r.reader(a, on("d"))
	r.same(r.read(first, 3), events(1, 3))
	waits := r.reader(a, on("other"))
	r.read(waits, 10)
	blocked := make(chan error)
	go func() { _, err := waits.Next(r.ctx, 1); blocked <- err }()

	c := on("d")
	c.After = 2
	second := r.reader(b, c)
	r.conflict(first)
	r.conflict(first) // for ever
	r.same(r.read(second, 3), events(3, 5))
	if err := first.Close(); err != nil {
		r.Errorf("close: %v", err)
	}
	r.publish(a, event(11))
	r.same(r.read(second, 6), events(6, 11))

	c = on("other")
	c.After = 10
	third := r.reader(b, c)
	if err := <-blocked; err == nil {
		// It may have got what came before it was shut out.
		r.conflict(waits)
	} else {
		r.wants(err, domain.ErrConflict, "a Next that waited")
	}
	r.same(r.read(third, 1), events(11, 11))
}

// testOwners has owners take a consumer from each other while messages come.
// Their position is moved as a board moves it: only by who reads on from it.
func testOwners(r *rig) {
	const n, owners = 300, 4
	logs := []stream.Log{r.log(), r.other()}
	var (
		mu       sync.Mutex
		position uint64
		handled  []stream.Message
		wg       sync.WaitGroup
	)
	finished := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(handled) == n
	}
	own := func(l stream.Log, batch int) {
		mu.Lock()
		c := on("d")
		c.After = position
		mu.Unlock()
		reader, err := l.Read(r.ctx, c)
		if err != nil {
			return
		}
		defer reader.Close()
		at := c.After
		for range 5 {
			ctx, cancel := context.WithTimeout(r.ctx, moment)
			list, err := reader.Next(ctx, batch)
			cancel()
			if err != nil {
				return
			}
			mu.Lock()
			if position != at { // another has moved it: our guard would fail
				mu.Unlock()
				return
			}
			handled = append(handled, list...)
			position = list[len(list)-1].Seq
			at = position
			mu.Unlock()
			_ = reader.Done(r.ctx, at)
		}
	}
	for i := range owners {
		wg.Go(func() {
			for !finished() && r.ctx.Err() == nil {
				own(logs[i%2], 3*i+1)
			}
		})
	}
	for from := range n / 10 {
		r.publish(logs[0], events(from*10, from*10+9)...)
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	r.same(handled, events(0, n-1))
}

func testRewind(r *rig) {
	l := r.log()
	r.publish(l, events(1, 10)...)
	first := r.reader(l, on("d"))
	got := r.read(first, 10)
	r.done(first, got[9].Seq)
	c := on("d")
	c.After = 5
	r.same(r.read(r.reader(l, c), 5), events(6, 10))
	r.same(r.read(r.reader(l, on("d")), 10), events(1, 10)) // a replay
}

func testKinds(r *rig) {
	l := r.log()
	r.publish(l, event(1))
	shared := stream.Shared{Durable: "q", Stream: domain.AggregateEvents, AckWait: long}
	queue := r.queue(l, shared)
	_, err := l.Read(r.ctx, on("q"))
	r.wants(err, domain.ErrInvalid, "read what is shared")
	r.ack(r.take(queue, 1)...) // it is as it was
	reader := r.reader(l, on("r"))
	shared.Durable = "r"
	_, err = l.Work(r.ctx, shared)
	r.wants(err, domain.ErrInvalid, "share what is read")
	r.same(r.read(reader, 1), events(1, 1))
}

func testDropped(r *rig) {
	l := r.log()
	reader := r.reader(l, on("r"))
	queue := r.queue(l, stream.Shared{Durable: "q", Stream: domain.AggregateEvents, AckWait: long})
	r.publish(l, event(1), event(2))
	r.read(reader, 1)
	r.take(queue, 1)
	for _, durable := range []string{"r", "q", "never"} {
		r.until("drop", func() error { return l.Drop(r.ctx, domain.AggregateEvents, durable) })
	}
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	var err error
	for err == nil { // what it had fetched, it may give
		_, err = reader.Next(ctx, 1)
	}
	if !slices.ContainsFunc([]error{domain.ErrConflict, domain.ErrUnavailable}, func(kind error) bool { return is(err, kind) }) {
		r.Errorf("got %v of a dropped reader, want conflict or unavailable", err)
	}
	for err = nil; err == nil; {
		_, err = queue.Next(ctx, 1)
	}
	r.wants(err, domain.ErrUnavailable, "Next of a dropped queue")
	// Opened again, they begin anew.
	r.same(r.read(r.reader(l, on("r")), 2), events(1, 2))
	queue = r.queue(l, stream.Shared{Durable: "q", Stream: domain.AggregateEvents, AckWait: long})
	r.same(messages(r.take(queue, 2)), events(1, 2))
}
