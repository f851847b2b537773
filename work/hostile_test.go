package work_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// This file has what went wrong once, or would hurt most.

func f(name, value string) board.Field { return board.Field{Name: name, Value: value} }

// commit makes a change as a foreign program would.
func (r *rig) commit(b *board.Batch) {
	r.Helper()
	b.Space = 1
	if err := r.board.Commit(r.ctx, *b); err != nil {
		r.Fatal(err)
	}
}

func TestAPanicCostsTheJobOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		r.script.on("panic", func(context.Context, script.Task, script.Host) script.Outcome { panic("oh no") })
		r.submit(job(1, "panic", retries(1)), job(2, "ok"))
		j := r.want(1, domain.JobError, domain.ReasonScriptFailed)
		if !strings.Contains(j.Error, "oh no") || j.Attempt != 2 {
			t.Errorf("got attempt %d, error %q", j.Attempt, j.Error)
		}
		r.want(2, domain.JobFinished, "")
	})
}

func TestADeafScriptDoesNotHoldUpTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		wake := make(chan struct{})
		r.script.on("deaf", func(context.Context, script.Task, script.Host) script.Outcome { <-wake; return ok(nil) })
		r.submit(job(1, "deaf"))
		synctest.Wait()
		begun := time.Now()
		r.stop()
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("the drain took %v", took)
		}
		close(wake) // its end comes to nothing
		synctest.Wait()
		if j := r.show(1); j.Final() {
			t.Errorf("got %+v", j)
		}
		r2 := startRig(t, r.board, work.Config{}, work.RunnerConfig{ID: 2, Owner: "n2/a"}, r.script)
		defer r2.stop()
		r2.want(1, domain.JobFinished, "")
	})
}

func TestSpoiltNumbersEndTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		for id, field := range []string{layout.JobFailures, layout.JobLosses, layout.JobLogBytes, layout.JobWaits, "timeout"} {
			k := key(domain.JobID(id + 1)).String()
			r.commit(new(board.Batch).Set(k, f("script", "ok"), f("script_type", "go"), f("status", "dispatched"), f(field, "abc")).
				PushLeft("queue:go", k))
		}
		for id, field := range []string{layout.JobFailures, layout.JobLosses, "", layout.JobWaits, "timeout"} {
			if field == "" {
				r.want(domain.JobID(id+1), domain.JobFinished, "") // what a log has cost is only a number
				continue
			}
			r.want(domain.JobID(id+1), domain.JobError, domain.ReasonInvalid)
		}
	})
}

func TestARunnerThatDiesWhileTakingOverAForeignJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		alone := &rig{T: t, board: b, engine: work.New(b, work.Config{}), ctx: t.Context()}
		alone.submit(job(1, "hang"))
		k := key(2).String()
		alone.commit(new(board.Batch).Drop("queue:go", "job:1:1").
			Set(k, f("script", "ok"), f("script_type", "go"), f("status", "dispatched"), f("dependends", "[1]")).PushLeft("queue:go", k))
		deadClaim(t, b)
		alone.commit(new(board.Batch).PushLeft("queue:go", "job:1:1"))
		r := startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 4))
		defer r.stop()
		time.Sleep(2 * time.Minute)
		if j := r.show(2); j.Status != domain.JobWaiting || r.script.count(key(2)) != 0 {
			t.Errorf("job 2 is %s and ran %d times, but job 1 has not ended", j.Status, r.script.count(key(2)))
		}
	})
}

func TestAKeyPushedAgainWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		r.script.on("nap", func(context.Context, script.Task, script.Host) script.Outcome {
			time.Sleep(time.Minute)
			return ok(nil)
		})
		r.submit(job(1, "nap"), job(2, "nap"), job(3, "ok", after(1, 2)), job(4, "ok", func(j *domain.Job) {
			j.NotBefore = time.Now().Add(time.Hour).UnixMilli()
		}))
		for range 3 {
			r.commit(new(board.Batch).PushLeft("queue:go", "job:1:3", "job:1:4", "1:3"))
			synctest.Wait()
		}
		if j := r.show(3); j.Status != domain.JobWaiting || j.Waits != 2 || j.StartedMs != 0 {
			t.Errorf("job 3: got %+v", j)
		}
		if j := r.show(4); j.Status != domain.JobDispatched {
			t.Errorf("job 4: got %+v", j)
		}
		r.want(3, domain.JobFinished, "")
		r.want(4, domain.JobFinished, "")
	})
}

func TestCancelMeetsTheEndOfAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memboard.Open()
		defer m.Close()
		other := work.New(m, work.Config{}) // of another node
		var cancel atomic.Pointer[func()]
		b := faultboard.New(m, faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
			if do := cancel.Load(); c.Batch != nil && do != nil {
				for _, op := range c.Batch.Ops {
					if op.Kind == board.OpSetAlarm && strings.HasPrefix(op.Key, "retry:") && cancel.CompareAndSwap(do, nil) {
						(*do)()
					}
				}
			}
			return nil
		}})
		r := startRig(t, b, work.Config{RetryMin: time.Hour, RetryMax: time.Hour}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 4))
		defer r.stop()
		once := func() {
			if _, err := other.Cancel(t.Context(), tenant, key(1), 7); err != nil {
				t.Error(err)
			}
		}
		cancel.Store(&once)
		r.script.on("fails", func(_ context.Context, _ script.Task, h script.Host) script.Outcome {
			h.Log("stdout", []byte("last words"))
			return failed("no")
		})
		r.submit(job(1, "fails", retries(3)), job(2, "ok", after(1)))
		begun := time.Now()
		r.want(1, domain.JobError, domain.ReasonCancelled)
		r.want(2, domain.JobError, domain.ReasonDependencyFailed)
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("the cancel took %v", took)
		}
		if logs, err := r.engine.Logs(t.Context(), tenant, key(1), 0, 9); err != nil || len(logs) != 1 {
			t.Errorf("log: got %v, %v", logs, err)
		}
		if _, err := r.engine.Cancel(t.Context(), tenant, key(1), 7); err != nil {
			t.Errorf("cancel twice: %v", err)
		}
	})
}

func TestAResultIsNotThrownAwayWithTheFollowers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &unreadable{Board: memboard.Open()}
		defer b.Close()
		r := startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 4))
		defer r.stop()
		r.submit(job(1, "ok"), job(2, "ok", after(1)))
		r.want(2, domain.JobFinished, "")
		if n := r.script.count(key(1)); n != 1 {
			t.Errorf("job 1 ran %d times", n)
		}
	})
}

// unreadable is a board whose lists of followers cannot be read at first.
type unreadable struct {
	board.Board
	refused int
}

func (u *unreadable) List(ctx context.Context, s board.Space, list string, from, n int) ([]string, error) {
	if strings.HasPrefix(list, "ramet:followers:") && u.refused < 3 {
		u.refused++
		return nil, domain.Unavailablef("not now")
	}
	return u.Board.List(ctx, s, list, from, n)
}

func TestAFollowerOfWhatWasNotAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memboard.Open()
		defer m.Close()
		away := true
		b := faultboard.New(m, faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
			if away && c.Batch != nil && len(c.Batch.Guards) > 0 && c.Batch.Guards[0] == (board.Guard{Kind: board.GuardAbsent, Key: "job:1:1"}) {
				return domain.Unavailablef("away")
			}
			return nil
		}})
		e := work.New(&oneByOne{b}, work.Config{})
		jobs := []*domain.Job{job(1, "ok"), job(2, "ok", after(1))}
		receipts, err := e.Submit(t.Context(), tenant, jobs)
		if err != nil || !errors.Is(receipts[0].Err, domain.ErrUnavailable) || !errors.Is(receipts[1].Err, domain.ErrUnavailable) {
			t.Fatalf("got %+v, %v, want both unavailable", receipts, err)
		}
		away = false
		receipts, err = e.Submit(t.Context(), tenant, jobs)
		if err != nil || receipts[0].Err != nil || receipts[1].Err != nil {
			t.Errorf("again: got %+v, %v", receipts, err)
		}
	})
}

