package service

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/listing"
	"github.com/ramet-run/ramet/saga"
)

// listInstances is how many instances a page has where nothing is said, and
// mostInstances how many at the most.
const listInstances, mostInstances = 100, 500

// ListInstances lists a page of instances.
func (c Caller) ListInstances(ctx context.Context, p api.ListInstancesParams) (api.InstancePage, error) {
	engine, err := c.maySaga(ctx, domain.VerbRead, p.Context, p.Name)
	if err != nil {
		return api.InstancePage{}, err
	}
	if p.Limit < 0 || p.Limit > mostInstances {
		return api.InstancePage{}, domain.Invalidf("limit %d: want 1 to %d, or 0 for %d", p.Limit, mostInstances, listInstances)
	}
	f, err := findInstances(ctx, c, engine, p, wanted[*domain.SagaInstance]{cursor: p.Cursor, limit: cmp.Or(p.Limit, listInstances), count: p.Count})
	if err != nil {
		return api.InstancePage{}, err
	}
	if len(f.list) == 0 && p.Cursor == "" && f.next == "" {
		// A name that was mistyped must not look like a saga without instances.
		if _, err := engine.Definition(ctx, p.Context, p.Name, 0); err != nil {
			return api.InstancePage{}, err
		}
	}
	for _, in := range f.list {
		in.Steps, in.Deferred = nil, nil
	}
	return api.InstancePage{Instances: f.list, Next: f.next, Count: f.count}, nil
}

// findInstances finds what of a saga's instances is wanted that a filter fits. The engine
// asks the condition, which is over the fields of an instance themselves.
func findInstances(ctx context.Context, c Caller, engine Sagas, p api.ListInstancesParams,
	w wanted[*domain.SagaInstance]) (found[*domain.SagaInstance], error) {
	q := saga.Query{Saga: p.Name, Where: p.Where, Limit: mostInstances}
	if !p.Count && p.State == "" && p.Narrowing == (api.Narrowing{}) {
		q.Limit = cmp.Or(w.limit, w.enough)
	}
	w.tenant, w.list, w.narrow = p.Context, listName("instances", p.Name, p.InstanceFilter), p.Narrowing
	w.made = func(in *domain.SagaInstance) int64 { return in.CreatedMs }
	w.page = func(cursor string) ([]*domain.SagaInstance, listing.At, error) {
		q.Cursor = cursor
		list, next, err := engine.Query(ctx, p.Context, q)
		at := listing.At{Next: next, Here: cursor, Looked: len(list)}
		return slices.DeleteFunc(list, func(in *domain.SagaInstance) bool { return p.State != "" && in.State != p.State }), at, err
	}
	w.key, w.isKey = func(in *domain.SagaInstance) string { return anyKey(in.Correlation) }, isAnyKey
	return find(ctx, c, w)
}

// instanceObject is what the audit log calls the instance.
func instanceObject(p api.InstanceParams) string { return "saga:" + p.Name + ":" + p.Correlation }

func (c Caller) mayInstance(ctx context.Context, p api.InstanceParams) (Sagas, error) {
	if _, err := c.may(ctx, domain.VerbRead, p.Context, instanceObject(p)); err != nil {
		return nil, err
	}
	if err := cmp.Or(domain.ValidateName("saga", p.Name), domain.ValidateCorrelation(p.Correlation)); err != nil {
		return nil, err
	}
	return c.sagas()
}

// ShowInstance reads one instance.
func (c Caller) ShowInstance(ctx context.Context, p api.InstanceParams) (*domain.SagaInstance, error) {
	engine, err := c.mayInstance(ctx, p)
	if err != nil {
		return nil, err
	}
	return engine.Instance(ctx, p.Context, p.Name, p.Correlation)
}

// ExplainInstance says what an instance waits for.
func (c Caller) ExplainInstance(ctx context.Context, p api.InstanceParams) (domain.SagaExplanation, error) {
	engine, err := c.mayInstance(ctx, p)
	if err != nil {
		return domain.SagaExplanation{}, err
	}
	x, err := engine.Explain(ctx, p.Context, p.Name, p.Correlation)
	if err != nil || len(x.Effects) == 0 {
		return x, err
	}
	served, _, err := c.effectsServed(ctx, p.Context)
	if err != nil {
		return x, err
	}
	x.Unserved(func(effect string) bool { return !served[effect] })
	if c.api.parts.Effects == nil {
		return x, nil
	}
	list, err := c.effectsOf(ctx, c.api.parts.Effects, p.Context)
	if err != nil {
		return x, err
	}
	for i := range x.Effects {
		a := &x.Effects[i]
		at := slices.IndexFunc(list, func(s domain.EffectStatus) bool { return s.Name == a.Effect })
		if at < 0 {
			continue
		}
		switch s := &list[at]; s.Breaker {
		case domain.BreakerOpen, domain.BreakerTrial:
			a.Breaker, a.Trial = s.Target, s.Breaker == domain.BreakerTrial
		}
		a.Paused = list[at].Paused
	}
	return x, nil
}

