package pebbleboard_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
)

// These benchmarks do a fixed amount of work, so they are run with
// -benchtime=1x (or 3x): go test -run=^$ -bench=. -benchtime=3x ./board/pebbleboard
// RAMET_BENCH_DIR says where the folder lies. Every commit is synced.

const queueName = "queue:noop"

func benchBoard(b *testing.B) *pebbleboard.Board {
	b.Helper()
	dir, err := os.MkdirTemp(cmp.Or(os.Getenv("RAMET_BENCH_DIR"), "."), "bench.")
	if err != nil {
		b.Fatal(err)
	}
	bd, err := pebbleboard.Open(dir, pebbleboard.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := bd.Close(); err != nil {
			b.Error(err)
		}
		os.RemoveAll(dir)
	})
	return bd
}

var script = strings.Repeat("print('0123456789abcdefghijklmnopqrstuvwxyz') ", 3)

// submit is a job's first commit: 16 fields, about 350 bytes.
func submit(space board.Space, id int) board.Batch {
	n := strconv.Itoa(id)
	key := "job:12:" + n
	batch := board.Batch{Space: space}
	batch.Absent(key).Set(key,
		board.Field{Name: "id", Value: n}, board.Field{Name: "caller_id", Value: "12"}, board.Field{Name: "context_id", Value: "1"},
		board.Field{Name: "script", Value: script}, board.Field{Name: "script_type", Value: "rhai"}, board.Field{Name: "timeout", Value: "3600"},
		board.Field{Name: "retries", Value: "3"}, board.Field{Name: "env_vars", Value: `{"A":"1"}`}, board.Field{Name: "result", Value: "{}"},
		board.Field{Name: "prerequisites", Value: "[]"}, board.Field{Name: "dependends", Value: "[]"}, board.Field{Name: "created_at", Value: "1795000000"},
		board.Field{Name: "updated_at", Value: "1795000000"}, board.Field{Name: "status", Value: "dispatched"},
		board.Field{Name: "queued_ms", Value: "1795000000123"}, board.Field{Name: "origin", Value: "here"},
	).Live(key, time.UnixMilli(1795000000123+int64(id/100))).PushLeft(queueName, key)
	return batch
}

// finish is a job's last commit.
func finish(c board.Claimed) board.Batch {
	batch := board.Batch{Space: c.Space}
	batch.Held(c.Item, "node-1", c.Token).Equal(c.Item, "status", "started").Set(c.Item,
		board.Field{Name: "status", Value: "finished"}, board.Field{Name: "result", Value: `{"exit_code":"0"}`}, board.Field{Name: "exit_code", Value: "0"},
		board.Field{Name: "finished_ms", Value: "1795000000456"}, board.Field{Name: "updated_at", Value: "1795000001"}, board.Field{Name: "reason", Value: ""},
	).Release(c.Item).Settle(c.Item).PushLeft("ramet:finished", c.Item)
	return batch
}

func benchAsk(n int, wait time.Duration) board.Ask {
	return board.Ask{
		Queues: []board.Queue{{Lists: []string{queueName}}}, Max: n, Owner: "node-1", Lease: 30 * time.Second, Wait: wait,
		Mark: []board.Field{
			{Name: "status", Value: "started"}, {Name: "started_ms", Value: "1795000000300"}, {Name: "runner_id", Value: "7"},
			{Name: "updated_at", Value: "1795000000"}, {Name: "node", Value: "node-1"}, {Name: "trace_id", Value: "00000000000000000000000000000000"},
		},
		Skip: board.Match{Field: "status", Values: []string{"finished", "error"}},
	}
}

func checkAll(b *testing.B, errs []error) {
	for _, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
	}
}

// fill submits jobs from first on, in turn to spaces 1 to spaces.
func fill(b *testing.B, bd board.Board, first, n, spaces int) {
	batches := make([]board.Batch, 0, 1000)
	for i := range n {
		batches = append(batches, submit(board.Space(i%spaces+1), first+i))
		if len(batches) == cap(batches) || i == n-1 {
			checkAll(b, bd.CommitEach(b.Context(), batches))
			batches = batches[:0]
		}
	}
}

// drain claims and finishes n jobs with some workers.
func drain(b *testing.B, bd board.Board, n, workers int) {
	var done atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			batches := make([]board.Batch, 0, 256)
			for done.Load() < int64(n) {
				got, err := bd.Claim(b.Context(), benchAsk(256, 0))
				if err != nil {
					b.Error(err)
					return
				}
				if len(got) == 0 && done.Load() < int64(n) {
					return
				}
				batches = batches[:0]
				for _, c := range got {
					batches = append(batches, finish(c))
				}
				for _, err := range bd.CommitEach(b.Context(), batches) {
					if err != nil {
						b.Error(err)
						return
					}
				}
				done.Add(int64(len(got)))
			}
		})
	}
	wg.Wait()
}

// cpu is the time all threads have used, which other programs disturb less
// than the time on the clock.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func rate(b *testing.B, jobs int, took time.Duration) {
	b.ReportMetric(float64(jobs)/took.Seconds(), "jobs/s")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkSubmit1000(b *testing.B) {
	for _, callers := range []int{1, 2} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			bd := benchBoard(b)
			const n = 200_000
			start, before, next := time.Now(), cpu(), 0
			for b.Loop() {
				var wg sync.WaitGroup
				for range callers {
					first := next
					next += n / callers
					wg.Go(func() { fill(b, bd, first, n/callers, 1) })
				}
				wg.Wait()
			}
			rate(b, next, time.Since(start))
			b.ReportMetric(float64((cpu()-before).Nanoseconds())/1000/float64(next), "cpu-us/job")
		})
	}
}