// oneByOne commits each batch, whatever became of those before.
type oneByOne struct{ board.Board }

func (o *oneByOne) CommitEach(ctx context.Context, batches []board.Batch) []error {
	errs := make([]error, len(batches))
	for i := range batches {
		errs[i] = o.Commit(ctx, batches[i])
	}
	return errs
}

func TestRetryOfAFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		r.submit(job(1, "fail"), job(2, "ok"), job(3, "ok", after(1, 2)), job(4, "hang"), job(5, "ok", after(4)))
		r.want(3, domain.JobError, domain.ReasonDependencyFailed)
		if _, err := r.engine.Retry(t.Context(), tenant, key(3)); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("retry before what it needs: got %v", err)
		}
		r.script.on("fail", func(context.Context, script.Task, script.Host) script.Outcome {
			time.Sleep(time.Second)
			return ok(nil)
		})
		for _, id := range []domain.JobID{1, 3} {
			if _, err := r.engine.Retry(t.Context(), tenant, key(id)); err != nil {
				t.Fatal(err)
			}
		}
		j := r.want(3, domain.JobFinished, "")
		if d := r.show(1); d.FinishedMs > j.StartedMs {
			t.Error("job 3 began before job 1 had ended")
		}
		// Cancelled and retried while it waits: counted down once all the same.
		for range 3 {
			if _, err := r.engine.Cancel(t.Context(), tenant, key(5), 1); err != nil {
				t.Fatal(err)
			}
			if j, err := r.engine.Retry(t.Context(), tenant, key(5)); err != nil || j.Waits != 1 || j.Cancel != "" {
				t.Fatalf("got %+v, %v", j, err)
			}
		}
		r.submit(job(6, "hang"), job(7, "ok", after(4, 6)))
		if _, err := r.engine.Cancel(t.Context(), tenant, key(4), 1); err != nil {
			t.Fatal(err)
		}
		r.want(5, domain.JobError, domain.ReasonDependencyFailed)
		r.want(7, domain.JobError, domain.ReasonDependencyFailed)
	})
}

func TestPruneLooksBehindARetriedJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		r.submit(job(1, "fail"))
		r.want(1, domain.JobError, domain.ReasonScriptFailed)
		r.submit(job(2, "ok"))
		r.want(2, domain.JobFinished, "")
		time.Sleep(time.Hour)
		for range 2 {
			if _, err := r.engine.Retry(t.Context(), tenant, key(1)); err != nil {
				t.Fatal(err)
			}
			r.want(1, domain.JobError, domain.ReasonScriptFailed)
		}
		if _, err := r.engine.Prune(t.Context(), tenant, time.Now().Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.engine.Show(t.Context(), tenant, key(2)); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("job 2 is old, but was kept: %v", err)
		}
		r.show(1)
		if _, err := r.engine.Prune(t.Context(), tenant, time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if n, err := r.board.Len(t.Context(), 1, layout.Finished); err != nil || n[0] != 0 {
			t.Errorf("%v entries left, %v", n, err)
		}
	})
}

func TestPruneWaitsForTheFollowers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := &rig{T: t, board: b, engine: work.New(b, work.Config{}), ctx: t.Context()}
		r.submit(job(1, "ok"), job(2, "ok", after(1)))
		if _, err := r.engine.Cancel(t.Context(), tenant, key(1), 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // nobody handles the alarm
		if n, err := r.engine.Prune(t.Context(), tenant, time.Now()); n != 0 || err != nil {
			t.Errorf("pruned %d, %v, but job 2 has not been told", n, err)
		}
	})
}

// pushing is a board on which producers push whenever somebody reads a queue.
type pushing struct {
	board.Board
	next int
}

func (p *pushing) List(ctx context.Context, s board.Space, list string, from, n int) ([]string, error) {
	if strings.HasPrefix(list, "queue:") {
		b := board.Batch{Space: s}
		for range 20 {
			p.next++
			b.PushLeft(list, "job:9:"+strconv.Itoa(p.next))
		}
		if err := p.Commit(ctx, b); err != nil {
			return nil, err
		}
	}
	return p.Board.List(ctx, s, list, from, n)
}

func TestAuditMissesNothingInABusyQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &pushing{Board: memboard.Open()}
		defer b.Close()
		r := &rig{T: t, board: b, engine: work.New(b, work.Config{}), ctx: t.Context()}
		for i := range 3000 {
			r.submit(job(domain.JobID(i+1), "x"))
		}
		time.Sleep(time.Minute)
		a, err := r.engine.Audit(t.Context(), tenant)
		if err != nil || a.Looked != 3000 || len(a.Repaired)+len(a.Stuck) > 0 {
			t.Errorf("looked at %d, repaired %d, stuck %d, %v", a.Looked, len(a.Repaired), len(a.Stuck), err)
		}
		for _, id := range []domain.JobID{1, 700, 1500, 2999} {
			if x, err := r.engine.Explain(t.Context(), tenant, key(id)); err != nil || x.Standing != domain.StandingQueued {
				t.Errorf("job %d: %+v, %v", id, x, err)
			}
		}
	})
}

func TestAuditRepairsWhatHasARule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := &rig{T: t, board: b, engine: work.New(b, work.Config{}), ctx: t.Context()}
		r.submit(job(1, "x"), job(2, "x"), job(3, "x"), job(4, "x", after(3)), job(5, "x"), job(6, "x"))
		next := time.Now().Add(time.Hour)
		r.commit(new(board.Batch).Drop("queue:go", "job:1:1", "job:1:2", "job:1:5").
			Set("job:1:1", f("status", "started"), f("next_retry_ms", strconv.FormatInt(next.UnixMilli(), 10))).
			Set("job:1:2", f("lease_owner", "ghost/1")).
			Set("job:1:5", f("status", "finished")).
			Set("job:1:4", f("waits", "2")).
			Live("job:1:77", time.Now()))
		time.Sleep(time.Minute)
		a, err := r.engine.Audit(t.Context(), tenant)
		if err != nil || len(a.Repaired) != 2 || len(a.Stuck) != 2 || a.Stuck[0].Key != "job:1:4" || a.Stuck[1].Key != "job:1:77" {
			t.Fatalf("got %+v, %v", a, err)
		}
		if at, set, err := b.AlarmOf(t.Context(), 1, "retry:job:1:1"); err != nil || !set || at.UnixMilli() != next.UnixMilli() {
			t.Errorf("retry alarm: %v, %v, %v", at, set, err)
		}
		if x, err := r.engine.Explain(t.Context(), tenant, key(2)); err != nil || x.Standing != domain.StandingQueued {
			t.Errorf("job 2: %+v, %v", x, err)
		}
		if x, err := r.engine.Explain(t.Context(), tenant, key(5)); err != nil || x.Standing != domain.StandingForeign {
			t.Errorf("job 5: %+v, %v", x, err)
		}
		live, err := b.Live(t.Context(), 1, board.LiveItem{}, 10)
		if err != nil || len(live) != 6 {
			t.Errorf("live: %v, %v, want the ghost gone", live, err)
		}
	})
}

// dirScript is a runtime whose scripts have a folder.
type dirScript struct{ *goScript }

func (g dirScript) Info() script.Info { return script.Info{Slots: 4} }

func TestCheckpoints(t *testing.T) {
	t.Run("in a file", func(t *testing.T) {
		g := newGoScript("go", 4)
		testCheckpoints(t, g, dirScript{g}, func(task script.Task) string {
			was, _ := os.ReadFile(task.CheckpointFile)
			return string(was)
		}, func(task script.Task, data string) error {
			return os.WriteFile(task.CheckpointFile, []byte(data), 0o600)
		})
	})
	t.Run("inside the process", func(t *testing.T) {
		g := newGoScript("go", 4)
		testCheckpoints(t, g, g, func(task script.Task) string { return task.Checkpoint.Load() },
			func(task script.Task, data string) error { return task.Checkpoint.Save(data) })
	})
}

