package resp_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/resp"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// plant is the door beside what else a node has: an engine that looks after
// jobs and flows, and a runner for scripts of type lines.
type plant struct {
	*rig
	engine *work.Engine
	flows  *flow.Engine
}

// lines is a runtime inside the process: "key=value" is a result, "hang" waits
// until it is stopped, "env NAME" gives that variable.
type lines struct{}

func (lines) Type() domain.ScriptType     { return "lines" }
func (lines) Info() script.Info           { return script.Info{Summary: "lines", Slots: 4, InProcess: true} }
func (lines) Check(context.Context) error { return nil }
func (lines) Close() error                { return nil }

func (lines) Run(ctx context.Context, t script.Task, _ script.Host) (script.Outcome, error) {
	out := script.Outcome{Verdict: script.Succeeded, Result: map[string]string{}}
	for line := range strings.Lines(t.Script) {
		line = strings.TrimSpace(line)
		if line == "hang" {
			<-ctx.Done()
			return script.Outcome{Verdict: script.Stopped, ExitCode: 143, Error: "stopped"}, nil
		}
		if name, value, ok := strings.Cut(line, "="); ok {
			out.Result[name] = value
		}
	}
	return out, nil
}

// inPlant runs a test in a bubble with an engine.
func inPlant(t *testing.T, f func(t *testing.T, p *plant)) {
	t.Helper()
	bubble(t, func(t *testing.T, r *rig) {
		p := &plant{rig: r, engine: work.New(r.board, work.Config{DataDir: t.TempDir()})}
		p.flows = flow.New(r.board, p.engine, flow.Config{})
		ctx, stop := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		log := slog.New(slog.DiscardHandler)
		wg.Go(func() {
			if err := clockwork.Run(ctx, r.board, clockwork.Config{Owner: "test/1"}, []clockwork.Maintenance{
				clockwork.Alarms(r.board, log, clockwork.Handlers(p.engine.HandleAlarm, p.flows.HandleAlarm, ban.New(r.board).HandleAlarm), nil),
			}); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() { p.flows.Keep(ctx, "test/1") })
		wg.Go(func() {
			if err := work.NewRunner(p.engine, work.RunnerConfig{ID: 1, Owner: "test/1", Runtimes: []script.Runtime{lines{}}}).Run(ctx); err != nil {
				t.Error(err)
			}
		})
		f(t, p)
		stop()
		wg.Wait()
	})
}

// field reads a field of a record past the door.
func (r *rig) field(key, name string) string {
	r.Helper()
	recs, err := r.board.Get(r.Context(), 7, key)
	if err != nil {
		r.Fatal(err)
	}
	return recs[0].Get(name)
}

// submit hands a job in at the engine.
func (p *plant) submit(jobs ...*domain.Job) {
	p.Helper()
	receipts, err := p.engine.Submit(p.Context(), 7, jobs)
	if err != nil {
		p.Fatal(err)
	}
	for _, r := range receipts {
		if r.Err != nil {
			p.Fatal(r.Err)
		}
	}
}

func TestAForeignProgramSubmits(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		c := p.as(admin)
		c.script(`
			HSET job:10:1 id 1 caller_id 10 context_id 7 script n=7 script_type lines timeout 60 retries 2 env_vars {} result {} ` +
			`prerequisites [] dependends [] created_at 1700000000 updated_at 1700000000 status dispatched -> 14
			LPUSH queue:lines job:10:1 -> 1
		`)
		synctest.Wait()
		c.want("[finished {\"n\":\"7\"}]", "HMGET", "job:10:1", "status", "result")
	})
}

func TestAForeignRunnerRuns(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		p.submit(&domain.Job{ID: 1, CallerID: 10, ScriptType: "v", Script: "first"},
			&domain.Job{ID: 2, CallerID: 10, ScriptType: "v", Script: "second", Dependends: []domain.JobID{1}})
		c := p.as(executor)
		c.script(`
			BRPOP queue:v 0 -> [queue:v job:10:1]
			HSET job:10:1 status started -> 0
		`)
		c.send("BRPOP", "queue:v", "0")
		d := p.as(executor)
		d.script(`HSET job:10:1 result {"n":"7"} status finished updated_at 5 -> 0`)
		// What follows is queued in the moment that it is told, not seconds later.
		begun := time.Now()
		if got := show(c.read()); got != "[queue:v job:10:2]" {
			t.Errorf("got %s", got)
		}
		if d := time.Since(begun); d > 100*time.Millisecond {
			t.Errorf("it took %v", d)
		}
		if p.field("job:10:1", "finished_ms") == "" {
			t.Error("the engine did not take note of the end")
		}
		d.refused("CONFLICT job:10:1 has ended already: it is finished", "HSET", "job:10:1", "status", "error")
		d.script(`HSET job:10:2 error oops status error -> 1`)
		time.Sleep(time.Second)
		if got := p.field("job:10:2", "reason"); got != "script_failed" {
			t.Errorf("got reason %q", got)
		}
	})
}

