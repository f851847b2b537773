package api

import (
	"cmp"
	"context"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
)

// Schedules is what the operations need of the clockwork.
type Schedules interface {
	Apply(ctx context.Context, tenant domain.TenantID, def domain.Schedule, by domain.ActorID) (*domain.Schedule, error)
	Show(ctx context.Context, tenant domain.TenantID, name string) (*domain.Schedule, error)
	List(ctx context.Context, tenant domain.TenantID, cursor string) (list []*domain.Schedule, next string, err error)
	Delete(ctx context.Context, tenant domain.TenantID, name string) (*domain.Schedule, error)
	Pause(ctx context.Context, tenant domain.TenantID, name string) (*domain.Schedule, error)
	Resume(ctx context.Context, tenant domain.TenantID, name string) (*domain.Schedule, error)
	Trigger(ctx context.Context, tenant domain.TenantID, name string, by domain.ActorID) (flow.Receipt, error)
	Upcoming(def domain.Schedule, after time.Time, n int) ([]time.Time, error)
}

// defaultUpcoming is how many of its next times a schedule is shown with.
const defaultUpcoming = 10

// Schedule is a schedule as callers hand it in and get it. What callers hand
// in of caller_id, created_at, updated_at, state and upcoming is not looked
// at, so that what was shown can be changed and handed in again.
//
//	POST   /v1/contexts/{context}/schedules                     Schedule -> Schedule
//	POST   /v1/contexts/{context}/schedules/preview?n=          Schedule -> ScheduleTimes; nothing is stored
//	GET    /v1/contexts/{context}/schedules/{schedule}?n=       Schedule
//	DELETE /v1/contexts/{context}/schedules/{schedule}          Schedule, as it was
//	POST   /v1/contexts/{context}/schedules/{schedule}/pause    Schedule
//	POST   /v1/contexts/{context}/schedules/{schedule}/resume   Schedule
//	POST   /v1/contexts/{context}/schedules/{schedule}/trigger  ScheduleTriggered
type Schedule struct {
	domain.Schedule
	// Upcoming are its next times, in UTC; none while it is paused.
	Upcoming []time.Time `json:"upcoming,omitzero"`
}

// ScheduleList is a page of schedules, without params, env and variables.
//
//	GET /v1/contexts/{context}/schedules?cursor=
type ScheduleList struct {
	Schedules []Schedule `json:"schedules"`
	// Next is the cursor of the next page; "" is the end. A page may be empty
	// while more is to come.
	Next string `json:"next,omitzero"`
}

// ScheduleTimes are when a schedule comes, in UTC.
type ScheduleTimes struct {
	Upcoming []time.Time `json:"upcoming"`
}

// ScheduleTriggered is the flow that a schedule made by hand.
type ScheduleTriggered struct {
	Flow string `json:"flow"` // flow:<id>
	// Existing is true where there was a flow of that very second already.
	Existing bool `json:"existing,omitzero"`
}

// ScheduleApplyParams are those of schedule.apply.
type ScheduleApplyParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Schedule
}

