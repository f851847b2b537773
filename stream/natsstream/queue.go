package natsstream

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// linger is how long a Next that has something waits for more, where the server
// does not say that this is all.
const linger = 2 * time.Millisecond

// queue is one worker's end of a shared consumer.
//
// It asks for no more than its caller wants now: what it fetched ahead would be
// kept from other workers while this one is busy.
type queue struct {
	l    *Log
	c    stream.Shared
	gone chan struct{} // closed by Close
	turn chan struct{} // holds one while somebody is in Next

	// Of whoever has the turn.
	pull *pull // nil before the first, and after one that was given up
	lost bool  // the consumer may not be there

	closing sync.Once
}

// Work opens a shared consumer.
func (l *Log) Work(ctx context.Context, c stream.Shared) (stream.Queue, error) {
	c, err := c.Filled()
	if err != nil {
		return nil, err
	}
	q := &queue{l: l, c: c, gone: make(chan struct{}), turn: make(chan struct{}, 1)}
	if err := l.keep(ctx, q.what("open"), q.open); err != nil {
		return nil, err
	}
	return q, nil
}

func (q *queue) what(verb string) string {
	return verb + " consumer " + q.c.Durable + " of " + string(q.c.Stream)
}

// open makes the consumer, or gives the one that is there its settings.
func (q *queue) open(ctx context.Context) error {
	there, err := q.l.js.Consumer(ctx, string(q.c.Stream), q.c.Durable)
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound):
	case err != nil:
		return err
	case there.CachedInfo().Config.AckPolicy != jetstream.AckExplicitPolicy:
		return domain.Invalidf("consumer %s of %s is read in order by one owner: it cannot be shared", q.c.Durable, q.c.Stream)
	}
	_, err = q.l.js.CreateOrUpdateConsumer(ctx, string(q.c.Stream), jetstream.ConsumerConfig{
		Durable:        q.c.Durable,
		Description:    "shared by workers of Ramet",
		DeliverPolicy:  jetstream.DeliverAllPolicy,
		FilterSubjects: distinct(q.c.Subjects),
		AckPolicy:      jetstream.AckExplicitPolicy,
		AckWait:        q.c.AckWait,
		MaxDeliver:     q.c.MaxDeliver,
		MaxAckPending:  q.c.MaxInFlight,
	})
	return err
}

// Next returns the next deliveries.
func (q *queue) Next(ctx context.Context, most int) ([]stream.Delivery, error) {
	if err := stream.ValidateMost(most); err != nil {
		return nil, err
	}
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	list, err := q.next(ctx, most)
	if err != nil {
		// Given up: what it asked for may not lie here, away from other workers.
		q.pull.giveBack()
		q.pull = nil
	}
	return list, err
}

