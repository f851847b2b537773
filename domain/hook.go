package domain

import (
	"strings"
)

// HookOn is what a hook of a flow waits for.
type HookOn string

// What there is. The first four are ends of a flow, of which each has one; a flow that is
// stuck ends as errored does.
const (
	HookFailed    HookOn = "failed"
	HookErrored   HookOn = "errored"
	HookSucceeded HookOn = "succeeded"
	HookCancelled HookOn = "cancelled"
	HookLate      HookOn = "late" // it runs for longer than it should
)

// HookOns are all of them.
var HookOns = []HookOn{HookFailed, HookErrored, HookSucceeded, HookCancelled, HookLate}

// MaxHooksBytes bounds the hooks of a context, as JSON.
const MaxHooksBytes = 64 << 10

// Hooks are what is done when a flow has ended, or takes too long: each at most one job,
// which is none of the flow's. What becomes of it changes nothing of the flow.
type Hooks struct {
	Failed    *Hook `json:"failed,omitzero"`
	Errored   *Hook `json:"errored,omitzero"`
	Succeeded *Hook `json:"succeeded,omitzero"`
	Cancelled *Hook `json:"cancelled,omitzero"`
	Late      *Hook `json:"late,omitzero"`
}

// Hook is one of them: a script, or a call to the outside.
type Hook struct {
	Script     string            `json:"script,omitzero"`
	ScriptType ScriptType        `json:"script_type,omitzero"`
	Effect     *EffectCall       `json:"effect,omitzero"`
	Params     map[string]string `json:"params,omitzero"`
	Env        map[string]string `json:"env,omitzero"`
	Secrets    map[string]string `json:"secrets,omitzero"` // variable -> secret of the context
	Timeout    Span              `json:"timeout,omitzero"` // of one attempt; default: the node's
	Retries    int               `json:"retries,omitzero"` // 0..255
	Retry      *Retry            `json:"retry,omitzero"`
	// Affinity are labels that a node must have to run it.
	Affinity map[string]string `json:"affinity,omitzero"`
	// After is how long the flow may have been there before it is late; of Late alone.
	After Span `json:"after,omitzero"`
}

// Of is the hook for something; nil where there is none.
func (h *Hooks) Of(on HookOn) *Hook {
	if h == nil {
		return nil
	}
	switch on {
	case HookFailed:
		return h.Failed
	case HookErrored:
		return h.Errored
	case HookSucceeded:
		return h.Succeeded
	case HookCancelled:
		return h.Cancelled
	case HookLate:
		return h.Late
	}
	return nil
}

// Names are what there are hooks for, as people read it: "failed, errored"; "" for none.
func (h *Hooks) Names() string {
	var names []string
	for _, on := range HookOns {
		if h.Of(on) != nil {
			names = append(names, string(on))
		}
	}
	return strings.Join(names, ", ")
}

// Step is the hook as a step, which it is but for its place in a graph.
func (h *Hook) Step(on HookOn) Step {
	return Step{Name: string(on), Script: h.Script, ScriptType: h.ScriptType, Effect: h.Effect, Params: h.Params, Env: h.Env, Secrets: h.Secrets,
		Timeout: h.Timeout, Retries: h.Retries, Retry: h.Retry, Affinity: h.Affinity}
}

// HookInput is what a hook is told of its flow: in its input, as `hook`.
type HookInput struct {
	On   HookOn `json:"on"`
	Flow FlowID `json:"flow"`
	// Name is "<blueprint>/<trigger>", as far as it has these.
	Name      string     `json:"name,omitzero"`
	Blueprint string     `json:"blueprint,omitzero"`
	Trigger   string     `json:"trigger,omitzero"`
	Schedule  string     `json:"schedule,omitzero"`
	Status    FlowStatus `json:"status"`
	Reason    FlowReason `json:"reason,omitzero"` // none where it has not ended
	Error     string     `json:"error,omitzero"`
	// Text says it in a sentence.
	Text       string `json:"text"`
	StartedMs  int64  `json:"started_ms,omitzero"`
	FinishedMs int64  `json:"finished_ms,omitzero"`
	// Steps are how they ended, by their names, those first that did not end well: up to
	// [MaxHookSteps].
	Steps map[string]HookStep `json:"steps,omitzero"`
	// Result is the flow's, up to [MaxHookResult] bytes: of a larger one nothing.
	Result map[string]string `json:"result,omitzero"`
}

const (
	// MaxHookSteps is of how many steps a hook is told.
	MaxHookSteps = 1000
	// MaxHookResult bounds the result that a hook is told.
	MaxHookResult = 128 << 10
)

// HookStep is what a hook is told of a step.
type HookStep struct {
	State StepStatus `json:"state"`
	Text  string     `json:"text,omitzero"`
}

// Variables are what texts in an effect's params may name of it, as ${hook_text}.
func (h *HookInput) Variables() map[string]string {
	return map[string]string{"hook_on": string(h.On), "hook_flow": FlowKey(h.Flow), "hook_name": h.Name, "hook_reason": string(h.Reason),
		"hook_error": h.Error, "hook_text": h.Text}
}

// FlowHooks are the jobs of a flow's hooks, by their keys: the last of each kind.
type FlowHooks map[HookOn]string

// HookView is a hook of a flow that was called, as people see it.
type HookView struct {
	On  HookOn `json:"on"`
	Job string `json:"job"`
	// Status, Reason and Error are its job's; no status where that is not there any more.
	Status JobStatus `json:"status,omitzero"`
	Reason Reason    `json:"reason,omitzero"`
	Error  string    `json:"error,omitzero"`
}
