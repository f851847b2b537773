package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// orders puts orders on the board at once, so that one round finds them all.
func (r *rig) orders(id domain.FlowID, texts ...string) {
	r.Helper()
	b := board.Batch{Space: 1}
	for i, text := range texts {
		b.PushLeft(layout.FlowOrders(id), strings.Replace(text, "{", `{"id":"x`+strconv.Itoa(i)+`","by":9,`, 1))
	}
	b.Countdown(layout.FlowWaits(id), layout.WaitsArmed, queue.Keeper, layout.FlowState(id))
	if err := r.board.Commit(r.ctx, b); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
}

func (r *rig) nothingLeft() {
	r.Helper()
	if keys := left(r.T, r.board); len(keys) > 0 {
		r.Errorf("left are %v", keys)
	}
}

// plans are a flow of steps and a plain one that end alike.
var plans = map[string]func(text string) *domain.Blueprint{
	"plain": func(text string) *domain.Blueprint { return blueprint(step("a", text), step("b", "", needs("a"))) },
	"stepped": func(text string) *domain.Blueprint {
		return blueprint(step("a", text, maySkip), step("b", "", needs("a")))
	},
}

func eachPlan(t *testing.T, test func(r *rig, plan func(text string) *domain.Blueprint)) {
	for name, plan := range plans {
		t.Run(name, func(t *testing.T) { bubble(t, func(r *rig) { test(r, plan) }) })
	}
}

func TestAnEndIsToldOnce(t *testing.T) {
	eachPlan(t, func(r *rig, plan func(string) *domain.Blueprint) {
		id := r.submit(flow.Request{Plan: plan("crash")})
		v := r.want(id, domain.FlowErrored)
		time.Sleep(time.Minute)
		for _, o := range []flow.Order{{Verb: flow.OrderCancel}, {Verb: flow.OrderApprove, Step: "a"}, {Verb: flow.OrderSkip, Step: "b"}} {
			if err := r.act(id, o); err == nil {
				r.Errorf("%s of an ended flow was done", o.Verb)
			}
		}
		if now := r.show(id); now.FinishedMs != v.FinishedMs || now.Reason != v.Reason {
			r.Errorf("it ended at %d as %s, now at %d as %s", v.FinishedMs, v.Reason, now.FinishedMs, now.Reason)
		}
		listed, err := r.board.List(r.ctx, 1, layout.Finished, 0, 100)
		if err != nil {
			r.Fatal(err)
		}
		if n := strings.Count(strings.Join(listed, ","), v.Key()); n != 1 {
			r.Errorf("the flow is listed as ended %d times: %v", n, listed)
		}
	})
}

func TestARetryBearsWithClocksThatDiffer(t *testing.T) {
	eachPlan(t, func(r *rig, plan func(string) *domain.Blueprint) {
		id := r.submit(flow.Request{Plan: plan("crashonce")})
		v := r.want(id, domain.FlowErrored)
		// The node that ran it is an hour ahead.
		ahead := time.Now().Add(time.Hour).UnixMilli()
		b := board.Batch{Space: 1}
		b.Set(v.Steps[0].Job, board.Field{Name: layout.JobFinishedMs, Value: strconv.FormatInt(ahead, 10)})
		if err := r.board.Commit(r.ctx, b); err != nil {
			r.Fatal(err)
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		r.want(id, domain.FlowSucceeded)
	})
}

func TestADeleteAfterARetryIsDone(t *testing.T) {
	eachPlan(t, func(r *rig, plan func(string) *domain.Blueprint) {
		id := r.submit(flow.Request{Plan: plan("crash")})
		r.want(id, domain.FlowErrored)
		r.orders(id, `{"verb":"retry"}`, `{"verb":"delete"}`)
		time.Sleep(time.Minute)
		r.nothingLeft()
	})
}

func TestNothingBringsADeletedFlowBack(t *testing.T) {
	eachPlan(t, func(r *rig, plan func(string) *domain.Blueprint) {
		id := r.submit(flow.Request{Plan: plan("crashonce")})
		r.want(id, domain.FlowErrored)
		r.orders(id, `{"verb":"delete"}`, `{"verb":"retry"}`, `{"verb":"skip","step":"a"}`)
		time.Sleep(time.Minute)
		r.nothingLeft()
		id = r.submit(flow.Request{Plan: plan("gate never")})
		r.orders(id, `{"verb":"delete"}`)
		if err := r.act(id, flow.Order{Verb: flow.OrderCancel}); err != nil && !errors.Is(err, domain.ErrNotFound) &&
			!strings.Contains(err.Error(), "being deleted") {
			r.Error(err)
		}
		time.Sleep(time.Minute)
		r.nothingLeft()
	})
}

func TestADeleteLeavesNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("a", "set params.x 1"), step("one", "", shards(1, 1)), step("s", "failshard 3", shards(20, 4), needs("a")),
			step("p", "", packs(10, 0, 99)))
		p.OnError, p.UniqueAlive = domain.OnErrorContinue, true
		id := r.submit(flow.Request{Plan: p, Trigger: "t"})
		other := r.steps(step("s", "", shards(5, 5)))
		r.want(id, domain.FlowFailed)
		r.want(other, domain.FlowSucceeded)
		r.mustAct(id, flow.Order{Verb: flow.OrderDelete})
		time.Sleep(time.Minute)
		jobs := 0
		for _, key := range left(r.T, r.board) {
			if strings.HasPrefix(key, layout.JobPrefix) {
				jobs++
			}
		}
		if v := r.show(other); jobs != 5 || v.Steps[0].Done != 5 {
			r.Errorf("%d jobs are left, want the other flow's 5", jobs)
		}
		r.mustAct(other, flow.Order{Verb: flow.OrderDelete})
		time.Sleep(time.Minute)
		r.nothingLeft()
	})
}

