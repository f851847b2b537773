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

// scheduleAlarm begins the name of the one alarm by which a schedule comes, backfillAlarm of
// that by which its backfill goes on.
const (
	scheduleAlarm = "schedule:"
	backfillAlarm = "backfill:"
)

// ScheduleAlarm is the name of a schedule's alarm: "schedule:<name>".
func ScheduleAlarm(name string) string { return scheduleAlarm + name }

// BackfillAlarm is the name of the alarm of a schedule's backfill: "backfill:<name>".
func BackfillAlarm(name string) string { return backfillAlarm + name }

// ParseScheduleAlarm reads such a name; ok is false for other alarms.
func ParseScheduleAlarm(alarm string) (name string, ok bool) { return scheduleOf(alarm, scheduleAlarm) }

// ParseBackfillAlarm reads the name of the alarm of a backfill in the same way.
func ParseBackfillAlarm(alarm string) (name string, ok bool) { return scheduleOf(alarm, backfillAlarm) }

func scheduleOf(alarm, prefix string) (name string, ok bool) {
	name, ok = strings.CutPrefix(alarm, prefix)
	return name, ok && domain.ValidateName("schedule", name) == nil
}

var scheduleStateTable = newTable(
	number(ScheduleRevision, func(s *domain.ScheduleState) *int64 { return &s.Revision }),
	number("next_ms", func(s *domain.ScheduleState) *int64 { return &s.NextMs }),
	number("looked_ms", func(s *domain.ScheduleState) *int64 { return &s.LookedMs }),
	number("fired", func(s *domain.ScheduleState) *int64 { return &s.Fired }),
	number("skipped", func(s *domain.ScheduleState) *int64 { return &s.Skipped }),
	number("missed", func(s *domain.ScheduleState) *int64 { return &s.Missed }),
	number("refused", func(s *domain.ScheduleState) *int64 { return &s.Refused }),
	number("last_ms", func(s *domain.ScheduleState) *int64 { return &s.LastMs }),
	number32("last_flow", func(s *domain.ScheduleState) *domain.FlowID { return &s.LastFlow }),
	text("last_error", func(s *domain.ScheduleState) *string { return &s.LastError }).secret(),
	counts("counts", func(s *domain.ScheduleState) *map[string]int64 { return &s.Counts }),
	pointer("backfill", "a JSON object with from, to, max and status", func(s *domain.ScheduleState) **domain.Backfill { return &s.Backfill }).secret(),
)

const scheduleDefinition = "definition" // JSON

var scheduleTable = newTable(append([]field[domain.Schedule]{
	text("name", func(s *domain.Schedule) *string { return &s.Name }),
	number32("caller_id", func(s *domain.Schedule) *domain.ActorID { return &s.CallerID }),
	number32("created_at", func(s *domain.Schedule) *domain.UnixTime { return &s.CreatedAt }),
	number32("updated_at", func(s *domain.Schedule) *domain.UnixTime { return &s.UpdatedAt }),
	// It is read before the others, as it sets the whole.
	field[domain.Schedule]{name: scheduleDefinition,
		write: func(s *domain.Schedule) (string, bool) { return mustJSON(s.Defined()), false }}.secret(),
	pointer("before", "a JSON object with definition and changed_ms", func(s *domain.Schedule) **domain.ScheduleBefore { return &s.Before }).secret(),
}, within(scheduleStateTable, func(s *domain.Schedule) *domain.ScheduleState { return &s.State })...)...)

// EncodeSchedule writes a schedule's record.
func EncodeSchedule(s *domain.Schedule) []board.Field { return scheduleTable.encode(s) }

// EncodeScheduleState writes what has become of a schedule: all that changes
// when it fires.
func EncodeScheduleState(s *domain.ScheduleState) []board.Field { return scheduleStateTable.encode(s) }

// DecodeSchedule reads a schedule's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeSchedule(key string, rec board.Record) (*domain.Schedule, error) {
	s := &domain.Schedule{}
	if text, ok := rec.Lookup(scheduleDefinition); ok {
		if err := json.Unmarshal([]byte(text), s); err != nil {
			return nil, domain.Invalidf("%s: the definition cannot be read: %v", key, err)
		}
	}
	err := scheduleTable.decode(decoder{key: keyText(key)}, s, rec)
	return s, err
}

// ScheduleGuard guards that a schedule's record is as it was read.
func ScheduleGuard(b *board.Batch, s *domain.Schedule) *board.Batch {
	return b.Equal(Schedule(s.Name), ScheduleRevision, strconv.FormatInt(s.State.Revision, 10))
}
