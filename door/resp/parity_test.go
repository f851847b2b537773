package resp_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/internal/redistest"
)

// boards are the kinds that the door stands on.
var boards = map[string]func(t *testing.T) board.Board{
	"mem": func(*testing.T) board.Board { return memboard.Open() },
	"pebble": func(t *testing.T) board.Board {
		b, err := pebbleboard.Open(t.TempDir(), pebbleboard.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	},
	"redis": func(t *testing.T) board.Board {
		b, err := redisboard.Open(t.Context(), redistest.Start(t, "appendonly yes").URL(), redisboard.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	},
	"redis-prefix": func(t *testing.T) board.Board {
		b, err := redisboard.Open(t.Context(), redistest.Start(t, "appendonly yes").URL(), redisboard.Config{Tenancy: redisboard.TenancyPrefix})
		if err != nil {
			t.Fatal(err)
		}
		return b
	},
	"etcd": func(t *testing.T) board.Board {
		b, err := etcdboard.Open(t.Context(), etcdtest.URL("b", etcdtest.Start(t, "--unsafe-no-fsync")), etcdboard.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	},
}

// TestEveryBoardAnswersAsRedis has the door and a Redis do the same random
// commands, alone, in pipelines and in transactions. SAME_SEED=N
// does others.
func TestEveryBoardAnswersAsRedis(t *testing.T) {
	for name, open := range boards {
		t.Run(name, func(t *testing.T) {
			redis := redistest.Start(t)
			r := newRigOn(t, open(t))
			steps := 4000
			if name != "mem" {
				steps = 600
			}
			seed := uint64(1) // the same in every run: a finding belongs to whoever looks for one
			if s := os.Getenv("SAME_SEED"); s != "" {
				seed, _ = strconv.ParseUint(s, 10, 64)
			}
			t.Logf("SAME_SEED=%d", seed)
			d := &drawer{rand.New(rand.NewPCG(seed, 1))}
			theirs := dialRedis(t, redis)
			ours := r.as(admin)
			for done := 0; done < steps && !t.Failed(); {
				done += d.compare(ours, theirs)
			}
		})
	}
}

// TestAnOnlyItemThatStaysLeavesItsListAsItIs: a seed of the test above.
func TestAnOnlyItemThatStaysLeavesItsListAsItIs(t *testing.T) {
	r := newRigOn(t, boards["mem"](t))
	ours, theirs := r.as(admin), dialRedis(t, redistest.Start(t))
	for _, move := range [][]string{{"LMOVE", "c", "c", "RIGHT", "LEFT"}, {"BLMOVE", "c", "c", "LEFT", "LEFT", "1"}, {"RPOPLPUSH", "c", "c"}} {
		for _, cmd := range [][]string{{"RPUSH", "c", "x"}, {"EXPIRE", "c", "1000"}, move, {"TTL", "c"}, {"LRANGE", "c", "0", "-1"}, {"DEL", "c"}} {
			if got, want := normal(cmd[0], ours.do(cmd...)), normal(cmd[0], theirs.do(cmd...)); got != want {
				t.Errorf("%q, then %q: got %s, want %s", move, cmd, got, want)
			}
		}
	}
}

func dialRedis(t *testing.T, s *redistest.Server) *conn {
	c, err := net.Dial(s.Network(), s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &conn{TB: t, c: c, r: bufio.NewReader(c)}
}

// drawer draws commands.
type drawer struct{ *rand.Rand }

func (d *drawer) one(of ...string) string { return of[d.IntN(len(of))] }
func (d *drawer) key() string             { return d.one("a", "b", "c") }
func (d *drawer) item() string            { return d.one("x", "y", "z", "", "10") }
func (d *drawer) n() string               { return strconv.Itoa(d.IntN(7) - 3) }
func (d *drawer) side() string            { return d.one("LEFT", "RIGHT") }

func (d *drawer) items() []string {
	list := make([]string, 1+d.IntN(4))
	for i := range list {
		list[i] = d.item()
	}
	return list
}

func (d *drawer) command() []string {
	k := d.key()
	with := func(name string, rest ...string) []string { return append([]string{name, k}, rest...) }
	switch d.IntN(48) {
	case 0, 1:
		return with("LPUSH", d.items()...)
	case 2, 3:
		return with("RPUSH", d.items()...)
	case 4:
		return with("LPOP")
	case 5:
		return with("RPOP", strconv.Itoa(d.IntN(4)))
	case 6:
		return with("LRANGE", d.n(), d.n())
	case 7:
		return with("LLEN")
	case 8:
		return with("LINDEX", d.n())
	case 9:
		return with("LREM", d.n(), d.item())
	case 10:
		return with("LTRIM", d.n(), d.n())
	case 11:
		return with("LMOVE", d.key(), d.side(), d.side())
	case 12:
		return with("RPOPLPUSH", d.key())
	case 13:
		return []string{d.one("BLPOP", "BRPOP"), d.key(), d.key(), "0.001"}
	case 14:
		return with("BLMOVE", d.key(), d.side(), d.side(), "0.001")
	case 15, 16, 17:
		return with("HSET", d.item()+"f", d.item(), d.item()+"f", d.item())
	case 18:
		return with("HSETNX", d.item()+"f", d.item())
	case 19:
		return with("HGET", d.item()+"f")
	case 20:
		return with("HMGET", "xf", "yf", "nope")
	case 21:
		return with("HGETALL")
	case 22:
		return with("HDEL", d.item()+"f", d.item()+"f")
	case 23:
		return with("HLEN")
	case 24:
		return with("HINCRBY", d.item()+"f", d.n())
	case 25:
		return with("HEXISTS", d.item()+"f")
	case 26, 27:
		return with("SET", d.item())
	case 28:
		return with("SET", d.item(), d.one("NX", "XX", "KEEPTTL", "GET"))
	case 29:
		return with("GET")
	case 30:
		return with(d.one("INCR", "DECR"))
	case 31:
		return with("INCRBY", d.n())
	case 32:
		return with("APPEND", d.item())
	case 33:
		return with(d.one("GETDEL", "STRLEN"))
	case 34:
		return with("GETSET", d.item())
	case 35:
		return with("SETNX", d.item())
	case 36, 37:
		return with("SADD", d.items()...)
	case 38:
		return with("SREM", d.items()...)
	case 39:
		return with("SMEMBERS")
	case 40:
		return with(d.one("SCARD", "TYPE"))
	case 41:
		return with("SISMEMBER", d.item())
	case 42:
		return []string{"EXISTS", d.key(), d.key()}
	case 43:
		return []string{"DEL", d.key()}
	case 44:
		return with("EXPIRE", "1000", d.one("NX", "XX"))
	case 45:
		return with(d.one("TTL", "PERSIST"))
	case 46:
		return []string{"MGET", d.key(), d.key()}
	}
	return []string{"MSET", d.key(), d.item(), d.key(), d.item()}
}

// compare has both do some commands in one of three ways, and returns how many.
func (d *drawer) compare(ours, theirs *conn) int {
	cmds := make([][]string, 1+d.IntN(6))
	for i := range cmds {
		cmds[i] = d.command()
	}
	way := d.one("alone", "pipeline", "multi")
	if way == "multi" {
		cmds = append(append([][]string{{"MULTI"}}, cmds...), []string{"EXEC"})
	}
	var a, b []any
	if way == "alone" {
		for _, cmd := range cmds {
			a, b = append(a, ours.do(cmd...)), append(b, theirs.do(cmd...))
		}
	} else {
		a, b = ours.pipeline(cmds), theirs.pipeline(cmds)
	}
	var got, want []string
	for i := range cmds {
		name := cmds[i][0]
		if name == "EXEC" {
			x, isX := a[i].([]any)
			y, isY := b[i].([]any)
			if !isX || !isY {
				got, want = append(got, show(a[i])), append(want, show(b[i]))
				continue
			}
			for j := range y {
				if e, is := x[j].(reply); is && strings.HasPrefix(string(e), "ERR this cannot be done in one MULTI") {
					// Said honestly; from here on the two differ.
					return d.startAgain(ours, theirs, len(cmds))
				}
				got, want = append(got, normal(cmds[j+1][0], x[j])), append(want, normal(cmds[j+1][0], y[j]))
			}
			continue
		}
		got, want = append(got, normal(name, a[i])), append(want, normal(name, b[i]))
	}
	if !slices.Equal(got, want) {
		ours.Errorf("%s: %q\ngot  %s\nwant %s", way, cmds, got, want)
	}
	return len(cmds)
}

// startAgain empties both.
func (d *drawer) startAgain(ours, theirs *conn, n int) int {
	for _, c := range []*conn{ours, theirs} {
		c.do("DEL", "a", "b", "c")
	}
	return n
}

func (c *conn) pipeline(cmds [][]string) []any {
	var all strings.Builder
	for _, cmd := range cmds {
		all.WriteString(encode(cmd...))
	}
	go c.raw(all.String())
	out := make([]any, len(cmds))
	for i := range cmds {
		out[i] = c.read()
	}
	return out
}

// normal is an answer in an order of its own, where Redis has none.
func normal(name string, v any) string {
	list, is := v.([]any)
	if !is {
		return show(v)
	}
	var parts []string
	switch name {
	case "SMEMBERS":
		for _, m := range list {
			parts = append(parts, show(m))
		}
	case "HGETALL":
		for i := 0; i+1 < len(list); i += 2 {
			parts = append(parts, show(list[i])+"="+show(list[i+1]))
		}
	default:
		return show(v)
	}
	slices.Sort(parts)
	return fmt.Sprint(parts)
}
