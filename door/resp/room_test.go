package resp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/door/resp"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/budget"
)

// tcp is a rig whose door is at a TCP port, too.
type tcp struct {
	*rig
	ln     net.Listener
	budget *budget.Budget
}

func newTCP(t *testing.T, c budget.Config) *tcp {
	t.Helper()
	r := newRig(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := budget.New(c, nil)
	door := resp.New(resp.Config{Board: r.board, Access: r.access, Node: "nina", Tokens: identity.NewTokens(r.registry, r.access, "nina"), Budget: b})
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() {
		if err := door.Serve(ctx, ln); err != nil {
			t.Errorf("serve: got %v", err)
		}
	})
	t.Cleanup(func() { cancel(); served.Wait() })
	return &tcp{r, ln, b}
}

// from connects from an address.
func (r *tcp) from(address string) *conn {
	r.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	c, err := d.DialContext(r.Context(), "tcp", r.ln.Addr().String())
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { c.Close() })
	return &conn{TB: r.TB, c: c, r: bufio.NewReader(c)}
}

func TestSilentSocketsKeepNobodyOut(t *testing.T) {
	r := newTCP(t, budget.Config{Connections: 160})
	early := r.from("127.0.0.2")
	early.want("OK", "AUTH", r.token(admin))
	silent := make([]*conn, 200)
	for i := range silent {
		silent[i] = r.from("127.0.0.3")
	}
	for _, c := range silent[:len(silent)-r.budget.Config().Strangers] {
		c.closed()
	}
	// From another address, and from the same.
	r.from("127.0.0.4").want("OK", "AUTH", r.token(reader))
	r.from("127.0.0.3").want("OK", "AUTH", r.token(reader))
	early.want("PONG", "PING")
}

func TestConnectionsOfOneActorLeaveRoomForOthers(t *testing.T) {
	r := newTCP(t, budget.Config{Connections: 40, Strangers: 8, PerActor: 5})
	for range 5 { // each waits, and none ends
		c := r.from("127.0.0.2")
		c.want("OK", "AUTH", r.token(executor))
		c.want("OK", "SELECT", "7")
		c.send("BLPOP", "queue:none", "0")
	}
	c := r.from("127.0.0.3")
	c.refused("BUSY actor 20 has 5 connections, the limit", "AUTH", r.token(executor))
	c.closed()
	other := r.from("127.0.0.3")
	other.want("OK", "AUTH", r.token(admin))
	other.want("OK", "SELECT", "7")
	other.want("PONG", "PING")
}

func TestSubscriptionsOfOneActorAreBounded(t *testing.T) {
	r := newTCP(t, budget.Config{Subscriptions: 100, SubscriptionsPerActor: 30})
	sign := func(as string) *conn {
		c := r.from("127.0.0.2")
		c.want("OK", "AUTH", as)
		c.want("OK", "SELECT", "7")
		return c
	}
	for i := range 3 {
		c := sign(r.token(reader))
		for j := range 10 {
			c.want(fmt.Sprintf("[subscribe c%d %d]", j, j+1), "SUBSCRIBE", fmt.Sprintf("c%d", j))
		}
		if i == 2 {
			c.refused("BUSY actor 30 would hold 31 subscriptions", "SUBSCRIBE", "more")
			c.want("[unsubscribe c0 9]", "UNSUBSCRIBE", "c0")
			c.want("[subscribe more 10]", "SUBSCRIBE", "more")
		}
	}
	sign(r.token(admin)).want("[subscribe c 1]", "SUBSCRIBE", "c")
}

