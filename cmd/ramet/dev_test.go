package main

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// told is an effect that counts its calls.
type told struct {
	effect.Provider
	calls int
}

func (p *told) Do(context.Context, effect.Call) (json.RawMessage, error) {
	p.calls++
	return json.RawMessage(`{}`), nil
}

// TestTheNextEffectFailsOnce, as one that may be tried again, and its target is not asked.
func TestTheNextEffectFailsOnce(t *testing.T) {
	target := &told{}
	var dev development
	open := func(effect.Definition, effect.Host) (effect.Provider, error) { return target, nil }
	kinds := dev.effects(map[domain.EffectKind]effect.Open{domain.EffectHTTP: open})
	p, err := kinds[domain.EffectHTTP](effect.Definition{}, effect.Host{})
	if err != nil {
		t.Fatal(err)
	}
	do := func() error { _, err := p.Do(t.Context(), effect.Call{}); return err }
	if err := do(); err != nil || target.calls != 1 {
		t.Fatalf("nobody asked for a fault: %v, %d calls", err, target.calls)
	}
	dev.failEffect.Store(true)
	refused := (*effect.Refused)(nil)
	if err := do(); err == nil || errors.As(err, &refused) || target.calls != 1 {
		t.Errorf("got %v, %d calls; want an error that may be tried again, and no call", err, target.calls)
	}
	if err := do(); err != nil || target.calls != 2 {
		t.Errorf("it fails more than once: %v, %d calls", err, target.calls)
	}
}
