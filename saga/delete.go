package saga

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
)

const (
	// deleteWait is how long workers may take to let go of a saga that is being
	// deleted: longer than the lease of one that is dead.
	deleteWait = 15 * time.Second
	// deletePause is between two looks whether they have.
	deletePause = 100 * time.Millisecond
	// deleteLease is how long a deletion holds the partitions; each page of
	// instances renews it.
	deleteLease = time.Minute
)

// Delete takes a saga away: its versions, its instances with their timers and
// what waits in their outboxes, its positions. Dead letters stay, but for those
// that held an instance; force takes all along that are the saga's: what they
// would be replayed to is gone. Where it is cut off, delete it again.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] while instances have not
// ended, unless force says so; [domain.ErrUnavailable] while workers do not let
// go of it.
func (e *Engine) Delete(ctx context.Context, tenant domain.TenantID, saga string, force bool) (domain.SagaDeleted, error) {
	d, err := e.deletion(ctx, tenant, saga)
	if err != nil {
		return domain.SagaDeleted{}, err
	}
	if !force {
		// Before anything is touched: whoever is refused has changed nothing.
		if err := d.checkEnded(ctx); err != nil {
			return domain.SagaDeleted{}, err
		}
	}
	if err := d.run(ctx, force); err != nil {
		d.note(ctx)
		return domain.SagaDeleted{}, errors.Join(err, d.release(ctx))
	}
	out := domain.SagaDeleted{Saga: saga, Versions: d.versions, Instances: d.instances, DeadLetters: d.deadLetters}
	e.text.Info("saga deleted", "context", uint32(tenant), "saga", saga, "versions", out.Versions, "instances", out.Instances, "dead_letters", out.DeadLetters)
	return out, d.release(ctx)
}

// deletion holds all partitions of a saga, so that nobody moves what it deletes.
type deletion struct {
	e        *Engine
	tenant   domain.TenantID
	saga     string
	name     string // the context's, as keys have it
	keys     layout.SagaKeys
	space    board.Space
	owner    string
	stored   bool      // there is a definition
	shards   []shardOf // that there are, or were
	tokens   []int64   // by which the first of them are held
	outboxes []string
	placed   bool // it has positions

	// What was deleted, also by one before that was cut off.
	versions, instances, deadLetters int
}

// deletedField is the field of the positions that has what a deletion which was cut off has deleted.
const deletedField = "deleted"

// note writes down what is deleted, for the answer of the one that ends it. Nothing depends on it.
func (d *deletion) note(ctx context.Context) {
	if !d.placed || d.versions == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteWait)
	defer cancel()
	b := board.Batch{Space: d.space}
	b.Set(d.keys.Checkpoint(d.saga), board.Field{Name: deletedField,
		Value: plainJSON(domain.SagaDeleted{Saga: d.saga, Versions: d.versions, Instances: d.instances, DeadLetters: d.deadLetters})})
	if err := d.commit(ctx, &b); err != nil {
		d.e.text.Debug("what is deleted of a saga is not written down", "saga", d.saga, "err", err)
	}
}

// deletion finds out what there is of a saga.
//
// Errors: [domain.ErrNotFound] where there is nothing.
func (e *Engine) deletion(ctx context.Context, tenant domain.TenantID, saga string) (*deletion, error) {
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return nil, err
	}
	newest, missing := e.store.Get(ctx, tenant, saga, 0)
	if missing != nil && !errors.Is(missing, domain.ErrNotFound) {
		return nil, missing
	}
	at, err := e.positions(ctx, tenant, name, saga)
	if err != nil {
		return nil, err
	}
	if missing != nil && len(at.list) == 0 {
		return nil, missing
	}
	d := &deletion{e: e, tenant: tenant, saga: saga, name: name, keys: layout.SagaKeys{Tenant: name}, space: layout.SpaceOf(tenant),
		owner: "delete:" + rand.Text(), stored: missing == nil, outboxes: at.indexes(layout.SagaKeys{Tenant: name}, saga),
		placed: len(at.list) > 0}
	if was := (domain.SagaDeleted{}); !d.stored && json.Unmarshal([]byte(at.rec.Get(deletedField)), &was) == nil {
		d.versions, d.instances, d.deadLetters = was.Versions, was.Instances, was.DeadLetters
	}
	counts := map[int]bool{}
	if d.stored {
		counts[max(newest.Definition.Partitions, 1)] = true
	}
	for i := range at.list {
		counts[at.list[i].Of] = true
	}
	for of := range counts {
		for p := range of {
			d.shards = append(d.shards, shardOf{tenant: tenant, saga: saga, partition: p, of: of})
		}
	}
	return d, nil
}

