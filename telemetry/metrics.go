package telemetry

import (
	"fmt"
	"math"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ramet-run/ramet/domain"
)

// MaxContexts bounds the contexts that have series of their own.
const MaxContexts = 100

// Metrics are a node's metrics. It observes runners, keepers, alarms and audits.
type Metrics struct {
	registry   *prometheus.Registry
	registered []Metric
	contexts   map[domain.TenantID]string // that have series of their own, with their label

	build     *prometheus.GaugeVec
	durable   *prometheus.GaugeVec
	lateness  prometheus.Observer
	repaired  prometheus.Counter
	stuck     *prometheus.GaugeVec
	jobs      jobMetrics
	archive   archiveMetrics
	flows     flowMetrics
	messages  messageMetrics
	circles   circleMetrics
	sagas     sagaMetrics
	effects   effectMetrics
	schedules scheduleMetrics
	webhooks  webhookMetrics
	listeners listenerMetrics
	board     boardMetrics
	requests  requestMetrics
	shown     shown
}

// NewMetrics returns a fresh set in a registry of its own. Contexts are those that have
// series of their own, at most [MaxContexts].
func NewMetrics(contexts ...domain.TenantID) *Metrics {
	r := &registrar{Registry: prometheus.NewRegistry()}
	m := &Metrics{registry: r.Registry, contexts: map[domain.TenantID]string{}}
	for _, t := range contexts[:min(len(contexts), MaxContexts)] {
		m.contexts[t] = domain.Tenant{ID: t}.Key()
	}
	m.build = r.gauge(Metric{Name: "ramet_build_info", Help: "1; the labels say which program this is.", Labels: []string{"version", "revision", "goversion"},
		Do: "Several versions for long: a rolling upgrade has stopped half-way."})
	m.durable = r.gauge(Metric{Name: "ramet_durability_info",
		Help: "1; what an acknowledged write survives, by what the node stands on (board, archive, streams): memory (nothing), process, disk " +
			"(a power cut), quorum (the loss of a machine).",
		Labels: []string{"of", "durability"}, Do: "Memory or process where work must not be lost: see `ramet doctor`."})
	m.lateness = r.histogram(Metric{Name: "ramet_alarm_lateness_seconds", Help: "How long after its instant an alarm was handled.",
		Do: "Seconds: the node that has the alarms is overloaded, or the board is slow."}).WithLabelValues()
	m.repaired = r.counter(Metric{Name: "ramet_audit_repaired_total",
		Help: "Unfinished things without a reason to be alive that the auditor brought back.",
		Do:   "A few come of kills and of foreign programs. If it grows all the time, something writes on the board that should not."}).WithLabelValues()
	m.stuck = r.gauge(Metric{Name: "ramet_stuck_jobs", Help: "Unfinished jobs that nothing would ever move, at the last audit.", Labels: []string{"context"},
		Board: true, Do: "`ramet audit --context N` names them, `ramet job explain` says why."})
	m.jobs.register(r)
	m.archive.register(r)
	m.flows.register(r)
	m.messages.register(r)
	m.circles.register(r)
	m.sagas.register(r)
	m.effects.register(r)
	m.schedules.register(r)
	m.webhooks.register(r)
	m.listeners.register(r)
	m.board.register(r)
	m.requests.register(r)
	m.shown.own = m.context
	m.shown.register(r)
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registered = r.all
	return m
}

// context is the label of a context, if it has series of its own.
func (m *Metrics) context(t domain.TenantID) (label string, own bool) {
	label, own = m.contexts[t]
	return label, own
}

// Handler serves the metrics in Prometheus' text format. One scrape is answered at a time:
// those that come meanwhile are told to come again.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: scrapeTime})
}

// scrapeTime bounds a scrape: less than Prometheus waits by default.
const scrapeTime = 9 * time.Second

// Built says which version of the program this is.
func (m *Metrics) Built(version string) {
	revision := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	m.build.WithLabelValues(version, revision, runtime.Version()).Set(1)
}

// Durable says what an acknowledged write survives of what the node stands on.
func (m *Metrics) Durable(of, durability string) { m.durable.WithLabelValues(of, durability).Set(1) }

// CountDenials shows a counter of refused requests that is kept elsewhere.
func (m *Metrics) CountDenials(count func() int64) { m.shown.denials = count }

// CountAuditDropped shows a counter of audit lines that found no room.
func (m *Metrics) CountAuditDropped(count func() int64) { m.shown.dropped = count }

// CountDoors shows what callers hold, and what was refused because of a bound.
func (m *Metrics) CountDoors(used, refused func() map[string]int64) {
	m.shown.used, m.shown.refused = used, refused
}

// ShowLateness shows how late the alarm is that is due longest, as the board says
// when it is asked; not a number where it cannot be asked.
func (m *Metrics) ShowLateness(late func() (time.Duration, error)) {
	m.shown.late = func() float64 {
		d, err := late()
		if err != nil {
			return math.NaN()
		}
		return d.Seconds()
	}
}

// ShowDisk shows how much of the disk of the data folder is free; not a number where
// nobody knows.
func (m *Metrics) ShowDisk(free func() (bytes int64, ok bool)) {
	m.shown.disk = func() float64 {
		n, ok := free()
		if !ok {
			return math.NaN()
		}
		return float64(n)
	}
}

// ShowStanding shows what waits and runs, as standing finds it. It is asked at each
// scrape, and has to bound what it reads for that.
func (m *Metrics) ShowStanding(standing func() Standing) { m.shown.standing = standing }

// AlarmHandled observes how late an alarm was handled.
func (m *Metrics) AlarmHandled(late time.Duration) { m.lateness.Observe(late.Seconds()) }

// Audited takes the result of an audit. Only contexts with something stuck
// have a series of their own, so thousands of contexts cost nothing.
func (m *Metrics) Audited(t domain.TenantID, repaired, stuck int) {
	m.repaired.Add(float64(repaired))
	label := domain.Tenant{ID: t}.Key()
	if stuck == 0 {
		m.stuck.DeleteLabelValues(label)
		return
	}
	m.stuck.WithLabelValues(label).Set(float64(stuck))
}

// CheckContexts looks at those that are to have series of their own.
//
// Errors: [domain.ErrInvalid].
func CheckContexts(contexts []domain.TenantID) error {
	if len(contexts) > MaxContexts {
		return domain.Invalidf("metrics_contexts: %d contexts, want at most %d: each has about fifty series of its own on every node", len(contexts), MaxContexts)
	}
	seen := map[domain.TenantID]bool{}
	for _, t := range contexts {
		if seen[t] || t == 0 {
			return domain.Invalidf("metrics_contexts: %s: want numbers of contexts, each once", fmt.Sprint(uint32(t)))
		}
		seen[t] = true
	}
	return nil
}
