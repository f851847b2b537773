package domain

import (
	"slices"
	"strconv"
)

// FlowStatus is the seeds' word for where a flow stands.
type FlowStatus string

// The flow statuses.
//
// Source: seeds 000 and 002, "FlowStatus".
const (
	FlowDispatched FlowStatus = "dispatched"
	FlowStarted    FlowStatus = "started"
	FlowError      FlowStatus = "error"
	FlowFinished   FlowStatus = "finished"
)

// Final reports whether the flow has ended.
func (s FlowStatus) Final() bool { return s == FlowError || s == FlowFinished }

// flowMoves is the whole state machine of a flow.
var flowMoves = map[FlowStatus][]FlowStatus{
	FlowDispatched: {FlowStarted, FlowError, FlowFinished}, // finished at once: no jobs
	FlowStarted:    {FlowError, FlowFinished},
}

// CanBecome reports whether a flow may pass from s to next.
func (s FlowStatus) CanBecome(next FlowStatus) bool { return slices.Contains(flowMoves[s], next) }

// Flow is a graph of jobs that belong together; the edges stand in the jobs.
//
// Source: seeds 000 and 002, "Flow".
type Flow struct {
	ID        FlowID            `json:"id"`
	CallerID  ActorID           `json:"caller_id"`
	ContextID TenantID          `json:"context_id"`
	Jobs      []JobID           `json:"jobs"`
	EnvVars   map[string]string `json:"env_vars"`
	Result    map[string]string `json:"result"`
	CreatedAt UnixTime          `json:"created_at"`
	UpdatedAt UnixTime          `json:"updated_at"`
	Status    FlowStatus        `json:"status"`
}

// Key is the flow's key on its context's board: "flow:33".
func (f Flow) Key() string { return "flow:" + strconv.FormatUint(uint64(f.ID), 10) }
