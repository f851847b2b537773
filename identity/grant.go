package identity

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// changeTries bounds how often a change is made anew because somebody else
// changed the same record meanwhile.
const changeTries = 20

// Grant puts an actor into the list of a role. It reports false where it was
// there already. An actor may be in several lists: the strongest role counts.
//
// Errors: [domain.ErrInvalid] for an unknown role, and an actor who is not
// registered; [domain.ErrNotFound] for the context.
func (r *Registry) Grant(ctx context.Context, tenant domain.TenantID, actor domain.ActorID,
	role domain.ContextRole) (_ domain.Tenant, changed bool, err error) {
	if err := r.checkMembers(ctx, domain.Tenant{Admins: []domain.ActorID{actor}}); err != nil {
		return domain.Tenant{}, false, err
	}
	return r.changeTenant(ctx, tenant, func(t *domain.Tenant) (act, error) {
		list, err := listOf(t, role)
		if err != nil || slices.Contains(*list, actor) {
			return act{}, err
		}
		*list = append(*list, actor)
		return act{domain.VerbGrant, domain.Actor{ID: actor}.Key(), string(role)}, nil
	})
}

// Revoke takes an actor out of the list of a role, or out of all lists where
// role is "". It reports false where it was in none. Every node acts by it
// within [CacheFor].
//
// Errors: [domain.ErrInvalid] for an unknown role; [domain.ErrNotFound] for the
// context; [domain.ErrConflict] for the last admin of a context.
func (r *Registry) Revoke(ctx context.Context, tenant domain.TenantID, actor domain.ActorID,
	role domain.ContextRole) (_ domain.Tenant, changed bool, err error) {
	roles := []domain.ContextRole{role}
	if role == "" {
		roles = []domain.ContextRole{domain.Admin, domain.Executor, domain.Reader}
	}
	return r.changeTenant(ctx, tenant, func(t *domain.Tenant) (act, error) {
		var taken []string
		for _, role := range roles {
			list, err := listOf(t, role)
			if err != nil {
				return act{}, err
			}
			if i := slices.Index(*list, actor); i >= 0 {
				*list = slices.DeleteFunc(*list, func(a domain.ActorID) bool { return a == actor })
				taken = append(taken, string(role))
			}
		}
		if len(taken) == 0 {
			return act{}, nil
		}
		if len(t.Admins) == 0 {
			return act{}, domain.Conflictf("actor %d is the last admin of context %d: nobody could manage it; grant another actor --role admin first", actor, t.ID)
		}
		return act{domain.VerbRevoke, domain.Actor{ID: actor}.Key(), strings.Join(taken, " ")}, nil
	})
}

// listOf is the list of those who have a role.
//
// Errors: [domain.ErrInvalid].
func listOf(t *domain.Tenant, role domain.ContextRole) (*[]domain.ActorID, error) {
	switch role {
	case domain.Admin:
		return (*[]domain.ActorID)(&t.Admins), nil
	case domain.Executor:
		return (*[]domain.ActorID)(&t.Executors), nil
	case domain.Reader:
		return (*[]domain.ActorID)(&t.Readers), nil
	}
	return nil, domain.Invalidf("role %q: want admin, executor or reader", string(role))
}

// UpdateTenant changes how much of the nodes a context gets, whether its executors
// may submit, how far its scripts are held in, and what of it is archived. What the board
// weighs and caps follows in the same commit.
//
// Errors: [domain.ErrInvalid]; [domain.ErrNotFound].
func (r *Registry) UpdateTenant(ctx context.Context, tenant domain.TenantID, change domain.TenantChange) (domain.Tenant, error) {
	t, _, err := r.changeTenant(ctx, tenant, func(t *domain.Tenant) (act, error) {
		was := *t
		var err error
		if *t, err = t.With(change); err != nil || sameTenant(was, *t) {
			return act{}, err
		}
		return act{domain.VerbUpdate, t.Key(), settingsText(*t)}, nil
	})
	return t, err
}

// settingsText says for people what a context has.
func settingsText(t domain.Tenant) string {
	text := fmt.Sprintf("executors_may_submit %v, weight %d, max_running %d", t.ExecutorsMaySubmit, max(t.Weight, 1), t.MaxRunning)
	for _, typ := range slices.Sorted(maps.Keys(t.MaxRunningByType)) {
		text += fmt.Sprintf(", %s %d", typ, t.MaxRunningByType[typ])
	}
	return text + choicesText(t)
}

// act is what the audit log says of a change; the zero act is that there was
// nothing to change.
type act struct {
	verb           domain.Verb
	object, detail string
}

// changeTenant reads a context, changes it, and writes it if it still is as it
// was; else it begins again. change may be called several times.
func (r *Registry) changeTenant(ctx context.Context, id domain.TenantID, change func(*domain.Tenant) (act, error)) (_ domain.Tenant, changed bool, err error) {
	for range changeTries {
		var t domain.Tenant
		t, changed, err = r.tryChange(ctx, id, change)
		if guard := (*board.GuardError)(nil); !errors.As(err, &guard) {
			return t, changed, err
		}
	}
	return domain.Tenant{}, false, domain.Unavailablef("context %d is changed by others all the time; try again", id)
}

func (r *Registry) tryChange(ctx context.Context, id domain.TenantID, change func(*domain.Tenant) (act, error)) (_ domain.Tenant, changed bool, err error) {
	space := layout.SpaceOf(id)
	recs, err := r.board.Get(ctx, space, layout.Tenant(id), layout.Limits)
	if err != nil {
		return domain.Tenant{}, false, err
	}
	t, err := decodeTenant(id, recs[0])
	if err != nil {
		return domain.Tenant{}, false, err
	}
	done, err := change(&t)
	if err != nil || done == (act{}) {
		return t, false, err
	}
	if err := validate(t); err != nil {
		return domain.Tenant{}, false, err
	}
	t = t.Touched(time.Now())
	b := noted{Batch: board.Batch{Space: space}}
	layout.ChangeTenant(&b.Batch, recs[0], t)
	layout.ChangeLimits(&b.Batch, recs[1], t)
	r.note(&b, id, done.verb, done.object, done.detail)
	if err := r.commit(ctx, b); err != nil {
		return domain.Tenant{}, false, err
	}
	r.tenants.forget(id)
	return t, true, nil
}
