package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/circle"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/rhaiscript"
)

// This file measures circles: from the submit of a script to its reply. On
// Redis the clients are programs that know nothing but Redis and the seed, and
// the worker is ours or a loop that does the seed's commands by hand, with the
// same Rhai engine: no lease, no expiry, and a task that a crash takes is lost.

const (
	circleScript  = "let a = 40; a + 2"
	circleOutput  = "42"
	circleClients = 64
	// handWorkers is how many loops the worker by hand has: of 1, 4, 16, 64 and
	// 256 those with which it was fastest.
	handWorkers = 64
)

// circleRate is submit to reply with 64 clients and with one.
func circleRate(r *rig) figures {
	var contexts board.Batch
	check(r.board.Commit(context.Background(), *contexts.Include(layout.Contexts, "1")))
	f := figures{}
	e := circle.New(r.board, circle.Config{})
	if r.redis == nil {
		stop := r.serveCircle(e)
		r.circleRound(f, "", func() (circleClient, func()) { return r.engineClient(e), func() {} })
		stop()
		return f
	}
	hand := r.serveByHand("byhand")
	r.circleRound(f, "hand_", func() (circleClient, func()) { return r.redisClient("byhand") })
	hand()
	stop := r.serveCircle(e)
	r.circleRound(f, "", func() (circleClient, func()) { return r.redisClient("ours") })
	stop()
	return f
}

// circleClient runs one script and returns what came back.
type circleClient func(n int) string

// circleRound measures the rate of many clients and the latency of one.
func (r *rig) circleRound(f figures, prefix string, open func() (circleClient, func())) {
	run, done := open()
	defer done()
	var next atomic.Int64
	several := func(clients, n int) (took time.Duration, cpu float64) {
		last := next.Load() + int64(n)
		before, begun := selfCPU()+r.serverCPU(), time.Now()
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for i := next.Add(1); i <= last; i = next.Add(1) {
					if got := run(int(i)); got != circleOutput {
						check(fmt.Errorf("script %d gave %q", i, got))
					}
				}
			})
		}
		wg.Wait()
		next.Store(last)
		return time.Since(begun), selfCPU() + r.serverCPU() - before
	}
	several(circleClients, *jobs/20) // the first warm up
	server := r.serverCPU()
	took, cpu := several(circleClients, *jobs)
	if r.redis != nil {
		f[prefix+"server_cpu_us_per_script"] = round((r.serverCPU() - server) * 1e6 / float64(*jobs))
	}
	f[prefix+"scripts_per_s"] = perSecond(*jobs, took)
	f[prefix+"cpu_us_per_script"] = round(cpu * 1e6 / float64(*jobs))
	ds := make([]time.Duration, latencyJobs)
	for i := range ds {
		time.Sleep(2 * time.Millisecond)
		ds[i], _ = several(1, 1)
	}
	slices.Sort(ds)
	f[prefix+"reply_p50_ms"], f[prefix+"reply_p99_ms"] = millis(percentile(ds, .5)), millis(percentile(ds, .99))
}

// engineClient submits and waits through the engine, as the doors do.
func (r *rig) engineClient(e *circle.Engine) circleClient {
	return func(n int) string {
		t := &domain.Task{ID: strconv.Itoa(n), Circle: "ours", Script: circleScript, CallerID: 1}
		_, err := e.Submit(context.Background(), 1, t)
		check(err)
		t, err = e.Wait(context.Background(), 1, t.ID)
		check(err)
		return t.Output
	}
}

// redisClient does what the seed's client does.
func (r *rig) redisClient(circle string) (circleClient, func()) {
	c := r.dialCircle()
	return func(n int) string {
		id := circle + strconv.Itoa(n)
		reply := layout.ReplyPrefix + id
		for _, answer := range c.DoMulti(context.Background(),
			c.B().Arbitrary("HSET").Keys(layout.Task(id)).Args("script", circleScript, "status", "pending", "reply_to_queue", reply).Build(),
			c.B().Lpush().Key(queue.Circle(circle)).Element(id).Build()) {
			check(answer.Error())
		}
		got, err := c.Do(context.Background(), c.B().Blpop().Key(reply).Timeout(60).Build()).AsStrSlice()
		check(err)
		var m struct {
			Output string `json:"output"`
		}
		check(json.Unmarshal([]byte(got[1]), &m))
		return m.Output
	}, c.Close
}

func (r *rig) dialCircle() rueidis.Client {
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{r.redisAddr}, DisableCache: true, SelectDB: 1, BlockingPoolSize: 4 * circleClients})
	check(err)
	return c
}

// serveCircle serves the circle as a node does.
func (r *rig) serveCircle(e *circle.Engine) (stop func()) {
	w := circle.NewWorker(e, circle.WorkerConfig{Circles: []domain.ServedCircle{{Name: "ours", Context: 1}}, Owner: "bench/1",
		Runtime: rhaiscript.New(rhaiscript.Config{})})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { check(w.Run(ctx)) })
	wg.Go(func() {
		log := slog.New(slog.DiscardHandler)
		check(clockwork.Run(ctx, r.board, clockwork.Config{Owner: "bench/1"}, []clockwork.Maintenance{clockwork.Leases(r.board, log, e.RecoverLease)}))
	})
	return func() { cancel(); wg.Wait() }
}

// serveByHand does what the seed's worker does.
func (r *rig) serveByHand(circle string) (stop func()) {
	c, rt := r.dialCircle(), rhaiscript.New(rhaiscript.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range handWorkers {
		wg.Go(func() {
			for {
				got, err := c.Do(ctx, c.B().Brpop().Key(queue.Circle(circle)).Timeout(60).Build()).AsStrSlice()
				if ctx.Err() != nil {
					return
				}
				check(err)
				handTask(c, rt, got[1])
			}
		})
	}
	return func() { cancel(); wg.Wait(); c.Close() }
}

func handTask(c rueidis.Client, rt script.Runtime, id string) {
	ctx, key := context.Background(), layout.Task(id)
	details, err := c.Do(ctx, c.B().Hgetall().Key(key).Build()).AsStrMap()
	check(err)
	check(c.Do(ctx, c.B().Hset().Key(key).FieldValue().FieldValue("status", "processing").Build()).Error())
	out, err := rt.Run(ctx, script.Task{Name: key, Script: details["script"], Context: 1, Whole: true}, quiet{})
	check(err)
	reply := layout.EncodeReply(&domain.Task{ID: id, Status: domain.TaskCompleted, Output: out.Value})
	check(c.Do(ctx, c.B().Hset().Key(key).FieldValue().FieldValue("status", "completed").FieldValue("output", out.Value).Build()).Error())
	check(c.Do(ctx, c.B().Lpush().Key(details["reply_to_queue"]).Element(reply).Build()).Error())
}

// quiet is a host that hears nothing.
type quiet struct{}

func (quiet) Log(string, []byte) {}
