package resp_test

import (
	"context"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
)

// slowBoard lets nobody have what was asked for in space 7 before it may go on.
type slowBoard struct {
	board.Board
	inside, most, all chan int // of capacity 1: how many ask, the most items asked for at once, and all of them
	gate              chan struct{}
}

func newSlowBoard() *slowBoard {
	b := &slowBoard{Board: memboard.Open(), inside: make(chan int, 1), most: make(chan int, 1), all: make(chan int, 1), gate: make(chan struct{})}
	b.inside <- 0
	b.most <- 0
	b.all <- 0
	return b
}

func (b *slowBoard) wait(space board.Space, n int) {
	b.most <- max(n, <-b.most)
	b.all <- n + <-b.all
	if space != 7 {
		return
	}
	b.inside <- <-b.inside + 1
	<-b.gate
	b.inside <- <-b.inside - 1
}

func (b *slowBoard) GetFields(ctx context.Context, space board.Space, fields []string, keys ...string) ([]board.Record, error) {
	if len(fields) == 1 && fields[0] == "ramet:string" {
		b.wait(space, 0)
	}
	return b.Board.GetFields(ctx, space, fields, keys...)
}

func (b *slowBoard) List(ctx context.Context, space board.Space, list string, from, n int) ([]string, error) {
	b.wait(space, n)
	return b.Board.List(ctx, space, list, from, n)
}

// asking is how many read now.
func (b *slowBoard) asking() int {
	synctest.Wait()
	n := <-b.inside
	b.inside <- n
	return n
}

// TestReadsOfOneContextGoAFewAtOnce has more clients of a context read than do so
// at once: what each reads is in memory until it is answered.
func TestReadsOfOneContextGoAFewAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name string
		cmd  []string
		want int
	}{
		{"one value", []string{"GET", "k"}, 16},
		{"many values", []string{"MGET", "k"}, 2},
		{"a list", []string{"LRANGE", "l", "0", "-1"}, 2},
		{"a list that is watched", []string{"WATCH", "l"}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newSlowBoard()
				r := newRigOn(t, b)
				defer r.stop()
				if _, _, err := r.registry.CreateTenant(t.Context(), domain.Tenant{ID: 8, Admins: []domain.ActorID{admin}}); err != nil {
					t.Fatal(err)
				}
				fill := board.Batch{Space: 7}
				fill.Set("k", board.Field{Name: "ramet:string", Value: "v"}).PushRight("l", "a")
				if err := b.Board.Commit(t.Context(), fill); err != nil {
					t.Fatal(err)
				}
				var all []*conn
				for range 20 {
					c := r.as(admin)
					c.send(tt.cmd...)
					all = append(all, c)
				}
				if got := b.asking(); got != tt.want {
					t.Errorf("%d read at once, want %d", got, tt.want)
				}
				other := r.connect()
				other.want("OK", "AUTH", r.token(admin))
				other.want("OK", "SELECT", "8")
				other.want("(nil)", "GET", "k")
				close(b.gate)
				for _, c := range all {
					c.read()
				}
			})
		})
	}
}

// TestListsAreReadInPages has many items asked for of which nobody knows the size.
func TestListsAreReadInPages(t *testing.T) {
	b := newSlowBoard()
	close(b.gate)
	r := newRigOn(t, b)
	fill := board.Batch{Space: 7}
	for range 1000 {
		fill.PushRight("l", "x")
	}
	for range 3 {
		if err := b.Board.Commit(t.Context(), fill); err != nil {
			t.Fatal(err)
		}
	}
	c := r.as(reader)
	c.send("LRANGE", "l", "0", "-1")
	if got := strings.Count(show(c.read()), "x"); got != 3000 {
		t.Errorf("got %d items, want 3000", got)
	}
	if most := <-b.most; most > 256 {
		t.Errorf("%d items were asked for at once, want 256 at most", most)
	}
}

// TestOneCommandReadsSoMuch asks for more values than an answer may have.
func TestOneCommandReadsSoMuch(t *testing.T) {
	r := newRig(t)
	c := r.as(admin)
	keys := []string{"MGET"}
	for i := range 40 {
		key := "k" + strconv.Itoa(i)
		c.want("OK", "SET", key, strings.Repeat("x", board.MaxField-64))
		keys = append(keys, key)
	}
	c.refused("ERR the answer is too large for one", keys...)
	c.want("OK", "MULTI")
	for _, key := range keys[1:] {
		c.want("QUEUED", "GET", key)
	}
	c.send("EXEC")
	if got := show(c.read()); !strings.Contains(got, "too large") {
		t.Errorf("EXEC: got %.80q, want that it is too large", got)
	}
	c.want("PONG", "PING")
}

