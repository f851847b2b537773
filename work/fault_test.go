package work_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// deadClaim takes a job as a runner would that dies at once.
func deadClaim(t *testing.T, b board.Board) board.Claimed {
	t.Helper()
	got, err := b.Claim(t.Context(), board.Ask{Queues: layout.Queues("go", 9), Max: 1, Owner: "dead/x", Lease: 30 * time.Second,
		Mark: []board.Field{{Name: layout.JobStatus, Value: "started"}}})
	if err != nil || len(got) != 1 {
		t.Fatalf("claim: got %v, %v", got, err)
	}
	return got[0]
}

func TestLostRunner(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		b := memboard.Open()
		defer b.Close()
		alone := &rig{T: t, board: b, engine: work.New(b, work.Config{}), ctx: t.Context()}
		alone.submit(job(1, "ok"), job(2, "ok"))
		lost := deadClaim(t, b)
		r := by.startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 1))
		defer r.stop()
		j := r.want(1, domain.JobFinished, "")
		if j.Attempt != 2 || j.Losses != 1 || j.Failures != 0 {
			t.Errorf("got attempt %d, losses %d, failures %d, want 2, 1, 0", j.Attempt, j.Losses, j.Failures)
		}
		// The dead runner comes back to life: its finish is refused.
		late := board.Batch{Space: lost.Space}
		late.Held(lost.Item, "dead/x", lost.Token).Set(lost.Item, board.Field{Name: layout.JobStatus, Value: "error"})
		if err := b.Commit(t.Context(), late); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("late finish: got %v, want a conflict", err)
		}
	})
}

// A lease that ran out is not renewed, and where nobody looks at it explain says so.
func TestExplainTellsALeaseThatRanOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := &rig{T: t, board: b, engine: work.New(b, work.Config{}), ctx: t.Context()}
		r.submit(job(1, "ok"))
		deadClaim(t, b)
		runs := r.standingOf(1)
		if runs.Standing != domain.StandingLeased || runs.Text != "dead/x runs attempt 1; its lease is renewed until it ends" || runs.NextMs == 0 {
			t.Errorf("while it holds: got %+v", runs)
		}
		time.Sleep(31 * time.Second)
		ran := "dead/x took it for attempt 1 and is gone, paused or cut off: its lease ran out at " +
			time.UnixMilli(runs.NextMs).UTC().Format(time.RFC3339) + ", and the job waits for a node that takes it back"
		const nobody = "; no node that is alive serves go: see `ramet runner list`"
		if x := r.standingOf(1); x.Standing != domain.StandingLeased || x.Text != ran+nobody || x.NextMs != 0 || x.Holder != "dead/x" {
			t.Errorf("after it: got %+v", x)
		}
		about := domain.Runner{ID: 1, Node: "n1", SeenMs: time.Now().UnixMilli(), Serves: []domain.Service{{ScriptType: "go", Served: true}},
			Locked: []domain.Locked{{Context: tenant, Key: "disk", Why: "no such file"}}}
		record := board.Batch{}
		if err := b.Commit(t.Context(), *record.Set(about.Key(), layout.EncodeRunner(about)...)); err != nil {
			t.Fatal(err)
		}
		ran += "; its context is encrypted with the key \"disk\", which no node has that is alive and serves go: see `ramet doctor`"
		if x := r.standingOf(1); x.Text != ran {
			t.Errorf("where its context is locked: got %q, want %q", x.Text, ran)
		}
	})
}

// Of a job whose worker has left explain says when others may take it, not that it runs.
func TestExplainTellsThatAWorkerHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		h.claim(1, 0) // makes the type known
		r.submit(mail(1, "x"))
		h.claim(1, 0)
		if x := r.standingOf(1); !strings.HasPrefix(x.Text, "actor:7/a runs attempt 1; its lease is renewed") {
			t.Errorf("while it is there: %s", x.Text)
		}
		if err := r.engine.Leave(t.Context(), h.Worker); err != nil {
			t.Fatal(err)
		}
		x := r.standingOf(1)
		at := time.UnixMilli(x.NextMs).UTC().Format(time.RFC3339)
		if x.NextMs == 0 || !strings.HasPrefix(x.Text, "actor:7/a has attempt 1, and is not among the workers any more") || !strings.Contains(x.Text, at) {
			t.Errorf("when it has left: %s", x.Text)
		}
	})
}