func TestAForeignRunnerThatIsLost(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		c := p.as(executor)
		a := p.as(admin)
		// Its times are old: it has still all of its time from when it was taken.
		a.script(`
			HSET job:10:1 script x script_type v timeout 100 created_at 1000 updated_at 1000 status dispatched -> 6
			LPUSH queue:v job:10:1 -> 1
		`)
		c.want("[queue:v job:10:1]", "BRPOP", "queue:v", "0")
		c.want("0", "HSET", "job:10:1", "status", "started")
		begun := time.Now()
		c.want("[queue:v job:10:1]", "BRPOP", "queue:v", "0")
		if d := time.Since(begun); d < 100*time.Second || d > 103*time.Second {
			t.Errorf("it came back after %v, want 100s", d)
		}
		if got := p.field("job:10:1", "losses"); got != "1" {
			t.Errorf("got %q losses", got)
		}
	})
}

func TestWhatNeedNotRunIsNotHandedOut(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		for id := range domain.JobID(4) {
			p.submit(&domain.Job{ID: id + 1, CallerID: 10, ScriptType: "v", Script: "x"})
		}
		if _, err := p.engine.Cancel(t.Context(), 7, domain.JobKey{Caller: 10, ID: 2}, 10); err != nil {
			t.Fatal(err)
		}
		a, c := p.as(admin), p.as(executor)
		a.want("5", "LPUSH", "queue:v", "not a job")
		a.want("6", "LPUSH", "queue:v", "job:10:1") // once more
		c.script(`
			RPOP queue:v 9 -> [job:10:1 job:10:3 job:10:4 not a job]
			LLEN queue:v -> 0
		`)
	})
}

// A key that was pushed more than once is one job: while somebody has it nobody
// else gets it, neither at the door nor at a runner of the node.
func TestAKeyPushedThriceIsHandedOutOnce(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		a, c, d := p.as(admin), p.as(executor), p.as(executor)
		a.script(`
			HSET job:10:1 script x script_type v timeout 100 -> 3
			LPUSH queue:v job:10:1 job:10:1 job:10:1 -> 3
		`)
		c.want("[queue:v job:10:1]", "BRPOP", "queue:v", "0")
		d.want("(nil)", "RPOP", "queue:v")
		a.script(`
			LPUSH queue:v job:10:1 -> 1
			HSET job:10:2 script hang script_type lines -> 2
		`)
		d.want("(nil)", "RPOP", "queue:v")
		c.script(`
			HSET job:10:1 status started -> 1
			HSET job:10:1 status finished -> 0
		`)
		synctest.Wait()
		a.want("1", "LPUSH", "queue:v", "job:10:1")
		d.want("(nil)", "RPOP", "queue:v")

		// A type that the node serves, too.
		p.setPast("job:10:2", board.Field{Name: layout.JobTakenBy, Value: "20"})
		a.want("1", "LPUSH", "queue:lines", "job:10:2")
		synctest.Wait()
		if owner, who := p.field("job:10:2", "lease_owner"), p.field("job:10:2", "runner_id"); owner+who != "" {
			t.Errorf("the node runs what a foreign runner has: %q %q", owner, who)
		}
	})
}

// A key without a record is handed to nobody: it was deleted, or it is queued
// again once it has been written.
func TestAKeyWithoutARecordIsNotHandedOut(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		a, c := p.as(admin), p.as(executor)
		a.want("1", "LPUSH", "queue:v", "job:10:1")
		c.want("(nil)", "RPOP", "queue:v")
		c.send("BRPOP", "queue:v", "0")
		a.script(`HSET job:10:1 script x script_type v -> 2`)
		begun := time.Now()
		if got := show(c.read()); got != "[queue:v job:10:1]" {
			t.Errorf("got %s", got)
		}
		if d := time.Since(begun); d > 4*time.Second {
			t.Errorf("it came after %v", d)
		}
		if n := p.field("job:10:1", "losses"); n != "" {
			t.Errorf("got %s losses, want none", n)
		}
		a.script(`
			HSET job:10:2 script x script_type v -> 2
			LPUSH queue:v job:10:2 -> 1
			DEL job:10:2 -> 1
		`)
		c.want("(nil)", "RPOP", "queue:v")
		time.Sleep(time.Minute)
		a.want("0", "LLEN", "queue:v")
		a.want("0", "EXISTS", "job:10:2")
	})
}

// A key may be pushed before its record is written, also where the node's own runner
// has taken it by then, and the record may come field by field.
func TestARunnerWaitsForTheRecord(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		a, c := p.as(admin), p.as(executor)
		a.want("1", "LPUSH", "queue:lines", "job:10:1")
		synctest.Wait()
		if p.field("job:10:1", "lease_owner") == "" {
			t.Fatal("the runner has not taken the key")
		}
		c.refused("CONFLICT job:10:1 is held by test/1", "HSET", "job:10:1", "status", "finished")
		time.Sleep(300 * time.Millisecond)
		a.want("2", "HSET", "job:10:1", "script", "n=7", "timeout", "60")
		time.Sleep(300 * time.Millisecond)
		a.want("1", "HSET", "job:10:1", "script_type", "lines")
		time.Sleep(200 * time.Millisecond)
		a.want("[finished {\"n\":\"7\"}]", "HMGET", "job:10:1", "status", "result")
	})
}

