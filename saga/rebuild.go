package saga

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga/machine"
)

// rebuildMost and rebuildBytes bound what one rebuild holds.
const (
	rebuildMost  = 2_000_000 // events
	rebuildBytes = 1 << 30   // of their payloads
)

// Rebuild says what is to be computed again from the streams.
type Rebuild struct {
	Saga string
	// Correlation is one instance; "" is all.
	Correlation string
	// Definition is the version to use. 0: that to which each is pinned.
	Definition int
	// Apply writes what came out. Work items are never sent again.
	Apply bool
}

// Rebuild computes instances again from the events that the streams have, up
// to where the saga has come. The order of an instance's events is that of its
// history. What that does not have was ignored, and is again, unless another
// version is to be used or the beginning of the history is lost: then it comes
// after what came before it in its stream.
//
// Errors: [domain.ErrNotFound]; [domain.ErrLimit] for too many events;
// [domain.ErrConflict] where an instance moved while it was to be written.
func (e *Engine) Rebuild(ctx context.Context, tenant domain.TenantID, q Rebuild) (*domain.SagaRebuilt, error) {
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return nil, err
	}
	newest, err := e.defs.get(ctx, tenant, q.Saga, q.Definition)
	if err != nil {
		return nil, err
	}
	b := &rebuild{e: e, tenant: tenant, name: name, q: q, newest: newest, keys: layout.SagaKeys{Tenant: name}, events: map[string][]domain.Event{}}
	// Before the streams are read: of what comes later nothing is known here.
	if b.positions, err = e.positions(ctx, tenant, name, q.Saga); err != nil {
		return nil, err
	}
	if err := b.scan(ctx); err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(keysOf(b.events)) {
		if err := b.instance(ctx, id); err != nil {
			return nil, err
		}
	}
	return &b.out, nil
}

func keysOf(m map[string][]domain.Event) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

type rebuild struct {
	e      *Engine
	tenant domain.TenantID
	name   string
	q      Rebuild
	newest *compiled
	keys   layout.SagaKeys
	events map[string][]domain.Event // by correlation
	bytes  int
	out    domain.SagaRebuilt

	positions *positions
	// cut is where streams begin of which something was cut.
	cut map[string]cut
}

// cut is where a stream begins now.
type cut struct {
	first uint64
	at    time.Time
}

// scan reads all events of the saga. It reads like a shard of all partitions.
func (b *rebuild) scan(ctx context.Context) error {
	if len(b.positions.list) == 0 {
		return nil
	}
	reads := b.positions.now().Reads
	all := &shard{shardOf: shardOf{tenant: b.tenant, saga: b.q.Saga, of: 1}, e: b.e, name: b.name, keys: b.keys}
	r := &round{s: all, newest: b.newest}
	seen := map[string]bool{}
	for _, n := range read {
		if len(reads[n]) == 0 {
			continue
		}
		first, at, err := remains(ctx, b.e.log, n)
		if err != nil {
			return err
		}
		if first > 1 {
			if b.cut == nil {
				b.cut = map[string]cut{}
			}
			b.cut[string(n)] = cut{first, at}
		}
		for from := uint64(1); ; {
			page, err := b.e.log.Scan(ctx, n, reads.filters(n, prefixes(b.tenant, b.name)), from, fetchMost)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			for i := range page {
				t := pending{from: &source{name: n}, m: page[i], seq: page[i].Seq}
				r.read(&t)
				if t.correlation == "" || seen[t.ev.ID] || b.q.Correlation != "" && b.q.Correlation != t.correlation {
					continue
				}
				seen[t.ev.ID] = true
				b.out.Events++
				if b.bytes += len(t.ev.Payload); b.out.Events > rebuildMost || b.bytes > rebuildBytes {
					return domain.Limitf("the saga has more than %d events, or %d bytes: rebuild its instances one by one", rebuildMost, rebuildBytes)
				}
				b.events[t.correlation] = append(b.events[t.correlation], *t.ev)
			}
			from = page[len(page)-1].Seq + 1
		}
	}
	return nil
}

