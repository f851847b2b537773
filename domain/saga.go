package domain

import "encoding/json"

// Limits of saga definitions and their instances.
const (
	MaxSagaBytes      = 512 << 10 // a definition's text
	MaxSagaStates     = 200
	MaxSagaEvents     = 200
	MaxSagaTriggers   = 50
	MaxSagaNodes      = 200 // of a graph program
	MaxSagaPartitions = 64
	MaxUndoAttempts   = 100       // of the effect that undoes a step
	MaxPartitions     = 256       // of all sagas of a context together
	MaxSagaData       = 512 << 10 // bytes of an instance's data as JSON
	MaxSagaSteps      = 512       // of one instance
	MaxSagaAsked      = 1000      // effects without a step whose results are awaited
	MaxSagaTimers     = 64        // of one instance at once
	MaxSagaEffects    = 100       // that a definition names
	MaxSagaDepth      = 100       // how deep an instance's data nests
	MaxSagaStepBytes  = 512 << 10 // payloads and results of an instance's steps together
	MaxSagaTimerBytes = 256 << 10 // payloads of an instance's timers together
	MaxDeferredEvents = 256
	MaxDeferredBytes  = 1 << 20
)

// Reaction is what a state does with an event.
type Reaction string

// The reactions.
const (
	Handle Reaction = "handle" // run the program
	Defer  Reaction = "defer"  // keep it until a state that does not
	Ignore Reaction = "ignore"
	Fail   Reaction = "fail" // a dead letter
)

// Reactions are all of them.
var Reactions = []Reaction{Handle, Defer, Ignore, Fail}

// AnyEvent stands for all events that a state does not name.
const AnyEvent = "*"

// SagaDefinition is a state machine over events.
//
// Source: seed 003, parts 1, 5 and 9; DESIGN's totality check.
type SagaDefinition struct {
	Name    string `json:"name"`
	Version int    `json:"version,omitzero"` // 0: the next when it is applied
	Summary string `json:"summary,omitzero"`
	// Triggers are where its events come from. Results of its own effects and
	// its timers need none.
	Triggers []SagaTrigger `json:"triggers"`
	// Correlation is a Rhai expression over `event` that gives the id of the
	// instance that an event is for. CorrelationHeader names metadata of the
	// event instead. Default: the metadata correlation_id.
	Correlation       string `json:"correlation,omitzero"`
	CorrelationHeader string `json:"correlation_header,omitzero"`
	// Partitions are how many nodes its instances may be spread over. Default: 1.
	Partitions int `json:"partitions,omitzero"`
	// Initial is the state in which an instance begins, and Data what it has.
	Initial string          `json:"initial"`
	Data    json.RawMessage `json:"data,omitzero"` // a JSON object
	States  []SagaState     `json:"states"`
	// Effects are those that the program may ask for, and Timers the types of
	// the events of timers that it may set: every state has a reaction to what
	// comes of them.
	Effects []string `json:"effects,omitzero"`
	Timers  []string `json:"timers,omitzero"`
	// Commands are the steps under which the program sends commands to aggregates
	// that may be refused: "<step>.Refused" comes then. A refused command without a
	// step is a dead letter.
	Commands []string `json:"commands,omitzero"`
	// Gateway is how long commands are tried that the gateway does not take. Default: see [SagaGateway].
	Gateway *SagaGateway `json:"gateway,omitzero"`
	// Events say what of an event's type is taken, where not all is.
	Events []SagaEvent `json:"events,omitzero"`
	// Script or Nodes is the program.
	Script string     `json:"script,omitzero"` // Rhai: on_event(state, event), compensate(state, work)
	Nodes  []SagaNode `json:"nodes,omitzero"`
	// Compensation says how completed steps are undone.
	Compensation *SagaCompensation `json:"compensation,omitzero"`
	// OnPoison is what becomes of an instance whose program fails on an event.
	// Default: hold.
	OnPoison OnPoison `json:"on_poison,omitzero"`
	// OnVersion is what becomes of events of a schema version that is not
	// taken. Default: deadletter.
	OnVersion OnVersion `json:"on_version,omitzero"`
	// Retention is how long an instance stays after its end. 0: the node's.
	Retention Span `json:"retention,omitzero"`
	// Dedupe is how long ids of events are remembered. Default: 24h.
	Dedupe Span `json:"dedupe,omitzero"`
}

// The policy of commands, where a definition does not say otherwise: it survives an outage of a day.
const (
	DefaultGatewayGiveUp     = Span(36 * 3600)
	DefaultGatewayMaxBackoff = Span(30)
	MaxGatewayAttempts       = 1_000_000
	MaxGatewayBackoff        = Span(24 * 3600)
	MaxGatewayGiveUp         = Span(30 * 24 * 3600)
)

