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

func (m *effectMetrics) register(r *registrar) {
	m.inFlight = r.gauge(Metric{Name: "ramet_effects_in_flight", Help: "Attempts that this node is making.", Labels: []string{"effect", "target"},
		Do: "At the effect's bound of concurrency for long: its target is slower than the commands come."})
	m.tried = r.histogram(Metric{Name: "ramet_effect_attempt_duration_seconds", Help: "Time of an attempt, by how it went.",
		Labels: []string{"effect", "target", "outcome"}, Do: "Failed attempts are made again; the log and `ramet effect` say what the target answered."})
	m.ended = r.histogram(Metric{Name: "ramet_effect_duration_seconds", Help: "Time from an effect's command to its result.",
		Labels: []string{"effect", "result"}, Do: "Far above the time of an attempt: commands wait, for retries, a breaker or a node with the role."})
	m.breaker = r.gauge(Metric{Name: "ramet_effect_target_open", Help: "1 while a target's breaker keeps calls from it.", Labels: []string{"target"},
		Do: "The target fails all the time: look at it. Calls go on by themselves when it answers."})
	m.dead = r.counter(Metric{Name: "ramet_effect_dead_letters_total", Help: "Effect commands that could not be tried, or never ended.",
		Labels: []string{"effect"}, Do: "`ramet deadletter list` says why; replay or drop them."})
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
func (m *Metrics) EffectDead(name string) {
	m.effects.dead.WithLabelValues(name).Inc()
	m.deadLetter(domain.DeadEffect)
}

// BreakerTurned shows whether a target is left alone.
func (m *Metrics) BreakerTurned(target string, state string) {
	open := 0.0
	if state == "open" {
		open = 1
	}
	m.effects.breaker.WithLabelValues(target).Set(open)
}
