package telemetry

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requestMetrics are those of the HTTP door and the Redis door.
type requestMetrics struct {
	http                     *prometheus.CounterVec
	httpSeconds, respSeconds *prometheus.HistogramVec
}

func (m *requestMetrics) register(r *registrar) {
	m.http = r.counter(Metric{Name: "ramet_http_requests_total",
		Help:   "Requests, by operation (as job.submit; other: the node's own paths, pages, what there is not) and status.",
		Labels: []string{"operation", "code"}, Do: "5xx is ours: the log has the request's id. 401, 403 and 429 are the caller's; the audit log names who."})
	m.httpSeconds = r.histogram(Metric{Name: "ramet_http_request_duration_seconds", Help: "Time until a request was answered; of streams, until they ended.",
		Labels: []string{"operation"}, buckets: prometheus.ExponentialBuckets(0.001, 5, 8),
		Do: "Of what changes something it is mostly the board's commit. job.wait, events and streams are long by nature."})
	m.respSeconds = r.histogram(Metric{Name: "ramet_resp_round_duration_seconds",
		Help: "Time of the commands that a client of the Redis door sent together, with the commit of what they wrote; waited: one of them " +
			"waited for something to come.",
		Labels: []string{"waited"}, buckets: commitSeconds, Do: "Of writes it is the board's commit."})
}

// HTTPAnswered observes a request that was answered.
func (m *Metrics) HTTPAnswered(operation string, status int, took time.Duration) {
	if operation == "" {
		operation = "other"
	}
	m.requests.http.WithLabelValues(operation, strconv.Itoa(status)).Inc()
	m.requests.httpSeconds.WithLabelValues(operation).Observe(took.Seconds())
}

// RESPAnswered observes commands of the Redis door that were answered together.
func (m *Metrics) RESPAnswered(took time.Duration, waited bool) {
	m.requests.respSeconds.WithLabelValues(strconv.FormatBool(waited)).Observe(took.Seconds())
}

// CountRESP shows how many commands the Redis door had, by name, and how many answers were
// errors.
func (m *Metrics) CountRESP(counts func() (by map[string]int64, failed int64)) { m.shown.resp = counts }
