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
	// Worker is the name of a worker, which is part of no node; Host and Version are
	// what it says of itself. See [WorkerAsk].
	Worker  string `json:"worker,omitzero"`
	Host    string `json:"host,omitzero"`
	Version string `json:"version,omitzero"`
	// Actor is as whom a worker is logged in. While it is listed nobody else has its
	// id, whatever they call themselves.
	Actor ActorID `json:"actor,omitzero"`
	// Serves says for each script type whether and how it is served.
	Serves []Service `json:"serves,omitzero"`
	// Labels are those of its node: what jobs ask for by affinity.
	Labels Labels `json:"labels,omitzero"`
	// Off are the roles that rules of duty have taken from its node.
	Off []Off `json:"off,omitzero"`
	// Locked are the encrypted contexts whose key its node does not have: it takes
	// nothing there.
	Locked []Locked `json:"locked,omitzero"`
	// SeenMs is when the node last said that it is alive (Unix ms).
	SeenMs int64 `json:"seen_ms,omitzero"`
}

// Service is what a runner says of one script type.
type Service struct {
	ScriptType ScriptType `json:"script_type"`
	// Served is false when the runtime cannot work here; Why says the reason.
	// Unasked is that nobody has asked for it: it is off unless somebody turns it on, or a
	// language that this machine has not.
	Served  bool   `json:"served"`
	Why     string `json:"why,omitzero"`
	Unasked bool   `json:"unasked,omitzero"`
	Summary string `json:"summary,omitzero"`
	SlotUse
	// Offers are labels that this type has beside those of the node; a name may
	// have several values.
	Offers map[string][]string `json:"offers,omitzero"`
	// Reserved are those of the offers that only some contexts may use, as
	// "effect=mail", with these contexts.
	Reserved map[string][]TenantID `json:"reserved,omitzero"`
	// Level is how much of the machine its scripts see; "" where they are no
	// processes. Levels are all that can be had there, and Refused says why the
	// others cannot.
	Level   Isolation            `json:"level,omitzero"`
	Levels  []Isolation          `json:"levels,omitzero"`
	Refused map[Isolation]string `json:"levels_refused,omitempty"`
	// Isolation lists the measures in force, NotInForce the others with reasons.
	Isolation  []string `json:"isolation,omitzero"`
	NotInForce []string `json:"not_in_force,omitzero"`
}

// SlotUse says how many scripts of a type a runner runs at once, and for whom.
type SlotUse struct {
	Slots int `json:"slots,omitzero"`
	// PerContext is how many of them one context may hold at once.
	PerContext int `json:"slots_per_context,omitzero"`
	// Taken are those that are held, by Holders: the contexts that hold most.
	Taken   int      `json:"slots_taken,omitzero"`
	Holders []Holder `json:"holders,omitzero"`
}

// Holds reports whether scripts of the type can be held in as far as a context
// wants them. Those that are no processes have nothing to reach the machine with.
func (s Service) Holds(want Isolation) bool {
	return want == "" || s.Level == "" || slices.Contains(s.Levels, Tightest(want, s.Level))
}

// Free reports whether a context could get a slot.
func (u SlotUse) Free(t TenantID) bool {
	return u.Taken < u.Slots && (u.PerContext == 0 || u.HeldBy(t) < u.PerContext)
}

// HeldBy is how many slots a context holds.
func (u SlotUse) HeldBy(t TenantID) int {
	for _, h := range u.Holders {
		if h.Context == t {
			return h.Slots
		}
	}
	return 0
}

// Holder is a context that holds slots, with the jobs of it that have run longest.
type Holder struct {
	Context TenantID  `json:"context"`
	Slots   int       `json:"slots"`
	Jobs    []HeldJob `json:"jobs"`
}

// HeldJob is a job that holds a slot.
type HeldJob struct {
	Key     string `json:"key"`
	SinceMs int64  `json:"since_ms"`
}

// JobMemory is the measure of isolation that bounds the memory of all processes of
// a job together. Where it is not in force, each of them is bounded by itself.
const JobMemory = "job_memory"

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

// Offer is one offer as [Service.Reserved] names it.
func Offer(name, value string) string { return name + "=" + value }

// LockedOut is what the runner lacks to serve a context, if it lacks something.
func (r Runner) LockedOut(t TenantID) (Locked, bool) {
	for _, l := range r.Locked {
		if l.Context == t {
			return l, true
		}
	}
	return Locked{}, false
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

// Alive reports whether the runner's node has said not too long ago that it is there.
func (r Runner) Alive(now time.Time) bool { return now.Sub(time.UnixMilli(r.SeenMs)) < NodeSilence }

// OffDuty is what has taken a role from it, if something has.
func (r Runner) OffDuty(role Role) (Off, bool) {
	i := slices.IndexFunc(r.Off, func(o Off) bool { return o.Role == role })
	if i < 0 {
		return Off{}, false
	}
	return r.Off[i], true
}