// SagaGateway is the policy by which commands are tried that the gateway does not take, as effects
// have one: what comes first ends it. The instance learns of it as of a refusal.
type SagaGateway struct {
	// Attempts is how often a command is tried. Default: as often as GiveUp allows.
	Attempts int `json:"attempts,omitzero"`
	// MaxBackoff is up to where the pause between two attempts grows. Default: 30s.
	MaxBackoff Span `json:"max_backoff,omitzero"`
	// GiveUp is how long after its first failure a command is given up on. Default: 36h.
	GiveUp Span `json:"give_up,omitzero"`
}

// Filled returns the policy with its defaults; those of nil are all.
func (g *SagaGateway) Filled() SagaGateway {
	var filled SagaGateway
	if g != nil {
		filled = *g
	}
	if filled.MaxBackoff == 0 {
		filled.MaxBackoff = DefaultGatewayMaxBackoff
	}
	if filled.GiveUp == 0 {
		filled.GiveUp = DefaultGatewayGiveUp
	}
	return filled
}

// SagaTrigger is where events come from.
type SagaTrigger struct {
	// Source is aggregate, workflow_event, effect_result (of effects that others
	// asked for), or workflow (events that others send to an instance by name).
	// Default: aggregate.
	Source EventSource `json:"source,omitzero"`
	// Of is the aggregate's type, the saga that tells facts, or the effect.
	// "*": any. Events of source workflow are of nobody.
	Of string `json:"of,omitzero"`
	// Types are the events that are taken from there; others are passed by.
	// Those of results are Succeeded, Failed and TimedOut; none is all of them.
	Types []string `json:"types,omitzero"`
}

// SagaState is a state with what it does with each event.
type SagaState struct {
	Name string `json:"name"`
	// On has a reaction for each type of event, or "*" for all that it does not name.
	On map[string]Reaction `json:"on,omitzero"`
	// Timeout sends an event after a time in this state.
	Timeout *SagaTimeout `json:"timeout,omitzero"`
	// Final ends the instance with an outcome. It has no reactions.
	Final   bool        `json:"final,omitzero"`
	Outcome SagaOutcome `json:"outcome,omitzero"` // default: succeeded
}

// SagaTimeout is what comes when a state lasts too long.
type SagaTimeout struct {
	After Span   `json:"after"`
	Event string `json:"event"` // its type
}

// SagaEvent says what of a type of event is taken.
type SagaEvent struct {
	Type string `json:"type"`
	// MinVersion and MaxVersion are the schema versions that are taken. 0: any.
	MinVersion int `json:"min_version,omitzero"`
	MaxVersion int `json:"max_version,omitzero"`
	// Upcast are Rhai expressions over `payload`: the payload of version n as
	// one of n+1, for each older version.
	Upcast []SagaUpcast `json:"upcast,omitzero"`
}

// SagaUpcast makes a payload of one version into one of the next.
type SagaUpcast struct {
	From int    `json:"from"`
	Expr string `json:"expr"`
}

// SagaNode is a node of a graph program: a Rhai expression over `state`,
// `event`, and the nodes it needs. In a compensation, `work` is the step.
type SagaNode struct {
	Name string `json:"name"`
	Expr string `json:"expr"`
	// When is a condition; where it does not hold the node is ().
	When string `json:"when,omitzero"`
}

// SagaCompensation says how completed steps are undone: in reverse order, one
// after the other.
type SagaCompensation struct {
	// Steps are those that can be undone; a step that is not here has nothing
	// to undo.
	Steps []string `json:"steps"`
	// Effects are those that may be asked for only to undo; their results go to
	// no state.
	Effects []string `json:"effects,omitzero"`
	// Nodes are the program where it is a graph; a script has compensate.
	Nodes []SagaNode `json:"nodes,omitzero"`
	// Attempts is how often the effect that undoes a step is asked for. Default: 3.
	Attempts int `json:"attempts,omitzero"`
	// Done and Failed are the states that come after.
	Done   string `json:"done"`
	Failed string `json:"failed"`
}

// OnPoison is what becomes of an instance whose program fails on an event.
type OnPoison string

// The policies.
const (
	PoisonHold OnPoison = "hold" // it waits until the dead letter is replayed or dropped
	PoisonSkip OnPoison = "skip" // it goes on with the next event
)

// OnVersion is what becomes of events of a version that is not taken.
type OnVersion string

// The policies.
const (
	VersionDead       OnVersion = "deadletter"
	VersionIgnore     OnVersion = "ignore"
	VersionCompensate OnVersion = "compensate" // the instance undoes what it did
)

