package service

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/hide"
	"github.com/ramet-run/ramet/layout"
)

// CreateContext makes a context.
func (c Caller) CreateContext(ctx context.Context, p api.CreateContextParams) (api.CreatedContext, error) {
	if err := c.mayHere(ctx, domain.VerbAdministrate, "context"); err != nil {
		return api.CreatedContext{}, err
	}
	if err := hide.Refuse(blueprint.HookEnvironments(p.On)...); err != nil {
		return api.CreatedContext{}, err
	}
	if c.once == nil || p.ID != 0 || p.Alias != "" {
		return c.createContext(ctx, p.Tenant, false)
	}
	for range onceNumbers {
		if p.ID = 0; !c.once.numbered() {
			if err := c.api.parts.Directory.As(c.who.Actor).CheckTenant(ctx, p.Tenant); err != nil {
				return api.CreatedContext{}, err
			}
		}
		number, err := c.once.number(ctx, layout.Seq("context", 0))
		if err == nil && number >= 1<<32 {
			err = domain.Limitf("no free context id was found; name one")
		}
		if err != nil {
			return api.CreatedContext{}, err
		}
		p.ID = domain.TenantID(number)
		made, err := c.createContext(ctx, p.Tenant, true)
		if !errors.Is(err, errNumberTaken) {
			return made, err
		}
		if err := c.once.unnumber(ctx); err != nil {
			return api.CreatedContext{}, err
		}
	}
	return api.CreatedContext{}, domain.Limitf("no free context id was found; name one")
}

// onceNumbers bounds how often a number is drawn that nobody has chosen by hand.
const onceNumbers = 100

// errNumberTaken is that somebody has chosen by hand the number that was drawn for a context.
var errNumberTaken = domain.Conflictf("the number that was drawn for the context is another's")

// createContext makes a context. drawn says that its number was drawn for it, so that one which is there
// already is somebody else's.
func (c Caller) createContext(ctx context.Context, t domain.Tenant, drawn bool) (api.CreatedContext, error) {
	prefix := strings.TrimSuffix(layout.Tenant(0), "0")
	of := thing{prefix: prefix, in: func(ctx context.Context) (board.Space, error) {
		if t.ID != 0 {
			return layout.SpaceOf(t.ID), nil
		}
		recs, err := board.Readable(c.once.keys.Get(ctx, 0, layout.Alias(t.Alias)))
		if err != nil {
			return 0, err
		}
		id, _ := strconv.ParseUint(recs[0].Get(layout.AliasOf), 10, 32) // 0: it was not made
		return layout.SpaceOf(domain.TenantID(id)), nil
	}}
	return makes(ctx, c, of, func(ctx context.Context) (api.CreatedContext, error) {
		made, existing, err := c.api.parts.Directory.As(c.who.Actor).CreateTenant(ctx, t)
		if drawn && (existing || errors.Is(err, domain.ErrConflict)) {
			err = errNumberTaken
		}
		return api.CreatedContext{Tenant: c.contextView(made), Existing: existing}, err
	}, func(ctx context.Context, was made) (api.CreatedContext, error) {
		id, err := domain.ParseTenantID(strings.TrimPrefix(was.key, prefix))
		if err != nil {
			return api.CreatedContext{}, err
		}
		made, err := c.api.parts.Directory.Tenant(ctx, id)
		return api.CreatedContext{Tenant: c.contextView(made), Existing: true}, err
	})
}

// GrantContext gives an actor a role.
func (c Caller) GrantContext(ctx context.Context, p api.GrantParams) (api.GrantedContext, error) {
	if _, err := c.may(ctx, domain.VerbGrant, p.Context, domain.Actor{ID: p.Actor}.Key()); err != nil {
		return api.GrantedContext{}, err
	}
	t, changed, err := c.api.parts.Directory.As(c.who.Actor).Grant(ctx, p.Context, p.Actor, p.Role)
	return api.GrantedContext{Tenant: c.contextView(t), Changed: changed}, err
}

// RevokeContext takes a role from an actor, or all it has.
func (c Caller) RevokeContext(ctx context.Context, p api.GrantParams) (api.GrantedContext, error) {
	if _, err := c.may(ctx, domain.VerbGrant, p.Context, domain.Actor{ID: p.Actor}.Key()); err != nil {
		return api.GrantedContext{}, err
	}
	t, changed, err := c.api.parts.Directory.As(c.who.Actor).Revoke(ctx, p.Context, p.Actor, p.Role)
	return api.GrantedContext{Tenant: c.contextView(t), Changed: changed}, err
}

