package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ramet-run/ramet/domain"
)

// sagaMetrics are those of sagas.
type sagaMetrics struct {
	transitions *prometheus.CounterVec
	passed      *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	sent        *prometheus.CounterVec
	lag         *prometheus.HistogramVec
	dead        *prometheus.CounterVec
}

func (m *sagaMetrics) register(r *prometheus.Registry) {
	m.transitions = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ramet_saga_transitions_total",
		Help: "Transitions of instances that this node has committed."}, []string{"saga"})
	m.passed = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ramet_saga_events_passed_total",
		Help: "Events that changed nothing: seen before, or ignored."}, []string{"saga"})
	m.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ramet_saga_round_duration_seconds",
		Help: "Time from some events being read to their transitions being committed.", Buckets: prometheus.ExponentialBuckets(0.0005, 4, 10)}, []string{"saga"})
	m.sent = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ramet_saga_work_sent_total",
		Help: "Work items that left the outbox."}, []string{"kind"})
	m.lag = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ramet_saga_work_lag_seconds",
		Help:    "Time from the event that led to work to the oldest of it leaving the outbox.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 11)}, []string{"kind"})
	m.dead = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ramet_dead_letters_total",
		Help: "Events, work and effects that were given up on."}, []string{"kind"})
	r.MustRegister(m.transitions, m.passed, m.seconds, m.sent, m.lag, m.dead)
}

// SagaEvents counts the events of one round.
func (m *Metrics) SagaEvents(saga string, transitions, passed int, took time.Duration) {
	m.sagas.transitions.WithLabelValues(saga).Add(float64(transitions))
	m.sagas.passed.WithLabelValues(saga).Add(float64(passed))
	m.sagas.seconds.WithLabelValues(saga).Observe(took.Seconds())
}

// SagaSent counts work that was sent.
func (m *Metrics) SagaSent(kind domain.WorkKind, n int, lag time.Duration) {
	m.sagas.sent.WithLabelValues(string(kind)).Add(float64(n))
	m.sagas.lag.WithLabelValues(string(kind)).Observe(lag.Seconds())
}

// SagaDead counts a dead letter.
func (m *Metrics) SagaDead(kind domain.DeadKind) {
	m.sagas.dead.WithLabelValues(string(kind)).Inc()
}
