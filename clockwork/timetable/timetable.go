package timetable

import (
	"fmt"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Table knows the times of one schedule.
type Table struct {
	schedule *domain.Schedule
	at       []domain.Instant // sorted
	cron     cron
	stamps   map[string]*time.Location // of the variables, by name
}

// New reads a schedule. It keeps s, which must not change.
//
// Errors: [domain.ErrInvalid], also for what [Check] finds.
func New(s *domain.Schedule) (*Table, error) {
	if err := Check(s); err != nil {
		return nil, err
	}
	t := &Table{schedule: s, at: slices.Clone(s.At), stamps: map[string]*time.Location{}}
	slices.Sort(t.at)
	if s.Cron != "" {
		zone, err := loadZone(s.Zone)
		if err != nil {
			return nil, fmt.Errorf("schedule %q: %w", s.Name, err)
		}
		if t.cron, err = parseCron(s.Cron, zone); err != nil {
			return nil, fmt.Errorf("schedule %q: %w", s.Name, err)
		}
	}
	for name, v := range s.Variables {
		if v.Time == nil {
			continue
		}
		zone, err := loadZone(v.Time.Zone)
		if err != nil {
			return nil, fmt.Errorf("schedule %q: variable %s: %w", s.Name, name, err)
		}
		t.stamps[name] = zone
	}
	return t, nil
}

// Next is the first time after an instant; ok is false where there is none, at
// least not in a year of four digits.
func (t *Table) Next(after time.Time) (next time.Time, ok bool) {
	s := t.schedule
	if from := s.From.Time(); s.From != 0 && after.Before(from) {
		after = from.Add(-time.Nanosecond)
	}
	switch {
	case s.Every != 0:
		next, ok = nextEvery(s.Start.Time(), s.Every.Time(), after), true
	case s.Cron != "":
		next, ok = t.cron.next(after)
	default:
		next, ok = nextAt(t.at, after)
	}
	if !ok || s.Until != 0 && !next.Before(s.Until.Time()) || next.UnixMilli() > domain.MaxNotBefore {
		return time.Time{}, false
	}
	return next.UTC(), true
}

// Upcoming are the next n times after an instant, or as many as there are.
func (t *Table) Upcoming(after time.Time, n int) []time.Time {
	times := []time.Time{}
	for len(times) < n {
		next, ok := t.Next(after)
		if !ok {
			break
		}
		times = append(times, next)
		after = next
	}
	return times
}

// walkMost bounds how many times Count walks through.
const walkMost = 10_000

// Count is how many times there are from first, which is one, up to before,
// which is not counted: at the most most, and where they must be walked
// through, [walkMost]. next is the first that was not counted; ok is false
// where there is none.
func (t *Table) Count(first, before time.Time, most int64) (n int64, next time.Time, ok bool) {
	if until := t.schedule.Until; until != 0 && before.After(until.Time()) {
		before = until.Time()
	}
	next, ok = first, true
	if every := t.schedule.Every.Time(); every != 0 && first.Before(before) {
		// All but the last, after which Next looks at the bounds.
		n = min(int64(before.Sub(first)-1)/int64(every), most)
		next = first.Add(time.Duration(n) * every)
	}
	for most = min(most, n+walkMost); ok && next.Before(before) && n < most; n++ {
		next, ok = t.Next(next)
	}
	return n, next, ok
}

// nextAt is the first of sorted times after an instant.
func nextAt(at []domain.Instant, after time.Time) (time.Time, bool) {
	i, _ := slices.BinarySearchFunc(at, after, func(x domain.Instant, after time.Time) int {
		if x.Time().After(after) {
			return 1
		}
		return -1
	})
	if i == len(at) {
		return time.Time{}, false
	}
	return at[i].Time(), true
}

// nextEvery is the first of start, start+every, ... after an instant.
func nextEvery(start time.Time, every time.Duration, after time.Time) time.Time {
	if after.Before(start) {
		return start
	}
	// In milliseconds: a [time.Duration] has no more than 292 years.
	first, length := start.UnixMilli(), every.Milliseconds()
	return time.UnixMilli(first + ((after.UnixMilli()-first)/length+1)*length)
}
