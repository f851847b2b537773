package domain_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
)

func TestWrongSchedules(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"a name that is none", `{"name": "1st"}`, `schedule "1st": want a letter`},
		{"no blueprint", `{"name": "s", "every": 60}`, `schedule "s": blueprint ""`},
		{"no times", `{"name": "s", "blueprint": "b"}`, "0 of at, every and cron: want one"},
		{"two kinds of times", `{"name": "s", "blueprint": "b", "every": 60, "cron": "@daily"}`, "2 of at, every and cron: want one"},
		{"a trigger without room for the time", `{"name": "s", "blueprint": "b", "every": 60, "trigger": "` + strings.Repeat("t", 50) + `"}`,
			"want up to 49 characters"},
		{"a time within a second", `{"name": "s", "blueprint": "b", "at": ["2026-01-01T00:00:00.5Z"]}`, "at 2026-01-01T00:00:00.5Z: want whole seconds"},
		{"a time that stands twice", `{"name": "s", "blueprint": "b", "at": ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"]}`,
			"at: 2026-01-01T00:00:00Z stands twice"},
		{"a start without every", `{"name": "s", "blueprint": "b", "cron": "@daily", "start": 1000}`, "start belongs to every"},
		{"a zone without cron", `{"name": "s", "blueprint": "b", "every": 60, "zone": "UTC"}`, "zone belongs to cron"},
		{"an end before the begin", `{"name": "s", "blueprint": "b", "every": 60, "from": 2000, "until": 2000}`, "is not after from"},
		{"an unknown overlap", `{"name": "s", "blueprint": "b", "every": 60, "overlap": "kill"}`, `overlap "kill": want skip, queue or allow`},
		{"too long a window", `{"name": "s", "blueprint": "b", "every": 60, "catch_up": "721h"}`, "the limit is 2592000 (30 days)"},
		{"a variable of nothing", `{"name": "s", "blueprint": "b", "every": 60, "variables": {"x": {}}}`, "variable x: it has 0 of const, count and time"},
		{"a letter that means nothing", `{"name": "s", "blueprint": "b", "every": 60, "variables": {"x": {"time": {"pattern": "YYYY"}}}}`,
			`"YYYY" means nothing; want yyyy, MM`},
		{"a quote without an end", `{"name": "s", "blueprint": "b", "every": 60, "variables": {"x": {"time": {"pattern": "yyyy'T"}}}}`, "a quote has no end"},
		{"an environment of ours", `{"name": "s", "blueprint": "b", "every": 60, "env": {"RAMET_X": "1"}}`, "RAMET_"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s domain.Schedule
			if err := json.Unmarshal([]byte(tc.text), &s); err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestScheduleDefaults(t *testing.T) {
	s := domain.Schedule{Name: "s", Blueprint: "b", Every: 60}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if s.Window() != time.Hour || s.OverlapOr() != domain.OverlapSkip {
		t.Errorf("got %v and %v, want an hour and skip", s.Window(), s.OverlapOr())
	}
	none := domain.Span(0)
	s.CatchUp = &none
	if s.Window() != domain.LateNotMissed {
		t.Errorf("got %v, want %v", s.Window(), domain.LateNotMissed)
	}
	short := domain.Span(29)
	s.CatchUp = &short
	if err := s.Validate(); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("29 s, which would be 30: got %v", err)
	}
	at := time.Date(2026, 3, 29, 3, 0, 0, 0, time.FixedZone("", 7200))
	if got, want := s.TriggerAt(at), "s-20260329010000"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPatterns(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 67_000_000, time.UTC)
	for pattern, want := range map[string]string{
		"yyyyMMddHHmmss":      "20260102030405",
		"yyyy-MM-dd":          "2026-01-02",
		"HH:mm:ss.SSS":        "03:04:05.067",
		"'week of 'dd''MM":    "week of 02'01",
		"'o''clock'":          "o'clock",
		"''":                  "'",
		"2006-15 'yyyy' yyyy": "2006-15 yyyy 2026",
		"äöü":                 "äöü",
	} {
		if got := (&domain.TimeStamp{Pattern: pattern}).Format(at); got != want {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
}

func TestFill(t *testing.T) {
	got, err := domain.Fill(map[string]string{
		"a": "${x}", "b": "${x}${y}-${z}$${x}", "c": "$x ${} ${ x } ${x", "${x}": "1", "d": "${nested}",
	}, map[string]string{"x": "X", "y": "", "nested": "${x}"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "X", "b": "X-${z}$X", "c": "$x ${} ${ x } ${x", "${x}": "1", "d": "${x}"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFillIsBounded(t *testing.T) {
	// 4 bytes become 4 KiB each.
	params := map[string]string{"a": strings.Repeat("${x}", domain.MaxParamBytes/8)}
	_, err := domain.Fill(params, map[string]string{"x": strings.Repeat("x", domain.MaxVariableBytes)})
	if !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v, want invalid", err)
	}
}

func TestOffsets(t *testing.T) {
	for text, want := range map[string]domain.Offset{`-90`: -90, `"-24h"`: -86400, `"1h30m"`: 5400, `0`: 0} {
		var got domain.Offset
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{`"--1h"`, `"1.5s"`, `""`, `"-"`, `"day"`} {
		var got domain.Offset
		if err := json.Unmarshal([]byte(text), &got); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: got %d, %v, want invalid", text, got, err)
		}
	}
}

func TestLongErrorsOfSchedulesAreCut(t *testing.T) {
	long := errors.New(strings.Repeat("ä", domain.MaxScheduleError))
	if got := domain.ScheduleError(long); len(got) > domain.MaxScheduleError || !strings.HasSuffix(got, "ä…") {
		t.Errorf("got %d bytes, ending in %q", len(got), got[len(got)-6:])
	}
}

func TestADayBeginsInTheZoneOfItsSchedule(t *testing.T) {
	s := domain.Schedule{Name: "nightly", Zone: "Europe/Berlin"}
	for text, want := range map[string]string{
		"2026-01-31":                "2026-01-30T23:00:00Z",
		"2026-07-01":                "2026-06-30T22:00:00Z",
		"2026-01-31T02:00:00Z":      "2026-01-31T02:00:00Z",
		"2026-01-31T02:00:00+01:00": "2026-01-31T01:00:00Z",
	} {
		if got, err := s.InstantOrDay(text); err != nil || got.String() != want {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "soon", "2026-02-30"} {
		if _, err := s.InstantOrDay(text); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "or a day: 2026-01-31") {
			t.Errorf("%s: got %v", text, err)
		}
	}
	s.Zone = "Europe/Atlantis"
	if _, err := s.InstantOrDay("2026-01-31"); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if got, err := (&domain.Schedule{}).InstantOrDay("2026-01-31"); err != nil || got.String() != "2026-01-31T00:00:00Z" {
		t.Errorf("without a zone: got %s, %v", got, err)
	}
}
