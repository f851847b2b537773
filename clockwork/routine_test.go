package clockwork_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// counter is a runtime whose scripts add one to their checkpoint. It knows how
// many rounds of an instance run at once.
type counter struct {
	mu     sync.Mutex
	rounds map[string][]string // instance -> what each round found, "+" where another ran
	now    map[string]int
	fails  atomic.Bool
	takes  time.Duration
}

func newCounter() *counter { return &counter{rounds: map[string][]string{}, now: map[string]int{}} }

func (c *counter) Type() domain.ScriptType     { return "go" }
func (c *counter) Info() script.Info           { return script.Info{Slots: 8, InProcess: true} }
func (c *counter) Check(context.Context) error { return nil }
func (c *counter) Close() error                { return nil }

func (c *counter) Run(ctx context.Context, t script.Task, _ script.Host) (script.Outcome, error) {
	found := t.Checkpoint.Load()
	c.mu.Lock()
	if c.now[t.Script]++; c.now[t.Script] > 1 {
		found += "+"
	}
	c.rounds[t.Script] = append(c.rounds[t.Script], found)
	c.mu.Unlock()
	time.Sleep(c.takes)
	c.mu.Lock()
	c.now[t.Script]--
	c.mu.Unlock()
	if ctx.Err() != nil {
		return script.Outcome{Verdict: script.Stopped, ExitCode: 143}, nil
	}
	n, _ := strconv.Atoi(found)
	if err := t.Checkpoint.Save(strconv.Itoa(n + 1)); err != nil {
		return script.Outcome{}, err
	}
	if c.fails.Load() {
		return script.Outcome{Verdict: script.Failed, ExitCode: 1, Error: "no luck"}, nil
	}
	return script.Outcome{Verdict: script.Succeeded}, nil
}

func (c *counter) of(name string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.rounds[name]...)
}

// routineNode is a node with routines of contexts.
type routineNode struct {
	*clockwork.Routines
	stop func()
}

func startRoutines(t *testing.T, b board.Board, owner string, c *counter) *routineNode {
	t.Helper()
	return startRoutinesIn(t, b, owner, c, &roomyJobs{})
}

// roomyJobs are those of an engine; what there is room for is said by the test.
type roomyJobs struct {
	*work.Engine
	room, take atomic.Pointer[error] // what Room and Submit answer; nil: all is well
}

func (j *roomyJobs) Room(context.Context, domain.TenantID) error {
	if full := j.room.Load(); full != nil {
		return *full
	}
	return nil
}

func (j *roomyJobs) Submit(ctx context.Context, tenant domain.TenantID, jobs []*domain.Job) ([]work.Receipt, error) {
	if full := j.take.Load(); full != nil {
		return nil, *full
	}
	return j.Engine.Submit(ctx, tenant, jobs)
}

func startRoutinesIn(t *testing.T, b board.Board, owner string, c *counter, jobs *roomyJobs) *routineNode {
	t.Helper()
	cache := ban.NewCache(b, nil)
	e := work.New(b, work.Config{Bans: cache})
	jobs.Engine = e
	n := &routineNode{Routines: clockwork.NewRoutines(b, jobs, cache)}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	runner := work.NewRunner(e, work.RunnerConfig{ID: 1, Owner: owner, Runtimes: []script.Runtime{c}, Grace: time.Millisecond})
	all.Go(func() { _ = runner.Run(ctx) })
	all.Go(func() { _ = cache.Run(ctx) })
	all.Go(func() {
		_ = clockwork.Run(ctx, b, clockwork.Config{Owner: owner, Bans: cache}, []clockwork.Maintenance{
			clockwork.AlarmsWhere(b, discard(), clockwork.Handlers(e.HandleAlarm, ban.New(b).HandleAlarm, n.HandleAlarm), nil,
				func() error { return jobs.Room(ctx, 1) }),
			clockwork.Leases(b, discard(), e.RecoverLease),
		})
	})
	n.stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	return n
}

