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

func (m *circleMetrics) register(r *prometheus.Registry) {
	m.ended = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ramet_circle_tasks_ended_total",
		Help: "Tasks of circles that this node has ended, by how."}, []string{"circle", "status"})
	m.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ramet_circle_task_duration_seconds",
		Help: "Time from the lease of a task to its end being written.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 11)}, []string{"circle"})
	r.MustRegister(m.ended, m.seconds)
}

// TaskEnded counts the end of a circle's task.
func (m *Metrics) TaskEnded(circle string, status domain.TaskStatus, took time.Duration) {
	m.circles.ended.WithLabelValues(circle, string(status)).Inc()
	m.circles.seconds.WithLabelValues(circle).Observe(took.Seconds())
}
