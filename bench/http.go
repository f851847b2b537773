package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/worker"
)

// httpConnections is how many connections ask at once, each one thing after the other.
const httpConnections = 64

// httpRate measures single submits and reads of one job over HTTP on the loopback, beside
// a node and, for comparison, a server of net/http that answers every request as the node
// answers a read. The client writes the same bytes each time, and costs little.
func httpRate(r *rig) figures {
	node := r.serve(strings.Split(*ramet, ",")[0])
	check(node.client.RegisterWork(context.Background(), 1, workerType))
	job, err := json.Marshal(api.JobInput{Job: domain.Job{Script: "{}", ScriptType: workerType}})
	check(err)
	submit := request(http.MethodPost, "/v1/contexts/1/jobs", node.token, job)
	read := request(http.MethodGet, "/v1/contexts/1/jobs/1/1", node.token, nil)

	f := figures{"requests": *jobs}
	measure := func(name, addr string, request []byte, other func() float64) (answer []byte) {
		own, others := selfCPU(), other()
		took, answer := ask(addr, request, *jobs)
		own, others = selfCPU()-own, other()-others
		f[name+"_per_s"], f[name+"_cpu_us"] = perSecond(*jobs, took), round((own+others)*1e6/float64(*jobs))
		if others > 0 {
			f[name+"_node_cpu_us"] = round(others * 1e6 / float64(*jobs))
		}
		return answer
	}
	ofNode := func() float64 { return processCPU(node.process.Process.Pid) }
	measure("submit", node.addr, submit, ofNode)
	answer := measure("read", node.addr, read, ofNode)

	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	measure("bare", bare.Listener.Addr().String(), read, func() float64 { return 0 })
	bare.Close()
	node.end()
	return f
}

// request is one as it goes over the wire.
func request(method, path, token string, body []byte) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, token, len(body), body)
}

// ask makes n requests over all connections, and returns the body of an answer. Each must be
// one of success.
func ask(addr string, request []byte, n int) (took time.Duration, answer []byte) {
	var left atomic.Int64
	left.Store(int64(n))
	answers := make([][]byte, httpConnections)
	var all sync.WaitGroup
	begun := time.Now()
	for i := range httpConnections {
		all.Go(func() {
			c, err := net.Dial("tcp", addr)
			check(err)
			defer c.Close()
			in := bufio.NewReader(c)
			for left.Add(-1) >= 0 {
				_, err := c.Write(request)
				check(err)
				answers[i], err = readAnswer(in, answers[i])
				check(err)
			}
		})
	}
	all.Wait()
	return time.Since(begun), slices.MaxFunc(answers, func(a, b []byte) int { return len(a) - len(b) })
}

// readAnswer reads one answer into a buffer.
func readAnswer(in *bufio.Reader, buffer []byte) ([]byte, error) {
	size := 0
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if first && !strings.HasPrefix(string(line), "HTTP/1.1 2") {
			return nil, fmt.Errorf("the node answers %s", line)
		}
		if len(line) == 2 {
			break
		}
		if value, is := strings.CutPrefix(string(line), "Content-Length: "); is {
			if size, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return nil, err
			}
		}
	}
	buffer = slices.Grow(buffer[:0], size)[:size]
	_, err := io.ReadFull(in, buffer)
	return buffer, err
}

// workerLatency measures how long it takes from the submit of a job until an idle worker
// begins it, over HTTP on the loopback: two requests, one of which waits. Beside it stand
// what no such submit can do without, measured after the same pauses: a request to a server
// of net/http that does nothing, and what a bare store writes of a job.
func workerLatency(r *rig) figures {
	node := r.serve(strings.Split(*ramet, ",")[0])
	c := node.client
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	check(c.RegisterWork(ctx, 1, workerType))
	begun := make(chan time.Time, 1)
	w := worker.New(c, worker.Config{Context: 1, Logger: slog.New(slog.DiscardHandler)})
	w.Handler(workerType, func(context.Context, *worker.Job) (map[string]string, error) {
		begun <- time.Now()
		return nil, nil
	})
	var ended sync.WaitGroup
	ended.Go(func() { check(w.Run(ctx)) })
	bare := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer bare.Close()
	store := r.bareStore()
	defer store.close()
	var starts, submits, requests, writes []time.Duration
	for i := range latencyJobs + 10 {
		time.Sleep(20 * time.Millisecond)
		asked := time.Now()
		_, err := c.SubmitJob(ctx, 1, domain.Job{Script: "{}", ScriptType: workerType})
		check(err)
		answered := time.Now()
		started := <-begun
		request := afterPause(func() {
			resp, err := http.Get(bare.URL)
			check(err)
			check(resp.Body.Close())
		})
		write := afterPause(func() { store.submit(i, i+1) })
		if i >= 10 { // the first warm up
			starts, submits = append(starts, started.Sub(asked)), append(submits, answered.Sub(asked))
			requests, writes = append(requests, request), append(writes, write)
		}
	}
	stop()
	ended.Wait()
	node.end()
	for _, all := range [][]time.Duration{starts, submits, requests, writes} {
		slices.Sort(all)
	}
	return figures{"start_p50_ms": millis(percentile(starts, .5)), "start_p99_ms": millis(percentile(starts, .99)),
		"submit_p50_ms": millis(percentile(submits, .5)), "submit_p99_ms": millis(percentile(submits, .99)),
		"bare_request_p50_ms": millis(percentile(requests, .5)), "bare_write_p50_ms": millis(percentile(writes, .5))}
}

// afterPause is how long something takes in a process that has had nothing to do.
func afterPause(do func()) time.Duration {
	time.Sleep(20 * time.Millisecond)
	begun := time.Now()
	do()
	return time.Since(begun)
}
