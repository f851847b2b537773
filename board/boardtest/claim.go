package boardtest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

var claimTests = []test{
	{"64 claimers neither double nor lose an item", testClaimStorm},
	{"a waiting claim is woken by a push", testClaimWoken},
	{"a waiting claim is woken by every way into a queue", testClaimWokenBy},
	{"many waiting claims share what comes", testClaimManyWait},
	{"a claim without an answer ends in time", testClaimWaitEnds},
	{"a claim is stamped with the instant it is served", testStamp},
	{"an ended context ends a waiting claim", testClaimCancelled},
	{"a cancelled claim loses nothing", testClaimCancelRace},
	{"a claim from some spaces leaves the others alone", testClaimSpaces},
	{"claims from some spaces are woken by those", testClaimSpacesWoken},
	{"a claim passes over the spaces that it excepts", testClaimExcept},
}

func testStamp(t *testing.T, f Factory) {
	r := open(t, f)
	a := ask(1, "me", "queue:v")
	a.Mark, a.Stamp = []board.Field{set("status", "started")}, []string{"started_ms", "updated_at"}
	asked := time.Now()
	waiting := r.waiting(a)
	pause()
	r.commit(in(sp).Set("job:1", set("a", "1"), set("started_ms", "old")).PushLeft("queue:v", "job:1"))
	got := <-waiting
	r.must(got.err)
	for _, rec := range []board.Record{got.value[0].Record, r.get(sp, "job:1")} {
		ms, err := strconv.ParseInt(rec.Get("started_ms"), 10, 64)
		r.must(err)
		// A board may have a clock of its own; here it is on this machine.
		if at := time.UnixMilli(ms); at.Before(asked.Add(-time.Second)) || at.After(time.Now().Add(time.Second)) {
			t.Errorf("started_ms: got %v, want about %v", at, asked)
		}
		if got, want := rec.Get("updated_at"), strconv.FormatInt(ms/1000, 10); got != want {
			t.Errorf("updated_at: got %s, want %s", got, want)
		}
	}
}

func testClaimSpaces(t *testing.T, f Factory) {
	r := open(t, f)
	for s := range board.Space(12) {
		r.commit(in(s).PushLeft("queue:v", name("job:a", int(s)), name("job:b", int(s))))
	}
	a := ask(3, "me", "queue:v")
	a.Spaces = []board.Space{7, 3}
	r.wantItems(r.claim(a), "job:a3", "job:a7", "job:b3") // in turns
	a.Spaces = []board.Space{200}                         // nothing, and never anything
	if got := r.claim(a); len(got) > 0 {
		t.Errorf("space 200: got %v", items(got))
	}
	a.Spaces = []board.Space{3, 7}
	r.wantItems(r.claim(a), "job:b7")
	// The others have kept their turns: each gives one of ten.
	a.Spaces, a.Max = nil, 1
	turns := map[board.Space]int{}
	for range 10 {
		turns[r.claim(a)[0].Space]++
	}
	if len(turns) != 10 || turns[3]+turns[7] > 0 {
		t.Errorf("got turns %v, want one of each space but 3 and 7", turns)
	}
	a.Spaces = make([]board.Space, board.MaxMark+1)
	if _, err := r.Claim(r.ctx, a); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("%d spaces: got %v, want invalid", len(a.Spaces), err)
	}
}

func testClaimExcept(t *testing.T, f Factory) {
	r := open(t, f)
	for s := range board.Space(4) {
		r.commit(in(s).PushLeft("queue:v", name("job:a", int(s))))
	}
	a := ask(4, "me", "queue:v")
	a.Spaces, a.Except = []board.Space{0, 2}, []board.Space{2, 3}
	r.wantItems(r.claim(a), "job:a0")
	a.Spaces = nil
	r.wantItems(r.claim(a), "job:a1")
	waits := r.waiting(a)
	pause()
	r.commit(in(3).PushLeft("queue:v", "job:b3"))
	r.commit(in(1).PushLeft("queue:v", "job:b1"))
	r.wantItems(soon(t, waits), "job:b1")
	a.Except = nil
	r.wantItems(r.claim(a), "job:a2", "job:a3", "job:b3")
	a.Except = make([]board.Space, board.MaxExcept+1)
	if _, err := r.Claim(r.ctx, a); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("%d spaces: got %v, want invalid", len(a.Except), err)
	}
}

