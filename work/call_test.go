package work_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// call has scripts done, and gives what came of them.
func (d durably) call(scripts ...string) (string, error) {
	r := durable.Request{Do: "call"}
	for _, s := range scripts {
		r.Calls = append(r.Calls, domain.Call{Name: s, Script: s, Params: map[string]string{"of": s}})
	}
	a, err := d.do(r)
	var out []string
	for _, end := range a.Ends {
		if end.Failure != nil {
			out = append(out, end.Failure.Kind)
		} else {
			out = append(out, string(end.Value))
		}
	}
	return strings.Join(out, " "), err
}

func (d durably) waitFor(prerequisite string, timeout time.Duration) (string, error) {
	r := durable.Request{Do: "wait", Name: "w", Prerequisite: prerequisite}
	if timeout > 0 {
		r.TimeoutMs = new(timeout.Milliseconds())
	}
	a, err := d.do(r)
	switch {
	case a.TimedOut:
		return "late", err
	case a.Failure != nil:
		return a.Failure.Text, err
	}
	return string(a.Value), err
}

func TestAScriptCallsOthersAndHoldsNoSlotMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		defer r.stop()
		r.script.onDurable("parent", func(d durably) (string, error) { return d.call("child", "fail") })
		r.script.on("child", func(context.Context, script.Task, script.Host) script.Outcome {
			time.Sleep(time.Hour / 2)
			return ok(map[string]string{"got": "1"})
		})
		r.submit(job(1, "parent"))
		time.Sleep(time.Minute)
		j := r.show(1)
		if j.Suspended == nil || j.LeaseOwner != "" || j.Calls != 2 || !slices.Equal(j.Suspended.Children, []string{"job:1:2", "job:1:3"}) {
			t.Fatalf("a job that has called: %+v, suspended %+v", j, j.Suspended)
		}
		x, err := r.engine.Explain(r.ctx, tenant, key(1))
		if err != nil || x.Standing != domain.StandingSuspended || !strings.Contains(x.Text, "for the end of job:1:2, job:1:3") {
			t.Errorf("explain: %+v, %v", x, err)
		}
		child := r.show(2)
		if c := child.CalledBy; c == nil || c.Job != "job:1:1" || c.Name != "child" || c.N != 1 || c.Depth != 1 || child.Params["of"] != "child" {
			t.Errorf("the child: %+v, %+v", child, child.CalledBy)
		}
		if x, err = r.engine.Explain(r.ctx, tenant, key(2)); err != nil || !strings.Contains(x.Text, `called by job:1:1, in call "child"`) {
			t.Errorf("explain of the child: %+v, %v", x, err)
		}
		j = r.want(1, domain.JobFinished, "")
		if j.Result["value"] != `{"got":"1"} script_failed` || r.script.count(key(1)) != 2 || r.script.count(key(2)) != 1 {
			t.Errorf("after %d runs: %+v", r.script.count(key(1)), j)
		}
	})
}

// A node dies at each of its commits in turn, or hears no answer to it: each child is made once.
func TestAKilledNodeMakesEachChildOnce(t *testing.T) {
	for at := range 16 {
		synctest.Test(t, func(t *testing.T) {
			m := memboard.Open()
			defer m.Close()
			var commits atomic.Int32
			var armed atomic.Bool
			b := faultboard.New(m, faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
				if c.Batch != nil && armed.Load() && int(commits.Add(1)) > at {
					return domain.Unavailablef("killed")
				}
				return nil
			}})
			g := newGoScript("go", 4)
			var runs atomic.Int32
			g.onDurable("parent", func(d durably) (string, error) { return d.call("child", "child", "child") })
			g.on("child", func(context.Context, script.Task, script.Host) script.Outcome {
				runs.Add(1)
				return ok(map[string]string{})
			})
			dead := startRunner(t, b, work.New(b, work.Config{}), work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{g}})
			armed.Store(true)
			e := work.New(m, work.Config{RetryMin: time.Second})
			if _, err := e.Submit(t.Context(), tenant, []*domain.Job{job(1, "parent", retries(9))}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			b.Cut()
			dead.stop()
			r := startRunner(t, m, e, work.RunnerConfig{ID: 2, Owner: "n2/a", Runtimes: []script.Runtime{g}})
			defer r.stop()
			if j := r.want(1, domain.JobFinished, ""); j.Calls != 3 || j.Result["value"] != "{} {} {}" {
				t.Fatalf("killed at commit %d: %+v", at, j)
			}
			if live, err := m.Live(t.Context(), 1, board.LiveItem{}, 10); err != nil || len(live) != 0 {
				t.Errorf("killed at commit %d: there is more than three children: %v, %v", at, live, err)
			}
			if ended, err := m.List(t.Context(), 1, "ramet:finished", 0, 10); err != nil || len(ended) != 4 {
				t.Errorf("killed at commit %d: %d jobs have ended, want 4: %v", at, len(ended), err)
			}
		})
	}
}

func TestChildrenEndWithTheirParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		defer r.stop()
		r.script.onDurable("parent", func(d durably) (string, error) { return d.call("hang", "sleeper") })
		r.script.onDurable("sleeper", func(d durably) (string, error) { return d.call("hang") })
		r.submit(job(1, "parent"))
		time.Sleep(time.Minute)
		if _, err := r.engine.Cancel(r.ctx, tenant, key(1), 1); err != nil {
			t.Fatal(err)
		}
		for id := range domain.JobID(4) {
			r.want(id+1, domain.JobError, domain.ReasonCancelled)
		}
		time.Sleep(time.Minute)
		if alarms, _ := r.board.Alarms(r.ctx, board.Alarm{}, 10); len(alarms) != 0 {
			t.Errorf("alarms left: %v", alarms)
		}
	})
}

func TestCallsAreSoDeepAndNoDeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		defer r.stop()
		r.script.onDurable("deep", func(d durably) (string, error) {
			a, err := d.do(durable.Request{Do: "call", Calls: []domain.Call{{Name: "deep", Script: "deep"}}})
			if err != nil {
				return "", err
			}
			if f := a.Ends[0].Failure; f != nil {
				return "", fmt.Errorf("%s", f.Text)
			}
			return string(a.Ends[0].Value), nil
		})
		r.submit(job(1, "deep"))
		if j := r.want(1, domain.JobError, domain.ReasonScriptFailed); !strings.Contains(j.Error, "8 deep") && !strings.Contains(j.Error, "9 deep") {
			t.Errorf("got %s", j.Error)
		}
		if _, err := r.engine.Show(r.ctx, tenant, key(domain.MaxFlowDepth)); err != nil {
			t.Error(err)
		}
		if _, err := r.engine.Show(r.ctx, tenant, key(domain.MaxFlowDepth+1)); err == nil {
			t.Error("there are more jobs than the limit")
		}
	})
}

func TestAScriptWaitsForAPrerequisite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hour := time.Duration(watched.Rounds(60, 6)) * time.Minute // as the race detector sees them
		r := newRig(t, work.Config{})
		defer r.stop()
		for name, of := range map[string]string{"named": "the light is green", "job": "job:1:9", "self": "job:1:3", "late": "it never is", "bad": "tcp:nothing"} {
			timeout := time.Duration(0)
			if name == "late" {
				timeout = 48 * hour
			}
			r.script.onDurable(name, func(d durably) (string, error) { return d.waitFor(of, timeout) })
		}
		r.script.on("slow", func(context.Context, script.Task, script.Host) script.Outcome {
			time.Sleep(30 * hour)
			return ok(nil)
		})
		r.submit(job(9, "slow", func(j *domain.Job) { j.Timeout = 100 * 3600 }), job(1, "named"), job(2, "job"), job(3, "self"), job(4, "late"), job(5, "bad"))
		began := time.Now()
		time.Sleep(25 * hour)
		j := r.show(1)
		if j.Suspended == nil || !slices.Equal(j.Suspended.Prerequisites, []string{"the light is green"}) {
			t.Fatalf("%+v, suspended %+v", j, j.Suspended)
		}
		if err := r.engine.MarkMet(r.ctx, tenant, "the light is green"); err != nil {
			t.Fatal(err)
		}
		if j := r.want(1, domain.JobFinished, ""); j.Result["value"] != "true" || time.Since(began) > 25*hour+time.Minute {
			t.Errorf("after %v: %v", time.Since(began), j.Result)
		}
		if j := r.want(2, domain.JobFinished, ""); j.Result["value"] != "true" || r.script.count(key(2)) != 2 {
			t.Errorf("after %d runs: %v", r.script.count(key(2)), j.Result)
		}
		if took := time.Since(began); took > 31*hour {
			t.Errorf("it took %v until the end of a job was seen", took)
		}
		if j := r.want(3, domain.JobFinished, ""); !strings.Contains(j.Result["value"], "wait for itself") {
			t.Errorf("got %v", j.Result)
		}
		if j := r.want(4, domain.JobFinished, ""); j.Result["value"] != "late" {
			t.Errorf("got %v", j.Result)
		}
		if j := r.want(5, domain.JobFinished, ""); !strings.Contains(j.Result["value"], "tcp:host:port") {
			t.Errorf("got %v", j.Result)
		}
		time.Sleep(time.Hour)
		if alarms, _ := r.board.Alarms(r.ctx, board.Alarm{}, 10); len(alarms) != 0 {
			t.Errorf("alarms left: %v", alarms)
		}
		wanted, _, err := r.board.Keys(r.ctx, 1, "ramet:wanted", "", 10)
		if err != nil || len(wanted) != 0 {
			t.Errorf("waited for still: %v, %v", wanted, err)
		}
	})
}

