package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
)

// Inside the package: a test has no terminal to draw on.

func TestBarsOfAFlow(t *testing.T) {
	v := &domain.FlowView{Flow: domain.Flow{ID: 7, Status: domain.FlowStarted, Progress: "42.00", StartedMs: 1_000}}
	v.Steps = []domain.StepView{
		{Name: "load", Status: "succeeded", Total: 1, Done: 1, Progress: 1, SinceMs: 1_000, EndMs: 2_500},
		{Name: "rows", Status: "open", Total: 400, Done: 100, Bad: 2, Progress: 0.25, SinceMs: 2_500},
		{Name: "mail", Status: "failed", Total: 1, Bad: 1, SinceMs: 2_500, EndMs: 3_000, Text: "exit\tcode 3"},
		{Name: "watch", Status: "running", Endless: true, Done: 9, SinceMs: 2_500},
		{Name: "report", Status: "dormant"},
		{Name: "told", Status: "skipped", Text: "its condition does not hold: params.region == \"eu\""},
	}
	want := strings.TrimPrefix(`
load   ████████████████████████ succeeded 1.5s
rows   ██████░░░░░░░░░░░░░░░░░░ open      100/400  2 bad  3.5s
mail   ░░░░░░░░░░░░░░░░░░░░░░░░ failed    0.5s                  exit code 3
watch  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ running   9  3.5s
report ░░░░░░░░░░░░░░░░░░░░░░░░ dormant
told   ░░░░░░░░░░░░░░░░░░░░░░░░ skipped                         its condition …
flow:7  started  42.00 %  5.0s`, "\n")
	got := strings.Join(flowLines(v, time.UnixMilli(6_000), 80, 22), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBarsFitTheTerminal(t *testing.T) {
	v := &domain.FlowView{Flow: domain.Flow{ID: 7, Status: domain.FlowStarted}}
	for i := range 200 {
		s := domain.StepView{Name: fmt.Sprintf("%s_%03d", strings.Repeat("n", 60), i), Status: "succeeded", Total: 1_000_000, Done: 1_000_000, Progress: 1,
			SinceMs: 1, EndMs: 90_000}
		switch {
		case i == 17:
			s.Status, s.Text = "errored", strings.Repeat("what went wrong ", 40)
		case i == 150:
			s.Status = "skipped_by_failure"
		case i == 160 || i == 161:
			s.Status, s.EndMs = "open", 0
		case i > 180:
			s.Status = "dormant"
		}
		v.Steps = append(v.Steps, s)
	}
	for _, width := range []int{40, 80, 200} {
		lines := flowLines(v, time.UnixMilli(100_000), width, 22)
		if len(lines) > 22 {
			t.Errorf("width %d: got %d lines, want 22 at the most", width, len(lines))
		}
		text := strings.Join(lines, "\n")
		for _, want := range []string{"n_017 ", "errored", "what went wrong", "n_160 ", "n_161 ", "n_181 ", "more: ", "flow:7"} {
			if !strings.Contains(text, want) {
				t.Errorf("width %d: %q is not shown:\n%s", width, want, text)
			}
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); width >= 80 && n >= width && !strings.HasPrefix(line, "  ") {
				t.Errorf("width %d: a line has %d characters: %s", width, n, line)
			}
		}
	}
}

func TestJobsWhoseLastWordsAreShown(t *testing.T) {
	v := &domain.FlowView{Steps: []domain.StepView{
		{Name: "a", Kind: domain.StepSingle, Status: "failed", Job: "job:1:1"},
		{Name: "b", Kind: domain.StepSingle, Status: "skipped_by_error", Job: "job:1:2"},
		{Name: "c", Kind: domain.StepShard, Status: "errored", Units: []domain.UnitView{{ID: 3, Job: "job:1:3", Outcome: "errored"},
			{ID: 4, Job: "job:1:4", Outcome: "aborted"}, {ID: 5, Job: "job:1:5"}}},
	}}
	got := brokenJobs(v)
	want := []broken{{"a", "job:1:1"}, {"c 3", "job:1:3"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(broken{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
