package identity

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// CreateTenant makes a context: its record and what the board must know of it
// in its own space, then its entry in the list of contexts. Id 0 asks for the
// one that the alias has, or else the next free one. Creating the same context
// again is a no-op that returns the existing one, and finishes a creation that
// was cut off in the middle.
//
// Errors: [domain.ErrInvalid], also for members who do not exist;
// [domain.ErrConflict] for an id or an alias in use with other content.
func (r *Registry) CreateTenant(ctx context.Context, t domain.Tenant) (_ domain.Tenant, existing bool, err error) {
	t = t.Once()
	numbered := t.ID != 0
	if err := r.CheckTenant(ctx, t); err != nil {
		return domain.Tenant{}, false, err
	}
	switch {
	case t.Alias != "":
		return r.createNamed(ctx, t, numbered)
	case numbered:
		return r.createTenant(ctx, t)
	}
	for {
		if t.ID, err = r.nextTenant(ctx); err != nil {
			return domain.Tenant{}, false, err
		}
		made, existing, err := r.createTenant(ctx, t)
		if existing || errors.Is(err, domain.ErrConflict) {
			continue // somebody chose that id by hand
		}
		return made, false, err
	}
}

// CheckTenant finds what can be known to be in the way of [Registry.CreateTenant], before a number is drawn: that of a
// context which is refused would be nobody's, and on Redis each is a database.
//
// Errors: as those of CreateTenant.
func (r *Registry) CheckTenant(ctx context.Context, t domain.Tenant) error {
	t = t.Once()
	next := t.ID == 0 && t.Alias == ""
	if t.ID == 0 {
		t.ID = 1 // for validation
	}
	err := validate(t)
	if err == nil {
		err = r.checkMembers(ctx, t)
	}
	if err == nil && next {
		err = r.roomForNext(ctx)
	}
	return err
}

// roomForNext refuses where the context that is numbered next has no place on the board.
func (r *Registry) roomForNext(ctx context.Context) error {
	n, err := r.board.Next(ctx, 0, layout.Seq("context", 0), 0)
	if err == nil && n >= 1<<32 {
		err = errNoNumber
	}
	if err == nil {
		_, err = r.board.Get(ctx, layout.SpaceOf(domain.TenantID(n)), layout.Tenant(domain.TenantID(n)))
	}
	return err
}

var errNoNumber = domain.Limitf("no free context id was found; name one")

// validate checks a context, and what is done when its flows end.
//
// Errors: [domain.ErrInvalid].
func validate(t domain.Tenant) error {
	return errors.Join(t.Validate(), blueprint.ValidateHooks(t.On))
}

// nextTenant is a number that no context got from it yet. They come one by one:
// on Redis each context is a numbered database, and those are few.
func (r *Registry) nextTenant(ctx context.Context) (domain.TenantID, error) {
	if err := r.roomForNext(ctx); err != nil {
		return 0, err
	}
	n, err := r.board.Next(ctx, 0, layout.Seq("context", 0), 1)
	if err == nil && n >= 1<<32 {
		err = errNoNumber
	}
	return domain.TenantID(n), err
}

// checkMembers refuses actors who do not exist: whoever got that number later
// would find himself with rights that were meant for somebody else.
func (r *Registry) checkMembers(ctx context.Context, t domain.Tenant) error {
	ids := slices.Concat(t.Admins, t.Executors, t.Readers)
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = layout.Actor(id)
	}
	recs, err := r.board.Get(ctx, 0, keys...)
	if err != nil {
		return err
	}
	for i, rec := range recs {
		if rec == nil {
			return domain.Invalidf("actor %d does not exist; register it first with `ramet actor new`", ids[i])
		}
	}
	return nil
}

