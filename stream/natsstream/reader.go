package natsstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// ahead is how many messages a reader asks for at once, whatever its caller
// wants now.
const ahead = 500

// makeTime is how long a server may take to delete a consumer and make it anew,
// before both are tried again.
const makeTime = 2 * time.Second

// never is an AckWait that ends in no owner's time: what was delivered twice
// would only be dropped.
const never = 30 * 24 * time.Hour

// reader is one owner's hold of a durable consumer.
//
// The consumer has a priority group of one owner's name: the server refuses the
// requests of any other. So an earlier owner that was away for a while cannot
// take messages from the next.
type reader struct {
	l     *Log
	c     stream.Consumer
	group string
	gone  chan struct{} // closed by Close
	turn  chan struct{} // holds one while somebody is in Next

	// Of whoever has the turn.
	pull  *pull
	known uint64 // up to which consumer sequence all has come
	last  uint64 // the latest message that came
	lost  bool   // something on the way here got lost, or may have

	given atomic.Uint64 // the consumer sequence of the latest that Next returned

	mu     sync.Mutex
	flight []flying
	freed  chan struct{} // holds one when Done has made room

	closing sync.Once
}

// flying is a message that was read and is not done.
type flying struct {
	seq uint64
	ack string // where to say so
}

// Read opens a durable consumer for its owner: one that is there is deleted, with
// whoever has it, and made anew behind the owner's position.
func (l *Log) Read(ctx context.Context, c stream.Consumer) (stream.Reader, error) {
	c, err := c.Filled()
	if err != nil {
		return nil, err
	}
	r := &reader{
		l: l, c: c, group: rand.Text()[:16], last: c.After,
		gone: make(chan struct{}), turn: make(chan struct{}, 1), freed: make(chan struct{}, 1),
	}
	err = l.keep(ctx, r.what("open"), func(ctx context.Context) error {
		if err := r.behind(ctx); err != nil {
			return err
		}
		return r.open(ctx)
	})
	if err != nil {
		r.pull.close()
		return nil, err
	}
	return r, nil
}

// behind looks whether the stream still has what was read of it.
func (r *reader) behind(ctx context.Context) error {
	info, other, err := r.l.look(ctx, r.c.Stream)
	if err != nil {
		return err
	}
	at := r.c
	at.After = r.last
	return cmp.Or(other, stream.ValidatePosition(at, info.State.LastSeq))
}

func (r *reader) what(verb string) string {
	return verb + " consumer " + r.c.Durable + " of " + string(r.c.Stream)
}

// open makes the consumer anew, behind the last message that came.
func (r *reader) open(ctx context.Context) error {
	p, err := r.l.newPull(r.c.Stream, r.c.Durable, r.group)
	if err != nil {
		return err
	}
	r.pull.close()
	r.pull = p
	// Two owners who open it at once delete what the other has made, and a cluster
	// then may answer neither: the later one wins.
	for tries := 0; ; tries++ {
		made, err := r.make(ctx)
		if err != nil {
			return err
		}
		if made {
			break
		}
		r.l.pause(ctx, 2+tries) // not in step with the other
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	r.known, r.lost = 0, false
	r.given.Store(0)
	return nil
}

// make deletes the consumer that is there and makes ours; not if another owner
// did so meanwhile.
func (r *reader) make(ctx context.Context) (made bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, makeTime)
	defer cancel()
	if err := r.clear(ctx); err != nil {
		return false, late(ctx, err)
	}
	_, err = r.l.js.CreateConsumer(ctx, string(r.c.Stream), r.config())
	if code := apiCode(err); code == codeConsumerExists || code == codeConsumerInUse {
		return false, nil
	}
	return err == nil, late(ctx, err)
}

// late takes the end of a ctx that was short for no error.
func late(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return err
}

func (r *reader) config() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:        r.c.Durable,
		Description:    "read in order by one owner of Ramet",
		DeliverPolicy:  jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:    r.last + 1,
		FilterSubjects: distinct(r.c.Subjects),
		AckPolicy:      jetstream.AckAllPolicy,
		AckWait:        never,
		MaxDeliver:     -1,
		MaxAckPending:  -1, // MaxInFlight is ours to keep: fetched ahead is not read
		PriorityPolicy: jetstream.PriorityPolicyOverflow,
		PriorityGroups: []string{r.group},
	}
}

