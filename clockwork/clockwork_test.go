package clockwork_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// bubble runs a test in virtual time on a board in memory.
func bubble(t *testing.T, test func(t *testing.T, b *memboard.Board)) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		test(t, b)
	})
}

// run runs maintenance services as one node until stop is called.
func run(t *testing.T, b board.Board, owner string, services ...clockwork.Maintenance) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := clockwork.Run(ctx, b, clockwork.Config{Owner: owner}, services); err != nil {
			t.Error(err)
		}
	}()
	return sync.OnceFunc(func() { cancel(); <-done })
}

func setAlarm(t *testing.T, b board.Board, name string, at time.Time) {
	t.Helper()
	batch := board.Batch{Space: 1}
	if err := b.Commit(t.Context(), *batch.SetAlarm(name, at)); err != nil {
		t.Fatal(err)
	}
}

// ticks counts the rounds that each node does of a maintenance service.
type ticks struct{ n [3]atomic.Int64 }

func (c *ticks) service(node int) clockwork.Maintenance {
	return clockwork.Maintenance{Name: "tick", Every: time.Second, Round: func(context.Context) error {
		c.n[node].Add(1)
		return nil
	}}
}

func TestAMaintenanceServiceIsDoneByOneNode(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		var c ticks
		for i := range c.n {
			defer run(t, b, fmt.Sprintf("n%d/a", i), c.service(i))()
		}
		time.Sleep(time.Minute)
		busy := 0
		for i := range c.n {
			if n := c.n[i].Load(); n > 0 {
				busy++
				if n < 55 || n > 60 {
					t.Errorf("node %d did %d rounds in a minute, want one each second", i, n)
				}
			}
		}
		if busy != 1 {
			t.Errorf("%d nodes did the service, want 1", busy)
		}
	})
}

func TestAMaintenanceServiceGoesOnElsewhere(t *testing.T) {
	for _, tc := range []struct {
		name string
		dies bool
		most time.Duration
	}{
		{name: "a node that stops hands over when the next looks", most: 2600 * time.Millisecond},
		{name: "a node that dies hands over when its lease has run out", dies: true, most: 7600 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *memboard.Board) {
				var c ticks
				f := faultboard.New(b, faultboard.Config{})
				stop := run(t, f, "n0/a", c.service(0))
				time.Sleep(2 * time.Second)
				defer run(t, b, "n1/a", c.service(1))()
				time.Sleep(10 * time.Second)
				if c.n[1].Load() != 0 {
					t.Fatal("both nodes did the service")
				}
				if tc.dies {
					f.Cut()
				}
				stop()
				time.Sleep(tc.most + time.Second) // the service's own pause
				if c.n[1].Load() == 0 {
					t.Errorf("the other node did not take over within %v", tc.most)
				}
			})
		})
	}
}

func TestAMaintenanceServiceThatWasTakenAwayStops(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		var c ticks
		f := faultboard.New(b, faultboard.Config{})
		defer run(t, f, "n0/a", c.service(0))()
		time.Sleep(3 * time.Second)
		f.Cut() // it goes on, but can renew nothing
		defer run(t, b, "n1/a", c.service(1))()
		time.Sleep(20 * time.Second)
		f.Heal()
		before := c.n[0].Load()
		time.Sleep(20 * time.Second)
		if n := c.n[0].Load(); n != before || before > 10 {
			t.Errorf("the node that was cut off did %d rounds, then %d more", before, n-before)
		}
	})
}

// A node that has nothing to do in a maintenance service leaves it alone at once, though it
// occupied it before the others: what only they can do is not late.
func TestAMaintenanceServiceIsLeftToWhoeverHasSomethingToDo(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		var c ticks
		var wanted [2]atomic.Bool
		for i := range wanted {
			r := c.service(i)
			r.Wanted = wanted[i].Load
			defer run(t, b, fmt.Sprintf("n%d/a", i), r)()
		}
		for turn := range 4 {
			node := turn % 2
			wanted[node].Store(true)
			time.Sleep(10 * time.Second)
			wanted[node].Store(false)
			time.Sleep(5 * time.Second)
			if n := c.n[node].Swap(0); n < 5 || n > 11 {
				t.Errorf("turn %d: node %d did %d rounds in ten seconds", turn, node, n)
			}
			if n := c.n[1-node].Load(); n != 0 {
				t.Errorf("turn %d: node %d did %d rounds with nothing to do", turn, 1-node, n)
			}
		}
	})
}

