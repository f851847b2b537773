package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// archiveMetrics are those of the archiver. Only the node that archives has them.
type archiveMetrics struct {
	waiting, age              *prometheus.GaugeVec
	archived, failed, refused prometheus.Counter
}

func (m *archiveMetrics) register(r *registrar) {
	m.waiting = r.gauge(Metric{Name: "ramet_archive_backlog_records",
		Help: "Ends of work that are on the board only, at the last look; they do not expire before the archive has them.",
		Do:   "While it grows the archive is slower than the work: give it a faster disk or server, or archive less (--archives)."})
	m.age = r.gauge(Metric{Name: "ramet_archive_backlog_age_seconds", Help: "How long ago the oldest of them ended.",
		Do: "Minutes are well under load. Where it grows without end, see whether the archive can be reached."})
	m.archived = r.counter(Metric{Name: "ramet_archive_records_total", Help: "Ends of work that were copied into the archive.",
		Do: "Its rate is how fast a backlog goes down."}).WithLabelValues()
	m.failed = r.counter(Metric{Name: "ramet_archive_failures_total", Help: "Calls of the archive that failed and are made again.",
		Do: "Look at the archive's server or disk; the log has the reason."}).WithLabelValues()
	m.refused = r.counter(Metric{Name: "ramet_archive_refused_total", Help: "Records that the archive will not take; they stay out of it.",
		Do: "The log names each record; they are gone when their retention on the board is over."}).WithLabelValues()
}

// ArchiveBacklog takes how much waits for the archive; n < 0: another node
// knows.
func (m *Metrics) ArchiveBacklog(n int, age time.Duration) {
	if n < 0 {
		m.archive.waiting.Reset()
		m.archive.age.Reset()
		return
	}
	m.archive.waiting.WithLabelValues().Set(float64(n))
	m.archive.age.WithLabelValues().Set(age.Seconds())
}

// Archived counts what the archive took.
func (m *Metrics) Archived(n int) { m.archive.archived.Add(float64(n)) }

// ArchiveFailed counts a call that failed.
func (m *Metrics) ArchiveFailed() { m.archive.failed.Inc() }

// ArchiveRefused counts a record that the archive will not take.
func (m *Metrics) ArchiveRefused() { m.archive.refused.Inc() }