// A job that still waits is handed to nobody, whoever wrote it: it is queued when what it
// needs has come true, or ends where that cannot be.
func TestWhatStillWaitsIsNotHandedOut(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		a, c := p.as(admin), p.as(executor)
		a.script(`
			HSET job:10:1 script x script_type v -> 2
			HSET job:10:2 script x script_type v dependends [1] status dispatched -> 4
			HSET job:10:3 script x script_type v prerequisites ["lab"] -> 3
			HSET job:10:4 script x script_type v status waiting_for_prerequisites -> 3
			HSET job:10:5 script x script_type v dependends [99] -> 3
			LPUSH queue:v job:10:2 job:10:3 job:10:5 -> 3
		`)
		c.want("(nil)", "RPOP", "queue:v")
		synctest.Wait()
		c.want("[waiting_for_prerequisites 1]", "HMGET", "job:10:2", "status", "waits")
		c.want("[waiting_for_prerequisites 1]", "HMGET", "job:10:3", "status", "waits")
		if status, reason := p.field("job:10:5", "status"), p.field("job:10:5", "reason"); status != "error" || reason != "invalid" {
			t.Errorf("one that needs what is not there: got %s, %s", status, reason)
		}
		a.want("1", "LPUSH", "queue:v", "job:10:3")
		c.want("(nil)", "RPOP", "queue:v") // and pushed again

		// What waits for nothing but says so comes in a moment.
		a.want("1", "LPUSH", "queue:v", "job:10:4")
		c.want("[queue:v job:10:4]", "BRPOP", "queue:v", "0")

		a.want("1", "LPUSH", "queue:v", "job:10:1")
		c.want("[queue:v job:10:1]", "BRPOP", "queue:v", "0")
		c.send("BRPOP", "queue:v", "0")
		a.want("1", "HSET", "job:10:1", "status", "finished")
		if got := show(c.read()); got != "[queue:v job:10:2]" {
			t.Errorf("got %s", got)
		}
		if err := p.engine.MarkMet(t.Context(), 7, "lab"); err != nil {
			t.Fatal(err)
		}
		c.want("[queue:v job:10:3]", "BRPOP", "queue:v", "0")
		a.want("0", "LLEN", "queue:v")
	})
}

// What has ended stays as it is, also in the moment before the engine has taken
// note; and it is known who ended it.
func TestAForeignRunnerEndsAJobOnce(t *testing.T) {
	r := newRig(t)
	a, c := r.as(admin), r.as(executor)
	a.script(`
		HSET job:10:1 script x script_type v -> 2
		LPUSH queue:v job:10:1 -> 1
	`)
	c.script(`
		RPOP queue:v -> job:10:1
		HSET job:10:1 status started -> 1
	`)
	a.want("1", "HSET", "job:10:1", "status", "finished", "result", `{"n":"7"}`) // who never took it
	for _, who := range []*conn{a, c} {
		who.refused("CONFLICT job:10:1 has ended already: it is finished", "HSET", "job:10:1", "status", "error")
		who.refused("CONFLICT job:10:1 has ended already: it is finished", "HSET", "job:10:1", "status", "started")
		who.refused("CONFLICT job:10:1 has ended already: it is finished", "HSET", "job:10:1", "result", "{}")
		who.refused("CONFLICT job:10:1 has ended already: it is finished", "HDEL", "job:10:1", "status")
		// Whose answer was lost says it again.
		who.want("0", "HSET", "job:10:1", "status", "finished", "result", `{"n":"7"}`)
	}
	c.want("[20 10]", "HMGET", "job:10:1", "taken_by", "ended_by")
	c.refused("NOPERM", "HSET", "job:10:1", "ended_by", "20")
}

// What a runner has taken, no other executor gives back, holds or gives a result: that would run
// it twice, keep it from its queue for ever, or forge what came of it.
func TestAForeignRunnersJobIsItsOwn(t *testing.T) {
	r := newRig(t)
	a, other := r.as(admin), r.as(executor)
	a.script(`
		HSET job:10:1 script x script_type v -> 2
		HSET job:10:2 script x script_type v -> 2
		LPUSH queue:v job:10:1 -> 1
		RPOP queue:v -> job:10:1
	`)
	for _, job := range []string{"job:10:1", "job:10:2"} { // taken, and taken by nobody
		for _, field := range []string{"alive_until", "status", "result", "error", "exit_code", "updated_at"} {
			value := map[string]string{"status": "started", "result": "{}"}[field]
			other.refused("CONFLICT "+job+" is written by who took it from its queue", "HSET", job, field, cmp.Or(value, "1"))
			other.refused("CONFLICT "+job+" is written by who took it from its queue", "HDEL", job, field)
		}
	}
	a.want("[10 (nil) (nil)]", "HMGET", "job:10:1", "taken_by", "result", "alive_until")
	a.want("1", "HSET", "job:10:1", "result", "{}")
}

func TestAForeignRunnersFailuresAreTriedAgain(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		p.submit(&domain.Job{ID: 1, CallerID: 10, ScriptType: "v", Script: "x", Retries: 2})
		a, c := p.as(admin), p.as(executor)
		ended := make(chan *domain.Job, 1)
		go func() {
			j, err := p.engine.Wait(t.Context(), 7, domain.JobKey{Caller: 10, ID: 1})
			if err != nil {
				t.Error(err)
			}
			ended <- j
		}()
		for i := range 3 {
			c.want("[queue:v job:10:1]", "BRPOP", "queue:v", "0")
			c.want("0", "HSET", "job:10:1", "status", "started")
			a.want("1", "LPUSH", "queue:v", "job:10:1") // not before its time
			c.do("HSET", "job:10:1", "status", "error", "error", "oops")
			time.Sleep(100 * time.Millisecond) // the engine takes note; the next attempt comes later
			c.want("(nil)", "RPOP", "queue:v")
			if got, want := p.field("job:10:1", "taken_by") == "", i < 2; got != want {
				t.Errorf("attempt %d: let go of: %v, want %v", i+1, got, want)
			}
		}
		j := <-ended
		synctest.Wait()
		if reason := p.field("job:10:1", "reason"); j.Status != domain.JobError || j.Failures != 2 || reason != "script_failed" || j.EndedBy != executor {
			t.Errorf("got %s after %d failures, reason %q, ended by %d", j.Status, j.Failures, reason, j.EndedBy)
		}
	})
}

