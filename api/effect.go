package api

import (
	"encoding/json"

	"github.com/ramet-run/ramet/domain"
)

// The operations on effects.
var (
	EffectList = op[EffectPage](Operation{
		Name: "effect.list", Method: "GET", Path: "/v1/contexts/{context}/effects", Right: domain.VerbRead,
		Summary: "List the effects of this node that a context may use, and how they do.",
	}, ListEffectsParams{Context: 7})
	EffectShow = op[domain.EffectStatus](Operation{
		Name: "effect.show", Method: "GET", Path: "/v1/contexts/{context}/effects/{effect}", Right: domain.VerbRead,
		Summary: "Show one effect.",
	}, EffectParams{Context: 7, Name: "mail"})
	EffectTest = op[domain.EffectTrial](Operation{
		Name: "effect.test", Method: "POST", Path: "/v1/contexts/{context}/effects/{effect}/test", Right: domain.VerbStart, ByHand: true, Waits: true,
		Summary: "Look whether an effect's target can be reached; with call, do the effect once for real.",
	}, TestEffectParams{Context: 7, Name: "mail", Call: true, Payload: json.RawMessage(`{"to":"a@example.com"}`)})
	EffectPause = op[EffectDone](Operation{
		Name: "effect.pause", Method: "POST", Path: "/v1/contexts/{context}/effects/{effect}/pause", Right: domain.VerbCancel, ByHand: true,
		Summary: "Let a context's commands for an effect, or for all on a target, wait.",
	}, EffectParams{Context: 7, Name: "mail"})
	EffectResume = op[EffectDone](Operation{
		Name: "effect.resume", Method: "POST", Path: "/v1/contexts/{context}/effects/{effect}/resume", Right: domain.VerbStart, ByHand: true,
		Summary: "Let commands go on that were paused.",
	}, EffectParams{Context: 7, Name: "mail"})
)

// EffectPage lists the effects of this node that a context may use.
type EffectPage struct {
	Effects domain.List[domain.EffectStatus] `json:"effects"`
}

// EffectDone answers what a person asked of an effect.
type EffectDone struct {
	Effect string `json:"effect"`
	Done   bool   `json:"done"`
}

// ListEffectsParams are the parameters of effect.list.
type ListEffectsParams struct {
	Context domain.TenantID `json:"-" path:"context"`
}

// EffectParams name an effect.
type EffectParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"effect"`
}

// TestEffectParams are the parameters of effect.test.
type TestEffectParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"effect"`
	// Call does the effect once, for real, with Payload; else it is only looked
	// whether its target can be reached.
	Call    bool            `json:"call"`
	Payload json.RawMessage `json:"payload,omitzero"`
}

func (p *TestEffectParams) AuditDetail() string {
	if p.Call {
		return "called for real"
	}
	return ""
}
