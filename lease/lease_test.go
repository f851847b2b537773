package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/lease"
)

var (
	errLost      = errors.New("lost")
	errCancelled = errors.New("cancelled")
	errDraining  = errors.New("draining")
)

const (
	length = time.Minute
	queue  = "queue:errands"
)

// errand is work of these tests.
type errand struct {
	lease.Item
	r    *rig
	back bool // it goes back to the queue
	err  error
}

func (w *errand) Do() bool {
	w.back = !w.r.do(w)
	return true
}

func (w *errand) End() board.Batch {
	b := board.Batch{Space: w.Claimed.Space}
	b.Held(w.Claimed.Item, w.r.owner, w.Claimed.Token).Release(w.Claimed.Item)
	if w.back {
		b.PushRight(queue, w.Claimed.Item)
	}
	return b
}

func (w *errand) Again(ctx context.Context, err error) error {
	for err != nil && !lease.IsGone(err) && ctx.Err() == nil {
		time.Sleep(time.Second)
		err = w.r.board.Commit(ctx, w.End())
	}
	return err
}

func (w *errand) Close(err error) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.err = err
	w.r.closed = append(w.r.closed, w)
}

// rig is a runner on a board. It is the source of its claimer.
type rig struct {
	*testing.T
	board  *unreachable
	owner  string
	runner *lease.Runner[*errand]
	// do is the work; false gives it back.
	do func(w *errand) bool

	mu     sync.Mutex
	closed []*errand
	most   int // were claimed at once
}

func newRig(t *testing.T, do func(w *errand) bool, change ...func(*lease.RunnerConfig[*errand])) *rig {
	b := memboard.Open()
	t.Cleanup(func() { _ = b.Close() })
	r := &rig{T: t, board: &unreachable{Board: b}, owner: "n1/a", do: do}
	cfg := lease.RunnerConfig[*errand]{Config: lease.Config[*errand]{Board: r.board, Owner: r.owner, Length: length, Lost: errLost, Cancelled: errCancelled,
		What: "errands", Log: slog.New(slog.DiscardHandler)}, Draining: errDraining}
	for _, c := range change {
		c(&cfg)
	}
	r.runner = lease.NewRunner(cfg)
	r.runner.Serve(r, 4)
	return r
}

func (r *rig) Open(ctx context.Context) bool { return ctx.Err() == nil }
func (r *rig) Room(free int) int             { return free }
func (r *rig) Work(board.Claimed) *errand    { return &errand{r: r} }
func (r *rig) Begin(list []*errand)          { r.most = max(r.most, len(list)) }
func (r *rig) Failed(error)                  {}
func (r *rig) Claim(ctx context.Context, n int) ([]board.Claimed, error) {
	return r.board.Claim(ctx, board.Ask{Queues: []board.Queue{{Lists: []string{queue}}}, Max: n, Owner: r.owner, Lease: length, Wait: lease.Wait})
}

func (r *rig) push(items ...string) {
	r.Helper()
	b := board.Batch{Space: 1}
	for _, item := range items {
		b.Set(item, board.Field{Name: "what", Value: item})
	}
	if err := r.board.Commit(r.Context(), *b.PushLeft(queue, items...)); err != nil {
		r.Fatal(err)
	}
}

// start runs the runner; stop drains it.
func (r *rig) start() (stop func() lease.Left[*errand]) {
	ctx, cancel := context.WithCancel(r.Context())
	left := make(chan lease.Left[*errand], 1)
	go func() { left <- r.runner.Run(ctx) }()
	return func() lease.Left[*errand] { cancel(); return <-left }
}

// lapsed are the items whose lease has run out.
func (r *rig) lapsed() (items []string) {
	r.Helper()
	list, err := r.board.Board.Expired(r.Context(), 100, 0)
	if err != nil {
		r.Fatal(err)
	}
	for _, l := range list {
		items = append(items, l.Item)
	}
	return items
}

// unreachable is a board that does not answer while it is away: at once, or not
// before it is asked no longer.
type unreachable struct {
	board.Board
	mu          sync.Mutex
	away, hangs bool
}

func (b *unreachable) set(away, hangs bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away, b.hangs = away, hangs
}

func (b *unreachable) err(ctx context.Context) error {
	b.mu.Lock()
	away, hangs := b.away, b.hangs
	b.mu.Unlock()
	switch {
	case hangs:
		<-ctx.Done()
		return domain.Unavailablef("no answer: %v", ctx.Err())
	case away:
		return domain.Unavailablef("it is away")
	}
	return nil
}