// What a job says of its ends holds for those that a foreign runner writes, too.
func TestAForeignRunnersLastFailure(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		job := func(id domain.JobID, r *domain.Retry) *domain.Job {
			return &domain.Job{ID: id, CallerID: 10, ScriptType: "v", Script: "x", Retries: 2, Retry: r}
		}
		p.submit(job(1, &domain.Retry{On: []domain.RetryOn{domain.RetryErrored}}), job(2, &domain.Retry{FinalExitCodes: []int{64}}), job(3, nil), job(4, nil))
		c := p.as(executor)
		c.script(`
			RPOP queue:v 4 -> [job:10:1 job:10:2 job:10:3 job:10:4]
			HSET job:10:1 status error exit_code 1 -> 1
			HSET job:10:2 status error exit_code 64 -> 1
			HSET job:10:3 status error result {"retry":"never"} -> 0
			HSET job:10:4 status error exit_code 1 -> 1
		`)
		time.Sleep(100 * time.Millisecond)
		for key, want := range map[string]bool{"job:10:1": true, "job:10:2": true, "job:10:3": true, "job:10:4": false} {
			if ended := p.field(key, "finished_ms") != ""; ended != want {
				t.Errorf("%s has ended: %v, want %v", key, ended, want)
			}
		}
	})
}

// A foreign runner says for how long it has a job, and says it anew while it lives.
func TestAForeignRunnerSaysThatItLives(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		p.submit(&domain.Job{ID: 1, CallerID: 10, ScriptType: "v", Script: "x", Timeout: 20})
		c, d := p.as(executor), p.as(executor)
		c.want("[queue:v job:10:1]", "BRPOP", "queue:v", "0")
		d.send("BRPOP", "queue:v", "0")
		until := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }
		begun := time.Now()
		for range 4 { // longer than its timeout
			c.do("HSET", "job:10:1", "alive_until", until(10*time.Second))
			time.Sleep(9 * time.Second)
		}
		if got := show(d.read()); got != "[queue:v job:10:1]" {
			t.Errorf("got %s", got)
		}
		if took := time.Since(begun); took < 36*time.Second || took > 40*time.Second {
			t.Errorf("it came back after %v, want 37s", took)
		}
		if got := p.field("job:10:1", "alive_until"); got != "" {
			t.Errorf("the next one has it alive until %s", got)
		}
		// Who goes away gives it back.
		c.send("BRPOP", "queue:v", "0")
		begun = time.Now()
		d.do("HSET", "job:10:1", "alive_until", "0")
		d.do("HSET", "job:10:1", "alive_until", "1")
		if got := show(c.read()); got != "[queue:v job:10:1]" || time.Since(begun) > time.Second {
			t.Errorf("got %s after %v", got, time.Since(begun))
		}
	})
}

// A job in the name of somebody who may not create work in the context was written
// past the doors. No runner at the door gets it, and it ends as it does at a
// runner of the node; nor does a runner get what is of another context.
func TestAForeignRunnerGetsNoStrangersJob(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		p.submit(&domain.Job{ID: 1, CallerID: 10, ScriptType: "v", Script: "ours"})
		past := board.Batch{Space: 7}
		past.Set("job:40:1", board.Field{Name: "id", Value: "1"}, board.Field{Name: "caller_id", Value: "40"}, board.Field{Name: "context_id", Value: "7"},
			board.Field{Name: "script", Value: "theirs"}, board.Field{Name: "script_type", Value: "v"}, board.Field{Name: "status", Value: "dispatched"})
		past.PushRight("queue:v", "job:40:1", "job:40:2") // they would be the first to be taken
		if err := p.board.Commit(p.Context(), past); err != nil {
			t.Fatal(err)
		}
		c := p.as(executor)
		c.script(`
			RPOP queue:v -> job:10:1
			RPOP queue:v -> (nil)
		`)
		synctest.Wait()
		if status, reason, ended := p.field("job:40:1", "status"), p.field("job:40:1", "reason"),
			p.field("job:40:1", "finished_ms"); status != "error" || reason != "invalid" || ended == "" {
			t.Errorf("the stranger's job is %s %s, ended %q, want an error, invalid", status, reason, ended)
		}
		elsewhere := board.Batch{Space: 8}
		if err := p.board.Commit(p.Context(), *elsewhere.PushLeft("queue:v", "job:10:9")); err != nil {
			t.Fatal(err)
		}
		c.refused("NOPERM", "SELECT", "8")
		c.script(`RPOP queue:v -> (nil)`)
	})
}

