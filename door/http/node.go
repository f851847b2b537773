package http

import (
	nethttp "net/http"

	"github.com/ramet-run/ramet/domain"
)

// health is the answer of /health and /ready.
type health struct {
	Status string `json:"status"`
}

// mountNode puts the paths of the node itself into the mux.
func (d *Door) mountNode() {
	d.mux.HandleFunc("GET /health", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		d.writeJSON(w, nethttp.StatusOK, health{"ok"})
	})
	d.mux.HandleFunc("GET /ready", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if d.cfg.Ready != nil && !d.cfg.Ready() {
			d.fail(w, r, domain.Unavailablef("the node is draining"))
			return
		}
		d.writeJSON(w, nethttp.StatusOK, health{"ready"})
	})
	d.mux.HandleFunc("GET /info", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		d.writeJSON(w, nethttp.StatusOK, d.api.Info())
	})
	if d.cfg.Metrics != nil {
		d.mux.HandleFunc("GET /metrics", d.metrics)
	}
}

// metrics shows the numbers to whoever has a token, because they name contexts.
func (d *Door) metrics(w nethttp.ResponseWriter, r *nethttp.Request) {
	if !d.cfg.OpenMetrics {
		if _, err := d.authenticate(r); err != nil {
			d.fail(w, r, err)
			return
		}
	}
	d.cfg.Metrics.ServeHTTP(w, r)
}
