package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ramet-run/ramet/domain"
)

// listenerMetrics are those of what listeners read. How far they are behind is looked at for
// each scrape: see [ListenerStanding].
type listenerMetrics struct {
	events  *prometheus.CounterVec
	own     *prometheus.CounterVec
	success *prometheus.GaugeVec
	names   names
}

func (m *listenerMetrics) register(r *registrar) {
	m.names.most = domain.MaxListenersOf
	m.events = r.counter(Metric{Name: "ramet_listener_events_total",
		Help: "Events that this node has read for listeners, by what became of them: started (a flow), duplicate (its flow was there), passed " +
			"(not wanted), dead (a dead letter), held (nothing can be started now: it comes again, and is counted again).",
		Labels: []string{"outcome"}, Do: "held: `ramet listener list` says which listeners wait, and for what. dead: `ramet deadletter list`."})
	m.own = r.counter(Metric{Name: "ramet_context_listener_events_total",
		Help: "Events that this node has read for listeners of the contexts in `metrics_contexts`, by what became of them (as " +
			"`ramet_listener_events_total`).",
		Labels: []string{"context", "listener", "outcome"}, Do: "As `ramet_listener_events_total`."})
	m.success = r.gauge(Metric{Name: "ramet_listener_last_success_timestamp_seconds",
		Help: "When this node last had a flow for an event, in Unix seconds: of all listeners (context and listener are empty), and of each of the " +
			"contexts in `metrics_contexts`.",
		Labels: []string{"context", "listener"}, Do: "Old while `ramet_listener_behind_events` is not 0: nobody serves the listener, or its events are held up."})
}

// ExpectEvents shows outcomes at 0 from the start: a first one is a rise, too.
func (m *Metrics) ExpectEvents(outcomes ...string) {
	for _, o := range outcomes {
		m.listeners.events.WithLabelValues(o)
	}
}

// ListenerRead counts an event of a listener. made says that a flow is there for it.
func (m *Metrics) ListenerRead(t domain.TenantID, listener, outcome string, made bool) {
	m.listeners.events.WithLabelValues(outcome).Inc()
	label, own := m.context(t)
	if own {
		listener = m.listeners.names.label(t, listener)
		m.listeners.own.WithLabelValues(label, listener, outcome).Inc()
	}
	if !made {
		return
	}
	now := float64(time.Now().UnixMilli()) / 1000
	m.listeners.success.WithLabelValues("", "").Set(now)
	if own {
		m.listeners.success.WithLabelValues(label, listener).Set(now)
	}
}

// ListenerStanding is what a listener has not dealt with yet, and how old the oldest event of
// that is.
type ListenerStanding struct {
	Context  domain.TenantID
	Listener string
	Behind   uint64
	Oldest   time.Duration
}

// listeners shows how far listeners are behind: all of them together, and each of the contexts
// with series of their own. Where some could not be looked at, that the others are not behind is
// not shown as a zero of all: it would end an alert just when nothing is read.
func (s *shown) listeners(is *Standing, gauge func(d *prometheus.Desc, v float64, labels ...string)) {
	o := &s.of
	behind, oldest := uint64(0), time.Duration(0)
	for _, l := range is.Listeners {
		behind, oldest = behind+l.Behind, max(oldest, l.Oldest)
		if label, own := s.own(l.Context); own {
			gauge(o.ownEvents, float64(l.Behind), label, l.Listener)
			gauge(o.ownLag, l.Oldest.Seconds(), label, l.Listener)
		}
	}
	gauge(o.unknown, float64(is.ListenersUnknown))
	if is.ListenersMissed && behind == 0 {
		return
	}
	gauge(o.events, float64(behind))
	gauge(o.eventLag, oldest.Seconds())
}
