package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ramet-run/ramet/domain"
)

// scheduleMetrics are those of schedules, of all contexts together.
type scheduleMetrics struct {
	times   *prometheus.CounterVec
	late    prometheus.Observer
	success *prometheus.GaugeVec
	names   names
}

func (m *scheduleMetrics) register(r *registrar) {
	m.names.most = domain.MaxSchedulesOf
	m.times = r.counter(Metric{Name: "ramet_schedule_times_total",
		Help:   "Times of schedules that have come, by what became of them: made, skipped (the flow before lived), missed (too late to be made up), refused.",
		Labels: []string{"outcome"}, Do: "`ramet schedule show` has the counts and the last error of each. Missed: no node was there; see clocks and node restarts."})
	for _, outcome := range []string{domain.ScheduleMade, domain.ScheduleSkipped, domain.ScheduleMissed, domain.ScheduleRefused} {
		m.times.WithLabelValues(outcome) // at 0 from the start: a first one is a rise, too
	}
	m.late = r.histogram(Metric{Name: "ramet_schedule_lateness_seconds", Help: "How long after its time the flow of a schedule was made.",
		Do: "Seconds: alarms come late, see `ramet_oldest_alarm_lateness_seconds`; it is long, too, where times are made up after an outage."}).WithLabelValues()
	m.success = r.gauge(Metric{Name: "ramet_schedule_last_success_timestamp_seconds",
		Help: "When this node last made the flow of a schedule, in Unix seconds: of all schedules (context and schedule are empty), and of " +
			"each of the contexts in `metrics_contexts`.",
		Labels: []string{"context", "schedule"}, Do: "Older than the schedule's period on all nodes: it is paused, refused or nobody has the duty of the clockwork."})
}

// ScheduleTimes counts times of a schedule that have come.
func (m *Metrics) ScheduleTimes(t domain.TenantID, schedule, outcome string, n int64, late time.Duration) {
	m.schedules.times.WithLabelValues(outcome).Add(float64(n))
	if outcome != domain.ScheduleMade {
		return
	}
	m.schedules.late.Observe(max(late, 0).Seconds())
	now := float64(time.Now().UnixMilli()) / 1000
	m.schedules.success.WithLabelValues("", "").Set(now)
	if label, own := m.context(t); own {
		m.schedules.success.WithLabelValues(label, m.schedules.names.label(t, schedule)).Set(now)
	}
}
