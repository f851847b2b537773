package timetable

import (
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// zones keeps those that were loaded: reading one takes longer than computing
// a time in it. There are about 600 names.
var zones sync.Map // name -> *time.Location

// loadZone finds a zone by its IANA name; "" is UTC.
//
// Errors: [domain.ErrInvalid].
func loadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	// "Local" would be another zone on another node.
	zone, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") {
		return nil, domain.Invalidf("zone %q is not known: want an IANA name, as Europe/Berlin or UTC", name)
	}
	zones.Store(name, zone)
	return zone, nil
}

// moment is when the clocks of a zone show a wall time, which is given as if it
// were UTC: the first such moment; where they never show it, the moment they
// are moved past it.
func moment(wall time.Time, zone *time.Location) time.Time {
	// No zone is a day and two hours from UTC.
	for t := wall.Add(-26 * time.Hour).In(zone); ; {
		begin, end := bounds(t)
		at := onClock(wall, t)
		if !begin.IsZero() && at.Before(begin) {
			return begin
		}
		if end.IsZero() || at.Before(end) {
			return at
		}
		t = end
	}
}

// bounds are between when the offset that is in force at t does not change,
// zero where it never did or will. The end is always after t.
func bounds(t time.Time) (begin, end time.Time) {
	begin, end = t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		// Go takes every year for one of 365 days: on the last of a leap year it
		// says that the offset has ended that midnight.
		end = time.Date(t.UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC).In(t.Location())
	}
	return begin, end
}

// onClock is the moment of a wall time by the offset that is in force at t.
func onClock(wall, t time.Time) time.Time {
	_, offset := t.Zone()
	return wall.Add(-time.Duration(offset) * time.Second)
}

// wallOf is what the clocks of a zone show at a moment, as if it were UTC.
func wallOf(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}
