package effectscript

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
	"github.com/ramet-run/ramet/script"
)

// input is what of a job's input a call is made of.
type input struct {
	Params map[string]string `json:"params"`
	Needs  map[string]struct {
		State  string            `json:"state"`
		Result map[string]string `json:"result"`
	} `json:"needs"`
	Flow domain.FlowID `json:"flow"`
	Step string        `json:"step"`
}

func inputOf(task script.Task) (in input, err error) {
	if task.Input == nil {
		return in, nil
	}
	text, err := task.Input()
	if err != nil {
		return in, err
	}
	return in, json.Unmarshal(text, &in)
}

// metadata says where a call comes from.
func (in input) metadata(task script.Task) map[string]string {
	m := map[string]string{domain.MetaCausation: task.Name}
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

func compute(ctx context.Context, call *domain.EffectCall, in input) (json.RawMessage, error) {
	if call.Payload == "" {
		params, err := domain.Fill(call.Params, in.Params)
		if err != nil {
			return nil, err
		}
		return json.Marshal(params)
	}
	expr, err := blueprint.CompilePayload(call.Payload)
	if err != nil {
		return nil, domain.Invalidf("payload: %v", err)
	}
	needs := value.NewMap(len(in.Needs))
	for name, n := range in.Needs {
		one := value.NewMap(2)
		one.AsMap().Set("state", value.Str(n.State))
		one.AsMap().Set("result", condition.Texts(n.Result))
		needs.AsMap().Set(name, one)
	}
	v, err := expr.Value(ctx, condition.Texts(in.Params), needs)
	if err != nil {
		return nil, domain.Invalidf("payload: %v", err)
	}
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return nil, domain.Invalidf("payload: %v", err)
	}
	return text, nil
}
