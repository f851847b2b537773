package flow_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// audit is a round of the auditor.
func (r *rig) audit() domain.Audit {
	r.Helper()
	a, err := r.flows.Audit(r.ctx, tenant, 0)
	if err != nil {
		r.Fatal(err)
	}
	return a
}

// unaudited is a rig with the keeper's node only: nothing repairs what it forgets.
func unaudited(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := &rig{T: t, board: b, words: newWords(), ctx: t.Context()}
		if err := b.Commit(r.ctx, *new(board.Batch).Include(layout.Contexts, "1")); err != nil {
			t.Fatal(err)
		}
		r.work = work.New(b, work.Config{})
		r.flows = flow.New(b, r.work, flow.Config{})
		test(r)
	})
}

// run has a runner at work until the function is called.
func (r *rig) run(do func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(r.ctx)
	r.wg.Go(func() { do(ctx) })
	return func() { cancel(); r.wg.Wait() }
}

func (r *rig) runner(ctx context.Context) {
	_ = work.NewRunner(r.work, work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{r.words}, Grace: time.Second}).Run(ctx)
}

func (r *rig) keeper(ctx context.Context) { r.flows.Keep(ctx, "n1/a") }

// soon is want of a flow that must not take long: one that never ends fails
// the test in no time.
func (r *rig) soon(id domain.FlowID, reason domain.FlowReason, statuses ...string) domain.FlowView {
	r.Helper()
	for range 60 {
		if v, err := r.flows.Show(r.ctx, tenant, id); err != nil || v.Final() {
			break
		}
		time.Sleep(time.Second)
	}
	v := r.show(id)
	if v.Reason != reason {
		r.Fatalf("flow %d is %s %s (%s), want %s", id, v.Status, v.Reason, v.Error, reason)
	}
	r.wantSteps(v, statuses...)
	return v
}

func TestMoreHappensThanOneRoundTakesIn(t *testing.T) {
	t.Run("orders", func(t *testing.T) {
		unaudited(t, func(r *rig) {
			var steps []domain.Step
			for i := range 40 {
				steps = append(steps, domain.Step{Name: fmt.Sprint("a", i), Kind: domain.StepApproval})
			}
			id := r.steps(steps...)
			stop := r.run(r.keeper)
			synctest.Wait()
			b := board.Batch{Space: 1}
			for i := range 40 {
				b.PushLeft(layout.FlowOrders(id), fmt.Sprintf(`{"id":"o%d","by":9,"verb":"approve","step":"a%d"}`, i, i))
				b.Countdown(layout.FlowWaits(id), layout.WaitsArmed, queue.Keeper, layout.FlowState(id))
			}
			if err := r.board.Commit(r.ctx, b); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if v := r.show(id); v.Reason != domain.FlowSucceeded {
				t.Errorf("it is %s %s", v.Status, v.Reason)
			}
			stop()
		})
	})
	t.Run("ends of jobs", func(t *testing.T) {
		unaudited(t, func(r *rig) {
			var steps []domain.Step
			for i := range 2500 {
				steps = append(steps, step(fmt.Sprint("a", i), "", maySkip))
			}
			id := r.steps(steps...)
			for range 4 { // more than a thousand jobs of the flow are never queued at once
				stop := r.run(r.keeper)
				time.Sleep(time.Minute)
				stop()
				stop = r.run(r.runner)
				time.Sleep(time.Minute)
				stop()
			}
			if v := r.show(id); v.Reason != domain.FlowSucceeded {
				t.Errorf("it is %s %s, %s%%", v.Status, v.Reason, v.Progress)
			}
		})
	})
}

// noise is a text that does not become smaller.
func noise(n int) string {
	rnd := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%x", rnd.Uint64())
	}
	return b.String()[:n]
}

func TestWhatDoesNotFitOnTheRecordDoesNotHoldUpTheFlow(t *testing.T) {
	t.Run("a result that grows in JSON", func(t *testing.T) {
		eachPlan(t, func(r *rig, plan func(string) *domain.Blueprint) {
			p := plan("set x " + strings.Repeat("<", 120_000))
			p.Steps = p.Steps[:1]
			r.soon(r.submit(flow.Request{Plan: p}), domain.FlowSucceeded)
		})
	})
	t.Run("a setting that is no number", func(t *testing.T) {
		bubble(t, func(r *rig) {
			end := domain.Step{Name: "b", Script: "\n", ScriptType: "words", Needs: []string{"a"}, Pack: &domain.Pack{Size: 1}}
			id := r.steps(step("a", "set steps.b.pack.end "+noise(900_000)), end)
			v := r.soon(id, domain.FlowErrored, "b errored")
			if len(v.Error) > 2000 {
				t.Errorf("the error has %d bytes", len(v.Error))
			}
		})
	})
	t.Run("an order for a step with a very long name", func(t *testing.T) {
		bubble(t, func(r *rig) {
			id := r.steps(step("a", "gate x", maySkip))
			for range 3 {
				if err := r.act(id, flow.Order{Verb: flow.OrderSkip, Step: noise(700_000)}); err == nil {
					t.Error("it was done")
				}
			}
			close(r.words.gate("x"))
			r.soon(id, domain.FlowSucceeded)
		})
	})
}

