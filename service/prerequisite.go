package service

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// MeetPrerequisite marks a prerequisite as met.
func (c Caller) MeetPrerequisite(ctx context.Context, p api.MeetParams) (api.Prerequisite, error) {
	if _, err := c.may(ctx, domain.VerbMeet, p.Context, "prerequisite:"+p.Name); err != nil {
		return api.Prerequisite{}, err
	}
	return p.Prerequisite, c.api.parts.Jobs.MarkMet(ctx, p.Context, p.Name)
}
