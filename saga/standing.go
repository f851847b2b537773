package saga

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Standing is how far a saga of a context has come.
type Standing struct {
	Tenant domain.TenantID
	Saga   string
	// Behind is how many events its slowest partition has not handled, and Oldest when the
	// oldest of them was stored; zero where there is none.
	Behind uint64
	Oldest time.Time
}

// Outbox is what waits to be sent in the partitions of a saga that a worker has. Oldest is
// when the first of it was made; zero where nothing waits.
type Outbox struct {
	Tenant domain.TenantID
	Saga   string
	Items  int
	Oldest time.Time
}

// Standings are what is known of how far sagas have come.
type Standings struct {
	// List has those that are known. One that could not be looked at now is there as it was seen last
	// if it was behind then: its oldest event has not become younger.
	List []Standing
	// Unknown is how many could not be looked at, now or within [knownFor].
	Unknown int
	// Whole is false where one could not be looked at now, or there are more than a look takes.
	Whole bool
}

// knownFor is for how long what was seen of a saga is good.
const knownFor = time.Minute

// ofSaga names a saga of a context.
type ofSaga struct {
	tenant domain.TenantID
	saga   string
}

// watched is what sagas were last seen with.
type watched struct {
	mu   sync.Mutex
	seen map[ofSaga]seenStanding
}

type seenStanding struct {
	is Standing
	at time.Time
}

// Standings are those of the sagas whose first partition is the worker's, at most so many:
// of all workers together, each saga comes once. The worker need not have the partition now: while
// the broker is away it tries to get it, again and again. One that cannot be looked at before ctx
// ends is no saga that has caught up.
func (w *Worker) Standings(ctx context.Context, most int) (r Standings) {
	w.watched.mu.Lock()
	defer w.watched.mu.Unlock()
	now, had := time.Now(), w.watched.seen
	w.watched.seen = map[ofSaga]seenStanding{} // those that the worker does not have any more are forgotten
	r.Whole = true
	looked := 0
	for _, key := range w.first() {
		if looked == most {
			r.Whole = false
			break
		}
		looked++
		is, err := w.e.standing(ctx, key.tenant, key.saga)
		if err == nil {
			w.watched.seen[key] = seenStanding{is, now}
			r.List = append(r.List, is)
			continue
		}
		r.Whole = false
		last, known := had[key]
		if known {
			w.watched.seen[key] = last
		}
		if known && last.is.Behind > 0 {
			r.List = append(r.List, last.is)
		}
		if !known || now.Sub(last.at) > knownFor {
			r.Unknown++
		}
	}
	return r
}

// first are the sagas whose first partition is to be the worker's.
func (w *Worker) first() (list []ofSaga) {
	w.mu.Lock()
	for s := range w.shards {
		if s.partition == 0 {
			list = append(list, ofSaga{s.tenant, s.saga})
		}
	}
	w.mu.Unlock()
	slices.SortFunc(list, func(a, b ofSaga) int { return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.saga, b.saga)) })
	return slices.Compact(list)
}

// Outboxes are those of the sagas that the worker has partitions of, from its memory.
func (w *Worker) Outboxes() (list []Outbox) {
	for _, s := range w.inOrder() {
		r := s.sends.Load()
		if r == nil {
			continue
		}
		if n := len(list); n == 0 || list[n-1].Tenant != s.tenant || list[n-1].Saga != s.saga {
			list = append(list, Outbox{Tenant: s.tenant, Saga: s.saga})
		}
		o := &list[len(list)-1]
		items, oldest := r.waiting()
		o.Items += items
		if !oldest.IsZero() && (o.Oldest.IsZero() || oldest.Before(o.Oldest)) {
			o.Oldest = oldest
		}
	}
	return list
}

// inOrder are the partitions that the worker has, those of a saga together.
func (w *Worker) inOrder() []*shard {
	all := w.leases.All()
	slices.SortFunc(all, func(a, b *shard) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.saga, b.saga), cmp.Compare(a.partition, b.partition))
	})
	return all
}