// So it is with tasks of circles: no worker at the door gets one whose caller may
// not create work in the context, and its client is told.
func TestAForeignWorkerGetsNoStrangersTask(t *testing.T) {
	for _, named := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, func(c *resp.Config) { c.NamedCallers = named })
			task := func(id string, more ...board.Field) {
				r.setPast("rhai_task_details:"+id, append(more, board.Field{Name: "script", Value: "1"}, board.Field{Name: "status", Value: "pending"})...)
			}
			task("theirs", board.Field{Name: "caller_id", Value: "40"}, board.Field{Name: "reply_to_queue", Value: "rhai_reply:u1"},
				board.Field{Name: "client_rpc_id", Value: "r1"})
			task("queued", board.Field{Name: "caller_id", Value: "40"}, board.Field{Name: "reply_to_queue", Value: "queue:v"})
			task("ours", board.Field{Name: "caller_id", Value: "10"})
			task("anybody's")
			r.as(admin).script(`LPUSH rhai_tasks:friends theirs queued anybody's unwritten ours -> 5`)
			e := r.as(executor)
			if !named {
				e.script(`RPOP rhai_tasks:friends -> anybody's`)
			}
			e.script(`
				RPOP rhai_tasks:friends -> unwritten
				RPOP rhai_tasks:friends -> ours
				RPOP rhai_tasks:friends -> (nil)
				LLEN queue:v -> 0
			`)
			const why = "its caller, actor 40, may not create work in context 7; see `ramet context grant`"
			a := r.as(admin)
			a.want("[error "+why+"]", "HMGET", "rhai_task_details:theirs", "status", "error")
			a.want("error", "HGET", "rhai_task_details:queued", "status")
			a.want("300", "TTL", "rhai_reply:u1")
			a.want(`{"task_id":"theirs","status":"error","error":"`+why+`","client_rpc_id":"r1"}`, "RPOP", "rhai_reply:u1")
			if named {
				a.want("[error it names no caller: this node wants caller_id on each task (circle_callers)]", "HMGET", "rhai_task_details:anybody's", "status", "error")
			}
		})
	}
}

func TestWhatOurRunnerHoldsIsItsOwn(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		p.submit(&domain.Job{ID: 1, CallerID: 10, ScriptType: "lines", Script: "hang"})
		synctest.Wait()
		p.as(executor).refused("CONFLICT job:10:1 is held by test/1 under a lease", "HSET", "job:10:1", "status", "finished")
		a := p.as(admin)
		a.refused("CONFLICT job:10:1 is held by test/1", "HSET", "job:10:1", "script", "other")
		a.refused("CONFLICT job:10:1 has not ended; cancel it first", "DEL", "job:10:1")
	})
}

func TestABanHoldsQueuesForForeignRunners(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		p.submit(&domain.Job{ID: 1, CallerID: 10, ScriptType: "v", Script: "x"})
		limit := func(field, value string) {
			b := board.Batch{Space: 7}
			if err := p.board.Commit(t.Context(), *b.Set(board.LimitsKey, board.Field{Name: field, Value: value})); err != nil {
				t.Fatal(err)
			}
		}
		c := p.as(executor)
		limit("max:queue:v", "0")
		c.want("(nil)", "RPOP", "queue:v")
		c.send("BRPOP", "queue:v", "0")
		synctest.Wait()
		limit("max:queue:v", "5")
		if got := show(c.read()); got != "[queue:v job:10:1]" {
			t.Errorf("got %s", got)
		}
	})
}

func TestWhatAJobMayLookLike(t *testing.T) {
	p := newRig(t)
	c := p.as(admin)
	for _, tt := range []struct{ cmd, want string }{
		{"HSET job:10:1 timeout soon", `ERR job:10:1: field timeout is "soon", want a decimal number`},
		{"HSET job:10:1 status done", `ERR job:10:1: field status is "done", want dispatched`},
		{"HSET job:10:1 exit_code abc", `ERR job:10:1: field exit_code is "abc", want a decimal number of 32 bits`},
		{"HSET job:10:1 exit_code 99999999999", `ERR job:10:1: field exit_code is "99999999999", want a decimal number of 32 bits`},
		{"HSET job:10:1 dependends 5", `ERR job:10:1: field dependends is "5", want a JSON list`},
		{"HSET job:10:1 env_vars [1]", `ERR job:10:1: field env_vars is "[1]", want a JSON object`},
		{"HSET job:10:1 id 2", `ERR job:10:1: field id is "2", but by its key it is 1`},
		{"HSET job:10:1 caller_id 11", `ERR job:10:1: field caller_id is "11", but by its key it is 10`},
		{"HSET job:10:1 context_id 8", `ERR job:10:1: field context_id is "8", but by its key it is 7`},
		{"HSET job:10:x script a", `ERR "job:10:x" is no key of a job`},
		{"HSET job:010:1 script a", `ERR "job:010:1" is no key of a job`},
		{"HSET job:11:1 script a", `NOPERM job:11:1: the caller in its key is not you`},
		{"HSET flow:1 caller_id 11", `NOPERM flow:1: caller_id "11" is not you`},
		{"HSET flow:x caller_id 10", `ERR "flow:x" is no key of a flow`},
		{"HSET flow:1 jobs 5", `ERR flow:1: field jobs is "5"`},
		{"HSET message:10:1 status processed", `ERR message:10:1: status "processed": a message begins as dispatched`},
		{"HSET message:20:1 message hi", `NOPERM message:20:1: the caller in its key is not you`},
		{"HSET message:10:1 timeout x", `ERR message:10:1: field timeout is "x"`},
		{"LPUSH job:10:1 x", `NOPERM job:10:1: it is a hash`},
		{"SET job:10:1 x", `NOPERM job:10:1: it is a hash`},
		{"SADD flow:1 x", `NOPERM flow:1: it is a hash`},
		{"EXPIRE job:10:1 5", `NOPERM job:10:1: how long it is kept`},
		{"HSET context:7 admins [1]", "NOPERM context:7: a context's record is changed by `ramet context grant`"},
		{"LPUSH msg_in message:10:1", `NOPERM msg_in: the node itself moves messages there`},
		{"HSET ramet:live x y", `NOPERM ramet:live: keys that begin with ramet: are written by the node alone`},
	} {
		c.refused(tt.want, strings.Fields(tt.cmd)...)
	}
	if keys, _, err := p.board.Keys(t.Context(), 7, "", "", 100); err != nil || len(keys) != 1 {
		t.Errorf("got keys %v, %v, want the context's alone", keys, err)
	}
	e := p.as(executor)
	e.refused("CONFLICT job:10:1 does not exist", "HSET", "job:10:1", "status", "started")
	e.refused("NOPERM", "HSET", "job:20:1", "script", "x")
	e.refused("NOPERM message:20:1: message_type job asks for work, which actor 20 may not do", "HSET", "message:20:1", "message_type", "job")
	e.want("2", "HSET", "message:20:2", "message_type", "chat", "context_id", "8") // the context that it is for
}

