package rhaiscript_test

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/rhaiscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

// Scripts that could take more together than there is run one after the other,
// also those of several runtimes.
func TestScriptsWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		cfg := rhaiscript.Config{MaxMemory: 32 << 20, Ceiling: rhaiscript.NewCeiling(96 << 20), Slots: 24, Extend: func(e *rhai.Engine) {
			e.Register(&value.Native{Name: "hold", Call: func(*value.Ctx, *value.Value, []value.Value) value.Value {
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				now--
				mu.Unlock()
				return value.Unit
			}})
		}}
		runtimes := []*rhaiscript.Runtime{rhaiscript.New(cfg), rhaiscript.New(cfg)}
		var wg sync.WaitGroup
		for i := range 24 {
			wg.Go(func() {
				out, err := runtimes[i%2].Run(t.Context(), script.Task{Name: fmt.Sprintf("job:1:%d", i+1), Script: "hold()"}, scripttest.NewHost())
				if err != nil || out.Verdict != script.Succeeded {
					t.Errorf("script %d: %v (%s), %v", i, out.Verdict, out.Error, err)
				}
			})
		}
		wg.Wait()
		if most != 3 {
			t.Errorf("%d scripts of 32 MiB ran at once, want 3 below 96 MiB", most)
		}
	})
}

// A script that waits for its turn can be told to stop, and one that may have
// more than there is, or has no limit, has it all.
func TestScriptsThatWaitCanBeStopped(t *testing.T) {
	for _, memory := range []int64{32 << 20, -1} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) { testScriptsThatWait(t, memory) })
	}
}

func testScriptsThatWait(t *testing.T, memory int64) {
	synctest.Test(t, func(t *testing.T) {
		r := rhaiscript.New(rhaiscript.Config{MaxMemory: memory, Slots: 2, Ceiling: rhaiscript.NewCeiling(16 << 20)})
		var wg sync.WaitGroup
		wg.Go(func() {
			if out, err := r.Run(t.Context(), script.Task{Script: "sleep(60)"}, scripttest.NewHost()); err != nil || out.Verdict != script.Succeeded {
				t.Errorf("the first: %v, %v", out, err)
			}
		})
		synctest.Wait()
		ctx, stop := context.WithCancelCause(t.Context())
		wg.Go(func() {
			if out, err := r.Run(ctx, script.Task{Script: "1"}, scripttest.NewHost()); err != nil || out.Verdict != script.Stopped {
				t.Errorf("the one that was stopped: %v, %v", out, err)
			}
		})
		synctest.Wait()
		stop(script.ErrCancelled)
		wg.Wait()
	})
}

func TestTheCollectorIsLimited(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	was := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(was)
	rhaiscript.LimitProcess()
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 || limit < 512<<20 {
		t.Errorf("the limit is %d", limit)
	}
	debug.SetMemoryLimit(1 << 30)
	if rhaiscript.LimitProcess(); debug.SetMemoryLimit(-1) != 1<<30 {
		t.Error("a limit that somebody has set was changed")
	}
}