// A node that cannot read every context has a maintenance service only for a while, when
// there is one that can.
func TestAMaintenanceServiceIsYieldedToWhoeverReadsEverything(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		var c ticks
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			cfg := clockwork.Config{Owner: "n0/a", Yield: func() bool { return true }}
			done <- clockwork.Run(ctx, b, cfg, []clockwork.Maintenance{c.service(0)})
		}()
		defer func() { cancel(); <-done }()
		time.Sleep(time.Minute) // nobody else is there
		if n := c.n[0].Load(); n < 45 {
			t.Errorf("alone the node did %d rounds in a minute", n)
		}
		defer run(t, b, "n1/a", c.service(1))()
		time.Sleep(40 * time.Second)
		before := c.n[0].Load()
		time.Sleep(time.Minute)
		if c.n[0].Load() != before || c.n[1].Load() < 60 {
			t.Errorf("the node that reads less did %d rounds more, the other %d", c.n[0].Load()-before, c.n[1].Load())
		}
	})
}

// alarms collects what is handled.
type alarms struct {
	mu    sync.Mutex
	at    map[string][]time.Time
	fails map[string]error
	slow  map[string]time.Duration
	board board.Board
}

func (a *alarms) handle(ctx context.Context, al board.Alarm) (bool, error) {
	a.mu.Lock()
	a.at[al.Name] = append(a.at[al.Name], time.Now())
	err, slow := a.fails[al.Name], a.slow[al.Name]
	a.mu.Unlock()
	time.Sleep(slow)
	switch {
	case err != nil:
		return true, err
	case al.Name == "stays":
		return true, nil
	case al.Name == "unknown":
		return false, nil
	}
	b := board.Batch{Space: al.Space}
	return true, a.board.Commit(ctx, *b.AlarmAt(al.Name, al.At).ClearAlarm(al.Name))
}

func (a *alarms) times(name string) []time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]time.Time(nil), a.at[name]...)
}

func newAlarms(b board.Board) *alarms {
	return &alarms{at: map[string][]time.Time{}, fails: map[string]error{}, slow: map[string]time.Duration{}, board: b}
}

func TestAlarmsAreNeverEarlyAndHardlyLate(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		a := newAlarms(b)
		var worst atomic.Int64
		late := func(d time.Duration) { worst.Store(max(worst.Load(), int64(d))) }
		for _, node := range []string{"n0/a", "n1/a"} {
			defer run(t, b, node, clockwork.Alarms(b, discard(), a.handle, late))()
		}
		begun := time.Now()
		for i := range 100 {
			setAlarm(t, b, fmt.Sprint("a", i), begun.Add(time.Duration(i)*77*time.Millisecond))
		}
		time.Sleep(time.Minute)
		for i := range 100 {
			want := begun.Add(time.Duration(i) * 77 * time.Millisecond).Truncate(time.Millisecond)
			got := a.times(fmt.Sprint("a", i))
			if len(got) != 1 {
				t.Fatalf("alarm %d came %d times, want once", i, len(got))
			}
			if d := got[0].Sub(want); d < 0 || d > 10*time.Millisecond {
				t.Errorf("alarm %d came %v after its time", i, d)
			}
		}
		if d := time.Duration(worst.Load()); d > 10*time.Millisecond {
			t.Errorf("the lateness told is %v", d)
		}
	})
}

func TestTheOldestAlarmIsTheLateOne(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		begun := time.Now()
		setAlarm(t, b, "soon", begun.Add(time.Minute))
		if a, late, err := clockwork.Overdue(t.Context(), b); err != nil || late != 0 || a.Name != "" {
			t.Errorf("got %v, %v, %v, want nothing late", a, late, err)
		}
		setAlarm(t, b, "old", begun.Add(-35*time.Second))
		setAlarm(t, b, "young", begun.Add(-time.Second))
		if a, late, err := clockwork.Overdue(t.Context(), b); err != nil || late < 35*time.Second || late > 36*time.Second || a.Name != "old" {
			t.Errorf("got %v, %v, %v, want the old one, 35s late", a, late, err)
		}
	})
}

