package work_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/work"
	"github.com/ramet-run/ramet/worker"
)

// Two thousand workers of one slot want what a cap lets a few of them have, and each tenth is
// killed at its first job. The cap holds at every instant, no attempt is given twice, and all
// jobs end, those of the dead by the attempt after.
func TestTwoThousandWorkers(t *testing.T) {
	const workers, jobs, most = 2000, 2000, 300
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		e := work.New(b, work.Config{})
		ways := straight(worksIn(t, b, e))
		limits := board.Batch{Space: layout.SpaceOf(tenant)}
		limits.Set(layout.Limits, layout.EncodeLimits(domain.Tenant{ID: tenant, MaxRunningByType: map[domain.ScriptType]int{"go": most}})...)
		if err := b.Commit(t.Context(), limits); err != nil {
			t.Fatal(err)
		}
		idle := startWith(t, b, e, work.NewRunner(e, work.RunnerConfig{ID: 1, Owner: "n1/a"}), "n1/a")
		crowd := &crowd{given: map[string]bool{}, board: b}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range workers {
			life, kill := context.WithCancel(context.Background())
			g := newGoScript("go", 1)
			g.on("work", func(ctx context.Context, task script.Task, _ script.Host) script.Outcome {
				if i%10 == 0 {
					kill()
				}
				crowd.begun(t, task, most)
				defer crowd.ended(task)
				select {
				case <-time.After(time.Duration(1+i%3) * time.Second):
				case <-ctx.Done():
				}
				return ok(nil)
			})
			all.Go(func() {
				_ = newWorker(until(life, ways), worker.Config{Name: fmt.Sprint("w", i), Slots: 1}, g).Run(ctx)
			})
		}
		for id := domain.JobID(1); id <= jobs; id++ {
			idle.submit(job(id, "work"))
		}
		again := 0
		for id := domain.JobID(1); id <= jobs; id++ {
			j := idle.want(id, domain.JobFinished, "")
			if again += j.Losses; j.Attempt != int64(j.Losses+1) || j.Failures != 0 {
				t.Errorf("job %d: %d attempts, %d losses, %d failures", id, j.Attempt, j.Losses, j.Failures)
			}
		}
		if again == 0 || again > workers/10 || crowd.most != most {
			t.Errorf("%d leases were lost, want some, at most %d; %d ran at once, want %d", again, workers/10, crowd.most, most)
		}
		stop()
		all.Wait()
		idle.stop()
		b.Close()
	})
}

// until is a way of a program that is killed when life ends: nothing comes through after.
func until(life context.Context, y way) way {
	return func(ctx context.Context, do func(context.Context, service.Caller) error) error {
		if life.Err() != nil {
			return domain.Unavailablef("killed")
		}
		return y(ctx, do)
	}
}

// crowd is who runs what.
type crowd struct {
	board board.Board

	mu    sync.Mutex
	given map[string]bool       // attempts that have begun
	now   map[string]board.Held // those under way
	most  int
}

// begun checks that an attempt is given for the first time, and that no more hold leases than may.
func (c *crowd) begun(t *testing.T, task script.Task, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := fmt.Sprintf("%s#%d", task.Name, task.Attempt)
	if c.given[name] {
		t.Errorf("%s was given twice", name)
	}
	c.given[name] = true
	if c.now == nil {
		c.now = map[string]board.Held{}
	}
	c.now[name] = board.Held{Item: task.Name, Token: task.Attempt}
	held := 0
	for _, h := range c.now {
		if l, is, _ := c.board.LeaseOf(context.Background(), layout.SpaceOf(tenant), h.Item); is && l.Token == h.Token {
			held++
		}
	}
	if c.most = max(c.most, held); held > most {
		t.Errorf("%d hold leases at once, the cap is %d", held, most)
	}
}

func (c *crowd) ended(task script.Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.now, fmt.Sprintf("%s#%d", task.Name, task.Attempt))
}
