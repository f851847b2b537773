package domain

import (
	"slices"
	"strconv"
	"time"
)

// Runner is a worker that executes jobs: part of a node, or a foreign program.
//
// Source: seeds 000 and 002, "Runner".
type Runner struct {
	ID RunnerID `json:"id"`
	// Pubkey routes on the bus; a Mycelium (X25519) key upstream.
	Pubkey  string `json:"pubkey"`
	Address string `json:"address"`
	// Topic is what it listens to on the bus. Default: "runner<id>".
	Topic string `json:"topic"`
	// Local runners take jobs from the board's queues themselves.
	Local     bool     `json:"local"`
	CreatedAt UnixTime `json:"created_at"`
	UpdatedAt UnixTime `json:"updated_at"`

	// Node names the process it is part of; empty for foreign runners.
	Node string `json:"node,omitzero"`
	// Serves says for each script type whether and how it is served.
	Serves []Service `json:"serves,omitzero"`
	// Labels are those of its node: what jobs ask for by affinity.
	Labels Labels `json:"labels,omitzero"`
	// Off are the roles that rules of duty have taken from its node.
	Off []Off `json:"off,omitzero"`
	// SeenMs is when the node last said that it is alive (Unix ms).
	SeenMs int64 `json:"seen_ms,omitzero"`
}

// Service is what a runner says of one script type.
type Service struct {
	ScriptType ScriptType `json:"script_type"`
	// Served is false when the runtime cannot work here; Why says the reason.
	Served  bool   `json:"served"`
	Why     string `json:"why,omitzero"`
	Summary string `json:"summary,omitzero"`
	Slots   int    `json:"slots,omitzero"`
	// Offers are labels that this type has beside those of the node; a name may
	// have several values.
	Offers map[string][]string `json:"offers,omitzero"`
	// Isolation lists the measures in force, NotInForce the others with reasons.
	Isolation  []string `json:"isolation,omitzero"`
	NotInForce []string `json:"not_in_force,omitzero"`
}

// RunnerType is what a runner is made for in the seeds; it only names a script type.
type RunnerType string

// The runner types of the seeds.
//
// Source: seed 002, "RunnerType".
const (
	RunnerV      RunnerType = "v"
	RunnerPython RunnerType = "python"
	RunnerOSIS   RunnerType = "osis"
	RunnerRust   RunnerType = "rust"
)

// QueueSuffix is the part of a queue's name after "queue:".
func (t RunnerType) QueueSuffix() string { return string(t) }

// Has reports whether a service of a node with some labels has all that is
// wanted.
func (s Service) Has(ofNode, wanted Labels) bool {
	for name, value := range wanted {
		if ofNode[name] != value && !slices.Contains(s.Offers[name], value) {
			return false
		}
	}
	return true
}

// Key is the runner's key on the board: "runner:20".
func (r Runner) Key() string { return "runner:" + strconv.FormatUint(uint64(r.ID), 10) }

// DefaultTopic is "runner<id>".
func (id RunnerID) DefaultTopic() string { return "runner" + strconv.FormatUint(uint64(id), 10) }

// Touched returns the runner with its times set for a change at now.
func (r Runner) Touched(now time.Time) Runner {
	if r.CreatedAt == 0 {
		r.CreatedAt = At(now)
	}
	r.UpdatedAt = At(now)
	return r
}
