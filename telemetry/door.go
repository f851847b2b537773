package telemetry

import "github.com/prometheus/client_golang/prometheus"

// doorMetrics shows numbers that are kept elsewhere. Their names are few and
// fixed: no caller makes a series.
type doorMetrics struct {
	used, refused func() map[string]int64
}

var (
	doorUsed = prometheus.NewDesc("ramet_door_used",
		"What callers hold now, by what the bounds of `doors` are called.", []string{"of"}, nil)
	doorRefused = prometheus.NewDesc("ramet_door_refused_total",
		"How often something was refused because a bound of `doors` was reached.", []string{"of"}, nil)
)

// CountDoors shows what callers hold, and what was refused because of a bound.
func (m *Metrics) CountDoors(used, refused func() map[string]int64) {
	m.registry.MustRegister(doorMetrics{used, refused})
}

// Describe is [prometheus.Collector]'s.
func (d doorMetrics) Describe(out chan<- *prometheus.Desc) { out <- doorUsed; out <- doorRefused }

// Collect is [prometheus.Collector]'s.
func (d doorMetrics) Collect(out chan<- prometheus.Metric) {
	for of, n := range d.used() {
		out <- prometheus.MustNewConstMetric(doorUsed, prometheus.GaugeValue, float64(n), of)
	}
	for of, n := range d.refused() {
		out <- prometheus.MustNewConstMetric(doorRefused, prometheus.CounterValue, float64(n), of)
	}
}
