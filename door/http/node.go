package http

import (
	"context"
	nethttp "net/http"
	"sync"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// health is the answer of /health and /ready.
type health struct {
	Status string `json:"status"`
	// Checks are "ok" or "unavailable", by what was looked at.
	Checks map[string]string `json:"checks,omitzero"`
}

// healthTime bounds how long /health looks.
const healthTime = 5 * time.Second

// health looks at what the node stands on. Why something is not there is for
// the log: the answer is for everybody.
func (d *Door) health(w nethttp.ResponseWriter, r *nethttp.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTime)
	defer cancel()
	answer, status := health{Status: "ok", Checks: map[string]string{}}, nethttp.StatusOK
	var mu sync.Mutex
	var all sync.WaitGroup
	for name, check := range d.cfg.Checks {
		all.Go(func() {
			err := check(ctx)
			mu.Lock()
			defer mu.Unlock()
			answer.Checks[name] = "ok"
			if err != nil {
				d.log.Warn("health: "+name+" is unavailable", "err", err)
				answer.Checks[name], answer.Status, status = "unavailable", "unavailable", nethttp.StatusServiceUnavailable
			}
		})
	}
	all.Wait()
	d.writeJSON(w, status, answer)
}

// info tells a caller what it may know, and whoever has no token what everybody
// may.
func (d *Door) info(w nethttp.ResponseWriter, r *nethttp.Request) {
	actor, err := d.authenticate(r)
	if err != nil {
		d.writeJSON(w, nethttp.StatusOK, d.api.Info())
		return
	}
	i, err := d.api.As(actor).NodeInfo(r.Context(), api.NodeInfoParams{})
	if err != nil {
		d.fail(w, r, err)
		return
	}
	d.writeJSON(w, nethttp.StatusOK, i)
}

// mountNode puts the paths of the node itself into the mux.
func (d *Door) mountNode() {
	d.mux.HandleFunc("GET /health", d.health)
	d.mux.HandleFunc("GET /ready", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if d.cfg.Ready != nil && !d.cfg.Ready() {
			d.fail(w, r, domain.Unavailablef("the node is draining"))
			return
		}
		d.writeJSON(w, nethttp.StatusOK, health{Status: "ready"})
	})
	d.mux.HandleFunc("GET /info", d.info)
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
