package flow

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/blueprint/trial"
	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/template"
)

// callHook has the end of a played flow call its hook, where its blueprint has one.
func (p *trialPlay) callHook(ctx context.Context, reason domain.FlowReason) {
	on := hookOf(reason)
	h := p.plan.On.Of(on)
	if h == nil {
		return
	}
	v := domain.FlowView{Flow: domain.Flow{ID: 1, Blueprint: p.plan.Name, Reason: reason, Status: statusOf(reason), Result: p.out.Result,
		StartedMs: trialStart, FinishedMs: p.now.UnixMilli()}}
	if reason != domain.FlowSucceeded {
		v.Error = p.out.Why
	}
	needs, of := map[string]needed{}, soughtByHook(h)
	for i := range p.plan.Steps {
		name := p.plan.Steps[i].Name
		v.Steps = append(v.Steps, domain.StepView{Name: name, Status: p.state.Steps[i].Status, Text: p.state.Steps[i].Text})
	}
	at := func(i int) *StepState { return &p.state.Steps[i] }
	for _, i := range toldSteps(&v) {
		if of.has(v.Steps[i].Name) {
			maps.Copy(needs, p.left([]int{i}, at))
		}
	}
	v.Params, v.Added = p.plan.Params, p.added
	called := &trial.Hook{On: string(on), Params: over(paramsOf(&v), h.Params)}
	p.out.Hook = called
	if h.Effect == nil {
		return
	}
	in := hookInput(on, &v)
	var err error
	if h.Effect.Payload == "" {
		called.Payload, err = textPayload(h.Effect, over(in.Variables(), called.Params), needs)
	} else if told, ferr := condition.Of(in); ferr == nil {
		called.Payload, err = blueprint.HookPayload(ctx, h.Effect, called.Params, told, needsValue(needs))
	} else {
		err = ferr
	}
	if err != nil {
		called.Fault = err.Error()
	}
}

// stepPayload is what the effect of a step is told.
func stepPayload(ctx context.Context, call *domain.EffectCall, params map[string]string, needs map[string]needed) (json.RawMessage, error) {
	if call.Payload == "" {
		return textPayload(call, params, needs)
	}
	return blueprint.Payload(ctx, call, params, needsValue(needs))
}

// textPayload is that of an effect without an expression. Secrets stay as they are named.
func textPayload(call *domain.EffectCall, params map[string]string, needs map[string]needed) (json.RawMessage, error) {
	texts := map[string]string{}
	for step, n := range needs {
		for key, text := range n.result {
			texts[template.NameNeeds+"."+step+"."+key] = text
		}
	}
	filled, err := template.FillCall(call.Params, over(texts, params), false)
	if err != nil {
		return nil, err
	}
	return json.Marshal(filled)
}
