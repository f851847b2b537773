package flow_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/watched"
)

// begun is how many runs have begun.
func (r *rig) begun() (n int) {
	r.words.mu.Lock()
	defer r.words.mu.Unlock()
	return len(r.words.seen)
}

// A flow of three steps, which a keeper moves on, beside ten large ones of its context:
// at its first step it waits for what they have in the queue, which is two to four windows
// of one of them and would be ten, and for its others it does not wait again. Keepers that
// look at the same time do not see what each of them adds, which made it seven in one of
// a hundred runs: the bound is between that and ten.
func TestASmallFlowIsNotHeldUpByLargeOnes(t *testing.T) {
	watched.Large(t)
	const window, slots, large = 200, 64, 10
	fan := func() []domain.Step {
		steps := []domain.Step{step("root", "")}
		for i := range 1500 {
			steps = append(steps, step(fmt.Sprint("s", i), "sleep 1s", needs("root")))
		}
		steps[1].MayFail = true
		return steps
	}()
	for name, tt := range map[string]struct {
		steps []domain.Step
		most  int // that begin before it ends
	}{
		"shards": {[]domain.Step{step("s", "sleep 1s", shards(1000, window))}, large*window*3/4 + 5*slots},
		"packs":  {[]domain.Step{step("s", "sleep 1s", packs(1, 0, 999), func(s *domain.Step) { s.Pack.Window = window })}, large*window*3/4 + 5*slots},
		"fans":   {fan, large*domain.MaxWindow/2 + 5*slots},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				for range large {
					r.steps(tt.steps...)
				}
				time.Sleep(5500 * time.Millisecond)
				before := r.begun()
				id := r.steps(step("a", "sleep 1s"), step("b", "sleep 1s", needs("a")), step("c", "sleep 1s", needs("b"), mayFail))
				r.want(id, domain.FlowSucceeded)
				if n := r.begun() - before; n > tt.most {
					t.Errorf("%d jobs began before it ended, want at most %d", n, tt.most)
				}
				if n := r.begun(); n < slots*5 {
					t.Errorf("%d jobs have begun of %d slots in %v", n, slots, 5*time.Second)
				}
			})
		})
	}
}

// The same where nobody but their own jobs moves the flows on: a page of each large one is
// in the queue, and a window of all together.
func TestASmallPlainFlowIsNotHeldUpByLargeOnes(t *testing.T) {
	watched.Large(t)
	const slots, large, jobs, page = 64, 5, 1000, 300
	for name, root := range map[string]bool{"roots": false, "followers of one": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				var ids []domain.FlowID
				for range large {
					var steps []domain.Step
					for i := range jobs {
						s := step(fmt.Sprint("s", i), "sleep 1s")
						if root && i > 0 {
							s.Needs = []string{"s0"}
						}
						steps = append(steps, s)
					}
					ids = append(ids, r.steps(steps...))
				}
				time.Sleep(5500 * time.Millisecond)
				before := r.begun()
				id := r.steps(step("a", "sleep 1s"), step("b", "sleep 1s", needs("a")), step("c", "sleep 1s", needs("b")))
				r.want(id, domain.FlowSucceeded)
				if n, most := r.begun()-before, domain.MaxWindow+large*page+5*slots; n > most {
					t.Errorf("%d jobs began before it ended, want at most %d", n, most)
				}
				begun := time.Now()
				for _, id := range ids {
					r.want(id, domain.FlowSucceeded)
				}
				if took, most := time.Since(begun), time.Duration(large*jobs/slots+10)*time.Second; took > most {
					t.Errorf("the large ones took %v more, want at most %v: slots stood idle", took, most)
				}
			})
		})
	}
}

// A plain flow whose first jobs wait for room is neither lost nor deaf.
func TestAPlainFlowThatWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var ids []domain.FlowID
		for range 3 {
			var steps []domain.Step
			for i := range 800 {
				steps = append(steps, step(fmt.Sprint("s", i), "sleep 20s"))
			}
			ids = append(ids, r.steps(steps...))
		}
		time.Sleep(150 * time.Second)
		for _, audit := range []func() (domain.Audit, error){
			func() (domain.Audit, error) { return r.flows.Audit(t.Context(), tenant, 0) },
			func() (domain.Audit, error) { return r.work.Audit(t.Context(), tenant) },
		} {
			if got, err := audit(); err != nil || len(got.Stuck)+len(got.Repaired) > 0 {
				t.Errorf("got %+v, %v, want nothing found", got, err)
			}
		}
		if x, err := r.flows.Explain(t.Context(), tenant, ids[2]); err != nil || x.Standing != domain.StandingWorking {
			t.Errorf("got %s: %s, %v, want that it works", x.Standing, x.Text, err)
		}
		r.mustAct(ids[0], flow.Order{Verb: flow.OrderCancel})
		r.want(ids[0], domain.FlowCancelled)
		for _, id := range ids[1:] {
			r.want(id, domain.FlowSucceeded)
		}
		if n := r.begun(); n < 1600 || n >= 2400 {
			t.Errorf("%d jobs began, want those of two flows and some of one", n)
		}
	})
}

// Large flows beside each other come on alike, and as fast as there are slots.
func TestLargeFlowsShareTheirQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var ids []domain.FlowID
		for range 5 {
			ids = append(ids, r.steps(step("s", "sleep 1s", shards(1000, 200))))
		}
		const seconds = 60
		time.Sleep(seconds*time.Second + time.Second/2)
		for _, id := range ids {
			if done, want := r.show(id).Steps[0].Done, int64(64*seconds/5); done < want*2/3 || done > want*4/3 {
				t.Errorf("flow %d has done %d, want about %d", id, done, want)
			}
		}
		if n := r.begun(); n < 64*seconds {
			t.Errorf("%d jobs began, and there were slots for %d", n, 64*seconds)
		}
	})
}

func TestAWindowShrinksWhileManyWait(t *testing.T) {
	for _, tt := range []struct{ window, queued, want int }{
		{50, 0, 50}, {50, 50, 50}, {50, 51, 48}, {50, 100, 12}, {50, 1000, 10}, {1, 1000, 1}, {1000, 1500, 444}, {1000, 1 << 40, 200},
	} {
		if got := flow.Narrowed(tt.window, tt.queued); got != tt.want {
			t.Errorf("a window of %d while %d wait: got %d, want %d", tt.window, tt.queued, got, tt.want)
		}
	}
}
