package resp_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/resp"
	"github.com/ramet-run/ramet/internal/budget"
)

// hooked is a board whose commits go through a hook.
type hooked struct {
	board.Board
	hook atomic.Pointer[func(commit func() error) error]
	ctx  context.Context // of the last commit
}

func (h *hooked) Commit(ctx context.Context, b board.Batch) error {
	if f := h.hook.Load(); f != nil {
		h.ctx = ctx
		return (*f)(func() error { return h.Board.Commit(ctx, b) })
	}
	return h.Board.Commit(ctx, b)
}

func (h *hooked) set(f func(commit func() error) error) {
	if f == nil {
		h.hook.Store(nil)
		return
	}
	h.hook.Store(&f)
}

func inFault(t *testing.T, f func(t *testing.T, r *rig, h *hooked)) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{Board: memboard.Open()}
		r := newRigOn(t, h)
		f(t, r, h)
		r.stop()
	})
}

func TestAnItemComesBackWhoseTakerWent(t *testing.T) {
	inFault(t, func(t *testing.T, r *rig, h *hooked) {
		a, b := r.as(executor), r.as(admin)
		a.send("BRPOP", "q", "0")
		synctest.Wait()
		gate := make(chan struct{})
		h.set(func(commit func() error) error { <-gate; return commit() })
		b.send("LPUSH", "q", "x")
		synctest.Wait() // the push, with its hand-over, is being committed
		a.c.Close()
		synctest.Wait() // the client's going has been noticed
		h.set(nil)
		close(gate)
		if got := show(b.read()); got != "1" {
			t.Errorf("the push: got %s", got)
		}
		synctest.Wait()
		b.want("[x]", "LRANGE", "q", "0", "-1")
	})
}

func TestAConflictIsTriedAgain(t *testing.T) {
	inFault(t, func(t *testing.T, r *rig, h *hooked) {
		c := r.as(admin)
		c.want("3", "RPUSH", "q", "a", "b", "c")
		fails := 0
		h.set(func(commit func() error) error {
			if fails++; fails%6 != 0 {
				return &board.GuardError{}
			}
			return commit()
		})
		c.script(`
			RPOP q -> c
			INCR n -> 1
			LMOVE q r LEFT LEFT -> a
		`)
		for i, v := range c.pipeline([][]string{{"INCR", "n"}, {"RPOP", "q"}, {"RPOP", "q"}, {"INCR", "n"}}) {
			if got, want := show(v), []string{"2", "b", "(nil)", "3"}[i]; got != want {
				t.Errorf("answer %d: got %s, want %s", i, got, want)
			}
		}
		h.set(func(func() error) error { return &board.GuardError{} })
		c.refused("TRYAGAIN the keys change too quickly for this command; nothing was written", "INCR", "n")
		h.set(nil)
		c.want("3", "GET", "n")
	})
}

// TestWhatOthersPushMeanwhileIsNotLost has an item of another node come between
// the look at an empty list and the commit that pushes and pops there.
func TestWhatOthersPushMeanwhileIsNotLost(t *testing.T) {
	inFault(t, func(t *testing.T, r *rig, h *hooked) {
		c := r.as(admin)
		h.set(func(commit func() error) error {
			h.set(nil)
			b := board.Batch{Space: 7}
			if err := h.Board.Commit(h.ctx, *b.PushLeft("q", "theirs")); err != nil {
				t.Error(err)
			}
			return commit()
		})
		got := c.pipeline([][]string{{"RPUSH", "q", "ours"}, {"LPOP", "q"}})
		if a, b := show(got[0]), show(got[1]); a != "2" || b != "theirs" {
			t.Errorf("got %s and %s, want 2 and theirs", a, b)
		}
		c.want("[ours]", "LRANGE", "q", "0", "-1")
	})
}

func TestABoardThatDoesNotAnswer(t *testing.T) {
	inFault(t, func(t *testing.T, r *rig, h *hooked) {
		c := r.as(admin)
		h.set(func(func() error) error { return domain.Unavailablef("the store is away") })
		for _, v := range c.pipeline([][]string{{"SET", "a", "1"}, {"SET", "b", "1"}, {"GET", "a"}}) {
			if got := show(v); !strings.HasPrefix(got, "(error) UNAVAILABLE the store is away") {
				t.Errorf("got %s", got)
			}
		}
		c.script(`
			MULTI -> OK
			SET a 1 -> QUEUED
			SET b 1 -> QUEUED
			EXEC -> ! UNAVAILABLE the store is away
		`)
		// Nobody knows whether the item was pushed and handed over: both are told.
		w := r.as(executor)
		w.send("BLPOP", "q", "5")
		synctest.Wait()
		c.refused("UNAVAILABLE", "LPUSH", "q", "x")
		if got := show(w.read()); !strings.HasPrefix(got, "(error) UNAVAILABLE") {
			t.Errorf("the one who waits: got %s", got)
		}
		h.set(func(func() error) error { return errors.New("a text that is not for clients") })
		c.refused("ERR internal error", "SET", "a", "1")
		h.set(nil)
		c.want("OK", "SET", "a", "1")
	})
}

