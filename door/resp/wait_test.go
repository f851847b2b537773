package resp_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/identity"
)

// bubble runs a test whose time is its own.
func bubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f(t, r)
		r.stop()
	})
}

func TestABlockingPopWaits(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a, b := r.as(admin), r.as(executor)
		a.send("BRPOP", "x", "y", "0")
		synctest.Wait()
		b.want("2", "LPUSH", "y", "1", "2")
		if got := show(a.read()); got != "[y 1]" {
			t.Errorf("got %s", got)
		}
		b.want("[2]", "LRANGE", "y", "0", "-1")
	})
}

func TestABlockingPopEndsExactlyAtItsTime(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		c := r.as(admin)
		begun := time.Now()
		for _, tt := range []struct {
			cmd  []string
			want string
		}{
			{[]string{"BLPOP", "x", "1.5"}, "(nil)"},
			{[]string{"BLMOVE", "x", "y", "LEFT", "LEFT", "1.5"}, "(nil)"},
		} {
			c.want(tt.want, tt.cmd...)
			if got := time.Since(begun); got != 1500*time.Millisecond {
				t.Errorf("%v: got %v, want 1.5s", tt.cmd, got)
			}
			begun = time.Now()
		}
		c.want("PONG", "PING")
	})
}

func TestThoseWhoWaitAreServedInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var list []*conn
		for range 5 {
			c := r.as(executor)
			c.send("BLPOP", "q", "0")
			synctest.Wait()
			list = append(list, c)
		}
		p := r.as(admin)
		p.want("3", "RPUSH", "q", "1", "2", "3")
		p.want("2", "RPUSH", "q", "4", "5")
		for i, c := range list {
			if got, want := show(c.read()), fmt.Sprintf("[q %d]", i+1); got != want {
				t.Errorf("client %d: got %s, want %s", i, got, want)
			}
		}
		p.want("0", "LLEN", "q")
	})
}

func TestOthersWakeThoseWhoWait(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		c := r.as(executor)
		c.send("BRPOP", "q", "0")
		synctest.Wait()
		// Past this node's door: the engine, or another node.
		b := board.Batch{Space: 7}
		if err := r.board.Commit(t.Context(), *b.PushLeft("q", "item")); err != nil {
			t.Fatal(err)
		}
		if got := show(c.read()); got != "[q item]" {
			t.Errorf("got %s", got)
		}
	})
}

func TestAMoveWakesThoseWhoWaitForItsTarget(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a, b, c := r.as(executor), r.as(executor), r.as(admin)
		a.send("BLMOVE", "one", "two", "LEFT", "LEFT", "0")
		synctest.Wait()
		b.send("BLPOP", "two", "0")
		synctest.Wait()
		c.want("1", "RPUSH", "one", "x")
		if got := show(a.read()); got != "x" {
			t.Errorf("the move: got %s", got)
		}
		if got := show(b.read()); got != "[two x]" {
			t.Errorf("the pop: got %s", got)
		}
	})
}

func TestAClientThatHasGoneTakesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a, b := r.as(executor), r.as(admin)
		a.send("BLPOP", "q", "0")
		synctest.Wait()
		a.c.Close()
		synctest.Wait()
		b.want("1", "RPUSH", "q", "x")
		b.want("[x]", "LRANGE", "q", "0", "-1")
	})
}

func TestWhatWaitsIsToldThatTheDoorCloses(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a := r.as(executor)
		a.send("BLPOP", "q", "0")
		synctest.Wait()
		go r.stop()
		if e, is := a.read().(reply); !is || e != "UNAVAILABLE the node goes down" {
			t.Errorf("got %v", e)
		}
		a.closed()
	})
}

func TestWhatIsSentMeanwhileIsAnsweredAfter(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a, b := r.as(executor), r.as(admin)
		a.send("BLPOP", "q", "0")
		a.send("ECHO", "next")
		synctest.Wait()
		b.want("1", "RPUSH", "q", "x")
		if got := []string{show(a.read()), show(a.read())}; !slices.Equal(got, []string{"[q x]", "next"}) {
			t.Errorf("got %v", got)
		}
	})
}

func TestARightThatIsTakenAwayEndsAWait(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a, b := r.as(executor), r.as(admin)
		a.send("BLPOP", "q", "0")
		synctest.Wait()
		tenant := board.Batch{Space: 7}
		tenant.Set("context:7", board.Field{Name: "executors", Value: "[]"})
		if err := r.board.Commit(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
		time.Sleep(identity.CacheFor + time.Second)
		b.want("1", "RPUSH", "q", "x")
		if e, is := a.read().(reply); !is || e[:6] != "NOPERM" {
			t.Errorf("got %v", e)
		}
		b.want("1", "LLEN", "q")
	})
}

func TestATokenThatRunsOutEndsAWait(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a := r.as(executor)
		begun := time.Now()
		a.send("BLPOP", "q", "0")
		if e, is := a.read().(reply); !is || e[:6] != "NOAUTH" {
			t.Errorf("got %v", e)
		}
		if d := time.Since(begun); d < time.Hour || d > time.Hour+3*time.Minute {
			t.Errorf("it ended after %v, its token was for an hour", d)
		}
		a.refused("NOAUTH", "PING")
		a.want("OK", "AUTH", r.token(executor))
		a.want("PONG", "PING")
	})
}

// TestPopsAreExact has many clients push and pop at once, by the door and past
// it: every item comes out once.
func TestPopsAreExact(t *testing.T) {
	r := newRig(t)
	const producers, consumers, each = 4, 6, 300
	var mu sync.Mutex
	got := map[string]int{}
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			c := r.as(admin)
			for i := range each {
				item := fmt.Sprintf("%d-%d", p, i)
				if i%3 == 0 { // past the door
					b := board.Batch{Space: 7}
					if err := r.board.Commit(context.Background(), *b.PushLeft("q", item)); err != nil {
						t.Error(err)
					}
					continue
				}
				c.do("LPUSH", "q", item)
			}
		})
	}
	done := make(chan struct{})
	for i := range consumers {
		wg.Go(func() {
			c := r.as(executor)
			for {
				var item string
				switch i % 3 {
				case 0:
					v, ok := c.do("BRPOP", "q", "0.05").([]any)
					if !ok {
						select {
						case <-done:
							return
						default:
							continue
						}
					}
					item = v[1].(string)
				case 1:
					v, ok := c.do("RPOP", "q").(string)
					if !ok {
						select {
						case <-done:
							return
						default:
							continue
						}
					}
					item = v
				case 2:
					v, ok := c.do("BLMOVE", "q", fmt.Sprint("own", i), "RIGHT", "LEFT", "0.05").(string)
					if !ok {
						select {
						case <-done:
							return
						default:
							continue
						}
					}
					item = v
				}
				mu.Lock()
				if got[item]++; len(got) == producers*each {
					close(done)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for item, n := range got {
		if n != 1 {
			t.Errorf("%s came %d times", item, n)
		}
	}
	if len(got) != producers*each {
		t.Errorf("got %d items, want %d", len(got), producers*each)
	}
}