// mostHistory bounds the lines of one answer.
const mostHistory = 1_000

func checkHistory(p *api.HistoryParams) error {
	if p.From < 0 || p.Limit < 0 || p.Limit > mostHistory {
		return domain.Invalidf("from %d, limit %d: want 0 or more, and up to %d", p.From, p.Limit, mostHistory)
	}
	return nil
}

// SagaHistory reads what an instance went through: the newest lines of it.
func (c Caller) SagaHistory(ctx context.Context, p api.HistoryParams) (api.HistoryPage, error) {
	engine, err := c.mayInstance(ctx, p.InstanceParams)
	if err != nil {
		return api.HistoryPage{}, err
	}
	if err := checkHistory(&p); err != nil {
		return api.HistoryPage{}, err
	}
	limit := cmp.Or(p.Limit, mostHistory)
	lines, err := engine.History(ctx, p.Context, p.Name, p.Correlation, -limit, limit)
	if err != nil {
		return api.HistoryPage{}, err
	}
	if len(lines) == 0 {
		// One that is not there has no history; one that is may have lost it.
		if _, err := engine.Instance(ctx, p.Context, p.Name, p.Correlation); err != nil {
			return api.HistoryPage{}, err
		}
	}
	for len(lines) > 0 && lines[0].Version < p.From {
		lines = lines[1:]
	}
	return api.HistoryPage{Lines: lines}, nil
}

// FollowHistory is the stream of saga.history: each line as it comes, until the
// instance has ended. params are *[api.HistoryParams].
func (c Caller) FollowHistory(ctx context.Context, params any, emit func(api.Event) error) error {
	p := params.(*api.HistoryParams)
	engine, err := c.mayInstance(ctx, p.InstanceParams)
	if err != nil {
		return err
	}
	if err := checkHistory(p); err != nil {
		return err
	}
	in, err := engine.Follow(ctx, p.Context, p.Name, p.Correlation, p.From-1, func(lines []domain.SagaEntry) error {
		return emit(api.Event{Name: api.EventHistory, ID: strconv.FormatInt(lines[0].Version, 10), Data: api.HistoryPage{Lines: lines}})
	})
	if err != nil {
		return err
	}
	return emit(api.Event{Name: api.EventEnd, Data: in})
}

func sagaScope(tenant domain.TenantID, name string) domain.BanScope {
	return domain.BanScope{Kind: domain.BanSaga, Context: tenant, Name: name}
}

// sagaPaused is the reason of a ban that is a pause.
const sagaPaused = "the saga is paused"

// PauseSaga has an instance keep its events; or a saga take none, by a ban.
func (c Caller) PauseSaga(ctx context.Context, p api.SteerSagaParams) (api.SagaDone, error) {
	engine, err := c.maySaga(ctx, domain.VerbCancel, p.Context, p.Name)
	if err != nil {
		return api.SagaDone{}, err
	}
	if p.Correlation != "" {
		return api.SagaDone{Saga: p.Name, Correlation: p.Correlation, Done: false}, engine.Pause(ctx, p.Context, p.Name, p.Correlation)
	}
	if _, err := engine.Definition(ctx, p.Context, p.Name, 0); err != nil {
		return api.SagaDone{}, err
	}
	return api.SagaDone{Saga: p.Name, Correlation: "", Done: true}, c.pauseBy(ctx, sagaScope(p.Context, p.Name), sagaPaused)
}

// ResumeSaga ends either.
func (c Caller) ResumeSaga(ctx context.Context, p api.SteerSagaParams) (api.SagaDone, error) {
	engine, err := c.maySaga(ctx, domain.VerbStart, p.Context, p.Name)
	if err != nil {
		return api.SagaDone{}, err
	}
	if p.Correlation != "" {
		return api.SagaDone{Saga: p.Name, Correlation: p.Correlation, Done: false}, engine.Resume(ctx, p.Context, p.Name, p.Correlation)
	}
	if _, err := engine.Definition(ctx, p.Context, p.Name, 0); err != nil {
		return api.SagaDone{}, err
	}
	return api.SagaDone{Saga: p.Name, Correlation: "", Done: true}, c.resumeBy(ctx, sagaScope(p.Context, p.Name))
}

// pauseBy holds something up for whoever may pause it, who need not be one who
// may ban.
func (c Caller) pauseBy(ctx context.Context, scope domain.BanScope, reason string) error {
	if err := c.mayOverBan(ctx, scope.Context, scope); err != nil {
		return err
	}
	_, err := c.api.parts.Bans.Set(ctx, domain.Ban{BanScope: scope, Level: domain.BanPick, By: c.who.Actor, Reason: reason})
	return err
}

// resumeBy lets it go on. What is not held up goes on already.
func (c Caller) resumeBy(ctx context.Context, scope domain.BanScope) error {
	if err := c.mayOverBan(ctx, scope.Context, scope); err != nil {
		return err
	}
	_, err := c.api.parts.Bans.Lift(ctx, scope)
	if errors.Is(err, domain.ErrNotFound) {
		return nil
	}
	return err
}