// TestFloodsOfOneLeaveOthersAnswered has clients that send without an end, and
// of which half never read.
func TestFloodsOfOneLeaveOthersAnswered(t *testing.T) {
	r := newTCP(t, budget.Config{})
	flood := strings.Repeat(encode("INCR", "n")+encode("PING"), 2000) + encode("MULTI") + strings.Repeat(encode("SET", "k", "v"), 900) + encode("EXEC")
	var all sync.WaitGroup
	var conns []*conn
	for i := range 8 {
		c := r.from("127.0.0.2")
		c.want("OK", "AUTH", r.token(executor))
		c.want("OK", "SELECT", "7")
		if i%2 == 0 {
			all.Go(func() { _, _ = io.Copy(io.Discard, c.r) })
		}
		all.Go(func() {
			for {
				if _, err := io.WriteString(c.c, flood); err != nil {
					return
				}
			}
		})
		conns = append(conns, c)
	}
	defer all.Wait()
	defer func() {
		for _, c := range conns {
			c.c.Close()
		}
	}()
	c := r.from("127.0.0.3")
	c.want("OK", "AUTH", r.token(admin))
	c.want("OK", "SELECT", "7")
	for i := range 50 {
		c.want(fmt.Sprint(i+1), "LPUSH", "mine", "x")
	}
}

func TestRefusedTokensOfAnAddressAreBounded(t *testing.T) {
	r := newTCP(t, budget.Config{Refused: 1})
	known := r.from("127.0.0.2")
	known.want("OK", "AUTH", r.token(admin))
	r.from("127.0.0.2").refused("WRONGPASS", "AUTH", "x.y.z")
	for _, token := range []string{"x.y.z", r.token(reader)} {
		c := r.from("127.0.0.2")
		c.refused("BUSY 127.0.0.2/32 has sent too many tokens that were not good; try again in", "AUTH", token)
		c.closed()
	}
	known.want("OK", "AUTH", r.token(admin))
	r.from("127.0.0.3").want("OK", "AUTH", r.token(reader))
}

// TestWhatNobodyReadsIsCounted has clients that ask for much, or are told much, and
// read nothing of it: what lies here for them is theirs until it is taken.
func TestWhatNobodyReadsIsCounted(t *testing.T) {
	const size = 400 << 10
	for _, tt := range []struct {
		name string
		ask  []string
		tell bool
		last string // what one too many hears
	}{
		{"answers", []string{"GET", "big"}, false, "BUSY actor 30 would hold "},
		{"messages of a channel", []string{"SUBSCRIBE", "c"}, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := budget.New(budget.Config{Bytes: 8 << 20, BytesPerActor: 2 << 20}, nil)
				r := newRig(t, func(c *resp.Config) { c.Budget = b })
				defer r.stop()
				other := r.as(admin)
				other.want("OK", "SET", "big", strings.Repeat("x", size))
				var deaf []*conn
				for range 2<<20/size + 1 {
					c := r.as(reader)
					if c.send(tt.ask...); tt.tell {
						c.read()
					}
					deaf = append(deaf, c)
				}
				if tt.tell {
					other.want(strconv.Itoa(len(deaf)), "PUBLISH", "c", strings.Repeat("x", size))
				}
				synctest.Wait()
				if got, least := b.Used()["bytes"], int64(2<<20/size*size); got < least || got > 2<<20 {
					t.Errorf("%d bytes are counted, want %d to %d", got, least, 2<<20)
				}
				other.want("OK", "SET", "another", strings.Repeat("x", size)) // others have theirs
				refused := 0
				for _, c := range deaf {
					_ = c.c.SetReadDeadline(time.Now().Add(time.Second))
					line, err := c.r.ReadString('\n')
					if err != nil || strings.HasPrefix(line, "-BUSY") {
						refused++
						if !strings.Contains(line, tt.last) {
							t.Errorf("refused with %q, want %q", line, tt.last)
						}
					}
					c.c.Close()
				}
				if refused != 1 {
					t.Errorf("%d were refused, want 1", refused)
				}
				synctest.Wait()
				if got := b.Used()["bytes"]; got != 0 {
					t.Errorf("%d bytes are counted when all have gone, want 0", got)
				}
			})
		})
	}
}
