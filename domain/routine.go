package domain

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Limits of a routine.
const (
	MaxRoutineScale = 100
	MaxRoutineEvery = 30 * 24 * 3600 // seconds
	DefaultEvery    = Span(60)
)

// Routine is a script that is run again and again in a context: each round is
// a job, one at a time, and the next begins Every after the last has ended.
//
// Source: seed 004, "Routine".
type Routine struct {
	Name       string     `json:"name"`
	Summary    string     `json:"summary,omitzero"`
	Script     string     `json:"script"`
	ScriptType ScriptType `json:"script_type"`
	// Every is the pause between rounds, 1 s to 30 days. Default: 60s.
	Every *Span `json:"every,omitzero"`
	// Scale is how many instances there are, 1 to 100, each with rounds of its own.
	// Default: 1.
	Scale *int `json:"scale,omitzero"`
	// Params and Env are those of each round's job. Rounds find their number,
	// instance and number of instances in params too.
	Params map[string]string `json:"params,omitzero"`
	Env    map[string]string `json:"env,omitzero"`
	// Timeout bounds a round. Default: as for jobs.
	Timeout  Span `json:"timeout,omitzero"`
	Priority int  `json:"priority,omitzero"`
	// Affinity are labels that a node must have to run its rounds.
	Affinity Labels `json:"affinity,omitzero"`
	Paused   bool   `json:"paused,omitzero"`

	// What callers do not choose.
	CallerID  ActorID           `json:"caller_id,omitzero"` // in whose name rounds run
	CreatedAt UnixTime          `json:"created_at,omitzero"`
	UpdatedAt UnixTime          `json:"updated_at,omitzero"`
	Instances []RoutineInstance `json:"instances,omitzero"`
}

// RoutineInstance is where one instance of a routine stands.
type RoutineInstance struct {
	Name  string `json:"name"`  // "sync", or "sync-3.0"
	Round int64  `json:"round"` // of the last that began; the first is 1
	// Job is the round under way; "" between rounds.
	Job     string `json:"job,omitzero"`
	LastJob string `json:"last_job,omitzero"`
	BeganMs int64  `json:"began_ms,omitzero"` // 0 while its job waits for a runner
	EndedMs int64  `json:"ended_ms,omitzero"`
	NextMs  int64  `json:"next_ms,omitzero"`
	// Failures counts the rounds that have failed since the last good one.
	Failures int `json:"failures,omitzero"`
	// Error is that of the last round; Held says why there is none now, or why the one under way does not begin.
	Error      string `json:"error,omitzero"`
	Held       string `json:"held,omitzero"`
	Checkpoint string `json:"checkpoint,omitzero"`
}

// EveryOr is the pause between rounds.
func (r *Routine) EveryOr() Span {
	if r.Every == nil {
		return DefaultEvery
	}
	return *r.Every
}

// ScaleOr is how many instances there are.
func (r *Routine) ScaleOr() int {
	if r.Scale == nil {
		return 1
	}
	return *r.Scale
}

// RoutinePart is one of the instances that a routine has at some scale.
type RoutinePart struct{ Scale, Index int }

// String is the part within keys: "3.0".
func (p RoutinePart) String() string { return strconv.Itoa(p.Scale) + "." + strconv.Itoa(p.Index) }

// ParseRoutinePart reads what String writes.
func ParseRoutinePart(text string) (p RoutinePart, ok bool) {
	scale, index, _ := strings.Cut(text, ".")
	s, errS := strconv.Atoi(scale)
	i, errI := strconv.Atoi(index)
	p = RoutinePart{s, i}
	return p, errS == nil && errI == nil && i >= 0 && i < s && s <= MaxRoutineScale && p.String() == text
}

// InstanceName is the name of a part: that of the routine where it is the only one.
//
// Source: seed 004, routine "scale".
func InstanceName(routine string, p RoutinePart) string {
	if p.Scale == 1 {
		return routine
	}
	return routine + "-" + p.String()
}

// Job is the job of one round.
func (r *Routine) Job(tenant TenantID, id JobID, p RoutinePart, round int64) *Job {
	params := map[string]string{"round": strconv.FormatInt(round, 10), "instance": strconv.Itoa(p.Index), "instances": strconv.Itoa(p.Scale)}
	for name, value := range r.Params {
		params[name] = value
	}
	return &Job{ID: id, CallerID: r.CallerID, ContextID: tenant, Script: r.Script, ScriptType: r.ScriptType, EnvVars: r.Env, Params: params,
		Timeout: uint32(r.Timeout), Priority: r.Priority, Affinity: r.Affinity, Routine: r.Name + ":" + p.String()}
}

// Validate checks what a caller gave.
//
// Errors: [ErrInvalid].
func (r *Routine) Validate() error {
	if err := ValidateName("routine", r.Name); err != nil {
		return err
	}
	if every := r.EveryOr(); every < 1 || every > MaxRoutineEvery {
		return Invalidf("routine %q: every %d s: want 1 to %d (30 days), or leave it out for %d", r.Name, every, MaxRoutineEvery, DefaultEvery)
	}
	if scale := r.ScaleOr(); scale < 1 || scale > MaxRoutineScale {
		return Invalidf("routine %q: scale %d: want 1 to %d, or leave it out for 1; a routine that is paused has no rounds", r.Name, scale, MaxRoutineScale)
	}
	if err := ValidateParams(r.Params); err != nil {
		return fmt.Errorf("routine %q: %w", r.Name, err)
	}
	round := r.Job(1, 1, RoutinePart{r.ScaleOr(), 0}, 1)
	round.CallerID = cmp.Or(round.CallerID, Operator)
	if err := round.Validate(); err != nil {
		return fmt.Errorf("routine %q: %w", r.Name, err)
	}
	return nil
}

// MaintenanceService is what one node at a time does for the whole board, as alarms and the archive.
type MaintenanceService struct {
	Name string `json:"name"`
	// Holder is the node, and its life, that does it; "" for none.
	Holder  string `json:"holder,omitzero"`
	SinceMs int64  `json:"since_ms,omitzero"`
	// EveryMs is the pause between rounds; 0 is that it waits by itself.
	EveryMs int64 `json:"every_ms,omitzero"`
	// Held says why it is not done.
	Held string `json:"held,omitzero"`
}