// TestACancelledJobWhoseWorkerHasLeftEnds at once, whichever was first; one of whose worker nobody has heard for long
// and that was cancelled before ends with its lease.
func TestACancelledJobWhoseWorkerHasLeftEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		h.claim(1, 0) // makes the type known
		r.submit(mail(1, "x"), mail(2, "x"), mail(3, "x"))
		h.claim(3, 0)
		for id := range domain.JobID(2) {
			if err := second(r.engine.Cancel(t.Context(), tenant, key(id+1), 1)); err != nil {
				t.Fatal(err)
			}
			if j := r.show(id + 1); j.Status != domain.JobStarted {
				t.Errorf("while its worker is there: got %s", j.Status)
			}
		}
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		if err := r.board.Commit(t.Context(), *b.Delete(layout.Runner(h.Worker.RunnerID()))); err != nil { // as if it had expired
			t.Fatal(err)
		}
		if x := r.standingOf(1); !strings.HasSuffix(x.Text, "; it has not been told to stop, and the job ends as cancelled then") {
			t.Errorf("when it is listed no more: %s", x.Text)
		}
		time.Sleep(11 * time.Second)
		h.claim(1, 0) // it is listed again
		if err := r.engine.Leave(t.Context(), h.Worker); err != nil {
			t.Fatal(err)
		}
		for id := range domain.JobID(2) {
			if j := r.show(id + 1); j.Reason != domain.ReasonCancelled {
				t.Errorf("job %d, when its worker has left: got %s %q", id+1, j.Status, j.Reason)
			}
		}
		if j := r.show(3); j.Status != domain.JobStarted {
			t.Errorf("what was not cancelled: got %s", j.Status)
		}
		if err := second(r.engine.Cancel(t.Context(), tenant, key(3), 1)); err != nil {
			t.Fatal(err)
		}
		if j := r.show(3); j.Status != domain.JobError || j.Reason != domain.ReasonCancelled {
			t.Errorf("cancelled when its worker has left: got %s %q", j.Status, j.Reason)
		}
		if _, held, err := r.board.LeaseOf(t.Context(), layout.SpaceOf(tenant), "job:1:3"); held || err != nil {
			t.Errorf("its lease: %v, %v", held, err)
		}
	})
}

func TestAJobThatKillsItsNodeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		e := work.New(b, work.Config{MaxLosses: 3})
		r := &rig{T: t, board: b, engine: e, ctx: t.Context()}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); clockworkRun(ctx, b, e, "c/1") }()
		defer func() { cancel(); <-done }()
		r.submit(job(1, "ok"))
		for range 3 {
			deadClaim(t, b)
			time.Sleep(31 * time.Second)
		}
		r.want(1, domain.JobError, domain.ReasonRunnerLost)
	})
}

func TestADrainWithoutABoardIsShort(t *testing.T) {
	for _, text := range []string{"hang", "deaf"} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := faultboard.New(memboard.Open(), faultboard.Config{})
				g := newGoScript("go", 4)
				deaf := make(chan struct{})
				g.on("deaf", func(context.Context, script.Task, script.Host) script.Outcome { <-deaf; return ok(nil) })
				e := work.New(b, work.Config{})
				runner := work.NewRunner(e, work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{g}})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- runner.Run(ctx) }()
				r := &rig{T: t, board: b, engine: e, ctx: t.Context()}
				r.submit(job(1, text))
				synctest.Wait()
				begun := time.Now()
				b.Cut()
				cancel()
				err := <-done
				if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "1 job(s) in hand were not given back") {
					t.Errorf("got %v", err)
				}
				if took := time.Since(begun); took > 11*time.Second {
					t.Errorf("it took %v, want about 10s", took)
				}
				close(deaf)
				b.Heal()
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestADrainBearsWithABoardThatIsAwayForAMoment(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		b := faultboard.New(memboard.Open(), faultboard.Config{})
		defer b.Close()
		g := newGoScript("go", 4)
		g.on("slow", func(context.Context, script.Task, script.Host) script.Outcome {
			time.Sleep(8 * time.Second)
			return ok(nil)
		})
		r := by.startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, g)
		r.submit(job(1, "slow"))
		synctest.Wait()
		b.Cut()
		time.AfterFunc(3*time.Second, b.Heal)
		r.stop()
		if j := r.show(1); j.Status != domain.JobFinished || j.Attempt != 1 {
			t.Errorf("got %s after attempt %d, want finished after 1", j.Status, j.Attempt)
		}
	})
}

