package streamtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

var publishTests = []test{
	{"messages come back as they were published", testRoundTrip},
	{"a publish of many keeps their order in each stream", testManyStreams},
	{"an ID is stored once", testIDs},
	{"IDs among many are stored once", testManyIDs},
	{"IDs count for one stream each", testIDsPerStream},
	{"what has no ID is stored each time", testNoIDs},
	{"many publish at once", testPublishers},
	{"the largest message goes through", testLargest},
}

var refusalTests = []test{
	{"what breaks a limit is refused", testRefusals},
	{"a closed log refuses everything", testClosed},
	{"a context that is over ends calls", testCancelled},
}

func testRoundTrip(r *rig) {
	l := r.log()
	want := []stream.Message{
		event(1),
		{Stream: domain.AggregateEvents, Subject: "aggregate.Account.018f", Data: []byte{0, 1, 0xff, '\r', '\n'}},
		{Stream: domain.AggregateEvents, Subject: "tenant.a_B-c$.aggregate.x.y", ID: "id with spaces, ünïcödé",
			Header: map[string]string{"a": "", "b": "x: y", "Case": "1", "case": "2"}},
		{Stream: domain.AggregateEvents, Subject: "aggregate.x.empty"},
	}
	for i := range want {
		r.publish(l, want[i])
	}
	got := r.all(l, domain.AggregateEvents)
	r.same(got, want)
	if len(got) > 0 && got[0].Seq != 1 {
		r.Errorf("got first sequence %d, want 1", got[0].Seq)
	}
	read := r.read(r.reader(l, stream.Consumer{Durable: "d", Stream: domain.AggregateEvents}), len(want))
	if diff := cmp.Diff(got, read); diff != "" {
		r.Errorf("read other than scanned (-scan +read):\n%s", diff)
	}
	taken := sorted(r.take(r.queue(l, stream.Shared{Durable: "q", Stream: domain.AggregateEvents}), len(want)))
	if diff := cmp.Diff(got, taken); diff != "" {
		r.Errorf("taken other than scanned (-scan +taken):\n%s", diff)
	}
}

func testManyStreams(r *rig) {
	l := r.log()
	var all []stream.Message
	want := map[domain.StreamName][]stream.Message{}
	for i := range stream.MaxPublish {
		m := stream.Message{Data: fmt.Append(nil, i), ID: fmt.Sprint("m", i)}
		switch i % 3 {
		case 0:
			m.Stream, m.Subject = domain.AggregateEvents, "aggregate.a.b"
		case 1:
			m.Stream, m.Subject = domain.WorkflowCommands, "tenant.t.effect.mail.1"
		case 2:
			m.Stream, m.Subject, m.ID = domain.WorkflowEvents, "effect_result.mail.1", ""
		}
		all = append(all, m)
		want[m.Stream] = append(want[m.Stream], m)
	}
	r.publish(l, all...)
	for name, list := range want {
		r.same(r.all(l, name), list)
	}
	r.publish(l) // of nothing
}

func testIDs(r *rig) {
	l := r.log()
	r.publish(l, event(1))
	r.publish(l, event(1))
	r.publish(l, events(1, 4)...)               // one was there
	r.publish(l, event(5), event(5), event(6))  // one is there twice
	r.publish(l, events(5, 6)...)               // all were
	r.publish(l, event(7), event(3), event(8))  // one in the middle
	r.publish(l, event(2), event(9), event(10)) // one at the begin
	r.publish(l, event(11), event(9))           // and at the end
	r.same(r.all(l, domain.AggregateEvents), events(1, 11))
}

// testManyIDs publishes as a relay does that was not sure, and as one must not.
func testManyIDs(r *rig) {
	l := r.log()
	r.publish(l, events(1, 300)...)
	r.publish(l, events(200, 500)...) // the first were there
	r.publish(l, events(1, 500)...)   // all were
	var mixed []stream.Message
	for n := 1; n <= 100; n++ {
		mixed = append(mixed, event(500+n), event(n), event(500+n))
	}
	r.publish(l, mixed...)
	r.same(r.all(l, domain.AggregateEvents), events(1, 600))
}

func testIDsPerStream(r *rig) {
	l := r.log()
	a := stream.Message{Stream: domain.AggregateEvents, Subject: "aggregate.a.b", ID: "x"}
	b := stream.Message{Stream: domain.WorkflowEvents, Subject: "workflow_event.a.b", ID: "x"}
	r.publish(l, a, b)
	r.publish(l, b, a)
	r.same(r.all(l, domain.AggregateEvents), []stream.Message{a})
	r.same(r.all(l, domain.WorkflowEvents), []stream.Message{b})
}

