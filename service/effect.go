package service

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Effects is what the operations need of those who do effects.
type Effects interface {
	List(ctx context.Context) []domain.EffectStatus
	Test(ctx context.Context, name string, tenant domain.TenantID) (domain.EffectTrial, error)
	TestCall(ctx context.Context, name string, tenant domain.TenantID, tenantName string, payload json.RawMessage) (domain.EffectTrial, error)
}

// testMost bounds a test.
const testMost = 90 * time.Second

// mayEffect asks for a right on an effect.
func (c Caller) mayEffect(ctx context.Context, verb domain.Verb, tenant domain.TenantID, object string) (Effects, error) {
	if _, err := c.may(ctx, verb, tenant, object); err != nil {
		return nil, err
	}
	switch {
	case c.api.parts.Effects != nil:
		return c.api.parts.Effects, nil
	case c.api.parts.Sagas == nil:
		return nil, c.noStreams()
	}
	return nil, domain.Unavailablef("this node does no effects: ask one that does")
}

// effectsOf are the effects that a context may use, as it may see them.
func (c Caller) effectsOf(ctx context.Context, engine Effects, tenant domain.TenantID) ([]domain.EffectStatus, error) {
	bans, err := c.bans(ctx, func(b domain.Ban) bool { return b.Kind == domain.BanEffect && (b.Context == 0 || b.Context == tenant) })
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(engine.List(ctx), func(s domain.EffectStatus) bool {
		return len(s.Contexts) > 0 && !slices.Contains(s.Contexts, tenant)
	})
	for i := range list {
		s := &list[i]
		for _, b := range bans.Bans {
			if s.Paused == "" && (b.Name == s.Name || b.Name == s.Target) {
				s.Paused = b.Reason
			}
		}
		if c.who.Operates(domain.VerbInspect, c.group) {
			continue
		}
		if len(s.Contexts) != 1 {
			s.Error, s.ErrorMs, s.Well = "", 0, false // it may tell of another context
		}
		s.Contexts = nil
	}
	return list, nil
}

// oneEffect is an effect that a context may use.
func (c Caller) oneEffect(ctx context.Context, engine Effects, tenant domain.TenantID, name string) (domain.EffectStatus, error) {
	list, err := c.effectsOf(ctx, engine, tenant)
	if err != nil {
		return domain.EffectStatus{}, err
	}
	names := make([]string, len(list))
	for i := range list {
		if names[i] = list[i].Name; names[i] == name {
			return list[i], nil
		}
	}
	hint := "; `ramet effect list` shows those there are"
	if near := domain.Nearest(name, names); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return domain.EffectStatus{}, domain.NotFoundf("context %d has no effect %q on this node%s", tenant, domain.PlainText(name, domain.MaxBanName), hint)
}

// ListEffects lists effects by name.
func (c Caller) ListEffects(ctx context.Context, p api.ListEffectsParams) (api.EffectPage, error) {
	engine, err := c.mayEffect(ctx, domain.VerbRead, p.Context, "effects")
	if err != nil {
		return api.EffectPage{}, err
	}
	list, err := c.effectsOf(ctx, engine, p.Context)
	return api.EffectPage{Effects: list}, err
}

// ShowEffect shows how one effect does.
func (c Caller) ShowEffect(ctx context.Context, p api.EffectParams) (domain.EffectStatus, error) {
	engine, err := c.mayEffect(ctx, domain.VerbRead, p.Context, "effect:"+p.Name)
	if err != nil {
		return domain.EffectStatus{}, err
	}
	return c.oneEffect(ctx, engine, p.Context, p.Name)
}

// TestEffect looks whether an effect works.
func (c Caller) TestEffect(ctx context.Context, p api.TestEffectParams) (domain.EffectTrial, error) {
	engine, err := c.mayEffect(ctx, domain.VerbStart, p.Context, "effect:"+p.Name)
	if err != nil {
		return domain.EffectTrial{}, err
	}
	if len(p.Payload) > 0 && !p.Call {
		return domain.EffectTrial{}, domain.Invalidf("payload is for a call: set call, which does the effect for real, or leave it out")
	}
	if _, err := c.oneEffect(ctx, engine, p.Context, p.Name); err != nil {
		return domain.EffectTrial{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, testMost)
	defer cancel()
	if !p.Call {
		return engine.Test(ctx, p.Name, p.Context)
	}
	name, err := c.api.parts.Directory.TenantName(ctx, p.Context)
	if err != nil {
		return domain.EffectTrial{}, err
	}
	return engine.TestCall(ctx, p.Name, p.Context, name, p.Payload)
}

// effectPaused is the reason of a ban that is a pause.
const effectPaused = "the effect is paused"

func effectScope(p api.EffectParams) domain.BanScope {
	return domain.BanScope{Kind: domain.BanEffect, Context: p.Context, Name: p.Name}
}

// PauseEffect lets a context's commands for an effect, or for all effects on a
// target, wait.
func (c Caller) PauseEffect(ctx context.Context, p api.EffectParams) (api.EffectDone, error) {
	if err := c.mayPauseEffect(ctx, domain.VerbCancel, p); err != nil {
		return api.EffectDone{}, err
	}
	return api.EffectDone{Effect: p.Name, Done: true}, c.pauseBy(ctx, effectScope(p), effectPaused)
}

// ResumeEffect lets them go on.
func (c Caller) ResumeEffect(ctx context.Context, p api.EffectParams) (api.EffectDone, error) {
	if err := c.mayPauseEffect(ctx, domain.VerbStart, p); err != nil {
		return api.EffectDone{}, err
	}
	return api.EffectDone{Effect: p.Name, Done: true}, c.resumeBy(ctx, effectScope(p))
}

// mayPauseEffect asks for the right, and looks whether the name is one.
func (c Caller) mayPauseEffect(ctx context.Context, verb domain.Verb, p api.EffectParams) error {
	engine, err := c.mayEffect(ctx, verb, p.Context, "effect:"+p.Name)
	if err != nil {
		return err
	}
	list, err := c.effectsOf(ctx, engine, p.Context)
	if err != nil || slices.ContainsFunc(list, func(s domain.EffectStatus) bool { return s.Target == p.Name }) {
		return err
	}
	_, err = c.oneEffect(ctx, engine, p.Context, p.Name)
	return err
}
