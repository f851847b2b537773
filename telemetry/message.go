package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ramet-run/ramet/domain"
)

// messageMetrics are those of messages.
type messageMetrics struct {
	sent     *prometheus.CounterVec
	received *prometheus.CounterVec
	refused  *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func (m *messageMetrics) register(r *prometheus.Registry) {
	m.sent = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ramet_messages_sent_total",
		Help: "Messages that were handed to a bus, or to another context of the board, each once."}, []string{"message_type"})
	m.received = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ramet_messages_received_total",
		Help: "Messages that were taken in."}, []string{"message_type"})
	m.refused = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ramet_messages_refused_total",
		Help: "Messages and parcels that were not taken in, by cause (replayed: it was there already)."}, []string{"cause"})
	m.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ramet_message_duration_seconds",
		Help: "Time from a message's making to its end, at its sender.", Buckets: prometheus.ExponentialBuckets(0.004, 4, 11)}, []string{"message_type", "status"})
	r.MustRegister(m.sent, m.received, m.refused, m.seconds)
}

// MessageSent counts a message that left.
func (m *Metrics) MessageSent(t domain.MessageType) {
	m.messages.sent.WithLabelValues(string(t)).Inc()
}

// MessageReceived counts a message that was taken in.
func (m *Metrics) MessageReceived(t domain.MessageType) {
	m.messages.received.WithLabelValues(string(t)).Inc()
}

// MessageRefused counts what was not taken.
func (m *Metrics) MessageRefused(cause string) { m.messages.refused.WithLabelValues(cause).Inc() }

// MessageEnded observes the end of a message, where it is known how long it took.
func (m *Metrics) MessageEnded(t domain.MessageType, s domain.MessageStatus, took time.Duration) {
	if took > 0 {
		m.messages.seconds.WithLabelValues(string(t), string(s)).Observe(took.Seconds())
	}
}
