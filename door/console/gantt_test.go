package console

// Inside the package: the way is what the page draws, without the page.

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

func TestTheLongestWay(t *testing.T) {
	step := func(name string, phase int, since, end int64, needs ...string) domain.StepView {
		return domain.StepView{Name: name, Phase: phase, SinceMs: since, EndMs: end, Needs: needs}
	}
	for name, tt := range map[string]struct {
		steps []domain.StepView
		want  map[int]bool
	}{
		"of two that are needed it is the one that ended last": {[]domain.StepView{step("a", 0, 1, 5), step("b", 0, 1, 9), step("c", 0, 9, 12, "a", "b")},
			map[int]bool{1: true, 2: true}},
		"what goes on ends last":          {[]domain.StepView{step("a", 0, 1, 5), step("b", 0, 5, 0, "a"), step("c", 0, 1, 99)}, map[int]bool{0: true, 1: true}},
		"phases follow each other":        {[]domain.StepView{step("a", 0, 1, 5), step("b", 0, 1, 3), step("c", 1, 5, 9)}, map[int]bool{0: true, 2: true}},
		"what never began is on no way":   {[]domain.StepView{step("a", 0, 1, 5), step("b", 0, 0, 0, "a")}, nil},
		"names that turn in a circle end": {[]domain.StepView{step("a", 0, 1, 5, "b"), step("b", 0, 1, 6, "a")}, map[int]bool{0: true, 1: true}},
		"nothing":                         {nil, nil},
	} {
		if got := criticalSteps(&domain.FlowView{Steps: tt.steps}); !maps.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

func TestPausesStandApart(t *testing.T) {
	v := &visit{now: time.UnixMilli(20_000)}
	scale := func(ms int64) float64 { return float64(ms) / 100 }
	classes := func(j *domain.Job) (list []string) {
		for _, b := range v.jobBars(j, scale) {
			list = append(list, b.Class)
		}
		return list
	}
	for _, tt := range []struct {
		job  domain.Job
		want string
	}{
		{domain.Job{CreatedAt: 1, QueuedMs: 1000, StartedMs: 2000, FinishedMs: 3000, Attempt: 1, Status: domain.JobFinished}, "[waiting succeeded]"},
		{domain.Job{CreatedAt: 1, QueuedMs: 9000, StartedMs: 9500, FinishedMs: 12_000, Attempt: 3, Status: domain.JobFinished}, "[backoff waiting succeeded]"},
		{domain.Job{CreatedAt: 1, QueuedMs: 1000, StartedMs: 2000, Attempt: 1, NextRetryMs: 30_000, Status: domain.JobStarted}, "[backoff]"},
	} {
		if got := classes(&tt.job); fmt.Sprint(got) != tt.want {
			t.Errorf("%+v: got %v, want %s", tt.job, got, tt.want)
		}
	}
}
