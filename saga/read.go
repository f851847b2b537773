package saga

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga/machine"
)

// Definitions lists the sagas of a context by name.
func (e *Engine) Definitions(ctx context.Context, tenant domain.TenantID, after string, limit int) (list []domain.DocumentEntry, next string, err error) {
	return e.store.List(ctx, tenant, after, limit)
}

// Versions lists the versions of a saga below one, newest first; 0 is no bound.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Versions(ctx context.Context, tenant domain.TenantID, saga string, below, limit int) (list []domain.DocumentEntry, next int, err error) {
	return e.store.Versions(ctx, tenant, saga, below, limit)
}

// Definition is a version of a saga; 0 is the newest.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Definition(ctx context.Context, tenant domain.TenantID, saga string, version int) (domain.StoredSaga, error) {
	return e.store.Get(ctx, tenant, saga, version)
}

// Instance is one instance.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Instance(ctx context.Context, tenant domain.TenantID, saga, correlation string) (*domain.SagaInstance, error) {
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return nil, err
	}
	recs, err := e.board.Get(ctx, layout.SpaceOf(tenant), layout.SagaKeys{Tenant: name}.Instance(saga, correlation))
	if err != nil {
		return nil, err
	}
	if recs[0] == nil {
		return nil, domain.NotFoundf("saga %s has no instance %q in context %d", saga, domain.PlainText(correlation, domain.MaxCorrelation), tenant)
	}
	return layout.DecodeSaga(name, saga, correlation, recs[0])
}

// History is what an instance went through, oldest first: up to limit lines
// from index from on; negative counts from the end.
func (e *Engine) History(ctx context.Context, tenant domain.TenantID, saga, correlation string, from, limit int) ([]domain.SagaEntry, error) {
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return nil, err
	}
	lines, err := e.board.List(ctx, layout.SpaceOf(tenant), layout.SagaKeys{Tenant: name}.History(saga, correlation), from, limit)
	if err != nil {
		return nil, err
	}
	list := make([]domain.SagaEntry, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal([]byte(line), &list[i]); err != nil {
			return nil, domain.Invalidf("line %d of the history of %q: %v", from+i, correlation, err)
		}
	}
	return list, nil
}

// Query says which instances are wanted.
type Query struct {
	Saga string
	// Where is a Rhai condition over the instance; "" is all.
	Where string
	// Limit is how many are wanted at most.
	Limit int
	// Cursor is "", then what came back.
	Cursor string
}

// queryMost bounds how many records one query looks at: they are read whole, and may
// be large.
const queryMost = 2_000

// Query lists instances, in no order. Of many that do not match it may come
// back with few or none and a cursor to go on with.
//
// Errors: [domain.ErrInvalid] for a condition that cannot be read, or fails.
func (e *Engine) Query(ctx context.Context, tenant domain.TenantID, q Query) (list []*domain.SagaInstance, next string, err error) {
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return nil, "", err
	}
	holds := func(*domain.SagaInstance) (bool, error) { return true, nil }
	if q.Where != "" {
		where, err := machine.Where(q.Where)
		if err != nil {
			return nil, "", err
		}
		holds = func(in *domain.SagaInstance) (bool, error) {
			done, err := e.turns.Take(ctx, tenant)
			if err != nil {
				return false, err
			}
			defer done()
			return where.Holds(ctx, in)
		}
	}
	keys := layout.SagaKeys{Tenant: name}
	prefix := keys.Instances(q.Saga)
	limit := min(max(q.Limit, 1), 1000)
	next = q.Cursor
	for looked := 0; ; {
		var page []string
		// A page that is cut in the middle could not be gone on with: what it
		// holds is given whole.
		if page, next, err = e.board.Keys(ctx, layout.SpaceOf(tenant), prefix, next, min(200, limit)); err != nil {
			return nil, "", err
		}
		recs, _, err := board.PerKey(e.board.Get(ctx, layout.SpaceOf(tenant), page...))
		if err != nil {
			return nil, "", err
		}
		for i, rec := range recs {
			if rec == nil {
				continue
			}
			in, err := layout.DecodeSaga(name, q.Saga, strings.TrimPrefix(page[i], prefix), rec)
			if err != nil {
				return nil, "", err
			}
			ok, err := holds(in)
			if err != nil {
				return nil, "", fmt.Errorf("instance %q: %w", in.Correlation, err)
			}
			if ok {
				list = append(list, in)
			}
		}
		if looked += len(page); next == "" || len(list) >= limit || looked >= queryMost {
			return list, next, nil
		}
	}
}

