package layout

import (
	"encoding/json"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Fields of a routine's record in its context.
const (
	RoutineDefinition = "definition" // JSON
	RoutineRevision   = "revision"   // moved on by every write
)

// Fields of the record of one of its instances.
const (
	InstanceRound      = "round"
	InstanceJob        = "job"
	InstanceState      = "state" // JSON
	InstanceCheckpoint = "checkpoint"
)

// RoutineInstance is the record of one of a routine's instances.
func RoutineInstance(name string, p domain.RoutinePart) string {
	return Routine(name) + ":" + p.String()
}

// RoutineAlarm is the alarm of one of a routine's instances, by the name that
// its jobs have in their field routine: "routine:<name>:<scale>.<index>".
func RoutineAlarm(instance string) string { return routineAlarm + instance }

const routineAlarm = "routine:"

// ParseRoutineAlarm reads the name of such an alarm.
func ParseRoutineAlarm(alarm string) (name string, p domain.RoutinePart, ok bool) {
	rest, ok := strings.CutPrefix(alarm, routineAlarm)
	if !ok {
		return "", p, false
	}
	name, part, _ := strings.Cut(rest, ":")
	p, ok = domain.ParseRoutinePart(part)
	return name, p, ok && domain.ValidateName("routine", name) == nil
}

// EncodeRoutine writes a routine's definition.
func EncodeRoutine(r *domain.Routine, revision string) []board.Field {
	plain := *r
	plain.Instances = nil
	var e encoder
	e.str(RoutineDefinition, mustJSON(&plain))
	e.str(RoutineRevision, revision)
	return e
}

// DecodeRoutine reads it.
//
// Errors: [domain.ErrInvalid].
func DecodeRoutine(key string, rec board.Record) (*domain.Routine, error) {
	var r domain.Routine
	if err := json.Unmarshal([]byte(rec.Get(RoutineDefinition)), &r); err != nil {
		return nil, domain.Invalidf("%s: its definition cannot be read: %v", key, err)
	}
	return &r, nil
}

// EncodeInstance writes where an instance stands.
func EncodeInstance(i domain.RoutineInstance) []board.Field {
	var e encoder
	e.num(InstanceRound, i.Round)
	e.str(InstanceJob, i.Job)
	e.str(InstanceCheckpoint, i.Checkpoint)
	i.Checkpoint = "" // it may be large, and has its field
	e.str(InstanceState, mustJSON(i))
	return e
}

// DecodeInstance reads it; one that was never written is at its beginning.
func DecodeInstance(rec board.Record) domain.RoutineInstance {
	var i domain.RoutineInstance
	// What cannot be read begins anew: its rounds go on.
	_ = json.Unmarshal([]byte(rec.Get(InstanceState)), &i)
	i.Job, i.Checkpoint = rec.Get(InstanceJob), rec.Get(InstanceCheckpoint)
	return i
}
