package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// boardMetrics are those of a node's commits.
type boardMetrics struct {
	seconds *prometheus.HistogramVec
	batches prometheus.Observer
	bytes   prometheus.Counter
	refused *prometheus.CounterVec
}

func (m *boardMetrics) register(r *registrar) {
	m.seconds = r.histogram(Metric{Name: "ramet_board_commit_duration_seconds",
		Help:   "Time until a commit is as durable as the board says, by how it went: ok, conflict (somebody was first), refused (it breaks a limit), unavailable.",
		Labels: []string{"outcome"}, buckets: commitSeconds,
		Do: "All that a node does waits for it. Slow: the disk's fsync, or the way to Redis, PostgreSQL or etcd; `ramet doctor` times it."})
	m.batches = r.histogram(Metric{Name: "ramet_board_commit_batches", Help: "Batches of one commit: how much is written together.",
		buckets: prometheus.ExponentialBuckets(1, 2, 11), Do: "It grows under load, which is why throughput is more than one over the " +
			"commit's time."}).WithLabelValues()
	m.bytes = r.counter(Metric{Name: "ramet_board_written_bytes_total", Help: "Bytes of keys and values in commits, before what the store makes of them.",
		Do: "Large scripts, results and logs are what fills a board."}).WithLabelValues()
	m.refused = r.counter(Metric{Name: "ramet_board_errors_total", Help: "Calls of the board that it could not do, by call.", Labels: []string{"call"},
		Do: "The store is away or too slow: `/ready` answers 503, and the log has the reason."})
}

// Committed observes batches that were committed together: how it went, how long it took,
// and how many bytes they had.
func (m *Metrics) Committed(outcome string, batches, bytes int, took time.Duration) {
	m.board.seconds.WithLabelValues(outcome).Observe(took.Seconds())
	m.board.batches.Observe(float64(batches))
	m.board.bytes.Add(float64(bytes))
}

// BoardFailed counts a call that the board could not do.
func (m *Metrics) BoardFailed(call string) { m.board.refused.WithLabelValues(call).Inc() }