func TestWhatWasAskedForStays(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		c := p.as(admin)
		c.script(`
			HSET job:10:1 script hang script_type lines dependends [2] -> 3
			HSET job:10:2 script hang script_type v -> 2
			LPUSH queue:lines job:10:1 -> 1
		`)
		synctest.Wait()
		c.want("waiting_for_prerequisites", "HGET", "job:10:1", "status")
		c.script(`
			HSET job:10:1 script hang script_type lines dependends [2] -> 0
			HSET job:10:1 script other -> ! CONFLICT job:10:1 was submitted already, with another script
			HDEL job:10:1 script -> ! CONFLICT job:10:1 was submitted already; its fields stay
			DEL job:10:1 -> ! CONFLICT job:10:1 has not ended
			HSET job:10:2 script another -> 0
			DEL job:10:2 -> 1
		`)
	})
}

func TestWhoMayWriteForOthers(t *testing.T) {
	r := newRig(t)
	// The operator, where it is admin; executors where the context lets them
	// submit, in their own name.
	if _, _, err := r.registry.CreateTenant(t.Context(),
		domain.Tenant{ID: 9, Admins: []domain.ActorID{1}, Executors: []domain.ActorID{20}, ExecutorsMaySubmit: true}); err != nil {
		t.Fatal(err)
	}
	op, e := r.connect(), r.connect()
	op.want("OK", "AUTH", r.token(1))
	op.want("OK", "SELECT", "9")
	op.want("1", "HSET", "job:10:1", "script", "x")
	e.want("OK", "AUTH", r.token(executor))
	e.want("OK", "SELECT", "9")
	e.want("1", "HSET", "job:20:1", "script", "x")
	e.want("1", "LPUSH", "queue:v", "job:20:1")
	e.refused("NOPERM job:10:2: the caller in its key is not you", "HSET", "job:10:2", "script", "x")
	// Where runners are is not theirs to say: what is sent to these goes there. And no number
	// of another's message is used up.
	op.want("1", "HSET", "runner:5", "address", "x")
	e.refused("NOPERM", "HSET", "runner:5", "address", "y")
	e.refused("NOPERM", "HSET", "runner:6", "address", "y")
	e.refused("NOPERM", "DEL", "runner:5")
	e.refused("NOPERM message:10:5 does not exist, and its caller is not you", "LPUSH", "msg_out", "message:10:5")
	e.want("1", "LPUSH", "msg_out", "message:20:5")
	var b board.Batch
	b.Space = 9
	if err := r.board.Commit(t.Context(), *b.Set("runner:7", board.Field{Name: layout.RunnerWorker, Value: "good"})); err != nil {
		t.Fatal(err)
	}
	op.refused("CONFLICT runner:7 is the worker good", "DEL", "runner:7")
	op.refused("NOPERM", "HSET", "runner:7", "worker", "evil")
	op.refused("CONFLICT", "HSET", "runner:7", "address", "x")
	// Nor is a worker kept out whose number is not listed now; what did so before can be taken away.
	free := (domain.Worker{Actor: executor, Name: "free", Context: 9}).RunnerID()
	op.refused("NOPERM", "HSET", layout.Runner(free), "address", "x")
	op.refused("NOPERM", "HSETNX", layout.Runner(free), "topic", "x")
	b = board.Batch{Space: 9}
	if err := r.board.Commit(t.Context(), *b.Set(layout.Runner(free), board.Field{Name: "topic", Value: "x"})); err != nil {
		t.Fatal(err)
	}
	op.want("1", "DEL", layout.Runner(free))
}