// instance computes one instance and holds it against what there is.
func (b *rebuild) instance(ctx context.Context, id string) error {
	is, err := b.e.Instance(ctx, b.tenant, b.q.Saga, id)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return err
	}
	if is == nil {
		// It has ended and is gone, or never was: nothing to hold it against.
		return nil
	}
	events, err := b.had(ctx, id)
	if err != nil {
		return err
	}
	m := b.newest
	if b.q.Definition == 0 {
		if m, err = b.e.defs.get(ctx, b.tenant, b.q.Saga, cmp.Or(firstVersion(events), is.Definition)); err != nil {
			return err
		}
	}
	out, err := b.run(ctx, m, id, events)
	if err != nil {
		return err
	}
	b.out.Instances++
	lines := differences(is, out)
	if len(lines) == 0 {
		b.out.Same++
		return nil
	}
	byHand, err := b.repaired(ctx, m, is)
	if err != nil {
		return err
	}
	if is.Life == "" {
		// It asked under ids that are made otherwise now: their results would
		// find nobody.
		lines, byHand = append(lines, "life: begun by an older version of Ramet, and not written"), true
	}
	gone, err := b.gone(ctx, id)
	if err != nil {
		return err
	}
	if gone != "" {
		lines, byHand = append(lines, gone), true
	}
	b.out.Different = append(b.out.Different, domain.SagaDifference{Correlation: id, Lines: lines, Repaired: byHand})
	if !b.q.Apply || byHand {
		return nil
	}
	b.out.Applied++
	return b.write(ctx, is, out)
}

// repaired reports whether a person replayed or dropped what had held an
// instance: that is in no stream, so what comes out without it is not what
// should be there.
func (b *rebuild) repaired(ctx context.Context, m *compiled, in *domain.SagaInstance) (bool, error) {
	if m.def.OnPoison == domain.PoisonSkip {
		return false, nil
	}
	for from := 0; ; {
		page, err := b.e.History(ctx, b.tenant, b.q.Saga, in.Correlation, from, 1000)
		if err != nil || len(page) == 0 {
			return false, err
		}
		for i := range page {
			if page[i].Reaction == domain.Fail && page[i].EventID != in.Held {
				return true, nil
			}
		}
		from += len(page)
	}
}

// gone says which events of an instance no stream has any more, so that what comes out
// without them is not what should be there; "": none. Where the beginning of its history
// is lost, nobody knows.
func (b *rebuild) gone(ctx context.Context, id string) (string, error) {
	if len(b.cut) == 0 {
		return "", nil
	}
	for from := 0; ; {
		page, err := b.e.History(ctx, b.tenant, b.q.Saga, id, from, 1000)
		if err != nil {
			return "", err
		}
		if from == 0 && (len(page) == 0 || page[0].Version != 1) {
			return "events: streams were cut, and the beginning of its history is gone; not written", nil
		}
		for i := range page {
			if c, is := b.cut[page[i].Stream]; is && page[i].Seq < c.first {
				return fmt.Sprintf("events: that of %s:%d is in the stream no more, which begins at %d (%s); not written", page[i].Stream, page[i].Seq, c.first,
					c.at.UTC().Format(time.RFC3339)), nil
			}
		}
		if len(page) == 0 {
			return "", nil
		}
		from += len(page)
	}
}

// had are an instance's events in the order in which it had them.
func (b *rebuild) had(ctx context.Context, id string) ([]domain.Event, error) {
	place := map[string]int{}
	whole := false // the history has its beginning
	for from := 0; ; {
		page, err := b.e.History(ctx, b.tenant, b.q.Saga, id, from, 1000)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		for i := range page {
			if _, there := place[page[i].EventID]; !there {
				place[page[i].EventID] = from + i
			}
		}
		whole = whole || from == 0 && page[0].Version == 1
		from += len(page)
	}
	all := b.events[id] // each stream's in its order
	list := make([]domain.Event, 0, len(all))
	at := make(map[string]int, len(all))
	last := map[string]int{} // of the streams
	for i := range all {
		ev := &all[i]
		n, known := place[ev.ID]
		switch {
		case known:
			last[ev.Stream] = n
		case ev.Seq > b.position(ev, id), whole && b.q.Definition == 0:
			continue
		default:
			n = last[ev.Stream]
		}
		at[ev.ID] = n
		list = append(list, *ev)
	}
	slices.SortStableFunc(list, func(x, y domain.Event) int { return at[x.ID] - at[y.ID] })
	return list, nil
}