func TestARoundMakesNoMoreThanFitsIntoOneBatch(t *testing.T) {
	steps := []domain.Step{step("z", "", shards(500, 500), phase(1))}
	for i := range 2_000 {
		steps = append(steps, domain.Step{Name: fmt.Sprint("a", i), Kind: domain.StepApproval})
	}
	state := flow.State{Steps: make([]flow.StepState, len(steps))}
	for i := range state.Steps {
		state.Steps[i].Status = domain.StepSucceeded
	}
	state.Steps[0].Status = domain.StepDormant
	// Each job is told of all steps of the phase before.
	_, d := flow.Advance(flow.NewPlan(blueprint(steps...)), state, flow.Facts{Now: time.Now()})
	if n := len(d.Make); n == 0 || n > 20 || !d.More {
		t.Errorf("it makes %d jobs, more %v", n, d.More)
	}
}

func TestARetryKeepsToTheWindow(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("a", "crashonce\nsleep 1s", shards(30, 3)), step("b", ""))
		r.soon(id, domain.FlowErrored)
		for v := r.show(id); v.Reason != domain.FlowSucceeded; v = r.wait(id) {
			r.words.mu.Lock()
			r.words.most = 0
			r.words.mu.Unlock()
			r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		}
		if r.words.most > 4 {
			t.Errorf("%d ran at once", r.words.most)
		}
	})
	bubble(t, func(r *rig) {
		id := r.submit(flow.Request{Plan: blueprint(step("a", "crashonce\nsleep 1s", shards(30, 3))), OnError: domain.OnErrorContinue})
		r.soon(id, domain.FlowErrored)
		r.words.mu.Lock()
		r.words.most = 0
		r.words.mu.Unlock()
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		r.soon(id, domain.FlowSucceeded)
		if r.words.most > 3 {
			t.Errorf("%d ran at once, the window is 3", r.words.most)
		}
	})
}

func TestAFlowThatStaysLongerIsRetriedAndPrunedLater(t *testing.T) {
	eachPlan(t, func(r *rig, plan func(string) *domain.Blueprint) {
		p := plan("crashonce\nsleep 50m")
		p.Retention = domain.Span(10 * 3600)
		p.UniqueAlive = true
		prune := func() {
			if _, err := r.work.Prune(r.ctx, tenant, time.Now().Add(-time.Hour)); err != nil {
				r.Fatal(err)
			}
		}
		id := r.submit(flow.Request{Plan: p, Trigger: "t"})
		r.want(id, domain.FlowErrored)
		time.Sleep(2 * time.Hour)
		prune()
		time.Sleep(7 * time.Hour) // it goes in less than half an hour
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		r.want(id, domain.FlowSucceeded)
		time.Sleep(2 * time.Hour)
		prune()
		if got := r.submit(flow.Request{Plan: p, Trigger: "t"}); got != id {
			r.Errorf("its name was given to another flow, %d", got)
		}
		time.Sleep(9 * time.Hour)
		prune()
		if keys := left(r.T, r.board); !slices.Equal(keys, []string{layout.Trimmed}) {
			r.Errorf("left are %v", keys)
		}
	})
}

func TestAFlowOfAForeignProgramIsRetriedWhateverItsOrder(t *testing.T) {
	bubble(t, func(r *rig) {
		r.seedJob("2001", "crashonce", "[]")
		r.seedJob("2002", "set y 2", "[2001]")
		r.seedJob("2003", "set z 3", "[2002]")
		r.seedFlow("33", "[2003,2002,2001]")
		r.lpush("job:12:2001")
		r.soon(33, domain.FlowErrored)
		r.mustAct(33, flow.Order{Verb: flow.OrderRetry})
		r.soon(33, domain.FlowSucceeded, "2001 succeeded", "2002 succeeded", "2003 succeeded")
	})
}

func TestAFlowOfAForeignProgramThatNamesAJobTwice(t *testing.T) {
	for name, dependends := range map[string]string{"with edges": "[2001]", "without": "[]"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.seedJob("2001", "", "[]")
				r.seedJob("2002", "", dependends)
				r.seedFlow("33", "[2001,2002,2001,2002]")
				r.lpush("job:12:2001")
				time.Sleep(5 * time.Second) // before any audit
				if v := r.show(33); v.Reason != domain.FlowSucceeded {
					t.Errorf("it is %s %s", v.Status, v.Reason)
				}
			})
		})
	}
}

