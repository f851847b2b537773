package work_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// This file has foreign programs speak to the very Redis on which a node lives.

// foreigner is a program that knows of Redis, and of nothing else here.
type foreigner struct {
	*testing.T
	c rueidis.Client
}

func (f foreigner) do(words ...string) rueidis.RedisResult {
	f.Helper()
	r := f.c.Do(f.Context(), f.c.B().Arbitrary(words...).Build())
	if err := r.Error(); err != nil && !rueidis.IsRedisNil(err) {
		f.Fatalf("%v: %v", words, err)
	}
	return r
}

// take waits for an item of a queue. The time is one that only a broken program
// reaches.
func (f foreigner) take(list string) string {
	f.Helper()
	got, err := f.c.Do(f.Context(), f.c.B().Arbitrary("BRPOP", list, "120").Blocking()).AsStrSlice()
	if err != nil || len(got) != 2 {
		f.Fatalf("BRPOP %s: %v, %v", list, got, err)
	}
	return got[1]
}

// write writes the record of a job and queues it.
func (f foreigner) write(id, typ string, more ...string) {
	f.Helper()
	f.do(append([]string{"HSET", "job:1:" + id, "script", "ok", "script_type", typ}, more...)...)
	f.do("LPUSH", "queue:"+typ, "job:1:"+id)
}

