package domain_test

import (
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func TestThePhaseOfAJobThatHasBegun(t *testing.T) {
	for _, c := range []struct {
		job  domain.Job
		want domain.JobPhase
	}{
		{domain.Job{Status: domain.JobDispatched}, ""},
		{domain.Job{Status: domain.JobFinished, Suspended: &domain.Suspension{}}, ""},
		{domain.Job{Status: domain.JobStarted, QueuedMs: 1, StartedMs: 2}, domain.PhaseRunning},
		{domain.Job{Status: domain.JobStarted, QueuedMs: 1, StartedMs: 2, Suspended: &domain.Suspension{Kind: "sleep"}}, domain.PhaseSuspended},
		{domain.Job{Status: domain.JobStarted, NextRetryMs: 9}, domain.PhaseRetrying},
		{domain.Job{Status: domain.JobStarted, QueuedMs: 3, StartedMs: 2}, domain.PhaseRetrying}, // it is in its queue again
	} {
		if got := c.job.Phase(); got != c.want {
			t.Errorf("%+v: got phase %q, want %q", c.job, got, c.want)
		}
	}
}
