package streamtest

import (
	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

var storeTests = []test{
	{"a scan goes through what matches", testScan},
	{"a count is of what matches", testCount},
	{"stats say what a stream holds", testStats},
	{"trim deletes up to a sequence", testTrim},
	{"what was trimmed away comes to no worker", testTrimQueue},
	{"what a queue has ended is told up to the first that is in hands", testAcked},
}

func testScan(r *rig) {
	l := r.log()
	if got := r.all(l, domain.AggregateEvents); len(got) > 0 {
		r.Errorf("got %d messages of an empty stream", len(got))
	}
	r.publish(l, events(1, 250)...)
	r.same(r.all(l, domain.AggregateEvents), events(1, 250))
	var odd []stream.Message
	for n := 1; n < 250; n += 2 {
		odd = append(odd, event(n))
	}
	r.same(r.all(l, domain.AggregateEvents, "tenant.*.aggregate.odd.>"), odd)
	few, err := l.Scan(r.ctx, domain.AggregateEvents, []string{"*.*.*.*.7", "tenant.acme.aggregate.even.8", "tenant.acme.aggregate.even.>"}, 5, 3)
	if err != nil {
		r.Fatal(err)
	}
	r.same(few, events(6, 8))
	first, err := l.Scan(r.ctx, domain.AggregateEvents, []string{"tenant.acme.aggregate.even.8", "*.*.*.*.7", "tenant.acme.aggregate.even.>"}, 7, 1)
	if err != nil {
		r.Fatal(err)
	}
	r.same(first, events(7, 7))
	for _, most := range []int{1, 10} {
		none, err := l.Scan(r.ctx, domain.AggregateEvents, []string{"aggregate.a.b"}, 0, most)
		if err != nil || len(none) > 0 {
			r.Errorf("got %d messages and %v of what is not there, want none", len(none), err)
		}
	}
	rest, err := l.Scan(r.ctx, domain.AggregateEvents, nil, 251, 10)
	if err != nil || len(rest) > 0 {
		r.Errorf("got %d messages and %v behind the end, want none", len(rest), err)
	}
}

func testCount(r *rig) {
	l := r.log()
	count := func(want, after uint64, subjects ...string) {
		r.Helper()
		r.until("count", func() error {
			got, err := l.Count(r.ctx, domain.AggregateEvents, subjects, after)
			if err == nil && got != want { // a replica comes to know of all
				err = domain.Unavailablef("behind %d of %q: got %d, want %d", after, subjects, got, want)
			}
			return err
		})
	}
	count(0, 0)
	r.publish(l, events(1, 10)...)
	count(10, 0)
	count(3, 7)
	count(0, 10)
	count(0, 1000)
	count(5, 0, "tenant.*.aggregate.odd.>")
	count(2, 6, "tenant.acme.aggregate.odd.*")
	count(4, 6, "tenant.acme.aggregate.odd.*", "tenant.acme.aggregate.even.*")
	count(0, 0, "tenant.other.>")
}

// holds compares what stats say.
func (r *rig) holds(l stream.Log, first, last, n uint64) {
	r.Helper()
	var got stream.Stats
	r.until("stats", func() (err error) {
		got, err = l.Stats(r.ctx, domain.AggregateEvents)
		return err
	})
	if diff := cmp.Diff([]uint64{first, last, n}, []uint64{got.First, got.Last, got.Messages}); diff != "" {
		r.Errorf("first, last and number of messages (-want +got):\n%s", diff)
	}
	if (got.Bytes == 0) != (n == 0) || got.Replicas < 1 || len(got.Subjects) < 2 || got.Created.IsZero() {
		r.Errorf("got stats %+v", got)
	}
}

func testStats(r *rig) {
	l := r.log()
	r.holds(l, 1, 0, 0)
	r.publish(l, events(1, 5)...)
	r.holds(l, 1, 5, 5)
}

func testTrim(r *rig) {
	l := r.log()
	trim := func(subject string, seq uint64) {
		r.Helper()
		r.until("trim", func() error { return l.Trim(r.ctx, domain.AggregateEvents, subject, seq) })
	}
	r.publish(l, events(1, 10)...)
	trim("", 0)
	r.holds(l, 1, 10, 10)
	trim("", 3)
	r.holds(l, 4, 10, 7)
	trim("tenant.acme.aggregate.odd.*", 7)
	r.same(r.all(l, domain.AggregateEvents), []stream.Message{event(4), event(6), event(8), event(9), event(10)})
	trim("tenant.other.>", 10)
	r.holds(l, 4, 10, 5)
	trim("", 100)
	r.holds(l, 11, 10, 0)
	r.publish(l, event(11))
	r.holds(l, 11, 11, 1)
}

func testTrimQueue(r *rig) {
	l := r.log()
	c := shared("q")
	c.AckWait = shortly
	queue := r.queue(l, c)
	r.publish(l, events(1, 4)...)
	r.take(queue, 1)
	r.until("trim", func() error { return l.Trim(r.ctx, domain.AggregateEvents, "", 3) })
	r.same(messages(r.take(queue, 1)), events(4, 4))
}

func testAcked(r *rig) {
	l := r.log()
	acked := func(want, left uint64) {
		r.Helper()
		r.until("acked", func() error {
			seq, waiting, there, err := l.Acked(r.ctx, domain.AggregateEvents, "q")
			if err == nil && (seq != want || waiting != left || !there) {
				err = domain.Unavailablef("got %d, %d, %t, want %d, %d", seq, waiting, there, want, left)
			}
			return err
		})
	}
	if _, _, there, err := l.Acked(r.ctx, domain.AggregateEvents, "q"); there || err != nil {
		r.Errorf("of a consumer that there is not: got %t, %v", there, err)
	}
	queue := r.queue(l, shared("q"))
	acked(0, 0)
	r.publish(l, events(1, 6)...)
	acked(0, 6)
	list := r.take(queue, 4)
	acked(0, 6)
	ack := func(d stream.Delivery) {
		r.Helper()
		if err := d.Ack(r.ctx); err != nil {
			r.Fatal(err)
		}
	}
	ack(list[0])
	acked(1, 5)
	ack(list[2])
	ack(list[3])
	acked(1, 3) // the second is in hands
	ack(list[1])
	acked(4, 2)
	for _, d := range r.take(queue, 2) {
		ack(d)
	}
	acked(6, 0)
}