// SagaOutcome is how an instance ended.
type SagaOutcome string

// The outcomes.
const (
	OutcomeSucceeded SagaOutcome = "succeeded"
	OutcomeFailed    SagaOutcome = "failed"
)

// SagaStatus is whether an instance moves.
type SagaStatus string

// The statuses.
const (
	SagaRunning      SagaStatus = "running"
	SagaCompensating SagaStatus = "compensating"
	SagaEnded        SagaStatus = "ended"
)

// SagaInstance is one run of a definition: all that there is of one
// correlation id.
type SagaInstance struct {
	Saga        string `json:"saga"`
	Correlation string `json:"correlation_id"`
	// Tenant is as subjects have it.
	Tenant string `json:"tenant_id,omitzero"`
	// Definition is the version it is pinned to, Hash that version's.
	Definition int    `json:"definition"`
	Hash       string `json:"hash"`
	// Life is the id of the event by which it began: it tells it from another one
	// that had this correlation id before.
	Life string `json:"life,omitzero"`
	// Version counts its transitions.
	Version int64           `json:"version"`
	State   string          `json:"state"`
	Data    json.RawMessage `json:"data"`
	Status  SagaStatus      `json:"status"`
	Outcome SagaOutcome     `json:"outcome,omitzero"`
	// Steps are the effects that it asked for under a name, in the order in
	// which they were asked for.
	Steps []SagaStep `json:"steps,omitzero"`
	// Asked are the effects that it asked for without a step, whose results are
	// not there yet.
	Asked []SagaAsked `json:"asked,omitzero"`
	// Timers are those that are set: until their events are handled, not only
	// until they come.
	Timers []SagaTimer `json:"timers,omitzero"`
	// Deferred are events that wait, in order: for another state, or because
	// the instance is held or paused.
	Deferred []Event `json:"deferred,omitzero"`
	// Work is how many work items it has made: the N of the last.
	Work int64 `json:"work"`
	// Held is the dead letter that must be dealt with first, Paused that a
	// person stopped it.
	Held      string `json:"held,omitzero"`
	Paused    bool   `json:"paused,omitzero"`
	CreatedMs int64  `json:"created_ms"`
	UpdatedMs int64  `json:"updated_ms"`
	EndedMs   int64  `json:"ended_ms,omitzero"`
}

// StepState is how far a step of an instance is.
type StepState string

// The states of a step.
const (
	StepAsked        StepState = "asked"
	StepCompleted    StepState = "completed"
	StepFailedEffect StepState = "failed"
	StepUndoing      StepState = "compensating"
	StepUndone       StepState = "compensated"
	StepNotUndone    StepState = "compensation_failed"
)

// SagaStep is an effect that an instance asked for under a name.
type SagaStep struct {
	Name      string          `json:"name"`
	Effect    string          `json:"effect_name"`
	CommandID string          `json:"command_id"`
	State     StepState       `json:"state"`
	Payload   json.RawMessage `json:"payload,omitzero"`
	Result    json.RawMessage `json:"result,omitzero"`
	// Order numbers completed steps in the order in which they were.
	Order int `json:"order,omitzero"`
	// Undo is the command that undoes it, UndoEffect that one's effect, and Undos
	// how often that was asked for.
	Undo       string `json:"undo_id,omitzero"`
	UndoEffect string `json:"undo_effect,omitzero"`
	Undos      int    `json:"undos,omitzero"`
}

// SagaAsked is an effect that an instance asked for without a step.
type SagaAsked struct {
	Effect    string `json:"effect_name"`
	CommandID string `json:"command_id"`
}

// SagaTimer is a timer that is set.
type SagaTimer struct {
	Event string `json:"event"`
	// DueMs is its instant, in Unix milliseconds; no two of an instance have
	// the same.
	DueMs   int64           `json:"due_ms"`
	Payload json.RawMessage `json:"payload,omitzero"`
	State   string          `json:"state,omitzero"` // set on the time-out of a state
	ID      string          `json:"id,omitzero"`    // of its event; "": of the instant and the instance's version
}

// SagaEntry is a line of an instance's history.
type SagaEntry struct {
	Version  int64    `json:"version"`
	AtMs     int64    `json:"at_ms"` // when the event's stream took it
	EventID  string   `json:"event_id"`
	Type     string   `json:"event_type"`
	Stream   string   `json:"stream,omitzero"`
	Seq      uint64   `json:"stream_seq,omitzero"`
	Reaction Reaction `json:"reaction"`
	From     string   `json:"from"`
	To       string   `json:"to"`
	Work     []string `json:"work,omitzero"` // "effect charge-card 018f…"
	Note     string   `json:"note,omitzero"` // held, paused, migrated, …
}
