package telemetry

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Kind is what can be done with a metric.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Metric describes one metric. What is registered, the reference page and the tests of
// alert rules and dashboards are made of it.
type Metric struct {
	Name string
	Kind Kind
	// Help says what it counts.
	Help string
	// Do says what somebody does who sees it move.
	Do string
	// Labels are the names of its labels.
	Labels []string
	// Board says that it is of the whole board, so that each node shows the same: nodes
	// are not added up.
	Board bool
	// buckets are the upper bounds of a histogram's.
	buckets []float64
}

// Series are the names under which Prometheus stores it.
func (m *Metric) Series() []string {
	if m.Kind == Histogram {
		return []string{m.Name + "_bucket", m.Name + "_sum", m.Name + "_count"}
	}
	return []string{m.Name}
}

// registrar makes metrics of their descriptions and remembers these.
type registrar struct {
	*prometheus.Registry
	all []Metric
}

// describe notes a metric whose values come from elsewhere.
func (r *registrar) describe(m Metric) *prometheus.Desc {
	r.all = append(r.all, m)
	return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
}

func (r *registrar) counter(m Metric) *prometheus.CounterVec {
	m.Kind = Counter
	r.all = append(r.all, m)
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
	r.MustRegister(v)
	return v
}

func (r *registrar) gauge(m Metric) *prometheus.GaugeVec {
	m.Kind = Gauge
	r.all = append(r.all, m)
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Labels)
	r.MustRegister(v)
	return v
}

func (r *registrar) histogram(m Metric) *prometheus.HistogramVec {
	m.Kind = Histogram
	if m.buckets == nil {
		m.buckets = seconds
	}
	r.all = append(r.all, m)
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: m.buckets}, m.Labels)
	r.MustRegister(v)
	return v
}

// The buckets of histograms.
var (
	// seconds go from a millisecond to 17 minutes.
	seconds = prometheus.ExponentialBuckets(0.001, 4, 11)
	// longSeconds go to 18 hours.
	longSeconds = prometheus.ExponentialBuckets(0.001, 4, 14)
	// commitSeconds are of what a disk or a network takes.
	commitSeconds = prometheus.ExponentialBuckets(0.0001, 3, 11)
)

// All describes every metric that there may be, by name, without those of the Go
// runtime and the process.
func (m *Metrics) All() []Metric {
	return slices.SortedFunc(slices.Values(m.registered), func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
}
