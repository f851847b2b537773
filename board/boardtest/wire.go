package boardtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
)

// Wire makes boards of a driver that asks a server.
type Wire struct {
	// Open returns a fresh board by way of a relay, and another on the same data
	// by a way of its own. The suite closes both.
	Open func(t *testing.T) (b, witness board.Board, way *Relay)
	// Tells: the driver finds out what came of a change whose answer was lost.
	Tells bool
	// Spoil puts something into the store of a witness that cannot be read, and returns
	// its name. Nil: the driver has nothing that it could not read.
	Spoil func(t *testing.T, witness board.Board) (name string)
}

// wired is one test's boards.
type wired struct {
	*rig
	witness *rig
	way     *Relay
	spoilt  string // the name of what cannot be read; "": nothing
}

// change is an operation that changes something.
type change struct {
	name    string
	method  string
	prepare func(w *wired)
	do      func(ctx context.Context, w *wired) error
	// times is how often it has been done, as the witness sees it.
	times func(w *wired) int
	// steps: a driver may ask something before, so that the answer which is
	// lost is not that of the change.
	steps bool
}

// changes are all that a board has, each with what shows that it was done.
func changes() []change {
	added := func(key string) func(w *wired) int {
		return func(w *wired) int {
			n, _ := strconv.Atoi(w.witness.get(sp, key).Get("n"))
			return n
		}
	}
	attempts := func(key string) func(w *wired) int {
		return func(w *wired) int {
			n, _ := strconv.Atoi(w.witness.get(sp, key).Get(board.FieldAttempt))
			return n
		}
	}
	leased := func(w *wired) { w.occupy("held", "me/1", 10*time.Minute) }
	until := func(far bool) func(w *wired) int {
		return func(w *wired) int {
			l, _, err := w.witness.LeaseOf(w.ctx, sp, "held")
			w.must(err)
			if left := time.Until(l.Until); far && left > 30*time.Minute || !far && left <= 0 {
				return 1
			}
			return 0
		}
	}
	large := in(sp)
	for i := range 300 {
		large.Add(fmt.Sprint("r", i), "n", 1)
	}
	return []change{
		{"commit", "Commit", nil, func(ctx context.Context, w *wired) error { return w.Commit(ctx, *in(sp).Add("r", "n", 1)) }, added("r"), false},
		{"large commit", "Commit", nil, func(ctx context.Context, w *wired) error { return w.Commit(ctx, *large) }, added("r299"), true},
		{"commit each", "CommitEach", nil, func(ctx context.Context, w *wired) error {
			return errors.Join(w.CommitEach(ctx, []board.Batch{*in(sp).Set("a", set("a", "1")), *in(sp).Add("r", "n", 1)})...)
		}, added("r"), false},
		{"claim", "Claim", func(w *wired) { w.commit(in(sp).Set("job:1", set("a", "1")).PushLeft("queue:v", "job:1")) }, func(ctx context.Context, w *wired) error {
			a := ask(1, "me", "queue:v")
			a.Wait = patience
			got, err := w.Claim(ctx, a)
			if err != nil && len(got) > 0 {
				w.t.Errorf("a claim that failed gave %v", got)
			}
			if err == nil && (len(got) != 1 || got[0].Token != 1) {
				w.t.Errorf("claimed %v, want job:1 with token 1", got)
			}
			return err
		}, attempts("job:1"), false},
		{"occupy", "Occupy", nil, func(ctx context.Context, w *wired) error {
			_, err := w.Occupy(ctx, sp, "held", "me/1", time.Minute)
			return err
		}, attempts("held"), false},
		{"extend", "Extend", leased, func(ctx context.Context, w *wired) error {
			_, err := w.Extend(ctx, "me/1", time.Hour, []board.Held{{Space: sp, Item: "held", Token: 1}})
			return err
		}, until(true), false},
		{"void", "Void", leased, func(ctx context.Context, w *wired) error { return w.Void(ctx, "me/") }, until(false), true},
		{"next", "Next", nil, func(ctx context.Context, w *wired) error {
			first, err := w.Next(ctx, sp, "drawn", 3)
			if n, known := w.witness.Next(w.ctx, sp, "drawn", 0); err == nil && (known != nil || n != first+3) {
				w.t.Errorf("the numbers from %d on were reserved, and the next is %d %v", first, n, known)
			}
			return err
		}, func(w *wired) int {
			n, err := w.witness.Next(w.ctx, sp, "drawn", 0)
			w.must(err)
			return int(n-1) / 3
		}, false},
		{"discard", "Discard", nil, func(ctx context.Context, w *wired) error { return w.Discard(ctx, w.spoilt) }, func(w *wired) int {
			list, err := w.witness.Unreadable(w.ctx)
			w.must(err)
			return 1 - len(list)
		}, true},
	}
}

func (w *wired) occupy(key, owner string, ttl time.Duration) {
	w.t.Helper()
	_, err := w.Occupy(w.ctx, sp, key, owner, ttl)
	w.must(err)
}

