package api

import (
	"context"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// Duties is what the operations need of those who keep the rules of duty.
type Duties interface {
	Rules(ctx context.Context) (domain.Duties, error)
	SetRules(ctx context.Context, rules domain.Duties) error
}

// Duty is the rules by which nodes lose roles.
//
//	GET    /v1/duty   Duty
//	PUT    /v1/duty   domain.Duties -> Duty
//	DELETE /v1/duty   Duty
type Duty struct {
	domain.Duties
	// Off are the roles that this node has lost.
	Off []domain.Off `json:"off,omitzero"`
}

// DutyParams are those of duty.show and duty.clear: none.
type DutyParams struct{}

// ShowDuty shows the rules.
func (c Caller) ShowDuty(ctx context.Context, _ DutyParams) (Duty, error) {
	if err := c.mayHere(ctx, identity.Inspect, "duty"); err != nil {
		return Duty{}, err
	}
	return c.duty(ctx)
}

func (c Caller) duty(ctx context.Context) (Duty, error) {
	rules, err := c.api.parts.Duties.Rules(ctx)
	return Duty{rules, c.api.parts.Info().Off}, err
}

// SetDuty puts rules in place of those before. A node that has lost its gateway
// does it too: else nobody could give it back.
func (c Caller) SetDuty(ctx context.Context, p domain.Duties) (Duty, error) {
	if _, err := c.mayAlways(ctx, identity.Administrate, 0, "duty"); err != nil {
		return Duty{}, err
	}
	if len(p.Rules) == 0 {
		return Duty{}, domain.Invalidf("rules is empty; to take all away, use duty.clear (`ramet duty clear`)")
	}
	if err := c.api.parts.Duties.SetRules(ctx, p); err != nil {
		return Duty{}, err
	}
	return Duty{Duties: p}, nil
}

// ClearDuty takes all rules away.
func (c Caller) ClearDuty(ctx context.Context, _ DutyParams) (Duty, error) {
	if _, err := c.mayAlways(ctx, identity.Administrate, 0, "duty"); err != nil {
		return Duty{}, err
	}
	return Duty{}, c.api.parts.Duties.SetRules(ctx, domain.Duties{})
}
