package machine_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// three asks for steps a, b and c at once.
const three = `{"work":[{"effect":"work","step":"a","payload":1},{"effect":"work","step":"b"},{"effect":"work","step":"c"},{"effect":"work","step":"free"}]}`

func TestCompensationUndoesWhatCompletedInReverse(t *testing.T) {
	r := newRig(t, counter)
	r.send(r.event("Do", three))
	r.send(r.result("b", domain.ResultSucceeded, `{"ref":2}`))
	r.send(r.ok("free"))
	r.send(r.no("c"))
	r.send(r.event("Do", `{"compensate":true,"work":[{"fact":"Sorry"}],"timers":[{"event":"Tick","after":5}]}`))
	r.is("one", domain.SagaCompensating, `{"last":"Do","n":5}`)
	same(t, "it waits for what is under way", r.asked(), "fact Sorry")
	same(t, "the time-out of the state is void", r.timers(r.now-1000), "Tick 5")
	same(t, "steps", r.steps(), "a asked, b completed, c failed, free completed")

	r.send(r.event("Do", ""))
	r.send(r.timer("Tick"))
	r.send(r.event("Skip", ""))
	same(t, "other events wait", r.entries(), "Skip defer one->one (compensating)")

	a := r.result("a", domain.ResultSucceeded, `{"ref":1}`)
	r.send(a)
	same(t, "what completes late is undone first", r.asked(), `effect undo undoes a {"result":{"ref":1},"step":"a"}`)
	same(t, "step", r.last.Work[0].Metadata["step"], "a")
	if r.send(a); len(r.last.Work) != 0 || !r.last.Ignored {
		t.Errorf("a result that comes twice is taken twice: %+v", r.last)
	}
	r.send(r.no("a"))
	same(t, "a first attempt fails", r.entries(), "undo.Failed handle one->one (step a is tried to be undone again)")
	same(t, "it is asked again", r.asked(), `effect undo undoes a {"result":{"ref":1},"step":"a"}`)
	r.send(r.ok("a"))
	same(t, "then the one before", r.asked(), `effect undo undoes b {"result":{"ref":2},"step":"b"}`)
	r.send(r.ok("b"))
	same(t, "entries", r.entries(), "undo.Succeeded handle one->undone (step b is undone; compensation ends); Do handle undone->undone; Tick handle "+
		"undone->undone; Skip ignore undone->undone")
	r.is("undone", domain.SagaRunning, `{"last":"Tick","n":7}`)
	same(t, "steps", r.steps(), "a compensated, b compensated, c failed, free completed")
	for _, w := range r.work {
		if w.Effect == "undo" && (w.Compensates == "" || w.Step != "") {
			t.Errorf("%+v", w)
		}
	}
}

func TestWhatCannotBeUndone(t *testing.T) {
	r := newRig(t, counter)
	r.send(r.event("Do", three))
	for _, step := range []string{"a", "b", "c", "free"} {
		r.send(r.ok(step))
	}
	r.send(r.event("Do", `{"compensate":true}`))
	r.send(r.ok("c"))
	r.send(r.no("b"))
	r.send(r.result("b", domain.ResultTimedOut, ""))
	same(t, "after two attempts the others are undone", r.asked(), `effect undo undoes a {"result":null,"step":"a"}`)
	r.send(r.ok("a"))
	r.is("broken", domain.SagaEnded, "")
	same(t, "steps", r.steps(), "a compensated, b compensation_failed, c compensated, free completed")
	if r.in.Outcome != domain.OutcomeFailed {
		t.Errorf("%+v", r.in)
	}
}

func TestNothingToUndo(t *testing.T) {
	r := newRig(t, counter)
	r.send(r.event("Do", `{"compensate":true}`))
	r.is("undone", domain.SagaRunning, "")
	same(t, "entries", r.entries(), "Do handle one->undone (compensation begins; compensation ends)")

	r = newRig(t, counter)
	r.send(r.event("Do", `{"work":[{"effect":"work","step":"a","payload":{"nothing":1}}]}`))
	r.send(r.ok("a"))
	r.send(r.event("Do", `{"compensate":true}`))
	r.is("undone", domain.SagaRunning, "")
	same(t, "steps", r.steps(), "a compensated")
	// What was undone is not undone again.
	r.send(r.event("Do", `{"compensate":true,"work":[{"effect":"work","step":"b"}]}`))
	r.send(r.ok("b"))
	same(t, "again", r.asked(), `effect undo undoes b {"result":null,"step":"b"}`)
}

