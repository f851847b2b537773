package resp_test

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/resp"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/budget"
)

// raw sends bytes as they are. The other side may have had enough of them.
func (c *conn) raw(text string) { _, _ = io.WriteString(c.c, text) }

func TestWhatIsNoCommandEndsTheConnection(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct{ name, send, want string }{
		{"no number", "*x\r\n", "ERR Protocol error: invalid multibulk length"},
		{"a number with a sign", "*+1\r\n$4\r\nPING\r\n", "ERR Protocol error: invalid multibulk length"},
		{"no carriage return", "*1\n", "ERR Protocol error: invalid multibulk length"},
		{"an endless number", "*" + strings.Repeat("1", 100), "ERR Protocol error: too big mbulk count string"},
		{"too many arguments", "*100000000\r\n", "ERR Protocol error: invalid multibulk length: a command of 100000000 arguments, the limit is 1100"},
		{"a number past all bounds", "*99999999999999999999\r\n", "ERR Protocol error: invalid multibulk length"},
		{"an argument without a length", "*1\r\nPING\r\n", "ERR Protocol error: expected '$', got 'P'"},
		{"a negative length", "*1\r\n$-1\r\n", "ERR Protocol error: invalid bulk length"},
		{"a length past the limit", "*2\r\n$4\r\nECHO\r\n$1048577\r\n",
			"ERR Protocol error: invalid bulk length: an argument of 1048577 bytes, the limit is 1048576"},
		{"a length past all bounds", "*1\r\n$9223372036854775808\r\n", "ERR Protocol error: invalid bulk length"},
		{"an argument longer than it says", "*1\r\n$2\r\nPING\r\n", "ERR Protocol error: an argument is longer than was said"},
		{"open quotes", "ECHO \"abc\r\n", "ERR Protocol error: unbalanced quotes in request"},
		{"an endless line", strings.Repeat("x", 70_000), "ERR Protocol error: too big inline request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := r.as(admin)
			c.TB = t
			c.send("ECHO", "before")
			go c.raw(tt.send)
			if got := show(c.read()); got != "before" {
				t.Errorf("got %q before it", got)
			}
			if got := show(c.read()); got != "(error) "+tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			c.closed()
		})
	}
}

func TestALineIsACommandToo(t *testing.T) {
	r := newRig(t)
	c := r.as(admin)
	for _, tt := range []struct{ line, want string }{
		{"PING", "PONG"},
		{"  echo   hello ", "hello"},
		{`echo "a b\r\n\x41\"c"`, "a b\r\nA\"c"},
		{`echo 'a\n\'b'`, `a\n'b`},
		{`echo ""`, "''"},
		{"nope x", "(error) ERR unknown command 'nope', with args beginning with: 'x' "},
	} {
		c.raw("\r\n\n*0\r\n*-1\r\n" + tt.line + "\r\n")
		if got := show(c.read()); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.line, got, tt.want)
		}
	}
}

