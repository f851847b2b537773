package service

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/hide"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listing"
)

// Schedules is what the operations need of the clockwork.
type Schedules interface {
	Apply(ctx context.Context, tenant domain.TenantID, def domain.Schedule, by domain.ActorID) (*domain.Schedule, error)
	Show(ctx context.Context, tenant domain.TenantID, name string) (*domain.Schedule, error)
	List(ctx context.Context, tenant domain.TenantID, cursor string) (list []*domain.Schedule, next string, err error)
	Delete(ctx context.Context, tenant domain.TenantID, name string) (*domain.Schedule, error)
	Pause(ctx context.Context, tenant domain.TenantID, name string) (*domain.Schedule, error)
	Resume(ctx context.Context, tenant domain.TenantID, name string) (*domain.Schedule, error)
	Trigger(ctx context.Context, tenant domain.TenantID, name string, by domain.ActorID, ticket string) (flow.Receipt, error)
	Upcoming(def domain.Schedule, after time.Time, n int) ([]time.Time, error)
	Backfill(ctx context.Context, tenant domain.TenantID, name string, ask domain.Backfill) (*domain.Schedule, error)
	PlanBackfill(ctx context.Context, tenant domain.TenantID, name string, ask domain.Backfill) (clockwork.BackfillPlan, error)
	CancelBackfill(ctx context.Context, tenant domain.TenantID, name string) (*domain.Schedule, error)
	Audit(ctx context.Context, tenant domain.TenantID, rest int) (domain.Audit, error)
}

// defaultUpcoming is how many of its next times a schedule is shown with.
const defaultUpcoming = 10

// maySchedule asks for a right on a schedule.
func (c Caller) maySchedule(ctx context.Context, verb domain.Verb, tenant domain.TenantID, name string) (domain.Tenant, error) {
	return c.may(ctx, verb, tenant, "schedule:"+name)
}

// ApplySchedule makes or changes a schedule; its flows are in the caller's name.
func (c Caller) ApplySchedule(ctx context.Context, p api.ScheduleApplyParams) (api.Schedule, error) {
	t, err := c.maySchedule(ctx, domain.VerbCreate, p.Context, p.Name)
	if err == nil {
		err = c.mayMake(ctx, p.Context, flow.Request{Blueprint: p.Blueprint, Version: p.Version})
	}
	if err == nil {
		err = hide.Refuse(p.Env)
	}
	if err == nil { // what is wrong in itself comes first
		_, err = c.api.parts.Schedules.Upcoming(p.Schedule.Schedule, time.Now(), 1)
	}
	if err == nil { // a flow of none would be refused at night, each time
		err = c.scheduleFits(ctx, p)
	}
	if err != nil {
		return api.Schedule{}, err
	}
	s, err := makes(ctx, c, thingOf(p.Context, layout.Schedule(p.Name), ""), func(ctx context.Context) (*domain.Schedule, error) {
		return c.api.parts.Schedules.Apply(ctx, p.Context, p.Schedule.Schedule, c.who.Actor)
	}, func(ctx context.Context, _ made) (*domain.Schedule, error) {
		return c.api.parts.Schedules.Show(ctx, p.Context, p.Name)
	})
	return c.scheduled(t, s, 0, err)
}

// scheduleFits asks whether there is a blueprint that takes what is scheduled.
func (c Caller) scheduleFits(ctx context.Context, p api.ScheduleApplyParams) error {
	stored, err := c.api.parts.Blueprints.Get(ctx, p.Context, p.Blueprint, p.Version)
	if err != nil {
		return err
	}
	return blueprint.TakesParams(&stored.Blueprint, p.Params)
}

// scheduled is a schedule as the caller may see it, with its next n times.
func (c Caller) scheduled(t domain.Tenant, s *domain.Schedule, n int, err error) (api.Schedule, error) {
	if err != nil {
		return api.Schedule{}, err
	}
	out := api.Schedule{Schedule: *s}
	if !c.who.Permits(t, domain.VerbReadEnv, false, c.group) {
		out.Env = maps.Clone(s.Env)
		redact(out.Env)
		out.Before = beforeView(s.Before)
	}
	if !s.Paused {
		out.Upcoming, err = c.api.parts.Schedules.Upcoming(*s, time.Now(), cmp.Or(n, defaultUpcoming))
	}
	return out, err
}