func TestBadAlarmsHoldUpNoOthers(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		a := newAlarms(b)
		begun := time.Now()
		for i := range 300 { // more than a page of them, all before the others
			name := fmt.Sprint("bad", i)
			a.fails[name] = errors.New("no")
			setAlarm(t, b, name, begun.Add(-time.Hour))
		}
		for i := range 100 {
			name := fmt.Sprint("slow", i)
			a.slow[name] = 5 * time.Second
			setAlarm(t, b, name, begun.Add(-time.Hour))
		}
		setAlarm(t, b, "stays", begun.Add(-time.Hour))
		setAlarm(t, b, "unknown", begun.Add(-time.Hour))
		defer run(t, b, "n/a", clockwork.Alarms(b, discard(), a.handle, nil))()
		for i := range 20 {
			setAlarm(t, b, fmt.Sprint("good", i), begun.Add(time.Duration(i)*100*time.Millisecond))
		}
		time.Sleep(time.Minute)
		for i := range 20 {
			want := begun.Add(time.Duration(i) * 100 * time.Millisecond)
			got := a.times(fmt.Sprint("good", i))
			if len(got) != 1 || got[0].Sub(want) > 200*time.Millisecond {
				t.Errorf("good alarm %d came at %v, want %v", i, got, want)
			}
		}
		if n := len(a.times("bad7")); n < 5 || n > 9 {
			t.Errorf("a failing alarm was tried %d times in a minute, want 1s, 2s, 4s … 15s between", n)
		}
		if n := len(a.times("stays")); n < 30 || n > 61 {
			t.Errorf("an alarm that was handled but stays came %d times in a minute, want about one each second", n)
		}
		if n := len(a.times("unknown")); n != 1 {
			t.Errorf("the unknown alarm came %d times", n)
		}
		at, set, err := b.AlarmOf(t.Context(), 1, "unknown")
		if err != nil || !set || at.Before(begun.Add(50*time.Minute)) {
			t.Errorf("the unknown alarm is set to %v, %v, %v, want in an hour", at, set, err)
		}
	})
}

// TestAContextThatIsAlwaysBehindHoldsUpNoOther has alarms that are set anew to an
// instant long ago each time, as those of a schedule that makes up what it missed.
func TestAContextThatIsAlwaysBehindHoldsUpNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		begun := time.Now()
		set := func(space board.Space, name string, at time.Time) {
			batch := board.Batch{Space: space}
			if err := b.Commit(t.Context(), *batch.SetAlarm(name, at)); err != nil {
				t.Error(err)
			}
		}
		for i := range 1000 {
			set(7, fmt.Sprint("behind", i), begun.Add(-24*time.Hour))
		}
		a := newAlarms(b)
		defer run(t, b, "n/a", clockwork.Alarms(b, discard(), func(ctx context.Context, al board.Alarm) (bool, error) {
			if al.Space != 7 {
				return a.handle(ctx, al)
			}
			time.Sleep(10 * time.Millisecond)
			set(7, al.Name, al.At.Add(time.Second))
			return true, nil
		}, nil))()
		for i := range 20 {
			set(8, fmt.Sprint("good", i), begun.Add(time.Duration(i)*100*time.Millisecond))
		}
		time.Sleep(10 * time.Second)
		for i := range 20 {
			want := begun.Add(time.Duration(i) * 100 * time.Millisecond)
			if got := a.times(fmt.Sprint("good", i)); len(got) != 1 || got[0].Sub(want) > 500*time.Millisecond {
				t.Errorf("the other context's alarm %d came at %v, want %v", i, got, want)
			}
		}
	})
}

