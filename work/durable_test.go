package work_test

import (
	"context"
	"encoding/json"
	"errors"
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
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// durably is a script that asks its channel. What it is asked to suspend for it ends with.
type durably struct {
	ctx context.Context
	script.Task
}

var errSuspend = errors.New("suspend")

func (d durably) do(r durable.Request) (durable.Answer, error) {
	a, err := d.Channel.Do(d.ctx, r)
	if err == nil && a.Suspend {
		err = errSuspend
	}
	return a, err
}

func (d durably) step(name string, f func(key string) string) (string, error) {
	a, err := d.do(durable.Request{Do: "step", Name: name})
	if err != nil || a.Done {
		return string(a.Value), err
	}
	value := f(a.Key)
	_, err = d.do(durable.Request{Do: "done", Name: name, N: a.N, Value: json.RawMessage(value)})
	return value, err
}

func (d durably) sleep(name string, how time.Duration) error {
	ms := how.Milliseconds()
	_, err := d.do(durable.Request{Do: "sleep", Name: name, ForMs: &ms})
	return err
}

func (d durably) wait(name string) (string, error) {
	a, err := d.do(durable.Request{Do: "wait", Name: name})
	return string(a.Value), err
}

// onDurable makes a script of a function.
func (g *goScript) onDurable(text string, f func(d durably) (string, error)) {
	g.on(text, func(ctx context.Context, t script.Task, _ script.Host) script.Outcome {
		value, err := f(durably{ctx, t})
		switch {
		case ctx.Err() != nil:
			return script.Outcome{Verdict: script.Stopped}
		case err != nil:
			return failed(err.Error())
		}
		return ok(map[string]string{"value": value})
	})
}

func TestAScriptSleepsForDaysWithoutASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		defer r.stop()
		steps := 0
		r.script.onDurable("nap", func(d durably) (string, error) {
			first, err := d.step("first", func(string) string { steps++; return `"done"` })
			if err == nil {
				err = d.sleep("nap", 40*time.Hour)
			}
			return first, err
		})
		began := time.Now()
		r.submit(job(1, "nap"))
		synctest.Wait()
		time.Sleep(time.Second)
		j := r.show(1)
		if j.Status != domain.JobStarted || j.LeaseOwner != "" || j.Suspended == nil || j.Suspended.Name != "nap" || j.Remembered != 2 || j.Failures != 0 {
			t.Fatalf("a job that sleeps: %+v, suspended %+v", j, j.Suspended)
		}
		x, err := r.engine.Explain(r.ctx, tenant, key(1))
		if err != nil || x.Standing != domain.StandingSuspended || !strings.Contains(x.Text, `sleep "nap"`) {
			t.Fatalf("explain: %+v, %v", x, err)
		}
		j = r.want(1, domain.JobFinished, "")
		if took := time.Since(began); took < 40*time.Hour || took > 40*time.Hour+time.Minute || steps != 1 || j.Attempt != 2 || j.Result["value"] != `"done"` ||
			j.Suspended != nil {
			t.Fatalf("after %v and %d steps: %+v", took, steps, j)
		}
	})
}

// A thousand scripts that sleep hold none of eight slots: another job begins at once.
func TestScriptsThatSleepHoldNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		defer r.stop()
		r.script.onDurable("nap", func(d durably) (string, error) { return "", d.sleep("nap", 10*time.Minute) })
		sleepers := domain.JobID(watched.Rounds(1000, 50))
		for id := range sleepers {
			r.submit(job(id+1, "nap"))
		}
		time.Sleep(time.Minute)
		suspended := domain.JobID(0)
		for id := range sleepers {
			if j := r.show(id + 1); j.Suspended != nil && j.LeaseOwner == "" {
				suspended++
			}
		}
		began := time.Now()
		r.submit(job(sleepers+1, "ok"))
		r.want(sleepers+1, domain.JobFinished, "")
		if took := time.Since(began); suspended != sleepers || took > time.Second {
			t.Fatalf("%d of %d are suspended, and another job took %v", suspended, sleepers, took)
		}
		for id := range sleepers {
			r.want(id+1, domain.JobFinished, "")
		}
	})
}

func TestASignalHasAScriptGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		defer r.stop()
		r.script.onDurable("wait", func(d durably) (string, error) {
			a, err := d.wait("a")
			if err != nil {
				return "", err
			}
			b, err := d.wait("b")
			return a + b, err
		})
		send := func(name, payload string) error {
			_, err := r.engine.Signal(r.ctx, tenant, key(1), domain.Signal{Name: name, Payload: json.RawMessage(payload), By: 1})
			return err
		}
		r.submit(job(1, "wait"))
		time.Sleep(time.Hour)
		for _, s := range []string{"b", "b"} { // it does not wait for that yet: it is kept, and nothing is run
			if err := send(s, "2"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		if n := r.script.count(key(1)); n != 1 {
			t.Fatalf("ran %d times, want once", n)
		}
		if err := send("a", "1"); err != nil {
			t.Fatal(err)
		}
		j := r.want(1, domain.JobFinished, "")
		if j.Result["value"] != "12" || j.Signals != 1 || j.Remembered != 3 {
			t.Fatalf("got %+v", j)
		}
		if err := send("a", "1"); !errors.Is(err, domain.ErrConflict) {
			t.Fatalf("a signal to an ended job: %v", err)
		}
		if err := send("", "1"); !errors.Is(err, domain.ErrInvalid) {
			t.Fatalf("a signal without a name: %v", err)
		}
	})
}

// A signal that comes between the script's look and the end of its attempt is not missed.
func TestASignalInTheMomentOfSuspensionIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		defer r.stop()
		sent := false
		r.script.onDurable("wait", func(d durably) (string, error) {
			v, err := d.wait("a")
			if err != nil && !sent {
				sent = true
				if _, err := r.engine.Signal(r.ctx, tenant, key(1), domain.Signal{Name: "a", Payload: json.RawMessage("1")}); err != nil {
					t.Error(err)
				}
			}
			return v, err
		})
		began := time.Now()
		r.submit(job(1, "wait"))
		if j := r.want(1, domain.JobFinished, ""); j.Result["value"] != "1" || time.Since(began) > time.Minute {
			t.Fatalf("after %v: %+v", time.Since(began), j)
		}
	})
}

func TestAChangedScriptEndsWithWhatDiffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		defer r.stop()
		names := []string{"a", "x"}
		r.script.onDurable("drift", func(d durably) (string, error) {
			name := names[0]
			names = names[1:]
			if _, err := d.step(name, func(string) string { return "1" }); err != nil {
				return "", err
			}
			return "", d.sleep("nap", time.Hour)
		})
		r.submit(job(1, "drift", retries(5)))
		j := r.want(1, domain.JobError, domain.ReasonScriptFailed)
		if !strings.Contains(j.Error, `step "x"`) || !strings.Contains(j.Error, `step "a"`) || r.script.count(key(1)) != 2 {
			t.Fatalf("after %d runs: %s", r.script.count(key(1)), j.Error)
		}
	})
}

func TestACancelEndsWhatIsSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		defer r.stop()
		r.script.onDurable("wait", func(d durably) (string, error) { return d.wait("never") })
		r.submit(job(1, "wait"))
		time.Sleep(time.Second)
		if _, err := r.engine.Cancel(r.ctx, tenant, key(1), 1); err != nil {
			t.Fatal(err)
		}
		if j := r.want(1, domain.JobError, domain.ReasonCancelled); j.Suspended != nil {
			t.Fatalf("got %+v", j.Suspended)
		}
		if alarms, _ := r.board.Alarms(r.ctx, board.Alarm{}, 10); len(alarms) != 0 {
			t.Fatalf("alarms left: %v", alarms)
		}
	})
}

