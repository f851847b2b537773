package blueprint

import (
	"context"
	"encoding/json"

	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// Payload is what the effect of a step is told whose payload is an expression, by the params of its job and by what the
// step needs, as conditions see it.
//
// Errors: [domain.ErrInvalid].
func Payload(ctx context.Context, call *domain.EffectCall, params map[string]string, needs value.Value) (json.RawMessage, error) {
	return payload(ctx, CompilePayload, call.Payload, condition.Texts(params), needs)
}

// HookPayload is what the effect of a hook is told whose payload is an expression: by the params
// of its flow, by what has come of that, and by what its steps have left.
//
// Errors: [domain.ErrInvalid].
func HookPayload(ctx context.Context, call *domain.EffectCall, params map[string]string, hook, needs value.Value) (json.RawMessage, error) {
	return payload(ctx, CompileHook, call.Payload, condition.Texts(params), hook, needs)
}

func payload(ctx context.Context, compile func(string) (*condition.Condition, error), text string, values ...value.Value) (json.RawMessage, error) {
	expr, err := compile(text)
	if err != nil {
		return nil, domain.Invalidf("payload: %v", err)
	}
	v, err := expr.Value(ctx, values...)
	if err != nil {
		return nil, domain.Invalidf("payload: %v", err)
	}
	out, err := value.AppendJSON(nil, v)
	if err != nil {
		return nil, domain.Invalidf("payload: %v", err)
	}
	return out, nil
}
