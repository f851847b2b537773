package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ramet-run/ramet/domain"
)

// webhookMetrics are those of what programs outside send. Who sends is a stranger until proven,
// so nothing of what is sent is a label: only names of webhooks that there are, of the contexts
// with series of their own.
type webhookMetrics struct {
	deliveries *prometheus.CounterVec
	own        *prometheus.CounterVec
	success    *prometheus.GaugeVec
	names      names
}

func (m *webhookMetrics) register(r *registrar) {
	m.names.most = domain.MaxWebhooksOf
	m.deliveries = r.counter(Metric{Name: "ramet_webhook_deliveries_total",
		Help: "Deliveries to webhooks that this node has answered, by what became of them: started (a flow), duplicate (its flow was there: the sender " +
			"tried again), ignored (`when` does not hold), unsigned (the signature is wrong), too_old (the time that is signed is too far away), unknown " +
			"(there is no such webhook), too_large, cut (the body did not come whole), too_often (more than `per_minute`), no_room, paused, locked (this " +
			"node cannot open the secret), failed (an expression does), refused (no blueprint, no right) and unavailable (the board is away).",
		Labels: []string{"outcome"},
		Do: "`ramet webhook list` says of which webhook the last delivery was refused, and `ramet webhook show` why. unsigned, too_old and unknown: " +
			"a sender has another secret, a wrong clock or a wrong address, or somebody tries."})
	m.own = r.counter(Metric{Name: "ramet_context_webhook_deliveries_total",
		Help:   "Deliveries to the webhooks of the contexts in `metrics_contexts`, by what became of them (as `ramet_webhook_deliveries_total`).",
		Labels: []string{"context", "webhook", "outcome"}, Do: "As `ramet_webhook_deliveries_total`."})
	m.success = r.gauge(Metric{Name: "ramet_webhook_last_success_timestamp_seconds",
		Help: "When this node last answered a delivery with a flow, in Unix seconds: of all webhooks (context and webhook are empty), and of each of " +
			"the contexts in `metrics_contexts`.",
		Labels: []string{"context", "webhook"}, Do: "Older on all nodes than the pause between two events of the sender: it sends no more, or is refused."})
}

// ExpectDeliveries shows outcomes at 0 from the start: a first one is a rise, too.
func (m *Metrics) ExpectDeliveries(outcomes ...string) {
	for _, o := range outcomes {
		m.webhooks.deliveries.WithLabelValues(o)
	}
}

// Delivered counts a delivery. webhook is "" where there is none of the name that was asked for.
// made says that a flow is there for it.
func (m *Metrics) Delivered(t domain.TenantID, webhook, outcome string, made bool) {
	m.webhooks.deliveries.WithLabelValues(outcome).Inc()
	label, own := m.context(t)
	if own = own && webhook != ""; own {
		webhook = m.webhooks.names.label(t, webhook)
		m.webhooks.own.WithLabelValues(label, webhook, outcome).Inc()
	}
	if !made {
		return
	}
	now := float64(time.Now().UnixMilli()) / 1000
	m.webhooks.success.WithLabelValues("", "").Set(now)
	if own {
		m.webhooks.success.WithLabelValues(label, webhook).Set(now)
	}
}

// otherName is the label of names beyond the bound.
const otherName = "other"

// names bound the names of a context's things that are labels: who deletes and makes them all
// day makes no series all day.
type names struct {
	most int

	mu   sync.Mutex
	seen map[domain.TenantID]map[string]bool
}

// label is the name, or [otherName] where the context has as many as it may have.
func (n *names) label(t domain.TenantID, name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	of := n.seen[t]
	if of == nil {
		of = map[string]bool{}
		if n.seen == nil {
			n.seen = map[domain.TenantID]map[string]bool{}
		}
		n.seen[t] = of
	}
	if !of[name] && len(of) >= n.most {
		return otherName
	}
	of[name] = true
	return name
}
