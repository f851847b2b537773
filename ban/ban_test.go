package ban_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// rig is a board with its bans and a cache that follows them.
type rig struct {
	*testing.T
	board *memboard.Board
	bans  *ban.Bans
	cache *ban.Cache
}

func bubble(t *testing.T, test func(r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := &rig{T: t, board: b, bans: ban.New(b)}
		cache, stop := follow(t, b)
		defer stop()
		r.cache = cache
		test(r)
	})
}

// follow starts a cache.
func follow(t *testing.T, b board.Board) (*ban.Cache, func()) {
	t.Helper()
	cache := ban.NewCache(b, nil)
	if err := cache.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { _ = cache.Run(ctx) })
	return cache, func() { cancel(); run.Wait() }
}

func (r *rig) set(scope domain.BanScope, level domain.BanLevel, until time.Time) {
	r.Helper()
	b := domain.Ban{BanScope: scope, Level: level, By: 1, Reason: "x"}
	if !until.IsZero() {
		b.UntilMs = until.UnixMilli()
	}
	if _, err := r.bans.Set(r.Context(), b); err != nil {
		r.Fatal(err)
	}
	time.Sleep(time.Second)
}

func TestTheBookAnswersByScope(t *testing.T) {
	none := func() (string, error) { return "", nil }
	pick := func(b *ban.Cache, j domain.Job) bool {
		_, yes, _ := b.Pick(&j, none)
		return yes
	}
	job := domain.Job{ID: 1, CallerID: 1, ContextID: 7, ScriptType: "shell", FlowID: 33}
	for _, c := range []struct {
		name                   string
		scope                  domain.BanScope
		level                  domain.BanLevel
		picks, creates, submit bool
	}{
		{"pick on all", domain.BanScope{Kind: domain.BanAll}, domain.BanPick, true, false, false},
		{"create on the context", domain.BanScope{Kind: domain.BanContext, Context: 7}, domain.BanCreate, true, true, false},
		{"submit on the context", domain.BanScope{Kind: domain.BanContext, Context: 7}, domain.BanSubmit, true, true, true},
		{"another context", domain.BanScope{Kind: domain.BanContext, Context: 8}, domain.BanSubmit, false, false, false},
		{"create on the flow", domain.BanScope{Kind: domain.BanFlow, Context: 7, Name: "33"}, domain.BanCreate, true, true, false},
		{"a flow of that number elsewhere", domain.BanScope{Kind: domain.BanFlow, Context: 8, Name: "33"}, domain.BanCreate, false, false, false},
		{"submit on the blueprint", domain.BanScope{Kind: domain.BanBlueprint, Context: 7, Name: "b"}, domain.BanSubmit, false, true, true},
		{"an effect of that name", domain.BanScope{Kind: domain.BanEffect, Context: 7, Name: "b"}, domain.BanSubmit, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.set(c.scope, c.level, time.Time{})
				if got := pick(r.cache, job); got != c.picks {
					t.Errorf("pick: got %v", got)
				}
				if got := errors.Is(r.cache.Create(7, "b", 33), domain.ErrConflict); got != c.creates {
					t.Errorf("create: got %v", got)
				}
				if got := errors.Is(r.cache.Submit(7, "b", ""), domain.ErrConflict); got != c.submit {
					t.Errorf("submit: got %v", got)
				}
				if _, err := r.bans.Lift(t.Context(), c.scope); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				if pick(r.cache, job) || r.cache.Create(7, "b", 33) != nil || r.cache.Submit(7, "b", "") != nil {
					t.Error("it holds still")
				}
			})
		})
	}
}

