package saga

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/machine"
	"github.com/ramet-run/ramet/stream"
)

// Instances stay with the version of the definition that they began with. This
// file brings them to another, when a person says so.

// Migrate says which instances are to be brought to which version.
type Migrate struct {
	Saga string
	// Correlation is one instance; "" is all that have not ended.
	Correlation string
	// From are those of one version only; 0 is any. To is the version they are
	// brought to; 0 is the newest.
	From, To int
	// Apply does it; else it is only said what would come of it.
	Apply bool
	// Limit is about how many instances are looked at, Cursor "" or what came
	// back.
	Limit  int
	Cursor string
}

// Migrate brings instances to another version of their definition: each by an
// event that whoever serves it handles in its turn. Where that finds it changed
// so that it cannot be, it stays as it is, with a dead letter that says why.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Migrate(ctx context.Context, tenant domain.TenantID, q Migrate) (*domain.SagaMigrated, error) {
	to, err := e.defs.get(ctx, tenant, q.Saga, q.To)
	if err != nil {
		return nil, err
	}
	out := &domain.SagaMigrated{To: to.version}
	list, err := e.migrating(ctx, tenant, q, out)
	if err != nil {
		return nil, err
	}
	now := e.board.Now().UnixMilli()
	var going []*domain.SagaInstance
	for _, in := range list {
		if in.Status == domain.SagaEnded || in.Definition == to.version || q.From != 0 && in.Definition != q.From {
			continue
		}
		m := domain.SagaMigration{Correlation: in.Correlation, From: in.Definition, State: in.State}
		tr, err := to.Migrate(in, to.hash, now)
		if err != nil {
			m.Error = err.Error()
			out.Refused = append(out.Refused, m)
			continue
		}
		m.Lines = differences(in, tr.Instance)
		out.Instances = append(out.Instances, m)
		going = append(going, in)
	}
	if q.Apply {
		err = e.migrate(ctx, tenant, q.Saga, to.version, going)
		out.Applied = len(going)
	}
	return out, err
}

// migrating are the instances that are looked at.
func (e *Engine) migrating(ctx context.Context, tenant domain.TenantID, q Migrate, out *domain.SagaMigrated) (list []*domain.SagaInstance, err error) {
	if q.Correlation == "" {
		list, out.Next, err = e.Query(ctx, tenant, Query{Saga: q.Saga, Limit: q.Limit, Cursor: q.Cursor})
		return list, err
	}
	in, err := e.Instance(ctx, tenant, q.Saga, q.Correlation)
	if err == nil && in.Status == domain.SagaEnded {
		err = domain.Conflictf("instance %q of saga %s has ended", q.Correlation, q.Saga)
	}
	return []*domain.SagaInstance{in}, err
}

// migrate tells instances to go to a version.
func (e *Engine) migrate(ctx context.Context, tenant domain.TenantID, saga string, version int, going []*domain.SagaInstance) error {
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return err
	}
	for len(going) > 0 {
		part := going[:min(len(going), stream.MaxPublish)]
		going = going[len(part):]
		messages := make([]stream.Message, len(part))
		for i, in := range part {
			messages[i] = own(name, &domain.Event{ID: newID(), Type: controlMigrate, Saga: saga, Correlation: in.Correlation,
				TimeMs: e.board.Now().UnixMilli(), Payload: json.RawMessage(plainJSON(control{Version: version, From: in.Definition}))})
		}
		if err := e.log.Publish(ctx, messages...); err != nil {
			return err
		}
	}
	return nil
}

// migrateTo brings an instance to a version, now that it is its turn.
func (r *round) migrateTo(ctx context.Context, t *pending, at *instance, version int) error {
	to, err := r.s.e.defs.get(ctx, r.s.tenant, r.s.saga, version)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return err
	}
	var tr machine.Transition
	if err == nil {
		if at.in.Status == domain.SagaEnded || at.in.Definition == to.version {
			return nil
		}
		tr, err = to.Migrate(at.in, to.hash, t.ev.At())
	}
	if err != nil {
		r.deadLetter(r.failed(newDead(domain.DeadEvent, t.ev, &t.m, err), at.in.Correlation))
		return nil
	}
	r.writeAs(t, at, to, &tr)
	return nil
}