// run deletes all there is.
func (d *deletion) run(ctx context.Context, force bool) (err error) {
	// Nobody takes it up any more; who has it is told.
	if err := d.e.list(ctx, d.tenant, d.saga, ""); err != nil {
		return err
	}
	d.e.refresh(d.tenant, d.saga)
	err = d.occupy(ctx)
	if err == nil && !force {
		err = d.checkEnded(ctx) // again, now that nobody moves them
	}
	if err == nil && d.stored {
		d.versions, err = d.e.store.Delete(ctx, d.tenant, d.saga) // first: it fails where somebody has applied another
	}
	if err != nil && d.stored {
		// No instance is deleted yet, and the newest version is there: it goes on.
		return errors.Join(err, d.e.settle(precondition.Without(context.WithoutCancel(ctx)), d.tenant, d.name, d.saga, beginning{}))
	}
	if err != nil {
		return err
	}
	if err := d.clear(ctx, d.keys.Instances(d.saga), d.dropInstance); err != nil {
		return err
	}
	for _, kind := range domain.DeadKinds {
		if err := d.clear(ctx, d.keys.Deads(kind), d.dropDeadLetters(force)); err != nil {
			return err
		}
	}
	// Else a saga of that name would pass over what this one had.
	if err := d.clear(ctx, d.keys.Seen(d.saga, ""), func(b *board.Batch, key string, _ board.Record) error { b.Delete(key); return nil }); err != nil {
		return err
	}
	for _, index := range d.outboxes {
		if err := d.dropOutbox(ctx, index); err != nil {
			return err
		}
	}
	for _, s := range d.shards {
		for _, n := range read {
			if err := d.e.log.Drop(ctx, n, consumerName(s, n)); err != nil {
				return err
			}
		}
	}
	// A worker that did not know yet may have put it into the index again.
	if err := d.e.list(ctx, d.tenant, d.saga, ""); err != nil {
		return err
	}
	b := board.Batch{Space: d.space} // last: by it the rest is found
	return d.commit(ctx, b.Delete(d.keys.Checkpoint(d.saga)))
}

