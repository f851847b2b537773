package work_test

import (
	"context"
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

const (
	longJob  = 2 * time.Second
	shortJob = 100 * time.Millisecond
)

// timeRig is a node of some slots with jobs that take a long or a short time, the
// long ones those of [tenant], the short ones those of [other].
type timeRig struct {
	*rig
	used map[string]time.Duration // of slots, by the script's text; guarded by the script's mu
}

func newTimeRig(t *testing.T, slots int, rc work.RunnerConfig) *timeRig {
	b := memboard.Open()
	g := newGoScript("go", slots)
	r := &timeRig{used: map[string]time.Duration{}}
	for text, took := range map[string]time.Duration{"long": longJob, "short": shortJob} {
		g.on(text, func(context.Context, script.Task, script.Host) script.Outcome {
			time.Sleep(took)
			g.mu.Lock()
			defer g.mu.Unlock()
			r.used[text] += took
			return ok(nil)
		})
	}
	rc.ID, rc.Owner, rc.Several = 1, "n1/a", several
	r.rig = startRig(t, b, work.Config{}, rc, g)
	t.Cleanup(func() { r.stop(); b.Close() })
	return r
}

func (r *timeRig) weigh(in domain.TenantID, weight string) {
	r.Helper()
	b := board.Batch{Space: layout.SpaceOf(in)}
	if err := r.board.Commit(r.ctx, *b.Set(board.LimitsKey, board.Field{Name: "weight", Value: weight})); err != nil {
		r.Fatal(err)
	}
}

func (r *timeRig) backlog(in domain.TenantID, text string, n int) {
	r.Helper()
	var jobs []*domain.Job
	for i := range n {
		jobs = append(jobs, job(domain.JobID(i+1), text))
	}
	if _, err := r.engine.Submit(r.ctx, in, jobs); err != nil {
		r.Fatal(err)
	}
}

// shares wants the slot time of short jobs to be some times that of long ones.
func (r *timeRig) shares(times float64) {
	r.Helper()
	r.script.mu.Lock()
	defer r.script.mu.Unlock()
	long, short := r.used["long"], r.used["short"]
	want := time.Duration(times * float64(long))
	if slack := longJob + want/10; short < want-slack || short > want+slack {
		r.Errorf("the long jobs had %v of slots and the short ones %v, want %v", long, short, want)
	}
}

func TestSlotTimeIsSharedByWeight(t *testing.T) {
	for name, weight := range map[string]float64{"1": 1, "3": 3} {
		synctest.Test(t, func(t *testing.T) {
			r := newTimeRig(t, 1, work.RunnerConfig{})
			r.weigh(other, name)
			r.backlog(tenant, "long", 500)
			r.backlog(other, "short", 5000)
			time.Sleep(200 * time.Second)
			r.shares(weight)
		})
	}
}

// What a job has used so far counts while it runs.
func TestWhatRunsCountsForItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTimeRig(t, 2, work.RunnerConfig{PerContext: map[domain.ScriptType]int{"go": 2}})
		r.script.on("ages", func(context.Context, script.Task, script.Host) script.Outcome {
			time.Sleep(time.Minute)
			return ok(nil)
		})
		r.submit(job(1, "ages"))
		synctest.Wait()
		for i := range domain.JobID(300) {
			r.submit(job(10+i, "long"))
		}
		r.backlog(other, "short", 500)
		time.Sleep(50 * time.Second)
		r.script.mu.Lock()
		defer r.script.mu.Unlock()
		// One of two slots is theirs already: the other one's is the others'.
		if got := r.used["short"]; got < 45*time.Second {
			t.Errorf("the others had %v of 50s", got)
		}
	})
}

// A short job waits for the one that has the slot, and for nobody else of those who
// have had more of it.
func TestAShortJobWaitsForOneLongOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTimeRig(t, 1, work.RunnerConfig{})
		r.backlog(tenant, "long", 500)
		time.Sleep(time.Minute + time.Second/2)
		var last domain.JobID
		for range 200 { // a third of the slot, which is less than theirs
			last++
			if _, err := r.engine.Submit(r.ctx, other, []*domain.Job{job(last, "short")}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * shortJob)
		}
		time.Sleep(longJob)
		var worst time.Duration
		for id := range last {
			j, err := r.engine.Show(r.ctx, other, key(id+1))
			if err != nil {
				t.Fatal(err)
			}
			if j.StartedMs == 0 {
				t.Fatalf("job %d of %d, queued for %v, has not begun", id+1, last, time.Since(time.UnixMilli(j.QueuedMs)))
			}
			worst = max(worst, time.Duration(j.StartedMs-j.QueuedMs)*time.Millisecond)
		}
		// Those that came while a long one ran stand behind each other.
		if most := longJob + 10*shortJob; worst > most {
			t.Errorf("a short job waited for %v, want at most %v", worst, most)
		}
	})
}

// A context that had the slots while nobody wanted them owes nothing for that.
func TestNobodyOwesForWhatNobodyWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTimeRig(t, 1, work.RunnerConfig{})
		r.backlog(tenant, "long", 500)
		time.Sleep(10 * time.Minute)
		r.script.mu.Lock()
		clear(r.used)
		r.script.mu.Unlock()
		r.backlog(other, "short", 5000)
		time.Sleep(100 * time.Second)
		r.shares(1)
	})
}

// A node with one slot has jobs of the highest priority without end, each of which
// takes a second. One without a priority has its turn when it has waited a minute for
// each priority between; where priorities do not age, never.
func TestPrioritiesAge(t *testing.T) {
	for _, tt := range []struct {
		name  string
		aging time.Duration
		want  time.Duration // until it begins; 0: it does not
	}{
		{"by default", 0, 9 * time.Minute},
		{"as it is set", 10 * time.Second, 90 * time.Second},
		{"not at all", -1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newTimeRig(t, 1, work.RunnerConfig{Aging: tt.aging})
				r.script.on("second", func(context.Context, script.Task, script.Host) script.Outcome {
					time.Sleep(time.Second)
					return ok(nil)
				})
				high := func(j *domain.Job) { j.Priority = 9 }
				r.submit(job(1, "second", high), job(2, "second", high))
				synctest.Wait()
				r.submit(job(3, "short"))
				begun := time.Now()
				for id := domain.JobID(10); time.Since(begun) < 15*time.Minute; id++ {
					r.submit(job(id, "second", high))
					time.Sleep(time.Second)
				}
				j := r.show(3)
				if took := time.Duration(j.StartedMs-j.QueuedMs) * time.Millisecond; j.StartedMs == 0 && tt.want != 0 ||
					j.StartedMs != 0 && (tt.want == 0 || took < tt.want-5*time.Second || took > tt.want+5*time.Second) {
					t.Errorf("it began after %v (started at %d ms), want %v", took, j.StartedMs, tt.want)
				}
			})
		})
	}
}
