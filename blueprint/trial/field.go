package trial

import (
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
)

// Limits of a file of tests.
const (
	maxBytes = 1 << 20
	maxCases = 1_000
	maxEnds  = 10_000 // of a case
)

var aTest = (&document.Object{
	Title: "Ramet blueprint test",
	Doc:   "What should become of flows of a blueprint.",
	Fields: []document.Field{
		{Name: "blueprint", Kind: document.AText, Doc: "The file of the blueprint: a path within the folder of this file. Left out: beside " +
			"nightly_test.yaml, nightly.yaml."},
		{Name: "params", Kind: document.AMap, Most: domain.MaxParams, Doc: "What flows are submitted with."},
		{Name: "cases", Kind: document.SomeObjects, Of: aCase, Required: true, Most: maxCases, Doc: "The cases; each has a flow of its own."},
	},
	Others: map[string]string{"tests": "cases", "file": "blueprint", "flow": "blueprint"},
}).Index()

var aCase = (&document.Object{
	Title: "case",
	Doc:   "How jobs of a flow end, and what should come of it.",
	Fields: []document.Field{
		{Name: "name", Kind: document.AValue, Required: true, Doc: "What it shows, as a sentence."},
		{Name: "params", Kind: document.AMap, Most: domain.MaxParams, Doc: "What the flow is submitted with, over those of the file."},
		{Name: "skip", Kind: document.SomeTexts, Most: domain.MaxSteps, Doc: "Steps that are skipped, as with ramet flow submit --skip."},
		{Name: "given", Kind: document.SomeObjects, Of: anEnd, Most: maxEnds,
			Doc: "How jobs end. One that is not named succeeds, without a result; an approval that is not named waits."},
		{Name: "expect", Kind: document.AnObject, Of: anExpect, Doc: "What should have come of it."},
	},
	Others: map[string]string{"when": "given", "results": "given", "then": "expect", "want": "expect"},
}).Index()

var anEnd = (&document.Object{
	Title: "end",
	Doc:   "How the jobs of a step end, or some of them. Of two that fit, one that names an index, a round or an element counts, else the first.",
	Fields: []document.Field{
		{Name: "step", Kind: document.AText, Required: true, Doc: "The step."},
		{Name: "index", Kind: document.ANumber, Max: domain.MaxShards, Doc: "Only the job of that index of a shard or a list, or of the range with that number."},
		{Name: "round", Kind: document.ANumber, Min: 1, Max: domain.MaxRounds, Doc: "Only that round of a step that is repeated, from 1 on."},
		{Name: "item", Kind: document.AnyData, Doc: "Only the job for that element of the list."},
		{Name: "end", Kind: document.AText, Enum: []string{Succeeded, Failed, Errored, Approved, Rejected, Waits}, Initial: Succeeded,
			Doc: "How it ends, after all its retries: failed is what a script says, errored a crash or a time-out."},
		{Name: "error", Kind: document.AValue, Doc: "What went wrong, or what the person says who decides."},
		{Name: "result", Kind: document.AMap, Most: domain.MaxParams,
			Doc: "What it writes to its result: also params.<name> and steps.<step>.<setting>. Of a flow within, its result; of an approval, what is answered."},
	},
	Others: map[string]string{"status": "end", "state": "end", "comment": "error", "element": "item", "shard": "index"},
}).Index()

var anExpect = (&document.Object{
	Title: "expectation",
	Doc:   "What should have come of it; what is left out is not looked at.",
	Fields: []document.Field{
		{Name: "end", Kind: document.AText, Doc: "How the flow ended; waits: for a decision.",
			Enum: []string{string(domain.FlowSucceeded), string(domain.FlowFailed), string(domain.FlowErrored), string(domain.FlowStuck), Waits}},
		{Name: "error", Kind: document.AText, Doc: "A part of the text that says what went wrong first."},
		{Name: "states", Kind: document.AMap, Most: domain.MaxSteps, Doc: "Steps, and the state of each."},
		{Name: "order", Kind: document.SomeTexts, Most: domain.MaxSteps, Doc: "These steps began in that order; others may be between them."},
		{Name: "counts", Kind: document.AMap, Most: domain.MaxSteps, Doc: "Steps, and how many jobs each had."},
		{Name: "jobs", Kind: document.SomeObjects, Of: aJob, Most: maxEnds, Doc: "Jobs that there were, with what they were told."},
		{Name: "result", Kind: document.AMap, Most: domain.MaxParams, Doc: "The flow's result; more may be there."},
		{Name: "hook", Kind: document.AnObject, Of: aHook, Doc: "The hook that its end called. One whose payload cannot be computed is told without it, too."},
	},
	Others: map[string]string{"state": "states", "steps": "states", "status": "end", "reason": "end", "params": "jobs"},
}).Index()

var aHook = (&document.Object{
	Title: "hook",
	Doc:   "A hook that the flow's end called.",
	Fields: []document.Field{
		{Name: "on", Kind: document.AText, Doc: "Which of them; none: the end has none.", Enum: []string{string(domain.HookSucceeded),
			string(domain.HookFailed), string(domain.HookErrored), NoHook}},
		{Name: "params", Kind: document.AMap, Most: domain.MaxParams, Doc: "Params that it found; there may be more."},
		{Name: "payload", Kind: document.AnyData, Doc: "What its effect was told; of objects, more may be there."},
	},
	Others: map[string]string{"told": "payload"},
}).Index()

// NoHook is expected of an end that calls none.
const NoHook = "none"

var aJob = (&document.Object{
	Title: "job",
	Doc:   "A job that there was.",
	Fields: []document.Field{
		{Name: "step", Kind: document.AText, Required: true, Doc: "Its step."},
		{Name: "index", Kind: document.ANumber, Max: domain.MaxShards, Doc: "Its index, or the number of its range. Left out: the first that there is."},
		{Name: "range", Kind: document.AText, Doc: "The range that it does: 0-99."},
		{Name: "item", Kind: document.AnyData, Doc: "The element that it is for."},
		{Name: "params", Kind: document.AMap, Most: domain.MaxParams, Doc: "Params that it found, or that a flow within is given; there may be more."},
		{Name: "payload", Kind: document.AnyData, Doc: "What an effect was told; of objects, more may be there."},
	},
	Others: map[string]string{"told": "payload", "element": "item"},
}).Index()

// Schema is the JSON Schema of a file of tests.
func Schema() []byte { return aTest.Schema() }
