package work_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// other is a second context, beside [tenant].
const other = domain.TenantID(2)

// shareRig is a node of four slots whose jobs end when they are told to.
type shareRig struct {
	*rig
	end chan struct{} // each receive ends one job

	mu      sync.Mutex
	running map[string]int // by the script's text
	most    int            // of "hold" at once
}

func newShareRig(t *testing.T, rc work.RunnerConfig) *shareRig {
	b := memboard.Open()
	r := &shareRig{end: make(chan struct{}), running: map[string]int{}}
	g := newGoScript("go", 4)
	for _, text := range []string{"hold", "theirs"} {
		g.on(text, func(ctx context.Context, _ script.Task, _ script.Host) script.Outcome {
			r.count(text, 1)
			defer r.count(text, -1)
			select {
			case <-r.end:
			case <-ctx.Done():
			}
			return ok(nil)
		})
	}
	rc.ID, rc.Owner = 1, "n1/a"
	r.rig = startRig(t, b, work.Config{}, rc, g)
	about := domain.Runner{ID: 1, Node: "n1", SeenMs: time.Now().Add(time.Hour).UnixMilli(), Serves: []domain.Service{{ScriptType: "go", Served: true}}}
	record := board.Batch{}
	if err := b.Commit(t.Context(), *record.Set(about.Key(), layout.EncodeRunner(about)...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.stop(); b.Close() })
	return r
}

func (r *shareRig) count(text string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[text] += n
	if text == "hold" {
		r.most = max(r.most, r.running[text])
	}
}

// submitIn submits one job and returns when all that can begin has begun.
func (r *shareRig) submitIn(in domain.TenantID, id domain.JobID, text string) {
	r.Helper()
	receipts, err := r.engine.Submit(r.ctx, in, []*domain.Job{job(id, text)})
	if err != nil || receipts[0].Err != nil {
		r.Fatal(err, receipts)
	}
	synctest.Wait()
}

func (r *shareRig) runs(text string, want int) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[text] != want {
		r.Errorf("%d of %q run, want %d", r.running[text], text, want)
	}
}

// explains wants an answer for a job to have all of some texts, and none of others.
func (r *shareRig) explains(in domain.TenantID, id domain.JobID, want string, not ...string) {
	r.Helper()
	x, err := r.engine.Explain(r.ctx, in, key(id))
	if err != nil || !strings.Contains(x.Text, want) {
		r.Errorf("context %d: got %+v, %v, want %q", in, x, err, want)
	}
	for _, text := range not {
		if strings.Contains(x.Text, text) {
			r.Errorf("context %d is told %q: %s", in, text, x.Text)
		}
	}
}

func several() bool { return true }

// One context has more jobs than there are slots, and none of them ends. Another
// one's job runs all the same, and the first goes on with one of its own for each
// that ends.
func TestOneContextLeavesASlotToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newShareRig(t, work.RunnerConfig{Several: several})
		for id := range domain.JobID(8) {
			r.submitIn(tenant, id+1, "hold")
		}
		r.runs("hold", 3)
		r.explains(tenant, 8, "its context holds 3 of the 4 slots for go, and may hold 3")
		r.submitIn(other, 1, "ok")
		if j, err := r.engine.Show(r.ctx, other, key(1)); err != nil || j.Status != domain.JobFinished {
			t.Errorf("the job of the other context: got %+v, %v", j, err)
		}
		for range 5 {
			r.end <- struct{}{}
			synctest.Wait()
			r.runs("hold", 3)
		}
		r.submitIn(other, 2, "theirs")
		r.submitIn(other, 3, "theirs")
		r.runs("theirs", 1)
		r.explains(other, 3, "all slots for go (4) are taken by jobs of 2 contexts", "context 1")
		if r.most != 3 {
			t.Errorf("%d at once, want 3", r.most)
		}
	})
}

// A node has a runner of its own for a type that came to work later.
func TestSlotsOfSeveralRunnersAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newShareRig(t, work.RunnerConfig{Several: several})
		for range 4 {
			later := work.NewRunner(r.engine, work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{newGoScript("later", 1)}})
			ctx, cancel := context.WithCancel(r.ctx)
			done := make(chan error, 1)
			go func() { done <- later.Run(ctx) }()
			defer func() { cancel(); <-done }()
		}
		for id := range domain.JobID(5) {
			r.submitIn(tenant, id+1, "hold")
		}
		r.explains(tenant, 5, "its context holds 3 of the 4 slots for go, and may hold 3")
	})
}

func TestAContextAloneHasAllSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newShareRig(t, work.RunnerConfig{})
		for id := range domain.JobID(5) {
			r.submitIn(tenant, id+1, "hold")
		}
		r.runs("hold", 4)
		r.explains(tenant, 5, "all slots for go (4) are taken by jobs of its own context")
		r.submitIn(other, 1, "theirs")
		r.explains(other, 1, "all slots for go (4) are taken by jobs of 1 context", "own")
		r.end <- struct{}{}
		synctest.Wait()
		r.explains(tenant, 5, "it is the next in queue:go")
	})
}

// Where the operator says how many, no context has more, whoever else there is.
func TestSlotsForEachContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newShareRig(t, work.RunnerConfig{PerContext: map[domain.ScriptType]int{"go": 2}})
		var jobs []*domain.Job
		for id := range domain.JobID(6) {
			jobs = append(jobs, job(id+1, "hold"))
		}
		r.submit(jobs...) // all at once: one claim could bring four
		synctest.Wait()
		r.runs("hold", 2)
		r.submitIn(other, 1, "theirs")
		r.submitIn(other, 2, "theirs")
		r.submitIn(other, 3, "theirs")
		r.runs("theirs", 2)
		if r.most != 2 {
			t.Errorf("%d at once, want 2", r.most)
		}
	})
}
