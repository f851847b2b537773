package flow

import (
	"context"
	"errors"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Named are the flows of a blueprint that have these triggers, on the board or in the archive;
// 0 for what there is none of.
func (e *Engine) Named(ctx context.Context, tenant domain.TenantID, blueprint string, triggers []string) ([]domain.FlowID, error) {
	if len(triggers) == 0 {
		return nil, nil
	}
	keys := make([]string, len(triggers))
	for i, trigger := range triggers {
		keys[i] = layout.FlowName(blueprint, trigger)
	}
	// The board first: nothing leaves it that the archive does not have.
	recs, err := e.board.GetFields(ctx, layout.SpaceOf(tenant), []string{layout.FlowNameID}, keys...)
	if err != nil {
		return nil, err
	}
	ids := make([]domain.FlowID, len(triggers))
	for i, rec := range recs {
		key := rec.Get(layout.FlowNameID)
		if rec == nil && e.cfg.Names != nil {
			key, err = e.cfg.Names.Holder(ctx, archive.Name{Context: tenant, Blueprint: blueprint, Trigger: triggers[i]})
			if err != nil && !errors.Is(err, domain.ErrNotFound) {
				return nil, err
			}
		}
		ids[i], _ = domain.ParseFlowKey(key) // what a foreign program wrote is no flow
	}
	return ids, nil
}
