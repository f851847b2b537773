package blueprint

import (
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
)

const (
	namePattern = `^[A-Za-z_][A-Za-z0-9_-]*$` // of domain.ValidateName
	envPattern  = `^[A-Za-z_][A-Za-z0-9_]*$`
	typePattern = `^[a-z][a-z0-9_-]{0,31}$`
)

var aBlueprint = (&document.Object{
	Title: "Ramet blueprint",
	Doc:   "A named, versioned template that makes flows: graphs of jobs that belong together.",
	Fields: []document.Field{
		{Name: "name", Kind: document.AText, Required: true, Pattern: namePattern, Most: domain.MaxNameBytes,
			Doc: "Its name, one in a context: a letter or '_' first, then letters, digits, '_' and '-'."},
		{Name: "version", Kind: document.ANumber, Max: domain.MaxVersion,
			Doc: "Its version; it must be greater than the newest one there is. Left out, it is the next."},
		{Name: "summary", Kind: document.AText, Most: domain.MaxSummaryBytes, Doc: "What it is for, for people."},
		{Name: "priority", Kind: document.ANumber, Max: domain.MaxPriority, Initial: 0, Doc: "Of its jobs, 0 to 9; larger goes first."},
		{Name: "params", Kind: document.AMap, Pattern: namePattern, Most: domain.MaxParams, Doc: "Parameters that all its jobs get; a request may change them."},
		{Name: "inputs", Kind: document.SomeObjects, Of: anInput, Most: domain.MaxInputs,
			Doc: "The params that a request may give, each with its type. Where there are some, no others are taken."},
		{Name: "env", Kind: document.AMap, Pattern: envPattern, Most: domain.MaxEnvVars,
			Doc: "Environment variables of all its jobs; ${params.NAME} and the like are filled in."},
		{Name: "secrets", Kind: document.AMap, Pattern: envPattern, Most: domain.MaxSecrets,
			Doc: "Secrets of the context that all its scripts find as environment variables: a variable, and the name of the secret."},
		{Name: "unique_alive", Kind: document.AFlag, Initial: false, Doc: "Whether a second flow is refused while one is unfinished."},
		{Name: "max_parallel", Kind: document.ANumber, Max: 1 << 31, Initial: 0,
			Doc: "The most unfinished jobs of a flow at once; 0 is no bound but the steps' windows."},
		{Name: "on_error", Kind: document.AText, Enum: []string{string(domain.OnErrorAbort), string(domain.OnErrorContinue)}, Initial: string(domain.OnErrorAbort),
			Doc: "What happens when a step ends badly: abort ends what has not begun, later phases excepted; continue lets independent branches go on."},
		{Name: "on", Kind: document.AnObject, Of: someHooks, Doc: "What is done once a flow has ended, or takes too long."},
		{Name: "concurrency", Kind: document.AnObject, Of: aConcurrency, Doc: "How many flows of the context that have the same key are under way at once."},
		{Name: "rate", Kind: document.AnObject, Of: aRate, Doc: "How many flows of the context that have the same key begin in a minute."},
		{Name: "after", Kind: document.AnInstant, Doc: "The instant before which nothing of a flow begins."},
		{Name: "duration", Kind: document.ASpan, Doc: "How long a flow is expected to take; one that takes longer is shown as slow."},
		{Name: "retention", Kind: document.ASpan, Doc: "How long a flow stays on the board after its end, at least: never shorter than the node has it."},
		{Name: "steps", Kind: document.SomeObjects, Of: aStep, Required: true, Most: domain.MaxFlowSteps,
			Doc: "What is to be done, in any order: needs and phases say what comes first."},
		{Name: "output", Kind: document.AMap, Doc: "What a flow's result has: a name, and \"<step>.<key>\" of that step's result."},
	},
	Others: map[string]string{
		"jobs": "steps", "tasks": "steps", "description": "summary", "env_vars": "env", "environment": "env", "parameters": "params",
		"jobName": "name", "outputs": "output", "uniqueAliveInstance": "unique_alive", "parallelism": "max_parallel",
		"hooks": "on", "handlers": "on", "handler_on": "on", "handlerOn": "on", "onExit": "on", "notify": "on",
	},
}).Index()

