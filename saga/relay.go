package saga

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

const (
	// sendMost and sendBytes bound what goes to streams at once.
	sendMost  = 500
	sendBytes = 8 << 20
	// heldMost bounds the items that are on their way to a gateway, or wait to
	// be tried again.
	heldMost = 1_000
	// waitMost and waitBytes bound what waits in memory: while there is more,
	// no events are taken.
	waitMost  = 10_000
	waitBytes = 64 << 20
	// pauseMin and pauseMax bound the pauses while a destination takes nothing.
	pauseMin = 50 * time.Millisecond
	pauseMax = 30 * time.Second
)

// relay sends what is in the outbox of a partition: each instance's items in
// order, at least once, and takes out what has been sent.
//
// An item is on its way alone where it and the one before it go to different
// places: only within a stream does one call keep an order.
type relay struct {
	s *shard

	mu      sync.Mutex
	pending []outgoing    // in order
	bytes   int           // of their payloads, and of those on their way to gateways
	more    chan struct{} // has one when there is something new
	less    chan struct{} // has one when there is less
	// held are instances with an item on its way to a gateway: the items
	// behind it wait.
	held map[string]bool
	sent []outgoing // by gateways, to be taken out
	busy sync.WaitGroup
}

// outgoing is a work item with the index that has it.
type outgoing struct {
	domain.WorkItem
	index string
	tries int       // by which a gateway has not taken it
	since time.Time // when that was for the first time; zero: never
}

func newRelay(s *shard) *relay {
	return &relay{s: s, more: make(chan struct{}, 1), less: make(chan struct{}, 1), held: map[string]bool{}}
}

// load reads what earlier holders of the partition have left. Where the saga
// had other partitions once, it may lie in their indexes.
func (r *relay) load(ctx context.Context, indexes []string) error {
	var list []outgoing
	for _, index := range indexes {
		for after := ""; ; {
			keys, err := r.s.e.board.Members(ctx, r.s.space, index, after, 500)
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				break
			}
			recs, _, err := board.PerKey(r.s.e.board.Get(ctx, r.s.space, keys...))
			if err != nil {
				return err
			}
			for i, rec := range recs {
				w, ok := decodeWork(rec)
				switch {
				case !ok:
					r.s.e.text.Warn("an entry of an outbox cannot be read", "context", uint32(r.s.tenant), "key", keys[i])
				case r.s.has(w.Correlation):
					list = append(list, outgoing{w, index, triesOf(rec), sinceOf(rec)})
				}
			}
			after = keys[len(keys)-1]
		}
	}
	slices.SortStableFunc(list, func(a, b outgoing) int { return int(a.N - b.N) })
	r.add(list)
	return nil
}

// add takes items that are in the outbox now.
func (r *relay) add(list []outgoing) {
	if len(list) == 0 {
		return
	}
	r.mu.Lock()
	r.pending = append(r.pending, list...)
	for i := range list {
		r.bytes += len(list[i].Payload)
	}
	r.mu.Unlock()
	wake(r.more)
}

