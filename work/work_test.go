package work_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestAJobRunsToItsEnd(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.script.on("add", func(_ context.Context, task script.Task, h script.Host) script.Outcome {
			h.Log("stdout", []byte("adding for "+task.Name))
			return ok(map[string]string{"sum": "3"})
		})
		r.submit(job(1, "add"))
		j := r.want(1, domain.JobFinished, "")
		if j.Result["sum"] != "3" || j.Attempt != 1 || j.LeaseOwner != "" {
			t.Errorf("got %+v", j)
		}
		logs, err := r.engine.Logs(r.ctx, tenant, key(1), 0, 10)
		if err != nil || len(logs) != 1 || logs[0].Line != "adding for job:1:1" {
			t.Errorf("logs: got %+v, %v", logs, err)
		}
	})
}

func TestRetriesBackOffAndEnd(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		begun := time.Now()
		r.submit(job(1, "fail", retries(3)))
		j := r.want(1, domain.JobError, domain.ReasonScriptFailed)
		if n := r.script.count(key(1)); n != 4 || j.Failures != 4 {
			t.Errorf("got %d runs and %d failures, want 4", n, j.Failures)
		}
		// 1 + 2 + 4 seconds, each at least three quarters of that.
		if took := time.Since(begun); took < 5*time.Second || took > 8*time.Second {
			t.Errorf("back-off took %v", took)
		}
	})
}

// ahead is a board whose clock is ahead of this machine's.
type ahead struct {
	*memboard.Board
	by time.Duration
}

func (a ahead) Now() time.Time { return time.Now().Add(a.by) }

// The alarm of a retry comes by the board's clock: counted by that of a node that is
// off, it would come at another time.
func TestARetryIsCountedByTheBoardsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ahead{memboard.Open(), time.Hour}
		r := startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 8))
		t.Cleanup(func() { r.stop(); b.Close() })
		begun := time.Now()
		r.submit(job(1, "fail", retries(1)))
		r.want(1, domain.JobError, domain.ReasonScriptFailed)
		if took := time.Since(begun); took < b.by || took > b.by+time.Minute {
			t.Errorf("the retry came after %v, want %v and a moment", took, b.by)
		}
	})
}

func TestTimeoutIsAnAttempt(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.submit(job(1, "hang", retries(1), func(j *domain.Job) { j.Timeout = 60 }))
		begun := time.Now()
		r.want(1, domain.JobError, domain.ReasonTimeout)
		if n := r.script.count(key(1)); n != 2 {
			t.Errorf("got %d runs, want 2", n)
		}
		if took := time.Since(begun); took < 120*time.Second || took > 125*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestDependenciesRunInOrder(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		// Submitted in the wrong order: the call sorts them.
		r.submit(job(4, "ok", after(2, 3)), job(2, "ok", after(1)), job(3, "ok", after(1)), job(1, "ok"))
		j := r.want(4, domain.JobFinished, "")
		for _, id := range []domain.JobID{2, 3} {
			if d := r.show(id); d.FinishedMs > j.StartedMs || d.Status != domain.JobFinished {
				t.Errorf("job 4 began at %d, job %d ended at %d", j.StartedMs, id, d.FinishedMs)
			}
		}
	})
}

func TestFailureCascades(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.submit(job(1, "fail"), job(2, "ok", after(1)), job(3, "ok", after(2)), job(4, "ok"))
		r.want(1, domain.JobError, domain.ReasonScriptFailed)
		r.want(2, domain.JobError, domain.ReasonDependencyFailed)
		r.want(3, domain.JobError, domain.ReasonDependencyFailed)
		r.want(4, domain.JobFinished, "")
		// A late follower of a failed job ends at once, of a finished one runs.
		r.submit(job(5, "ok", after(1)), job(6, "ok", after(4)))
		r.want(5, domain.JobError, domain.ReasonDependencyFailed)
		r.want(6, domain.JobFinished, "")
	})
}