// Ambiguous proves what a driver answers when its wire breaks: whatever was
// asked for is done once or not at all, who is told that it was done was told
// the truth, nothing that is begun may come of what failed, what is read is true or
// not told, and all goes on afterwards. Each operation of the contract has a case.
func Ambiguous(t *testing.T, f Wire) {
	open := func(t *testing.T) *wired {
		t.Parallel()
		b, witness, way := f.Open(t)
		w := &wired{rig: newRig(t, b), witness: newRig(t, witness), way: way}
		for what, call := range calls(w) { // what a driver does at the first call only is done
			if err := call(w.ctx); err != nil && !errors.Is(err, domain.ErrNotFound) {
				t.Fatalf("%s: %v", what, err)
			}
		}
		w.occupy("other", "other", time.Minute)
		if f.Spoil != nil {
			w.spoilt = f.Spoil(t, witness)
			for _, b := range []board.Board{b, witness} { // a stranger wrote it: nobody waits for that
				testwait.Until(t, "what cannot be read is named", func() bool {
					list, err := b.Unreadable(w.ctx)
					return err == nil && len(list) == 1
				})
			}
		}
		return w
	}
	cases := map[string]bool{}
	each := func(method, name string, run func(t *testing.T, w *wired, lose func() <-chan struct{}, most int)) {
		cases[method] = true
		t.Run(name+": its answer is lost", func(t *testing.T) { w := open(t); run(t, w, w.way.Mute, 1) })
		t.Run(name+": it is lost on its way", func(t *testing.T) { w := open(t); run(t, w, w.way.Deafen, 0) })
	}
	for _, c := range changes() {
		if c.method == "Discard" && f.Spoil == nil {
			cases[c.method] = true // it asks nobody
			continue
		}
		each(c.method, c.name, func(t *testing.T, w *wired, lose func() <-chan struct{}, most int) { w.change(c, lose, most, f.Tells) })
	}
	for _, q := range questions() {
		each(q.method, q.method, func(_ *testing.T, w *wired, lose func() <-chan struct{}, _ int) { w.question(q, lose) })
	}
	each("Close", "close", func(t *testing.T, w *wired, lose func() <-chan struct{}, _ int) { w.closes(lose) })
	for _, method := range []string{"Now", "Limits", "Durability"} {
		cases[method] = true
	}
	t.Run("what asks nobody is answered", func(t *testing.T) { open(t).asksNobody() })
	t.Run("connections that are reset under load", func(t *testing.T) { testResets(open(t)) })
	t.Run("who waits is told after a break", func(t *testing.T) { open(t).waits() })
	t.Run("who watches is told after a break", func(t *testing.T) { open(t).watches() })
	covers(t, cases)
}

// change has one change lose its question or its answer.
func (w *wired) change(c change, lose func() <-chan struct{}, most int, tells bool) {
	if c.prepare != nil {
		c.prepare(w)
	}
	w.get(sp, "r") // it is connected
	lost := lose()
	done := make(chan error, 1)
	go func() { done <- c.do(w.ctx, w) }()
	<-lost
	if most > 0 && !c.steps {
		testwait.Until(w.t, "it is done", func() bool { return c.times(w) > 0 })
	}
	w.way.Mend()
	judge(w.t, <-done, tells && !c.steps, most, c.steps, c.times(w))
	w.goesOn()
}

// judge holds an answer against how often it was done.
func judge(t *testing.T, err error, tells bool, most int, orLess bool, times int) {
	t.Helper()
	switch {
	case err == nil:
		most, orLess = 1, false // tried again
	case !errors.Is(err, domain.ErrUnavailable):
		t.Errorf("got %v, want nothing or unavailable", err)
	case tells:
		t.Errorf("got %v, though it could be found out", err)
	}
	if times > most || times < most && !orLess {
		t.Errorf("with the answer %v it was done %d times, want %d", err, times, most)
	}
}

// goesOn sees to it that the board does.
func (w *wired) goesOn() {
	w.t.Helper()
	testwait.Nil(w.t, func() error { return w.Commit(w.ctx, *in(sp).Set("after", set("a", "1"))) })
	if got := w.get(sp, "after"); got.Get("a") != "1" {
		w.t.Errorf("afterwards there is %v, want what was committed", got)
	}
}

// testResets counts what is committed, and claimed, while connections end.
func testResets(w *wired) {
	const callers, commits = 8, 30
	var done, open atomic.Int32
	each(callers, func(caller int) {
		for i := range commits {
			item := fmt.Sprintf("job:%d:%d", caller, i)
			if i%10 == 5 {
				w.way.Reset()
			}
			err := w.Commit(w.ctx, *in(sp).Add("r", "n", 1).PushLeft("queue:v", item))
			switch {
			case err == nil:
				done.Add(1)
			case errors.Is(err, domain.ErrUnavailable):
				open.Add(1)
			default:
				w.t.Errorf("commit: %v", err)
			}
		}
	})
	w.goesOn()
	n, _ := strconv.Atoi(w.witness.get(sp, "r").Get("n"))
	if least, unknown := int(done.Load()), int(open.Load()); n < least || n > least+unknown {
		w.t.Errorf("%d were done, want %d, and at most the %d more of which nobody was told", n, least, unknown)
	}
	claimed := map[string]int{}
	for left := n; left > 0; {
		got, err := w.witness.Claim(w.ctx, ask(100, "me", "queue:v"))
		if w.must(err); len(got) == 0 {
			w.t.Fatalf("%d items are lost", left)
		}
		for _, c := range got {
			if claimed[c.Item]++; claimed[c.Item] > 1 {
				w.t.Errorf("%s was claimed twice", c.Item)
			}
		}
		left -= len(got)
	}
}