func TestWhatHoldsUpSagasAndEffects(t *testing.T) {
	saga := func(name string) domain.BanScope {
		return domain.BanScope{Kind: domain.BanSaga, Context: 7, Name: name}
	}
	effect := func(in domain.TenantID, name string) domain.BanScope {
		return domain.BanScope{Kind: domain.BanEffect, Context: in, Name: name}
	}
	for _, c := range []struct {
		name         string
		scope        domain.BanScope
		saga, effect bool
	}{
		{"all", domain.BanScope{Kind: domain.BanAll}, true, true},
		{"the context", domain.BanScope{Kind: domain.BanContext, Context: 7}, true, true},
		{"another context", domain.BanScope{Kind: domain.BanContext, Context: 8}, false, false},
		{"the saga", saga("order"), true, false},
		{"another saga", saga("pay"), false, false},
		{"the effect", effect(7, "pay"), false, true},
		{"its target", effect(7, "bank:443"), false, true},
		{"the target everywhere", effect(0, "bank:443"), false, true},
		{"the effect elsewhere", effect(8, "pay"), false, false},
		{"an effect that is called as the saga is", effect(7, "order"), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.set(c.scope, domain.BanPick, time.Time{})
				if _, got := r.cache.Saga(7, "order"); got != c.saga {
					t.Errorf("saga: got %v", got)
				}
				if _, got := r.cache.Effect(7, "pay", "bank:443"); got != c.effect {
					t.Errorf("effect: got %v", got)
				}
				if _, err := r.bans.Lift(t.Context(), c.scope); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				_, saga := r.cache.Saga(7, "order")
				if _, effect := r.cache.Effect(7, "pay", "bank:443"); saga || effect {
					t.Error("it holds still")
				}
			})
		})
	}
}

func TestABookAsksForTheBlueprintOnlyWhereOneIsBanned(t *testing.T) {
	bubble(t, func(r *rig) {
		j := domain.Job{ID: 1, CallerID: 1, ContextID: 7, ScriptType: "shell", FlowID: 33}
		asked := 0
		of := func() (string, error) { asked++; return "b", nil }
		r.set(domain.BanScope{Kind: domain.BanBlueprint, Context: 8, Name: "b"}, domain.BanPick, time.Time{})
		if _, yes, err := r.cache.Pick(&j, of); yes || err != nil || asked != 0 {
			t.Errorf("got %v, %v, asked %d times", yes, err, asked)
		}
		r.set(domain.BanScope{Kind: domain.BanBlueprint, Context: 7, Name: "b"}, domain.BanPick, time.Time{})
		if _, yes, err := r.cache.Pick(&j, of); !yes || err != nil || asked != 1 {
			t.Errorf("got %v, %v, asked %d times", yes, err, asked)
		}
	})
}

func TestANilBookHasNoBans(t *testing.T) {
	var b *ban.Cache
	_, claims := b.Claims("shell")
	_, pick, err := b.Pick(&domain.Job{}, nil)
	_, routine := b.Routine(domain.BanExec, 0, "x")
	_, effect := b.Effect(1, "x")
	_, saga := b.Saga(1, "x")
	if claims || pick || routine || effect || saga || err != nil || b.Create(1, "b", 2) != nil || b.Submit(1, "b", "t") != nil || b.Changed() != nil {
		t.Error("got a ban")
	}
}

// TestACacheFindsWhatItsWatchMissed cuts the cache off while a ban comes.
func TestACacheFindsWhatItsWatchMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := memboard.Open()
		defer below.Close()
		faults := faultboard.New(below, faultboard.Config{})
		cache, stop := follow(t, faults)
		defer stop()
		r := &rig{T: t, board: below, bans: ban.New(below), cache: cache}
		time.Sleep(time.Second)
		faults.Cut()
		r.set(domain.BanScope{Kind: domain.BanAll}, domain.BanSubmit, time.Time{})
		time.Sleep(time.Minute)
		if cache.Submit(1, "", "") != nil {
			t.Error("it knew of a ban while cut off")
		}
		faults.Heal()
		time.Sleep(31 * time.Second)
		if cache.Submit(1, "", "") == nil {
			t.Error("it did not find the ban")
		}
	})
}

func TestABanOverABanTakesItsPlace(t *testing.T) {
	bubble(t, func(r *rig) {
		scope := domain.BanScope{Kind: domain.BanAll}
		r.set(scope, domain.BanSubmit, time.Now().Add(time.Minute))
		r.set(scope, domain.BanPick, time.Time{})
		time.Sleep(time.Hour)
		list, err := r.bans.List(t.Context())
		if err != nil || len(list) != 1 || list[0].Level != domain.BanPick || list[0].UntilMs != 0 {
			t.Errorf("got %+v, %v", list, err)
		}
		if r.cache.Submit(1, "", "") != nil {
			t.Error("the level of the first ban holds still")
		}
	})
}