func testCheckpoints(t *testing.T, g *goScript, rt script.Runtime, load func(script.Task) string, save func(script.Task, string) error) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		e := work.New(b, work.Config{DataDir: t.TempDir()})
		r := startRunner(t, b, e, work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{rt}})
		defer r.stop()
		r.script = g
		seen := []string{}
		outcomes := []script.Outcome{failed("once"), failed("twice"), failed("thrice"), ok(nil)}
		g.on("steps", func(_ context.Context, task script.Task, _ script.Host) script.Outcome {
			seen = append(seen, load(task))
			if err := save(task, fmt.Sprint("step ", len(seen))); err != nil {
				t.Error(err)
			}
			return outcomes[len(seen)-1]
		})
		r.submit(job(1, "steps", retries(1)))
		r.want(1, domain.JobError, domain.ReasonScriptFailed)
		if _, err := e.Retry(t.Context(), tenant, key(1)); err != nil {
			t.Fatal(err)
		}
		r.want(1, domain.JobFinished, "")
		if got := strings.Join(seen, ","); got != ",step 1,step 2,step 3" {
			t.Errorf("the attempts found %q", got)
		}
		recs, err := b.Get(t.Context(), 1, layout.Checkpoint(key(1)))
		if err != nil || recs[0] != nil {
			t.Errorf("left behind: %v, %v", recs, err)
		}
	})
}

func TestACheckpointSurvivesItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memboard.Open()
		defer m.Close()
		lose := 1
		b := faultboard.New(m, faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
			if c.Batch != nil && len(c.Batch.Ops) == 1 && strings.HasPrefix(c.Batch.Ops[0].Key, "ramet:checkpoint:") && lose > 0 {
				lose--
				return domain.Unavailablef("away")
			}
			return nil
		}})
		g := newGoScript("go", 4)
		g.on("long", func(ctx context.Context, task script.Task, _ script.Host) script.Outcome {
			if was, _ := os.ReadFile(task.CheckpointFile); string(was) == "half" {
				return ok(nil)
			}
			_ = os.WriteFile(task.CheckpointFile, []byte("half"), 0o600)
			<-ctx.Done()
			return script.Outcome{Verdict: script.Stopped}
		})
		r := startRunner(t, b, work.New(b, work.Config{DataDir: t.TempDir()}), work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{dirScript{g}}})
		r.submit(job(1, "long"))
		time.Sleep(time.Minute)
		b.Cut() // kill -9
		r.stop()
		r2 := startRunner(t, m, work.New(m, work.Config{DataDir: t.TempDir()}), work.RunnerConfig{ID: 2, Owner: "n2/a", Runtimes: []script.Runtime{dirScript{g}}})
		defer r2.stop()
		r2.want(1, domain.JobFinished, "")
	})
}

func TestClearFoldersLeavesWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		dir := t.TempDir()
		g := newGoScript("go", 4)
		var dirs []string
		g.on("hang", func(ctx context.Context, task script.Task, _ script.Host) script.Outcome {
			dirs = append(dirs, task.Dir)
			<-ctx.Done()
			return script.Outcome{Verdict: script.Stopped}
		})
		e := work.New(b, work.Config{DataDir: dir})
		r := startRunner(t, b, e, work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{dirScript{g}}})
		defer r.stop()
		r.submit(job(1, "hang"), job(2, "fail"))
		r.want(2, domain.JobError, domain.ReasonScriptFailed)
		synctest.Wait()
		old := work.JobDir(dir, tenant, key(2), 1)
		if _, err := os.Stat(old); err != nil {
			t.Error("the folder of a failed job is not kept:", err)
		}
		n, err := e.ClearFolders(time.Hour, time.Now().Add(100*365*24*time.Hour)) // the files' times are real
		if err != nil || n != 1 {
			t.Errorf("removed %d, %v, want 1", n, err)
		}
		if _, err := os.Stat(dirs[0]); err != nil {
			t.Error("the folder of a running job is gone:", err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "contexts/*/jobs/*")); len(left) != 1 {
			t.Errorf("left: %v", left)
		}
	})
}

