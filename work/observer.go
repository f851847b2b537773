package work

import (
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Observer is told what becomes of jobs that this node runs, of those that workers run
// which ask it, and of leases whose end it finds. Its methods must be quick.
type Observer interface {
	// JobsClaimed is told of jobs of one type that were leased together.
	JobsClaimed(t domain.ScriptType, n int)
	// AttemptBegun is told of each run that begins: whether an earlier one of the job has
	// failed, and for how long the job was queued.
	AttemptBegun(tenant domain.TenantID, t domain.ScriptType, again bool, waited time.Duration)
	// AttemptEnded is told of the end of each run; status is what the job
	// became: finished, error, or started when it goes on.
	AttemptEnded(tenant domain.TenantID, t domain.ScriptType, status domain.JobStatus, reason domain.Reason, took time.Duration)
	// LeaseLost is told of a job whose lease ran out, or could not be renewed in time.
	LeaseLost(t domain.ScriptType)
}

// nobody is an observer that does not care.
type nobody struct{}

func (nobody) JobsClaimed(domain.ScriptType, int) {}
func (nobody) AttemptBegun(domain.TenantID, domain.ScriptType, bool, time.Duration) {
}
func (nobody) AttemptEnded(domain.TenantID, domain.ScriptType, domain.JobStatus, domain.Reason, time.Duration) {
}
func (nobody) LeaseLost(domain.ScriptType) {}

// begun tells that the run of a job begins.
func (x *run) begun() {
	waited := time.Duration(max(x.job.StartedMs-x.job.QueuedMs, 0)) * time.Millisecond
	if x.job.QueuedMs == 0 { // a foreign program queued it, and says only when it was made
		waited = max(time.UnixMilli(x.job.StartedMs).Sub(time.Unix(int64(x.job.CreatedAt), 0)), 0)
	}
	x.r.e.cfg.Observer.AttemptBegun(domain.TenantID(x.Claimed.Space), x.claimer.typ, x.job.Failures > 0, waited)
}

// endedAs tells that the run has ended.
func (x *run) endedAs(what ended) {
	x.r.e.cfg.Observer.AttemptEnded(domain.TenantID(x.Claimed.Space), x.claimer.typ, what.status, what.reason, time.Since(x.Begun))
	if what.lost {
		x.r.e.cfg.Observer.LeaseLost(x.claimer.typ)
	}
}