func TestManyFollowers(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		const n = 1500
		jobs := []*domain.Job{job(1, "ok")}
		for i := range n {
			jobs = append(jobs, job(domain.JobID(i+2), "ok", after(1)))
		}
		r.submit(jobs...)
		for i := range n {
			r.want(domain.JobID(i+2), domain.JobFinished, "")
		}
	})
}

func TestNotBefore(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		at := time.Now().Add(time.Hour)
		r.submit(job(1, "ok", func(j *domain.Job) { j.NotBefore = at.UnixMilli() }))
		x, err := r.engine.Explain(r.ctx, tenant, key(1))
		if err != nil || x.Standing != domain.StandingDelayed {
			t.Errorf("explain: got %+v, %v", x, err)
		}
		j := r.want(1, domain.JobFinished, "")
		if late := j.StartedMs - at.UnixMilli(); late < 0 || late > 50 {
			t.Errorf("began %d ms after its time", late)
		}
	})
}

func TestCancel(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		later := func(j *domain.Job) { j.NotBefore = time.Now().Add(time.Hour).UnixMilli() }
		r.submit(job(1, "hang"), job(2, "ok", later), job(3, "ok", after(1)))
		synctest.Wait()
		for _, id := range []domain.JobID{1, 2} {
			if _, err := r.engine.Cancel(r.ctx, tenant, key(id), 7); err != nil {
				t.Fatal(err)
			}
		}
		j := r.want(1, domain.JobError, domain.ReasonCancelled)
		if j.Error != "cancelled by actor 7" {
			t.Errorf("got error %q", j.Error)
		}
		r.want(2, domain.JobError, domain.ReasonCancelled)
		r.want(3, domain.JobError, domain.ReasonDependencyFailed)
	})
}

func TestPrerequisites(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		needs := func(p ...string) func(*domain.Job) { return func(j *domain.Job) { j.Prerequisites = p } }
		r.submit(job(1, "ok"), job(2, "fail"),
			job(3, "ok", needs("job:1:1", "the lab is open")),
			job(4, "ok", needs("job:1:2")),
			job(5, "ok", needs("never"), func(j *domain.Job) { j.PrerequisiteTimeout = 600 }))
		r.want(1, domain.JobFinished, "")
		r.want(4, domain.JobError, domain.ReasonPrerequisiteImpossible)
		time.Sleep(time.Minute)
		if j := r.show(3); j.Status != domain.JobWaiting {
			t.Errorf("job 3 is %s", j.Status)
		}
		x, err := r.engine.Explain(r.ctx, tenant, key(3))
		if err != nil || x.Standing != domain.StandingWaiting {
			t.Errorf("explain: got %+v, %v", x, err)
		}
		marked := time.Now()
		if err := r.engine.MarkMet(r.ctx, tenant, "the lab is open"); err != nil {
			t.Fatal(err)
		}
		r.want(3, domain.JobFinished, "")
		if d := time.Since(marked); d > time.Second {
			t.Errorf("went on %v after it was met", d)
		}
		r.want(5, domain.JobError, domain.ReasonPrerequisiteTimeout)
	})
}

func TestSubmitAgain(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.submit(job(1, "ok"))
		receipts, err := r.engine.Submit(r.ctx, tenant, []*domain.Job{job(1, "ok"), job(1, "ok"), job(0, "ok"), job(0, "ok")})
		if err != nil {
			t.Fatal(err)
		}
		if !receipts[0].Existing || receipts[0].Err != nil {
			t.Errorf("the same again: got %+v", receipts[0])
		}
		if receipts[1].Err == nil {
			t.Error("twice in one call was accepted")
		}
		if receipts[2].Err != nil && receipts[3].Err != nil || receipts[2].Key == receipts[3].Key {
			t.Errorf("ids: got %+v", receipts[2:])
		}
		receipts, _ = r.engine.Submit(r.ctx, tenant, []*domain.Job{job(1, "fail")})
		if receipts[0].Err == nil {
			t.Error("other content under the same id was accepted")
		}
	})
}
