package domain

import (
	"encoding/json"
	"strings"
	"time"
)

// Limits of a schedule.
const (
	MaxScheduleBytes = 256 << 10 // of its definition as JSON; it is one field of a record
	MaxScheduleTimes = 1_000     // of At
	// MaxScheduleBefore is up to how many bytes the definition before is kept, in the same record.
	MaxScheduleBefore = 64 << 10
	MaxVariables      = 64
	MaxCronBytes      = 256
	MaxZoneBytes      = 64
	// MaxWaiting is how many times of a schedule wait for the flow before, with
	// [OverlapQueue]. Of more the oldest are let go, and counted as skipped.
	MaxWaiting     = 100
	MaxSchedulesOf = 1000 // of a context

	// DefaultCatchUp is for how long missed times are made up.
	DefaultCatchUp = Span(3600)
	// MaxCatchUp bounds that.
	MaxCatchUp = Span(30 * 24 * 3600)
	// LateNotMissed is how late a time may be without being missed, whatever
	// the window is: another node takes over within that.
	LateNotMissed = 30 * time.Second
)

// TriggerStamp is what a schedule adds to the trigger of each flow.
//
// Source: seed 004, "yyyyMMddHHmmss" in UTC.
const TriggerStamp = "-20060102150405"

// Overlap says what becomes of a time at which the flow before still lives.
type Overlap string

// The policies.
const (
	OverlapSkip  Overlap = "skip"  // nothing; it is counted
	OverlapQueue Overlap = "queue" // it waits until that flow has ended
	OverlapAllow Overlap = "allow" // both run
)

// What becomes of the times of schedules, for metrics.
const (
	ScheduleMade    = "made"
	ScheduleSkipped = "skipped" // the flow of the time before lived
	ScheduleMissed  = "missed"  // it was too late to be made up
	ScheduleRefused = "refused" // the flow cannot be made
)

// Schedule is a rule that makes flows of a blueprint at times: At, Every or Cron.
//
// Source: seed 004, "schedule".
type Schedule struct {
	Name    string `json:"name"`
	Summary string `json:"summary,omitzero"`
	// Blueprint is the name of a stored one, Version which of it; 0 is the
	// newest at the time.
	Blueprint string `json:"blueprint"`
	Version   int    `json:"version,omitzero"`
	// Trigger begins the trigger of each flow; the time follows, in UTC:
	// "nightly-20260131020000". Default: the schedule's name.
	Trigger string `json:"trigger,omitzero"`
	// Params go over the blueprint's. ${name} in a value is replaced by a
	// variable; names that are none stay as they are.
	Params   map[string]string `json:"params,omitzero"`
	Env      map[string]string `json:"env,omitzero"`
	Priority int               `json:"priority,omitzero"` // 1..9 goes over the blueprint's

	// At are single times, in whole seconds.
	At []Instant `json:"at,omitzero"`
	// Every is a length of real time between two times. They are aligned to
	// Start, which is the first, or to 1970.
	Every Span    `json:"every,omitzero"`
	Start Instant `json:"start,omitzero"`
	// Cron has five fields, or six with seconds first, by the clocks of Zone,
	// an IANA name. Default: UTC.
	Cron string `json:"cron,omitzero"`
	Zone string `json:"zone,omitzero"`
	// From and Until bound the times; Until is no part of them.
	From  Instant `json:"from,omitzero"`
	Until Instant `json:"until,omitzero"`

	// Overlap is skip, queue or allow. Default: skip.
	Overlap Overlap `json:"overlap,omitzero"`
	// CatchUp is for how long a time is made up that nobody was there for. 0:
	// what is later than [LateNotMissed] is missed. Default: [DefaultCatchUp].
	CatchUp *Span `json:"catch_up,omitzero"`
	// Variables are what ${name} stands for.
	Variables map[string]Variable `json:"variables,omitzero"`
	// Paused schedules make nothing; times that pass meanwhile are not made up.
	Paused bool `json:"paused,omitzero"`

	// CallerID is who applied it: its flows are in that actor's name.
	CallerID  ActorID       `json:"caller_id,omitzero"`
	CreatedAt UnixTime      `json:"created_at,omitzero"`
	UpdatedAt UnixTime      `json:"updated_at,omitzero"`
	State     ScheduleState `json:"state,omitzero"`
	// Before is what it was before somebody changed it last; nil where nobody has.
	Before *ScheduleBefore `json:"before,omitzero"`
}

// ScheduleBefore is what a schedule was, by which its last change can be undone.
type ScheduleBefore struct {
	// Definition is a schedule as it is handed in; nil in lists, and where it had more than
	// [MaxScheduleBefore] bytes.
	Definition json.RawMessage `json:"definition,omitzero"`
	ChangedMs  int64           `json:"changed_ms"` // when it became another one
}

// scheduleSkipped begins what a schedule says of a time that it left out as it was told to.
const scheduleSkipped = "skipped: "

