package api

import (
	"context"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// MeetParams are those of prerequisite.meet.
type MeetParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	PrerequisiteMeet
}

// MeetPrerequisite marks a prerequisite as met.
func (c Caller) MeetPrerequisite(ctx context.Context, p MeetParams) (PrerequisiteMeet, error) {
	if _, err := c.may(ctx, identity.Meet, p.Context, "prerequisite:"+p.Name); err != nil {
		return PrerequisiteMeet{}, err
	}
	return p.PrerequisiteMeet, c.api.parts.Jobs.MarkMet(ctx, p.Context, p.Name)
}
