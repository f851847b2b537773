package flow_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// repeat is a step that is run again.
func repeat(until string, most int, every domain.Span) func(*domain.Step) {
	return func(s *domain.Step) { s.Repeat = &domain.Repeat{Until: until, Max: most, Every: every} }
}

func TestAStepIsRunAgainUntilSomethingHolds(t *testing.T) {
	bubble(t, func(r *rig) {
		begun := time.Now()
		v := r.want(r.steps(step("first", "set enough 3"),
			step("poll", "count n", repeat("parse_int(result.n) >= parse_int(needs.first.result.enough)", 10, 30), needs("first")),
			step("after", "need poll n", needs("poll"))), domain.FlowSucceeded, "poll succeeded", "after succeeded")
		if v.Result["poll.n"] != "3" || v.Result["after.got"] != "3" {
			t.Errorf("the result is %v, want that of the third round", v.Result)
		}
		if took := time.Since(begun); took < time.Minute || took > 2*time.Minute {
			t.Errorf("three rounds with pauses of 30 s took %s", took)
		}
		if s := v.Steps[1]; s.Round != 3 || s.Rounds != 10 || s.RoundMs != 0 || s.Done != 1 || s.Progress != 1 {
			t.Errorf("the step is shown as %+v", s)
		}
		if n := r.words.ran("poll"); n != 3 {
			t.Errorf("it was run %d times", n)
		}
	})
}

// TestHowRepeatedStepsEnd has each end that a step may come to which is run again.
func TestHowRepeatedStepsEnd(t *testing.T) {
	never := "false"
	for name, tc := range map[string]struct {
		step   domain.Step
		reason domain.FlowReason
		status string
		text   string
		times  int
	}{
		"at once": {step("s", "set a 1", repeat(`result.a == "1"`, 5, 30)), domain.FlowSucceeded, "succeeded", "", 1},
		"after its last": {step("s", "count n", repeat(never, 3, 0)), domain.FlowFailed, "failed",
			"it was repeated until false, which did not hold after 3 rounds", 3},
		"accepted":          {step("s", "count n", repeat(never, 2, 5), mayFail), domain.FlowSucceeded, "failed_accepted", "it was repeated until false", 2},
		"its script fails":  {step("s", "fail no luck", repeat(never, 3, 0)), domain.FlowFailed, "failed", "no luck", 1},
		"by its number":     {step("s", "count n", repeat("round >= 2 && result.n == round.to_string()", 5, 0)), domain.FlowSucceeded, "succeeded", "", 2},
		"no yes or no":      {step("s", "set a 1", repeat("result.a", 3, 0)), domain.FlowErrored, "errored", "repeat.until: it is a text, want true or false", 1},
		"it cannot be told": {step("s", "set a x", repeat("parse_int(result.a) > 1", 3, 0)), domain.FlowErrored, "errored", "repeat.until: ", 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				v := r.want(r.steps(tc.step), tc.reason, "s "+tc.status)
				if s := v.Steps[0]; !strings.HasPrefix(s.Text, tc.text) || s.RoundMs != 0 {
					t.Errorf("it says %q, want %q; %+v", s.Text, tc.text, s)
				}
				if n := r.words.ran("s"); n != tc.times {
					t.Errorf("it was run %d times, want %d", n, tc.times)
				}
			})
		})
	}
}

// TestBetweenTwoRoundsNothingIsHeld, and it is said what the flow waits for, and until when.
func TestBetweenTwoRoundsNothingIsHeld(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("poll", "count n", repeat(`result.n == "2"`, 5, 3600)), step("last", "", needs("poll")))
		time.Sleep(time.Minute)
		v := r.show(id)
		if s := v.Steps[0]; s.Status != domain.StepRunning || s.Open != 0 || s.Round != 1 || s.RoundMs == 0 || s.Progress != 0 || r.words.running() != 0 {
			t.Errorf("it is shown as %+v, and %d jobs run", s, r.words.running())
		}
		x, err := r.flows.Explain(r.ctx, tenant, id)
		if err != nil || x.Standing != domain.StandingDelayed || x.NextMs != v.Steps[0].RoundMs || !slices.Equal(x.WaitsFor, []string{"step poll"}) ||
			!strings.Contains(x.Text, "step poll is between two rounds: round 2 of 5 begins at ") {
			t.Errorf("got %+v, %v", x, err)
		}
		if a := r.audit(); len(a.Stuck)+len(a.Repaired) > 0 {
			t.Errorf("an audit found %+v", a)
		}
		r.want(id, domain.FlowSucceeded, "last succeeded")
	})
}

