package definition

import (
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
)

const (
	namePattern    = `^[A-Za-z_][A-Za-z0-9_-]*$` // of domain.ValidateName
	nodePattern    = `^[a-z][a-z0-9_]*$`
	eventPattern   = `^[^\s\x00-\x1f\x7f]+$`
	versionPattern = `^([0-9]+(\.\.[0-9]*)?|\.\.[0-9]+)$`
)

var aSaga = (&document.Object{
	Title: "Ramet saga",
	Doc:   "A deterministic state machine over events, one instance for each correlation id.",
	Not:   []string{"script", "nodes"},
	After: inline,
	Fields: []document.Field{
		{Name: "name", Kind: document.AText, Required: true, Pattern: namePattern, Most: domain.MaxNameBytes,
			Doc: "Its name, one in a context: a letter or '_' first, then letters, digits, '_' and '-'."},
		{Name: "version", Kind: document.ANumber, Max: domain.MaxVersion,
			Doc: "Its version; it must be greater than the newest one there is. Left out, it is the next."},
		{Name: "summary", Kind: document.AText, Most: domain.MaxSummaryBytes, Doc: "What it is for, for people."},
		{Name: "triggers", Kind: document.SomeObjects, Of: aTrigger, Required: true, Most: domain.MaxSagaTriggers,
			Doc: "Where its events come from. Results of its own effects and its timers need none."},
		{Name: "correlation", Kind: document.AValue, Most: domain.MaxWhenBytes,
			Doc: "A Rhai expression over event that gives the id of the instance that an event is for. Left out, it is the event's metadata correlation_id."},
		{Name: "correlation_header", Kind: document.AText, Most: domain.MaxEventType, Doc: "The metadata of an event that is that id, instead of correlation."},
		{Name: "partitions", Kind: document.ANumber, Max: domain.MaxSagaPartitions, Initial: 1, Doc: "How many nodes its instances may be spread over."},
		{Name: "initial", Kind: document.AText, Required: true, Doc: "The state in which an instance begins."},
		{Name: "data", Kind: document.SomeData, Doc: "What an instance has at its beginning: what programs are given as state."},
		{Name: "states", Kind: document.NamedObjects, Of: aState, Key: "name", Required: true, Pattern: namePattern, Most: domain.MaxSagaStates,
			Doc: "The states, each with what it does with every event that may come."},
		{Name: "effects", Kind: document.SomeTexts, Pattern: namePattern, Most: domain.MaxSagaEffects,
			Doc: "The effects that the program may ask for. Of each <effect>.Succeeded, <effect>.Failed or <effect>.TimedOut comes."},
		{Name: "timers", Kind: document.SomeTexts, Pattern: eventPattern, Most: domain.MaxSagaEvents,
			Doc: "The types of the events of timers that the program may set."},
		{Name: "commands", Kind: document.SomeTexts, Pattern: namePattern, Most: domain.MaxSagaEffects,
			Doc: "The steps under which the program sends commands to aggregates. Of one that is refused <step>.Refused comes."},
		{Name: "gateway", Kind: document.AnObject, Of: aGateway, Doc: "How long commands are tried that the gateway does not take."},
		{Name: "events", Kind: document.NamedObjects, Of: anEvent, Key: "type", Pattern: eventPattern, Most: domain.MaxSagaEvents,
			Doc: "Which schema versions of events are taken, and how older ones become newer."},
		{Name: "script", Kind: document.AText, Most: domain.MaxSagaBytes, Doc: "The program in Rhai: fn on_event(state, event), and fn compensate(state, work)."},
		{Name: "script_file", Kind: document.AText,
			Doc: "The program's file, instead of script: a path within the folder of the definition's file. Only the command line reads it."},
		{Name: "nodes", Kind: document.NamedObjects, Of: aNode, Key: "name", Short: "expr", Pattern: nodePattern, Most: domain.MaxSagaNodes,
			Doc: "The program as a graph of Rhai expressions over state, event and each other, instead of script."},
		{Name: "compensation", Kind: document.AnObject, Of: aCompensation, Doc: "How completed steps are undone, in reverse order."},
		{Name: "on_poison", Kind: document.AText, Enum: []string{string(domain.PoisonHold), string(domain.PoisonSkip)}, Initial: string(domain.PoisonHold),
			Doc: "What becomes of an instance on whose event the program fails: hold has it wait until the dead letter is replayed or dropped, skip has it go on."},
		{Name: "on_version", Kind: document.AText, Enum: []string{string(domain.VersionDead), string(domain.VersionIgnore), string(domain.VersionCompensate)},
			Initial: string(domain.VersionDead), Doc: "What becomes of events of a schema version that is not taken."},
		{Name: "retention", Kind: document.ASpan, Doc: "How long an instance stays after its end. Left out, it is as the node has it."},
		{Name: "dedupe", Kind: document.ASpan, Initial: "24h", Doc: "How long ids of events are remembered."},
	},
	Others: map[string]string{
		"on": "triggers", "subscribe": "triggers", "subscriptions": "triggers", "description": "summary",
		"correlation_id": "correlation", "correlate": "correlation",
		"correlationHeader": "correlation_header", "start": "initial", "initial_state": "initial", "state": "data", "context": "data", "program": "script",
		"file": "script_file", "code": "script", "graph": "nodes", "compensations": "compensation", "compensate": "compensation",
		"shards": "partitions", "schema": "events",
	},
}).Index()