// onRedis is an engine on a Redis in which a foreign program works in context 1.
// Nobody looks at anything from time to time, unless audits says so.
func onRedis(t *testing.T, cfg work.Config, audits bool) (*rig, foreigner) {
	s := redistest.Start(t)
	b, err := redisboard.Open(t.Context(), s.URL(), redisboard.Config{Poll: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	opt := rueidis.MustParseURL(s.URL())
	opt.SelectDB, opt.DisableCache, opt.ForceSingleClient = 1, true, true
	c, err := rueidis.NewClient(opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	taken, err := b.Taken(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r := followingRig(ctx, t, b, cfg, taken, audits)
	t.Cleanup(func() { cancel(); r.stop(); c.Close(); b.Close() })
	return r, foreigner{t, c}
}

// followingRig is a rig that follows foreign runners until ctx ends.
func followingRig(ctx context.Context, t *testing.T, b board.Board, cfg work.Config, taken <-chan board.Event, audits bool) *rig {
	contexts := board.Batch{}
	if err := b.Commit(t.Context(), *contexts.Include(layout.Contexts, "1")); err != nil {
		t.Fatal(err)
	}
	e, g := work.New(b, cfg), newGoScript("go", 8)
	list := []clockwork.Maintenance{
		clockwork.Alarms(b, discard(), e.HandleAlarm, nil),
		clockwork.Leases(b, discard(), e.RecoverLease),
		{Name: "foreign runners", Round: func(ctx context.Context) error { return e.FollowTaken(ctx, taken) }},
	}
	if audits {
		list = append(list, clockwork.Audits(b, e, nil, discard(), nil))
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = work.NewRunner(e, work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{g}}).Run(ctx)
	})
	wg.Go(func() { _ = clockwork.Run(ctx, b, clockwork.Config{Owner: "n1/a"}, list) })
	return &rig{T: t, board: b, engine: e, script: g, ctx: t.Context(), stop: sync.OnceFunc(func() { cancel(); wg.Wait() })}
}

// What waits for a foreign runner's end begins when that is written: there is
// nobody here who looks at it some seconds later.
func TestWhatFollowsAForeignEndBeginsAtOnce(t *testing.T) {
	t.Parallel()
	r, f := onRedis(t, work.Config{}, false)
	for i, status := range []string{"", "started", "dispatched", "started"} {
		first := strconv.Itoa(10*i + 1)
		next := domain.JobID(10*i + 2)
		f.write(first, "v")
		f.write(strconv.Itoa(int(next)), "go", "dependends", "["+first+"]")
		key := f.take("queue:v")
		if status != "" {
			f.do("HSET", key, "status", status)
		}
		begun := time.Now()
		f.do("HSET", key, "result", `{"n":"7"}`, "status", "finished")
		r.want(next, domain.JobFinished, "")
		t.Logf("it took %v", time.Since(begun).Round(time.Millisecond))
	}
	// Jobs of ours, the first one told to an engine that knows of the runner by now.
	r.submit(job(101, "x", func(j *domain.Job) { j.ScriptType = "v" }), job(102, "ok", after(101)))
	f.do("HSET", f.take("queue:v"), "status", "finished")
	r.want(102, domain.JobFinished, "")
}

func TestForeignErrorsAreTriedAgain(t *testing.T) {
	t.Parallel()
	r, f := onRedis(t, work.Config{RetryMin: time.Millisecond}, false)
	f.write("1", "v", "retries", "2")
	f.write("2", "go", "dependends", "[1]")
	for _, status := range []string{"error", "error", "finished"} {
		if key := f.take("queue:v"); key != "job:1:1" {
			t.Fatalf("took %s", key)
		}
		f.do("HSET", "job:1:1", "status", "started")
		f.do("HSET", "job:1:1", "status", status)
	}
	r.want(2, domain.JobFinished, "")
	if j := r.show(1); j.Status != domain.JobFinished || j.Failures != 2 {
		t.Errorf("got %s after %d failures, want finished after 2", j.Status, j.Failures)
	}
	// Those that may not be tried again, or not any more, are not.
	f.write("3", "v", "retries", "1")
	f.write("4", "v")
	for range 3 {
		f.do("HSET", f.take("queue:v"), "status", "error")
	}
	for id, failures := range map[domain.JobID]int{3: 1, 4: 0} {
		if j := r.wait(id); j.Status != domain.JobError || j.Failures != failures {
			t.Errorf("job %d: got %s and %d failures before its last, want error and %d", id, j.Status, j.Failures, failures)
		}
	}
}

// A runner takes jobs and dies, before it has written anything or after.
func TestJobsOfForeignRunnersThatDieComeBack(t *testing.T) {
	t.Parallel()
	r, f := onRedis(t, work.Config{MaxLosses: 2}, true)
	want := map[string]bool{}
	for id, pop := range map[string][]string{"1": {"LPOP", "queue:v"}, "2": {"RPOP", "queue:v"}, "3": {"LMOVE", "queue:v", "mine", "RIGHT", "LEFT"},
		"4": {"BRPOP", "queue:v", "1"}, "5": {"BLMPOP", "1", "1", "queue:v", "LEFT"}} {
		f.write(id, "v", "timeout", "1")
		f.do(pop...)
		want["job:1:"+id] = true
	}
	r.submit(job(6, "x", func(j *domain.Job) { j.ScriptType, j.Timeout = "v", 1 }))
	f.do("HSET", f.take("queue:v"), "status", "started")
	want["job:1:6"] = true
	for len(want) > 0 {
		key := f.take("queue:v")
		if !want[key] {
			t.Fatalf("%s comes back, want one of %v", key, want)
		}
		delete(want, key)
		f.do("HSET", key, "alive_until", strconv.FormatInt(time.Now().Unix(), 10)) // and dies once more
	}
	for id := domain.JobID(1); id <= 6; id++ {
		r.want(id, domain.JobError, domain.ReasonRunnerLost)
	}
}

// inBubble is a rig in virtual time, whose foreign runners are told of by hand.
func inBubble(t *testing.T, f func(r *rig, taken chan<- board.Event, commit func(*board.Batch))) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		taken := make(chan board.Event)
		r := followingRig(t.Context(), t, b, work.Config{}, taken, true)
		defer func() { r.stop(); b.Close() }()
		f(r, taken, func(c *board.Batch) {
			t.Helper()
			if err := b.Commit(t.Context(), *c); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		})
	})
}

func v(fields ...board.Field) []board.Field {
	return append([]board.Field{f("script", "ok"), f("script_type", "v"), f("timeout", "60")}, fields...)
}

