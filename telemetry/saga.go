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
	deferred    *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	sent        *prometheus.CounterVec
	lag         *prometheus.HistogramVec
	dead        *prometheus.CounterVec
}

func (m *sagaMetrics) register(r *registrar) {
	m.transitions = r.counter(Metric{Name: "ramet_saga_transitions_total", Help: "Transitions of instances that this node has committed.",
		Labels: []string{"saga"}, Do: "0 while `ramet_saga_behind_events` is not: nobody moves the saga; see `ramet saga lag`."})
	m.passed = r.counter(Metric{Name: "ramet_saga_events_passed_total", Help: "Events that changed nothing: seen before, or ignored.", Labels: []string{"saga"},
		Do: "Most of a saga's events: it reads what it does not need; narrow its subjects."})
	m.deferred = r.counter(Metric{Name: "ramet_saga_events_deferred_total",
		Help:   "Events that were laid aside by their instance, which is paused, held by a dead letter or not ready for them.",
		Labels: []string{"saga"}, Do: "`ramet saga list` shows instances that are paused or held; resume them, or replay their dead letter."})
	m.seconds = r.histogram(Metric{Name: "ramet_saga_round_duration_seconds", Help: "Time from some events being read to their transitions being committed.",
		Labels: []string{"saga"}, buckets: prometheus.ExponentialBuckets(0.0005, 4, 10), Do: "It grows with the board's commits and with the program's own time."})
	m.sent = r.counter(Metric{Name: "ramet_saga_work_sent_total", Help: "Work items that left the outbox.", Labels: []string{"kind"},
		Do: "0 while `ramet_saga_outbox_items` is not: what takes the work is away; the log says which."})
	m.lag = r.histogram(Metric{Name: "ramet_saga_work_lag_seconds", Help: "Time from the event that led to work to the oldest of it leaving the outbox.",
		Labels: []string{"kind"}, Do: "It is what a customer waits before anything happens outside."})
	m.dead = r.counter(Metric{Name: "ramet_dead_letters_total", Help: "Events, work and effects that were given up on.", Labels: []string{"kind"},
		Do: "`ramet deadletter list` says why; replay them after the mend, or drop them."})
	for _, kind := range domain.DeadKinds {
		m.dead.WithLabelValues(string(kind))
	}
}

// SagaEvents counts the events of one round.
func (m *Metrics) SagaEvents(saga string, transitions, passed, deferred int, took time.Duration) {
	m.sagas.transitions.WithLabelValues(saga).Add(float64(transitions))
	m.sagas.passed.WithLabelValues(saga).Add(float64(passed))
	m.sagas.deferred.WithLabelValues(saga).Add(float64(deferred))
	m.sagas.seconds.WithLabelValues(saga).Observe(took.Seconds())
}

// SagaSent counts work that was sent.
func (m *Metrics) SagaSent(kind domain.WorkKind, n int, lag time.Duration) {
	m.sagas.sent.WithLabelValues(string(kind)).Add(float64(n))
	m.sagas.lag.WithLabelValues(string(kind)).Observe(lag.Seconds())
}

// SagaDead counts a dead letter of a saga.
func (m *Metrics) SagaDead(kind domain.DeadKind) { m.deadLetter(kind) }

// ListenerDead counts one of a listener.
func (m *Metrics) ListenerDead(kind domain.DeadKind) { m.deadLetter(kind) }

// deadLetter counts one, whoever gave up.
func (m *Metrics) deadLetter(kind domain.DeadKind) {
	m.sagas.dead.WithLabelValues(string(kind)).Inc()
}
