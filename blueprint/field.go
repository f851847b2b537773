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
		{Name: "env", Kind: document.AMap, Pattern: envPattern, Most: domain.MaxEnvVars, Doc: "Environment variables of all its jobs."},
		{Name: "unique_alive", Kind: document.AFlag, Initial: false, Doc: "Whether a second flow is refused while one is unfinished."},
		{Name: "max_parallel", Kind: document.ANumber, Max: 1 << 31, Initial: 0,
			Doc: "The most unfinished jobs of a flow at once; 0 is no bound but the steps' windows."},
		{Name: "on_error", Kind: document.AText, Enum: []string{string(domain.OnErrorAbort), string(domain.OnErrorContinue)}, Initial: string(domain.OnErrorAbort),
			Doc: "What happens when a step ends badly: abort ends what has not begun, later phases excepted; continue lets independent branches go on."},
		{Name: "after", Kind: document.AnInstant, Doc: "The instant before which nothing of a flow begins."},
		{Name: "duration", Kind: document.ASpan, Doc: "How long a flow is expected to take; one that takes longer is shown as slow."},
		{Name: "retention", Kind: document.ASpan, Doc: "How long a flow stays on the board after its end. Left out, it is as the node has it."},
		{Name: "steps", Kind: document.SomeObjects, Of: aStep, Required: true, Most: domain.MaxFlowSteps,
			Doc: "What is to be done, in any order: needs and phases say what comes first."},
		{Name: "output", Kind: document.AMap, Doc: "What a flow's result has: a name, and \"<step>.<key>\" of that step's result."},
	},
	Others: map[string]string{
		"jobs": "steps", "tasks": "steps", "description": "summary", "env_vars": "env", "environment": "env", "parameters": "params",
		"jobName": "name", "outputs": "output", "uniqueAliveInstance": "unique_alive", "concurrency": "max_parallel",
	},
}).Index()

var aStep = (&document.Object{
	Title: "step",
	After: inline,
	Not:   []string{"script", "file"},
	Doc:   "A node of the graph: one job or many, an approval, or an effect.",
	Fields: []document.Field{
		{Name: "name", Kind: document.AText, Required: true, Pattern: namePattern, Most: domain.MaxNameBytes, Doc: "Its name, one in the blueprint."},
		{Name: "kind", Kind: document.AText, Enum: document.TextsOf(domain.StepKinds),
			Doc: "single is one job, shard a job for each index, pack a job for each range, approval a person's yes, effect a call to the outside. Left " +
				"out, it is what else is given says, or single."},
		{Name: "summary", Kind: document.AText, Most: domain.MaxSummaryBytes, Doc: "What it does, for people."},
		{Name: "script", Kind: document.AText, Most: domain.MaxScriptBytes, Doc: "The script's text."},
		{Name: "script_type", Kind: document.AText, Pattern: typePattern,
			Doc: "What language it is: shell, python, rhai, v, osis, sal, node, or another that a runner serves."},
		{Name: "file", Kind: document.AText,
			Doc: "The script's file, instead of script: a path within the folder of the blueprint's file. Only the command line reads it."},
		{Name: "effect", Kind: document.AnObject, Of: anEffect, Doc: "The call of a step of kind effect."},
		{Name: "params", Kind: document.AMap, Pattern: namePattern, Most: domain.MaxParams, Doc: "Parameters of its jobs, over those of the blueprint."},
		{Name: "env", Kind: document.AMap, Pattern: envPattern, Most: domain.MaxEnvVars, Doc: "Environment variables of its jobs, over those of the blueprint."},
		{Name: "timeout", Kind: document.ASpan, Doc: "How long one attempt may take, up to 30 days. Left out, it is as the node has it."},
		{Name: "retries", Kind: document.ANumber, Max: 255, Initial: 0, Doc: "How often a job that failed is tried again."},
		{Name: "retry", Kind: document.AnObject, Of: aRetry, Doc: "Which ends of a job are tried again. Left out, all that are no success."},
		{Name: "needs", Kind: document.SomeTexts, Pattern: namePattern, Most: domain.MaxDependends, Doc: "The steps that must end well before this one starts."},
		{Name: "phase", Kind: document.ANumber, Max: domain.MaxPhase, Initial: 0,
			Doc: "A step starts when all steps of all smaller phases are done, whatever came of them: clean-up goes into the last."},
		{Name: "may_fail", Kind: document.AFlag, Initial: false, Doc: "Whether it is accepted that the script fails. Errors (a crash, a time-out) are not."},
		{Name: "may_skip", Kind: document.AFlag, Initial: false, Doc: "Whether a request may skip it."},
		{Name: "when", Kind: document.AValue, Most: domain.MaxWhenBytes, Doc: "A Rhai expression over params and needs; where it is false, the step is skipped."},
		{Name: "after", Kind: document.AnInstant, Doc: "The instant before which it does not start."},
		{Name: "weight", Kind: document.ANumber, Max: domain.MaxStepWeight, Initial: 1, Doc: "Its part of the flow's progress."},
		{Name: "duration", Kind: document.ASpan, Doc: "How long one job is expected to take."},
		{Name: "priority", Kind: document.ANumber, Max: domain.MaxPriority, Doc: "Of its jobs; left out, the flow's."},
		{Name: "affinity", Kind: document.AMap, Pattern: namePattern, Doc: "Labels that a node must have to run it."},
		{Name: "at", Kind: document.AValue, Doc: "Where its jobs run, if not here: a context, as 7; one of another site, as 7@acme; or runner:20."},
		{Name: "checkpoint", Kind: document.AFlag, Initial: false,
			Doc: "Whether the script keeps a checkpoint between attempts. This tells people only: every script may."},
		{Name: "shard", Kind: document.AnObject, Of: aShard, Doc: "How a step is split by index."},
		{Name: "pack", Kind: document.AnObject, Of: aPack, Doc: "How a step is split by ranges."},
	},
	Others: map[string]string{
		"depends": "needs", "dependends": "needs", "depends_on": "needs", "dependsOn": "needs", "dependencies": "needs", "dependency": "needs",
		"after_steps": "needs", "type": "script_type", "language": "script_type", "run": "script", "command": "script", "code": "script", "path": "file",
		"script_file": "file", "env_vars": "env", "environment": "env", "if": "when", "condition": "when", "id": "name", "stepName": "name",
		"stepType": "kind", "ignorable": "may_skip", "can_skip": "may_skip", "can_fail": "may_fail", "allow_failure": "may_fail",
		"continue_on_error": "may_fail", "description": "summary", "effort": "weight", "parameters": "params", "labels": "affinity",
	},
}).Index()

var aRetry = (&document.Object{
	Title: "retry",
	Doc:   "Which ends of a job are tried again.",
	Fields: []document.Field{
		{Name: "max", Kind: document.ANumber, Max: domain.MaxRetries, Initial: 0, Doc: "How often; another spelling of the step's retries."},
		{Name: "on", Kind: document.SomeTexts, Enum: document.TextsOf(domain.RetryOns), Most: len(domain.RetryOns),
			Doc: "The ends that are tried again. errored: a crash, a time-out, an exit code of 125 and over; failed: what the script itself calls a " +
				"failure, an exit code of 1 to 124. Left out, both."},
		{Name: "final_exit_codes", Kind: document.SomeNumbers, Min: 1, Max: 255, Most: domain.MaxFinalExitCodes,
			Doc: "Exit codes after which a job is not tried again, whatever on says."},
	},
	Others: map[string]string{"attempts": "max", "limit": "max", "retries": "max", "when": "on", "never": "final_exit_codes"},
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
