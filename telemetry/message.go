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

func (m *messageMetrics) register(r *registrar) {
	m.sent = r.counter(Metric{Name: "ramet_messages_sent_total", Help: "Messages that were handed to a bus, or to another context of the board, each once.",
		Labels: []string{"message_type"}, Do: "0 while `ramet_queue_waiting_items{queue=\"msg_out\"}` grows: no node has the duty of a supervisor, or no bus works."})
	m.received = r.counter(Metric{Name: "ramet_messages_received_total", Help: "Messages that were taken in.", Labels: []string{"message_type"},
		Do: "It tells how busy other sites keep this one."})
	m.refused = r.counter(Metric{Name: "ramet_messages_refused_total",
		Help: "Messages and parcels that were not taken in, by cause (replayed: it was there already).", Labels: []string{"cause"},
		Do: "The audit log names sender and cause. Replayed ones are harmless; all others are a fault of the sender's, or somebody who tries."})
	m.seconds = r.histogram(Metric{Name: "ramet_message_duration_seconds", Help: "Time from a message's making to its end, at its sender.",
		Labels: []string{"message_type", "status"}, buckets: prometheus.ExponentialBuckets(0.004, 4, 11), Do: "It has the way there, the work, and the way back."})
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
