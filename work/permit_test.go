package work_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// lists stand for a context's: who may create work there, and whether that can
// be found out.
type lists struct {
	may  [4]atomic.Bool // by actor
	away atomic.Int64   // so many questions find the board away
}

func (l *lists) permit(_ context.Context, t domain.TenantID, who domain.ActorID, object string) error {
	switch {
	case l.away.Add(-1) >= 0:
		return domain.Unavailablef("the board is away")
	case t != tenant || !l.may[who].Load():
		return domain.Forbiddenf("actor %d may not create %s", who, object)
	}
	return nil
}

func TestTheCallersRightCountsAtEachAttempt(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		var l lists
		l.may[1].Store(true)
		r := by.newRig(t, work.Config{Permit: l.permit})
		r.script.on("lose", func(context.Context, script.Task, script.Host) script.Outcome {
			l.may[1].Store(false)
			return failed("once more")
		})
		r.submit(job(1, "lose", retries(3)), job(2, "ok", after(1)))
		j := r.want(1, domain.JobError, domain.ReasonInvalid)
		if !strings.Contains(j.Error, "actor 1, may not create work in context 1") {
			t.Errorf("got %q, want the right that is missing", j.Error)
		}
		r.want(2, domain.JobError, domain.ReasonDependencyFailed)
		if n := r.script.count(key(1)); n != 1 {
			t.Errorf("it ran %d times, want once: before the right was lost", n)
		}
		// By hand, when it is back.
		l.may[1].Store(true)
		r.script.on("lose", func(context.Context, script.Task, script.Host) script.Outcome { return ok(nil) })
		if _, err := r.engine.Retry(t.Context(), tenant, key(1)); err != nil {
			t.Fatal(err)
		}
		r.want(1, domain.JobFinished, "")
	})
}

func TestAStrangersJobNeverRunsHoweverItIsWritten(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		var l lists
		l.may[1].Store(true)
		r := by.newRig(t, work.Config{Permit: l.permit})
		keys := map[string][]board.Field{
			"job:2:1": {},
			"job:2:2": {{Name: layout.JobQueuedMs, Value: "1"}, {Name: layout.JobStatus, Value: "dispatched"}},
			"job:2:3": {{Name: "caller_id", Value: "1"}, {Name: layout.JobQueuedMs, Value: "1"}},
			"job:2:4": {{Name: layout.JobFlowID, Value: "9"}, {Name: layout.JobQueuedMs, Value: "1"}},
			"job:2:5": {{Name: layout.JobMessage, Value: "message:1:1"}, {Name: layout.JobQueuedMs, Value: "1"}},
			"job:2:6": {{Name: layout.JobRoutine, Value: "sync:1.1"}, {Name: layout.JobQueuedMs, Value: "1"}},
			"job:2:7": {{Name: "prerequisites", Value: `["http://203.0.113.1/"]`}},
			"job:0:8": {},
		}
		for item, more := range keys {
			b := board.Batch{Space: layout.SpaceOf(tenant)}
			b.Set(item, append(more, board.Field{Name: "script", Value: "ok"}, board.Field{Name: "script_type", Value: "go"})...)
			b.PushLeft("queue:go", item)
			if err := r.board.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute) // virtual
		for item := range keys {
			k, err := domain.ParseJobKey(item)
			if err != nil {
				continue
			}
			if n := r.script.count(k); n != 0 {
				t.Errorf("%s ran %d times", item, n)
			}
			if j, err := r.engine.Show(t.Context(), tenant, k); err != nil || j.Status != domain.JobError || j.Reason != domain.ReasonInvalid {
				t.Errorf("%s: got %+v, %v", item, j, err)
			}
		}
	})
}

func TestAJobIsNotGivenUpBecauseTheListsCannotBeRead(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		var l lists
		l.may[1].Store(true)
		l.away.Store(2)
		r := by.newRig(t, work.Config{Permit: l.permit})
		r.submit(job(1, "ok"))
		if j := r.want(1, domain.JobFinished, ""); j.Failures != 0 {
			t.Errorf("got %d failures: it was no fault of the job", j.Failures)
		}
	})
}