func TestDrainGivesBack(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		b := memboard.Open()
		defer b.Close()
		g := newGoScript("go", 4)
		r := by.startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a", Grace: 10 * time.Second}, g)
		r.submit(job(1, "hang"), job(2, "ok", after(1)))
		synctest.Wait()
		begun := time.Now()
		r.stop()
		if took := time.Since(begun); took < 10*time.Second || took > 12*time.Second {
			t.Errorf("the drain took %v, want the grace of 10s", took)
		}
		j := r.show(1)
		if j.Status != domain.JobStarted || j.LeaseOwner != "" || j.Losses != 0 || j.Failures != 0 {
			t.Errorf("after the drain: got %+v", j)
		}
		g.on("hang", func(context.Context, script.Task, script.Host) script.Outcome { return ok(nil) })
		r2 := by.startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/b"}, g)
		defer r2.stop()
		r2.want(2, domain.JobFinished, "")
	})
}

func TestLongJobKeepsItsLease(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.script.on("long", func(ctx context.Context, _ script.Task, _ script.Host) script.Outcome {
			time.Sleep(10 * time.Minute)
			return ok(nil)
		})
		r.submit(job(1, "long"))
		if j := r.want(1, domain.JobFinished, ""); j.Attempt != 1 || j.Losses != 0 {
			t.Errorf("got attempt %d, losses %d", j.Attempt, j.Losses)
		}
	})
}

func TestCapsHold(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		limits := board.Batch{Space: 1}
		limits.Set(layout.Limits, layout.EncodeLimits(domain.Tenant{ID: 1, MaxRunningByType: map[domain.ScriptType]int{"go": 2}})...)
		if err := r.board.Commit(t.Context(), limits); err != nil {
			t.Fatal(err)
		}
		r.script.on("nap", func(context.Context, script.Task, script.Host) script.Outcome {
			time.Sleep(time.Second)
			return failed("again")
		})
		for i := range 10 {
			r.submit(job(domain.JobID(i+1), "nap", retries(1)))
		}
		for i := range 10 {
			r.want(domain.JobID(i+1), domain.JobError, domain.ReasonScriptFailed)
		}
		if r.script.most != 2 {
			t.Errorf("%d ran at once, want 2", r.script.most)
		}
	})
}

func TestForeignSubmit(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.submit(job(1, "ok"))
		r.want(1, domain.JobFinished, "")
		write := func(id int, fields ...board.Field) {
			k := "job:1:" + strconv.Itoa(id)
			b := board.Batch{Space: 1}
			b.Set(k, fields...).PushLeft("queue:go", k)
			if err := r.board.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		write(21, f("id", "21"), f("caller_id", "1"), f("context_id", "1"), f("script", "ok"), f("script_type", "go"),
			f("status", "dispatched"), f("dependends", "[]"))
		write(22, f("script", "ok"), f("script_type", "go"), f("dependends", "[21]"), f("prerequisites", `["job:1:1"]`))
		write(23, f("script", "ok"), f("script_type", "go"), f("retries", "three"))
		write(24, f("script", "ok"), f("script_type", "go"), f("dependends", "[99]"))
		r.want(21, domain.JobFinished, "")
		r.want(22, domain.JobFinished, "")
		r.want(23, domain.JobError, domain.ReasonInvalid)
		r.want(24, domain.JobError, domain.ReasonInvalid)
	})
}

func TestPushedBeforeWritten(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		b := board.Batch{Space: 1}
		b.PushLeft("queue:go", "job:1:5", "job:1:6", "rubbish")
		if err := r.board.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b = board.Batch{Space: 1}
		b.Set("job:1:5", board.Field{Name: "script", Value: "ok"}, board.Field{Name: "script_type", Value: "go"})
		if err := r.board.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		r.want(5, domain.JobFinished, "")
		time.Sleep(time.Minute)
		recs, err := r.board.Get(t.Context(), 1, "job:1:6", "rubbish")
		if err != nil || recs[0] != nil || recs[1] != nil {
			t.Errorf("got %v, %v, want nothing left", recs, err)
		}
	})
}