func testNoIDs(r *rig) {
	l := r.log()
	m := event(1)
	m.ID = ""
	r.publish(l, m, m)
	r.publish(l, m)
	r.same(r.all(l, domain.AggregateEvents), []stream.Message{m, m, m})
}

// testPublishers has some publish one by one and some in batches, all with IDs
// that others publish too.
func testPublishers(r *rig) {
	const publishers, each = 8, 30
	l := r.log()
	var wg sync.WaitGroup
	for p := range publishers {
		wg.Go(func() {
			var list []stream.Message
			for i := range each {
				m := event(p*each + i)
				m.Subject = fmt.Sprintf("aggregate.p%d.x", p)
				m.Data = fmt.Append(nil, i)
				list = append(list, m)
			}
			for n := 1; len(list) > 0; n = n%7 + 1 {
				n = min(n, len(list))
				r.publish(l, list[:n]...)
				if n%3 == 0 {
					r.publish(l, list[:n]...) // again: a relay that was not sure
				}
				list = list[n:]
			}
		})
	}
	wg.Wait()
	var want []string
	for i := range each {
		want = append(want, fmt.Sprint(i))
	}
	for p := range publishers {
		got := data(r.all(l, domain.AggregateEvents, fmt.Sprintf("aggregate.p%d.x", p)))
		if diff := cmp.Diff(want, got); diff != "" {
			r.Errorf("publisher %d (-want +got):\n%s", p, diff)
		}
	}
}

func testLargest(r *rig) {
	l := r.log()
	m := stream.Message{
		Stream: domain.WorkflowCommands, Subject: "effect." + strings.Repeat("x", 120) + "." + strings.Repeat("y", 120),
		ID: strings.Repeat("i", 255), Data: []byte(strings.Repeat("d", stream.MaxData)),
		Header: map[string]string{"h": strings.Repeat("v", stream.MaxHeader-1)},
	}
	n := m
	n.ID = "another"
	r.publish(l, m, n)
	r.same(r.all(l, domain.WorkflowCommands), []stream.Message{m, n})
}

func testRefusals(r *rig) {
	l := r.log()
	on := func(subject string) stream.Message {
		return stream.Message{Stream: domain.AggregateEvents, Subject: subject}
	}
	with := func(name, value string) stream.Message {
		m := event(2)
		m.Header = map[string]string{name: value}
		return m
	}
	id := func(id string) stream.Message {
		m := event(2)
		m.ID = id
		return m
	}
	for name, m := range map[string]stream.Message{
		"10 MB of data":             {Stream: domain.AggregateEvents, Subject: "aggregate.a.b", Data: make([]byte, 10<<20)},
		"a byte too much":           {Stream: domain.AggregateEvents, Subject: "aggregate.a.b", Data: make([]byte, stream.MaxData+1)},
		"a long subject":            on("aggregate.a." + strings.Repeat("x", 250)),
		"a subject of none":         on("aggregate.a"),
		"another stream's subject":  on("effect.a.b"),
		"an empty subject":          on(""),
		"an empty token":            on("aggregate..b"),
		"a star":                    on("aggregate.*.b"),
		"an angle":                  on("aggregate.a.>"),
		"a space in a subject":      on("aggregate.a b.c"),
		"a newline in a subject":    on("aggregate.a\r\n.c"),
		"no stream":                 {Subject: "aggregate.a.b"},
		"the driver's own stream":   {Stream: domain.WorkflowTroubles, Subject: "x"},
		"a large header":            with("h", strings.Repeat("x", stream.MaxHeader)),
		"a header for the broker":   with("Nats-Rollup", "all"),
		"and in small letters":      with("nats-expected-last-sequence", "1"),
		"a header without a name":   with("", "x"),
		"a name with a colon":       with("a:b", "x"),
		"a value with a newline":    with("a", "x\r\nNats-Rollup: all"),
		"a value with outer spaces": with("a", " x"),
		"an id with a newline":      id("a\nb"),
		"a long id":                 id(strings.Repeat("x", 256)),
	} {
		r.wants(l.Publish(r.ctx, event(1), m), domain.ErrInvalid, name)
	}
	r.wants(l.Publish(r.ctx, events(1, stream.MaxPublish+1)...), domain.ErrInvalid, "too many messages")
	if got := r.all(l, domain.AggregateEvents); len(got) > 0 {
		r.Errorf("%d messages were stored by what was refused", len(got))
	}
	for name, c := range map[string]stream.Consumer{
		"a durable without a name": {Stream: domain.AggregateEvents},
		"a durable with a dot":     {Durable: "a.b", Stream: domain.AggregateEvents},
		"a long durable":           {Durable: strings.Repeat("x", 201), Stream: domain.AggregateEvents},
		"a stream that is not":     {Durable: "x", Stream: "NO"},
		"a filter with a space":    {Durable: "x", Stream: domain.AggregateEvents, Subjects: []string{"a b"}},
		"a filter with an end":     {Durable: "x", Stream: domain.AggregateEvents, Subjects: []string{"a."}},
		"nothing in flight":        {Durable: "x", Stream: domain.AggregateEvents, MaxInFlight: -1},
	} {
		_, err := l.Read(r.ctx, c)
		r.wants(err, domain.ErrInvalid, name)
		_, err = l.Work(r.ctx, stream.Shared{Durable: c.Durable, Stream: c.Stream, Subjects: c.Subjects, MaxInFlight: c.MaxInFlight})
		r.wants(err, domain.ErrInvalid, name+", shared")
	}
	_, err := l.Work(r.ctx, stream.Shared{Durable: "x", Stream: domain.AggregateEvents, MaxDeliver: -1})
	r.wants(err, domain.ErrInvalid, "no deliveries")
	_, err = l.Work(r.ctx, stream.Shared{Durable: "x", Stream: domain.AggregateEvents, AckWait: time.Nanosecond})
	r.wants(err, domain.ErrInvalid, "no time")
	_, err = l.Scan(r.ctx, domain.AggregateEvents, nil, 1, 0)
	r.wants(err, domain.ErrInvalid, "scan of nothing")
	_, err = l.Stats(r.ctx, "NO")
	r.wants(err, domain.ErrInvalid, "stats of nothing")
	reader := r.reader(l, stream.Consumer{Durable: "x", Stream: domain.AggregateEvents})
	_, err = reader.Next(r.ctx, 0)
	r.wants(err, domain.ErrInvalid, "next of none")
	_, err = reader.Next(r.ctx, stream.MaxFetch+1)
	r.wants(err, domain.ErrInvalid, "next of too many")
}

