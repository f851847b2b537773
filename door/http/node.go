package http

import (
	"bytes"
	"cmp"
	"crypto/subtle"
	nethttp "net/http"
	"os"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/docs"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/service"
)

// health is the answer of /health and /ready: a word. They are for everybody, and
// what the node stands on, and what of that is away, is not.
type health struct {
	Status string `json:"status"`
}

// health says whether what the node stands on is there.
func (d *Door) health(w nethttp.ResponseWriter, r *nethttp.Request) {
	h := d.stands(r)
	if h.Away() {
		d.writeJSON(w, r, nethttp.StatusServiceUnavailable, health{"unavailable"})
		return
	}
	d.writeJSON(w, r, nethttp.StatusOK, health{cmp.Or(noIntake(h), "ok")})
}

// ready says whether requests should be sent to the node.
func (d *Door) ready(w nethttp.ResponseWriter, r *nethttp.Request) {
	switch h := d.stands(r); {
	case h.Stopping:
		d.writeJSON(w, r, nethttp.StatusServiceUnavailable, health{"draining"})
	case !h.Ready():
		d.writeJSON(w, r, nethttp.StatusServiceUnavailable, health{"unavailable"})
	default:
		d.writeJSON(w, r, nethttp.StatusOK, health{cmp.Or(noIntake(h), "ready")})
	}
}

// noIntake is the word for a node whose disk is nearly full. It is no reason to send it
// no requests, or to start it anew: workers must be able to end what they have.
func noIntake(h service.Health) string {
	if h.Disk != "" {
		return "no intake"
	}
	return ""
}

// stands says how the node stands. What is away, and why, is for the log.
func (d *Door) stands(r *nethttp.Request) service.Health {
	h := d.api.Health(r.Context())
	if h.Away() {
		d.log.Warn("health: something that the node stands on is unavailable", "board", h.Board, "streams", h.Streams)
	}
	return h
}

// info tells a caller what it may know, and whoever has no token what everybody
// may.
func (d *Door) info(w nethttp.ResponseWriter, r *nethttp.Request) {
	who, err := d.identify(r)
	if err != nil {
		d.writeJSON(w, r, nethttp.StatusOK, d.api.Info())
		return
	}
	i, err := service.Named("node.info").Call(r.Context(), d.api.For(who, nil), &api.NodeInfoParams{})
	if err != nil {
		d.fail(w, r, err)
		return
	}
	d.writeJSON(w, r, nethttp.StatusOK, i)
}

// mountNode puts the paths of the node itself into the mux.
func (d *Door) mountNode() {
	d.handle(nethttp.MethodGet, "/health", d.health)
	d.handle(nethttp.MethodGet, "/ready", d.ready)
	d.handle(nethttp.MethodGet, "/info", d.info)
	d.handle(nethttp.MethodPost, hookPath, d.hook)
	d.handle(nethttp.MethodGet, Description, d.kept(mediaJSON, docs.OpenAPI))
	d.handle(nethttp.MethodGet, Reference, d.kept("text/html; charset=utf-8", docs.Reference))
	if d.cfg.Metrics != nil {
		d.handle(nethttp.MethodGet, "/metrics", d.metrics)
	}
}

// metrics shows the numbers, which name contexts, to the operator and to whoever
// has the token of the file for that.
func (d *Door) metrics(w nethttp.ResponseWriter, r *nethttp.Request) {
	who, err := d.scraper(r)
	if err == nil {
		err = d.api.For(who, nil).MayScrape(r.Context())
	}
	if err != nil {
		d.fail(w, r, err)
		return
	}
	d.cfg.Metrics.ServeHTTP(w, r)
}

// minMetricsToken and maxMetricsToken bound the token of the file, in bytes.
const (
	minMetricsToken = 16
	maxMetricsToken = 4 << 10
)

// CheckMetricsToken looks at the file of [Config.MetricsToken] before a node
// starts; "" is none.
//
// Errors: those of [domain.FileErrorf]; [domain.ErrInvalid] for one that is too
// short to be a secret.
func CheckMetricsToken(path string) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return domain.FileErrorf(err, "metrics_token_file %q: %v", path, err)
	}
	if n := len(bytes.TrimSpace(text)); n < minMetricsToken || n > maxMetricsToken {
		return domain.Invalidf("metrics_token_file %q: has a token of %d bytes, want %d to %d; `head -c 24 /dev/urandom | base64` makes one",
			path, n, minMetricsToken, maxMetricsToken)
	}
	return nil
}

// scraper is identify that also takes the token of the file, which stands for
// one of the operator's that is narrowed to the metrics. The file is read each
// time: who changes or removes it has revoked the token.
func (d *Door) scraper(r *nethttp.Request) (identity.Proof, error) {
	if d.cfg.MetricsToken == "" {
		return d.identify(r)
	}
	_, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	text, err := os.ReadFile(d.cfg.MetricsToken)
	if err != nil {
		d.log.Error("the token for metrics cannot be read", "err", err)
		return d.identify(r)
	}
	want := bytes.TrimSpace(text)
	if len(want) < minMetricsToken || len(want) > maxMetricsToken || subtle.ConstantTimeCompare([]byte(strings.TrimSpace(given)), want) != 1 {
		return d.identify(r)
	}
	return identity.Proof{Actor: domain.Operator, Name: "metrics",
		Scope: &domain.Scope{ReadOnly: true, Groups: []string{api.GroupMetrics}}}, nil
}
