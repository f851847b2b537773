package flow

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/template"
)

// This file has the rule for flows that messages ask for. Who sends one may have scripts of
// his own run here, without secrets, and blueprints of the context, which name secrets, as they
// are: no variable of his reaches a job that has one, for whoever chooses PATH, LD_PRELOAD or
// http_proxy of a script has what it has. The hooks of a context hold to it,
// too: they have their own environment alone, whoever submitted the flow.
//
// What a plan takes for itself that a message has brought, so that others cannot have it, is of its
// sender's own: its trigger, its place as the only one alive, its concurrency and rate keys. It may
// have the name of a blueprint here, and would else be found in that one's stead, or keep it from
// running. So it is when somebody here runs the flow once more: it is the same plan of the same
// sender's. A blueprint of the context takes what it names as ever, whoever asks for it: he has the
// right to.

// checkMessage looks at what a message asks for.
//
// Errors: [domain.ErrForbidden].
func checkMessage(r *Request) error {
	switch {
	case r.Message == "":
		return nil
	case r.Plan != nil:
		return checkBrought(r.Plan)
	case len(r.Env) > 0:
		return domain.Forbiddenf("the message brings env for a blueprint of the context that it came to, whose environment is its own; give params")
	}
	return nil
}

// checkBrought looks at a plan that a message has brought.
//
// Errors: [domain.ErrForbidden].
func checkBrought(plan *domain.Blueprint) error {
	if plan.NamesSecrets() {
		return domain.Forbiddenf("the flow that the message brings names secrets of the context that it came to; " +
			"name a blueprint of that context instead, which says what its scripts find")
	}
	for _, call := range callsOf(plan) {
		if namesSecret(call) {
			return domain.Forbiddenf("a call of %s in the flow that the message brings names ${%s.…}: there are no secrets for it", call.Target, template.NameSecret)
		}
	}
	for i := range plan.Steps {
		if err := checkBroughtCall(&plan.Steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkBroughtCall looks at a step of it that makes a flow.
//
// Errors: [domain.ErrForbidden].
func checkBroughtCall(s *domain.Step) error {
	if s.Flow != nil && len(s.Env) > 0 {
		return domain.Forbiddenf("step %s of the flow that the message brings has env for a blueprint of the context that it came to, "+
			"whose environment is its own; give params", s.Name)
	}
	return nil
}

// callsOf are the calls to the outside of a plan's steps and hooks.
func callsOf(plan *domain.Blueprint) (calls []*domain.EffectCall) {
	for i := range plan.Steps {
		calls = append(calls, plan.Steps[i].Effect)
	}
	for _, on := range domain.HookOns {
		if h := plan.On.Of(on); h != nil {
			calls = append(calls, h.Effect)
		}
	}
	return slices.DeleteFunc(calls, func(c *domain.EffectCall) bool { return c == nil })
}

// namesSecret reports whether a call names a secret in what it tells.
func namesSecret(c *domain.EffectCall) bool {
	texts := append(slices.Collect(maps.Values(c.Params)), c.Payload)
	return slices.ContainsFunc(texts, func(text string) bool {
		return slices.ContainsFunc(template.Parse(text).Names(), func(name string) bool { return strings.HasPrefix(name, template.NameSecret+".") })
	})
}

// senderOf is who sent the message that has brought the plan of a flow, for that or as it is run once
// more; 0 for all other flows.
func senderOf(f *domain.Flow) domain.ActorID {
	switch {
	case !f.BroughtPlan():
		return 0
	case f.Sender != 0:
		return f.Sender
	}
	m, _ := domain.ParseMessageKey(f.Message)
	return m.Caller
}

// ownName is the name of a blueprint, or a key, under which the flow takes something that others
// cannot have then.
func ownName(f *domain.Flow, name string) string {
	if !f.BroughtPlan() {
		return name
	}
	return blueprint.BroughtKey + strconv.FormatUint(uint64(senderOf(f)), 10) + ":" + name
}

// aliveOf is the record of the one flow that lives of a blueprint which wants only one at a time.
func aliveOf(f *domain.Flow) string { return layout.FlowAlive(ownName(f, f.Blueprint)) }

// concurrencyKey is the key for which a flow stands in line.
//
// Errors: [domain.ErrInvalid].
func concurrencyKey(plan *Plan, f *domain.Flow) (string, error) {
	key, err := blueprint.ConcurrencyKey(plan.Concurrency, plan.Params)
	return ownName(f, key), err
}

// rateKey is the key whose slots a flow takes.
//
// Errors: [domain.ErrInvalid].
func rateKey(plan *Plan, f *domain.Flow) (string, error) {
	key, err := blueprint.RateKey(plan.Rate, plan.Params)
	return ownName(f, key), err
}

// ownTrigger is the trigger under which the flow is made, of the one that was asked for. That of a plan
// that a message has brought begins with the sender, as that of a message does which gives none; no
// message takes one that begins with another sender.
//
// Errors: [domain.ErrInvalid] where it is too long; [domain.ErrForbidden] where it is another's.
func ownTrigger(f *domain.Flow) (string, error) {
	if f.Message == "" && f.Sender == 0 || f.Trigger == "" {
		return f.Trigger, nil
	}
	sender := senderOf(f)
	if !f.BroughtPlan() {
		m, _ := domain.ParseMessageKey(f.Message)
		sender = m.Caller
	}
	prefix := "message-" + strconv.FormatUint(uint64(sender), 10) + "-"
	if f.BroughtPlan() {
		own := prefix + strings.TrimPrefix(f.Trigger, prefix)
		return own, domain.ValidateTrigger(own)
	}
	if strings.HasPrefix(f.Trigger, "message-") && !strings.HasPrefix(f.Trigger, prefix) {
		return "", domain.Forbiddenf("trigger %q: triggers of messages begin with %s, or not with message-", f.Trigger, prefix)
	}
	return f.Trigger, nil
}