// position is up to where the events of an instance were dealt with in the
// stream that an event is of.
func (b *rebuild) position(ev *domain.Event, id string) uint64 {
	p := b.positions
	if len(p.list) == 0 {
		return 0
	}
	return p.at(len(p.list)-1, domain.StreamName(ev.Stream), partitionOf(id, p.now().Of)).upTo(id)
}

// firstVersion is that of the definition with which an instance began that was
// migrated; 0 for others.
func firstVersion(events []domain.Event) int {
	for i := range events {
		if isControl(&events[i]) && events[i].Type == controlMigrate {
			return migration(&events[i]).From
		}
	}
	return 0
}

// migration is what an event that migrates says.
func migration(ev *domain.Event) (c control) {
	_ = json.Unmarshal(ev.Payload, &c) // one that cannot be read migrated nothing
	return c
}

// run lets an instance have all its events.
func (b *rebuild) run(ctx context.Context, m *compiled, id string, events []domain.Event) (*domain.SagaInstance, error) {
	in := m.New(b.name, id, m.hash)
	for _, ev := range events {
		if isControl(&ev) {
			switch ev.Type {
			case controlPause:
				in = m.Pause(in, ev.At()).Instance
			case controlResume:
				in = m.Resume(in, ev.At()).Instance
			case controlMigrate:
				if b.q.Definition != 0 {
					continue
				}
				to, err := b.e.defs.get(ctx, b.tenant, b.q.Saga, migration(&ev).Version)
				if err != nil && !errors.Is(err, domain.ErrNotFound) {
					return nil, err
				}
				if err != nil {
					continue
				}
				if tr, err := to.Migrate(in, to.hash, ev.At()); err == nil {
					in, m = tr.Instance, to
				}
			}
			continue
		}
		err := m.Upcast(&ev)
		var version *machine.VersionError
		if errors.As(err, &version) {
			if tr, err := m.Compensate(in, &ev); err == nil && m.def.OnVersion == domain.VersionCompensate {
				in = tr.Instance
			}
			continue
		}
		tr, err := m.Advance(in, &ev)
		var refused *machine.ResultError
		if errors.As(err, &refused) {
			continue
		}
		if err != nil {
			tr = m.Fail(in, &ev, err)
		}
		in = tr.Instance
	}
	return in, nil
}

// differences says in what an instance came out otherwise. That a person
// replayed or dropped what held it is in no stream, and not counted.
func differences(is, out *domain.SagaInstance) domain.List[string] {
	var lines domain.List[string]
	say := func(field, was, came string) {
		if was != came {
			lines = append(lines, fmt.Sprintf("%s: %s -> %s", field, cutLine(was), cutLine(came)))
		}
	}
	say("state", is.State, out.State)
	say("status", string(is.Status), string(out.Status))
	say("outcome", string(is.Outcome), string(out.Outcome))
	if !bytes.Equal(is.Data, out.Data) {
		say("data", string(is.Data), string(out.Data))
	}
	say("definition", strconv.Itoa(is.Definition), strconv.Itoa(out.Definition))
	say("steps", listText(is.Steps), listText(out.Steps))
	say("timers", listText(is.Timers), listText(out.Timers))
	say("deferred", strconv.Itoa(len(is.Deferred)), strconv.Itoa(len(out.Deferred)))
	return lines
}

func cutLine(s string) string {
	if len(s) > 500 {
		return domain.CutText(s, 500) + "…"
	}
	return s
}

