package work_test

import (
	"context"
	"errors"
	"slices"
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
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// banRig is a rig whose nodes know bans.
type banRig struct {
	*rig
	bans *ban.Bans

	mu    sync.Mutex
	order []string // job names in the order of their runs
}

// newBanRig starts a node on a board; slots is how many jobs it runs at once.
func (by taking) newBanRig(t *testing.T, slots int) *banRig {
	b := memboard.Open()
	r := &banRig{bans: ban.New(b)}
	g := newGoScript("go", slots)
	g.on("note", func(_ context.Context, task script.Task, _ script.Host) script.Outcome {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.order = append(r.order, task.Name)
		return ok(nil)
	})
	var stop func()
	r.rig, stop = by.startBanned(t, b, b, g)
	t.Cleanup(func() { stop(); b.Close() })
	return r
}

// startBanned starts a node on b whose contexts stand on the board below.
func (by taking) startBanned(t *testing.T, b, below board.Board, g *goScript) (*rig, func()) {
	cache := ban.NewCache(b, nil)
	if err := cache.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	contexts := board.Batch{}
	if err := below.Commit(t.Context(), *contexts.Include(layout.Contexts, "1")); err != nil {
		t.Fatal(err)
	}
	e := work.New(b, work.Config{Bans: cache})
	runner := by.taker(t, b, e, work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{g}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = runner.Run(ctx) })
	wg.Go(func() { _ = cache.Run(ctx) })
	wg.Go(func() {
		_ = clockwork.Run(ctx, b, clockwork.Config{Owner: "n1/a"}, []clockwork.Maintenance{
			clockwork.Alarms(b, discard(), func(ctx context.Context, a board.Alarm) (bool, error) {
				if ours, err := e.HandleAlarm(ctx, a); ours || err != nil {
					return ours, err
				}
				return ban.New(b).HandleAlarm(ctx, a)
			}, nil),
			clockwork.Leases(b, discard(), e.RecoverLease),
			clockwork.Audits(b, e, nil, discard(), func(_ domain.TenantID, a domain.Audit) {
				if len(a.Repaired)+len(a.Stuck) > 0 {
					t.Errorf("the audit found %+v", a)
				}
			}),
		})
	})
	stop := sync.OnceFunc(func() { cancel(); wg.Wait() })
	return &rig{T: t, board: b, engine: e, script: g, ctx: t.Context(), stop: stop}, stop
}

func (r *banRig) ban(scope domain.BanScope, level domain.BanLevel, change ...func(*domain.Ban)) {
	r.Helper()
	b := domain.Ban{BanScope: scope, Level: level, By: 1, Reason: "maintenance"}
	for _, c := range change {
		c(&b)
	}
	if _, err := r.bans.Set(r.ctx, b); err != nil {
		r.Fatal(err)
	}
	time.Sleep(time.Second) // within which it holds everywhere
}

func (r *banRig) lift(scope domain.BanScope) {
	r.Helper()
	if _, err := r.bans.Lift(r.ctx, scope); err != nil {
		r.Fatal(err)
	}
}

// flow makes a flow of a blueprint, as far as jobs must know it.
func (r *banRig) flow(id domain.FlowID, blueprint string) func(*domain.Job) {
	r.Helper()
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	b.Set(domain.FlowKey(id), board.Field{Name: layout.FlowBlueprint, Value: blueprint}, board.Field{Name: "env_vars", Value: "{}"})
	b.Set(layout.FlowState(id), board.Field{Name: layout.FlowStateCaller, Value: "1"})
	if err := r.board.Commit(r.ctx, b); err != nil {
		r.Fatal(err)
	}
	return func(j *domain.Job) { j.FlowID = id }
}

func (r *banRig) standing(id domain.JobID, want domain.Standing) domain.JobExplanation {
	r.Helper()
	x, err := r.engine.Explain(r.ctx, tenant, key(id))
	if err != nil || x.Standing != want {
		r.Errorf("job %d: got %+v, %v, want %s", id, x, err, want)
	}
	return x
}

// pickScopes are those on which picking can be banned for the jobs of
// TestABanOnPickingHolds.
var pickScopes = []domain.BanScope{
	{Kind: domain.BanAll},
	{Kind: domain.BanType, Name: "go"},
	{Kind: domain.BanContext, Context: tenant},
	{Kind: domain.BanType, Context: tenant, Name: "go"},
	{Kind: domain.BanBlueprint, Context: tenant, Name: "nightly"},
	{Kind: domain.BanFlow, Context: tenant, Name: "33"},
}

