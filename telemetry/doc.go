// Package telemetry sets up what a node says of itself: logs by slog and
// metrics for Prometheus. Metric names end in their unit.
package telemetry
