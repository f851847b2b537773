package domain

import "encoding/json"

// EffectOutcome is how an attempt ended.
type EffectOutcome string

// The outcomes.
const (
	EffectDone      EffectOutcome = "done"
	EffectDenied    EffectOutcome = "refused"
	EffectFailed    EffectOutcome = "failed"
	EffectTimedOut  EffectOutcome = "timed_out"
	EffectAbandoned EffectOutcome = "abandoned" // the node ended it
)

// EffectKind is how an effect reaches the outside.
type EffectKind string

// The kinds.
const (
	EffectHTTP EffectKind = "http"
	EffectGRPC EffectKind = "grpc"
	EffectSMTP EffectKind = "smtp"
	EffectSQL  EffectKind = "sql"
	EffectJob  EffectKind = "job"
	EffectFlow EffectKind = "flow"
)

// OnlyWaits reports whether an effect of the kind does no more than wait for other
// work on the board, which goes on without it and is found again by whoever waits
// next. A node that is lost meanwhile says nothing of it.
func (k EffectKind) OnlyWaits() bool { return k == EffectJob || k == EffectFlow }

// EffectStatus is how an effect does on this node.
type EffectStatus struct {
	Name     string       `json:"name"`
	Kind     EffectKind   `json:"kind"`
	Summary  string       `json:"summary,omitzero"`
	Target   string       `json:"target"`
	Contexts []TenantID   `json:"contexts,omitzero"` // none: all
	Breaker  BreakerState `json:"breaker"`
	// OpenMs is how long the breaker lets nobody through yet.
	OpenMs int64 `json:"open_ms,omitzero"`
	// InFlight are the calls to the target that this node makes now, of all its effects, and MaxInFlight how many there may be.
	InFlight    int `json:"in_flight"`
	MaxInFlight int `json:"max_in_flight"`
	// Calls are those that jobs make now at this node, of flows and hooks too, and Called how many have ended since it began.
	Calls  int    `json:"calls"`
	Called uint64 `json:"called"`
	// Hand is how many commands of sagas this node has taken, Taken how many all nodes
	// have, and Pending how many nobody has yet.
	Hand    int    `json:"hand"`
	Taken   uint64 `json:"taken"`
	Pending uint64 `json:"pending"`
	// Paused says why no commands are taken, where none are though its breaker is not open.
	Paused string `json:"paused,omitzero"`
	// Error is that of the last attempt at this node that failed, for sagas, jobs or by hand, and Well that one after it did not.
	Error   string `json:"error,omitzero"`
	ErrorMs int64  `json:"error_ms,omitzero"`
	Well    bool   `json:"well,omitzero"`
	// Trouble says why the stream cannot be asked, where it cannot.
	Trouble string `json:"trouble,omitzero"`

	TimeoutMs int64 `json:"timeout_ms"`
	Attempts  int   `json:"attempts"`
}

// EffectStanding is how an effect does on a node: the first of these that holds. Lists, pages and
// what an instance of a saga waits for go by it.
type EffectStanding string

// The standings.
const (
	EffectPaused     EffectStanding = "paused"       // no commands are taken
	EffectInTrouble  EffectStanding = "in trouble"   // its stream cannot be asked
	EffectOpen       EffectStanding = "breaker open" // its target is left alone
	EffectOnTrial    EffectStanding = "on trial"     // one call finds out whether the target answers again
	EffectFailedLast EffectStanding = "failed last"
	EffectReady      EffectStanding = "ready"
)

// Stands is how an effect does, and why.
func (s *EffectStatus) Stands() (is EffectStanding, why string) {
	switch {
	case s.Paused != "":
		return EffectPaused, s.Paused
	case s.Trouble != "":
		return EffectInTrouble, s.Trouble
	case s.Breaker == BreakerOpen:
		return EffectOpen, "its target is left alone" + s.lastly()
	case s.Breaker == BreakerTrial:
		return EffectOnTrial, "the next call finds out whether its target answers again" + s.lastly()
	case s.Error != "" && !s.Well:
		return EffectFailedLast, s.Error
	}
	return EffectReady, ""
}

// lastly adds how the last attempt failed, where one did.
func (s *EffectStatus) lastly() string {
	if s.Error == "" {
		return ""
	}
	return "; the last error: " + s.Error
}

// EffectTrial is what a test of an effect found.
type EffectTrial struct {
	Effect string     `json:"effect"`
	Kind   EffectKind `json:"kind"`
	Target string     `json:"target"`
	// CommandID is that of a call that was made.
	CommandID string          `json:"command_id,omitzero"`
	Outcome   EffectOutcome   `json:"outcome"`
	Answer    json.RawMessage `json:"answer,omitzero"`
	Error     string          `json:"error,omitzero"`
	TookMs    float64         `json:"took_ms"`
}

// BreakerState is what a target's breaker does.
type BreakerState string

// The states: a closed breaker lets all calls through, an open one none, one on
// trial one.
const (
	BreakerClosed BreakerState = "closed"
	BreakerOpen   BreakerState = "open"
	BreakerTrial  BreakerState = "half-open"
)
