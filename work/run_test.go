package work_test

import (
	"context"
	"fmt"
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

func TestAPanicCostsTheJobOnly(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
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
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
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

func TestCancelMeetsTheEndOfAnAttempt(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
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
		r := by.startRig(t, b, work.Config{RetryMin: time.Hour, RetryMax: time.Hour}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 4))
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

// oneByOne commits each batch, whatever became of those before.
type oneByOne struct{ board.Board }

func (o *oneByOne) CommitEach(ctx context.Context, batches []board.Batch) []error {
	errs := make([]error, len(batches))
	for i := range batches {
		errs[i] = o.Commit(ctx, batches[i])
	}
	return errs
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

// dirScript is a runtime whose scripts have a folder.
type dirScript struct{ *goScript }

func (g dirScript) Info() script.Info { return script.Info{Slots: 4} }

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
