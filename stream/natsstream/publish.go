package natsstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// What is published at once. A server stages a batch in memory or in files of
// its own.
const (
	maxBatch      = 1_000   // messages; the server's limit
	maxBatchBytes = 8 << 20 // of data and headers
	// maxWait is how long at most a batch waits for callers who may come.
	maxWait = time.Millisecond
)

// How many messages are a batch rather than one after the other, measured: to
// stage a batch costs a server without replicas about 2 ms, and with replicas
// little.
const (
	leastSynced     = 16  // a sync each is 0.15 ms
	leastUnsynced   = 128 // a message is 0.016 ms
	leastReplicated = 2
)

const (
	headerID       = "Nats-Msg-Id"
	headerBatch    = "Nats-Batch-Id"
	headerPosition = "Nats-Batch-Sequence"
	headerCommit   = "Nats-Batch-Commit"
)

// publisher publishes to one stream, in rounds. What callers submit while one round
// is under way goes with the next, so that many callers share a sync.
type publisher struct {
	l     *Log
	name  domain.StreamName
	least int // messages for a batch; 0: the stream takes none
	// alone: callers gain nothing from a common round.
	alone   bool
	waiting chan *submission
	pulse   pulse
}

// submission is what one call of Publish has for one stream.
type submission struct {
	ctx      context.Context // of who waits for it
	messages []*nats.Msg
	size     int
	done     chan error // its one answer; holds one, so that nobody waits to give it
}

// startPublisher starts the publisher of a stream.
func (l *Log) startPublisher(name domain.StreamName, c jetstream.StreamConfig) {
	p := &publisher{l: l, name: name, waiting: make(chan *submission, 64)}
	switch {
	case !c.AllowAtomicPublish:
		l.cfg.Logger.Info("NATS stream takes no atomic batches: publishing to it is slow", "stream", name, "setting", "allow_atomic")
		p.alone = true // one after the other, each in its own time
	case c.Replicas > 1:
		p.least = leastReplicated
	case l.cfg.MayLose:
		p.least, p.alone = leastUnsynced, true
	default:
		p.least = leastSynced
	}
	l.publishers[name] = p
	l.loops.Go(p.run)
}