// routine is one whose script is its name.
func routine(name string, change ...func(*domain.Routine)) domain.Routine {
	r := domain.Routine{Name: name, Script: name, ScriptType: "go"}
	for _, c := range change {
		c(&r)
	}
	return r
}

func apply(t *testing.T, n *routineNode, r domain.Routine) {
	t.Helper()
	if _, err := n.Apply(t.Context(), 1, r, 1); err != nil {
		t.Fatal(err)
	}
}

func show(t *testing.T, n *routineNode, name string) *domain.Routine {
	t.Helper()
	r, err := n.Show(t.Context(), 1, name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRoundsFollowEachOther(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		c := newCounter()
		c.takes = 5 * time.Second
		n := startRoutines(t, b, "n0/a", c)
		defer n.stop()
		apply(t, n, routine("sync", func(r *domain.Routine) { r.Every = new(domain.Span(10)) }))
		time.Sleep(time.Minute + time.Second)
		// One each 15 seconds, the first at once.
		if got := fmt.Sprint(c.of("sync")); got != "[ 1 2 3 4]" {
			t.Errorf("got rounds that found %s", got)
		}
		i := show(t, n, "sync").Instances[0]
		if i.Name != "sync" || i.Round != 5 || i.Job == "" || i.Failures != 0 {
			t.Errorf("got %+v", i)
		}
		time.Sleep(5 * time.Second)
		i = show(t, n, "sync").Instances[0]
		if i.Job != "" || i.Checkpoint != "5" || i.NextMs-i.EndedMs != 10_000 {
			t.Errorf("got %+v", i)
		}
		// Checkpoints do not gather.
		if keys, _, err := b.Keys(t.Context(), 1, "ramet:checkpoint:", "", 10); err != nil || len(keys) != 0 {
			t.Errorf("got %v, %v", keys, err)
		}
	})
}

func TestInstancesHaveRoundsOfTheirOwn(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		c := newCounter()
		n := startRoutines(t, b, "n0/a", c)
		defer n.stop()
		three := routine("sync", func(r *domain.Routine) { r.Scale = new(3) })
		apply(t, n, three)
		time.Sleep(150 * time.Second)
		for k, i := range show(t, n, "sync").Instances {
			if i.Name != fmt.Sprintf("sync-3.%d", k) || i.Round != 3 || i.Checkpoint != "3" {
				t.Errorf("got %+v", i)
			}
		}
		three.Scale = new(1)
		apply(t, n, three)
		time.Sleep(150 * time.Second)
		if got := len(c.of("sync")); got != 9+3 {
			t.Errorf("got %d rounds, want 9 and 3 at the new scale", got)
		}
		if i := show(t, n, "sync").Instances[0]; i.Checkpoint != "3" {
			t.Errorf("got %+v, want a checkpoint of its own", i)
		}
	})
}

func TestRoundsThatFailWaitLonger(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		c := newCounter()
		c.fails.Store(true)
		n := startRoutines(t, b, "n0/a", c)
		defer n.stop()
		apply(t, n, routine("sync", func(r *domain.Routine) { r.Every = new(domain.Span(1)) }))
		time.Sleep(time.Hour)
		// 5, 10, 20, ... 300 seconds: 7 rounds in 315, then 11 more.
		if got := len(c.of("sync")); got < 16 || got > 19 {
			t.Errorf("got %d rounds in an hour", got)
		}
		i := show(t, n, "sync").Instances[0]
		if i.Error != "script_failed: no luck" || i.Failures != len(c.of("sync")) || i.NextMs-i.EndedMs != 300_000 {
			t.Errorf("got %+v", i)
		}
		if i.Checkpoint != strconv.Itoa(i.Failures) {
			t.Errorf("got checkpoint %q after %d rounds, want what each has saved", i.Checkpoint, i.Failures)
		}
		c.fails.Store(false)
		time.Sleep(5 * time.Minute)
		if i := show(t, n, "sync").Instances[0]; i.Failures != 0 || i.Error != "" {
			t.Errorf("got %+v", i)
		}
	})
}

