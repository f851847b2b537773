package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ramet-run/ramet/domain"
)

// flowMetrics are those of keepers.
type flowMetrics struct {
	ended   *prometheus.CounterVec
	seconds prometheus.Histogram
}

func (m *flowMetrics) register(r *prometheus.Registry) {
	m.ended = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ramet_flows_ended_total",
		Help: "Flows whose end this node has written, by how they ended."}, []string{"reason"})
	m.seconds = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "ramet_flow_duration_seconds",
		Help: "Time from the begin of a flow to its end.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 14)})
	r.MustRegister(m.ended, m.seconds)
}

// FlowEnded counts the end of a flow, and observes how long it took, where that is known.
func (m *Metrics) FlowEnded(reason domain.FlowReason, took time.Duration) {
	m.flows.ended.WithLabelValues(string(reason)).Inc()
	if took > 0 {
		m.flows.seconds.Observe(took.Seconds())
	}
}