var aTrigger = (&document.Object{
	Title: "trigger",
	Doc:   "Where events come from.",
	Fields: []document.Field{
		{Name: "source", Kind: document.AText, Initial: string(domain.SourceAggregate),
			Enum: []string{string(domain.SourceAggregate), string(domain.SourceFact), string(domain.SourceResult), string(domain.SourceWorkflow)},
			Doc: "aggregate is other programs, workflow_event what other sagas tell, effect_result how effects end that others asked for, workflow what " +
				"others send to an instance by name."},
		{Name: "of", Kind: document.AText, Most: domain.MaxAggregateToken,
			Doc: "The type of the aggregate, the saga, or the effect; \"*\" is any. Events of source workflow are of nobody."},
		{Name: "types", Kind: document.SomeTexts, Pattern: eventPattern, Most: domain.MaxSagaEvents,
			Doc: "The types of events that are taken from there. Of effect_result: Succeeded, Failed, TimedOut; left out, all."},
	},
	Others: map[string]string{"type": "types", "events": "types", "event": "types", "aggregate": "of", "aggregate_type": "of", "saga": "of",
		"effect": "of", "from": "of"},
}).Index()

var aState = (&document.Object{
	Title: "state",
	Doc:   "A state. One that is not final says of every event that may come what it does with it.",
	Fields: []document.Field{
		{Name: "on", Kind: document.SomeChoices, Enum: document.TextsOf(domain.Reactions),
			Doc: "What is done with events of a type, or with \"*\", all others: handle runs the program, defer keeps the event for a later state, ignore, " +
				"fail makes a dead letter."},
		{Name: "timeout", Kind: document.AnObject, Of: aTimeout, Doc: "The event that comes when the state lasts too long."},
		{Name: "final", Kind: document.AFlag, Initial: false, Doc: "Whether the instance ends here."},
		{Name: "outcome", Kind: document.AText, Enum: []string{string(domain.OutcomeSucceeded), string(domain.OutcomeFailed)},
			Doc: "How an instance has ended that ends here. Left out, it has succeeded."},
	},
	Others: map[string]string{"events": "on", "transitions": "on", "reactions": "on", "end": "final", "type": "final", "after": "timeout", "time_out": "timeout"},
}).Index()

var aTimeout = (&document.Object{
	Title: "timeout",
	Doc:   "What comes when a state lasts too long.",
	Fields: []document.Field{
		{Name: "after", Kind: document.ASpan, Required: true, Doc: "How long that is."},
		{Name: "event", Kind: document.AText, Required: true, Pattern: eventPattern, Most: domain.MaxEventType, Doc: "The type of the event."},
	},
	Others: map[string]string{"type": "event", "send": "event", "in": "after"},
}).Index()

