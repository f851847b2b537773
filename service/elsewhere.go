package service

import (
	"context"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// This file holds tokens that are narrowed to contexts to them where work goes
// elsewhere: a job, a step or a message for another context, here or at a peer,
// is done there in the actor's name.

// mayGo refuses a place that the caller's token does not reach.
//
// Errors: [domain.ErrForbidden].
func (c Caller) mayGo(at string) error {
	if at == "" || c.reachesAll() {
		return nil
	}
	place, err := domain.ParsePlace(at)
	if err != nil {
		return nil // it is refused where it is checked
	}
	if place.Peer != "" || place.Tenant == 0 || !c.who.Reaches(place.Tenant) {
		return c.tooNarrow(at)
	}
	return nil
}

func (c Caller) tooNarrow(at string) error {
	return domain.Forbiddenf("this token of actor %d is narrowed (%s): it sends nothing to %q", c.who.Actor, c.who.Scope, domain.PlainText(at, 64))
}

// reachesAll reports whether the caller's token is for all contexts.
func (c Caller) reachesAll() bool { return c.who.Scope == nil || len(c.who.Scope.Contexts) == 0 }

// mayGoAll is mayGo of all that jobs and steps name.
func (c Caller) mayGoAll(jobs []*domain.Job, plan *domain.Blueprint) error {
	for _, j := range jobs {
		if err := c.mayGo(j.At); err != nil {
			return err
		}
	}
	if plan == nil {
		return nil
	}
	for i := range plan.Steps {
		if err := c.mayGo(plan.Steps[i].At); err != nil {
			return err
		}
	}
	return nil
}

// mayMake is mayGo of all that a flow would do, by its stored blueprint too.
func (c Caller) mayMake(ctx context.Context, tenant domain.TenantID, r flow.Request) error {
	if c.reachesAll() {
		return nil
	}
	if err := c.mayGoAll(r.Jobs, r.Plan); err != nil || r.Blueprint == "" {
		return err
	}
	stored, err := c.api.parts.Blueprints.Get(ctx, tenant, r.Blueprint, r.Version)
	if err != nil {
		return err
	}
	return c.mayGoAll(nil, &stored.Blueprint)
}
