package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/internal/leash"
)

// This file measures what many nodes on one hot queue cost, beside one, on an etcd server
// of its own.

// openEtcd starts a server on free ports of the loopback.
func (r *rig) openEtcd() (board.Board, error) {
	bin, err := exec.LookPath(filepath.Join("bin", "etcd"))
	if err != nil {
		if bin, err = exec.LookPath("etcd"); err != nil {
			return nil, fmt.Errorf("there is no etcd: run scripts/install-test-servers: %w", err)
		}
	}
	var urls [2]string // for clients, for peers
	for i := range urls {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		urls[i] = "http://" + l.Addr().String()
		l.Close()
	}
	r.etcd = exec.Command(bin, "--data-dir", filepath.Join(r.dir, "etcd"), "--log-level", "error", "--listen-client-urls", urls[0],
		"--advertise-client-urls", urls[0], "--listen-peer-urls", urls[1], "--initial-advertise-peer-urls", urls[1], "--initial-cluster", "default="+urls[1])
	if err := leash.Start(r.etcd, syscall.SIGKILL); err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	r.etcdAddr = urls[0][len("http://"):]
	for until := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		b, err := etcdboard.Open(context.Background(), "etcd://"+r.etcdAddr+"/bench", etcdboard.Config{})
		if err == nil || time.Now().After(until) {
			return b, err
		}
	}
}

// manyNodes measures cycles of submit, claim and finish on one queue, by one node with eight
// callers and by eight nodes with eight callers each.
func manyNodes(r *rig) figures {
	out := figures{"jobs": *jobs}
	for _, nodes := range []int{1, 8} {
		boards := make([]board.Board, nodes)
		for i := range boards {
			b, err := etcdboard.Open(context.Background(), "etcd://"+r.etcdAddr+"/bench", etcdboard.Config{})
			check(err)
			boards[i] = b
		}
		cpu, begun := selfCPU()+r.serverCPU(), time.Now()
		cycles(boards, *jobs)
		took := time.Since(begun)
		cpu = selfCPU() + r.serverCPU() - cpu
		of := fmt.Sprint("_", nodes)
		out["cycles_per_s"+of], out["ms_per_cycle"+of] = perSecond(*jobs, took), round(millis(took)/float64(*jobs))
		out["cpu_us_per_cycle"+of] = round(cpu * 1e6 / float64(*jobs))
		for _, b := range boards {
			check(b.Close())
		}
	}
	return out
}

// cycles has each of some nodes do so many of all with eight callers.
func cycles(nodes []board.Board, n int) {
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for i := range 8 * len(nodes) {
		wg.Go(func() {
			b, ctx := nodes[i%len(nodes)], context.Background()
			for k := left.Add(-1); k >= 0; k = left.Add(-1) {
				id := fmt.Sprint("job:", len(nodes), ":", k)
				batch := board.Batch{Space: 1}
				check(b.Commit(ctx, *batch.Absent(id).Set(id, board.Field{Name: "status", Value: "queued"}).Live(id, time.Now()).PushLeft("queue:v", id)))
				got, err := b.Claim(ctx, board.Ask{Queues: []board.Queue{{Lists: []string{"queue:v"}}}, Max: 1, Owner: "me", Lease: time.Minute, Wait: time.Minute})
				check(err)
				end := board.Batch{Space: 1}
				check(b.Commit(ctx, *end.Held(got[0].Item, "me", got[0].Token).Delete(got[0].Item)))
			}
		})
	}
	wg.Wait()
}