func TestAFlowOfAForeignProgramThatNamesJobsOfAnother(t *testing.T) {
	bubble(t, func(r *rig) {
		r.seedJob("2001", "gate x", "[]")
		r.seedJob("2002", "gate y", "[]")
		r.seedFlow("33", "[2001]")
		r.lpush("job:12:2001")
		time.Sleep(2 * time.Second)
		r.seedFlow("34", "[2001,2002]")
		r.lpush("job:12:2002")
		time.Sleep(2 * time.Minute) // audits
		if a := r.audit(); len(a.Repaired) > 0 {
			t.Errorf("the audit found %v", a.Repaired)
		}
		r.mustAct(34, flow.Order{Verb: flow.OrderCancel})
		r.soon(34, domain.FlowCancelled)
		close(r.words.gate("x"))
		r.soon(33, domain.FlowSucceeded)
	})
}

func TestAFlowOfAForeignProgramThatNeverWasOneIsDeleted(t *testing.T) {
	bubble(t, func(r *rig) {
		r.seedJob("2001", "", "[2002]")
		r.seedJob("2002", "", "[2001]")
		r.seedFlow("33", "[2001,2002]")
		r.lpush("job:12:2001")
		r.soon(33, domain.FlowErrored)
		if err := r.act(33, flow.Order{Verb: flow.OrderRetry}); err == nil {
			t.Error("a retry of it was done")
		}
		r.mustAct(33, flow.Order{Verb: flow.OrderDelete})
		if _, err := r.flows.Show(r.ctx, tenant, 33); err == nil {
			t.Error("it is still there")
		}
	})
}

func TestFlowIdsThatAreTakenAreDrawnAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		for n := 1; n <= 3; n++ {
			r.hset("flow:"+strconv.Itoa(n), "id", "1", "caller_id", "12", "status", "finished", "jobs", "[]")
		}
		r.soon(r.steps(step("a", "")), domain.FlowSucceeded)
		var jobs []*domain.Job
		for i := range domain.JobID(300) {
			jobs = append(jobs, job(i+1, ""))
		}
		r.hset("flow:5", "id", "1", "caller_id", "12", "status", "finished", "jobs", "[]")
		r.soon(r.submit(flow.Request{Jobs: jobs}), domain.FlowSucceeded)
	})
}

func TestACounterThatIsWrongDoesNotEndAFlow(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.submit(flow.Request{Jobs: []*domain.Job{job(1, "gate x"), job(2, "sleep 1s")}})
		time.Sleep(time.Millisecond)
		// A job that a foreign program said was the flow's.
		b := board.Batch{Space: 1}
		b.Countdown(layout.FlowWaits(id), layout.WaitsPlain, queue.Keeper, layout.FlowState(id))
		if err := r.board.Commit(r.ctx, b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if v := r.show(id); v.Final() {
			t.Errorf("it is %s %s although a job runs", v.Status, v.Reason)
		}
		close(r.words.gate("x"))
		r.soon(id, domain.FlowSucceeded)
	})
}

func TestTheAuditFindsAnEndAmongManyOpenJobs(t *testing.T) {
	unaudited(t, func(r *rig) {
		id := r.steps(step("a", "", shards(600, 600)))
		stop := r.run(r.keeper)
		synctest.Wait()
		stop()
		v := r.show(id)
		// The last of them ended, and its entry was lost.
		b := board.Batch{Space: 1}
		b.Set(fmt.Sprint("job:1:", 600), board.Field{Name: layout.JobStatus, Value: "finished"},
			board.Field{Name: layout.JobFinishedMs, Value: strconv.FormatInt(time.Now().UnixMilli(), 10)})
		if err := r.board.Commit(r.ctx, b); err != nil || v.Steps[0].Open != 600 {
			t.Fatal(err, v.Steps[0].Open)
		}
		time.Sleep(time.Minute)
		if a := r.audit(); len(a.Repaired) != 1 {
			t.Errorf("got %+v, want one repair", a)
		}
	})
}

func TestALargeFlowComesBackFromTheArchiveAsItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newMemArchive()
		r := newRigOn(t, memboard.Open(), flow.Config{Records: a})
		steps := []domain.Step{step("a", "crashonce")}
		for i := range 400 {
			steps = append(steps, step(fmt.Sprint("b", i), "", phase(1), maySkip))
		}
		id := r.submit(flow.Request{Plan: blueprint(steps...), OnError: domain.OnErrorContinue})
		r.soon(id, domain.FlowErrored)
		time.Sleep(time.Second)
		a.putAway(r)
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		r.soon(id, domain.FlowSucceeded)
		if n := len(r.words.seen); n != 402 {
			t.Errorf("%d runs, want 402: each of 401 jobs, and one again", n)
		}
		r.stop()
	})
}