// UpdateContext changes a context's shares, whether its executors submit, and its
// isolation. That an admin may change too: it only holds in further than the node.
func (c Caller) UpdateContext(ctx context.Context, p api.UpdateContextParams) (domain.Tenant, error) {
	if _, err := c.may(ctx, domain.VerbGrant, p.Context, "context"); err != nil {
		return domain.Tenant{}, err
	}
	if err := hide.Refuse(blueprint.HookEnvironments(p.On)...); err != nil {
		return domain.Tenant{}, err
	}
	t, err := c.api.parts.Directory.As(c.who.Actor).UpdateTenant(ctx, p.Context, p.TenantChange)
	return c.contextView(t), err
}

// contextView is a context as the caller may see it: its hooks have environments.
func (c Caller) contextView(t domain.Tenant) domain.Tenant {
	if t.On != nil && !c.who.Permits(t, domain.VerbReadEnv, false, c.group) {
		t.On = hooksView(t.On)
	}
	return t
}

// ContextNamed is the context that the caller calls by its number or its alias:
// for doors, before they know what is asked.
func (c Caller) ContextNamed(ctx context.Context, name string) (domain.TenantID, error) {
	return c.api.parts.Access.Named(ctx, c.who, name)
}

// ShowContext reads a context. The operator may read the lists of any: it made
// them.
func (c Caller) ShowContext(ctx context.Context, p api.ContextParams) (api.ShownContext, error) {
	if err := c.mayShow(ctx, p.Context); err != nil {
		return api.ShownContext{}, err
	}
	t, err := c.api.parts.Directory.Tenant(ctx, p.Context)
	t = c.contextView(t)
	if err != nil || c.api.parts.Encryption == nil {
		return api.ShownContext{Tenant: t}, err
	}
	e, ever, err := c.api.parts.Encryption.Encryption(ctx, p.Context)
	if err != nil || !ever {
		return api.ShownContext{Tenant: t}, err
	}
	return api.ShownContext{Tenant: t, Encryption: &e}, nil
}

func (c Caller) mayShow(ctx context.Context, tenant domain.TenantID) error {
	if c.who.Operates(domain.VerbInspect, c.group) {
		return c.mayHere(ctx, domain.VerbInspect, domain.Tenant{ID: tenant}.Key())
	}
	_, err := c.may(ctx, domain.VerbRead, tenant, "context")
	return err
}

// directoryMost is how many contexts or actors one call looks at, where there are so
// many: most boards fit on one page. Of contexts who has a role in few sees few.
const directoryMost = 10_000

// directoryLimit is how many a caller wants looked at.
func directoryLimit(limit int) (int, error) {
	if limit < 0 || limit > directoryMost {
		return 0, domain.Invalidf("limit %d: want 1 to %d, or 0 for that", limit, directoryMost)
	}
	return cmp.Or(limit, directoryMost), nil
}

// ListContexts lists the contexts that the caller may know of: those it has a
// role in; all for the operator.
func (c Caller) ListContexts(ctx context.Context, p api.ListContextsParams) (api.ContextPage, error) {
	if err := c.mayHere(ctx, domain.VerbKnow, "contexts"); err != nil {
		return api.ContextPage{}, err
	}
	after := uint64(0)
	if p.Cursor != "" {
		n, err := strconv.ParseUint(p.Cursor, 10, 32)
		if err != nil {
			return api.ContextPage{}, domain.Invalidf("cursor %q: want the next of the page before", p.Cursor)
		}
		after = n
	}
	limit, err := directoryLimit(p.Limit)
	if err != nil {
		return api.ContextPage{}, err
	}
	list := api.ContextPage{Contexts: []domain.Tenant{}}
	for looked := 0; looked < directoryMost; {
		ids, err := c.api.parts.Directory.Tenants(ctx, domain.TenantID(after), directoryMost)
		if err != nil {
			return api.ContextPage{}, err
		}
		if len(ids) == 0 {
			return list, nil
		}
		for _, id := range ids {
			if len(list.Contexts) == limit { // there is one more to look at
				list.Next = strconv.FormatUint(after, 10)
				return list, nil
			}
			if err := c.addContext(ctx, &list, id); err != nil {
				return api.ContextPage{}, err
			}
			after = uint64(id)
		}
		looked += len(ids)
	}
	list.Next = strconv.FormatUint(after, 10)
	return list, nil
}

func (c Caller) addContext(ctx context.Context, list *api.ContextPage, id domain.TenantID) error {
	if !c.who.Operates(domain.VerbInspect, c.group) {
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
	list.Contexts = append(list.Contexts, c.contextView(t))
	return nil
}