func TestPauseRunResumeAndDelete(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		c := newCounter()
		c.takes = 100 * time.Millisecond
		n := startRoutines(t, b, "n0/a", c)
		defer n.stop()
		apply(t, n, routine("sync", func(r *domain.Routine) { r.Every = new(domain.Span(3600)) }))
		time.Sleep(time.Second)
		if _, err := n.Run(t.Context(), 1, "sync"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := len(c.of("sync")); got != 2 {
			t.Errorf("got %d rounds, want one by hand", got)
		}
		if _, err := n.Pause(t.Context(), 1, "sync"); err != nil {
			t.Fatal(err)
		}
		apply(t, n, routine("sync", func(r *domain.Routine) { r.Every = new(domain.Span(60)) })) // stays paused
		time.Sleep(24 * time.Hour)
		if got := len(c.of("sync")); got != 2 {
			t.Errorf("got %d rounds while paused", got-2)
		}
		if _, err := n.Run(t.Context(), 1, "sync"); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("run while paused: got %v", err)
		}
		if _, err := n.Resume(t.Context(), 1, "sync"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Second)
		if got := fmt.Sprint(c.of("sync")); got != "[ 1 2 3]" {
			t.Errorf("got %s", got)
		}
		if _, err := n.Delete(t.Context(), 1, "sync"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if got := len(c.of("sync")); got != 4 {
			t.Errorf("got %d rounds of a deleted routine", got-4)
		}
		if keys, _, err := b.Keys(t.Context(), 1, layout.RoutinePrefix, "", 10); err != nil || len(keys) != 0 {
			t.Errorf("got %v, %v left", keys, err)
		}
		if _, set, err := b.AlarmOf(t.Context(), 1, "routine:sync:1.0"); err != nil || set {
			t.Errorf("its alarm is set still, %v", err)
		}
	})
}

func TestABanLeavesRoundsOut(t *testing.T) {
	for _, scope := range []domain.BanScope{
		{Kind: domain.BanRoutine, Context: 1, Name: "sync"},
		{Kind: domain.BanType, Context: 1, Name: "go"},
	} {
		bubble(t, func(t *testing.T, b *memboard.Board) {
			c := newCounter()
			n := startRoutines(t, b, "n0/a", c)
			defer n.stop()
			level := domain.BanExec
			if scope.Kind == domain.BanType {
				level = domain.BanCreate
			}
			if _, err := ban.New(b).Set(t.Context(), domain.Ban{BanScope: scope, Level: level, By: 1, Reason: "loud"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			apply(t, n, routine("sync"))
			time.Sleep(time.Hour)
			if i := show(t, n, "sync").Instances[0]; len(c.of("sync")) != 0 || i.Held == "" || i.Failures != 0 {
				t.Errorf("%v: got %d rounds, %+v", scope, len(c.of("sync")), i)
			}
			if _, err := ban.New(b).Lift(t.Context(), scope); err != nil {
				t.Fatal(err)
			}
			time.Sleep(12 * time.Second)
			if i := show(t, n, "sync").Instances[0]; len(c.of("sync")) != 1 || i.Held != "" {
				t.Errorf("%v: got %d rounds, %+v afterwards", scope, len(c.of("sync")), i)
			}
		})
	}
}

// TestABanIsSaidOfARoutineThatRests: not only once its next round is due.
func TestABanIsSaidOfARoutineThatRests(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		c := newCounter()
		n := startRoutines(t, b, "n0/a", c)
		defer n.stop()
		apply(t, n, routine("sync", func(r *domain.Routine) { r.Every = new(domain.Span(3600)) }))
		time.Sleep(time.Minute)
		scope := domain.BanScope{Kind: domain.BanRoutine, Context: 1, Name: "sync"}
		for _, held := range []bool{true, false} {
			if held {
				if _, err := ban.New(b).Set(t.Context(), domain.Ban{BanScope: scope, Level: domain.BanExec, By: 1, Reason: "loud"}); err != nil {
					t.Fatal(err)
				}
			} else if _, err := ban.New(b).Lift(t.Context(), scope); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if i := show(t, n, "sync").Instances[0]; len(c.of("sync")) != 1 || strings.Contains(i.Held, "loud") != held || i.NextMs == 0 {
				t.Errorf("banned %v: got %d rounds, %+v", held, len(c.of("sync")), i)
			}
		}
	})
}

