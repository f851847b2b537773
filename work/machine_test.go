package work_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
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

// A node that can start no scripts keeps no job, loses none, and goes on by itself.
func TestAFaultOfTheMachineIsNoJobsLoss(t *testing.T) {
	for _, fault := range []error{errors.New("the interpreter is gone"), syscall.ENOSPC, domain.Unavailablef("no process")} {
		t.Run(fault.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memboard.Open()
				defer b.Close()
				e, g := work.New(b, work.Config{}), newGoScript("go", 8)
				runner := work.NewRunner(e, work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{g}})
				r := startWith(t, b, e, runner, "n1/a")
				defer r.stop()
				g.breaks(fault)
				const jobs = 20
				for id := range domain.JobID(jobs) {
					r.submit(job(id+1, "ok"))
				}
				time.Sleep(time.Hour)
				runs := 0
				for id := range domain.JobID(jobs) {
					runs += g.count(key(id + 1))
					if j := r.show(id + 1); j.Status != domain.JobDispatched || j.Losses != 0 || j.LeaseOwner != "" {
						t.Fatalf("while it lasts: got %s, %d losses, held by %q, want it in the queue", j.Status, j.Losses, j.LeaseOwner)
					}
				}
				if runs > 80 { // a batch, then one at a time with pauses up to a minute
					t.Errorf("it was tried %d times in an hour", runs)
				}
				about := []domain.Service{{ScriptType: "go", Served: true}}
				if runner.Tell(about); about[0].Served || !strings.Contains(about[0].Why, fault.Error()) {
					t.Errorf("got %+v, want it unserved, with the reason", about[0])
				}
				g.breaks(nil)
				for id := range domain.JobID(jobs) {
					if j := r.want(id+1, domain.JobFinished, ""); j.Losses != 0 {
						t.Errorf("got %d losses", j.Losses)
					}
				}
				about[0] = domain.Service{ScriptType: "go", Served: true}
				if runner.Tell(about); !about[0].Served {
					t.Errorf("mended: got %+v", about[0])
				}
			})
		})
	}
}

// silentBoard does not answer some reads.
type silentBoard struct {
	board.Board
	silent func(key string) bool
}

func (b silentBoard) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	if slices.ContainsFunc(keys, b.silent) {
		return nil, domain.Unavailablef("the board gives no answer")
	}
	return b.Board.Get(ctx, space, keys...)
}

// A board that is away while jobs are prepared is no fault of theirs either, unless it is
// so for one of them alone.
func TestABoardThatDoesNotAnswerIsNoJobsLoss(t *testing.T) {
	for _, tt := range []struct {
		name   string
		silent func(key string) bool
		lost   bool // the first job, in the end
	}{
		{"for all", func(k string) bool { return strings.HasPrefix(k, "ramet:checkpoint:") }, false},
		{"for one job alone", func(k string) bool { return k == layout.Checkpoint(key(1)) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := memboard.Open()
				defer inner.Close()
				var away atomic.Bool
				b := silentBoard{inner, func(k string) bool { return away.Load() && tt.silent(k) }}
				g := newGoScript("go", 8)
				r := startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, g)
				defer r.stop()
				g.on("twice", func(_ context.Context, t script.Task, _ script.Host) script.Outcome {
					if t.Attempt == 1 {
						away.Store(true)
						return script.Outcome{Verdict: script.Errored, Error: "the first time"}
					}
					return script.Outcome{Verdict: script.Succeeded}
				})
				const jobs = 10
				for id := range domain.JobID(jobs) { // an attempt after the first reads what the one before has saved
					r.submit(job(id+1, "twice", retries(1)))
				}
				for range 60 {
					if tt.lost { // others are begun meanwhile
						r.submit(job(0, "ok"))
					}
					time.Sleep(time.Minute)
				}
				if !tt.lost {
					for id := range domain.JobID(jobs) {
						if j := r.show(id + 1); j.Status == domain.JobError || j.Losses != 0 {
							t.Fatalf("while it lasts: got %s, %d losses", j.Status, j.Losses)
						}
					}
					away.Store(false)
				}
				for id := range domain.JobID(jobs) {
					if tt.lost && id == 0 {
						r.want(1, domain.JobError, domain.ReasonRunnerLost)
					} else if j := r.want(id+1, domain.JobFinished, ""); j.Losses != 0 {
						t.Errorf("job %d: got %d losses", id+1, j.Losses)
					}
				}
			})
		})
	}
}

func TestASecondNodeGetsWhatTheFirstCannotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		broken := newGoScript("go", 8)
		broken.breaks(syscall.ENOSPC)
		r := startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, broken)
		defer r.stop()
		other := startRig(t, b, work.Config{}, work.RunnerConfig{ID: 2, Owner: "n2/a"}, newGoScript("go", 8))
		defer other.stop()
		begun := time.Now()
		for id := range domain.JobID(50) {
			r.submit(job(id+1, "ok"))
		}
		for id := range domain.JobID(50) {
			if j := r.want(id+1, domain.JobFinished, ""); j.Losses != 0 {
				t.Errorf("got %d losses", j.Losses)
			}
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A job that alone cannot be started ends, and holds up no other.
func TestAJobThatAloneCannotBeStartedEnds(t *testing.T) {
	for _, poison := range []string{"too large", "unavailable"} {
		t.Run(poison, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, work.Config{})
				r.submit(job(1, poison), job(2, "ok"), job(3, "ok"))
				r.want(2, domain.JobFinished, "")
				r.want(3, domain.JobFinished, "")
				for id := domain.JobID(10); r.show(1).FinishedMs == 0 && id < 100; id++ {
					r.submit(job(id, "ok"))
					r.want(id, domain.JobFinished, "")
					time.Sleep(time.Minute)
				}
				r.want(1, domain.JobError, domain.ReasonRunnerLost)
			})
		})
	}
}
