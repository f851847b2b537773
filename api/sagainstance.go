package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/saga"
)

// InstanceList is a page of a saga's instances, in no order, without what their
// steps and deferred events carry.
//
//	GET /v1/contexts/{context}/sagas/{saga}/instances?where=&cursor=&limit=
type InstanceList struct {
	Instances domain.List[*domain.SagaInstance] `json:"instances"`
	// Next is the cursor of the next page; "" is the end. A page may be empty
	// while more is to come.
	Next string `json:"next,omitzero"`
}

// SagaHistory is what an instance went through, oldest first.
//
//	GET /v1/contexts/{context}/sagas/{saga}/instances/{correlation}/history?from=&limit=
//	with Accept: text/event-stream it follows: events "history" (SagaHistory, the lines of one version, with id = that),
//	then "end" (domain.SagaInstance) once the instance has ended
type SagaHistory struct {
	Lines domain.List[domain.SagaEntry] `json:"lines"`
}

// SagaDone answers what a person asked of a saga or an instance. Done is false
// where it is noted, and carried out as soon as whoever serves the instance has
// come to it.
type SagaDone struct {
	Saga        string `json:"saga"`
	Correlation string `json:"correlation_id,omitzero"`
	Done        bool   `json:"done"`
}

// Other operations on instances:
//
//	GET  /v1/contexts/{context}/sagas/{saga}/instances/{correlation}   domain.SagaInstance
//	GET  /v1/contexts/{context}/sagas/{saga}/instances/{correlation}/explain   saga.Explanation
//	POST /v1/contexts/{context}/sagas/{saga}/pause, /resume            {"correlation_id": ""} -> SagaDone

// listInstances is how many instances a page has where nothing is said, and
// mostInstances how many at the most.
const listInstances, mostInstances = 100, 500

