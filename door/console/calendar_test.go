package console

import (
	"testing"
	"time"
	_ "time/tzdata"
)

// TestTheCalendarHasEachDayOnce where the clocks leave a midnight out, or show it twice.
func TestTheCalendarHasEachDayOnce(t *testing.T) {
	for _, tc := range []struct{ zone, now string }{
		{"America/Santiago", "2026-08-30T12:00:00-04:00"},
		{"America/Santiago", "2026-09-06T01:00:00-03:00"},
		{"America/Havana", "2026-10-25T00:30:00-04:00"},
	} {
		zone, err := time.LoadLocation(tc.zone)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, tc.now)
		if err != nil {
			t.Fatal(err)
		}
		now = now.In(zone)
		for i, day := range daysFrom(dateOf(now)) {
			want := time.Date(now.Year(), now.Month(), now.Day()+i, 12, 0, 0, 0, zone)
			if day.Date != want.Format("2 Jan") || day.Name != want.Format("Mon") || day.Today != (i == 0) {
				t.Errorf("%s: day %d is %+v, want that of %v", tc.now, i, day, want)
			}
			if n := int(dateOf(want).Sub(dateOf(now)).Hours()) / 24; n != i {
				t.Errorf("%s: what comes at %v stands in day %d, want %d", tc.now, want, n, i)
			}
		}
	}
}