// Ids that others have chosen by hand are passed over.
func TestAChildGetsAnIdThatIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		defer r.stop()
		r.script.onDurable("parent", func(d durably) (string, error) { return d.call("ok", "ok") })
		for id := range domain.JobID(100) {
			r.submit(job(id+2, "ok"))
		}
		r.submit(job(1, "parent"))
		if j := r.want(1, domain.JobFinished, ""); j.Calls != 2 {
			t.Errorf("got %+v", j)
		}
	})
}

// What tells a parent may be missing: a child was deleted by another program, or the alarm of its
// end was put off by a node that knew of no calls. The audit finds both.
func TestAParentThatWasNotToldIsFound(t *testing.T) {
	for name, change := range map[string]func(b *board.Batch){
		"the child is gone": func(b *board.Batch) { b.Delete("job:1:2") },
		"it has ended, and set no alarm": func(b *board.Batch) {
			b.Set("job:1:2", board.Field{Name: "status", Value: "finished"}, board.Field{Name: "finished_ms", Value: "946684800000"})
		},
		"it has ended, and an older node has put off the alarm": func(b *board.Batch) {
			b.Set("job:1:2", board.Field{Name: "status", Value: "finished"}, board.Field{Name: "finished_ms", Value: "946684800000"})
			b.SetAlarm("called:job:1:1", time.Now().Add(time.Hour))
		},
		"another kind of thing lies there": func(b *board.Batch) { b.Delete("job:1:2").PushLeft("job:1:2", "x") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, work.Config{})
				defer r.stop()
				r.script.onDurable("parent", func(d durably) (string, error) { return d.call("hang") })
				r.submit(job(1, "parent"))
				time.Sleep(time.Minute + time.Second) // between two rounds of the node's own auditor
				synctest.Wait()
				if a, err := r.engine.Audit(r.ctx, tenant); err != nil || len(a.Repaired) > 0 {
					t.Fatalf("before: %+v, %v", a, err)
				}
				b := board.Batch{Space: 1}
				change(&b)
				b.Settle("job:1:2")
				if err := r.board.Commit(r.ctx, b); err != nil {
					t.Fatal(err)
				}
				x, err := r.engine.Explain(r.ctx, tenant, key(1))
				if err != nil || x.Standing != domain.StandingStuck || !strings.Contains(x.Text, "was not told: job:1:2") {
					t.Errorf("explain: %+v, %v", x, err)
				}
				if a, err := r.engine.Audit(r.ctx, tenant); err != nil || len(a.Repaired) != 1 || a.Repaired[0].Key != "job:1:1" {
					t.Errorf("the audit: %+v, %v", a, err)
				}
				r.want(1, domain.JobFinished, "")
			})
		})
	}
}