// TestRoundsGoOnWhenNodesDie kills one of two nodes at every commit of a round:
// rounds go on, one at a time, and no checkpoint is lost.
func TestRoundsGoOnWhenNodesDie(t *testing.T) {
	for dies := range int32(16) {
		synctest.Test(t, func(t *testing.T) {
			below := memboard.Open()
			defer below.Close()
			c := newCounter()
			c.takes = 2 * time.Second
			var count atomic.Int32
			var faults *faultboard.Board
			faults = faultboard.New(below, faultboard.Config{
				Before: func(_ context.Context, call faultboard.Call) error {
					if dies%2 == 0 && call.Name == "commit" && call.Batch.Space == 1 && count.Add(1) == dies/2+2 {
						faults.Cut()
						return domain.ErrUnavailable
					}
					return nil
				},
				After: func(_ context.Context, call faultboard.Call) error {
					if dies%2 == 1 && call.Name == "commit" && call.Batch.Space == 1 && count.Add(1) == dies/2+2 {
						faults.Cut()
					}
					return nil
				}})
			first := startRoutines(t, faults, "n0/a", c)
			apply(t, &routineNode{Routines: clockwork.NewRoutines(below, nil, nil)}, routine("sync", func(r *domain.Routine) { r.Every = new(domain.Span(5)) }))
			time.Sleep(20 * time.Second)
			faults.Cut()
			go first.stop()
			second := startRoutines(t, below, "n1/a", c)
			defer second.stop()
			time.Sleep(2 * time.Minute)
			rounds := c.of("sync")
			if count.Load() < dies/2+2 {
				t.Errorf("there were %d commits only", count.Load())
			}
			for k, found := range rounds {
				// A node that is cut off lets its script end, while its lease
				// holds; another attempt at that round finds the same.
				if k > 0 && found != strconv.Itoa(k) && found != rounds[k-1] && found != strconv.Itoa(k-1) {
					t.Errorf("killed at %d: rounds found %q", dies, rounds)
					break
				}
			}
			if i := show(t, second, "sync").Instances[0]; i.Round < 10 || i.Failures != 0 {
				t.Errorf("killed at %d: got %+v", dies, i)
			}
			first.stop()
		})
	}
}

// late lets something happen before the first commit that comes through it.
func late(b board.Board, happen func()) board.Board {
	once := sync.OnceFunc(happen)
	return faultboard.New(b, faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
		if c.Name == "commit" {
			once()
		}
		return nil
	}})
}

// TestAResumeWhileThePauseIsSeen resumes a routine after its alarm was found
// set, and before the resume is written: just then a node clears the alarm,
// because the routine is paused.
func TestAResumeWhileThePauseIsSeen(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		n := clockwork.NewRoutines(b, work.New(b, work.Config{}), nil)
		const alarm = "routine:sync:1.0"
		if _, err := n.Apply(t.Context(), 1, routine("sync"), 1); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Pause(t.Context(), 1, "sync"); err != nil {
			t.Fatal(err)
		}
		resuming := clockwork.NewRoutines(late(b, func() {
			at, _, err := b.AlarmOf(t.Context(), 1, alarm)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.HandleAlarm(t.Context(), board.Alarm{Space: 1, Name: alarm, At: at}); err != nil {
				t.Fatal(err)
			}
		}), nil, nil)
		if _, err := resuming.Resume(t.Context(), 1, "sync"); err != nil {
			t.Fatal(err)
		}
		if _, set, err := b.AlarmOf(t.Context(), 1, alarm); err != nil || !set {
			t.Errorf("its alarm is not set, %v: it will never have a round again", err)
		}
	})
}

