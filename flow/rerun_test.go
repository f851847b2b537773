package flow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

func (r *rig) rerun(id domain.FlowID, q flow.Rerun) domain.FlowID {
	r.Helper()
	q.Caller = 1
	made, err := r.flows.Rerun(r.ctx, tenant, id, q)
	if err != nil {
		r.Fatal(err)
	}
	return made.ID
}

// TestAFlowIsRunAgainFromAStep: what that step does not come before is taken over, but for
// what did not end well, what needs it, and later phases.
func TestAFlowIsRunAgainFromAStep(t *testing.T) {
	bubble(t, func(r *rig) {
		r.cfg = flow.Config{}
		p := blueprint(step("a", "set x 1"), step("b", "need a x", needs("a")), step("c", "need b got", needs("b")), step("other", "crash"),
			step("after", "set y 1", needs("other")), step("clean", "set z 1", phase(1)), step("s", "", shards(3, 3)),
			step("e", "item v", func(s *domain.Step) { s.Each = "[1, 2]" }),
			step("g", "results e v", needs("e", "b")))
		p.OnError = domain.OnErrorContinue
		id := r.submit(flow.Request{Plan: p, Trigger: "t"})
		r.want(id, domain.FlowErrored, "a succeeded", "c succeeded", "other errored", "after skipped_by_error", "clean succeeded", "e succeeded", "s succeeded")
		again := r.rerun(id, flow.Rerun{From: "b"})
		v := r.want(again, domain.FlowErrored, "a succeeded", "b succeeded", "c succeeded", "other errored", "clean succeeded", "e succeeded",
			"s succeeded", "g succeeded")
		jobs := map[string]bool{}
		for _, s := range v.Steps {
			jobs[s.Name] = s.Job != "" || len(s.Units) > 0
		}
		for name, want := range map[string]bool{"a": false, "b": true, "c": true, "other": true, "clean": true, "g": true, "s": false, "e": false} {
			if jobs[name] != want {
				t.Errorf("step %s has a job of its own: %v, want %v", name, jobs[name], want)
			}
		}
		if v.Result["b.got"] != "1" || v.Result["g.got"] != "1@0 2@1" || v.Result["e.results"] == "" || v.Result["a.x"] != "1" {
			t.Errorf("result %v", v.Result)
		}
		if v.RerunOf != id || r.show(id).RerunBy != again || v.Trigger == "t" || v.Trigger == "" {
			t.Errorf("links: %d is of %d, which is by %d; trigger %q", again, v.RerunOf, r.show(id).RerunBy, v.Trigger)
		}
		if a := r.audit(); len(a.Repaired)+len(a.Stuck) > 0 {
			t.Errorf("audit: %+v", a)
		}
		// Asked twice in the same second it is one flow, and under one ticket too.
		if once := r.rerun(id, flow.Rerun{Trigger: "u"}); once != r.rerun(id, flow.Rerun{Trigger: "u"}) {
			t.Error("there are two")
		}
		if one := r.rerun(id, flow.Rerun{Ticket: "x"}); one == r.rerun(id, flow.Rerun{Ticket: "y", From: "b"}) || one != r.rerun(id, flow.Rerun{Ticket: "x"}) {
			t.Error("requests with keys of their own share a flow, or one request has two")
		}
		if once := r.rerun(id, flow.Rerun{Trigger: "v", Ticket: "x2"}); once != r.rerun(id, flow.Rerun{Trigger: "w", Ticket: "x2"}) {
			t.Error("there are two")
		}
	})
}