func (r *rig) queued(list string) int {
	r.Helper()
	n, err := r.board.Len(r.ctx, 1, list)
	if err != nil {
		r.Fatal(err)
	}
	return n[0]
}

// followedUp says in virtual time that what follows a foreign runner's end is done.
func (r *rig) followedUp(id domain.JobID) {
	r.Helper()
	time.Sleep(2 * time.Second) // within which a routine has begun, and before an audit doubts anything
	if j := r.show(id); j.FinishedMs == 0 {
		r.Errorf("job %d: its end is not followed up", id)
	}
}

// Nobody told of the pops: no node was there. It is the next pop that says that
// foreign runners work here. What is older than a week is left as it is.
func TestAJobThatWasTakenUnseenComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		old := f("created_at", strconv.FormatInt(time.Now().Add(-8*24*time.Hour).Unix(), 10))
		c := board.Batch{Space: 1}
		c.Set("job:1:1", v(f("status", "started"))...).Set("job:1:2", v(f("status", "finished"))...)
		c.Set("job:1:3", v(f("status", "dispatched"))...)
		c.Set("job:1:4", v(old, f("status", "started"))...).Set("job:1:5", v(old, f("status", "error"), f("retries", "3"))...)
		if err := b.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		taken := make(chan board.Event)
		r := followingRig(t.Context(), t, b, work.Config{}, taken, true)
		time.Sleep(5 * time.Minute)
		if j := r.show(2); j.FinishedMs != 0 {
			t.Error("the end of a job is followed up, though nobody takes jobs here")
		}
		taken <- board.Event{Space: 1, Key: "queue:w"}
		taken <- board.Event{Space: 1, Key: "queue:v:p3"}
		r.followedUp(2)
		time.Sleep(5 * time.Minute)
		items, err := b.List(t.Context(), 1, "queue:v", 0, 10)
		if slices.Sort(items); err != nil || !slices.Equal(items, []string{"job:1:1", "job:1:3"}) {
			t.Errorf("the queue has %q, %v, want job:1:1 and job:1:3", items, err)
		}
		r.stop()

		// A node that comes later knows what this one has seen.
		var more board.Batch
		more.Space = 1
		if err := b.Commit(t.Context(), *more.Set("job:1:6", v(f("status", "finished"))...)); err != nil {
			t.Fatal(err)
		}
		r = followingRig(t.Context(), t, b, work.Config{}, make(chan board.Event), true)
		defer r.stop()
		r.followedUp(6)
	})
}

// slowlyRead is a board on which time passes while what is unfinished is read.
type slowlyRead struct{ board.Board }

func (b slowlyRead) Live(ctx context.Context, space board.Space, after board.LiveItem, n int) ([]board.LiveItem, error) {
	time.Sleep(100 * time.Millisecond)
	return b.Board.Live(ctx, space, after, n)
}

