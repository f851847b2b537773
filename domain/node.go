package domain

import "time"

// NodeSilence is how long a node may say nothing and still count as alive: it
// says that it is there three times in that time.
const NodeSilence = 45 * time.Second

// Node is one process, as it says of itself on the board.
type Node struct {
	Name    string `json:"name"`
	Version string `json:"version,omitzero"`
	// Format is the newest format of boards that its program knows; 0 for one of before
	// there were any.
	Format int    `json:"format,omitzero"`
	Host   string `json:"host,omitzero"`
	// RunnerID is that of its runner.
	RunnerID RunnerID `json:"runner_id,omitzero"`
	// Durability is what writes survive that the node acknowledges.
	Durability string `json:"durability,omitzero"`
	Labels     Labels `json:"labels,omitzero"`
	// Circles are those that it serves.
	Circles []ServedCircle `json:"circles,omitzero"`
	// Effects are those that it does for sagas.
	Effects []string `json:"effects,omitzero"`
	// Off are the roles that rules of duty have taken from it.
	Off []Off `json:"off,omitzero"`
	// Unkept are the first [MaxUnkept] of its jobs that wait with their end for the store of artifacts.
	Unkept    []Unkept `json:"unkept,omitzero"`
	StartedMs int64    `json:"started_ms,omitzero"` // Unix milliseconds
	// ClockOffMs is by how much its machine's clock is ahead of the board's, in whole seconds.
	ClockOffMs int64 `json:"clock_off_ms,omitzero"`
	// SeenMs is when it last said that it is alive, by the board's clock; 0 once it has stopped.
	SeenMs int64 `json:"seen_ms"`
	// Alive is whether that is not too long ago.
	Alive bool `json:"alive"`
}

// MaxUnkept bounds [Node.Unkept], which is written every few seconds.
const MaxUnkept = 100

// Unkept is a job whose script has done its work and whose files the store of artifacts does not take.
type Unkept struct {
	Context TenantID `json:"context"`
	Job     string   `json:"job"`
	Full    bool     `json:"full,omitzero"` // the store has no room; otherwise it is away
	Why     string   `json:"why"`           // with the place of the store
}

// Seen returns the node with Alive as it is at now.
func (n Node) Seen(now time.Time) Node {
	n.Alive = now.Sub(time.UnixMilli(n.SeenMs)) < NodeSilence
	return n
}
