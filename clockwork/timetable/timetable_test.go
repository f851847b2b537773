package timetable_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
)

func instant(t testing.TB, text string) domain.Instant {
	t.Helper()
	return domain.Instant(moment(t, text).UnixMilli())
}

func TestTimes(t *testing.T) {
	for _, tc := range []struct {
		name     string
		schedule domain.Schedule
		after    string
		want     []string
	}{
		{"single times come in order, whatever order they stand in",
			domain.Schedule{At: []domain.Instant{instant(t, "2026-03-01T00:00:00Z"), instant(t, "2026-01-01T00:00:00Z"), instant(t, "2026-02-01T00:00:00Z")}},
			"2026-01-01T00:00:00Z", []string{"2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"}},
		{"every so often is aligned to 1970",
			domain.Schedule{Every: 7200}, "2026-01-01T00:30:00Z", []string{"2026-01-01T02:00:00Z", "2026-01-01T04:00:00Z", "2026-01-01T06:00:00Z"}},
		{"or to its start, which comes, too",
			domain.Schedule{Every: 7200, Start: instant(t, "2026-01-01T00:20:00Z")},
			"2025-12-31T00:00:00Z", []string{"2026-01-01T00:20:00Z", "2026-01-01T02:20:00Z", "2026-01-01T04:20:00Z"}},
		{"from is the first moment, until is none",
			domain.Schedule{Every: 3600, From: instant(t, "2026-01-01T02:00:00Z"), Until: instant(t, "2026-01-01T04:00:00Z")},
			"2025-12-31T00:00:00Z", []string{"2026-01-01T02:00:00Z", "2026-01-01T03:00:00Z"}},
		{"so for single times",
			domain.Schedule{At: []domain.Instant{instant(t, "2026-01-01T00:00:00Z"), instant(t, "2026-01-02T00:00:00Z"), instant(t, "2026-01-03T00:00:00Z")},
				From: instant(t, "2026-01-02T00:00:00Z"), Until: instant(t, "2026-01-03T00:00:00Z")}, "2025-12-31T00:00:00Z", []string{"2026-01-02T00:00:00Z"}},
		{"and for cron",
			domain.Schedule{Cron: "0 * * * *", From: instant(t, "2026-01-01T02:00:00Z"), Until: instant(t, "2026-01-01T04:00:00Z")},
			"2025-12-31T00:00:00Z", []string{"2026-01-01T02:00:00Z", "2026-01-01T03:00:00Z"}},
		{"a beginning that is farther off than a duration is long",
			domain.Schedule{Every: 3600, From: instant(t, "9000-01-01T00:00:00Z"), Until: instant(t, "9000-01-01T02:00:00Z")},
			"2026-01-01T00:00:00Z", []string{"9000-01-01T00:00:00Z", "9000-01-01T01:00:00Z"}},
		{"no time comes after the year 9999",
			domain.Schedule{Every: 3600, From: instant(t, "9999-12-31T22:00:00Z")}, "2026-01-01T00:00:00Z", []string{"9999-12-31T22:00:00Z", "9999-12-31T23:00:00Z"}},
		{"nor by cron",
			domain.Schedule{Cron: "0 0 1 1 *", From: instant(t, "9998-12-31T22:00:00Z")}, "2026-01-01T00:00:00Z", []string{"9999-01-01T00:00:00Z"}},
		{"real time does not care for clocks",
			domain.Schedule{Every: 24 * 3600, Start: instant(t, "2026-03-28T02:30:00+01:00")},
			"2026-03-28T12:00:00Z", []string{"2026-03-29T01:30:00Z", "2026-03-30T01:30:00Z", "2026-03-31T01:30:00Z"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, at := range table(t, tc.schedule).Upcoming(moment(t, tc.after), 3) {
				got = append(got, at.Format(time.RFC3339))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCountIsWhatNextWalks(t *testing.T) {
	begin := moment(t, "2026-03-28T00:00:00Z")
	r := rand.New(rand.NewPCG(7, 7))
	for name, s := range map[string]domain.Schedule{
		"every":              {Every: 700},
		"every, with an end": {Every: 700, Until: domain.Instant(begin.Add(20 * time.Hour).UnixMilli())},
		"cron":               {Cron: "*/20 * * * *", Zone: "Europe/Berlin"},
		"at":                 {At: []domain.Instant{instant(t, "2026-03-28T01:00:00Z"), instant(t, "2026-03-28T09:00:00Z"), instant(t, "2026-03-29T01:00:00Z")}},
	} {
		t.Run(name, func(t *testing.T) {
			tab := table(t, s)
			first, ok := tab.Next(begin)
			if !ok {
				t.Fatal("there is no time")
			}
			for range 200 {
				before := begin.Add(time.Duration(r.IntN(30*3600)) * time.Second)
				most := int64(1 + r.IntN(100))
				var want int64
				next, ok := first, true
				for ok && next.Before(before) && want < most {
					want++
					next, ok = tab.Next(next)
				}
				n, gotNext, gotOK := tab.Count(first, before, most)
				if n != want || gotOK != ok || ok && !gotNext.Equal(next) {
					t.Fatalf("up to %v, at most %d: got %d, then %v, %v; want %d, then %v, %v", before, most, n, gotNext, gotOK, want, next, ok)
				}
			}
		})
	}
}

func TestAHundredYearsOfSecondsAreCountedAtOnce(t *testing.T) {
	tab := table(t, domain.Schedule{Every: 1})
	begin := moment(t, "2026-01-01T00:00:00Z")
	n, next, ok := tab.Count(begin, begin.AddDate(100, 0, 0), math.MaxInt64)
	if want := int64(begin.AddDate(100, 0, 0).Sub(begin) / time.Second); n != want || !ok || !next.Equal(begin.AddDate(100, 0, 0)) {
		t.Errorf("got %d, %v, %v, want %d", n, next, ok, want)
	}
}

func TestVariables(t *testing.T) {
	text := "eu"
	tab := table(t, domain.Schedule{Every: 60, Variables: map[string]domain.Variable{
		"region": {Const: &text},
		"run":    {Count: &domain.Counter{Next: 7}},
		"fresh":  {Count: &domain.Counter{Next: 1}},
		"day":    {Time: &domain.TimeStamp{Pattern: "yyyy-MM-dd'T'HH:mm:ss.SSS", Zone: "Europe/Berlin"}},
		"before": {Time: &domain.TimeStamp{Pattern: "yyyyMMdd", Offset: -24 * 3600}},
	}})
	got := tab.Variables(moment(t, "2026-03-29T01:00:00.25Z"), map[string]int64{"run": 12, "gone": 3})
	want := map[string]string{"region": "eu", "run": "12", "fresh": "1", "day": "2026-03-29T03:00:00.250", "before": "20260328"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