// A node starts while foreign runners that have died hold jobs: the look that it begins
// with comes to an end, and the jobs come back once their time is over.
func TestANodeThatStartsLooksAtForeignJobsOnce(t *testing.T) {
	const jobs = 60
	synctest.Test(t, func(t *testing.T) {
		b := slowlyRead{memboard.Open()}
		defer b.Close()
		c := board.Batch{Space: 1}
		for id := 1; id <= jobs; id++ {
			item := key(domain.JobID(id)).String()
			c.Set(item, v(f("status", "started"))...).Live(item, time.Now())
		}
		mark := board.Batch{}
		mark.Include(layout.Taken, layout.TakenFrom(1, "queue:v"))
		for _, batch := range []board.Batch{c, mark} {
			if err := b.Commit(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)
		r := followingRig(t.Context(), t, b, work.Config{}, make(chan board.Event), true)
		defer r.stop()
		time.Sleep(3 * time.Minute)
		if n := r.queued("queue:v"); n != jobs {
			t.Errorf("%d jobs are in the queue again, want %d", n, jobs)
		}
	})
}

// A runner that was given up and was only slow ends its job: nobody is to run it
// once more, or sooner than after the pause of a retry.
func TestWhatASlowRunnerEndsLeavesTheQueue(t *testing.T) {
	inBubble(t, func(r *rig, taken chan<- board.Event, commit func(*board.Batch)) {
		taken <- board.Event{Space: 1, Key: "queue:v"}
		synctest.Wait()
		past := f("alive_until", strconv.FormatInt(time.Now().Unix(), 10))
		for _, status := range []string{"finished", "error"} {
			commit((&board.Batch{Space: 1}).Set("job:1:1", v(past, f("status", "started"), f("retries", "3"))...))
			time.Sleep(time.Second / 2)
			if n, j := r.queued("queue:v"), r.show(1); n != 1 || j.Losses != 1 {
				r.Fatalf("%d entries in the queue, %d losses, want 1 and 1", n, j.Losses)
			}
			commit((&board.Batch{Space: 1}).Set("job:1:1", f("status", status)))
			time.Sleep(time.Second / 2) // a retry comes after a second
			if n := r.queued("queue:v"); n != 0 {
				r.Errorf("%s: %d entries in the queue, want none", status, n)
			}
			commit((&board.Batch{Space: 1}).Delete("job:1:1"))
		}
	})
}

// Where a queue is too long to be searched, a job does not stand in it twice.
func TestAJobComesBackOnceIntoALongQueue(t *testing.T) {
	inBubble(t, func(r *rig, taken chan<- board.Event, commit func(*board.Batch)) {
		taken <- board.Event{Space: 1, Key: "queue:v"}
		synctest.Wait()
		const others = 6000
		b := &board.Batch{Space: 1}
		b.PushLeft("queue:v", "job:1:1") // its runner has put it back, behind which the others stand
		more := make([]string, others)
		for i := range more {
			more[i] = "job:1:" + strconv.Itoa(1000+i)
		}
		commit(b.PushLeft("queue:v", more...))
		commit((&board.Batch{Space: 1}).Set("job:1:1", v(f("status", "started"), f("alive_until", strconv.FormatInt(time.Now().Unix(), 10)))...))
		if n, j := r.queued("queue:v"), r.show(1); n != others+1 || j.AliveUntil != 0 {
			r.Errorf("%d entries in the queue, alive until %d, want %d and nothing", n, j.AliveUntil, others+1)
		}
	})
}

// Who may push and pop in a context may do so on lists of any name.
func TestOfQueuesOnlySoManyAreRemembered(t *testing.T) {
	inBubble(t, func(r *rig, taken chan<- board.Event, _ func(*board.Batch)) {
		for _, list := range []string{"msg_out", "rhai_tasks:c", "queue:", "queue:NO", "queue:v:p7", "queue:v:runner3", "queue:v"} {
			taken <- board.Event{Space: 2, Key: list}
		}
		for i := range 150 {
			taken <- board.Event{Space: 1, Key: "queue:t" + strconv.Itoa(i)}
		}
		synctest.Wait()
		of := map[string]int{}
		members, err := r.board.Members(r.ctx, 0, layout.Taken, "", 1000)
		for _, m := range members {
			of[m[:2]]++
		}
		if err != nil || of["1 "] != 100 || of["2 "] != 1 {
			r.Errorf("remembered %v, %v, want 100 of context 1 and 1 of context 2", of, err)
		}
	})
}

// oneBad is a board of which one space cannot be watched.
type oneBad struct {
	board.Board
	asked atomic.Int64
}

func (b *oneBad) Watch(ctx context.Context, space board.Space, prefix string) (<-chan board.Event, error) {
	if space == 2 {
		b.asked.Add(1)
		return nil, domain.Invalidf("this space is spoilt")
	}
	return b.Board.Watch(ctx, space, prefix)
}

func TestAContextThatCannotBeFollowedKeepsNobodyFromOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &oneBad{Board: memboard.Open()}
		defer b.Close()
		taken := make(chan board.Event)
		r := followingRig(t.Context(), t, b, work.Config{}, taken, false)
		defer r.stop()
		taken <- board.Event{Space: 2, Key: "queue:v"}
		taken <- board.Event{Space: 1, Key: "queue:v"}
		synctest.Wait()
		c := board.Batch{Space: 1}
		if err := b.Commit(t.Context(), *c.Set("job:1:1", v(f("status", "finished"))...)); err != nil {
			t.Fatal(err)
		}
		r.followedUp(1)
		time.Sleep(time.Minute / 2)
		if n := b.asked.Load(); n != 1 {
			t.Errorf("the others were left %d times in half a minute, want never", n-1)
		}
	})
}

