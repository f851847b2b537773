package domain

import (
	"cmp"
	"slices"
)

// Limits of a blueprint.
const (
	MaxBlueprintBytes = 1 << 20 // the text of a stored one; it is one field of a record
	// MaxPlanBytes bounds one that comes with a flow, as JSON: it lies in parts.
	MaxPlanBytes = 32 << 20
	// MaxSteps bounds the steps of one that is stored, or drawn, MaxFlowSteps those of a
	// flow, or its jobs.
	MaxSteps        = 10_000
	MaxFlowSteps    = 100_000
	MaxShards       = 1_000_000 // of one step
	MaxWindow       = 1_000
	MaxStepWeight   = 1_000_000
	MaxPhase        = 1_000
	MaxWhenBytes    = 8 << 10
	MaxSummaryBytes = 4 << 10 // it is in lists
	MaxVersion      = 1<<31 - 1

	// DefaultWindow is how many unfinished jobs of a step there are at once.
	DefaultWindow = 50
)

// StepKind is what a step is made of.
type StepKind string

// The kinds of step.
const (
	StepSingle   StepKind = "single"   // one job
	StepShard    StepKind = "shard"    // a job for each index
	StepPack     StepKind = "pack"     // a job for each range
	StepEach     StepKind = "each"     // a job for each element of a list
	StepApproval StepKind = "approval" // a person says yes or no
	StepEffect   StepKind = "effect"   // a call to the outside
	StepFlow     StepKind = "flow"     // a flow of another blueprint
)

// StepKinds are all of them.
var StepKinds = []StepKind{StepSingle, StepShard, StepPack, StepEach, StepApproval, StepEffect, StepFlow}

// EffectScript is the script of a job that calls an effect, as JSON.
type EffectScript struct {
	EffectCall
	// CommandID is a UUID that all attempts have.
	CommandID string `json:"command_id"`
}

// One reports whether such a step is one job.
func (k StepKind) One() bool { return k == StepSingle || k == StepEffect }

// OnError is what a flow does when a step ends badly.
type OnError string

// The policies.
const (
	// OnErrorAbort ends what has not begun; what runs is let finish. Steps of
	// later phases still run: that is where clean-up goes.
	//
	// Source: seed 002, "error: one or more jobs failed; flow aborted".
	OnErrorAbort OnError = "abort"
	// OnErrorContinue lets independent branches go on.
	//
	// Source: seed 004.
	OnErrorContinue OnError = "continue"
)

// Blueprint is a named, versioned template that makes flows.
//
// Source: seed 004, "job define".
type Blueprint struct {
	Name    string `json:"name"`
	Version int    `json:"version,omitzero"` // 0: the next when it is applied
	Summary string `json:"summary,omitzero"`
	// Priority of its jobs, 0..9; larger goes first.
	Priority int               `json:"priority,omitzero"`
	Params   map[string]string `json:"params,omitzero"`
	// Inputs declare params. Where there are some, a request gives those alone.
	Inputs []TypedField      `json:"inputs,omitzero"`
	Env    map[string]string `json:"env,omitzero"`
	// Secrets are secrets of the context that all its scripts find: variable -> name.
	Secrets map[string]string `json:"secrets,omitzero"`
	// UniqueAlive refuses a second flow while one is unfinished.
	UniqueAlive bool `json:"unique_alive,omitzero"`
	// MaxParallel bounds the unfinished jobs of a flow. 0: the steps' windows only.
	MaxParallel int `json:"max_parallel,omitzero"`
	// OnError is abort or continue. Default: abort.
	OnError OnError `json:"on_error,omitzero"`
	// On is what is done once a flow has ended, or takes too long.
	On *Hooks `json:"on,omitzero"`
	// Concurrency bounds how many flows of the context with the same key are under way.
	Concurrency *Concurrency `json:"concurrency,omitzero"`
	// Rate bounds how many of them begin in a minute.
	Rate *Rate `json:"rate,omitzero"`
	// After is an instant before which nothing of the flow begins: Unix ms, or
	// RFC 3339.
	After Instant `json:"after,omitzero"`
	// Duration is how long it is expected to take: a longer one is shown as slow.
	Duration Span `json:"duration,omitzero"`
	// Retention is how long the flow stays on the board after its end, at least: what is
	// shorter than the node's changes nothing.
	Retention Span   `json:"retention,omitzero"`
	Steps     []Step `json:"steps"`
	// Output picks and renames what the flow's result has: name -> "<step>.<key>".
	Output map[string]string `json:"output,omitzero"`
}

