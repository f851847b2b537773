package layout_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// goldSchedule has a value in every field.
func goldSchedule() *domain.Schedule {
	text, window := "eu", domain.Span(7200)
	return &domain.Schedule{
		Name: "nightly", Summary: "each night", Blueprint: "report", Version: 3, Trigger: "n", Params: map[string]string{"p": "${day}"},
		Env: map[string]string{"E": "1"}, Priority: 4, At: []domain.Instant{1_700_000_000_000}, Every: 60, Start: 1_600_000_000_000,
		Cron: "0 2 * * *", Zone: "Europe/Berlin", From: 1_500_000_000_000, Until: 1_800_000_000_000, Overlap: domain.OverlapQueue, CatchUp: &window,
		Variables: map[string]domain.Variable{"region": {Const: &text}, "n": {Count: &domain.Counter{Next: 5}},
			"day": {Time: &domain.TimeStamp{Pattern: "yyyyMMdd", Zone: "UTC", Offset: -3600}}},
		Paused: true, CallerID: 12, CreatedAt: 1, UpdatedAt: 2,
		State: domain.ScheduleState{Revision: 11, NextMs: 12, LookedMs: 13, Fired: 14, Skipped: 15, Missed: 16, Refused: 17, LastMs: 18, LastFlow: 19,
			LastError: "no", Counts: map[string]int64{"n": 20},
			Backfill: &domain.Backfill{From: 1_400_000_000_000, To: 1_400_000_060_000, Max: 2, Status: domain.BackfillRunning, Total: 9, Made: 3, Existing: 1,
				Failed: 1, NextMs: 1_400_000_030_000, Alive: []domain.FlowID{21, 22}, Error: "no", CallerID: 12, BeganMs: 23, EndedMs: 24}},
	}
}

func TestGoldenSchedule(t *testing.T) {
	s := goldSchedule()
	var b strings.Builder
	fmt.Fprintln(&b, layout.Schedule(s.Name))
	for _, f := range layout.EncodeSchedule(s) {
		fmt.Fprintf(&b, "%s=%s\n", f.Name, f.Value)
	}
	golden(t, "schedule", b.String())
}

func TestScheduleRoundTrip(t *testing.T) {
	for name, want := range map[string]*domain.Schedule{
		"with every field": goldSchedule(),
		"the least":        {Name: "s", Blueprint: "b", Every: 1},
	} {
		got, err := layout.DecodeSchedule(layout.Schedule(want.Name), layout.EncodeSchedule(want))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestDamagedSchedules(t *testing.T) {
	for _, f := range []board.Field{{Name: "definition", Value: "{"}, {Name: "fired", Value: "many"}, {Name: "counts", Value: "[1]"},
		{Name: "last_flow", Value: "-1"}} {
		rec := append(layout.EncodeSchedule(goldSchedule()), f)
		if f.Name == "definition" {
			rec = board.Record{f}
		}
		if _, err := layout.DecodeSchedule("ramet:schedule:s", rec); err == nil || !strings.Contains(err.Error(), f.Name) {
			t.Errorf("%s = %s: got %v", f.Name, f.Value, err)
		}
	}
}

func TestScheduleAlarms(t *testing.T) {
	if name, ok := layout.ParseScheduleAlarm(layout.ScheduleAlarm("nightly")); !ok || name != "nightly" {
		t.Errorf("got %q, %v", name, ok)
	}
	for _, alarm := range []string{"schedule:", "schedule:a:b", "start:job:1:1", "nightly"} {
		if name, ok := layout.ParseScheduleAlarm(alarm); ok {
			t.Errorf("%s: got %q", alarm, name)
		}
	}
}
