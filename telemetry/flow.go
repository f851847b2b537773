package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ramet-run/ramet/domain"
)

// flowMetrics are those of keepers.
type flowMetrics struct {
	begun   prometheus.Counter
	ended   *prometheus.CounterVec
	seconds prometheus.Observer
}

func (m *flowMetrics) register(r *registrar) {
	m.begun = r.counter(Metric{Name: "ramet_flows_made_total", Help: "Flows that were made through this node, by people, schedules, sagas or messages.",
		Do: "Far above the ends for long: flows pile up; see what they wait for with `ramet flow list --status started`."}).WithLabelValues()
	m.ended = r.counter(Metric{Name: "ramet_flows_ended_total", Help: "Flows whose end this node has written, by how they ended.",
		Labels: []string{"reason"}, Do: "`ramet flow list --status error` names those that failed, `ramet flow explain` says why."})
	m.seconds = r.histogram(Metric{Name: "ramet_flow_duration_seconds", Help: "Time from the begin of a flow to its end.", buckets: longSeconds,
		Do: "The console's page of a flow shows which step took it."}).WithLabelValues()
}

// FlowsMade counts flows that were made.
func (m *Metrics) FlowsMade(n int) { m.flows.begun.Add(float64(n)) }

// FlowEnded counts the end of a flow, and observes how long it took, where that is known.
func (m *Metrics) FlowEnded(reason domain.FlowReason, took time.Duration) {
	m.flows.ended.WithLabelValues(string(reason)).Inc()
	if took > 0 {
		m.flows.seconds.Observe(took.Seconds())
	}
}
