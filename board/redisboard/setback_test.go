package redisboard_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testcable"
	"github.com/ramet-run/ramet/internal/testwait"
)

// This file sets servers back under boards that stay open.

// given is who was given which number, as somebody outside wrote it down.
type given struct {
	mu    sync.Mutex
	to    map[string]string
	twice []string
}

func (g *given) note(number, who string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if first, again := g.to[number]; again {
		g.twice = append(g.twice, fmt.Sprintf("%s: %s, then %s", number, first, who))
	}
	g.to[number] = who
}

func (g *given) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.to)
}

// awaitMore waits until so many more numbers were given out.
func (g *given) awaitMore(t *testing.T, n int) {
	t.Helper()
	n += g.count()
	testwait.Until(t, "more numbers", func() bool { return g.count() >= n })
}

// TestNoNumberIsGivenOutTwice: a server of which each answer lies on its disk gets an older
// disk, again and again, while three boards give out numbers.
func TestNoNumberIsGivenOutTwice(t *testing.T) {
	for _, tenancy := range []redisboard.Tenancy{redisboard.TenancyDB, redisboard.TenancyPrefix} {
		t.Run(string(tenancy), func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, "appendonly yes", "appendfsync always")
			g := &given{to: map[string]string{}}
			ctx, end := context.WithCancel(t.Context())
			var drawers sync.WaitGroup
			defer drawers.Wait()
			defer end()
			var look *redisboard.Board
			for who := range 3 {
				b := open(t, s, redisboard.Config{Tenancy: tenancy})
				commit(t, b, (&board.Batch{}).Include("contexts", "7"))
				for i, c := range []struct {
					space board.Space
					key   string
				}{{7, "ramet:seq:job:12"}, {7, "ramet:seq:flow"}, {0, "ramet:seq:actor"}} {
					drawers.Go(func() {
						for life := 0; ctx.Err() == nil; life++ {
							first, err := b.Next(ctx, c.space, c.key, i+1)
							if err != nil { // it is just being restarted
								select {
								case <-time.After(time.Millisecond):
								case <-ctx.Done():
								}
								continue
							}
							for n := range int64(i + 1) {
								g.note(fmt.Sprint(c, first+n), fmt.Sprint("board ", who, ", draw ", life))
							}
						}
					})
				}
				look = b
			}
			for round := range 8 {
				if round%3 != 2 { // every third time it is the copy that it was already
					g.awaitMore(t, 200)
					s.Keep()
				}
				g.awaitMore(t, 200)
				s.Lose()
			}
			g.awaitMore(t, 200)
			end()
			drawers.Wait()
			if len(g.twice) > 0 {
				t.Errorf("%d of %d numbers were given out twice: %s", len(g.twice), len(g.to), strings.Join(g.twice[:min(5, len(g.twice))], "; "))
			}
			if e := epoch(t, look); e.Number == 0 || !strings.Contains(e.Cause, "set back") {
				t.Errorf("got epoch %+v, want one that says that the server was set back", e)
			}
		})
	}
}

// deaf is a board that hears of what others were given only by what it asks for.
var deaf = redisboard.Config{Poll: time.Hour}

// TestWhoHasNotHeardGivesNoNumberTwice: the first who takes numbers of a disk that is a moment older has
// not heard of what others were given in that moment. Who has heard says that the server was set back.
func TestWhoHasNotHeardGivesNoNumberTwice(t *testing.T) {
	s := redistest.Start(t, "appendonly yes", "appendfsync always")
	knows, ignorant := open(t, s, deaf), open(t, s, deaf)
	commit(t, knows, (&board.Batch{}).Include("contexts", "7"))
	number(t, ignorant, 7, "n")
	s.Keep()
	last := int64(0)
	for range 50 {
		last = number(t, knows, 7, "n")
	}
	s.Lose()
	if n := number(t, ignorant, 7, "n"); n <= last {
		t.Errorf("number %d is given out after %d", n, last)
	}
	number(t, knows, 7, "n")
	if e := epoch(t, knows); e.Number != 1 || !strings.Contains(e.Cause, "set back") {
		t.Errorf("got epoch %+v, want the second, as the server was set back", e)
	}
}

// TestTheSameProcessIsSetBack, as by somebody who writes an older dump over what is there: it has the
// scripts still, and begins an epoch all the same.
func TestTheSameProcessIsSetBack(t *testing.T) {
	s := redistest.Start(t)
	b, other := open(t, s, deaf), open(t, s, deaf)
	p := dial(t, s, 0)
	number(t, b, 0, "n")
	keys := []string{"ramet:board", "ramet:counters"}
	var dumps []string
	for _, key := range keys {
		dump, err := p.do("DUMP", key).ToString()
		if err != nil {
			t.Fatal(err)
		}
		dumps = append(dumps, dump)
	}
	last := int64(0)
	for range 50 {
		last = number(t, b, 0, "n")
	}
	for i, key := range keys {
		p.do("RESTORE", key, "0", dumps[i], "REPLACE")
	}
	if n := number(t, b, 0, "n"); n <= last {
		t.Errorf("number %d is given out after %d", n, last)
	}
	if n := number(t, other, 0, "n"); n <= last {
		t.Errorf("number %d is given out after %d", n, last)
	}
	if e := epoch(t, b); e.Number != 1 || !strings.Contains(e.Cause, "set back") {
		t.Errorf("got epoch %+v, want the second", e)
	}
}

// TestAReplicaThatHadTheScriptsTakesThePlace of the primary, as it was a primary before: nothing but its
// process tells whom the board talks to, and it lacks what it had not heard yet.
func TestAReplicaThatHadTheScriptsTakesThePlace(t *testing.T) {
	quick := "repl-diskless-sync-delay 0"
	first, second := redistest.Start(t, quick), redistest.Start(t, quick)
	of := map[*redistest.Server]plain{first: dial(t, first, 0), second: dial(t, second, 0)}
	follow := func(s, primary *redistest.Server) {
		_, port, _ := net.SplitHostPort(primary.Addr())
		of[s].do("REPLICAOF", "127.0.0.1", port)
		testwait.Until(t, "the replica to have what is there", func() bool {
			is, _ := of[s].do("HGET", "ramet:board", "given").ToString()
			want, _ := of[primary].do("HGET", "ramet:board", "given").ToString()
			about, _ := of[s].do("INFO", "replication").ToString()
			return is == want && strings.Contains(about, "master_link_status:up")
		})
	}
	lay := func() (*testcable.Cable, *redisboard.Board) {
		c := testcable.Lay(t, first.Addr())
		b, err := redisboard.Open(t.Context(), "redis://"+c.Address(), deaf)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		number(t, b, 0, "n")
		return c, b
	}
	knowing, knows := lay()
	other, ignorant := lay()
	follow(second, first)
	of[second].do("REPLICAOF", "NO", "ONE")
	follow(first, second)
	knowing.Lead(second.Addr())
	other.Lead(second.Addr())
	number(t, knows, 0, "n")
	number(t, ignorant, 0, "n")
	follow(first, second)
	of[first].do("REPLICAOF", "NO", "ONE")
	last := int64(0)
	for range 20 {
		last = number(t, knows, 0, "n")
	}
	other.Lead(first.Addr())
	if n := number(t, ignorant, 0, "n"); n <= last {
		t.Errorf("number %d is given out after %d", n, last)
	}
}