// TestWhatWaitsForTheOutsideHoldsUpNoOther has alarms of two contexts whose handlers
// get no answer from archive or stream: those of a third context come in time, and
// of the same contexts those that only commit.
func TestWhatWaitsForTheOutsideHoldsUpNoOther(t *testing.T) {
	for _, tc := range []struct {
		kind string
		each int // alarms of a context
	}{
		{"schedule:s", 200},
		{"backfill:s", 200},
		{layout.TimerAlarm("saga_timer:x"), 200},
		{"bulk:1", 200},
		{"schedule:many", watched.Rounds(5_000, 200)}, // more than may wait for a handler
	} {
		bubble(t, func(t *testing.T, b *memboard.Board) {
			set := func(space board.Space, name string, at time.Time) {
				batch := board.Batch{Space: space}
				if err := b.Commit(t.Context(), *batch.SetAlarm(name, at)); err != nil {
					t.Fatal(err)
				}
			}
			begun := time.Now()
			for i := range tc.each {
				for _, silent := range []board.Space{7, 8} {
					set(silent, tc.kind+strconv.Itoa(i), begun.Add(-time.Hour))
				}
			}
			a := newAlarms(b)
			defer run(t, b, "n/a", clockwork.Alarms(b, discard(), func(ctx context.Context, al board.Alarm) (bool, error) {
				if !strings.HasPrefix(al.Name, tc.kind) || al.Space == 9 {
					return a.handle(ctx, al)
				}
				ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
				defer cancel()
				<-ctx.Done()
				return true, ctx.Err()
			}, nil))()
			due := map[string]time.Time{}
			for i := range 20 {
				at := begun.Add(10*time.Second + time.Duration(i)*1700*time.Millisecond)
				for name, space := range map[string]board.Space{tc.kind + "9" + strconv.Itoa(i): 9, fmt.Sprint("start:job:1:", i+1): 7} {
					due[name] = at
					set(space, name, at)
				}
			}
			time.Sleep(time.Minute)
			for name, at := range due {
				if got := a.times(name); len(got) != 1 || got[0].Sub(at) > time.Second {
					t.Errorf("%s: alarm %s came at %v, want %v", tc.kind, name, got, at)
				}
			}
		})
	}
}

// reads counts what looks read.
type reads struct {
	board.Board
	rows atomic.Int64
}

func (r *reads) Due(ctx context.Context, limit int, wait time.Duration) ([]board.Alarm, error) {
	due, err := r.Board.Due(ctx, limit, wait)
	r.rows.Add(int64(len(due)))
	return due, err
}

func TestALookReadsNoMoreThanItTakes(t *testing.T) {
	for _, contexts := range []int{1, 50} {
		bubble(t, func(t *testing.T, b *memboard.Board) {
			const alarms = 6000 // more than may wait
			for i := range alarms {
				batch := board.Batch{Space: board.Space(1 + i%contexts)}
				if err := b.Commit(t.Context(), *batch.SetAlarm(fmt.Sprint("a", i), time.Now())); err != nil {
					t.Fatal(err)
				}
			}
			r := &reads{Board: b}
			var handled atomic.Int64
			defer run(t, b, "n/a", clockwork.Alarms(r, discard(), func(ctx context.Context, al board.Alarm) (bool, error) {
				time.Sleep(time.Duration(1+handled.Add(1)%10) * time.Millisecond) // they do not end together
				batch := board.Batch{Space: al.Space}
				return true, b.Commit(ctx, *batch.AlarmAt(al.Name, al.At).ClearAlarm(al.Name))
			}, nil))()
			time.Sleep(10 * time.Second)
			if n := handled.Load(); n != alarms {
				t.Errorf("%d contexts: %d alarms were handled, want each of %d once", contexts, n, alarms)
			}
			if rows := r.rows.Load(); rows > 10*alarms {
				t.Errorf("%d contexts: %d alarms were read for %d", contexts, rows, alarms)
			}
		})
	}
}