// ofTypedField are the fields of a value that somebody gives, but its name.
var (
	ofTypedField = []document.Field{
		{Name: "type", Kind: document.AText, Enum: document.TextsOf(domain.FieldTypes), Initial: string(domain.TypeText),
			Doc: "What its value has to be. A list is one in JSON, or texts with commas between them."},
		{Name: "description", Kind: document.AText, Most: domain.MaxSummaryBytes, Doc: "What it is for, for people."},
		{Name: "default", Kind: document.AValue, Doc: "Its value where nobody gives one."},
		{Name: "required", Kind: document.AFlag, Initial: false, Doc: "Whether somebody has to give it."},
		{Name: "enum", Kind: document.SomeValues, Most: domain.MaxEnum, Doc: "The values that it may have. Left out, any of its type."},
		{Name: "pattern", Kind: document.AText, Most: domain.MaxFieldPattern, Doc: "A regular expression that the whole of a text fits."},
		{Name: "min", Kind: document.AValue, Doc: "The least number, instant or span, characters of a text or elements of a list."},
		{Name: "max", Kind: document.AValue, Doc: "The most of these."},
	}
	othersOfTypedField = map[string]string{"summary": "description", "help": "description", "label": "description", "options": "enum", "choices": "enum",
		"values": "enum", "kind": "type", "initial": "default", "defaults": "default", "regex": "pattern", "minimum": "min", "maximum": "max", "id": "name"}
)

var anInput = (&document.Object{
	Title: "input",
	Doc:   "A param that is declared.",
	Fields: append([]document.Field{
		{Name: "name", Kind: document.AText, Required: true, Pattern: namePattern, Most: domain.MaxNameBytes, Doc: "Its name, one in the blueprint."},
	}, ofTypedField...),
	Others: othersOfTypedField,
}).Index()