// beforeView is what a schedule was, without the values of its environment. One that cannot be read is left
// out: it might have some.
func beforeView(b *domain.ScheduleBefore) *domain.ScheduleBefore {
	if b == nil || b.Definition == nil {
		return b
	}
	seen := &domain.ScheduleBefore{ChangedMs: b.ChangedMs}
	var was domain.Schedule
	if json.Unmarshal(b.Definition, &was) != nil {
		return seen
	}
	redact(was.Env)
	if text, err := json.Marshal(was.Defined()); err == nil {
		seen.Definition = text
	}
	return seen
}

// ShowSchedule reads one schedule.
func (c Caller) ShowSchedule(ctx context.Context, p api.ScheduleShowParams) (api.Schedule, error) {
	t, err := c.maySchedule(ctx, domain.VerbRead, p.Context, p.Name)
	if err != nil {
		return api.Schedule{}, err
	}
	s, err := c.api.parts.Schedules.Show(ctx, p.Context, p.Name)
	out, err := c.scheduled(t, s, p.N, err)
	if err == nil {
		out.Lacks = c.lacksOf(ctx, p.Context)(s.Blueprint, s.Version)
	}
	return out, err
}

// ListSchedules lists a page.
func (c Caller) ListSchedules(ctx context.Context, p api.ScheduleListParams) (api.SchedulePage, error) {
	if _, err := c.may(ctx, domain.VerbRead, p.Context, "schedules"); err != nil {
		return api.SchedulePage{}, err
	}
	f, err := find(ctx, c, wanted[*domain.Schedule]{tenant: p.Context, list: listName("schedules", p.Blueprint, p.Where, p.Narrowing),
		cursor: p.Cursor, limit: p.Limit, count: p.Count, where: p.Where, name: "schedule", narrow: p.Narrowing,
		made: func(s *domain.Schedule) int64 { return s.CreatedAt.Time().UnixMilli() }, grain: aSecond,
		page:  func(cursor string) ([]*domain.Schedule, listing.At, error) { return c.schedulePage(ctx, p, cursor) },
		key:   func(s *domain.Schedule) string { return s.Name },
		isKey: func(name string) bool { return domain.ValidateName("schedule", name) == nil }})
	out := api.SchedulePage{Schedules: make([]api.Schedule, len(f.list)), Next: f.next, Count: f.count}
	lacks := c.lacksOf(ctx, p.Context)
	for i, s := range f.list {
		out.Schedules[i] = api.Schedule{Schedule: *s, Lacks: lacks(s.Blueprint, s.Version)}
	}
	return out, err
}

// schedulePage is a page of the schedules of a blueprint, or all, without what a list does
// not show: nobody is to guess at it by conditions.
func (c Caller) schedulePage(ctx context.Context, p api.ScheduleListParams, cursor string) ([]*domain.Schedule, listing.At, error) {
	list, next, err := c.api.parts.Schedules.List(ctx, p.Context, cursor)
	at := listing.At{Next: next, Here: cursor, Looked: len(list)}
	list = slices.DeleteFunc(list, func(s *domain.Schedule) bool { return p.Blueprint != "" && s.Blueprint != p.Blueprint })
	for _, s := range list {
		s.Params, s.Env, s.Variables = nil, nil, nil
		if s.Before != nil {
			s.Before = &domain.ScheduleBefore{ChangedMs: s.Before.ChangedMs}
		}
	}
	return list, at, err
}

// PreviewSchedule says when a schedule would come that is not stored.
func (c Caller) PreviewSchedule(ctx context.Context, p api.SchedulePreviewParams) (api.ScheduleTimes, error) {
	if _, err := c.maySchedule(ctx, domain.VerbRead, p.Context, p.Name); err != nil {
		return api.ScheduleTimes{}, err
	}
	if err := hide.Refuse(p.Env); err != nil {
		return api.ScheduleTimes{}, err
	}
	// What it is called and makes does not matter here.
	def := p.Schedule.Schedule
	def.Name, def.Blueprint = cmp.Or(def.Name, "preview"), cmp.Or(def.Blueprint, "preview")
	times, err := c.api.parts.Schedules.Upcoming(def, time.Now(), cmp.Or(p.N, defaultUpcoming))
	return api.ScheduleTimes{Upcoming: times}, err
}

