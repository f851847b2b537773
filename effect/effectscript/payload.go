package effectscript

import (
	"context"
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/template"
)

// input is what of a job's input a call is made of.
type input struct {
	Params map[string]string `json:"params"`
	Needs  map[string]struct {
		State  string            `json:"state"`
		Result map[string]string `json:"result"`
		// Results are those of a step that was done for each element of a list.
		Results []map[string]string `json:"results"`
	} `json:"needs"`
	Flow domain.FlowID `json:"flow"`
	// Hook is what a hook is told of its flow, as it is and as what it says.
	Hook json.RawMessage `json:"hook"`
	hook *domain.HookInput
	Step string `json:"step"`
}

func inputOf(task script.Task) (in input, err error) {
	if task.Input == nil {
		return in, nil
	}
	text, err := task.Input()
	if err != nil {
		return in, err
	}
	if err := json.Unmarshal(text, &in); err != nil || in.Hook == nil {
		return in, err
	}
	return in, json.Unmarshal(in.Hook, &in.hook)
}

// metadata says where a call comes from.
func (in input) metadata(task script.Task) map[string]string {
	m := map[string]string{domain.MetaCausation: task.Name}
	if task.TraceParent != "" {
		m[domain.MetaTrace] = task.TraceParent
	}
	if in.hook != nil {
		in.Flow = in.hook.Flow
	}
	if in.Flow != 0 {
		m["flow"] = strconv.FormatUint(uint64(in.Flow), 10)
		m[domain.MetaStep] = in.Step
	}
	return m
}

// payloadOf is what is told: that of the attempt before, where there was one.
//
// Errors: [domain.ErrInvalid].
func payloadOf(ctx context.Context, task script.Task, call *domain.EffectCall, in input) (json.RawMessage, error) {
	if task.Checkpoint != nil {
		if saved := task.Checkpoint.Load(); saved != "" {
			return json.RawMessage(saved), nil
		}
	}
	payload, err := compute(ctx, call, in)
	if err == nil && len(payload) > domain.MaxWorkBytes {
		err = domain.Invalidf("the payload has %d bytes, the limit is %d", len(payload), domain.MaxWorkBytes)
	}
	if err == nil && task.Checkpoint != nil {
		err = task.Checkpoint.Save(string(payload))
	}
	return payload, err
}

// namesSecret reports whether one of the params of a call names a secret.
func namesSecret(params map[string]string) bool {
	for _, value := range params {
		for _, place := range template.Parse(value).Names() {
			if strings.HasPrefix(place, template.NameSecret+".") {
				return true
			}
		}
	}
	return false
}

// withSecrets puts secrets into what is told, which stands nowhere with them.
//
// Errors: [domain.ErrInvalid] for one that the job does not name.
func withSecrets(payload json.RawMessage, secrets map[string]string) (json.RawMessage, error) {
	var params map[string]string
	if err := json.Unmarshal(payload, &params); err != nil {
		return nil, domain.Invalidf("the checkpoint is no call: %v", err)
	}
	for name, value := range params {
		text, err := template.Parse(value).Fill(domain.MaxParamBytes, func(place string) (string, bool, error) {
			variable, is := strings.CutPrefix(place, template.NameSecret+".")
			if !is {
				return "", false, nil
			}
			text, known := secrets[variable]
			if !known {
				return "", false, domain.Invalidf("${%s}: the job names no secret %s; write it under secrets", place, variable)
			}
			return text, true, nil
		})
		if err != nil {
			return nil, err
		}
		params[name] = text
	}
	return json.Marshal(params)
}

func compute(ctx context.Context, call *domain.EffectCall, in input) (json.RawMessage, error) {
	if call.Payload == "" {
		params, err := template.FillCall(call.Params, in.variables(), namesSecret(call.Params))
		if err != nil {
			return nil, err
		}
		return json.Marshal(params)
	}
	needs := value.NewMap(len(in.Needs))
	for name, n := range in.Needs {
		one := value.NewMap(3)
		one.AsMap().Set("state", value.Str(n.State))
		one.AsMap().Set("result", condition.Texts(n.Result))
		if n.Results != nil {
			list := make([]value.Value, len(n.Results))
			for i, r := range n.Results {
				list[i] = condition.Texts(r)
			}
			one.AsMap().Set("results", value.NewArray(list))
		}
		needs.AsMap().Set(name, one)
	}
	if in.hook != nil {
		told, err := value.ReadJSON(string(in.Hook))
		if err != nil {
			return nil, err
		}
		return blueprint.HookPayload(ctx, call, in.Params, told, needs)
	}
	return blueprint.Payload(ctx, call, in.Params, needs)
}

// variables are what texts may name.
func (in input) variables() map[string]string {
	all := map[string]string{}
	if in.hook != nil {
		all = in.hook.Variables()
	}
	for step, n := range in.Needs {
		for key, text := range n.Result {
			all[template.NameNeeds+"."+step+"."+key] = text
		}
	}
	maps.Copy(all, in.Params)
	return all
}
