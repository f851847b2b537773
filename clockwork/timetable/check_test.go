package timetable_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/clockwork/timetable"
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
		{"a window that would be longer", `{"name": "s", "blueprint": "b", "every": 60, "catch_up": 29}`, "catch_up 29 s: want 0, or 30s and more"},
		{"an environment of ours", `{"name": "s", "blueprint": "b", "every": 60, "env": {"RAMET_X": "1"}}`, "RAMET_"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s domain.Schedule
			if err := json.Unmarshal([]byte(tc.text), &s); err != nil {
				t.Fatal(err)
			}
			if err := timetable.Check(&s); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
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
		if got := timetable.Stamp(pattern, at); got != want {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
}
