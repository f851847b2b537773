package domain

import "fmt"

// Limits of listeners.
const (
	// MaxListenersOf bounds the listeners of a context.
	MaxListenersOf = 200
	// MaxListenerBytes bounds its definition as JSON.
	MaxListenerBytes = 64 << 10
)

// Listener starts a flow of a blueprint for each event of a stream that it is for.
type Listener struct {
	Name    string `json:"name"`
	Summary string `json:"summary,omitzero"`
	// On says where events come from and which are taken, as of a saga: source aggregate,
	// workflow_event or effect_result.
	On SagaTrigger `json:"on_event"`
	// When is a Rhai expression over event: where it does not hold, the event starts nothing.
	// Default: each event starts a flow.
	When string `json:"when,omitzero"`
	// Blueprint is the name of a stored one, Version which of it; 0 is the newest at the time.
	Blueprint string `json:"blueprint"`
	Version   int    `json:"version,omitzero"`
	// Params are Rhai expressions over event, by the names of params that they are the values
	// of: {order: event.payload.id}. What is no text becomes JSON.
	Params map[string]string `json:"params,omitzero"`
	// Paused ones take no events; they wait in their stream.
	Paused bool `json:"paused,omitzero"`

	// CallerID is who applied it: its flows are in that actor's name.
	CallerID  ActorID       `json:"caller_id,omitzero"`
	CreatedAt UnixTime      `json:"created_at,omitzero"`
	UpdatedAt UnixTime      `json:"updated_at,omitzero"`
	State     ListenerState `json:"state,omitzero"`
}

// ListenerState is what has become of a listener; nobody hands it in.
type ListenerState struct {
	// Revision is one more with each change of its definition. MadeMs is when it was made, and
	// After the last message that its stream had then: what is older starts nothing.
	Revision int64  `json:"-"`
	MadeMs   int64  `json:"-"`
	After    uint64 `json:"-"`
	// Started counts flows, Refused events that became dead letters.
	Started int64 `json:"started,omitzero"`
	Refused int64 `json:"refused,omitzero"`
	// LastMs, LastFlow and LastEvent are of the last flow, RefusedMs and LastError of the last
	// event that became a dead letter.
	LastMs    int64  `json:"last_ms,omitzero"`
	LastFlow  FlowID `json:"last_flow,omitzero"`
	LastEvent string `json:"last_event,omitzero"` // its id
	RefusedMs int64  `json:"refused_ms,omitzero"`
	LastError string `json:"last_error,omitzero"`
	// HeldMs is when it was found last that events wait, and HeldWhy for what; 0: they do not.
	HeldMs  int64  `json:"held_ms,omitzero"`
	HeldWhy string `json:"held_why,omitzero"`
}

// Defined is the listener without what nobody hands in.
func (l Listener) Defined() Listener {
	l.CallerID, l.CreatedAt, l.UpdatedAt, l.State = 0, 0, 0, ListenerState{}
	return l
}

// Stream is where its events are.
func (l *Listener) Stream() StreamName {
	if l.On.Source == SourceFact || l.On.Source == SourceResult {
		return WorkflowEvents
	}
	return AggregateEvents
}

// Validate checks the definition, but for its expressions and where its events come from.
//
// Errors: [ErrInvalid].
func (l *Listener) Validate() error {
	if err := ValidateWebhookName("listener", l.Name); err != nil {
		return err
	}
	if err := l.validate(); err != nil {
		return fmt.Errorf("listener %q: %w", l.Name, err)
	}
	return nil
}

func (l *Listener) validate() error {
	if l.On.Source == SourceWorkflow {
		return Invalidf("on_event.source %q: those are for one instance of a saga; want aggregate, workflow_event or effect_result", l.On.Source)
	}
	return validateStart(l.Blueprint, l.Version, l.When, l.Params)
}