func testClaimSpacesWoken(t *testing.T, f Factory) {
	r := open(t, f)
	from := func(s board.Space) <-chan answer[[]board.Claimed] {
		a := ask(1, "me", "queue:v", "queue:w")
		a.Spaces = []board.Space{s}
		return r.waiting(a)
	}
	one, two, three := from(1), from(2), from(3)
	pause()
	r.commit(in(2).PushLeft("queue:v", "job:2"))
	r.wantItems(soon(t, two), "job:2")
	anyone := r.waiting(ask(1, "me", "queue:v"))
	pause()
	r.commit(in(3).PushLeft("queue:w", "job:3"))
	r.wantItems(soon(t, three), "job:3")
	r.commit(in(4).PushLeft("queue:v", "job:4"))
	r.wantItems(soon(t, anyone), "job:4")
	r.commit(in(1).PushLeft("queue:v", "job:1"))
	r.wantItems(soon(t, one), "job:1")
}

func testClaimStorm(t *testing.T, f Factory) {
	r := open(t, f)
	const spaces, per, claimers = 8, 500, 64
	each(spaces, func(s int) {
		var batches []board.Batch
		for i := range per {
			item := name("job:", i)
			batches = append(batches, *in(board.Space(s)).Set(item, set("a", "1")).PushLeft("queue:v", item))
			if len(batches) == 50 {
				for _, err := range r.CommitEach(r.ctx, batches) {
					if err != nil {
						t.Errorf("push: %v", err)
					}
				}
				batches = nil
			}
		}
	})
	type thing struct {
		space board.Space
		item  string
	}
	var mu sync.Mutex
	got := map[thing]int{}
	each(claimers, func(i int) {
		a := ask(1+i%7, name("me", i), "queue:v")
		for {
			cs, err := r.Claim(r.ctx, a)
			if err != nil {
				t.Errorf("claim: %v", err)
				return
			}
			if len(cs) == 0 {
				return
			}
			mu.Lock()
			for _, c := range cs {
				got[thing{c.Space, c.Item}]++
				if c.Token != 1 || c.Record.Get(board.FieldOwner) != a.Owner {
					t.Errorf("%s: token %d, owner %s, want 1 and %s", c.Item, c.Token, c.Record.Get(board.FieldOwner), a.Owner)
				}
			}
			mu.Unlock()
			var done []board.Batch
			for _, c := range cs {
				done = append(done, *held(c, a.Owner).Delete(c.Item).Add("done", "n", 1))
			}
			for _, err := range r.CommitEach(r.ctx, done) {
				if err != nil {
					t.Errorf("finish: %v", err)
				}
			}
		}
	})
	for th, n := range got {
		if n != 1 {
			t.Errorf("%v was claimed %d times", th, n)
		}
	}
	if len(got) != spaces*per {
		t.Fatalf("%d items were claimed, want %d", len(got), spaces*per)
	}
	for s := range board.Space(spaces) {
		r.wantRecord(s, "done", name("n=", per))
		r.wantKeys(s, "", "done")
	}
}

func testClaimWoken(t *testing.T, f Factory) {
	r := open(t, f)
	push := func(i int) {
		r.commit(in(board.Space(i%3)).PushLeft([]string{"queue:v", "queue:w"}[i%2], name("job:", i)))
	}
	const rounds = 20
	began := time.Now()
	for i := range rounds {
		push(i)
		r.wantItems(r.claim(ask(1, "me", "queue:v", "queue:w")), name("job:", i))
	}
	unwoken := time.Since(began) // as fast as the machine is today
	began = time.Now()
	for i := rounds; i < 2*rounds; i++ {
		claimed := r.waiting(ask(1, "me", "queue:v", "queue:w"))
		push(i)
		r.wantItems(soon(t, claimed), name("job:", i))
	}
	// A driver that polls now and then instead of being woken needs longer.
	if d := time.Since(began); d > 10*time.Second+5*unwoken {
		t.Fatalf("%d rounds of a claim that waits for a push took %v, and %v where the push came first", rounds, d, unwoken)
	}
}