// TestALostAlarmOfARoundIsMended by the auditor.
func TestALostAlarmOfARoundIsMended(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("poll", "count n", repeat(`result.n == "2"`, 5, 3600)))
		time.Sleep(time.Minute + time.Second/3) // no audit, which would mend it at once, is at that instant
		if err := r.board.Commit(r.ctx, *(&board.Batch{Space: layout.SpaceOf(tenant)}).ClearAlarm(layout.FlowAlarm(layout.AlarmFlow, id))); err != nil {
			t.Fatal(err)
		}
		if x, err := r.flows.Explain(r.ctx, tenant, id); err != nil || x.Standing != domain.StandingStuck {
			t.Errorf("got %+v, %v, want one that is stuck", x, err)
		}
		r.want(id, domain.FlowSucceeded, "poll succeeded")
	})
}

// TestWhatPeopleAskOfARepeatedStep is done between two rounds as at any time.
func TestWhatPeopleAskOfARepeatedStep(t *testing.T) {
	t.Run("cancel", func(t *testing.T) {
		bubble(t, func(r *rig) {
			id := r.steps(step("poll", "count n", repeat("false", 5, 3600)))
			time.Sleep(time.Minute)
			r.mustAct(id, flow.Order{ID: "c", Verb: flow.OrderCancel})
			v := r.soon(id, domain.FlowCancelled, "poll errored")
			if got := v.Steps[0].Text; got != "the flow was ended after round 1 of it, before false held" {
				t.Errorf("it says %q", got)
			}
		})
	})
	t.Run("pause", func(t *testing.T) {
		bubble(t, func(r *rig) {
			id := r.steps(step("poll", "count n", repeat(`result.n == "2"`, 5, 60)))
			time.Sleep(10 * time.Second)
			if err := r.flows.Pause(r.ctx, tenant, id, true); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			if n := r.words.ran("poll"); n != 1 {
				t.Errorf("it was run %d times, although it is paused", n)
			}
			x, err := r.flows.Explain(r.ctx, tenant, id)
			if err != nil || x.Standing != domain.StandingPaused || !slices.Equal(x.WaitsFor, []string{"step poll"}) {
				t.Errorf("got %+v, %v: the job of the round before has ended", x, err)
			}
			if err := r.flows.Pause(r.ctx, tenant, id, false); err != nil {
				t.Fatal(err)
			}
			r.soon(id, domain.FlowSucceeded, "poll succeeded")
		})
	})
	t.Run("retry of one that was never enough begins at the first round", func(t *testing.T) {
		bubble(t, func(r *rig) {
			id := r.steps(step("poll", "count n", repeat("parse_int(result.n) == 5", 3, 10)), step("last", "", needs("poll")))
			r.want(id, domain.FlowFailed, "poll failed", "last skipped_by_failure")
			r.mustAct(id, flow.Order{ID: "r", Verb: flow.OrderRetry, Failed: true})
			time.Sleep(time.Second)
			v := r.want(id, domain.FlowSucceeded, "poll succeeded", "last succeeded")
			if v.Steps[0].Round != 2 || r.words.ran("poll") != 5 {
				t.Errorf("it is in round %d, and was run %d times", v.Steps[0].Round, r.words.ran("poll"))
			}
		})
	})
	t.Run("retry of one that was never enough does not begin on top of what it has added", func(t *testing.T) {
		bubble(t, func(r *rig) {
			id := r.steps(step("init", "set params.acc 0\nset params.other 1"), step("loop", "sum acc\nsum own", repeat("false", 3, 10), needs("init")))
			want := "map[params.acc:6 params.other:1 params.own:6]"
			for n := range 3 {
				if v := r.want(id, domain.FlowFailed, "loop failed"); fmt.Sprint(v.Added) != want || r.words.ran("loop") != 3*(n+1) {
					t.Errorf("after %d runs it has added %v, want %s", r.words.ran("loop"), v.Added, want)
				}
				r.mustAct(id, flow.Order{ID: fmt.Sprint("r", n), Verb: flow.OrderRetry, Failed: true})
				time.Sleep(time.Second)
			}
			r.wait(id)
		})
	})
	t.Run("retry of one that was cancelled between two rounds begins the next", func(t *testing.T) {
		bubble(t, func(r *rig) {
			id := r.steps(step("init", "set params.acc 0"), step("loop", "sum acc", repeat("round >= 6", 6, 60), needs("init")),
				step("sum", "param acc", needs("loop")))
			time.Sleep(3*time.Minute + 30*time.Second)
			if n := r.words.ran("loop"); n != 4 {
				t.Fatalf("it was run %d times, want 4", n)
			}
			r.mustAct(id, flow.Order{ID: "c", Verb: flow.OrderCancel})
			r.soon(id, domain.FlowCancelled, "init succeeded", "loop errored")
			r.mustAct(id, flow.Order{ID: "r", Verb: flow.OrderRetry})
			time.Sleep(time.Second)
			v := r.want(id, domain.FlowSucceeded, "loop succeeded", "sum succeeded")
			if n := r.words.ran("loop"); n != 6 || v.Steps[1].Round != 6 || v.Result["sum.acc"] != "21" {
				t.Errorf("it was run %d times, to round %d, and the result is %v", n, v.Steps[1].Round, v.Result)
			}
		})
	})
	t.Run("retry of a round that crashed goes on with it", func(t *testing.T) {
		bubble(t, func(r *rig) {
			id := r.steps(step("poll", "crashonce\ncount n", repeat("parse_int(result.n) >= 3", 4, 10)))
			v := r.want(id, domain.FlowErrored, "poll errored")
			for v.Reason == domain.FlowErrored {
				r.mustAct(id, flow.Order{ID: fmt.Sprint("r", r.words.ran("poll")), Verb: flow.OrderRetry})
				time.Sleep(time.Second)
				v = r.wait(id)
			}
			if v.Reason != domain.FlowSucceeded || v.Steps[0].Round != 2 {
				t.Errorf("got %s in round %d", v.Reason, v.Steps[0].Round)
			}
		})
	})
}