// The node is killed at each of its commits in turn: no step that was acknowledged is done
// again, its key never changes, and a stale owner writes nothing.
func TestAKilledNodeForgetsNoStep(t *testing.T) {
	for at := range 12 {
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
			acked, keys := map[string]bool{}, map[string]string{}
			g := newGoScript("go", 4)
			g.onDurable("three", func(d durably) (string, error) {
				for _, name := range []string{"a", "b", "c"} {
					did := false
					_, err := d.step(name, func(key string) string {
						if acked[name] || keys[name] != "" && keys[name] != key {
							t.Errorf("killed at commit %d: step %s is done again, acknowledged %v, with key %s", at, name, acked[name], key)
						}
						keys[name], did = key, true
						return "1"
					})
					if err != nil {
						return "", err
					}
					acked[name] = acked[name] || did
				}
				return "", nil
			})
			dead := startRunner(t, b, work.New(b, work.Config{}), work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{g}})
			armed.Store(true)
			e := work.New(m, work.Config{RetryMin: time.Second})
			if _, err := e.Submit(t.Context(), tenant, []*domain.Job{job(1, "three", retries(9))}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			b.Cut()
			dead.stop()
			r := startRunner(t, m, e, work.RunnerConfig{ID: 2, Owner: "n2/a", Runtimes: []script.Runtime{g}})
			defer r.stop()
			if j := r.want(1, domain.JobFinished, ""); j.Remembered != 3 {
				t.Fatalf("killed at commit %d: %d events are remembered, want 3", at, j.Remembered)
			}
		})
	}
}

func TestAForkRemembersWhatWasBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		defer r.stop()
		done := map[string]int{}
		r.script.onDurable("three", func(d durably) (all string, err error) {
			for _, name := range []string{"a", "b", "c"} {
				v, err := d.step(name, func(string) string { done[name]++; return `"` + name + `"` })
				if err != nil {
					return "", err
				}
				all += v
			}
			return all, nil
		})
		r.submit(job(1, "three"))
		r.want(1, domain.JobFinished, "")
		forked, err := r.engine.Fork(r.ctx, tenant, key(1), "b", 1, nil, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour) // its history stays, though it lay there before the job
		j := r.want(forked.ID, domain.JobFinished, "")
		events, total, err := r.engine.History(r.ctx, tenant, forked.Key(), 0, 10)
		if err != nil || total != 3 || len(events) != 3 || events[2].Name != "c" || j.Result["value"] != `"a""b""c"` || done["a"] != 1 || done["b"] != 2 {
			t.Fatalf("%d events %v, steps done %v, %v: %+v", total, events, done, err, j)
		}
		if _, err := r.engine.Fork(r.ctx, tenant, key(1), "x", 1, nil, "", 0); !errors.Is(err, domain.ErrNotFound) {
			t.Fatalf("from a step that is not there: %v", err)
		}
		for range 2 {
			again, err := r.engine.Fork(r.ctx, tenant, key(1), "b", 1, nil, "ticket", time.Hour)
			if err != nil || again.ID != forked.ID+1 {
				t.Fatalf("under a ticket: got %+v, %v, want one job after %d", again, err, forked.ID)
			}
			r.want(again.ID, domain.JobFinished, "")
		}
		ended, _, err := r.engine.Ended(r.ctx, work.Backlog{Tenant: tenant, Waiting: 3}, 3)
		if err != nil || len(ended) != 3 || len(ended[0].Job.History) != 3 {
			t.Fatalf("for the archive: %+v, %v", ended, err)
		}
	})
}

func TestAHistoryGoesWithItsJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		defer r.stop()
		r.script.onDurable("one", func(d durably) (string, error) { return d.step("a", func(string) string { return "1" }) })
		r.submit(job(1, "one"))
		r.want(1, domain.JobFinished, "")
		if n, err := r.board.Len(r.ctx, 1, layout.Steps(key(1))); err != nil || n[0] != 1 {
			t.Fatalf("%v, %v", n, err)
		}
		time.Sleep(time.Hour)
		if _, err := r.engine.Prune(r.ctx, tenant, time.Now()); err != nil {
			t.Fatal(err)
		}
		keys, _, err := r.board.Keys(r.ctx, 1, "ramet:steps:", "", 10)
		if err != nil || len(keys) != 0 {
			t.Fatalf("left: %v, %v", keys, err)
		}
	})
}