func testClaimWokenBy(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("waiter", set("n", "2")))
	for what, b := range map[string]*board.Batch{
		"push right": in(sp).PushRight("queue:v", "job:1"),
		"append":     in(sp).Append("queue:v", 5, "job:2"),
		"countdown":  in(sp).Add("waiter", "n", -1).Countdown("waiter", "n", "queue:v", "job:3"),
		"priority":   in(sp).PushLeft("queue:v:p9", "job:4"),
	} {
		a := ask(1, "me", "queue:v")
		a.Queues[0].Lists = []string{"queue:v:p9", "queue:v"}
		woken := r.waiting(a)
		r.commit(b)
		if got := soon(t, woken); len(got) != 1 {
			t.Errorf("%s: got %v", what, items(got))
		}
	}
}

func testClaimManyWait(t *testing.T, f Factory) {
	r := open(t, f)
	const n, at = 32, 4
	got := make(chan answer[[]board.Claimed], n)
	for i := range n {
		go func() {
			a := ask(1, name("me", i), "queue:v")
			a.Wait = patience
			cs, err := r.Claim(r.ctx, a)
			got <- answer[[]board.Claimed]{cs, err}
		}()
	}
	seen := map[string]bool{}
	for i := 0; i < n; i += at {
		pause()
		r.commit(in(board.Space(i%3)).PushLeft("queue:v", name("job:", i), name("job:", i+1)).PushRight("queue:v", name("job:", i+2), name("job:", i+3)))
		// Only when all of these are out come the next ones, so the claims
		// that are left are waiting.
		for range at {
			cs := soon(t, got)
			if len(cs) != 1 || seen[cs[0].Item] {
				t.Fatalf("got %v, want one item that was not claimed before", items(cs))
			}
			seen[cs[0].Item] = true
		}
	}
}

func testClaimWaitEnds(t *testing.T, f Factory) {
	r := open(t, f)
	a := ask(1, "me", "queue:v")
	a.Wait = 50 * time.Millisecond
	began := time.Now()
	r.wantNone(a)
	if d := time.Since(began); d < 50*time.Millisecond || d > patience/2 {
		t.Fatalf("waited %v, want 50ms", d)
	}
}

func testClaimCancelled(t *testing.T, f Factory) {
	r := open(t, f)
	calls := map[string]func(ctx context.Context) error{
		"claim": func(ctx context.Context) error {
			a := ask(1, "me", "queue:v")
			a.Wait = 2 * patience
			_, err := r.Claim(ctx, a)
			return err
		},
		"due":     func(ctx context.Context) error { _, err := r.Due(ctx, 1, 2*patience); return err },
		"expired": func(ctx context.Context) error { _, err := r.Expired(ctx, 1, 2*patience); return err },
	}
	for what, call := range calls {
		ctx, cancel := context.WithTimeout(r.ctx, 20*time.Millisecond)
		within(t, patience, what, func() {
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v, want the context's error", what, err)
			}
		})
		cancel()
	}
}

// testClaimCancelRace pushes while claims are being cancelled: what no claim
// returned must still be there to be claimed, or at least be leased.
func testClaimCancelRace(t *testing.T, f Factory) {
	r := open(t, f)
	const n = 40
	var got atomic.Int32
	each(n, func(i int) {
		ctx, cancel := context.WithCancel(r.ctx)
		defer cancel()
		back := make(chan struct{})
		go func() {
			defer close(back)
			a := ask(1, "me", "queue:v")
			a.Wait = patience
			cs, err := r.Claim(ctx, a)
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("claim: %v", err)
			}
			got.Add(int32(len(cs)))
		}()
		if err := r.Commit(r.ctx, *in(sp).PushLeft("queue:v", name("job:", i)).Set(name("job:", i), set("a", "1"))); err != nil {
			t.Errorf("push: %v", err)
		}
		cancel()
		<-back
	})
	left, err := r.Len(r.ctx, sp, "queue:v")
	r.must(err)
	leased := 0
	for i := range n {
		if _, ok, _ := r.LeaseOf(r.ctx, sp, name("job:", i)); ok {
			leased++
		}
	}
	if leased+left[0] != n {
		t.Fatalf("%d items are leased and %d queued, want %d together", leased, left[0], n)
	}
	if int(got.Load()) > leased {
		t.Fatalf("%d items were returned, but only %d are leased", got.Load(), leased)
	}
}