// checkEnded looks for an instance that has not ended.
//
// Errors: [domain.ErrConflict] naming it.
func (d *deletion) checkEnded(ctx context.Context) error {
	prefix := d.keys.Instances(d.saga)
	for cursor := ""; ; {
		keys, next, err := d.e.board.Keys(ctx, d.space, prefix, cursor, 500)
		if err != nil {
			return err
		}
		recs, err := board.Listed(ctx, d.e.board, d.space, []string{layout.SagaStatus}, keys)
		if err != nil {
			return err
		}
		for i, rec := range recs {
			if rec != nil && rec.Get(layout.SagaStatus) != string(domain.SagaEnded) {
				return domain.Conflictf("saga %s has instances that have not ended, such as %q: wait for them, or delete it with them by force",
					d.saga, strings.TrimPrefix(keys[i], prefix))
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

// occupy takes the partitions from workers as they let go of them.
func (d *deletion) occupy(ctx context.Context) error {
	until := time.Now().Add(deleteWait)
	for _, s := range d.shards {
		for {
			token, err := d.e.board.Occupy(ctx, d.space, d.key(s), d.owner, deleteLease)
			if err == nil {
				d.tokens = append(d.tokens, token)
				break
			}
			if !errors.Is(err, domain.ErrConflict) {
				return err
			}
			if time.Now().After(until) {
				return domain.Unavailablef("saga %s: partition %d is still served; delete it again in a while", d.saga, s.partition)
			}
			if err := pause.For(ctx, deletePause); err != nil {
				return err
			}
		}
	}
	return nil
}

// key is the record by which a partition is held.
func (d *deletion) key(s shardOf) string { return shardKey(d.keys, s.saga, s.partition, s.of) }

// commit applies b if the partitions are still held.
func (d *deletion) commit(ctx context.Context, b *board.Batch) error {
	for i, token := range d.tokens {
		b.Held(d.key(d.shards[i]), d.owner, token)
	}
	err := d.e.board.Commit(ctx, *b)
	if errors.Is(err, domain.ErrConflict) {
		return domain.Unavailablef("saga %s: the deletion took too long, and was interrupted; delete it again", d.saga)
	}
	return err
}

// clear goes through the keys with a prefix.
func (d *deletion) clear(ctx context.Context, prefix string, drop func(b *board.Batch, key string, rec board.Record) error) error {
	for cursor := ""; ; {
		keys, next, err := d.e.board.Keys(ctx, d.space, prefix, cursor, 100)
		if err != nil {
			return err
		}
		recs, err := board.Readable(d.e.board.Get(ctx, d.space, keys...))
		if err != nil {
			return err
		}
		b := &board.Batch{Space: d.space}
		for i, rec := range recs {
			if rec == nil {
				continue
			}
			if err := drop(b, keys[i], rec); err != nil {
				return err
			}
			if len(b.Ops) > board.MaxOps/2 {
				if err := d.commit(ctx, b); err != nil {
					return err
				}
				b = &board.Batch{Space: d.space}
			}
		}
		if len(b.Ops) > 0 {
			if err := d.commit(ctx, b); err != nil {
				return err
			}
		}
		for _, s := range d.shards {
			if _, err := d.e.board.Occupy(ctx, d.space, d.key(s), d.owner, deleteLease); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

// dropInstance deletes an instance with its timers and history.
func (d *deletion) dropInstance(b *board.Batch, key string, rec board.Record) error {
	correlation := strings.TrimPrefix(key, d.keys.Instances(d.saga))
	in, err := layout.DecodeSaga(d.keys.Tenant, d.saga, correlation, rec)
	if err == nil { // else its timers, when they come, find nobody
		for i := range in.Timers {
			timer := d.keys.Timer(d.saga, correlation, in.Timers[i].DueMs)
			b.Delete(timer).ClearAlarm(layout.TimerAlarm(timer))
		}
	}
	b.Delete(key).Delete(d.keys.History(d.saga, correlation))
	d.instances++
	return nil
}

// dropDeadLetters deletes the saga's dead letters: all of them, or those that held
// an instance.
func (d *deletion) dropDeadLetters(all bool) func(*board.Batch, string, board.Record) error {
	return func(b *board.Batch, key string, rec board.Record) error {
		dead, err := decodeDead(key, rec)
		if err == nil && dead.Saga == d.saga && (all || dead.Holds) {
			b.Delete(key)
			d.deadLetters++
		}
		return nil
	}
}

// dropOutbox deletes what was not sent.
func (d *deletion) dropOutbox(ctx context.Context, index string) error {
	for {
		items, err := d.e.board.Members(ctx, d.space, index, "", board.MaxOps/4)
		if err != nil || len(items) == 0 {
			return err
		}
		b := &board.Batch{Space: d.space}
		for _, key := range items {
			b.Delete(key)
		}
		if err := d.commit(ctx, b.Exclude(index, items...)); err != nil {
			return err
		}
	}
}

// release lets go of the partitions.
func (d *deletion) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	for i, token := range d.tokens {
		key := d.key(d.shards[i])
		b := board.Batch{Space: d.space}
		if err := d.e.board.Commit(ctx, *b.Held(key, d.owner, token).Release(key).Unset(key, fieldCaught)); err != nil && !errors.Is(err, domain.ErrConflict) {
			return err
		}
	}
	return nil
}