// TestADeleteOutlivesItsKeeper lets the keeper's commits fail from the n-th of
// the removal on.
func TestADeleteOutlivesItsKeeper(t *testing.T) {
	for name, plan := range plans {
		for n := range 2 {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var watched atomic.Bool
					var commits atomic.Int32
					f := faultboard.New(memboard.Open(), faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
						if c.Name != "commit" || !watched.Load() {
							return nil
						}
						if k := int(commits.Add(1)); k > n+1 && k < n+4 {
							return domain.Unavailablef("away")
						}
						return nil
					}})
					r := newRigOn(t, f, flow.Config{})
					id := r.submit(flow.Request{Plan: plan("crash")})
					r.want(id, domain.FlowErrored)
					time.Sleep(10 * time.Minute)
					watched.Store(true)
					if _, err := r.flows.Act(r.ctx, tenant, id, flow.Order{Verb: flow.OrderDelete, By: 9}); err != nil {
						t.Logf("act: %v", err)
					}
					time.Sleep(10 * time.Minute)
					if commits.Load() < int32(n+3) {
						t.Errorf("only %d commits were made", commits.Load())
					}
					r.nothingLeft()
					r.stop()
				})
			})
		}
	}
}

// TestTheLastEndIsSeenThoughAKeeperHoldsTheFlow lets the last job end just
// before the keeper, which looks at another, lets go of the flow: the entry in
// the queue by which that end tells keepers is lost.
func TestTheLastEndIsSeenThoughAKeeperHoldsTheFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		var once sync.Once
		f := faultboard.New(memboard.Open(), faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
			if c.Batch != nil && slices.ContainsFunc(c.Batch.Ops, func(op board.Op) bool { return op.Kind == board.OpRelease && op.Key == layout.FlowState(1) }) {
				once.Do(func() {
					close(r.words.gate("go"))
					time.Sleep(time.Second)
				})
			}
			return nil
		}})
		r = newRigOn(t, f, flow.Config{})
		p := blueprint(step("a", "fail"), step("b", "gate go"))
		p.OnError = domain.OnErrorContinue
		v := r.want(r.submit(flow.Request{Plan: p}), domain.FlowFailed, "b succeeded")
		if late := v.FinishedMs - v.StartedMs; late > 2000 {
			t.Errorf("it ended after %d ms", late)
		}
		r.stop()
	})
}

// TestABoardThatIsFullForNowEndsNoFlow has one that takes nothing for some commits,
// as Redis at its maxmemory.
func TestABoardThatIsFullForNowEndsNoFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Int32
		f := faultboard.New(memboard.Open(), faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
			if c.Batch != nil && slices.ContainsFunc(c.Batch.Ops, func(op board.Op) bool { return op.Key == layout.FlowState(1) }) && full.Add(-1) >= 0 {
				return domain.Exhaustedf("at its maxmemory")
			}
			return nil
		}})
		r := newRigOn(t, f, flow.Config{})
		id := r.submit(flow.Request{Plan: blueprint(step("a", "gate go"), step("b", "", needs("a")))})
		time.Sleep(time.Second)
		full.Store(4) // one with others, three alone: then it is given up for what is in it
		close(r.words.gate("go"))
		time.Sleep(10 * time.Minute)
		r.want(id, domain.FlowSucceeded, "a succeeded", "b succeeded")
		r.stop()
	})
}

