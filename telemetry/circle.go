package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ramet-run/ramet/domain"
)

// circleMetrics are those of circles. Their names are the served ones, which
// are few.
type circleMetrics struct {
	ended   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func (m *circleMetrics) register(r *registrar) {
	m.ended = r.counter(Metric{Name: "ramet_circle_tasks_ended_total", Help: "Tasks of circles that this node has ended, by how.",
		Labels: []string{"circle", "status"}, Do: "Where errors grow, `ramet circle` commands show what the scripts said."})
	m.seconds = r.histogram(Metric{Name: "ramet_circle_task_duration_seconds", Help: "Time from the lease of a task to its end being written.",
		Labels: []string{"circle"}, Do: "It is the script's own time, as a rule."})
}

// TaskEnded counts the end of a circle's task.
func (m *Metrics) TaskEnded(circle string, status domain.TaskStatus, took time.Duration) {
	m.circles.ended.WithLabelValues(circle, string(status)).Inc()
	m.circles.seconds.WithLabelValues(circle).Observe(took.Seconds())
}
