package timetable

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// DayIn is the first moment of a day, as 2026-01-31, by the clocks of a zone: midnight, the first
// one where there are two, and where the clocks leave it out, the moment they are moved past it.
// [time.ParseInLocation] may give a moment of the day before there.
func DayIn(text string, zone *time.Location) (time.Time, error) {
	wall, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, err
	}
	return moment(wall, zone).In(zone), nil
}

// Since reads an instant as people say it who look back from now: how long ago, 90m or 7d, a day by the clocks
// that now is told by, or an instant.
//
// Errors: [domain.ErrInvalid], which says what would be right.
func Since(text string, now time.Time) (time.Time, error) {
	if n, ok := strings.CutSuffix(text, "d"); ok {
		if days, err := strconv.ParseUint(n, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(days)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if t, err := DayIn(text, now.Location()); err == nil {
		return t, nil
	}
	return time.Time{}, domain.Invalidf("%q: want 90m or 7d (ago), a day such as 2026-11-30, or 2026-11-30T08:00:00Z", text)
}

// InstantOrDay reads an instant, or a day, which begins as the clocks of the schedule's zone say.
//
// Errors: [domain.ErrInvalid].
func InstantOrDay(s *domain.Schedule, text string) (domain.Instant, error) {
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		at, err := domain.ParseInstant(text)
		if err != nil {
			err = fmt.Errorf("%w, or a day: 2026-01-31", err)
		}
		return at, err
	}
	zone, err := loadZone(s.Zone)
	if err != nil {
		return 0, domain.Invalidf("the zone of schedule %q, %s, is not known on this machine: want a time, as 2026-01-01T00:00:00Z", s.Name, s.Zone)
	}
	day, err := DayIn(text, zone)
	if err != nil {
		return 0, domain.Invalidf("%q is no day: %v", text, err)
	}
	return domain.ParseInstant(day.Format(time.RFC3339))
}