// TestSettlingIsTheSameInAnyOrder handles the alarm of a ban late, twice, and
// after the next change: the cap is what the ban says in the end.
func TestSettlingIsTheSameInAnyOrder(t *testing.T) {
	bubble(t, func(r *rig) {
		scope := domain.BanScope{Kind: domain.BanContext, Context: 7}
		var limits = board.Batch{Space: 7}
		if err := r.board.Commit(t.Context(), *limits.Set(layout.Limits, board.Field{Name: "max", Value: "5"})); err != nil {
			t.Fatal(err)
		}
		alarm := func() board.Alarm {
			at, _, err := r.board.AlarmOf(t.Context(), 0, layout.BanAlarm(scope))
			if err != nil {
				t.Fatal(err)
			}
			return board.Alarm{Name: layout.BanAlarm(scope), At: at}
		}
		handle := func(a board.Alarm) {
			if ours, err := r.bans.HandleAlarm(t.Context(), a); !ours || err != nil {
				t.Fatalf("got %v, %v", ours, err)
			}
		}
		max := func(want string) {
			t.Helper()
			recs, err := r.board.Get(t.Context(), 7, layout.Limits)
			if err != nil || recs[0].Get("max") != want {
				t.Errorf("got %v, %v, want max %s", recs, err, want)
			}
		}
		r.set(scope, domain.BanPick, time.Time{})
		first := alarm()
		handle(first)
		handle(first) // its answer was lost
		max("0")
		if _, err := r.bans.Lift(t.Context(), scope); err != nil {
			t.Fatal(err)
		}
		handle(first) // by a node that was away
		second := alarm()
		handle(second)
		handle(first)
		max("5")
		if _, set, err := r.board.AlarmOf(t.Context(), 0, layout.BanAlarm(scope)); err != nil || set {
			t.Errorf("its alarm is set still, %v", err)
		}
	})
}

func TestLiftingWhatIsNotThere(t *testing.T) {
	bubble(t, func(r *rig) {
		if _, err := r.bans.Lift(t.Context(), domain.BanScope{Kind: domain.BanAll}); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		if _, err := r.bans.Lift(t.Context(), domain.BanScope{Kind: "x"}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	})
}

// hooked calls after once, after a read of a key.
type hooked struct {
	board.Board
	key   string
	after func()
}

func (h *hooked) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	recs, err := h.Board.Get(ctx, space, keys...)
	if after := h.after; after != nil && len(keys) == 1 && keys[0] == h.key {
		h.after = nil
		after()
	}
	return recs, err
}

// TestASettlerThatReadTheBanBeforeItWasLiftedDoesNotStopTheContext lifts a ban
// and settles that on one node, while another is about to settle the ban.
func TestASettlerThatReadTheBanBeforeItWasLiftedDoesNotStopTheContext(t *testing.T) {
	bubble(t, func(r *rig) {
		scope := domain.BanScope{Kind: domain.BanContext, Context: 7}
		settle := func(b *ban.Bans) {
			at, set, err := r.board.AlarmOf(t.Context(), 0, layout.BanAlarm(scope))
			if err != nil || !set {
				t.Fatal(set, err)
			}
			if _, err := b.HandleAlarm(t.Context(), board.Alarm{Name: layout.BanAlarm(scope), At: at}); err != nil {
				t.Fatal(err)
			}
		}
		r.set(scope, domain.BanPick, time.Time{})
		slow := &hooked{Board: r.board, key: layout.Ban(scope)}
		slow.after = func() {
			if _, err := r.bans.Lift(t.Context(), scope); err != nil {
				t.Fatal(err)
			}
			settle(r.bans)
		}
		settle(ban.New(slow))
		recs, err := r.board.Get(t.Context(), 7, layout.Limits)
		if err != nil || recs[0].Get("max") != "" {
			t.Errorf("got %v, %v: nothing is banned, but the context is stopped", recs, err)
		}
	})
}

