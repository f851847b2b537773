package saga

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga/machine"
)

// auditAge is how long something must stand as it does before the auditor
// doubts it: what is under way is younger.
const auditAge = time.Minute

// Audit looks whether every instance of a context that waits has what will
// wake it: its timers have their alarms, what holds it is there. It sets lost
// timers again and reports the rest. It rests after each page, rest times as
// long as that took.
func (e *Engine) Audit(ctx context.Context, tenant domain.TenantID, rest int) (domain.Audit, error) {
	return e.audit(ctx, tenant, rest, 0, false)
}

// AuditWithin is Audit that looks at no more instances than there is time for, zero: at all,
// and also finds the sagas that nobody serves, and those that are behind all the same.
func (e *Engine) AuditWithin(ctx context.Context, tenant domain.TenantID, within time.Duration) (domain.Audit, error) {
	return e.auditWithin(ctx, tenant, within, false)
}

// LookWithin is AuditWithin that repairs nothing, so that those may ask who only read.
func (e *Engine) LookWithin(ctx context.Context, tenant domain.TenantID, within time.Duration) (domain.Audit, error) {
	return e.auditWithin(ctx, tenant, within, true)
}

func (e *Engine) auditWithin(ctx context.Context, tenant domain.TenantID, within time.Duration, looks bool) (domain.Audit, error) {
	found, err := e.audit(ctx, tenant, 0, within, looks)
	if err != nil {
		return found, err
	}
	lacking, rest, err := e.unserved(ctx, tenant)
	found.Lacking = append(found.Lacking, lacking...)
	if err == nil {
		found.Lacking = append(found.Lacking, e.lagging(ctx, tenant, rest)...)
	}
	return found, err
}

func (e *Engine) audit(ctx context.Context, tenant domain.TenantID, rest int, within time.Duration, looks bool) (domain.Audit, error) {
	a := auditor{e: e, tenant: tenant, now: e.board.Now(), began: time.Now(), within: within, looks: looks,
		definitions: map[definitionRef]*domain.SagaDefinition{}}
	for after := ""; ; {
		sagas, next, err := e.store.List(ctx, tenant, after, 100)
		if err != nil {
			return a.report, err
		}
		for _, s := range sagas {
			if err := a.saga(ctx, s.Name, rest); err != nil || a.report.Partial {
				return a.report, err
			}
		}
		if after = next; after == "" {
			return a.report, nil
		}
	}
}

type auditor struct {
	e      *Engine
	tenant domain.TenantID
	now    time.Time // of the board
	began  time.Time
	within time.Duration // of that; 0: for as long as it takes
	looks  bool          // it repairs nothing
	report domain.Audit
	// definitions are those that were read; nil for one that is gone.
	definitions map[definitionRef]*domain.SagaDefinition
}

// definitionRef names a version of a saga.
type definitionRef struct {
	saga    string
	version int
}

