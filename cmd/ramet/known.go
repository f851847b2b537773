package main

import (
	"context"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// This file answers from memory what is asked of a context for each job.

// permit says whether an actor may create work in a context.
func (p *parts) permit(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, object string) error {
	return p.access.Check(ctx, identity.Ask{Actor: actor, Verb: domain.VerbCreate, Tenant: tenant, Object: object})
}

// isolation is how far a context wants its scripts held in, from memory.
func (p *parts) isolation(ctx context.Context, tenant domain.TenantID) (domain.Isolation, error) {
	t, err := p.registry.KnownTenant(ctx, tenant)
	return t.Isolation, err
}

// hooks are those that a context has for its flows, from memory.
func (p *parts) hooks(ctx context.Context, tenant domain.TenantID) (*domain.Hooks, error) {
	t, err := p.registry.KnownTenant(ctx, tenant)
	return t.On, err
}

// archives is what of a context is archived, from memory.
func (p *parts) archives(ctx context.Context, tenant domain.TenantID) (domain.Archives, error) {
	t, err := p.registry.KnownTenant(ctx, tenant)
	return t.Archives, err
}