// TestAQueueOfOneRunnerIsItsOwn where that is a worker: its jobs are for it alone, by the number of the worker too that
// is not listed, which other names come to. A runner of others with a small number needs no record.
func TestAQueueOfOneRunnerIsItsOwn(t *testing.T) {
	r := newRig(t)
	a, e := r.as(admin), r.as(executor)
	listed, gone := domain.Worker{Context: 7, Actor: executor, Name: "good"}.RunnerID(), domain.Worker{Context: 7, Actor: executor, Name: "away"}.RunnerID()
	set := func(actor domain.ActorID) {
		b := board.Batch{Space: 7}
		b.Set(layout.Runner(listed), board.Field{Name: layout.RunnerWorker, Value: "good"}, board.Field{Name: layout.RunnerActor, Value: fmt.Sprint(actor)})
		if err := r.board.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	set(admin)
	for i, id := range []domain.RunnerID{listed, gone, 7} {
		key := fmt.Sprintf("job:10:%d", i+1)
		a.want("3", "HSET", key, "script", "x", "script_type", "v", "for_runner", fmt.Sprint(id))
		a.want("1", "LPUSH", queue.OfRunner("v", id), key)
	}
	e.refused("NOPERM what is for runner "+fmt.Sprint(listed)+" alone is taken by the worker good of its actor", "RPOP", queue.OfRunner("v", listed))
	e.refused("NOPERM", "LMOVE", queue.OfRunner("v", listed), "queue:v", "LEFT", "LEFT")
	e.refused("NOPERM", "BRPOP", "queue:v", queue.OfRunner("v", listed), "1")
	e.refused(fmt.Sprintf("NOPERM what is for runner %d alone is a worker's, and none of that number is listed", gone), "RPOP", queue.OfRunner("v", gone))
	e.want("job:10:3", "RPOP", "queue:v:runner7")
	a.want("1", "LLEN", queue.OfRunner("v", listed))
	set(executor)
	e.want("job:10:1", "RPOP", queue.OfRunner("v", listed))
}

func TestSecretsAreHidden(t *testing.T) {
	r := newRig(t)
	a, e, rd := r.as(admin), r.as(executor), r.as(reader)
	a.script(`
		HSET job:10:1 script x script_type v env_vars {"TOKEN":"hush"} -> 3
		HSET flow:1 caller_id 10 env_vars {"TOKEN":"hush"} -> 2
		HSET message:10:1 message hi job [{"id":1,"env_vars":{"TOKEN":"hush"},"Env_Vars":{"A":"hush"}}] flow {"x":"hush"} -> 3
		LPUSH queue:v job:10:1 -> 1
		HGET job:10:1 env_vars -> {"TOKEN":"hush"}
	`)
	for _, c := range []*conn{e, rd} {
		for _, cmd := range []string{"HGET job:10:1 env_vars", "HMGET job:10:1 env_vars script", "HGETALL job:10:1", "HVALS job:10:1",
			"HSCAN job:10:1 0", "HGETALL flow:1", "HGETALL message:10:1",
			"HGET message:10:1 job", "HGET flow:1 env_vars"} {
			if got := show(c.do(strings.Fields(cmd)...)); strings.Contains(got, "hush") || !strings.Contains(got, "***") {
				t.Errorf("%s: got %s", cmd, got)
			}
		}
		c.script(`
			HGET job:10:1 env_vars -> {"TOKEN":"***"}
			HSTRLEN job:10:1 env_vars -> 15
			HGET message:10:1 job -> [{"Env_Vars":{"A":"***"},"env_vars":{"TOKEN":"***"},"id":1}]
		`)
	}
	// Who has taken the job must run it.
	e.script(`
		RPOP queue:v -> job:10:1
		HGET job:10:1 env_vars -> {"TOKEN":"hush"}
	`)
	rd.want(`{"TOKEN":"***"}`, "HGET", "job:10:1", "env_vars")
	// Hooks of the context have environments, too.
	on := &domain.Hooks{Failed: &domain.Hook{Script: "x", ScriptType: "v", Env: map[string]string{"TOKEN": "hush"}}}
	if _, err := r.registry.UpdateTenant(t.Context(), 7, domain.TenantChange{On: on}); err != nil {
		t.Fatal(err)
	}
	a.want(`{"failed":{"script":"x","script_type":"v","env":{"TOKEN":"hush"}}}`, "HGET", "context:7", "on")
	rd.want(`{"failed":{"env":{"TOKEN":"***"},"script":"x","script_type":"v"}}`, "HGET", "context:7", "on")
	// Nor is it stored in the place of what it hides.
	for _, cmd := range []string{`HSET job:10:3 script x script_type v env_vars {"TOKEN":"***","B":"b"}`, `HSET flow:1 env_vars {"TOKEN":"***"}`,
		`HSET message:10:2 message hi job [{"id":1,"Env_Vars":{"A":"***"}}]`,
		`HSET message:10:2 message hi flow {"x":{"env":{"TOKEN":"***"}}}`, "HSET flow:1 env_vars ***"} {
		if got := show(a.do(strings.Fields(cmd)...)); !strings.Contains(got, "may read it") {
			t.Errorf("%s: got %s", cmd, got)
		}
	}
	a.script(`HSET message:10:4 message *** job [{"id":1,"script":"***"}] -> 2`)
	// What cannot be read is hidden wholly.
	r.setPast("job:10:2", board.Field{Name: "env_vars", Value: "hush"}, board.Field{Name: "script", Value: "x"})
	rd.want("***", "HGET", "job:10:2", "env_vars")
}

// setPast writes a record past the door.
func (r *rig) setPast(key string, fields ...board.Field) {
	r.Helper()
	b := board.Batch{Space: 7}
	if err := r.board.Commit(r.Context(), *b.Set(key, fields...)); err != nil {
		r.Fatal(err)
	}
}

func TestAForeignProgramsFlowRunsOnForeignRunners(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		c, e := p.as(admin), p.as(executor)
		c.script(`
			HSET job:10:2001 script a script_type v dependends [] status dispatched -> 4
			HSET job:10:2002 script b script_type v dependends [2001] status dispatched -> 4
			HSET flow:33 id 33 caller_id 10 context_id 7 jobs [2001,2002] env_vars {} result {} status dispatched -> 7
			LPUSH queue:v job:10:2001 -> 1
		`)
		for _, id := range []int{2001, 2002} {
			e.want(fmt.Sprintf("[queue:v job:10:%d]", id), "BRPOP", "queue:v", "60")
			e.want("0", "HSET", fmt.Sprintf("job:10:%d", id), "status", "started")
			e.want("1", "HSET", fmt.Sprintf("job:10:%d", id), "status", "finished", "result", `{"n":"1"}`)
		}
		time.Sleep(5 * time.Second)
		c.want("finished", "HGET", "flow:33", "status")
		c.refused("CONFLICT flow:33 is looked after by the node", "HSET", "flow:33", "status", "error")
		c.refused("CONFLICT flow:33 is looked after by the node", "DEL", "flow:33")
	})
}

