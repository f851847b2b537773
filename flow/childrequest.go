package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file has what a step asks of the flow that it makes, from the templates of its blueprint.

// depthOf is how many flows and calls of scripts are above a flow.
func depthOf(f *domain.Flow) (n int) {
	if f.Parent != nil {
		n = f.Parent.Depth
	}
	if f.CalledBy != nil {
		n = max(n, f.CalledBy.Depth)
	}
	return n
}

// childRequest is what is asked for as the child of a unit.
func (t *tending) childRequest(plan *Plan, s *seen, v *verdict, at ChildAt, it item, needs map[string]needed) (r Request, err error) {
	step := &plan.Steps[at.Step]
	depth := depthOf(&s.flow) + 1
	if depth >= domain.MaxFlowDepth {
		return r, domain.Limitf("flows within flows are %d deep here, the limit is %d", depth+1, domain.MaxFlowDepth)
	}
	if s.flow.BroughtPlan() { // it was refused, unless somebody has written the flow past the doors
		if err := checkBroughtCall(step); err != nil {
			return r, err
		}
	}
	r = Request{Caller: s.caller, Blueprint: step.Flow.Blueprint, Version: step.Flow.Version, Env: step.Env,
		Priority: cmp.Or(step.Priority, plan.Priority), TraceID: s.flow.TraceID,
		Parent: &domain.FlowParent{Flow: t.ref.id, Step: step.Name, Index: at.ID, Key: it.name, Depth: depth, List: v.at(at.Step).List, One: !step.Listed()}}
	r.Params, r.Trigger, err = callOf(step.Flow, templateValue(stepParams(plan, at.Step, s.added), needs, it, at.ID))
	return r, err
}

// callOf is what a child is given: its params, and its trigger.
//
// Errors: [domain.ErrInvalid] for a name that stands for nothing.
func callOf(call *domain.FlowCall, value func(path []string) (string, error)) (params map[string]string, trigger string, err error) {
	for _, name := range slices.Sorted(maps.Keys(call.Params)) {
		if params == nil {
			params = map[string]string{}
		}
		if params[name], err = blueprint.FillTemplate(call.Params[name], value); err != nil {
			return nil, "", fmt.Errorf("flow.params.%s: %w", name, err)
		}
	}
	if trigger, err = blueprint.FillTemplate(call.Trigger, value); err != nil {
		return nil, "", fmt.Errorf("flow.trigger: %w", err)
	}
	return params, trigger, nil
}

// templateValue is what names in a template stand for.
func templateValue(params map[string]string, needs map[string]needed, it item, index int64) func(path []string) (string, error) {
	return func(path []string) (string, error) {
		whole := strings.Join(path, ".")
		switch root := path[0]; {
		case root == "needs":
			text, there := needs[path[1]].result[path[2]]
			if !there {
				return "", domain.Invalidf("${%s}: the result of step %s has no %s", whole, path[1], path[2])
			}
			return text, nil
		case root == "index":
			return strconv.FormatInt(index, 10), nil
		case root == "key":
			return it.name, nil
		case root == "item":
			return itemField(it.text, path[1:], whole)
		}
		text, there := params[path[len(path)-1]]
		if !there {
			return "", domain.Invalidf("${%s}: there is no param %s", whole, path[len(path)-1])
		}
		return text, nil
	}
}

// itemField is a field of an element: a text as it is, all else as JSON.
func itemField(text string, path []string, whole string) (string, error) {
	for _, name := range path {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &fields); err != nil || fields[name] == nil {
			return "", domain.Invalidf("${%s}: the element has no %s", whole, name)
		}
		text = string(fields[name])
	}
	var plain string
	if json.Unmarshal([]byte(text), &plain) == nil && strings.HasPrefix(text, `"`) {
		return plain, nil
	}
	return text, nil
}

// noteChild has the commit that makes a child write so beside the elements of its step, if
// the flow is still ours and nobody has made one before.
func (t *tending) noteChild(r *Request, at ChildAt, list int, gone domain.FlowID) {
	key, field := layout.FlowChildren(t.ref.id, list+int(at.ID/layout.ListSize)), strconv.FormatInt(at.ID, 10)
	was := ""
	if gone != 0 {
		was = strconv.FormatUint(uint64(gone), 10)
	}
	r.Also = func(b *board.Batch, id domain.FlowID) {
		b.Held(t.claimed.Item, t.owner, t.claimed.Token).Equal(key, field, was)
		b.Set(key, board.Field{Name: field, Value: strconv.FormatUint(uint64(id), 10)})
	}
}

// pinFlows sets the versions of the blueprints that a blueprint's steps make flows of: the
// newest, where none is named. What is submitted later changes nothing of a flow.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid] for a circle.
func (e *Engine) pinFlows(ctx context.Context, tenant domain.TenantID, b *domain.Blueprint) error {
	get := func(name string, version int) (domain.Blueprint, error) {
		if e.cfg.Blueprints == nil {
			return domain.Blueprint{}, domain.NotFoundf("there is no blueprint %q", name)
		}
		stored, _, err := e.cfg.Blueprints.Get(ctx, tenant, name, version)
		return stored, err
	}
	for _, i := range blueprint.FlowCalls(b) {
		call := *b.Steps[i].Flow
		child, err := get(call.Blueprint, call.Version)
		if err != nil {
			return fmt.Errorf("step %s: %w", b.Steps[i].Name, err)
		}
		if call.Version = child.Version; len(call.Params) > 0 {
			if err := blueprint.TakesParams(&child, call.Params); err != nil {
				return fmt.Errorf("step %s: flow.%w", b.Steps[i].Name, err)
			}
		}
		b.Steps[i].Flow = &call
	}
	return blueprint.CheckFlows(b, get)
}
