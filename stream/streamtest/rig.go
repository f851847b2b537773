package streamtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

const (
	// patience is how long a test waits for what must come. Only a broken
	// driver makes a test wait that long.
	patience = 60 * time.Second
	// pause is how long it waits before it tries again what is refused for a
	// while.
	pause = 10 * time.Millisecond
	// shortly is an AckWait for tests of what comes again, and moment how long
	// they look whether nothing comes.
	shortly = 500 * time.Millisecond
	moment  = 100 * time.Millisecond
	// long is an AckWait that ends in no test.
	long = time.Hour
)

// rig is a broker under test with short ways to ask and to complain.
type rig struct {
	*testing.T
	Broker
	Features
	ctx context.Context
}

func open(t *testing.T, f Factory) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	return &rig{T: t, Broker: f.Open(t), Features: f.Features, ctx: ctx}
}

// log opens a node's way and sees to it that it ends with the test.
func (r *rig) log() stream.Log {
	r.Helper()
	l := r.Broker.Log(r.T)
	r.Cleanup(func() {
		if err := l.Close(); err != nil {
			r.Errorf("close log: %v", err)
		}
	})
	return l
}

// other is another node's way to the broker, where it can have two.
func (r *rig) other() stream.Log {
	r.Helper()
	if r.Alone != "" {
		r.Skip(r.Alone)
	}
	return r.log()
}

// event is the n-th of the messages that tests publish. Each has a subject of
// its own kind, even or odd, an ID and a header.
func event(n int) stream.Message {
	kind := "even"
	if n%2 == 1 {
		kind = "odd"
	}
	return stream.Message{
		Stream:  domain.AggregateEvents,
		Subject: "tenant.acme.aggregate." + kind + "." + fmt.Sprint(n),
		ID:      fmt.Sprintf("event-%d", n),
		Header:  map[string]string{"trace_id": fmt.Sprint("t", n)},
		Data:    fmt.Appendf(nil, `{"n":%d}`, n),
	}
}

func events(from, to int) (list []stream.Message) {
	for n := from; n <= to; n++ {
		list = append(list, event(n))
	}
	return list
}

// publish publishes until the broker takes it.
func (r *rig) publish(l stream.Log, messages ...stream.Message) {
	r.Helper()
	r.until("publish", func() error { return l.Publish(r.ctx, messages...) })
}

// until does something again and again while it is unavailable.
func (r *rig) until(what string, do func() error) {
	r.Helper()
	for end := time.Now().Add(patience); ; {
		err := do()
		if err == nil {
			return
		}
		if !errors.Is(err, domain.ErrUnavailable) || time.Now().After(end) {
			r.Fatalf("%s: %v", what, err)
		}
		time.Sleep(pause)
	}
}

// all scans everything that a stream holds.
func (r *rig) all(l stream.Log, name domain.StreamName, subjects ...string) (list []stream.Message) {
	r.Helper()
	for from := uint64(1); ; {
		var some []stream.Message
		r.until("scan", func() (err error) {
			some, err = l.Scan(r.ctx, name, subjects, from, 100)
			return err
		})
		if len(some) == 0 {
			return list
		}
		list = append(list, some...)
		from = some[len(some)-1].Seq + 1
	}
}

func (r *rig) reader(l stream.Log, c stream.Consumer) stream.Reader {
	r.Helper()
	var reader stream.Reader
	r.until("read", func() (err error) {
		reader, err = l.Read(r.ctx, c)
		return err
	})
	r.Cleanup(func() {
		if err := reader.Close(); err != nil {
			r.Errorf("close reader: %v", err)
		}
	})
	return reader
}

func (r *rig) queue(l stream.Log, c stream.Shared) stream.Queue {
	r.Helper()
	var queue stream.Queue
	r.until("work", func() (err error) {
		queue, err = l.Work(r.ctx, c)
		return err
	})
	r.Cleanup(func() {
		if err := queue.Close(); err != nil {
			r.Errorf("close queue: %v", err)
		}
	})
	return queue
}

// read reads n messages.
func (r *rig) read(from stream.Reader, n int) (list []stream.Message) {
	r.Helper()
	for len(list) < n {
		var some []stream.Message
		r.until("next", func() (err error) {
			ctx, cancel := context.WithTimeout(r.ctx, patience)
			defer cancel()
			some, err = from.Next(ctx, n-len(list))
			return err
		})
		if len(some) == 0 || len(some) > n-len(list) {
			r.Fatalf("got %d messages of Next, want 1 to %d", len(some), n-len(list))
		}
		list = append(list, some...)
	}
	return list
}

// take takes n deliveries.
func (r *rig) take(from stream.Queue, n int) (list []stream.Delivery) {
	r.Helper()
	for len(list) < n {
		var some []stream.Delivery
		r.until("next", func() (err error) {
			ctx, cancel := context.WithTimeout(r.ctx, patience)
			defer cancel()
			some, err = from.Next(ctx, n-len(list))
			return err
		})
		if len(some) == 0 || len(some) > n-len(list) {
			r.Fatalf("got %d deliveries of Next, want 1 to %d", len(some), n-len(list))
		}
		list = append(list, some...)
	}
	return list
}

func (r *rig) ack(list ...stream.Delivery) {
	r.Helper()
	for _, d := range list {
		r.until("ack", func() error { return d.Ack(r.ctx) })
	}
}

// nothing complains of what a Next gives while there should be nothing.
func nothing[T any](r *rig, next func(context.Context, int) ([]T, error)) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, moment)
	defer cancel()
	got, err := next(ctx, 10)
	if !errors.Is(err, context.DeadlineExceeded) || len(got) > 0 {
		r.Errorf("got %d messages and %v, want none and a deadline that is over", len(got), err)
	}
}

// same compares messages as they were published with those that came back.
func (r *rig) same(got, want []stream.Message) {
	r.Helper()
	opts := cmp.Options{cmpopts.IgnoreFields(stream.Message{}, "Seq", "Time"), cmpopts.EquateEmpty(), cmp.FilterValues(bytes.Equal, cmp.Ignore())}
	if diff := cmp.Diff(want, got, opts); diff != "" {
		r.Errorf("messages (-want +got):\n%s", diff)
	}
	last := uint64(0)
	for _, m := range got {
		if m.Seq <= last {
			r.Errorf("got sequence %d after %d", m.Seq, last)
		}
		if m.Time.IsZero() {
			r.Errorf("message %d has no time", m.Seq)
		}
		last = m.Seq
	}
}

func (r *rig) wants(err, kind error, what string) {
	r.Helper()
	if !errors.Is(err, kind) {
		r.Errorf("%s: got error %v, want %v", what, err, kind)
	}
}

// sorted are the messages in the order of their stream, which workers do not
// get them in.
func sorted(list []stream.Delivery) []stream.Message {
	of := messages(list)
	slices.SortFunc(of, func(a, b stream.Message) int { return int(a.Seq) - int(b.Seq) })
	return of
}

func messages(list []stream.Delivery) (of []stream.Message) {
	for _, d := range list {
		of = append(of, d.Message())
	}
	return of
}

func data(list []stream.Message) (of []string) {
	for _, m := range list {
		of = append(of, string(m.Data))
	}
	return of
}
