package service

import (
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// TestEachLivingJobIsCountedOnce: however a job stands, one of the counts has it.
func TestEachLivingJobIsCountedOnce(t *testing.T) {
	jobs := map[string]domain.Job{
		"waits for a runner":       {Status: domain.JobDispatched, QueuedMs: 5},
		"waits for a runner next":  {Status: domain.JobWaiting, QueuedMs: 4},
		"waits for what it needs":  {Status: domain.JobWaiting, Waits: 1},
		"runs":                     {Status: domain.JobStarted, QueuedMs: 5, StartedMs: 6},
		"is suspended":             {Status: domain.JobStarted, StartedMs: 6, Suspended: &domain.Suspension{}},
		"waits for its retry":      {Status: domain.JobStarted, StartedMs: 6, NextRetryMs: 9},
		"waits for its next round": {Status: domain.JobStarted, StartedMs: 6, QueuedMs: 7},
	}
	var all LiveJobs
	for name, j := range jobs {
		var one LiveJobs
		one.add(&j)
		if n := one.Running + one.Suspended + one.Retrying + one.Waiting + one.Blocked; n != 1 {
			t.Errorf("one that %s is counted %d times", name, n)
		}
		all.add(&j)
	}
	if want := (LiveJobs{Running: 1, Suspended: 1, Retrying: 2, Waiting: 2, Blocked: 1, OldestMs: 4}); all != want {
		t.Errorf("got %+v, want %+v", all, want)
	}
}
