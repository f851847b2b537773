package timetable_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/clockwork/timetable"
	"github.com/ramet-run/ramet/domain"
)

func TestADayBeginsInTheZoneOfItsSchedule(t *testing.T) {
	s := domain.Schedule{Name: "nightly", Zone: "Europe/Berlin"}
	for text, want := range map[string]string{
		"2026-01-31":                "2026-01-30T23:00:00Z",
		"2026-07-01":                "2026-06-30T22:00:00Z",
		"2026-01-31T02:00:00Z":      "2026-01-31T02:00:00Z",
		"2026-01-31T02:00:00+01:00": "2026-01-31T01:00:00Z",
	} {
		if got, err := timetable.InstantOrDay(&s, text); err != nil || got.String() != want {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "soon", "2026-02-30"} {
		if _, err := timetable.InstantOrDay(&s, text); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "or a day: 2026-01-31") {
			t.Errorf("%s: got %v", text, err)
		}
	}
	s.Zone = "Europe/Atlantis"
	if _, err := timetable.InstantOrDay(&s, "2026-01-31"); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if got, err := timetable.InstantOrDay(&domain.Schedule{}, "2026-01-31"); err != nil || got.String() != "2026-01-31T00:00:00Z" {
		t.Errorf("without a zone: got %s, %v", got, err)
	}
}

// midnights are days at or near whose midnight the clocks are moved, and when the day begins.
var midnights = []struct{ zone, day, want string }{
	// Forward at midnight: the day begins at 01:00.
	{"America/Santiago", "2026-09-06", "2026-09-06T01:00:00-03:00"},
	{"America/Havana", "2026-03-08", "2026-03-08T01:00:00-04:00"},
	{"Asia/Beirut", "2026-03-29", "2026-03-29T01:00:00+03:00"},
	{"America/Asuncion", "2023-10-01", "2023-10-01T01:00:00-03:00"},
	{"America/Sao_Paulo", "2018-11-04", "2018-11-04T01:00:00-02:00"},
	// Back at midnight: the last hour of the day before comes twice.
	{"America/Santiago", "2026-04-05", "2026-04-05T00:00:00-04:00"},
	{"Asia/Beirut", "2026-10-25", "2026-10-25T00:00:00+02:00"},
	{"America/Asuncion", "2023-03-26", "2023-03-26T00:00:00-04:00"},
	{"America/Sao_Paulo", "2018-02-18", "2018-02-18T00:00:00-03:00"},
	// Back at 01:00, so that midnight comes twice, and at 00:01.
	{"America/Havana", "2026-11-01", "2026-11-01T00:00:00-04:00"},
	{"America/St_Johns", "2010-11-07", "2010-11-07T00:00:00-02:30"},
	// No moment of the day at all: it ends where it begins.
	{"Pacific/Apia", "2011-12-30", "2011-12-31T00:00:00+14:00"},
	{"Pacific/Apia", "2011-12-31", "2011-12-31T00:00:00+14:00"},
	// Where Go's bounds of zones are wrong.
	{"Australia/Sydney", "2096-12-31", "2096-12-31T00:00:00+11:00"},
}

func TestADayBeginsWithItsFirstMoment(t *testing.T) {
	for _, tc := range midnights {
		t.Run(tc.zone+" "+tc.day, func(t *testing.T) {
			zone, err := time.LoadLocation(tc.zone)
			if err != nil {
				t.Fatal(err)
			}
			at, err := timetable.DayIn(tc.day, zone)
			if err != nil || at.Format(time.RFC3339) != tc.want {
				t.Fatalf("it begins at %v, %v, want %s", at, err, tc.want)
			}
			s := &domain.Schedule{Name: "s", Zone: tc.zone}
			if got, err := timetable.InstantOrDay(s, tc.day); err != nil || got.Time().UnixMilli() != at.UnixMilli() {
				t.Errorf("as an instant: got %v, %v", got, err)
			}
			// By walking: no moment before it is of that day or of a later one.
			for m := at.Add(-4 * time.Hour); m.Before(at); m = m.Add(time.Minute) {
				if day := m.Format(time.DateOnly); day >= tc.day {
					t.Fatalf("%v comes before", m)
				}
			}
			if day := at.Format(time.DateOnly); day < tc.day {
				t.Errorf("%v is of %s", at, day)
			}
		})
	}
}

// TestTimesOfADayWhoseMidnightIsMoved: a backfill of one day has the times of that day, each once.
func TestTimesOfADayWhoseMidnightIsMoved(t *testing.T) {
	for _, tc := range []struct {
		zone, cron, from, to string
		want                 []string
	}{
		{"America/Santiago", "0 0 * * *", "2026-09-06", "2026-09-07", []string{"06 01:00"}},
		{"America/Santiago", "30 0,23 * * *", "2026-09-05", "2026-09-07", []string{"05 00:30", "05 23:30", "06 01:00", "06 23:30"}},
		{"America/Santiago", "30 23 * * *", "2026-09-06", "2026-09-07", []string{"06 23:30"}},
		{"America/Santiago", "30 */12 * * *", "2026-09-06", "2026-09-07", []string{"06 01:00", "06 12:30"}},
		{"America/Santiago", "30 23 * * *", "2026-04-04", "2026-04-06", []string{"04 23:30", "05 23:30"}},
		{"America/Santiago", "0 22-23 * * *", "2026-04-04", "2026-04-05", []string{"04 22:00", "04 23:00"}},
		{"America/Havana", "0 0 * * *", "2026-03-08", "2026-03-09", []string{"08 01:00"}},
		{"America/Havana", "0,30 0 * * *", "2026-11-01", "2026-11-02", []string{"01 00:00", "01 00:30"}},
		{"Asia/Beirut", "15 0 * * *", "2026-03-28", "2026-03-30", []string{"28 00:15", "29 01:00"}},
		{"Asia/Beirut", "@daily", "2026-10-24", "2026-10-26", []string{"24 00:00", "25 00:00"}},
		{"America/Asuncion", "@daily", "2023-10-01", "2023-10-02", []string{"01 01:00"}},
		{"Pacific/Apia", "@daily", "2011-12-30", "2011-12-31", nil},
	} {
		s := domain.Schedule{Zone: tc.zone, Cron: tc.cron}
		from, err := timetable.InstantOrDay(&s, tc.from)
		if err != nil {
			t.Fatal(err)
		}
		if s.Until, err = timetable.InstantOrDay(&s, tc.to); err != nil {
			t.Fatal(err)
		}
		zone, err := time.LoadLocation(tc.zone)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, at := range table(t, s).Upcoming(from.Time().Add(-time.Nanosecond), 100) {
			got = append(got, at.In(zone).Format("02 15:04"))
		}
		if fmt.Sprint(got) != fmt.Sprint(tc.want) {
			t.Errorf("%s of %s from %s to before %s: got %v, want %v", tc.cron, tc.zone, tc.from, tc.to, got, tc.want)
		}
	}
}
