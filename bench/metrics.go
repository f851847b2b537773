package main

import (
	"io"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board/meteredboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/telemetry"
	"github.com/ramet-run/ramet/work"
)

// This file measures what metrics cost: the same drain with and without them, in turn on
// one board.

// metricRounds is how often both are measured; the one in the middle counts.
const metricRounds = 8

// metered counts as a node does, and tells the rig too.
type metered struct {
	*telemetry.Metrics
	rig *rig
}

func (m metered) AttemptEnded(tenant domain.TenantID, t domain.ScriptType, status domain.JobStatus, reason domain.Reason, took time.Duration) {
	m.Metrics.AttemptEnded(tenant, t, status, reason, took)
	m.rig.AttemptEnded(tenant, t, status, reason, took)
}

// metricsCost drains the backlog in parts, half of them with metrics and a scrape every
// second: now the one comes first and now the other, as a board gets larger meanwhile.
func metricsCost(r *rig) figures {
	metrics := telemetry.NewMetrics()
	plain, board := r.engine, r.board
	with := work.New(meteredboard.New(board, metrics), work.Config{DataDir: r.dir, Observer: metered{metrics, r}})
	n := *jobs / metricRounds
	var costs [2][]float64
	ended := 0
	for i := range 2 * metricRounds {
		r.fill(n, *contexts)
		done := make(chan struct{})
		which := (i + i/2) % 2
		if r.engine, r.board = plain, board; which == 1 {
			r.engine, r.board = with, meteredboard.New(board, metrics)
			go scrapes(metrics, done)
		}
		cpu := selfCPU() + r.serverCPU()
		r.run()
		ended += n
		r.waitEnded(ended)
		costs[which] = append(costs[which], (selfCPU()+r.serverCPU()-cpu)*1e6/float64(n))
		close(done)
		r.stop()
	}
	r.engine, r.board = plain, board
	without, counted := median(costs[0]), median(costs[1])
	return figures{"jobs": n, "plain_cpu_us_per_job": round(without), "metered_cpu_us_per_job": round(counted),
		"more_percent": round((counted/without - 1) * 100)}
}

// scrapes reads the metrics every second.
func scrapes(m *telemetry.Metrics, done <-chan struct{}) {
	for {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		_, _ = io.Copy(io.Discard, w.Body)
		select {
		case <-time.After(time.Second):
		case <-done:
			return
		}
	}
}

// median is the figure in the middle.
func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}