// ScheduleParams name a schedule.
type ScheduleParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"schedule"`
}

// ScheduleShowParams are those of schedule.show.
type ScheduleShowParams struct {
	ScheduleParams
	// N is how many of its next times to show, up to 1,000. 0: 10.
	N int `json:"-" query:"n"`
}

// SchedulePreviewParams are those of schedule.preview.
type SchedulePreviewParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// N is how many times to show, up to 1,000. 0: 10.
	N int `json:"-" query:"n"`
	Schedule
}

// ScheduleListParams are those of schedule.list.
type ScheduleListParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
}

// maySchedule asks for a right on a schedule.
func (c Caller) maySchedule(ctx context.Context, verb identity.Verb, tenant domain.TenantID, name string) (domain.Tenant, error) {
	return c.may(ctx, verb, tenant, "schedule:"+name)
}

// ApplySchedule makes or changes a schedule; its flows are in the caller's name.
func (c Caller) ApplySchedule(ctx context.Context, p ScheduleApplyParams) (Schedule, error) {
	t, err := c.maySchedule(ctx, identity.Create, p.Context, p.Name)
	if err == nil {
		err = c.mayMake(ctx, p.Context, flow.Request{Blueprint: p.Blueprint, Version: p.Version})
	}
	if err == nil { // what is wrong in itself comes first
		_, err = c.api.parts.Schedules.Upcoming(p.Schedule.Schedule, time.Now(), 1)
	}
	if err == nil { // a flow of none would be refused at night, each time
		err = c.scheduleFits(ctx, p)
	}
	if err != nil {
		return Schedule{}, err
	}
	s, err := c.api.parts.Schedules.Apply(ctx, p.Context, p.Schedule.Schedule, c.who.Actor)
	return c.scheduled(t, s, 0, err)
}

// scheduleFits asks whether there is a blueprint that takes what is scheduled.
func (c Caller) scheduleFits(ctx context.Context, p ScheduleApplyParams) error {
	stored, err := c.api.parts.Blueprints.Get(ctx, p.Context, p.Blueprint, p.Version)
	if err != nil {
		return err
	}
	return stored.Blueprint.TakesParams(p.Params)
}

// scheduled is a schedule as the caller may see it, with its next n times.
func (c Caller) scheduled(t domain.Tenant, s *domain.Schedule, n int, err error) (Schedule, error) {
	if err != nil {
		return Schedule{}, err
	}
	out := Schedule{Schedule: *s}
	if !c.who.Permits(t, identity.ReadEnv, false, c.group) {
		out.Env = make(map[string]string, len(s.Env))
		for name := range s.Env {
			out.Env[name] = Redacted
		}
	}
	if !s.Paused {
		out.Upcoming, err = c.api.parts.Schedules.Upcoming(*s, time.Now(), cmp.Or(n, defaultUpcoming))
	}
	return out, err
}

// ShowSchedule reads one schedule.
func (c Caller) ShowSchedule(ctx context.Context, p ScheduleShowParams) (Schedule, error) {
	t, err := c.maySchedule(ctx, identity.Read, p.Context, p.Name)
	if err != nil {
		return Schedule{}, err
	}
	s, err := c.api.parts.Schedules.Show(ctx, p.Context, p.Name)
	return c.scheduled(t, s, p.N, err)
}

// ListSchedules lists a page.
func (c Caller) ListSchedules(ctx context.Context, p ScheduleListParams) (ScheduleList, error) {
	if _, err := c.may(ctx, identity.Read, p.Context, "schedules"); err != nil {
		return ScheduleList{}, err
	}
	list, next, err := c.api.parts.Schedules.List(ctx, p.Context, p.Cursor)
	out := ScheduleList{Schedules: make([]Schedule, len(list)), Next: next}
	for i, s := range list {
		out.Schedules[i].Schedule = *s
		out.Schedules[i].Params, out.Schedules[i].Env, out.Schedules[i].Variables = nil, nil, nil
	}
	return out, err
}

// PreviewSchedule says when a schedule would come that is not stored.
func (c Caller) PreviewSchedule(ctx context.Context, p SchedulePreviewParams) (ScheduleTimes, error) {
	if _, err := c.maySchedule(ctx, identity.Read, p.Context, p.Name); err != nil {
		return ScheduleTimes{}, err
	}
	// What it is called and makes does not matter here.
	def := p.Schedule.Schedule
	def.Name, def.Blueprint = cmp.Or(def.Name, "preview"), cmp.Or(def.Blueprint, "preview")
	times, err := c.api.parts.Schedules.Upcoming(def, time.Now(), cmp.Or(p.N, defaultUpcoming))
	return ScheduleTimes{times}, err
}

// DeleteSchedule removes a schedule and returns it as it was; its flows stay.
func (c Caller) DeleteSchedule(ctx context.Context, p ScheduleParams) (Schedule, error) {
	s, err := c.onSchedule(ctx, identity.Delete, p, c.api.parts.Schedules.Delete)
	s.Upcoming = nil
	return s, err
}

// PauseSchedule keeps a schedule from making flows.
func (c Caller) PauseSchedule(ctx context.Context, p ScheduleParams) (Schedule, error) {
	return c.onSchedule(ctx, identity.Start, p, c.api.parts.Schedules.Pause)
}

// ResumeSchedule lets a paused schedule go on.
func (c Caller) ResumeSchedule(ctx context.Context, p ScheduleParams) (Schedule, error) {
	return c.onSchedule(ctx, identity.Start, p, c.api.parts.Schedules.Resume)
}

func (c Caller) onSchedule(ctx context.Context, verb identity.Verb, p ScheduleParams,
	do func(context.Context, domain.TenantID, string) (*domain.Schedule, error)) (Schedule, error) {
	t, err := c.maySchedule(ctx, verb, p.Context, p.Name)
	if err != nil {
		return Schedule{}, err
	}
	s, err := do(ctx, p.Context, p.Name)
	return c.scheduled(t, s, 0, err)
}

// TriggerSchedule makes a flow of a schedule now, in the caller's name.
func (c Caller) TriggerSchedule(ctx context.Context, p ScheduleParams) (ScheduleTriggered, error) {
	if _, err := c.maySchedule(ctx, identity.Start, p.Context, p.Name); err != nil {
		return ScheduleTriggered{}, err
	}
	r, err := c.api.parts.Schedules.Trigger(ctx, p.Context, p.Name, c.who.Actor)
	if err != nil {
		return ScheduleTriggered{}, err
	}
	return ScheduleTriggered{Flow: domain.FlowKey(r.ID), Existing: r.Existing}, nil
}
