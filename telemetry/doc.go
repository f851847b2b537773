// Package telemetry is what a node counts of itself: metrics for Prometheus.
// Metric names end in their unit.
package telemetry