func TestABanOnPickingHolds(t *testing.T) {
	for _, scope := range pickScopes {
		t.Run(scope.String(), func(t *testing.T) {
			eachTaking(t, func(t *testing.T, by taking) {
				r := by.newBanRig(t, 1)
				in := r.flow(33, "nightly")
				r.script.on("slow", func(ctx context.Context, _ script.Task, _ script.Host) script.Outcome {
					time.Sleep(5 * time.Second)
					return ok(nil)
				})
				r.submit(job(1, "slow", in))
				time.Sleep(time.Second)
				r.ban(scope, domain.BanPick)
				r.submit(job(2, "note", in), job(3, "note", in), job(4, "note", in))
				time.Sleep(time.Hour)
				r.want(1, domain.JobFinished, "") // what ran was let run
				for id := domain.JobID(2); id <= 4; id++ {
					x := r.standing(id, domain.StandingBanned)
					if !strings.Contains(x.Text, "by actor 1") || !strings.Contains(x.Text, "maintenance; `ramet ban lift "+scope.Words()+"`") {
						t.Errorf("got %q", x.Text)
					}
					if j := r.show(id); j.Status != domain.JobDispatched || r.script.count(key(id)) != 0 {
						t.Errorf("job %d: got %s and %d runs while banned", id, j.Status, r.script.count(key(id)))
					}
					// Not laid aside more than once.
					if j := r.show(id); j.Attempt > 1 {
						t.Errorf("job %d: claimed %d times while banned", id, j.Attempt)
					}
				}
				r.lift(scope)
				begun := time.Now()
				for id := domain.JobID(2); id <= 4; id++ {
					if j := r.want(id, domain.JobFinished, ""); j.Failures+j.Losses != 0 || j.Parked != "" {
						t.Errorf("job %d: got %d failures, %d losses, parked %q", id, j.Failures, j.Losses, j.Parked)
					}
				}
				if took := time.Since(begun); took > time.Second {
					t.Errorf("it took %v to go on", took)
				}
				if want := []string{"job:1:2", "job:1:3", "job:1:4"}; !slices.Equal(r.order, want) {
					t.Errorf("got order %v", r.order)
				}
			})
		})
	}
}

// TestABanHoldsBehindOneThatWasLifted has a runner that has not heard yet that
// one of two bans was lifted.
func TestABanHoldsBehindOneThatWasLifted(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		b := memboard.Open()
		defer b.Close()
		bans, cache := ban.New(b), ban.NewCache(b, nil)
		context, flow := domain.BanScope{Kind: domain.BanContext, Context: tenant}, domain.BanScope{Kind: domain.BanFlow, Context: tenant, Name: "33"}
		for _, s := range []domain.BanScope{context, flow} {
			if _, err := bans.Set(t.Context(), domain.Ban{BanScope: s, Level: domain.BanPick, By: 1, Reason: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := cache.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := bans.Lift(t.Context(), context); err != nil {
			t.Fatal(err)
		}
		r := by.startRig(t, b, work.Config{Bans: cache}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 1))
		defer r.stop()
		br := &banRig{rig: r, bans: bans}
		r.submit(job(1, "ok", br.flow(33, "nightly")), job(2, "ok"))
		r.want(2, domain.JobFinished, "")
		br.standing(1, domain.StandingBanned)
	})
}

func TestABanEndsByItself(t *testing.T) {
	for _, scope := range pickScopes {
		t.Run(scope.String(), func(t *testing.T) {
			eachTaking(t, func(t *testing.T, by taking) {
				r := by.newBanRig(t, 4)
				in := r.flow(33, "nightly")
				r.ban(scope, domain.BanPick, func(b *domain.Ban) { b.UntilMs = time.Now().Add(2 * time.Hour).UnixMilli() })
				r.submit(job(1, "ok", in))
				begun := time.Now()
				r.want(1, domain.JobFinished, "")
				if took := time.Since(begun); took < 2*time.Hour-2*time.Second || took > 2*time.Hour+2*time.Second {
					t.Errorf("it went on after %v", took)
				}
				time.Sleep(time.Second) // its alarm comes at the same instant
				if list, err := r.bans.List(t.Context()); err != nil || len(list) != 0 {
					t.Errorf("got %v, %v behind its end", list, err)
				}
				if recs, err := r.board.Get(t.Context(), 0, layout.Ban(scope)); err != nil || recs[0] != nil {
					t.Errorf("its record is still there: %v, %v", recs, err)
				}
			})
		})
	}
}

