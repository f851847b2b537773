package identity

import (
	"context"
	"errors"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file gives contexts names. An alias is kept by a record in space 0,
// written before the context's own: so two contexts never have the same, and a
// creation that was cut off in between is finished under the number that the
// record has.

// aliasTries bounds how often a number is looked for that nobody chose by hand.
const aliasTries = 100

// createNamed makes a context that has an alias. Where somebody else takes the
// alias meanwhile it looks again: it may be the same context.
func (r *Registry) createNamed(ctx context.Context, t domain.Tenant, numbered bool) (_ domain.Tenant, existing bool, err error) {
	for range changeTries {
		made, existing, err := r.tryCreateNamed(ctx, t, numbered)
		if guard := (*board.GuardError)(nil); !errors.As(err, &guard) {
			return made, existing, err
		}
	}
	return domain.Tenant{}, false, domain.Unavailablef("alias %q is taken by others all the time; try again", t.Alias)
}

func (r *Registry) tryCreateNamed(ctx context.Context, t domain.Tenant, numbered bool) (_ domain.Tenant, existing bool, err error) {
	kept, err := r.keptFor(ctx, t.Alias)
	if err != nil {
		return domain.Tenant{}, false, err
	}
	free, err := r.aliasIsFree(ctx, t.Alias, kept)
	switch {
	case err != nil:
		return domain.Tenant{}, false, err
	case !free && !numbered:
		t.ID = kept
	case !free && kept != t.ID:
		return domain.Tenant{}, false, domain.Conflictf("alias %q is that of another context", t.Alias)
	case free && !numbered:
		if t.ID, err = r.emptyTenant(ctx); err != nil {
			return domain.Tenant{}, false, err
		}
	}
	// Before the alias is taken: who is refused takes none.
	old, err := r.Tenant(ctx, t.ID)
	switch {
	case err == nil && !sameTenant(old, t):
		return domain.Tenant{}, false, inUse(t)
	case err != nil && !errors.Is(err, domain.ErrNotFound):
		return domain.Tenant{}, false, err
	}
	if err := r.claimAlias(ctx, t, kept); err != nil {
		return domain.Tenant{}, false, err
	}
	return r.createTenant(ctx, t)
}

// inUse is the error for a context that is there with other content.
func inUse(t domain.Tenant) error {
	if t.Alias != "" {
		return domain.Conflictf("context %d exists with other content, or without the alias %q; choose others", t.ID, t.Alias)
	}
	return domain.Conflictf("context %d exists with other content; choose another id, or 0 for the next free one", t.ID)
}

// emptyTenant is a number that no context has.
func (r *Registry) emptyTenant(ctx context.Context) (domain.TenantID, error) {
	for range aliasTries {
		id, err := r.nextTenant(ctx)
		if err != nil {
			return 0, err
		}
		recs, err := r.board.Get(ctx, layout.SpaceOf(id), layout.Tenant(id))
		if err != nil || recs[0] == nil {
			return id, err
		}
	}
	return 0, errNoNumber
}

// keptFor is the context that an alias is kept for; 0: none.
func (r *Registry) keptFor(ctx context.Context, alias string) (domain.TenantID, error) {
	recs, err := r.board.Get(ctx, 0, layout.Alias(alias))
	if err != nil || recs[0] == nil {
		return 0, err
	}
	n, err := strconv.ParseUint(recs[0].Get(layout.AliasOf), 10, 32)
	if err != nil {
		return 0, domain.Invalidf("the record %s cannot be read", layout.Alias(alias))
	}
	return domain.TenantID(n), nil
}

// aliasIsFree reports whether nobody has an alias, nor ever will have: an alias
// is set when a context is made, so a context that is there without it has lost
// it for good.
func (r *Registry) aliasIsFree(ctx context.Context, alias string, kept domain.TenantID) (bool, error) {
	if kept == 0 {
		return true, nil
	}
	t, err := r.Tenant(ctx, kept)
	if errors.Is(err, domain.ErrNotFound) {
		return false, nil // its creation is under way, or was cut off
	}
	return err == nil && t.Alias != alias, err
}

// claimAlias keeps t's alias for it, where it is still kept as it was.
//
// Errors: a *[board.GuardError] where it is not.
func (r *Registry) claimAlias(ctx context.Context, t domain.Tenant, kept domain.TenantID) error {
	if kept == t.ID {
		return nil
	}
	key := layout.Alias(t.Alias)
	var b board.Batch
	if kept == 0 {
		b.Absent(key)
	} else {
		b.Equal(key, layout.AliasOf, strconv.FormatUint(uint64(kept), 10))
	}
	b.Set(key, board.Field{Name: layout.AliasOf, Value: strconv.FormatUint(uint64(t.ID), 10)})
	return r.board.Commit(ctx, b)
}

// tenantOf is the context that has an alias.
//
// Errors: [domain.ErrNotFound].
func (r *Registry) tenantOf(ctx context.Context, alias string) (domain.TenantID, error) {
	id, err := r.keptFor(ctx, alias)
	if err != nil {
		return 0, err
	}
	if id != 0 {
		t, err := r.tenants.get(ctx, id)
		if err == nil && t.Alias == alias {
			return id, nil
		}
		if err != nil && !errors.Is(err, domain.ErrNotFound) {
			return 0, err
		}
	}
	return 0, domain.NotFoundf("there is no context with the alias %q", alias)
}

// TenantByName is the context that a subject, a path or a person calls by its
// number or its alias; "" is the default context. It may answer from memory,
// for up to [CacheFor].
//
// Errors: [domain.ErrNotFound]; [domain.ErrInvalid] for what is neither.
func (r *Registry) TenantByName(ctx context.Context, name string) (domain.TenantID, error) {
	if name == "" {
		return domain.DefaultTenant, nil
	}
	if domain.ValidateAlias(name) == nil {
		return r.byAlias.get(ctx, name)
	}
	id, err := domain.ParseTenantID(name)
	if err != nil {
		return 0, err
	}
	_, err = r.tenants.get(ctx, id)
	return id, err
}

// TenantName is what subjects and the keys of sagas call a context; see
// [domain.Tenant.Name]. It may answer from memory, for up to [CacheFor].
//
// Errors: [domain.ErrNotFound].
func (r *Registry) TenantName(ctx context.Context, id domain.TenantID) (string, error) {
	t, err := r.tenants.get(ctx, id)
	return t.Name(), err
}