var aStep = (&document.Object{
	Title: "step",
	After: inline,
	Not:   []string{"script", "file"},
	Doc:   "A node of the graph: one job or many, an approval, or an effect.",
	Fields: []document.Field{
		{Name: "name", Kind: document.AText, Required: true, Pattern: namePattern, Most: domain.MaxNameBytes, Doc: "Its name, one in the blueprint."},
		{Name: "kind", Kind: document.AText, Enum: document.TextsOf(domain.StepKinds),
			Doc: "single is one job, shard a job for each index, pack a job for each range, each a job for each element of " +
				"a list, approval a person's yes, effect a call to the outside, flow a flow of another blueprint. Left " +
				"out, it is what else is given says, or single."},
		{Name: "summary", Kind: document.AText, Most: domain.MaxSummaryBytes, Doc: "What it does, for people."},
		{Name: "script", Kind: document.AText, Most: domain.MaxScriptBytes, Doc: "The script's text."},
		{Name: "script_type", Kind: document.AText, Pattern: typePattern,
			Doc: "What language it is: shell, python, rhai, v, osis, sal, node, or another that a runner serves."},
		{Name: "file", Kind: document.AText,
			Doc: "The script's file, instead of script: a path within the folder of the blueprint's file. Only the command line reads it."},
		{Name: "effect", Kind: document.AnObject, Of: anEffect, Doc: "The call of a step of kind effect."},
		{Name: "params", Kind: document.AMap, Pattern: namePattern, Most: domain.MaxParams, Doc: "Parameters of its jobs, over those of the blueprint."},
		{Name: "env", Kind: document.AMap, Pattern: envPattern, Most: domain.MaxEnvVars,
			Doc: "Environment variables of its jobs, over those of the blueprint; ${params.NAME} and the like are filled in."},
		{Name: "secrets", Kind: document.AMap, Pattern: envPattern, Most: domain.MaxSecrets, Doc: "Secrets that its scripts find, over those of the blueprint."},
		{Name: "timeout", Kind: document.ASpan, Doc: "How long one attempt may take, up to 30 days. Left out, it is as the node has it."},
		{Name: "retries", Kind: document.ANumber, Max: 255, Initial: 0, Doc: "How often a job that failed is tried again."},
		{Name: "retry", Kind: document.AnObject, Of: aRetry, Doc: "Which ends of a job are tried again, and when. Left out, all that are no success."},
		{Name: "needs", Kind: document.SomeTexts, Pattern: namePattern, Most: domain.MaxDependends, Doc: "The steps that must end well before this one starts."},
		{Name: "phase", Kind: document.ANumber, Max: domain.MaxPhase, Initial: 0,
			Doc: "A step starts when all steps of all smaller phases are done, whatever came of them: clean-up goes into the last."},
		{Name: "may_fail", Kind: document.AFlag, Initial: false, Doc: "Whether it is accepted that the script fails. Errors (a crash, a time-out) are not."},
		{Name: "may_skip", Kind: document.AFlag, Initial: false, Doc: "Whether a request may skip it."},
		{Name: "when", Kind: document.AValue, Most: domain.MaxWhenBytes, Doc: "A Rhai expression over params and needs; where it is false, the step is skipped."},
		{Name: "approval", Kind: document.AnObject, Of: anApproval, Doc: "Who decides a step of kind approval, until when, and what they answer."},
		{Name: "repeat", Kind: document.AnObject, Of: aRepeat, Doc: "Runs a step of one job, or one flow, again until something holds."},
		{Name: "after", Kind: document.AnInstant, Doc: "The instant before which it does not start."},
		{Name: "weight", Kind: document.ANumber, Max: domain.MaxStepWeight, Initial: 1, Doc: "Its part of the flow's progress."},
		{Name: "duration", Kind: document.ASpan, Doc: "How long one job is expected to take."},
		{Name: "priority", Kind: document.ANumber, Max: domain.MaxPriority, Doc: "Of its jobs; left out, the flow's."},
		{Name: "affinity", Kind: document.AMap, Pattern: namePattern, Doc: "Labels that a node must have to run it."},
		{Name: "at", Kind: document.AValue, Doc: "Where its jobs run, if not here: a context, as 7; one of another site, as 7@acme; or runner:20."},
		{Name: "checkpoint", Kind: document.AFlag, Initial: false,
			Doc: "Whether the script keeps a checkpoint between attempts. This tells people only: every script may."},
		{Name: "artifacts", Kind: document.SomeTexts, Most: domain.MaxArtifactPatterns,
			Doc: "The files that a job leaves in its work folder, kept when it succeeds: paths, with * and **; a folder is all that is in it. " +
				"Steps that need this one find them below $RAMET_ARTIFACTS."},
		{Name: "cache", Kind: document.AnObject, Of: aCache,
			Doc: "Where the step has succeeded for the same key, in an earlier flow, it takes that result and its files instead of being run."},
		{Name: "shard", Kind: document.AnObject, Of: aShard, Doc: "How a step is split by index."},
		{Name: "pack", Kind: document.AnObject, Of: aPack, Doc: "How a step is split by ranges."},
		{Name: "each", Kind: document.AValue, Most: domain.MaxWhenBytes, Full: true,
			Hint: "it is a Rhai expression: a list that is written out goes into quotes, as '[1, 2]' or '[\"a\", \"b\"]'; one in a param is parse_json(params.NAME)",
			Doc:  "A Rhai expression over params and needs, whose value is a list: the step has a job for each element, which finds it as item."},
		{Name: "window", Kind: document.ANumber, Max: domain.MaxWindow, Initial: domain.DefaultWindow, Doc: "Of a step with each: the most unfinished jobs at once."},
		{Name: "matrix", Kind: document.SomeData,
			Doc: "Instead of each: lists by name, or a Rhai expression for one; the step has a job for each combination, which finds it as item. " +
				"exclude is a list of objects: combinations with all that one has are left out. include is another: what one has is put to the " +
				"combinations that it does not contradict; one that fits none is a combination of its own."},
		{Name: "key", Kind: document.AValue, Most: domain.MaxKeyTextBytes,
			Doc: "Of a step with each or matrix: a Rhai expression over item, whose value is the element's name, one in its list."},
		{Name: "flow", Kind: document.AnObject, Of: aFlow, Doc: "The flow that a step of kind flow makes and waits for; with each or matrix, one for each element."},
	},
	Others: map[string]string{
		"depends": "needs", "dependends": "needs", "depends_on": "needs", "dependsOn": "needs", "dependencies": "needs", "dependency": "needs",
		"after_steps": "needs", "type": "script_type", "language": "script_type", "run": "script", "command": "script", "code": "script", "path": "file",
		"script_file": "file", "env_vars": "env", "environment": "env", "if": "when", "condition": "when", "id": "name", "stepName": "name",
		"stepType": "kind", "for_each": "each", "foreach": "each", "withItems": "each", "with_items": "each", "loop": "each",
		"artefacts": "artifacts", "output_files": "artifacts", "outputFiles": "artifacts", "store_artifacts": "artifacts",
		"items": "each", "strategy": "matrix", "subflow": "flow", "workflow": "flow", "uses": "flow", "sub_flow": "flow",
		"ignorable": "may_skip", "can_skip": "may_skip", "can_fail": "may_fail", "allow_failure": "may_fail",
		"continue_on_error": "may_fail", "repeatPolicy": "repeat", "repeat_policy": "repeat", "loopUntil": "repeat", "until": "repeat",
		"description": "summary", "effort": "weight", "parameters": "params", "labels": "affinity",
	},
}).Index()

