package work_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// life is one life of a node. Its end is sudden: nothing is written any more.
type life struct {
	*rig
	mu    sync.Mutex
	begun []string // the jobs it has begun
	dead  chan struct{}
}

// live begins the n-th life of a node on a board. The script "poison" ends it.
func live(t *testing.T, inner *memboard.Board, n int) *life {
	l := &life{dead: make(chan struct{})}
	faults := faultboard.New(inner, faultboard.Config{})
	g := newGoScript("go", 8)
	die := sync.OnceFunc(func() { faults.Cut(); close(l.dead) })
	for name, takes := range map[string]time.Duration{"poison": time.Second, "harmless": 10 * time.Second} {
		g.on(name, func(ctx context.Context, task script.Task, _ script.Host) script.Outcome {
			l.mu.Lock()
			l.begun = append(l.begun, task.Name)
			l.mu.Unlock()
			select {
			case <-time.After(takes):
			case <-l.dead:
			case <-ctx.Done():
			}
			if name == "poison" {
				die()
			}
			select {
			case <-l.dead:
				<-ctx.Done()
			default:
			}
			return ok(nil)
		})
	}
	rc := work.RunnerConfig{ID: domain.RunnerID(n), Owner: fmt.Sprintf("n%d/a", n), Lease: 12 * time.Second}
	l.rig = startRig(t, faults, work.Config{MaxLosses: 3}, rc, g)
	return l
}

// A job that ends its node takes along those that run there with it, once. Then
// it is lost alone, until it is not run any more.
func TestAPoisonousJobTakesNobodyAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memboard.Open()
		defer inner.Close()
		first := live(t, inner, 1)
		for id := domain.JobID(1); id <= 7; id++ {
			first.submit(job(id, "harmless"))
		}
		first.submit(job(8, "poison"))
		<-first.dead
		first.stop()
		if len(first.begun) < 2 {
			t.Fatalf("the first node has run %v, want several at once", first.begun)
		}
		deaths, last := 1, live(t, inner, 2)
		defer func() { last.stop() }()
		for range 20 {
			select {
			case <-last.dead:
				last.stop()
				deaths++
				last = live(t, inner, deaths+1)
			case <-time.After(5 * time.Minute):
			}
		}
		if last.want(8, domain.JobError, domain.ReasonRunnerLost); deaths != 3 {
			t.Errorf("the poisonous job has ended %d nodes, want 3", deaths)
		}
		for id := domain.JobID(1); id <= 7; id++ {
			if j := last.show(id); j.Status != domain.JobFinished || j.Losses > 1 {
				t.Errorf("harmless job %d is %s with %d losses (%s), want finished with at most the one of the first node", id, j.Status, j.Losses, j.Reason)
			}
		}
	})
}