func TestABanOnAFlowEndsWithTheFlow(t *testing.T) {
	bubble(t, func(r *rig) {
		scope := domain.BanScope{Kind: domain.BanFlow, Context: 7, Name: "33"}
		b := board.Batch{Space: 7}
		b.Set(domain.FlowKey(33), board.Field{Name: layout.FlowStatus, Value: "started"})
		if err := r.board.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		look := func(wantBans int) (again time.Duration) {
			t.Helper()
			at, set, err := r.board.AlarmOf(t.Context(), 0, layout.BanAlarm(scope))
			if err != nil || !set {
				t.Fatal(set, err)
			}
			time.Sleep(time.Until(at))
			if _, err := r.bans.HandleAlarm(t.Context(), board.Alarm{Name: layout.BanAlarm(scope), At: at}); err != nil {
				t.Fatal(err)
			}
			list, err := r.bans.List(t.Context())
			if err != nil || len(list) != wantBans {
				t.Errorf("got %+v, %v, want %d bans", list, err, wantBans)
			}
			at, _, err = r.board.AlarmOf(t.Context(), 0, layout.BanAlarm(scope))
			if err != nil {
				t.Fatal(err)
			}
			return time.Until(at).Round(time.Minute)
		}
		r.set(scope, domain.BanPick, time.Time{})
		if again := look(1); again != time.Hour {
			t.Errorf("it is looked at again in %v", again)
		}
		r.set(scope, domain.BanPick, time.Now().Add(30*time.Minute))
		if again := look(1); again != 30*time.Minute {
			t.Errorf("its end comes in %v", again)
		}
		r.set(scope, domain.BanPick, time.Time{})
		gone := board.Batch{Space: 7}
		if err := r.board.Commit(t.Context(), *gone.Delete(domain.FlowKey(33))); err != nil {
			t.Fatal(err)
		}
		look(0)
	})
}

func TestOneContextCannotTakeTheRoomOfAll(t *testing.T) {
	bubble(t, func(r *rig) {
		scope := func(tenant domain.TenantID, i int) domain.BanScope {
			return domain.BanScope{Kind: domain.BanBlueprint, Context: tenant, Name: "b" + strconv.Itoa(i)}
		}
		for i := range ban.MaxBansOf {
			var b board.Batch
			s := domain.Ban{BanScope: scope(7, i), Level: domain.BanPick, By: 1, AtMs: 1, Reason: "x"}
			if err := r.board.Commit(t.Context(), *b.Set(layout.Ban(s.BanScope), layout.EncodeBan(s)...)); err != nil {
				t.Fatal(err)
			}
		}
		set := func(s domain.BanScope) error {
			_, err := r.bans.Set(t.Context(), domain.Ban{BanScope: s, Level: domain.BanPick, By: 1, Reason: "y"})
			return err
		}
		if err := set(scope(7, ban.MaxBansOf)); !errors.Is(err, domain.ErrLimit) {
			t.Errorf("one more: got %v", err)
		}
		if err := set(scope(7, 0)); err != nil {
			t.Errorf("in place of one: got %v", err)
		}
		if err := set(scope(8, 0)); err != nil {
			t.Errorf("of another context: got %v", err)
		}
	})
}

// A list where a ban would be, before and after the node begins.
func TestAKeyOfTheWrongKindKeepsNoBanFromHolding(t *testing.T) {
	bubble(t, func(r *rig) {
		scope := domain.BanScope{Kind: domain.BanRoutine, Name: "held"}
		r.set(scope, domain.BanExec, time.Time{})
		var b board.Batch
		if err := r.board.Commit(r.Context(), *b.PushLeft(layout.BanPrefix+"strange", "x")); err != nil {
			r.Fatal(err)
		}
		late, stop := follow(r.T, r.board)
		defer stop()
		for name, cache := range map[string]*ban.Cache{"there before": r.cache, "begun later": late} {
			if _, held := cache.Routine(domain.BanExec, 0, "held"); !held {
				r.Errorf("%s: the ban does not hold", name)
			}
		}
	})
}