var aGateway = (&document.Object{
	Title: "gateway",
	Doc:   "By which policy commands are tried that the gateway does not take: it is away, or answers with 5xx. One that is given up brings <step>.Refused.",
	Fields: []document.Field{
		{Name: "attempts", Kind: document.ANumber, Max: domain.MaxGatewayAttempts,
			Doc: "How often a command is tried. Left out, it is as often as give_up allows."},
		{Name: "max_backoff", Kind: document.ASpan, Initial: "30s", Doc: "Up to where the pause between two attempts grows."},
		{Name: "give_up", Kind: document.ASpan, Initial: "36h", Doc: "How long after its first failure a command is given up on."},
	},
	Others: map[string]string{"retries": "attempts", "max_attempts": "attempts", "backoff": "max_backoff", "timeout": "give_up", "after": "give_up"},
}).Index()

var anEvent = (&document.Object{
	Title: "event",
	Doc:   "What of a type of event is taken.",
	After: versions,
	Fields: []document.Field{
		{Name: "versions", Kind: document.AValue, Pattern: versionPattern, Doc: "The schema versions that are taken: 2, 1..3, 2.. or ..3."},
		{Name: "min_version", Kind: document.ANumber, Max: domain.MaxVersion, Doc: "The oldest of them, where versions is not given."},
		{Name: "max_version", Kind: document.ANumber, Max: domain.MaxVersion, Doc: "The newest of them, where versions is not given."},
		{Name: "upcast", Kind: document.NamedObjects, Of: anUpcast, Key: "from", KeyNumber: true, Short: "expr", Most: domain.MaxSagaEvents,
			Doc: "For each older version, a Rhai expression over payload that gives the payload of the next."},
	},
	Others: map[string]string{"version": "versions", "upcasts": "upcast", "upcasters": "upcast"},
}).Index()

var anUpcast = (&document.Object{
	Title:  "upcast",
	Doc:    "How the payload of a version becomes one of the next.",
	Fields: []document.Field{{Name: "expr", Kind: document.AValue, Required: true, Most: domain.MaxWhenBytes, Doc: "A Rhai expression over payload."}},
}).Index()

var aNode = (&document.Object{
	Title: "node",
	Doc:   "A node of a graph.",
	Fields: []document.Field{
		{Name: "expr", Kind: document.AValue, Required: true, Doc: "A Rhai expression over what the program is given and other nodes."},
		{Name: "when", Kind: document.AValue, Most: domain.MaxWhenBytes, Doc: "A condition; where it does not hold the node is ()."},
	},
	Others: map[string]string{"if": "when", "expression": "expr", "value": "expr"},
}).Index()

var aCompensation = (&document.Object{
	Title: "compensation",
	Doc:   "How completed steps are undone: in reverse order, one after the other.",
	Fields: []document.Field{
		{Name: "steps", Kind: document.SomeTexts, Required: true, Pattern: namePattern, Most: domain.MaxSagaSteps,
			Doc: "The steps that can be undone; others have nothing to undo."},
		{Name: "effects", Kind: document.SomeTexts, Pattern: namePattern, Most: domain.MaxSagaEffects,
			Doc: "The effects that may be asked for only to undo; their results go to no state."},
		{Name: "nodes", Kind: document.NamedObjects, Of: aNode, Key: "name", Short: "expr", Pattern: nodePattern, Most: domain.MaxSagaNodes,
			Doc: "What undoes a step, where the program is a graph: expressions over state, work and each other."},
		{Name: "attempts", Kind: document.ANumber, Max: domain.MaxUndoAttempts, Initial: 3, Doc: "How often the effect that undoes a step is asked for."},
		{Name: "done", Kind: document.AText, Required: true, Doc: "The state that comes when all is undone."},
		{Name: "failed", Kind: document.AText, Required: true, Doc: "The state that comes when something could not be undone."},
	},
	Others: map[string]string{"retries": "attempts", "success": "done", "succeeded": "done", "failure": "failed", "undo": "steps"},
}).Index()
