package main

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

// flowRig is a rig with flows.
type flowRig struct {
	*rig
	flows *flow.Engine
	ended atomic.Int64
	want  atomic.Int64
	there chan struct{}
	stop  func()
}

// FlowEnded implements flow.Observer.
func (f *flowRig) FlowsMade(int) {}

func (f *flowRig) FlowEnded(domain.FlowReason, time.Duration) {
	if f.ended.Add(1) == f.want.Load() {
		f.there <- struct{}{}
	}
}

// startFlows starts a runner, the routines and a keeper.
func startFlows(r *rig) *flowRig {
	f := &flowRig{rig: r, there: make(chan struct{}, 1)}
	f.flows = flow.New(r.board, r.engine, flow.Config{Blueprints: threeSteps{}, Observer: f})
	r.fill(0, 1)
	r.run()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { f.flows.Keep(ctx, "bench/1") })
	f.stop = func() { cancel(); wg.Wait() }
	var b board.Batch
	check(r.board.Commit(ctx, *b.Include(layout.Contexts, "1")))
	return f
}

// threeSteps is the blueprint of the comparison with other engines: three
// no-op steps, one after the other.
type threeSteps struct{}

func (threeSteps) Get(context.Context, domain.TenantID, string, int) (domain.Blueprint, string, error) {
	b := domain.Blueprint{Name: "three", Version: 1}
	for i, name := range []string{"a", "b", "c"} {
		s := domain.Step{Name: name, Script: "a payload of thirty-two bytes...", ScriptType: "noop"}
		if i > 0 {
			s.Needs = []string{b.Steps[i-1].Name}
		}
		b.Steps = append(b.Steps, s)
	}
	return b, "three", nil
}

func (f *flowRig) submit(q flow.Request) domain.FlowID {
	q.Caller = 1
	receipts, err := f.flows.Submit(context.Background(), 1, []flow.Request{q})
	check(err)
	check(receipts[0].Err)
	return receipts[0].ID
}

// await runs do and waits until n more flows have ended.
func (f *flowRig) await(n int, do func()) (took time.Duration, cpu float64) {
	f.want.Store(f.ended.Load() + int64(n))
	cpu = selfCPU() + f.serverCPU()
	begun := time.Now()
	do()
	<-f.there
	return time.Since(begun), selfCPU() + f.serverCPU() - cpu
}

// flowRate measures flows of three steps with 64 starters: each starts one
// after the other, and all run at once.
func flowRate(r *rig) figures {
	f := startFlows(r)
	defer f.stop()
	out := figures{}
	for _, n := range []int{1_000, 5_000, 20_000} {
		if n > *jobs {
			break
		}
		took, cpu := f.await(n, func() {
			var left atomic.Int64
			left.Store(int64(n))
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						f.submit(flow.Request{Blueprint: "three"})
					}
				})
			}
			wg.Wait()
		})
		name := strconv.Itoa(n)
		out["flows_per_s_"+name] = perSecond(n, took)
		out["cpu_us_per_flow_"+name] = round(cpu * 1e6 / float64(n))
	}
	return out
}

// flowLatency measures idle flows of three steps: from the call of submit
// until a caller that waits knows that the flow has ended.
func flowLatency(r *rig) figures {
	f := startFlows(r)
	defer f.stop()
	const n = 300
	var all []time.Duration
	for range n {
		begun := time.Now()
		id := f.submit(flow.Request{Blueprint: "three"})
		_, err := f.flows.Wait(context.Background(), 1, id, nil)
		check(err)
		all = append(all, time.Since(begun))
		time.Sleep(2 * time.Millisecond)
	}
	slices.Sort(all)
	return figures{"three_steps_ms_p50": millis(percentile(all, 0.5)), "three_steps_ms_p99": millis(percentile(all, 0.99))}
}

// shape is a plain flow of n jobs.
type shape struct {
	name string
	make func(n int) []*domain.Job
}

var shapes = []shape{
	{"chain", func(n int) []*domain.Job {
		return graph(n, func(i int) []int {
			if i == 0 {
				return nil
			}
			return []int{i - 1}
		})
	}},
	{"fan_out", func(n int) []*domain.Job {
		return graph(n, func(i int) []int {
			if i == 0 {
				return nil
			}
			return []int{0}
		})
	}},
	// lattice is layers of ten, each job of which needs three of the layer before.
	{"lattice", func(n int) []*domain.Job {
		return graph(n, func(i int) []int {
			if i < 10 {
				return nil
			}
			before := i - i%10 - 10
			return []int{before + i%10, before + (i+1)%10, before + (i+5)%10}
		})
	}},
}

