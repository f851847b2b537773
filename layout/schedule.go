package layout

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// SchedulePrefix begins the keys of schedules, in their context's space.
const SchedulePrefix = "ramet:schedule:"

// ScheduleRevision is the field that every write of a schedule's record moves
// on, and is guarded by.
const ScheduleRevision = "revision"

// Schedule is the key of a schedule's record.
func Schedule(name string) string { return SchedulePrefix + name }

// scheduleAlarm begins the name of the one alarm of a schedule.
const scheduleAlarm = "schedule:"

// ScheduleAlarm is the name of a schedule's alarm: "schedule:<name>".
func ScheduleAlarm(name string) string { return scheduleAlarm + name }

// ParseScheduleAlarm reads such a name; ok is false for other alarms.
func ParseScheduleAlarm(alarm string) (name string, ok bool) {
	name, ok = strings.CutPrefix(alarm, scheduleAlarm)
	return name, ok && domain.ValidateName("schedule", name) == nil
}

// EncodeSchedule writes a schedule's record.
func EncodeSchedule(s *domain.Schedule) []board.Field {
	var e encoder
	e.str("name", s.Name)
	e.num("caller_id", int64(s.CallerID))
	e.num("created_at", int64(s.CreatedAt))
	e.num("updated_at", int64(s.UpdatedAt))
	e.str("definition", mustJSON(s.Defined()))
	return append(e, EncodeScheduleState(&s.State)...)
}

// EncodeScheduleState writes what has become of a schedule: all that changes
// when it fires.
func EncodeScheduleState(s *domain.ScheduleState) []board.Field {
	var e encoder
	e.num(ScheduleRevision, s.Revision)
	e.num("next_ms", s.NextMs)
	e.num("looked_ms", s.LookedMs)
	e.num("fired", s.Fired)
	e.num("skipped", s.Skipped)
	e.num("missed", s.Missed)
	e.num("refused", s.Refused)
	e.num("last_ms", s.LastMs)
	e.num("last_flow", int64(s.LastFlow))
	e.str("last_error", s.LastError)
	counts := "{}"
	if len(s.Counts) > 0 {
		counts = mustJSON(s.Counts)
	}
	e.str("counts", counts)
	return e
}

// DecodeSchedule reads a schedule's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeSchedule(key string, rec board.Record) (*domain.Schedule, error) {
	s := &domain.Schedule{}
	d := decoder{key: keyText(key)}
	// First, because it sets the whole.
	if text, ok := rec.Lookup("definition"); ok {
		if err := json.Unmarshal([]byte(text), s); err != nil {
			return nil, domain.Invalidf("%s: the definition cannot be read: %v", key, err)
		}
	}
	for _, f := range rec {
		switch f.Name {
		case "name":
			s.Name = f.Value
		case "caller_id":
			s.CallerID = domain.ActorID(d.u32(f))
		case "created_at":
			s.CreatedAt = domain.UnixTime(d.u32(f))
		case "updated_at":
			s.UpdatedAt = domain.UnixTime(d.u32(f))
		case ScheduleRevision:
			s.State.Revision = d.int(f)
		case "next_ms":
			s.State.NextMs = d.int(f)
		case "looked_ms":
			s.State.LookedMs = d.int(f)
		case "fired":
			s.State.Fired = d.int(f)
		case "skipped":
			s.State.Skipped = d.int(f)
		case "missed":
			s.State.Missed = d.int(f)
		case "refused":
			s.State.Refused = d.int(f)
		case "last_ms":
			s.State.LastMs = d.int(f)
		case "last_flow":
			s.State.LastFlow = domain.FlowID(d.u32(f))
		case "last_error":
			s.State.LastError = f.Value
		case "counts":
			d.json(f, &s.State.Counts, "a JSON object of numbers")
		}
	}
	return s, d.err
}

// ScheduleGuard guards that a schedule's record is as it was read.
func ScheduleGuard(b *board.Batch, s *domain.Schedule) *board.Batch {
	return b.Equal(Schedule(s.Name), ScheduleRevision, strconv.FormatInt(s.State.Revision, 10))
}
