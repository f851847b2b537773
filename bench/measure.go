package main

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/pythonscript"
	"github.com/ramet-run/ramet/work"
)

func round(x float64) float64 { return float64(int64(x*100+0.5)) / 100 }

func perSecond(n int, d time.Duration) float64 { return float64(int64(float64(n)/d.Seconds() + 0.5)) }

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// percentile of sorted durations.
func percentile(ds []time.Duration, p float64) time.Duration {
	return ds[int(p*float64(len(ds)-1)+0.5)]
}

// callers submits n jobs from several goroutines, k a call.
func callers(r *rig, goroutines, n, k int) time.Duration {
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	begun := time.Now()
	for range goroutines {
		wg.Go(func() {
			for left.Add(-int64(k)) >= 0 {
				r.submit(1, noopJobs(k))
			}
		})
	}
	wg.Wait()
	return time.Since(begun)
}

func submitRates(r *rig) figures {
	n := *jobs
	f := batchRate(r)
	f["one_caller_per_s"] = perSecond(n/10, callers(r, 1, n/10, 1))
	f["callers_64_per_s"] = perSecond(n, callers(r, 64, n, 1))
	return f
}

func batchRate(r *rig) figures {
	cpu := selfCPU() + r.serverCPU()
	took := callers(r, 4, *jobs, 1000)
	cpu = selfCPU() + r.serverCPU() - cpu
	return figures{"batches_per_s": perSecond(*jobs, took), "batches_cpu_us_per_job": round(cpu * 1e6 / float64(*jobs))}
}

func drainRate(r *rig) figures {
	before := selfCPU() + r.serverCPU()
	r.fill(*jobs, *contexts)
	cpu, server := selfCPU(), r.serverCPU()
	submit := cpu + server - before
	begun := time.Now()
	r.run()
	r.waitEnded(*jobs)
	took := time.Since(begun)
	cpu, server = selfCPU()-cpu, r.serverCPU()-server
	each := func(s float64) float64 { return round(s * 1e6 / float64(*jobs)) }
	return figures{"jobs": *jobs, "jobs_per_s": perSecond(*jobs, took), "cpu_us_per_job": each(cpu + server),
		"server_cpu_us_per_job": each(server), "submit_cpu_us_per_job": each(submit), "peak_mb": peakMB()}
}

func cycleRate(r *rig) figures {
	n := *jobs
	r.fill(1, 1)
	r.run()
	r.waitEnded(1)
	begun := time.Now()
	callers(r, 64, n, 1)
	r.waitEnded(n + 1)
	one := time.Since(begun)
	begun = time.Now()
	callers(r, 16, n, 50)
	r.waitEnded(2*n + 1)
	return figures{"one_by_one_per_s": perSecond(n, one), "batches_of_50_per_s": perSecond(n, time.Since(begun))}
}

// latencyJobs is how many jobs the idle latency is measured on.
const latencyJobs = 200

func latency(r *rig) figures {
	started := make(chan time.Time, 1)
	r.noop.started.Store(&started)
	r.fill(0, 1)
	r.run()
	var toStart, toResult []time.Duration
	for i := range latencyJobs + 10 {
		time.Sleep(time.Duration(50+rand.IntN(100)) * time.Millisecond)
		job := noopJobs(1)
		begun := time.Now()
		r.submit(1, job)
		at := <-started
		_, err := r.engine.Wait(context.Background(), 1, job[0].Key())
		check(err)
		if i >= 10 { // the first warm up
			toStart, toResult = append(toStart, at.Sub(begun)), append(toResult, time.Since(begun))
		}
	}
	slices.Sort(toStart)
	slices.Sort(toResult)
	return figures{
		"start_p50_ms": millis(percentile(toStart, .5)), "start_p99_ms": millis(percentile(toStart, .99)),
		"result_p50_ms": millis(percentile(toResult, .5)), "result_p99_ms": millis(percentile(toResult, .99)),
	}
}

// backlogSample is how many jobs are worked through at each backlog.
const backlogSample = 50_000

// backlogCost measures the work on equally many jobs while backlogs of
// different lengths stand behind them.
func backlogCost(r *rig) figures {
	f := figures{"sample": backlogSample}
	queued := 0
	for _, backlog := range []int{1_000, 100_000, 1_000_000} {
		var took time.Duration
		var cpu float64
		for done := 0; done < backlogSample; {
			n := min(backlog, backlogSample-done)
			r.fill(backlog+n-queued, 1)
			queued = backlog + n
			d, c := r.workThrough(n)
			took, cpu = took+d, cpu+c
			queued -= int(r.ended.Swap(0))
			done += n
		}
		name := map[int]string{1_000: "1k", 100_000: "100k", 1_000_000: "1m"}[backlog]
		f["jobs_per_s_"+name] = perSecond(backlogSample, took)
		f["cpu_us_per_job_"+name] = round(cpu * 1e6 / backlogSample)
	}
	return f
}

