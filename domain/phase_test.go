package domain_test

import (
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func TestThePhaseOfAJob(t *testing.T) {
	for _, c := range []struct {
		job  domain.Job
		want domain.JobPhase
	}{
		{domain.Job{Status: domain.JobDispatched, QueuedMs: 1}, domain.PhaseQueued},
		{domain.Job{Status: domain.JobDispatched}, domain.PhaseQueued},                          // another program has written it
		{domain.Job{Status: domain.JobWaiting, QueuedMs: 1}, domain.PhaseQueued},                // what it waited for is there
		{domain.Job{Status: domain.JobWaiting, Waits: 1}, domain.PhaseBlocked},                  // for others
		{domain.Job{Status: domain.JobWaiting}, domain.PhaseBlocked},                            // another program has written it, nobody has counted
		{domain.Job{Status: domain.JobDispatched, Waits: 1, NotBefore: 9}, domain.PhaseBlocked}, // for its time
		{domain.Job{Status: domain.JobDispatched, At: "7"}, domain.PhaseBlocked},                // it is to run elsewhere
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
