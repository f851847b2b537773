package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// This file looks whether what webhooks, listeners and schedules of a context are to start could
// run now: nobody waits for a flow that was never made, so that no job tells of it.

const (
	// maxStartsLooked bounds the webhooks, listeners and schedules that an audit looks at, and
	// maxStartPlans the blueprints of each, with those that its steps make flows of.
	maxStartsLooked = 1000
	maxStartPlans   = 50
)

// start is something that starts flows of a blueprint.
type start struct {
	key       string // as findings call it
	blueprint string
	version   int
	webhook   bool
}

// startsLacking finds what would start flows of which a step has nobody, or whose blueprint is
// gone. It is no part of what is stuck: a node may come. within bounds the time; 0: none.
func (c Caller) startsLacking(ctx context.Context, tenant domain.TenantID, within time.Duration) (found []domain.Finding, err error) {
	if c.api.parts.ListenersUnserved != nil {
		if found, err = c.api.parts.ListenersUnserved(ctx, tenant); err != nil {
			return nil, err
		}
	}
	starts, err := c.starts(ctx, tenant)
	if err != nil || len(starts) == 0 {
		return found, err
	}
	if i := slices.IndexFunc(starts, func(s start) bool { return s.webhook }); i >= 0 && c.api.parts.NoHTTP {
		found = append(found, domain.Finding{Key: starts[i].key, Text: "this node has no address for programs outside (`listen: none`), so that nobody can " +
			"send to a webhook here: start it with --listen, or see that another node of this board has one"})
	}
	lacks, err := c.api.parts.Jobs.Lacks(ctx, tenant)
	if err != nil {
		return found, err
	}
	began, known := time.Now(), map[start]string{} // by what is started
	for _, s := range starts[:min(len(starts), maxStartsLooked)] {
		if within > 0 && time.Since(began) > within {
			return found, nil
		}
		plan := start{blueprint: s.blueprint, version: s.version}
		text, looked := known[plan]
		if !looked {
			if text, err = c.planLacks(ctx, tenant, plan, lacks); err != nil {
				return found, err
			}
			known[plan] = text
		}
		if text != "" {
			found = append(found, domain.Finding{Key: s.key, Text: text})
		}
	}
	return found, nil
}

// starts are those of a context that are not paused, and start something still.
func (c Caller) starts(ctx context.Context, tenant domain.TenantID) (list []start, err error) {
	p := &c.api.parts
	if p.Webhooks != nil {
		hooks, err := p.Webhooks.List(ctx, tenant)
		if err != nil {
			return nil, err
		}
		for _, w := range hooks {
			if !w.Paused {
				list = append(list, start{"webhook " + w.Name, w.Blueprint, w.Version, true})
			}
		}
	}
	if p.Listeners != nil {
		all, err := p.Listeners.List(ctx, tenant)
		if err != nil {
			return nil, err
		}
		for _, l := range all {
			if !l.Paused {
				list = append(list, start{"listener " + l.Name, l.Blueprint, l.Version, false})
			}
		}
	}
	for cursor := ""; len(list) < maxStartsLooked; {
		page, next, err := p.Schedules.List(ctx, tenant, cursor)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			if !s.Paused && s.State.NextMs != 0 {
				list = append(list, start{"schedule " + s.Name, s.Blueprint, s.Version, false})
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	return list, nil
}

// planLacks says what is missing for a flow of a blueprint, with those that its steps make; "":
// nothing.
func (c Caller) planLacks(ctx context.Context, tenant domain.TenantID, first start, lacks func(*domain.Job) string) (string, error) {
	plans, seen := []start{first}, map[start]bool{first: true}
	for i := 0; i < len(plans) && i < maxStartPlans; i++ {
		plan := plans[i]
		stored, err := c.api.parts.Blueprints.Get(ctx, tenant, plan.blueprint, plan.version)
		if errors.Is(err, domain.ErrNotFound) {
			return fmt.Sprintf("its flows are made of blueprint %q, which is gone: apply it again, or delete this", plan.blueprint), nil
		} else if err != nil {
			return "", err
		}
		for _, j := range flow.Jobs(&stored.Blueprint) {
			if lack := lacks(j); lack != "" {
				return fmt.Sprintf("step %q of its flows, of blueprint %q, would wait: %s", j.Step, plan.blueprint, lack), nil
			}
		}
		for _, s := range stored.Blueprint.Steps {
			if s.Flow == nil {
				continue
			}
			if next := (start{blueprint: s.Flow.Blueprint, version: s.Flow.Version}); !seen[next] {
				seen[next] = true
				plans = append(plans, next)
			}
		}
	}
	return "", nil
}
