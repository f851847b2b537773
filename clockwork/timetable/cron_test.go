package timetable_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/clockwork/timetable"
	"github.com/ramet-run/ramet/domain"
)

// table is the table of a schedule that is right.
func table(t testing.TB, s domain.Schedule) *timetable.Table {
	t.Helper()
	s.Name, s.Blueprint = "s", "b"
	tab, err := timetable.New(&s)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func moment(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestCron(t *testing.T) {
	for _, tc := range []struct {
		name, cron, zone, after string
		want                    []string // on the zone's clocks
	}{
		{"by default it is UTC", "0 2 * * *", "", "2026-03-01T00:00:00Z",
			[]string{"2026-03-01T02:00:00Z", "2026-03-02T02:00:00Z"}},
		{"what comes now is not next", "0 2 * * *", "", "2026-03-01T02:00:00Z",
			[]string{"2026-03-02T02:00:00Z"}},
		{"six fields begin with seconds", "15,45 30 2 * * *", "", "2026-03-01T00:00:00Z",
			[]string{"2026-03-01T02:30:15Z", "2026-03-01T02:30:45Z", "2026-03-02T02:30:15Z"}},
		{"names of months and days", "0 9 * jan Mon-Wed", "", "2026-01-01T00:00:00Z",
			[]string{"2026-01-05T09:00:00Z", "2026-01-06T09:00:00Z", "2026-01-07T09:00:00Z", "2026-01-12T09:00:00Z"}},
		{"a day of the month or a day of the week", "0 0 13 * FRI", "", "2026-02-01T00:00:00Z",
			[]string{"2026-02-06T00:00:00Z", "2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z", "2026-02-27T00:00:00Z", "2026-03-06T00:00:00Z", "2026-03-13T00:00:00Z"}},
		{"the last day of the month", "0 0 L * *", "", "2028-01-15T00:00:00Z",
			[]string{"2028-01-31T00:00:00Z", "2028-02-29T00:00:00Z", "2028-03-31T00:00:00Z"}},
		{"the last Friday", "0 0 * * 5L", "", "2026-01-01T00:00:00Z",
			[]string{"2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z"}},
		{"the second Monday", "0 0 * * MON#2", "", "2026-01-01T00:00:00Z",
			[]string{"2026-01-12T00:00:00Z", "2026-02-09T00:00:00Z"}},
		{"a leap day", "0 0 29 2 *", "", "2096-03-01T00:00:00Z",
			[]string{"2104-02-29T00:00:00Z"}},
		{"Sunday is 0 and 7", "0 0 * * 7", "", "2026-01-01T00:00:00Z",
			[]string{"2026-01-04T00:00:00Z"}},
		{"words for the usual ones", "@daily", "Europe/Berlin", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"}},

		{"spring: what the clocks leave out comes once, when they are moved", "*/15 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"}},
		{"spring: what comes at that moment anyway comes once", "0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00", "2026-03-30T03:00:00+02:00"}},
		{"spring: what is every hour comes every hour", "30 * * * *", "Europe/Berlin", "2026-03-28T23:45:00Z",
			[]string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00", "2026-03-29T04:30:00+02:00"}},
		{"autumn: what the clocks show twice comes the first time", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		{"autumn: seen from between the two it has come", "30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z",
			[]string{"2026-10-26T02:30:00+01:00"}},
		{"autumn: what is every hour comes every hour", "30 * * * *", "Europe/Berlin", "2026-10-24T23:45:00Z",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"}},
		{"all hours by numbers are every hour", "30 0-23 * * *", "America/New_York", "2026-11-01T05:00:00Z",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:30:00-05:00"}},
		{"half an hour forward", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z",
			[]string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
		{"half an hour back", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z",
			[]string{"2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"}},
		{"a day that was left out", "0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z",
			[]string{"2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"}},
		{"midnight that was left out", "0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z",
			[]string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
		{"the last day of a leap year, where Go's bounds of zones are wrong", "30 23 * * *", "Australia/Sydney", "2096-12-30T00:00:00Z",
			[]string{"2096-12-30T23:30:00+11:00", "2096-12-31T23:30:00+11:00", "2097-01-01T23:30:00+11:00"}},
		{"and its hours", "0 */1 31 12 *", "Europe/Berlin", "2096-12-31T21:30:00Z",
			[]string{"2096-12-31T23:00:00+01:00", "2097-12-31T00:00:00+01:00"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			zone, err := time.LoadLocation(tc.zone)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, at := range table(t, domain.Schedule{Cron: tc.cron, Zone: tc.zone}).Upcoming(moment(t, tc.after), len(tc.want)) {
				got = append(got, at.In(zone).Format(time.RFC3339))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAYearHasAllItsHours(t *testing.T) {
	// Through both moves of the clocks.
	begin, end := moment(t, "2026-01-01T00:00:00Z"), moment(t, "2027-01-01T00:00:00Z")
	tab := table(t, domain.Schedule{Cron: "*/20 * * * *", Zone: "Europe/Berlin"})
	at := begin
	for n := 1; at.Before(end); n++ {
		next, ok := tab.Next(at)
		if want := begin.Add(time.Duration(n) * 20 * time.Minute); !ok || !next.Equal(want) {
			t.Fatalf("after %v got %v, %v, want %v", at, next, ok, want)
		}
		at = next
	}
}

func TestWrongCron(t *testing.T) {
	for _, tc := range []struct{ cron, zone, want string }{
		{"* * * *", "", "want five fields"},
		{"* * * * * * *", "", "want five fields"},
		{"", "", "it has 0 of at, every and cron"},
		{"61 * * * *", "", `minute "61": want 0 to 59`},
		{"0,99 * * * *", "", `minute "99": want 0 to 59`},
		{"* 24 * * *", "", `hour "24": want 0 to 23`},
		{"* * 0 * *", "", `day of the month "0": want 1 to 31`},
		{"* * * 13 *", "", `month "13": want 1 to 12`},
		{"* * * * 8", "", `day of the week "8": want 0 to 7`},
		{"* * * * MON#6", "", `day of the week "MON#6"`},
		{"* * * FRI *", "", `month "FRI"`},
		{"MON * * * *", "", `minute "MON"`},
		{"*/0 * * * *", "", `minute "*/0"`},
		{"30-10 * * * *", "", `minute "30-10"`},
		{"1,,2 * * * *", "", `minute ""`},
		{"0 0 * * * 2026", "", `day of the week "2026"`},
		{"0 0 30 2 *", "", "there is no such day"},
		{"@every 5m", "", "want five fields"},
		{"@hourly", "Europe/Berln", `zone "Europe/Berln" is not known`},
		{"@hourly", "Local", `zone "Local" is not known`},
		{"@hourly", "../../etc/passwd", "is not known"},
		{strings.Repeat("1,", 200) + "1 * * * *", "", "the limit is 256"},
	} {
		_, err := timetable.New(&domain.Schedule{Name: "s", Blueprint: "b", Cron: tc.cron, Zone: tc.zone})
		if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("cron %q, zone %q: got %v, want %s", tc.cron, tc.zone, err, tc.want)
		}
	}
}

func FuzzCron(f *testing.F) {
	f.Add("*/5 2-4 L * MON#2", int64(1_774_746_000))
	f.Add("15,45 30 2 ? JAN-mar 5L", int64(0))
	f.Add("0 0 15W 2 *", int64(4_000_000_000))
	f.Add("59 59 23 29 2 */6", int64(3_900_000_000))
	f.Add("1 0 31W 4-12/2 1#5,0L", int64(1))
	f.Fuzz(func(t *testing.T, cron string, at int64) {
		tab, err := timetable.New(&domain.Schedule{Name: "s", Blueprint: "b", Cron: cron, Zone: "Australia/Lord_Howe"})
		if err != nil {
			return
		}
		after := time.Unix(at%(1<<33), 0)
		if next, ok := tab.Next(after); !ok || !next.After(after) {
			t.Errorf("cron %q after %v came at %v, %v; it would be over", cron, after, next, ok)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	for _, cron := range []string{"0 2 * * *", "*/5 * * * *", "0 0 29 2 *"} {
		b.Run(cron, func(b *testing.B) {
			tab := table(b, domain.Schedule{Cron: cron, Zone: "Europe/Berlin"})
			for b.Loop() {
				tab.Next(time.Unix(1_750_000_000, 0))
			}
		})
	}
	b.Run("New", func(b *testing.B) {
		for b.Loop() {
			table(b, domain.Schedule{Cron: "0 2 * * *", Zone: "Europe/Berlin"})
		}
	})
}
