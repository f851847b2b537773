package flow

import (
	"context"
	"maps"
	"slices"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

// hookNeeds is what a hook finds of steps in needs, as what comes after them does. It is what
// they have left by now, and stands on the hook's job: the flow may be gone, or started again,
// before that is run. What has no room is left out; the state of its step is not.
func (e *Engine) hookNeeds(ctx context.Context, p ref, v *domain.FlowView, c calling) (map[string]domain.Need, error) {
	of := soughtByHook(c.hook)
	if !of.all && len(of.names) == 0 {
		return nil, nil
	}
	at := c.at
	if at == nil && c.plan != nil && v.Stepped {
		s, _, err := e.readState(ctx, p)
		if err != nil && !cannotBe(err) {
			return nil, err
		}
		if err == nil && len(s.Steps) == len(v.Steps) {
			at = whole(s.Steps).At
		}
	}
	needs, room := map[string]domain.Need{}, domain.MaxHookResult
	for _, i := range toldSteps(v) {
		step := &v.Steps[i]
		if !of.has(step.Name) {
			continue
		}
		n := domain.Need{State: string(step.Status)}
		if at != nil && c.plan != nil {
			n = needOf(&c.plan.Steps[i], at(i))
		} else if key, err := domain.ParseJobKey(step.Job); err == nil {
			n.Job = key.ID
		}
		one, err := e.leftBy(ctx, p, v.CallerID, n)
		if err != nil && !cannotBe(err) {
			return nil, err
		}
		told := domain.Need{State: n.State}
		if size := one.bytes(); err == nil && size <= room {
			told.Result, told.Results, room = one.result, one.results, room-size
		}
		needs[step.Name] = told
	}
	return needs, nil
}

// soughtByHook are the steps that a hook finds: a script may look at all.
func soughtByHook(h *domain.Hook) sought {
	if h.Effect == nil {
		return sought{all: true}
	}
	of := soughtBy(blueprint.CompileHook, h.Effect.Payload)
	of.names = append(of.names, soughtByTemplates(slices.Collect(maps.Values(h.Effect.Params))...).names...)
	return of
}

// bytes is about how long it is.
func (n *needed) bytes() int {
	size := mapBytes(n.result)
	for _, r := range n.results {
		size += mapBytes(r) + len(`{},`)
	}
	return size
}