// What lies in its queue for longer than its timeout is neither lost nor doubled,
// and what waits for another is not queued before that has ended.
func TestWhatIsNotTakenIsLeftAlone(t *testing.T) {
	inBubble(t, func(r *rig, taken chan<- board.Event, commit func(*board.Batch)) {
		taken <- board.Event{Space: 1, Key: "queue:v:p7"}
		synctest.Wait()
		commit((&board.Batch{Space: 1}).Set("job:1:1", v()...))
		time.Sleep(time.Minute / 2) // longer than the auditor waits: it takes it for taken
		commit((&board.Batch{Space: 1}).PushLeft("queue:v", "job:1:1").Set("job:1:2", v(f("dependends", "[1]"))...))
		time.Sleep(5 * time.Minute)
		if n := r.queued("queue:v"); n != 1 {
			r.Errorf("%d entries in the queue, want 1", n)
		}
		if a, err := r.engine.Audit(r.ctx, tenant); err != nil || len(a.Lacking) > 0 {
			r.Errorf("the audit says %v, %v, want nothing: foreign runners take from that queue", a.Lacking, err)
		}
		commit((&board.Batch{Space: 1}).Drop("queue:v", "job:1:1").Set("job:1:1", f("status", "finished")))
		r.want(1, domain.JobFinished, "")
		time.Sleep(5 * time.Minute)
		if j := r.show(1); j.Losses != 0 {
			r.Errorf("losses: got %d, want 0", j.Losses)
		}
		if n := r.queued("queue:v"); n != 1 {
			r.Errorf("%d entries in the queue, want the follower alone", n)
		}
	})
}

// A job of ours that a foreign runner has, who says nothing, is that runner's for
// the job's timeout from when it was taken, however long it was queued.
func TestAForeignRunnersTimeBeginsWhenItTakesTheJob(t *testing.T) {
	inBubble(t, func(r *rig, taken chan<- board.Event, commit func(*board.Batch)) {
		r.submit(job(1, "x", func(j *domain.Job) { j.ScriptType, j.Timeout = "v", 60 }))
		time.Sleep(time.Hour)
		taken <- board.Event{Space: 1, Key: "queue:v"}
		synctest.Wait()
		commit((&board.Batch{Space: 1}).Drop("queue:v", "job:1:1"))
		time.Sleep(55 * time.Second)
		if x, err := r.engine.Explain(r.ctx, tenant, key(1)); err != nil || x.Standing != domain.StandingForeign {
			r.Errorf("it stands %s (%s), %v, want foreign", x.Standing, x.Text, err)
		}
		if n := r.queued("queue:v"); n != 0 {
			r.Errorf("%d entries in the queue, want none while the runner has its time", n)
		}
		time.Sleep(time.Minute)
		if n, j := r.queued("queue:v"), r.show(1); n != 1 || j.Losses != 1 {
			r.Errorf("%d entries in the queue, %d losses, want 1 and 1", n, j.Losses)
		}
	})
}

