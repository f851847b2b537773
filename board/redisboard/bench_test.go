package redisboard_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/internal/redistest"
)

// The figures of the hot path. b.N counts jobs:
//
//	go test -run - -bench . -benchtime 100000x ./board/redisboard
//	go test -run - -bench Wake -benchtime 2000x ./board/redisboard
//	go test -run - -bench Backlog -benchtime 1000000x ./board/redisboard

var fsyncs = []string{"everysec", "always"}

func serve(b *testing.B, fsync string, cfg redisboard.Config) (*redistest.Server, *redisboard.Board) {
	s := redistest.Start(b, "databases 1024", "appendonly yes", "appendfsync "+fsync, "auto-aof-rewrite-percentage 0")
	return s, open(b, s, cfg)
}

// submission is a batch that queues one job-like record: 16 fields, 350 bytes.
func submission(space board.Space, i int) *board.Batch {
	id := strconv.Itoa(i)
	key := "job:12:" + id
	f := func(name, value string) board.Field { return board.Field{Name: name, Value: value} }
	batch := &board.Batch{Space: space}
	return batch.Absent(key).Set(key,
		f("id", id), f("caller_id", "12"), f("context_id", "1"), f("script", "print('hello from a job that does nothing at all')"),
		f("script_type", "python"), f("timeout", "3600"), f("retries", "3"), f("env_vars", "{}"), f("result", "{}"),
		f("prerequisites", "[]"), f("dependends", "[]"), f("status", "dispatched"), f("created_at", "1763716000"),
		f("updated_at", "1763716000"), f("priority", "0"), f("queued_ms", "1763716000123"),
	).Live(key, time.UnixMilli(1763716000123+int64(i)/64)).PushLeft("queue:python", key)
}

func submitAll(b *testing.B, bd board.Board, spaces, n int) {
	b.Helper()
	var next atomic.Int64
	each(4, func() {
		for {
			first := int(next.Add(256)) - 256
			if first >= n {
				return
			}
			var batches []board.Batch
			for i := first; i < min(first+256, n); i++ {
				batches = append(batches, *submission(board.Space(1+i%spaces), i))
			}
			for _, err := range bd.CommitEach(b.Context(), batches) {
				if err != nil {
					b.Error(err)
				}
			}
		}
	})
}

func each(n int, f func()) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(f)
	}
	wg.Wait()
}

func askOf(most int, owner string) board.Ask {
	return board.Ask{
		Queues: []board.Queue{{Lists: []string{"queue:python"}}}, Max: most, Owner: owner, Lease: 30 * time.Second,
		Mark: []board.Field{
			{Name: "status", Value: "started"}, {Name: "runner_id", Value: "7"}, {Name: "started_ms", Value: "1763716001123"},
			{Name: "updated_at", Value: "1763716001"}, {Name: "reason", Value: ""}, {Name: "next_retry_ms", Value: "0"},
		},
		Skip: board.Match{Field: "status", Values: []string{"finished", "error"}},
	}
}

// finish ends a claimed job.
func finish(c *board.Claimed, owner string) *board.Batch {
	f := func(name, value string) board.Field { return board.Field{Name: name, Value: value} }
	batch := &board.Batch{Space: c.Space}
	return batch.Held(c.Item, owner, c.Token).Equal(c.Item, "status", "started").Set(c.Item,
		f("status", "finished"), f("finished_ms", "1763716002123"), f("updated_at", "1763716002"),
		f("result", `{"exit_code":"0"}`), f("exit_code", "0"), f("losses", "0"),
	).Release(c.Item).Settle(c.Item).PushLeft("ramet:finished", c.Item)
}

// drain claims and finishes n jobs by some workers, each up to 256 at a time.
func drain(b *testing.B, bd board.Board, workers, n int) {
	b.Helper()
	var done, worker atomic.Int64
	each(workers, func() {
		owner := "node-1/" + strconv.FormatInt(worker.Add(1), 10)
		ask := askOf(256, owner)
		for done.Load() < int64(n) {
			got, err := bd.Claim(b.Context(), ask)
			if err != nil {
				b.Error(err)
				return
			}
			if len(got) == 0 {
				return
			}
			batches := make([]board.Batch, len(got))
			for i := range got {
				batches[i] = *finish(&got[i], owner)
			}
			for _, err := range bd.CommitEach(b.Context(), batches) {
				if err != nil {
					b.Error(err)
				}
			}
			done.Add(int64(len(got)))
		}
	})
	if done.Load() < int64(n) {
		b.Errorf("drained %d jobs of %d", done.Load(), n)
	}
}

func rate(b *testing.B, what string) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), what)
}

func BenchmarkDrain(b *testing.B) {
	for _, fsync := range fsyncs {
		b.Run(fsync, func(b *testing.B) { benchDrain(b, fsync, redisboard.TenancyDB, 1, 0) })
	}
}