// TestOnePopReadsSoMuch pops more than an answer may have, and many small items.
func TestOnePopReadsSoMuch(t *testing.T) {
	b := newSlowBoard()
	close(b.gate)
	r := newRigOn(t, b)
	c := r.as(admin)
	for i := range 40 {
		c.want(strconv.Itoa(i+1), "RPUSH", "large", strings.Repeat("x", board.MaxField-64))
	}
	c.want("OK", "MULTI")
	for range 40 {
		c.want("QUEUED", "LPOP", "large")
	}
	c.refused("ERR the answer is too large for one", "EXEC")
	c.want("40", "LLEN", "large") // nothing was done
	c.send("LPOP", "large", "900")
	if got := len(show(c.read())) / board.MaxField; got != 16 {
		t.Errorf("got about %d MiB of items, want 16", got)
	}
	c.want("23", "LLEN", "large")
	small := board.Batch{Space: 7}
	for range 900 {
		small.PushRight("small", "x")
	}
	if err := b.Board.Commit(t.Context(), small); err != nil {
		t.Fatal(err)
	}
	for _, pop := range []string{"LPOP", "RPOP"} {
		before := <-b.all
		b.all <- before
		c.send(pop, "small", "450")
		if got := strings.Count(show(c.read()), "x"); got != 450 {
			t.Errorf("%s: got %d items, want 450", pop, got)
		}
		if got := <-b.all - before; got > 2000 {
			t.Errorf("%s: %d items were read for 450, want about twice as many", pop, got)
		} else {
			b.all <- before + got
		}
	}
}

// stepBoard makes each commit of space 7 wait for its turn, once there is step.
type stepBoard struct {
	board.Board
	step chan struct{}
}

func (b *stepBoard) Commit(ctx context.Context, batch board.Batch) error {
	if batch.Space == 7 && b.step != nil {
		<-b.step
	}
	return b.Board.Commit(ctx, batch)
}

// TestWhoIsDoneIsAnswered has eight clients wait for a large answer each while a
// commit is under way. They are not all done in the next one, and those that are
// have their answers before the others' are made.
func TestWhoIsDoneIsAnswered(t *testing.T) {
	for _, tt := range []struct {
		name string
		cmds func(i string) string
	}{
		{"what is read to be changed", func(i string) string { return encode("GETSET", "k"+i, "new") }},
		{"what is only read, after a change", func(i string) string { return encode("SET", "n", i) + encode("LRANGE", "l"+i, "0", "-1") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &stepBoard{Board: memboard.Open()}
				r := newRigOn(t, b)
				defer r.stop()
				b.step = make(chan struct{})
				defer close(b.step)
				for i := range 8 {
					fill, large := board.Batch{Space: 7}, strings.Repeat("x", board.MaxField-64)
					fill.Set("k"+strconv.Itoa(i), board.Field{Name: "ramet:string", Value: large}).PushRight("l"+strconv.Itoa(i), large)
					if err := b.Board.Commit(t.Context(), fill); err != nil {
						t.Fatal(err)
					}
				}
				first := r.as(admin)
				first.send("SET", "first", "1")
				synctest.Wait()
				var all []*conn
				for i := range 8 {
					c := r.as(admin)
					if _, err := io.WriteString(c.c, tt.cmds(strconv.Itoa(i))); err != nil {
						t.Fatal(err)
					}
					all = append(all, c)
				}
				synctest.Wait()
				b.step <- struct{}{} // the first's
				b.step <- struct{}{} // that of some of the eight
				synctest.Wait()
				answered := 0
				for _, c := range all {
					_ = c.c.SetReadDeadline(time.Now().Add(time.Second))
					if _, err := c.r.ReadByte(); err == nil {
						answered++
					}
					c.c.Close()
				}
				if answered < 3 || answered > 5 {
					t.Errorf("%d of 8 are answered, want 3 to 5", answered)
				}
			})
		})
	}
}
