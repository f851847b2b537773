package saga

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file finds what an instance waits for in vain: results of effects that have
// ended, or that nobody has asked for.

// inVain are the types of event that the state of an instance handles and that cannot
// come: results of effects for which it does not wait, and which it does not take from
// others either.
func inVain(def *domain.SagaDefinition, in *domain.SagaInstance) (types []string) {
	for _, typ := range handled(def, in.State) {
		effect, _, ok := domain.ParseResultEvent(typ)
		ours := slices.Contains(def.Effects, effect) || def.Compensation != nil && slices.Contains(def.Compensation.Effects, effect)
		if ok && ours && !waitsFor(in, effect) && !takesResults(def, effect) {
			types = append(types, typ)
		}
	}
	return types
}

// waitsFor reports whether an effect that an instance has asked for has no result yet.
func waitsFor(in *domain.SagaInstance, effect string) bool {
	for i := range in.Steps {
		s := &in.Steps[i]
		if s.State == domain.StepAsked && s.Effect == effect || s.State == domain.StepUndoing && s.UndoEffect == effect {
			return true
		}
	}
	return slices.ContainsFunc(in.Asked, func(a domain.SagaAsked) bool { return a.Effect == effect })
}

// takesResults reports whether a saga takes the results of an effect that others asked for.
func takesResults(def *domain.SagaDefinition, effect string) bool {
	return slices.ContainsFunc(def.Triggers, func(t domain.SagaTrigger) bool {
		return t.Source == domain.SourceResult && (t.Of == "*" || t.Of == effect)
	})
}

// stranded says why nothing will move an instance whose state waits for no more than what
// cannot come; "" where something may.
func stranded(def *domain.SagaDefinition, in *domain.SagaInstance) string {
	waits := slices.ContainsFunc(in.Steps, func(s domain.SagaStep) bool { return s.State == domain.StepAsked || s.State == domain.StepUndoing })
	if waits || in.Status == domain.SagaEnded || in.Held != "" || in.Paused || len(in.Asked)+len(in.Timers) > 0 {
		return ""
	}
	types := inVain(def, in)
	if len(types) == 0 || len(types) < len(handled(def, in.State)) {
		return ""
	}
	return fmt.Sprintf("nothing will move it: state %s handles no more than %s, and no such result is to come", in.State, strings.Join(types, ", "))
}

// immovable says why nothing will move an instance, of which an audit says what explain does: its state waits for
// nothing, or for what cannot come. "" where something may: a person, a timer, work that is on its way. What its
// record does not tell is asked for only where nothing in that would move it.
func (e *Engine) immovable(ctx context.Context, tenant domain.TenantID, def *domain.SagaDefinition, in *domain.SagaInstance) (string, error) {
	why := stranded(def, in)
	if why != "" {
		why += "; " + mendStranded
	} else if why = deaf(def, in); why == "" {
		return "", nil
	}
	if banned, _ := e.cfg.Banned(tenant, in.Saga); banned {
		return "", nil // somebody holds it
	}
	p, err := e.positions(ctx, tenant, in.Tenant, in.Saga)
	if err != nil {
		return "", err
	}
	unsent, err := e.unsent(ctx, tenant, p.indexes(layout.SagaKeys{Tenant: in.Tenant}, in.Saga), in.Correlation)
	if err != nil || len(unsent) > 0 {
		return "", err
	}
	if unread, err := e.unread(ctx, tenant, in); err != nil || unread {
		return "", err
	}
	return why, nil
}

// deaf says that an instance takes nothing that may come; "" where it does.
func deaf(def *domain.SagaDefinition, in *domain.SagaInstance) string {
	waits := slices.ContainsFunc(in.Steps, func(s domain.SagaStep) bool { return s.State == domain.StepAsked || s.State == domain.StepUndoing })
	if waits || in.Status == domain.SagaEnded || in.Held != "" || in.Paused ||
		len(in.Asked)+len(in.Timers) > 0 || len(handled(def, in.State)) > len(inVain(def, in)) {
		return ""
	}
	return "its state handles no event that may come, and no timer is set"
}

// mendStranded is what a person can do about one.
const mendStranded = "apply a version of the saga whose state handles an event that can be published too, bring the instance there with " +
	"`ramet saga migrate --apply`, and publish that event"

// ended says how the effects have ended whose results a state waits for in vain.
func (e *Engine) ended(ctx context.Context, tenant domain.TenantID, keys layout.SagaKeys, in *domain.SagaInstance, types []string) (list []string, err error) {
	for i := range in.Steps {
		s := &in.Steps[i]
		ofStep := func(typ string) bool {
			effect, _, _ := domain.ParseResultEvent(typ)
			return effect == s.Effect
		}
		if s.State == domain.StepAsked || !slices.ContainsFunc(types, ofStep) {
			continue
		}
		how, err := e.resultOf(ctx, tenant, keys, s)
		if err != nil {
			return list, err
		}
		list = append(list, fmt.Sprintf("the effect %s of step %s has ended: %s", s.Effect, s.Name, how))
	}
	return list, nil
}

// resultOf is how the effect of a step ended: as its mark has it, else, where that is
// gone, as the instance has it.
func (e *Engine) resultOf(ctx context.Context, tenant domain.TenantID, keys layout.SagaKeys, s *domain.SagaStep) (string, error) {
	recs, _, err := board.PerKey(e.board.Get(ctx, layout.SpaceOf(tenant), keys.Done(s.CommandID)))
	if err != nil {
		return "", err
	}
	how := domain.ResultSucceeded
	if s.State == domain.StepFailedEffect {
		how = domain.ResultFailed
	}
	var result domain.EffectResult
	_ = json.Unmarshal([]byte(recs[0].Get(layout.DoneResult)), &result)
	text := string(cmp.Or(result.ResultType, how))
	if result.Error != "" {
		text += ": " + domain.PlainText(result.Error, maxEndedText)
	}
	return text, nil
}

// maxEndedText bounds the error of an effect in a sentence, in bytes.
const maxEndedText = 300

// letters looks which of the commands that an instance waits for are dead letters: none
// of these has a result before a person has dealt with it.
func (e *Engine) deadLetters(ctx context.Context, tenant domain.TenantID, keys layout.SagaKeys, list []domain.AwaitedEffect) error {
	if len(list) == 0 {
		return nil
	}
	names := make([]string, len(list))
	for i := range list {
		names[i] = keys.Dead(domain.DeadEffect, list[i].CommandID)
	}
	recs, _, err := board.PerKey(e.board.Get(ctx, layout.SpaceOf(tenant), names...))
	if err != nil {
		return err
	}
	for i, rec := range recs {
		if rec == nil || list[i].Decided {
			continue
		}
		list[i].DeadLetter = names[i]
		if d, err := decodeDead(names[i], rec); err == nil {
			list[i].Error = domain.PlainText(d.Cause, maxEndedText)
		}
	}
	return nil
}
