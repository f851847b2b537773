package work_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// untilEnded closes done when want runs have ended.
type untilEnded struct {
	want int64
	n    atomic.Int64
	done chan struct{}
}

func (u *untilEnded) JobsClaimed(domain.ScriptType, int) {}

func (u *untilEnded) AttemptBegun(domain.TenantID, domain.ScriptType, bool, time.Duration) {}

func (u *untilEnded) LeaseLost(domain.ScriptType) {}

func (u *untilEnded) AttemptEnded(domain.TenantID, domain.ScriptType, domain.JobStatus, domain.Reason, time.Duration) {
	if u.n.Add(1) == u.want {
		close(u.done)
	}
}

// BenchmarkSubmitAndDrain is the engine's own cost of a job, on a board that
// costs little: submitted in batches, then run to the end.
func BenchmarkSubmitAndDrain(b *testing.B) {
	m := memboard.Open()
	defer m.Close()
	u := &untilEnded{want: int64(b.N), done: make(chan struct{})}
	e := work.New(m, work.Config{Observer: u})
	const batch = 1000
	for done := 0; done < b.N; done += batch {
		jobs := make([]*domain.Job, min(batch, b.N-done))
		for i := range jobs {
			jobs[i] = &domain.Job{CallerID: 1, Script: "ok", ScriptType: "go"}
		}
		if _, err := e.Submit(b.Context(), 1, jobs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "submit-ns/job")
	r := work.NewRunner(e, work.RunnerConfig{ID: 1, Owner: "b/1",
		Runtimes: []script.Runtime{newGoScript("go", script.InProcessSlots)}})
	ctx, stop := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = r.Run(ctx) })
	<-u.done
	stop()
	wg.Wait()
}
