package main

import (
	"context"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/pythonscript"
	"github.com/ramet-run/ramet/script/rhaiscript"
	"github.com/ramet-run/ramet/work"
)

// Scripts with three remembered steps, and the same without.
const (
	durableRhai = `let a = step("a", || 1); let b = step("b", || a + 1); step("c", || a + b)`
	plainRhai   = `let f = || 1; let a = f.call(); let g = || a + 1; let b = g.call(); a + b`

	durablePython = "import ramet\na = ramet.step('a', lambda: 1)\nb = ramet.step('b', lambda: a + 1)\nramet.step('c', lambda: a + b)\n"
	plainPython   = "a = (lambda: 1)()\nb = (lambda: a + 1)()\n(lambda: a + b)()\n"
)

// durableRate measures Rhai scripts with three remembered steps, from a backlog and idle, beside
// the same without.
func durableRate(r *rig) figures {
	return r.besidePlain("rhai", *jobs, durableRhai, plainRhai, func() script.Runtime { return rhaiscript.New(rhaiscript.Config{}) })
}

// durablePythonRate is durableRate for Python.
func durablePythonRate(r *rig) figures {
	return r.besidePlain("python", min(*jobs, 2000), durablePython, plainPython, func() script.Runtime {
		rt, err := pythonscript.New(pythonscript.Config{})
		check(err)
		check(rt.Check(context.Background()))
		return rt
	})
}

// besidePlain measures two scripts, each with a runtime of its own, whose processes are in the processor time.
func (r *rig) besidePlain(name string, n int, durable, plain string, open func() script.Runtime) figures {
	r.admit(1)
	f := figures{}
	for _, m := range []struct{ name, text string }{{name, durable}, {name + "_plain", plain}} {
		rt := open()
		f[m.name+"_idle_p50_ms"] = r.idleOf(rt, m.text)
		cpu := selfCPU() + childrenCPU() + r.serverCPU()
		f[m.name+"_per_s"] = r.backlogOf(rt, m.text, n)
		if c, ok := rt.(io.Closer); ok {
			check(c.Close())
		}
		f[m.name+"_cpu_us_per_job"] = round((selfCPU() + childrenCPU() + r.serverCPU() - cpu) * 1e6 / float64(n))
	}
	return f
}

// sleeperCost measures scripts that sleep.
func sleeperCost(r *rig) figures {
	r.admit(1)
	heap, disk := r.sleepers(rhaiscript.New(rhaiscript.Config{}), 10_000)
	return figures{"sleeper_heap_bytes": heap, "sleeper_board_bytes": disk}
}

// sleepers measures what a script costs that sleeps: of the heap, and of the board's folder where
// it has one.
func (r *rig) sleepers(rt script.Runtime, n int) (heap, disk float64) {
	used := func() (heap, disk float64) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		check(filepath.WalkDir(r.dir, func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil // the board removes files meanwhile
			}
			if info, err := e.Info(); err == nil {
				disk += float64(info.Size())
			}
			return nil
		}))
		return float64(m.HeapAlloc), disk
	}
	heapBefore, diskBefore := used()
	r.with(rt, func() {
		last := domain.JobKey{}
		for range n / 1000 {
			jobs := scriptsOf(rt, `sleep("nap", 86400)`, 1000)
			r.submit(1, jobs)
			last = jobs[len(jobs)-1].Key()
		}
		for {
			j, err := r.engine.Show(context.Background(), 1, last)
			check(err)
			if j.Suspended != nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	heapAfter, diskAfter := used()
	return (heapAfter - heapBefore) / float64(n), (diskAfter - diskBefore) / float64(n)
}

// with runs f while a runner works for a runtime.
func (r *rig) with(rt script.Runtime, f func()) {
	runner := work.NewRunner(r.engine, work.RunnerConfig{ID: 1, Owner: "bench/1", Runtimes: []script.Runtime{rt}})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { check(runner.Run(ctx)) })
	f()
	cancel()
	wg.Wait()
}

func scriptsOf(rt script.Runtime, text string, n int) []*domain.Job {
	list := make([]*domain.Job, n)
	for i := range list {
		list[i] = &domain.Job{CallerID: 1, ScriptType: rt.Type(), Script: text}
	}
	return list
}

func (r *rig) backlogOf(rt script.Runtime, text string, n int) float64 {
	for part := range slices.Chunk(scriptsOf(rt, text, n), 1000) {
		r.submit(1, part)
	}
	ended := int(r.ended.Load())
	begun := time.Now()
	r.with(rt, func() { r.waitEnded(ended + n) })
	return perSecond(n, time.Since(begun))
}

func (r *rig) idleOf(rt script.Runtime, text string) float64 {
	var took []time.Duration
	r.with(rt, func() {
		for i := range latencyJobs/2 + 10 {
			time.Sleep(20 * time.Millisecond)
			job := scriptsOf(rt, text, 1)
			begun := time.Now()
			r.submit(1, job)
			_, err := r.engine.Wait(context.Background(), 1, job[0].Key())
			check(err)
			if i >= 10 {
				took = append(took, time.Since(begun))
			}
		}
	})
	slices.Sort(took)
	return millis(percentile(took, .5))
}
