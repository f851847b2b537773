package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

const (
	// schedules is how many there are, and scheduleSpread within how many
	// seconds they come: equally many at each full second.
	schedules      = 10_000
	scheduleSpread = 5
	// scheduleSetup is how long making them may take, and the quiet after it.
	scheduleSetup = 30 * time.Second
)

// oneStep is the blueprint of everything: one no-op job.
type oneStep struct{}

func (oneStep) Get(context.Context, domain.TenantID, string, int) (domain.Blueprint, string, error) {
	return domain.Blueprint{Name: "noop", Version: 1,
		Steps: []domain.Step{{Name: "noop", Script: "a payload of thirty-two bytes...", ScriptType: "noop"}}}, "noop", nil
}

// scheduleLateness measures how late schedules make their flows, from the
// instant until the flow is durable, and what they cost before.
func scheduleLateness(r *rig) figures {
	ctx, cancel := context.WithCancel(context.Background())
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s := clockwork.NewSchedules(r.board, flow.New(r.board, r.engine, flow.Config{Blueprints: oneStep{}}), log)
	begin := time.Now().Add(scheduleSetup).Truncate(time.Second)
	r.makeSchedules(s, begin)
	ready := time.Now()
	if ready.After(begin.Add(-5 * time.Second)) {
		check(fmt.Errorf("making %d schedules took more than %v", schedules, scheduleSetup-5*time.Second))
	}

	var mu sync.Mutex
	var late []time.Duration
	done := make(chan struct{})
	handle := func(ctx context.Context, a board.Alarm) (bool, error) {
		ours, err := s.HandleAlarm(ctx, a)
		mu.Lock()
		defer mu.Unlock()
		if late = append(late, time.Since(a.At)); ours && err == nil && len(late) == schedules {
			close(done)
		}
		return ours, err
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		check(clockwork.Run(ctx, r.board, clockwork.Config{Owner: "bench/1", Logger: log}, []clockwork.Maintenance{clockwork.Alarms(r.board, log, handle, nil)}))
	})
	r.stop = func() { cancel(); wg.Wait(); r.stop = func() {} }

	idle := selfCPU() + r.serverCPU()
	time.Sleep(time.Until(begin.Add(-time.Second)))
	idle = (selfCPU() + r.serverCPU() - idle) / time.Since(ready).Seconds()
	cpu := selfCPU() + r.serverCPU()
	<-done
	cpu = selfCPU() + r.serverCPU() - cpu
	slices.Sort(late)
	return figures{"schedules": schedules, "late_p50_ms": millis(percentile(late, .5)), "late_p99_ms": millis(percentile(late, .99)),
		"cpu_us_per_flow": round(cpu * 1e6 / schedules), "idle_cpu_pct": round(idle * 100)}
}

// makeSchedules makes them, each for one instant.
func (r *rig) makeSchedules(s *clockwork.Schedules, begin time.Time) {
	const callers = 64
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := c; i < schedules; i += callers {
				at := begin.Add(time.Duration(i%scheduleSpread) * time.Second)
				_, err := s.Apply(context.Background(), 1,
					domain.Schedule{Name: fmt.Sprint("s", i), Blueprint: "noop", At: []domain.Instant{domain.Instant(at.UnixMilli())}}, 1)
				check(err)
			}
		})
	}
	wg.Wait()
}