// rounds is a step that is run three times, and knows its rounds.
func rounds() domain.Step {
	return step("poll", "round", repeat(`result.round == "3"`, 5, 10))
}

// TestARepeatedStepComesBackFromTheArchive with the result of its last round, and a rerun that
// begins with it begins with its first.
func TestARepeatedStepComesBackFromTheArchive(t *testing.T) {
	s := newMemArchive()
	bubbleWith(t, flow.Config{Names: s, Records: s}, func(r *rig) {
		id := r.submit(flow.Request{Plan: blueprint(rounds(), step("last", "crashonce\nneed poll round", needs("poll")))})
		r.want(id, domain.FlowErrored, "poll succeeded", "last errored")
		time.Sleep(time.Minute)
		s.putAway(r)
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		v := r.want(id, domain.FlowSucceeded, "poll succeeded", "last succeeded")
		if v.Result["last.got"] != "3" || v.Steps[0].Round != 3 || r.words.ran("poll") != 3 {
			t.Errorf("the result is %v, after %d rounds, of which %d were run", v.Result, v.Steps[0].Round, r.words.ran("poll"))
		}
		time.Sleep(time.Minute)
		s.putAway(r)
		v = r.want(r.rerun(id, flow.Rerun{From: "last"}), domain.FlowErrored, "poll succeeded", "last errored")
		if r.words.ran("poll") != 3 {
			t.Error("what was taken over was run")
		}
		v = r.want(r.rerun(id, flow.Rerun{From: "poll", Trigger: "from-poll"}), domain.FlowErrored, "poll succeeded", "last errored")
		if v.Steps[0].Round != 3 || r.words.ran("poll") != 6 {
			t.Errorf("it came to round %d, and was run %d times", v.Steps[0].Round, r.words.ran("poll"))
		}
	})
}

// TestARepeatedStepLeavesNothing of any of its rounds, whether its flow is deleted or goes by its age.
func TestARepeatedStepLeavesNothing(t *testing.T) {
	for name, gone := range map[string]func(*rig, *memArchive, domain.FlowID){
		"deleted": func(r *rig, _ *memArchive, id domain.FlowID) { r.mustAct(id, flow.Order{Verb: flow.OrderDelete}) },
		"pruned":  func(r *rig, s *memArchive, _ domain.FlowID) { s.putAway(r) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemArchive()
			bubbleWith(t, flow.Config{Names: s, Records: s}, func(r *rig) {
				id := r.steps(rounds(), step("never", "", needs("poll"), repeat("false", 2, 5)))
				r.want(id, domain.FlowFailed, "poll succeeded", "never failed")
				r.mustAct(id, flow.Order{Verb: flow.OrderRetry, Failed: true})
				time.Sleep(time.Second)
				r.want(id, domain.FlowFailed, "never failed")
				time.Sleep(time.Minute)
				gone(r, s, id)
				time.Sleep(time.Minute)
				for _, prefix := range []string{"flow:", "job:", "ramet:flow:", "ramet:logs:"} {
					if keys, _, err := r.board.Keys(r.ctx, 1, prefix, "", 100); len(keys) > 0 || err != nil {
						t.Errorf("there is still %v, %v", keys, err)
					}
				}
			})
		})
	}
}