func TestAResultOfAnUndoingIsTakenOnce(t *testing.T) {
	r := newRig(t, counter)
	r.send(r.event("Do", `{"work":[{"effect":"work","step":"a"}]}`))
	r.send(r.ok("a"))
	r.send(r.event("Do", `{"compensate":true}`))
	undo := r.ok("a")
	first := *undo
	r.send(r.no("a"))
	// The first command's result comes again, as if it had succeeded: that
	// attempt is over, and another one is under way.
	first.ID = "late"
	if err := r.refused(&first); !strings.Contains(err.Error(), "has not asked for command") {
		t.Errorf("a late result of an attempt that is over: %v", err)
	}
	same(t, "a late result of an attempt that is over", r.steps(), "a compensating")
	r.send(r.ok("a"))
	r.is("undone", domain.SagaRunning, "")
	r.refused(undo) // it is not given to the program
}

func TestAProgramThatCannotUndo(t *testing.T) {
	ask := `{"work":[{"effect":"work","step":"a"},{"effect":"work","step":"b","payload":{"fault":1}},{"effect":"work","step":"c"}]}`
	begun := func(text string) *rig {
		r := newRig(t, text)
		r.send(r.event("Do", ask))
		for _, step := range []string{"a", "b", "c"} {
			r.send(r.ok(step))
		}
		r.send(r.event("Do", `{"compensate":true}`))
		return r
	}
	r := begun(counter)
	ev := r.ok("c")
	err := r.refused(ev)
	if !strings.Contains(err.Error(), "cannot undo b") {
		t.Error(err)
	}
	r.take(r.m.Fail(r.in, ev, err))
	same(t, "held", r.steps(), "a completed, b completed, c compensating")
	r.take(r.m.Drop(r.in, ev, r.now))
	same(t, "dropped: what can be undone is", r.steps(), "a compensating, b compensation_failed, c compensated")
	same(t, "work", r.asked(), `effect undo undoes a {"result":null,"step":"a"}`)
	if r.last.Work[0].Metadata["causation_id"] != ev.ID {
		t.Errorf("%+v", r.last.Work)
	}
	r.send(r.ok("a"))
	r.is("broken", domain.SagaEnded, "")

	r = begun(counter + "on_poison: skip\n")
	r.send(r.ok("c"))
	same(t, "skip goes on by itself", r.steps(), "a compensating, b compensation_failed, c compensated")
}

func TestCompensationFromOutside(t *testing.T) {
	r := newRig(t, counter)
	ev := r.event("Do", "")
	if tr, err := r.m.Compensate(r.in, ev); err != nil || !tr.Ignored {
		t.Errorf("%+v %v", tr, err)
	}
	r.send(r.event("Do", `{"work":[{"effect":"work","step":"a"}]}`))
	tr, err := r.m.Compensate(r.in, r.ok("a"))
	if err != nil {
		t.Fatal(err)
	}
	r.take(tr)
	same(t, "a result counts, though the program is not asked", r.steps(), "a compensating")
	r.is("one", domain.SagaCompensating, `{"last":"Do","n":1}`)
	if tr, err := r.m.Compensate(r.in, ev); err != nil || !tr.Ignored {
		t.Errorf("it begins twice: %+v %v", tr, err)
	}
	r.take(r.m.Pause(r.in, r.now))
	r.send(r.ok("a"))
	same(t, "paused", r.entries(), "undo.Succeeded defer one->one (paused)")
	r.take(r.m.Resume(r.in, r.now))
	r.is("undone", domain.SagaRunning, "")
}

func TestStepsAreBounded(t *testing.T) {
	r := newRig(t, counter)
	ask := `{"work":[` + strings.Repeat(`{"effect":"work","step":"free"},`, 63) + `{"effect":"work","step":"free"}]}`
	for range 8 {
		r.send(r.event("Do", ask))
	}
	if err := r.refused(r.event("Do", ask)); !strings.Contains(err.Error(), "the instance has 512 steps, the most there can be") {
		t.Error(err)
	}
	r = newRig(t, counter)
	large := `"` + strings.Repeat("x", 250<<10) + `"`
	r.send(r.event("Do", `{"work":[{"effect":"work","step":"a","payload":`+large+`},{"effect":"work","step":"b","payload":`+large+`}]}`))
	ev := r.result("a", domain.ResultSucceeded, large)
	err := r.refused(ev)
	if !strings.Contains(err.Error(), "the steps' payloads and results have 768006 bytes, the limit is 524288") {
		t.Error(err)
	}
	r.take(r.m.Fail(r.in, ev, err))
	r.take(r.m.Drop(r.in, ev, r.now))
	same(t, "what completed is known to have, so that it is undone", r.steps(), "a completed, b asked")
	if n := len(r.in.Steps[0].Result); n != 0 {
		t.Errorf("the result of %d bytes is kept", n)
	}
}