func TestAnOrderSaysNoMoreThanFits(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(approval("ok"))
		time.Sleep(time.Second) // its keeper has let go of it
		before := all(t, r.board)
		if err := r.act(id, flow.Order{Verb: flow.OrderApprove, Step: "ok",
			Text: strings.Repeat("x", domain.MaxSummaryBytes+1)}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("got %v", err)
		}
		if after := all(t, r.board); len(after) != len(before) {
			t.Errorf("keys: %v, before %v", after, before)
		}
	})
}

func TestAFlowOfManyStepsFitsOnItsRecord(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("first", "gate go", maySkip))
		for i := range 6500 {
			p.Steps = append(p.Steps, step(fmt.Sprint("s", i), "", needs("first")))
		}
		id := r.submit(flow.Request{Plan: p})
		time.Sleep(time.Second)
		r.mustAct(id, flow.Order{Verb: flow.OrderCancel})
		v := r.want(id, domain.FlowCancelled, "first errored", "s0 skipped_by_error", "s6499 skipped_by_error")
		if v.Steps[77].EndMs == 0 {
			t.Errorf("got %+v", v.Steps[77])
		}
	})
}

func TestALargeFlowSparesJobsWhoseIdsItDrew(t *testing.T) {
	bubble(t, func(r *rig) {
		mine := job(250, "")
		if got, err := r.work.Submit(r.ctx, tenant, []*domain.Job{mine}); err != nil || got[0].Err != nil {
			t.Fatal(got, err)
		}
		var jobs []*domain.Job
		for i := range domain.JobID(400) {
			jobs = append(jobs, job(i+1, ""))
		}
		id := r.submit(flow.Request{Jobs: jobs})
		v := r.want(id, domain.FlowSucceeded)
		if v.Jobs[0] <= 250 {
			t.Errorf("its jobs begin at %d", v.Jobs[0])
		}
		time.Sleep(5 * time.Minute) // the first try is swept
		if j, err := r.work.Show(r.ctx, tenant, domain.JobKey{Caller: 1, ID: 250}); err != nil || j.Status != domain.JobFinished {
			t.Errorf("the job with the id 250: %+v, %v", j, err)
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderDelete})
		time.Sleep(5 * time.Minute)
		if keys := left(t, r.board); len(keys) != 1 || keys[0] != "job:1:250" {
			t.Errorf("left are %v", keys)
		}
	})
}

func TestAWriterThatDiesInTheMiddleLeavesNothing(t *testing.T) {
	for n := 1; n < 6; n++ {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				var watched atomic.Bool
				var parts atomic.Int32
				f := faultboard.New(memboard.Open(), faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
					if c.Name != "commit" || !watched.Load() || ctx.Err() != nil {
						return nil
					}
					if int(parts.Add(1)) > n {
						cancel() // and what would clean up is gone too
						return domain.Unavailablef("away")
					}
					return nil
				}})
				r := newRigOn(t, f, flow.Config{})
				q := flow.Request{Caller: 1, Plan: blueprint(), Trigger: "t"}
				for i := range 900 {
					q.Plan.Steps = append(q.Plan.Steps, step(fmt.Sprint("s", i), ""))
				}
				watched.Store(true)
				got, err := r.flows.Submit(ctx, tenant, []flow.Request{q})
				if err == nil {
					err = got[0].Err
				}
				if !errors.Is(err, domain.ErrUnavailable) && !errors.Is(err, context.Canceled) {
					t.Fatalf("submit: got %v after %d commits", err, parts.Load())
				}
				time.Sleep(2 * time.Minute)
				r.nothingLeft()
				if n := len(r.words.runs); n > 0 {
					t.Errorf("%d jobs of it ran", n)
				}
				// The name is free.
				q.Plan = blueprint(step("a", ""))
				r.want(r.submit(q), domain.FlowSucceeded)
				r.stop()
			})
		})
	}
}