var aConcurrency = (&document.Object{
	Title: "concurrency",
	Doc:   "How many flows of the context that have the same key are under way at once, whatever their blueprints; in the order in which they came.",
	Fields: []document.Field{
		{Name: "key", Kind: document.AText, Required: true, Most: domain.MaxConcurrencyKey,
			Doc: "The name of what they share; ${params.name} in it stands for a param of the flow."},
		{Name: "max", Kind: document.ANumber, Min: 1, Max: domain.MaxConcurrency, Initial: 1, Doc: "How many may be under way."},
		{Name: "when_full", Kind: document.AText, Enum: document.TextsOf(domain.WhenFulls), Initial: string(domain.FullWait),
			Doc: "What becomes of one more: wait, in line; skip, it ends at once as cancelled; cancel_old, the oldest are cancelled in its favour."},
	},
	Others: map[string]string{"group": "key", "name": "key", "limit": "max", "slots": "max", "behavior": "when_full", "on_full": "when_full"},
}).Index()

var aRate = (&document.Object{
	Title: "rate",
	Doc:   "How many flows of the context that have the same key begin in a minute, whatever their blueprints; in the order in which they came.",
	Fields: []document.Field{
		{Name: "key", Kind: document.AText, Required: true, Most: domain.MaxConcurrencyKey,
			Doc: "The name of what they share; ${params.name} in it stands for a param of the flow."},
		{Name: "per_minute", Kind: document.ANumber, Required: true, Min: 1, Max: domain.MaxRate,
			Doc: "How many may begin in a minute, with equal pauses between them."},
	},
	Others: map[string]string{"group": "key", "name": "key", "limit": "per_minute", "rpm": "per_minute", "max": "per_minute"},
}).Index()

var aCache = (&document.Object{
	Title: "cache",
	Doc:   "For what a step's result may be taken again, and for how long.",
	Fields: []document.Field{
		{Name: "key", Kind: document.AText, Required: true, Most: domain.MaxCacheKey,
			Doc: "What the result depends on: ${name} in it stands for a param of the step, ${needs.<step>.<key>} for a result."},
		{Name: "for", Kind: document.ASpan, Required: true, Doc: "How long it may be taken after the step has succeeded, up to 365 days."},
	},
	Others: map[string]string{"ttl": "for", "max_age": "for", "maxAge": "for", "expires": "for", "keys": "key", "name": "key"},
}).Index()

