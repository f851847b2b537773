package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// This file measures how long a small flow is held up by large ones of its own context,
// and short jobs by long ones of another.

// fairFans is how many fan-outs, of -n jobs together, there are.
const fairFans = 5

// fanOuts are the kinds of them: jobs that are all written at once, and shards that a
// keeper makes as windows have room for them.
var fanOuts = []struct {
	name string
	make func(n int) flow.Request
}{
	{"jobs", func(n int) flow.Request { return flow.Request{Jobs: graph(n, func(int) []int { return nil })} }},
	{"followers", func(n int) flow.Request { return flow.Request{Jobs: graph(n, needsFirst)} }},
	{"shards", func(n int) flow.Request { return shards(n, 0) }},
	{"shards_window_1000", func(n int) flow.Request { return shards(n, domain.MaxWindow) }},
}

func shards(n, window int) flow.Request {
	step := domain.Step{Name: "s", Script: "x", ScriptType: "noop", Shard: &domain.Shard{Count: n, Window: window}}
	return flow.Request{Plan: &domain.Blueprint{Name: "shards", Steps: []domain.Step{step}}}
}

// fairness measures how many jobs of fan-outs end while a flow of three steps waits,
// for one that counts itself down and for one that a keeper moves on.
func fairness(r *rig) figures {
	f := startFlows(r)
	defer f.stop()
	kept := &domain.Blueprint{Name: "kept"}
	three, _, _ := threeSteps{}.Get(context.Background(), 1, "", 0)
	kept.Steps = three.Steps
	kept.Steps[2].MayFail = true
	small := map[string]flow.Request{"": {Blueprint: "three"}, "_kept": {Plan: kept}}
	out := figures{}
	for _, kind := range fanOuts {
		for name, q := range small {
			n := max(*jobs/fairFans, 1)
			f.await(fairFans+1, func() {
				for range fairFans {
					f.submit(kind.make(n))
				}
				for begun := r.ended.Load(); r.ended.Load() < begun+int64(n/5); {
					time.Sleep(time.Millisecond)
				}
				before, begun := r.ended.Load(), time.Now()
				_, err := f.flows.Wait(context.Background(), 1, f.submit(q), nil)
				check(err)
				out[kind.name+name+"_jobs"] = float64(r.ended.Load() - before)
				out[kind.name+name+"_ms"] = millis(time.Since(begun))
			})
		}
	}
	return out
}

// sleeper is a runtime of few slots whose scripts say for how long they do nothing, and
// when they were submitted.
type sleeper struct {
	mu    sync.Mutex
	used  map[time.Duration]time.Duration // of slots, by the length of jobs
	waits map[time.Duration][]time.Duration
}

func (*sleeper) Type() domain.ScriptType     { return "sleep" }
func (*sleeper) Check(context.Context) error { return nil }
func (*sleeper) Close() error                { return nil }
func (*sleeper) Info() script.Info {
	return script.Info{Summary: "does nothing for a while", Slots: 2, InProcess: true}
}

func (s *sleeper) Run(_ context.Context, t script.Task, _ script.Host) (script.Outcome, error) {
	length, at, _ := strings.Cut(t.Script, " ")
	long, err := time.ParseDuration(length)
	check(err)
	queued, err := time.Parse(time.RFC3339Nano, at)
	check(err)
	s.mu.Lock()
	s.waits[long] = append(s.waits[long], time.Since(queued))
	s.mu.Unlock()
	time.Sleep(long)
	s.mu.Lock()
	s.used[long] += long
	s.mu.Unlock()
	return script.Outcome{Verdict: script.Succeeded, Result: noopResult}, nil
}

// slotShares measures ten seconds in which a context has a backlog of jobs of 200 ms and
// another one ten jobs of 10 ms a second, and ten in which that has a backlog too.
func slotShares(r *rig) figures {
	const long, short, measured = 200 * time.Millisecond, 10 * time.Millisecond, 10 * time.Second
	rt := &sleeper{used: map[time.Duration]time.Duration{}, waits: map[time.Duration][]time.Duration{}}
	sleep := func(d time.Duration) *domain.Job {
		return &domain.Job{CallerID: 1, ScriptType: "sleep", Script: d.String() + " " + time.Now().Format(time.RFC3339Nano)}
	}
	backlog := func(t domain.TenantID, d time.Duration, n int) {
		list := make([]*domain.Job, n)
		for i := range list {
			list[i] = sleep(d)
		}
		r.submit(t, list)
	}
	r.fill(0, 2)
	backlog(1, long, 600)
	runner := work.NewRunner(r.engine, work.RunnerConfig{ID: 1, Owner: "bench/1", Runtimes: []script.Runtime{rt},
		PerContext: map[domain.ScriptType]int{"sleep": 2}, Several: func() bool { return true }})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { check(runner.Run(ctx)) })
	for begun := time.Now(); time.Since(begun) < measured; time.Sleep(measured / 100) {
		r.submit(2, []*domain.Job{sleep(short)})
	}
	rt.mu.Lock()
	waits := slices.Sorted(slices.Values(rt.waits[short]))
	clear(rt.used)
	rt.mu.Unlock()
	backlog(2, short, 2000)
	time.Sleep(measured)
	cancel()
	wg.Wait()
	return figures{"short_wait_ms_p50": millis(percentile(waits, 0.5)), "short_wait_ms_max": millis(percentile(waits, 1)),
		"short_slot_s": round(rt.used[short].Seconds()), "long_slot_s": round(rt.used[long].Seconds())}
}