func graph(n int, needs func(i int) []int) []*domain.Job {
	list := noopJobs(n)
	for i, j := range list {
		j.ID = domain.JobID(i + 1)
		for _, on := range needs(i) {
			j.Dependends = append(j.Dependends, domain.JobID(on+1))
		}
	}
	return list
}

// flowShapes measures what a job costs in flows of 100 and of 10,000 jobs, two
// flows at a time: chains that run beside each other share commits, so equally
// many must run.
func flowShapes(r *rig) figures {
	f := startFlows(r)
	defer f.stop()
	out := figures{}
	for _, s := range shapes {
		cost := map[int]float64{}
		for _, n := range []int{100, 10_000} {
			const total = 20_000
			var took time.Duration
			var cpu float64
			for range total / n / 2 {
				t, c := f.await(2, func() {
					f.submit(flow.Request{Jobs: s.make(n)})
					f.submit(flow.Request{Jobs: s.make(n)})
				})
				took, cpu = took+t, cpu+c
			}
			cost[n] = cpu * 1e6 / total
			out[s.name+"_cpu_us_per_job_"+strconv.Itoa(n)] = round(cost[n])
			out[s.name+"_jobs_per_s_"+strconv.Itoa(n)] = perSecond(total, took)
		}
		out[s.name+"_cost_ratio"] = round(cost[10_000] / cost[100])
	}
	return out
}

// flowShards measures a fan-out of 10,000 shards in one step.
func flowShards(r *rig) figures {
	f := startFlows(r)
	defer f.stop()
	const n = 10_000
	step := domain.Step{Name: "s", Script: "x", ScriptType: "noop", Shard: &domain.Shard{Count: n, Window: 500}}
	took, cpu := f.await(1, func() { f.submit(flow.Request{Plan: &domain.Blueprint{Name: "shards", Steps: []domain.Step{step}}}) })
	return figures{"shards_per_s": perSecond(n, took), "cpu_us_per_shard": round(cpu * 1e6 / n)}
}

// flowEach measures a fan-out of 10,000 elements of a list beside one of as many shards, in turn:
// the jobs of both leave the same, and what those of the list leave is read by a step after it.
func flowEach(r *rig) figures {
	f := startFlows(r)
	defer f.stop()
	const n, turns = 10_000, 3
	list := domain.Step{Name: "list", Script: listing, ScriptType: "noop"}
	shard := domain.Step{Name: "s", Script: leaving, ScriptType: "noop", Needs: []string{"list"}, Shard: &domain.Shard{Count: n, Window: 500}}
	each := domain.Step{Name: "s", Script: leaving, ScriptType: "noop", Needs: []string{"list"}, Window: 500, Each: "parse_json(needs.list.result.list)"}
	after := domain.Step{Name: "after", Script: "x", ScriptType: "noop", Needs: []string{"s"}}
	var cost [2]float64
	var took [2]time.Duration
	for range turns {
		for k, step := range []domain.Step{shard, each} {
			p := &domain.Blueprint{Name: "fan", Steps: []domain.Step{list, step, after}}
			t, cpu := f.await(1, func() { f.submit(flow.Request{Plan: p}) })
			took[k], cost[k] = took[k]+t, cost[k]+cpu*1e6/n/turns
		}
	}
	return figures{"elements_per_s": perSecond(n*turns, took[1]), "cpu_us_per_element": round(cost[1]), "cpu_us_per_shard": round(cost[0]),
		"cost_ratio": round(cost[1] / cost[0]), "time_ratio": round(took[1].Seconds() / took[0].Seconds())}
}

// flowStream measures the sustained rate of an endless pack.
func flowStream(r *rig) figures {
	f := startFlows(r)
	defer f.stop()
	step := domain.Step{Name: "s", Script: "x", ScriptType: "noop", Pack: &domain.Pack{Size: 1, Endless: true, Window: 200}}
	id := f.submit(flow.Request{Plan: &domain.Blueprint{Name: "stream", Steps: []domain.Step{step}}})
	done := func() int64 {
		v, err := f.flows.Show(context.Background(), 1, id)
		check(err)
		return v.Steps[0].Done
	}
	time.Sleep(time.Second)
	const measured = 5 * time.Second
	cpu, before, begun := selfCPU()+f.serverCPU(), done(), time.Now()
	time.Sleep(measured)
	n := int(done() - before)
	took := time.Since(begun)
	cpu = selfCPU() + f.serverCPU() - cpu
	_, err := f.flows.Act(context.Background(), 1, id, flow.Order{Verb: flow.OrderCancel, By: 1})
	check(err)
	_, err = f.flows.Wait(context.Background(), 1, id, nil)
	check(err)
	return figures{"packs_per_s": perSecond(n, took), "cpu_us_per_pack": round(cpu * 1e6 / float64(max(n, 1)))}
}