// workThrough runs the runner until n jobs have ended.
func (r *rig) workThrough(n int) (took time.Duration, cpu float64) {
	cpu = selfCPU() + r.serverCPU()
	begun := time.Now()
	r.run()
	r.waitEnded(n)
	took = time.Since(begun)
	cpu = selfCPU() + r.serverCPU() - cpu
	r.stop()
	return took, cpu
}

func contextCost(r *rig) figures {
	f := figures{}
	for _, tenants := range []int{1, 1000} {
		r.ended.Store(0)
		r.fill(*jobs, tenants)
		took, cpu := r.workThrough(*jobs)
		name := map[int]string{1: "1", 1000: "1k"}[tenants]
		f["jobs_per_s_"+name] = perSecond(*jobs, took)
		f["cpu_us_per_job_"+name] = round(cpu * 1e6 / float64(*jobs))
	}
	return f
}

func memory(r *rig) figures {
	const n = 1_000_000
	begun := time.Now()
	r.fill(n, 1)
	filled := time.Since(begun)
	full := peakMB()
	begun = time.Now()
	r.run()
	r.waitEnded(n)
	return figures{"jobs": n, "queued_peak_mb": full, "fill_per_s": perSecond(n, filled),
		"drained_peak_mb": peakMB(), "jobs_per_s": perSecond(n, time.Since(begun))}
}

func idleCPU(r *rig) figures {
	r.fill(10, 1)
	r.run()
	r.waitEnded(10)
	time.Sleep(time.Second)
	const quiet = 10 * time.Second
	cpu, server := selfCPU(), r.serverCPU()
	time.Sleep(quiet)
	return figures{"cpu_pct": round((selfCPU() - cpu) / quiet.Seconds() * 100),
		"server_cpu_pct": round((r.serverCPU() - server) / quiet.Seconds() * 100)}
}

// pythonScript is a small job that does something.
const pythonScript = "import json, os\nprint(json.dumps({'job': os.environ['RAMET_JOB']}))\n"

// pythonRate runs the same small script through the engine in the pool, and
// with an interpreter that is started for each, with nothing around it.
func pythonRate(r *rig) figures {
	n := min(*jobs, 3000)
	pool, poolCPU := r.pythonPool(pythonscript.Config{}, n)
	reused, reusedCPU := r.pythonPool(pythonscript.Config{Reuse: 100}, n)
	plain, plainCPU := r.pythonPlain(n / 15)
	return figures{"pool_per_s": pool, "reused_per_s": reused, "plain_per_s": plain, "ratio": round(pool / plain),
		"pool_cpu_us_per_job": poolCPU, "reused_cpu_us_per_job": reusedCPU, "plain_cpu_us_per_job": plainCPU}
}

func (r *rig) pythonPool(cfg pythonscript.Config, n int) (perS, cpuUs float64) {
	rt, err := pythonscript.New(cfg)
	check(err)
	check(rt.Check(context.Background()))
	list := make([]*domain.Job, n)
	for i := range list {
		list[i] = &domain.Job{CallerID: 1, ScriptType: domain.ScriptPython, Script: pythonScript}
	}
	runner := work.NewRunner(r.engine, work.RunnerConfig{ID: 1, Owner: "bench/1", Runtimes: []script.Runtime{rt}})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	r.admit(1)
	r.submit(1, list)
	cpu := selfCPU() + childrenCPU()
	begun := time.Now()
	ended := int(r.ended.Load())
	wg.Go(func() { check(runner.Run(ctx)) })
	r.waitEnded(ended + n)
	took := time.Since(begun)
	cancel()
	wg.Wait()
	check(rt.Close()) // only then are its processes counted
	return perSecond(n, took), round((selfCPU() + childrenCPU() - cpu) * 1e6 / float64(n))
}

func (r *rig) pythonPlain(n int) (perS, cpuUs float64) {
	// Not what may stand before the interpreter in PATH, as a shim of pyenv's.
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable, end='')").Output()
	check(err)
	path := filepath.Join(r.dir, "script.py")
	check(os.WriteFile(path, []byte(pythonScript), 0o600))
	cpu := selfCPU() + childrenCPU()
	begun := time.Now()
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				cmd := exec.Command(string(python), path)
				cmd.Env = []string{"RAMET_JOB=job:1:1"}
				check(cmd.Run())
			}
		})
	}
	wg.Wait()
	return perSecond(n, time.Since(begun)), round((selfCPU() + childrenCPU() - cpu) * 1e6 / float64(n))
}
