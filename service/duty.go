package service

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Duties is what the operations need of those who keep the rules of duty.
type Duties interface {
	Rules(ctx context.Context) (domain.Duties, error)
	SetRules(ctx context.Context, rules domain.Duties) error
}

// ShowDuty shows the rules.
func (c Caller) ShowDuty(ctx context.Context, _ api.DutyParams) (api.Duty, error) {
	if err := c.mayHere(ctx, domain.VerbInspect, "duty"); err != nil {
		return api.Duty{}, err
	}
	return c.duty(ctx)
}

func (c Caller) duty(ctx context.Context) (api.Duty, error) {
	rules, err := c.api.parts.Duties.Rules(ctx)
	return api.Duty{Duties: rules, Off: c.api.parts.Info().Off}, err
}

// SetDuty puts rules in place of those before. A node that has lost its gateway
// does it too: else nobody could give it back.
func (c Caller) SetDuty(ctx context.Context, p domain.Duties) (api.Duty, error) {
	if _, err := c.mayAlways(ctx, domain.VerbAdministrate, 0, "duty"); err != nil {
		return api.Duty{}, err
	}
	if len(p.Rules) == 0 {
		return api.Duty{}, domain.Invalidf("rules is empty; to take all away, use duty.clear (`ramet duty clear`)")
	}
	if err := c.api.parts.Duties.SetRules(ctx, p); err != nil {
		return api.Duty{}, err
	}
	return api.Duty{Duties: p}, nil
}

// ClearDuty takes all rules away.
func (c Caller) ClearDuty(ctx context.Context, _ api.DutyParams) (api.Duty, error) {
	if _, err := c.mayAlways(ctx, domain.VerbAdministrate, 0, "duty"); err != nil {
		return api.Duty{}, err
	}
	return api.Duty{}, c.api.parts.Duties.SetRules(ctx, domain.Duties{})
}