// A foreign program's job that is to run elsewhere is not run here: the supervisor gets
// it, once it waits for nothing here. Who may not send it there has it ended.
func TestAForeignProgramsJobRunsElsewhere(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{Remote: func(_ context.Context, _ domain.TenantID, _ domain.ActorID, at string) error {
			if at != "8" {
				return domain.Invalidf("at %q: no such place", at)
			}
			return nil
		}})
		r.foreign(1, f("at", "8"))
		r.foreign(2)
		r.foreign(3, f("at", "8"), f("dependends", "[2]"))
		r.foreign(4, f("at", "9"))
		r.push(1, 3, 4)
		synctest.Wait()
		if n, j := r.queued("ramet:queue:remote"), r.show(1); n != 1 || j.Status != domain.JobDispatched || j.LeaseOwner != "" || j.QueuedMs == 0 {
			t.Errorf("%d are to be sent, want 1: %+v", n, j)
		}
		if j := r.want(4, domain.JobError, domain.ReasonInvalid); !strings.Contains(j.Error, "no such place") {
			t.Errorf("got %q", j.Error)
		}
		r.push(2)
		r.want(2, domain.JobFinished, "")
		synctest.Wait()
		if n, j := r.queued("ramet:queue:remote"), r.show(3); n != 2 || j.Final() {
			t.Errorf("%d are to be sent, want 2: %+v", n, j)
		}
	})
}

// foreignTake pops a job as a foreign runner does: no lease.
func foreignTake(t *testing.T, b board.Board, key string, fields ...board.Field) {
	t.Helper()
	c := board.Batch{Space: 1}
	c.Drop("queue:v", key).Set(key, fields...)
	if err := b.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func TestForeignRunner(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		foreign := func(j *domain.Job) { j.ScriptType = "v"; j.Timeout = 300 }
		r.submit(job(1, "x", foreign), job(2, "ok", after(1)), job(3, "x", foreign))
		foreignTake(t, r.board, "job:1:1", board.Field{Name: "status", Value: "started"})
		foreignTake(t, r.board, "job:1:3", board.Field{Name: "status", Value: "started"})
		time.Sleep(time.Minute)
		foreignTake(t, r.board, "job:1:1", board.Field{Name: "status", Value: "finished"}, board.Field{Name: "result", Value: `{"n":"1"}`})
		r.want(2, domain.JobFinished, "")
		// The other one never ends: it goes back to the queue after its timeout.
		time.Sleep(5 * time.Minute)
		n, err := r.board.Len(t.Context(), 1, "queue:v")
		if err != nil || n[0] != 1 {
			t.Errorf("queue: got %v, %v, want the job back", n, err)
		}
		if j := r.show(3); j.Losses != 1 {
			t.Errorf("losses: got %d, want 1", j.Losses)
		}
	})
}

func TestAuditRepairs(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.submit(job(1, "x", func(j *domain.Job) { j.ScriptType = "v" }))
		b := board.Batch{Space: 1}
		b.Drop("queue:v", "job:1:1") // lost by whatever means
		if err := r.board.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		n, err := r.board.Len(t.Context(), 1, "queue:v")
		if err != nil || n[0] != 1 {
			t.Errorf("queue: got %v, %v, want the job back", n, err)
		}
	})
}

func TestPrune(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.submit(job(1, "ok"), job(2, "ok"))
		r.want(1, domain.JobFinished, "")
		r.want(2, domain.JobFinished, "")
		time.Sleep(time.Hour)
		r.submit(job(3, "fail"))
		r.want(3, domain.JobError, domain.ReasonScriptFailed)
		n, err := r.engine.Prune(t.Context(), tenant, time.Now().Add(-time.Minute))
		if err != nil || n != 2 {
			t.Errorf("pruned %d, %v, want 2", n, err)
		}
		if _, err := r.engine.Show(t.Context(), tenant, key(1)); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("job 1: got %v, want not found", err)
		}
		r.show(3)
		if n, err := r.engine.Prune(t.Context(), tenant, time.Now().Add(time.Hour)); err != nil || n != 1 {
			t.Errorf("pruned %d, %v, want 1", n, err)
		}
	})
}

func TestWhatAScriptSaysOfItsNextAttempt(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		says := func(final bool, after time.Duration) func(context.Context, script.Task, script.Host) script.Outcome {
			return func(context.Context, script.Task, script.Host) script.Outcome {
				out := failed("no luck")
				out.Final, out.After = final, after
				return out
			}
		}
		r.script.on("never", says(true, 0))
		r.script.on("later", says(false, time.Hour))
		r.submit(job(1, "never", retries(3)), job(2, "later", retries(1)))
		began := time.Now()
		if j := r.want(1, domain.JobError, domain.ReasonScriptFailed); j.Attempt != 1 {
			t.Errorf("got %d attempts of one that would end the same", j.Attempt)
		}
		r.want(2, domain.JobError, domain.ReasonScriptFailed)
		if took := time.Since(began); took < time.Hour || took > 2*time.Hour {
			t.Errorf("the next attempt ended after %v, want an hour", took)
		}
	})
}