func TestAJobThatAForeignProgramEndsBetweenAttemptsIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{RetryMin: time.Hour, RetryMax: time.Hour})
		r.submit(job(1, "fail", retries(3)), job(2, "ok", after(1)))
		time.Sleep(time.Second)
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		b.Set(key(1).String(), board.Field{Name: layout.JobStatus, Value: string(domain.JobFinished)})
		if err := r.board.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		r.want(2, domain.JobFinished, "")
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("its follower began after %v", took)
		}
		if j := r.want(1, domain.JobFinished, ""); j.FinishedMs == 0 || j.NextRetryMs != 0 {
			t.Errorf("got finished at %d, next try at %d", j.FinishedMs, j.NextRetryMs)
		}
		time.Sleep(2 * time.Hour)
		if got := r.script.count(key(1)); got != 1 {
			t.Errorf("got %d runs, want the one before", got)
		}
	})
}

// TestNumbersOfOthersHoldNothingUp: who writes a job past the doors may write what
// only the engine does. The guards name what stands there, so that the job ends,
// its slot is free, and its entry goes with those of others.
func TestNumbersOfOthersHoldNothingUp(t *testing.T) {
	for _, name := range []string{layout.JobFollowers, layout.JobQueuedMs, layout.JobAttempt, layout.JobFinishedMs, layout.JobNextRetryMs,
		layout.JobRetried} {
		for _, text := range []string{"true", "+1", "010", "0", " ", "-1", "9223372036854775807", "99999999999999999999"} {
			t.Run(name+" is "+text, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, work.Config{})
					item := key(1).String()
					if name == layout.JobFollowers || name == layout.JobQueuedMs {
						r.commit(new(board.Batch).Set(item, f(name, text), f(layout.JobScript, "ok"), f(layout.JobScriptType, "go")).PushLeft("queue:go", item))
					} else {
						r.submit(job(1, "ok"))
						r.wait(1)
						r.commit(new(board.Batch).Set(item, f(name, text)))
					}
					r.wait(1)
					r.submit(job(2, "ok"))
					r.want(2, domain.JobFinished, "")
					if n, err := r.engine.Prune(r.ctx, tenant, time.Now().Add(time.Hour)); err != nil {
						t.Errorf("prune: got %d, %v", n, err)
					}
					if _, err := r.engine.Show(r.ctx, tenant, key(2)); !errors.Is(err, domain.ErrNotFound) {
						t.Errorf("the job that ended after it is still there: %v", err)
					}
				})
			})
		}
	}
}

// A list where one job's dependency would be, and a record where a queue would be, are
// those jobs' trouble: the audit names them, and goes on.
func TestAStrangeKeyKeepsNoOtherJobFromItsAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := &rig{T: t, board: b, engine: work.New(b, work.Config{}), ctx: t.Context()}
		r.submit(job(1, "x"), job(2, "x", after(1)), job(3, "x"), job(4, "x", func(j *domain.Job) { j.Priority = 7 }), job(5, "x"))
		r.commit(new(board.Batch).Delete("job:1:1").PushLeft("job:1:1", "stranger").Drop("queue:go", "job:1:3").
			Delete("queue:go:p7").Set("queue:go:p7", f("a", "b")))
		if err := b.Commit(t.Context(), *new(board.Batch).PushLeft(layout.Runner(9), "stranger")); err != nil { // nobody who takes jobs
			t.Fatal(err)
		}
		for id, want := range map[domain.JobID]domain.Standing{2: domain.StandingStuck, 5: domain.StandingQueued} {
			if x, err := r.engine.Explain(t.Context(), tenant, key(id)); err != nil || x.Standing != want {
				t.Errorf("explain %d: got %+v, %v, want %s", id, x, err, want)
			}
		}
		time.Sleep(time.Minute)
		a, err := r.engine.Audit(t.Context(), tenant)
		if err != nil || len(a.Repaired) != 1 || a.Repaired[0].Key != "job:1:3" {
			t.Fatalf("got %+v, %v", a, err)
		}
		named := map[string]bool{}
		for _, f := range a.Stuck {
			named[f.Key] = true
		}
		if !named["job:1:2"] || !named["job:1:4"] {
			t.Errorf("got %+v, want those that are stuck named", a.Stuck)
		}
	})
}
