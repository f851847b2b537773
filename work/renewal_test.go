package work_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// A runner that was away gets its own job back while the first attempt, which
// does not hear that it is to stop, still goes on.
func TestTheLeaseOfAJobThatCameBackToItsRunnerIsRenewed(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		inner := memboard.Open()
		defer inner.Close()
		faults := faultboard.New(inner, faultboard.Config{})
		deaf := newGoScript("go", 8)
		deaf.on("deaf", func(context.Context, script.Task, script.Host) script.Outcome {
			time.Sleep(30 * time.Second)
			return ok(nil)
		})
		r := by.startRig(t, faults, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a", Lease: 12 * time.Second}, deaf)
		defer r.stop()
		ctx, cancel := context.WithCancel(t.Context())
		var other sync.WaitGroup
		other.Go(func() { clockworkRun(ctx, inner, work.New(inner, work.Config{}), "n2/a") })
		defer func() { cancel(); other.Wait() }()
		r.submit(job(1, "deaf"))
		time.Sleep(time.Second)
		faults.Cut()
		time.Sleep(20 * time.Second)
		faults.Heal()
		j := r.want(1, domain.JobFinished, "")
		if j.Attempt != 2 || j.Losses != 1 {
			t.Errorf("it took %d attempts and lost %d leases, want 2 and 1", j.Attempt, j.Losses)
		}
	})
}
