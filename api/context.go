package api

import (
	"context"
	"errors"
	"strconv"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// CreateContextParams are those of context.create: the context's fields. Id 0
// is the next free one; its times are the board's.
type CreateContextParams struct {
	domain.Tenant
}

// CreatedContext is the answer to context.create.
type CreatedContext struct {
	domain.Tenant
	// Existing is true when the same context was there already.
	Existing bool `json:"existing"`
}

// CreateContext makes a context.
func (c Caller) CreateContext(ctx context.Context, p CreateContextParams) (CreatedContext, error) {
	if err := c.mayHere(ctx, identity.Administrate, "context"); err != nil {
		return CreatedContext{}, err
	}
	t, existing, err := c.api.parts.Directory.As(c.who.Actor).CreateTenant(ctx, p.Tenant)
	return CreatedContext{t, existing}, err
}

// GrantParams are those of context.grant and context.revoke.
type GrantParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Actor   domain.ActorID  `json:"actor"`
	// Role is admin, executor or reader; to revoke, "" is all of them.
	Role identity.Role `json:"role,omitzero"`
}

// GrantedContext is the answer: the context as it is now.
type GrantedContext struct {
	domain.Tenant
	// Changed is false when it was so already.
	Changed bool `json:"changed"`
}

// GrantContext gives an actor a role.
func (c Caller) GrantContext(ctx context.Context, p GrantParams) (GrantedContext, error) {
	if _, err := c.may(ctx, identity.Grant, p.Context, domain.Actor{ID: p.Actor}.Key()); err != nil {
		return GrantedContext{}, err
	}
	t, changed, err := c.api.parts.Directory.As(c.who.Actor).Grant(ctx, p.Context, p.Actor, p.Role)
	return GrantedContext{t, changed}, err
}

// RevokeContext takes a role from an actor, or all it has.
func (c Caller) RevokeContext(ctx context.Context, p GrantParams) (GrantedContext, error) {
	if _, err := c.may(ctx, identity.Grant, p.Context, domain.Actor{ID: p.Actor}.Key()); err != nil {
		return GrantedContext{}, err
	}
	t, changed, err := c.api.parts.Directory.As(c.who.Actor).Revoke(ctx, p.Context, p.Actor, p.Role)
	return GrantedContext{t, changed}, err
}

// UpdateContextParams are those of context.update: what is to be changed.
type UpdateContextParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	domain.TenantChange
}

// UpdateContext changes a context's shares, whether its executors submit, and its
// isolation. That an admin may change too: it only holds in further than the node.
func (c Caller) UpdateContext(ctx context.Context, p UpdateContextParams) (domain.Tenant, error) {
	if _, err := c.may(ctx, identity.Grant, p.Context, "context"); err != nil {
		return domain.Tenant{}, err
	}
	return c.api.parts.Directory.As(c.who.Actor).UpdateTenant(ctx, p.Context, p.TenantChange)
}

// ContextNamed is the context that the caller calls by its number or its alias:
// for doors, before they know what is asked.
func (c Caller) ContextNamed(ctx context.Context, name string) (domain.TenantID, error) {
	return c.api.parts.Access.Named(ctx, c.who, name)
}

// ContextParams name a context.
type ContextParams struct {
	Context domain.TenantID `json:"-" path:"context"`
}

// ShowContext reads a context. The operator may read the lists of any: it made
// them.
func (c Caller) ShowContext(ctx context.Context, p ContextParams) (ShownContext, error) {
	if err := c.mayShow(ctx, p.Context); err != nil {
		return ShownContext{}, err
	}
	t, err := c.api.parts.Directory.Tenant(ctx, p.Context)
	if err != nil || c.api.parts.Encryption == nil {
		return ShownContext{Tenant: t}, err
	}
	e, ever, err := c.api.parts.Encryption.Encryption(ctx, p.Context)
	if err != nil || !ever {
		return ShownContext{Tenant: t}, err
	}
	return ShownContext{t, &e}, nil
}

func (c Caller) mayShow(ctx context.Context, tenant domain.TenantID) error {
	if c.who.Operates(identity.Inspect, c.group) {
		return c.mayHere(ctx, identity.Inspect, domain.Tenant{ID: tenant}.Key())
	}
	_, err := c.may(ctx, identity.Read, tenant, "context")
	return err
}

// ListContextsParams are those of context.list.
type ListContextsParams struct {
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
}

// directoryMost is how many contexts or actors a page has at the least, where
// there are so many: most boards fit on one.
const directoryMost = 10_000

// ListContexts lists the contexts that the caller may know of: those it has a
// role in; all for the operator.
func (c Caller) ListContexts(ctx context.Context, p ListContextsParams) (ContextList, error) {
	if err := c.mayHere(ctx, identity.Know, "contexts"); err != nil {
		return ContextList{}, err
	}
	after := uint64(0)
	if p.Cursor != "" {
		n, err := strconv.ParseUint(p.Cursor, 10, 32)
		if err != nil {
			return ContextList{}, domain.Invalidf("cursor %q: want the next of the page before", p.Cursor)
		}
		after = n
	}
	list := ContextList{Contexts: []domain.Tenant{}}
	for len(list.Contexts) < directoryMost {
		ids, err := c.api.parts.Directory.Tenants(ctx, domain.TenantID(after))
		if err != nil {
			return ContextList{}, err
		}
		if len(ids) == 0 {
			return list, nil
		}
		for _, id := range ids {
			if err := c.addContext(ctx, &list, id); err != nil {
				return ContextList{}, err
			}
		}
		after = uint64(ids[len(ids)-1])
	}
	list.Next = strconv.FormatUint(after, 10)
	return list, nil
}

func (c Caller) addContext(ctx context.Context, list *ContextList, id domain.TenantID) error {
	if !c.who.Operates(identity.Inspect, c.group) {
		if sees, err := c.api.parts.Access.Sees(ctx, c.who, id); err != nil || !sees {
			return err
		}
	}
	t, err := c.api.parts.Directory.Tenant(ctx, id)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return nil // a creation that is under way
	case errors.Is(err, domain.ErrInvalid): // a foreign record: what could be read is shown
	case err != nil:
		return err
	}
	list.Contexts = append(list.Contexts, t)
	return nil
}