func TestAPushThatIsRefusedLeavesThoseWhoWait(t *testing.T) {
	inFault(t, func(t *testing.T, r *rig, h *hooked) {
		w, c := r.as(executor), r.as(admin)
		w.send("BLPOP", "q", "0")
		synctest.Wait()
		h.set(func(func() error) error { return domain.Invalidf("not like this") })
		c.refused("ERR not like this", "LPUSH", "q", "x")
		c.script(`
			MULTI -> OK
			LPUSH q x -> QUEUED
			EXEC -> ! ERR not like this
		`)
		h.set(nil)
		c.want("1", "LPUSH", "q", "y")
		if got := show(w.read()); got != "[q y]" {
			t.Errorf("got %s", got)
		}
	})
}

// TestOneThatIsRefusedDoesNotHarmOthers has commands of one wave of which the
// board refuses one.
func TestOneThatIsRefusedDoesNotHarmOthers(t *testing.T) {
	r := newRig(t)
	c := r.as(admin)
	big := strings.Repeat("x", 1<<20)
	for i, v := range c.pipeline([][]string{{"SET", "a", "1"}, {"HSET", "h", "1", big}, {"HSET", "h", "2", big}, {"HSET", "h", "3", big},
		{"HSET", "h", "4", big, "5", "x"}, {"SET", "b", "2"}, {"HSET", "h", "", "x"}, {"INCR", "a"}}) {
		want := []string{"OK", "1", "1", "1", "(error) ERR record \"h\" would have", "OK", "(error) ERR field of 0 bytes", "2"}[i]
		if got := show(v); !strings.HasPrefix(got, want) {
			t.Errorf("answer %d: got %s, want %s", i, clip(got), want)
		}
	}
	c.want("3", "HLEN", "h")
}

// TestAMultiOfTheLargestSizeServesThoseWhoWait has a transaction that fills a
// batch, with a push that somebody waits for.
func TestAMultiOfTheLargestSizeServesThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := r.as(admin)
		var list []*conn
		for i := range 8 {
			w := r.as(executor)
			w.send("BLMOVE", "q", "own"+string(rune('0'+i)), "LEFT", "LEFT", "0")
			synctest.Wait()
			list = append(list, w)
		}
		c.want("OK", "MULTI")
		for i := range 340 {
			c.want("QUEUED", "INCR", "n"+strings.Repeat("x", i%200)+string(rune('a'+i/200))) // a guard or two, and a change
		}
		c.want("QUEUED", "RPUSH", "q", "1", "2", "3", "4", "5", "6", "7", "8")
		c.send("EXEC")
		if got, is := c.read().([]any); !is || len(got) != 341 {
			t.Fatalf("EXEC: got %s", clip(show(got)))
		}
		for i, w := range list {
			if got := show(w.read()); got != string(rune('1'+i)) {
				t.Errorf("client %d: got %s", i, got)
			}
		}
		r.stop()
	})
}

func TestMemoryForMultiIsBounded(t *testing.T) {
	r := newRig(t, func(c *resp.Config) {
		c.Budget = budget.New(budget.Config{Bytes: 3 << 20, BytesPerActor: 3 << 20}, nil)
	})
	big := strings.Repeat("x", 500<<10)
	a, b := r.as(admin), r.as(admin)
	fill := func(c *conn) (refused bool) {
		c.want("OK", "MULTI")
		for range 4 {
			go c.raw(encode("SET", "k", big))
			if e, is := c.read().(reply); is {
				return strings.HasPrefix(string(e), "BUSY actor 10 would hold")
			}
		}
		return false
	}
	if fill(a) {
		t.Error("the first was refused already")
	}
	if !fill(b) {
		t.Error("the second was not refused")
	}
	b.refused("EXECABORT", "EXEC")
	a.want("OK", "DISCARD")
	if fill(b) {
		t.Error("what was given back was refused")
	}
}

func TestTheDoorClosesInTime(t *testing.T) {
	inFault(t, func(t *testing.T, r *rig, h *hooked) {
		idle, busy := r.as(admin), r.as(admin)
		h.set(func(func() error) error { <-h.ctx.Done(); return h.ctx.Err() })
		busy.send("SET", "a", "1")
		synctest.Wait()
		begun := time.Now()
		r.stop()
		idle.closed()
		if d := time.Since(begun); d != 5*time.Second {
			t.Errorf("it took %v, want 5s", d)
		}
	})
}