// TestARoundThatEndsWhileItIsLookedAt ends a round after it was looked at, and before the next look is set: the end
// sets the alarm to the very instant at which it stands.
func TestARoundThatEndsWhileItIsLookedAt(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		e := work.New(b, work.Config{})
		n := clockwork.NewRoutines(b, e, nil)
		look := func(n *clockwork.Routines) time.Time {
			at, set, err := b.AlarmOf(t.Context(), 1, "routine:sync:1.0")
			if err != nil || !set {
				t.Fatalf("its alarm is not set, %v", err)
			}
			time.Sleep(time.Until(at))
			if _, err := n.HandleAlarm(t.Context(), board.Alarm{Space: 1, Name: "routine:sync:1.0", At: at}); err != nil {
				t.Fatal(err)
			}
			return at
		}
		if _, err := n.Apply(t.Context(), 1, routine("sync"), 1); err != nil {
			t.Fatal(err)
		}
		look(n) // begins the round
		worker := domain.Worker{Context: 1, Actor: 1, Name: "w"}
		got, err := e.ClaimFor(t.Context(), worker, domain.WorkerAsk{Types: []domain.ScriptType{"go"}})
		if err != nil || len(got) != 1 {
			t.Fatalf("got %d jobs, %v", len(got), err)
		}
		ended := clockwork.NewRoutines(late(b, func() {
			end := domain.AttemptEnd{HeldAttempt: domain.HeldAttempt{Caller: 1, ID: got[0].Job.ID, Attempt: got[0].Attempt}, Verdict: domain.VerdictSucceeded}
			if _, errs, err := e.FinishFor(t.Context(), worker, []domain.AttemptEnd{end}); err != nil || errs[0] != nil {
				t.Fatal(err, errs)
			}
		}), e, nil)
		looked := look(ended)
		if at, _, err := b.AlarmOf(t.Context(), 1, "routine:sync:1.0"); err != nil || !at.Equal(looked) {
			t.Errorf("the next look is %v after the end, %v", at.Sub(looked), err)
		}
	})
}

func TestARoutineThatHadManyScalesIsDeleted(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		n := clockwork.NewRoutines(b, work.New(b, work.Config{}), nil)
		for scale := 85; scale < 100; scale++ {
			batch := board.Batch{Space: 1}
			for i := range scale {
				batch.Set(layout.RoutineInstance("sync", domain.RoutinePart{Scale: scale, Index: i}),
					layout.EncodeInstance(domain.RoutineInstance{Round: 3, Checkpoint: "3"})...)
			}
			if err := b.Commit(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := n.Apply(t.Context(), 1, routine("sync", func(r *domain.Routine) { r.Scale = new(99) }), 1); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Delete(t.Context(), 1, "sync"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		due, err := b.Due(t.Context(), 1000, 0)
		if err != nil || len(due) != 99 {
			t.Fatalf("got %d alarms, %v", len(due), err)
		}
		for _, a := range due {
			if _, err := n.HandleAlarm(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		if keys, _, err := b.Keys(t.Context(), 1, layout.RoutinePrefix, "", 10); err != nil || len(keys) != 0 {
			t.Errorf("got %v, %v left", keys, err)
		}
	})
}

// TestARoundThatHasNoRoomHasNoJob: neither where that is known before, nor where it is
// found when the job is submitted. It begins as soon as there is room.
func TestARoundThatHasNoRoomHasNoJob(t *testing.T) {
	full := domain.Exhaustedf("the disk is nearly full")
	for name, c := range map[string]struct {
		full func(*roomyJobs) *atomic.Pointer[error]
		soon time.Duration
	}{
		"known before":         {func(j *roomyJobs) *atomic.Pointer[error] { return &j.room }, 200 * time.Millisecond},
		"when it is submitted": {func(j *roomyJobs) *atomic.Pointer[error] { return &j.take }, 16 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *memboard.Board) {
				runs, jobs := newCounter(), &roomyJobs{}
				c.full(jobs).Store(&full)
				n := startRoutinesIn(t, b, "n0/a", runs, jobs)
				defer n.stop()
				apply(t, n, routine("sync", func(r *domain.Routine) { r.Every = new(domain.Span(3600)) }))
				time.Sleep(10 * time.Minute)
				synctest.Wait() // a look at it may be under way at this very instant
				if i := show(t, n, "sync").Instances[0]; i.Job != "" || i.Round != 0 || i.Held != full.Error() || len(runs.of("sync")) != 0 {
					t.Errorf("got %+v after %d rounds, want none, held up by the disk", i, len(runs.of("sync")))
				}
				c.full(jobs).Store(nil)
				time.Sleep(c.soon)
				synctest.Wait()
				if i := show(t, n, "sync").Instances[0]; i.Round != 1 || i.Held != "" || len(runs.of("sync")) != 1 {
					t.Errorf("got %+v and %d rounds, want one", i, len(runs.of("sync")))
				}
			})
		})
	}
}