// A store that evicts keys took the flow's record: nobody but the auditor could say so.
func TestTheAuditTellsOfAFlowWhoseRecordIsGone(t *testing.T) {
	unaudited(t, func(r *rig) {
		key := domain.FlowKey(7)
		if err := r.board.Commit(r.ctx, *(&board.Batch{Space: layout.SpaceOf(tenant)}).Live(key, time.Now())); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		found := r.audit()
		if len(found.Stuck) != 1 || found.Stuck[0].Key != key || !strings.Contains(found.Stuck[0].Text, "record was gone") {
			t.Errorf("got %+v", found)
		}
		if again, err := r.work.Audit(r.ctx, tenant); err != nil || len(again.Stuck) != 1 || again.Stuck[0] != found.Stuck[0] {
			t.Errorf("told of again: got %+v, %v", again, err)
		}
	})
}

// What evicted the text of a flow's blueprint left a flow that nobody can move: explain and
// the audit say so, where they had only an error.
func TestAFlowWhoseBlueprintIsGoneIsStuck(t *testing.T) {
	for want, change := range map[string]func(b *board.Batch, plan string){
		"is gone from the board": func(b *board.Batch, plan string) { b.Delete(plan) },
		"cannot be read (the":    func(b *board.Batch, plan string) { b.Set(plan, board.Field{Name: layout.FlowPlanText, Value: "{"}) },
		"cannot be read (":       func(b *board.Batch, plan string) { b.Delete(plan).PushLeft(plan, "x") },
	} {
		unaudited(t, func(r *rig) {
			id := r.submit(flow.Request{Plan: blueprint(step("a", "", maySkip))})
			b := board.Batch{Space: layout.SpaceOf(tenant)}
			if change(&b, layout.FlowPlan(id)); r.board.Commit(r.ctx, b) != nil {
				t.Fatal("not changed")
			}
			time.Sleep(time.Minute)
			r.flows = flow.New(r.board, r.work, flow.Config{}) // a node that has not read it before
			want := "the text of its blueprint " + want
			x, err := r.flows.Explain(r.ctx, tenant, id)
			if err != nil || x.Outlook != domain.OutlookStuck || !strings.HasPrefix(x.Text, want) {
				t.Errorf("got %+v, %v, want that %s", x, err, want)
			}
			if found := r.audit(); len(found.Stuck) != 1 || !strings.HasPrefix(found.Stuck[0].Text, want) {
				t.Errorf("the audit: got %+v, want that %s", found, want)
			}
		})
	}
}

// lengths notes how long the flows took that have ended.
type lengths chan time.Duration

func (l lengths) FlowEnded(_ domain.FlowReason, took time.Duration) { l <- took }

// TestAFlowWhoseBeginIsUnknownHasNoDuration: another program has taken the field away.
func TestAFlowWhoseBeginIsUnknownHasNoDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(lengths, 1)
		r := newRigOn(t, memboard.Open(), flow.Config{Observer: ended})
		id := r.submit(flow.Request{Plan: blueprint(step("a", "gate never", maySkip))})
		time.Sleep(time.Minute)
		if err := r.board.Commit(r.ctx, *(&board.Batch{Space: layout.SpaceOf(tenant)}).Unset(domain.FlowKey(id), layout.FlowStartedMs)); err != nil {
			t.Fatal(err)
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderCancel})
		r.soon(id, domain.FlowCancelled)
		if took := <-ended; took != 0 {
			t.Errorf("got %v, want nothing", took)
		}
		r.stop()
	})
}

// A record where the ends of a flow's jobs would be listed is that flow's trouble: the
// audit names it, and goes on.
func TestAStrangeKeyKeepsNoOtherFlowFromItsAudit(t *testing.T) {
	unaudited(t, func(r *rig) {
		ids := []domain.FlowID{r.steps(step("a", "x", maySkip)), r.steps(step("a", "x", maySkip))}
		stop := r.run(r.keeper)
		time.Sleep(time.Second)
		stop()
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		b.Delete("job:1:1").Delete("job:1:2").Set(layout.FlowEnded(ids[0]), board.Field{Name: "a", Value: "b"})
		if err := r.board.Commit(r.ctx, b); err != nil {
			r.Fatal(err)
		}
		time.Sleep(time.Minute)
		found := r.audit()
		if len(found.Stuck) != 1 || found.Stuck[0].Key != domain.FlowKey(ids[0]) {
			r.Errorf("got %+v, want the first named", found.Stuck)
		}
		if len(found.Repaired) != 1 || found.Repaired[0].Key != domain.FlowKey(ids[1]) {
			r.Errorf("got %+v, want the other repaired", found.Repaired)
		}
	})
}