// A runner writes a result that nobody can read, as numbers in the place of texts:
// who needs the job is told what is wrong with it, and is not thought to kill nodes.
func TestAnEndWithAResultThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	r, f := onRedis(t, work.Config{}, false)
	for i, result := range []string{`{"n":7}`, `seven`, `[1]`} {
		id, next := strconv.Itoa(10*i+1), domain.JobID(10*i+2)
		f.write(id, "v")
		f.write(strconv.Itoa(int(next)), "go", "dependends", "["+id+"]")
		f.do("HSET", f.take("queue:v"), "result", result, "status", "finished")
		r.want(next, domain.JobError, domain.ReasonDependencyFailed)
		r.want(domain.JobID(10*i+1), domain.JobError, domain.ReasonInvalid)
	}
	// What else cannot be read is of no matter to who needs the job.
	f.write("101", "v")
	f.write("102", "go", "dependends", "[101]")
	f.do("HSET", f.take("queue:v"), "updated_at", "yesterday", "status", "finished")
	r.want(102, domain.JobFinished, "")
}

// A result that is spoilt after the end is no fault of the node on which a script
// wants it: that is no loss of its runner.
func TestAResultThatIsSpoiltLaterCostsNoRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		e := work.New(b, work.Config{DataDir: t.TempDir()})
		r := &rig{T: t, board: b, engine: e, ctx: t.Context()}
		r.commit((&board.Batch{Space: 1}).Set("job:1:1", v(f("status", "finished"), f("finished_ms", "1"), f("result", "spoilt"))...))
		r.submit(job(2, "ok", after(1)))
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			process := acting{goScript: newGoScript("go", 1)} // it finds its input in files, made before it begins
			_ = work.NewRunner(e, work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{process}}).Run(ctx)
		})
		synctest.Wait()
		stop()
		running.Wait()
		if j := r.show(2); j.Status != domain.JobError || j.Reason != domain.ReasonInvalid || j.Losses != 0 {
			t.Errorf("got %s %q (%s) after %d losses, want an error, invalid, after none", j.Status, j.Reason, j.Error, j.Losses)
		}
	})
}

// The first end counts. What a second runner writes after it, which was slower or has
// just taken the job, is put right.
func TestAnEndIsNotUndone(t *testing.T) {
	inBubble(t, func(r *rig, taken chan<- board.Event, commit func(*board.Batch)) {
		taken <- board.Event{Space: 1, Key: "queue:v"}
		synctest.Wait()
		for _, ended := range []domain.JobStatus{domain.JobFinished, domain.JobError} {
			commit((&board.Batch{Space: 1}).Set("job:1:1", v(f("status", "started"))...))
			commit((&board.Batch{Space: 1}).Set("job:1:1", f("status", string(ended))))
			r.followedUp(1)
			for _, late := range []string{"started", "dispatched", "error", "finished", "", "running"} {
				commit((&board.Batch{Space: 1}).Set("job:1:1", f("status", late)))
				if j := r.show(1); j.Status != ended {
					r.Errorf("%q was written after %s: the job is %s", late, ended, j.Status)
				}
				x, err := r.engine.Explain(r.ctx, 1, domain.JobKey{Caller: 1, ID: 1})
				if err != nil || x.Standing != domain.StandingEnded {
					r.Errorf("%q was written after %s: it stands as %s, %v", late, ended, x.Standing, err)
				}
			}
			commit((&board.Batch{Space: 1}).Delete("job:1:1"))
		}
	})
}

// Instants are written in milliseconds elsewhere. Read as seconds that one lies in
// the year 58,000: it is passed over, and the timeout counts.
func TestAnInstantThatIsNoneHoldsNoJob(t *testing.T) {
	inBubble(t, func(r *rig, taken chan<- board.Event, commit func(*board.Batch)) {
		taken <- board.Event{Space: 1, Key: "queue:v"}
		synctest.Wait()
		ms := strconv.FormatInt(time.Now().Add(time.Second).UnixMilli(), 10)
		commit((&board.Batch{Space: 1}).Set("job:1:1", v(f("status", "started"), f("alive_until", ms))...))
		time.Sleep(2 * time.Minute)
		if n, j := r.queued("queue:v"), r.show(1); n != 1 || j.Losses != 1 {
			r.Errorf("%d entries in the queue, %d losses, want 1 and 1", n, j.Losses)
		}
	})
}