// write puts what came out in the place of what there is.
func (b *rebuild) write(ctx context.Context, is, out *domain.SagaInstance) error {
	next := *out
	next.Version, next.Work = is.Version+1, max(is.Work, out.Work)
	return b.e.replace(ctx, b.tenant, b.keys, is, &next, "rebuilt from the streams")
}

// replace writes an instance in place of what it was, with its timers and a
// line in its history.
func (e *Engine) replace(ctx context.Context, tenant domain.TenantID, keys layout.SagaKeys, was, next *domain.SagaInstance, note string) error {
	now := e.board.Now()
	next.UpdatedMs = now.UnixMilli()
	key := keys.Instance(was.Saga, was.Correlation)
	c := chunk{}
	c.Space = layout.SpaceOf(tenant)
	c.Equal(key, layout.SagaVersion, strconv.FormatInt(was.Version, 10))
	c.set(key, layout.EncodeSaga(next)...)
	for i := range was.Timers {
		t := keys.Timer(was.Saga, was.Correlation, was.Timers[i].DueMs)
		c.Delete(t).ClearAlarm(layout.TimerAlarm(t))
	}
	for i := range next.Timers {
		c.timerAgain(keys, next, &next.Timers[i])
	}
	c.Append(keys.History(was.Saga, was.Correlation), e.cfg.History, plainJSON(domain.SagaEntry{
		Version: next.Version, AtMs: now.UnixMilli(), From: was.State, To: next.State, Note: note,
	}))
	stay := time.Duration(0)
	if next.Status == domain.SagaEnded {
		stay = e.cfg.Retention
	}
	c.Expire(key, stay).Expire(keys.History(was.Saga, was.Correlation), stay)
	return e.board.Commit(ctx, c.Batch)
}

// Rewind has a saga read a stream again from behind a position on. Events whose
// marks are still there are passed over.
//
// Errors: [domain.ErrInvalid], [domain.ErrNotFound], [domain.ErrUnavailable].
func (e *Engine) Rewind(ctx context.Context, tenant domain.TenantID, saga string, n domain.StreamName, after uint64) error {
	if _, err := e.defs.newest(ctx, tenant, saga); err != nil {
		return err
	}
	if !slices.Contains(read, n) {
		return domain.Invalidf("stream %q: want AGGREGATE_EVENTS, WORKFLOW_COMMANDS or WORKFLOW_EVENTS", n)
	}
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return err
	}
	p, err := e.positions(ctx, tenant, name, saga)
	if err != nil {
		return err
	}
	if len(p.list) == 0 {
		return domain.NotFoundf("saga %s has no positions yet: apply it again", saga)
	}
	// Beyond the end of its stream the board would be taken for that of other streams: no node would begin on it.
	begin := beginning{behind: map[domain.StreamName]uint64{n: after}}
	if err := begin.check(ctx, e.log); err != nil {
		return err
	}
	if first, at, err := remains(ctx, e.log, n); err != nil || after+1 < first {
		return cmp.Or(err, domain.Invalidf("stream %s begins at %d (%s): what was before was cut; --after %d reads all that there is",
			n, first, at.UTC().Format(time.RFC3339), first-1))
	}
	return e.reread(ctx, tenant, name, saga, p, begin.behind)
}

// reread has a saga read streams again from behind positions on.
func (e *Engine) reread(ctx context.Context, tenant domain.TenantID, name, saga string, p *positions, begin map[domain.StreamName]uint64) error {
	next := *p.now()
	next.Begin = begin
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	if err := p.add(&b, layout.SagaKeys{Tenant: name}.Checkpoint(saga), next); err != nil {
		return err
	}
	if err := e.board.Commit(ctx, b); err != nil {
		return err
	}
	if err := e.settle(ctx, tenant, name, saga, beginning{}); err != nil {
		return err
	}
	e.refresh(tenant, saga)
	return nil
}

// listText is a list as JSON; nothing is the same as an empty one.
func listText[T any](list []T) string { return plainJSON(domain.List[T](list)) }