// TestAFlowIsRunAgainFromTheArchive: the board has nothing of it any more, neither of its jobs.
func TestAFlowIsRunAgainFromTheArchive(t *testing.T) {
	plain := blueprint(step("a", "set x 7"), step("b", "fail no", needs("a")), step("c", "need a x", needs("a", "b")))
	stepped := blueprint(step("a", "set x 7"), step("e", "item v", func(s *domain.Step) { s.Each = "[1, 2]" }), step("b", "fail no", needs("a", "e")),
		step("c", "need a x", needs("a", "b")))
	for name, plan := range map[string]*domain.Blueprint{"plain": plain, "of steps": stepped} {
		t.Run(name, func(t *testing.T) {
			s := newMemArchive()
			bubbleWith(t, flow.Config{Names: s, Records: s}, func(r *rig) {
				id := r.submit(flow.Request{Plan: plan, Trigger: "t"})
				r.want(id, domain.FlowFailed, "a succeeded", "b failed")
				time.Sleep(time.Minute)
				s.putAway(r)
				again := r.rerun(id, flow.Rerun{From: "b"})
				r.want(again, domain.FlowFailed, "a succeeded", "b failed", "c skipped_by_failure")
				r.mustAct(again, flow.Order{Verb: flow.OrderDone, Step: "b"})
				v := r.want(again, domain.FlowSucceeded, "a succeeded", "b succeeded", "c succeeded")
				if v.Result["c.got"] != "7" || v.Steps[0].Job != "" || v.RerunOf != id {
					t.Errorf("it is %+v", v)
				}
				if name == "plain" {
					return
				}
				if v.Result["e.results"] == "" {
					t.Errorf("result %v", v.Result)
				}
				if _, err := r.flows.Rerun(r.ctx, tenant, again, flow.Rerun{Caller: 1, From: "loose"}); !errors.Is(err, domain.ErrInvalid) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestListsOfAFlowThatSucceededAreTakenOverFromTheArchive up to a bound.
func TestListsOfAFlowThatSucceededAreTakenOverFromTheArchive(t *testing.T) {
	for name, tc := range map[string]struct {
		list string
		got  string
	}{
		"two":      {"[1, 2]", "1@0 2@1"},
		"too long": {"parse_json(params.some).map(|x| params.page)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemArchive()
			bubbleWith(t, flow.Config{Names: s, Records: s}, func(r *rig) {
				b := blueprint(step("e", "item v", func(s *domain.Step) { s.Each = tc.list }), step("g", "results e v", needs("e")))
				b.Params = map[string]string{"page": strings.Repeat("x", 7000), "some": "[0" + strings.Repeat(",0", 79) + "]"}
				id := r.submit(flow.Request{Plan: b})
				r.want(id, domain.FlowSucceeded)
				time.Sleep(time.Minute)
				s.putAway(r)
				if tc.got == "" {
					if _, err := r.flows.Rerun(r.ctx, tenant, id, flow.Rerun{Caller: 1, From: "g"}); !errors.Is(err, domain.ErrLimit) {
						t.Errorf("got %v", err)
					}
					return
				}
				v := r.want(r.rerun(id, flow.Rerun{From: "g"}), domain.FlowSucceeded, "e succeeded", "g succeeded")
				if v.Result["g.got"] != tc.got || len(r.words.seen) != 4 {
					t.Errorf("the result is %v, after %d jobs", v.Result, len(r.words.seen))
				}
			})
		})
	}
}

// TestWhatAStepHasAddedIsNotTakenOverIntoIt: it begins with the params that it began with, whether
// the board has the flow or the archive.
func TestWhatAStepHasAddedIsNotTakenOverIntoIt(t *testing.T) {
	loop := func(change ...func(*domain.Step)) domain.Step {
		return step("loop", "sum acc\nsum own", append(change, repeat("round >= 3", 3, 10))...)
	}
	keep := step("other", "set params.kept yes")
	for name, tc := range map[string]struct {
		plan  *domain.Blueprint
		from  string
		added string
		note  bool
	}{
		"from the loop": {plan: blueprint(step("init", "set params.acc 0"), loop(needs("init")), keep, step("sum", "param acc", needs("loop", "other"))),
			from: "loop", added: "map[params.acc:6 params.kept:yes params.own:6]"},
		"after the loop": {plan: blueprint(step("init", "set params.acc 0"), loop(needs("init")), keep, step("sum", "param acc", needs("loop", "other"))),
			from: "sum", added: "map[params.acc:6 params.kept:yes params.own:6]"},
		"with an earlier round's": {plan: blueprint(step("init", "round\nsum acc", repeat("round >= 2", 2, 1)), loop(needs("init")),
			step("sum", "param acc", needs("loop"))),
			from: "loop", added: "map[params.acc:9 params.own:6]"},
		"beside jobs that are not known": {plan: blueprint(step("init", "add x", shards(2, 2)), loop(needs("init")), step("sum", "param acc", needs("loop"))),
			from: "loop", added: "map[params.acc:6 params.own:6 params.x_0:x params.x_1:x]", note: true},
	} {
		for _, archived := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", archived ", archived), func(t *testing.T) {
				s := newMemArchive()
				bubbleWith(t, flow.Config{Names: s, Records: s}, func(r *rig) {
					id := r.submit(flow.Request{Plan: tc.plan, Trigger: "t"})
					if v := r.want(id, domain.FlowSucceeded); fmt.Sprint(v.Added) != tc.added {
						t.Errorf("it has added %v, want %s", v.Added, tc.added)
					}
					time.Sleep(time.Minute)
					if archived {
						s.putAway(r)
					}
					v := r.want(r.rerun(id, flow.Rerun{From: tc.from}), domain.FlowSucceeded)
					if fmt.Sprint(v.Added) != tc.added || v.Result["sum.acc"] != v.Added["params.acc"] {
						t.Errorf("again it has added %v, want %s; the result is %v", v.Added, tc.added, v.Result)
					}
					if got := strings.Contains(v.Steps[0].Text, "is not known"); got != tc.note {
						t.Errorf("it says %q", v.Steps[0].Text)
					}
				})
			})
		}
	}
}

func TestALargeFlowIsRunAgainFromAStep(t *testing.T) {
	bubble(t, func(r *rig) {
		r.flows.Spread(4, 3, 2)
		var steps []domain.Step
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
			steps = append(steps, step(name, "set v "+name, maySkip))
		}
		steps = append(steps, step("last", "need f v", needs("f", "g")))
		id := r.steps(steps...)
		r.want(id, domain.FlowSucceeded)
		v := r.want(r.rerun(id, flow.Rerun{From: "g"}), domain.FlowSucceeded, "a succeeded", "g succeeded", "last succeeded")
		if v.Steps[0].Job != "" || v.Steps[6].Job == "" || v.Result["got"] != "f" {
			t.Errorf("it is %+v, result %v", v.Steps, v.Result)
		}
	})
}

func TestWhatCannotBeRunAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("a", "sleep 1h"), approval("ok"))
		if _, err := r.flows.Rerun(r.ctx, tenant, id, flow.Rerun{Caller: 1}); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("one that lives: %v", err)
		}
		if _, err := r.flows.Rerun(r.ctx, tenant, 99, flow.Rerun{Caller: 1}); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("one that there is not: %v", err)
		}
		jobs := r.submit(flow.Request{Jobs: []*domain.Job{job(1, "")}})
		r.wait(jobs)
		if _, err := r.flows.Rerun(r.ctx, tenant, jobs, flow.Rerun{Caller: 1}); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("one of jobs: %v", err)
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderCancel})
		r.wait(id)
		if _, err := r.flows.Rerun(r.ctx, tenant, id, flow.Rerun{Caller: 1, From: "b"}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("a step that there is not: %v", err)
		}
	})
}

