package clockwork_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// guarded runs a maintenance service as one node that follows bans and duties.
func guarded(t *testing.T, b board.Board, host string, r clockwork.Maintenance) (d *clockwork.Duties, stop func()) {
	t.Helper()
	d, bans := clockwork.NewDuties(b, host, "v1.2.3", nil), ban.NewCache(b, nil)
	if err := errors.Join(d.Load(t.Context()), bans.Load(t.Context())); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = d.Run(ctx) })
	all.Go(func() { _ = bans.Run(ctx) })
	all.Go(func() {
		_ = clockwork.Run(ctx, b, clockwork.Config{Owner: host + "/a", Bans: bans,
			May: func() (bool, <-chan struct{}) { return d.May(domain.RoleClockwork) }}, []clockwork.Maintenance{r})
	})
	return d, sync.OnceFunc(func() { cancel(); all.Wait() })
}

func setRules(t *testing.T, b board.Board, rules ...domain.DutyRule) {
	t.Helper()
	if err := clockwork.DutyRulesOn(b).SetRules(t.Context(), domain.Duties{Rules: rules}); err != nil {
		t.Fatal(err)
	}
}

func TestANodeThatLosesClockworkHandsItsMaintenanceOver(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		var c ticks
		d, stop := guarded(t, b, "n0", c.service(0))
		defer stop()
		time.Sleep(3 * time.Second)
		_, stop = guarded(t, b, "n1", c.service(1))
		defer stop()
		setRules(t, b, domain.DutyRule{NotHost: "n0", Disable: []domain.Role{domain.RoleClockwork}})
		time.Sleep(time.Second)
		if d.Has(domain.RoleClockwork) || !d.Has(domain.RoleRunner) {
			t.Errorf("got %v off", d.Off())
		}
		before := c.n[0].Load()
		time.Sleep(time.Minute)
		if c.n[0].Load() != before || before == 0 || c.n[1].Load() < 50 {
			t.Errorf("got %d rounds before, %d on the node without, %d on the other", before, c.n[0].Load(), c.n[1].Load())
		}
		setRules(t, b, domain.DutyRule{NotHost: "n1", Disable: []domain.Role{domain.RoleClockwork}})
		time.Sleep(time.Minute)
		if c.n[0].Load() < before+50 {
			t.Errorf("got %d rounds once it has its role again", c.n[0].Load()-before)
		}
		setRules(t, b)
		time.Sleep(time.Second)
		if recs, err := b.Get(t.Context(), 0, layout.Duty); err != nil || recs[0] != nil {
			t.Errorf("got %v, %v without rules", recs, err)
		}
	})
}

func TestRulesThatCannotBeReadTakeNothing(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		var batch board.Batch
		batch.Set(layout.Duty, board.Field{Name: layout.DutyRules, Value: `{"rules": [{"disable": ["boss"]}]}`})
		if err := b.Commit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		d := clockwork.NewDuties(b, "n0", "dev", nil)
		if err := d.Load(t.Context()); err != nil || len(d.Off()) != 0 {
			t.Errorf("got %v, %v", d.Off(), err)
		}
	})
}

func TestBansOnMaintenance(t *testing.T) {
	// One that waits by itself has one round only.
	var held atomic.Int32
	endless := clockwork.Maintenance{Name: "tick", Round: func(ctx context.Context) error {
		held.Add(1)
		defer held.Add(-1)
		<-ctx.Done()
		return nil
	}}
	for _, c := range []struct {
		name     string
		level    domain.BanLevel
		endless  bool
		occupied bool // while banned
	}{
		{"exec leaves rounds out and keeps the service", domain.BanExec, false, true},
		{"occupy lets go of it", domain.BanOccupy, false, false},
		{"exec ends the round of one that waits by itself", domain.BanExec, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *memboard.Board) {
				var n ticks
				r := n.service(0)
				if c.endless {
					r = endless
				}
				_, stop := guarded(t, b, "n0", r)
				defer stop()
				time.Sleep(3500 * time.Millisecond)
				scope := domain.BanScope{Kind: domain.BanRoutine, Name: "tick"}
				if _, err := ban.New(b).Set(t.Context(), domain.Ban{BanScope: scope, Level: c.level, By: 1, Reason: "x"}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Second) // a second for the ban, one for the round under way
				before := n.n[0].Load()
				time.Sleep(time.Minute)
				if n.n[0].Load() != before || held.Load() != 0 {
					t.Errorf("got %d rounds while banned, %d under way", n.n[0].Load()-before, held.Load())
				}
				if _, err := b.Occupy(t.Context(), 0, layout.Maintenance("tick"), "somebody/else", time.Second); errors.Is(err, domain.ErrConflict) != c.occupied {
					t.Errorf("occupy: got %v, want held %v", err, c.occupied)
				}
				if _, err := ban.New(b).Lift(t.Context(), scope); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				if n.n[0].Load() == before && held.Load() == 0 {
					t.Error("it does not go on")
				}
			})
		})
	}
}