// SkippedFor is what a schedule says of a time that it left out for a flow.
func SkippedFor(flow FlowID) string {
	return scheduleSkipped + FlowKey(flow) + " of the time before had not ended"
}

// InTrouble reports whether the last time of a schedule came to nothing, other than by its
// own rule for overlaps.
func (s *ScheduleState) InTrouble() bool {
	return s.LastError != "" && !strings.HasPrefix(s.LastError, scheduleSkipped)
}

// Late reports whether a time of a schedule has come that nobody has dealt with, though a node has had
// the time to. One that waits for the flow before was dealt with.
func (s *Schedule) Late(now time.Time) bool {
	due := s.State.NextMs
	return !s.Paused && due != 0 && due > s.State.LookedMs && now.Sub(time.UnixMilli(due)) > LateNotMissed
}

// ScheduleState is what has become of a schedule; nobody hands it in.
type ScheduleState struct {
	// Revision is one more with each write of the record, which is guarded by
	// it. It begins at the time in milliseconds, so that a schedule that was
	// deleted and made again has others.
	Revision int64 `json:"-"`
	// NextMs is the time that is to be looked at next; 0: there is none.
	NextMs int64 `json:"next_ms,omitzero"`
	// LookedMs is up to when times have been looked at and wait, with
	// [OverlapQueue]; 0: none waits.
	LookedMs int64 `json:"looked_ms,omitzero"`
	// Fired, Skipped, Missed and Refused count what became of its times.
	Fired   int64 `json:"fired,omitzero"`
	Skipped int64 `json:"skipped,omitzero"` // the flow before lived
	Missed  int64 `json:"missed,omitzero"`  // nobody was there within the window
	Refused int64 `json:"refused,omitzero"` // the flow could not be made
	// LastMs is the last time that was not missed, LastFlow the last flow,
	// LastError why there was none at LastMs.
	LastMs    int64  `json:"last_ms,omitzero"`
	LastFlow  FlowID `json:"last_flow,omitzero"`
	LastError string `json:"last_error,omitzero"`
	// Counts are the next values of variables that count.
	Counts map[string]int64 `json:"counts,omitzero"`
	// Backfill is the last that was asked for; see [Backfill].
	Backfill *Backfill `json:"backfill,omitzero"`
}

// TriggerPrefix is what the triggers of its flows begin with.
func (s *Schedule) TriggerPrefix() string {
	if s.Trigger != "" {
		return s.Trigger
	}
	return s.Name
}

// TriggerAt is the trigger of the flow of a time.
func (s *Schedule) TriggerAt(at time.Time) string {
	return s.TriggerPrefix() + at.UTC().Format(TriggerStamp)
}

// OverlapOr is what becomes of times at which the flow before lives.
func (s *Schedule) OverlapOr() Overlap {
	if s.Overlap == "" {
		return OverlapSkip
	}
	return s.Overlap
}

// Window is how late a time may be without being missed.
func (s *Schedule) Window() time.Duration {
	window := DefaultCatchUp
	if s.CatchUp != nil {
		window = *s.CatchUp
	}
	return max(window.Time(), LateNotMissed)
}

// Defined is the schedule as a caller hands it in: without what became of it,
// and with nil for what is empty.
func (s Schedule) Defined() Schedule {
	s.CallerID, s.CreatedAt, s.UpdatedAt, s.State = 0, 0, 0, ScheduleState{}
	s.Before = nil
	if len(s.At) == 0 {
		s.At = nil
	}
	if len(s.Params) == 0 {
		s.Params = nil
	}
	if len(s.Env) == 0 {
		s.Env = nil
	}
	if len(s.Variables) == 0 {
		s.Variables = nil
	}
	return s
}

// String writes an instant as RFC 3339 in UTC.
func (i Instant) String() string { return i.Time().UTC().Format(time.RFC3339Nano) }

// Time is the instant as Go has it.
func (i Instant) Time() time.Time { return time.UnixMilli(int64(i)) }

// Offset is a length of time that may be negative, in whole seconds; written
// as "-90", "-24h" or "1h30m".
type Offset int64

// Time is the offset as Go has it.
func (o Offset) Time() time.Duration { return time.Duration(o) * time.Second }

// ParseOffset reads an offset.
//
// Errors: [ErrInvalid].
func ParseOffset(text string) (Offset, error) {
	size, negative := strings.CutPrefix(text, "-")
	span, err := ParseSpan(size)
	if err != nil || strings.HasPrefix(size, "-") {
		return 0, Invalidf("%q is no length of time; want whole seconds, as -86400, \"-24h\" or \"1h30m\"", text)
	}
	if negative {
		return -Offset(span), nil
	}
	return Offset(span), nil
}

// UnmarshalJSON takes a number or a text.
func (o *Offset) UnmarshalJSON(text []byte) (err error) {
	*o, err = ParseOffset(strings.Trim(string(text), `"`))
	return err
}