func TestAStepIsMarkedAsDone(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("a", "crash"), step("b", "need a x", needs("a")), step("c", "crash", needs("b"), maySkip))
		r.want(id, domain.FlowErrored, "a errored", "b skipped_by_error")
		r.mustAct(id, flow.Order{Verb: flow.OrderDone, Step: "c"})
		r.want(id, domain.FlowErrored)
		r.mustAct(id, flow.Order{Verb: flow.OrderDone, Step: "a", Answers: map[string]string{"x": "7"}, Text: "by hand"})
		time.Sleep(time.Second)
		v := r.want(id, domain.FlowSucceeded, "a succeeded", "b succeeded", "c succeeded")
		if v.Result["b.got"] != "7" || v.Steps[0].Text != "marked as done by actor 9: by hand" {
			t.Errorf("result %v, %q", v.Result, v.Steps[0].Text)
		}
		for _, o := range []flow.Order{{Step: "a"}, {Step: "none"}} {
			o.Verb = flow.OrderDone
			if err := r.act(id, o); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("%s: %v", o.Step, err)
			}
		}
		asks := r.steps(approval("ok"), step("s", "sleep 1h", shards(2, 2)), step("t", "", needs("ok"), shards(2, 2)))
		time.Sleep(time.Second)
		for _, o := range []flow.Order{{Step: "ok"}, {Step: "s"}, {Step: "t", Answers: map[string]string{"x": "1"}}} {
			o.Verb = flow.OrderDone
			if err := r.act(asks, o); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("%s: %v", o.Step, err)
			}
		}
		r.mustAct(asks, flow.Order{Verb: flow.OrderDone, Step: "t"})
		r.mustAct(asks, flow.Order{Verb: flow.OrderCancel})
		r.wait(asks)
	})
}