// wake puts one into a channel that has room for one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// admit waits while so much is waiting to be sent that there should not be
// more.
func (r *relay) admit(ctx context.Context) error {
	for {
		r.mu.Lock()
		full := len(r.pending) > waitMost || r.bytes > waitBytes
		r.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-r.less:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run sends until ctx ends; once last is closed, until all is sent.
func (r *relay) run(ctx context.Context, last <-chan struct{}) error {
	defer r.busy.Wait()
	for wait := pauseMin; ; {
		freed := r.s.gateways.freed() // before the look: no place is missed
		progress, err := r.send(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil && progress:
			wait = pauseMin
			continue
		case err != nil && !errors.Is(err, domain.ErrUnavailable):
			return err
		case err == nil && r.empty():
			select {
			case <-r.more:
				continue
			case <-ctx.Done():
				return nil
			case <-last:
			}
			if r.empty() {
				return nil
			}
			last = nil // what is left is sent; nothing new comes
			continue
		case err == nil:
			select {
			case <-freed:
			case <-r.more:
			case <-ctx.Done():
				return nil
			}
			continue
		}
		r.s.e.text.Log(ctx, again(wait), "work waits in the outbox", "context", uint32(r.s.tenant), "saga", r.s.saga, "partition", r.s.partition, "err", err)
		if pause.For(ctx, wait) != nil {
			return nil
		}
		wait = min(2*wait, pauseMax)
	}
}

// again is how loud it is told that something is tried again: once.
func again(wait time.Duration) slog.Level {
	if wait > pauseMin {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

func (r *relay) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending) == 0 && len(r.sent) == 0 && len(r.held) == 0
}

// send sends what can be sent now; progress is whether there was anything.
func (r *relay) send(ctx context.Context) (progress bool, err error) {
	out, sent := r.choose(ctx)
	if len(out) > 0 {
		var rest []outgoing
		if rest, err = r.publish(ctx, out); err != nil {
			r.back(rest, nil)
		} else {
			sent = append(sent, rest...)
		}
	}
	if len(sent) > 0 {
		if err := r.remove(ctx, sent); err != nil {
			r.back(nil, sent)
			return false, err
		}
	}
	return len(out)+len(sent) > 0, err
}

// choose takes the items that go to streams and may go now, and those that
// gateways have taken. Those for gateways it sets out on their way.
func (r *relay) choose(ctx context.Context) (out, sent []outgoing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent, r.sent = r.sent, nil
	rest := r.pending[:0]
	bytes := 0
	waits, goes := map[string]bool{}, map[string]domain.StreamName{} // by instance
	for i := range r.pending {
		w := &r.pending[i]
		to := streamOf(w.Kind)
		already, some := goes[w.Correlation]
		switch {
		case r.held[w.Correlation] || waits[w.Correlation],
			some && already != to,
			to != "" && (len(out) >= sendMost || bytes > sendBytes),
			to == "" && (len(r.held) >= heldMost || !r.s.gateways.take()):
			waits[w.Correlation] = true
			rest = append(rest, *w)
			continue
		case to == "":
			r.held[w.Correlation] = true
			r.deliver(ctx, *w)
		default:
			goes[w.Correlation] = to
			out = append(out, *w)
			bytes += len(w.Payload)
		}
	}
	r.bytes -= bytes
	clear(r.pending[len(rest):])
	r.pending = rest
	wake(r.less)
	return out, sent
}

// publish sends items to their streams. rest are those that remain to be dealt
// with: sent ones to be taken out, or with an error those to be sent again.
func (r *relay) publish(ctx context.Context, out []outgoing) (rest []outgoing, err error) {
	messages := make([]stream.Message, 0, len(out))
	for i := range out {
		messages = append(messages, message(r.s.name, &out[i].WorkItem))
	}
	if err = r.s.e.log.Publish(ctx, messages...); !errors.Is(err, domain.ErrInvalid) {
		return out, err
	}
	// One of them will never be taken: each for itself.
	for i := range out {
		err := r.s.e.log.Publish(ctx, messages[i])
		if errors.Is(err, domain.ErrInvalid) {
			if err = r.refuse(ctx, &out[i], err); err == nil {
				continue
			}
		}
		if err != nil {
			// Those sent already are sent again: they have their IDs.
			return append(rest, out[i:]...), err
		}
		rest = append(rest, out[i])
	}
	return rest, nil
}

// back puts items back: those that were not sent at the front.
func (r *relay) back(out, sent []outgoing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(slices.Clone(out), r.pending...)
	for i := range out {
		r.bytes += len(out[i].Payload)
	}
	r.sent = append(r.sent, sent...)
}

// remove takes items that were sent out of the outbox.
func (r *relay) remove(ctx context.Context, list []outgoing) error {
	for part := range slices.Chunk(list, board.MaxOps/2) {
		if err := r.commit(ctx, r.takeOut(r.batch(), part...)); err != nil {
			return err
		}
	}
	now := r.s.e.board.Now().UnixMilli()
	counts, oldest := map[domain.WorkKind]int{}, map[domain.WorkKind]int64{}
	for i := range list {
		kind := list[i].Kind
		if counts[kind]++; counts[kind] == 1 || list[i].MadeMs < oldest[kind] {
			oldest[kind] = list[i].MadeMs
		}
	}
	for kind, n := range counts {
		r.s.e.cfg.Observer.SagaSent(kind, n, time.Duration(max(now-oldest[kind], 0))*time.Millisecond)
	}
	return nil
}

// batch is one that counts only while the partition is held: an item that was
// sent again since by a person's wish must not be taken out by an earlier
// holder.
func (r *relay) batch() *board.Batch {
	b := &board.Batch{Space: r.s.space}
	return b.Held(r.s.record, r.s.owner, r.s.Claimed.Token)
}

// takeOut takes items out of the outbox.
func (r *relay) takeOut(b *board.Batch, list ...outgoing) *board.Batch {
	indexed := map[string][]string{}
	for i := range list {
		key := r.s.keys.Outbox(list[i].Kind, list[i].ID)
		b.Delete(key)
		indexed[list[i].index] = append(indexed[list[i].index], key)
	}
	for index, keys := range indexed {
		b.Exclude(index, keys...)
	}
	return b
}

func (r *relay) commit(ctx context.Context, b *board.Batch) error {
	err := r.s.e.board.Commit(ctx, *b)
	if errors.Is(err, domain.ErrConflict) {
		return errLost
	}
	return err
}

// deliver brings an item to the gateway, in the background, for as long as it
// takes.
func (r *relay) deliver(ctx context.Context, w outgoing) {
	r.busy.Go(func() {
		counts := w.Gateway != nil && w.Gateway.Attempts > 0
		no := r.s.gateways.submit(ctx, r.s.name, &w, func(lasts time.Duration, err error) {
			if lasts >= noteAfter || counts {
				r.noteTry(ctx, &w, err)
			}
		})
		if ctx.Err() != nil {
			return // the next holder finds it in the outbox
		}
		for wait := pauseMin; no != nil; wait = min(2*wait, pauseMax) {
			err := r.turnedDown(ctx, &w, no)
			if err == nil {
				break
			}
			if errors.Is(err, errLost) || pause.For(ctx, wait) != nil {
				return
			}
		}
		r.mu.Lock()
		if no == nil {
			r.sent = append(r.sent, w)
		}
		delete(r.held, w.Correlation)
		r.bytes -= len(w.Payload)
		r.mu.Unlock()
		wake(r.less)
		wake(r.more)
	})
}

// noteAfter is for how long a gateway does not take an item until that is written down: an outage
// of a second is not worth it, unless its attempts are counted.
const noteAfter = time.Second

// noteTry writes down, for people and for the next who has the partition, that a gateway did not take an
// item. The item
// must be there still: another holder of the partition may have sent it.
func (r *relay) noteTry(ctx context.Context, w *outgoing, cause error) {
	key := r.s.keys.Outbox(w.Kind, w.ID)
	b := r.batch().Equal(key, layout.OutboxItem, plainJSON(w.WorkItem))
	b.Set(key, board.Field{Name: layout.OutboxTries, Value: strconv.Itoa(w.tries)},
		board.Field{Name: layout.OutboxSince, Value: strconv.FormatInt(w.since.UnixMilli(), 10)},
		board.Field{Name: layout.OutboxError, Value: domain.PlainText(unaddressed(cause).Error(), maxTryError)})
	if err := r.s.e.board.Commit(ctx, *b); err != nil {
		r.s.e.text.Debug("it is not written down that a command was tried", "command", w.ID, "err", err)
	}
}

// maxTryError bounds what is kept of why a gateway did not take an item.
const maxTryError = 500 // bytes

// triesOf is how often an item was tried, as far as it was written down.
func triesOf(rec board.Record) int {
	n, _ := strconv.Atoi(rec.Get(layout.OutboxTries))
	return n
}

// sinceOf is when it was tried in vain for the first time; zero where that was not written down.
func sinceOf(rec board.Record) time.Time {
	ms, _ := strconv.ParseInt(rec.Get(layout.OutboxSince), 10, 64)
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// turnedDown is the gateway's no, or that the command is given up: the saga is told by an event where it has a name
// for the command, else it is a dead letter, for a person. The event takes the command's
// place in the outbox, in one commit: neither is lost, nor are there both.
func (r *relay) turnedDown(ctx context.Context, w *outgoing, cause error) error {
	var no *refusal
	if w.Step == "" || w.Life == "" || !errors.As(cause, &no) || !no.answered {
		return r.refuse(ctx, w, cause)
	}
	told := outgoing{WorkItem: refused(w, no, r.s.e.board.Now()), index: w.index}
	b := r.takeOut(r.batch(), *w)
	key := r.s.keys.Outbox(told.Kind, told.ID)
	b.Set(key, board.Field{Name: layout.OutboxItem, Value: plainJSON(told.WorkItem)}).Include(told.index, key)
	if err := r.commit(ctx, b); err != nil {
		return err
	}
	r.add([]outgoing{told})
	return nil
}

// refused is the event by which an instance learns that its command was refused.
// Its id is the same each time, and it is for that life of the instance only.
func refused(w *outgoing, no *refusal, now time.Time) domain.WorkItem {
	reason := "refused"
	if no.gaveUp {
		reason = "given_up"
	}
	payload := plainJSON(map[string]string{"error": domain.CutText(no.text, domain.MaxDeadCause), "reason": reason, "command_id": w.ID,
		"aggregate_type": w.AggregateType, "aggregate_id": w.AggregateID})
	return domain.WorkItem{Kind: domain.WorkInternal, ID: identity("refused", w.ID), N: w.N, Tenant: w.Tenant, Saga: w.Saga,
		Correlation: w.Correlation, ToSaga: w.Saga, ToID: w.Correlation, Type: domain.RefusedEvent(w.Step), Step: w.Step, Life: w.Life,
		Payload: json.RawMessage(payload), Metadata: w.Metadata, MadeMs: now.UnixMilli()}
}

// refuse makes a dead letter of an item that its destination will never take, and takes it out.
func (r *relay) refuse(ctx context.Context, w *outgoing, cause error) error {
	s := r.s
	d := &domain.DeadLetter{Kind: domain.DeadWork, ID: w.ID, Saga: w.Saga, Correlation: w.Correlation, Cause: domain.CutText(cause.Error(), domain.MaxDeadCause),
		Attempts: max(1, w.tries), Work: &w.WorkItem, MadeMs: s.e.board.Now().UnixMilli(), Trace: w.Metadata[domain.MetaTrace]}
	b := r.batch()
	b.Set(s.keys.Dead(d.Kind, d.ID), board.Field{Name: layout.DeadText, Value: deadText(d)})
	if err := r.commit(ctx, r.takeOut(b, *w)); err != nil {
		return err
	}
	s.e.reportDead(s.tenant, d)
	return nil
}