func TestACapIsAsBeforeAfterABan(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newBanRig(t, 8)
		limits := board.Batch{Space: layout.SpaceOf(tenant)}
		if err := r.board.Commit(t.Context(), *limits.Set(layout.Limits, board.Field{Name: "max", Value: "3"})); err != nil {
			t.Fatal(err)
		}
		scope := domain.BanScope{Kind: domain.BanContext, Context: tenant}
		for range 3 {
			r.ban(scope, domain.BanSubmit)
			r.ban(scope, domain.BanPick) // in place of the first
			if got := r.limit("max"); got != "0" {
				t.Errorf("got max %q while banned", got)
			}
			r.lift(scope)
			time.Sleep(time.Second)
			if got := r.limit("max"); got != "3" {
				t.Errorf("got max %q afterwards, want 3", got)
			}
		}
	})
}

func (r *banRig) limit(field string) string {
	recs, err := r.board.Get(r.ctx, layout.SpaceOf(tenant), layout.Limits)
	if err != nil {
		r.Fatal(err)
	}
	return recs[0].Get(field)
}

func TestSubmitsAreRefusedWhereTheyAreBanned(t *testing.T) {
	for _, c := range []struct {
		name    string
		scope   domain.BanScope
		level   domain.BanLevel
		refused bool
	}{
		{"submit on all", domain.BanScope{Kind: domain.BanAll}, domain.BanSubmit, true},
		{"submit on the context", domain.BanScope{Kind: domain.BanContext, Context: tenant}, domain.BanSubmit, true},
		{"submit on another context", domain.BanScope{Kind: domain.BanContext, Context: 9}, domain.BanSubmit, false},
		{"submit on the type everywhere", domain.BanScope{Kind: domain.BanType, Name: "go"}, domain.BanSubmit, true},
		{"submit on the type in the context", domain.BanScope{Kind: domain.BanType, Context: tenant, Name: "go"}, domain.BanSubmit, true},
		{"submit on another type", domain.BanScope{Kind: domain.BanType, Name: "shell"}, domain.BanSubmit, false},
		{"create covers no submit", domain.BanScope{Kind: domain.BanAll}, domain.BanCreate, false},
		{"pick covers no submit", domain.BanScope{Kind: domain.BanAll}, domain.BanPick, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachTaking(t, func(t *testing.T, by taking) {
				r := by.newBanRig(t, 1)
				r.ban(c.scope, c.level)
				receipts, err := r.engine.Submit(t.Context(), tenant, []*domain.Job{job(0, "ok")})
				if err != nil {
					t.Fatal(err)
				}
				if err := receipts[0].Err; errors.Is(err, domain.ErrConflict) != c.refused {
					t.Errorf("got %v, want refused %v", err, c.refused)
				} else if err != nil && !strings.Contains(err.Error(), "maintenance; `ramet ban lift "+c.scope.Words()+"` ends it") {
					t.Errorf("got %q", err)
				}
			})
		})
	}
}

func TestRetriesAndRecoveredJobsObeyBans(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newBanRig(t, 2)
		in := r.flow(33, "nightly")
		r.submit(job(1, "fail", in, retries(1)))
		time.Sleep(100 * time.Millisecond) // the first attempt has failed
		scope := domain.BanScope{Kind: domain.BanFlow, Context: tenant, Name: "33"}
		r.ban(scope, domain.BanPick)
		time.Sleep(time.Hour)
		if got := r.script.count(key(1)); got != 1 {
			t.Errorf("got %d runs while banned, want the one before", got)
		}
		if j := r.show(1); j.Status != domain.JobStarted {
			t.Errorf("got %s, want started: it has begun", j.Status)
		}
		r.standing(1, domain.StandingBanned)
		r.lift(scope)
		if j := r.want(1, domain.JobError, domain.ReasonScriptFailed); j.Failures != 2 {
			t.Errorf("got %d failures, want 2", j.Failures)
		}
	})
}

func TestAParkedJobCanBeCancelled(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newBanRig(t, 2)
		in := r.flow(33, "nightly")
		scope := domain.BanScope{Kind: domain.BanFlow, Context: tenant, Name: "33"}
		r.ban(scope, domain.BanPick)
		r.submit(job(1, "ok", in), job(2, "ok", in))
		time.Sleep(time.Second)
		if _, err := r.engine.Cancel(t.Context(), tenant, key(1), 1); err != nil {
			t.Fatal(err)
		}
		if j := r.show(1); j.Status != domain.JobError || j.Parked != "" {
			t.Errorf("got %s, parked %q", j.Status, j.Parked)
		}
		r.lift(scope)
		r.want(2, domain.JobFinished, "")
		time.Sleep(time.Minute)
		if r.script.count(key(1)) != 0 || r.script.count(key(2)) != 1 {
			t.Errorf("got %d and %d runs, want 0 and 1", r.script.count(key(1)), r.script.count(key(2)))
		}
	})
}

