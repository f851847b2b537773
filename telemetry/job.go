package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ramet-run/ramet/domain"
)

// jobMetrics are those of what this node runs, and of what workers run that ask it.
type jobMetrics struct {
	claimed  *prometheus.CounterVec
	attempts cached[attempt, prometheus.Counter]
	seconds  cached[domain.ScriptType, prometheus.Observer]
	waited   cached[domain.ScriptType, prometheus.Observer]
	retried  *prometheus.CounterVec
	lost     *prometheus.CounterVec
	own      *prometheus.CounterVec // of contexts with series of their own
	ownWait  *prometheus.HistogramVec
}

// attempt is what became of a run.
type attempt struct {
	typ    domain.ScriptType
	status domain.JobStatus
	reason domain.Reason
}

func (m *jobMetrics) register(r *registrar) {
	m.claimed = r.counter(Metric{Name: "ramet_jobs_claimed_total", Help: "Jobs that were leased: by this node's runner, or by workers that asked it.",
		Labels: []string{"script_type"}, Do: "0 while jobs of the type wait: nobody serves it here, or a ban, a duty or a cap holds it; `ramet doctor` says which."})
	attempts := r.counter(Metric{Name: "ramet_attempts_ended_total", Help: "Runs that ended, by what became of the job (started: it goes on) and why.",
		Labels: []string{"script_type", "status", "reason"},
		Do: "`ramet job list --status error` names jobs that ended badly. runner_lost: see `ramet_leases_lost_total`; timeout: give more " +
			"time, or look for what hangs."})
	took := r.histogram(Metric{Name: "ramet_attempt_duration_seconds", Help: "Time from lease to the end being written.", Labels: []string{"script_type"},
		Do: "It is the script's own time and the commit of its end: compare with `ramet_board_commit_duration_seconds`."})
	waited := r.histogram(Metric{Name: "ramet_job_wait_duration_seconds",
		Help:   "Time from a job being queued (submitted, or ready after what it depends on) to its lease.",
		Labels: []string{"script_type"}, Do: "It grows when there are too few slots: add nodes or slots of the type, or see which context takes them."})
	m.attempts.make = func(a attempt) prometheus.Counter {
		return attempts.WithLabelValues(string(a.typ), string(a.status), string(a.reason))
	}
	m.seconds.make = func(t domain.ScriptType) prometheus.Observer { return took.WithLabelValues(string(t)) }
	m.waited.make = func(t domain.ScriptType) prometheus.Observer { return waited.WithLabelValues(string(t)) }
	m.retried = r.counter(Metric{Name: "ramet_job_retries_total", Help: "Runs that were begun because an earlier one of the job had failed.",
		Labels: []string{"script_type"}, Do: "Scripts fail and are tried again: `ramet job logs` of one that waits for its retry says why."})
	m.lost = r.counter(Metric{Name: "ramet_leases_lost_total", Help: "Leases of jobs that ran out or could not be renewed in time: the job " +
		"is run again elsewhere.",
		Labels: []string{"script_type"}, Do: "A node died, was frozen, or could not reach the board: the log of the node that had the lease " +
			"says so. All the time: scripts starve their node."})
	m.own = r.counter(Metric{Name: "ramet_context_attempts_ended_total", Help: "Runs that ended, of the contexts in `metrics_contexts`.",
		Labels: []string{"context", "script_type", "status"}, Do: "As `ramet_attempts_ended_total`."})
	m.ownWait = r.histogram(Metric{Name: "ramet_context_job_wait_duration_seconds",
		Help:   "Time from a job being queued to its lease, of the contexts in `metrics_contexts`.",
		Labels: []string{"context"}, Do: "Longer than that of others: the context is at its cap, or its weight is small."})
}

// JobsClaimed counts leased jobs.
func (m *Metrics) JobsClaimed(t domain.ScriptType, n int) {
	m.jobs.claimed.WithLabelValues(string(t)).Add(float64(n))
}

// AttemptBegun observes how long a job had waited that begins; again says that a run of it
// failed before.
func (m *Metrics) AttemptBegun(tenant domain.TenantID, t domain.ScriptType, again bool, waited time.Duration) {
	if again {
		m.jobs.retried.WithLabelValues(string(t)).Inc()
	}
	m.jobs.waited.get(t).Observe(waited.Seconds())
	if label, own := m.context(tenant); own {
		m.jobs.ownWait.WithLabelValues(label).Observe(waited.Seconds())
	}
}

// AttemptEnded counts the end of a run.
func (m *Metrics) AttemptEnded(tenant domain.TenantID, t domain.ScriptType, status domain.JobStatus, reason domain.Reason, took time.Duration) {
	m.jobs.attempts.get(attempt{t, status, reason}).Inc()
	m.jobs.seconds.get(t).Observe(took.Seconds())
	if label, own := m.context(tenant); own {
		m.jobs.own.WithLabelValues(label, string(t), string(status)).Inc()
	}
}

// LeaseLost counts a lease that ran out, or was given up before.
func (m *Metrics) LeaseLost(t domain.ScriptType) { m.jobs.lost.WithLabelValues(string(t)).Inc() }
