package cli

import (
	"testing"
	"time"
	_ "time/tzdata"
)

// TestALocalDayBeginsWithItsFirstMoment, also where the clocks are moved at midnight.
func TestALocalDayBeginsWithItsFirstMoment(t *testing.T) {
	for _, tc := range []struct{ zone, day, want string }{
		{"Europe/Berlin", "2026-11-30", "2026-11-30T00:00:00+01:00"},
		{"America/Santiago", "2026-09-06", "2026-09-06T01:00:00-03:00"},
		{"America/Havana", "2026-03-08", "2026-03-08T01:00:00-04:00"},
		{"America/Havana", "2026-11-01", "2026-11-01T00:00:00-04:00"},
		{"Asia/Beirut", "2026-03-29", "2026-03-29T01:00:00+03:00"},
		{"America/Asuncion", "2023-10-01", "2023-10-01T01:00:00-03:00"},
	} {
		zone, err := time.LoadLocation(tc.zone)
		if err != nil {
			t.Fatal(err)
		}
		ms, err := instant("--since", tc.day, time.UnixMilli(0).In(zone))
		if got := time.UnixMilli(ms).In(zone).Format(time.RFC3339); err != nil || got != tc.want {
			t.Errorf("%s in %s: got %s, %v, want %s", tc.day, tc.zone, got, err, tc.want)
		}
	}
}