// ListInstancesParams are those of saga.instances.
type ListInstancesParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// Where is a Rhai condition over an instance, such as
	// state == "Paying" && data.total > 100.
	Where string `json:"-" query:"where"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is about how many a page has, up to 500. 0: 100.
	Limit int `json:"-" query:"limit"`
}

// ListInstances lists a page of instances.
func (c Caller) ListInstances(ctx context.Context, p ListInstancesParams) (InstanceList, error) {
	engine, err := c.maySaga(ctx, identity.Read, p.Context, p.Name)
	if err != nil {
		return InstanceList{}, err
	}
	if p.Limit < 0 || p.Limit > mostInstances {
		return InstanceList{}, domain.Invalidf("limit %d: want 1 to %d, or 0 for %d", p.Limit, mostInstances, listInstances)
	}
	list, next, err := engine.Query(ctx, p.Context, saga.Query{Saga: p.Name, Where: p.Where, Limit: cmp.Or(p.Limit, listInstances), Cursor: p.Cursor})
	if err != nil {
		return InstanceList{}, err
	}
	if len(list) == 0 && p.Cursor == "" && next == "" {
		// A name that was mistyped must not look like a saga without instances.
		if _, err := engine.Definition(ctx, p.Context, p.Name, 0); err != nil {
			return InstanceList{}, err
		}
	}
	for _, in := range list {
		in.Steps, in.Deferred = nil, nil
	}
	return InstanceList{list, next}, nil
}

// InstanceParams name an instance.
type InstanceParams struct {
	Context     domain.TenantID `json:"-" path:"context"`
	Name        string          `json:"-" path:"saga"`
	Correlation string          `json:"-" path:"correlation"`
}

// object is what the audit log calls the instance.
func (p InstanceParams) object() string { return "saga:" + p.Name + ":" + p.Correlation }

func (c Caller) mayInstance(ctx context.Context, p InstanceParams) (Sagas, error) {
	if _, err := c.may(ctx, identity.Read, p.Context, p.object()); err != nil {
		return nil, err
	}
	if err := cmp.Or(domain.ValidateName("saga", p.Name), domain.ValidateCorrelation(p.Correlation)); err != nil {
		return nil, err
	}
	return c.sagas()
}

// ShowInstance reads one instance.
func (c Caller) ShowInstance(ctx context.Context, p InstanceParams) (*domain.SagaInstance, error) {
	engine, err := c.mayInstance(ctx, p)
	if err != nil {
		return nil, err
	}
	return engine.Instance(ctx, p.Context, p.Name, p.Correlation)
}

// ExplainInstance says what an instance waits for.
func (c Caller) ExplainInstance(ctx context.Context, p InstanceParams) (saga.Explanation, error) {
	engine, err := c.mayInstance(ctx, p)
	if err != nil {
		return saga.Explanation{}, err
	}
	x, err := engine.Explain(ctx, p.Context, p.Name, p.Correlation)
	if err != nil || len(x.Effects) == 0 || c.api.parts.Effects == nil {
		return x, err
	}
	open := map[string]string{} // targets by effect
	for _, s := range c.api.parts.Effects.List(ctx) {
		if (len(s.Contexts) == 0 || slices.Contains(s.Contexts, p.Context)) && s.Breaker != effect.BreakerClosed {
			open[s.Name] = s.Target
		}
	}
	for i := range x.Effects {
		x.Effects[i].Breaker = open[x.Effects[i].Effect]
	}
	return x, nil
}

// HistoryParams are those of saga.history.
type HistoryParams struct {
	InstanceParams
	// From leaves out lines of versions before it.
	From int64 `json:"-" query:"from"`
	// Limit is how many of the newest lines are wanted, up to 1,000. 0: that.
	Limit int `json:"-" query:"limit"`
}

// mostHistory bounds the lines of one answer.
const mostHistory = 1_000

func (p *HistoryParams) check() error {
	if p.From < 0 || p.Limit < 0 || p.Limit > mostHistory {
		return domain.Invalidf("from %d, limit %d: want 0 or more, and up to %d", p.From, p.Limit, mostHistory)
	}
	return nil
}

// SagaHistory reads what an instance went through: the newest lines of it.
func (c Caller) SagaHistory(ctx context.Context, p HistoryParams) (SagaHistory, error) {
	engine, err := c.mayInstance(ctx, p.InstanceParams)
	if err != nil {
		return SagaHistory{}, err
	}
	if err := p.check(); err != nil {
		return SagaHistory{}, err
	}
	limit := cmp.Or(p.Limit, mostHistory)
	lines, err := engine.History(ctx, p.Context, p.Name, p.Correlation, -limit, limit)
	if err != nil {
		return SagaHistory{}, err
	}
	if len(lines) == 0 {
		// One that is not there has no history; one that is may have lost it.
		if _, err := engine.Instance(ctx, p.Context, p.Name, p.Correlation); err != nil {
			return SagaHistory{}, err
		}
	}
	for len(lines) > 0 && lines[0].Version < p.From {
		lines = lines[1:]
	}
	return SagaHistory{lines}, nil
}

// FollowHistory is the stream of saga.history: each line as it comes, until the
// instance has ended. params are *[HistoryParams].
func (c Caller) FollowHistory(ctx context.Context, params any, emit func(Event) error) error {
	p := params.(*HistoryParams)
	engine, err := c.mayInstance(ctx, p.InstanceParams)
	if err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return err
	}
	in, err := engine.Follow(ctx, p.Context, p.Name, p.Correlation, p.From-1, func(lines []domain.SagaEntry) error {
		return emit(Event{Name: EventHistory, ID: strconv.FormatInt(lines[0].Version, 10), Data: SagaHistory{lines}})
	})
	if err != nil {
		return err
	}
	return emit(Event{Name: EventEnd, Data: in})
}

// SteerSagaParams are those of saga.pause and saga.resume.
type SteerSagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// Correlation names an instance; "" is the saga with all of them.
	Correlation string `json:"correlation_id"`
}

func (p *SteerSagaParams) auditDetail() string { return p.Correlation }

func (p *SteerSagaParams) scope() domain.BanScope {
	return domain.BanScope{Kind: domain.BanSaga, Context: p.Context, Name: p.Name}
}

// sagaPaused is the reason of a ban that is a pause.
const sagaPaused = "the saga is paused"

// PauseSaga has an instance keep its events; or a saga take none, by a ban.
func (c Caller) PauseSaga(ctx context.Context, p SteerSagaParams) (SagaDone, error) {
	engine, err := c.maySaga(ctx, identity.Cancel, p.Context, p.Name)
	if err != nil {
		return SagaDone{}, err
	}
	if p.Correlation != "" {
		return SagaDone{p.Name, p.Correlation, false}, engine.Pause(ctx, p.Context, p.Name, p.Correlation)
	}
	if _, err := engine.Definition(ctx, p.Context, p.Name, 0); err != nil {
		return SagaDone{}, err
	}
	return SagaDone{p.Name, "", true}, c.pauseBy(ctx, p.scope(), sagaPaused)
}

// ResumeSaga ends either.
func (c Caller) ResumeSaga(ctx context.Context, p SteerSagaParams) (SagaDone, error) {
	engine, err := c.maySaga(ctx, identity.Start, p.Context, p.Name)
	if err != nil {
		return SagaDone{}, err
	}
	if p.Correlation != "" {
		return SagaDone{p.Name, p.Correlation, false}, engine.Resume(ctx, p.Context, p.Name, p.Correlation)
	}
	if _, err := engine.Definition(ctx, p.Context, p.Name, 0); err != nil {
		return SagaDone{}, err
	}
	return SagaDone{p.Name, "", true}, c.resumeBy(ctx, p.scope())
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
