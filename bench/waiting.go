package main

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
)

// waitingSizes are how many jobs wait for a prerequisite.
var waitingSizes = []int{1_000, 10_000, 100_000}

// waitingCPU measures what a node does while jobs wait for something that does not come,
// from the moment that each was looked at once. More than -n are left out.
func waitingCPU(prerequisite string) func(r *rig) figures {
	return func(r *rig) figures {
		out := figures{}
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		var looks, first atomic.Int64 // all, and the first of each job
		var seen sync.Map
		log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		alarms := clockwork.Alarms(r.board, log, func(ctx context.Context, a board.Alarm) (bool, error) {
			ours, err := r.engine.HandleAlarm(ctx, a)
			looks.Add(1)
			if _, again := seen.LoadOrStore(a.Name, true); !again {
				first.Add(1)
			}
			return ours, err
		}, nil)
		wg.Go(func() {
			check(clockwork.Run(ctx, r.board, clockwork.Config{Owner: "bench/1", Logger: log}, []clockwork.Maintenance{alarms}))
		})
		submitted := 0
		for _, n := range waitingSizes {
			if n > *jobs {
				break
			}
			for submitted < n {
				list := make([]*domain.Job, min(n-submitted, 1_000))
				for i := range list {
					list[i] = &domain.Job{CallerID: 1, ScriptType: "noop", Script: "x", Prerequisites: []string{prerequisite}, PrerequisiteTimeout: 3600}
				}
				r.submit(1, list)
				submitted += len(list)
			}
			for first.Load() < int64(n) {
				time.Sleep(10 * time.Millisecond)
			}
			const while = 20 * time.Second
			before, cpu := looks.Load(), selfCPU()
			time.Sleep(while)
			out["cpu_pct_"+strconv.Itoa(n)] = round((selfCPU() - cpu) / while.Seconds() * 100)
			out["looks_per_s_"+strconv.Itoa(n)] = round(float64(looks.Load()-before) / while.Seconds())
		}
		cancel()
		wg.Wait()
		return out
	}
}
