package streamtest

import (
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

var awayTests = []test{
	{"a broker that was away goes on", testRestart},
	{"what waits goes on when the broker is back", testRestartWaits},
	{"a new process goes on", testNewProcess},
}

// restarts skips a test of what a broker cannot do.
func (r *rig) restarts() {
	r.Helper()
	if r.Restart == nil {
		r.Skip("this broker cannot be restarted by a test")
	}
}

func testRestart(r *rig) {
	r.restarts()
	l := r.log()
	r.publish(l, events(1, 20)...)
	reader := r.reader(l, on("r"))
	queue := r.queue(l, shared("q"))
	got := r.read(reader, 5)
	r.done(reader, got[4].Seq)
	r.ack(r.take(queue, 20)...)
	r.Restart(r.T)
	r.publish(l, events(15, 30)...) // some again
	r.same(r.read(reader, 25), events(6, 30))
	r.same(messages(r.take(queue, 10)), events(21, 30))
	r.same(r.all(l, domain.AggregateEvents), events(1, 30))
}

func testRestartWaits(r *rig) {
	r.restarts()
	l := r.log()
	reader := r.reader(l, on("r"))
	queue := r.queue(l, shared("q"))
	r.publish(l, event(1))
	r.read(reader, 1)
	r.ack(r.take(queue, 1)...)
	read, taken := make(chan []stream.Message, 1), make(chan []stream.Delivery, 1)
	go func() {
		defer close(read) // also when it fails
		read <- r.read(reader, 1)
	}()
	go func() {
		defer close(taken)
		taken <- r.take(queue, 1)
	}()
	r.Restart(r.T)
	r.publish(l, event(2))
	r.same(<-read, events(2, 2))
	r.same(messages(<-taken), events(2, 2))
}

func testNewProcess(r *rig) {
	first := r.log()
	r.publish(first, events(1, 6)...)
	queue := r.queue(first, stream.Shared{Durable: "q", Stream: domain.AggregateEvents, AckWait: time.Second})
	r.ack(r.take(queue, 3)...)
	reader := r.reader(first, on("r"))
	got := r.read(reader, 4)
	if err := first.Close(); err != nil {
		r.Fatalf("close: %v", err)
	}
	second := r.log()
	r.publish(second, event(6), event(7))
	c := on("r")
	c.After = got[3].Seq
	r.same(r.read(r.reader(second, c), 3), events(5, 7))
	queue = r.queue(second, stream.Shared{Durable: "q", Stream: domain.AggregateEvents, AckWait: time.Second})
	r.same(sorted(r.take(queue, 4)), events(4, 7))
}
