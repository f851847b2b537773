package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
)

// readySizes are how many jobs wait in the folder of a node that starts.
var readySizes = []int{10_000, 100_000, 1_000_000}

// readyCost measures from the start of a node of -ramet until it is ready, on a folder in which
// jobs wait for a worker that does not come: after a node that was stopped, and after one that
// was killed right after the last jobs were acknowledged. More jobs than -n are left out.
func readyCost(r *rig) figures {
	program, ctx := strings.Split(*ramet, ",")[0], context.Background()
	f, made := figures{}, 0
	for _, n := range readySizes {
		if n > *jobs {
			break
		}
		for i, end := range []func(served){served.end, served.kill} {
			node := r.serve(program)
			check(node.client.RegisterWork(ctx, 1, workerType))
			for to := n - 1000 + 1000*i; made < to; made += 1000 {
				_, err := node.client.Submit(ctx, 1, workJobs(1000))
				check(err)
			}
			end(node)
			node = r.serve(program)
			name := fmt.Sprintf("%s_%d", []string{"stopped", "killed"}[i], n)
			f[name+"_ready_ms"], f[name+"_ready_cpu_ms"] = millis(node.ready), round(node.readyCPU*1e3)
			node.end()
		}
	}
	return f
}

// kill ends a node as a loss of power would, as far as a process can.
func (n served) kill() {
	n.client.Close()
	check(n.process.Process.Signal(syscall.SIGKILL))
	_ = n.process.Wait()
}