// standing reads how far a saga has come.
func (e *Engine) standing(ctx context.Context, tenant domain.TenantID, saga string) (is Standing, err error) {
	is = Standing{Tenant: tenant, Saga: saga}
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return is, err
	}
	p, err := e.positions(ctx, tenant, name, saga)
	if err != nil || len(p.list) == 0 {
		return is, err
	}
	behind := e.behind(ctx, tenant, name, p)
	for _, n := range read {
		if len(p.now().Reads[n]) == 0 {
			continue
		}
		if stats, err := e.log.Stats(ctx, n); err != nil {
			return is, err
		} else if _, at := p.span(len(p.list)-1, n); at > stats.Last {
			return is, domain.Unavailablef("%s was read up to %d, and ends at %d", n, at, stats.Last) // how far it is behind nobody knows
		}
		most, front := uint64(0), uint64(0)
		for q := range p.now().Of {
			at := p.at(len(p.list)-1, n, q)
			count, err := behind(n, at.front)
			if err != nil {
				return is, err
			}
			if count += uint64(at.waiting()); count > most {
				most, front = count, at.back
			}
		}
		if is.Behind += most; most == 0 {
			continue
		}
		first, err := e.log.Scan(ctx, n, p.now().Reads.filters(n, prefixes(tenant, name)), front+1, 1)
		if err != nil {
			return is, err
		}
		if len(first) > 0 && (is.Oldest.IsZero() || first[0].Time.Before(is.Oldest)) {
			is.Oldest = first[0].Time
		}
	}
	return is, nil
}

const (
	// lagTold is how old the oldest event is that a saga has not handled when an audit says so.
	lagTold = 5 * time.Minute
	// lagWithin bounds how long an audit looks for such sagas.
	lagWithin = 2 * time.Second
)

// beyond says of a saga that it has read more of a stream than there is; "" where it has not.
func (e *Engine) beyond(ctx context.Context, tenant domain.TenantID, saga string) (string, error) {
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return "", err
	}
	p, err := e.positions(ctx, tenant, name, saga) // before the streams, which grow meanwhile
	if err != nil || len(p.list) == 0 {
		return "", err
	}
	for _, n := range read {
		if len(p.now().Reads[n]) == 0 {
			continue
		}
		stats, err := e.log.Stats(ctx, n)
		if err != nil {
			return "", err
		}
		_, most := p.span(len(p.list)-1, n)
		if text := beyond(n, most, stats.Last); text != "" {
			return text, nil
		}
	}
	return "", nil
}

// lagging finds of some sagas of a context those that are far behind, or before the end of their streams. Those that
// cannot be looked at are passed over: the streams are away then, which is told elsewhere.
func (e *Engine) lagging(ctx context.Context, tenant domain.TenantID, sagas []claim) (found []domain.Finding) {
	ctx, cancel := context.WithTimeout(ctx, lagWithin)
	defer cancel()
	for _, c := range sagas {
		text, err := e.beyond(ctx, tenant, c.saga)
		if err != nil {
			return found
		}
		if text != "" {
			found = append(found, domain.Finding{Key: "saga " + c.saga, Text: text})
			continue
		}
		if banned, _ := e.cfg.Banned(tenant, c.saga); banned {
			continue
		}
		is, err := e.standing(ctx, tenant, c.saga)
		if err != nil {
			return found
		}
		if age := e.board.Now().Sub(is.Oldest); !is.Oldest.IsZero() && age > lagTold {
			found = append(found, domain.Finding{Key: "saga " + c.saga, Text: fmt.Sprintf("events that it has not handled: %d, the oldest for %v; "+
				"`ramet saga lag %s` shows the partitions and who has them; see the log of that node, or serve it from more nodes",
				is.Behind, age.Round(time.Second), c.saga)})
		}
	}
	return found
}

// unheldTold is for how long nobody has come to have a partition when an audit says so: more than it takes for another worker to
// have one whose worker has died.
const unheldTold = 30 * time.Second

