package api

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/identity"
)

// Effects is what the operations need of those who do effects.
type Effects interface {
	List(ctx context.Context) []effect.Status
	Test(ctx context.Context, name string) (effect.Trial, error)
	TestCall(ctx context.Context, name string, tenant domain.TenantID, tenantName string, payload json.RawMessage) (effect.Trial, error)
}

// EffectList lists the effects of this node that a context may use.
//
//	GET  /v1/contexts/{context}/effects                    EffectList
//	GET  /v1/contexts/{context}/effects/{effect}           effect.Status
//	POST /v1/contexts/{context}/effects/{effect}/test      {"payload": …, "call": false} -> effect.Trial
//	POST /v1/contexts/{context}/effects/{effect}/pause, /resume   {} -> EffectDone; {effect} may be a target
type EffectList struct {
	Effects domain.List[effect.Status] `json:"effects"`
}

// EffectDone answers what a person asked of an effect.
type EffectDone struct {
	Effect string `json:"effect"`
	Done   bool   `json:"done"`
}

// testMost bounds a test.
const testMost = 90 * time.Second

// mayEffect asks for a right on an effect.
func (c Caller) mayEffect(ctx context.Context, verb identity.Verb, tenant domain.TenantID, object string) (Effects, error) {
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
func (c Caller) effectsOf(ctx context.Context, engine Effects, tenant domain.TenantID) ([]effect.Status, error) {
	bans, err := c.bans(ctx, func(b domain.Ban) bool { return b.Kind == domain.BanEffect && (b.Context == 0 || b.Context == tenant) })
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(engine.List(ctx), func(s effect.Status) bool {
		return len(s.Contexts) > 0 && !slices.Contains(s.Contexts, tenant)
	})
	for i := range list {
		s := &list[i]
		for _, b := range bans.Bans {
			if s.Paused == "" && (b.Name == s.Name || b.Name == s.Target) {
				s.Paused = b.Reason
			}
		}
		if c.who.Operates(identity.Inspect, c.group) {
			continue
		}
		if len(s.Contexts) != 1 {
			s.Error, s.ErrorMs = "", 0 // it may tell of another context
		}
		s.Contexts = nil
	}
	return list, nil
}

// oneEffect is an effect that a context may use.
func (c Caller) oneEffect(ctx context.Context, engine Effects, tenant domain.TenantID, name string) (effect.Status, error) {
	list, err := c.effectsOf(ctx, engine, tenant)
	if err != nil {
		return effect.Status{}, err
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
	return effect.Status{}, domain.NotFoundf("context %d has no effect %q on this node%s", tenant, domain.PlainText(name, domain.MaxBanName), hint)
}

// ListEffectsParams are those of effect.list.
type ListEffectsParams struct {
	Context domain.TenantID `json:"-" path:"context"`
}

// ListEffects lists effects by name.
func (c Caller) ListEffects(ctx context.Context, p ListEffectsParams) (EffectList, error) {
	engine, err := c.mayEffect(ctx, identity.Read, p.Context, "effects")
	if err != nil {
		return EffectList{}, err
	}
	list, err := c.effectsOf(ctx, engine, p.Context)
	return EffectList{list}, err
}

// EffectParams name an effect.
type EffectParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"effect"`
}

// ShowEffect shows how one effect does.
func (c Caller) ShowEffect(ctx context.Context, p EffectParams) (effect.Status, error) {
	engine, err := c.mayEffect(ctx, identity.Read, p.Context, "effect:"+p.Name)
	if err != nil {
		return effect.Status{}, err
	}
	return c.oneEffect(ctx, engine, p.Context, p.Name)
}

// TestEffectParams are those of effect.test.
type TestEffectParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"effect"`
	// Call does the effect once, for real, with Payload; else it is only looked
	// whether its target can be reached.
	Call    bool            `json:"call"`
	Payload json.RawMessage `json:"payload,omitzero"`
}

func (p *TestEffectParams) auditDetail() string {
	if p.Call {
		return "called for real"
	}
	return ""
}

// TestEffect looks whether an effect works.
func (c Caller) TestEffect(ctx context.Context, p TestEffectParams) (effect.Trial, error) {
	engine, err := c.mayEffect(ctx, identity.Start, p.Context, "effect:"+p.Name)
	if err != nil {
		return effect.Trial{}, err
	}
	if len(p.Payload) > 0 && !p.Call {
		return effect.Trial{}, domain.Invalidf("payload is for a call: set call, which does the effect for real, or leave it out")
	}
	if _, err := c.oneEffect(ctx, engine, p.Context, p.Name); err != nil {
		return effect.Trial{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, testMost)
	defer cancel()
	if !p.Call {
		return engine.Test(ctx, p.Name)
	}
	name, err := c.api.parts.Directory.TenantName(ctx, p.Context)
	if err != nil {
		return effect.Trial{}, err
	}
	return engine.TestCall(ctx, p.Name, p.Context, name, p.Payload)
}

// effectPaused is the reason of a ban that is a pause.
const effectPaused = "the effect is paused"

func (p EffectParams) scope() domain.BanScope {
	return domain.BanScope{Kind: domain.BanEffect, Context: p.Context, Name: p.Name}
}

// PauseEffect lets a context's commands for an effect, or for all effects on a
// target, wait.
func (c Caller) PauseEffect(ctx context.Context, p EffectParams) (EffectDone, error) {
	if err := c.mayPauseEffect(ctx, identity.Cancel, p); err != nil {
		return EffectDone{}, err
	}
	return EffectDone{p.Name, true}, c.pauseBy(ctx, p.scope(), effectPaused)
}

// ResumeEffect lets them go on.
func (c Caller) ResumeEffect(ctx context.Context, p EffectParams) (EffectDone, error) {
	if err := c.mayPauseEffect(ctx, identity.Start, p); err != nil {
		return EffectDone{}, err
	}
	return EffectDone{p.Name, true}, c.resumeBy(ctx, p.scope())
}

// mayPauseEffect asks for the right, and looks whether the name is one.
func (c Caller) mayPauseEffect(ctx context.Context, verb identity.Verb, p EffectParams) error {
	engine, err := c.mayEffect(ctx, verb, p.Context, "effect:"+p.Name)
	if err != nil {
		return err
	}
	list, err := c.effectsOf(ctx, engine, p.Context)
	if err != nil || slices.ContainsFunc(list, func(s effect.Status) bool { return s.Target == p.Name }) {
		return err
	}
	_, err = c.oneEffect(ctx, engine, p.Context, p.Name)
	return err
}
