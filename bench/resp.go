package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/door/resp"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/leash"
)

// This file measures the Redis door beside Redis itself, both with everything
// in memory, by redis-benchmark.

// respShape is one run of redis-benchmark.
type respShape struct {
	name     string
	pipeline int
	times    int // as many requests as the measure has jobs, so many times
	args     []string
	fill     bool // the list has to have items first
}

// As the tests that redis-benchmark has itself, alone and sixteen in a pipeline.
var respShapes = []respShape{
	{"lpush", 1, 1, []string{"LPUSH", "mylist", "__data__"}, false},
	{"hset", 1, 1, []string{"HSET", "myhash", "element:__rand_int__", "__data__"}, false},
	{"brpop", 1, 1, []string{"BRPOP", "mylist", "0"}, true},
	{"lpush_p16", 16, 4, []string{"LPUSH", "mylist", "__data__"}, false},
	{"hset_p16", 16, 4, []string{"HSET", "myhash", "element:__rand_int__", "__data__"}, false},
	{"brpop_p16", 16, 4, []string{"BRPOP", "mylist", "0"}, true},
}

// respRounds is how often each side is measured, in turn: the best counts,
// other programs on the machine only take away.
const respRounds = 3

// respRate measures the door on the rig's board against a Redis that saves
// nothing.
func respRate(r *rig) figures {
	ours := openRespSide(r)
	defer ours.close()
	theirs := openRedisSide(r)
	defer theirs.close()
	f := figures{}
	for _, s := range respShapes {
		var rate, cpu [2]float64
		for range respRounds {
			for i, side := range []*respSide{ours, theirs} {
				perS, us := side.measure(s)
				if rate[i] = max(rate[i], perS); cpu[i] == 0 || us < cpu[i] {
					cpu[i] = us
				}
			}
		}
		f[s.name+"_per_s"], f[s.name+"_redis_per_s"] = rate[0], rate[1]
		f[s.name+"_ratio"] = round(rate[0] / rate[1])
		f[s.name+"_cpu_us"], f[s.name+"_redis_cpu_us"] = cpu[0], cpu[1]
	}
	return f
}

// respSide is one of the two servers.
type respSide struct {
	addr  string
	args  []string // of redis-benchmark, to get in
	cpu   func() float64
	close func()
}

// openRespSide serves the rig's board to clients of Redis, in this process.
func openRespSide(r *rig) *respSide {
	ctx, stop := context.WithCancel(context.Background())
	registry := identity.NewRegistry(r.board)
	op, err := registry.EnsureOperator(ctx, r.dir)
	check(err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	access := identity.NewAccess(registry, nil)
	door := resp.New(resp.Config{Board: r.board, Access: access, Node: "bench", Tokens: identity.NewTokens(registry, access, "bench")})
	var wg sync.WaitGroup
	wg.Go(func() { check(door.Serve(ctx, ln)) })
	token, err := identity.Mint(op.Key, "bench", time.Now(), time.Hour)
	check(err)
	return &respSide{addr: ln.Addr().String(), args: []string{"-a", token, "--dbnum", "1"}, cpu: selfCPU,
		close: func() { stop(); wg.Wait() }}
}

// openRedisSide starts a server of its own that saves nothing.
func openRedisSide(r *rig) *respSide {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	check(l.Close())
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", r.dir, "--save", "", "--appendonly", "no", "--loglevel", "warning")
	check(leash.Start(cmd, syscall.SIGKILL))
	for range 200 {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return &respSide{addr: addr, cpu: func() float64 { return processCPU(cmd.Process.Pid) }, close: func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}}
}

// measure runs redis-benchmark once, on empty keys.
func (s *respSide) measure(shape respShape) (perS, cpuUs float64) {
	n := *jobs * shape.times
	s.run(1, 1, "DEL", "mylist")
	if shape.fill {
		s.run(n/500+50, 1, append([]string{"LPUSH", "mylist"}, strings.Fields(strings.Repeat("abc ", 500))...)...)
	}
	cpu := s.cpu()
	perS = s.run(n, shape.pipeline, shape.args...)
	return perS, round((s.cpu() - cpu) * 1e6 / float64(n))
}

// run runs redis-benchmark with 50 clients and returns its requests a second.
func (s *respSide) run(n, pipeline int, command ...string) float64 {
	host, port, _ := net.SplitHostPort(s.addr)
	args := append([]string{"-h", host, "-p", port, "-c", "50", "-n", strconv.Itoa(n), "-P", strconv.Itoa(pipeline), "-r", "100000", "-d", "3",
		"--csv"}, s.args...)
	out, err := exec.Command("redis-benchmark", append(args, command...)...).Output()
	check(err)
	rows, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
	if err != nil && err != io.EOF || len(rows) < 2 {
		check(fmt.Errorf("redis-benchmark says %q", out))
	}
	perS, err := strconv.ParseFloat(rows[len(rows)-1][1], 64)
	check(err)
	return perS
}
