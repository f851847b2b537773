package service

import (
	"cmp"
	"context"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Change says that a thing of a context has changed, was made or is gone. It says
// nothing of what it is: who shows that asks the operations.
type Change struct {
	// Noun is "flow", "job", "instance", "dead_letter", "schedule" or "routine".
	Noun string
	// Key is the thing's key on the board: "flow:12", "job:1:7".
	Key string
}

// changesMost bounds what is gathered of changes that come together.
const changesMost = 256

// Changes calls each with what changes in a context, together where that comes together,
// until ctx ends or each returns an error. Without any changes it says that everything may
// have changed: at first, and where there were more than one could be told of.
//
// It asks for no right, for it is a node's own: one call serves all who look at a context,
// and what they are shown they ask for themselves.
//
// Errors: the context's; [domain.ErrUnavailable]; what each returns.
func (s *Service) Changes(ctx context.Context, tenant domain.TenantID, each func([]Change) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := s.parts.Records.Watch(ctx, layout.SpaceOf(tenant), "")
	if err != nil {
		return err
	}
	if err := each(nil); err != nil {
		return err
	}
	for first := range events {
		gathered := map[Change]bool{}
		all := false
		take := func(key string) {
			noun, name := layout.Subject(key)
			all = all || key == ""
			if noun != "" {
				gathered[Change{noun, name}] = true
			}
		}
		take(first.Key)
		for range min(len(events), changesMost) {
			e, open := <-events
			if !open {
				break
			}
			take(e.Key)
		}
		if len(gathered) == 0 && !all {
			continue
		}
		list := make([]Change, 0, len(gathered))
		for c := range gathered {
			list = append(list, c)
		}
		if all {
			list = nil
		}
		if err := each(list); err != nil {
			return err
		}
	}
	return cmp.Or(context.Cause(ctx), error(domain.Unavailablef("the board was closed")))
}
