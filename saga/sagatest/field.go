package sagatest

import (
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
)

// Limits of a file of tests.
const (
	maxBytes = 1 << 20
	maxCases = 1_000
	maxMoves = 1_000 // of a case
)

var aTest = (&document.Object{
	Title: "Ramet saga test",
	Doc:   "What should become of instances of a saga.",
	Fields: []document.Field{
		{Name: "saga", Kind: document.AText, Required: true, Doc: "The file of the saga: a path within the folder of this file."},
		{Name: "correlation", Kind: document.AValue, Most: domain.MaxCorrelation, Initial: "1", Doc: "The id of the instance."},
		{Name: "start", Kind: document.AnInstant, Initial: "2026-01-01T00:00:00Z", Doc: "When a case begins."},
		{Name: "cases", Kind: document.SomeObjects, Of: aCase, Required: true, Most: maxCases, Doc: "The cases; each has an instance of its own."},
	},
	Others: map[string]string{"tests": "cases", "definition": "saga", "file": "saga", "correlation_id": "correlation"},
}).Index()

var aCase = (&document.Object{
	Title: "case",
	Doc:   "What happens to an instance.",
	Fields: []document.Field{
		{Name: "name", Kind: document.AValue, Required: true, Doc: "What it shows, as a sentence."},
		{Name: "correlation", Kind: document.AValue, Most: domain.MaxCorrelation, Doc: "The id of the instance, over that of the file."},
		{Name: "given", Kind: document.SomeObjects, Of: aMove, Most: maxMoves, Doc: "What happened before."},
		{Name: "then", Kind: document.SomeObjects, Of: aMove, Most: maxMoves, Doc: "What happens, with what is expected."},
	},
	Others: map[string]string{"when": "then", "steps": "then", "events": "then", "expect": "then"},
}).Index()

var aMove = (&document.Object{
	Title: "move",
	Doc:   "An event, a result, or time that passes.",
	Fields: []document.Field{
		{Name: "after", Kind: document.ASpan, Doc: "How much time passes first; timers come when it passes them."},
		{Name: "at", Kind: document.AnInstant, Doc: "To which instant it passes."},
		{Name: "event", Kind: document.AnObject, Of: anEvent, Doc: "An event of a trigger."},
		{Name: "result", Kind: document.AnObject, Of: aResult, Doc: "How an effect ended."},
		{Name: "expect", Kind: document.AnObject, Of: anExpect, Doc: "What should have come of it."},
	},
	Others: map[string]string{"then": "expect", "wait": "after", "advance": "after", "want": "expect"},
}).Index()

var anEvent = (&document.Object{
	Title: "event",
	Doc:   "An event. What is left out is as the trigger says that takes it.",
	Fields: []document.Field{
		{Name: "type", Kind: document.AText, Required: true, Doc: "Its type."},
		{Name: "payload", Kind: document.AnyData, Doc: "What it carries."},
		{Name: "version", Kind: document.ANumber, Max: domain.MaxVersion, Initial: 1, Doc: "The schema version of that."},
		{Name: "id", Kind: document.AText, Doc: "Its id; left out, one of its own."},
		{Name: "source", Kind: document.AText, Doc: "Where it comes from: aggregate, workflow_event, effect_result or workflow."},
		{Name: "of", Kind: document.AText, Doc: "The type of the aggregate, or the saga or effect."},
		{Name: "aggregate_id", Kind: document.AValue, Doc: "The id of the aggregate; left out, that of the instance."},
		{Name: "metadata", Kind: document.AMap, Doc: "Its metadata."},
	},
	Others: map[string]string{"schema_version": "version", "aggregate_type": "of", "data": "payload"},
}).Index()

var aResult = (&document.Object{
	Title: "result",
	Doc:   "How an effect ended: that of a step, that which undoes one, or one that has no step.",
	Fields: []document.Field{
		{Name: "step", Kind: document.AText, Doc: "The step."},
		{Name: "undo", Kind: document.AText, Doc: "The step that is undone."},
		{Name: "effect", Kind: document.AText, Doc: "The effect, where it was asked for without a step."},
		{Name: "type", Kind: document.AText, Enum: document.TextsOf(domain.ResultTypes), Initial: string(domain.ResultSucceeded), Doc: "How it ended."},
		{Name: "payload", Kind: document.AnyData, Doc: "What the result carries."},
	},
	Others: map[string]string{"result": "type", "compensates": "undo", "data": "payload"},
}).Index()

var anExpect = (&document.Object{
	Title: "expectation",
	Doc:   "What should have come of it; what is left out is not looked at.",
	Fields: []document.Field{
		{Name: "state", Kind: document.AText, Doc: "The state of the instance."},
		{Name: "status", Kind: document.AText, Enum: []string{string(domain.SagaRunning), string(domain.SagaCompensating), string(domain.SagaEnded)},
			Doc: "Its status."},
		{Name: "outcome", Kind: document.AText, Enum: []string{string(domain.OutcomeSucceeded), string(domain.OutcomeFailed)}, Doc: "How it ended."},
		{Name: "data", Kind: document.SomeData, Doc: "Its data; of objects, more may be there."},
		{Name: "data_is", Kind: document.SomeData, Doc: "All its data."},
		{Name: "work", Kind: document.SomeObjects, Of: aWork, Most: domain.MaxWork, Doc: "All that was asked for, in order."},
		{Name: "timers", Kind: document.AMap, Doc: "All timers that are set: the event, and how long it is until it comes."},
		{Name: "steps", Kind: document.AMap, Doc: "Steps, and the state of each."},
		{Name: "deferred", Kind: document.SomeTexts, Most: domain.MaxDeferredEvents, Doc: "The types of all deferred events, in order."},
		{Name: "ignored", Kind: document.AFlag, Doc: "Whether nothing happened."},
		{Name: "held", Kind: document.AFlag, Doc: "Whether the instance waits for a dead letter to be dealt with."},
		{Name: "error", Kind: document.AText, Doc: "A part of the text of the error; left out, there must be none."},
	},
}).Index()

var aWork = (&document.Object{
	Title: "work",
	Doc:   "An item of work.",
	Fields: []document.Field{
		{Name: "effect", Kind: document.AText, Doc: "The effect."},
		{Name: "step", Kind: document.AText, Doc: "The step."},
		{Name: "compensates", Kind: document.AText, Doc: "The step that it undoes."},
		{Name: "command", Kind: document.AnObject, Of: aCommand, Doc: "Whom a command is for."},
		{Name: "saga", Kind: document.AText, Doc: "The saga that is sent an event."},
		{Name: "correlation", Kind: document.AValue, Doc: "The instance of that."},
		{Name: "event", Kind: document.AText, Doc: "The type of that."},
		{Name: "fact", Kind: document.AText, Doc: "The fact that is told."},
		{Name: "payload", Kind: document.AnyData, Doc: "What it carries; of objects, more may be there."},
		{Name: "metadata", Kind: document.AMap, Doc: "Some of its metadata."},
	},
	Others: map[string]string{"undo": "compensates", "to": "saga"},
}).Index()

var aCommand = (&document.Object{
	Title: "command",
	Doc:   "Whom a command is for.",
	Fields: []document.Field{
		{Name: "aggregate_type", Kind: document.AText, Doc: "The type of the aggregate."},
		{Name: "aggregate_id", Kind: document.AValue, Doc: "Its id."},
	},
	Others: map[string]string{"type": "aggregate_type", "id": "aggregate_id"},
}).Index()

// Schema is the JSON Schema of a file of tests.
func Schema() []byte { return aTest.Schema() }