var someHooks = (&document.Object{
	Title: "hooks",
	Doc:   "What is done once a flow has ended, or takes too long. What becomes of it changes nothing of the flow.",
	Fields: []document.Field{
		{Name: "failed", Kind: document.AnObject, Of: aHook, Doc: "When a script of it said that it failed."},
		{Name: "errored", Kind: document.AnObject, Of: aHook, Doc: "When something happened that nobody asked for, or it is stuck."},
		{Name: "succeeded", Kind: document.AnObject, Of: aHook, Doc: "When it has succeeded."},
		{Name: "cancelled", Kind: document.AnObject, Of: aHook, Doc: "When somebody has cancelled it."},
		{Name: "late", Kind: document.AnObject, Of: aHook, Doc: "Once, when it has been there for as long as after says and has not ended."},
	},
	Others: map[string]string{"failure": "failed", "fail": "failed", "error": "errored", "success": "succeeded", "cancel": "cancelled", "canceled": "cancelled",
		"slow": "late", "sla": "late", "timeout": "late"},
}).Index()

var aHook = (&document.Object{
	Title: "hook",
	After: inline,
	Not:   []string{"script", "file"},
	Doc:   "A script, or a call to the outside.",
	Fields: []document.Field{
		{Name: "script", Kind: document.AText, Most: domain.MaxScriptBytes, Doc: "The script's text."},
		{Name: "script_type", Kind: document.AText, Pattern: typePattern, Doc: "What language it is."},
		{Name: "file", Kind: document.AText,
			Doc: "The script's file, instead of script: a path within the folder of the blueprint's file. Only the command line reads it."},
		{Name: "effect", Kind: document.AnObject, Of: anEffect,
			Doc: "A call to the outside, instead of a script; ${hook_text} in its params says what has come of the flow."},
		{Name: "params", Kind: document.AMap, Pattern: namePattern, Most: domain.MaxParams, Doc: "Its parameters, over those of the flow."},
		{Name: "env", Kind: document.AMap, Pattern: envPattern, Most: domain.MaxEnvVars, Doc: "Its environment variables, over those of the blueprint."},
		{Name: "secrets", Kind: document.AMap, Pattern: envPattern, Most: domain.MaxSecrets,
			Doc: "Secrets of the context that it finds as environment variables, over those of the blueprint: a variable, and the name of the secret."},
		{Name: "timeout", Kind: document.ASpan, Doc: "How long one attempt may take, up to 30 days. Left out, it is as the node has it."},
		{Name: "retries", Kind: document.ANumber, Max: 255, Initial: 0, Doc: "How often it is tried again."},
		{Name: "retry", Kind: document.AnObject, Of: aRetry, Doc: "Which ends of it are tried again, and when."},
		{Name: "affinity", Kind: document.AMap, Pattern: namePattern, Doc: "Labels that a node must have to run it."},
		{Name: "after", Kind: document.ASpan, Doc: "Of late alone: how long the flow may take, from when it was submitted or may begin."},
	},
	Others: map[string]string{"type": "script_type", "run": "script", "command": "script", "env_vars": "env", "environment": "env", "labels": "affinity",
		"parameters": "params", "path": "file"},
}).Index()

var anApproval = (&document.Object{
	Title: "approval",
	Doc:   "Who decides a step, until when, and what they answer.",
	Fields: []document.Field{
		{Name: "deadline", Kind: document.ASpan, Doc: "How long the step waits, from when it begins. Left out, for ever."},
		{Name: "on_deadline", Kind: document.AText, Enum: document.TextsOf(domain.OnDeadlines), Initial: string(domain.DeadlineReject),
			Doc: "What becomes of it then: reject and approve are as if somebody had, fail ends it in error."},
		{Name: "approvers", Kind: document.SomeValues, Most: domain.MaxApprovers,
			Doc: "Who may decide: actors by number, and roles in the context (admin, executor, reader). Left out, whoever may start flows."},
		{Name: "not_submitter", Kind: document.AFlag, Initial: false, Doc: "Whether who submitted the flow may not decide."},
		{Name: "answers", Kind: document.NamedObjects, Of: anAnswer, Key: "name", Pattern: namePattern, Most: domain.MaxAnswers,
			Doc: "What who approves fills in. They are results of the step, beside by and comment."},
		{Name: "notice", Kind: document.AnObject, Of: anEffect,
			Doc: "An effect that is told once when the step begins; ${flow}, ${step}, ${context}, ${blueprint}, ${deadline} and ${link} say what it is about."},
	},
	Others: map[string]string{
		"timeout": "deadline", "within": "deadline", "on_timeout": "on_deadline", "by": "approvers", "reviewers": "approvers", "users": "approvers",
		"fields": "answers", "inputs": "answers", "questions": "answers", "form": "answers", "notify": "notice", "message": "notice",
	},
}).Index()