// TestAFlowIsRepeated: each round makes another, and nothing stays behind.
func TestAFlowIsRepeated(t *testing.T) {
	within(t, newCatalog(named("child", nil, step("c", "count n"))), func(r *rig) {
		id := r.steps(call("poll", "child", nil, repeat(`result["c.n"] == "3"`, 10, 60)), step("last", "need poll c.n", needs("poll")))
		v := r.want(id, domain.FlowSucceeded, "poll succeeded", "last succeeded")
		if v.Result["last.got"] != "3" || r.words.ran("c") != 3 || v.Steps[0].Round != 3 {
			t.Errorf("got %v after %d runs, %+v", v.Result, r.words.ran("c"), v.Steps[0])
		}
	})
}

// TestAnAbortLetsARoundFinish and begins no other.
func TestAnAbortLetsARoundFinish(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("poll", "sleep 10s\ncount n", repeat(`result.n == "2"`, 5, 0)), step("bad", "sleep 1s\nfail no"))
		r.want(id, domain.FlowFailed, "poll failed", "bad failed")
		if n := r.words.ran("poll"); n != 1 {
			t.Errorf("it was run %d times", n)
		}
	})
}

// TestRoundsAreMadeOnce on a board that refuses commits, and loses its answers to others: whatever
// a keeper knows of the one before, there are three jobs of a step, and three flows of another; and of each flow that is made once, one.
func TestRoundsAreMadeOnce(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := faultyKeeper(t, seed, newCatalog(named("child", nil, step("c", ""))))
				defer r.stop()
				v := r.want(r.steps(step("poll", "set params.n 1", repeat(`params.n == "1" && false`, 3, 30), mayFail),
					call("flow", "child", nil, repeat("false", 3, 0), mayFail), call("once", "child", nil),
					call("two", "child", nil, each("[1, 2]", 0))), domain.FlowSucceeded)
				if v.Steps[0].Round != 3 || v.Steps[1].Round != 3 {
					t.Errorf("the steps are shown as %+v", v.Steps)
				}
				jobs, _, err1 := r.board.Keys(r.ctx, 1, "job:", "", 1000)
				flows, _, err2 := r.board.Keys(r.ctx, 1, "flow:", "", 1000)
				if len(jobs) != 9 || len(flows) != 7 || err1 != nil || err2 != nil {
					t.Errorf("there are the jobs %v and the flows %v, want nine and seven", jobs, flows)
				}
			})
		})
	}
}

// faultyKeeper is a node of which the keeper's commits are refused now and then, and their answers
// lost.
func faultyKeeper(t *testing.T, seed uint64, s *catalog) *rig {
	under := memboard.Open()
	ctx, cancel := context.WithCancel(t.Context())
	r := &rig{T: t, board: under, words: newWords(), ctx: t.Context(), cancel: cancel}
	if err := under.Commit(r.ctx, *new(board.Batch).Include(layout.Contexts, "1")); err != nil {
		t.Fatal(err)
	}
	r.work = work.New(under, work.Config{})
	r.flows = flow.New(under, r.work, flow.Config{Blueprints: s})
	faults := faultboard.New(under, faultboard.Config{Seed: seed, Refuse: 0.2, Lose: 0.2})
	keeper := flow.New(faults, work.New(faults, work.Config{}), flow.Config{Blueprints: s})
	log := slog.New(slog.DiscardHandler)
	r.wg.Go(func() { r.runner(ctx) })
	r.wg.Go(func() { keeper.Keep(ctx, "n2/a") })
	r.wg.Go(func() {
		_ = clockwork.Run(ctx, under, clockwork.Config{Owner: "n1/a"}, []clockwork.Maintenance{clockwork.Alarms(under, log, r.flows.HandleAlarm, nil),
			clockwork.Leases(under, log, r.flows.RecoverLease)})
	})
	t.Cleanup(func() { under.Close() })
	return r
}