func BenchmarkDrain(b *testing.B) {
	for _, c := range []struct{ jobs, spaces, workers int }{
		{1000, 1, 1}, {100_000, 1, 1}, {100_000, 1, 2}, {100_000, 1, 4}, {100_000, 1000, 2},
	} {
		b.Run(fmt.Sprintf("jobs=%d/spaces=%d/workers=%d", c.jobs, c.spaces, c.workers), func(b *testing.B) {
			bd := benchBoard(b)
			var took, used time.Duration
			n := 0
			for b.Loop() {
				for part := 0; part < max(1, 20_000/c.jobs); part++ {
					fill(b, bd, n, c.jobs, c.spaces)
					n += c.jobs
					start, before := time.Now(), cpu()
					drain(b, bd, c.jobs, c.workers)
					took, used = took+time.Since(start), used+cpu()-before
				}
			}
			rate(b, n, took)
			b.ReportMetric(float64(used.Nanoseconds())/1000/float64(n), "cpu-us/job")
		})
	}
}

// BenchmarkCycle is submit, claim, finish by callers that wait for each answer.
func BenchmarkCycle(b *testing.B) {
	for _, c := range []struct{ callers, batch, backlog int }{{1, 1, 0}, {64, 1, 0}, {64, 50, 0}, {64, 1, 300_000}} {
		b.Run(fmt.Sprintf("callers=%d/batch=%d/backlog=%d", c.callers, c.batch, c.backlog), func(b *testing.B) {
			bd := benchBoard(b)
			fill(b, bd, 0, c.backlog, 1)
			var ids, done atomic.Int64
			ids.Store(int64(c.backlog))
			var took time.Duration
			for b.Loop() {
				start := time.Now()
				var wg sync.WaitGroup
				for range c.callers {
					wg.Go(func() {
						for time.Since(start) < 2*time.Second {
							cycle(b, bd, c.batch, &ids, &done)
						}
					})
				}
				wg.Wait()
				took += time.Since(start)
			}
			rate(b, int(done.Load()), took)
		})
	}
}

func cycle(b *testing.B, bd board.Board, n int, ids, done *atomic.Int64) {
	batches := make([]board.Batch, n)
	first := int(ids.Add(int64(n))) - n
	for i := range batches {
		batches[i] = submit(1, first+i)
	}
	check := func(errs []error) {
		for _, err := range errs {
			if err != nil {
				b.Error(err)
			}
		}
	}
	check(bd.CommitEach(b.Context(), batches))
	got, err := bd.Claim(b.Context(), benchAsk(n, time.Second))
	if err != nil {
		b.Error(err)
	}
	batches = batches[:0]
	for _, c := range got {
		batches = append(batches, finish(c))
	}
	check(bd.CommitEach(b.Context(), batches))
	done.Add(int64(len(got)))
}

// BenchmarkIdle is one caller on an idle board: how long a commit takes, and
// how long until a waiting claim has what was committed.
func BenchmarkIdle(b *testing.B) {
	bd := benchBoard(b)
	ctx, cancel := context.WithCancel(b.Context())
	type woken struct {
		at time.Time
		c  board.Claimed
	}
	jobs := make(chan woken)
	go func() {
		defer close(jobs)
		for {
			got, err := bd.Claim(ctx, benchAsk(1, time.Minute))
			if err != nil {
				return
			}
			jobs <- woken{time.Now(), got[0]}
		}
	}()
	var commits, wakes []time.Duration
	for id := 0; b.Loop(); {
		for range 2000 {
			batch := submit(1, id)
			id++
			start := time.Now()
			var at time.Time
			ch := make(chan woken, 1)
			go func() { ch <- <-jobs }()
			if err := bd.Commit(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
			at = time.Now()
			w := <-ch
			commits, wakes = append(commits, at.Sub(start)), append(wakes, w.at.Sub(start))
			if err := bd.Commit(b.Context(), finish(w.c)); err != nil {
				b.Fatal(err)
			}
		}
	}
	cancel()
	for range jobs {
	}
	p := func(ds []time.Duration, q float64) float64 {
		slices.Sort(ds)
		return float64(ds[int(float64(len(ds)-1)*q)].Microseconds())
	}
	b.ReportMetric(p(commits, .5), "commit-p50-us")
	b.ReportMetric(p(commits, .99), "commit-p99-us")
	b.ReportMetric(p(wakes, .5), "claim-woken-p50-us")
	b.ReportMetric(p(wakes, .99), "claim-woken-p99-us")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkMillion queues a million jobs and drains them: memory, and the
// cost of a job beside that of a short queue (BenchmarkDrain).
func BenchmarkMillion(b *testing.B) {
	for _, spaces := range []int{1, 1000} {
		b.Run(fmt.Sprintf("spaces=%d", spaces), func(b *testing.B) {
			bd := benchBoard(b)
			const n = 1_000_000
			for b.Loop() {
				start := time.Now()
				fill(b, bd, 0, n, spaces)
				b.ReportMetric(n/time.Since(start).Seconds(), "submits/s")
				b.ReportMetric(float64(memory("VmRSS")), "queued-rss-MB")
				start = time.Now()
				drain(b, bd, n, 2)
				rate(b, n, time.Since(start))
				b.ReportMetric(float64(memory("VmHWM")), "peak-rss-MB")
			}
		})
	}
}

// memory reads a line of /proc/self/status, in MB.
func memory(line string) int {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), line+":")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kb, _ := strconv.Atoi(fields[0])
	return kb / 1024
}