var anAnswer = (&document.Object{
	Title:  "field",
	Doc:    "A value that somebody fills in.",
	Fields: ofTypedField,
	Others: othersOfTypedField,
}).Index()

var aRepeat = (&document.Object{
	Title: "repeat",
	Doc:   "Runs a step again until something holds: each round is a job, or a flow, of its own. A round that ends badly ends the step.",
	Fields: []document.Field{
		{Name: "until", Kind: document.AValue, Required: true, Most: domain.MaxWhenBytes,
			Doc: "A Rhai expression over params, needs, and result, which is what the newest round left."},
		{Name: "max", Kind: document.ANumber, Required: true, Min: 1, Max: domain.MaxRounds,
			Doc: "How many rounds there may be. Where until does not hold after the last, the step has failed."},
		{Name: "every", Kind: document.ASpan, Doc: "The pause after each round, up to 30 days. Left out, there is none."},
	},
	Others: map[string]string{"condition": "until", "limit": "max", "maxIterations": "max", "max_iterations": "max", "times": "max", "attempts": "max",
		"interval": "every", "intervalSec": "every", "interval_sec": "every", "delay": "every", "wait": "every", "checkFrequency": "every"},
}).Index()

var aRetry = (&document.Object{
	Title: "retry",
	Doc:   "Which ends of a job are tried again, and when.",
	Fields: []document.Field{
		{Name: "max", Kind: document.ANumber, Max: domain.MaxRetries, Initial: 0, Doc: "How often; another spelling of the step's retries."},
		{Name: "delay", Kind: document.ASpan, Doc: "The pause before the second attempt, up to a day. Left out, it is as the node has it."},
		{Name: "factor", Kind: document.ADecimal, Min: 1, Max: domain.MaxRetryFactor, Initial: 2, Doc: "By what each pause is longer than the one before."},
		{Name: "max_delay", Kind: document.ASpan,
			Doc: "The longest pause, up to a day. Left out: an hour, or delay where that is longer; as the node has it where delay and factor are left out, too."},
		{Name: "jitter", Kind: document.ADecimal, Max: 1, Initial: domain.DefaultJitter,
			Doc: "Which part of a pause chance may take off it, so that what failed together comes back apart."},
		{Name: "on", Kind: document.SomeTexts, Enum: document.TextsOf(domain.RetryOns), Most: len(domain.RetryOns),
			Doc: "The ends that are tried again. errored: a crash, a time-out, an exit code of 125 and over; failed: what the script itself calls a " +
				"failure, an exit code of 1 to 124. Left out, both, or only those of exit_codes."},
		{Name: "exit_codes", Kind: document.SomeNumbers, Min: 1, Max: 255, Most: domain.MaxExitCodes,
			Doc: "Exit codes after which a job is tried again, besides the ends that on names."},
		{Name: "final_exit_codes", Kind: document.SomeNumbers, Min: 1, Max: 255, Most: domain.MaxExitCodes,
			Doc: "Exit codes after which a job is not tried again, whatever on says."},
	},
	Others: map[string]string{"attempts": "max", "limit": "max", "retries": "max", "when": "on", "never": "final_exit_codes",
		"initial_delay": "delay", "initialInterval": "delay", "interval": "delay", "retryInterval": "delay", "wait": "delay",
		"backoff": "factor", "backoff_coefficient": "factor", "backoffCoefficient": "factor", "multiplier": "factor",
		"maxInterval": "max_delay", "max_interval": "max_delay", "maximumInterval": "max_delay", "maxDuration": "max_delay",
		"exit_code": "exit_codes", "exitCode": "exit_codes", "codes": "exit_codes"},
}).Index()

