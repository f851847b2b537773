package saga

import (
	"context"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

// This file lets streams go that everybody has read. Nothing is cut that somebody may yet
// need:
//
//	events, results, facts   up to where all partitions of all sagas that read them have come,
//	                         those too that are stopped, or that no node serves
//	events for one saga      the same
//	effect commands          up to where the workers have ended all, effect by effect; those of
//	                         an effect that nobody has done so far stay
//	troubles                 up to where they were made dead letters
//
// And of that, only what is old enough, or too much.

// Keep says how much of the streams stays that nobody needs any more.
type Keep struct {
	// For is for how long. 0: for ever, as far as Bytes allows.
	For time.Duration
	// Bytes bounds each stream; what is younger than an hour stays all the same. 0: no bound.
	Bytes uint64
	// Durable and Subjects are the consumer of an effect's commands, and what it takes.
	// Required.
	Durable  func(effect string) string
	Subjects func(effect string) []string
	// Troubles is the consumer of what brokers gave up. Required.
	Troubles string
	// Others is up to where others than sagas have read a stream; some is false where they
	// need nothing of it any more. Default: there are no others.
	Others func(ctx context.Context, n domain.StreamName) (floor uint64, some bool, err error)
}

// leastKept is for how long everything stays.
const leastKept = time.Hour

// Trim cuts what may go.
//
// Errors: [domain.ErrUnavailable].
func (e *Engine) Trim(ctx context.Context, keep Keep) error {
	if keep.For <= 0 && keep.Bytes == 0 {
		return nil
	}
	now, may := e.board.Now(), map[domain.StreamName]uint64{}
	for _, n := range domain.StreamNames {
		old, err := e.old(ctx, n, keep, now)
		if err != nil {
			return err
		}
		if old > 0 {
			may[n] = old
		}
	}
	if len(may) == 0 {
		return nil
	}
	floors, effects, err := e.floors(ctx, may)
	if err != nil {
		return err
	}
	for n, old := range may {
		floor, some := floors[n]
		if keep.Others != nil {
			other, needs, err := keep.Others(ctx, n)
			if err != nil {
				return err
			}
			if needs && (!some || other < floor) {
				floor, some = other, true
			}
		}
		switch {
		case n == domain.WorkflowTroubles:
			err = e.trimQueue(ctx, n, keep.Troubles, []string{""}, old)
		case n == domain.WorkflowCommands:
			for _, subject := range n.Subjects() {
				if err == nil && some && strings.Contains(subject, string(domain.SourceWorkflow)+".") {
					err = e.log.Trim(ctx, n, subject, min(floor, old))
				}
			}
			for effect := range effects {
				if err == nil {
					err = e.trimQueue(ctx, n, keep.Durable(effect), keep.Subjects(effect), old)
				}
			}
		case some:
			err = e.log.Trim(ctx, n, "", min(floor, old))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// trimQueue cuts what workers have ended.
func (e *Engine) trimQueue(ctx context.Context, n domain.StreamName, durable string, subjects []string, old uint64) error {
	acked, _, there, err := e.log.Acked(ctx, n, durable)
	if err != nil || !there {
		return err
	}
	for _, subject := range subjects {
		if err := e.log.Trim(ctx, n, subject, min(acked, old)); err != nil {
			return err
		}
	}
	return nil
}

// floors are up to where all sagas have dealt with each of these streams, as far as may be
// cut, and the effects that they ask for. A stream that no saga reads is not among them: nobody has read it.
func (e *Engine) floors(ctx context.Context, may map[domain.StreamName]uint64) (floors map[domain.StreamName]uint64, effects map[string]bool, err error) {
	sagas, err := e.served(ctx)
	if err != nil {
		return nil, nil, err
	}
	floors, effects = map[domain.StreamName]uint64{}, map[string]bool{}
	for _, s := range sagas {
		name, err := e.cfg.Names.TenantName(ctx, s.tenant)
		if err != nil {
			return nil, nil, err // of whom it is not known how far it has come
		}
		p, err := e.positions(ctx, s.tenant, name, s.saga)
		if err != nil {
			return nil, nil, err
		}
		if len(p.list) == 0 {
			return nil, nil, domain.Unavailablef("saga %s of context %d has no positions yet", s.saga, s.tenant)
		}
		for _, n := range read {
			if len(p.now().Reads[n]) == 0 || may[n] == 0 {
				continue
			}
			least, err := e.waits(ctx, n, s, name, p, may[n])
			if err != nil {
				return nil, nil, err
			}
			if floor, some := floors[n]; !some || least < floor {
				floors[n] = least
			}
		}
		for _, text := range p.now().Reads[domain.WorkflowEvents] {
			if kind, of, _ := strings.Cut(text, "."); domain.EventSource(kind) == domain.SourceResult && of != domain.AnyEvent {
				effects[of] = true
			}
		}
	}
	return floors, effects, nil
}

// scanMost bounds the pages that are looked at in one round for what a saga has yet to deal
// with, of each stream.
const scanMost = 50

// waits is up to where a stream has nothing for a saga any more, as far as upTo. A partition
// writes down how far it has come with what was its own: one for which nothing comes, or a
// saga, holds nothing back.
func (e *Engine) waits(ctx context.Context, n domain.StreamName, s claim, name string, p *positions, upTo uint64) (uint64, error) {
	last := len(p.list) - 1
	least, _ := p.span(last, n)
	if least >= upTo {
		return least, nil
	}
	newest, err := e.defs.get(ctx, s.tenant, s.saga, 0)
	if err != nil {
		return least, nil // so nothing is known of what it has yet to read
	}
	of := p.now().Of
	// It reads like a shard of all partitions.
	all := &shard{shardOf: shardOf{tenant: s.tenant, saga: s.saga, of: 1}, e: e, name: name, keys: layout.SagaKeys{Tenant: name}}
	r := &round{s: all, newest: newest}
	for range scanMost {
		page, err := e.log.Scan(ctx, n, p.now().Reads.filters(n, prefixes(s.tenant, name)), least+1, fetchMost)
		if err != nil {
			return 0, err
		}
		for i := range page {
			t := pending{from: &source{name: n}, m: page[i], seq: page[i].Seq}
			if t.seq > upTo {
				return upTo, nil
			}
			r.read(&t)
			q := 0 // which makes a dead letter of what is no event
			if t.correlation != "" {
				q = partitionOf(t.correlation, of)
			} else if t.bad == nil {
				continue
			}
			if t.seq > p.at(last, n, q).upTo(t.correlation) {
				return t.seq - 1, nil
			}
		}
		if len(page) == 0 {
			return upTo, nil
		}
		least = page[len(page)-1].Seq
	}
	return least, nil
}

// old is up to where a stream is too old or too much; 0: nothing is.
func (e *Engine) old(ctx context.Context, n domain.StreamName, keep Keep, now time.Time) (uint64, error) {
	stats, err := e.log.Stats(ctx, n)
	if err != nil || stats.Messages == 0 {
		return 0, err
	}
	upTo := func(age time.Duration) (uint64, error) { return beginning{at: now.Add(-age)}.of(ctx, e.log, n) }
	var old uint64
	if keep.For > 0 {
		if old, err = upTo(max(keep.For, leastKept)); err != nil {
			return 0, err
		}
	}
	if keep.Bytes > 0 && stats.Bytes > keep.Bytes {
		much := stats.First - 1 + uint64(float64(stats.Messages)*float64(stats.Bytes-keep.Bytes)/float64(stats.Bytes))
		least, err := upTo(leastKept)
		if err != nil {
			return 0, err
		}
		old = max(old, min(much, least))
	}
	if old < stats.First {
		return 0, nil
	}
	return old, nil
}

// remains is where a stream begins of which something was cut: the sequence of its first
// message, and its time. 0: nothing was cut.
func remains(ctx context.Context, log stream.Log, n domain.StreamName) (first uint64, at time.Time, err error) {
	stats, err := log.Stats(ctx, n)
	if err != nil || stats.First <= 1 {
		return 0, at, err
	}
	list, err := log.Scan(ctx, n, nil, stats.First, 1)
	if len(list) > 0 {
		at = list[0].Time
	}
	return stats.First, at, err
}