// BenchmarkDrainSpaces must stay within 1.2 times of BenchmarkDrain.
func BenchmarkDrainSpaces(b *testing.B) {
	for _, tenancy := range []redisboard.Tenancy{redisboard.TenancyDB, redisboard.TenancyPrefix} {
		for _, spaces := range []int{1, 1000} {
			b.Run(fmt.Sprintf("%s-%d", tenancy, spaces), func(b *testing.B) { benchDrain(b, "everysec", tenancy, spaces, 0) })
		}
	}
}

// BenchmarkDrainBacklog drains 100,000 of a million.
func BenchmarkDrainBacklog(b *testing.B) { benchDrain(b, "everysec", redisboard.TenancyDB, 1, 900000) }

func benchDrain(b *testing.B, fsync string, tenancy redisboard.Tenancy, spaces, behind int) {
	s, bd := serve(b, fsync, redisboard.Config{Tenancy: tenancy})
	submitAll(b, bd, spaces, b.N+behind)
	m := newMeter(s)
	b.ResetTimer()
	drain(b, bd, 4, b.N)
	rate(b, "jobs/s")
	m.report(b)
}

func BenchmarkSubmit64(b *testing.B) {
	for _, fsync := range fsyncs {
		b.Run(fsync, func(b *testing.B) {
			s, bd := serve(b, fsync, redisboard.Config{})
			var next atomic.Int64
			m := newMeter(s)
			b.ResetTimer()
			each(64, func() {
				for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
					if err := bd.Commit(b.Context(), *submission(1, int(i))); err != nil {
						b.Error(err)
					}
				}
			})
			rate(b, "submits/s")
			m.report(b)
		})
	}
}

func BenchmarkSubmitEach(b *testing.B) {
	for _, fsync := range fsyncs {
		b.Run(fsync, func(b *testing.B) {
			s, bd := serve(b, fsync, redisboard.Config{})
			m := newMeter(s)
			b.ResetTimer()
			submitAll(b, bd, 1, b.N)
			rate(b, "submits/s")
			m.report(b)
		})
	}
}

// BenchmarkWake is the time from the call of Commit to the return of a Claim
// that has waited for it, one at a time.
func BenchmarkWake(b *testing.B) {
	for _, boards := range []int{1, 2} {
		b.Run(fmt.Sprintf("boards-%d", boards), func(b *testing.B) { benchWake(b, boards) })
	}
}

func benchWake(b *testing.B, boards int) {
	s, submitter := serve(b, "everysec", redisboard.Config{})
	claimer := submitter
	if boards == 2 {
		claimer = open(b, s, redisboard.Config{})
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	back := make(chan time.Time)
	ask := askOf(1, "me")
	ask.Wait = time.Minute
	go func() {
		for ctx.Err() == nil {
			if got, err := claimer.Claim(ctx, ask); err == nil && len(got) == 1 {
				back <- time.Now()
			}
		}
	}()
	var took []time.Duration
	b.ResetTimer()
	for i := range b.N {
		claimer.AwaitWaiter(b, ask.Queues[0].Group()) // this is about idle boards
		begun := time.Now()
		if err := submitter.Commit(b.Context(), *submission(1, i)); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-back).Sub(begun))
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1e3, "ms-p50")
	b.ReportMetric(took[len(took)*99/100].Seconds()*1e3, "ms-p99")
}

// meter measures processor time, which says more than the clock where other
// programs share the machine; and how much those took: figures of a run in
// which they took more than a tenth say little.
type meter struct {
	server, client, busy time.Duration
	pid                  int
	begun                time.Time
}

func newMeter(s *redistest.Server) *meter {
	return &meter{
		server: processTime(s.Pid()), client: processTime(os.Getpid()), busy: machineTime(), pid: s.Pid(), begun: time.Now(),
	}
}

func (m *meter) report(b *testing.B) {
	server, client := processTime(m.pid)-m.server, processTime(os.Getpid())-m.client
	others := machineTime() - m.busy - server - client
	per := func(d time.Duration) float64 { return d.Seconds() * 1e6 / float64(b.N) }
	b.ReportMetric(per(server), "server-us/op")
	b.ReportMetric(per(client), "client-us/op")
	b.ReportMetric(100*others.Seconds()/time.Since(m.begun).Seconds()/float64(runtime.NumCPU()), "others-%")
}

// processTime is what a process has used of the processors, in steps of 10 ms.
func processTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return ticks(strings.Fields(rest)[11:13])
}

// machineTime is what everybody has used of the processors.
func machineTime() time.Duration {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	f := strings.Fields(line)
	return ticks(append(f[1:4:4], f[6:9]...)) // not idle, not waiting for the disk
}

func ticks(fields []string) time.Duration {
	sum := 0
	for _, f := range fields {
		n, _ := strconv.Atoi(f)
		sum += n
	}
	return time.Duration(sum) * 10 * time.Millisecond
}