var aShard = (&document.Object{
	Title: "shard",
	Doc:   "Jobs for the indexes start to count-1.",
	Fields: []document.Field{
		{Name: "count", Kind: document.ANumber, Required: true, Min: 1, Max: domain.MaxShards, Doc: "How many indexes there are in all; each job is told."},
		{Name: "start", Kind: document.ANumber, Max: 1 << 53, Initial: 0, Doc: "The first index that gets a job."},
		{Name: "window", Kind: document.ANumber, Max: domain.MaxWindow, Initial: domain.DefaultWindow, Doc: "The most unfinished jobs of the step at once."},
	},
	Others: map[string]string{"shards": "count", "total": "count", "max": "window", "parallel": "window"},
}).Index()

var aPack = (&document.Object{
	Title: "pack",
	Doc:   "Jobs for ranges of size numbers, from start to end, both included.",
	Fields: []document.Field{
		{Name: "size", Kind: document.ANumber, Required: true, Min: 1, Max: 1<<63 - 1, Doc: "How many numbers a range has; the last may have fewer."},
		{Name: "start", Kind: document.ANumber, Max: 1<<63 - 1, Initial: 0, Doc: "The first number of the first range."},
		{Name: "end", Kind: document.ANumber, Min: -1, Max: 1<<63 - 1, Doc: "The last number; -1 is none at all. Left out, an earlier step must give it."},
		{Name: "endless", Kind: document.AFlag, Initial: false, Doc: "Whether ranges go on for ever, instead of end."},
		{Name: "first_id", Kind: document.ANumber, Max: 1<<63 - 1, Initial: 0, Doc: "The number of the first range."},
		{Name: "window", Kind: document.ANumber, Max: domain.MaxWindow, Initial: domain.DefaultWindow, Doc: "The most unfinished jobs of the step at once."},
	},
	Others: map[string]string{"infinite": "endless", "begin": "start", "max": "window", "parallel": "window"},
}).Index()

var aFlow = (&document.Object{
	Title: "flow",
	Doc:   "A flow of another blueprint of the context.",
	Fields: []document.Field{
		{Name: "blueprint", Kind: document.AText, Required: true, Pattern: namePattern, Most: domain.MaxNameBytes, Doc: "The name of a stored blueprint."},
		{Name: "version", Kind: document.ANumber, Max: domain.MaxVersion,
			Doc: "Which version of it. Left out, the newest when the flow that has the step is submitted."},
		{Name: "params", Kind: document.AMap, Pattern: namePattern, Most: domain.MaxParams,
			Doc: "Its params: ${name} in a value stands for a param of the step, ${needs.<step>.<key>} for a result, ${item} for the element."},
		{Name: "trigger", Kind: document.AText, Most: domain.MaxTemplateBytes,
			Doc: "Its name, in the same way: one flow is made of a blueprint and a trigger, ever."},
	},
	Others: map[string]string{"name": "blueprint", "uses": "blueprint", "workflow": "blueprint", "with": "params", "inputs": "params", "parameters": "params"},
}).Index()

var anEffect = (&document.Object{
	Title: "effect",
	Doc:   "A call to the outside.",
	Fields: []document.Field{
		{Name: "kind", Kind: document.AText, Doc: "What kind of effect it must be, such as http. Left out, any."},
		{Name: "target", Kind: document.AText, Required: true, Pattern: namePattern, Most: domain.MaxNameBytes,
			Doc: "The name of an effect that the operator has set up."},
		{Name: "params", Kind: document.AMap, Pattern: namePattern, Most: domain.MaxParams, Doc: "What is told: ${name} in a value stands for a param of the step."},
		{Name: "payload", Kind: document.AValue, Most: domain.MaxWhenBytes,
			Doc: "A Rhai expression over params and needs, whose value is told as JSON; instead of params."},
	},
	Others: map[string]string{"type": "kind", "to": "target", "url": "target", "name": "target", "effect": "target", "body": "payload"},
}).Index()
