package telemetry

import (
	"math"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ramet-run/ramet/domain"
)

// Metrics are a node's metrics. It observes runners, keepers, alarms and audits.
type Metrics struct {
	registry *prometheus.Registry
	claimed  *prometheus.CounterVec
	attempts *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	lateness prometheus.Histogram
	repaired prometheus.Counter
	stuck    *prometheus.GaugeVec
	archive  archiveMetrics
	flows    flowMetrics
	messages messageMetrics
	circles  circleMetrics
	sagas    sagaMetrics
	effects  effectMetrics
}

// NewMetrics returns a fresh set in a registry of its own.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		claimed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ramet_jobs_claimed_total",
			Help: "Jobs that this node's runner has leased."}, []string{"script_type"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ramet_attempts_ended_total",
			Help: "Runs that ended, by what became of the job (started: it goes on) and why."}, []string{"script_type", "status", "reason"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ramet_attempt_duration_seconds",
			Help: "Time from lease to the end being written.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 11)}, []string{"script_type"}),
		lateness: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "ramet_alarm_lateness_seconds",
			Help: "How long after its instant an alarm was handled.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 11)}),
		repaired: prometheus.NewCounter(prometheus.CounterOpts{Name: "ramet_audit_repaired_total",
			Help: "Unfinished things without a reason to be alive that the auditor brought back."}),
		stuck: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ramet_stuck_jobs",
			Help: "Unfinished jobs that nothing would ever move, at the last audit."}, []string{"context"}),
	}
	m.archive.register(m.registry)
	m.flows.register(m.registry)
	m.messages.register(m.registry)
	m.circles.register(m.registry)
	m.sagas.register(m.registry)
	m.effects.register(m.registry)
	m.registry.MustRegister(m.claimed, m.attempts, m.seconds, m.lateness, m.repaired, m.stuck,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics in Prometheus' text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// CountDenials shows a counter of refused requests that is kept elsewhere.
func (m *Metrics) CountDenials(count func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "ramet_denials_total",
		Help: "Requests that were refused because the actor lacks the right."}, func() float64 { return float64(count()) }))
}

// CountAuditDropped shows a counter of audit lines that found no room.
func (m *Metrics) CountAuditDropped(count func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "ramet_audit_dropped_total",
		Help: "Lines of the audit log that were lost because there were too many at once."}, func() float64 { return float64(count()) }))
}

// ShowLateness shows how late the alarm is that is due longest, as the board says
// when it is asked; not a number where it cannot be asked.
func (m *Metrics) ShowLateness(late func() (time.Duration, error)) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ramet_oldest_alarm_lateness_seconds",
		Help: "How long ago the alarm of the board has come that is due longest and not handled yet."}, func() float64 {
		d, err := late()
		if err != nil {
			return math.NaN()
		}
		return d.Seconds()
	}))
}

// ShowDisk shows how much of the disk of the data folder is free; not a number where
// nobody knows.
func (m *Metrics) ShowDisk(free func() (bytes int64, ok bool)) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ramet_disk_free_bytes",
		Help: "What is free on the disk of the data folder."}, func() float64 {
		n, ok := free()
		if !ok {
			return math.NaN()
		}
		return float64(n)
	}))
}

// JobsClaimed counts leased jobs.
func (m *Metrics) JobsClaimed(t domain.ScriptType, n int) {
	m.claimed.WithLabelValues(string(t)).Add(float64(n))
}

// AttemptEnded counts the end of a run.
func (m *Metrics) AttemptEnded(t domain.ScriptType, status domain.JobStatus, reason domain.Reason, took time.Duration) {
	m.attempts.WithLabelValues(string(t), string(status), string(reason)).Inc()
	m.seconds.WithLabelValues(string(t)).Observe(took.Seconds())
}

// AlarmHandled observes how late an alarm was handled.
func (m *Metrics) AlarmHandled(late time.Duration) { m.lateness.Observe(late.Seconds()) }

// Audited takes the result of an audit. Only contexts with something stuck
// have a series of their own, so thousands of contexts cost nothing.
func (m *Metrics) Audited(t domain.TenantID, repaired, stuck int) {
	m.repaired.Add(float64(repaired))
	label := domain.Tenant{ID: t}.Key()
	if stuck == 0 {
		m.stuck.DeleteLabelValues(label)
		return
	}
	m.stuck.WithLabelValues(label).Set(float64(stuck))
}
