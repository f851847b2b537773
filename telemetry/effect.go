package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ramet-run/ramet/domain"
)

// effectMetrics are those of effects. Names of effects and targets are the
// operator's, which are few.
type effectMetrics struct {
	inFlight *prometheus.GaugeVec
	tried    *prometheus.HistogramVec
	ended    *prometheus.HistogramVec
	breaker  *prometheus.GaugeVec
	dead     *prometheus.CounterVec
}

func (m *effectMetrics) register(r *prometheus.Registry) {
	m.inFlight = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ramet_effects_in_flight",
		Help: "Attempts that this node is making."}, []string{"effect", "target"})
	m.tried = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ramet_effect_attempt_duration_seconds",
		Help: "Time of an attempt, by how it went.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 11)}, []string{"effect", "target", "outcome"})
	m.ended = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ramet_effect_duration_seconds",
		Help: "Time from an effect's command to its result.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 11)}, []string{"effect", "result"})
	m.breaker = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ramet_effect_target_open",
		Help: "1 while a target's breaker keeps calls from it."}, []string{"target"})
	m.dead = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ramet_effect_dead_letters_total",
		Help: "Effect commands that could not be tried, or never ended."}, []string{"effect"})
	r.MustRegister(m.inFlight, m.tried, m.ended, m.breaker, m.dead)
}

// EffectBegun counts an attempt that begins.
func (m *Metrics) EffectBegun(name, target string) {
	m.effects.inFlight.WithLabelValues(name, target).Inc()
}

// EffectTried observes an attempt.
func (m *Metrics) EffectTried(name, target string, outcome string, took time.Duration) {
	m.effects.inFlight.WithLabelValues(name, target).Dec()
	m.effects.tried.WithLabelValues(name, target, outcome).Observe(took.Seconds())
}

// EffectEnded observes a result.
func (m *Metrics) EffectEnded(name string, r domain.ResultType, _ int, took time.Duration) {
	m.effects.ended.WithLabelValues(name, string(r)).Observe(took.Seconds())
}

// EffectDead counts a dead letter.
func (m *Metrics) EffectDead(name string) { m.effects.dead.WithLabelValues(name).Inc() }

// BreakerTurned shows whether a target is left alone.
func (m *Metrics) BreakerTurned(target string, state string) {
	open := 0.0
	if state == "open" {
		open = 1
	}
	m.effects.breaker.WithLabelValues(target).Set(open)
}