// Lags says how far a saga has come, and what waits; nothing of one that nobody was told to serve.
//
// Errors: [domain.ErrNotFound]; [domain.ErrUnavailable].
func (e *Engine) Lags(ctx context.Context, tenant domain.TenantID, saga string) ([]domain.SagaLag, error) {
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return nil, err
	}
	keys, space := layout.SagaKeys{Tenant: name}, layout.SpaceOf(tenant)
	p, err := e.positions(ctx, tenant, name, saga)
	if err != nil {
		return nil, err
	}
	if len(p.list) == 0 {
		_, err := e.defs.newest(ctx, tenant, saga)
		return nil, err
	}
	last, trouble := map[domain.StreamName]uint64{}, map[domain.StreamName]string{}
	begins, bytes := map[domain.StreamName]cut{}, map[domain.StreamName]uint64{}
	for n := range p.now().Reads {
		stats, err := e.log.Stats(ctx, n)
		if err != nil {
			return nil, err
		}
		last[n], bytes[n] = stats.Last, stats.Bytes
		first, at, err := remains(ctx, e.log, n)
		if err != nil {
			return nil, err
		}
		begins[n] = cut{first, at}
		if err := e.log.Check(ctx, n); err != nil {
			trouble[n] = err.Error()
		}
	}
	behind := e.behind(ctx, tenant, name, p)
	of := p.now().Of
	var list []domain.SagaLag
	for q := range of {
		lease, held, err := e.board.LeaseOf(ctx, space, shardKey(keys, saga, q, of))
		if err != nil {
			return nil, err
		}
		recs, err := board.Readable(e.board.GetFields(ctx, space, fieldsUnread, shardKey(keys, saga, q, of)))
		if err != nil {
			return nil, err
		}
		items, err := e.board.Members(ctx, space, keys.OutboxIndex(saga, q), "", 1000)
		if err != nil {
			return nil, err
		}
		waiting := len(items)
		for _, n := range read {
			if len(p.now().Reads[n]) == 0 {
				continue
			}
			at := p.at(len(p.list)-1, n, q)
			l := domain.SagaLag{Saga: saga, Partition: q, Stream: n, Position: at.back, Last: last[n], Aside: at.waiting(), Outbox: waiting,
				Trouble: cmp.Or(trouble[n], beyond(n, at.front, last[n])), First: begins[n].first, Bytes: bytes[n]}
			if at := begins[n].at; !at.IsZero() {
				l.FirstMs = at.UnixMilli()
			}
			if at.front > last[n] {
				l.Beyond = at.front - last[n]
			}
			if l.Behind, err = behind(n, at.front); err != nil {
				return nil, err
			}
			l.Behind += uint64(l.Aside)
			if held && !lease.Over() {
				l.Owner = lease.Owner
				if unread := e.unreadFor(recs[0]); l.Trouble == "" && unread > 0 {
					l.Trouble = unreadText("partition", lease.Owner, unread)
				}
			}
			list, waiting = append(list, l), 0
		}
	}
	return list, nil
}

// behind counts what a saga reads of a stream behind a position. Partitions are
// often at the same: that is asked once.
func (e *Engine) behind(ctx context.Context, tenant domain.TenantID, name string, p *positions) func(domain.StreamName, uint64) (uint64, error) {
	type place struct {
		stream domain.StreamName
		after  uint64
	}
	known := map[place]uint64{}
	return func(n domain.StreamName, after uint64) (uint64, error) {
		if count, there := known[place{n, after}]; there {
			return count, nil
		}
		count, err := e.log.Count(ctx, n, p.now().Reads.filters(n, prefixes(tenant, name)), after)
		if err == nil {
			known[place{n, after}] = count
		}
		return count, err
	}
}

// shardKey is the record by which a partition of so many is held.
func shardKey(keys layout.SagaKeys, saga string, partition, of int) string {
	return keys.Shard(saga, partition) + "/" + strconv.Itoa(of)
}

// DeadQuery says which dead letters are wanted; what is empty is any.
type DeadQuery struct {
	Kind   domain.DeadKind
	Saga   string
	Effect string
	// Cause is a part of its sentence.
	Cause  string
	Before time.Time
	Limit  int
	Cursor string
}

func (q *DeadQuery) wants(d *domain.DeadLetter) bool {
	return (q.Saga == "" || d.Saga == q.Saga) && (q.Effect == "" || d.Effect == q.Effect) &&
		(q.Cause == "" || strings.Contains(d.Cause, q.Cause)) && (q.Before.IsZero() || d.MadeMs < q.Before.UnixMilli())
}

// DeadLetters lists dead letters, in no order.
func (e *Engine) DeadLetters(ctx context.Context, tenant domain.TenantID, q DeadQuery) (list []*domain.DeadLetter, next string, err error) {
	if q.Kind != "" && !slices.Contains(domain.DeadKinds, q.Kind) {
		return nil, "", domain.Invalidf("kind %q of dead letters: want event, saga, work or effect", q.Kind)
	}
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return nil, "", err
	}
	limit, prefix := min(max(q.Limit, 1), 1000), layout.SagaKeys{Tenant: name}.Deads(q.Kind)
	next = q.Cursor
	for looked := 0; ; {
		var page []string
		if page, next, err = e.board.Keys(ctx, layout.SpaceOf(tenant), prefix, next, min(200, limit)); err != nil {
			return nil, "", err
		}
		recs, _, err := board.PerKey(e.board.Get(ctx, layout.SpaceOf(tenant), page...))
		if err != nil {
			return nil, "", err
		}
		for i, rec := range recs {
			if rec == nil {
				continue
			}
			d, err := decodeDead(page[i], rec)
			if err != nil {
				return nil, "", err
			}
			if q.wants(d) {
				list = append(list, d)
			}
		}
		if looked += len(page); next == "" || len(list) >= limit || looked >= queryMost {
			return list, next, nil
		}
	}
}

func decodeDead(key string, rec board.Record) (*domain.DeadLetter, error) {
	d := new(domain.DeadLetter)
	if err := json.Unmarshal([]byte(rec.Get(layout.DeadText)), d); err != nil {
		return nil, domain.Invalidf("%s: %v", key, err)
	}
	return d, nil
}

// DeadLetter is one dead letter.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) DeadLetter(ctx context.Context, tenant domain.TenantID, kind domain.DeadKind, id string) (*domain.DeadLetter, error) {
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return nil, err
	}
	d, _, err := e.dead(ctx, tenant, layout.SagaKeys{Tenant: name}.Dead(kind, id))
	return d, err
}