func (q *queue) next(ctx context.Context, most int) (list []stream.Delivery, err error) {
	for tries := q.l.trying(); ; {
		if isClosed(q.gone) || q.l.closed() {
			return nil, errClosed
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if q.pull == nil {
			if q.pull, err = q.l.newPull(q.c.Stream, q.c.Durable, ""); err != nil {
				return nil, q.l.translate(ctx, q.what("take from"), err)
			}
		}
		if list = q.take(nil, most); len(list) > 0 {
			return q.more(list, most), nil
		}
		if q.lost {
			if err := tries.again(ctx); err != nil {
				return nil, err
			}
			if err := q.l.keep(ctx, q.what("take from"), q.there); err != nil {
				return nil, err
			}
		}
		if q.pull.ask(most, true) != nil {
			q.lost = true
			continue
		}
		switch err := q.pull.await(ctx, q.gone); {
		case errors.Is(err, errBroken), errors.Is(err, errSilent):
			q.lost = true
		case err != nil:
			return nil, err
		}
	}
}

// take adds what has come, up to n.
func (q *queue) take(list []stream.Delivery, n int) []stream.Delivery {
	for len(list) < n {
		m := q.pull.look()
		if m == nil {
			break
		}
		switch w, _ := q.pull.read(m); w {
		case wordMoved, wordLost:
			q.lost = true
		case wordMessage:
			meta, err := m.Metadata()
			if err != nil {
				continue // not from a stream
			}
			list = append(list, &delivery{
				l: q.l, ack: m.Reply, times: int(meta.NumDelivered),
				m: incoming(q.c.Stream, m.Subject, m.Header, m.Data, meta.Sequence.Stream, meta.Timestamp),
			})
		}
	}
	return list
}

// more adds what comes at once, and sees to it that nothing comes later, when
// nobody may ask for it.
func (q *queue) more(list []stream.Delivery, n int) []stream.Delivery {
	soon, cancel := context.WithTimeout(context.Background(), linger)
	defer cancel()
	for q.pull.reply != "" && q.pull.await(soon, q.gone) == nil {
		list = q.take(list, n)
	}
	if q.pull.reply != "" {
		q.pull.end()
		list = q.take(list, n)
		q.pull = nil
	}
	return list
}

// there finds out whether the consumer is still there.
func (q *queue) there(ctx context.Context) error {
	if _, err := q.info(ctx); err != nil {
		return err
	}
	q.pull.reply, q.lost = "", false
	return nil
}

func (q *queue) info(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	there, err := q.l.js.Consumer(ctx, string(q.c.Stream), q.c.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, errDropped(q.c.Durable)
	}
	if err != nil {
		return nil, err
	}
	return there.CachedInfo(), nil
}

// Pending counts what no worker got, and what is in hands.
func (q *queue) Pending(ctx context.Context) (pending, inFlight uint64, err error) {
	if isClosed(q.gone) || q.l.closed() {
		return 0, 0, errClosed
	}
	err = q.l.keep(ctx, q.what("ask for"), func(ctx context.Context) error {
		info, err := q.info(ctx)
		if err == nil {
			pending, inFlight = info.NumPending, uint64(max(info.NumAckPending, 0))
		}
		return err
	})
	return pending, inFlight, err
}

// Close ends this worker's part. What came and nobody took goes back at once.
func (q *queue) Close() error {
	q.closing.Do(func() {
		close(q.gone)
		q.turn <- struct{}{} // and nobody has it any more
		q.pull.giveBack()
		q.pull = nil
		<-q.turn
	})
	return nil
}

// delivery is a message in a worker's hands.
type delivery struct {
	l     *Log
	m     stream.Message
	ack   string // where to say what became of it
	times int
}

func (d *delivery) Message() stream.Message { return d.m }
func (d *delivery) Deliveries() int         { return d.times }

// Ack ends it.
func (d *delivery) Ack(ctx context.Context) error { return d.tell(ctx, "ack", "+ACK") }

// Progress keeps it.
func (d *delivery) Progress(ctx context.Context) error { return d.tell(ctx, "keep", "+WPI") }

// Nak gives it back.
func (d *delivery) Nak(ctx context.Context, delay time.Duration) error {
	if delay <= 0 {
		return d.tell(ctx, "nak", "-NAK")
	}
	data, err := json.Marshal(map[string]time.Duration{"delay": delay})
	if err != nil {
		return err
	}
	return d.tell(ctx, "nak", "-NAK "+string(data))
}

// Term gives it up.
func (d *delivery) Term(ctx context.Context, reason string) error {
	return d.tell(ctx, "term", "+TERM "+stream.PlainReason(reason))
}

// tell waits until the server has heard what became of the message.
func (d *delivery) tell(ctx context.Context, verb, text string) error {
	what := verb + " message of " + string(d.m.Stream)
	return d.l.keep(ctx, what, func(ctx context.Context) error {
		_, err := d.l.wire.Request(ctx, &nats.Msg{Subject: d.ack, Data: []byte(text)})
		return err
	})
}
