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
}

// wired is one test's boards.
type wired struct {
	*rig
	witness *rig
	way     *Relay
}

// change is an operation that changes something.
type change struct {
	name    string
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
		{"commit", nil, func(ctx context.Context, w *wired) error { return w.Commit(ctx, *in(sp).Add("r", "n", 1)) }, added("r"), false},
		{"large commit", nil, func(ctx context.Context, w *wired) error { return w.Commit(ctx, *large) }, added("r299"), true},
		{"commit each", nil, func(ctx context.Context, w *wired) error {
			return errors.Join(w.CommitEach(ctx, []board.Batch{*in(sp).Set("a", set("a", "1")), *in(sp).Add("r", "n", 1)})...)
		}, added("r"), false},
		{"claim", func(w *wired) { w.commit(in(sp).Set("job:1", set("a", "1")).PushLeft("queue:v", "job:1")) }, func(ctx context.Context, w *wired) error {
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
		{"occupy", nil, func(ctx context.Context, w *wired) error {
			_, err := w.Occupy(ctx, sp, "held", "me/1", time.Minute)
			return err
		}, attempts("held"), false},
		{"extend", leased, func(ctx context.Context, w *wired) error {
			_, err := w.Extend(ctx, "me/1", time.Hour, []board.Held{{Space: sp, Item: "held", Token: 1}})
			return err
		}, until(true), false},
		{"void", leased, func(ctx context.Context, w *wired) error { return w.Void(ctx, "me/") }, until(false), true},
	}
}

func (w *wired) occupy(key, owner string, ttl time.Duration) {
	w.t.Helper()
	_, err := w.Occupy(w.ctx, sp, key, owner, ttl)
	w.must(err)
}

// Ambiguous proves what a driver answers when its wire breaks: whatever was
// asked for is done once or not at all, who is told that it was done was told
// the truth, nothing that is begun may come of what failed, and all goes on
// afterwards.
func Ambiguous(t *testing.T, f Wire) {
	open := func(t *testing.T) *wired {
		t.Parallel()
		b, witness, way := f.Open(t)
		w := &wired{newRig(t, b), newRig(t, witness), way}
		for what, call := range calls(w) { // what a driver does at the first call only is done
			if err := call(w.ctx); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		w.occupy("other", "other", time.Minute)
		return w
	}
	for _, c := range changes() {
		for _, how := range []struct {
			name string
			lose func(w *wired) <-chan struct{}
			most int // times that it may be done
		}{
			{"its answer is lost", func(w *wired) <-chan struct{} { return w.way.Mute() }, 1},
			{"it is lost on its way", func(w *wired) <-chan struct{} { return w.way.Deafen() }, 0},
		} {
			t.Run(c.name+": "+how.name, func(t *testing.T) {
				w := open(t)
				if c.prepare != nil {
					c.prepare(w)
				}
				w.get(sp, "r") // it is connected
				lost := how.lose(w)
				done := make(chan error, 1)
				go func() { done <- c.do(w.ctx, w) }()
				<-lost
				if how.most > 0 && !c.steps {
					testwait.Until(t, "it is done", func() bool { return c.times(w) > 0 })
				}
				w.way.Mend()
				judge(t, <-done, f.Tells && !c.steps, how.most, c.steps, c.times(w))
				w.goesOn()
			})
		}
	}
	t.Run("connections that are reset under load", func(t *testing.T) { testResets(open(t)) })
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
