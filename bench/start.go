package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/internal/leash"
)

// startRounds is how often each program is started, on an empty folder and on one
// that another life has used.
const startRounds = 9

// startTimes measures programs from their start to the first 200 of /ready, and what
// their lives until then and their ends cost, with all their processes; and what a
// call of the command line costs on a node that runs. Several are measured in turn.
func startTimes(r *rig) figures {
	f := figures{}
	programs := strings.Split(*ramet, ",")
	lives := map[string][]life{}
	for round := range startRounds {
		for i, program := range programs {
			data := filepath.Join(r.dir, fmt.Sprint("node-", round, "-", i))
			for _, folder := range []string{"empty", "used"} {
				lives[folder+program] = append(lives[folder+program], r.live(program, data))
			}
		}
	}
	for _, program := range programs {
		own := figures{}
		for _, folder := range []string{"empty", "used"} {
			own[folder+"_ready_ms"] = medianOf(lives[folder+program], func(l life) float64 { return l.ready })
			own[folder+"_cpu_ms"] = medianOf(lives[folder+program], func(l life) float64 { return l.cpu })
		}
		own["call_cpu_ms"] = medianOf(lives["used"+program], func(l life) float64 { return l.call })
		info, err := os.Stat(program)
		check(err)
		own["program_mb"] = round(float64(info.Size()) / 1e6)
		f[program] = own
	}
	return f
}

// life is what one node cost, in milliseconds.
type life struct{ ready, cpu, call float64 }

// live runs a node until it is ready and was asked for its jobs, and stops it.
func (r *rig) live(program, data string) (l life) {
	node := exec.Command(program, "serve", "--data", data, "--log-level", "error")
	node.Stderr = os.Stderr
	begun := time.Now()
	check(leash.Start(node, syscall.SIGKILL))
	for socket := filepath.Join(data, "ramet.sock"); !ready(socket); time.Sleep(time.Millisecond) {
		if time.Since(begun) > time.Minute {
			check(fmt.Errorf("%s is not ready after a minute", program))
		}
	}
	l.ready = millis(time.Since(begun))
	list := exec.Command(program, "job", "list", "--data", data)
	check(list.Run())
	check(node.Process.Signal(syscall.SIGTERM))
	check(node.Wait())
	l.cpu, l.call = processMs(node), processMs(list)
	return l
}

// ready asks a node on its socket.
func ready(socket string) bool {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	answer, err := client.Get("http://node/ready")
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// processMs is the processor time of a process that has ended, and of those that it
// has waited for.
func processMs(cmd *exec.Cmd) float64 {
	return millis(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
}

func medianOf(list []life, of func(life) float64) float64 {
	values := make([]float64, len(list))
	for i, l := range list {
		values[i] = of(l)
	}
	slices.Sort(values)
	return round(values[len(values)/2])
}