func (r *Registry) createTenant(ctx context.Context, t domain.Tenant) (_ domain.Tenant, existing bool, err error) {
	t.CreatedAt = 0
	t = t.Touched(time.Now())
	b := noted{Batch: board.Batch{Space: layout.SpaceOf(t.ID)}}
	b.Absent(t.Key()).Set(t.Key(), layout.EncodeTenant(t)...)
	if limits := layout.EncodeLimits(t); len(limits) > 0 {
		b.Set(layout.Limits, limits...)
	}
	r.note(&b, t.ID, domain.VerbCreate, t.Key(), rolesText(t))
	switch err := r.commit(ctx, b); {
	case errors.Is(err, domain.ErrConflict):
		old, err := r.Tenant(ctx, t.ID)
		if err != nil {
			return domain.Tenant{}, false, err
		}
		if !sameTenant(old, t) {
			return domain.Tenant{}, false, inUse(t)
		}
		t, existing = old, true
	case err != nil:
		return domain.Tenant{}, false, err
	}
	r.tenants.forget(t.ID)
	r.byAlias.forget(t.Alias)
	var b0 noted
	if !existing {
		r.note(&b0, t.ID, domain.VerbCreate, t.Key(), rolesText(t)) // for the operator, who may have no role there
	}
	return t, existing, r.include(ctx, t.ID, b0)
}

// include puts a context into the list of all, with a batch for space 0.
func (r *Registry) include(ctx context.Context, id domain.TenantID, b noted) error {
	b.Include(layout.Contexts, strconv.FormatUint(uint64(id), 10))
	return r.commit(ctx, b)
}

// rolesText says for people who is in a context; long lists are cut.
func rolesText(t domain.Tenant) string {
	text := fmt.Sprintf("admins %v, executors %v, readers %v", t.Admins, t.Executors, t.Readers)
	if t.Alias != "" {
		text = "alias " + t.Alias + ", " + text
	}
	return text + choicesText(t)
}

// choicesText is what the audit log says of a context's isolation, and of what of it
// is archived.
func choicesText(t domain.Tenant) (text string) {
	if t.Isolation != "" {
		text = ", isolation " + string(t.Isolation)
	}
	if t.Archives != "" {
		text += ", archives " + string(t.Archives)
	}
	for _, on := range domain.HookOns {
		if t.On.Of(on) != nil {
			text += ", hook for " + string(on)
		}
	}
	return text
}

func sameTenant(a, b domain.Tenant) bool {
	return slices.Equal(a.Admins, b.Admins) && slices.Equal(a.Readers, b.Readers) && slices.Equal(a.Executors, b.Executors) &&
		a.Alias == b.Alias && a.ExecutorsMaySubmit == b.ExecutorsMaySubmit && a.Weight == b.Weight && a.MaxRunning == b.MaxRunning &&
		maps.Equal(a.MaxRunningByType, b.MaxRunningByType) && a.Isolation == b.Isolation && a.Archives == b.Archives &&
		reflect.DeepEqual(a.On, b.On)
}

// Tenant reads one context.
//
// Errors: [domain.ErrNotFound].
func (r *Registry) Tenant(ctx context.Context, id domain.TenantID) (domain.Tenant, error) {
	recs, err := r.board.Get(ctx, layout.SpaceOf(id), layout.Tenant(id))
	if err != nil {
		return domain.Tenant{}, err
	}
	return decodeTenant(id, recs[0])
}

// KnownTenant is [Registry.Tenant] from memory where it was read within the last
// second.
func (r *Registry) KnownTenant(ctx context.Context, id domain.TenantID) (domain.Tenant, error) {
	return r.tenants.get(ctx, id)
}

func decodeTenant(id domain.TenantID, rec board.Record) (domain.Tenant, error) {
	if rec == nil || id == 0 {
		return domain.Tenant{}, domain.NotFoundf("context %d does not exist", id)
	}
	t, err := layout.DecodeTenant(layout.Tenant(id), rec)
	t.ID = id // the key is the identity, whatever a foreign program wrote
	return t, err
}

// Tenants returns the ids of up to limit contexts, and up to 500, that come after
// the given one in the board's order, which is that of their decimal texts. Pass 0
// first; an empty page is the end.
func (r *Registry) Tenants(ctx context.Context, after domain.TenantID, limit int) ([]domain.TenantID, error) {
	from := ""
	if after != 0 {
		from = strconv.FormatUint(uint64(after), 10)
	}
	page, err := r.board.Members(ctx, 0, layout.Contexts, from, min(max(limit, 1), listPage))
	if err != nil {
		return nil, err
	}
	ids := make([]domain.TenantID, 0, len(page))
	for _, m := range page {
		if n, err := strconv.ParseUint(m, 10, 32); err == nil && n != 0 {
			ids = append(ids, domain.TenantID(n))
		}
	}
	return ids, nil
}