// Step is a node of a flow's graph.
//
// Source: seed 004, "step define".
type Step struct {
	Name       string            `json:"name"`
	Kind       StepKind          `json:"kind,omitzero"` // default: what else is given says, or single
	Summary    string            `json:"summary,omitzero"`
	Script     string            `json:"script,omitzero"`
	ScriptType ScriptType        `json:"script_type,omitzero"`
	Effect     *EffectCall       `json:"effect,omitzero"`
	Params     map[string]string `json:"params,omitzero"`
	Env        map[string]string `json:"env,omitzero"`
	// Secrets go over those of the blueprint.
	Secrets map[string]string `json:"secrets,omitzero"`
	Timeout Span              `json:"timeout,omitzero"` // of one attempt; default: the node's
	Retries int               `json:"retries,omitzero"` // 0..255
	Retry   *Retry            `json:"retry,omitzero"`   // which ends are tried again; default: all
	// Needs are steps that must end well before this one starts.
	Needs []string `json:"needs,omitzero"`
	// Phase orders weakly: a step starts when all steps of all smaller phases
	// are done, whatever came of them.
	Phase int `json:"phase,omitzero"`
	// MayFail accepts that the script fails; errors are not accepted.
	MayFail bool `json:"may_fail,omitzero"`
	// MaySkip allows to skip the step by request.
	MaySkip bool `json:"may_skip,omitzero"`
	// When is a Rhai expression over params and needs; the step is skipped
	// where it is false.
	When string `json:"when,omitzero"`
	// Approval is who decides a step of kind approval, until when, and what they answer.
	Approval *Approval `json:"approval,omitzero"`
	// Repeat runs the step again until something holds.
	Repeat *Repeat `json:"repeat,omitzero"`
	// After is an instant before which the step does not start.
	After Instant `json:"after,omitzero"`
	// Weight is its part of the flow's progress. Default: 1.
	Weight int `json:"weight,omitzero"`
	// Duration is how long one job is expected to take.
	Duration Span `json:"duration,omitzero"`
	// Priority overrides the flow's.
	Priority int `json:"priority,omitzero"`
	// Affinity are labels that a node must have to run it.
	Affinity map[string]string `json:"affinity,omitzero"`
	// At is another context its jobs go to.
	At string `json:"at,omitzero"`
	// Checkpoint says that the script keeps one between attempts; every script may.
	Checkpoint bool `json:"checkpoint,omitzero"`
	// Artifacts are the files that a job leaves in its work folder for those after it:
	// paths, with * and **.
	Artifacts []string `json:"artifacts,omitzero"`
	// Cache has the step take what it did before for the same key.
	Cache *StepCache `json:"cache,omitzero"`
	Shard *Shard     `json:"shard,omitzero"`
	Pack  *Pack      `json:"pack,omitzero"`
	// Each is a Rhai expression over params and needs, whose value is a list: there is a
	// job for each element.
	Each string `json:"each,omitzero"`
	// Window is how many unfinished jobs of a step with Each or Matrix there are at once. Default:
	// [DefaultWindow].
	Window int `json:"window,omitzero"`
	// Matrix stands for a list: there is a job for each combination of its axes' values.
	Matrix Matrix `json:"matrix,omitzero"`
	// Key is a Rhai expression over item: the name of an element, one in its list.
	Key string `json:"key,omitzero"`
	// Flow is the flow that a step of kind flow makes and waits for; with Each or Matrix,
	// one for each element.
	Flow *FlowCall `json:"flow,omitzero"`
}

const (
	// MaxEach is how many elements a list may have that a step is done for.
	MaxEach = 100_000
	// MaxItemBytes bounds an element, and what a job leaves that the steps after it find
	// in the list of results, each as JSON.
	MaxItemBytes = 8 << 10
	// MaxListBytes bounds all elements of a list together, as JSON.
	MaxListBytes = 16 << 20
	// MaxResultsBytes bounds the list of results, as JSON.
	MaxResultsBytes = 4 << 20
)

// Shard splits a step by index: jobs Start to Count-1.
type Shard struct {
	Count  int `json:"count"`
	Start  int `json:"start,omitzero"`
	Window int `json:"window,omitzero"` // unfinished jobs at once; default [DefaultWindow]
}

// Pack splits a step by ranges of Size: Start to End, both included.
type Pack struct {
	Size    int64  `json:"size"`
	Start   int64  `json:"start,omitzero"`
	End     *int64 `json:"end,omitzero"`
	Endless bool   `json:"endless,omitzero"`
	FirstID int64  `json:"first_id,omitzero"`
	Window  int    `json:"window,omitzero"`
}

// EffectCall is a call to the outside.
type EffectCall struct {
	// Target is the name of an effect that the operator has set up, and Kind,
	// where it is given, what kind that must be of.
	Kind   string `json:"kind,omitzero"`
	Target string `json:"target"`
	// Params or Payload are what is told: names and texts, in which ${name}
	// stands for a param of the step; or a Rhai expression over the step's params
	// and needs, whose value is told as JSON.
	Params  map[string]string `json:"params,omitzero"`
	Payload string            `json:"payload,omitzero"`
}

// NamesSecrets reports whether the blueprint, or a step or hook of it, names secrets of its context.
func (b *Blueprint) NamesSecrets() bool {
	return len(b.Secrets) > 0 || slices.ContainsFunc(b.Steps, func(s Step) bool { return len(s.Secrets) > 0 }) ||
		slices.ContainsFunc(HookOns, func(on HookOn) bool { h := b.On.Of(on); return h != nil && len(h.Secrets) > 0 })
}

// KindOr is the step's kind, found out where it is not said.
func (s *Step) KindOr() StepKind {
	switch {
	case s.Kind != "":
		return s.Kind
	case s.Flow != nil:
		return StepFlow
	case s.Shard != nil:
		return StepShard
	case s.Pack != nil:
		return StepPack
	case s.Listed():
		return StepEach
	case s.Effect != nil:
		return StepEffect
	case s.Approval != nil:
		return StepApproval
	}
	return StepSingle
}

// Call is the call to the outside that a job of the step makes: the step's own, or the
// notice of an approval; nil where there is none.
func (s *Step) Call() *EffectCall {
	if s.KindOr() == StepApproval && s.Approval != nil {
		return s.Approval.Notice
	}
	return s.Effect
}

// WeightOr is the step's weight.
func (s *Step) WeightOr() int { return cmp.Or(s.Weight, 1) }