func TestAMessageIsWrittenOnce(t *testing.T) {
	r := newRig(t)
	e := r.as(executor)
	e.script(`
		HSET message:20:1 message_type chat message hello dst_actor 10 status dispatched -> 4
		HSET message:20:1 message again -> 0
		LPUSH msg_out message:20:1 -> 1
	`)
	r.setPast("message:20:1", board.Field{Name: layout.MessageSentMs, Value: "5"})
	e.refused("CONFLICT message:20:1 is on its way already", "HSET", "message:20:1", "message", "other")
	r.setPast("message:20:2", board.Field{Name: layout.MessageOrigin, Value: "message:5:5"}, board.Field{Name: "status", Value: "dispatched"})
	e.refused("CONFLICT message:20:2 is on its way already, or came from elsewhere", "HSET", "message:20:2", "message", "other")
}

func TestTasksOfCircles(t *testing.T) {
	r := newRig(t)
	a, e := r.as(admin), r.as(executor)
	a.script(`
		HSET rhai_task_details:t1 script 40+2 status pending reply_to_queue rhai_reply:u1 -> 3
		LPUSH rhai_tasks:friends t1 -> 1
	`)
	e.script(`
		BLPOP rhai_tasks:friends 1 -> [rhai_tasks:friends t1]
		HSET rhai_task_details:t1 status processing -> 0
		HSET rhai_task_details:t1 script other -> ! NOPERM
		HSET rhai_task_details:t1 status completed output 42 -> 1
		LPUSH rhai_reply:u1 {"task_id":"t1","status":"completed","output":"42"} -> 1
		EXPIRE rhai_reply:u1 60 -> 1
	`)
	a.script(`
		BLPOP rhai_reply:u1 1 -> [rhai_reply:u1 {"task_id":"t1","status":"completed","output":"42"}]
		DEL rhai_reply:u1 -> 0
	`)
	// One that has ended, or that a worker of ours has, is not handed out again.
	r.setPast("rhai_task_details:t2", board.Field{Name: "status", Value: "pending"}, board.Field{Name: board.FieldOwner, Value: "test/1"})
	a.script(`
		LPUSH rhai_tasks:friends t1 t2 t3 -> 3
		HSET rhai_task_details:t2 status completed -> ! CONFLICT rhai_task_details:t2 is held by test/1 under a lease
		HSET rhai_task_details:t2 script 1 status pending -> 1
		HSET rhai_task_details:t2 script 2 -> ! CONFLICT rhai_task_details:t2 is held by test/1 under a lease
		HSET rhai_task_details:t4 caller_id 1 -> ! NOPERM rhai_task_details:t4: caller_id "1" is not you
		HSET rhai_task_details:t4 caller_id 10 -> 1
	`)
	e.script(`
		BLPOP rhai_tasks:friends 1 -> [rhai_tasks:friends t3]
		LLEN rhai_tasks:friends -> 2
		LPOP rhai_tasks:friends -> (nil)
		LLEN rhai_tasks:friends -> 0
	`)
}

// TestAJobIsTakenInThePipelineThatMadeIt: what a pipeline, or a MULTI, has written
// counts for what comes behind it there, though none of it is committed yet.
func TestAJobIsTakenInThePipelineThatMadeIt(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		c := p.as(admin)
		c.script(`
			MULTI -> OK
			HSET job:10:1 script x script_type v -> QUEUED
			LPUSH queue:v job:10:1 -> QUEUED
			RPOP queue:v -> QUEUED
			EXEC -> [2 1 job:10:1]
		`)
		if got := p.field("job:10:1", "taken_by"); got != "10" {
			t.Errorf("taken by %q", got)
		}
	})
}