func TestStrangersMaySayLittle(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct{ name, send, want string }{
		{"many arguments", "*11\r\n", "ERR Protocol error: unauthenticated multibulk length"},
		{"a long argument", "*2\r\n$4\r\nAUTH\r\n$4097\r\n", "ERR Protocol error: unauthenticated bulk length"},
		{"a long line", strings.Repeat("x", 5000), "ERR Protocol error: too big inline request"},
		{"a command", encode("HGETALL", "x"), "NOAUTH Authentication required."},
		{"a ping", encode("PING"), "NOAUTH Authentication required."},
		{"what is no command", encode("NOPE"), "NOAUTH Authentication required."},
		{"hello without a proof", encode("HELLO", "3"), "NOAUTH HELLO must be called with the client already authenticated"},
	} {
		c := r.connect()
		go c.raw(tt.send)
		if got := show(c.read()); !strings.HasPrefix(got, "(error) "+tt.want) {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		c.c.Close()
	}
}

func TestAuth(t *testing.T) {
	r := newRig(t)
	good := r.token(admin)
	old, err := identity.Mint(r.keys[admin], "nina", time.Now().Add(-2*time.Hour), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := identity.Mint(r.keys[admin], "otto", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	forged := r.keys[reader]
	forged.Actor = admin
	wrong, err := identity.Mint(forged, "nina", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		cmd  []string
		want string
	}{
		{"a token", []string{"AUTH", good}, "OK"},
		{"an actor and its token", []string{"AUTH", "10", good}, "OK"},
		{"default and a token", []string{"AUTH", "default", good}, "OK"},
		{"no name and a token", []string{"AUTH", "", good}, "OK"},
		{"with HELLO", []string{"HELLO", "2", "AUTH", "10", good, "SETNAME", "me"}, "[server redis version 7.0.0 proto 2"},
		{"with HELLO in RESP3", []string{"HELLO", "3", "AUTH", "default", good}, "[server redis version 7.0.0 proto 3"},
		{"another actor's token", []string{"AUTH", "30", good}, "(error) WRONGPASS the token is not that of the actor who was named"},
		{"an actor that is no number", []string{"AUTH", "admin", good}, "(error) WRONGPASS"},
		{"a forged token", []string{"AUTH", wrong}, "(error) WRONGPASS token: its signature is not that of the actor it names"},
		{"an old token", []string{"AUTH", old}, "(error) WRONGPASS token has expired"},
		{"a token for another node", []string{"AUTH", elsewhere}, `(error) WRONGPASS token is for another node: its aud must be "nina"`},
		{"rubbish", []string{"AUTH", "x"}, "(error) WRONGPASS"},
		{"nothing", []string{"AUTH", ""}, "(error) WRONGPASS"},
		{"too much", []string{"AUTH", "1", "2", "3"}, "(error) ERR syntax error"},
		{"a wrong proof with HELLO", []string{"HELLO", "3", "AUTH", "10", wrong}, "(error) WRONGPASS"},
		{"a protocol that is none", []string{"HELLO", "4"}, "(error) NOPROTO"},
	} {
		c := r.connect()
		if got := show(c.do(tt.cmd...)); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		in := !strings.HasPrefix(tt.want, "(error)")
		if _, refused := c.do("PING").(reply); refused == in {
			t.Errorf("%s: it is in: %v, want %v", tt.name, !refused, in)
		}
		c.c.Close()
	}
}

func TestWrongTokensEndAConnection(t *testing.T) {
	audit := &recorder{}
	r := newRig(t, func(c *resp.Config) { c.Audit = audit })
	c := r.connect()
	for range 5 {
		c.refused("WRONGPASS", "AUTH", "x")
	}
	c.closed()
	if len(audit.list) != 5 || audit.list[0].Outcome != domain.AuditRefused {
		t.Errorf("got %v in the audit log, want five refusals", audit.list)
	}
}

type recorder struct{ list []domain.AuditEntry }

func (r *recorder) Record(e domain.AuditEntry) { r.list = append(r.list, e) }

func TestTimeLimits(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		begun := time.Now()
		quiet := r.connect()
		quiet.closed()
		if d := time.Since(begun); d != 10*time.Second {
			t.Errorf("a stranger who says nothing has %v, want 10s", d)
		}
		// A byte now and then does not help.
		begun = time.Now()
		slow := r.connect()
		go func() {
			for _, b := range encode("AUTH", r.token(admin)) {
				if _, err := slow.c.Write([]byte{byte(b)}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		slow.closed()
		if d := time.Since(begun); d != 10*time.Second {
			t.Errorf("a stranger who is slow has %v, want 10s", d)
		}
		begun = time.Now()
		known := r.as(admin)
		go func() {
			for _, b := range encode("ECHO", strings.Repeat("x", 1000)) {
				if _, err := known.c.Write([]byte{byte(b)}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		known.closed()
		if d := time.Since(begun); d != time.Minute {
			t.Errorf("a command may arrive for %v, want 1m", d)
		}
		// But a client may be silent for as long as it likes, and slow over many
		// commands.
		idle := r.as(admin)
		time.Sleep(30 * time.Minute)
		idle.want("PONG", "PING")
		for range 10 {
			idle.raw("*1\r\n$4\r\n")
			time.Sleep(30 * time.Second)
			idle.raw("PING\r\n")
			if got := show(idle.read()); got != "PONG" {
				t.Fatalf("got %s", got)
			}
		}
	})
}

func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		c := r.as(admin)
		begun := time.Now()
		c.send("ECHO", "x") // and never reads
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if _, err := c.c.Write([]byte("x")); err == nil {
			t.Errorf("after %v it is still there", time.Since(begun))
		}
	})
}

func TestClientsAreBounded(t *testing.T) {
	r := newRig(t, func(c *resp.Config) {
		c.Budget = budget.New(budget.Config{Connections: 20, Strangers: 10, PerActor: 20}, nil)
	})
	known := r.as(admin)
	var list []*conn
	for range 10 {
		list = append(list, r.connect())
	}
	list = append(list, r.connect()) // the eleventh stranger is in, for the first
	list[0].closed()
	for _, c := range list[1:10] {
		c.want("OK", "AUTH", r.token(admin))
	}
	list[10].refused("UNAVAILABLE all 10 connections of this node are taken", "AUTH", r.token(admin))
	list[10].closed()
	known.want("PONG", "PING")
	known.want("RESET", "RESET") // makes room
	r.connect().want("OK", "AUTH", r.token(admin))
}

func TestMemoryForLargeCommandsIsBounded(t *testing.T) {
	r := newRig(t, func(c *resp.Config) {
		c.Budget = budget.New(budget.Config{Bytes: 1 << 20, BytesPerActor: 1 << 20}, nil)
	})
	big := strings.Repeat("x", 400<<10)
	a, b := r.as(admin), r.as(admin)
	a.raw("*2\r\n$4\r\nECHO\r\n$500000\r\n" + big) // holds half a megabyte
	go b.raw(encode("ECHO", big, big)[:810_000])
	if got := show(b.read()); !strings.HasPrefix(got, "(error) BUSY actor 10 would hold") {
		t.Errorf("got %s", clip(got))
	}
	b.closed()
	// What one client gives back others have.
	a.c.Close()
	c := r.as(admin)
	go c.raw(encode("ECHO", big))
	if got, is := c.read().(string); !is || len(got) != len(big) {
		t.Errorf("got %d bytes, want %d", len(got), len(big))
	}
}

func TestALongPipeline(t *testing.T) {
	r := newRig(t)
	c := r.as(admin)
	const n = 100_000
	go func() {
		var b strings.Builder
		for i := range n {
			switch i % 4 {
			case 0:
				b.WriteString(encode("LPUSH", "l", fmt.Sprint(i)))
			case 1:
				b.WriteString(encode("HSET", "h", fmt.Sprint(i%50), fmt.Sprint(i)))
			case 2:
				b.WriteString(encode("INCR", "n"))
			case 3:
				b.WriteString(encode("RPOP", "l"))
			}
			if b.Len() > 1<<16 {
				c.raw(b.String())
				b.Reset()
			}
		}
		c.raw(b.String())
	}()
	for i := range n {
		want := ""
		switch i % 4 {
		case 0:
			want = "1"
		case 2:
			want = fmt.Sprint(i/4 + 1)
		case 3:
			want = fmt.Sprint(i - 3)
		}
		if got := show(c.read()); want != "" && got != want {
			t.Fatalf("answer %d: got %s, want %s", i, got, want)
		}
	}
	c.want(fmt.Sprint(n/4), "GET", "n")
}

func TestLargeValues(t *testing.T) {
	r := newRig(t)
	c := r.as(admin)
	most := strings.Repeat("x", 1<<20)
	do := func(args ...string) any {
		go c.raw(encode(args...))
		return c.read()
	}
	if got := show(do("SET", "s", most)); got != "OK" {
		t.Fatalf("got %s", clip(got))
	}
	if got, _ := do("GET", "s").(string); got != most {
		t.Errorf("got %d bytes back", len(got))
	}
	// A record of more than 4 MiB is refused, and the connection goes on.
	for i := range 3 {
		if got := show(do("HSET", "h", fmt.Sprint(i), most)); got != "1" {
			t.Fatalf("got %s", clip(got))
		}
	}
	if got := show(do("HSET", "h", "4", most)); !strings.HasPrefix(got, "(error) ERR record") {
		t.Errorf("got %s", clip(got))
	}
	if got := show(do("HSET", strings.Repeat("k", 256), "a", "b")); !strings.HasPrefix(got, "(error) ERR key of 256 bytes, want 1 to 255") {
		t.Errorf("got %s", clip(got))
	}
	if got := show(do("HSET", "a\x00b", "a", "b")); !strings.HasPrefix(got, "(error) ERR key") {
		t.Errorf("got %s", clip(got))
	}
	if got := show(do("HSET", "k", strings.Repeat("f", 256), "b")); !strings.HasPrefix(got, "(error) ERR field of 256 bytes") {
		t.Errorf("got %s", clip(got))
	}
	if got := show(do("GET", "s", most)); !strings.HasPrefix(got, "(error) ERR wrong number of arguments") {
		t.Errorf("got %s", clip(got))
	}
	binary := "\x00\xff\r\n\x80"
	if got := show(do("HSET", "bin", "f", binary)); got != "1" {
		t.Errorf("got %s", got)
	}
	if got, _ := do("HGET", "bin", "f").(string); got != binary {
		t.Errorf("got %q, want %q", got, binary)
	}
	// An answer of more than 32 MiB is not made.
	for range 40 {
		if got := do("RPUSH", "l", most); got == nil {
			t.Fatal(got)
		}
	}
	if got := show(do("LRANGE", "l", "0", "-1")); !strings.HasPrefix(got, "(error) ERR the answer is too large") {
		t.Errorf("got %s", clip(got))
	}
	if got, _ := do("LRANGE", "l", "0", "2").([]any); len(got) != 3 {
		t.Errorf("got %d items, want 3", len(got))
	}
}

func TestLargeAnswersToAPipelineThatWrites(t *testing.T) {
	r := newRig(t)
	c := r.as(admin)
	item := strings.Repeat("x", 100<<10)
	go c.raw(encode("RPUSH", "l", item, item, item))
	c.read()
	var cmds [][]string
	for i := range 200 {
		cmds = append(cmds, []string{"SET", "n", fmt.Sprint(i)}, []string{"LRANGE", "l", "0", "-1"}, []string{"BLPOP", "nope", "0.001"}, []string{"GET", "n"})
	}
	for i, got := range c.pipeline(cmds) {
		list, _ := got.([]any)
		switch want := fmt.Sprint(i / 4); {
		case i%4 == 1 && (len(list) != 3 || list[2] != item), i%4 == 3 && got != want, i%4 == 2 && got != null{}:
			t.Fatalf("answer %d: got %s", i, clip(show(got)))
		}
	}
	c.want("OK", "MULTI")
	for range 120 {
		c.want("QUEUED", "LRANGE", "l", "0", "-1")
	}
	got := c.do("EXEC").([]any)
	if first, last := got[0], got[119]; len(first.([]any)) != 3 || !strings.HasPrefix(show(last), "(error) ERR the answer is too large") {
		t.Errorf("EXEC of 36 MB: got %s … %s", clip(show(first)), clip(show(last)))
	}
}

func TestResp3(t *testing.T) {
	r := newRig(t)
	c := r.as(admin)
	c.script(`
		HSET h a 1 -> 1
		SADD s a -> 1
	`)
	for _, tt := range []struct{ proto, cmd, want string }{
		{"2", "HGETALL h", "*2\r\n$1\r\na\r\n$1\r\n1\r\n"},
		{"2", "SMEMBERS s", "*1\r\n$1\r\na\r\n"},
		{"2", "GET nope", "$-1\r\n"},
		{"2", "BLPOP nope 0.001", "*-1\r\n"},
		{"3", "HGETALL h", "%1\r\n$1\r\na\r\n$1\r\n1\r\n"},
		{"3", "SMEMBERS s", "~1\r\n$1\r\na\r\n"},
		{"3", "GET nope", "_\r\n"},
		{"3", "BLPOP nope 0.001", "_\r\n"},
		{"3", "LPOP nope", "_\r\n"},
	} {
		c.do("HELLO", tt.proto)
		c.send(strings.Fields(tt.cmd)...)
		got := make([]byte, len(tt.want))
		if _, err := io.ReadFull(c.r, got); err != nil || string(got) != tt.want {
			t.Errorf("RESP%s, %s: got %q, %v, want %q", tt.proto, tt.cmd, got, err, tt.want)
		}
	}
}

func TestCommandsAreCounted(t *testing.T) {
	var rounds atomic.Int64
	r := newRig(t, func(c *resp.Config) { c.Answered = func(time.Duration, bool) { rounds.Add(1) } })
	c := r.as(admin)
	c.want("1", "LPUSH", "own", "a")
	c.do("LPUSH", "own")
	c.do("NOSUCH")
	by, failed := r.door.Counts()
	if by["lpush"] != 2 || by["other"] != 1 || by["auth"] != 1 || failed != 2 || rounds.Load() != 1 {
		t.Errorf("got %v, %d that failed, %d rounds; want lpush 2, other 1, auth 1, 2 that failed, 1 round", by, failed, rounds.Load())
	}
}