func TestLeasesOfUnknownItemsAreReleased(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		push := board.Batch{Space: 1}
		if err := b.Commit(t.Context(), *push.PushLeft("queue:x", "thing:1")); err != nil {
			t.Fatal(err)
		}
		ask := board.Ask{Queues: []board.Queue{{Lists: []string{"queue:x"}}}, Max: 1, Owner: "dead/1", Lease: 10 * time.Second}
		if got, err := b.Claim(t.Context(), ask); err != nil || len(got) != 1 {
			t.Fatalf("claim: %v, %v", got, err)
		}
		asked := atomic.Int64{}
		defer run(t, b, "n/a", clockwork.Leases(b, discard(), func(context.Context, board.Lease) (bool, error) {
			asked.Add(1)
			return false, nil
		}))()
		time.Sleep(9 * time.Second)
		if asked.Load() != 0 {
			t.Error("a lease was recovered before its time")
		}
		time.Sleep(2 * time.Second)
		if _, held, err := b.LeaseOf(t.Context(), 1, "thing:1"); held || err != nil || asked.Load() != 1 {
			t.Errorf("held %v, %v, asked %d times", held, err, asked.Load())
		}
		if recs, err := b.Get(t.Context(), 1, "thing:1"); err != nil || recs[0] != nil {
			t.Errorf("the claim left %v, %v", recs, err)
		}
	})
}

func addTenants(t *testing.T, b board.Board, ids ...string) {
	t.Helper()
	var batch board.Batch
	if err := b.Commit(t.Context(), *batch.Include(layout.Contexts, ids...)); err != nil {
		t.Fatal(err)
	}
}

func TestEachTenantHasItsTurn(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		addTenants(t, b, "1", "2", "3", "rubbish")
		seen := 0
		broken := domain.Invalidf("damaged")
		err := clockwork.EachTenant(t.Context(), b, func(id domain.TenantID) error {
			seen++
			if id == 2 {
				return broken
			}
			return nil
		})
		if seen != 3 || !errors.Is(err, broken) {
			t.Errorf("saw %d contexts, %v, want 3 and the error of context 2", seen, err)
		}
		seen = 0
		err = clockwork.EachTenant(t.Context(), b, func(domain.TenantID) error { seen++; return domain.Unavailablef("away") })
		if seen != 1 || !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("board away: saw %d contexts, %v, want to stop at the first", seen, err)
		}
	})
}

func TestPrunes(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		addTenants(t, b, "1")
		e := work.New(b, work.Config{})
		defer run(t, b, "n/a", clockwork.Prunes(b, e, time.Hour))()
		receipts, err := e.Submit(t.Context(), 1, []*domain.Job{{ID: 1, CallerID: 1, Script: "x", ScriptType: "go"}})
		if err != nil || receipts[0].Err != nil {
			t.Fatal(err, receipts)
		}
		if _, err := e.Cancel(t.Context(), 1, receipts[0].Key, 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour - time.Minute)
		if _, err := e.Show(t.Context(), 1, receipts[0].Key); err != nil {
			t.Errorf("before its time: %v", err)
		}
		time.Sleep(3 * time.Minute)
		if _, err := e.Show(t.Context(), 1, receipts[0].Key); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("after its time: got %v, want not found", err)
		}
	})
}

// lines counts what is logged.
type lines struct {
	slog.Handler
	n *atomic.Int64
}

func (l lines) Enabled(context.Context, slog.Level) bool  { return true }
func (l lines) Handle(context.Context, slog.Record) error { l.n.Add(1); return nil }
func (l lines) WithAttrs([]slog.Attr) slog.Handler        { return l }
func (l lines) WithGroup(string) slog.Handler             { return l }

func TestWhatIsStuckIsLoggedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		addTenants(t, b, "1")
		e := work.New(b, work.Config{})
		receipts, err := e.Submit(t.Context(), 1, []*domain.Job{{ID: 1, CallerID: 1, Script: "x", ScriptType: "go", NotBefore: domain.MaxNotBefore}})
		if err != nil || receipts[0].Err != nil {
			t.Fatal(err, receipts)
		}
		lost := board.Batch{Space: 1}
		if err := b.Commit(t.Context(), *lost.ClearAlarm("start:job:1:1")); err != nil {
			t.Fatal(err)
		}
		var logged, told atomic.Int64
		defer run(t, b, "n/a", clockwork.Audits(b, e, nil, slog.New(lines{n: &logged}), func(_ domain.TenantID, a domain.Audit) {
			told.Add(int64(len(a.Stuck)))
		}))()
		time.Sleep(5 * time.Minute)
		if logged.Load() != 1 || told.Load() < 20 {
			t.Errorf("logged %d times, told %d times, want 1 and each round", logged.Load(), told.Load())
		}
	})
}