// unheld says of a saga which of its partitions no worker has come to have, though some may, and which the worker that has
// them cannot read; "" where there is none.
// Where the board does not answer, that is told elsewhere.
func (e *Engine) unheld(ctx context.Context, s shardOf, name string) (text, unseen string) {
	keys, space := layout.SagaKeys{Tenant: name}, layout.SpaceOf(s.tenant)
	var without, unread []string
	var by, reads string
	var longest, blind time.Duration
	for p := range s.of {
		record := shardKey(keys, s.saga, p, s.of)
		recs, err := board.Readable(e.board.GetFields(ctx, space, append([]string{fieldFailing, fieldFailingBy}, fieldsUnread...), record))
		if err != nil {
			return "", ""
		}
		var since time.Duration
		if ms, _ := strconv.ParseInt(recs[0].Get(fieldFailing), 10, 64); ms != 0 {
			since = e.board.Now().Sub(time.UnixMilli(ms))
		} else {
			lease, held, err := e.board.LeaseOf(ctx, space, record)
			if err != nil {
				return "", ""
			}
			if held {
				since = time.Since(lease.Until)
			}
			if stands := e.unreadFor(recs[0]); held && !lease.Over() && stands > unheldTold {
				unread = append(unread, strconv.Itoa(p))
				if stands > blind {
					blind, reads = stands, lease.Owner
				}
			}
		}
		if since <= unheldTold {
			continue
		}
		without = append(without, strconv.Itoa(p))
		if since > longest {
			longest, by = since, recs[0].Get(fieldFailingBy)
		}
	}
	if len(unread) > 0 {
		unseen = unreadText(partitionsText(unread, s.of), reads, blind)
	}
	if len(without) == 0 {
		return "", unseen
	}
	text = fmt.Sprintf("no node has come to have its %s for %v, so that their events wait", partitionsText(without, s.of),
		longest.Round(time.Second))
	if by != "" {
		text += ": worker " + by + " tries to, and the log of its node says why it fails"
	}
	return text, unseen
}

// fieldsUnread are all fields that begin so.
var fieldsUnread = func() (list []string) {
	for _, n := range read {
		list = append(list, fieldUnread+string(n))
	}
	return list
}()

// unreadFor is for how long the worker that has a partition cannot read one of its streams.
func (e *Engine) unreadFor(rec board.Record) (longest time.Duration) {
	for _, name := range fieldsUnread {
		if ms, _ := strconv.ParseInt(rec.Get(name), 10, 64); ms != 0 {
			longest = max(longest, e.board.Now().Sub(time.UnixMilli(ms)))
		}
	}
	return longest
}

func unreadText(what, worker string, longest time.Duration) string {
	return fmt.Sprintf("worker %s has its %s and cannot read the streams for %v, so that their events wait: the log of its node says why it fails",
		worker, what, longest.Round(time.Second))
}

// refusing says of a saga that its gateway has not taken commands for long, and why; "" where it takes them.
func (e *Engine) refusing(ctx context.Context, s shardOf, name string) string {
	keys, space := layout.SagaKeys{Tenant: name}, layout.SpaceOf(s.tenant)
	at, err := e.positions(ctx, s.tenant, name, s.saga)
	if err != nil {
		return ""
	}
	n, oldest, why := 0, time.Time{}, ""
	for _, index := range at.indexes(keys, s.saga) {
		for after := ""; n < refusedMost; {
			page, err := e.board.Members(ctx, space, index, after, 500)
			if err != nil || len(page) == 0 {
				break
			}
			recs, err := board.Readable(e.board.GetFields(ctx, space, []string{layout.OutboxSince, layout.OutboxError}, page...))
			if err != nil {
				break
			}
			for _, rec := range recs {
				since := sinceOf(rec)
				if since.IsZero() {
					continue
				}
				if n++; oldest.IsZero() || since.Before(oldest) {
					oldest, why = since, rec.Get(layout.OutboxError)
				}
			}
			after = page[len(page)-1]
		}
	}
	age := e.board.Now().Sub(oldest)
	if n == 0 || age <= lagTold {
		return ""
	}
	return fmt.Sprintf("commands that its gateway has not taken: %s, the first for %v: %s; they are sent again until they are given up, and what their "+
		"instances asked for after them waits; `ramet saga explain` says of an instance when that is", refusedText(n), age.Round(time.Second), why)
}

// refusedMost bounds how many commands are counted that a gateway has not taken.
const refusedMost = 1_000

// refusedText is how many they are; from the bound on there may be more.
func refusedText(n int) string {
	if n >= refusedMost {
		return "at least " + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// waiting is how many items wait to be sent or are on their way, and when the first of
// those that wait was made.
func (r *relay) waiting() (n int, oldest time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) > 0 {
		oldest = time.UnixMilli(r.pending[0].MadeMs)
	}
	return len(r.pending) + len(r.held) + len(r.sent), oldest
}