// TestARoundDoesNotTouchAJobThatHasItsNumber submits jobs by hand with the
// numbers that the next rounds would get.
func TestARoundDoesNotTouchAJobThatHasItsNumber(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		c := newCounter()
		n := startRoutines(t, b, "n0/a", c)
		defer n.stop()
		apply(t, n, routine("sync", func(r *domain.Routine) { r.Every = new(domain.Span(60)) }))
		time.Sleep(time.Second)
		e := work.New(b, work.Config{})
		for id := domain.JobID(2); id <= 300; id++ { // more than any round tries one by one
			j := &domain.Job{ID: id, CallerID: 1, ContextID: 1, Script: "x", ScriptType: "other"}
			if r, err := e.Submit(t.Context(), 1, []*domain.Job{j}); err != nil || r[0].Err != nil {
				t.Fatal(r, err)
			}
		}
		time.Sleep(2 * time.Minute)
		if got := show(t, n, "sync").Instances[0]; got.Round != 2 || got.Error != "" || fmt.Sprint(c.of("sync")) != "[ 1]" && fmt.Sprint(c.of("sync")) != "[ 1 2]" {
			t.Errorf("got %+v, %v", got, c.of("sync"))
		}
		recs, err := b.Get(t.Context(), 1, layout.Checkpoint(domain.JobKey{Caller: 1, ID: 2}))
		if err != nil || recs[0] != nil {
			t.Errorf("the other job's checkpoint: %v, %v", recs, err)
		}
	})
}

// Lists where a routine, an instance and a routine of the nodes would be.
func TestAKeyOfTheWrongKindHidesNoOtherRoutine(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		n := startRoutines(t, b, "n0/a", newCounter())
		defer n.stop()
		for _, name := range []string{"a", "b", "c"} {
			apply(t, n, routine(name))
		}
		for _, space := range []board.Space{0, 1} {
			strange := board.Batch{Space: space}
			strange.Delete(layout.Routine("b")).PushLeft(layout.Routine("b"), "x")
			instance := layout.RoutineInstance("c", domain.RoutinePart{Scale: 1})
			strange.Delete(instance).PushLeft(instance, "x")
			if err := b.Commit(t.Context(), strange); err != nil {
				t.Fatal(err)
			}
		}
		list, err := n.List(t.Context(), 1)
		if err != nil || len(list) != 3 || list[0].Script != "" || list[0].ScriptType != "go" || list[1].Name != "b" || list[2].Name != "c" {
			t.Errorf("got %+v, %v, want all three, and of a what it is", list, err)
		}
		if system, err := n.Maintenance(t.Context()); err != nil || len(system) == 0 {
			t.Errorf("those of the nodes: got %+v, %v", system, err)
		}
	})
}