// TestNothingIsLostWhenANodeDiesWhileItParks kills the node after commits of
// laying aside and bringing back, and lets another go on.
func TestNothingIsLostWhenANodeDiesWhileItParks(t *testing.T) {
	const jobs = 600
	// Beyond that many parkings come the looks of the alarm, the pages, and
	// the end of the list.
	all := []int32{1, 2, 7, 300, jobs, jobs + 1, jobs + 2, jobs + 3, jobs + 4, jobs + 5, jobs + 6}
	for _, dies := range all[:watched.Rounds(len(all), 2)] {
		eachTaking(t, func(t *testing.T, by taking) {
			below := memboard.Open()
			defer below.Close()
			var count atomic.Int32
			var faults *faultboard.Board
			faults = faultboard.New(below, faultboard.Config{After: func(_ context.Context, call faultboard.Call) error {
				if call.Name == "commit" && touchesParked(call.Batch) && count.Add(1) == dies {
					faults.Cut()
				}
				return nil
			}})
			first, stop := by.startBanned(t, faults, below, newGoScript("go", 4))
			r := &banRig{bans: ban.New(below), rig: &rig{T: t, board: below, engine: work.New(below, work.Config{}), ctx: t.Context()}}
			in := r.flow(33, "nightly")
			scope := domain.BanScope{Kind: domain.BanBlueprint, Context: tenant, Name: "nightly"}
			r.ban(scope, domain.BanPick)
			var list []*domain.Job
			for id := domain.JobID(1); id <= jobs; id++ {
				list = append(list, job(id, "ok", in))
			}
			r.submit(list...)
			time.Sleep(10 * time.Second)
			r.lift(scope)
			time.Sleep(10 * time.Second)
			faults.Cut()
			stop()
			if count.Load() < dies {
				t.Fatalf("there were %d commits only, fewer than %d", count.Load(), dies)
			}
			if err := below.Void(t.Context(), "n1/"); err != nil {
				t.Fatal(err)
			}
			second, stop := by.startBanned(t, below, below, newGoScript("go", 4))
			defer stop()
			for id := domain.JobID(1); id <= jobs; id++ {
				if j := second.wait(id); j.Status != domain.JobFinished || first.script.count(key(id))+second.script.count(key(id)) == 0 {
					t.Fatalf("killed after commit %d: job %d is %s", dies, id, j.Status)
				}
			}
			time.Sleep(time.Minute)
			if keys, _, err := below.Keys(t.Context(), layout.SpaceOf(tenant), "ramet:bann", "", 10); err != nil || len(keys) != 0 {
				t.Errorf("killed after commit %d: %v is left, %v", dies, keys, err)
			}
		})
	}
}

func touchesParked(b *board.Batch) bool {
	return slices.ContainsFunc(b.Ops, func(op board.Op) bool { return strings.HasPrefix(op.Key, "parked:") })
}

func TestARunnerWithoutItsDutyTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		var mu sync.Mutex
		may, changed := true, make(chan struct{})
		turn := func(to bool) {
			mu.Lock()
			defer mu.Unlock()
			may = to
			close(changed)
			changed = make(chan struct{})
		}
		r := startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a", May: func() (bool, <-chan struct{}) {
			mu.Lock()
			defer mu.Unlock()
			return may, changed
		}}, newGoScript("go", 2))
		defer r.stop()
		r.script.on("slow", func(context.Context, script.Task, script.Host) script.Outcome {
			time.Sleep(10 * time.Second)
			return ok(nil)
		})
		r.submit(job(1, "slow"))
		time.Sleep(time.Second)
		turn(false) // while it runs one and waits for more
		r.submit(job(2, "ok"))
		r.want(1, domain.JobFinished, "")
		time.Sleep(time.Hour)
		if j := r.show(2); j.Status != domain.JobDispatched || r.script.count(key(2)) != 0 || j.Attempt > 1 {
			t.Errorf("got %s, %d runs, %d claims", j.Status, r.script.count(key(2)), j.Attempt)
		}
		turn(true)
		if j := r.want(2, domain.JobFinished, ""); j.Losses+j.Failures != 0 {
			t.Errorf("got %d losses, %d failures", j.Losses, j.Failures)
		}
	})
}