func TestTheNextAttemptComesWithinADay(t *testing.T) {
	watched.Large(t)
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.script.on("too late", func(context.Context, script.Task, script.Host) script.Outcome {
			out := failed("no luck")
			out.After = 1000 * time.Hour
			return out
		})
		r.submit(job(1, "too late", retries(1)))
		began := time.Now()
		r.want(1, domain.JobError, domain.ReasonScriptFailed)
		if took := time.Since(began); took < 24*time.Hour || took > 25*time.Hour {
			t.Errorf("the next attempt ended after %v, want a day at the most", took)
		}
	})
}

func TestRetryByHand(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.submit(job(1, "fail"))
		r.want(1, domain.JobError, domain.ReasonScriptFailed)
		r.script.on("fail", func(context.Context, script.Task, script.Host) script.Outcome { return ok(nil) })
		if _, err := r.engine.Retry(t.Context(), tenant, key(1)); err != nil {
			t.Fatal(err)
		}
		j := r.want(1, domain.JobFinished, "")
		if j.Error != "" || j.Attempt != 2 {
			t.Errorf("got %+v", j)
		}
		if _, err := r.engine.Retry(t.Context(), tenant, key(1)); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("retry of a finished job: got %v", err)
		}
	})
}

func TestDrawnIDsPassThoseChosenByHand(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		for id := range domain.JobID(50) {
			r.submit(job(id+1, "ok"))
		}
		receipts, err := r.engine.Submit(t.Context(), tenant, []*domain.Job{job(0, "ok"), job(0, "ok")})
		if err != nil {
			t.Fatal(err)
		}
		for _, rc := range receipts {
			if rc.Err != nil || rc.Existing || rc.Key.ID <= 50 {
				t.Errorf("got %+v, want a fresh id over 50", rc)
			}
			r.want(rc.Key.ID, domain.JobFinished, "")
		}
		if receipts[0].Key == receipts[1].Key {
			t.Errorf("both got %v", receipts[0].Key)
		}
	})
}