// DeleteSchedule removes a schedule and returns it as it was; its flows stay.
func (c Caller) DeleteSchedule(ctx context.Context, p api.ScheduleParams) (api.Schedule, error) {
	s, err := c.onSchedule(ctx, domain.VerbDelete, p, c.api.parts.Schedules.Delete)
	s.Upcoming = nil
	return s, err
}

// PauseSchedule keeps a schedule from making flows.
func (c Caller) PauseSchedule(ctx context.Context, p api.ScheduleParams) (api.Schedule, error) {
	return c.onSchedule(ctx, domain.VerbStart, p, c.api.parts.Schedules.Pause)
}

// ResumeSchedule lets a paused schedule go on.
func (c Caller) ResumeSchedule(ctx context.Context, p api.ScheduleParams) (api.Schedule, error) {
	return c.onSchedule(ctx, domain.VerbStart, p, c.api.parts.Schedules.Resume)
}

func (c Caller) onSchedule(ctx context.Context, verb domain.Verb, p api.ScheduleParams,
	do func(context.Context, domain.TenantID, string) (*domain.Schedule, error)) (api.Schedule, error) {
	t, err := c.maySchedule(ctx, verb, p.Context, p.Name)
	if err != nil {
		return api.Schedule{}, err
	}
	s, err := do(ctx, p.Context, p.Name)
	return c.scheduled(t, s, 0, err)
}

// TriggerSchedule makes a flow of a schedule now, in the caller's name.
func (c Caller) TriggerSchedule(ctx context.Context, p api.ScheduleParams) (api.ScheduleTriggered, error) {
	if _, err := c.maySchedule(ctx, domain.VerbStart, p.Context, p.Name); err != nil {
		return api.ScheduleTriggered{}, err
	}
	r, err := c.api.parts.Schedules.Trigger(ctx, p.Context, p.Name, c.who.Actor, c.once.name(0))
	if err != nil {
		return api.ScheduleTriggered{}, err
	}
	return api.ScheduleTriggered{Flow: domain.FlowKey(r.ID), Existing: r.Existing}, nil
}

// BackfillSchedule begins to make the flows of a schedule's past times, in the caller's name,
// or says which they would be.
func (c Caller) BackfillSchedule(ctx context.Context, p api.ScheduleBackfillParams) (api.ScheduleBackfilled, error) {
	if _, err := c.maySchedule(ctx, domain.VerbStart, p.Context, p.Name); err != nil {
		return api.ScheduleBackfilled{}, err
	}
	ask := domain.Backfill{From: p.From, To: p.To, Max: cmp.Or(p.Max, 1), CallerID: c.who.Actor}
	if p.DryRun {
		plan, err := c.api.parts.Schedules.PlanBackfill(ctx, p.Context, p.Name, ask)
		out := api.ScheduleBackfilled{Backfill: plan.Backfill}
		for _, at := range plan.Times {
			one := api.BackfillTime{At: at.At, Trigger: at.Trigger}
			if at.Flow != 0 {
				one.Flow = domain.FlowKey(at.Flow)
			}
			out.Times = append(out.Times, one)
		}
		return out, err
	}
	s, err := c.api.parts.Schedules.Backfill(ctx, p.Context, p.Name, ask)
	if err != nil {
		return api.ScheduleBackfilled{}, err
	}
	return api.ScheduleBackfilled{Backfill: *s.State.Backfill}, nil
}

// CancelBackfill ends the backfill of a schedule; its flows go on.
func (c Caller) CancelBackfill(ctx context.Context, p api.ScheduleParams) (api.Schedule, error) {
	return c.onSchedule(ctx, domain.VerbCancel, p, c.api.parts.Schedules.CancelBackfill)
}
