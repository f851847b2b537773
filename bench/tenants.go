package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/node"
)

// This file measures what contexts cost in which nothing happens.

// tenantSizes are how many there are.
var tenantSizes = []int{1, 10_000, 100_000}

const (
	// tenantWalk is within what time a node that has started looks at a thousand of them
	// for the first time, and tenantQuiet for how long it is measured then: a round of each
	// routine is in it.
	tenantWalk  = 700 * time.Millisecond
	tenantQuiet = time.Minute
)

// tenantCost measures a node with nothing to do: its start, and its processor time once
// it has looked at every context. More contexts than -n are left out.
func tenantCost(r *rig) figures {
	out := figures{}
	var first float64
	there := 0
	for _, n := range tenantSizes {
		if n > *jobs {
			break
		}
		r.quietTenants(there, n)
		there = n
		check(r.board.Close())
		cpu, begun := selfCPU(), time.Now()
		stop := r.startNode()
		size := "_" + strconv.Itoa(n)
		out["start_ms"+size], out["start_cpu_ms"+size] = millis(time.Since(begun)), round((selfCPU()-cpu)*1e3)
		cpu = selfCPU()
		time.Sleep(tenantQuiet/6 + time.Duration(n/1_000)*tenantWalk)
		out["first_look_cpu_s"+size] = round(selfCPU() - cpu)
		cpu, begun = selfCPU(), time.Now()
		time.Sleep(tenantQuiet)
		idle := (selfCPU() - cpu) / time.Since(begun).Seconds() * 100
		out["idle_cpu_pct"+size] = round(idle)
		if first == 0 {
			first = idle
		}
		out["cost_ratio"] = round(idle / first)
		stop()
	}
	return out
}

// quietTenants makes the contexts from one number to another.
func (r *rig) quietTenants(from, to int) {
	const callers = 256
	var wg sync.WaitGroup
	ids := make(chan int)
	for range callers {
		wg.Go(func() {
			for id := range ids {
				r.admit(domain.TenantID(id))
				var b board.Batch
				check(r.board.Commit(context.Background(), *b.Include(layout.Contexts, strconv.Itoa(id))))
			}
		})
	}
	for id := from + 1; id <= to; id++ {
		ids <- id
	}
	close(ids)
	wg.Wait()
}

// startNode opens the board anew and starts a node on it that archives and runs jobs.
// It returns what ends the node.
func (r *rig) startNode() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	r.board, err = pebbleboard.Open(r.dir, pebbleboard.Config{})
	check(err)
	r.board, err = encrypted(r.board, *encrypt)
	check(err)
	archive, err := sqlitearchive.Open(ctx, filepath.Join(r.dir, "archive.db"), sqlitearchive.Config{})
	check(err)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	n, err := node.New(ctx, r.board, node.Config{Name: "bench", DataDir: filepath.Join(r.dir, "node"), Archive: archive, Logger: log})
	check(err)
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	return func() {
		cancel()
		check(<-done)
		check(archive.Close())
	}
}
