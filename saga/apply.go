package saga

import (
	"context"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Apply stores a definition as the newest of its name, and has the saga
// served. from counts for a saga that is new, and for streams that it did not
// read before; default now.
//
// Errors: those of definition.Store.Apply; [domain.ErrUnavailable], after which the
// saga is stored or not: the same once more has it served from where it was to begin
// the first time, if it is stored; [domain.ErrLimit] where the context has no room for
// its partitions.
func (e *Engine) Apply(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, def *domain.SagaDefinition,
	from domain.SagaFrom) (domain.StoredSaga, bool, error) {
	begin, err := parseFrom(from)
	if err != nil {
		return domain.StoredSaga{}, false, err
	}
	if err := begin.check(ctx, e.log); err != nil {
		return domain.StoredSaga{}, false, err
	}
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return domain.StoredSaga{}, false, err
	}
	if n := len(name) + len(def.Name); n > maxNames {
		return domain.StoredSaga{}, false, domain.Invalidf("saga %q: with the context's name %q it has %d bytes, the limit is %d: they are parts of "+
			"keys and subjects", def.Name, name, n, maxNames)
	}
	if def.Name == "effect" {
		return domain.StoredSaga{}, false, domain.Invalidf("saga %q: effects have marks of that name; choose another", def.Name)
	}
	turn, _ := e.applying.LoadOrStore(tenant, make(chan struct{}, 1))
	select {
	case turn.(chan struct{}) <- struct{}{}:
		defer func() { <-turn.(chan struct{}) }()
	case <-ctx.Done():
		return domain.StoredSaga{}, false, ctx.Err()
	}
	if err := e.room(ctx, tenant, def); err != nil {
		return domain.StoredSaga{}, false, err
	}
	// Where it begins is in the commit of its definition: what is cut off behind that loses no event, since
	// whoever has it served later has it begin there.
	stored, existing, err := e.store.Apply(ctx, tenant, actor, def, func(ctx context.Context, version int, b *board.Batch) error {
		p, err := e.positions(ctx, tenant, name, def.Name)
		if err != nil || p.follow(def) {
			return err
		}
		return e.beginGeneration(ctx, name, def, version, p, begin, b)
	})
	if err != nil {
		return stored, existing, err
	}
	if err := e.settle(ctx, tenant, name, def.Name, begin); err != nil {
		return stored, existing, err
	}
	e.refresh(tenant, def.Name)
	return stored, existing, nil
}

// room returns an error where the partitions of a context's sagas would become
// too many. Each is three consumers of the streams, which all contexts share.
func (e *Engine) room(ctx context.Context, tenant domain.TenantID, def *domain.SagaDefinition) error {
	all, err := e.served(ctx)
	if err != nil {
		return err
	}
	others, had := 0, 0
	for _, c := range all {
		switch {
		case c.tenant != tenant:
		case c.saga == def.Name:
			had = c.of
		default:
			others += c.of
		}
	}
	// What has become too many may become fewer.
	if want := max(def.Partitions, 1); want > had && others+want > domain.MaxPartitions {
		return domain.Limitf("saga %q: the other sagas of context %d have %d partitions, and %d more are over the limit of %d; "+
			"delete sagas, or take fewer partitions", def.Name, tenant, others, want, domain.MaxPartitions)
	}
	return nil
}

// maxNames bounds the names of a context and a saga together, in bytes: the
// longest key, of the mark of an event, and the longest subject have both.
const maxNames = 100

// refresh has the workers of this process read a saga as it is now. Those of
// others see that its record changed.
func (e *Engine) refresh(tenant domain.TenantID, saga string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for w := range e.workers {
		w.reread(tenant, saga)
	}
}
