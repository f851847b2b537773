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
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/resp"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/testpipe"
)

const (
	admin    = domain.ActorID(10)
	executor = domain.ActorID(20)
	reader   = domain.ActorID(30)
	stranger = domain.ActorID(40)
)

// rig is the door on a memory board with one context, 7.
type rig struct {
	testing.TB
	board    board.Board
	registry *identity.Registry
	access   *identity.Access
	keys     map[domain.ActorID]identity.Key
	door     *resp.Door
	pipes    *testpipe.Listener
	stop     func()
}

func newRig(t testing.TB, change ...func(*resp.Config)) *rig {
	t.Helper()
	return newRigOn(t, memboard.Open(), change...)
}

func newRigOn(t testing.TB, b board.Board, change ...func(*resp.Config)) *rig {
	t.Helper()
	r := &rig{TB: t, board: b, registry: identity.NewRegistry(b), keys: map[domain.ActorID]identity.Key{},
		pipes: testpipe.Listen()}
	op, err := r.registry.EnsureOperator(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r.keys[domain.Operator] = op.Key
	for _, id := range []domain.ActorID{admin, executor, reader, stranger} {
		r.newActor(id)
	}
	_, _, err = r.registry.CreateTenant(t.Context(), domain.Tenant{ID: 7, Admins: []domain.ActorID{admin}, Executors: []domain.ActorID{executor},
		Readers: []domain.ActorID{reader}})
	if err != nil {
		t.Fatal(err)
	}
	r.access = identity.NewAccess(r.registry, nil)
	cfg := resp.Config{Board: b, Access: r.access, Node: "nina", Tokens: identity.NewTokens(r.registry, r.access, "nina")}
	for _, c := range change {
		c(&cfg)
	}
	r.door = resp.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.door.Serve(ctx, r.pipes) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: got %v", err)
		}
		if err := b.Close(); err != nil {
			t.Errorf("close the board: %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

func (r *rig) newActor(id domain.ActorID) {
	r.Helper()
	key, err := identity.NewKey()
	if err != nil {
		r.Fatal(err)
	}
	key.Actor = id
	if _, _, err := r.registry.CreateActor(r.Context(), domain.Actor{ID: id, Pubkey: key.Pubkey()}); err != nil {
		r.Fatal(err)
	}
	r.keys[id] = key
}

func (r *rig) token(id domain.ActorID) string {
	r.Helper()
	t, err := identity.Mint(r.keys[id], "nina", time.Now(), time.Hour)
	if err != nil {
		r.Fatal(err)
	}
	return t
}

// connect opens a connection that has said nothing yet.
func (r *rig) connect() *conn {
	r.Helper()
	ours, err := r.pipes.Dial()
	if err != nil {
		r.Fatal("the door is closed")
	}
	c := &conn{TB: r.TB, c: ours, r: bufio.NewReader(ours)}
	r.Cleanup(func() { ours.Close() })
	return c
}

// as opens a connection of an actor to context 7.
func (r *rig) as(id domain.ActorID) *conn {
	r.Helper()
	c := r.connect()
	c.want("OK", "AUTH", r.token(id))
	c.want("OK", "SELECT", "7")
	return c
}

// conn is a client that knows nothing but the protocol.
type conn struct {
	testing.TB
	c net.Conn
	r *bufio.Reader
}

// reply is an error that the server answered with.
type reply string

// null is no value.
type null struct{}

// send writes a command.
func (c *conn) send(args ...string) {
	c.Helper()
	if _, err := io.WriteString(c.c, encode(args...)); err != nil {
		c.Fatalf("send %q: %v", args, err)
	}
}

func encode(args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.String()
}

// do sends a command and reads its answer.
func (c *conn) do(args ...string) any {
	c.Helper()
	c.send(args...)
	return c.read()
}

// want does a command and compares its answer as text: see show.
func (c *conn) want(want string, args ...string) {
	c.Helper()
	if got := show(c.do(args...)); got != want {
		c.Errorf("%s: got %s, want %s", clip(strings.Join(args, " ")), clip(got), want)
	}
}

// refused does a command and wants an error that begins so.
func (c *conn) refused(prefix string, args ...string) {
	c.Helper()
	got := c.do(args...)
	if e, is := got.(reply); !is || !strings.HasPrefix(string(e), prefix) {
		c.Errorf("%s: got %s, want an error %s", clip(strings.Join(args, " ")), clip(show(got)), prefix)
	}
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

// read reads one answer.
func (c *conn) read() any {
	c.Helper()
	v, err := readAnswer(c.r)
	if err != nil {
		c.Fatalf("read an answer: %v", err)
	}
	return v
}

// closed wants the end of the connection, after what may still come.
func (c *conn) closed() {
	c.Helper()
	for {
		if _, err := readAnswer(c.r); err != nil {
			return
		}
	}
}

func readAnswer(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || !strings.HasSuffix(line, "\r\n") {
		return nil, fmt.Errorf("line %q", line)
	}
	text := line[1 : len(line)-2]
	switch line[0] {
	case '+':
		return text, nil
	case '-':
		return reply(text), nil
	case ':':
		return strconv.ParseInt(text, 10, 64)
	case '_':
		return null{}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("line %q", line)
	}
	if n < 0 {
		return null{}, nil
	}
	switch line[0] {
	case '$', '=':
		b := make([]byte, n+2)
		_, err := io.ReadFull(r, b)
		return string(b[:n]), err
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return nil, fmt.Errorf("line %q", line)
	}
	list := make([]any, n)
	for i := range list {
		if list[i], err = readAnswer(r); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// show is an answer as text: [a b], (nil), 3, an error as it came.
func show(v any) string {
	switch v := v.(type) {
	case null:
		return "(nil)"
	case reply:
		return "(error) " + string(v)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = show(v[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	case string:
		if v == "" {
			return "''"
		}
	}
	return fmt.Sprint(v)
}