func testClosed(r *rig) {
	l := r.Broker.Log(r.T)
	r.publish(l, event(1))
	reader := r.reader(l, stream.Consumer{Durable: "r", Stream: domain.AggregateEvents, After: 1})
	queue := r.queue(l, stream.Shared{Durable: "q", Stream: domain.AggregateEvents})
	held := r.take(queue, 1)[0]
	waiting := make(chan error, 2)
	go func() { _, err := reader.Next(r.ctx, 1); waiting <- err }()
	go func() { _, err := queue.Next(r.ctx, 1); waiting <- err }()
	for range 2 {
		if err := l.Close(); err != nil {
			r.Errorf("close: %v", err)
		}
	}
	for range 2 {
		r.wants(<-waiting, domain.ErrUnavailable, "a Next that waits")
	}
	r.wants(l.Publish(r.ctx, event(2)), domain.ErrUnavailable, "publish")
	_, err := l.Read(r.ctx, stream.Consumer{Durable: "r", Stream: domain.AggregateEvents})
	r.wants(err, domain.ErrUnavailable, "read")
	_, err = l.Work(r.ctx, stream.Shared{Durable: "q", Stream: domain.AggregateEvents})
	r.wants(err, domain.ErrUnavailable, "work")
	_, err = reader.Next(r.ctx, 1)
	r.wants(err, domain.ErrUnavailable, "a reader's Next")
	_, err = queue.Next(r.ctx, 1)
	r.wants(err, domain.ErrUnavailable, "a queue's Next")
	_, err = l.Scan(r.ctx, domain.AggregateEvents, nil, 1, 1)
	r.wants(err, domain.ErrUnavailable, "scan")
	_, err = l.Stats(r.ctx, domain.AggregateEvents)
	r.wants(err, domain.ErrUnavailable, "stats")
	r.wants(held.Ack(r.ctx), domain.ErrUnavailable, "ack")
}

func testCancelled(r *rig) {
	l := r.log()
	reader := r.reader(l, stream.Consumer{Durable: "r", Stream: domain.AggregateEvents})
	queue := r.queue(l, stream.Shared{Durable: "q", Stream: domain.AggregateEvents})
	over, cancel := context.WithCancel(r.ctx)
	cancel()
	r.wants(l.Publish(over, event(1)), context.Canceled, "publish")
	_, err := l.Read(over, stream.Consumer{Durable: "r", Stream: domain.AggregateEvents})
	r.wants(err, context.Canceled, "read")
	_, err = l.Work(over, stream.Shared{Durable: "q", Stream: domain.AggregateEvents})
	r.wants(err, context.Canceled, "work")
	_, err = l.Scan(over, domain.AggregateEvents, nil, 1, 1)
	r.wants(err, context.Canceled, "scan")
	_, err = reader.Next(over, 1)
	r.wants(err, context.Canceled, "a reader's Next")
	_, err = queue.Next(over, 1)
	r.wants(err, context.Canceled, "a queue's Next")
}