// clear deletes the consumer that is there, unless it is one that workers share.
func (r *reader) clear(ctx context.Context) error {
	there, err := r.l.js.Consumer(ctx, string(r.c.Stream), r.c.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if there.CachedInfo().Config.AckPolicy != jetstream.AckAllPolicy {
		return domain.Invalidf("consumer %s of %s is shared by workers: it cannot be read in order", r.c.Durable, r.c.Stream)
	}
	err = r.l.js.DeleteConsumer(ctx, string(r.c.Stream), r.c.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil
	}
	return err
}

// Next returns the next messages in order.
func (r *reader) Next(ctx context.Context, most int) ([]stream.Message, error) {
	if err := stream.ValidateMost(most); err != nil {
		return nil, err
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for tries := r.l.trying(); ; {
		if err := r.over(ctx); err != nil {
			return nil, err
		}
		room := r.room()
		if room == 0 {
			r.landing(ctx)
			continue
		}
		if list := r.take(min(most, room)); len(list) > 0 {
			return list, nil
		}
		if r.lost {
			if err := tries.again(ctx); err != nil {
				return nil, err
			}
			if err := r.l.keep(ctx, r.what("read"), r.recover); err != nil {
				return nil, err
			}
		}
		if r.pull.ask(ahead, false) != nil {
			r.lost = true
			continue
		}
		switch err := r.pull.await(ctx, r.gone); {
		case errors.Is(err, errBroken), errors.Is(err, errSilent):
			r.lost = true
		case err != nil:
			return nil, err
		}
	}
}

// over says why a call cannot go on.
func (r *reader) over(ctx context.Context) error {
	if isClosed(r.gone) || r.l.closed() {
		return errClosed
	}
	return ctx.Err()
}

// take returns what has come in order, up to n messages.
func (r *reader) take(n int) (list []stream.Message) {
	for len(list) < n {
		m := r.pull.look()
		if m == nil {
			break
		}
		w, sent := r.pull.read(m)
		switch {
		case w == wordMoved, w == wordLost, sent > r.known:
			r.lost = true
		case w == wordMessage:
			if m, ok := r.accept(m); ok {
				list = append(list, m)
			}
		}
	}
	return list
}

// accept takes a message that is the next of its consumer and was not there yet.
func (r *reader) accept(m *nats.Msg) (stream.Message, bool) {
	meta, err := m.Metadata()
	if err != nil {
		return stream.Message{}, false // not from a stream
	}
	seq, at := meta.Sequence.Stream, meta.Sequence.Consumer
	switch {
	case seq <= r.last: // again
		r.known = max(r.known, at)
		return stream.Message{}, false
	case at != r.known+1:
		r.lost = true // one before it got lost, and nothing behind that is taken
		return stream.Message{}, false
	}
	r.known, r.last = at, seq
	if o := r.l.origins[r.c.Stream]; o != nil {
		o.raise(seq)
	}
	r.given.Store(at)
	r.mu.Lock()
	r.flight = append(r.flight, flying{seq, m.Reply})
	r.mu.Unlock()
	return incoming(r.c.Stream, m.Subject, m.Header, m.Data, seq, meta.Timestamp), true
}

// recover finds out whether the consumer is still ours, and makes it anew where
// something on the way from it got lost.
func (r *reader) recover(ctx context.Context) error {
	if err := r.behind(ctx); err != nil { // a server that was away may have come back with less
		return err
	}
	info, err := r.held(ctx)
	if err != nil {
		return err
	}
	if info.Delivered.Consumer == r.known {
		r.pull.reply, r.lost = "", false // nothing: it may be asked again
		return nil
	}
	return r.open(ctx)
}

// held returns what the server knows of the consumer, if it is still ours.
//
// Errors: [domain.ErrConflict] once another owner has it,
// [domain.ErrUnavailable] when it is not there; those of the client.
func (r *reader) held(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	there, err := r.l.js.Consumer(ctx, string(r.c.Stream), r.c.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		r.l.pause(ctx, 0) // another owner may be about to make it
		there, err = r.l.js.Consumer(ctx, string(r.c.Stream), r.c.Durable)
	}
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, errDropped(r.c.Durable)
	}
	if err != nil {
		return nil, err
	}
	info := there.CachedInfo()
	if groups := info.Config.PriorityGroups; len(groups) != 1 || groups[0] != r.group {
		return nil, domain.Conflictf("consumer %s of %s: another owner has opened it", r.c.Durable, r.c.Stream)
	}
	return info, nil
}

func errDropped(durable string) error {
	return domain.Unavailablef("consumer %s was dropped: open it again", durable)
}

// room is how many more may be in flight.
func (r *reader) room() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(r.c.MaxInFlight-len(r.flight), 0)
}

// landing waits until there may be room.
func (r *reader) landing(ctx context.Context) {
	select {
	case <-r.freed:
	case <-r.gone:
	case <-r.l.gone:
	case <-ctx.Done():
	}
}

// Done tells the server. It does not wait for it: the owner's position is the
// truth, and the next Done says as much.
func (r *reader) Done(ctx context.Context, seq uint64) error {
	if err := r.over(ctx); err != nil {
		return err
	}
	ack := r.land(seq)
	if ack == "" {
		return nil
	}
	if err := r.l.wire.Conn.Publish(ack, []byte("+ACK")); err != nil {
		return r.l.translate(ctx, r.what("acknowledge to"), err)
	}
	return nil
}

// land takes what is done out of flight, and returns where to say so.
func (r *reader) land(seq uint64) (ack string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := sort.Search(len(r.flight), func(i int) bool { return r.flight[i].seq > seq })
	if n == 0 {
		return ""
	}
	ack = r.flight[n-1].ack
	r.flight = append(r.flight[:0], r.flight[n:]...)
	select {
	case r.freed <- struct{}{}:
	default:
	}
	return ack
}

// Pending counts what was not read.
func (r *reader) Pending(ctx context.Context) (n uint64, err error) {
	if err := r.over(ctx); err != nil {
		return 0, err
	}
	err = r.l.keep(ctx, r.what("ask for"), func(ctx context.Context) error {
		info, err := r.held(ctx)
		if err != nil {
			return err
		}
		n = info.NumPending
		if given := r.given.Load(); info.Delivered.Consumer > given {
			n += info.Delivered.Consumer - given // fetched ahead
		}
		return nil
	})
	return n, err
}

// Close ends the reader. The consumer stays, with what was done, for those who
// watch it and for the next owner.
func (r *reader) Close() error {
	r.closing.Do(func() {
		close(r.gone)
		r.turn <- struct{}{} // and nobody has it any more
		r.pull.close()
		<-r.turn
	})
	return nil
}