func (b *unreachable) Extend(ctx context.Context, owner string, ttl time.Duration, held []board.Held) ([]board.Answer, error) {
	if err := b.err(ctx); err != nil {
		return nil, err
	}
	return b.Board.Extend(ctx, owner, ttl, held)
}

func (b *unreachable) CommitEach(ctx context.Context, list []board.Batch) []error {
	if err := b.err(ctx); err != nil {
		return slices.Repeat([]error{err}, len(list))
	}
	return b.Board.CommitEach(ctx, list)
}

func (b *unreachable) Commit(ctx context.Context, batch board.Batch) error {
	if err := b.err(ctx); err != nil {
		return err
	}
	return b.Board.Commit(ctx, batch)
}

func (b *unreachable) Len(ctx context.Context, s board.Space, lists ...string) ([]int, error) {
	if err := b.err(ctx); err != nil {
		return nil, err
	}
	return b.Board.Len(ctx, s, lists...)
}

// untilStopped works until it is told to stop.
func untilStopped(w *errand) bool {
	<-w.Ctx.Done()
	return false
}

func TestWorkIsDoneInSlotsAndItsEndWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(w *errand) bool { time.Sleep(time.Second); return true })
		r.push("a", "b", "c", "d", "e", "f")
		began := time.Now()
		stop := r.start()
		time.Sleep(time.Hour)
		if left := stop(); left.Items != 0 {
			t.Errorf("%d items left", left.Items)
		}
		if len(r.closed) != 6 || r.most != 4 {
			t.Errorf("%d done, %d at once; want 6, 4", len(r.closed), r.most)
		}
		for _, w := range r.closed {
			if w.err != nil || w.Begun.Sub(began) > time.Second {
				t.Errorf("%s: begun after %v, ended with %v", w.Claimed.Item, w.Begun.Sub(began), w.err)
			}
		}
	})
}

func TestALeaseIsRenewedForAsLongAsTheWorkTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(w *errand) bool { time.Sleep(20 * length); return w.Ctx.Err() == nil })
		r.push("a")
		stop := r.start()
		for range 19 {
			time.Sleep(length)
			if items := r.lapsed(); len(items) > 0 {
				t.Errorf("lease of %v has run out", items)
			}
		}
		time.Sleep(2 * length)
		stop()
		if len(r.closed) != 1 || r.closed[0].back || r.closed[0].err != nil {
			t.Errorf("got %d ends, %+v", len(r.closed), r.closed)
		}
	})
}

func TestWorkThatCannotBeRenewedStopsBeforeItsLeaseRunsOut(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		for _, guarded := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var after time.Duration
				r := newRig(t, func(w *errand) bool {
					if w.Claimed.Token > 1 {
						return true
					}
					untilStopped(w)
					after = time.Since(w.Begun)
					return context.Cause(w.Ctx) != errLost
				}, func(c *lease.RunnerConfig[*errand]) { c.Guarded = guarded })
				r.board.set(true, hangs)
				(&rig{T: t, board: &unreachable{Board: r.board.Board}}).push("a")
				stop := r.start()
				time.Sleep(2 * length)
				r.board.set(false, false)
				time.Sleep(length)
				stop()
				least, most := length/2, length*19/20
				if guarded {
					least, most = length, length+length/3
				}
				if after < least || after > most {
					t.Errorf("hangs %v, guarded %v: stopped after %v, want %v to %v", hangs, guarded, after, least, most)
				}
				if len(r.closed) == 0 || !r.closed[0].back {
					t.Errorf("hangs %v, guarded %v: it was not stopped for that", hangs, guarded)
				}
			})
		}
	}
}

func TestWhatAbandonsItsItemsLetsThemRunOut(t *testing.T) {
	for _, abandons := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			hold := make(chan struct{})
			r := newRig(t, func(w *errand) bool { untilStopped(w); <-hold; return false },
				func(c *lease.RunnerConfig[*errand]) { c.Abandons = abandons })
			stop := r.start()
			time.Sleep(2 * time.Second) // rounds are every ten: that of 0:50 finds twelve left, too little, and that of 1:00 two
			r.push("a")
			synctest.Wait()
			r.board.set(true, false)
			time.Sleep(49 * time.Second)
			r.board.set(false, false) // it could be renewed, but its work was told to stop
			time.Sleep(length)
			if got := len(r.lapsed()) == 1; got != abandons {
				t.Errorf("abandons %v: its lease has run out: %v", abandons, got)
			}
			close(hold)
			stop()
		})
	}
}

func TestLaterWorkOnAnItemStopsTheOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := lease.NewRenewer(lease.Config[*errand]{Length: length, Lost: errLost})
		older, later := &errand{}, &errand{}
		b.Begin(t.Context(), older, board.Claimed{Space: 1, Item: "a", Token: 1}, time.Now())
		b.Begin(t.Context(), later, board.Claimed{Space: 1, Item: "a", Token: 2}, time.Now())
		b.Add(older)
		b.Add(later)
		if context.Cause(older.Ctx) != errLost || later.Ctx.Err() != nil {
			t.Errorf("older: %v, later: %v", context.Cause(older.Ctx), later.Ctx.Err())
		}
		b.Remove(older)
		if got, found := b.Find(1, "a"); !found || got != later {
			t.Error("the end of the older has removed the later")
		}
		time.Sleep(length)
		if later.Look(); context.Cause(later.Ctx) != errLost {
			t.Errorf("a look after the lease: %v", context.Cause(later.Ctx))
		}
	})
}

func TestCancelledWorkIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		r := newRig(t, func(w *errand) bool { untilStopped(w); cause = context.Cause(w.Ctx); return true })
		r.push("a")
		stop := r.start()
		time.Sleep(time.Second)
		b := board.Batch{Space: 1}
		if err := r.board.Commit(t.Context(), *b.Set("a", board.Field{Name: board.FieldCancel, Value: "1"})); err != nil {
			t.Fatal(err)
		}
		time.Sleep(length)
		stop()
		if cause != errCancelled {
			t.Errorf("stopped by %v", cause)
		}
	})
}

func TestDrain(t *testing.T) {
	for _, c := range []struct {
		name      string
		do        func(w *errand) bool
		gone      bool
		took      time.Duration
		left      int
		stuck     bool
		givenBack bool
	}{
		{name: "what ends within the grace is waited for", do: func(*errand) bool { time.Sleep(20 * time.Second); return true }, took: 19 * time.Second},
		{name: "what takes longer is stopped, and given back", do: untilStopped, took: 30 * time.Second, givenBack: true},
		{name: "what does not listen is left", do: func(w *errand) bool { time.Sleep(time.Hour); return false }, took: 41 * time.Second, left: 1, stuck: true},
		{name: "without a board nothing is waited for", do: untilStopped, gone: true, took: 4 * time.Second, left: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, c.do)
				r.push("a")
				stop := r.start()
				time.Sleep(time.Second)
				r.board.set(c.gone, false)
				began := time.Now()
				left := stop()
				if took := time.Since(began); took < c.took || took > c.took+2*time.Second {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if left.Items != c.left || (len(left.Stuck) > 0) != c.stuck || left.Gone != c.gone {
					t.Errorf("left %+v", left)
				}
				if n, err := r.board.Board.Len(t.Context(), 1, queue); err != nil || (n[0] == 1) != c.givenBack {
					t.Errorf("%d items in the queue, %v", n, err)
				}
				time.Sleep(2 * time.Hour) // what does not listen ends too
			})
		})
	}
}

// Nothing is begun of a claim that failed, whatever it brought.
func TestAClaimThatFailedBringsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		claims, failures := 0, 0
		began := time.Now()
		lease.Take(ctx, func(context.Context) ([]board.Claimed, error) {
			if claims++; claims == 3 {
				return []board.Claimed{{Item: "good"}}, nil
			}
			return []board.Claimed{{Item: "bad"}}, domain.Unavailablef("it is away")
		}, func(list []board.Claimed) {
			if len(list) != 1 || list[0].Item != "good" {
				t.Errorf("begun: %v", list)
			}
			cancel()
		}, func(error) { failures++ })
		if claims != 3 || failures != 2 || time.Since(began) != 2*lease.Rest {
			t.Errorf("%d claims, %d failures, in %v", claims, failures, time.Since(began))
		}
	})
}

func TestInGroups(t *testing.T) {
	from := make(chan int, 10)
	for i := range 10 {
		from <- i
	}
	close(from)
	var sizes []int
	lease.InGroups(from, 4, func(list []int) { sizes = append(sizes, len(list)) })
	if !slices.Equal(sizes, []int{4, 4, 2}) {
		t.Errorf("groups of %v", sizes)
	}
}