func (a *auditor) saga(ctx context.Context, saga string, rest int) error {
	if err := a.outbox(ctx, saga); err != nil {
		return err
	}
	for cursor := ""; ; {
		begun := time.Now()
		if a.within > 0 && begun.Sub(a.began) > a.within {
			a.report.Partial = true
			return nil
		}
		page, next, err := a.e.Query(ctx, a.tenant, Query{Saga: saga, Limit: 200, Cursor: cursor})
		if err != nil {
			return err
		}
		for _, in := range page {
			a.report.Unfinished = a.report.Unfinished || in.Status != domain.SagaEnded
			if in.Status == domain.SagaEnded || a.now.UnixMilli()-in.UpdatedMs < auditAge.Milliseconds() {
				continue
			}
			key := layout.SagaKeys{Tenant: in.Tenant}.Instance(in.Saga, in.Correlation)
			if err := a.report.Strange(key, a.instance(ctx, in)); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
		if rest > 0 {
			pause.For(ctx, time.Since(begun)*time.Duration(rest))
		}
	}
}

// outbox reports work that instances have asked for, that was not sent yet, and whose
// record is gone.
func (a *auditor) outbox(ctx context.Context, saga string) error {
	name, err := a.e.cfg.Names.TenantName(ctx, a.tenant)
	if err != nil {
		return err
	}
	at, err := a.e.positions(ctx, a.tenant, name, saga)
	if err != nil {
		return err
	}
	space := layout.SpaceOf(a.tenant)
	for _, index := range at.indexes(layout.SagaKeys{Tenant: name}, saga) {
		for after := ""; ; {
			keys, err := a.e.board.Members(ctx, space, index, after, 200)
			if err != nil || len(keys) == 0 {
				if err != nil {
					return err
				}
				break
			}
			recs, err := board.Listed(ctx, a.e.board, space, []string{layout.OutboxTries}, keys)
			if err != nil {
				return err
			}
			for i, rec := range recs {
				if rec != nil {
					continue
				}
				// It may have been sent between the two looks.
				before := keys[i][:len(keys[i])-1]
				if still, err := a.e.board.Members(ctx, space, index, before, 1000); err != nil {
					return err
				} else if slices.Contains(still, keys[i]) {
					a.report.Stuck = append(a.report.Stuck, domain.Finding{Key: keys[i],
						Text: "saga " + saga + " has asked for this and it was not sent, and its record is gone: another program deleted it, or the store did; " +
							"`ramet saga replay` says what its instance asked for"})
				}
			}
			after = keys[len(keys)-1]
		}
	}
	return nil
}

func (a *auditor) instance(ctx context.Context, in *domain.SagaInstance) error {
	keys, space := layout.SagaKeys{Tenant: in.Tenant}, layout.SpaceOf(a.tenant)
	key := keys.Instance(in.Saga, in.Correlation)
	a.report.Looked++
	if in.Held != "" {
		recs, err := a.e.board.Get(ctx, space, keys.Dead(domain.DeadSaga, HeldBy(in)))
		if err != nil {
			return err
		}
		if recs[0] == nil {
			a.report.Stuck = append(a.report.Stuck, domain.Finding{Key: key, Text: "it is held by the dead letter saga " + HeldBy(in) + ", which is gone"})
		}
		return nil
	}
	for i := range in.Timers {
		lost, err := a.e.lost(ctx, space, a.tenant, keys, in, &in.Timers[i], a.now)
		if err != nil {
			return err
		}
		if !lost || a.looks {
			continue
		}
		// Not where the instance has moved meanwhile.
		c := chunk{Batch: board.Batch{Space: space}}
		c.Equal(key, layout.SagaVersion, strconv.FormatInt(in.Version, 10))
		c.timerAgain(keys, in, &in.Timers[i])
		err = a.e.board.Commit(ctx, c.Batch)
		switch {
		case errors.Is(err, domain.ErrConflict):
		case err != nil:
			return err
		default:
			a.report.Repaired = append(a.report.Repaired, domain.Finding{Key: key,
				Text: fmt.Sprintf("its timer %s at %s was lost and is set again", in.Timers[i].Event, time.UnixMilli(in.Timers[i].DueMs).UTC().Format(time.RFC3339))})
		}
	}
	return a.stranded(ctx, key, in)
}

// stranded reports an instance that nothing will move.
func (a *auditor) stranded(ctx context.Context, key string, in *domain.SagaInstance) error {
	def, err := a.definition(ctx, in)
	if err != nil || def == nil {
		return err
	}
	why, err := a.e.immovable(ctx, a.tenant, def, in)
	if err == nil && why != "" {
		a.report.Stuck = append(a.report.Stuck, domain.Finding{Key: key, Text: why})
	}
	return err
}

// definition is the one by which an instance goes; nil where it is gone.
func (a *auditor) definition(ctx context.Context, in *domain.SagaInstance) (*domain.SagaDefinition, error) {
	ref := definitionRef{in.Saga, in.Definition}
	if def, known := a.definitions[ref]; known {
		return def, nil
	}
	stored, err := a.e.store.Get(ctx, a.tenant, in.Saga, in.Definition)
	if errors.Is(err, domain.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	a.definitions[ref] = stored.Definition
	return stored.Definition, nil
}

// lost reports whether a timer will never come. One whose event is deferred has
// come, one whose instant was a moment ago may be an event on its way.
func (e *Engine) lost(ctx context.Context, space board.Space, tenant domain.TenantID, keys layout.SagaKeys, in *domain.SagaInstance, t *domain.SagaTimer,
	now time.Time) (bool, error) {
	due := time.UnixMilli(t.DueMs)
	if due.Before(now) && now.Sub(due) < 5*auditAge || machine.Waits(in, t.Event, t.DueMs) {
		return false, nil
	}
	_, set, err := e.board.AlarmOf(ctx, space, layout.TimerAlarm(keys.Timer(in.Saga, in.Correlation, t.DueMs)))
	if err != nil || set {
		return false, err
	}
	unread, err := e.unread(ctx, tenant, in)
	return err == nil && !unread, err
}

// unread reports whether there is an event for an instance by name that its
// partition has not come to: it may be the timer's.
func (e *Engine) unread(ctx context.Context, tenant domain.TenantID, in *domain.SagaInstance) (bool, error) {
	p, err := e.positions(ctx, tenant, in.Tenant, in.Saga)
	if err != nil || len(p.list) == 0 {
		return false, err
	}
	at := p.at(len(p.list)-1, domain.WorkflowCommands, partitionOf(in.Correlation, p.now().Of)).upTo(in.Correlation)
	subjects := []string{subject(in.Tenant, string(domain.SourceWorkflow), in.Saga, token(in.Correlation))}
	list, err := e.log.Scan(ctx, domain.WorkflowCommands, subjects, at+1, 1)
	return len(list) > 0, err
}
