package rhaiscript_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/rhaiscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

// Jobs of one script that wait side by side, as those do that remember steps, have a program each:
// those that come after them find these, however few processors there are.
func TestProgramsOfJobsThatWaitedAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs = 100
		var prepared atomic.Int64
		r := rhaiscript.New(rhaiscript.Config{MaxMemory: 1 << 20, Ceiling: rhaiscript.NewCeiling(jobs << 20), Slots: jobs, Extend: func(e *rhai.Engine) {
			prepared.Add(1)
			e.Register(&value.Native{Name: "hold", Call: func(*value.Ctx, *value.Value, []value.Value) value.Value {
				time.Sleep(time.Second)
				return value.Unit
			}})
		}})
		for round := 1; round <= 3; round++ {
			var wg sync.WaitGroup
			for i := range jobs {
				wg.Go(func() {
					out, err := r.Run(t.Context(), script.Task{Name: fmt.Sprintf("job:1:%d", i+1), Script: "hold()"}, scripttest.NewHost())
					if err != nil || out.Verdict != script.Succeeded {
						t.Errorf("script %d: %v (%s), %v", i, out.Verdict, out.Error, err)
					}
				})
			}
			wg.Wait()
			if got := prepared.Load(); got != jobs {
				t.Fatalf("after round %d the script was compiled %d times, want %d", round, got, jobs)
			}
		}
	})
}

// Of many scripts those used last are kept.
func TestProgramsOfOldScriptsGo(t *testing.T) {
	prepared := 0
	r := rhaiscript.New(rhaiscript.Config{Extend: func(*rhai.Engine) { prepared++ }})
	run := func(text string) {
		t.Helper()
		if out, err := r.Run(t.Context(), script.Task{Name: "job:1:1", Script: text}, scripttest.NewHost()); err != nil || out.Verdict != script.Succeeded {
			t.Fatalf("%s: %v (%s), %v", text, out.Verdict, out.Error, err)
		}
	}
	const scripts = 1000
	for i := range scripts {
		run(fmt.Sprint(i))
	}
	if run(fmt.Sprint(scripts - 1)); prepared != scripts {
		t.Errorf("the script used last was compiled again")
	}
	if run("0"); prepared != scripts+1 {
		t.Errorf("the script used longest ago was kept beside %d others", scripts-1)
	}
}
