package work_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// message writes a received message of which n jobs are open.
func (r *rig) message(key, n string) {
	r.Helper()
	b := board.Batch{Space: 1}
	if err := r.board.Commit(r.ctx, *b.Set(key, board.Field{Name: layout.MessageOpen, Value: n})); err != nil {
		r.Fatal(err)
	}
}

// wantAnswered checks that the message is to be answered, once.
func (r *rig) wantAnswered(key string) {
	r.Helper()
	items, err := r.board.List(r.ctx, 1, queue.PostResult, 0, 10)
	if err != nil {
		r.Fatal(err)
	}
	if diff := cmp.Diff([]string{key}, items); diff != "" {
		r.Errorf("to be answered (-want +got):\n%s", diff)
	}
}

func ofMessage(key string) func(*domain.Job) { return func(j *domain.Job) { j.Message = key } }

func TestAJobThatGetsAFollowerWhileItEndsStillTellsItsMessage(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.message("message:1:1", "1")
		r.script.on("follow", func(context.Context, script.Task, script.Host) script.Outcome {
			r.submit(job(2, "ok", after(1)))
			return ok(nil)
		})
		r.submit(job(1, "follow", ofMessage("message:1:1")))
		r.want(1, domain.JobFinished, "")
		r.want(2, domain.JobFinished, "")
		r.wantAnswered("message:1:1")
	})
}

func TestAJobThatCanNeverStartTellsItsMessage(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.message("message:1:1", "2")
		r.submit(job(1, "fail", ofMessage("message:1:1")))
		r.want(1, domain.JobError, domain.ReasonScriptFailed)
		// As a supervisor does that was killed between the two.
		r.submit(job(1, "fail", ofMessage("message:1:1")), job(2, "ok", ofMessage("message:1:1"), after(1)))
		r.want(2, domain.JobError, domain.ReasonDependencyFailed)
		r.wantAnswered("message:1:1")
	})
}

func TestTheSameJobOfAnotherMessageIsAnotherJob(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.submit(job(1, "ok", ofMessage("message:1:1")))
		receipts, err := r.engine.Submit(r.ctx, tenant, []*domain.Job{job(1, "ok", ofMessage("message:1:2"))})
		if err != nil {
			t.Fatal(err)
		}
		if receipts[0].Err == nil {
			t.Error("it was taken for the first message's: nobody would tell the second one of its end")
		}
	})
}

func TestAJobThatIsRetriedIsWaitedForAgain(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.message("message:1:1", "2")
		r.script.on("second", func(_ context.Context, t script.Task, _ script.Host) script.Outcome {
			if t.Attempt == 1 {
				return failed("at first")
			}
			return ok(nil)
		})
		r.submit(job(1, "second", ofMessage("message:1:1")))
		r.want(1, domain.JobError, domain.ReasonScriptFailed)
		if _, err := r.engine.Retry(r.ctx, tenant, key(1)); err != nil {
			t.Fatal(err)
		}
		r.want(1, domain.JobFinished, "")
		if items, err := r.board.List(r.ctx, 1, queue.PostResult, 0, 10); err != nil || len(items) > 0 {
			t.Errorf("answered while a job of the message is missing: %v, %v", items, err)
		}
		r.submit(job(2, "ok", ofMessage("message:1:1")))
		r.want(2, domain.JobFinished, "")
		r.wantAnswered("message:1:1")
	})
}

// Who may write jobs of actor 1 counts down no message of another.
func TestAJobIsOfNoMessageOfAnotherCaller(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.message("message:2:1", "1")
		r.submit(job(1, "ok", ofMessage("message:2:1")))
		r.want(1, domain.JobFinished, "")
		if items, err := r.board.List(r.ctx, 1, queue.PostResult, 0, 10); err != nil || len(items) > 0 {
			t.Errorf("another's message is to be answered: %v, %v", items, err)
		}
	})
}

// A name that is no routine's makes no alarm, which nobody would clear.
func TestAJobWakesNoRoutineThatCannotBe(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.submit(job(1, "ok", func(j *domain.Job) { j.Routine = "no routine" }))
		r.want(1, domain.JobFinished, "")
		if _, set, err := r.board.AlarmOf(r.ctx, 1, "routine:no routine"); err != nil || set {
			t.Errorf("alarm is set: %v, %v", set, err)
		}
	})
}