// Publish stores messages.
func (l *Log) Publish(ctx context.Context, messages ...stream.Message) error {
	if err := stream.ValidatePublish(messages); err != nil {
		return err
	}
	if l.closed() {
		return errClosed
	}
	if err := cmp.Or(ctx.Err(), l.unwritable(), l.remade()); err != nil {
		return err
	}
	parts := map[domain.StreamName]*submission{}
	limit := l.wire.Conn.MaxPayload() // 0 before the first connection
	for i := range messages {
		m := &messages[i]
		size := payload(m)
		if limit > 0 && int64(size) > limit {
			return domain.Invalidf("message on %q has %d bytes with its headers, the NATS server takes %d", m.Subject, size, limit)
		}
		s := parts[m.Stream]
		if s == nil {
			s = &submission{ctx: ctx, done: make(chan error, 1)}
			parts[m.Stream] = s
		}
		s.messages = append(s.messages, outgoing(m))
		s.size += size
	}
	for name, s := range parts {
		l.publishers[name].take(s)
	}
	var first error
	for _, s := range parts {
		select {
		case err := <-s.done:
			if err != nil && (first == nil || errors.Is(err, domain.ErrInvalid)) {
				first = cmp.Or(l.unwritable(), err)
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-l.gone: // nobody may look at the submission any more
			return errClosed
		}
	}
	return first
}

// payload is about what a message weighs on the wire, and no less.
func payload(m *stream.Message) int {
	n := len(m.Data) + len(m.ID) + 256 // NATS's own headers
	for name, value := range m.Header {
		n += len(name) + len(value) + 4
	}
	return n
}

func outgoing(m *stream.Message) *nats.Msg {
	out := &nats.Msg{Subject: m.Subject, Data: m.Data, Header: make(nats.Header, len(m.Header)+4)}
	for name, value := range m.Header {
		out.Header[name] = []string{value}
	}
	if m.ID != "" {
		out.Header[headerID] = []string{m.ID}
	}
	return out
}

// take lets a submission wait for the next round, or publishes it at once.
func (p *publisher) take(s *submission) {
	if p.alone {
		s.done <- p.publish(s.ctx, s)
		return
	}
	select {
	case p.waiting <- s:
	case <-s.ctx.Done(): // the caller looks at both
	case <-p.l.gone:
	}
}

// run makes one round after the other until the log is closed.
func (p *publisher) run() {
	var (
		left *submission // what did not fit
		last int         // how many callers the last round was for
		took time.Duration
	)
	for {
		if left == nil {
			select {
			case left = <-p.waiting:
			case <-p.l.gone:
				return
			}
		}
		var group []*submission
		group, left = p.gather(left, last, min(took/8, maxWait))
		began := time.Now()
		p.round(group)
		last, took = len(group), time.Since(began)
	}
}

// gather takes what waits besides the first, as far as it fits into one batch.
// Callers who were served together come back together: it waits a little for as
// many as there were.
func (p *publisher) gather(first *submission, most int, wait time.Duration) (group []*submission, left *submission) {
	group = []*submission{first}
	n, size := len(first.messages), first.size
	var over <-chan time.Time
	for {
		var s *submission
		select {
		case s = <-p.waiting:
		default:
			if len(group) >= most || wait <= 0 {
				return group, nil
			}
			if over == nil {
				over = time.After(wait)
			}
			select {
			case s = <-p.waiting:
			case <-over:
				return group, nil
			case <-p.l.gone:
				return group, nil
			}
		}
		n, size = n+len(s.messages), size+s.size
		if n > maxBatch || size > maxBatchBytes {
			return group, s
		}
		group = append(group, s)
	}
}

// round publishes what several callers have, and tells them.
func (p *publisher) round(group []*submission) {
	var all []*nats.Msg
	for _, s := range group {
		all = append(all, s.messages...)
	}
	all = distinctIDs(all)
	if len(group) > 1 && p.least > 0 && len(all) >= p.least {
		err := p.l.keep(p.l.run, p.what(), func(ctx context.Context) error { return p.batch(ctx, all) })
		if !refused(err) {
			for _, s := range group {
				s.done <- err
			}
			return
		}
		// Somebody's messages are not fit for a batch: each goes by itself.
	}
	var wg sync.WaitGroup
	for _, s := range group {
		wg.Go(func() { s.done <- p.publish(s.ctx, s) })
	}
	wg.Wait()
}

func (p *publisher) what() string { return "publish to stream " + string(p.name) }

// publish publishes what one caller has, in order.
func (p *publisher) publish(ctx context.Context, s *submission) error {
	left := distinctIDs(s.messages)
	for batches := 0; len(left) > 0; {
		n := p.fit(left)
		// A batch that was refused has messages that the stream has already: a
		// publisher that tries again. They go one by one until one is new, and
		// the rest is tried again as a batch; not for ever.
		if n > 0 && batches < 3 {
			err := p.l.keep(ctx, p.what(), func(ctx context.Context) error { return p.batch(ctx, left[:n]) })
			if err == nil {
				left = left[n:]
				continue
			}
			if !refused(err) {
				return err
			}
			batches++
		}
		for known := true; known && len(left) > 0; left = left[1:] {
			err := p.l.keep(ctx, p.what(), func(ctx context.Context) (err error) {
				known, err = p.single(ctx, left[0])
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// fit is how many of these are the next batch, 0 for none.
func (p *publisher) fit(list []*nats.Msg) (n int) {
	for size := 0; n < len(list) && n < maxBatch; n++ {
		if size += list[n].Size(); size > maxBatchBytes {
			break
		}
	}
	if p.least == 0 || n < p.least {
		return 0
	}
	return n
}

// distinctIDs leaves out what has the ID of an earlier one.
func distinctIDs(list []*nats.Msg) (kept []*nats.Msg) {
	seen := map[string]bool{}
	for _, m := range list {
		if id := m.Header[headerID]; len(id) > 0 {
			if seen[id[0]] {
				continue
			}
			seen[id[0]] = true
		}
		kept = append(kept, m)
	}
	return kept
}

// stored is the server's answer.
type stored struct {
	Error     *jetstream.APIError `json:"error"`
	Stream    string              `json:"stream"`
	Seq       uint64              `json:"seq"`
	Duplicate bool                `json:"duplicate"`
	Count     int                 `json:"count"`
}

func (p *publisher) answer(m *nats.Msg) (stored, error) {
	var a stored
	switch err := json.Unmarshal(m.Data, &a); {
	case err != nil:
		return a, errors.New("the answer was not of a stream")
	case a.Error != nil:
		return a, a.Error
	case a.Stream != string(p.name) || a.Seq == 0:
		// Somebody else takes the subject too.
		return a, domain.Invalidf("%s: stream %q answers for its subjects", p.what(), domain.PlainText(a.Stream, 64))
	}
	return a, nil
}

// single publishes one message, and says whether the stream had it already.
func (p *publisher) single(ctx context.Context, m *nats.Msg) (known bool, err error) {
	for _, name := range []string{headerBatch, headerPosition, headerCommit} {
		delete(m.Header, name) // of a batch that was refused
	}
	a, err := p.ask(ctx, m)
	if err == nil && a.Duplicate && p.squatted(ctx, m.Subject, a.Seq) {
		// Under an ID that nobody can have foreseen. Whose answer is lost may
		// store it twice: what reads events knows them by their own ids.
		m.Header.Set(headerID, m.Header.Get(headerID)+":"+rand.Text())
		a, err = p.ask(ctx, m)
	}
	return a.Duplicate, err
}

// squatted says whether the message that the stream has under an ID is another
// context's: IDs are the stream's, and a producer chooses any.
func (p *publisher) squatted(ctx context.Context, subject string, seq uint64) bool {
	answer, err := p.l.wire.Request(ctx, &nats.Msg{Subject: "$JS.API.STREAM.MSG.GET." + string(p.name), Data: fmt.Appendf(nil, `{"seq":%d}`, seq)})
	if err != nil {
		return false
	}
	var there struct {
		Message struct {
			Subject string `json:"subject"`
		} `json:"message"`
	}
	return json.Unmarshal(answer.Data, &there) == nil && there.Message.Subject != "" && tenantOf(there.Message.Subject) != tenantOf(subject)
}

// tenantOf is the context that a subject is of, "" where it names none.
func tenantOf(subject string) string {
	rest, named := strings.CutPrefix(subject, "tenant.")
	if !named {
		return ""
	}
	tenant, _, _ := strings.Cut(rest, ".")
	return tenant
}

// ask publishes a message and waits for the answer of the stream.
func (p *publisher) ask(ctx context.Context, m *nats.Msg) (stored, error) {
	began := time.Now()
	a, err := p.send(ctx, m)
	p.pulse.feel(err, time.Since(began))
	return a, err
}

func (p *publisher) send(ctx context.Context, m *nats.Msg) (stored, error) {
	had := p.l.had(p.name)
	answer, err := p.l.wire.Request(ctx, m)
	if errors.Is(err, nats.ErrDisconnected) {
		return stored{}, errAway // it may be stored: only who published it may try again
	}
	if err != nil {
		return stored{}, err
	}
	a, err := p.answer(answer)
	if err == nil {
		err = p.behind(ctx, a, had)
	}
	return a, err
}

// batch publishes messages of which all are stored or none.
//
// Source: NATS ADR-50.
func (p *publisher) batch(ctx context.Context, list []*nats.Msg) error {
	id := []string{rand.Text()}
	for i, m := range list {
		m.Header[headerBatch] = id
		m.Header[headerPosition] = []string{strconv.Itoa(i + 1)}
		delete(m.Header, headerCommit)
	}
	last := list[len(list)-1]
	last.Header[headerCommit] = []string{"1"}
	for _, m := range list[:len(list)-1] {
		if err := p.l.wire.Conn.PublishMsg(m); err != nil {
			return err
		}
	}
	a, err := p.ask(ctx, last)
	switch apiCode(err) {
	case codeBatchDisabled, codeBatchHeader, codeBatchTooLarge, codeBatchDuplicate, codeDuplicateUnsure,
		// Any publisher can have begun all the batches that a stream lets be open.
		codeBatchTooMany, codeBatchIncomplete:
		return &refusedError{err}
	}
	if err == nil && a.Count != len(list) {
		return errors.New("the answer was not of this batch")
	}
	return err
}

// refused says whether a batch was not stored for being a batch.
func refused(err error) bool {
	var r *refusedError
	return errors.As(err, &r)
}

// refusedError is what a server says of a batch that it did not store, where
// its messages may do better alone.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }
