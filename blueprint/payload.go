package blueprint

import (
	"context"
	"encoding/json"

	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// Payload is what the effect of a step is told, by the params of its job and by what the
// step needs, as conditions see it.
//
// Errors: [domain.ErrInvalid].
func Payload(ctx context.Context, call *domain.EffectCall, params map[string]string, needs value.Value) (json.RawMessage, error) {
	if call.Payload == "" {
		filled, err := domain.Fill(call.Params, params)
		if err != nil {
			return nil, err
		}
		return json.Marshal(filled)
	}
	expr, err := CompilePayload(call.Payload)
	if err != nil {
		return nil, domain.Invalidf("payload: %v", err)
	}
	v, err := expr.Value(ctx, condition.Texts(params), needs)
	if err != nil {
		return nil, domain.Invalidf("payload: %v", err)
	}
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return nil, domain.Invalidf("payload: %v", err)
	}
	return text, nil
}