func TestWhatIsNotTriedAgain(t *testing.T) {
	errored := func(code int) script.Outcome {
		out := failed("broken")
		out.Verdict, out.ExitCode = script.Errored, code
		return out
	}
	said := func(word string) script.Outcome {
		out := failed("no use")
		out.Result["retry"] = word
		return out
	}
	code := func(n int) script.Outcome {
		out := failed("no luck")
		out.ExitCode = n
		return out
	}
	onErrored := &domain.Retry{On: []domain.RetryOn{domain.RetryErrored}}
	for _, tt := range []struct {
		name  string
		retry *domain.Retry
		out   script.Outcome
		want  int // attempts, of three
		text  string
	}{
		{"every end without a rule", nil, failed("no luck"), 3, "no luck"},
		{"a failure is final where only errors are tried again", onErrored, failed("no luck"), 1, "no luck"},
		{"an error is tried again there", onErrored, errored(137), 3, "broken"},
		{"an error is final where only failures are tried again", &domain.Retry{On: []domain.RetryOn{domain.RetryFailed}}, errored(137), 1, "broken"},
		{"an exit code that is final", &domain.Retry{FinalExitCodes: []int{64, 65}}, code(65), 1, "no luck"},
		{"another exit code", &domain.Retry{FinalExitCodes: []int{64, 65}}, code(66), 3, "no luck"},
		{"an exit code that is tried again", &domain.Retry{ExitCodes: []int{75}}, code(75), 3, "no luck"},
		{"an exit code that is not among those", &domain.Retry{ExitCodes: []int{75}}, code(1), 1, "no luck"},
		{"an error where only an exit code is tried again", &domain.Retry{ExitCodes: []int{75}}, errored(137), 1, "broken"},
		{"an exit code beside the ends", &domain.Retry{On: []domain.RetryOn{domain.RetryErrored}, ExitCodes: []int{75}}, code(75), 3, "no luck"},
		{"an end beside the exit codes", &domain.Retry{On: []domain.RetryOn{domain.RetryErrored}, ExitCodes: []int{75}}, errored(137), 3, "broken"},
		{"the script says never", nil, said("never"), 1, "no use"},
		{"the script says what nobody knows", nil, said("nevr"), 3,
			`no use (its result says retry="nevr", which says nothing: want never; did you mean "never"?)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, work.Config{})
				r.script.on("end", func(context.Context, script.Task, script.Host) script.Outcome { return tt.out })
				r.submit(job(1, "end", retries(2), func(j *domain.Job) { j.Retry = tt.retry }))
				j := r.want(1, domain.JobError, domain.ReasonScriptFailed)
				if n := r.script.count(key(1)); n != tt.want || j.Error != tt.text {
					t.Errorf("got %d attempts and the error %q, want %d and %q", n, j.Error, tt.want, tt.text)
				}
			})
		})
	}
}

func TestWhenTheNextAttemptBegins(t *testing.T) {
	none, result := 0.0, func(says string) map[string]string { return map[string]string{"retry_after": says} }
	for _, tt := range []struct {
		name   string
		retry  *domain.Retry
		result map[string]string
		want   []time.Duration
	}{
		{"a pause that doubles", &domain.Retry{Delay: 30, Jitter: &none}, nil, []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute}},
		{"one that stays as it is", &domain.Retry{Delay: 30, Factor: 1, Jitter: &none}, nil, []time.Duration{30 * time.Second, 30 * time.Second, 30 * time.Second}},
		{"one that is bounded", &domain.Retry{Delay: 30, Factor: 10, MaxDelay: 40, Jitter: &none}, nil,
			[]time.Duration{30 * time.Second, 40 * time.Second, 40 * time.Second}},
		{"one as the node has it", &domain.Retry{Jitter: &none}, nil, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{"a longer one than the node's", &domain.Retry{Delay: 7200, Jitter: &none}, nil, []time.Duration{2 * time.Hour, 2 * time.Hour, 2 * time.Hour}},
		{"the script asks for one", &domain.Retry{Delay: 30, Factor: 4, Jitter: &none}, result("100"),
			[]time.Duration{100 * time.Second, 2 * time.Minute, 8 * time.Minute}},
		{"the script asks for too much", &domain.Retry{Jitter: &none}, result("1000h"), []time.Duration{24 * time.Hour}},
		{"what it asks for is no time", &domain.Retry{Jitter: &none}, result("soon"), []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if tt.want[0] > 3*time.Hour {
					watched.Large(t)
				}
				r := newRig(t, work.Config{})
				var begun []time.Time
				r.script.on("end", func(context.Context, script.Task, script.Host) script.Outcome {
					begun = append(begun, time.Now())
					out := failed("no luck")
					out.Result = tt.result
					return out
				})
				r.submit(job(1, "end", retries(uint8(len(tt.want))), func(j *domain.Job) { j.Retry = tt.retry }))
				r.want(1, domain.JobError, domain.ReasonScriptFailed)
				var pauses []time.Duration
				for i := 1; i < len(begun); i++ {
					pauses = append(pauses, begun[i].Sub(begun[i-1]).Round(time.Second))
				}
				if !slices.Equal(pauses, tt.want) {
					t.Errorf("got pauses %v, want %v", pauses, tt.want)
				}
			})
		})
	}
}

func TestExplainSaysWhenAndWhyThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		r.script.on("end", func(context.Context, script.Task, script.Host) script.Outcome {
			out := failed("busy")
			out.Result = map[string]string{"retry_after": "5m"}
			return out
		})
		r.submit(job(1, "end", retries(3), func(j *domain.Job) { j.Retry = &domain.Retry{Delay: 10, Factor: 3} }))
		time.Sleep(time.Minute)
		x, err := r.engine.Explain(t.Context(), tenant, key(1))
		want := "attempt 1 failed (busy; it asks for a pause of 5m0s); the next begins at "
		if err != nil || x.Standing != domain.StandingRetrying || !strings.HasPrefix(x.Text, want) ||
			!strings.Contains(x.Text, ", which is retry 1 of 3, after a pause of about 5m0s (by its rule: delay 10s, factor 3)") {
			t.Errorf("got %q, %v", x.Text, err)
		}
	})
}

func TestATimeOutHasNoExitCodeOfItsOwn(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.submit(job(1, "hang", func(j *domain.Job) {
			j.Timeout, j.Retry = 60, &domain.Retry{Max: 1, FinalExitCodes: []int{143}}
		}))
		r.want(1, domain.JobError, domain.ReasonTimeout)
		if n := r.script.count(key(1)); n != 2 {
			t.Errorf("got %d runs, want 2", n)
		}
	})
}
