package service

import (
	"cmp"
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Bans is what the operations need of those who keep bans.
type Bans interface {
	Set(ctx context.Context, b domain.Ban) (domain.Ban, error)
	Lift(ctx context.Context, scope domain.BanScope) (domain.Ban, error)
	Get(ctx context.Context, scope domain.BanScope) (domain.Ban, error)
	List(ctx context.Context) ([]domain.Ban, error)
	Holds(ctx context.Context, scope domain.BanScope, level domain.BanLevel) (domain.Ban, bool, error)
}

// SetBan bans something of a context, or the context.
func (c Caller) SetBan(ctx context.Context, p api.BanParams) (domain.Ban, error) {
	if _, err := c.may(ctx, domain.VerbBan, p.In, bannedIn(p.In, p.BanScope)); err != nil {
		return domain.Ban{}, err
	}
	scope, err := scopeIn(p.In, p.BanScope)
	if err != nil {
		return domain.Ban{}, err
	}
	if err := c.mayOverBan(ctx, p.In, scope); err != nil {
		return domain.Ban{}, err
	}
	p.BanScope = scope
	return c.ban(ctx, p.BanInput)
}

// mayOverBan asks for the right to end the ban that holds on a scope of a
// context, if there is one: what the operator has set, only the operator ends,
// or whoever is banned would end it himself. Pauses of flows are for whoever
// may pause.
func (c Caller) mayOverBan(ctx context.Context, tenant domain.TenantID, scope domain.BanScope) error {
	least := domain.BanPick
	if scope.Kind == domain.BanRoutine {
		least = domain.BanExec
	}
	by, holds, err := c.api.parts.Bans.Holds(ctx, scope, least)
	switch {
	case err != nil || !holds || pauses(by):
		return err
	case by.By == domain.Operator:
		return c.mayHere(ctx, domain.VerbAdministrate, banned(scope))
	}
	_, err = c.may(ctx, domain.VerbBan, tenant, banned(scope))
	return err
}

// pauses reports whether a ban is a pause, which whoever may pause may end. What
// the operator has paused stays the operator's.
func pauses(b domain.Ban) bool {
	switch b.Kind {
	case domain.BanFlow:
		return b.Reason == flowPaused
	case domain.BanSaga:
		return b.Reason == sagaPaused
	case domain.BanEffect:
		return b.Reason == effectPaused
	}
	return false
}

func (c Caller) ban(ctx context.Context, in api.BanInput) (domain.Ban, error) {
	b := domain.Ban{BanScope: in.BanScope, Level: in.Level, By: c.who.Actor, Reason: in.Reason, UntilMs: in.UntilMs}
	if err := b.Validate(); err != nil {
		return b, err
	}
	if err := c.bannable(ctx, b.BanScope); err != nil {
		return b, err
	}
	return c.api.parts.Bans.Set(ctx, b)
}

// bannable returns an error for a context or a flow that is not there: a number
// is soon mistyped. A blueprint, a routine or a target may be banned before it
// is there.
func (c Caller) bannable(ctx context.Context, s domain.BanScope) error {
	if s.Context != 0 {
		if _, err := c.api.parts.Directory.Tenant(ctx, s.Context); err != nil {
			return err
		}
	}
	if s.Kind != domain.BanFlow {
		return nil
	}
	id, err := domain.ParseFlowKey(s.Name)
	if err != nil {
		return err
	}
	recs, err := c.api.parts.Records.Get(ctx, layout.SpaceOf(s.Context), domain.FlowKey(id))
	if err == nil && recs[0] == nil {
		err = domain.NotFoundf("flow %d does not exist in context %d", id, s.Context)
	}
	return err
}

// banned names a scope in the audit log.
func banned(s domain.BanScope) string { return "ban:" + s.String() }

// bannedIn is the same for a scope that need not name its context.
func bannedIn(t domain.TenantID, s domain.BanScope) string {
	s.Context = cmp.Or(s.Context, t)
	return banned(s)
}

// scopeIn is a scope within a context: what is wider is the operator's.
func scopeIn(t domain.TenantID, s domain.BanScope) (domain.BanScope, error) {
	if s.Kind == domain.BanAll {
		return s, domain.Forbiddenf("a ban on all is the operator's, who sets it at /v1/bans (`ramet ban all`)")
	}
	if s.Context != 0 && s.Context != t {
		return s, domain.Invalidf("context %d, but the ban is set in context %d; leave it out", s.Context, t)
	}
	s.Context = t
	return s, nil
}

// LiftBan ends a ban of a context.
func (c Caller) LiftBan(ctx context.Context, p api.LiftParams) (domain.Ban, error) {
	if _, err := c.may(ctx, domain.VerbBan, p.In, bannedIn(p.In, p.BanScope)); err != nil {
		return domain.Ban{}, err
	}
	scope, err := scopeIn(p.In, p.BanScope)
	if err != nil {
		return domain.Ban{}, err
	}
	if err := c.mayOverBan(ctx, p.In, scope); err != nil {
		return domain.Ban{}, err
	}
	return c.api.parts.Bans.Lift(ctx, scope)
}

// ShowBan reads the ban on something of a context, or on the context.
func (c Caller) ShowBan(ctx context.Context, p api.ShowBanParams) (domain.Ban, error) {
	asked := domain.BanScope{Kind: p.Kind, Name: p.Name}
	if _, err := c.may(ctx, domain.VerbRead, p.In, bannedIn(p.In, asked)); err != nil {
		return domain.Ban{}, err
	}
	scope, err := scopeIn(p.In, asked)
	if err != nil {
		return domain.Ban{}, err
	}
	return c.api.parts.Bans.Get(ctx, scope)
}

// ListBans lists the bans that hold in a context, those on everything too.
func (c Caller) ListBans(ctx context.Context, p api.ListBansParams) (api.BanPage, error) {
	if _, err := c.may(ctx, domain.VerbRead, p.Context, "bans"); err != nil {
		return api.BanPage{}, err
	}
	return c.bans(ctx, func(b domain.Ban) bool { return b.Context == 0 || b.Context == p.Context })
}

func (c Caller) bans(ctx context.Context, keep func(domain.Ban) bool) (api.BanPage, error) {
	list := api.BanPage{Bans: []domain.Ban{}}
	all, err := c.api.parts.Bans.List(ctx)
	for _, b := range all {
		if keep(b) {
			list.Bans = append(list.Bans, b)
		}
	}
	return list, err
}

// SetBanAnywhere sets a ban as the operator: everywhere, or in any context.
func (c Caller) SetBanAnywhere(ctx context.Context, p api.BanInput) (domain.Ban, error) {
	if err := c.mayHere(ctx, domain.VerbAdministrate, banned(p.BanScope)); err != nil {
		return domain.Ban{}, err
	}
	return c.ban(ctx, p)
}

// LiftBanAnywhere ends a ban as the operator.
func (c Caller) LiftBanAnywhere(ctx context.Context, p domain.BanScope) (domain.Ban, error) {
	if err := c.mayHere(ctx, domain.VerbAdministrate, banned(p)); err != nil {
		return domain.Ban{}, err
	}
	return c.api.parts.Bans.Lift(ctx, p)
}

// ShowBanAnywhere reads any ban, for the operator.
func (c Caller) ShowBanAnywhere(ctx context.Context, p api.ShowAnyBanParams) (domain.Ban, error) {
	scope := domain.BanScope{Kind: p.Kind, Context: p.Context, Name: p.Name}
	if err := c.mayHere(ctx, domain.VerbInspect, banned(scope)); err != nil {
		return domain.Ban{}, err
	}
	return c.api.parts.Bans.Get(ctx, scope)
}

// ListAllBans lists the bans of all contexts, for the operator.
func (c Caller) ListAllBans(ctx context.Context, _ api.ListAllBansParams) (api.BanPage, error) {
	if err := c.mayHere(ctx, domain.VerbInspect, "bans"); err != nil {
		return api.BanPage{}, err
	}
	return c.bans(ctx, func(domain.Ban) bool { return true })
}
