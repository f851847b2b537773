package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/tracing"
	"github.com/ramet-run/ramet/tracing/otlptracing"
	"github.com/ramet-run/ramet/work"
)

// This file measures what spans cost: the same drain with no job in a trace, with one of a
// hundred, and with all, in turn on one board. The collector is a server of this process that
// reads and throws away, and is in the figures.

// traceRounds is how often each is measured; the one in the middle counts.
const traceRounds = 6

// traceEach are the kinds of drain: of how many jobs one is in a trace; 0: none.
var traceEach = []int{0, 100, 1}

func tracesCost(r *rig) figures {
	var sent atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		n, _ := io.Copy(io.Discard, q.Body)
		sent.Add(n)
	}))
	defer collector.Close()
	out, err := otlptracing.Open(context.Background(), otlptracing.Config{Endpoint: collector.URL, Node: "bench", Logger: slog.New(slog.DiscardHandler)})
	check(err)
	r.fill(0, 1)
	before := r.engine
	plain, with := work.Config{DataDir: r.dir, Observer: r}, work.Config{DataDir: r.dir, Observer: r, Tracer: tracing.New(out.Take, 1)}
	engines := [2]*work.Engine{work.New(r.board, plain), work.New(r.board, with)}
	n := *jobs / traceRounds
	costs := make([][]float64, len(traceEach))
	ended := 0
	for i := range traceRounds * len(traceEach) {
		which := (i + i/len(traceEach)) % len(traceEach)
		if r.engine = engines[1]; traceEach[which] == 0 {
			r.engine = engines[0]
		}
		r.fillTraced(n, traceEach[which])
		cpu := selfCPU() + r.serverCPU()
		r.run()
		ended += n
		r.waitEnded(ended)
		costs[which] = append(costs[which], (selfCPU()+r.serverCPU()-cpu)*1e6/float64(n))
		r.stop()
	}
	r.engine = before
	check(out.Close())
	none, hundredth, all := median(costs[0]), median(costs[1]), median(costs[2])
	return figures{"jobs": n, "plain_cpu_us_per_job": round(none), "hundredth_cpu_us_per_job": round(hundredth), "all_cpu_us_per_job": round(all),
		"hundredth_more_percent": round((hundredth/none - 1) * 100), "all_more_percent": round((all/none - 1) * 100), "sent_bytes": sent.Load()}
}

// fillTraced queues n jobs, of which each of so many belongs to a trace; 0: none does.
func (r *rig) fillTraced(n, each int) {
	trace := strings.Repeat("0123456789abcdef", 2)
	for made := 0; made < n; made += 1000 {
		list := noopJobs(min(1000, n-made))
		for i, j := range list {
			if each > 0 && i%each == 0 {
				j.TraceID = trace
			}
		}
		r.submit(domain.TenantID(1), list)
	}
}
